//! What a larger value of a setting takes: memory and descriptors, told from a trial at two of its levels.
//!
//! Memory is PSS without pages of files, so that what processes share counts once, and what the kernel takes for them. What one client more takes is the difference between two levels of the load
//! by that of the clients; what one process more takes is what one had written by the first look and no other shared, without what it had written for clients that it served just then.

use genkai_model::evidence::{Sample, metric};
use genkai_model::finding::{DescriptorPrice, DescriptorsAlone, MeasuredPrice, MemoryPrice, Price, Taken, TestedPrice};
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Sign};
use genkai_model::record::Trial;

use super::looks::{clients_at, during};
use super::{Demand, law, served};

/// Part of the memory that is left which a change may take: the rest is for what PSS does not count (buffers of the kernel, the cache of files).
pub(super) const USABLE: f64 = 0.8;
/// How far what was measured may be from what was predicted for a price to hold, as a part of what was measured.
const PRICE_TOLERANCE: f64 = 0.15;
/// The largest value that is looked at.
const MOST: f64 = 1e9;

/// What a limit's trial tells of what a client more takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    trial: u32,
    /// The look with most clients.
    high: Look,
    /// Bytes of a client more.
    client: f64,
    /// Whether memory grew with the clients, or the setting brings processes: what a server had taken before for all clients (a heap) says
    /// nothing of what one more takes.
    grew: bool,
    /// What it grew by between the two looks, and the requests that had been served by the higher one.
    grown: (f64, f64),
    /// Whether it may have grown with these alone.
    leaks: bool,
    /// Descriptors of a client more.
    descriptors: f64,
    /// Bytes of a process more; none where the setting brings none.
    process: Option<f64>,
    /// Whether something stands behind the server.
    behind: bool,
}

/// One look at a server's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    clients: f64,
    pss: f64,
    /// The kernel's beside it; none where it was not reckoned.
    kernel: Option<f64>,
    workers: f64,
    private: Option<f64>,
    descriptors: f64,
    pub(super) left: f64,
    pub(super) group: Option<f64>,
}

/// A value that the memory cannot hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Short {
    /// The largest that fits.
    pub(crate) most: f64,
    /// What would be needed.
    pub(crate) needed: f64,
    /// Bytes that it takes beyond what was taken.
    pub(crate) bytes: f64,
    /// Bytes that were left.
    pub(crate) left: f64,
    /// The limit of the control group that leaves no more.
    pub(crate) group: Option<f64>,
}

/// Clients that are served at once where all of `law` is used; none for laws that count none.
fn full(law: &Law, demand: &Demand) -> Option<f64> {
    match law::met(law, demand) {
        Law::Workers { workers, .. } => Some(workers),
        Law::Growing { most, .. } => Some(most),
        slots => law::clients(&slots, demand).map(|clients| clients.high),
    }
}

impl Look {
    fn of(sample: &Sample, subject: &str, clients: f64) -> Option<Look> {
        let get = |name: &str| sample.metrics.get(&format!("{subject}.{name}")).copied();
        let machine = get(metric::MEMORY_AVAILABLE)?;
        let group = get(metric::GROUP_LEFT).filter(|left| *left < machine);
        Some(Look {
            clients,
            pss: get(metric::PSS)?,
            kernel: get(metric::KERNEL_MEMORY),
            workers: get(metric::WORKER_PROCESSES).unwrap_or(0.0),
            private: get(metric::WORKER_PRIVATE).map(|own| own + get(metric::WORKER_KERNEL).unwrap_or(0.0)),
            descriptors: get(metric::DESCRIPTORS).unwrap_or(0.0),
            left: group.unwrap_or(machine),
            group: group.and(get(metric::GROUP_LIMIT)),
        })
    }

    /// What its processes take, the kernel's for them with it.
    pub(super) fn taken(&self) -> f64 {
        self.pss + self.kernel.unwrap_or(0.0)
    }
}

/// How a server itself counts its clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Own<'l> {
    /// The gauge.
    metric: &'l str,
    /// What a client of the load is of it, where each is so much and gives it up with its request; none: who has it keeps it.
    each: Option<f64>,
}

impl<'l> Own<'l> {
    /// Of the server of `limit`, where a sign of that compares the count; none: it counts none.
    pub(crate) fn of(limit: &'l Limit, demand: &Demand) -> Option<Own<'l>> {
        let is_count = |name: &str| name.rsplit_once('.').is_some_and(|(_, name)| name == metric::CLIENTS);
        let metric = limit.signatures.iter().find_map(|one| match &one.sign {
            Sign::Reached { metric, .. } if is_count(metric) => Some(metric.as_str()),
            _ => None,
        })?;
        let each = match limit.law {
            Law::Slots { idle_cost, busy_cost, .. } => Some(law::cost(idle_cost, busy_cost, demand).high),
            _ => None,
        };
        Some(Own { metric, each: each.filter(|each| *each > 0.0) })
    }

    /// Clients at a look, of which the load has so many; none where nobody had counted.
    fn clients(&self, trial: &Trial, at: i64, load: f64) -> Option<f64> {
        let before = trial.samples.iter().rev().skip_while(|(then, _)| *then > at);
        let count = before.filter_map(|(_, sample)| sample.metrics.get(self.metric)).next().copied()?;
        Some(self.each.map_or(count, |each| (count / each).min(load)))
    }
}

/// The looks at `subject` while the load ran, and before it, in order, with the clients that it had: as it counts its `own`, else those of the load, at
/// most `most` of them.
fn looks(trial: &Trial, subject: &str, most: f64, own: Option<Own<'_>>) -> Vec<Look> {
    let look = |(at, sample): (i64, &Sample)| {
        let us = u64::try_from(at).unwrap_or(0);
        let load = if us == 0 { 0.0 } else { clients_at(trial, us) };
        let clients = own.and_then(|own| own.clients(trial, at, load)).unwrap_or(load.min(most));
        Look::of(sample, subject, clients)
    };
    during(trial, subject).filter_map(look).collect()
}

/// From which part of the most clients on a look is one under that load.
const ALIKE: f64 = 0.9;

/// The look with most clients, the last of them, with the most descriptors of all looks under that load. A look is an instant: where each request is
/// a connection, it may fall between two of them, and then sees descriptors of nobody.
fn highest(looks: &[Look]) -> Option<Look> {
    let high = *looks.iter().max_by(|a, b| a.clients.total_cmp(&b.clients))?;
    let alike = looks.iter().filter(|look| look.clients >= high.clients * ALIKE);
    let descriptors = alike.map(|look| look.descriptors).fold(high.descriptors, f64::max);
    Some(Look { descriptors, ..high })
}

impl Cost {
    /// Of `limit`, as `trial` tells it; none where nobody looked, or the limit counts no clients. `product` is the one under test.
    pub(crate) fn of(limit: &Limit, trial: &Trial, demand: &Demand, product: &str) -> Option<Cost> {
        // Who waits in a queue of the kernel takes nothing of the server: a longer one has no price.
        if is_onward(limit) || limit.remedy.as_ref().is_some_and(|remedy| remedy.queues) {
            return None;
        }
        let looks = looks(trial, &limit.subject, full(&limit.law, demand)?, Own::of(limit, demand));
        let high = highest(&looks)?;
        let idle = looks.first().filter(|look| look.clients < 1.0);
        let brings = limit.remedy.as_ref().is_some_and(|remedy| remedy.processes > 0.0);
        // The first requests make a server take what it keeps: the difference is taken between two levels beyond them, where there are such. A
        // process more has first requests of its own.
        let served = looks.iter().find(|look| look.clients >= 1.0 && look.clients * 2.0 <= high.clients);
        let low = if brings { idle.or(served) } else { served.or(idle) }.filter(|low| low.clients < high.clients)?;
        let (begun, new) = (if brings { low } else { looks.first()? }, high.workers - low.workers);
        let (process, clients) = (begun.private, high.clients - low.clients);
        // What clients made a process take by that look is theirs, and not of a process that serves nobody yet.
        let served = if brings && process.is_some() { low.clients / low.workers } else { 0.0 };
        let grown = high.taken() - low.taken() - new * process.unwrap_or(0.0);
        let client = Some(clients - new * served).filter(|of| *of > 0.0).map(|of| (grown / of).max(0.0))?;
        let by = served::by_most(&limit.subject, trial);
        let leaks = served::is_of(grown, by, &limit.subject, trial);
        Some(Cost {
            trial: trial.number,
            high,
            client,
            grew: (grown > 0.0 || brings) && !leaks,
            grown: (grown, by),
            leaks,
            descriptors: {
                let seen = ((high.descriptors - low.descriptors) / clients).max(0.0);
                let counted = formula(&trial.limits.limits, &limit.subject, demand);
                counted.filter(|each| (each - seen).abs() <= each * PRICE_TOLERANCE).unwrap_or(seen)
            },
            process: process.filter(|_| brings).map(|bytes| (bytes - client * served).max(0.0)),
            behind: limit.subject == product && is_passed_on(&trial.limits.limits, product),
        })
    }

    /// Clients more, and bytes more, than at the highest look, where the setting of `limit` is `number` and all of it is used.
    fn more(&self, limit: &Limit, remedy: &Remedy, number: f64, demand: &Demand) -> Option<(f64, f64)> {
        let parts = remedy.parts.max(1.0);
        let clients = full(&law::with_setting(&limit.law, number * parts), demand)? - self.high.clients;
        let processes = (number - law::setting(&limit.law) / parts).max(0.0) * remedy.processes;
        let clients = clients.max(0.0);
        Some((clients, clients * self.client + processes * self.process.unwrap_or(0.0)))
    }

    /// The largest value of the setting that the memory holds, where that is a bound below `MOST`.
    fn most(&self, limit: &Limit, remedy: &Remedy, demand: &Demand) -> Option<f64> {
        let fits = |number: f64| {
            self.more(limit, remedy, number, demand).is_none_or(|(_, bytes)| bytes <= self.high.left * USABLE)
        };
        let (mut low, mut high) = ((law::setting(&limit.law) / remedy.parts.max(1.0)).floor(), MOST);
        if fits(high) {
            return None;
        }
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if fits(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// `limit` with the memory as a ceiling of its remedy, where that is known and the tightest.
    pub(crate) fn bound(&self, limit: &Limit, demand: &Demand) -> Option<Limit> {
        if !self.grew {
            return None;
        }
        let remedy = limit.remedy.as_ref().filter(|remedy| remedy.unit == RemedyUnit::Count)?;
        let most = self.most(limit, remedy, demand)?;
        let tighter = remedy.ceiling.as_ref().is_none_or(|ceiling| most < ceiling.value);
        let ceiling = Some(Ceiling { value: most, by: "the memory that is left".to_owned() });
        tighter.then(|| Limit { remedy: Some(Remedy { ceiling, ..remedy.clone() }), ..limit.clone() })
    }

    /// What is missing for the setting of `limit` to be `needed`, where `most` is all that the memory holds.
    pub(crate) fn short(&self, limit: &Limit, needed: f64, most: f64, demand: &Demand) -> Option<Short> {
        let (_, bytes) = self.more(limit, limit.remedy.as_ref()?, needed, demand)?;
        Some(Short { most, needed, bytes, left: self.high.left, group: self.high.group })
    }

    /// The price of giving the setting of `limit` this number; `after` is the trial that tested it.
    pub(crate) fn price(&self, limit: &Limit, number: f64, demand: &Demand, after: &Trial) -> Option<Price> {
        let (grown, by) = self.grown;
        if !self.grew || served::is_of(grown, by, &limit.subject, after) {
            return None;
        }
        let (clients, bytes) = self.more(limit, limit.remedy.as_ref()?, number, demand)?;
        let (high, full) = (&self.high, self.high.clients + clients);
        let parts = limit.remedy.as_ref().map_or(1.0, |remedy| remedy.parts.max(1.0));
        let at_once = law::in_flight(&law::with_setting(&limit.law, number * parts)).unwrap_or(full);
        let seen = looks(after, &limit.subject, full, Own::of(limit, demand));
        let tested = highest(&seen).filter(|look| look.clients > 0.0).map(|look| {
            let part = if clients > 0.0 { ((look.clients - high.clients) / clients).clamp(0.0, 1.0) } else { 1.0 };
            let predicted = high.taken() + bytes * part;
            let taken = look.taken();
            let refuted = (predicted - taken).abs() > taken * PRICE_TOLERANCE;
            TestedPrice { trial: after.number, clients: look.clients, taken, predicted, refuted }
        });
        Some(Price {
            trial: self.trial,
            clients: high.clients,
            full,
            memory: MemoryPrice {
                taken: high.taken(),
                kernel: high.kernel,
                client: self.client,
                process: self.process,
                more: bytes,
                left: high.left,
                group: high.group,
            },
            descriptors: DescriptorPrice { held: high.descriptors, more: clients * self.descriptors },
            behind: self.behind.then_some(at_once.min(full)),
            tested,
        })
    }

    /// What is known of descriptors where memory did not grow: the two have nothing to do with each other.
    pub(crate) fn descriptors(&self, limit: &Limit, number: f64, demand: &Demand) -> Option<DescriptorsAlone> {
        if self.grew || self.leaks || self.high.descriptors <= 0.0 {
            return None;
        }
        let (clients, _) = self.more(limit, limit.remedy.as_ref()?, number, demand)?;
        let Look { clients: served, descriptors: held, .. } = self.high;
        let more = clients * self.descriptors;
        Some(DescriptorsAlone { trial: self.trial, clients: served, full: served + clients, held, more })
    }
}

/// The look at `subject` with most clients; none where nobody looked while there were any.
pub(super) fn full_look(subject: &str, trial: &Trial, own: Option<Own<'_>>) -> Option<Look> {
    highest(&looks(trial, subject, f64::INFINITY, own)).filter(|look| look.clients > 0.0)
}

/// What `subject` took in `before` and in `after`, with most clients of each; none where nobody looked while there were any.
pub(crate) fn measured(subject: &str, own: Option<Own<'_>>, before: &Trial, after: &Trial) -> Option<MeasuredPrice> {
    let taken = |trial: &Trial, look: Look| Taken {
        trial: trial.number,
        clients: look.clients,
        memory: look.pss,
        descriptors: look.descriptors,
    };
    let (first, last) = (full_look(subject, before, own)?, full_look(subject, after, own)?);
    Some(MeasuredPrice { before: taken(before, first), after: taken(after, last), left: last.left, grew: None })
}

/// Descriptors of a client of `subject` by the law of the limit that counts them; none where it tells a range. A look is an instant, at which some
/// clients have no request in flight: what it saw is that less some.
fn formula(limits: &[Limit], subject: &str, demand: &Demand) -> Option<f64> {
    let counted = format!("{subject}.{}", metric::WORKER_FDS_MAX);
    let counts = |limit: &&Limit| {
        let mut signs = limit.signatures.iter().map(|one| &one.sign);
        limit.subject == subject
            && signs.any(|sign| matches!(sign, Sign::ReachedMetric { metric, .. } if *metric == counted))
    };
    match limits.iter().find(counts)?.law {
        Law::Slots { idle_cost, busy_cost, .. } => {
            let each = law::cost(idle_cost, busy_cost, demand);
            (each.high - each.low <= 0.0).then_some(each.high)
        }
        _ => None,
    }
}

/// Whether a limit counts what goes on to the servers behind.
fn is_onward(limit: &Limit) -> bool {
    limit.remedy.as_ref().is_some_and(|remedy| remedy.onward)
}

/// Whether something stands behind `product` that is asked for all that it takes: another setting may let less through.
fn is_passed_on(limits: &[Limit], product: &str) -> bool {
    let capped = limits.iter().any(|other| other.subject == product && is_onward(other));
    !capped && limits.iter().any(|other| is_behind(other, product))
}

/// Whether a limit is of what stands behind `product`.
fn is_behind(limit: &Limit, product: &str) -> bool {
    limit.subject != product && !["kernel", "machine"].contains(&limit.subject.as_str())
}
