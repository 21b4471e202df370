//! `genkai explain`: what a configuration means, from its text alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use genkai_model::explain::{Explanation, RemarkKind};
use genkai_model::limit::Origin;

fn genkai(arguments: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_genkai")).arg("explain").args(arguments).args(files).output().unwrap()
}

fn file(dir: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn explained(path: &Path, arguments: &[&str]) -> (Explanation, Option<i32>) {
    let output = genkai(&[arguments, &["--json"]].concat(), &[path]);
    let text = String::from_utf8(output.stdout).unwrap();
    let explanation = serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}\n{text}\n{}", String::from_utf8_lossy(&output.stderr)));
    (explanation, output.status.code())
}

fn remarks(explanation: &Explanation) -> Vec<(RemarkKind, &str, usize)> {
    let line = |place: &Option<String>| place.as_ref().and_then(|p| p.rsplit_once(':')?.1.parse().ok()).unwrap_or(0);
    explanation.remarks.iter().map(|r| (r.kind, r.setting.as_str(), line(&r.place))).collect()
}

const APACHE: &str = "\
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule proxy_module modules/mod_proxy.so
LoadModule proxy_http_module modules/mod_proxy_http.so
Listen 8080
MaxRequestWorkers 500
<IfModule prefork.c>
  ServerLimit 999
</IfModule>
ListenBacklog 100000
ProxySendBufferSize 65536
KeepAlive Off
KeepAliveTimeout 60
ProxyPass / http://admin:hunter2@127.0.0.1:9/ max=99
";

#[test]
fn what_apache_silently_makes_of_a_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "httpd.conf", APACHE);
    let (explanation, code) = explained(&path, &[]);
    assert_eq!((explanation.product.as_str(), code), ("apache", Some(1)));
    let seen = remarks(&explanation);
    for expected in [
        (RemarkKind::Unknown, "ProxySendBufferSize", 10),
        (RemarkKind::Clamped, "MaxRequestWorkers", 5),
        (RemarkKind::Clamped, "ListenBacklog", 9),
        (RemarkKind::Ignored, "ServerLimit", 7),
        (RemarkKind::Ignored, "KeepAliveTimeout", 12),
        (RemarkKind::Ignored, "ProxyPass.max", 13),
    ] {
        assert!(seen.contains(&expected), "{expected:?} is not among {seen:?}");
    }
    assert_eq!(seen.len(), 6, "{:?}", explanation.remarks);
    let clamp = explanation.remarks.iter().find(|r| r.setting == "MaxRequestWorkers").unwrap();
    assert_eq!(clamp.text, "500 is taken as 400: ServerLimit 16 x ThreadsPerChild 25");
    assert_eq!(clamp.hint.as_deref(), Some("ServerLimit 20"));
    let unknown = explanation.remarks.iter().find(|r| r.kind == RemarkKind::Unknown).unwrap();
    assert!(
        unknown.hint.as_deref().is_some_and(|h| h.starts_with("did you mean ") && h.contains("BufferSize")),
        "{unknown:?}"
    );
    let first = &explanation.predictions[0];
    assert_eq!((first.setting.as_str(), first.clients.unwrap().high), ("ServerLimit", 400.0));
}

#[test]
fn a_sound_configuration_has_no_remarks_and_says_what_bites_first() {
    let dir = tempfile::tempdir().unwrap();
    let text = "events {\n  worker_connections 512;\n}\nhttp {\n  server {\n    listen 80;\n    location / {\n      proxy_pass \
                http://127.0.0.1:9;\n    }\n  }\n}\n";
    let path = file(&dir, "nginx.conf", text);
    let (explanation, code) = explained(&path, &[]);
    assert_eq!((explanation.product.as_str(), code), ("nginx", Some(0)));
    assert!(explanation.remarks.is_empty(), "{:?}", explanation.remarks);
    let first = &explanation.predictions[0];
    assert_eq!(first.setting, "worker_connections");
    assert_eq!(first.clients.map(|c| (c.low, c.high)), Some((239.0, 255.0)), "an nginx with one listener");
    let limit = explanation.limits.iter().find(|l| l.id == first.limit).unwrap();
    assert_eq!(limit.origin, Origin::File { path, line: 2 });
    assert!(explanation.timers.iter().any(|t| t.setting == "proxy_read_timeout"));
}

#[test]
fn what_is_wrong_with_an_nginx_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let text = "worker_rlimit_nofile 600;\nevents {\n  worker_connections 1024;\n  accept_mutex_delay 1s;\n}\nhttp {\n  \
                keepalive_timout 5;\n  limit_req_zone $uri zone=idle:1m rate=1r/s;\n  upstream b {\n    server 127.0.0.1:9;\n    \
                keepalive 8;\n  }\n  server {\n    listen 80 backlog=90000;\n    worker_processes 4;\n    location / {\n      \
                proxy_pass http://b;\n    }\n  }\n}\n";
    let path = file(&dir, "nginx.conf", text);
    let (explanation, code) = explained(&path, &[]);
    assert_eq!(code, Some(1));
    let seen = remarks(&explanation);
    for expected in [
        (RemarkKind::Contradiction, "worker_connections", 3),
        (RemarkKind::Ignored, "accept_mutex_delay", 4),
        (RemarkKind::Unknown, "keepalive_timout", 7),
        (RemarkKind::Ignored, "limit_req_zone", 8),
        (RemarkKind::Ignored, "keepalive", 11),
        (RemarkKind::Clamped, "listen.backlog", 14),
        (RemarkKind::Unknown, "worker_processes", 15),
    ] {
        assert!(seen.contains(&expected), "{expected:?} is not among {seen:?}");
    }
    assert_eq!(seen.len(), 7, "{:?}", explanation.remarks);
    let misspelt = explanation.remarks.iter().find(|r| r.setting == "keepalive_timout").unwrap();
    assert_eq!(misspelt.hint.as_deref(), Some("did you mean keepalive_timeout?"));
}

#[test]
fn secrets_and_control_characters_do_not_get_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "httpd.conf", &format!("{APACHE}Evil\u{1b}[31mName hunter2\nAuthLDAPBindPassword hunter2\n"));
    for arguments in [&[][..], &["--json"]] {
        let output = genkai(arguments, &[&path]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("127.0.0.1:9"), "the backend is named: {text}");
    }
}

#[test]
fn tunnels_hold_a_worker_each() {
    let dir = tempfile::tempdir().unwrap();
    let text = APACHE.replace("KeepAlive Off\n", "Timeout 60\nProxyTimeout 5\n");
    let path = file(&dir, "httpd.conf", &text);
    let (explanation, _) = explained(&path, &["--websocket"]);
    let seen = remarks(&explanation);
    assert!(seen.contains(&(RemarkKind::Ignored, "ProxyTimeout", 12)), "Timeout is longer: {seen:?}");
    assert!(explanation.limits.iter().all(|l| l.id != "apache.ThreadsPerChild"), "nothing is kept between requests");
}

#[test]
fn several_files_and_bad_ones() {
    let dir = tempfile::tempdir().unwrap();
    let apache = file(&dir, "httpd.conf", "Listen 80\n");
    let nginx = file(&dir, "nginx.conf", "events { }\nhttp { server { listen 80; } }\n");
    let output = genkai(&[], &[&apache, &nginx]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("apache: ") && text.contains("\nnginx: "), "{text}");
    let broken = file(&dir, "broken.conf", "Listen 80\nKeepAlive On\n<VirtualHost *:80>\n");
    for (path, says) in
        [(&broken, ":3: <VirtualHost> has no </VirtualHost>"), (&dir.path().join("none"), "cannot read")]
    {
        let output = genkai(&[], &[path]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    }
}
