//! `genkai explain`: what the server that is installed says of a file.

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use genkai_model::explain::{Asked, Explanation};

fn genkai(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_genkai")).arg("explain").args(arguments).arg(file).output().unwrap()
}

fn file(dir: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// What the installed server says of a file: refused, with its words; taken; or why it could not be asked.
fn said(path: &Path, product: &str) -> (&'static str, String, Option<i32>) {
    let output = genkai(&["--product", product, "--json"], path);
    let code = output.status.code();
    let explanation: Explanation = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}\n{}", String::from_utf8_lossy(&output.stderr)));
    match explanation.server {
        Some(Asked::Refused { words, .. }) => ("refused", words.join("\n"), code),
        Some(Asked::Taken { by, .. }) => ("taken", by, code),
        Some(Asked::Open { why }) => ("open", why.join("\n"), code),
        None => ("not asked", String::new(), code),
    }
}

#[test]
fn the_installed_server_says_whether_it_takes_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let nginx = |http: &str, listen: &str, location: &str| {
        format!(
            "events {{ }}\nhttp {{\n{http}\n server {{\n listen 127.0.0.1:8099 {listen};\n location / {{\n {location}\n \
             proxy_pass http://127.0.0.1:9; }}\n }}\n}}\n"
        )
    };
    let zone = "limit_conn_zone $uri zone=c:1m;";
    let haproxy = |bind: &str, back: &str| {
        format!(
            "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\nfrontend f\n bind 127.0.0.1:8098 {bind}\n \
             default_backend b\nbackend b\n {back}\n server s 127.0.0.1:9\n"
        )
    };
    let refused = [
        ("nginx", nginx(zone, "", "limit_conn c 0;"), ":7"),
        ("nginx", nginx(zone, "", "limit_conn c 5; limit_conn c 6;"), "duplicate"),
        ("nginx", nginx("", "backlog=0", ""), "backlog=0"),
        ("nginx", nginx("limit_req_zone $uri zone=r:1m rate=10r/h;", "", "limit_req zone=r;"), "rate=10r/h"),
        ("haproxy", haproxy("nice 5000", ""), "allowed range"),
        ("haproxy", haproxy("", "balance foo"), ":10"),
        ("squid", "http_port 127.0.0.1:3199\nacl m maxconn 0\n".to_owned(), "acl m maxconn 0"),
        (
            "php-fpm",
            "[www]\nuser = nobody\nlisten = 127.0.0.1:9009\npm = static\npm.max_children = 0\n".to_owned(),
            "pm.max_children",
        ),
    ];
    for (i, (product, text, words)) in refused.iter().enumerate() {
        let path = file(&dir, &format!("refused-{i}.conf"), text);
        let (answer, said, code) = said(&path, product);
        assert_eq!((answer, code), ("refused", Some(2)), "{text}\n{said}");
        let copied = said.contains("genkai-asked-");
        assert!(said.contains(words) && !copied, "in the words of the server, with the user's places: {said}");
    }
    // Its certificate has one in its place that nobody issued.
    crate::harness::servers::certificate(dir.path());
    let (certificate, key) = (dir.path().join("ca.pem"), dir.path().join("key.pem"));
    let stapled = format!(
        "ssl; ssl_certificate {}; ssl_certificate_key {}; ssl_stapling on",
        certificate.display(),
        key.display()
    );
    let path = file(&dir, "stapled.conf", &nginx("", &stapled, ""));
    let explanation: Explanation =
        serde_json::from_slice(&genkai(&["--product", "nginx", "--json"], &path).stdout).unwrap();
    let taken = matches!(&explanation.server, Some(Asked::Taken { warnings, .. }) if warnings.is_empty());
    assert!(taken, "{:?}", explanation.server);
    // Who is not root cannot become another user: the copy says nothing of one. Some resolvers answer for any name.
    let user = if nix::unistd::geteuid().is_root() { "open" } else { "taken" };
    let name = "no-such-host.invalid:80";
    let host = if name.to_socket_addrs().is_ok_and(|mut all| all.next().is_some()) { "taken" } else { "open" };
    let others = [
        ("nginx", nginx("", "", ""), "taken"),
        ("nginx", nginx("upstream u { server 192.0.2.7:80; }", "", ""), "taken"),
        ("nginx", "user no-such-user;\n".to_owned() + &nginx("", "", ""), user),
        ("nginx", nginx("", "", "brotli on;"), "open"),
        ("haproxy", haproxy("", ""), "taken"),
        ("haproxy", haproxy("", &format!("server t {name}")), host),
    ];
    for (i, (product, text, expected)) in others.iter().enumerate() {
        let path = file(&dir, &format!("other-{i}.conf"), text);
        let (answer, said, code) = said(&path, product);
        assert_eq!((answer, code), (*expected, Some(0)), "{text}\n{said}");
    }
    let path = file(&dir, "shown.conf", &refused[0].1);
    let shown = String::from_utf8(genkai(&[], &path).stdout).unwrap();
    assert!(shown.contains("refuses it") && shown.contains("Limits as they would be"), "{shown}");
    assert!(!shown.contains("no mistake"), "{shown}");
}
