//! The experiment `reverse-proxy-cache` as a user has it: small, on the real servers, judged from the record alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use genkai_model::cache::Warmth;
use genkai_model::finding::cache::{BestRate, CacheFinding};

use crate::harness::{all_gone, descendants, genkai, machine, run, signal, until};

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
    for said in ["### Cold pass", "### Warm pass", r"### Highest rate with errors \< 0.1%, p99 \< 100ms", "| haproxy |"]
    {
        assert!(run.stdout.contains(said), "{said}\n{}", run.story());
    }
    let finding = verdict(&run.out);
    for rates in &finding.best_rates {
        assert_eq!(rates.standings.len(), 2, "both: {rates:?}");
        let rounds = |one: &BestRate| one.repeats.iter().map(|repeat| repeat.round).collect::<Vec<_>>();
        assert!(rates.standings.iter().all(|one| rounds(one) == [1, 2]), "in every round: {rates:?}");
    }
    assert_eq!(finding.best_rates.len(), 2, "cold and warm");
    let warm = finding.passes.iter().find(|pass| pass.warmth == Warmth::Warm).unwrap();
    assert_eq!(warm.standings.iter().map(|one| one.requests).sum::<u64>(), 2 * 2 * 30);
    let table = fs::read_to_string(run.out.join("passes.csv")).unwrap();
    let cells: Vec<usize> = table.lines().map(|line| line.split(',').count()).collect();
    assert!(cells.len() > 8 && cells.iter().all(|count| *count == cells[0]), "{table}");
    let page = fs::read_to_string(run.out.join("report.html")).unwrap();
    assert!(page.contains("Warm pass") && page.contains("haproxy"), "the page has its data");
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
    assert!(refused("websocket-servers --contenders nginx").contains("unexpected argument '--contenders'"));
}

const LONGEST: Duration = Duration::from_secs(60);

/// Folders of a run that are private, by the beginning of their names.
fn private(out: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(out).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("work-"))).collect()
}

/// Where something is mounted below `folder`.
fn mounted(folder: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().find(|line| line.contains(&*folder.to_string_lossy())).map(str::to_owned)
}

/// A run, and its end by a signal once `there` says that it got there: nothing of it may be left. Sent so often at most, one after the
/// other until it has ended: two at the same moment would be one.
fn ended(arguments: &str, there: impl Fn(&Path) -> bool, name: &str, mut times: u32) -> Option<i32> {
    let dir = tempfile::tempdir().unwrap();
    // Open to the servers' account, so that all files are below it.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let out = dir.path().canonicalize().unwrap().join("out");
    let mut command = genkai(&format!("experiment run reverse-proxy-cache {arguments} --quiet"));
    let mut child = command.arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the run to get there", LONGEST, || there(&out).then_some(()));
    let children = descendants(child.id());
    let status = until("the run to end", LONGEST, || {
        let status = child.try_wait().unwrap();
        if status.is_none() && times > 0 {
            times -= 1;
            signal(child.id(), name);
        }
        status
    });
    // Who was killed is cleared away after by another process.
    until("nothing to be mounted, no folder to be left", LONGEST, || {
        (mounted(&out).is_none() && private(&out).is_empty()).then_some(())
    });
    all_gone(&children);
    status.code()
}

/// Whether files of the origin are being written.
fn writes(out: &Path) -> bool {
    private(out).iter().any(|work| work.join("caches/origin/htdocs/o/40").exists())
}

#[test]
fn nothing_is_left_of_a_run_that_ends_while_it_is_set_up() {
    let _machine = machine();
    let many = "--contenders origin,nginx --objects 60000 --requests 50 --rounds 2 --no-search";
    assert_eq!(ended(many, writes, "INT", 1), Some(130));
    assert_eq!(ended(many, writes, "KILL", 1), None);
}

#[test]
fn nothing_stays_mounted_of_a_run_that_ends_while_mount_options_are_compared() {
    if !nix::unistd::geteuid().is_root() {
        genkai_tidy::noted::skipped("mounting a file system takes root");
        return;
    }
    let _machine = machine();
    let asked = "--contenders origin --objects 3000 --requests 800 --rate 400 --rounds 2 --no-search --access-times";
    let there = |out: &Path| mounted(out).is_some();
    assert_eq!(ended(asked, there, "KILL", 1), None);
    assert_eq!(ended(asked, there, "INT", u32::MAX), Some(130));
}
