//! Parts of limits that products have in common: signs, symptoms, and the accept queue of a listener.

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};

use crate::held::Held;

/// A known message in a server's log.
pub(crate) fn log(signature: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::Log(signature.to_owned()), strength }
}

/// A cumulative metric that grows.
pub(crate) fn grew(metric: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::Grew(metric.to_owned()), strength }
}

/// A gauge that reaches a value.
pub(crate) fn reached(metric: &str, value: f64, strength: Strength) -> Signature {
    Signature { sign: Sign::Reached { metric: metric.to_owned(), value }, strength }
}

/// Failures, without slowness.
pub(crate) fn errors(kinds: &[ErrorKind]) -> Symptom {
    Symptom { errors: kinds.to_vec(), slow: false }
}

/// `1 worker`, `3 workers`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A listener's accept queue, in the words of its product.
pub(crate) struct AcceptQueue<'a> {
    /// The product, as metrics and limits name it (`apache`).
    pub(crate) subject: &'a str,
    /// The product, as people call it (`Apache`).
    pub(crate) product: &'a str,
    /// The setting.
    pub(crate) setting: &'a str,
    /// The setting's name in the formula.
    pub(crate) short: &'a str,
    /// Its value.
    pub(crate) backlog: &'a Held<u32>,
    /// net.core.somaxconn, which caps it.
    pub(crate) somaxconn: u32,
    /// Where the product's source has its default.
    pub(crate) default: &'a str,
    /// Metric of connections that the kernel dropped at the listener.
    pub(crate) drops: &'a str,
    /// Metric of connections that wait to be accepted.
    pub(crate) waiting: &'a str,
}

impl AcceptQueue<'_> {
    /// It as a limit: the queue takes one connection more than its length.
    pub(crate) fn limit(&self) -> Limit {
        let AcceptQueue { subject, setting, backlog, somaxconn, .. } = *self;
        let queue = f64::from(backlog.value.min(somaxconn)) + 1.0;
        Limit {
            id: format!("{subject}.{setting}"),
            subject: subject.to_owned(),
            setting: setting.to_owned(),
            value: backlog.written.clone(),
            origin: backlog.origin.clone(),
            caps: "connections that may wait to be accepted at one instant".to_owned(),
            law: Law::Backlog { value: queue },
            formula: format!("min({} {}, net.core.somaxconn {somaxconn}) + 1", self.short, backlog.value),
            source: format!(
                "listen(2); Linux net/ipv4/tcp_ipv4.c: tcp_v4_syn_recv_sock, include/net/sock.h: sk_acceptq_is_full; \
                 default 511: {}",
                self.default
            ),
            signatures: vec![
                grew(self.drops, Strength::Decisive),
                grew(metric::LISTEN_OVERFLOWS, Strength::Supports),
                reached(self.waiting, queue, Strength::Supports),
            ],
            symptom: Symptom { errors: vec![ErrorKind::ConnectTimeout, ErrorKind::Timeout], slow: true },
            remedy: Some(Remedy {
                setting: setting.to_owned(),
                unit: RemedyUnit::Count,
                step: 64.0,
                ceiling: Some(Ceiling { value: f64::from(somaxconn), by: format!("net.core.somaxconn {somaxconn}") }),
                note: Some(format!(
                    "a reload does not change a listener that is open: restart {} for it to take effect",
                    self.product
                )),
            }),
        }
    }
}
