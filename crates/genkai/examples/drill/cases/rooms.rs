//! Chat rooms over Redis: limits of Redis's own, and what looks alike.

use super::Expect::{Cause, Holds};
use super::{Case, PLAIN, ROOMS};

/// Two nodes that share rooms, for about three seconds.
macro_rules! shared {
    ($rest:literal) => {
        concat!("--nodes 2 --rooms 4 --members 5 --messages 10 --message-every 250ms --enter-every 50ms ", $rest)
    };
}

const CLIENTS: &str = "it counts Redis's clients, not the load's";
const BYTES: &str = "it counts bytes that wait, not clients";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "redis-maxclients",
        fault: "others take all 12 clients of Redis's maxclients when its subscribers lose their connections",
        product: ROOMS,
        flags: shared!("--redis-set maxclients=12 --fault fill-redis=1s"),
        expect: Cause(&["redis.maxclients"]),
        off: CLIENTS,
        ..PLAIN
    },
    Case {
        name: "redis-output-buffer",
        fault: "client-output-buffer-limit pubsub 32k, messages of 64 kB",
        product: ROOMS,
        flags: shared!("--message-size 64k"),
        more: &["--redis-set", "client-output-buffer-limit=pubsub 32k 0 0"],
        expect: Cause(&["redis.client-output-buffer-limit pubsub"]),
        off: BYTES,
        ..PLAIN
    },
    Case {
        name: "redis-cut",
        fault: "Redis's subscribers lose their connections, by no limit of its own",
        product: ROOMS,
        flags: shared!("--fault cut-redis=700ms --fault cut-redis=1s --fault cut-redis=1300ms --fault lose-every=9"),
        expect: Cause(&[]),
        ..PLAIN
    },
    Case {
        name: "redis-healthy",
        fault: "nothing: as many clients as maxclients allows",
        product: ROOMS,
        flags: shared!("--redis-set maxclients=5"),
        expect: Holds,
        ..PLAIN
    },
];
