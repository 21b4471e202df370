//! What genkai reads in a Caddyfile, against the JSON that Caddy itself makes of it (`caddy adapt`): whether it takes it, which
//! `reverse_proxy` gets a request, and with what values; and whether a running one takes that JSON (`/load`, `/config/`). `GENKAI_DIFFERENTIAL=2000` tries so many.

mod adapted;
#[path = "../differential/mod.rs"]
mod differential;
mod grammar;
#[path = "../stage/mod.rs"]
mod stage;

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use genkai_model::explain::{Explanation, RemarkKind};
use genkai_model::limit::Law;
use genkai_place::process::{Child, Signal, Spawn};
use genkai_targets::catalog;
use genkai_targets::explain::Requests;
use serde_json::Value;

use adapted::Met;
use differential::{Draw, count, judged};
use stage::{Backend, Client, admitted, eventually};

fn there() -> bool {
    let found = Command::new("caddy").arg("version").output().is_ok();
    if !found {
        genkai_tidy::noted::skipped("caddy is not installed");
    }
    found
}

/// What Caddy makes of a file, or why it refuses it.
fn adapt(file: &Path) -> Result<Value, String> {
    let output =
        Command::new("caddy").args(["adapt", "--adapter", "caddyfile", "--config"]).arg(file).output().unwrap();
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Why genkai says that Caddy does not start.
fn refused(explained: &Result<Explanation, String>) -> Option<String> {
    match explained {
        Err(e) => Some(e.clone()),
        Ok(explained) => {
            let says =
                explained.remarks.iter().find(|r| r.kind == RemarkKind::Unknown || r.text.contains("does not start"));
            says.map(|r| format!("{:?} {} {}", r.place, r.setting, r.text))
        }
    }
}

/// What of a request's way can be compared, in words, in order.
type Figures = Vec<(String, String)>;

/// What genkai says of requests.
fn said(explained: &Explanation) -> Option<Figures> {
    let limit = |id: &str| explained.limits.iter().find(|limit| limit.id == id);
    let backend = limit("caddy.backend")?;
    let mut all = vec![("upstreams".to_owned(), dials(&backend.value))];
    for (setting, id) in [
        ("max_conns_per_host", "caddy.max_conns_per_host"),
        ("unhealthy_request_count", "caddy.unhealthy_request_count"),
    ] {
        let at_once = limit(id).map_or("none".to_owned(), |limit| match limit.law {
            Law::Workers { workers, .. } => workers.to_string(),
            Law::Unknown => "no number".to_owned(),
            ref law => format!("{law:?}"),
        });
        all.push((setting.to_owned(), at_once));
    }
    for timer in &explained.timers {
        let span = timer.span.map_or(0, |span| span.0);
        all.push((timer.setting.clone(), span.to_string()));
    }
    let body = limit("caddy.request_body.max_size").and_then(|limit| match limit.law {
        Law::BodySize { value } => Some(value as u64),
        _ => None,
    });
    all.push(("body".to_owned(), body.map_or("none".to_owned(), |bytes| bytes.to_string())));
    Some(all)
}

/// Upstreams as they are dialled: with the port that their scheme has.
fn dials(written: &str) -> String {
    let one = |text: &str| {
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let port = if scheme == "https" { 443 } else { 80 };
        match rest.contains(':') || rest.contains('/') {
            true => rest.to_owned(),
            false => format!("{rest}:{port}"),
        }
    };
    written.split(", ").map(one).collect::<Vec<_>>().join(" ")
}

/// The same of what Caddy runs.
fn truth(met: &Met) -> Option<Figures> {
    let proxy = met.proxy.as_ref()?;
    let at = |path: &str| proxy.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    let dials: Vec<&str> =
        proxy["upstreams"].as_array().into_iter().flatten().filter_map(|one| one["dial"].as_str()).collect();
    let different = dials.iter().collect::<BTreeSet<_>>().len() as i64;
    let policy = proxy.pointer("/load_balancing/selection_policy/policy").and_then(Value::as_str).unwrap_or("random");
    let together = if ["first", "ip_hash", "uri_hash"].contains(&policy) { 1 } else { different };
    let at_once =
        |each: i64, of: i64| if each > 0 && different > 0 { (each * of).to_string() } else { "none".to_owned() };
    let mut conns = at_once(at("/transport/max_conns_per_host"), together);
    let h2c = proxy.pointer("/transport/versions").is_some_and(|all| all.to_string().contains("h2c"));
    // Requests share connections there.
    if conns != "none" && (h2c || proxy.pointer("/transport/tls").is_some()) {
        conns = "no number".to_owned();
    }
    // Judged upstreams of which no failure is allowed are down, and no number of requests gets through.
    let allowed = at("/health_checks/passive/max_fails") > 0 || at("/health_checks/passive/fail_duration") > 0;
    let requests = match allowed {
        true => at_once(at("/health_checks/passive/unhealthy_request_count"), different),
        false => "none".to_owned(),
    };
    let mut all = vec![("upstreams".to_owned(), dials.join(" "))];
    all.extend([("max_conns_per_host".to_owned(), conns), ("unhealthy_request_count".to_owned(), requests)]);
    // 0 counts as not set, and of times below that nothing is said.
    let time = |value: i64, otherwise: i64| if value == 0 { otherwise } else { value.max(0) };
    let server = |name: &str| met.server.get(name).and_then(Value::as_i64).unwrap_or(0);
    for (setting, value) in [
        ("timeouts.idle", server("idle_timeout")),
        ("timeouts.read_header", server("read_header_timeout")),
        ("timeouts.read_body", server("read_timeout")),
        ("timeouts.write", server("write_timeout")),
        ("dial_timeout", at("/transport/dial_timeout")),
        ("response_header_timeout", at("/transport/response_header_timeout")),
        ("read_timeout", at("/transport/read_timeout")),
        ("write_timeout", at("/transport/write_timeout")),
        ("keepalive", at("/transport/keep_alive/idle_timeout")),
        ("lb_try_duration", at("/load_balancing/try_duration")),
    ] {
        let otherwise = match setting {
            "timeouts.idle" => 300_000_000_000,
            "dial_timeout" => 3_000_000_000,
            "keepalive" if proxy.pointer("/transport/keep_alive").is_none() => 120_000_000_000,
            _ => 0,
        };
        all.push((setting.to_owned(), time(value, otherwise).to_string()));
    }
    let body = met.bodies.iter().filter(|size| **size > 0).min();
    all.push(("body".to_owned(), body.map_or("none".to_owned(), u64::to_string)));
    Some(all)
}

/// Methods that the matchers of the grammar tell apart: genkai is not told which it is, and says what one of them meets.
const METHODS: [&str; 3] = ["GET", "POST", "DELETE"];

/// How the two differ about one request; none where they agree.
fn differ(file: &Path, adapted: &Value, host: &str, path: &str) -> Option<String> {
    let explained = catalog::explain(Some("caddy"), file, &Requests::to(host, path)).unwrap();
    let of = |method| adapted::met(adapted, method, host, path).iter().filter_map(truth).collect::<Vec<Figures>>();
    let each = METHODS.map(of);
    let ours = said(&explained);
    let agrees = each.iter().any(|truths| ours.as_ref().map_or(truths.is_empty(), |ours| truths.contains(ours)));
    let truths = each.concat();
    let nearest = truths.first().zip(ours.as_ref()).map(|(one, other)| {
        one.iter().zip(other).filter(|(one, other)| one != other).map(|pair| format!("{pair:?}")).collect::<Vec<_>>()
    });
    (!agrees).then(|| {
        format!("{host}{path}: Caddy, genkai: {nearest:?} ({} ways, genkai has one: {})", truths.len(), ours.is_some())
    })
}

/// One configuration: whether Caddy takes it, and how the two differ.
fn compare(number: usize, (main, more): &(String, String), dir: &Path) -> (bool, Option<String>) {
    let dir = dir.join(number.to_string());
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("Caddyfile");
    fs::write(&file, main).unwrap();
    fs::write(dir.join("more.caddy"), more).unwrap();
    let explained = catalog::explain(Some("caddy"), &file, &Requests::to("localhost", "/")).map_err(|e| e.to_string());
    let (refused, adapted) = (refused(&explained), adapt(&file));
    let differs = match (&adapted, &refused) {
        (Ok(adapted), None) => {
            let mut all = grammar::HOSTS.iter().flat_map(|host| grammar::PATHS.map(|path| (host, path)));
            all.find_map(|(host, path)| differ(&file, adapted, host, path))
        }
        (Err(_), Some(_)) => None,
        (Ok(_), Some(why)) => Some(format!("Caddy takes it, genkai says: {why}")),
        (Err(why), None) => Some(format!("genkai takes it, Caddy says: {}", why.lines().last().unwrap_or_default())),
    };
    (adapted.is_ok(), differs.map(|how| format!("--- {number}: {how}\n{main}--- more.caddy\n{more}")))
}

#[test]
fn what_a_caddyfile_means_is_what_caddy_makes_of_it() {
    if !there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let seed = std::env::var("GENKAI_DIFFERENTIAL_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(26);
    let mut draw = Draw::seeded(seed);
    let total = count(48);
    let texts: Vec<(String, String)> = (0..total).map(|_| grammar::written(&mut draw)).collect();
    let (accepted, wrong) = judged(total, 4, |number| compare(number, &texts[number], dir.path()));
    println!("{total} Caddyfiles, {accepted} accepted by Caddy, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.into_iter().take(20).collect::<Vec<_>>().join("\n"));
    assert!(accepted * 4 >= total, "too few are accepted for the comparison to mean something");
}

#[test]
fn where_no_site_takes_localhost_the_first_one_is_explained_and_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "http://shop.example {\n\treverse_proxy app:9000\n}\n").unwrap();
    let of = |host: &str| catalog::explain(Some("caddy"), file.path(), &Requests::to(host, "/")).unwrap();
    let explained = of("localhost");
    let backend = explained.limits.iter().find(|limit| limit.id == "caddy.backend").unwrap();
    assert!(explained.remarks.is_empty() && backend.formula.contains("requests to shop.example"), "{explained:#?}");
    let told = of("other.example").remarks;
    assert!(told.len() == 1 && told[0].text.contains("no site takes requests to other.example"), "{told:#?}");
}

#[test]
fn what_decides_and_is_not_evaluated_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = ":80 {\n\t@old query v=1\n\treverse_proxy @old old:1\n\treverse_proxy app:1 {\n\t\ttransport http {\n\t\t\tmax_conns_per_host 3\n\t\t}\n\t}\n}\n";
    fs::write(file.path(), text).unwrap();
    let explained = catalog::explain(Some("caddy"), file.path(), &Requests::to("localhost", "/")).unwrap();
    let limit = explained.limits.iter().find(|limit| limit.id == "caddy.max_conns_per_host").unwrap();
    assert!(limit.formula.contains("unless") && limit.formula.contains("`reverse_proxy @old old:1`"), "{limit:#?}");
}

/// Whether the Caddy that is installed allows no failure where `max_fails` is not written: up to 2.7.4.
fn allows_none() -> bool {
    let said = Command::new("caddy").arg("version").output().unwrap().stdout;
    let said = String::from_utf8_lossy(&said).trim_start_matches('v').to_owned();
    let numbers: Vec<u64> = said.split(['.', ' ', '-', '\n']).map_while(|number| number.parse().ok()).collect();
    numbers.as_slice() <= [2, 7, 4].as_slice()
}

#[test]
fn upstreams_that_are_told_to_be_down_get_no_request() {
    if !there() || !allows_none() {
        return;
    }
    let backend = Backend::start();
    let mut wrong = Vec::new();
    for options in [
        "",
        "unhealthy_request_count 8",
        "unhealthy_status 5xx",
        "unhealthy_latency 1s",
        "max_fails 0",
        "max_fails 3",
        "fail_duration 0s",
        "fail_duration 5s",
        "unhealthy_request_count 8\nmax_fails -1",
        "unhealthy_request_count 8\nmax_fails 1",
        "unhealthy_status 5xx\nfail_duration 5s",
        "max_fails 0\nfail_duration 5s",
    ] {
        let caddy = Caddy::start(&format!("reverse_proxy {} {{\n{options}\n}}\n", backend.address()));
        let answer = Client::ask(caddy.address, "/").unwrap().text();
        let file = caddy.dir.path().join("Caddyfile");
        let explained = catalog::explain(Some("caddy"), &file, &Requests::to("localhost", "/")).unwrap();
        let fault = explained.limits.iter().any(|limit| limit.fault && limit.id == "caddy.max_fails");
        let told = explained.remarks.iter().any(|remark| remark.text.contains("every upstream count as down"));
        let idle =
            explained.remarks.iter().any(|remark| remark.setting == "max_fails" && remark.text.contains("no effect"));
        let down = answer.starts_with("HTTP/1.1 503");
        if (fault, told) != (down, down) || (idle && options != "max_fails 3") {
            wrong.push(format!("{options}: {fault} {told} {idle}, Caddy: {}", answer.lines().next().unwrap_or("")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A Caddy that runs.
struct Caddy {
    dir: tempfile::TempDir,
    child: Child,
    address: SocketAddr,
}

impl Caddy {
    fn start(proxy: &str) -> Caddy {
        let dir = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = dir.path().join("Caddyfile");
        fs::write(&file, format!("{{\n\tadmin off\n\tauto_https off\n}}\nhttp://:{port} {{\n{proxy}}}\n")).unwrap();
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(&file).env("HOME", dir.path());
        command.env("XDG_CONFIG_HOME", dir.path()).env("XDG_DATA_HOME", dir.path());
        let child = Child::spawn(command, Spawn { name: "caddy".to_owned(), ..Spawn::default() }).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        eventually("Caddy listens", || std::net::TcpStream::connect(address).is_ok());
        Caddy { dir, child, address }
    }
}

impl Drop for Caddy {
    fn drop(&mut self) {
        self.child.stop(Signal::SIGTERM, Duration::from_secs(5));
    }
}

#[test]
fn upstreams_take_as_many_requests_at_once_as_predicted() {
    if !there() {
        return;
    }
    let (mut seen, mut wrong) = (Vec::new(), Vec::new());
    let conns = |most: u32| format!("transport http {{\nmax_conns_per_host {most}\n}}");
    for (upstreams, options, each) in [
        (1, conns(7), 7),
        (1, conns(1), 1),
        (2, format!("lb_policy first\n{}", conns(5)), 5),
        (2, format!("lb_policy round_robin\n{}", conns(5)), 10),
        (3, format!("lb_policy least_conn\n{}", conns(4)), 12),
        (3, format!("lb_policy ip_hash\n{}", conns(4)), 4),
        (2, conns(6), 6),
        (1, "max_fails 1\nunhealthy_request_count 9".to_owned(), 9),
        (2, "max_fails 1\nunhealthy_request_count 6".to_owned(), 12),
        (2, "lb_policy first\nmax_fails 1\nunhealthy_request_count 4".to_owned(), 8),
        (3, "lb_policy ip_hash\nfail_duration 9s\nunhealthy_request_count 3".to_owned(), 9),
        (2, String::new(), 60),
    ] {
        let backends: Vec<Backend> = (0..upstreams).map(|_| Backend::start()).collect();
        let names: String = backends.iter().map(|backend| format!(" {}", backend.address())).collect();
        let caddy = Caddy::start(&format!("reverse_proxy{names} {{\n{options}\n}}\n"));
        let file = caddy.dir.path().join("Caddyfile");
        let explained = catalog::explain(Some("caddy"), &file, &Requests::to("localhost", "/")).unwrap();
        let told = explained
            .limits
            .iter()
            .find(|l| ["caddy.max_conns_per_host", "caddy.unhealthy_request_count"].contains(&&*l.id));
        let number = told.and_then(|limit| match limit.law {
            Law::Workers { workers, .. } => Some(workers as usize),
            _ => None,
        });
        let count = admitted(&backends, caddy.address, number.map_or(60, |number| number + number / 10 + 2));
        // Where requests are not spread evenly, as is said, one may wait from the first upstream's own number on.
        let low = if told.is_some_and(|limit| limit.formula.contains("not spread evenly")) {
            each
        } else {
            number.unwrap_or(60)
        };
        seen.push((options.clone(), number, count));
        if count < low || count > number.unwrap_or(60) || low < each {
            wrong.push((options, each, number, count));
        }
    }
    println!("{seen:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What a running Caddy's admin interface answers: the status, and the body.
fn admin(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let length = body.len();
    let head = "Content-Type: application/json\r\nConnection: close";
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: {address}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, text.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

/// A configuration that may run here: it listens on sockets in a folder, and asks nobody for certificates.
fn harmless(mut adapted: Value, dir: &Path, address: SocketAddr) -> Value {
    adapted["admin"] = serde_json::json!({ "listen": address.to_string() });
    if let Some(apps) = adapted.get_mut("apps").and_then(Value::as_object_mut) {
        apps.remove("tls");
        let servers = apps.get_mut("http").and_then(|http| http.get_mut("servers")).and_then(Value::as_object_mut);
        for (number, server) in servers.into_iter().flat_map(|all| all.values_mut()).enumerate() {
            server["listen"] = serde_json::json!([format!("unix/{}/s{number}", dir.display())]);
            server["automatic_https"] = serde_json::json!({ "disable": true });
            if let Some(server) = server.as_object_mut() {
                server.remove("tls_connection_policies");
            }
        }
    }
    adapted
}

#[test]
fn a_running_caddy_takes_what_genkai_takes() {
    if !there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let begin = dir.path().join("begin.json");
    fs::write(&begin, format!("{{\"admin\":{{\"listen\":\"{address}\"}}}}")).unwrap();
    let mut command = Command::new("caddy");
    command.args(["run", "--config"]).arg(&begin).env("HOME", dir.path());
    command.env("XDG_CONFIG_HOME", dir.path()).env("XDG_DATA_HOME", dir.path());
    let mut child = Child::spawn(command, Spawn { name: "caddy".to_owned(), ..Spawn::default() }).unwrap();
    eventually("Caddy's admin interface answers", || std::net::TcpStream::connect(address).is_ok());
    let mut draw = Draw::seeded(27);
    let (total, mut loaded, mut wrong) = (count(24), 0, Vec::new());
    for number in 0..total {
        let (main, more) = grammar::written(&mut draw);
        let file = dir.path().join("Caddyfile");
        fs::write(&file, &main).unwrap();
        fs::write(dir.path().join("more.caddy"), &more).unwrap();
        let explained =
            catalog::explain(Some("caddy"), &file, &Requests::to("localhost", "/")).map_err(|e| e.to_string());
        let (None, Ok(adapted)) = (refused(&explained), adapt(&file)) else { continue };
        loaded += 1;
        let wanted = harmless(adapted, dir.path(), address);
        let (status, why) = admin(address, "POST", "/load", &wanted.to_string());
        let runs = serde_json::from_str::<Value>(&admin(address, "GET", "/config/", "").1).unwrap_or(Value::Null);
        if status != 200 || runs != wanted {
            wrong.push(format!("--- {number}: {status} {why}\n{main}--- more.caddy\n{more}"));
        }
    }
    child.stop(Signal::SIGTERM, Duration::from_secs(5));
    println!("{total} Caddyfiles, {loaded} loaded by a running Caddy, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.into_iter().take(20).collect::<Vec<_>>().join("\n"));
    assert!(loaded * 4 >= total, "too few are accepted for the comparison to mean something");
}
