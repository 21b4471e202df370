//! Parts of limits that products have in common: signs, symptoms, laws, remedies; and the limits that every server has (accept queue,
//! processor, descriptors, body) or every proxy ([`backend`]).

pub(crate) mod backend;
pub(crate) mod closed;
pub(crate) mod php;
pub(crate) mod slots;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};

use genkai_model::units::Span;

use crate::settings::SourcedValue;
use slots::{Kept, Slots, Takes};

/// A known message in a server's log.
pub(crate) fn log(signature: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::Log(signature.to_owned()), strength }
}

/// A log line that is written only the first time.
pub(crate) fn logged_once(signature: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::LoggedOnce(signature.to_owned()), strength }
}

/// A log line that counts where nobody got through.
pub(crate) fn logged_unserved(signature: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::LoggedUnserved(signature.to_owned()), strength }
}

/// A cumulative metric that grows.
pub(crate) fn grew(metric: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::Grew(metric.to_owned()), strength }
}

/// A cumulative metric that grows while requests meet the end of kept connections.
pub(crate) fn grew_as_ended(metric: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::GrewAsEnded(metric.to_owned()), strength }
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

/// A limit of a setting with its value in force: to be completed with `..valued(..)`.
pub(crate) fn valued<T>(id: &str, subject: &str, setting: &str, value: &SourcedValue<T>) -> Limit {
    Limit { value: value.written.clone(), origin: value.origin.clone(), ..Limit::named(id, subject, setting) }
}

/// So many requests at once in each of so many pools; an idle client takes none.
pub(crate) fn at_once(value: f64, pools: f64) -> Law {
    Law::Slots { value, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools, soft: 1.0 }
}

/// So many connections at once in each of so many pools, idle or busy.
pub(crate) fn connections(value: f64, pools: f64) -> Law {
    Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools, soft: 1.0 }
}

/// The remedy that raises a setting in steps, without a ceiling.
pub(crate) fn raised(setting: &str, unit: RemedyUnit, step: f64) -> Remedy {
    Remedy {
        setting: setting.to_owned(),
        unit,
        step,
        ceiling: None,
        note: None,
        parts: 1.0,
        processes: 0.0,
        onward: false,
        queues: false,
        word: None,
    }
}

/// The same of a setting that counts what goes on to the servers behind.
pub(crate) fn raised_onward(setting: &str) -> Remedy {
    Remedy { onward: true, ..raised(setting, RemedyUnit::Count, 1.0) }
}

/// The same of a setting that only lengthens a queue of the kernel, whose lengths make sense in steps of 64; `most` is its `somaxconn`.
pub(crate) fn raised_queue(setting: &str, most: u32) -> Remedy {
    let ceiling = Ceiling { value: f64::from(most), by: format!("net.core.somaxconn {most}") };
    Remedy { queues: true, ceiling: Some(ceiling), ..raised(setting, RemedyUnit::Count, 64.0) }
}

/// A metric that reaches a part of another one.
pub(crate) fn reached_of(metric: &str, of: &str, fraction: f64, strength: Strength) -> Signature {
    Signature { sign: Sign::ReachedMetric { metric: metric.to_owned(), of: of.to_owned(), fraction }, strength }
}

/// What happens to a server at no load that could be told beforehand, and is told by its own messages: what is the case then, in words. To
/// be completed with what clients see.
pub(crate) fn accident(id: &str, subject: &str, setting: &str, what: &str, logs: &[&str]) -> Limit {
    Limit {
        caps: what.to_owned(),
        formula: "no number says when".to_owned(),
        signatures: logs.iter().map(|signature| log(signature, Strength::Decisive)).collect(),
        ..Limit::named(id, subject, setting)
    }
}

/// The memory that a control group leaves a product: when it is used up, the kernel ends a process of the group.
pub(crate) fn memory_group(product: &str) -> Limit {
    let lost = [ErrorKind::EofReused, ErrorKind::EofNew, ErrorKind::ResetReused, ErrorKind::Reset];
    Limit {
        source: "cgroups(7): memory.max and memory.events, or memory.limit_in_bytes and memory.oom_control".to_owned(),
        signatures: vec![grew(&format!("{product}.{}", metric::MEMORY_KILLS), Strength::Decisive)],
        symptom: errors(&lost),
        ..accident(
            &format!("{product}.memory_group"),
            "machine",
            "memory of the control group",
            "the kernel ends processes of a control group whose memory is used up",
            &[],
        )
    }
}

/// How long a product keeps a connection on which no further request comes. One that is on its way when that time is over meets the end
/// (RFC 9112, 9.3.1).
pub(crate) fn kept(product: &str, setting: &str, time: &SourcedValue<Span>, source: &str) -> Limit {
    let sign = Sign::Silent { after: time.value.as_secs_f64() };
    Limit {
        caps: "a kept connection is closed when no request has come on it for so long".to_owned(),
        formula:
            "a request that is sent just when its connection is closed gets no answer; it may be made again on another"
                .to_owned(),
        source: source.to_owned(),
        signatures: vec![Signature { sign, strength: Strength::Decisive }],
        symptom: errors(&[ErrorKind::EofReused, ErrorKind::ResetReused]),
        ..valued(&format!("{product}.{setting}"), product, setting, time)
    }
}

/// Slowness, without failures.
pub(crate) const SLOW: Symptom = Symptom { errors: Vec::new(), slow: true };

/// A rate at which each response is sent, of `setting`, and bytes of it that go before that counts. To be completed with the formula and its source.
pub(crate) fn paced(
    (id, subject, setting): (&str, &str, &str),
    held: &SourcedValue<(u64, u64)>,
    module: &str,
) -> Limit {
    let (rate, after) = held.value;
    Limit {
        caps: format!("each response is sent at {rate} bytes a second{}{module}", beyond(after)),
        // What else takes just so long is not excluded: that it is away shows it.
        signatures: vec![Signature {
            sign: Sign::Paced { rate: rate as f64, after: after as f64 },
            strength: Strength::Consistent,
        }],
        symptom: SLOW,
        remedy: Some(Remedy {
            note: Some("it is there on purpose: it keeps a client from taking all of the bandwidth".to_owned()),
            ..raised(setting, RemedyUnit::Zero, 1.0)
        }),
        ..valued(id, subject, setting, held)
    }
}

/// What bytes a rate does not count.
pub(crate) fn beyond(after: u64) -> String {
    if after > 0 { format!(" beyond the first {after}") } else { String::new() }
}

/// The largest body of a request, of which the log says `signature` when it refuses one; none where it is not capped.
pub(crate) fn body(product: &str, setting: &str, value: &SourcedValue<u64>, signature: &str) -> Option<Limit> {
    (value.value > 0).then(|| Limit {
        caps: "bytes of a request body".to_owned(),
        law: Law::BodySize { value: value.value as f64 },
        formula: format!("request body <= {} bytes", value.value),
        signatures: vec![log(signature, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status413]),
        remedy: Some(raised(setting, RemedyUnit::Bytes, 1_048_576.0)),
        ..valued(&format!("{product}.{setting}"), product, setting, value)
    })
}

/// A listener's accept queue of so many connections.
pub(crate) fn accept_queue(id: &str, subject: &str, setting: &str, length: f64) -> Limit {
    Limit {
        caps: "connections that may wait to be accepted at one instant".to_owned(),
        law: Law::Backlog { value: length },
        symptom: Symptom { errors: vec![ErrorKind::ConnectTimeout, ErrorKind::Timeout], slow: true },
        ..Limit::named(id, subject, setting)
    }
}

/// Descriptors of a product's processes, in its words.
pub(crate) struct Descriptors<'a> {
    /// How many each process has.
    pub(crate) value: &'a SourcedValue<u64>,
    /// Those that are never a client's.
    pub(crate) reserved: u64,
    /// What a client takes.
    pub(crate) takes: Takes,
    /// Processes.
    pub(crate) pools: f64,
    /// Whether one of several may get all clients.
    pub(crate) uneven: bool,
    /// What stays open without a client.
    pub(crate) kept: Option<Kept>,
    /// Messages of the log that say there is none left.
    pub(crate) logs: &'a [&'a str],
    /// Metrics: descriptors that are open, and how many may be.
    pub(crate) metrics: (&'a str, &'a str),
    /// What clients get then.
    pub(crate) answer: ErrorKind,
}

impl Descriptors<'_> {
    /// It as a limit with this name, to be completed with its words.
    pub(crate) fn limit(&self, id: &str, subject: &str, setting: &str) -> Limit {
        let said = self.logs.iter().map(|signature| log(signature, Strength::Decisive));
        let (open, most) = self.metrics;
        Limit {
            law: Slots {
                value: self.value.value as f64,
                reserved: self.reserved as f64,
                takes: self.takes,
                pools: self.pools,
                uneven: self.uneven,
                free: 1.0,
                kept: self.kept,
            }
            .law(),
            signatures: said.chain([reached_of(open, most, 0.98, Strength::Supports)]).collect(),
            symptom: Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout, self.answer], slow: true },
            ..valued(id, subject, setting, self.value)
        }
    }
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
        let own = format!("{subject}.listen_drops_total");
        Limit {
            value: backlog.written.clone(),
            origin: backlog.origin.clone(),
            formula: format!("min({} {}, net.core.somaxconn {somaxconn}) + 1", self.short, backlog.value),
            source: format!(
                "listen(2); Linux net/ipv4/tcp_ipv4.c: tcp_v4_syn_recv_sock, include/net/sock.h: sk_acceptq_is_full; \
                 default 511: {}",
                self.default
            ),
            signatures: vec![
                grew(&own, Strength::Decisive),
                // Overflows of all listeners of the machine.
                Signature {
                    sign: Sign::GrewUncounted { metric: metric::LISTEN_OVERFLOWS.to_owned(), own },
                    strength: Strength::Supports,
                },
                reached(&format!("{subject}.{}", metric::ACCEPT_QUEUE), queue, Strength::Supports),
            ],
            remedy: Some(Remedy {
                note: Some(format!(
                    "a reload does not change a listener that is open: restart {} for it to take effect",
                    self.product
                )),
                ..raised_queue(setting, somaxconn)
            }),
            ..accept_queue(&format!("{subject}.{setting}"), subject, setting, queue)
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
        let fixed = self
            .setting
            .filter(|(_, held)| self.workers <= u64::from(self.cores) && held.written.parse() == Ok(self.workers));
        let fixed = fixed.map_or_else(String::new, |(name, held)| {
            format!("; {name} {} allows no more on any machine", held.written)
        });
        Limit {
            id: format!("{}.cpu", self.subject),
            subject: self.subject.to_owned(),
            setting: self.setting.map_or("cores", |(name, _)| name).to_owned(),
            value: self.setting.map_or_else(|| self.cores.to_string(), |(_, held)| held.written.clone()),
            origin: self.setting.map_or_else(machine, |(_, held)| held.origin.clone()),
            caps: format!("cores that can work for {} at once", self.product),
            law: Law::Cpu { cores: self.usable() },
            formula: format!(
                "min({}, {cores} for the servers){}{fixed}",
                counted(self.workers, self.noun),
                self.remark
            ),
            source: self.source.to_owned(),
            signatures,
            symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
            remedy: more.map(|(setting, _)| Remedy {
                ceiling: Some(Ceiling { value: f64::from(self.cores), by: format!("{cores} for the servers") }),
                ..raised(setting, RemedyUnit::Count, 1.0)
            }),
            patience: None,
            fault: false,
            turns: false,
            servers: Vec::new(),
            comes: None,
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
            let queue =
                AcceptQueue { subject, product, setting, short, backlog: &backlog, somaxconn: 128, default: "x" };
            let limit = queue.limit();
            // Who waits in it takes nothing of the server.
            assert!(limit.remedy.iter().all(|remedy| remedy.queues));
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
