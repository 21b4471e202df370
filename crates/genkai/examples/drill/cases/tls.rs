//! TLS before and behind a product, and HTTP/2: handshakes that fail between the two, certificates that are wanted, streams that are few.

use super::Behind::{Alone, Origin};
use super::{AT_ONCE, Between, COST, Case, PATIENCE, SPREAD};

/// A load that shows it at once.
const ALL: &str = "--users 10 --spawn-rate 10";

pub(super) fn cases() -> Vec<Case> {
    [faults(), answers(), streams(), handshakes()].into_iter().flatten().collect()
}

/// A proxy's configuration that passes requests on by TLS to `{backend}`: how it verifies whom it finds there stands in `verify`.
fn behind(product: &'static str, verify: &str) -> String {
    match product {
        "nginx" => format!(
            "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass https://{{backend}}; {verify} }} }} }}\n"
        ),
        "apache" => {
            let load = |name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
            let modules = ["mpm_event", "authz_core", "proxy", "proxy_http", "ssl"].map(load).concat();
            format!(
                "{modules}ServerName localhost\nUser www-data\nGroup www-data\nListen 80\nSSLProxyEngine on\n{verify}\nProxyPass / https://{{backend}}/ \
                 retry=0\n"
            )
        }
        "haproxy" => format!(
            "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\nfrontend f\n  bind :80\n  default_backend \
             b\nbackend b\n  server s {{backend}} ssl {verify}\n"
        ),
        _ => format!(
            "{{\n\tauto_https off\n}}\nhttp://:80 {{\n\treverse_proxy https://{{backend}} {{\n\t\ttransport http {{\n\t\t\t{verify}\n\t\t}}\n\t}}\n}}\n"
        ),
    }
}

/// Each product, how it verifies nothing, and how it verifies by an authority that signed no certificate of the backend's.
const PRODUCTS: [(&str, &str, &str, &str); 4] = [
    (
        "nginx",
        "nginx.upstream.tls",
        "",
        "proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_trusted_certificate {dir}/other.pem;",
    ),
    (
        "apache",
        "apache.backend.tls",
        "SSLProxyVerify none\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off",
        "SSLProxyVerify require\nSSLProxyCACertificateFile {dir}/other.pem\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off",
    ),
    ("haproxy", "haproxy.server.tls", "verify none", "verify required ca-file {dir}/other.pem"),
    (
        "caddy",
        "caddy.upstream.tls",
        "tls_insecure_skip_verify",
        "tls_server_name localhost\n\t\t\ttls_trusted_ca_certs {dir}/other.pem",
    ),
];

fn faults() -> Vec<Case> {
    let one = |(product, id, none, other): (&'static str, &'static str, &str, &str)| {
        let case = |name: &str, fault: &str, verify: &str| {
            let case = Case::of(product, format!("tls-{name}-{product}"), format!("{fault}, behind {product}"));
            case.flags(ALL).config(behind(product, verify)).called(file(product)).cause(id).off(AT_ONCE)
        };
        vec![
            case("clear", "a backend that speaks no TLS", none).behind(Origin("--service-time 10ms")),
            case("authority", "a backend whose certificate another authority would have to sign", other)
                .behind(Alone(SECURED)),
            case("certificate", "a backend that wants a certificate of its clients", none).behind(Alone(WANTING)),
        ]
    };
    PRODUCTS.into_iter().flat_map(one).collect()
}

fn file(product: &str) -> &'static str {
    if product == "caddy" { "Caddyfile" } else { "server.conf" }
}

/// A product that wants a certificate of its own clients, or hears of a wrong one.
fn answers() -> Vec<Case> {
    vec![
        Case::of("nginx", "nginx-verify-client", "ssl_verify_client on, for clients without a certificate")
            .flags(ALL)
            .config(
                "events { }\nhttp { server { listen 443 ssl; ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem;\n\
                 ssl_client_certificate {dir}/other.pem;\nssl_verify_client on;\nlocation / { proxy_pass https://{backend}; } } }\n",
            )
            .behind(Alone(SECURED))
            .cause("nginx.answers.ssl_verify_client.4")
            .off(AT_ONCE),
        Case::of("haproxy", "haproxy-verify-client", "verify required of a bind, for clients without a certificate")
            .flags(ALL)
            .config(
                "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\nfrontend f\n  bind :443 ssl crt \
                 {dir}/both.pem ca-file {dir}/other.pem verify required\n  default_backend b\nbackend b\n  server s {backend} ssl verify none\n",
            )
            .behind(Alone(SECURED))
            .cause("haproxy.answers.bind.7")
            .off(AT_ONCE),
        Case::of("apache", "apache-verify-client", "SSLVerifyClient require, for clients without a certificate")
            .flags(ALL)
            .config(
                behind("apache", "SSLProxyVerify none\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off").replace(
                    "Listen 80\n",
                    "Listen 443\nSSLEngine on\nSSLCertificateFile {dir}/cert.pem\nSSLCertificateKeyFile {dir}/key.pem\nSSLCACertificateFile \
                     {dir}/other.pem\nSSLVerifyClient require\n",
                ),
            )
            .behind(Alone(SECURED))
            .cause("apache.answers.SSLVerifyClient.14")
            .off(AT_ONCE),
    ]
}

/// Users who share connections, of which a server allows few streams, or answers with few threads.
fn streams() -> Vec<Case> {
    let tls = "ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem;";
    let modules = ["mpm_worker", "authz_core", "proxy", "proxy_http", "ssl", "http2"];
    let modules: String =
        modules.map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")).concat();
    vec![
        Case::of("nginx", "h2-streams-nginx", "http2_max_concurrent_streams 4 and 64 connections, for ten users each")
            .flags("--http2 --users 90 --spawn-rate 15")
            .config(format!(
                "worker_processes 1;\nevents {{ worker_connections 64; }}\nhttp {{ server {{ listen 443 ssl http2; \
                 http2_max_concurrent_streams 4; {tls} location / {{ proxy_pass https://{{backend}}; }} }} }}\n"
            ))
            .behind(Alone(SECURED))
            .cause("nginx.worker_connections"),
        Case::of("apache", "h2-workers-apache", "H2MaxWorkers 12 for HTTP/2 of users who wait 100 ms for the application")
            .flags("--http2 --users 60 --spawn-rate 8")
            .objective("p99 < 300ms")
            .config(format!(
                "{modules}ServerName localhost\nUser www-data\nGroup www-data\nListen 443\nProtocols h2 http/1.1\nSSLEngine on\nSSLCertificateFile \
                 {{dir}}/cert.pem\nSSLCertificateKeyFile {{dir}}/key.pem\nServerLimit 1\nMaxRequestWorkers 64\nThreadsPerChild 64\nH2MinWorkers 2\nH2MaxWorkers \
                 12\nSSLProxyEngine on\nSSLProxyVerify none\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off\nProxyPass / \
                 https://{{backend}}/ retry=0\n"
            ))
            .behind(Alone(SECURED))
            .cause("apache.H2MaxWorkers")
            .off(PATIENCE),
        Case::of("haproxy", "h2-streams-haproxy", "tune.h2.max-concurrent-streams 2 and maxconn 40, for ten users each")
            .flags("--http2 --users 120 --spawn-rate 15 --timeout 3s")
            .config(
                "global\n  maxconn 40\n  tune.h2.max-concurrent-streams 2\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 20s\n  timeout \
                 server 20s\nfrontend f\n  bind :443 ssl crt {dir}/both.pem alpn h2,http/1.1\n  default_backend b\nbackend b\n  server s \
                 {backend} ssl verify none\n",
            )
            .behind(Alone(SECURED))
            .either(&["haproxy.maxsock", "haproxy.maxconn"], "two users a connection: both settings are met at nearly as many")
            .off(SPREAD),
        Case::of("haproxy", "h2-sockets-haproxy", "maxconn 60 of the process, for HTTP/2 of ten users a connection")
            .flags("--tls --http2 --set maxconn=60 --users 170 --spawn-rate 30 --timeout 3s")
            .cause("haproxy.maxsock"),
    ]
}

/// New connections on one worker, or thread: full handshakes that sign with a long key, or a short one; sessions that are resumed, or not.
fn handshakes() -> Vec<Case> {
    let nginx = |within: &str| {
        format!(
            "worker_processes 1;\nevents {{ worker_connections 1024; }}\nhttp {{ server {{ listen 443 ssl; ssl_certificate {{dir}}/cert.pem; \
             ssl_certificate_key /nonexistent/key.pem;\n{within}\nlocation / {{ proxy_pass http://{{backend}}; }} }} }}\n"
        )
    };
    let rising = |product, name: &str, fault: &str, flags: &str| {
        Case::of(product, name, fault)
            .flags("--new-connections --rate 700 --ramp 14s --timeout 10s")
            .flags(flags)
            .objective("p99 < 300ms")
            .behind(Alone(LONG))
    };
    let modules = ["mpm_event", "authz_core", "proxy", "proxy_http", "ssl"];
    let modules: String =
        modules.map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")).concat();
    let apache = |within: &str| {
        format!(
            "{modules}ServerName localhost\nUser www-data\nGroup www-data\nListen 443\nSSLEngine on\n{within}\nSSLCertificateFile \
             {{dir}}/cert.pem\nSSLCertificateKeyFile /nonexistent/key.pem\nProxyPass / http://{{backend}}/ retry=0\n"
        )
    };
    let haproxy = |global: &str, bind: &str| {
        format!(
            "global\n  nbthread 1\n  {global}\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 20s\n  timeout server 20s\nfrontend \
             f\n  bind :443 ssl crt {{dir}}/both.pem {bind}\n  default_backend b\nbackend b\n  server s {{backend}}\n"
        )
    };
    vec![
        rising("nginx", "tls-key-nginx", "a key of RSA 4096, for new visitors", "--no-resume").config(nginx("")).cause("nginx.tls_key"),
        rising("haproxy", "tls-key-haproxy", "a key of RSA 4096, for new visitors", "--no-resume")
            .config(haproxy("", ""))
            .cause("haproxy.tls_key"),
        rising("apache", "tls-key-apache", "a key of RSA 4096, for new visitors", "--no-resume")
            .config(apache(""))
            .cause("apache.tls_key"),
        rising("nginx", "tls-sessions-nginx", "visitors who come back, and neither tickets nor a cache for their sessions", "")
            .config(nginx("ssl_session_tickets off;"))
            .cause("nginx.tls_sessions"),
        rising("haproxy", "tls-sessions-haproxy", "visitors who come back, and neither tickets nor a cache for their sessions", "")
            .config(haproxy("tune.ssl.cachesize 0", "no-tls-tickets"))
            .cause("haproxy.tls_sessions")
            // One core, which resumed handshakes fill next where others use it, too.
            .then(&["haproxy.cpu"]),
        rising("apache", "tls-sessions-apache", "visitors who come back, and neither tickets nor a cache for their sessions", "")
            .config(apache("SSLSessionTickets off"))
            .cause("apache.tls_sessions"),
        rising("caddy", "tls-key-caddy", "a key of RSA 4096, for new visitors", "--no-resume")
            .config("{\n\tauto_https off\n}\nhttps://:443 {\n\ttls {dir}/cert.pem /nonexistent/key.pem\n\treverse_proxy {backend}\n}\n")
            .called("Caddyfile")
            .cause("caddy.tls_key"),
        Case::of("nginx", "tls-key-gzip-nginx", "gzip at its dearest, beside a key of RSA 4096")
            .flags("--new-connections --no-resume --rate 300 --ramp 12s --timeout 10s")
            .objective("p99 < 300ms")
            .config(nginx("gzip on; gzip_comp_level 9; gzip_proxied any; gzip_types *; gzip_http_version 1.0;"))
            .words(["-H", "Accept-Encoding: gzip"])
            .behind(Alone(LONG))
            .cause("nginx.cpu")
            .off(COST),
        Case::of("nginx", "healthy-resumed-nginx", "nothing: a key of RSA 4096, and visitors whose sessions are resumed")
            .flags("--new-connections --rate 350 --ramp 7s")
            .objective("p99 < 300ms")
            .config(nginx(""))
            .behind(Alone(LONG)),
    ]
}

/// A certificate with a long key for the product before it, and a page of 200 kB that packs badly.
const LONG: Between = Between {
    command: &[
        "sh",
        "-c",
        "cd {dir} && openssl req -x509 -newkey rsa:4096 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem && cat cert.pem key.pem > both.pem && \
         chmod 644 *.pem && exec node {dir}/behind.conf",
    ],
    file: "let n = 1, page = '';\nwhile (page.length < 200000) { n = n * 16807 % 2147483647; page += n.toString(36) + ' '; }\nrequire('http').createServer((q, s) => \
           s.end(q.headers['accept-encoding'] ? page : 'here')).listen({port}, '127.0.0.1', 511);\n",
};

/// A certificate of the backend's, and another authority.
macro_rules! papers {
    () => {
        "cd {dir} && new='openssl req -x509 -newkey rsa:2048 -nodes -days 2 -addext subjectAltName=DNS:localhost' && $new -subj /CN=localhost \
         -keyout key.pem -out cert.pem && $new -subj /CN=other -keyout other.key -out other.pem && cat cert.pem key.pem > both.pem && chmod 644 *.pem && "
    };
}

/// An application of 100 ms that takes TLS.
const SECURED: Between = Between {
    command: &["sh", "-c", concat!(papers!(), "exec node {dir}/behind.conf")],
    file: "const fs = require('fs'), keys = { key: fs.readFileSync('key.pem'), cert: fs.readFileSync('cert.pem') };\nrequire('https').createServer(keys, (q, s) \
           => setTimeout(() => s.end('here'), 100)).listen({port}, '127.0.0.1', 511);\n",
};

/// HAProxy that refuses the handshake of clients without a certificate.
const WANTING: Between = Between {
    command: &["sh", "-c", concat!(papers!(), "exec haproxy -db -f {dir}/behind.conf")],
    file: "global\n  maxconn 500\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\nfrontend f\n  bind \
           127.0.0.1:{port} ssl crt {dir}/both.pem ca-file {dir}/other.pem verify required\n  http-request return status 200\n",
};
