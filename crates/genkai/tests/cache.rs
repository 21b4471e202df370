//! The experiment `reverse-proxy-cache` as a user has it: small, on the real servers, judged from the record alone.

mod harness;

use std::fs;

use genkai_model::cache::{CacheFinding, Warmth};
use harness::{genkai, machine, run};

/// A few objects: what is tested is what is said, not how fast.
const SMALL: &str = "experiment run reverse-proxy-cache --objects 40 --requests 30 --clients 3 --rounds 2";

fn verdict(dir: &std::path::Path) -> CacheFinding {
    serde_json::from_str(&fs::read_to_string(dir.join("verdict.json")).unwrap()).unwrap()
}

#[test]
fn a_run_leaves_its_outputs_and_a_report_makes_them_again() {
    let _machine = machine();
    let run = run(&genkai(&format!("{SMALL} --contenders origin,haproxy --markdown")));
    assert_eq!(run.code, Some(0), "{}", run.story());
    for said in ["### Cold pass", "### Warm pass", "### Highest rate with `errors < 0.1%, p99 < 100ms`", "| haproxy |"]
    {
        assert!(run.stdout.contains(said), "{said}\n{}", run.story());
    }
    let finding = verdict(&run.out);
    assert_eq!(finding.held.len(), 4, "cold and warm of both: {:?}", finding.held);
    let warm = finding.passes.iter().find(|pass| pass.warmth == Warmth::Warm).unwrap();
    assert_eq!(warm.standings.iter().map(|one| one.requests).sum::<u64>(), 2 * 2 * 30);
    let table = fs::read_to_string(run.out.join("passes.csv")).unwrap();
    let cells: Vec<usize> = table.lines().map(|line| line.split(',').count()).collect();
    assert!(cells.len() > 8 && cells.iter().all(|count| *count == cells[0]), "{table}");
    let page = fs::read_to_string(run.out.join("report.html")).unwrap();
    assert!(page.contains("\"cache\":{"), "the page has its data");
    let before = fs::read_to_string(run.out.join("verdict.json")).unwrap();
    let again = genkai(&format!("report {} --markdown", run.out.display())).output().unwrap();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), run.stdout);
    assert_eq!(fs::read_to_string(run.out.join("verdict.json")).unwrap(), before);
}

#[test]
fn a_recorded_log_is_asked_for_again() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("access.log");
    let line = |path: &str, bytes: u32| {
        format!("1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] \"GET {path} HTTP/1.1\" 200 {bytes}\n")
    };
    let text =
        [line("/a", 900), line("/b?x=1", 5_000), line("/a", 900), "nonsense\n".to_owned(), line("/a", 900)].concat();
    fs::write(&log, text).unwrap();
    let flags = format!("--rounds 2 --clients 1 --no-search --contenders nginx --access-log {}", log.display());
    let run = run(&genkai(&format!("experiment run reverse-proxy-cache {flags}")));
    assert_eq!(run.code, Some(0), "{}", run.story());
    assert!(run.stderr.contains("1 lines are not in the format, the first is line 4"), "{}", run.stderr);
    let finding = verdict(&run.out);
    assert_eq!((finding.objects, finding.requests), (2, 4));
    let cold = finding.passes.iter().find(|pass| pass.warmth == Warmth::Cold).unwrap();
    let own = cold.standings[0].own.unwrap();
    assert_eq!((own.hits, own.misses, cold.standings[0].origin), (4, 4, 4), "two of four requests a round are repeats");
}

#[test]
fn what_contradicts_itself_is_refused_before_anything_starts() {
    let refused = |flags: &str| {
        let run = run(&genkai(&format!("experiment run {flags}")));
        assert_eq!(run.code, Some(2), "{}", run.story());
        run.stderr
    };
    let cache = "reverse-proxy-cache";
    assert!(refused(&format!("{cache} --contenders ngnix")).contains("there are: origin, nginx, apache-disk"));
    assert!(refused(&format!("{cache} --objects 10 --requests 20")).contains("--mix zipf"));
    assert!(refused(&format!("{cache} --mix zipf:x")).contains("exponent"));
    assert!(refused(&format!("{cache} --disk-budget 1m")).contains("at least 128m"));
    assert!(refused(&format!("{cache} --access-log /dev/null")).contains("no GET"));
    assert!(
        refused("websocket-servers --contenders nginx").contains("belongs to the experiment `reverse-proxy-cache`")
    );
}
