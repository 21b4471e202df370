//! A user's squid.conf, VCL and Traffic Server folder as private copies: started, asked, changed, ended.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use genkai_model::event::Change;
use genkai_model::limit::Origin;
use genkai_model::plan::ConfigSource;
use genkai_targets::catalog::caches::contender;
use genkai_targets::catalog::prepare;
use genkai_targets::error::TargetError;
use genkai_targets::product::{Prepare, Prepared};

const BODY: &str = "here I am";

/// Answers every connection once; it lives as long as the test.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let length = BODY.len();
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{BODY}");
        }
    });
    address
}

fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET /a HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

fn prepared(
    product: &str,
    config: &Path,
    dir: PathBuf,
    backend: Option<SocketAddr>,
) -> Result<Box<dyn Prepared>, TargetError> {
    let none = BTreeMap::new();
    prepare(product, Prepare { backend, ..Prepare::plain(ConfigSource::File(config.to_owned()), &none, dir) })
}

/// Runs it, asks once, looks at it, ends it.
fn answers(prepared: &dyn Prepared) {
    let mut running = prepared.start(None).unwrap_or_else(|e| panic!("{e}"));
    let answer = get(running.address());
    assert!(answer.ends_with(BODY), "{}: {answer}", prepared.product());
    let seen = running.observe();
    let rss = seen.samples.iter().find_map(|one| one.metrics.get(&format!("{}.rss", prepared.product())));
    assert!(rss.is_some_and(|bytes| *bytes > 1e6), "{:?}", seen.samples);
    let address = running.address();
    running.stop();
    // Its own children are ended too; the last of them holds the listener a moment longer.
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "{} still listens", prepared.product());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_here(contender_name: &str) -> bool {
    let here = contender(contender_name).unwrap().installed();
    here.inspect_err(|e| genkai_tidy::noted::skipped(&e.to_string())).is_ok()
}

fn change(setting: &str, to: &str) -> Change {
    let (product, from) = (String::new(), String::new());
    Change { product, setting: setting.to_owned(), from, to: to.to_owned() }
}

/// Workers speak by sockets in a folder that is built in and belongs to the account that Squid is made to run as; they stay where these are killed.
#[test]
fn a_varnish_answers_well_from_the_first_request_on_however_long_its_probe_takes() {
    if !is_here("varnish-malloc") {
        return;
    }
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, gone) = (slow.local_addr().unwrap().port(), TcpListener::bind("127.0.0.1:0").unwrap());
    std::thread::spawn(move || {
        for mut stream in slow.incoming().flatten() {
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                let read = stream.read(&mut head).unwrap_or(0);
                if head[..read].starts_with(b"GET /probed ") {
                    std::thread::sleep(Duration::from_millis(700));
                }
                let length = BODY.len();
                let _ =
                    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{BODY}");
            });
        }
    });
    let nobody = gone.local_addr().unwrap().port();
    drop(gone);
    let dir = tempfile::tempdir().unwrap();
    let vcl = dir.path().join("probed.vcl");
    let probe = ".probe = { .url = \"/probed\"; .interval = 5s; }";
    let backend =
        |name: &str, port: u16| format!("backend {name} {{ .host = \"127.0.0.1\"; .port = \"{port}\"; {probe} }}\n");
    let both = "sub vcl_recv { if (req.url == \"/none\") { set req.backend_hint = gone; } }\n";
    let text = format!("vcl 4.1;\n{}{}{both}", backend("default", port), backend("gone", nobody));
    std::fs::write(&vcl, text).unwrap();
    let begun = Instant::now();
    answers(&*prepared("varnish", &vcl, dir.path().join("private"), None).unwrap());
    assert!(begun.elapsed() < Duration::from_secs(9), "nobody waits for one that is not there: {:?}", begun.elapsed());
}

#[test]
fn squid_with_several_workers() {
    if !is_here("squid-ufs") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("squid.conf");
    let text = "http_port 80 accel defaultsite=localhost no-vhost\nhttp_access allow all\nworkers 2\ncache_mem 8 MB\n";
    std::fs::write(&main, format!("{text}cache_peer 10.0.0.1 parent 80 0 no-query originserver\n")).unwrap();
    match prepared("squid", &main, dir.path().join("a"), Some(origin())) {
        Ok(squid) => answers(&*squid),
        Err(e) => {
            let said = e.to_string();
            genkai_tidy::noted::skipped(&said);
            assert!(said.contains("`workers 2`") && said.contains("run/squid") && said.contains("hint:"), "{said}");
        }
    }
    let own = format!("genkai{}x", std::process::id());
    let left = |folder: &str| {
        let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
        all.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|name| name.starts_with(&own)).count()
    };
    assert_eq!((left("/var/run/squid"), left("/dev/shm")), (0, 0));
}

#[test]
fn squid_conf_with_its_includes() {
    if !is_here("squid-ufs") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("squid.conf");
    let text = "# mine\nhttp_port 80 accel defaultsite=example.com \\\n  no-vhost\ninclude peers.conf\nhttp_access allow all\n\
                cache_dir ufs /var/spool/squid 8 2 4\ncache_effective_user proxy\nworkers 1\n";
    std::fs::write(&main, text).unwrap();
    std::fs::write(dir.path().join("peers.conf"), "cache_peer 192.0.2.1 parent 80 0 originserver\n").unwrap();
    let squid = prepared("squid", &main, dir.path().join("a"), Some(origin())).unwrap();
    answers(&*squid);
    // Nothing of this test listens at 127.0.0.2:80: a request that went straight to its host would not end with the body.
    let straight =
        text.replace("=example.com", "=127.0.0.2 allow-direct") + "always_direct allow all\nnever_direct deny all\n";
    let direct = dir.path().join("direct.conf");
    std::fs::write(&direct, straight).unwrap();
    let held = prepared("squid", &direct, dir.path().join("direct"), Some(origin())).unwrap();
    answers(&*held);
    let places: Vec<&str> = squid.rewrites().iter().map(|one| one.place.rsplit('/').next().unwrap()).collect();
    assert_eq!(places, ["squid.conf:2", "peers.conf:1", "squid.conf:6", "squid.conf:7"]);
    let kept = prepared("squid", &main, dir.path().join("b"), None).map(|_| ()).unwrap_err();
    assert!(kept.is_usage() && kept.to_string().contains("is not this machine"), "{kept}");
    let more = squid.with(&[change("cache_mem", "16 MB")], &dir.path().join("c")).unwrap();
    let (value, origin) = more.value_of("cache_mem").unwrap();
    assert_eq!((value.as_str(), origin), ("16 MB", Origin::Given));
    assert!(squid.diff(&[change("cache_mem", "16 MB")]).contains("+cache_mem 16 MB\n"));
    answers(&*more);
    std::fs::write(&main, format!("{text}cache_men 8 MB\n")).unwrap();
    let wrong = prepared("squid", &main, dir.path().join("d"), None).map(|_| ()).unwrap_err().to_string();
    assert!(wrong.contains("is not this machine"), "{wrong}");
    let wrong = prepared("squid", &main, dir.path().join("e"), Some("127.0.0.1:9".parse().unwrap()));
    let wrong = wrong.map(|_| ()).unwrap_err().to_string();
    assert!(wrong.contains("squid.conf:9: unrecognized: 'cache_men'"), "{wrong}");
}

#[test]
fn a_vcl() {
    if !is_here("varnish-malloc") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("default.vcl");
    let text = "vcl 4.1;\nbackend a {\n  .host = \"192.0.2.1\";\n}\nsub vcl_recv { return (pass); }\n";
    std::fs::write(&main, text).unwrap();
    let varnish = prepared("varnish", &main, dir.path().join("a"), Some(origin())).unwrap();
    answers(&*varnish);
    let fewer = varnish.with(&[change("thread_pool_max", "200")], &dir.path().join("b")).unwrap();
    assert_eq!(fewer.value_of("thread_pool_max").unwrap(), ("200".to_owned(), Origin::Given));
    answers(&*fewer);
    assert!(varnish.value_of("thread_pool_maximum").is_err());
    std::fs::write(&main, text.replace("return (pass)", "return (nowhere)")).unwrap();
    let wrong = prepared("varnish", &main, dir.path().join("c"), Some("127.0.0.1:9".parse().unwrap()));
    let wrong = wrong.map(|_| ()).unwrap_err().to_string();
    assert!(wrong.contains(&format!("{}", main.display())) && wrong.contains("Line 5"), "{wrong}");
}

#[test]
fn a_folder_of_traffic_server() {
    if !is_here("trafficserver") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("ts");
    std::fs::create_dir(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("records.config", "CONFIG proxy.config.http.server_ports STRING 80\n# end\n");
    write("remap.config", "map http://localhost/ http://localhost/\nmap / http://192.0.2.1/\n");
    write("parent.config", "dest_domain=. parent=\"127.0.0.2:1\" round_robin=strict go_direct=false\n");
    write("ssl_multicert.config", "dest_ip=* ssl_cert_name=a.pem ssl_key_name=a.key\n");
    std::fs::create_dir(folder.join("ssl")).unwrap();
    write("ssl/a.pem", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n");
    write("ssl/b.key", "in binary");
    write("ssl/chain.pem", "-----BEGIN CERTIFICATE-----\n");
    write("plugin.config", "");
    write("storage.config", "/var/cache/trafficserver 256M\n");
    write("ip_allow.yaml", "ip_allow:\n  - {apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL}\n");
    let server = prepared("trafficserver", &folder, dir.path().join("a"), Some(origin())).unwrap();
    // Nothing but the origin of this test answers with the body.
    answers(&*server);
    let mut places: Vec<&str> =
        server.rewrites().iter().map(|one| one.place.strip_prefix(&*folder.to_string_lossy()).unwrap()).collect();
    places.sort_unstable();
    let expected = [
        "/parent.config:1",
        "/records.config:1",
        "/remap.config:1",
        "/remap.config:2",
        "/ssl/a.pem",
        "/ssl/b.key",
        "/ssl_multicert.config:1",
        "/storage.config:1",
    ];
    assert_eq!(places, expected);
    let (value, _) = server.value_of("proxy.config.net.connections_throttle").unwrap();
    assert_eq!(value, "30000");
    let kept = prepared("trafficserver", &folder, dir.path().join("b"), None).map(|_| ()).unwrap_err();
    assert!(kept.to_string().contains("remap.config:2"), "{kept}");
    write("remap.config", ".include other.config\n");
    write("other.config", "map / http://192.0.2.1/\n");
    let backend = Some("127.0.0.1:9".parse().unwrap());
    let included = prepared("trafficserver", &folder, dir.path().join("c"), backend).map(|_| ()).unwrap_err();
    assert!(included.is_usage() && included.to_string().contains("remap.config:1: `.include"), "{included}");
}
