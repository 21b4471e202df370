//! The same of the handshake of a WebSocket.

use genkai_model::load::Protocol;
use genkai_model::websocket::WebSocket;

use super::*;

/// What is said of a WebSocket that is not opened by a product with this configuration, and the place of its line with the mark.
fn said_of_socket(product: &str, text: &str) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut backend = embedded(dir.path());
    let (text, line) = marked(text, "#1");
    let file = dir.path().join("site.conf");
    std::fs::write(&file, text).unwrap();
    let request = Request { path: "/chat".to_owned(), ..Load::users(1, 1.0).request };
    let copy = tempfile::tempdir().unwrap();
    let prepared = prepared(product, &file, &request, &backend, copy.path());
    let protocol = Protocol::WebSocket(WebSocket::default());
    let load = Load { request, protocol, ..Load::users(1, 1.0) };
    let said = said_of(product, &*prepared, load, &mut backend).unwrap_or_default();
    (said, format!("({}:{})", file.display(), line.unwrap()))
}

#[test]
fn a_websocket_that_a_server_does_not_open_is_told_with_the_directive() {
    let nginx = |within: &str| {
        format!(
            "events {{}}\nhttp {{\nserver {{\nlisten 8080;\nlocation / {{\n{within}\nproxy_pass http://127.0.0.1:9;\n}}\n}}\n}}\n"
        )
    };
    let modules = ["mpm_event", "authz_core", "authz_host", "proxy", "proxy_http"];
    let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let apache = modules.map(load).concat()
        + "ServerName x\nListen 8080\n<Location />\nRequire all denied#1\n</Location>\nProxyPass / http://127.0.0.1:9/ upgrade=websocket\n";
    let haproxy = |rule: &str| {
        format!(
            "defaults\n mode http\n timeout client 5s\n timeout server 5s\n timeout connect 5s\nfrontend f\n bind :8080\n {rule}\n \
             default_backend b\nbackend b\n server s 127.0.0.1:9\n"
        )
    };
    for (product, text, says) in [
        ("nginx", nginx("return 403;#1"), "is answered 403 by nginx itself: `return 403` #1"),
        (
            "nginx",
            nginx("auth_basic x;#1\nauth_basic_user_file /nonexistent;"),
            "is answered 401 by nginx itself: `auth_basic x` #1",
        ),
        ("nginx", nginx("return 301 https://x.example/;#1"), "is answered 301 to https://x.example/ by nginx itself"),
        ("apache", apache, "is answered 403 by apache itself: `Require all denied` #1"),
        ("haproxy", haproxy("http-request deny#1"), "is answered 403 by haproxy itself: `http-request deny` #1"),
    ] {
        let (said, place) = said_of_socket(product, &text);
        assert!(said.starts_with("before any load, a WebSocket is not opened: GET /chat (Host: localhost)"), "{said}");
        assert!(said.contains(&says.replace("#1", &place)), "{said}");
    }
}
