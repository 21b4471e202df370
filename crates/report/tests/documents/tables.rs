//! CSV and JTL of a load: strict in names, order and quoting, true in numbers.

use genkai_model::record::Trial;
use genkai_report::jtl::{self, HEADER, Limit, Written};

use crate::fixture;

/// Every column that JMeter knows, in the order that it demands (CSVSaveService.printableFieldNamesToString).
const JMETER: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,\
                      sentBytes,grpThreads,allThreads,URL,Filename,Latency,Encoding,SampleCount,ErrorCount,Hostname,IdleTime,Connect";

/// Cells of a line, by JMeter's rules: quotes around a cell, doubled inside.
fn cells(line: &str) -> Vec<String> {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    assert!(!quoted, "an open quote: {line}");
    all.push(cell);
    all
}

fn trial() -> Trial {
    let mut trial = fixture::experiment(1.0).record.trials.remove(0);
    trial.started.load.request.path = "/a,b?q=\"x\"".into();
    trial
}

fn written(trial: &Trial, most: u64) -> (Written, Vec<Vec<String>>) {
    let mut out = Vec::new();
    let limit = Limit { began_ms: 1_700_000_000_000, url: "http://127.0.0.1/a,b", most };
    let written = jtl::trial(&mut out, trial, &limit).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER));
    (written, lines.map(cells).collect())
}

fn column(name: &str) -> usize {
    HEADER.split(',').position(|c| c == name).unwrap()
}

fn numbers(rows: &[Vec<String>], name: &str) -> Vec<u64> {
    rows.iter().map(|row| row[column(name)].parse().unwrap()).collect()
}

#[test]
fn the_header_is_in_jmeters_order() {
    let mut known = JMETER.split(',');
    for name in HEADER.split(',') {
        assert!(known.any(|k| k == name), "{name} is unknown to JMeter, or out of its order");
    }
    // What `jmeter -g` cannot do without (org.apache.jmeter.report.core.CsvSampleReader and its consumers).
    for needed in
        ["timeStamp", "elapsed", "label", "success", "bytes", "allThreads", "Latency", "Connect", "failureMessage"]
    {
        column(needed);
    }
}

#[test]
fn a_line_for_every_request_is_true_to_the_record() {
    let trial = trial();
    let (ok, failed) =
        trial.ticks.iter().fold((0, 0), |sum, t| (sum.0 + t.ok, sum.1 + t.errors.iter().map(|e| e.count).sum::<u64>()));
    let (written, rows) = written(&trial, u64::MAX);
    assert_eq!(written, Written { lines: ok + failed, each: 1 });
    assert!(rows.iter().all(|row| row.len() == HEADER.split(',').count()));
    let good: Vec<Vec<String>> = rows.iter().filter(|row| row[column("success")] == "true").cloned().collect();
    assert_eq!((rows.len() as u64, good.len() as u64), (ok + failed, ok));
    assert!(rows.iter().all(|row| row[column("label")] == "GET /a,b?q=\"x\"" && row[column("dataType")] == "text"));
    let bytes: u64 = trial.ticks.iter().map(|t| t.bytes_in).sum();
    assert_eq!(numbers(&rows, "bytes").iter().sum::<u64>(), bytes);
    let mut elapsed = numbers(&good, "elapsed");
    elapsed.sort_unstable();
    let mut all = genkai_model::histogram::empty();
    trial.ticks.iter().for_each(|t| t.latency.add_to(&mut all).unwrap());
    for q in [0.5, 0.9, 0.99] {
        let seen = elapsed[((q * ok as f64) as usize).min(elapsed.len() - 1)];
        assert!(seen.abs_diff(all.value_at_quantile(q) / 1_000_000) <= 1, "{q}: {seen}");
    }
    let begins = numbers(&rows, "timeStamp");
    let ends: Vec<u64> = begins.iter().zip(numbers(&rows, "elapsed")).map(|(b, e)| b + e).collect();
    assert!(ends.is_sorted(), "JMeter writes a line when a request has ended");
    let bad = rows.iter().find(|row| row[column("success")] == "false").unwrap();
    assert!(bad[column("responseCode")].starts_with("Non HTTP response code: "), "{bad:?}");
    assert!(!bad[column("failureMessage")].is_empty());
}

#[test]
fn a_bounded_number_of_lines_keeps_the_proportions() {
    let trial = trial();
    let (all, _) = written(&trial, u64::MAX);
    let (few, rows) = written(&trial, 1_000);
    assert_eq!(few.each, all.lines.div_ceil(1_000));
    assert!(few.lines <= 1_002 && few.lines > 900, "{few:?}");
    let counted: u64 = numbers(&rows, "SampleCount").iter().sum();
    assert!(counted.abs_diff(all.lines) < 3 * few.each, "{counted} of {}", all.lines);
    let failed = rows.iter().filter(|row| row[column("success")] == "false").count() as f64 / rows.len() as f64;
    assert!((failed - 2_145.0 / 30_631.0).abs() < 0.003, "{failed}");
}
