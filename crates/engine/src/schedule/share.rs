//! Which part of a load each thread makes.

use genkai_model::http2::Http2;
use genkai_model::load::{Arrivals, Load, Protocol, Spacing};
use genkai_model::rooms::Rooms;
use genkai_model::stage::{self, MOST_STAGES, Stage};
use genkai_model::transport::Transport;
use genkai_model::units::Spread;
use genkai_model::websocket::WebSocket;
use genkai_wire::identity::CONNECTIONS;

use super::pacer::Pacer;
use super::profile::Profile;
use super::turns::Turns;
use crate::error::EngineError;

/// The part of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Number of the thread, from 0.
    pub(crate) thread: u32,
    /// Number of threads.
    pub(crate) threads: u32,
    /// When it starts users, or plans requests.
    pub(crate) pacer: Pacer,
    /// What an instant of the pacer means.
    pub(crate) model: Model,
    /// When it opens connections, where those are not opened by need (WebSocket, open model).
    pub(crate) openings: Pacer,
    /// Requests this thread may make; none for no bound. Each thread has its own, so that nothing is shared.
    pub(crate) quota: Option<u64>,
    /// Which requests of an order that all threads go through are its own.
    pub(crate) turns: Turns,
}

/// What arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Model {
    /// Users who pause this long between a response and the next request.
    Closed {
        /// The pause.
        think: Spread,
    },
    /// Requests, on at most so many connections.
    Open {
        /// Connections of this thread.
        connections: u32,
    },
}

/// Which part of a load a process makes: every so many-th of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of the process, from 0.
    pub process: u16,
    /// Processes there are.
    pub of: u16,
}

impl Share {
    /// Connections there may be.
    pub(crate) fn connections(&self) -> u32 {
        match self.model {
            Model::Open { connections } => connections,
            Model::Closed { .. } => u32::MAX,
        }
    }

    /// Number of the `n`-th WebSocket connection of the thread, one of a kind in the load.
    pub(crate) fn connection_number(&self, n: usize) -> u32 {
        self.thread << TALK_BITS | n as u32
    }
}

impl Part {
    /// All of it.
    pub const WHOLE: Part = Part { process: 0, of: 1 };

    /// The shares of this part. As threads are numbered through all processes, what a thread does is the same
    /// however many threads a process has.
    pub(crate) fn shares(self, load: &Load) -> Result<Vec<Share>, EngineError> {
        let mine = |share: &Share| share.thread % u32::from(self.of) == u32::from(self.process);
        Ok(split(load, self.of)?.into_iter().filter(mine).collect())
    }
}

/// How many of the load's processes have something to do: never more than there are users or connections (or requests).
///
/// # Errors
/// When the load contradicts itself.
pub fn processes(load: &Load) -> Result<u16, EngineError> {
    let shares = split(load, load.scale.processes)?.len();
    Ok(u16::try_from(shares).unwrap_or(u16::MAX).min(load.scale.processes))
}

/// Splits `load` over the threads of so many processes: never more than there are users or connections (or requests) to
/// share.
fn split(load: &Load, processes: u16) -> Result<Vec<Share>, EngineError> {
    check(load, processes)?;
    let profile = Profile::of(load);
    let (total, spacing) = match load.arrivals {
        // As many as may come to be asked for.
        Arrivals::Users { .. } if load.asked_by.is_some() => (u32::MAX, Spacing::Uniform),
        Arrivals::Users { count, .. } if load.stages.is_empty() => (count, Spacing::Uniform),
        Arrivals::Users { .. } => (stage::peak(&load.stages).ceil() as u32, Spacing::Uniform),
        Arrivals::Rate { spacing, connections, .. } => (connections, spacing),
    };
    let requests = load.stop.requests.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX));
    // Users that share a connection are in one thread.
    let apart = match (&load.protocol, load.arrivals) {
        (Protocol::Http2(http2), Arrivals::Users { .. }) => total.div_ceil(http2.streams),
        _ => total,
    };
    let threads = (u32::from(load.threads) * u32::from(processes)).min(apart).min(requests);
    let opening = match &load.protocol {
        Protocol::WebSocket(WebSocket { open_rate: Some(rate), .. }) => Profile::rate(*rate, 0),
        _ => Profile::rate(FASTEST, 0),
    };
    let part = |thread: u32| total / threads + u32::from(thread < total % threads);
    let mut before = 0;
    let share = |thread: u32| {
        let size = part(thread);
        let turns = match load.arrivals {
            Arrivals::Users { .. } => Turns { of: total, from: before, size },
            // As the pacer shares out arrivals.
            Arrivals::Rate { .. } => Turns { of: threads, from: thread, size: 1 },
        };
        let quota = load.stop.requests.map(|all| match load.arrivals {
            _ if load.pages.is_some() => turns.below(all),
            Arrivals::Users { .. } => portion(all, before + size, total) - portion(all, before, total),
            // As the pacer shares out arrivals, however many connections the thread has.
            Arrivals::Rate { .. } => all / u64::from(threads) + u64::from(u64::from(thread) < all % u64::from(threads)),
        });
        before += size;
        let place = (thread, threads);
        let (model, pacer) = match load.arrivals {
            Arrivals::Users { think, .. } => (Model::Closed { think }, Pacer::users(profile.clone(), place)),
            Arrivals::Rate { .. } => {
                let pacer = Pacer::rate(profile.clone(), spacing, load.seed, place, u64::MAX);
                (Model::Open { connections: size }, pacer)
            }
        };
        let openings = Pacer::rate(opening.clone(), Spacing::Uniform, load.seed, place, u64::from(size));
        Share { thread, threads, pacer, openings, model, quota, turns }
    };
    Ok((0..threads).map(share).collect())
}

/// `all * part / total`, rounded down.
fn portion(all: u64, part: u32, total: u32) -> u64 {
    (u128::from(all) * u128::from(part) / u128::from(total)) as u64
}

/// Fastest rate taken: a planned request every 100 ns is beyond what any machine sends.
const FASTEST: f64 = 1e7;

/// WebSocket connections that can be told apart in one thread.
const TALK_BITS: u32 = 22;
const MOST_TALKS: u32 = 1 << TALK_BITS;
/// Threads, of all processes, that have numbers of their own.
const MOST_TALKERS: u32 = CONNECTIONS >> TALK_BITS;
const _: () = assert!(MOST_TALKERS == 256, "as the message below says");

/// Whether connections are only held.
fn holds(load: &Load) -> bool {
    matches!(&load.protocol, Protocol::WebSocket(WebSocket { message: None, .. }))
}

fn rooms(load: &Load) -> Option<&Rooms> {
    match &load.protocol {
        Protocol::WebSocket(websocket) => websocket.rooms.as_ref(),
        Protocol::Http1 | Protocol::Http2(_) => None,
    }
}

fn opens_out_of(load: &Load, range: impl Fn(f64) -> bool) -> bool {
    matches!(&load.protocol, Protocol::WebSocket(WebSocket { open_rate: Some(rate), .. }) if !range(*rate))
}

/// Whether stages cannot be made.
fn impossible(stages: &[Stage]) -> bool {
    let in_range = |level: f64| level.is_finite() && (0.0..=FASTEST).contains(&level);
    let none = stage::lasting(stages).0 == 0 || stage::peak(stages) == 0.0;
    stages.len() > MOST_STAGES || none || stages.iter().any(|stage| !in_range(stage.from) || !in_range(stage.to))
}

fn check(load: &Load, processes: u16) -> Result<(), EngineError> {
    let in_range = |rate: f64| rate.is_finite() && rate > 0.0 && rate <= FASTEST;
    let fault = match load.arrivals {
        _ if load.addresses.is_empty() && !matches!(load.transport, Transport::Unix { .. }) => {
            "the load has no address to connect to"
        }
        _ if load.threads == 0 => "the load has no threads",
        _ if processes == 0 => "the load has no processes",
        _ if load.tick.0 < 1_000_000 => "the report interval must be at least 1ms",
        _ if load.timeout.0 == 0 => "the timeout must be longer than zero",
        _ if load.stop.after.0 == 0 => "the load must last longer than zero",
        _ if load.stop.requests == Some(0) => "the load must make at least one request",
        _ if matches!(load.protocol, Protocol::Http2(Http2 { streams: 0 })) => {
            "a connection carries at least one stream"
        }
        _ if load.request.method == "CONNECT" => "CONNECT makes a tunnel, not a load",
        _ if !load.stages.is_empty() && impossible(&load.stages) => {
            "stages must last, reach a level above 0, and stay below 10,000,000; there can be at most 1,000"
        }
        Arrivals::Rate { .. } if rooms(load).is_some() => "chat rooms have members: give users",
        _ if rooms(load).is_some() && holds(load) => "members of chat rooms say something: give the size of a message",
        _ if rooms(load).is_some_and(|rooms| rooms.rooms == 0 || rooms.messages == 0) => {
            "there must be at least one chat room, and one message a member"
        }
        Arrivals::Rate { .. } if holds(load) => "a rate is of messages: give their size, or users to be held",
        _ if opens_out_of(load, in_range) => "connections must open at a rate above 0 and at most 10,000,000 a second",
        Arrivals::Users { count, .. } | Arrivals::Rate { connections: count, .. }
            if matches!(load.protocol, Protocol::WebSocket(_)) && count > MOST_TALKS =>
        {
            "there can be at most 4,194,304 WebSocket connections"
        }
        _ if matches!(load.protocol, Protocol::WebSocket(_))
            && u32::from(load.threads) * u32::from(processes) > MOST_TALKERS =>
        {
            "with WebSocket there can be at most 256 threads in all processes together"
        }
        Arrivals::Users { count: 0, .. } => "there must be at least one user",
        Arrivals::Users { spawn_rate, .. } if !in_range(spawn_rate) => {
            "the spawn rate must be above 0 and at most 10,000,000 a second"
        }
        Arrivals::Rate { connections: 0, .. } => "there must be at least one connection",
        Arrivals::Rate { per_second, .. } if !in_range(per_second) => {
            "the rate must be above 0 and at most 10,000,000 a second"
        }
        _ => return Ok(()),
    };
    Err(EngineError::Load(fault.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::load::Stop;
    use genkai_model::units::Span;
    use proptest::prelude::*;

    fn load(threads: u16, arrivals: Arrivals, requests: Option<u64>) -> Load {
        let stop = Stop { after: Span::from_secs(1), requests };
        Load { addresses: vec!["127.0.0.1:1".parse().unwrap()], arrivals, stop, threads, ..Load::users(1, 1.0) }
    }

    fn users(count: u32) -> Arrivals {
        Arrivals::Users { count, spawn_rate: 10.0, think: Spread::default() }
    }

    proptest! {
        #[test]
        fn shares_add_up(count in 1u32..500, threads in 1u16..9, requests in proptest::option::of(1u64..10_000)) {
            let shares = split(&load(threads, users(count), requests), 1).unwrap();
            prop_assert!(shares.len() <= usize::from(threads));
            let started: usize = shares.iter().map(|s| s.pacer.clone().count()).sum();
            prop_assert_eq!(started, count as usize);
            if let Some(all) = requests {
                prop_assert_eq!(shares.iter().map(|s| s.quota.unwrap()).sum::<u64>(), all);
            }
            let rate = Arrivals::Rate { per_second: 5.0, ramp: Span(0), spacing: Spacing::Uniform, connections: count };
            let connections: u32 = split(&load(threads, rate, requests), 1).unwrap().iter()
                .map(|s| match s.model { Model::Open { connections } => connections, Model::Closed { .. } => 0 }).sum();
            prop_assert_eq!(connections, count);
        }
    }

    fn arrivals(closed: bool, count: u32, poisson: bool) -> Arrivals {
        let spacing = if poisson { Spacing::Poisson } else { Spacing::Uniform };
        let rate = Arrivals::Rate { per_second: 700.0, ramp: Span::from_millis(300), spacing, connections: count };
        if closed { users(count) } else { rate }
    }

    /// What a share will do: thread, planned instants (of the first second), openings, connections, quota.
    type Deeds = (u32, Vec<u64>, Vec<u64>, u32, Option<u64>);

    fn deeds(shares: &[Share]) -> Vec<Deeds> {
        let of = |s: &Share| {
            let planned = s.pacer.clone().map(|arrival| arrival.at).take_while(|at| *at < 1_000_000_000).collect();
            let connections = match s.model {
                Model::Open { connections } => connections,
                Model::Closed { .. } => 0,
            };
            (s.thread, planned, s.openings.clone().map(|arrival| arrival.at).collect(), connections, s.quota)
        };
        let mut all: Vec<_> = shares.iter().map(of).collect();
        all.sort();
        all
    }

    proptest! {
        /// However a load is spread over processes, it is the load that one process with all the threads makes: users,
        /// planned instants, connections and requests, each once and to the nanosecond.
        #[test]
        fn processes_share_out_exactly_the_load(
            closed: bool, poisson: bool, count in 1u32..400, threads in 1u16..5, of in 1u16..9,
            requests in proptest::option::of(1u64..5_000),
        ) {
            let one = load(threads * of, arrivals(closed, count, poisson), requests);
            let mut many = load(threads, arrivals(closed, count, poisson), requests);
            many.scale.processes = of;
            let parts: Vec<Vec<Share>> =
                (0..of).map(|process| Part { process, of }.shares(&many).unwrap()).collect();
            prop_assert_eq!(deeds(&parts.concat()), deeds(&Part::WHOLE.shares(&one).unwrap()));
            let busy = parts.iter().filter(|part| !part.is_empty()).count();
            prop_assert_eq!(busy, usize::from(processes(&many).unwrap()));
            prop_assert!(parts.iter().take(busy).all(|part| !part.is_empty() && part.len() <= usize::from(threads)));
            if let Some(all) = requests {
                prop_assert_eq!(parts.concat().iter().map(|s| s.quota.unwrap()).sum::<u64>(), all);
            }
        }
    }

    #[test]
    fn a_thread_may_make_as_many_requests_as_arrive_at_it() {
        let rate = Arrivals::Rate { per_second: 1000.0, ramp: Span(0), spacing: Spacing::Uniform, connections: 10 };
        let shares = split(&load(4, rate, Some(2002)), 1).unwrap();
        assert_eq!(shares.iter().map(|s| s.quota.unwrap()).collect::<Vec<_>>(), [501, 501, 500, 500]);
        // The 2,002nd request of the whole load is planned at 2.001 s.
        for share in shares {
            let until = share.pacer.take_while(|arrival| arrival.at <= 2_001_000_000).count();
            assert_eq!(until as u64, share.quota.unwrap());
        }
    }

    #[test]
    fn impossible_loads_are_refused() {
        let fails = |load: Load| assert!(matches!(split(&load, 1), Err(EngineError::Load(_))));
        fails(load(0, users(1), None));
        fails(load(1, users(0), None));
        fails(load(1, users(1), Some(0)));
        fails(load(1, Arrivals::Users { count: 1, spawn_rate: f64::INFINITY, think: Spread::default() }, None));
        let rate = |per_second, connections| Arrivals::Rate {
            per_second,
            ramp: Span(0),
            spacing: Spacing::Uniform,
            connections,
        };
        fails(load(1, rate(f64::NAN, 1), None));
        fails(load(1, rate(1.0, 0), None));
        fails(Load { addresses: vec![], ..load(1, users(1), None) });
        fails(Load { protocol: Protocol::Http2(Http2 { streams: 0 }), ..load(1, users(1), None) });
        fails(Load { timeout: Span(0), ..load(1, users(1), None) });
    }
}
