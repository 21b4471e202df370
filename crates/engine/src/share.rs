//! Which part of a load each thread makes.

use genkai_model::load::{Arrivals, Load, Protocol, Spacing};
use genkai_model::rooms::Rooms;
use genkai_model::transport::Transport;
use genkai_model::units::Spread;
use genkai_model::websocket::WebSocket;

use crate::EngineError;
use crate::pacer::{Curve, Level, Pacer};
use crate::websocket::CONNECTIONS;

/// The part of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Number of the thread, from 0.
    pub(crate) thread: u32,
    /// Threads of the load.
    pub(crate) threads: u32,
    /// When it starts users, or plans requests.
    pub(crate) pacer: Pacer,
    /// What an instant of the pacer means.
    pub(crate) model: Model,
    /// When it opens connections, where those are not opened by need (WebSocket, open model).
    pub(crate) openings: Pacer,
    /// Requests this thread may make; none for no bound. Each thread has its own, so that nothing is shared.
    pub(crate) quota: Option<u64>,
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

/// Splits `load` over its threads: never more than there are users or connections (or requests) to share.
pub(crate) fn split(load: &Load) -> Result<Vec<Share>, EngineError> {
    check(load)?;
    let (total, curve, spacing) = match load.arrivals {
        Arrivals::Users { count, spawn_rate, .. } => (count, Curve { rate: spawn_rate, ramp: 0 }, Spacing::Uniform),
        Arrivals::Rate { per_second, ramp, spacing, connections } => {
            (connections, Curve { rate: per_second, ramp: ramp.0 }, spacing)
        }
    };
    let requests = load.stop.requests.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX));
    let threads = u32::from(load.threads).min(total).min(requests);
    let opening = match &load.protocol {
        Protocol::WebSocket(WebSocket { open_rate: Some(rate), .. }) => Curve { rate: *rate, ramp: 0 },
        _ => Curve { rate: FASTEST, ramp: 0 },
    };
    let part = |thread: u32| total / threads + u32::from(thread < total % threads);
    let mut before = 0;
    let share = |thread: u32| {
        let size = part(thread);
        let quota = load.stop.requests.map(|all| portion(all, before + size, total) - portion(all, before, total));
        before += size;
        let (model, most) = match load.arrivals {
            Arrivals::Users { think, .. } => (Model::Closed { think }, u64::from(size)),
            Arrivals::Rate { .. } => (Model::Open { connections: size }, u64::MAX),
        };
        let pacer = Pacer::new(curve, spacing, load.seed, thread, threads, most);
        let openings = Pacer::new(opening, Spacing::Uniform, load.seed, thread, threads, u64::from(size));
        Share { thread, threads, pacer, openings, model, quota }
    };
    Ok((0..threads).map(share).collect())
}

/// The level of `load` as a function of time.
pub(crate) fn level(load: &Load) -> Level {
    match load.arrivals {
        Arrivals::Users { count, spawn_rate, .. } => Level::Users(Curve { rate: spawn_rate, ramp: 0 }, count),
        Arrivals::Rate { per_second, ramp, .. } => Level::Rate(Curve { rate: per_second, ramp: ramp.0 }),
    }
}

/// `all * part / total`, rounded down.
fn portion(all: u64, part: u32, total: u32) -> u64 {
    (u128::from(all) * u128::from(part) / u128::from(total)) as u64
}

/// Fastest rate taken: a planned request every 100 ns is beyond what any machine sends.
const FASTEST: f64 = 1e7;

/// WebSocket connections that can be told apart in one thread.
pub(crate) const TALK_BITS: u32 = 22;
const MOST_TALKS: u32 = 1 << TALK_BITS;
const _: () = assert!(CONNECTIONS >> TALK_BITS >= 256, "every thread has numbers of its own");

/// Whether connections are only held.
fn holds(load: &Load) -> bool {
    matches!(&load.protocol, Protocol::WebSocket(WebSocket { message: None, .. }))
}

fn rooms(load: &Load) -> Option<&Rooms> {
    match &load.protocol {
        Protocol::WebSocket(websocket) => websocket.rooms.as_ref(),
        Protocol::Http1 => None,
    }
}

fn opens_out_of(load: &Load, range: impl Fn(f64) -> bool) -> bool {
    matches!(&load.protocol, Protocol::WebSocket(WebSocket { open_rate: Some(rate), .. }) if !range(*rate))
}

fn check(load: &Load) -> Result<(), EngineError> {
    let in_range = |rate: f64| rate.is_finite() && rate > 0.0 && rate <= FASTEST;
    let fault = match load.arrivals {
        _ if load.addresses.is_empty() && !matches!(load.transport, Transport::Unix { .. }) => {
            "the load has no address to connect to"
        }
        _ if load.threads == 0 => "the load has no threads",
        _ if load.tick.0 < 1_000_000 => "the report interval must be at least 1ms",
        _ if load.timeout.0 == 0 => "the timeout must be longer than zero",
        _ if load.stop.after.0 == 0 => "the load must last longer than zero",
        _ if load.stop.requests == Some(0) => "the load must make at least one request",
        _ if load.request.method == "CONNECT" => "CONNECT makes a tunnel, not a load",
        Arrivals::Rate { .. } if rooms(load).is_some() => "chat rooms have members: give users",
        _ if rooms(load).is_some() && holds(load) => "members of chat rooms say something: give the size of a message",
        _ if rooms(load).is_some_and(|rooms| rooms.rooms == 0 || rooms.messages == 0) => {
            "there must be at least one chat room, and one message a member"
        }
        Arrivals::Rate { .. } if holds(load) => "a rate is of messages: give their size, or users to be held",
        _ if opens_out_of(load, in_range) => "connections must open at a rate above 0 and at most 10,000,000 a second",
        Arrivals::Users { count, .. } | Arrivals::Rate { connections: count, .. }
            if !load.protocol.is_http1() && count > MOST_TALKS =>
        {
            "there can be at most 4,194,304 WebSocket connections in one process"
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
    use genkai_model::load::{Body, Request, Reuse, Stop};
    use genkai_model::units::Span;
    use proptest::prelude::*;

    fn load(threads: u16, arrivals: Arrivals, requests: Option<u64>) -> Load {
        Load {
            addresses: vec!["127.0.0.1:1".parse().unwrap()],
            transport: Default::default(),
            protocol: Default::default(),
            request: Request {
                method: "GET".into(),
                path: "/".into(),
                host: "a".into(),
                headers: vec![],
                body: Body::Empty,
            },
            arrivals,
            reuse: Reuse::KeepAlive,
            stop: Stop { after: Span::from_secs(1), requests },
            timeout: Span::from_secs(1),
            threads,
            tick: Span::from_secs(1),
            seed: 1,
        }
    }

    fn users(count: u32) -> Arrivals {
        Arrivals::Users { count, spawn_rate: 10.0, think: Spread::default() }
    }

    proptest! {
        #[test]
        fn shares_add_up(count in 1u32..500, threads in 1u16..9, requests in proptest::option::of(1u64..10_000)) {
            let shares = split(&load(threads, users(count), requests)).unwrap();
            prop_assert!(shares.len() <= usize::from(threads));
            let started: usize = shares.iter().map(|s| s.pacer.clone().count()).sum();
            prop_assert_eq!(started, count as usize);
            if let Some(all) = requests {
                prop_assert_eq!(shares.iter().map(|s| s.quota.unwrap()).sum::<u64>(), all);
            }
            let rate = Arrivals::Rate { per_second: 5.0, ramp: Span(0), spacing: Spacing::Uniform, connections: count };
            let connections: u32 = split(&load(threads, rate, requests)).unwrap().iter()
                .map(|s| match s.model { Model::Open { connections } => connections, Model::Closed { .. } => 0 }).sum();
            prop_assert_eq!(connections, count);
        }
    }

    #[test]
    fn impossible_loads_are_refused() {
        let fails = |load: Load| assert!(matches!(split(&load), Err(EngineError::Load(_))));
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
        fails(Load { timeout: Span(0), ..load(1, users(1), None) });
    }
}
