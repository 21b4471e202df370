//! Answers that a server makes itself: one request before any load is followed, and the directive that answers it is named with its line.
//! (No load is made: what is said of a load follows from the same data, and is shown by the drill.)

mod overrides;
mod sockets;

use std::collections::BTreeMap;
use std::path::Path;

use genkai_lab::backend::Backend;
use genkai_lab::first;
use genkai_lab::folder::Folder;
use genkai_model::event::Rewrite;
use genkai_model::load::{Load, Request};
use genkai_model::plan::{self, ConfigSource, OriginSpec};
use genkai_model::transport::Transport;
use genkai_model::units::{Bytes, Spread};
use genkai_place::authority::{self, Key};
use genkai_targets::catalog;
use genkai_targets::product::{Prepare, Prepared};

/// A request and what is said of its answer. Configurations are those of the tables; `#1` marks the line of the directive that must be named.
struct Case {
    /// What of the configuration is this case's.
    text: String,
    request: Request,
    /// Parts of the sentence; `#1` is `FILE:LINE` of the marked line.
    says: Vec<&'static str>,
}

fn case(text: impl Into<String>, says: &[&'static str]) -> Case {
    let request = Request { path: "/a/b?c=d".to_owned(), ..Load::users(1, 1.0).request };
    Case { text: text.into(), request, says: says.to_vec() }
}

impl Case {
    fn path(mut self, path: impl Into<String>) -> Case {
        self.request.path = path.into();
        self
    }

    fn header(mut self, name: &str, value: impl Into<String>) -> Case {
        self.request.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// The line of the mark, from 1, and the text without it.
fn marked(text: &str, mark: &str) -> (String, Option<usize>) {
    let line = text.lines().position(|line| line.contains(mark)).map(|at| at + 1);
    (text.replace(mark, ""), line)
}

/// `product` with this configuration, before a backend of ours.
fn prepared(product: &str, file: &Path, request: &Request, backend: &Backend, dir: &Path) -> Box<dyn Prepared> {
    let none = BTreeMap::new();
    let what = Prepare {
        backend: backend.address(),
        path: &request.path,
        host: &request.host,
        ..Prepare::plain(ConfigSource::File(file.to_owned()), &none, dir.join("copy"))
    };
    let told = |e| panic!("{e}\n{}", std::fs::read_to_string(file).unwrap());
    catalog::prepare(product, what).unwrap_or_else(told)
}

/// What is said of one request to it.
fn said(product: &str, prepared: &dyn Prepared, request: &Request, backend: &mut Backend) -> Option<String> {
    said_of(product, prepared, Load { request: request.clone(), ..Load::users(1, 1.0) }, backend)
}

/// What is said of the first request of a load.
fn said_of(product: &str, prepared: &dyn Prepared, load: Load, backend: &mut Backend) -> Option<String> {
    let mut server = prepared.start(None).unwrap();
    let load = Load { addresses: vec![server.address()], transport: prepared.transport(), ..load };
    let answers = prepared.answers(&load.request);
    let first = first::answer(product, &answers, &load, &mut *server, backend);
    server.stop();
    first.told
}

fn embedded(dir: &Path) -> Backend {
    let spec = OriginSpec { body: Bytes(100), service_time: Spread::default(), workers: None, queue: None, seed: 1 };
    let folder = Folder::open(&dir.join("out"), false).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_genkai"));
    Backend::start(&plan::Backend::Embedded(spec), program, &folder, None).unwrap()
}

/// Runs a table: each case's text within `around`, by a product.
fn all(product: &str, cases: Vec<Case>, around: impl Fn(&str, &Path) -> String) {
    let dir = tempfile::tempdir().unwrap();
    authority::make(dir.path()).unwrap();
    let mut backend = embedded(dir.path());
    let mut wrong = Vec::new();
    for (number, case) in cases.into_iter().enumerate() {
        let (text, line) = marked(&around(&case.text, dir.path()), "#1");
        let (text, second) = marked(&text, "#2");
        let file = dir.path().join(format!("{number}.conf"));
        std::fs::write(&file, &text).unwrap();
        let place = |line: Option<usize>| format!("({}:{})", file.display(), line.unwrap_or_default());
        let copy = tempfile::tempdir().unwrap();
        let prepared = prepared(product, &file, &case.request, &backend, copy.path());
        let said = said(product, &*prepared, &case.request, &mut backend);
        let sentence = said.clone().unwrap_or_default();
        let expected = case.says.iter().map(|part| part.replace("#1", &place(line)).replace("#2", &place(second)));
        let missing: Vec<String> = expected.filter(|part| !sentence.contains(part)).collect();
        // Nothing is said where nothing is to be said; one directive is named, and no other.
        let others = case.says.iter().any(|part| part.contains("itself:")) && sentence.contains("cannot tell");
        if !missing.is_empty() || case.says.is_empty() != said.is_none() || others {
            wrong.push(format!("{}\n  said: {sentence}\n  missing: {missing:?}", case.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_nginx_answers_itself_is_named_with_its_line() {
    let location = |within: &str| format!("location / {{\n{within}\nproxy_pass http://127.0.0.1:9;\n}}");
    let long = |n: usize| "x".repeat(n);
    let cases = vec![
        case(location(""), &[]),
        case(location("deny all;#1"), &["answered 403 by nginx itself: `deny all` #1"]),
        case(location("allow 10.0.0.0/8;\ndeny 127.0.0.0/24;#1\nallow all;"), &["`deny 127.0.0.0/24` #1"]),
        case(location("allow 127.0.0.1;\ndeny all;"), &[]),
        case(
            location("auth_basic \"who\";#1\nauth_basic_user_file /nonexistent;"),
            &["answered 401 by nginx itself", "`auth_basic \"who\"` #1"],
        ),
        case(
            location("auth_request /ask;#1") + "\nlocation = /ask {\ninternal;\nreturn 401;\n}",
            &["answered 401 by nginx itself: `auth_request /ask` #1"],
        ),
        case(location("return 503;#1"), &["answered 503 by nginx itself: `return 503` #1"]),
        case("return 418;#1\n".to_owned() + &location(""), &["answered 418 by nginx itself: `return 418` #1"]),
        case(location("if ($arg_c = d) {\nreturn 429;#1\n}"), &["answered 429 by nginx itself: `return 429` #1"]),
        case(location("rewrite ^ /new redirect;#1"), &["answered 302 to http://", "`rewrite ^ /new redirect` #1"]),
        case(
            location("limit_except POST {#2\ndeny all;#1\n}"),
            &["answered 403 by nginx itself: `deny all` #1", "within `limit_except POST` #2"],
        ),
        case(location("try_files $uri =404;#1"), &["answered 404 by nginx itself: `try_files $uri =404` #1"]),
        case(
            location("deny all;#1\nerror_page 403 =404 @gone;#2") + "\nlocation @gone {\nreturn 404;\n}",
            &["answered 404 by nginx itself: `deny all` #1", "`error_page 403 =404 @gone` #2"],
        ),
        case(
            location("deny all;#1\nerror_page 403 https://x.example/no;#2"),
            &[
                "answered 302 to https://x.example/no by nginx itself: `deny all` #1",
                "`error_page 403 https://x.example/no` #2",
            ],
        ),
        case(
            location("deny all;#1\nerror_page 403 =307 https://x.example/no;#2"),
            &["answered 307 to https://x.example/no by nginx itself: `deny all` #1"],
        ),
        case(
            "large_client_header_buffers 4 2k;#1\n".to_owned() + &location(""),
            &["answered 400 by nginx itself: `large_client_header_buffers 4 2k` #1"],
        )
        .header("X-Long", long(3000)),
        case(
            "large_client_header_buffers 4 2k;#1\n".to_owned() + &location(""),
            &["answered 414 by nginx itself: `large_client_header_buffers 4 2k` #1"],
        )
        .path("/".to_owned() + &long(3000)),
        case(location(""), &["answered 400 by nginx itself: `large_client_header_buffers 4 8k` (by default)"])
            .header("X-Long", long(9000)),
        case(
            "ssl_client_certificate DIR/authority.pem;\nssl_verify_client on;#1\n".to_owned() + &location(""),
            &["answered 400 by nginx itself: `ssl_verify_client on` #1"],
        ),
        case(
            location("try_files $uri =404;#1\nerror_page 404 =200 /there;#2")
                + "\nlocation = /there {\nreturn 200 x;\n}",
            &["is answered by nginx itself: `try_files $uri =404` #1", "`error_page 404 =200 /there` #2"],
        ),
        case(
            location("deny all;#1\nerror_page 403 =200 @there;#2") + "\nlocation @there {\nreturn 200 x;\n}",
            &["is answered by nginx itself: `deny all` #1", "`error_page 403 =200 @there` #2"],
        ),
        case("location /a {\nroot /nonexistent;#1\n}", &["answered 404 by nginx itself: `root /nonexistent` #1 (there is no"]),
        case("location / {\nroot /etc;#1\n}", &["answered 403 by nginx itself: `root /etc` #1 (the file may not be read)"])
            .path("/shadow"),
        case(
            "location / {\nroot /usr/share;#1\n}",
            &["answered 403 by nginx itself: `root /usr/share` #1 (it is a folder without a page (`index index.html`, by default)"],
        )
        .path("/doc/"),
        case(
            "location / {\nroot /usr/share;\naccess_by_lua_block { ngx.exit(403) }#1\n}",
            &["answered 403; cannot tell which of these does it: `access_by_lua_block", "#1 of nginx"],
        ),
    ];
    all("nginx", cases, |text, dir| {
        let tls = "listen 8443 ssl;\nssl_certificate DIR/certificate.pem;\nssl_certificate_key DIR/key.pem;";
        let listen = if text.contains("ssl_") { tls } else { "listen 8080;" };
        let modules =
            ["ndk_http", "ngx_http_lua"].map(|name| format!("load_module /usr/lib/nginx/modules/{name}_module.so;\n"));
        let modules = if text.contains("_by_lua") { modules.concat() } else { String::new() };
        let whole = format!("{modules}events {{}}\nhttp {{\nserver {{\n{listen}\n{text}\n}}\n}}\n");
        whole.replace("DIR", &dir.display().to_string())
    });
}

#[test]
fn what_apache_answers_itself_is_named_with_its_line() {
    let long = |n: usize| "x".repeat(n);
    let pass = "ProxyPass / http://127.0.0.1:9/\n";
    let with = |within: &str| format!("{within}\n{pass}");
    let cases = vec![
        case(with(""), &[]),
        case(
            with("<Location /a>\nRequire all denied#1\n</Location>"),
            &["answered 403 by apache itself: `Require all denied` #1"],
        ),
        case(with("<Location /a>\nRequire ip 10.0.0.0/8#1\n</Location>"), &["`Require ip 10.0.0.0/8` #1"]),
        case(with("<Location /a>\nRequire local\n</Location>"), &[]),
        case(
            with(
                "<Location /a>\nAuthType Basic\nAuthName x\nAuthBasicProvider file\nAuthUserFile /dev/null\nRequire valid-user#1\n</Location>",
            ),
            &["answered 401 by apache itself: `Require valid-user` #1"],
        ),
        case(
            with("<Location /a>\nDeny from all#1\n</Location>"),
            &["answered 403 by apache itself: `Deny from all` #1"],
        ),
        case(
            with("RewriteEngine on\nRewriteRule ^/a/ - [F]#1"),
            &["answered 403 by apache itself: `RewriteRule ^/a/ - [F]` #1"],
        ),
        case(
            with("RewriteEngine on\nRewriteRule ^/b/ - [F]\nRewriteCond %{HTTP_USER_AGENT} ^$\nRewriteRule . - [G]#1"),
            &["answered 410 by apache itself: `RewriteRule . - [G]` #1"],
        ),
        case(
            with("RewriteEngine on\nRewriteRule ^ https://x.example/ [R=301,L]#1"),
            &["answered 301 to https://x.example/", "[R=301,L]` #1"],
        ),
        case(with("LimitRequestFieldSize 200#1"), &["answered 400 by apache itself: `LimitRequestFieldSize 200` #1"])
            .header("X-Long", long(300)),
        case(with("LimitRequestLine 100#1"), &["answered 414 by apache itself: `LimitRequestLine 100` #1"])
            .path("/".to_owned() + &long(300)),
        case(with(""), &["answered 400 by apache itself: `LimitRequestFieldSize 8190` (by default)"])
            .header("X-Long", long(9000)),
        case("Redirect 410 /a#1", &["answered 410 by apache itself: `Redirect 410 /a` #1"]),
        case(
            "DocumentRoot /usr/share#1\n<Location />\nRequire all granted\n</Location>",
            &["answered 404 by apache itself: `DocumentRoot /usr/share` #1"],
        ),
    ];
    all("apache", cases, |text, _| {
        let names = [
            "mpm_event",
            "authz_core",
            "authz_host",
            "authz_user",
            "authn_core",
            "authn_file",
            "auth_basic",
            "access_compat",
            "alias",
            "rewrite",
            "proxy",
            "proxy_http",
        ];
        let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
        let modules: String = names.iter().map(|name| load(name)).collect();
        format!("{modules}ServerName x\nListen 8080\n{text}\n")
    });
}

#[test]
fn what_haproxy_answers_itself_is_named_with_its_line() {
    let long = |n: usize| "x".repeat(n);
    let with = |front: &str, back: &str| {
        format!("frontend f\n bind :8080\n {front}\n default_backend b\nbackend b\n {back}\n server s 127.0.0.1:9\n")
    };
    let cases = vec![
        case(with("", ""), &[]),
        case(with("http-request deny#1", ""), &["answered 403 by haproxy itself: `http-request deny` #1"]),
        case(
            with("http-request deny deny_status 429 if { path_beg /a }#1", ""),
            &["answered 429 by haproxy itself: `http-request deny deny_status 429 if { path_beg /a }` #1"],
        ),
        case(
            with("http-request deny if { src 127.0.0.1 }#1\n http-request deny if { src 10.0.0.1 }", ""),
            &["`http-request deny if { src 127.0.0.1 }` #1"],
        ),
        case(
            with("", "http-request deny if { src 127.0.0.1 }#1"),
            &["answered 403 by haproxy itself: `http-request deny if { src 127.0.0.1 }` #1"],
        ),
        case(with("http-request tarpit#1", ""), &["answered 500 by haproxy itself: `http-request tarpit` #1"]),
        case(
            with("http-request return status 503#1", ""),
            &["answered 503 by haproxy itself: `http-request return status 503` #1"],
        ),
        case(
            with("http-request redirect scheme https code 301#1", ""),
            &["answered 301 to https://", "`http-request redirect scheme https code 301` #1"],
        ),
        case(
            with(
                "stick-table type ip size 10 expire 9s store http_req_rate(9s)\n http-request track-sc0 src\n http-request deny deny_status 429 if { sc_http_req_rate(0) ge 1 }#1",
                "",
            ),
            &["answered 429 by haproxy itself: `http-request deny deny_status 429 if { sc_http_req_rate(0) ge 1 }` #1"],
        ),
        case(
            with("tcp-request connection reject#1", ""),
            &["connection is closed", "by haproxy itself: `tcp-request connection reject` #1"],
        ),
        case(
            "global\n tune.bufsize 8192#1\n".to_owned() + &with("", ""),
            &["400 by haproxy itself: `tune.bufsize 8192` #1"],
        )
        .header("X-Long", long(9_000)),
        case(with("", ""), &["answered 400 by haproxy itself: `tune.bufsize 16384` (by default)"])
            .header("X-Long", long(17_000)),
    ];
    all("haproxy", cases, |text, _| {
        format!(
            "defaults\n mode http\n timeout client 5s\n timeout server 5s\n timeout connect 5s\n timeout tarpit 100ms\n{text}"
        )
    });
}

/// A site whose plain listener redirects to TLS, whose key genkai may not read: it is asked there, with a certificate of the run's.
fn is_asked_with_tls(product: &str, text: &str) {
    let dir = tempfile::tempdir().unwrap();
    authority::make(dir.path()).unwrap();
    let mut backend = embedded(dir.path());
    let (text, redirect) = marked(&text.replace("DIR", &dir.path().display().to_string()), "#1");
    let file = dir.path().join("site.conf");
    std::fs::write(&file, &text).unwrap();
    let request = Request { host: "shop.example".to_owned(), path: "/a".to_owned(), ..Load::users(1, 1.0).request };
    let copy = tempfile::tempdir().unwrap();
    let prepared = prepared(product, &file, &request, &backend, copy.path());
    let Transport::Tls(tls) = prepared.transport() else { panic!("no TLS: {:#?}", prepared.rewrites()) };
    assert_eq!((tls.server_name.as_str(), tls.insecure), ("shop.example", false));
    assert_eq!(said(product, &*prepared, &request, &mut backend), None, "the backend has answered");
    let place = format!("{}:{}", file.display(), redirect.unwrap());
    let of = |rewrite: &&Rewrite| rewrite.place == place && rewrite.to.contains("where it leads");
    assert!(prepared.rewrites().iter().any(|rewrite| of(&rewrite)), "{:#?}", prepared.rewrites());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "the user's file is as it was");
}

#[test]
fn apaches_site_behind_a_redirect_to_tls_is_asked_there_without_its_key() {
    let names = ["mpm_event", "authz_core", "rewrite", "ssl", "proxy", "proxy_http"];
    let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let modules: String = names.iter().map(|name| load(name)).collect();
    let site = "Listen 80\nListen 443\n<VirtualHost *:80>\nServerName shop.example\nRewriteEngine on\nRewriteCond %{SERVER_NAME} \
                =shop.example\nRewriteRule ^ https://%{SERVER_NAME}%{REQUEST_URI} [END,NE,R=permanent]#1\n</VirtualHost>\n<VirtualHost \
                *:443>\nServerName shop.example\nSSLEngine on\nSSLCertificateFile DIR/certificate.pem\nSSLCertificateKeyFile \
                /nonexistent/privkey.pem\nProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n";
    is_asked_with_tls("apache", &format!("{modules}ServerName x\n{site}"));
}

#[test]
fn haproxys_site_behind_a_redirect_to_tls_is_asked_there_without_its_key() {
    is_asked_with_tls(
        "haproxy",
        "defaults\n mode http\n timeout client 5s\n timeout server 5s\n timeout connect 5s\nfrontend f\n bind :80\n bind :443 ssl crt \
         DIR/certificate.pem alpn h2,http/1.1\n http-request redirect scheme https code 301 unless { ssl_fc }#1\n default_backend \
         b\nbackend b\n server s 127.0.0.1:9\n",
    );
}

/// A certificate of Caddy's is stood in for by one with a key of the same kind; where that cannot be read, it is said.
#[test]
fn caddys_site_shows_a_key_of_the_users_kind_and_one_that_is_not_known_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let users = authority::make_for(dir.path(), &["shop.example".to_owned()], Key::Rsa(2048)).unwrap();
    let mut backend = embedded(dir.path());
    let request = Request { host: "shop.example".to_owned(), path: "/a".to_owned(), ..Load::users(1, 1.0).request };
    let file = dir.path().join("Caddyfile");
    let copy = tempfile::tempdir().unwrap();
    let mut with = |certificate: &Path, name: &str| {
        let tls = format!("tls {} /nonexistent/key.pem", certificate.display());
        let site = format!("https://shop.example {{\n\t{tls}\n\treverse_proxy 127.0.0.1:9\n}}\n");
        std::fs::write(&file, format!("{{\n\tauto_https off\n}}\n{site}")).unwrap();
        let prepared = prepared("caddy", &file, &request, &backend, &copy.path().join(name));
        assert_eq!(said("caddy", &*prepared, &request, &mut backend), None, "the backend has answered");
        (prepared.secured().map(|shown| (shown.setting, shown.key)), prepared.told())
    };
    assert_eq!(with(&users.certificate, "one"), (Some(("tls", Key::Rsa(2048))), Vec::new()));
    let hidden = dir.path().join("hidden.pem");
    std::fs::create_dir(&hidden).unwrap();
    let (shown, told) = with(&hidden, "two");
    assert_eq!(shown, Some(("tls", Key::default())));
    let place =
        format!("{}:5: your certificate has a key of a kind that is not known", dir.path().join("Caddyfile").display());
    assert!(told.len() == 1 && told[0].starts_with(&place), "{told:?}");
}
