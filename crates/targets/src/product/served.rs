//! A product that stands behind another and was not started by genkai: what can be seen of it from outside.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

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
    /// Cores that they may use.
    pub cores: u32,
}

/// A product as it runs.
pub trait Served: Debug + Send {
    /// Who it is, in a few words.
    fn told(&self) -> String;

    /// What caps it. Metrics of its signs begin with `subject` and a dot. It is somebody else's: no limit has a remedy.
    fn limits(&self, subject: &str) -> Vec<Limit>;

    /// Takes over what a request costs when nothing else is asked.
    fn costs(&mut self, cost: Cost);

    /// Looks at it: metrics of its own, without their subject. `usage` is of its processes.
    fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64>;

    /// New lines of its log that tell of trouble.
    fn logs(&mut self, subject: &str) -> Vec<LogLine>;
}
