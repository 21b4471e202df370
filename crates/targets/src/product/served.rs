//! A product that stands behind another and was not started by genkai: what can be seen of it from outside.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::LogLine;
use genkai_model::limit::Limit;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::usage::Usage;

/// Process `pid` as this product, reached at a place on a machine with so much memory (bytes). None: it is another product's. An error
/// says, in words, why nothing of it can be read.
pub type ServesFn = fn(u32, &Endpoint, &Machine, u64) -> Option<Result<Box<dyn Served>, String>>;

/// What a request costs when nothing else is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// How long it takes.
    pub service: Duration,
    /// Processor time of those who serve it.
    pub processor: Duration,
    /// Cores that they may use, or those that their control groups leave them.
    pub cores: f64,
}

/// How many requests a server works on at once, of which each may ask another server.
#[derive(Clone, Debug, PartialEq)]
pub struct AsksAtOnce {
    /// As many at most.
    pub most: f64,
    /// The setting that says so, with its value.
    pub why: String,
}

/// Part of what processors can do for workers from which on they may fill because of the processors.
const FED: f64 = 0.7;

impl Cost {
    /// Requests a second that so many workers answer, each one at a time, and that the processors can work for.
    fn rates(&self, workers: f64) -> (f64, f64) {
        let seconds = |time: Duration| time.as_secs_f64().max(1e-6);
        (workers / seconds(self.service), self.cores / seconds(self.processor))
    }

    /// Whether the processors can keep so many workers busy with requests of this cost.
    pub(crate) fn feeds(&self, workers: f64) -> bool {
        let (answered, worked) = self.rates(workers);
        answered <= FED * worked
    }

    /// What so many workers, `called` so with their number, answer, in words.
    pub(crate) fn in_words(&self, workers: f64, called: &str) -> String {
        let (answered, worked) = self.rates(workers);
        format!(
            "{called} / {:.0} ms a request (asked alone, before any load) = {answered:.0} requests/s at most (processors: {worked:.0})",
            self.service.as_secs_f64() * 1e3
        )
    }
}

/// What the proxy before it answers, or the application in it, where a process of it is ended or not had.
pub(crate) const ENDED: [ErrorKind; 5] =
    [ErrorKind::Status502, ErrorKind::Status503, ErrorKind::Status500, ErrorKind::Status504, ErrorKind::Timeout];

/// The level of a line that explains, and tells of no trouble.
pub(crate) const NOTICE: &str = "notice";

/// What can be seen of any server behind another, whoever it is; after its subject.
pub(crate) mod behind {
    /// The busiest thread of all its processes, as a share of a core.
    pub(crate) const THREAD: &str = "thread_cpu_max";
    /// The busiest of the main threads of those processes that serve, as a share of a core, where each has an event loop there.
    pub(crate) const LOOP: &str = "event_loop_cpu_max";
    /// Connections that its accept queue had no room for, cumulative.
    pub(crate) const DROPS: &str = "listen_drops_total";
    /// A thread that never waits has as much of a core, or more.
    pub(crate) const FULL: f64 = 0.9;
    /// Threads that wait for a disk, on average.
    pub(crate) const DISK: &str = "disk_waiting";
    /// The part of the time for which one thread waits for a disk.
    pub(crate) const DISK_LONGEST: &str = "disk_waiting_max";
    /// Who waits for so much of the time does little else.
    pub(crate) const WAITS: f64 = 0.8;
}

/// A product as it runs.
pub trait Served: Debug + Send {
    /// What people call it, in one word.
    fn product(&self) -> &'static str;

    /// Who it is, in a few words.
    fn told(&self) -> String;

    /// Whether its own limits tell more than what is seen of the threads and the accept queue of any process.
    fn is_pool(&self) -> bool {
        true
    }

    /// Connections that it may have at once, of which one more is refused, whoever asks for it; none: it has no such number, or it is not known.
    fn sessions(&self) -> Option<u64> {
        None
    }

    /// Where it passes connections on to, where it does nothing else; none of a server.
    fn forwards(&self) -> Option<Endpoint> {
        None
    }

    /// Of its processes (`usage`) those that serve at `at` in an event loop of their main thread; none: it has no such loops, or they are not known.
    fn loops(&self, _at: &Endpoint, _usage: &Usage) -> Option<Vec<u32>> {
        None
    }

    /// What caps it. Metrics of its signs begin with `subject` and a dot. It is somebody else's: no limit has a remedy.
    fn limits(&self, subject: &str) -> Vec<Limit>;

    /// Takes over what a request costs when nothing else is asked.
    fn costs(&mut self, cost: Cost);

    /// Looks at it: metrics of its own, without their subject. `usage` is of its processes.
    fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64>;

    /// New lines of its log that tell of trouble.
    fn logs(&mut self, subject: &str) -> Vec<LogLine>;
}
