//! Faults of nginx.

use super::Behind::{Alone, Nobody, Pair, Scripted, Two};
use super::{AT_ONCE, Between, COST, Case, HANGS, KEPT, NO_NUMBER, SIZE, SLOW, SPREAD, TWO_ENDS};

fn case(name: impl Into<String>, fault: impl Into<String>) -> Case {
    Case::of("nginx", name, fault)
}

/// A configuration with one worker, or as many as said, and this within `http`.
fn http(workers: u32, within: &str) -> String {
    format!("worker_processes {workers};\nevents {{ worker_connections 1024; }}\nhttp {{\n{within}\n}}\n")
}

/// A server that passes everything on, with this within its location.
fn serving(location: &str) -> String {
    format!("server {{\n  listen 8080;\n  location / {{\n    {location}\n    proxy_pass http://127.0.0.1:9;\n  }}\n}}")
}

pub(super) fn cases() -> Vec<Case> {
    [slots(), descriptors(), sizes(), keys(), rates(), queues(), upstreams(), times(), others()]
        .into_iter()
        .flatten()
        .collect()
}

fn slots() -> Vec<Case> {
    let one = |name: &str, n: u32, fault: String| {
        case(name, fault).rising(&format!("--set worker_connections={n}")).cause("nginx.worker_connections")
    };
    let mut all = vec![
        one("nginx-worker-connections", 200, "worker_connections 200".to_owned()),
        one(
            "nginx-odd-slots",
            201,
            "worker_connections 201: one slot is left for a client and none for its upstream".to_owned(),
        ),
    ];
    all.extend([100, 129, 256].map(|n| one(&format!("nginx-slots-{n}"), n, format!("worker_connections {n}"))));
    all.push(
        case("nginx-slots-new", "worker_connections 128, and a new connection for each request")
            .rising("--set worker_connections=128 --new-connections")
            .cause("nginx.worker_connections"),
    );
    all.push(
        case("nginx-slots-two", "worker_connections 64 of each of two workers")
            .rising("--backend embedded")
            .config(format!("worker_processes 2;\nevents {{ worker_connections 64; }}\nhttp {{\n{}\n}}\n", serving("")))
            .cause("nginx.worker_connections")
            .off(SPREAD),
    );
    all
}

fn descriptors() -> Vec<Case> {
    let name = |n: u32| if n == 200 { "nginx-descriptors".to_owned() } else { format!("nginx-descriptors-{n}") };
    let one = |n: u32| {
        case(name(n), format!("worker_rlimit_nofile {n}"))
            .rising(&format!("--set worker_rlimit_nofile={n}"))
            .cause("nginx.worker_rlimit_nofile")
            .off(HANGS)
    };
    [200, 120].map(one).into()
}

fn sizes() -> Vec<Case> {
    let one = |name: &str, limit: &str, body: &str| {
        case(name, format!("client_max_body_size {limit}, bodies of {body}"))
            .flags("--users 10 --spawn-rate 10 --backend-time 50ms")
            .flags(format!("--set client_max_body_size={limit} --body-size {body}"))
            .cause("nginx.client_max_body_size")
            .off(SIZE)
    };
    vec![
        one("nginx-body", "8k", "20k"),
        one("nginx-body-default", "1m", "1100k"),
        one("nginx-body-close", "64k", "65k"),
    ]
}

fn keys() -> Vec<Case> {
    let one = |name: &str, n: u32, key: &str, whose: &str| {
        let zone = format!("limit_conn_zone {key} zone=z:1m;\n");
        let of = if n == 80 {
            "limit_conn of 80 for an address".to_owned()
        } else {
            format!("limit_conn of {n} for {whose}")
        };
        case(name, of)
            .rising("--backend embedded")
            .config(http(1, &(zone + &serving(&format!("limit_conn z {n};")))))
            .cause("nginx.limit_conn")
    };
    vec![
        one("nginx-limit-conn", 80, "$binary_remote_addr", "an address"),
        one("nginx-limit-conn-40", 40, "$binary_remote_addr", "an address"),
        one("nginx-limit-conn-uri", 60, "$uri", "a path"),
        case("nginx-limit-conn-empty", "limit_conn of 12 whose key is always empty: nobody is counted")
            .flags("--users 60 --spawn-rate 30 --backend-time 200ms --backend embedded")
            .config(http(1, &("limit_conn_zone $server_name zone=z:1m;\n".to_owned() + &serving("limit_conn z 12;")))),
        one("nginx-limit-conn-header", 30, "$http_x_api_key", "an API key, which the load sends")
            .words(["--header", "X-Api-Key: a"]),
        one("nginx-limit-conn-cookie", 30, "$cookie_sid", "a cookie, which the load sends").words(["--header", "Cookie: a=1; sid=x"]),
        case("nginx-limit-unsent", "limit_conn of 12 for an API key and limit_req of 5 requests/s for a cookie, which the load does not send")
            .flags("--users 60 --spawn-rate 30 --backend-time 200ms --backend embedded")
            .words(["--header", "Cookie: a=1"])
            .config(http(
                1,
                &("limit_conn_zone $http_x_api_key zone=z:1m;\nlimit_req_zone $cookie_sid zone=r:1m rate=5r/s;\n".to_owned()
                    + &serving("limit_conn z 12; limit_req zone=r;")),
            )),
        case("nginx-limit-req-empty", "limit_req of 5 requests/s whose key is empty for this machine")
            .flags("--users 40 --spawn-rate 30 --backend-time 200ms --backend embedded")
            .config(http(
                1,
                &("geo $who { default $binary_remote_addr; 127.0.0.0/8 \"\"; }\nlimit_req_zone $who zone=z:1m rate=5r/s;\n".to_owned()
                    + &serving("limit_req zone=z;")),
            )),
    ]
}

fn rates() -> Vec<Case> {
    let one = |name: &str, rate: u32, burst: &str| {
        let zone = format!("limit_req_zone $binary_remote_addr zone=z:1m rate={rate}r/s;\n");
        case(name, format!("limit_req of {rate} requests/s for an address"))
            .rising("--backend embedded")
            .config(http(1, &(zone + &serving(&format!("limit_req zone=z {burst};")))))
            .cause("nginx.limit_req")
            .off("users come back together, so a burst is full before the mean rate is reached")
    };
    vec![
        one("nginx-limit-req", 400, "burst=20 nodelay"),
        one("nginx-limit-req-200", 200, "burst=20 nodelay"),
        one("nginx-limit-req-300", 300, "burst=40 nodelay"),
    ]
}

fn queues() -> Vec<Case> {
    let name = |n: u32| if n == 4 { "nginx-backlog".to_owned() } else { format!("nginx-backlog-{n}") };
    let one = |n: u32| {
        case(name(n), format!("listen backlog={n}, 600 clients at once"))
            .flags(
                "--set worker_connections=4096 --users 600 --spawn-rate 100000 --backend-time 20ms --new-connections",
            )
            .flags(format!("--set listen.backlog={n}"))
            .objective("errors < 0.1%, p99 < 700ms")
            .cause("nginx.listen.backlog")
            .off(AT_ONCE)
    };
    [4, 16].map(one).into()
}

fn upstreams() -> Vec<Case> {
    let one = |name: &str, fault: &str, upstream: &str| {
        let text =
            format!("upstream app {{ {upstream} }}\nserver {{ listen 8080; location / {{ proxy_pass http://app; }} }}");
        case(name, fault).rising("--backend embedded").config(http(1, &text))
    };
    let max = |name: &str, fault: &str, upstream: &str| one(name, fault, upstream).cause("nginx.upstream.max_conns");
    vec![
        max(
            "nginx-max-conns",
            "max_conns=80 of the upstream's only server",
            "zone app 64k; server 127.0.0.1:9 max_conns=80;",
        ),
        max(
            "nginx-max-conns-40",
            "max_conns=40 of the upstream's only server",
            "zone app 64k; server 127.0.0.1:9 max_conns=40;",
        ),
        max("nginx-max-conns-alone", "max_conns=50 without a zone, of one worker", "server 127.0.0.1:9 max_conns=50;"),
        max(
            "nginx-max-conns-two",
            "max_conns=30 and max_conns=40 of two servers",
            "zone app 64k; server 127.0.0.1:9 max_conns=30; server 127.0.0.1:9 max_conns=40;",
        ),
        one(
            "nginx-max-conns-backup",
            "nothing: max_conns=20 with a backup server that takes the rest",
            "zone app 64k; server 127.0.0.1:9 max_conns=20; server 127.0.0.1:9 backup;",
        ),
    ]
}

fn times() -> Vec<Case> {
    let one = |name: &str, allowed: &str, takes: &str| {
        case(name, format!("a backend of {takes} behind proxy_read_timeout {allowed}"))
            .flags("--users 20 --spawn-rate 20")
            .flags(format!("--set proxy_read_timeout={allowed} --backend-time {takes}"))
            .either(&["nginx.proxy_timeouts", "backend.service_time"], TWO_ENDS)
            .off(SLOW)
    };
    vec![
        one("nginx-read-timeout", "1s", "1500ms"),
        one("nginx-read-timeout-500", "500ms", "800ms"),
        case("nginx-keepalive-timeout", "keepalive_timeout 500ms, and users who come back after 500 ms and ask once")
            .flags(KEPT)
            .flags("--think 500ms")
            .config(http(1, &serving("keepalive_timeout 500ms;")))
            .cause("nginx.keepalive_timeout")
            .off(SLOW),
        case(
            "nginx-keepalive-requests",
            "nothing: keepalive_requests 7, and users who ask once: the seventh answer says that it is the last",
        )
        .flags(KEPT)
        .config(http(1, &serving("keepalive_requests 7;"))),
        case("nginx-limit-rate", "limit_rate 20k of responses of 10 KiB: each takes half a second")
            .flags("--users 20 --spawn-rate 20 --backend-time 1ms --backend embedded")
            .objective("p99 < 300ms")
            .config(http(1, &serving("limit_rate 20k;")))
            .cause("nginx.limit_rate")
            .off(SLOW),
    ]
}

/// A group of which one server is at an address where nobody listens: `max_conns` of the other is what it bears.
fn absent(name: &str, fault: &str, servers: &str) -> Case {
    case(name, fault)
        .flags("--users 40 --spawn-rate 5")
        .config(format!(
            "worker_processes 1;\nevents {{ }}\nhttp {{ upstream u {{ zone u 64k; {servers} }} server {{ listen 80; location / {{ proxy_pass \
             http://u; }} }} }}\n"
        ))
        .behind(Two("--service-time 100ms", None))
        .cause("nginx.upstream.max_conns")
}

/// A group of which one server takes connections and never answers: nginx leaves it alone, and `max_conns` of the other is what it bears.
fn mute() -> Case {
    case("nginx-max-conns-mute", "max_conns=12 of each of two servers, of which one never answers")
        .flags("--users 40 --spawn-rate 5")
        .config(
            "worker_processes 1;\nevents { }\nhttp { upstream u { zone u 64k; server {backend} max_conns=12; server {second} max_conns=12; } \
             server { listen 80; location / { proxy_pass http://u; proxy_read_timeout 500ms; } } }\n",
        )
        .behind(Two("--service-time 100ms", Some("--service-time 60s")))
        .cause("nginx.upstream.max_conns")
        .off("the server that never answers bears none of its share")
}

fn others() -> Vec<Case> {
    vec![
        case("nginx-cpu", "a regular expression that backtracks: one worker has no processor time left")
            .flags("--backend embedded --backend-time 1ms --backend-body 1k --users 100 --spawn-rate 50")
            .flags("--path /aaaaaaaaaaaaaaaaaaaaaaaa!")
            .objective("errors < 0.1%, p99 < 200ms")
            .config(http(
                1,
                "server {\n  listen 8080;\n  location ~ \"^/(a|aa)+$\" { return 204; }\n  location / { proxy_pass \
                 http://127.0.0.1:9; }\n}",
            ))
            .cause("nginx.cpu")
            .off(COST),
        case("nginx-refused", "nobody listens where the upstream should be")
            .flags("--users 20 --spawn-rate 20")
            .config("events { }\nhttp { server { listen 80; location / { proxy_pass http://{backend}; } } }\n")
            .behind(Nobody)
            .cause("nginx.upstream.address")
            .off(NO_NUMBER),
        case("nginx-mirror", "a mirror to a second server, of whose connections slots are taken, too")
            .flags("--users 60 --spawn-rate 6")
            .config(
                "worker_processes 1;\nevents { worker_connections 64; }\nhttp { server { listen 80; location / { mirror /copy; proxy_pass \
                 http://{backend}; } location = /copy { internal; proxy_pass http://{second}; } } }\n",
            )
            .behind(Two("--service-time 500ms", Some("--service-time 500ms")))
            .cause("nginx.worker_connections"),
        mute(),
        absent("nginx-max-conns-absent", "max_conns=12 of each of two servers, of which one is not there", "server {backend} max_conns=12; server {second} max_conns=12;"),
        absent("nginx-max-conns-no-backup", "max_conns=12 of the only server, whose backup is not there", "server {backend} max_conns=12; server {second} backup;"),
        case("nginx-auth-max-conns", "an auth_request to a group with max_conns=30")
            .flags("--users 60 --spawn-rate 6")
            .config(
                "worker_processes 1;\nevents { }\nhttp { upstream auth { zone auth 64k; server {second} max_conns=30; } server { listen 80; \
                 location / { auth_request /ask; proxy_pass http://{backend}; } location = /ask { internal; proxy_pass http://auth; } } }\n",
            )
            .behind(Two("--service-time 10ms", Some("--service-time 200ms")))
            .cause("nginx.upstream.max_conns.auth"),
        case("nginx-fpm-backlog", "php-fpm on a Unix socket with 2 children of 200 ms and listen.backlog 3")
            .flags("--users 20 --spawn-rate 4")
            .config(
                "events { }\nhttp { server { listen 80; location / { fastcgi_pass unix:{dir}/fpm.sock; fastcgi_param SCRIPT_FILENAME \
                 {dir}/index.php; fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; } } }\n",
            )
            .beside("index.php", "<?php usleep(200000); echo 'here';\n")
            .behind(Alone(FPM))
            .cause("php-fpm.www.listen.backlog")
            .off(NO_NUMBER),
        case("nginx-failing-servers", "both servers of an upstream answer 500 to 30 % of requests at random")
            .flags("--users 30 --spawn-rate 10")
            .config(
                "events { }\nhttp { upstream u { server {backend}; server {second}; } server { listen 80; access_log off; location / { \
                 proxy_pass http://u; } } }\n",
            )
            .behind(Pair(
                "errors --share 0.3 --status 500 --time 0.02 --seed 3",
                "errors --share 0.3 --status 500 --time 0.02 --seed 5",
            ))
            .cause("nginx.server.answers")
            .off(NO_NUMBER),
        case("nginx-slow-server", "one of two servers takes 400 ms, the other 5 ms")
            .flags("--users 20 --spawn-rate 20")
            .objective("p99 < 300ms")
            .config(
                "events { }\nhttp { upstream u {\nserver {backend};\nserver {second};\n} server { listen 80; location / { proxy_pass \
                 http://u; } } }\n",
            )
            .behind(Two("--service-time 5ms", Some("--service-time 400ms")))
            .cause("nginx.server.slow.4")
            .off(SLOW),
        case("nginx-failing-server", "the second of two servers answers 500 to 30 % of requests at random")
            .flags("--users 30 --spawn-rate 10")
            .config(
                "events { }\nhttp { upstream u {\nserver {backend};\nserver {second};\n} server { listen 80; access_log off; location / { \
                 proxy_pass http://u; } } }\n",
            )
            .behind(Pair("fixed --time 0.02", "errors --share 0.3 --status 500 --time 0.02 --seed 3"))
            .cause("nginx.server.answers.4")
            .off(NO_NUMBER),
        case("nginx-refusing-server", "nobody listens where the second of two servers should be, and no other is asked instead")
            .flags("--users 20 --spawn-rate 20")
            .config(
                "events { }\nhttp { upstream u {\nserver {backend} max_fails=0;\nserver {second} max_fails=0;\n} server { listen 80; location / { \
                 proxy_next_upstream off; proxy_pass http://u; } } }\n",
            )
            .behind(Two("--service-time 5ms", None))
            .cause("nginx.server.refuses.4")
            .off(NO_NUMBER),
        case("nginx-header-buffer", "a response head of 6 kB, larger than proxy_buffer_size 4k takes")
            .flags("--users 10 --spawn-rate 10")
            .config(
                "events { }\nhttp { server { listen 80; location / { proxy_buffer_size 4k; proxy_pass http://{backend}; } } }\n",
            )
            .behind(Scripted("headers --fields 1 --size 6000 --time 0.01"))
            .cause("nginx.proxy_buffer_size")
            .off(SIZE),
    ]
}

const FPM: Between = Between {
    command: &["php-fpm8.2", "-F", "-y", "{dir}/behind.conf"],
    file: "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.backlog = 3\nlisten.mode = 0666\nuser = \
           www-data\ngroup = www-data\npm = static\npm.max_children = 2\n",
};
