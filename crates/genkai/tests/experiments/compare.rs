//! `genkai compare` and `genkai claims` on real servers: equal ones, different ones, what already runs, what is cut off.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use genkai_model::figure::Figure;
use genkai_model::finding::claim::{ClaimFinding, ClaimVerdict};
use genkai_model::finding::comparison::{ComparisonCaveat, ComparisonFinding, Ended};
use genkai_model::finding::{Call, Effect, Outcome};
use genkai_model::record::Record;

use crate::harness::loads::show;
use crate::harness::servers::{free, nginx, serve};
use crate::harness::{all_gone, descendants, genkai, machine, run, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(60);
/// A latency allowed that makes no lateness of the generator matter: a machine that is busy with other things must not decide.
const PATIENT: &str = "errors < 0.1%, p99 < 50s";

/// `genkai compare` with these words, patient and quiet.
fn compare(words: &str) -> std::process::Command {
    let mut command = genkai(&format!("compare {words} --quiet"));
    command.args(["--objective", PATIENT]);
    command
}

fn finding(out: &Path) -> ComparisonFinding {
    serde_json::from_str(&std::fs::read_to_string(out.join("verdict.json")).unwrap()).unwrap()
}

fn call(finding: &ComparisonFinding, figure: Figure) -> Call {
    finding.pairs[0].effects.iter().find(|effect| effect.figure == figure).unwrap().call
}

#[test]
fn the_same_server_twice_is_no_difference() {
    let _machine = machine();
    // A wide margin: what chance and a shared machine do to a few short turns must not decide this test.
    let words =
        "nginx nginx --users 10 --spawn-rate 100 --think 10ms --backend-time 5ms --hold 400ms --blocks 3 --margin 100";
    let run = run(&compare(words));
    let finding = finding(&run.out);
    assert_eq!(finding.blocks, 3, "{}", run.story());
    for effect in finding.pairs.iter().chain(&finding.control).flat_map(|pair| &pair.effects) {
        assert!(matches!(effect.call, Call::Same | Call::CannotTell { .. }), "{effect:?}\n{}", run.story());
    }
    assert_eq!(finding.contenders[1].name, "nginx (2)");
    assert_eq!(call(&finding, Figure::Failures), Call::Same, "{}", run.story());
    assert!(
        finding.contenders.iter().all(|one| one.figures[6].value.is_some()),
        "processor time is seen: {}",
        run.story()
    );
}

#[test]
fn enough_worker_connections_are_better_and_the_record_says_it_again() {
    let _machine = machine();
    let words = "--base nginx --set worker_processes=1 --users 60 --spawn-rate 600 --backend-time 20ms --hold 400ms --blocks 4 --no-control \
                 --decide failures";
    let run = run(compare(words).args(["--change", "worker_connections 32 -> 1024"]));
    let found = finding(&run.out);
    assert_eq!(call(&found, Figure::Failures), Call::Better, "{}", run.story());
    assert_eq!((found.outcome, run.code), (Outcome::Holds, Some(0)), "{}", run.story());
    assert!(
        run.says()[0].starts_with("worker_connections 32 -> 1024 beside baseline: better in failures"),
        "{}",
        run.story()
    );
    assert!(found.caveats.contains(&ComparisonCaveat::Survivors { name: "baseline".to_owned() }), "{}", run.story());
    let set = |n: usize| {
        found.contenders[n].settings.iter().find(|s| s.name == "worker_connections").map(|s| s.value.clone())
    };
    assert_eq!(
        (set(0).as_deref(), set(1).as_deref()),
        (Some("32"), Some("1024")),
        "every setting that is no default is told"
    );
    let turns = std::fs::read_to_string(run.out.join("turns.csv")).unwrap();
    assert_eq!(turns.lines().count(), 1 + 8, "{turns}");
    let again = show(genkai("report --markdown").arg(&run.out));
    assert_eq!(again.code, Some(0), "{}", again.story());
    assert!(
        again.stdout.starts_with("**worker\\_connections 32") && again.stdout.contains("\n| failures | "),
        "{}",
        again.stdout
    );
    assert_eq!(finding(&run.out), found, "the record alone says the same");
}

#[test]
fn what_already_runs_is_seen_and_not_stressed() {
    let _machine = machine();
    let ((_one, a), (_other, b)) = (serve("origin --listen 127.0.0.1:0"), serve("origin --listen 127.0.0.1:0"));
    let run = run(&compare(&format!("http://{a} http://{b} --rate 100 --ramp 0s --hold 1s --blocks 2 --no-control")));
    let finding = finding(&run.out);
    assert!(!finding.stress.anybody && finding.stress.busiest.is_some(), "{}", run.story());
    let decided = |effect: &&Effect| !matches!(effect.call, Call::CannotTell { .. } | Call::Missing);
    let told = finding.pairs[0]
        .effects
        .iter()
        .filter(decided)
        .any(|effect| effect.figure != Figure::Throughput && finding.comparison.deciding.contains(&effect.figure));
    assert_eq!((finding.outcome == Outcome::Invalid, run.code == Some(4)), (!told, !told), "{}", run.story());
    assert!(run.says().iter().any(|said| said.starts_with("No contender was stressed")), "{}", run.story());
    let memory = finding.contenders[0].figures[7].value.unwrap().value;
    assert!(memory > 1e6, "the memory of a process that is not ours: {memory}");
}

/// A server that only redirects beside one that serves a page, and one whose page is a tenth as large.
#[test]
fn who_answers_otherwise_is_told_beside_the_answer() {
    let _machine = machine();
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let ports: [u16; 3] = free();
    let does = [format!("return 200 {}", "x".repeat(3_000)), "return 302 /x".to_owned(), "return 200 busy".to_owned()];
    let served = |n: usize| {
        let http = format!("access_log off; server {{ listen 127.0.0.1:{}; location / {{ {}; }} }}", ports[n], does[n]);
        nginx(dirs[n].path(), &http, ports[n])
    };
    let _servers = [served(0), served(1), served(2)];
    let load = "--rate 200 --ramp 0s --hold 500ms --blocks 2 --no-control";
    let of = |a: u16, b: u16| run(&compare(&format!("http://127.0.0.1:{a} http://127.0.0.1:{b} {load}")));
    for (other, status) in [(ports[1], 302), (ports[2], 200)] {
        let run = of(ports[0], other);
        let found = finding(&run.out);
        let answers = found.caveats.iter().find_map(|caveat| match caveat {
            ComparisonCaveat::AnswersUnlike { answers } => Some(answers),
            _ => None,
        });
        let [page, otherwise] = &answers.unwrap_or_else(|| panic!("{}", run.story()))[..] else { panic!() };
        assert_eq!((page.status, otherwise.status), (Some(200), Some(status)), "{}", run.story());
        assert!(page.bytes.unwrap() > 3_000.0 && otherwise.bytes.unwrap() < 1_000.0, "{answers:?}");
        assert!(run.says()[1].starts_with("Answers are unlike: "), "{}", run.story());
        let again = show(genkai("report --check").arg(&run.out));
        assert_eq!(again.code, Some(0), "{}", again.story());
    }
    let same = of(ports[0], ports[0]);
    let unlike = |one: &ComparisonCaveat| matches!(one, ComparisonCaveat::AnswersUnlike { .. });
    assert!(!finding(&same.out).caveats.iter().any(unlike), "{}", same.story());
}

#[test]
fn an_interrupted_comparison_is_judged_and_leaves_nothing() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words =
        "nginx nginx --users 5 --spawn-rate 50 --think 10ms --backend-time 5ms --hold 300ms --blocks 300 --no-control";
    let mut child = compare(words).arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("three blocks", LONGEST, || {
        let record = Record::read(std::fs::read_to_string(out.join("run.jsonl")).ok()?.lines()).ok()?;
        (record.trials.len() > 6).then_some(())
    });
    let children = descendants(child.id());
    signal(child.id(), "INT");
    let status = wait(&mut child, LONGEST);
    all_gone(&children);
    assert_eq!(status.code(), Some(130));
    let finding = finding(&out);
    assert!(finding.blocks >= 3 && finding.ended == Ended::CutOff, "{finding:?}");
    assert!(finding.pairs[0].effects.iter().any(|effect| effect.effect.is_some()));
}

#[test]
fn what_cannot_be_compared_is_said_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let conf = file(
        "nginx.conf",
        "events { worker_connections 99; }\nhttp { server { listen 8080; location / { proxy_pass http://127.0.0.1:9; } } }\n",
    );
    let systems = file("s.yaml", "systems:\n  - {name: a, product: nginx}\n  - {name: a, product: nginx}\n");
    for (arguments, part) in [
        (vec!["nginx"], "give two to 16 systems"),
        (vec!["nginx", "nonsense"], "no such file, and not one of nginx, apache, haproxy, caddy, nginx-cache"),
        (vec!["http://192.0.2.7", "nginx"], "is not this machine"),
        (
            vec!["http://127.0.0.1:9/path", "nginx"],
            "error: http://127.0.0.1:9/path: `/path` would have no effect; servers are compared",
        ),
        (vec![systems.as_str()], "`a` takes part twice"),
        (vec!["nginx", systems.as_str()], "a file of systems stands alone"),
        (vec!["--base", "nginx", "--change", "worker_conections -> 3"], "worker_connections"),
        (vec!["--base", "nginx", "--change", "gzip off -> off"], "nothing would change"),
        (
            vec!["--base", conf.as_str(), "--change", "worker_connections 512 -> 1024"],
            "worker_connections is 99 there, not 512",
        ),
        (
            vec!["--base", "nginx", "--set", "worker_connections=50", "--change", "Worker_Connections 9 -> 20"],
            "Worker_Connections is 50 there, not 9",
        ),
        (vec!["--base", "nginx", "--change", "gzip"], "not a valid change"),
        (vec!["nginx", "apache", "--decide", "speed"], "not a valid figure"),
        (vec!["nginx", "apache", "--hold", "1ms"], "at least 200ms"),
        (
            vec!["nginx", "varnish-malloc", "--tls"],
            "varnish-malloc with TLS: genkai writes listeners with TLS for nginx, apache, haproxy, caddy only",
        ),
        (vec!["--base", "nginx"], "--change"),
    ] {
        let shown = show(genkai("compare").args(&arguments));
        assert_eq!(shown.code, Some(2), "{arguments:?}\n{}", shown.story());
        assert!(shown.stderr.contains(part), "{arguments:?}\n{}", shown.story());
    }
    let shown = show(genkai("compare --dry-run").args([
        "--base",
        conf.as_str(),
        "--backend",
        "embedded",
        "--change",
        "worker_connections 99 -> 200",
    ]));
    assert_eq!(shown.code, Some(0), "{}", shown.story());
    assert!(
        shown.stdout.contains("worker_connections 99 -> 200") && shown.stdout.contains("3 turns each"),
        "{}",
        shown.story()
    );
}

#[test]
fn a_setting_that_does_not_exist_is_told_by_the_server_itself() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let gone = file("gone.yaml", "advice: bigger buffers\nproduct: apache\nline: ProxySendBufferSize 131072\n");
    let less = "advice: more\nproduct: apache\nset: {mpm: worker, ServerLimit: 4}\nline: MaxRequestWorkers 500\n";
    let less = file("less.yaml", less);
    let real = file("real.yaml", "advice: a timeout\nproduct: apache\nline: ProxyTimeout 60\n");
    let wrong = file("wrong.yaml", "advice: a time\nproduct: nginx\nline: worker_shutdown_timeout soon;\n");
    let out = dir.path().join("out");
    let shown = show(genkai("claims --json --quiet").args([&gone, &less, &real, &wrong]).arg("--out").arg(&out));
    assert_eq!(shown.code, Some(0), "{}", shown.story());
    let shown = show(genkai("claims --json --from").arg(&out));
    let all: Vec<ClaimFinding> =
        serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e}\n{}", shown.story()));
    let verdicts: Vec<(&str, ClaimVerdict)> = all.iter().map(|one| (one.claim.name.as_str(), one.verdict)).collect();
    let expected = [
        ("gone", ClaimVerdict::DoesNotExist),
        ("less", ClaimVerdict::Clamped),
        ("real", ClaimVerdict::Exists),
        ("wrong", ClaimVerdict::Refused),
    ];
    assert_eq!(verdicts, expected, "{}", shown.story());
    assert!(all[0].said[0].contains("Invalid command 'ProxySendBufferSize'"), "{:?}", all[0].said);
    assert!(all[1].said[0].contains("AH00318") || all[1].said[0].contains("decreasing to 100"), "{:?}", all[1].said);
    assert!(all[0].server.starts_with("apache 2."), "{}", all[0].server);
    let table = show(genkai("claims --markdown --from").arg(&out));
    assert!(
        table.stdout.contains("| bigger buffers | ProxySendBufferSize 131072 | The server's own check says:"),
        "{}",
        table.story()
    );
}

/// Configurations of caches run as private copies beside other products and what already stands, the backend kept as they name it.
#[test]
fn a_user_s_caches_and_an_address_are_contenders() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_origin, address) = serve("origin --listen 127.0.0.1:0");
    let port = address.rsplit_once(':').unwrap().1;
    let nginx = format!(
        "events {{ }}\nhttp {{ server {{ listen 8080; location / {{ proxy_pass http://127.0.0.1:{port}; }} }} }}\n"
    );
    let squid = format!(
        "http_port 80 accel defaultsite=localhost no-vhost\ncache_peer 127.0.0.1 parent {port} 0 no-query originserver \
         name=site\nhttp_access allow all\ncache_mem 8 MB # little\naccess_log daemon:/var/log/squid/access.log squid\n"
    );
    let vcl = format!("vcl 4.1;\nbackend default {{ .host = \"127.0.0.1\"; .port = \"{port}\"; }}\n");
    let mut files = vec![("nginx.conf", nginx, "nginx")];
    for (name, text, product) in [("squid.conf", squid, "squid-memory"), ("default.vcl", vcl, "varnish-malloc")] {
        match genkai_targets::catalog::caches::contender(product).unwrap().installed() {
            Ok(_) => files.push((name, text, product)),
            Err(e) => genkai_tidy::noted::skipped(&e.to_string()),
        }
    }
    let mut words = String::new();
    for (name, text, _) in &files {
        std::fs::write(dir.path().join(name), text).unwrap();
        words.push_str(&format!("{} ", dir.path().join(name).display()));
    }
    let load = "--users 4 --spawn-rate 100 --think 5ms --hold 300ms --blocks 2 --no-control";
    let run = run(&compare(&format!("{words} http://{address} {load}")));
    let finding = finding(&run.out);
    assert_eq!(finding.blocks, 2, "{}", run.story());
    assert_eq!(finding.contenders.len(), files.len() + 1, "{}", run.story());
    for subject in &finding.contenders {
        let value = |n: usize| subject.figures[n].value.map_or(0.0, |value| value.value);
        assert!(value(0) == 0.0 && value(1) > 10.0, "{subject:?}\n{}", run.story());
        assert!(value(6) > 0.0 && value(7) > 1e6, "processor time and memory are seen: {subject:?}");
    }
    for (name, text, _) in &files {
        assert_eq!(&std::fs::read_to_string(dir.path().join(name)).unwrap(), text, "the user's file stays as it is");
    }
    if let Some(squid) = finding.contenders.iter().find(|one| one.version.starts_with("squid ")) {
        assert!(squid.name.ends_with("squid.conf"), "{squid:?}");
        let shown = show(genkai("compare --quick --dry-run").args([
            "--base",
            &dir.path().join("squid.conf").display().to_string(),
            "--change",
            "cache_mem -> 16 MB",
        ]));
        assert!(shown.stdout.contains("cache_mem 8 MB -> 16 MB"), "{}", shown.story());
    }
}

/// An nginx in `dir` that refuses to start (but not to be checked) after so many starts.
fn nginx_that_starts(times: u32, dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let real = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"];
    let real = real.iter().find(|path| Path::new(path).is_file()).expect("nginx is installed");
    let count = dir.join("starts").display().to_string();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' -t '*|*' -V '*|*' -v '*|*' -T '*) exec {real} \"$@\";; esac\necho >> {count}\n\
         [ $(wc -l < {count}) -gt {times} ] && {{ echo 'out of order' >&2; exit 1; }}\nexec {real} \"$@\"\n"
    );
    let path = dir.join("nginx");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(dir.join("starts"), "").unwrap();
}

/// `genkai compare` of two that stand and an nginx from `dir`.
fn with_nginx_of(dir: &Path, standing: [&str; 2]) -> std::process::Command {
    let [a, b] = standing;
    let load = "--users 3 --spawn-rate 100 --think 5ms --hold 300ms --blocks 3 --no-control";
    let mut command = compare(&format!("http://{a} http://{b} nginx --backend-time 1ms {load}"));
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap_or_default());
    command.env("PATH", path);
    command
}

#[test]
fn one_that_does_not_start_any_more_is_out_and_the_others_go_on() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let ((_one, a), (_other, b)) = (serve("origin --listen 127.0.0.1:0"), serve("origin --listen 127.0.0.1:0"));
    // One start before any load, one in the first block.
    nginx_that_starts(2, dir.path());
    let broken = run(&with_nginx_of(dir.path(), [&a, &b]));
    let found = finding(&broken.out);
    assert_eq!((found.blocks, found.pairs.len()), (3, 1), "{}", broken.story());
    let out: Vec<(&str, bool, u32)> =
        found.contenders.iter().map(|one| (one.name.as_str(), one.dropped, one.turns)).collect();
    assert_eq!(out[2], ("nginx", true, 1), "{}", broken.story());
    assert!(out[..2].iter().all(|(_, out, turns)| !out && *turns == 3), "{}", broken.story());
    let why = found.caveats.iter().find_map(|caveat| match caveat {
        ComparisonCaveat::Dropped { name, block: 2, why } if name == "nginx" => Some(why),
        _ => None,
    });
    assert!(why.is_some_and(|why| why.contains("out of order")), "{:?}", found.caveats);
    assert!(broken.says().iter().any(|said| said.starts_with("nginx did not start in block 2")), "{}", broken.story());
    assert_ne!(broken.code, Some(0), "{}", broken.story());
    assert_ne!(found.outcome, Outcome::Holds);

    nginx_that_starts(0, dir.path());
    let never = run(&with_nginx_of(dir.path(), [&a, &b]));
    assert_eq!(never.code, Some(3), "{}", never.story());
    assert!(never.stderr.contains("nginx: ") && never.stderr.contains("out of order"), "{}", never.story());
    let record = Record::read(std::fs::read_to_string(never.out.join("run.jsonl")).unwrap().lines()).unwrap();
    assert!(record.trials.is_empty(), "nothing was loaded");
}
