//! What a private copy changes, and what it leaves.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use genkai_targets::files::CopyOptions;
use genkai_targets::nginx::config::Config;
use genkai_targets::nginx::private::{self, At};

use crate::nginx_configs::place::{
    Place, built, case, check, contents, copied, free_port, nginx_configure, nginx_prefix, reread,
};

#[test]
fn an_ipv6_twin_is_left_out_and_virtual_hosts_stay_together() {
    let place = Place::new(case("tls"));
    let private = place.build(None, false);
    let seen: Vec<_> = private.moved.iter().map(|m| (m.from.as_str(), m.merged, m.ssl)).collect();
    let expected = [
        ("80", false, false),
        ("[::]:80", true, false),
        ("443", false, true),
        ("[::]:443", true, true),
        ("443", false, true),
        ("[2001:db8::1]:443", false, true),
    ];
    assert_eq!(seen, expected);
    let to: Vec<_> = private.moved.iter().map(|m| m.to.clone()).collect();
    assert_eq!((&to[0], &to[2], &to[2]), (&to[1], &to[3], &to[4]));
    let copy = reread(&private);
    let params: Vec<_> = copy.listens().iter().map(|l| l.found.args()[1..].join(" ")).collect();
    let expected = ["default_server", "ssl http2 default_server backlog=2048", "ssl http2", "ssl", ""];
    assert_eq!(params, expected);
}

#[test]
fn a_port_that_is_drawn_twice_is_given_once() {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("n.conf");
    let text = "events {} http { server { listen 80; } server { listen 81; } server { listen 82; } }";
    fs::write(&main, text).unwrap();
    let config = Config::read(&main, Path::new("/")).unwrap();
    // Nobody holds a port that was free: it may be drawn again for the next listener, or for the status page.
    let mut drawn = [4001, 4001, 4002, 4001, 4003, 4002, 4004].into_iter();
    let mut ports = || Ok(drawn.next().unwrap());
    let run = dir.path().join("run");
    let configure = nginx_configure();
    let options = copied(&run, &mut ports);
    let private = private::build(&config, None, options, built(&configure), true).unwrap();
    let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let moved: Vec<_> = private.moved.iter().map(|m| m.to.clone()).collect();
    assert_eq!(moved, [4001, 4002, 4003].map(|port| At::Inet(at(port))));
    assert_eq!(private.status, Some(at(4004)));
    // All of them are on one line.
    let second = &private.moved[1];
    assert_eq!(private.address_of(&second.place, Some(&second.address)), Some(at(4002)));
}

#[test]
fn what_is_given_once_for_an_address_is_kept_once() {
    let dir = tempfile::tempdir().unwrap();
    let text = "events {} http {
        server { listen 80 default_server backlog=100; }
        server { listen [::]:80 default_server reuseport ipv6only=on; }
        server { listen 81 reuseport; listen *:81; }
    }";
    let main = dir.path().join("n.conf");
    fs::write(&main, text).unwrap();
    let config = Config::read(&main, Path::new("/")).unwrap();
    let run = dir.path().join("run");
    let configure = nginx_configure();
    let mut ports = free_port;
    let options = copied(&run, &mut ports);
    let private = private::build(&config, None, options, built(&configure), false).unwrap();
    let copy = reread(&private);
    let params: Vec<_> = copy.listens().iter().map(|l| l.found.args()[1..].join(" ")).collect();
    assert_eq!(params, ["default_server backlog=100", "", "reuseport"]);
    let out = check(&private);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_backend_replaces_what_is_behind_but_not_nginx_itself() {
    let backend = SocketAddr::from(([127, 0, 0, 1], 4711));
    let place = Place::new(case("wordpress"));
    let copy = reread(&place.build(Some(backend), false));
    let upstream = &copy.upstreams()[0];
    let servers: Vec<_> = upstream.servers.iter().map(|s| s.found.args().join(" ")).collect();
    assert_eq!(servers, ["127.0.0.1:4711", "127.0.0.1:4711 backup"]);
    assert_eq!(copy.passes()[0].found.written(), "proxy_pass http://php");

    let place = Place::new(case("balance"));
    let copy = reread(&place.build(Some(backend), false));
    let passes: Vec<_> = copy.passes().iter().map(|p| p.found.args()[0].clone()).collect();
    let expected =
        ["http://$pool", "http://stable/v2/", "http://ad min", "http://canary/users/$id", "http://127.0.0.1:4711"];
    assert_eq!(passes, expected);

    let place = Place::new(case("chain"));
    let private = place.build(Some(backend), false);
    let copy = reread(&private);
    let inner = private.moved.iter().find(|m| m.from == "localhost:8080").unwrap().to.to_string();
    let socket = private.moved.iter().find(|m| m.from.starts_with("unix:")).unwrap().to.to_string();
    let passes: Vec<_> = copy.passes().iter().map(|p| p.found.args()[0].clone()).collect();
    assert_eq!(passes, [format!("http://{inner}"), format!("http://{socket}:/"), "http://inner".to_owned()]);
    let servers: Vec<_> = copy.upstreams()[0].servers.iter().map(|s| s.found.args()[0].clone()).collect();
    assert_eq!(servers, [inner, socket, backend.to_string()]);
}

#[test]
fn keys_are_named_not_copied() {
    let place = Place::new(case("tls"));
    let private = place.build(None, false);
    let etc = place.dir.path().join("etc");
    let copy = reread(&private);
    let files: Vec<_> = ["ssl_certificate_key", "auth_basic_user_file"]
        .iter()
        .flat_map(|name| {
            copy.walk().into_iter().filter(|f| f.directive.is(name)).map(|f| f.arg(0).unwrap()).collect::<Vec<_>>()
        })
        .collect();
    let expected = ["tls/site.key", "tls/site.key", "htpasswd"].map(|f| etc.join(f).to_str().unwrap().to_owned());
    assert_eq!(files, expected);
    let key = fs::read(etc.join("tls/site.key")).unwrap();
    for (path, content) in contents(&private.dir) {
        assert!(content != key && !String::from_utf8_lossy(&content).contains("not-a-secret"), "{}", path.display());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn every_change_is_listed_with_its_place() {
    let place = Place::new(case("windows"));
    let private = place.build(None, false);
    let etc = place.dir.path().join("etc/nginx.conf");
    let listed: Vec<_> = private
        .rewrites
        .iter()
        .map(|r| {
            let line = r.place.strip_prefix(&format!("{}:", etc.display())).unwrap();
            format!(
                "{line}|{}|{}",
                r.from.split_whitespace().collect::<Vec<_>>().join(" "),
                r.to.split_whitespace().next().unwrap_or("")
            )
        })
        .collect();
    let expected = [
        "15|listen 80|listen",
        // Port 80 of this machine is this nginx.
        "26|proxy_pass http://127.0.0.1|proxy_pass",
        "18|root html|root",
        "23|root html|root",
        "1||pid",
        "1||lock_file",
        "1||error_log",
        "8||access_log",
        "8||root",
        "8||client_body_temp_path",
        "8||proxy_temp_path",
        "8||fastcgi_temp_path",
        "8||uwsgi_temp_path",
        "8||scgi_temp_path",
        "8||server",
    ];
    assert_eq!(listed, expected);
    let root = format!("root {}/html", nginx_prefix());
    assert_eq!(private.rewrites[2].to, root);
    assert!(
        matches!(private.moved[0].to, At::Inet(address) if Some(address) == private.address_of(&private.moved[0].place, None))
    );
}

#[test]
fn folders_that_cannot_be_used_are_refused() {
    let place = Place::new(case("chain"));
    let configure = nginx_configure();
    let build = |dir: &Path, ports: &mut dyn FnMut() -> io::Result<u16>| {
        let options = CopyOptions { root: false, ..copied(dir, ports) };
        private::build(&place.config, None, options, built(&configure), true).unwrap_err().to_string()
    };
    assert!(build(Path::new("relative"), &mut free_port).contains("must be absolute"));
    assert!(build(Path::new("/tmp/a$b"), &mut free_port).contains("without $"));
    let long = place.dir.path().join("x".repeat(100));
    assert!(build(&long, &mut free_port).contains("shorter name"));
    assert!(build(&place.run_dir(), &mut || Err(io::Error::other("none left"))).contains("no free port"));
    let file = place.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = build(&file.join("sub"), &mut free_port);
    assert!(error.starts_with("cannot write"), "{error}");
}
