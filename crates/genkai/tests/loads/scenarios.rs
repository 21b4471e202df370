//! `genkai load FILE`: scenarios and Artillery scripts on a real nginx and the echo server.

use std::path::{Path, PathBuf};

use genkai_model::finding::{Because, BisectionEnd, FlowFinding, TrialFinding, Verdict};
use genkai_model::limit::{Law, Origin};

use crate::harness::loads::{load, show};
use crate::harness::servers::{Guard, free, nginx, serve};
use crate::harness::{Run, genkai, holds, machine, run};

/// A shop: log in for a token and a cookie, without which there is nothing to see.
const SHOP: &str = r#"
location = /login { if ($request_method != POST) { return 405; } add_header Set-Cookie "sid=s-$arg_name; Path=/; HttpOnly";
  return 200 '{"token":"t-$arg_name","user":{"name":"$arg_name"}}'; }
location /api/ { if ($http_authorization !~ "^Bearer t-") { return 401; } if ($cookie_sid = "") { return 403; }
  return 200 '{"items":[1,2,3],"for":"$cookie_sid"}'; }
location = /moved { return 302 /landed; }
location = /landed { return 200 '{"landed":true}'; }
location / { return 200 '{"hello":"world"}'; }
"#;

struct Shop {
    _guard: Guard,
    dir: tempfile::TempDir,
    url: String,
}

fn shop() -> Shop {
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let root = dir.path().display();
    let log = "log_format plain '$request_method $request_uri $status $http_cookie';";
    let http = format!(
        "{log} access_log {root}/access.log plain; default_type application/json; keepalive_requests 1000000; \
         server {{ listen 127.0.0.1:{port}; {SHOP} }}"
    );
    let guard = nginx(dir.path(), &http, port);
    Shop { _guard: guard, dir, url: format!("http://127.0.0.1:{port}") }
}

impl Shop {
    /// Requests as nginx saw them: method, path, status, cookie.
    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join("access.log")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// The only trial of a load, its flows, and the exit code.
fn trial(arguments: &str) -> (TrialFinding, FlowFinding, Option<i32>) {
    let shown = load(&format!("{arguments} --json"));
    let trial = shown.trial();
    let flows = trial.flows.clone().expect("a scenario has flows");
    (trial, flows, shown.code)
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn step<'a>(flows: &'a FlowFinding, name: &str) -> &'a genkai_model::finding::StepFinding {
    flows.steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("{name} in {:?}", flows.steps))
}

#[test]
fn the_shop_logs_in_with_rows_captures_and_cookies() {
    let _machine = machine();
    let shop = shop();
    let (trial, flows, code) =
        trial(&format!("{} --target {} --requests 400", example("shop.yaml").display(), shop.url));
    assert_eq!((code, trial.failed, trial.finished), (Some(0), 0, 400), "{:?}", trial.errors);
    let named: u64 = flows.steps.iter().map(|step| step.ok + step.failed).sum();
    assert_eq!(named, 400, "every request has a name");
    let (login, browse) = (step(&flows, "login"), step(&flows, "browse"));
    assert!(login.ok > 20 && browse.ok > login.ok && browse.took.count == browse.ok, "{flows:?}");
    let failed: u64 = flows.counts.checks.iter().map(|check| check.failed).sum();
    assert!(failed == 0 && flows.counts.checks.iter().any(|check| check.name == "login: /user/name = {{name}}"));
    let log = shop.log();
    for name in ["ada", "grace", "alan"] {
        assert!(log.iter().any(|line| line.starts_with(&format!("POST /login?name={name} 200"))), "{name}");
        let cookie = format!("sid=s-{name}");
        assert!(log.iter().any(|line| line.starts_with("GET /api/") && line.ends_with(&cookie)), "{cookie}");
    }
    assert!(log.iter().all(|line| !line.contains("{{")), "nothing is sent unfilled");
    assert!(
        log.iter().filter(|line| line.contains("/login")).all(|line| line.ends_with('-')),
        "each run begins without cookies"
    );
}

#[test]
fn processes_share_out_a_scenario() {
    let _machine = machine();
    let shop = shop();
    let (trial, flows, code) =
        trial(&format!("{} --target {} --requests 200 --processes 2", example("shop.yaml").display(), shop.url));
    assert_eq!((code, trial.failed, trial.finished), (Some(0), 0, 200), "{:?}", trial.errors);
    let named: u64 = ["login", "browse", "buy", "front page"].map(|name| step(&flows, name).took.count).iter().sum();
    assert_eq!(named, 200, "{:?}", flows.steps);
    let log = shop.log();
    assert!(["ada", "grace", "alan"].iter().all(|name| log.iter().any(|line| line.contains(&format!("name={name} ")))));
}

#[test]
fn a_run_whose_last_request_is_the_last_of_all_is_completed() {
    let _machine = machine();
    let shop = shop();
    for (name, steps, completed) in [
        ("plain", "- request: GET /hello\n    - request: GET /landed\n", 3),
        ("loop", "- loop: 2\n      steps: [{request: GET /hello}]\n", 3),
        // The pause after the last request is not over when the load is.
        ("pause", "- request: GET /hello\n    - request: GET /landed\n    - think: 1ms\n", 2),
    ] {
        let text = format!(
            "target: http://127.0.0.1:1\nphases: [{{users: 1, for: 60s}}]\nrequests: 6\nflows:\n  - steps:\n    {steps}"
        );
        let file = shop.write(&format!("{name}.yaml"), &text);
        let (trial, flows, _) = trial(&format!("{} --target {}", file.display(), shop.url));
        assert_eq!(
            (trial.finished, flows.counts.started, flows.counts.broken),
            (6, 3, 0),
            "{name}: {:?}",
            trial.errors
        );
        assert_eq!(flows.counts.completed, completed, "{name}: {:?}", flows.counts);
    }
}

#[test]
fn checks_that_fail_are_counted_named_and_fail_the_run() {
    let _machine = machine();
    let shop = shop();
    let file = shop.write(
        "s.yaml",
        "target: http://127.0.0.1:1\nphases: [{users: 2, for: 60s}]\nrequests: 40\nflows:\n  - steps:\n    \
         - {request: GET /, name: front, check: {contains: moon, latency: 5s, json: {/hello: world}}}\n    \
         - {request: GET /moved, redirects: 1, name: moved, check: {status: 200, exists: /landed}}\n    \
         - {request: GET /missing, name: taken, capture: {x: {json: /none}}}\n    \
         - {request: GET /never, name: never}\n",
    );
    let (trial, flows, code) = trial(&format!("{} --target {}", file.display(), shop.url));
    assert_eq!(code, Some(1));
    let names: Vec<&str> = flows.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["front", "moved", "taken"], "a failed capture ends the run");
    assert_eq!((step(&flows, "front").ok, step(&flows, "moved").failed, step(&flows, "taken").ok), (0, 0, 0));
    assert!(step(&flows, "moved").ok > 0 && shop.log().iter().any(|line| line.starts_with("GET /landed 200")));
    let check = |name: &str| flows.counts.checks.iter().find(|check| check.name == name).unwrap();
    let moon = check("front: contains `moon`");
    assert!(moon.failed > 5 && moon.passed == 0 && check("front: latency < 5s").failed == 0);
    assert!(check("front: /hello = world").failed == 0 && flows.counts.missed == step(&flows, "taken").failed);
    assert!(flows.counts.broken > 0 && flows.counts.completed == 0);
    assert_eq!(trial.failed, trial.errors.iter().map(|e| e.count).sum::<u64>());
    let text = load(&format!("{} --target {}", file.display(), shop.url));
    for wanted in ["not what a check", "front: contains `moon`: failed", "values to capture not found"] {
        assert!(text.stdout.contains(wanted), "{wanted}: {}", text.stdout);
    }
}

#[test]
fn websockets_are_opened_talked_on_and_closed() {
    let _machine = machine();
    let (_guard, address) = serve("echo");
    let (trial, flows, code) = trial(&format!("{} --target ws://{address}", example("chat.yaml").display()));
    // 20/s after a ramp of 2 s: 20 and 20.
    assert_eq!((code, trial.failed, flows.counts.started, flows.counts.completed), (Some(0), 0, 40, 40));
    assert_eq!((flows.counts.sent, flows.counts.came, flows.counts.unread), (200, 200, 0));
    let echo = step(&flows, "echo");
    assert!(echo.ok == 200 && echo.took.count == 200 && echo.took.p50 > 0.0, "{echo:?}");
    assert_eq!(
        flows.counts.checks.iter().map(|check| (check.passed, check.failed)).collect::<Vec<_>>(),
        [(200, 0), (200, 0)]
    );
    let closes = trial.messages.unwrap().closes;
    assert_eq!(closes.iter().map(|close| (close.code, close.count)).collect::<Vec<_>>(), [(1000, 40)]);
    assert!(trial.lasted < 25.0, "it ends with its last user, not with the drain: {}", trial.lasted);
}

#[test]
fn messages_that_come_unasked_are_kept_and_searched() {
    let _machine = machine();
    let (_guard, address) = serve("echo");
    let shop = shop();
    let file = shop.write(
        "s.yaml",
        &format!(
            "target: ws://{address}\nphases: [{{count: 3, for: 100ms}}]\nflows:\n  - steps:\n    - connect: /\n    \
             - loop: [one, two, three]\n      as: word\n      steps: [{{send: '{{{{word}}}}'}}, {{think: 1ms}}]\n    \
             - {{expect: three, search: true, name: third}}\n    - {{send: last}}\n    - {{expect: last, name: last}}\n    \
             - {{expect: more, within: 200ms, name: more}}\n"
        ),
    );
    let (trial, flows, code) = trial(&file.display().to_string());
    assert_eq!((step(&flows, "third").ok, step(&flows, "last").ok, step(&flows, "more").failed), (3, 3, 3));
    assert_eq!((flows.counts.sent, flows.counts.came, flows.counts.broken), (12, 12, 3));
    assert_eq!((code, trial.failed), (Some(1), 3), "{:?}", trial.errors);
}

#[test]
fn artillery_scripts_run_as_they_are() {
    let _machine = machine();
    let (shop, (_guard, address)) = (shop(), serve("echo"));
    let shown = load(&format!("{} --target {} --json", example("artillery.yml").display(), shop.url));
    assert!(shown.stderr.contains("`log`: prints nothing under load"), "{}", shown.stderr);
    let verdict: Verdict = serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e} {}", shown.stderr));
    let flows = verdict.trials[0].flows.clone().unwrap();
    // A ramp from 5 to 20 in a second, and 20 more: 32.5.
    assert_eq!((shown.code, flows.counts.started, flows.counts.completed), (Some(0), 33, 33), "{}", shown.stdout);
    let log = shop.log();
    assert_eq!(log.iter().filter(|line| line.starts_with("GET /api/")).count(), 66);
    assert!(log.iter().all(|line| line.contains(" 200 ")), "{log:?}");
    let ws = shop.write(
        "ws.yml",
        "config:\n  target: ws://127.0.0.1:1/\n  phases: [{duration: 1, arrivalRate: 10}]\n  ws: {timeout: 3}\n  \
         variables: {who: [ada, alan]}\nscenarios:\n  - engine: ws\n    name: talk\n    flow:\n      \
         - connect: '{{ target }}room?who={{ who }}'\n      \
         - send: {payload: {hello: '{{ who }}', n: 7}, capture: {json: $.hello, as: back}, match: {json: $.n, value: 7}}\n      \
         - loop:\n          - send: '{{ back }} {{ $loopCount }}'\n          - think: 10ms\n        count: 3\n      \
         - wait: {capture: {regexp: '([a-z]+) [0-9]', as: word}}\n      - think: 0.05\n",
    );
    let (trial, flows, code) = trial(&format!("{} --target ws://{address}/", ws.display()));
    assert_eq!((code, trial.failed, flows.counts.completed), (Some(0), 0, 10), "{:?}", trial.errors);
    assert_eq!((flows.counts.sent, flows.counts.came), (40, 40));
    assert_eq!((step(&flows, "send answered").took.count, step(&flows, "wait").ok), (10, 10));
}

#[test]
fn a_dry_run_shows_what_would_be_sent_and_sends_nothing() {
    let shop = shop();
    let shown = load(&format!("{} --target {} --dry-run", example("shop.yaml").display(), shop.url));
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for wanted in ["/login?name=ada", "lovelace", "Bearer {{token}}", "phase", "spike: 30 for 1s", "Nothing was sent"] {
        assert!(shown.stdout.contains(wanted), "{wanted}: {}", shown.stdout);
    }
    assert!(shop.log().is_empty());
    let json = load(&format!("{} --target {} --dry-run --json", example("shop.yaml").display(), shop.url));
    let plan: genkai_model::load::Load = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(plan.scenario.unwrap().tables[0].rows.len(), 3, "another process could make the same load from it");
}

#[test]
fn mistakes_end_before_any_load() {
    let shop = shop();
    let file = |text: &str| shop.write("bad.yaml", text).display().to_string();
    let good = "phases: [{users: 1, for: 1s}]\nflows: [{steps: [{request: GET /}]}]\n";
    let refused = |arguments: &str, wanted: &str| {
        let shown = load(arguments);
        assert!(shown.code == Some(2) && shown.stderr.contains(wanted), "{arguments}: {wanted}\n{}", shown.stderr);
    };
    let path = file(&format!("target: {}\nphase: 1\n{good}", shop.url));
    refused(&path, &format!("{path}:2:1: unknown key `phase`"));
    refused(&path, "hint: did you mean `phases`?");
    refused(&file(good), "give --target");
    refused(&file(&format!("target: http://192.0.2.7/\n{good}")), "--allow-remote");
    refused("/no/such/file.yaml", "/no/such/file.yaml");
    let path = file(&format!("target: {}\n{good}", shop.url));
    refused(&format!("{path} --users 5"), "--users: cannot be used with a scenario file");
    refused(&format!("{} --dry-run", shop.url), "need a scenario file");
    refused(&format!("{} --stages nonsense", shop.url), "30s:500");
    assert!(shop.log().is_empty());
}

#[test]
fn stages_are_seen_in_the_levels_of_a_load() {
    let _machine = machine();
    let shop = shop();
    let stages = "400ms:0..4, 200ms:4, 400ms:0, 200ms:pause, 200ms:6..6";
    let trial = show(genkai(&format!("load {}/ --json --think 5ms", shop.url)).args(["--stages", stages])).trial();
    assert_eq!((trial.asked, trial.failed), (6.0, 0));
    assert!((1.399..5.0).contains(&trial.lasted) && trial.finished > 20, "{trial:?}");
}

/// A walk of two steps, the second with a value of the first, at a site that this machine does not know.
const WALK: &str = "title: a walk\ntarget: http://shop.invalid/base\nphases: [{users: 20, for: 3s}]\nobjective: errors < 1%\nflows:\n  - name: walk\n    \
                    steps:\n    - {request: 'GET /a', capture: {kind: {header: content-type}}}\n    - {think: 20ms}\n    \
                    - {request: 'GET /b?{{kind}}', name: second}\n";

fn written(dir: &tempfile::TempDir, text: &str) -> String {
    let path = dir.path().join("walk.yaml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_limit_is_found_and_lifted_under_a_scenario() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = written(&dir, WALK);
    // Eight connections, two of them taken by nginx, hold three proxied requests at once; twenty users who come at once ask for more.
    let run = run(&genkai(&format!(
        "tune nginx --scenario {file} --set worker_processes=1 --set worker_connections=8 --backend-time 50ms --spawn-rate 20 --quick \
         --pairs 0 --quiet"
    )));
    let (record, verdict) = (run.record(), run.verdict());
    let settings: Vec<&str> = verdict.proposal.iter().map(|one| one.change.setting.as_str()).collect();
    assert_eq!(settings, ["worker_connections"], "{}", run.story());
    let head = record.head.as_ref().unwrap();
    assert!(head.plan.title.contains("a walk") && head.plan.title.contains("walk.yaml"), "{}", head.plan.title);
    assert_eq!(head.plan.objective.to_string(), "errors < 1%");
    for trial in &record.trials {
        let load = &trial.started.load;
        let target = &load.scenario.as_ref().unwrap().targets[0];
        assert_eq!((&target.addresses, target.host.as_str()), (&load.addresses, "shop.invalid"));
        assert_eq!((load.request.path.as_str(), load.request.host.as_str()), ("/base/a", "shop.invalid"));
    }
    let flows = verdict.trials[0].flows.as_ref().unwrap_or_else(|| panic!("{}", run.story()));
    assert!(step(flows, "second").ok > 0, "{}", run.story());
    assert!(run.stdout.is_empty() && holds(&run.out, "other requests of the scenario may meet other directives"));
}

/// nginx with directives that only the second request of a scenario meets, tried with it.
fn of_another_request(http: &str, location: &str, flags: &str) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let file = written(
        &dir,
        "title: mix\ntarget: http://shop.invalid\nphases: [{users: 20, for: 3s}]\nflows:\n  - name: buy\n    steps:\n      - request: GET /a\n      \
         - request: GET /api/x\n      - think: 100ms\n",
    );
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = dir.path().join("nginx.conf");
    let text = format!(
        "events {{ worker_connections 512; }}\nhttp {{\n {http}\n server {{\n  listen 127.0.0.1:{port};\n  \
         location / {{ proxy_pass http://127.0.0.1:9; }}\n  location /api/ {{ {location} proxy_pass http://127.0.0.1:9; }}\n }}\n}}\n"
    );
    std::fs::write(&config, text).unwrap();
    run(&genkai(&format!(
        "tune nginx --config {} --backend embedded --scenario {file} --spawn-rate 20 --quick --pairs 0 --max-limits 1 --quiet {flags}",
        config.display()
    )))
}

#[test]
fn what_another_request_of_the_scenario_meets_is_found_by_leaving_directives_out() {
    let _machine = machine();
    // Beside other programs it cannot tell, and says so: only that is asked again.
    let told = |run: &Run| {
        let verdict = run.verdict();
        let ended = verdict.bisection.as_ref().map(|found| found.ended);
        let unsure =
            [BisectionEnd::Untold, BisectionEnd::Undecided, BisectionEnd::Unfinished, BisectionEnd::NotFailing];
        let open = ended.is_some_and(|ended| unsure.contains(&ended))
            || [Because::ClientIsLimit, Because::OtherPrograms].contains(&verdict.because());
        if open {
            genkai_tidy::noted::asked_again(&format!("{:?}, {ended:?}", verdict.because()));
            eprintln!("{}", run.story());
        }
        !open
    };
    let run = (0..3)
        .map(|_| of_another_request("", "if ($request_id ~ ^[0-9a-c]) { return 500; }", ""))
        .find(told)
        .expect("it can be told once of three times");
    assert_eq!(run.verdict().because(), Because::DirectivesNamed, "{}", run.story());
    let found = run.verdict().bisection.unwrap();
    let told: Vec<&str> = found.named.iter().map(|one| one.text.as_str()).collect();
    assert_eq!((told.as_slice(), run.code), (&["if ($request_id ~ ^[0-9a-c])"][..], Some(1)), "{}", run.story());
    assert!(found.compared, "{}", run.story());
}

#[test]
fn a_limit_that_another_request_of_the_scenario_meets_is_named_by_the_log() {
    let _machine = machine();
    let zone = "limit_req_zone $binary_remote_addr zone=rq:1m rate=20r/s;";
    let run = of_another_request(zone, "limit_req zone=rq; limit_req_status 429;", "--bisect 0");
    let verdict = run.verdict();
    let limit = &verdict.causes.first().unwrap_or_else(|| panic!("{}", run.story())).limit;
    let line = |origin: &Origin| matches!(origin, Origin::File { line: 7, .. });
    assert!(limit.id == "nginx.limit_req.rq" && line(&limit.origin), "{}", run.story());
    // The configuration was read for the first request alone: no number is told, and nothing is proved.
    assert!(matches!(limit.law, Law::Unknown) && verdict.proposal.is_empty(), "{}", run.story());
    assert!(holds(&run.out, "by zone "), "{}", run.story());
}

/// Users who open a WebSocket, say something five times a second, and wait for the echo.
const TALK: &str = "title: a talk\ntarget: ws://shop.invalid/base\nphases: [{users: 50, for: 3s}]\nflows:\n  - name: talk\n    steps:\n    \
                    - connect: /room\n    - loop: 20\n      as: n\n      steps: [{send: 'hello {{n}}'}, {expect: 'hello {{n}}', name: echo, \
                    within: 2s}, {think: 200ms}]\n";

#[test]
fn a_limit_is_found_and_lifted_under_a_scenario_of_websockets() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = written(&dir, TALK);
    // Of 64 connections three are nginx's own; an open WebSocket takes two.
    let run = run(&genkai(&format!(
        "tune nginx --scenario {file} --set worker_connections=64 --spawn-rate 20 --quick --pairs 0 --max-limits 1 --quiet"
    )));
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("{}", run.story()));
    assert_eq!(cause.limit.id, "nginx.worker_connections", "{}", run.story());
    let told = &cause.predicted;
    assert_eq!(told.users.map(|range| (range.low, range.high)), Some((28.0, 30.0)), "{}", run.story());
    assert!(told.observed.is_some_and(|seen| (25.0..=33.0).contains(&seen)), "{}", run.story());
    let rates = verdict.predictions.iter().find(|one| one.limit == "nginx.listen.backlog").unwrap();
    assert!(rates.users.is_none() && rates.formula.starts_with("cannot tell"), "{rates:?}");
    let flows = verdict.trials[0].flows.as_ref().unwrap_or_else(|| panic!("{}", run.story()));
    assert!(step(flows, "echo").ok > 0 && holds(&run.out, "limits are those of the WebSocket at `/base/room`"));
}

#[test]
fn systems_are_compared_under_a_scenario() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = written(&dir, WALK);
    let run = run(&genkai(&format!(
        "compare nginx nginx --scenario {file} --users 3 --backend-time 1ms --hold 300ms --blocks 2 --no-control --quiet"
    )));
    let record = run.record();
    assert_eq!(record.trials.len(), 4, "{}", run.story());
    for trial in &record.trials {
        let target = &trial.started.load.scenario.as_ref().unwrap().targets[0];
        assert_eq!(target.addresses, trial.started.load.addresses);
        let (ok, failed) =
            trial.ticks.iter().fold((0, 0), |(ok, failed), tick| (ok + tick.ok, failed + tick.errors.len()));
        assert!(ok > 0 && failed == 0, "{ok} {failed}\n{}", run.story());
    }
}

#[test]
fn a_scenario_that_cannot_be_had_is_refused_wherever_it_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |arguments: &str| {
        let output = genkai(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let file = written(&dir, &WALK.replace("capture:", "captured:"));
    let alone = refused(&format!("load {file}"));
    assert!(alone.0 == Some(2) && alone.1.contains("captured") && alone.1.contains("walk.yaml:"), "{alone:?}");
    for command in ["tune nginx", "tune apache", "compare nginx nginx"] {
        assert_eq!(refused(&format!("{command} --scenario {file}")), alone, "{command}");
    }
    let command = refused(&format!("tune command --set n=1 --scenario {file} -- server {{n}} {{listen}}"));
    assert_eq!(command, alone);
    for (from, to, words) in [
        ("{users: 20, for: 3s}", "{rate: 20, for: 3s}", ["a rate of new users", "--users N"]),
        (
            "target: http://shop.invalid/base",
            "http2: true\ntargets: {a: http://shop.invalid/a, b: http://shop.invalid/b}",
            ["several targets", "one target"],
        ),
        ("target: http://", "target: nonsense://", ["nonsense", "http://"]),
        ("{think: 20ms}", "{think: '{{kind}}'}", ["think", "write a time"]),
    ] {
        let text = WALK.replace(from, to);
        assert_ne!(text, WALK, "{from}");
        let file = written(&dir, &text);
        for command in ["tune nginx", "compare nginx nginx"] {
            let (code, said) = refused(&format!("{command} --scenario {file}"));
            assert!(code == Some(2) && words.iter().all(|word| said.contains(word)), "{to}: {code:?} {said}");
            assert_eq!(said.matches("error:").count(), 1, "{said}");
        }
    }
    let (code, said) = refused(&format!("tune nginx --scenario {file} --path /x"));
    assert!(code == Some(2) && said.contains("--path") && said.contains("--scenario"), "{said}");
    let talk = "target: ws://127.0.0.1:9\nphases: [{users: 1, for: 1s}]\nflows:\n  - steps:\n    - {connect: /}\n    - {send: hello}\n";
    for command in ["compare nginx nginx", "tune command --set n=1"] {
        let end = if command.starts_with("tune") { " -- server {n} {listen}" } else { "" };
        let (code, said) = refused(&format!("{command} --scenario {}{end}", written(&dir, talk)));
        assert!(code == Some(2) && said.contains("WebSockets") && said.contains("--websocket"), "{said}");
    }
    let both = talk.to_owned() + "    - {request: GET /}\n";
    let (code, said) = refused(&format!("tune nginx --scenario {}", written(&dir, &both)));
    assert!(
        code == Some(2) && said.contains("makes requests beside them") && said.contains("files of their own"),
        "{said}"
    );
}
