//! What is predicted from a configuration, against a real nginx: so many clients get through as are predicted, one more does not. Backends
//! hold every request and count them, so levels are exact and no clock is involved.

mod stage;

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::limit::{Law, Limit};
use genkai_targets::product::Prepared as _;

use stage::{Backend, Client, Nginx, Stage, Watched, environment, get};

/// Clients that a limit lets in: from where the first may be refused to where no more fit.
fn range(limit: &Limit) -> (usize, usize) {
    let Law::Slots { value, reserved, busy_cost, pools, soft, .. } = limit.law else { panic!("{:?}", limit.law) };
    let at = |slots: f64| (pools * ((slots - reserved) / busy_cost + 1e-9).floor()) as usize;
    (at(value * soft), at(value))
}

fn find(nginx: &Nginx, id: &str) -> Option<Limit> {
    nginx.limits(&environment()).into_iter().find(|limit| limit.id == id)
}

fn inside(backends: &[Backend]) -> usize {
    backends.iter().map(Backend::inside).sum()
}

/// How long a client that gets in may take to do so.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How many clients are let in, one after another, before the first is refused, at most so many; and its status.
fn admitted(backends: &[Backend], address: SocketAddr, most: usize) -> (usize, Option<u16>) {
    backends.iter().for_each(|backend| backend.hold(true));
    let mut held = Vec::new();
    let refused = loop {
        if held.len() == most {
            break None;
        }
        let Some(client) = Client::ask(address, "/") else { break Some(None) };
        let deadline = Instant::now() + PATIENCE;
        while inside(backends) == held.len() && !client.is_answered() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        if inside(backends) == held.len() {
            // One without an answer waits in the accept queue.
            break Some(if client.is_answered() { client.status() } else { None });
        }
        held.push(client);
    };
    backends.iter().for_each(|backend| backend.hold(false));
    let count = held.len();
    assert!(held.into_iter().all(|client| client.status() == Some(200)), "those that were let in are served");
    (count, refused.flatten())
}

/// A case: what is predicted of a limit, and what was seen.
#[derive(Debug)]
struct Seen {
    what: String,
    predicted: Option<(usize, usize)>,
    admitted: usize,
    #[expect(dead_code, reason = "shown")]
    status: Option<u16>,
}

impl Seen {
    /// The level before the first refusal is within the range. Where nothing is predicted, all were let in.
    fn is_right(&self, most: usize) -> bool {
        match self.predicted {
            Some((low, high)) => (low..=high).contains(&self.admitted),
            None => self.admitted == most,
        }
    }
}

/// Clients sent where nothing is predicted.
const MANY: usize = 60;

/// Starts the configuration and fills it.
fn fill(what: &str, text: &str, id: &str, backends: &[Backend], most: usize) -> Seen {
    let stage = Stage::new();
    let nginx = stage.own(text, None).unwrap_or_else(|e| panic!("{what}: {e}"));
    let limit = find(&nginx, id).filter(|limit| limit.law != Law::Unknown);
    let predicted = limit.as_ref().map(range);
    let server = Watched::start(&nginx);
    let most = predicted.map_or(most, |(_, high)| high + high / 10 + 2);
    let (admitted, status) = admitted(backends, server.running.address(), most);
    Seen { what: what.to_owned(), predicted, admitted, status }
}

fn wrong(seen: Vec<Seen>) -> Vec<Seen> {
    let count = seen.len();
    let wrong: Vec<Seen> = seen.into_iter().filter(|one| !one.is_right(MANY)).collect();
    println!("{count} predictions, {} wrong", wrong.len());
    wrong
}

#[test]
fn max_conns_with_and_without_a_zone_and_backups() {
    let mut seen = Vec::new();
    for workers in [1, 2, 3] {
        for zone in ["", "zone u 64k;"] {
            for (caps, backup) in [
                (&[7][..], None),
                (&[4, 9], None),
                (&[6, 6, 6], None),
                (&[5], Some("max_conns=4")),
                (&[3, 8], Some("max_conns=5")),
                (&[5, 5], Some("")),
                (&[6, 0], None),
            ] {
                let backends: Vec<Backend> = (0..caps.len() + 1).map(|_| Backend::start()).collect();
                let server = |(i, cap): (usize, &u64)| match cap {
                    0 => format!("server {};", backends[i].address()),
                    _ => format!("server {} max_conns={cap} weight={};", backends[i].address(), i + 1),
                };
                let mut servers: String = caps.iter().enumerate().map(server).collect();
                if let Some(max) = backup {
                    servers += &format!("server {} backup {max};", backends[caps.len()].address());
                }
                let text = format!(
                    "worker_processes {workers};\nevents {{ worker_connections 1024; }}\nhttp {{ upstream u {{ {zone} {servers} }}\n\
                     server {{ listen 80; location / {{ proxy_pass http://u; proxy_next_upstream off; }} }} }}\n"
                );
                let what = format!("{workers} workers, {zone} {caps:?} backup {backup:?}");
                seen.push(fill(&what, &text, "nginx.upstream.max_conns", &backends, MANY));
            }
        }
    }
    let wrong = wrong(seen);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn limit_conn_counts_keys_that_are_not_empty() {
    let cases = [
        ("", "server_name localhost;", "$server_name", Some(9)),
        ("", "", "$server_name", None),
        ("", "server_name \"\";", "$server_name", None),
        ("", "", "$binary_remote_addr", Some(9)),
        ("", "", "$server_name$remote_addr", Some(9)),
        ("", "", "all", Some(9)),
        ("geo $g { default 1; 127.0.0.0/8 0; }\nmap $g $k { 0 \"\"; 1 $binary_remote_addr; }", "", "$k", None),
        ("geo $g { default 0; 127.0.0.0/8 1; }\nmap $g $k { 0 \"\"; 1 $binary_remote_addr; }", "", "$k", Some(9)),
        ("map $uri $k { default x; /a \"\"; }", "", "${k}", Some(9)),
        ("map $uri $k { default x; / \"\"; }", "", "${k}", None),
        ("map $http_absent $k { default x; a y; }", "", "$k", Some(9)),
        ("", "", "$http_absent", None),
        ("", "server_name localhost; set $z here;", "$host", Some(9)),
    ];
    let mut seen = Vec::new();
    for (http, server, key, expected) in cases {
        let backends = [Backend::start()];
        let text = format!(
            "worker_processes 2;\nevents {{ worker_connections 256; }}\nhttp {{ {http}\nlimit_conn_zone {key} zone=z:1m;\nserver {{ listen 80; \
             {server} limit_conn z 9; location / {{ proxy_pass http://{}; }} }} }}\n",
            backends[0].address()
        );
        let one = fill(key, &text, "nginx.limit_conn", &backends, MANY);
        assert_eq!(one.predicted.map(|(low, _)| low), expected, "{key}");
        seen.push(one);
    }
    let wrong = wrong(seen);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn slots_and_descriptors_of_several_workers() {
    let mut seen = Vec::new();
    for workers in [1, 2] {
        for (id, settings, events) in [
            ("nginx.worker_connections", "", "worker_connections 33;"),
            ("nginx.worker_connections", "", "worker_connections 64;"),
            ("nginx.worker_connections", "", "worker_connections 65; multi_accept on;"),
            ("nginx.worker_connections", "", "worker_connections 48; accept_mutex on;"),
            ("nginx.worker_rlimit_nofile", "worker_rlimit_nofile 50;", "worker_connections 512;"),
            ("nginx.worker_rlimit_nofile", "worker_rlimit_nofile 61;", "worker_connections 512;"),
        ] {
            let backends = [Backend::start()];
            let text = format!(
                "worker_processes {workers};\n{settings}\nevents {{ {events} }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass \
                 http://{}; }} }} }}\n",
                backends[0].address()
            );
            let what = format!("{workers} workers, {settings} {events}");
            seen.push(fill(&what, &text, id, &backends, MANY));
        }
    }
    for one in &mut seen {
        // How clients are spread over workers is not nginx's to say, and the formula says so: one worker's share is sure.
        if one.what.starts_with('2') && !one.what.contains("accept") {
            one.predicted = one.predicted.map(|(low, high)| (low / 2, high));
        }
    }
    let wrong = wrong(seen);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Statuses of so many requests, one right after the other.
fn statuses(address: SocketAddr, count: usize) -> Vec<Option<u16>> {
    let clients: Vec<_> = (0..count).map(|_| Client::ask(address, "/").unwrap()).collect();
    clients.into_iter().map(Client::status).collect()
}

#[test]
fn limit_req_lets_the_burst_in_and_no_more() {
    for (key, burst, counts) in [
        ("$binary_remote_addr", "burst=7 nodelay", true),
        ("$binary_remote_addr", "burst=12 delay=12", true),
        ("$binary_remote_addr", "", true),
        ("$server_name", "burst=3 nodelay", false),
        ("$host", "burst=3 nodelay", true),
    ] {
        let (stage, backend) = (Stage::new(), Backend::start());
        let text = format!(
            "events {{}}\nhttp {{ limit_req_zone {key} zone=r:1m rate=6r/m;\nserver {{ listen 80; location / {{ limit_req zone=r {burst}; \
             limit_req_status 429; proxy_pass http://{}; }} }} }}\n",
            backend.address()
        );
        let nginx = stage.own(&text, None).unwrap();
        let law = find(&nginx, "nginx.limit_req").map(|limit| limit.law);
        let server = Watched::start(&nginx);
        let refused = statuses(server.running.address(), 20).iter().filter(|status| **status == Some(429)).count();
        match law {
            Some(Law::Rate { burst, .. }) => assert_eq!(20 - refused, burst as usize + 1, "{key} {burst}"),
            None => assert_eq!((refused, counts), (0, false), "{key} {burst}"),
            other => panic!("{other:?}"),
        }
    }
}

/// So many requests at a steady rate; how many were refused.
fn paced(address: SocketAddr, rate: f64, count: usize) -> usize {
    let begin = Instant::now();
    let clients: Vec<_> = (0..count)
        .map(|i| {
            let due = Duration::from_secs_f64(i as f64 / rate);
            thread::sleep(due.saturating_sub(begin.elapsed()));
            Client::ask(address, "/").unwrap()
        })
        .collect();
    clients.into_iter().map(Client::status).filter(|status| *status == Some(503)).count()
}

#[test]
fn limit_req_holds_at_its_rate_and_breaks_a_tenth_above() {
    // Requests that a busy machine sends late come together, so there is room for some; what is sent above the rate fills it.
    const ROOM: usize = 30;
    for (rate, written) in [(100.0, "100r/s"), (150.0, "9000r/m"), (200.0, "200r/s")] {
        let (stage, backend) = (Stage::new(), Backend::start());
        let text = format!(
            "events {{}}\nhttp {{ limit_req_zone $host zone=r:1m rate={written};\nserver {{ listen 80; location / {{ limit_req zone=r \
             burst={ROOM} nodelay; proxy_pass http://{}; }} }} }}\n",
            backend.address()
        );
        let nginx = stage.own(&text, None).unwrap();
        let Law::Rate { value, .. } = find(&nginx, "nginx.limit_req").unwrap().law else { panic!() };
        assert_eq!(value, rate);
        let server = Watched::start(&nginx);
        assert_eq!(paced(server.running.address(), 0.95 * rate, 2 * ROOM), 0, "{written}");
        // A tenth of these is more than there is room for.
        assert!(paced(server.running.address(), 1.1 * rate, 14 * ROOM) > 0, "{written}");
    }
}

#[test]
fn a_return_is_answered_before_limits_are_looked_at() {
    for inside in ["location / { return 200; }", "return 200; location / { proxy_pass http://127.0.0.1:9; }"] {
        let stage = Stage::new();
        let text = format!(
            "events {{}}\nhttp {{ limit_req_zone $host zone=r:1m rate=1r/m; limit_req zone=r;\nserver {{ listen 80; {inside} }} }}\n"
        );
        let nginx = stage.own(&text, None).unwrap();
        assert_eq!(find(&nginx, "nginx.limit_req"), None);
        let server = Watched::start(&nginx);
        assert!((0..5).all(|_| get(server.running.address(), "/") == Some(200)));
    }
}

/// A server before two backends (A, B) with a limit, and how many clients its backends have at once; none: nothing limits them, or it is not said.
const WAYS: [(&str, &str, &str, Option<usize>); 16] = [
    (
        "nginx.limit_conn",
        "",
        "location / { try_files $uri @b; } location @b { limit_conn z 5; proxy_pass http://A; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "",
        "location / { rewrite ^ /in last; limit_conn y 2; proxy_pass http://A; } location /in { internal; limit_conn z 5; proxy_pass http://A; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "",
        "rewrite ^ /in last; location / { limit_conn y 2; proxy_pass http://A; } location /in { limit_conn z 5; proxy_pass http://A; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "",
        "location / { return 418; error_page 418 = @b; } location @b { limit_conn z 5; proxy_pass http://A; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "",
        "error_page 503 =200 @f; location / { limit_conn z 5; proxy_pass http://A; } location @f { proxy_pass http://B; }",
        None,
    ),
    (
        "nginx.limit_conn",
        "",
        "error_page 503 = @f; location / { limit_conn z 5; proxy_pass http://A; } location @f { return 429; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "",
        "proxy_intercept_errors on; error_page 502 =200 @f; location / { limit_conn z 5; proxy_pass http://A; } location @f { return 200 x; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "",
        "location / { if ($arg_x) { return 403; } limit_conn z 5; proxy_pass http://A; }",
        Some(5),
    ),
    ("nginx.limit_conn", "", "location / { if ($http_x) { return 403; } limit_conn z 5; proxy_pass http://A; }", None),
    (
        "nginx.limit_conn",
        "map $remote_addr $k { default x; }",
        "location / { limit_conn k 5; proxy_pass http://A; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "map $uri $k { default x; }",
        "set $k2 a; location / { limit_conn k 5; proxy_pass http://A; }",
        Some(5),
    ),
    (
        "nginx.limit_conn",
        "split_clients $request_id $k { 50% a; * b; }",
        "location / { limit_conn k 5; proxy_pass http://A; }",
        None,
    ),
    ("nginx.upstream.max_conns", "map $uri $k { default u; /x v; }", "location / { proxy_pass http://$k; }", Some(3)),
    ("nginx.upstream.max_conns", "map $uri $k { default u; / v; }", "location / { proxy_pass http://$k; }", Some(9)),
    (
        "nginx.upstream.max_conns",
        "split_clients $request_id $k { 50% u; * v; }",
        "location / { proxy_pass http://$k; }",
        None,
    ),
    (
        "nginx.upstream.max_conns",
        "map x $k { default w; }",
        "set $to http://v; location / { proxy_pass $to; }",
        Some(9),
    ),
];

#[test]
fn limits_hold_where_requests_go() {
    let mut wrong = Vec::new();
    for (id, http, server, expected) in WAYS {
        let backends = [Backend::start(), Backend::start()];
        let [a, b] = [backends[0].address().to_string(), backends[1].address().to_string()];
        let key = if http.contains("$k ") { "$k" } else { "all" };
        let text = format!(
            "worker_processes 1;\nevents {{ worker_connections 512; }}\nhttp {{ {http}\nupstream u {{ server A max_conns=3; }} upstream v \
             {{ server B max_conns=9; }}\nlimit_conn_zone all zone=z:1m; limit_conn_zone all zone=y:1m; limit_conn_zone {key} zone=k:1m;\n\
             server {{ listen 80; {server} }} }}\n"
        );
        let one = fill(server, &text.replace('A', &a).replace('B', &b), id, &backends, MANY);
        assert_eq!(one.predicted.map(|(_, high)| high), expected, "{server}");
        wrong.extend(Some(one).filter(|one| expected.is_some() && !one.is_right(MANY)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
