use std::path::Path;

use super::*;

fn through(text: &str, path: &str) -> (Vec<String>, Option<String>) {
    let text = format!("events {{}}\nhttp {{\n{text}\n}}\n");
    let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
    let route = config.route(Some("localhost"), path).unwrap();
    let through = config.through(&route);
    let place = |route: &Route<'_>| route.handler().last().map_or_else(String::new, |l| l.written());
    (through.routes.iter().map(place).collect(), through.lost)
}

const INNER: &str = "server { listen 127.0.0.1:8081; location / { proxy_pass http://127.0.0.1:9; } \
                     location /app/ { proxy_pass http://127.0.0.1:9; } }";

fn before(pass: &str) -> String {
    format!("server {{ listen 8080; location / {{ {pass} }} }}\n{INNER}")
}

#[test]
fn a_pass_to_a_listener_of_its_own_is_followed() {
    for to in ["http://127.0.0.1:8081", "http://localhost:8081", "http://[::1]:8081"] {
        let (routes, lost) = through(&before(&format!("proxy_pass {to};")), "/app/x");
        assert_eq!((routes.len(), lost), (1, None), "{to}");
        assert!(routes[0].starts_with("location /app/"), "{to}: {routes:?}");
    }
    let (routes, _) = through(&before("proxy_pass http://127.0.0.1:8081/;"), "/x");
    assert!(routes[0].ends_with("location /"), "{routes:?}");
    let (routes, _) = through(&before("proxy_pass http://127.0.0.1:8081/app/;"), "/x");
    assert!(routes[0].starts_with("location /app/"), "{routes:?}");
    assert_eq!(through(&before("proxy_pass http://127.0.0.1:8082;"), "/"), (Vec::new(), None));
    assert_eq!(through(&before("proxy_pass http://10.0.0.1:8081;"), "/"), (Vec::new(), None));
}

#[test]
fn a_unix_socket_and_a_group_are_followed_too() {
    let unix = "server { listen 8080; location / { proxy_pass http://unix:/o.sock; } }\n\
                server { listen unix:/o.sock; location / { proxy_pass http://127.0.0.1:9; } }";
    let (routes, lost) = through(unix, "/");
    assert_eq!((routes.len(), lost), (1, None));
    let group = format!("upstream own {{ server 127.0.0.1:8081; }}\n{}", before("proxy_pass http://own;"));
    assert_eq!(through(&group, "/").0.len(), 1);
    let backup = format!(
        "upstream own {{ server 127.0.0.1:9; server 127.0.0.1:8081 backup; }}\n{}",
        before("proxy_pass http://own;")
    );
    assert_eq!(through(&backup, "/"), (Vec::new(), None));
}

#[test]
fn the_server_is_chosen_by_the_host_that_is_passed_on() {
    let named = |header: &str| {
        format!(
            "server {{ listen 8080; location / {{ {header} proxy_pass http://127.0.0.1:8081; }} }}\n\
             server {{ listen 8081; location /other {{ return 204; }} location / {{ return 404; }} }}\n\
             server {{ listen 8081; server_name b; location /b {{ return 204; }} location / {{ return 403; }} }}"
        )
    };
    let handler = |header: &str, path: &str| through(&named(header), path);
    assert!(handler("proxy_set_header Host b;", "/b").0[0].starts_with("location /b"));
    assert!(handler("", "/other").0[0].starts_with("location /other"));
    let (routes, lost) = handler("proxy_set_header Host $http_x;", "/");
    assert!(routes.is_empty() && lost.unwrap().contains("Host header"));
}

#[test]
fn what_is_not_certain_is_told() {
    let lost = |text: &str| through(text, "/").1.unwrap_or_default();
    let mixed =
        format!("upstream own {{ server 127.0.0.1:9; server 127.0.0.1:8081; }}\n{}", before("proxy_pass http://own;"));
    assert!(lost(&mixed).contains("group `own`"));
    let some = before("if ($http_x) { proxy_pass http://127.0.0.1:9; } proxy_pass http://127.0.0.1:8081;");
    assert!(lost(&some).contains("only some requests"), "{}", lost(&some));
    let round = "server { listen 8080; location / { proxy_pass http://127.0.0.1:8080; } }";
    assert!(lost(round).contains("no end"));
    let variable = before("set $to 127.0.0.1:8081; proxy_pass http://$to;");
    assert!(lost(&variable).contains("decides"), "{}", lost(&variable));
}
