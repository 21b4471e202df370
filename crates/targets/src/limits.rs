//! Parts of limits that products have in common: signs, symptoms, the accept queue of a listener, the processor.

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};

use crate::settings::SourcedValue;

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
    pub(crate) backlog: &'a SourcedValue<u32>,
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
    /// It as a limit: the queue takes one connection more than its length. Where the kernel allows less than is asked for, the
    /// kernel's is the setting that counts.
    pub(crate) fn limit(&self) -> Limit {
        let own = self.own();
        if self.backlog.value <= self.somaxconn {
            return own;
        }
        Limit {
            id: format!("{}.somaxconn", self.subject),
            subject: "kernel".to_owned(),
            setting: "net.core.somaxconn".to_owned(),
            value: self.somaxconn.to_string(),
            origin: Origin::Machine("/proc/sys/net/core/somaxconn".to_owned()),
            remedy: None,
            ..own
        }
    }

    /// The product's setting as a limit.
    fn own(&self) -> Limit {
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

/// Processor time that a product can use, in its words.
pub(crate) struct Processor<'a> {
    /// The product, as metrics and limits name it (`apache`).
    pub(crate) subject: &'a str,
    /// The product, as people call it (`Apache`).
    pub(crate) product: &'a str,
    /// What runs at once on a core each, as a noun.
    pub(crate) noun: &'a str,
    /// How many of it there are.
    pub(crate) workers: u64,
    /// Cores that the servers may use.
    pub(crate) cores: u32,
    /// The setting that says how many of it there are, with its value and place; none where no setting brings more cores.
    pub(crate) setting: Option<(&'a str, &'a SourcedValue<u32>)>,
    /// What is known of a worker beside that, for the formula.
    pub(crate) remark: &'a str,
    /// Where it is written down.
    pub(crate) source: &'a str,
}

impl Processor<'_> {
    /// Cores that can work for it at once.
    pub(crate) fn usable(&self) -> f64 {
        self.workers.min(u64::from(self.cores)) as f64
    }

    /// It as a limit, with the signs that the product has of it. The setting lifts it as long as there are more cores than workers.
    pub(crate) fn limit(&self, signatures: Vec<Signature>) -> Limit {
        let cores = counted(self.cores.into(), "core");
        let machine = || Origin::Machine("sched_getaffinity(2), less the generator's cores".to_owned());
        let more = self.setting.filter(|_| self.workers < u64::from(self.cores));
        Limit {
            id: format!("{}.cpu", self.subject),
            subject: self.subject.to_owned(),
            setting: self.setting.map_or("cores", |(name, _)| name).to_owned(),
            value: self.setting.map_or_else(|| self.cores.to_string(), |(_, held)| held.written.clone()),
            origin: self.setting.map_or_else(machine, |(_, held)| held.origin.clone()),
            caps: format!("cores that can work for {} at once", self.product),
            law: Law::Cpu { cores: self.usable() },
            formula: format!("min({}, {cores} for the servers){}", counted(self.workers, self.noun), self.remark),
            source: self.source.to_owned(),
            signatures,
            symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
            remedy: more.map(|(setting, _)| Remedy {
                setting: setting.to_owned(),
                unit: RemedyUnit::Count,
                step: 1.0,
                ceiling: Some(Ceiling { value: f64::from(self.cores), by: format!("{cores} for the servers") }),
                note: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_cuts_is_the_kernels() {
        let queue = |value: u32| {
            let backlog = SourcedValue { value, written: value.to_string(), origin: Origin::Given };
            let (subject, product, setting, short) = ("nginx", "nginx", "listen.backlog", "backlog");
            let queue = AcceptQueue {
                subject,
                product,
                setting,
                short,
                backlog: &backlog,
                somaxconn: 128,
                default: "x",
                drops: "d",
                waiting: "w",
            };
            let limit = queue.limit();
            (limit.id, limit.subject, limit.value, limit.law, limit.remedy.is_some())
        };
        let law = Law::Backlog { value: 129.0 };
        let own = |value: &str| ("nginx.listen.backlog".to_owned(), "nginx".to_owned(), value.to_owned());
        let (id, subject, value, own_law, remedy) = queue(128);
        assert_eq!(((id, subject, value), own_law, remedy), (own("128"), law.clone(), true));
        let kernel = ("nginx.somaxconn".to_owned(), "kernel".to_owned(), "128".to_owned());
        let (id, subject, value, cut, remedy) = queue(511);
        assert_eq!(((id, subject, value), cut, remedy), (kernel, law, false));
    }
}
