//! What a larger value of a setting takes of memory, from the looks at a server's processes, put down plainly once more.

use genkai_model::limit::{Law, Limit, RemedyUnit, Sign};

use crate::broken::Judged;
use crate::events::Line;
use crate::expected::Expected;
use crate::instants::gauge;
use crate::laws::{WHOLE, cost, predicted};
use crate::looked::{of_clients, surely_over};
use crate::met::Met;
use crate::served;

/// Of the memory that is left, the part that a change may take.
const USABLE: f64 = 0.8;
/// How far a measured price may be from the predicted one, as a part of the measured one.
const FAR: f64 = 0.15;

/// Whether a limit's setting counts requests or connections to servers, not those of clients.
fn counts_onward(limit: &Limit) -> bool {
    limit.remedy.as_ref().is_some_and(|remedy| remedy.onward)
}

/// Whether a limit's setting is how many the kernel lets wait before the server accepts them: they take nothing of it yet.
fn waits_in_kernel(limit: &Limit) -> bool {
    matches!(&limit.remedy, Some(remedy) if remedy.queues)
}

/// What a client takes of the descriptors of a server by their law, where that is one number.
fn of_descriptors(limits: &[Limit], subject: &str, met: &Met) -> Option<f64> {
    let name = format!("{subject}.worker_fds_max");
    let seen_in = |sign: &Sign| matches!(sign, Sign::ReachedMetric { metric, .. } if *metric == name);
    for limit in limits.iter().filter(|limit| limit.subject == subject) {
        if !limit.signatures.iter().any(|signature| seen_in(&signature.sign)) {
            continue;
        }
        let Law::Slots { idle_cost, busy_cost, .. } = limit.law else { return None };
        return cost(idle_cost, busy_cost, met).filter(|(dear, cheap)| dear <= cheap).map(|(dear, _)| dear);
    }
    None
}

/// A look at a server's memory.
#[derive(Clone, Copy)]
struct Look {
    clients: f64,
    pss: f64,
    kernel: Option<f64>,
    workers: f64,
    private: Option<f64>,
    descriptors: f64,
    machine: f64,
    group: Option<(f64, f64)>,
}

impl Look {
    /// Processes and kernel.
    fn both(&self) -> f64 {
        self.pss + self.kernel.unwrap_or(0.0)
    }

    /// What could be had.
    fn left(&self) -> f64 {
        self.group.map_or(self.machine, |(left, _)| left.min(self.machine))
    }
}

/// What a trial tells.
struct Taken {
    high: Look,
    client: f64,
    process: Option<f64>,
    descriptors: f64,
    /// Whether memory tells anything: it grew with the clients, or processes come.
    tells: bool,
    /// Whether it may have grown with the requests answered.
    leaks: bool,
    /// What it grew by, and requests answered by then.
    grown: (f64, f64),
}

/// Clients served at once with all of a law used.
fn full(law: &Law, met: &Met) -> Option<f64> {
    match law {
        Law::Workers { workers, .. } => Some(*workers),
        Law::Growing { most, .. } if !met.tunnels => Some(*most),
        Law::Slots { .. } | Law::Growing { .. } => Some(predicted(law, met).clients?.1),
        _ => None,
    }
}

/// A law with its setting at another number, of those that count clients.
fn at(law: &Law, number: f64) -> Law {
    let mut law = law.clone();
    match &mut law {
        Law::Slots { value, .. } => *value = number,
        Law::Workers { workers, .. } => *workers = number,
        // Nothing tells what is between the two: there are several alike, of which each has so many.
        Law::Growing { least, most, full: None, .. } if *least > 0.0 => {
            *most = (*most / *least * number).max(number);
            *least = number;
        }
        Law::Growing { least, most, .. } => (*least, *most) = (number, most.max(number)),
        _ => {}
    }
    law
}

fn present(law: &Law) -> f64 {
    match law {
        Law::Slots { value, .. } => *value,
        Law::Workers { workers, .. } => *workers,
        Law::Growing { least, .. } => *least,
        _ => 0.0,
    }
}

/// All looks at a server from before the load to the end of its last interval, but for what was seen in the last round: when its reading ended is not known.
/// Its clients are what it last counted itself, where it does.
fn looks(judged: &Judged<'_>, subject: &str, most: f64, itself: Option<(&str, f64)>) -> Vec<Look> {
    let ticks = judged.trial.ticks();
    let began = judged.trial.start.number("/at_us");
    let look = |line: &Line| {
        let us = line.number("/at_us") - began;
        let value = |name: &str| line.json.get("metrics")?.get(format!("{subject}.{name}"))?.as_f64();
        let connected = if us > 0.0 { gauge(&ticks, us, of_clients(judged)) } else { 0.0 };
        let last = itself.and_then(|(name, each)| {
            let until = line.number("/at_us");
            let told = judged.trial.of("sample").filter(|one| one.number("/at_us") <= until);
            let count = told.filter_map(|one| one.json.get("metrics")?.get(name)?.as_f64()).last()?;
            Some(if each > 0.0 { connected.min(count / each) } else { count })
        });
        Some(Look {
            clients: last.unwrap_or(connected.min(most)),
            pss: value("pss")?,
            kernel: value("kernel_memory"),
            workers: value("worker_processes").unwrap_or(0.0),
            private: value("worker_private").map(|own| own + value("worker_kernel_memory").unwrap_or(0.0)),
            descriptors: value("descriptors").unwrap_or(0.0),
            machine: value("memory_available")?,
            group: value("memory_group_left").zip(value("memory_group_limit")),
        })
    };
    surely_over(judged, subject).into_iter().filter_map(look).collect()
}

/// The last look with as many clients as no other had more; of descriptors the most that any look with nine tenths of these clients saw.
fn last_highest(looks: &[Look]) -> Option<Look> {
    let most = looks.iter().map(|look| look.clients).fold(f64::NEG_INFINITY, f64::max);
    let mut last = looks.iter().rev().find(|look| look.clients >= most).copied()?;
    for look in looks {
        if look.clients >= 0.9 * most && look.descriptors > last.descriptors {
            last.descriptors = look.descriptors;
        }
    }
    Some(last)
}

impl Taken {
    fn of(limit: &Limit, judged: &Judged<'_>, met: &Met) -> Option<Taken> {
        if counts_onward(limit) || waits_in_kernel(limit) {
            return None;
        }
        let looks = looks(judged, &limit.subject, full(&limit.law, met)?, counted_by(limit, met));
        let high = last_highest(&looks)?;
        let unused = looks.first().copied().filter(|first| first.clients < 1.0);
        let half = looks.iter().find(|look| look.clients >= 1.0 && look.clients <= high.clients / 2.0).copied();
        let forks = limit.remedy.as_ref().is_some_and(|remedy| remedy.processes > 0.0);
        // Each process has first requests of its own, so that what they make it keep comes with it.
        let low = if forks { unused.or(half) } else { half.or(unused) }?;
        let between = high.clients - low.clients;
        if between <= 0.0 {
            return None;
        }
        let process = if forks { low.private } else { looks.first().and_then(|look| look.private) };
        let came = high.workers - low.workers;
        let grown = high.both() - low.both() - process.unwrap_or(0.0) * came;
        let seen = ((high.descriptors - low.descriptors) / between).max(0.0);
        // Not each client has a request in flight at the instant of a look: close to what their law says, it is what the law says.
        let descriptors = match of_descriptors(&judged.limits, &limit.subject, met) {
            Some(each) if seen >= (1.0 - FAR) * each && seen <= (1.0 + FAR) * each => each,
            _ => seen,
        };
        // A server may have taken before what it needs for all of them.
        let tells = forks || grown > 0.0;
        // Clients of a process at the lower look, whose memory is in what that process has of its own: as much of it is in each process that came.
        let each = if forks && process.is_some() { low.clients / low.workers } else { 0.0 };
        let divisor = between - each * came;
        if divisor <= 0.0 {
            return None;
        }
        let client = (grown / divisor).max(0.0);
        let process = process.map(|own| (own - client * each).max(0.0));
        let grown = (grown, served::answered_by_peak(judged, &limit.subject));
        let leaks = served::leaves(judged, &limit.subject, grown.1, grown.0);
        Some(Taken { high, client, process, descriptors, tells: tells && !leaks, leaks, grown })
    }

    /// Whether a later trial shows that it may have grown with requests.
    fn leaks_in(&self, after: Option<&Judged<'_>>, subject: &str) -> bool {
        after.is_some_and(|after| served::leaves(after, subject, self.grown.1, self.grown.0))
    }

    /// Clients and bytes beyond the highest look, with the setting at a number and all of it used.
    fn beyond(&self, limit: &Limit, met: &Met, number: f64) -> Option<(f64, f64)> {
        let remedy = limit.remedy.as_ref()?;
        let parts = remedy.parts.max(1.0);
        let clients = (full(&at(&limit.law, number * parts), met)? - self.high.clients).max(0.0);
        let processes = remedy.processes * (number - present(&limit.law) / parts).max(0.0);
        Some((clients, self.client * clients + self.process.unwrap_or(0.0) * processes))
    }
}

/// Whether the memory holds the next larger value of a limit's setting, as far as a trial in which it was met tells.
pub(crate) fn holds_more(limit: &Limit, judged: &Judged<'_>, met: &Met) -> bool {
    let Some(remedy) = limit.remedy.as_ref().filter(|remedy| remedy.unit == RemedyUnit::Count) else { return true };
    let Some(told) = Taken::of(limit, judged, met).filter(|told| told.tells) else { return true };
    let next = (present(&limit.law) / remedy.parts.max(1.0)).floor() + 1.0;
    told.beyond(limit, met, next).is_none_or(|(_, bytes)| bytes <= told.high.left() * USABLE)
}

/// Whether the memory holds one more of a setting of which no formula tells, by what it took in the last trial before with a smaller value.
pub(crate) fn holds_one_more(limit: &Limit, at: &Judged<'_>, trials: &[Judged<'_>]) -> bool {
    let Law::Tried { value, word: None } = limit.law else { return true };
    if limit.remedy.as_ref().is_none_or(|remedy| remedy.unit != RemedyUnit::Count) {
        return true;
    }
    let number = |one: &Judged<'_>| one.trial.start.number("/at_us");
    let other = |one: &Judged<'_>| {
        let same = one.limits.iter().find(|known| known.id == limit.id)?;
        match same.law {
            Law::Tried { value: before, .. } if before < value => Some(before),
            _ => None,
        }
    };
    let in_search = |one: &&Judged<'_>| {
        matches!(one.trial.start.text("/purpose"), "" | "break" | "measure" | "counterfactual")
            && number(one) < number(at)
    };
    let earlier = trials.iter().filter(in_search).filter_map(|one| Some((one, other(one)?))).next_back();
    let most = |one: &Judged<'_>| {
        last_highest(&looks(one, &limit.subject, f64::INFINITY, None)).filter(|look| look.clients > 0.0)
    };
    let Some((earlier, before)) = earlier else { return true };
    let Some((less, more)) = most(earlier).zip(most(at)) else { return true };
    let each = (more.both() - less.both()) / (value - before);
    // Memory that may have come with the requests says nothing of the setting.
    let leaks = || served::Trials { before: earlier, after: at, proposals: &[earlier] }.named(&limit.subject).is_some();
    each <= 0.0 || more.left() * USABLE >= each || leaks()
}

/// A change whose price is told: of `limit` as it was met in `at`, its setting given this number, tested by `after`.
pub(crate) struct Priced<'a, 'e> {
    pub(crate) limit: &'a Limit,
    pub(crate) at: &'a Judged<'e>,
    pub(crate) met: Met,
    pub(crate) number: f64,
    pub(crate) after: Option<&'a Judged<'e>>,
    /// The product under test.
    pub(crate) product: &'a str,
}

impl Priced<'_, '_> {
    /// Whether there is a price: somebody looked, and clients can be counted.
    pub(crate) fn is_told(&self) -> bool {
        let told = Taken::of(self.limit, self.at, &self.met);
        let leaks = |told: &Taken| told.leaks_in(self.after, &self.limit.subject);
        told.is_some_and(|told| {
            told.tells && !leaks(&told) && told.beyond(self.limit, &self.met, self.number).is_some()
        })
    }

    /// What the events say of the price at `address`.
    pub(crate) fn expect(&self, address: &str, expected: &mut Expected) {
        let line = Some(self.at.trial.start.number);
        let told = Taken::of(self.limit, self.at, &self.met)
            .filter(|told| told.tells && !told.leaks_in(self.after, &self.limit.subject));
        let Some((told, (clients, more))) =
            told.and_then(|told| told.beyond(self.limit, &self.met, self.number).map(|beyond| (told, beyond)))
        else {
            return expected.there(address, false, "nobody looked at memory, or it counts no clients", line);
        };
        let (high, whole) = (told.high, told.high.clients + clients);
        let group = high.group.filter(|(left, _)| *left < high.machine).map(|(_, limit)| limit);
        let brings = self.limit.remedy.as_ref().is_some_and(|remedy| remedy.processes > 0.0);
        for (name, value) in [
            ("trial", Some(f64::from(self.at.trial.number))),
            ("clients", Some(high.clients)),
            ("full", Some(whole)),
            ("memory/taken", Some(high.both())),
            ("memory/kernel", high.kernel),
            ("memory/client", Some(told.client)),
            ("memory/process", told.process.filter(|_| brings)),
            ("memory/more", Some(more)),
            ("memory/left", Some(high.left())),
            ("memory/group", group),
            ("descriptors/held", Some(high.descriptors)),
            ("descriptors/more", Some(clients * told.descriptors)),
            ("behind", self.is_proxy().then(|| whole.min(self.most_passed_on()))),
        ] {
            expected.is(format!("{address}/{name}"), value, line);
        }
        self.tested(address, &told, (clients, more), expected);
    }

    /// What the events say of descriptors at `address`, where they say nothing of memory.
    pub(crate) fn expect_descriptors(&self, address: &str, expected: &mut Expected) {
        let line = Some(self.at.trial.start.number);
        let told = Taken::of(self.limit, self.at, &self.met)
            .filter(|told| !told.tells && !told.leaks && told.high.descriptors > 0.0);
        let clients = told.as_ref().and_then(|told| Some(told.beyond(self.limit, &self.met, self.number)?.0));
        let (Some(Taken { high, descriptors, .. }), Some(clients)) = (told, clients) else {
            return expected.there(address, false, "a price tells of them, or nobody looked", line);
        };
        for (name, value) in [
            ("trial", f64::from(self.at.trial.number)),
            ("clients", high.clients),
            ("full", high.clients + clients),
            ("held", high.descriptors),
            ("more", clients * descriptors),
        ] {
            expected.is(format!("{address}/{name}"), value, line);
        }
    }

    /// Requests that the changed setting passes on at once: no more than it counts, where only a client whose request is in flight counts.
    fn most_passed_on(&self) -> f64 {
        let parts = self.limit.remedy.as_ref().map_or(1.0, |remedy| remedy.parts.max(1.0));
        match at(&self.limit.law, self.number * parts) {
            Law::Slots { value, reserved, idle_cost, busy_cost, pools, .. } if idle_cost == 0.0 && busy_cost > 0.0 => {
                pools * ((value - reserved) / busy_cost + WHOLE).floor().max(0.0)
            }
            _ => f64::INFINITY,
        }
    }

    /// Whether it is the product under test, and something stands behind it.
    fn is_proxy(&self) -> bool {
        let own = [self.product, "kernel", "machine"];
        // What lets fewer through than come is told by none of the figures.
        let narrow = self.at.limits.iter().any(|one| counts_onward(one) && one.subject == self.product);
        !narrow
            && self.limit.subject == self.product
            && self.at.limits.iter().any(|one| !own.contains(&one.subject.as_str()))
    }

    fn tested(&self, address: &str, told: &Taken, (clients, more): (f64, f64), expected: &mut Expected) {
        let Some(after) = self.after else { return };
        let high = told.high;
        let seen =
            last_highest(&looks(after, &self.limit.subject, high.clients + clients, counted_by(self.limit, &self.met)));
        let seen = seen.filter(|look| look.clients > 0.0);
        let part = |look: Look| match clients > 0.0 {
            true => ((look.clients - high.clients) / clients).clamp(0.0, 1.0),
            false => 1.0,
        };
        let line = Some(after.trial.start.number);
        for (name, value) in [
            ("trial", seen.map(|_| f64::from(after.trial.number))),
            ("clients", seen.map(|look| look.clients)),
            ("taken", seen.map(|look| look.both())),
            ("predicted", seen.map(|look| high.both() + part(look) * more)),
        ] {
            expected.is(format!("{address}/tested/{name}"), value, line);
        }
        let ratio = seen.map(|look| (high.both() + part(look) * more) / look.both());
        let refuted = ratio.filter(|ratio| !(1.0 - FAR..=1.0 + FAR).contains(ratio)).map(|_| true);
        let why = "whether the prediction is more than 15 % of what was measured away from it";
        expected.word(format!("{address}/tested/refuted"), refuted, why, line);
    }
}

/// What a server took before a change and with it, at the last of the looks with most clients of each trial.
pub(crate) fn measured(
    address: &str,
    (subject, itself): (&str, Option<(&str, f64)>),
    trials: Option<(&Judged<'_>, &Judged<'_>)>,
    expected: &mut Expected,
) {
    let look =
        |one: &Judged<'_>| last_highest(&looks(one, subject, f64::INFINITY, itself)).filter(|look| look.clients > 0.0);
    let both = trials.and_then(|(before, after)| Some(((before, look(before)?), (after, look(after)?))));
    let Some((before, after)) = both else {
        return expected.there(address, false, "a price tells of it, or nobody looked at memory", None);
    };
    for (side, (judged, look)) in [("before", before), ("after", after)] {
        let line = Some(judged.trial.start.number);
        let trial = f64::from(judged.trial.number);
        let figures =
            [("trial", trial), ("clients", look.clients), ("memory", look.pss), ("descriptors", look.descriptors)];
        for (name, value) in figures {
            expected.is(format!("{address}/{side}/{name}"), value, line);
        }
    }
    expected.is(format!("{address}/left"), after.1.left(), Some(after.0.trial.start.number));
}

/// The name of the metric by which a limit's server counts its clients, and how many of these a client of the load is (0: one who comes stays).
pub(crate) fn counted_by<'l>(limit: &'l Limit, met: &Met) -> Option<(&'l str, f64)> {
    for signature in &limit.signatures {
        let Sign::Reached { metric, .. } = &signature.sign else { continue };
        if !metric.ends_with(".clients") {
            continue;
        }
        let each = match limit.law {
            Law::Slots { idle_cost, busy_cost, .. } => cost(idle_cost, busy_cost, met).map_or(0.0, |(dear, _)| dear),
            _ => 0.0,
        };
        return Some((metric, each));
    }
    None
}
