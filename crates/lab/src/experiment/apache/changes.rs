//! The changes of the original, which were made all at once: each alone and all together, beside the system without them.

use genkai_model::comparison::Comparison;
use genkai_model::figure::Figure;
use genkai_model::load::{Load, Protocol};
use genkai_model::objective::Objective;
use genkai_model::plan::{Plan, Study};
use genkai_model::setting::RequestedChange;
use genkai_model::units::Span;
use genkai_model::websocket::Message;

use super::searches::{TALKING, WORKERS, settings, talkers};
use super::{id, system, title};
use crate::claims::MARGIN;
use crate::compare::{self, BASELINE, Usual};
use crate::error::LabError;
use crate::experiment::{Size, procedure};

/// The changes: buffers, workers, keep-alive.
const CHANGES: [&str; 4] = [
    "ProxyReceiveBufferSize 65536 -> 131072",
    "ProxyIOBufferSize 65536 -> 131072",
    "MaxRequestWorkers 300 -> 500",
    "KeepAliveTimeout 60 -> 120",
];
/// Bytes of a message: four of the pieces in which Apache reads it by default (8 KB, httpd AP_IOBUFSIZE), so that a buffer could matter.
const MESSAGE: u64 = 32 << 10;
/// How much smaller the quick size is.
const SMALLER: u32 = 10;

/// Under how many connections.
pub(super) struct At {
    /// The part's name.
    pub(super) name: &'static str,
    connections: u32,
    quick: bool,
}

/// Connections of the original: of the trouble with threads, and of the load before and after the changes.
pub(super) const LOADS: [At; 2] = [
    At { name: "changes", connections: 500, quick: true },
    At { name: "changes-1000", connections: 1000, quick: false },
];

impl At {
    pub(super) fn in_size(&self, size: Size) -> bool {
        self.quick || size == Size::Full
    }

    pub(super) fn connections(&self, size: Size) -> u32 {
        self.connections / smaller(size)
    }
}

fn smaller(size: Size) -> u32 {
    if size == Size::Quick { SMALLER } else { 1 }
}

/// Turns and looks. Connections that hang are certain to after some 1.5 s.
fn usual(size: Size) -> Usual {
    match size {
        Size::Quick => Usual { ramp: Span::from_millis(500), hold: Span::from_secs(3), looks: vec![4, 6] },
        Size::Full => Usual { ramp: Span::from_secs(1), hold: Span::from_secs(5), looks: vec![5, 8, 12] },
    }
}

/// The comparison of the changes under so many connections; `name` is the part's.
///
/// # Errors
/// When Apache is not here, or a change cannot be made.
pub fn plan(name: &str, connections: u32, size: Size) -> Result<Plan, LabError> {
    let Usual { ramp, hold, looks } = usual(size);
    let load = load(connections, ramp);
    // Room for all workers of every contender, so that none is clamped; fewer a child in the quick size, where there are fewer.
    let small = smaller(size);
    let set = settings(&[
        ("ServerLimit", 40),
        ("ThreadsPerChild", 25 / small.min(5)),
        ("MaxRequestWorkers", WORKERS / small),
        ("KeepAliveTimeout", 60),
        ("ProxyReceiveBufferSize", 64 << 10),
        ("ProxyIOBufferSize", 64 << 10),
    ]);
    let requested: Vec<RequestedChange> = CHANGES.iter().map(|change| scaled(change, small)).collect();
    let system = system(set);
    let contenders = compare::with_changes(system.clone(), &requested, &load, true)?;
    let comparison = Comparison {
        base: Some(BASELINE.to_owned()),
        contenders,
        control: true,
        ramp,
        hold,
        looks,
        margin: MARGIN,
        // How many are served: the few connections of a turn that hang are too few failures to decide much in a short one.
        deciding: vec![Figure::Throughput],
        seed: 1,
        claim: None,
    };
    let objective = TALKING.parse::<Objective>().expect("a constant that is one");
    let plan = Plan::of(title(name, size), system, load, objective, procedure(size));
    Ok(Plan { part: Some(id(name, size)), study: Study::Compare(comparison), ..plan })
}

/// A change; workers are fewer in the quick size.
fn scaled(text: &str, small: u32) -> RequestedChange {
    let change: RequestedChange = text.parse().expect("a constant that is one");
    let fewer = |value: &str| value.parse().map_or_else(|_| value.to_owned(), |n: u32| (n / small).to_string());
    match change.setting.as_str() {
        "MaxRequestWorkers" => {
            RequestedChange { from: change.from.as_deref().map(fewer), to: fewer(&change.to), ..change }
        }
        _ => change,
    }
}

/// Users who say something every second.
fn load(connections: u32, ramp: Span) -> Load {
    let mut load = talkers(connections, f64::from(connections) / ramp.as_secs_f64(), Span::from_secs(1));
    if let Protocol::WebSocket(websocket) = &mut load.protocol {
        websocket.message = Some(Message { size: MESSAGE, binary: true });
    }
    load
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_fewer_in_the_quick_size_and_nothing_else() {
        let all: Vec<String> = CHANGES.iter().map(|change| scaled(change, SMALLER).to_string()).collect();
        assert_eq!(all[2], "MaxRequestWorkers 30 -> 50");
        assert_eq!((all[0].as_str(), all[3].as_str()), (CHANGES[0], CHANGES[3]));
        assert_eq!(scaled(CHANGES[2], 1).to_string(), CHANGES[2]);
    }

    #[test]
    fn who_hangs_is_seen_to_in_every_turn() {
        for size in [Size::Quick, Size::Full] {
            assert!(usual(size).hold >= Span::from_millis(2500), "a connection hangs when nobody got in for 1.5 s");
        }
    }
}
