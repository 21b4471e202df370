//! A server whose runtime gives its objects a heap of a limited size: that it is used up is told by its own messages, and that it nearly is by how
//! long the runtime stands still to collect.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use genkai_model::error::ErrorKind;
use genkai_model::evidence::LogLine;
use genkai_model::limit::{Limit, Origin, Strength, Symptom};
use genkai_place::endpoint::Endpoint;
use genkai_place::log_lines::{self, ParsedLine};
use genkai_place::tail::Tail;
use genkai_place::usage::Usage;

use super::Started;
use super::known::Known;
use crate::application::gc;
use crate::limits::{grew, log, reached};
use crate::product::{Cost, Served};
use crate::settings::SourcedValue;

/// The part of the time in which the runtime stood still to collect; after its subject.
const PAUSED: &str = "gc_paused";
/// Whether a process said a moment ago that its heap is used up: who takes its place has to start first; after its subject.
const USED_UP: &str = "heap_used_up";
/// Messages that it is used up, cumulative; after its subject.
const FAILURES: &str = "heap_failures_total";
/// How long a moment is.
const MOMENT: Duration = Duration::from_secs(2);
/// Over so long: one long collection is none that goes on.
const OVER: Duration = Duration::from_secs(2);
/// Who stands still for half of the time answers half as much.
const STILL: f64 = 0.5;

/// The heap of each of its processes.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    /// How large it may be, as it is written; the value is bytes, 0 where nothing says.
    pub(super) held: SourcedValue<u64>,
    /// What sets it.
    pub(super) setting: &'static str,
    /// Parts of the messages by which it is told to be used up.
    pub(super) says: &'static [&'static str],
    /// Where these are written, as far as those files can be read.
    pub(super) logs: Vec<PathBuf>,
    /// The log of its collector.
    pub(super) collector: Option<PathBuf>,
    /// Where all this is written down.
    pub(super) source: &'static str,
}

/// The server.
#[derive(Debug)]
pub(super) struct Managed {
    known: Known,
    heap: Heap,
    logs: Vec<Tail>,
    /// When a process said last that it is used up, and how many have.
    used_up: (Option<Instant>, u64),
    pauses: Option<Mutex<Pauses>>,
}

/// How long it stood still.
#[derive(Debug)]
struct Pauses {
    log: Tail,
    since: Instant,
    paused: Duration,
    /// The part of the time that is over.
    share: Option<f64>,
}

impl Managed {
    pub(super) fn of(known: Known, heap: Heap) -> Box<dyn Served> {
        let logs = heap.logs.iter().map(Tail::open).collect();
        let pauses = heap.collector.as_ref().map(|path| Mutex::new(Pauses::of(Tail::open(path))));
        Box::new(Managed { known, heap, logs, used_up: (None, 0), pauses })
    }

    fn signature(&self, subject: &str) -> String {
        format!("{subject}.{}.heap", self.known.product)
    }

    /// It as a limit; none where nothing would show that it is used up.
    fn limit(&self, subject: &str) -> Option<Limit> {
        let metric = |name: &str| format!("{subject}.{name}");
        let said = || {
            let line = log(&self.signature(subject), Strength::Decisive);
            [line, grew(&metric(FAILURES), Strength::Decisive), reached(&metric(USED_UP), 1.0, Strength::Decisive)]
        };
        let still = self.pauses.as_ref().map(|_| reached(&metric(PAUSED), STILL, Strength::Supports));
        let said = if self.logs.is_empty() { None } else { Some(said()) };
        let signatures: Vec<_> = said.into_iter().flatten().chain(still).collect();
        let Heap { held, setting, source, .. } = &self.heap;
        (!signatures.is_empty()).then(|| Limit {
            value: held.written.clone(),
            origin: held.origin.clone(),
            caps: "memory that the objects of each of its processes may take: when it is nearly used up the runtime stands still to collect, again \
                   and again; when it is, it fails or ends"
                .to_owned(),
            formula: "how much a request takes is up to the application".to_owned(),
            source: (*source).to_owned(),
            signatures,
            symptom: Symptom {
                errors: vec![
                    ErrorKind::Status502,
                    ErrorKind::Status500,
                    ErrorKind::Status503,
                    ErrorKind::Status504,
                    ErrorKind::Timeout,
                ],
                slow: true,
            },
            ..Limit::named(&format!("{subject}.{}.heap", self.known.product), self.known.product, setting)
        })
    }
}

impl Pauses {
    fn of(log: Tail) -> Pauses {
        Pauses { log, since: Instant::now(), paused: Duration::ZERO, share: None }
    }

    /// The part of the last time that is over; none before the first is.
    fn look(&mut self) -> Option<f64> {
        let lasted = |line: &String| gc::pause(line).map(|pause| Duration::from_nanos(pause.lasted_ns));
        self.paused += self.log.lines().iter().filter_map(lasted).sum::<Duration>();
        let over = self.since.elapsed();
        if over >= OVER {
            self.share = Some(self.paused.as_secs_f64() / over.as_secs_f64());
            (self.since, self.paused) = (Instant::now(), Duration::ZERO);
        }
        self.share
    }
}

impl Served for Managed {
    fn product(&self) -> &'static str {
        self.known.product()
    }

    fn told(&self) -> String {
        let Heap { held, setting, .. } = &self.heap;
        let place = match &held.origin {
            Origin::Machine(place) => format!(" ({place})"),
            _ => String::new(),
        };
        let unseen = match self.limit("") {
            None => "; where it writes its messages cannot be read, so that a heap that is used up would not be seen",
            Some(_) => "",
        };
        format!("{}, {setting} {}{place}{unseen}", self.known.told(), held.written)
    }

    fn loops(&self, at: &Endpoint, usage: &Usage) -> Option<Vec<u32>> {
        self.known.loops(at, usage)
    }

    fn limits(&self, subject: &str) -> Vec<Limit> {
        self.known.limits(subject).into_iter().chain(self.limit(subject)).collect()
    }

    fn costs(&mut self, cost: Cost) {
        self.known.costs(cost);
    }

    fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64> {
        let mut seen = self.known.look(endpoint, usage);
        let paused = self.pauses.as_ref().and_then(|all| all.lock().unwrap_or_else(PoisonError::into_inner).look());
        seen.extend(paused.map(|share| (PAUSED.to_owned(), share)));
        let (last, all) = self.used_up;
        let used_up = last.is_some_and(|at| at.elapsed() < MOMENT);
        seen.extend([(USED_UP.to_owned(), f64::from(u8::from(used_up))), (FAILURES.to_owned(), all as f64)]);
        seen
    }

    fn logs(&mut self, subject: &str) -> Vec<LogLine> {
        let signature = self.signature(subject);
        let lines: Vec<String> = self.logs.iter_mut().flat_map(Tail::lines).collect();
        let says = self.heap.says;
        let used_up: Vec<&str> =
            lines.iter().map(String::as_str).filter(|line| says.iter().any(|part| line.contains(part))).collect();
        if !used_up.is_empty() {
            self.used_up = (Some(Instant::now()), self.used_up.1 + used_up.len() as u64);
        }
        let mut all = log_lines::aggregate(subject, used_up, |line| ParsedLine {
            level: "error",
            gist: line,
            signature: Some(signature.clone().into()),
        });
        let told = |line: &&str| self.known.told_in(line, subject).is_some();
        let told = lines.iter().map(String::as_str).filter(told);
        all.extend(log_lines::aggregate(subject, told, |line| ParsedLine {
            level: "error",
            gist: line,
            signature: self.known.told_in(line, subject).map(Into::into),
        }));
        all
    }
}

/// V8's messages (src/heap/heap.cc: `FatalProcessOutOfMemory`).
const NODE_SAYS: &[&str] = &["JavaScript heap out of memory"];

/// The heap of a Node.js process.
pub(super) fn of_node(started: &Started) -> Heap {
    let names = ["--max-old-space-size", "--max_old_space_size"];
    let options = started.variable("NODE_OPTIONS").map(|text| Started::of_line(&text));
    let variable = || Some((options.as_ref()?.value(&names)?, started.variable_of("NODE_OPTIONS")));
    let given = started.value(&names).map(|text| (text, started.given())).or_else(variable);
    let source = "nodejs.org/api/cli.html#--max-old-space-sizesize-in-mib; exit status 134 (SIGABRT)";
    let held = given.map(|(text, origin)| SourcedValue {
        value: text.parse::<u64>().unwrap_or(0) << 20,
        written: format!("{text} MiB"),
        origin,
    });
    let logs = started.errors().into_iter().collect();
    Heap {
        held: held.unwrap_or_else(|| unsaid(source)),
        setting: names[0],
        says: NODE_SAYS,
        logs,
        collector: None,
        source,
    }
}

/// Nothing says how large it may be: the runtime decides by the memory there is.
fn unsaid(source: &str) -> SourcedValue<u64> {
    let origin = Origin::Default(source.to_owned());
    SourcedValue { value: 0, written: "by the memory of the machine".to_owned(), origin }
}

/// A JVM's messages (java.lang.OutOfMemoryError; those of native memory and of classes are none of its heap).
const JAVA_SAYS: &[&str] = &["OutOfMemoryError: Java heap space", "OutOfMemoryError: GC overhead limit exceeded"];
const JAVA: &str = "docs.oracle.com/en/java/javase/17/docs/specs/man/java.html: -Xmx, -XX:MaxRAMPercentage (25)";

/// The heap of a JVM, which logs besides in these files.
pub(super) fn of_java(started: &Started, logs: Vec<PathBuf>) -> Heap {
    let variable = |name: &str| Some((Started::of_line(&started.variable(name)?).words, started.variable_of(name)));
    // What comes later counts (src/hotspot/share/runtime/arguments.cpp; java.c: JDK_JAVA_OPTIONS is put before the command line).
    let sources = [
        variable("JAVA_TOOL_OPTIONS"),
        variable("JDK_JAVA_OPTIONS"),
        Some((options(started), started.given())),
        variable("_JAVA_OPTIONS"),
    ];
    let all: Vec<(String, Origin)> = sources
        .into_iter()
        .flatten()
        .flat_map(|(words, origin)| words.into_iter().map(move |word| (word, origin.clone())))
        .collect();
    let last = |names: &[&str]| {
        let value = |word: &str| names.iter().find_map(|name| word.strip_prefix(name)).map(str::to_owned);
        all.iter().rev().find_map(|(word, origin)| Some((value(word)?, origin.clone())))
    };
    let most = last(&["-Xmx", "-XX:MaxHeapSize="]).map(|(text, origin)| SourcedValue {
        value: crate::files::number::size(&text).unwrap_or(0),
        written: text,
        origin,
    });
    let part = || {
        let (text, origin) = last(&["-XX:MaxRAMPercentage="])?;
        Some(("-XX:MaxRAMPercentage", SourcedValue { value: 0, written: format!("{text} %"), origin }))
    };
    let (setting, held) = most.map(|held| ("-Xmx", held)).or_else(part).unwrap_or_else(|| ("-Xmx", unsaid(JAVA)));
    let collector = last(&["-Xlog:gc", "-Xloggc:"]).and_then(|(text, _)| collector(&text, started));
    let logs = started.errors().into_iter().chain(logs).collect();
    Heap { held, setting, says: JAVA_SAYS, logs, collector, source: JAVA }
}

/// The options of the JVM itself: what stands before the class or the archive that it runs.
fn options(started: &Started) -> Vec<String> {
    let mut words = started.words.iter().skip(1);
    let mut all = Vec::new();
    while let Some(word) = words.next().filter(|word| word.starts_with('-') && *word != "-jar") {
        if ["-cp", "-classpath", "--class-path", "-p", "--module-path"].contains(&word.as_str()) {
            words.next();
        }
        all.push(word.clone());
    }
    all
}

/// The file of `-Xlog:gc*:file=PATH:decorations` or `-Xloggc:PATH`, after `-Xlog:gc` or `-Xloggc:`; none where it is no file, or its name is made
/// when it starts.
fn collector(text: &str, started: &Started) -> Option<PathBuf> {
    // `gc*`, `gc+heap=debug` or `gc*=info`, then where to.
    let output = text.split_once(':').map_or(text, |(_, rest)| rest);
    let named = text.starts_with(['*', ':', '+', '=', ',']);
    let output = if named { output.split(':').next()? } else { text };
    let path = output.strip_prefix("file=").unwrap_or(output).trim_matches('"');
    let is_file = !path.is_empty() && !["stdout", "stderr"].contains(&path) && !path.contains('%');
    (is_file && (!named || text.contains(':'))).then(|| started.path(path))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_heap_of_a_jvm_is_what_counts_last() {
        let held = |line: &str| {
            let heap = of_java(&Started::of_line(line), Vec::new());
            (heap.setting, heap.held.written.clone(), heap.held.value)
        };
        let said = |setting, text: &str, value| (setting, text.to_owned(), value);
        assert_eq!(held("java -Xmx64m -Xms8m -Xmx1g -cp a.jar -Xrun Main -Xmx9g"), said("-Xmx", "1g", 1 << 30));
        assert_eq!(held("java -XX:MaxRAMPercentage=50.0 -jar a.jar -Xmx9g"), said("-XX:MaxRAMPercentage", "50.0 %", 0));
        assert_eq!(held("java -XX:MaxHeapSize=1024 -XX:MaxRAMPercentage=50 Main"), said("-Xmx", "1024", 1024));
        assert_eq!(held("java Main"), said("-Xmx", "by the memory of the machine", 0));
    }

    #[test]
    fn the_log_of_a_collector_is_a_file_whose_name_is_known() {
        let file = |option: &str| {
            let heap = of_java(&Started::of_line(&format!("java {option} Main")), Vec::new());
            heap.collector.map(|path| path.display().to_string())
        };
        for option in [
            "-Xlog:gc:/x/gc.log",
            "-Xlog:gc*:file=/x/gc.log",
            "-Xlog:gc*=info:file=/x/gc.log:time,uptime:filecount=5",
            "-Xloggc:/x/gc.log",
        ] {
            assert_eq!(file(option).as_deref(), Some("/x/gc.log"), "{option}");
        }
        for option in
            ["-Xlog:gc", "-Xlog:gc*", "-Xlog:gc:stdout", "-Xlog:gc::time", "-Xlog:gc*:file=/x/gc-%t.log", "-Xmx1g"]
        {
            assert_eq!(file(option), None, "{option}");
        }
    }

    #[test]
    fn the_heap_of_node_is_given_in_mebibytes() {
        let heap = of_node(&Started::of_line("node --max-old-space-size=64 server.js"));
        assert_eq!((heap.held.value, heap.held.written.as_str()), (64 << 20, "64 MiB"));
        assert!(matches!(of_node(&Started::of_line("node server.js")).held.origin, Origin::Default(_)));
    }

    #[test]
    fn who_stands_still_for_half_of_the_time_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gc.log");
        let mut file = std::fs::File::create(&path).unwrap();
        let mut pauses = Pauses::of(Tail::open(&path));
        assert_eq!(pauses.look(), None);
        writeln!(file, "[1.0s][info][gc] GC(0) Pause Full (Allocation Failure) 60M->59M(64M) 1500.000ms").unwrap();
        writeln!(file, "[2.0s][info][gc] GC(1) Concurrent Mark Cycle 900.000ms").unwrap();
        assert_eq!(pauses.look(), None, "not over");
        pauses.since -= OVER;
        let share = pauses.look().unwrap();
        assert!(share <= 0.75 && share > 0.0, "{share}");
        assert_eq!(pauses.look(), Some(share), "until the next is over");
    }
}
