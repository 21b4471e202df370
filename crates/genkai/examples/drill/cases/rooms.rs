//! Chat rooms over Redis: limits of Redis's own, and what looks alike; on every server that can be a node.

use super::{Case, ROOMS};

/// Two nodes that share rooms, for about three seconds.
const SHARED: &str = "--nodes 2 --rooms 4 --members 5 --messages 10 --message-every 250ms --enter-every 50ms";
/// Servers whose nodes share rooms over Redis.
const NODES: [&str; 5] = ["embedded", "node-ws", "socketio", "tomcat", "jetty"];

const CLIENTS: &str = "it counts Redis's clients, not the load's";
const BYTES: &str = "it counts bytes that wait, not clients";

pub(super) fn cases() -> Vec<Case> {
    NODES.into_iter().flat_map(on).collect()
}

fn on(server: &'static str) -> Vec<Case> {
    let named = |name: &str| if server == "embedded" { name.to_owned() } else { format!("{name}-{server}") };
    let of = if server == "embedded" { String::new() } else { format!(" (nodes: {server})") };
    let case = |name: &str, fault: &str| {
        Case::of(ROOMS, named(name), format!("{fault}{of}")).flags(SHARED).flags(format!("--server {server}"))
    };
    let mut all = vec![
        case("redis-output-buffer", "client-output-buffer-limit pubsub 32k, messages of 64 kB")
            .flags(if server == "embedded" { "--message-size 64k" } else { "--message-size 48k" })
            .words(["--redis-set", "client-output-buffer-limit=pubsub 32k 0 0"])
            .cause("redis.client-output-buffer-limit pubsub")
            .off(BYTES),
        case("redis-healthy", "nothing: rooms over Redis"),
    ];
    if server == "embedded" {
        all.extend([
            case(
                "redis-maxclients",
                "others take all 12 clients of Redis's maxclients when its subscribers lose their connections",
            )
            .flags("--redis-set maxclients=12 --fault fill-redis=1s")
            .cause("redis.maxclients")
            .off(CLIENTS),
            case("redis-cut", "Redis's subscribers lose their connections, by no limit of its own")
                .flags("--fault cut-redis=700ms --fault cut-redis=1s --fault cut-redis=1300ms --fault lose-every=9")
                .nameless(),
            case("redis-just-enough", "nothing: as many clients as maxclients allows")
                .flags("--redis-set maxclients=5"),
        ]);
    }
    all
}
