//! What is asked of a configuration: includes, listeners, upstreams, and which blocks serve a request.

use std::fs;
use std::path::Path;

use genkai_targets::nginx::config::{Address, Config, Family, Host, Protocol, Target, sockets};

use crate::nginx_configs::{corpus, text};

/// A folder with these files; the first is the main one.
fn files(all: &[(&str, &str)]) -> (tempfile::TempDir, Result<Config, String>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in all {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let config = Config::read(&dir.path().join(all[0].0), dir.path()).map_err(|e| e.to_string());
    (dir, config)
}

#[test]
fn includes_are_followed_in_the_order_of_glob() {
    let (dir, config) = files(&[
        ("n.conf", "a;\ninclude d/*.conf;\nb { include d/20.conf; }\ninclude none/*.conf;\nc;\n"),
        ("d/20.conf", "twenty;\n"),
        ("d/10.conf", "ten { inner; }\n"),
        ("d/.hidden.conf", "hidden;\n"),
        ("d/B.conf", "upper;\n"),
        ("d/x.txt", "other;\n"),
    ]);
    let config = config.unwrap();
    let seen: Vec<_> = config
        .walk()
        .iter()
        .map(|f| {
            let blocks: Vec<_> = f.blocks.iter().map(|b| String::from_utf8_lossy(b.directive.name())).collect();
            let path = f.place().strip_prefix(dir.path().to_str().unwrap()).unwrap().to_owned();
            format!("{path} {}/{}", blocks.join("/"), String::from_utf8_lossy(f.directive.name()))
        })
        .collect();
    let expected = [
        "/n.conf:1 /a",
        "/n.conf:2 /include",
        "/d/10.conf:1 /ten",
        "/d/10.conf:1 ten/inner",
        "/d/20.conf:1 /twenty",
        "/d/B.conf:1 /upper",
        "/n.conf:3 /b",
        "/n.conf:3 b/include",
        "/d/20.conf:1 b/twenty",
        "/n.conf:4 /include",
        "/n.conf:5 /c",
    ];
    assert_eq!(seen, expected);
    assert_eq!(config.files().count(), 4, "a file included twice is one file");
}

#[test]
fn a_file_reached_by_two_names_is_one_file() {
    let (_dir, config) = corpus("debian");
    let names: Vec<_> = config.files().map(|(_, f)| f.path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["nginx.conf", "mime.types", "timeouts.conf", "app", "default", "proxy_params"]);
    let site = config.files().find(|(_, f)| f.path.ends_with("sites-enabled/app")).unwrap().1;
    assert!(site.real.ends_with("sites-available/app"));

    let (dir, first) = files(&[("n.conf", "include real;\ninclude link;\n"), ("real", "a;\n"), ("link", "b;\n")]);
    assert_eq!(first.unwrap().files().count(), 3);
    fs::remove_file(dir.path().join("link")).unwrap();
    std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
    let linked = Config::read(&dir.path().join("n.conf"), dir.path()).unwrap();
    assert_eq!((linked.files().count(), linked.find(&[], "a").len()), (2, 2));
}

#[test]
fn wrong_includes_are_told_with_their_place() {
    let cases = [
        (&[("n.conf", "a;\ninclude missing.conf;\n")][..], "n.conf:2: cannot read ", "missing.conf"),
        (&[("n.conf", "include a;"), ("a", "x;\ninclude b;"), ("b", "include a;")], "b:1: ", "a includes itself"),
        (&[("n.conf", "include n.conf;")], "n.conf:1: ", "n.conf includes itself"),
        (&[("n.conf", "include d/*;"), ("d/e/f", "")], "n.conf:1: cannot read ", "directory"),
        (&[("n.conf", "include a;"), ("a", "x;\ny {\n")], "a:2: ", "no closing"),
    ];
    for (all, place, part) in cases {
        let (_dir, config) = files(all);
        let error = config.unwrap_err();
        assert!(error.contains(place) && error.contains(part), "{error}");
    }
    let missing = Config::read(Path::new("/nonexistent/nginx.conf"), Path::new("/")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read /nonexistent/nginx.conf: No such file"), "{missing}");
}

#[test]
fn inclusions_are_bounded() {
    // Each file includes the next ten times: 10^6 inclusions of seven files.
    let names: Vec<_> = (0..7).map(|i| format!("f{i}")).collect();
    let texts: Vec<_> =
        (0..7).map(|i| if i < 6 { format!("include f{};", i + 1).repeat(10) } else { "a;".into() }).collect();
    let all: Vec<_> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let (_dir, config) = files(&all);
    assert!(config.unwrap_err().contains("more than 10000 files are included"));
}

#[test]
fn listeners_are_read_as_nginx_does() {
    let (_dir, config) = corpus("tls");
    let listens: Vec<_> = config
        .listens()
        .iter()
        .map(|l| (l.found.arg(0).unwrap(), l.ssl, l.http2, l.default_server, l.backlog))
        .collect();
    let expected = [
        ("80", false, false, true, None),
        ("[::]:80", false, false, true, None),
        ("443", true, true, true, Some(2048)),
        ("[::]:443", true, true, true, None),
        ("443", true, true, false, None),
        ("[2001:db8::1]:443", true, false, false, None),
    ];
    assert_eq!(listens, expected.map(|(a, s, h, d, b)| (a.to_owned(), s, h, d, b)));
    // [2001:db8::1]:443 is taken in by [::]:443.
    assert_eq!(sockets(&config.listens()), 4);
}

#[test]
fn the_port_of_a_host_header_says_which_listener_is_asked() {
    let server = |port: &str, name: &str| format!("server {{ listen {port}; server_name {name}; return 200; }}\n");
    let all = server("80", "a.example") + &server("81 default_server", "b.example") + &server("81", "a.example");
    let (_dir, config) = files(&[("nginx.conf", &format!("events {{}}\nhttp {{\n{all}}}\n"))]);
    let config = config.unwrap();
    let asked = |host: &str| {
        let route = config.route(Some(host), "/").unwrap();
        (route.listen.unwrap().found.line(), route.server.line())
    };
    assert_eq!(asked("a.example"), (3, 3));
    assert_eq!(asked("a.example:81").1, 5);
    assert_eq!(asked("other:81").1, 4);
    assert_eq!(asked("a.example:99"), (3, 3), "nobody listens there");
}

#[test]
fn addresses_in_all_their_forms() {
    let inet = |host: Host, port| Some((Address::Inet { host, port }, None));
    let any = || Host::V4([0, 0, 0, 0].into());
    let listen = |text| Address::parse(text, true, 80);
    assert_eq!(listen("8080"), inet(any(), 8080));
    assert_eq!(listen("*:8080"), inet(any(), 8080));
    assert_eq!(listen("0.0.0.0"), inet(any(), 80));
    assert_eq!(listen("[::1]:443"), inet(Host::V6("::1".parse().unwrap()), 443));
    assert_eq!(listen("[::1]"), inet(Host::V6("::1".parse().unwrap()), 80));
    assert_eq!(listen("Example.COM:81"), inet(Host::Name("example.com".into()), 81));
    assert_eq!(listen("unix:/run/a b.sock"), Some((Address::Unix("/run/a b.sock".into()), None)));
    assert_eq!(listen("7000-7003").unwrap().1, Some(7003));
    for wrong in ["", "unix:", "0", "70000", ":80", "$port", "9-8", "[::1", "a:b"] {
        assert_eq!(listen(wrong), None, "{wrong:?}");
    }
    // Outside of listen, a number alone is a host name.
    assert_eq!(Address::parse("8080", false, 80), inet(Host::Name("8080".into()), 80));
}

#[test]
fn sockets_are_counted_as_nginx_opens_them() {
    let count = |listens: &str| {
        let config = text(&format!("events {{}} http {{ server {{ {listens} }} }}"));
        sockets(&config.listens())
    };
    assert_eq!(count(""), 0);
    assert_eq!(count("listen 80; listen [::]:80;"), 2);
    assert_eq!(count("listen 80; listen 10.0.0.1:80;"), 1);
    assert_eq!(count("listen 80; listen 10.0.0.1:80 bind;"), 2);
    assert_eq!(count("listen 10.0.0.1:80; listen 10.0.0.2:80;"), 2);
    assert_eq!(count("listen 80; listen *:80 ssl;"), 1);
    assert_eq!(count("listen unix:/a; listen unix:/b; listen 8000;"), 3);
    let (_dir, stream) = corpus("stream");
    // 5432, 5300 (IPv4 and IPv6), 443, 7000 to 7003, and 127.0.0.1:8443 of http.
    assert_eq!(sockets(&stream.listens()), 9);
    assert_eq!(stream.listens().iter().filter(|l| l.family == Family::Stream && l.udp).count(), 2);
}

#[test]
fn entries_of_data_blocks_are_not_directives() {
    let (_dir, config) = corpus("geo");
    assert_eq!(config.listens().len(), 1);
    let entries = ["listen", "user", "access_log"]
        .map(|n| config.walk().iter().filter(|f| f.directive.is(n) && f.is_entry()).count());
    assert_eq!(entries, [1, 1, 1]);
    assert_eq!(config.find(&["http", "geo"], "192.0.2.0/24").len(), 1, "a geo block includes files too");
}

#[test]
fn passes_and_upstreams() {
    let (_dir, config) = corpus("balance");
    let passes: Vec<_> = config.passes().into_iter().map(|p| (p.scheme, p.authority, p.rest, p.target)).collect();
    let up = |name: &str| Target::Upstream(name.into());
    let strings = |a: &str, b: &str, c: &str, t: Target| (a.to_owned(), b.to_owned(), c.to_owned(), t);
    let legacy = Address::Inet { host: Host::Name("legacy.example.invalid.".into()), port: 8443 };
    let expected = [
        strings("http://", "$pool", "", Target::Variable),
        strings("http://", "stable", "/v2/", up("stable")),
        strings("http://", "ad min", "", up("ad min")),
        strings("http://", "canary", "/users/$id", up("canary")),
        strings("https://", "legacy.example.invalid.:8443", "", Target::Address(legacy)),
    ];
    assert_eq!(passes, expected);
    let stable = &config.upstreams()[0];
    assert_eq!((stable.name.as_str(), stable.zone, stable.keepalive.as_ref().map(|k| k.0)), ("stable", true, Some(64)));
    let servers: Vec<_> = stable.servers.iter().map(|s| (s.max_conns, s.max_fails, s.backup)).collect();
    assert_eq!(servers, [(200, 1, false), (0, 3, false), (0, 1, true)]);

    let (_dir, cache) = corpus("cache");
    let unix = cache.passes().into_iter().find(|p| p.authority.starts_with("unix:")).unwrap();
    assert_eq!((unix.target, unix.rest.as_str()), (Target::Address(Address::Unix("/run/api.sock".into())), ":/v1/"));
    let (_dir, wordpress) = corpus("wordpress");
    assert_eq!(wordpress.passes()[0].protocol, Protocol::FastCgi);
}

#[test]
fn a_large_configuration_is_read_in_one_pass() {
    let server = |i: usize| {
        format!(
            "server {{ listen 80; server_name s{i}.example.com; location / {{ proxy_pass http://u{i}; }} \
             location /a {{ root /srv; }} }} upstream u{i} {{ server 10.0.0.1:80; }}\n"
        )
    };
    let text: String = (0..3000).map(server).collect();
    let config = self::text(&format!("events {{}} http {{ {text} }}"));
    assert_eq!(config.listens().len(), 3000);
    let route = config.route(Some("s2999.example.com"), "/").unwrap();
    assert_eq!(route.pass().unwrap().target, Target::Upstream("u2999".into()));
    assert_eq!(sockets(&config.listens()), 1);
}
