//! What a Locust master and its workers say to each other: msgpack arrays of a type, data and a worker's name (locust 2.47,
//! `locust/rpc/protocol.py` and `locust/runners.py`).

use std::collections::BTreeMap;

use rmpv::Value;
use serde::{Deserialize, Serialize};

use super::users::Users;

/// What a worker says to its master.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    /// It is there, and ready for a test.
    Ready,
    /// It is alive.
    Heartbeat(Health),
    /// It takes up other numbers of users.
    Spawning,
    /// It has taken them up.
    Spawned(Users),
    /// What its users did since it told the last time.
    Stats(Box<super::statistics::Stats>),
    /// Its users have stopped.
    Stopped,
    /// Something is wrong that its users are not to blame for.
    Exception(String),
    /// It goes.
    Quit,
}

/// How a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Health {
    /// `ready`, `spawning`, `running`, ...: Locust's states of a runner.
    pub(super) state: &'static str,
    /// Of a core, percent. Locust warns above 90: of a Python process it is the whole; of ours, the busiest thread.
    pub(super) current_cpu_usage: f64,
    /// Resident, bytes.
    pub(super) current_memory_usage: u64,
}

/// What a worker hears.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    /// The master knows it.
    Known,
    /// So many users of each class there are to be.
    Spawn(Spawn),
    /// The test is over.
    Stop,
    /// The worker is to go.
    Quit,
    /// The connection is to be made anew.
    Reconnect,
    /// The master is alive.
    Heartbeat,
    /// What does not concern this worker.
    Other,
}

/// Users that a worker is to have. Counts are absolute.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Spawn {
    /// When the master said so, by its clock: one that is older than another is out of date.
    pub(super) timestamp: f64,
    /// By class.
    pub(super) user_classes_count: BTreeMap<String, u32>,
    /// The address of the system under test, if the master names one.
    #[serde(default)]
    pub(super) host: Option<String>,
}

impl Told {
    /// As it goes over the wire, from the worker of this name.
    pub(super) fn encode(&self, worker: &str) -> Vec<u8> {
        match self {
            // Not a version: Locust then does not compare it with its own (`handle_message`).
            Told::Ready => write(&("client_ready", -1, worker)),
            Told::Heartbeat(health) => write(&("heartbeat", health, worker)),
            Told::Spawning => write(&("spawning", (), worker)),
            Told::Spawned(users) => write(&("spawning_complete", users, worker)),
            Told::Stats(stats) => write(&("stats", stats, worker)),
            Told::Stopped => write(&("client_stopped", (), worker)),
            Told::Exception(why) => {
                let data = BTreeMap::from([("msg", why.as_str()), ("traceback", "")]);
                write(&("exception", data, worker))
            }
            Told::Quit => write(&("quit", (), worker)),
        }
    }
}

fn write(what: &impl Serialize) -> Vec<u8> {
    // It fails only for types that have no form in msgpack; ours are numbers, texts, lists and maps.
    rmp_serde::to_vec_named(what).unwrap_or_default()
}

impl Heard {
    /// Reads a message; none for what is not one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Heard> {
        let (kind, data, _): (String, Value, Value) = rmp_serde::from_slice(bytes).ok()?;
        Some(match kind.as_str() {
            "ack" => Heard::Known,
            "spawn" => Heard::Spawn(rmpv::ext::from_value(data).ok()?),
            "stop" => Heard::Stop,
            "quit" => Heard::Quit,
            "reconnect" => Heard::Reconnect,
            "heartbeat" => Heard::Heartbeat,
            _ => Heard::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn master(kind: &str, data: Value) -> Vec<u8> {
        write(&(kind, data, "worker"))
    }

    #[test]
    fn what_a_master_says_is_understood() {
        let counts = Value::Map(vec![("Buy".into(), 3.into()), ("Look".into(), 0.into())]);
        let spawn = Value::Map(vec![
            ("timestamp".into(), 1.5.into()),
            ("user_classes_count".into(), counts),
            ("host".into(), Value::Nil),
            ("stop_timeout".into(), 0.0.into()),
            ("parsed_options".into(), Value::Map(vec![("num_users".into(), 5.into())])),
        ]);
        let Some(Heard::Spawn(spawn)) = Heard::decode(&master("spawn", spawn)) else { panic!() };
        assert_eq!((spawn.timestamp, spawn.host), (1.5, None));
        assert_eq!(spawn.user_classes_count, BTreeMap::from([("Buy".to_owned(), 3), ("Look".to_owned(), 0)]));
        let ack = Value::Map(vec![("index".into(), 0.into())]);
        assert_eq!(Heard::decode(&master("ack", ack)), Some(Heard::Known));
        let bare = ["stop", "quit", "reconnect", "heartbeat", "update_user_class"];
        let heard = bare.map(|kind| Heard::decode(&master(kind, Value::Nil)).unwrap());
        assert_eq!(heard, [Heard::Stop, Heard::Quit, Heard::Reconnect, Heard::Heartbeat, Heard::Other]);
        assert_eq!(Heard::decode(&master("spawn", Value::Nil)), None);
    }

    #[test]
    fn what_a_worker_says_has_locusts_form() {
        let said = |told: Told| rmp_serde::from_slice::<Value>(&told.encode("w")).unwrap().to_string();
        assert_eq!(said(Told::Ready), r#"["client_ready", -1, "w"]"#);
        assert_eq!(said(Told::Spawning), r#"["spawning", nil, "w"]"#);
        let users = Users::of(&BTreeMap::from([("Buy".to_owned(), 2), ("Look".to_owned(), 3)]));
        let text = r#"["spawning_complete", {"user_classes_count": {"Buy": 2, "Look": 3}, "user_count": 5}, "w"]"#;
        assert_eq!(said(Told::Spawned(users)), text);
        let health = Health { state: "ready", current_cpu_usage: 0.5, current_memory_usage: 7 };
        let text = r#"["heartbeat", {"state": "ready", "current_cpu_usage": 0.5, "current_memory_usage": 7}, "w"]"#;
        assert_eq!(said(Told::Heartbeat(health)), text);
        let text = r#"["exception", {"msg": "why", "traceback": ""}, "w"]"#;
        assert_eq!(said(Told::Exception("why".to_owned())), text);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Heard::decode(&bytes);
        }
    }
}
