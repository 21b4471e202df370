//! Settings: found where they are in force, changed there, refused when nginx would not take them.

use std::collections::BTreeMap;

use genkai_model::limit::Origin;
use genkai_targets::files::{Configuration, Requests};
use genkai_targets::nginx::config::Config;
use genkai_targets::nginx::settings::{TABLE, render};

use crate::nginx_configs::{corpus, text};

fn printed(config: &Config) -> String {
    config.files().map(|(_, f)| String::from_utf8_lossy(&f.text).into_owned()).collect()
}

fn at(path: &str) -> Requests {
    Requests::to("", path)
}

/// Lines that went and came, in order.
fn changed(before: &Config, after: &Config) -> Vec<String> {
    let diff = before.diff(after);
    let lines = diff
        .lines()
        .filter(|l| (l.starts_with('-') || l.starts_with('+')) && !l.starts_with("---") && !l.starts_with("+++"));
    lines.map(|l| format!("{}{}", &l[..1], l[1..].trim())).collect()
}

fn set(config: &Config, path: &str, name: &str, value: &str) -> Vec<String> {
    changed(config, &config.set(name, value, &at(path)).unwrap())
}

fn refused(config: &Config, path: &str, name: &str, value: &str) -> String {
    config.set(name, value, &at(path)).unwrap_err().to_string()
}

#[test]
fn a_setting_is_changed_where_it_is_in_force_for_the_path() {
    let (_dir, config) = corpus("balance");
    assert_eq!(
        set(&config, "/", "proxy_read_timeout", "10s"),
        ["-proxy_read_timeout 30s;", "+proxy_read_timeout 10s;"]
    );
    let api = set(&config, "/api/x", "proxy_read_timeout", "10s");
    assert_eq!(api.len(), 2);
    assert!(api[1].contains("/v2/; proxy_read_timeout 10s;"), "{api:?}");
    assert_eq!(set(&config, "/api/x", "client_max_body_size", "1g")[1].matches("1g").count(), 1);
    // Not written anywhere for this path: into http, for all.
    assert_eq!(set(&config, "/", "client_max_body_size", "10m"), ["+client_max_body_size 10m;"]);
    assert_eq!(set(&config, "/", "worker_processes", "auto"), ["-worker_processes 4;", "+worker_processes auto;"]);
}

#[test]
fn the_value_in_force_has_its_origin() {
    let (dir, config) = corpus("balance");
    let value = |path: &str, name: &str| config.value_of(name, &at(path)).unwrap();
    let path = dir.path().join("nginx.conf");
    let read = value("/api/", "proxy_read_timeout");
    assert_eq!((read.0.as_str(), &read.1), ("5s", &Origin::File { path: path.clone(), line: 45 }));
    assert_eq!(value("/", "proxy_read_timeout").0, "30s");
    assert_eq!(value("/", "worker_connections").0, "4096");
    assert_eq!(value("/", "listen.backlog").0, "1024");
    let default = value("/", "keepalive_timeout");
    assert_eq!(default.0, "75s");
    assert!(matches!(default.1, Origin::Default(source) if source.contains("ngx_http_core_module.c")));
    assert_eq!(value("/api/", "upstream.keepalive").0, "64");
    assert_eq!(value("/api/", "max_conns").0, "200");
}

#[test]
fn a_backlog_goes_to_the_directive_that_may_carry_it() {
    let config = text("http {\n server {\n  listen 80;\n  listen [::]:80;\n }\n}\n");
    let expected = ["-listen 80;", "-listen [::]:80;", "+listen 80 backlog=4096;", "+listen [::]:80 backlog=4096;"];
    assert_eq!(set(&config, "/", "listen.backlog", "4096"), expected);
    let config = text("http {\n server {\n  listen 80;\n }\n server {\n  listen *:80 reuseport;\n }\n}\n");
    let expected = ["-listen *:80 reuseport;", "+listen *:80 reuseport backlog=4096;"];
    assert_eq!(set(&config, "/", "backlog", "4096"), expected, "options are given once for an address");
    let (_dir, balance) = corpus("balance");
    assert_eq!(set(&balance, "/", "backlog", "7")[1], "+listen 80 backlog=7 reuseport;");
    let (_dir, tiny) = corpus("tiny");
    assert!(refused(&tiny, "/", "backlog", "7").contains("add one"));
}

#[test]
fn upstream_settings_go_to_the_group_that_answers() {
    let (_dir, config) = corpus("balance");
    assert_eq!(set(&config, "/api/", "upstream.keepalive", "128"), ["-keepalive 64;", "+keepalive 128;"]);
    let conns = set(&config, "/api/", "upstream.max_conns", "50");
    assert_eq!(
        conns,
        ["-server 10.0.0.11:8080 weight=3 max_conns=200;", "+server 10.0.0.11:8080 weight=3 max_conns=50;"]
    );
    let none = text(
        "http { upstream a { server 127.0.0.1:1; server 127.0.0.1:2 backup; }\n server { listen 80; location / { proxy_pass http://a; } } }\n",
    );
    let all = "server 127.0.0.1:1 max_conns=50; server 127.0.0.1:2 backup max_conns=50;";
    assert!(set(&none, "/", "upstream.max_conns", "50")[1].contains(all), "where none has a cap, each gets one");
    let (_dir, chat) = corpus("websocket");
    let added = set(&chat, "/ws/", "upstream.keepalive", "8");
    assert_eq!(added[1], "+upstream chat { ip_hash; server 127.0.0.1:8001; server 127.0.0.1:8002; keepalive 8; }");
    assert!(refused(&config, "/static/x", "upstream.keepalive", "8").contains("no upstream answers"));
    assert!(refused(&config, "/legacy", "upstream.keepalive", "8").contains("not to an upstream block"));
    assert!(refused(&config, "/", "upstream.keepalive", "8").contains("chosen by variables"));
}

#[test]
fn limits_are_told_apart_by_zone() {
    let (_dir, config) = corpus("limits");
    assert_eq!(set(&config, "/", "limit_conn.perip", "99"), ["-limit_conn perip 10;", "+limit_conn perip 99;"]);
    assert_eq!(
        set(&config, "/", "limit_conn", "perserver 5"),
        ["-limit_conn perserver 1000;", "+limit_conn perserver 5;"]
    );
    assert!(refused(&config, "/", "limit_conn", "5").contains("limit_conn.perserver, limit_conn.perip"));
    assert!(refused(&config, "/", "limit_conn", "70000").contains("from 1 to 65535"));
    assert_eq!(config.value_of("limit_conn.perip", &at("/")).unwrap().0, "10");
    assert_eq!(config.value_of("limit_conn", &at("/download/")).unwrap().0, "1");
    // A zone that is not in force there goes beside those that are.
    assert_eq!(set(&config, "/download/", "limit_conn", "perserver 9").len(), 2);

    assert_eq!(config.value_of("limit_req", &at("/")).unwrap().0, "10r/s");
    let rate = set(&config, "/", "limit_req", "50");
    assert!(rate[1].ends_with("zone=one:10m rate=50r/s;"), "{rate:?}");
    assert!(set(&config, "/login", "limit_req.login", "60r/m")[1].ends_with("zone=login:1m rate=60r/m;"));
    let both = set(&config, "/", "limit_req", "50r/s burst=99").join("\n");
    assert!(
        both.contains("zone=one:10m rate=50r/s;") && both.contains("+limit_req zone=one burst=99 nodelay;"),
        "{both}"
    );
    let burst = set(&config, "/", "limit_req", "zone=one burst=99");
    assert_eq!(burst, ["-limit_req zone=one burst=20 nodelay;", "+limit_req zone=one burst=99;"]);
    let zone = set(&config, "/", "limit_conn_zone", "$server_name zone=perserver:1m");
    assert_eq!(zone[1], "+limit_conn_zone $server_name zone=perserver:1m;");
    assert_eq!(set(&config, "/", "limit_req_zone", "$uri zone=new:1m rate=1r/s").len(), 1);
}

#[test]
fn logs_are_replaced_together() {
    let (_dir, config) = corpus("cache");
    let off = config.set("access_log", "off", &at("/")).unwrap();
    let lines = changed(&config, &off);
    assert_eq!(lines.iter().filter(|l| l.starts_with('-')).count(), 3);
    assert_eq!(lines.iter().filter(|l| l.starts_with('+')).collect::<Vec<_>>(), ["+access_log off;"]);
}

#[test]
fn worker_connections_must_leave_room_for_the_listeners() {
    let (_dir, stream) = corpus("stream");
    let message = refused(&stream, "/", "worker_connections", "9");
    assert!(
        message.starts_with("worker_connections=9: must be at least 10, as this configuration has 9 listening"),
        "{message}"
    );
    assert!(stream.set("worker_connections", "10", &at("/")).is_ok());
}

#[test]
fn unknown_and_wrong_settings_are_refused_with_help() {
    let config = text("events {} http {}");
    assert!(refused(&config, "/", "worker_conections", "9").contains("did you mean worker_connections"));
    assert!(refused(&config, "/", "worker_connections", "many").contains("a whole number from 1 to"));
    assert!(refused(&config, "/", "error_log", "x; user root").contains("without \";\""));
    assert!(refused(&text("events {}"), "/", "gzip", "on").contains("no http block"));
}

#[test]
fn every_setting_can_be_read_back_after_it_was_set() {
    let (_dir, config) = corpus("balance");
    let text = printed(&config).replace("$pool", "stable");
    // One file is enough here: the included ones hold no settings.
    let config = self::text(&text.split("types {").next().unwrap().replace("include", "#include"));
    let values: BTreeMap<&str, &str> = BTreeMap::from([
        ("error_log", "/x/error.log info"),
        ("access_log", "/x/access.log combined buffer=4k"),
        ("open_file_cache", "max=100 inactive=5s"),
        ("worker_rlimit_nofile", "4096"),
        ("limit_conn_zone", "$uri zone=z:1m"),
        ("limit_req_zone", "$uri zone=r:1m rate=5r/s"),
        ("upstream.keepalive", "7"),
    ]);
    for setting in TABLE.settings.iter().filter(|s| !matches!(s.name, "limit_conn" | "limit_req")) {
        let value = values.get(setting.name).copied().unwrap_or(setting.default);
        let edited = config.set(setting.name, value, &at("/")).unwrap_or_else(|e| panic!("{}: {e}", setting.name));
        let read = edited.value_of(setting.name, &at("/")).unwrap();
        assert_eq!(read.0, value, "{}", setting.name);
        assert!(matches!(read.1, Origin::File { .. }), "{}", setting.name);
        let again = edited.set(setting.name, value, &at("/")).unwrap();
        assert_eq!(printed(&again), printed(&edited), "{}: setting it twice changes nothing", setting.name);
    }
}

#[test]
fn a_rendered_configuration_has_each_setting_in_its_place() {
    let settings = [
        ("worker_connections", "1024"),
        ("worker_rlimit_nofile", "9000"),
        ("listen.backlog", "64"),
        ("upstream.keepalive", "32"),
        ("client_max_body_size", "8m"),
        ("max_conns", "100"),
        ("limit_conn_zone", "$binary_remote_addr zone=ip:1m"),
        ("limit_conn", "ip 10"),
    ];
    let plain = render(("127.0.0.1:9000".parse().unwrap(), None), false, None, None);
    let config =
        BTreeMap::from(settings).iter().fold(plain, |config, (name, value)| config.set(name, value, &at("/")).unwrap());
    let expected = r#"# A plain reverse proxy, written by genkai.
worker_processes 1;
worker_rlimit_nofile 9000;

events {
    worker_connections 1024;
}

http {
    client_max_body_size 8m;
    limit_conn ip 10;
    limit_conn_zone $binary_remote_addr zone=ip:1m;
    upstream backend {
        server 127.0.0.1:9000 max_fails=0 max_conns=100;
        keepalive 32;
    }

    server {
        listen 80 backlog=64;

        location / {
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_next_upstream off;
        }
    }
}
"#;
    assert_eq!(printed(&config), expected);
}
