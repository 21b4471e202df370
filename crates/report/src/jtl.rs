//! A load as JMeter's result file (JTL, CSV): what its listeners and its report generator (`jmeter -g`) read.
//!
//! JMeter keeps a line a request; genkai keeps a histogram an interval, so that its memory does not grow with a load.
//! The lines here are made from these: each stands for one request (or, above [`Limit::most`] lines, for every k-th one, with
//! k as its `SampleCount`), and what is counted is exact: how many requests of an interval succeeded, how long they
//! took, with which statuses, failed in which ways. With a line a request the bytes add up, too; where a line stands for k, it
//! carries those of one. What histograms do not keep is put evenly: the instants within an interval, and which time belongs to
//! which status. `elapsed` counts from the planned instant; `Latency` and `Connect` are 0, as JMeter itself writes what was not
//! measured for each request.
//!
//! Names, order and quoting: JMeter's `CSVSaveService` (`printableFieldNamesToString`, `quoteDelimiters`); a header in
//! another order is taken for data.

use std::io::{self, Write};

use genkai_model::error::ErrorKind;
use genkai_model::event::Tick;
use genkai_model::histogram::Payload;
use genkai_model::load::{Arrivals, Load, Protocol};
use genkai_model::record::Trial;

use crate::csv::quoted;
use crate::words;

/// The columns.
pub const HEADER: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,\
                          failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,SampleCount,ErrorCount,IdleTime,Connect";

/// What the lines need besides the trial.
pub struct Limit<'a> {
    /// Milliseconds since 1970 at which the load began.
    pub began_ms: u64,
    /// The address, without secrets.
    pub url: &'a str,
    /// Most lines to write.
    pub most: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Lines, the header not counted.
    pub lines: u64,
    /// Requests that each of them stands for.
    pub each: u64,
}

/// Writes the header and the lines, in the order of their ends.
///
/// # Errors
/// When `out` cannot be written.
pub fn trial(out: &mut impl Write, trial: &Trial, limit: &Limit<'_>) -> io::Result<Written> {
    let total: u64 = trial.ticks.iter().map(|t| t.ok + t.errors.iter().map(|e| e.count).sum::<u64>()).sum();
    let each = total.div_ceil(limit.most.max(1)).max(1);
    let load = &trial.started.load;
    let mut sheet = Sheet {
        each,
        label: quoted(&label(load)),
        url: quoted(limit.url),
        threads: Threads::of(load),
        ok: each / 2,
        failed: [each / 2; ErrorKind::COUNT],
        lines: 0,
    };
    writeln!(out, "{HEADER}")?;
    for tick in &trial.ticks {
        let rows = sheet.rows(tick);
        sheet.write(out, tick, &rows, limit.began_ms)?;
    }
    Ok(Written { lines: sheet.lines, each })
}

/// Where the lines of a load have got to.
struct Sheet {
    each: u64,
    label: String,
    url: String,
    threads: Threads,
    /// Successes until the next one that gets a line.
    ok: u64,
    /// The same for failures of each kind.
    failed: [u64; ErrorKind::COUNT],
    lines: u64,
}

/// One line's own part.
struct Row {
    elapsed_ms: u64,
    status: Option<u16>,
    failure: Option<ErrorKind>,
}

impl Sheet {
    /// The lines of an interval, mixed, so that none of its parts has all the slow ones.
    fn rows(&mut self, tick: &Tick) -> Vec<Row> {
        let each = self.each;
        let good = picks(&mut self.ok, tick.ok, each);
        let status = Statuses::new(tick, |status| ErrorKind::of_status(status.min(599)).is_none());
        let mut rows: Vec<Row> = good
            .iter()
            .zip(mixed(times(&tick.latency, tick.ok, &good)))
            .map(|(at, elapsed_ms)| Row { elapsed_ms, status: status.of(*at, tick.ok), failure: None })
            .collect();
        let all: u64 = tick.errors.iter().map(|e| e.count).sum();
        let mut before = 0;
        for error in &tick.errors {
            let at = picks(&mut self.failed[error.kind.index()], error.count, each);
            let status = Statuses::new(tick, |status| ErrorKind::of_status(status.min(599)) == Some(error.kind));
            let places: Vec<u64> = at.iter().map(|i| before + i).collect();
            let times = times(&tick.failed_after, all, &places);
            rows.extend(at.iter().zip(times).map(|(at, elapsed_ms)| Row {
                elapsed_ms,
                status: status.of(*at, error.count),
                failure: Some(error.kind),
            }));
            before += error.count;
        }
        mixed(rows)
    }

    fn write(&mut self, out: &mut impl Write, tick: &Tick, rows: &[Row], began_ms: u64) -> io::Result<()> {
        let threads = self.threads.at(tick);
        let finished = tick.ok + tick.errors.iter().map(|e| e.count).sum::<u64>();
        let long = tick.to_us.saturating_sub(tick.from_us);
        let share = |bytes: u64, i: u64| bytes * (i + 1) / finished.max(1) - bytes * i / finished.max(1);
        for (i, row) in (0u64..).zip(rows) {
            let end_us = tick.from_us + long * (2 * i + 1) / (2 * rows.len() as u64);
            // The beginning is what JMeter writes (sampleresult.timestamp.start).
            let begin = (began_ms + end_us / 1_000).saturating_sub(row.elapsed_ms);
            let (code, message) = response(row);
            let failure = row.failure.map(words::error).unwrap_or_default();
            writeln!(
                out,
                "{begin},{},{},{},{},genkai 1-{},text,{},{},{},{},{threads},{threads},{},0,{},{},0,0",
                row.elapsed_ms,
                self.label,
                quoted(&code),
                quoted(&message),
                self.lines % threads + 1,
                row.failure.is_none(),
                quoted(failure),
                share(tick.bytes_in, i),
                share(tick.bytes_out, i),
                self.url,
                self.each,
                if row.failure.is_some() { self.each } else { 0 },
            )?;
            self.lines += 1;
        }
        Ok(())
    }
}

/// Which of `count` requests get a line: every `each`-th, counted on from the interval before.
fn picks(left: &mut u64, count: u64, each: u64) -> Vec<u64> {
    let picked: Vec<u64> = (*left..count).step_by(usize::try_from(each).unwrap_or(usize::MAX)).collect();
    *left = picked.last().map_or(*left, |last| last + each) - count;
    picked
}

/// Times in milliseconds of requests at these places (ascending) among `count` that a histogram holds, in order of their time.
/// A damaged histogram gives zeros.
fn times(payload: &Payload, count: u64, places: &[u64]) -> Vec<u64> {
    let Ok(histogram) = payload.decode() else { return vec![0; places.len()] };
    let (mut all, mut passed, mut value) = (histogram.iter_recorded(), 0, 0);
    let held = histogram.len();
    let mut at = |place: u64| {
        // Where a histogram holds fewer values than were counted, they are stretched.
        let wanted = if held == count { place } else { place * held / count.max(1) };
        while passed <= wanted
            && let Some(next) = all.next()
        {
            (value, passed) = (next.value_iterated_to(), passed + next.count_since_last_iteration());
        }
        (value + 500_000) / 1_000_000
    };
    places.iter().map(|place| at(*place)).collect()
}

/// The same in an order that is no order: steps of about the golden section visit every place once.
fn mixed<T>(values: Vec<T>) -> Vec<T> {
    let n = values.len();
    let step = (n * 618 / 1000..n).find(|step| gcd(*step, n) == 1).unwrap_or(1);
    let mut slots: Vec<Option<T>> = values.into_iter().map(Some).collect();
    (0..n).filter_map(|i| slots[i * step % n].take()).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Statuses of an interval that are of one sort, to be given out in proportion.
struct Statuses {
    counts: Vec<(u16, u64)>,
    total: u64,
}

impl Statuses {
    fn new(tick: &Tick, of: impl Fn(u16) -> bool) -> Statuses {
        let counts: Vec<(u16, u64)> =
            tick.statuses.iter().filter(|s| of(s.status)).map(|s| (s.status, s.count)).collect();
        Statuses { total: counts.iter().map(|c| c.1).sum(), counts }
    }

    /// That of the request at this place among `count`.
    fn of(&self, place: u64, count: u64) -> Option<u16> {
        let wanted = place * self.total / count.max(1);
        let mut passed = 0;
        let reached = |(_, n): &&(u16, u64)| {
            passed += n;
            passed > wanted
        };
        self.counts.iter().find(reached).map(|(status, _)| *status)
    }
}

/// What a load's threads are in JMeter's sense: users, or connections in use.
enum Threads {
    Users,
    Connections,
}

impl Threads {
    fn of(load: &Load) -> Threads {
        match load.arrivals {
            Arrivals::Users { .. } => Threads::Users,
            Arrivals::Rate { .. } => Threads::Connections,
        }
    }

    fn at(&self, tick: &Tick) -> u64 {
        let n = match self {
            Threads::Users => tick.level.round().max(0.0) as u64,
            Threads::Connections => tick.connections,
        };
        n.max(1)
    }
}

fn label(load: &Load) -> String {
    match &load.protocol {
        Protocol::WebSocket(websocket) if websocket.message.is_some() => format!("message {}", load.request.path),
        Protocol::WebSocket(_) => format!("open {}", load.request.path),
        Protocol::Http1 | Protocol::Http2(_) => format!("{} {}", load.request.method, load.request.path),
    }
}

/// Code and message; without a response, in the words by which JMeter's reports know that there was none.
fn response(row: &Row) -> (String, String) {
    match (row.status, row.failure) {
        (Some(status), None) => (status.to_string(), "OK".to_owned()),
        (Some(status), Some(kind)) => (status.to_string(), words::error(kind).to_owned()),
        (None, None) => (String::new(), "OK".to_owned()),
        (None, Some(kind)) => (
            format!("Non HTTP response code: {}", words::error(kind)),
            format!("Non HTTP response message: {}", words::error(kind)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_visited_once() {
        for n in [0, 1, 2, 3, 10, 997, 1000] {
            let mut seen = mixed((0..n).collect::<Vec<usize>>());
            assert!(n < 10 || !seen.is_sorted());
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn picks_go_on_from_interval_to_interval() {
        let mut left = 1;
        let all: Vec<Vec<u64>> = [2, 0, 5, 1, 4].map(|count| picks(&mut left, count, 3)).into();
        // Of 12 in a row: 1, 4, 7, 10.
        assert_eq!(all, [vec![1], vec![], vec![2], vec![0], vec![2]]);
        assert_eq!(picks(&mut 0, 3, 1), [0, 1, 2]);
    }
}
