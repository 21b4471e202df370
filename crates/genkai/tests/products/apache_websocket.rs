//! Apache as a WebSocket reverse proxy, on a real one: each MPM, TLS, and the troubles that people report, each named.
//!
//! What is judged are counts (who gets in, who is cut, who is closed with which code), never how fast: a slow machine shows the same.

use genkai_check::Part;
use genkai_model::finding::claim::ClaimVerdict;
use genkai_model::finding::{Answer, Because, Confidence, Evidence, Verdict};
use genkai_model::statement::{Statement, Value};
use genkai_model::suite::SuiteFinding;
use genkai_place::authority;
use serde_json::Value as Json;

use crate::harness::judged::told;
use crate::harness::loads::show;
use crate::harness::ssh::Sshd;
use crate::harness::{Run, checked, genkai, holds, machine, run};

/// Few connections more than workers, only held; no proof by pairs is asked for, changing the setting alone is one.
const HELD: &str =
    "--websocket --connections 30 --spawn-rate 60 --hold 3s --quick --pairs 0 --max-limits 1 --quiet --objective";
const CONNECTS: &str = "connects > 99.9%";

/// `MaxRequestWorkers` was met at `workers` and lifting it lets everybody in.
fn named(run: &Run, workers: f64) -> Verdict {
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert_eq!(cause.limit.id, "apache.MaxRequestWorkers", "{}", run.story());
    assert_eq!(cause.confidence, Confidence::Proved, "{}", run.story());
    let predicted = cause.predicted.clients.unwrap();
    assert!((predicted.low..=predicted.high).contains(&cause.broke.in_flight), "{}", run.story());
    assert_eq!(predicted.high, workers, "{}", run.story());
    assert_eq!((verdict.must_change(), verdict.because()), (Answer::Yes, Because::ProvedAndHolds), "{}", run.story());
    verdict
}

#[test]
fn a_tunnel_holds_a_worker_of_prefork() {
    let _machine = machine();
    let run = told(genkai(&format!(
        "tune apache --set mpm=prefork --set MaxRequestWorkers=20 --set StartServers=60 --set MinSpareServers=60 --set MaxSpareServers=80 {HELD}"
    ))
    .arg(CONNECTS));
    assert_eq!(named(&run, 20.0).causes[0].broke.in_flight, 20.0, "{}", run.story());
}

#[test]
fn a_tunnel_holds_a_thread_of_event_and_the_old_module_does_too() {
    let _machine = machine();
    let set =
        "--set mpm=event --upgrade wstunnel --set ThreadsPerChild=10 --set MaxRequestWorkers=20 --set StartServers=9";
    let run = told(genkai(&format!("tune apache {set} {HELD}")).arg(CONNECTS));
    let predicted = named(&run, 20.0).causes[0].predicted.clients.unwrap();
    assert_eq!(predicted.low, 18.0, "a thread of each of two children may be held back: {}", run.story());
}

#[test]
fn tls_of_the_users_file_is_used_where_it_is_and_its_key_never_leaves() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let papers = authority::make(dir.path()).unwrap();
    let (file, modules) = (dir.path().join("httpd.conf"), "/usr/lib/apache2/modules");
    let load = |name: &str| format!("LoadModule {name}_module {modules}/mod_{name}.so\n");
    let modules: String = ["mpm_worker", "authz_core", "ssl", "proxy", "proxy_http"].map(load).concat();
    let config = format!(
        "{modules}ThreadsPerChild 10\nMaxRequestWorkers 20\nStartServers 9\nListen 8443 https\n<VirtualHost *:8443>\n  ServerName \
         shop.example\n  SSLEngine On\n  SSLCertificateFile {}\n  SSLCertificateKeyFile {}\n  ProxyPass / http://127.0.0.1:9/ \
         upgrade=websocket retry=0\n</VirtualHost>\n",
        papers.certificate.display(),
        papers.key.display()
    );
    std::fs::write(&file, &config).unwrap();
    let run = told(genkai(&format!("tune apache --backend embedded {HELD}")).arg(CONNECTS).arg("--config").arg(&file));
    let verdict = named(&run, 20.0);
    let secured = verdict.trials[0].handshakes.as_ref().unwrap();
    assert!(secured.full + secured.resumed >= 20, "over TLS: {}", run.story());
    let key = std::fs::read_to_string(&papers.key).unwrap();
    assert!(!holds(&run.out, key.lines().nth(1).unwrap()), "the key is nowhere in {}", run.out.display());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), config);
}

/// Runs one part of the experiment.
fn part(name: &str) -> (Run, SuiteFinding) {
    let run = run(&genkai(&format!("experiment run apache-websocket --quick --quiet --part {name}")));
    let text = std::fs::read_to_string(run.out.join("verdict.json")).unwrap_or_else(|e| panic!("{e}: {}", run.stderr));
    let finding = serde_json::from_str(&text).unwrap();
    (run, finding)
}

#[test]
fn idle_connections_are_cut_by_a_timer_that_is_named() {
    let _machine = machine();
    let (run, finding) = part("idle");
    let part = &finding.parts[0];
    assert_eq!((run.code, part.named), (Some(0), true), "{part:?}");
    let cause = &part.verdict.causes[0];
    assert_eq!((cause.limit.setting.as_str(), cause.limit.value.as_str()), ("ProxyTimeout", "2"));
    let silence = cause.evidence.iter().find_map(|e| match e {
        Evidence::Silence { seen, allowed, .. } => Some((*seen, *allowed)),
        _ => None,
    });
    let (seen, allowed) = silence.unwrap();
    assert!(allowed == 2.0 && seen >= 1.8, "predicted {allowed} s, seen {seen} s");
    assert_eq!(cause.confidence, Confidence::Proved);
}

#[test]
fn large_messages_are_refused_by_the_application_and_not_by_apache() {
    let _machine = machine();
    let (run, finding) = part("large");
    let part = &finding.parts[0];
    assert_eq!((run.code, part.named), (Some(0), true), "{part:?}");
    let verdict = &part.verdict;
    assert_eq!((verdict.must_change(), verdict.because()), (Answer::No, Because::BackendIsLimit));
    assert!(verdict.causes[0].evidence.iter().any(|e| matches!(e, Evidence::Closed { code: 1009, .. })), "{part:?}");
}

#[test]
fn new_connections_hang_at_the_worker_limit() {
    let _machine = machine();
    let (run, finding) = part("refused");
    let part = &finding.parts[0];
    assert_eq!((run.code, part.named), (Some(0), true), "{part:?}");
    let load = &part.loads[0];
    assert_eq!((load.launched, load.concurrent), (80, 70), "as many as workers, to the connection: {part:?}");
    assert_eq!(load.connects, Some(70.0 / 80.0));
}

#[test]
fn parts_of_one_folder_are_joined_from_their_records() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    for part in ["baseline", "large"] {
        let words = format!("experiment run apache-websocket --quick --quiet --part {part} --out");
        show(genkai(&words).arg(&out));
    }
    let line = dir.path().join("gone.yaml");
    std::fs::write(&line, "advice: bigger buffers\nproduct: apache\nline: ProxySendBufferSize 131072\n").unwrap();
    show(genkai("claims --quiet").arg(&line).arg("--out").arg(out.join("claims")));
    let again = show(genkai("report --json").arg(&out));
    let finding: SuiteFinding =
        serde_json::from_str(&again.stdout).unwrap_or_else(|e| panic!("{e}\n{}", again.story()));
    let names: Vec<&str> = finding.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["baseline", "large"], "in the order of the experiment: {}", again.story());
    assert!(finding.changes.is_empty());
    let advice = finding.advice.as_ref().unwrap();
    assert_eq!((advice.claims[0].claim.name.as_str(), advice.claims[0].verdict), ("gone", ClaimVerdict::DoesNotExist));
    let written = std::fs::read_to_string(out.join("verdict.json")).unwrap();
    assert_eq!(serde_json::from_str::<SuiteFinding>(&written).unwrap(), finding);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        page.contains("genkai.page/") && page.contains("baseline") && page.contains("large"),
        "the page has its data"
    );
    let single = show(genkai("report --svg --markdown").arg(&out));
    let refused = single.stderr.contains("--markdown, --svg: ") && single.stderr.contains("PART");
    assert!(single.code == Some(2) && refused && single.stdout.is_empty(), "{}", single.story());
    std::fs::write(out.join("large/run.jsonl"), "no record\n").unwrap();
    let rest = show(genkai("report --json").arg(&out));
    let told: SuiteFinding = serde_json::from_str(&rest.stdout).unwrap_or_else(|e| panic!("{e}\n{}", rest.story()));
    assert_eq!(told.parts, finding.parts[..1], "{}", rest.story());
    assert!(rest.stderr.contains("warning: left out: ") && rest.stderr.contains("large"), "{}", rest.story());
    let nothing = show(genkai("report").arg(dir.path()));
    assert!(nothing.code == Some(2) && nothing.stderr.contains("give the folder of a run"), "{}", nothing.story());
}

/// Another number, in a statement and where it stands.
fn falsified(verdict: &mut Json, statement: &mut Statement) {
    let place = verdict.pointer_mut(&statement.address).unwrap();
    match &mut statement.value {
        Value::Count(n) => {
            *n += 1;
            *place = (*n).into();
        }
        Value::Measured(x) => {
            *x = *x * 1.02 + 0.001;
            *place = (*x).into();
        }
        _ => {
            statement.value = Value::Measured(0.25);
            *place = 0.25.into();
        }
    }
}

#[test]
fn a_joined_verdict_follows_from_the_records_of_its_parts() {
    let _machine = machine();
    let sshd = Sshd::start(true);
    let words =
        "experiment run apache-websocket --quick --quiet --part baseline --part refused --on ssh:load1 --on here";
    let run = run(genkai(words).arg("--ssh").arg(sshd.ssh()));
    let (verdict, statements) = checked::stated(&run.out).unwrap_or_else(|| panic!("{}", run.story()));
    let lines = |part: &str| std::fs::read_to_string(run.out.join(part).join("run.jsonl")).unwrap();
    let part = |name: &str| Part { folder: name.to_owned(), lines: lines(name) };
    let parts = ["baseline", "refused"].map(part);
    let check = |verdict: &Json, statements: &[Statement]| genkai_check::joined(&parts, verdict, statements).unwrap();
    let whole = check(&verdict, &statements);
    assert!(whole.holds() && whole.recomputed > 100 && whole.decided > 100, "{whole:?}");
    // Each figure of the processes that made the loads of all parts.
    let told: Vec<&Statement> = statements.iter().filter(|one| one.address.starts_with("/processes/")).collect();
    assert!(told.len() >= 2 * 4, "{told:?}");
    for one in told {
        let (mut other, mut statement) = (verdict.clone(), one.clone());
        falsified(&mut other, &mut statement);
        let found = check(&other, std::slice::from_ref(&statement));
        assert!(found.differences.iter().any(|differs| differs.statement.address == one.address), "{statement:?}");
    }
    // The command says so, too: of words that no second computation knows, and of the page.
    let file = run.out.join("verdict.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"named\": true", "\"named\": false", 1)).unwrap();
    let said = show(genkai("report --check").arg(&run.out));
    assert!(said.code == Some(1) && said.stdout.contains("/named"), "{}", said.story());
}

#[test]
fn a_part_that_was_cut_off_is_no_answer() {
    let _machine = machine();
    let (run, finding) = part("baseline");
    assert!(run.code != Some(130) && !finding.interrupted, "{finding:?}");
    let file = run.out.join("baseline/run.jsonl");
    let record = std::fs::read_to_string(&file).unwrap();
    let whole: Vec<&str> = record.lines().collect();
    std::fs::write(&file, whole[..whole.len() - 1].join("\n") + "\n").unwrap();
    let again = show(genkai("report --json").arg(&run.out));
    let cut: SuiteFinding = serde_json::from_str(&again.stdout).unwrap_or_else(|e| panic!("{e}\n{}", again.story()));
    assert!(cut.interrupted && again.stdout.contains("It was cut off before its end"), "{}", again.story());
    assert_eq!(again.code, Some(130), "{}", again.story());
}

#[test]
fn the_plan_tells_every_part_and_how_long_it_takes() {
    let plan = |flags: &str| {
        let shown = show(&mut genkai(&format!("experiment run apache-websocket --dry-run --json {flags}")));
        serde_json::from_str::<serde_json::Value>(&shown.stdout).unwrap_or_else(|e| panic!("{e}\n{}", shown.story()))
    };
    let quick = plan("--quick");
    assert!(quick["seconds"][0].as_f64().unwrap() < 60.0, "{}", quick["seconds"]);
    let names = |plan: &serde_json::Value| -> Vec<String> {
        plan["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(&quick).iter().any(|name| name == "changes" || name == "claims"));
    let changes = plan("--part changes");
    let contenders = changes["parts"][0]["runs"][0]["study"]["compare"]["contenders"].as_array().unwrap();
    let called: Vec<&str> = contenders.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(called[0], "baseline");
    assert_eq!(called[3..], ["MaxRequestWorkers 30 -> 50", "KeepAliveTimeout 60 -> 120", "all together"]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    for (flags, says) in [
        ("tune apache --message-size 1k", "needs --websocket"),
        ("tune apache --websocket --objective x", "connects > 99.9%"),
        ("tune apache --objective connects>99%", "add --websocket"),
        ("tune apache --tls --config /etc/hosts", "cannot be used with"),
        ("tune apache --websocket --backend-workers 5", "has no effect"),
        ("experiment run apache-websocket --part idel", "there are baseline, answer, idle"),
        ("experiment run rooms --part idle", "unexpected argument '--part'"),
    ] {
        let run = run(&genkai(&format!("{flags} --quiet")));
        assert_eq!(run.code, Some(2), "{flags}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{flags}: {}", run.stderr);
    }
}
