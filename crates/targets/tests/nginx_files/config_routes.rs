//! Which blocks serve a request, and which values are in force for it.

use genkai_targets::nginx::config::{Config, Found, Target};

use crate::nginx_configs::{corpus, text};

fn served(config: &Config, host: Option<&str>, path: &str) -> (String, String) {
    let route = config.route(host, path).unwrap();
    let written = |chain: &[Found<'_>]| chain.iter().map(|l| l.args().join(" ")).collect::<Vec<_>>().join(" > ");
    (written(route.entry()), written(route.handler()))
}

#[test]
fn locations_are_chosen_as_nginx_does() {
    let config = text(
        "http { server {
            location / { } location /a { } location ^~ /a/b/ { } location = /a { }
            location ~ \\.php$ { } location ~* \\.(JPG|png)$ { } location ~ ^/never(?=x) { }
            location /n { location /n/m { } location ~ \\.php$ { fastcgi_pass x; } location = /n/x { } }
            location ~^/glued { } location =/exact { } location @named { }
        } }",
    );
    let cases = [
        ("/", "/"),
        ("/x", "/"),
        ("/a", "= /a"),
        ("/ab", "/a"),
        ("/a/b/x.php", "^~ /a/b/"),
        ("/x.php", "~ \\.php$"),
        ("/x.jpg", "~* \\.(JPG|png)$"),
        ("/n/m/1", "/n > /n/m"),
        ("/n/1.php", "/n > ~ \\.php$"),
        ("/n/x", "/n > = /n/x"),
        ("/glued/1", "~^/glued"),
        ("/exact", "=/exact"),
    ];
    for (path, expected) in cases {
        assert_eq!(served(&config, None, path).0, expected, "{path}");
    }
    let route = config.route(None, "/x").unwrap();
    assert!(route.doubts.is_empty(), "a look-ahead is evaluated: {:?}", route.doubts);
    let odd = text("http {\nserver {\nlocation ~ ^/(x { } location / { } } }");
    let doubt = "the regular expression at /etc/nginx/nginx.conf:3";
    assert_eq!(odd.route(None, "/x").unwrap().doubts, [doubt], "what cannot be evaluated is said");
}

#[test]
fn the_handler_is_found_behind_try_files_and_index() {
    let (_dir, config) = corpus("wordpress");
    assert_eq!(served(&config, None, "/"), ("/".into(), "~ \\.php$".into()));
    assert_eq!(served(&config, None, "/2024/hello/"), ("/".into(), "~ \\.php$".into()));
    assert_eq!(served(&config, None, "/logo.png").1, "~* \\.(js|css|png|jpg|jpeg|gif|ico)$");
    assert_eq!(config.route(None, "/").unwrap().pass().unwrap().target, Target::Upstream("php".into()));
    let named =
        text("http { server { root /x; location / { try_files $uri @app; } location @app { proxy_pass http://a; } } }");
    assert_eq!(served(&named, None, "/x"), ("/".into(), "@app".into()));
    let circle = text("http { server { location / { try_files $uri /x; } } }");
    assert_eq!(served(&circle, None, "/"), ("/".into(), "/".into()));
    let index = text("http { index i.php; server { location / { } location ~ \\.php$ { proxy_pass http://a; } } }");
    assert_eq!(served(&index, None, "/d/").1, "~ \\.php$");
    assert_eq!(served(&index, None, "/d").1, "/");
}

#[test]
fn servers_are_chosen_by_name_then_default() {
    let config = text(
        "http {
            server { listen 80; server_name a.example.com; set $n first; }
            server { listen 80 default_server; server_name _; set $n default; }
            server { listen 80; server_name *.example.com; set $n star; }
            server { listen 80; server_name www.*; set $n www; }
            server { listen 80; server_name ~^r\\d+\\.net$; set $n regex; }
            server { listen 80; server_name .dot.org; set $n dot; }
            server { listen 443 ssl; server_name a.example.com; set $n tls; }
        }",
    );
    let cases = [
        (None, "default"),
        (Some("a.example.com"), "first"),
        (Some("A.EXAMPLE.com:80"), "first"),
        (Some("b.example.com"), "star"),
        (Some("www.else.net"), "www"),
        (Some("r12.net"), "regex"),
        (Some("dot.org"), "dot"),
        (Some("x.dot.org"), "dot"),
        (Some("unknown"), "default"),
    ];
    for (host, expected) in cases {
        let route = config.route(host, "/").unwrap();
        assert_eq!(route.inherited("set")[0].arg(1).unwrap(), expected, "{host:?}");
    }
    assert!(text("http { }").route(None, "/").is_none());
    let (_dir, tiny) = corpus("tiny");
    assert!(tiny.route(None, "/").unwrap().listen.is_none());
}

#[test]
fn the_innermost_value_is_in_force() {
    let (_dir, config) = corpus("limits");
    let zones = |path: &str| -> Vec<_> {
        config.route(None, path).unwrap().inherited("limit_conn").iter().map(|f| f.args().join(" ")).collect()
    };
    assert_eq!(zones("/"), ["perserver 1000", "perip 10"]);
    assert_eq!(zones("/download/x"), ["perip 1"]);
    let route = config.route(None, "/login").unwrap();
    assert_eq!(route.inherited("client_max_body_size")[0].arg(0).unwrap(), "16k");
    assert_eq!(route.inherited("limit_conn_status")[0].line(), 8);
    assert!(route.inherited("sendfile").is_empty());
}

#[test]
fn the_upstream_is_asked_by_the_path_of_proxy_pass() {
    let config = text(
        "http { server {
            location / { proxy_pass http://127.0.0.1:1; } location /app/ { proxy_pass http://127.0.0.1:1/; }
            location ^~ /b { proxy_pass http://127.0.0.1:1/inner/b; } location = /one { proxy_pass http://127.0.0.1:1/two; }
            location ~ \\.php$ { proxy_pass http://127.0.0.1:1; } location /v { proxy_pass http://127.0.0.1:1$request_uri; }
            location /r { rewrite ^/r/(.*)$ /$1 break; proxy_pass http://127.0.0.1:1; }
        } }",
    );
    let cases = [
        ("/x?y=1", Some("/x?y=1")),
        ("/app/x?y=1", Some("/x?y=1")),
        ("/b/c", Some("/inner/b/c")),
        ("/one", Some("/two")),
        ("/a.php", Some("/a.php")),
        ("/v/1", None),
        ("/r/1", None),
    ];
    for (target, asked) in cases {
        let route = config.route(None, target.split('?').next().unwrap()).unwrap();
        assert_eq!(route.forwarded(target).as_deref(), asked, "{target}");
    }
}
