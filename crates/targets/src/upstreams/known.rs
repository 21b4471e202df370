//! A server that is known by how it was started: its parts that cap it, as data, and what shows that one of them is full.

use std::collections::BTreeMap;
use std::fs;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::LogLine;
use genkai_model::limit::{Law, Limit, Origin, Signature, Strength, Symptom};
use genkai_place::endpoint::Endpoint;
use genkai_place::usage::Usage;

use super::Started;
use crate::limits::backend::queue_full;
use crate::limits::closed::closed;
use crate::limits::{SLOW, connections, counted, grew, log, reached};
use crate::product::{Cost, Served, behind};
use crate::settings::SourcedValue;

/// Requests in service, as far as its places go; after its subject.
const BUSY: &str = "busy";
/// Connections that wait to be accepted; after its subject.
const QUEUED: &str = "queued";
/// Connections on which an answer is waited for, in service or waiting somewhere in it; after its subject.
const ASKED: &str = "asked";
/// Of these, those that it has accepted, of a server that accepts whether or not a worker is free; after its subject.
const WITHIN: &str = "asked_within";
/// Connections that wait to be accepted while about as many are open as it opens; after its subject.
const UNADMITTED: &str = "unadmitted";
/// Connections that it has accepted; after its subject.
pub(super) const CONNECTIONS: &str = "connections";
/// Threads that serve requests; after its subject.
const THREADS: &str = "threads_serving";

/// A server.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// As people call it, in one word.
    pub(crate) product: &'static str,
    /// Who it is, in a few words.
    pub(crate) told: String,
    /// What caps it.
    pub(crate) parts: Vec<Part>,
    /// Whether it keeps connections open on which nothing is asked.
    pub(crate) keeps: bool,
    /// How the names of threads that serve begin (proc(5): at most 15 bytes), and how many so called do not.
    pub(crate) threads: Option<(String, u64)>,
    /// The Unix socket by which it is reached.
    pub(crate) socket: Option<String>,
    /// What a request costs when nothing else is asked, where that was tried.
    pub(crate) cost: Option<Cost>,
    /// Settings with what a message has, all of it, by which it tells that one of them was reached, where its log is read.
    pub(crate) says: &'static [(&'static str, &'static [&'static str])],
    /// What such a message must have, too, to be of what listens there; none: its log is of that alone.
    pub(crate) says_of: Option<String>,
}

/// A setting of it with its value in force.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// As the server calls it.
    pub(crate) setting: &'static str,
    /// Its value.
    pub(crate) held: SourcedValue<u64>,
    /// What it caps.
    pub(crate) caps: Caps,
    /// How the value comes about, in words; empty: as it is written.
    pub(crate) made: String,
    /// Where the law is written down.
    pub(crate) source: &'static str,
}

/// What a part caps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Caps {
    /// Requests at once; so many more may wait to be accepted.
    Requests(Option<u64>),
    /// Requests at once; at first only so many, and more when the server sees that they are needed.
    Growing(u64),
    /// Connections at once; from so many on requests are refused with 503.
    Refused,
    /// Connections at once; further ones wait to be accepted.
    Connections,
    /// Connections at once; one more is refused. How many a client takes is up to what stands before it. That all are open is no refusal: a sign
    /// of that is only what tells of one ([`super::database`]).
    Sessions,
    /// Connections of its own to a database for one user and database; who finds none free waits.
    Pool,
    /// Event loops, one in the main thread of each process that serves, which computes on one core. Who has this variable serves, where any has
    /// it: sockets may be another's, who hands connections on.
    Loops(Option<&'static str>),
    /// Requests that may wait while so many are worked on, by the setting of this name; the connection of a further one is closed. Where it is
    /// in force only in versions from some on, which these are: whether it is then shows in what the server says, not in how many there are.
    Waiting { after: (&'static str, u64), since: Option<&'static str> },
    /// Connections that wait to be accepted; under a kernel with this `net.core.somaxconn`, where that is known.
    Queue(Option<u32>),
    /// The same of a server that accepts no more than so many connections at once, by the setting of this name; under a kernel with this
    /// `net.core.somaxconn`.
    QueueAfter { open: (&'static str, u64), somaxconn: u32 },
    /// The same where the listener waits for data (tcp(7), TCP_DEFER_ACCEPT): every connection whose data is late counts as dropped, so only
    /// a queue that is seen full says something.
    DeferredQueue(Option<u32>),
}

impl Known {
    /// The same under a kernel with this `net.core.somaxconn`.
    pub(super) fn under(mut self, somaxconn: u32) -> Known {
        for part in &mut self.parts {
            if let Caps::Queue(known) | Caps::DeferredQueue(known) = &mut part.caps {
                *known = Some(somaxconn);
            }
        }
        self
    }

    /// The limit of one part.
    fn limit(&self, part: &Part, subject: &str) -> Limit {
        let Part { setting, held, source, .. } = part;
        let id = format!("{subject}.{}.{}", self.product, setting.split(' ').next().unwrap_or_default());
        let metric = |name: &str| format!("{subject}.{name}");
        let named = Limit {
            value: held.written.clone(),
            origin: held.origin.clone(),
            source: (*source).to_owned(),
            ..Limit::named(&id, self.product, setting)
        };
        match part.caps {
            Caps::Requests(queue) => self.requests(part, queue, &metric, named),
            Caps::Growing(least) => Limit {
                law: Law::Growing { least: least as f64, most: held.value as f64, full: None, wait: None },
                ..self.requests(part, None, &metric, named)
            },
            Caps::Refused => self.refused(part, &metric, named),
            Caps::Connections => Limit {
                caps: "connections that it has open at once; further ones wait to be accepted".to_owned(),
                law: connections(held.value as f64, 1.0),
                formula: format!("{} connections, idle ones too", held.value),
                signatures: self.unadmitted(held.value as f64, &metric).into(),
                symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
                ..named
            },
            Caps::Sessions => sessions(part, &metric, named),
            Caps::Pool => Limit {
                caps: "queries of one user to one database at once; further ones wait for a connection of its pool".to_owned(),
                law: Law::Unknown,
                formula: format!("{} for each user and database; how many are asked for is up to the application", held.value),
                // Whether those who are connected wait, or ask nothing, is not seen from outside.
                signatures: vec![reached(&metric(CONNECTIONS), held.value as f64 + 1.0, Strength::Consistent)],
                symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
                ..named
            },
            Caps::Loops(_) => Limit {
                caps: "one of its event loops has a core for itself all the time: what it computes for each request is the limit; more \
                       processes share it"
                    .to_owned(),
                formula: self.loops(held.value),
                signatures: vec![reached(&metric(behind::LOOP), behind::FULL, Strength::Supports)],
                symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
                ..named
            },
            Caps::Waiting { after, since } => {
                let strength = if since.is_some() { Strength::Consistent } else { Strength::Supports };
                let most = after.1.saturating_add(held.value) as f64;
                let full = reached(&metric(self.asked()), most, strength);
                let signatures = self.said(setting, subject).chain([full]).chain(closed()).collect();
                waiting(held.value, after, since, Limit { signatures, ..named })
            }
            Caps::Queue(somaxconn) => of_kernel(held.value, somaxconn, self.queue(held, false, &metric, named)),
            Caps::QueueAfter { open, somaxconn } => {
                let limit = self.queue(held, false, &metric, named);
                queue_after(held.value, open, somaxconn, self.beyond(), limit)
            }
            Caps::DeferredQueue(somaxconn) => of_kernel(held.value, somaxconn, self.queue(held, true, &metric, named)),
        }
    }

    /// Workers or threads: each serves one request at a time.
    fn requests(&self, part: &Part, queue: Option<u64>, metric: &dyn Fn(&str) -> String, named: Limit) -> Limit {
        let Part { setting, held, made, .. } = part;
        let workers = held.value as f64;
        let service = self.cost.map(|cost| cost.service.as_secs_f64().max(1e-6));
        let made = if made.is_empty() { String::new() } else { format!("{made} = ") };
        let at_once = counted(held.value, "request");
        // Where processors cannot feed all of them, they fill because each waits for its processor: the same signs, another cause.
        let strength = match self.cost {
            Some(cost) if !cost.feeds(workers) => Strength::Consistent,
            _ => Strength::Supports,
        };
        Limit {
            caps: format!(
                "requests that it works on at once; further ones wait; to lift it, raise {setting}{}, as far as processors and memory \
                 reach",
                placed(&held.origin)
            ),
            law: Law::Workers { workers, queue: queue.map(|n| n as f64), service, wait: None },
            formula: match self.cost {
                Some(cost) => format!("{made}{at_once} at once; {}", cost.in_words(workers, &held.value.to_string())),
                None => format!("{made}{at_once} at once"),
            },
            signatures: self.full(workers, strength, metric),
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
            ..named
        }
    }

    /// The sign that its log says of a setting that it was reached; none where it says nothing of it.
    fn said(&self, setting: &str, subject: &str) -> impl Iterator<Item = Signature> {
        let says = self.says.iter().any(|(known, _)| *known == setting);
        says.then(|| log(&self.saying(setting, subject), Strength::Decisive)).into_iter()
    }

    /// What a message of its log is called by which a setting is told to be reached.
    fn saying(&self, setting: &str, subject: &str) -> String {
        format!("{subject}.{}.{setting}", self.product)
    }

    /// What a line of its log is called, where it tells that a setting was reached.
    pub(crate) fn told_in(&self, line: &str, subject: &str) -> Option<String> {
        let (setting, _) = self.says.iter().find(|(_, parts)| parts.iter().all(|part| line.contains(part)))?;
        self.says_of.as_ref().is_none_or(|of| line.contains(of)).then_some(())?;
        Some(self.saying(setting, subject))
    }

    /// Connections with which one of its processes begins to refuse.
    fn refused(&self, part: &Part, metric: &dyn Fn(&str) -> String, named: Limit) -> Limit {
        let (n, processes) = (part.held.value, self.parts.iter().find(|part| matches!(part.caps, Caps::Loops(_))));
        // Which of several processes has which connection is not seen.
        let one = processes.is_none_or(|processes| processes.held.value <= 1);
        let strength = if one { Strength::Supports } else { Strength::Consistent };
        Limit {
            caps: format!(
                "connections, idle ones too, with which each of its processes begins to answer 503; to lift it, raise {}{}",
                part.setting,
                placed(&part.held.origin)
            ),
            law: Law::Unknown,
            formula: format!("503 from {n} connections on in each process: {} are served", n.saturating_sub(1)),
            signatures: vec![
                reached(&metric(ASKED), n as f64, strength),
                reached(&metric(CONNECTIONS), n as f64, strength),
            ],
            symptom: Symptom { errors: vec![ErrorKind::Status503], slow: false },
            ..named
        }
    }

    /// What shows that more are asked for than so many serve at once.
    fn full(&self, workers: f64, strength: Strength, metric: &dyn Fn(&str) -> String) -> Vec<Signature> {
        // One that has just come waits for a moment at any load.
        let waiting = (workers / 2.0).ceil();
        let mut all = vec![reached(&metric(BUSY), workers, Strength::Consistent)];
        match self.opens().map(|open| open - workers) {
            None => all.extend([
                reached(&metric(QUEUED), waiting, strength),
                reached(&metric(ASKED), workers + waiting, strength),
            ]),
            // Who waits to be accepted waits for a connection, and for no worker.
            Some(spare) if spare > 0.0 => {
                all.push(reached(&metric(WITHIN), workers + waiting.min((spare / 2.0).ceil()), strength));
            }
            // Fewer are let in than could be worked on.
            Some(_) => {}
        }
        // Why they are busy, and no cause of its own: more of them may have more of it done at once, or not.
        all.push(reached(&metric(behind::DISK), waiting, Strength::Consistent));
        all.extend(self.threads.as_ref().map(|_| reached(&metric(THREADS), workers, Strength::Consistent)));
        all
    }

    /// What shows that `most` connections are open and more are asked for. Where each has its request worked on, that others wait says so, too: of so
    /// many that come and go, some are over at any look.
    fn unadmitted(&self, most: f64, metric: &dyn Fn(&str) -> String) -> [Signature; 2] {
        let fewer = self.places().is_none_or(|workers| most <= workers as f64);
        let strength = if fewer { Strength::Supports } else { Strength::Consistent };
        let waiting = reached(&metric(UNADMITTED), (most / 2.0).ceil(), strength);
        [reached(&metric(CONNECTIONS), most, Strength::Supports), waiting]
    }

    /// Connections that it opens at once, where it accepts them whether or not a worker is free; none: that is not so.
    fn opens(&self) -> Option<f64> {
        self.parts.iter().find(|part| part.caps == Caps::Connections).map(|part| part.held.value as f64)
    }

    /// What counts the requests that are in it.
    fn asked(&self) -> &'static str {
        if self.opens().is_some() { WITHIN } else { ASKED }
    }

    fn loops(&self, loops: u64) -> String {
        let each = counted(loops, "event loop");
        match self.cost {
            Some(Cost { processor, .. }) if !processor.is_zero() => format!(
                "{each} / {:.1} ms of processor time a request (asked alone, before any load) = about {:.0} requests/s at most",
                processor.as_secs_f64() * 1e3,
                loops as f64 / processor.as_secs_f64()
            ),
            _ => format!("{each}: each runs on one core at a time"),
        }
    }

    /// What becomes of connections for which its queue has no room: a Unix socket refuses them (unix(7)).
    fn beyond(&self) -> &'static str {
        match self.socket {
            Some(_) => "connect(2) fails at once (EAGAIN): the proxy answers 502",
            None => "connections hang: the proxy answers 504",
        }
    }

    fn queue(&self, held: &SourcedValue<u64>, deferred: bool, metric: &dyn Fn(&str) -> String, named: Limit) -> Limit {
        // A Unix socket counts no drops.
        let (signatures, first) = if let Some(socket) = &self.socket {
            let held = reached(&metric(QUEUED), held.value as f64, Strength::Decisive);
            (vec![held, log(&queue_full(socket), Strength::Decisive)], ErrorKind::Status502)
        } else {
            (
                vec![match deferred {
                    true => reached(&metric(QUEUED), held.value as f64, Strength::Decisive),
                    false => grew(&metric(behind::DROPS), Strength::Decisive),
                }],
                ErrorKind::Status504,
            )
        };
        Limit {
            caps: "connections that wait to be accepted by it".to_owned(),
            formula: format!("the smaller of {} and net.core.somaxconn, + 1; beyond it {}", held.value, self.beyond()),
            signatures,
            symptom: Symptom { errors: vec![first, ErrorKind::Status502, ErrorKind::Timeout], ..SLOW },
            ..named
        }
    }

    /// Requests that it works on at once.
    fn places(&self) -> Option<u64> {
        self.parts
            .iter()
            .find(|part| matches!(part.caps, Caps::Requests(_) | Caps::Growing(_)))
            .map(|part| part.held.value)
    }
}

impl Served for Known {
    fn product(&self) -> &'static str {
        self.product
    }

    fn told(&self) -> String {
        let of = |part: &Part| match part.caps {
            Caps::Queue(_) | Caps::QueueAfter { .. } | Caps::DeferredQueue(_) | Caps::Waiting { .. } => None,
            _ => Some(format!("{} {}{}", part.setting, part.held.written, placed(&part.held.origin))),
        };
        let parts: Vec<String> = self.parts.iter().filter_map(of).collect();
        format!("{}, {}", self.told, parts.join(", "))
    }

    fn loops(&self, at: &Endpoint, usage: &Usage) -> Option<Vec<u32>> {
        let variable =
            self.parts.iter().find_map(|part| if let Caps::Loops(of) = part.caps { Some(of) } else { None })?;
        let all = || usage.processes.iter().map(|one| one.pid);
        let has = |pid: &u32| variable.is_some_and(|name| Started::of(*pid).variable(name).is_some());
        let workers: Vec<u32> = all().filter(has).collect();
        if workers.is_empty() { at.holders(all()) } else { Some(workers) }
    }

    fn limits(&self, subject: &str) -> Vec<Limit> {
        self.parts.iter().map(|part| self.limit(part, subject)).collect()
    }

    fn costs(&mut self, cost: Cost) {
        self.cost = Some(cost);
    }

    fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64> {
        let mut seen = BTreeMap::new();
        let mut note = |name: &str, value: Option<u64>| seen.extend(value.map(|value| (name.to_owned(), value as f64)));
        let asked = self.cost.and_then(|cost| endpoint.asked(cost.service));
        note(ASKED, asked);
        if let Some(connections) = endpoint.connections() {
            note(QUEUED, Some(connections.waiting));
            note(CONNECTIONS, Some(connections.accepted));
            if let Some(open) = self.opens() {
                let about = connections.accepted as f64 * 2.0 >= open;
                note(UNADMITTED, Some(if about { connections.waiting } else { 0 }));
                note(WITHIN, asked.map(|n| n.saturating_sub(connections.waiting)));
            }
            let busy = if self.keeps {
                asked.map(|n| n.saturating_sub(connections.waiting))
            } else {
                Some(connections.accepted)
            };
            note(BUSY, self.places().zip(busy).map(|(places, busy)| busy.min(places)));
        }
        note(THREADS, self.threads.as_ref().map(|(name, others)| called(usage, name).saturating_sub(*others)));
        seen
    }

    fn logs(&mut self, _: &str) -> Vec<LogLine> {
        Vec::new()
    }
}

/// A queue of connections that wait to be accepted, as long as the kernel makes it: it holds one more (sk_acceptq_is_full, include/net/sock.h).
fn of_kernel(queue: u64, somaxconn: Option<u32>, limit: Limit) -> Limit {
    let law = somaxconn.map(|most| Law::Backlog { value: queue.min(u64::from(most)) as f64 + 1.0 });
    Limit { law: law.unwrap_or(Law::Unknown), ..limit }
}

/// Requests that may wait for those `before` them, which are `working`'s: the connection of a further one is closed without an answer.
fn waiting(queue: u64, (working, before): (&str, u64), since: Option<&str>, limit: Limit) -> Limit {
    let since = since.map(|versions| format!(" ({versions}; earlier ones pass over it)")).unwrap_or_default();
    Limit {
        caps: format!(
            "requests that wait while {working} {before} of them are worked on; the connection of a further one is closed without an answer"
        ),
        law: Law::Slots {
            value: queue as f64,
            reserved: -(before as f64),
            idle_cost: 0.0,
            busy_cost: 1.0,
            pools: 1.0,
            soft: 1.0,
        },
        formula: format!(
            "{working} {before} + {queue} = {} requests at once; beyond it the connection is closed, and the proxy answers 502{since}",
            before.saturating_add(queue)
        ),
        symptom: Symptom { errors: vec![ErrorKind::Status502, ErrorKind::Status503], slow: false },
        ..limit
    }
}

/// The queue of a server that accepts no more than `most` connections, which is `open`'s: it fills once they are open, and holds one more than the
/// kernel says (sk_acceptq_is_full, include/net/sock.h).
fn queue_after(queue: u64, (open, most): (&str, u64), somaxconn: u32, beyond: &str, limit: Limit) -> Limit {
    let (held, before) = (queue.min(u64::from(somaxconn)) as f64, most as f64 + 1.0);
    Limit {
        caps: format!(
            "connections that wait to be accepted by it: once {open} {most} of them are open, or while it accepts none"
        ),
        law: Law::Slots { value: held, reserved: -before, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 },
        formula: format!(
            "{open} {most} + the smaller of {queue} and net.core.somaxconn {somaxconn} + 1 = {} requests at once; beyond it {beyond}",
            held + before
        ),
        ..limit
    }
}

/// What an application answers that has no connection.
pub(crate) const ANSWERED: [ErrorKind; 3] = [ErrorKind::Status500, ErrorKind::Status503, ErrorKind::Status502];

/// Connections of a database, of which those before it open as many as they see fit.
fn sessions(part: &Part, metric: &dyn Fn(&str) -> String, named: Limit) -> Limit {
    let Part { setting, held, made, .. } = part;
    let made = if made.is_empty() { String::new() } else { format!("{made}; ") };
    Limit {
        caps: format!(
            "connections that it may have at once, and one more would be refused; to lift it, raise {setting}{}, or have those before it open fewer",
            placed(&held.origin)
        ),
        law: Law::Unknown,
        formula: format!("{made}how many connections a request takes is up to the application"),
        signatures: vec![reached(&metric(behind::DISK), 1.0, Strength::Consistent)],
        symptom: Symptom { errors: ANSWERED.to_vec(), slow: false },
        ..named
    }
}

/// Threads whose name begins so.
fn called(usage: &Usage, name: &str) -> u64 {
    let tasks = |pid: u32| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = usage.processes.iter().flat_map(|one| tasks(one.pid)).map(|task| task.path().join("comm"));
    names.filter_map(|path| fs::read_to_string(path).ok()).filter(|text| text.starts_with(name)).count() as u64
}

/// Where a value stands, in brackets; empty for a default.
pub(crate) fn placed(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line } => format!(" ({}:{line})", path.display()),
        Origin::Machine(place) => format!(" ({place})"),
        _ => String::new(),
    }
}
