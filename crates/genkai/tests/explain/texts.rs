//! `genkai explain`: what a configuration means, from its text alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use genkai_model::explain::{Explanation, RemarkKind};
use genkai_model::limit::Origin;

/// Limits of descriptors are part of what is explained, so they are the same on every machine: 1024, at most 4096.
fn genkai(arguments: &[&str], files: &[&Path]) -> Output {
    let limited = "ulimit -Sn 1024 && ulimit -Hn 4096 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_genkai"), "explain"]);
    // What the servers say of a file: explain_asked.rs.
    command.arg("--no-ask").args(arguments).args(files).output().unwrap()
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
fn each_way_to_an_upstream_has_the_timers_and_buffers_of_its_own_directives() {
    let dir = tempfile::tempdir().unwrap();
    let text = "events { }\nhttp {\n proxy_read_timeout 300s;\n proxy_connect_timeout 7s;\n fastcgi_read_timeout 2s;\n fastcgi_buffer_size 16k;\n fastcgi_buffers 4 16k;\n \
                server {\n  listen 8080;\n  location /p { proxy_pass http://127.0.0.1:9; }\n  location /f { fastcgi_pass 127.0.0.1:9; }\n  \
                location /u { uwsgi_pass 127.0.0.1:9; uwsgi_read_timeout 3s; }\n }\n}\n";
    let path = file(&dir, "nginx.conf", text);
    for (asked, named) in [
        ("/p", [("proxy_connect_timeout", "7s"), ("proxy_read_timeout", "300s")]),
        ("/f", [("fastcgi_connect_timeout", "60s"), ("fastcgi_read_timeout", "2s")]),
        ("/u", [("uwsgi_connect_timeout", "60s"), ("uwsgi_read_timeout", "3s")]),
    ] {
        let (explanation, _) = explained(&path, &["--path", asked]);
        let of_upstream = explanation.timers.iter().filter(|timer| timer.setting.ends_with("_timeout"));
        let seen: Vec<(&str, &str)> = of_upstream
            .filter(|timer| timer.setting.contains("_read_") || timer.setting.contains("_connect_"))
            .map(|timer| (timer.setting.as_str(), timer.value.as_str()))
            .collect();
        assert_eq!(seen, named, "{asked}");
        let silent = explanation.limits.iter().find(|limit| limit.id == "nginx.proxy_timeouts").unwrap();
        assert_eq!(silent.setting, format!("slower than {}", named[1].0));
        assert!(silent.formula.contains(named[0].0) && silent.formula.contains(named[1].0), "{}", silent.formula);
        let buffer = explanation.limits.iter().find(|limit| limit.id == "nginx.proxy_buffer_size").unwrap();
        let way = named[0].0.split('_').next().unwrap();
        assert_eq!(buffer.setting, format!("{way}_buffer_size"));
    }
}

#[test]
fn what_clients_get_in_the_place_of_an_error_is_said_where_the_error_is() {
    let dir = tempfile::tempdir().unwrap();
    for (pages, instead) in [
        ("", None),
        ("error_page 502 504 /m;", None),
        ("error_page 502 504 =200 /m;", Some("what /m (error_page at ")),
        ("error_page 502 504 =503 @m;", Some("503")),
    ] {
        let text = format!(
            "events {{ }}\nhttp {{\n server {{\n  listen 8080;\n  {pages}\n  location = /m {{ return 200 sorry; }}\n  \
             location @m {{ root /srv; try_files /m.html =503; }}\n  location / {{ proxy_pass http://127.0.0.1:9; }}\n }}\n}}\n"
        );
        let (explanation, _) = explained(&file(&dir, "nginx.conf", &text), &[]);
        let timer = explanation.timers.iter().find(|timer| timer.setting == "proxy_read_timeout").unwrap();
        let limit = explanation.limits.iter().find(|limit| limit.id == "nginx.upstream").unwrap();
        for said in [&timer.ends, &limit.formula] {
            match instead {
                None => assert!(!said.contains("in whose place"), "{pages}: {said}"),
                Some(what) => {
                    assert!(said.contains(&format!(", in whose place clients get {what}")), "{pages}: {said}")
                }
            }
        }
    }
}

/// What is said to be sent in the place of a status, of all that is said of a configuration.
fn in_place_of(path: &Path, status: u16) -> Vec<String> {
    let (explanation, _) = explained(path, &[]);
    let timers = explanation.timers.iter().map(|timer| timer.ends.clone());
    let said = timers.chain(explanation.limits.iter().map(|limit| limit.formula.clone()));
    let of =
        |text: &str| Some(text.split(&format!("{status} clients get ")).nth(1)?.split("; in the").next()?.to_owned());
    let mut all: Vec<String> = said.filter_map(|text| of(&text)).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn what_the_others_send_in_the_place_of_an_error_is_said_too() {
    let dir = tempfile::tempdir().unwrap();
    let page = file(&dir, "good.http", "HTTP/1.0 200 OK\r\n\r\nsorry\n").display().to_string();
    let same = file(&dir, "same.http", "HTTP/1.0 503 Service Unavailable\r\n\r\nsorry\n").display().to_string();
    let is = |path: PathBuf, status: u16, line: usize, gets: &str, by: &str| {
        let expected = if gets.is_empty() { vec![] } else { vec![format!("{gets} ({by}{}:{line})", path.display())] };
        assert_eq!(in_place_of(&path, status), expected, "{}", std::fs::read_to_string(&path).unwrap());
    };
    for (lines, status, gets, by) in [
        (String::new(), 503, "", ""),
        (format!("errorfile 503 {page}"), 503, "200", "errorfile at "),
        (format!("errorfile 503 {page}"), 504, "", ""),
        (format!("errorfile 503 {same}"), 503, "", ""),
        ("errorfile 503 missing.http".to_owned(), 503, "what missing.http has, which was not read", "errorfile at "),
        (format!("http-error status 504 errorfile {page}"), 504, "200", "http-error at "),
        ("errorloc 504 /sorry".to_owned(), 504, "302 to /sorry", "errorloc at "),
        (format!("errorfiles mine\nhttp-errors mine\n errorfile 503 {page}"), 503, "200", "errorfiles at "),
    ] {
        let text = format!(
            "defaults\n mode http\n timeout server 9s\n timeout queue 9s\nfrontend f\n bind :80\n default_backend b\nbackend b\n server s \
             127.0.0.1:9\n {lines}\n"
        );
        is(file(&dir, "haproxy.cfg", &text), status, 10, gets, by);
    }
    for (route, gets) in [("respond sorry 200", "200"), ("respond sorry", ""), ("respond /a sorry 200", "")] {
        let text = format!(":80 {{\n\treverse_proxy a:1\n\thandle_errors {{\n\t\t{route}\n\t}}\n}}\n");
        is(file(&dir, "Caddyfile", &text), 502, 4, gets, "respond at ");
    }
    for (page, gets) in [
        ("/sorry.php", "what /sorry.php answers, with another status if it is a script that says one"),
        ("/sorry.html", ""),
        ("\"sorry folks\"", ""),
        ("/other/a", "what /other/a is answered"),
        ("http://else/", "302 to http://else/"),
    ] {
        let text = format!(
            "LoadModule proxy_module m\nLoadModule proxy_http_module m\nListen 80\nErrorDocument 503 {page}\nProxyPass /sorry.php !\nProxyPass \
             /sorry.html !\nProxyPass /other http://127.0.0.1:8/\nProxyPass / http://127.0.0.1:9/\n"
        );
        is(file(&dir, "httpd.conf", &text), 503, 4, gets, "ErrorDocument at ");
    }
}

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

/// Each was asked of the servers: 400 by a server behind that saw no `Upgrade`, 101 else (nginx 1.22.1, httpd 2.4.71).
#[test]
fn where_no_websocket_is_opened_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let told = |name: &str, text: &str, arguments: &[&str]| {
        let (explanation, _) = explained(&file(&dir, name, text), arguments);
        explanation.remarks.iter().filter(|remark| remark.text.starts_with("no WebSocket is opened")).count()
    };
    let nginx = |location: &str| {
        format!(
            "events {{}}\nhttp {{\nserver {{\nlisten 80;\nlocation / {{\nproxy_pass http://127.0.0.1:9;\n{location}}}\n}}\n}}\n"
        )
    };
    let passed =
        "proxy_http_version 1.1;\nproxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection upgrade;\n";
    let of_nginx = |location: &str, arguments: &[&str]| told("nginx.conf", &nginx(location), arguments);
    assert_eq!(of_nginx("", &["--websocket"]), 1);
    assert_eq!(of_nginx("", &[]), 0, "plain requests");
    assert_eq!(of_nginx(passed, &["--websocket"]), 0);
    assert_eq!(
        of_nginx("proxy_set_header Upgrade $http_upgrade;\n", &["--websocket"]),
        1,
        "`Connection: close` goes on"
    );
    let pass = "ProxyPass / http://admin:hunter2@127.0.0.1:9/";
    let apache = |to: &str| told("httpd.conf", &APACHE.replace(pass, to), &["--websocket"]);
    assert!(APACHE.contains(pass));
    assert_eq!(apache(pass), 1);
    assert_eq!(apache(&format!("{pass} upgrade=websocket")), 0);
    assert_eq!(apache("ProxyPass / ws://127.0.0.1:9/"), 0);
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

const HAPROXY: &str = "\
global
  maxconn 600000
  ulimit-n 400
userlist people
  user ada insecure-password hunter2
defaults
  mode http
  timeout connect 5s
  timeout cleint 50s
  timeout server 50s
frontend www
  bind :80 backlog 100000
  maxconn 700000
  acl api path_beg /api
  use_backend api if api
  default_backend web
backend web
  maxconn 10
  timeout queue 2s
  stats auth ada:hunter2
  server a 127.0.0.1:9001
backend api
  server b 127.0.0.1:9002 maxconn 20 minconn 30
";

#[test]
fn what_haproxy_silently_makes_of_a_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "haproxy.cfg", HAPROXY);
    let (explanation, code) = explained(&path, &[]);
    assert_eq!((explanation.product.as_str(), code), ("haproxy", Some(1)));
    let seen = remarks(&explanation);
    for expected in [
        (RemarkKind::Contradiction, "maxconn", 2),
        (RemarkKind::Unknown, "timeout cleint", 9),
        (RemarkKind::Contradiction, "timeout client", 11),
        (RemarkKind::Clamped, "backlog", 12),
        (RemarkKind::Clamped, "frontend.maxconn", 13),
        (RemarkKind::Ignored, "maxconn", 18),
        (RemarkKind::Ignored, "timeout queue", 19),
    ] {
        assert!(seen.contains(&expected), "{expected:?} is not among {seen:?}");
    }
    let first = &explanation.predictions[0];
    assert_eq!(
        first.setting, "ulimit-n",
        "the descriptors are fewer than maxconn needs: {:?}",
        explanation.predictions
    );
    // Another path, another backend: its servers have a cap.
    let (api, _) = explained(&path, &["--path", "/api/1"]);
    assert!(api.limits.iter().any(|l| l.id == "haproxy.server.maxconn" && l.value == "30"), "{:?}", api.limits);
    assert!(remarks(&api).contains(&(RemarkKind::Contradiction, "server.minconn", 23)));
    let text = String::from_utf8(genkai(&[], &[&path]).stdout).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn what_is_wrong_with_pools_of_php_fpm() {
    let dir = tempfile::tempdir().unwrap();
    let pool = "[www]\nlisten = /run/php.sock\nlisten.backlog = 100000\npm = dynamic\npm.max_children = 4\npm.start_servers = 9\n\
                pm.min_spare_servers = 1\npm.max_spare_servers = 3\nenv[DB_PASSWORD] = hunter2\npm.max_childs = 7\n\
                pm.process_idle_timeout = 10s\n";
    let main = file(&dir, "php-fpm.conf", "[global]\nprocess.max = 3\ninclude = pool.d/*.conf\n");
    std::fs::create_dir(dir.path().join("pool.d")).unwrap();
    std::fs::write(dir.path().join("pool.d/www.conf"), pool).unwrap();
    let (explanation, code) = explained(&main, &[]);
    assert_eq!((explanation.product.as_str(), code), ("php-fpm", Some(1)));
    let seen = remarks(&explanation);
    for expected in [
        (RemarkKind::Clamped, "process.max", 2),
        (RemarkKind::Clamped, "listen.backlog", 3),
        (RemarkKind::Contradiction, "pm.start_servers", 6),
        (RemarkKind::Contradiction, "user", 0),
        (RemarkKind::Unknown, "pm.max_childs", 10),
        (RemarkKind::Ignored, "pm.process_idle_timeout", 11),
    ] {
        assert!(seen.contains(&expected), "{expected:?} is not among {seen:?}");
    }
    assert_eq!(seen.len(), 6, "{:?}", explanation.remarks);
    let children = explanation.limits.iter().find(|l| l.id == "php-fpm.www.pm.max_children").unwrap();
    assert!(children.formula.contains("30 at 100 ms"), "process.max gives 3 of 4: {}", children.formula);
    assert!(matches!(&children.origin, Origin::File { line: 5, .. }), "{:?}", children.origin);
}

#[test]
fn what_is_wrong_with_a_redis() {
    let dir = tempfile::tempdir().unwrap();
    let text = "bind * -::*\nport 6379\nmaxclients 4000000000\ntcp-backlog 100000\nmaxmemmory 1gb\nmaxclients 3000000000\n\
                client-output-buffer-limit pubsub 1mb 8mb 60\nappendfsync always\n";
    let path = file(&dir, "redis.conf", text);
    let (explanation, code) = explained(&path, &[]);
    assert_eq!((explanation.product.as_str(), code), ("redis", Some(1)));
    let seen = remarks(&explanation);
    for expected in [
        (RemarkKind::Contradiction, "bind", 1),
        (RemarkKind::Ignored, "maxclients", 3),
        (RemarkKind::Clamped, "tcp-backlog", 4),
        (RemarkKind::Unknown, "maxmemmory", 5),
        (RemarkKind::Clamped, "maxclients", 6),
        (RemarkKind::Contradiction, "client-output-buffer-limit pubsub", 7),
        (RemarkKind::Ignored, "appendfsync", 8),
    ] {
        assert!(seen.contains(&expected), "{expected:?} is not among {seen:?}");
    }
    assert_eq!(seen.len(), 7, "{:?}", explanation.remarks);
    let secret = file(&dir, "secret.conf", "port 6379\nrequirepass hunter2\nuser app on >hunter2 ~* +@all\n");
    let shown = String::from_utf8(genkai(&["--json"], &[&secret]).stdout).unwrap();
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn an_nginx_that_passes_to_itself_holds_half_the_clients() {
    let dir = tempfile::tempdir().unwrap();
    let most = |name: &str, to: &str| {
        let text = format!(
            "events {{ worker_connections 180; }}\nhttp {{\n  server {{ listen 8080; location / {{ proxy_pass http://127.0.0.1:{to}; }} }}\n  \
             server {{ listen 127.0.0.1:8081; location / {{ proxy_pass http://127.0.0.1:9000; }} }}\n}}\n"
        );
        let shown = String::from_utf8(genkai(&[], &[&file(&dir, name, &text)]).stdout).unwrap();
        let line = shown.lines().find(|line| line.contains("worker_connections = ")).unwrap().to_owned();
        (line, shown.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (plain, _) = most("plain.conf", "9000");
    assert!(plain.ends_with("180: 82-88 clients at once"), "{plain}");
    let (twice, shown) = most("twice.conf", "8081");
    assert!(twice.ends_with("180: 41-44 clients at once"), "{twice}");
    assert!(shown.contains("nginx passes requests to itself (listen at "), "{shown}");
    let (round, shown) = most("round.conf", "8080");
    assert!(round.ends_with("180: no number from the configuration alone"), "{round}");
    assert!(shown.contains("cannot tell how many a client takes"), "{shown}");
}

#[test]
fn a_folder_is_not_taken_for_a_configuration() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("nginx.conf"), "events {}\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_genkai")).arg("explain").arg(dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("is a folder without") && said.contains("hint:"),
        "{said}"
    );
}

#[test]
fn an_upstream_of_which_no_server_is_in_use_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let of = |servers: &str| {
        let text = format!(
            "events {{ }}\nhttp {{\n upstream u {{ {servers} }}\n server {{ listen 80; location / {{ proxy_pass http://u; }} }}\n}}\n"
        );
        let (explanation, _) = explained(&file(&dir, "down.conf", &text), &[]);
        remarks(&explanation)
            .iter()
            .map(|(kind, setting, line)| (*kind, (*setting).to_owned(), *line))
            .collect::<Vec<_>>()
    };
    let none = (RemarkKind::Contradiction, "upstream".to_owned(), 3);
    assert!(of("server 127.0.0.1:9 down; server 127.0.0.1:8 down backup;").contains(&none));
    assert!(!of("server 127.0.0.1:9 down; server 127.0.0.1:8 backup;").contains(&none), "the backup serves");
}

#[test]
fn an_apache_that_passes_to_itself_holds_half_the_clients() {
    let dir = tempfile::tempdir().unwrap();
    let most = |to: &str| {
        let text = format!(
            "LoadModule mpm_worker_module x\nListen 8080\nListen 127.0.0.1:8081\nMaxRequestWorkers 100\n<VirtualHost *:8080>\n \
             ProxyPass / http://127.0.0.1:{to}/\n</VirtualHost>\n<VirtualHost *:8081>\n ProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n"
        );
        let shown =
            String::from_utf8(genkai(&["--product", "apache"], &[&file(&dir, "a.conf", &text)]).stdout).unwrap();
        shown.lines().find(|line| line.contains("MaxRequestWorkers = ")).unwrap().to_owned()
    };
    assert!(most("9").ends_with("100: 100 clients at once"), "{}", most("9"));
    assert!(most("8081").ends_with("100: 50 clients at once"), "{}", most("8081"));
    assert!(most("8080").ends_with("100: no number from the configuration alone"), "{}", most("8080"));
}
