//! What a Locust master and its workers say to each other: msgpack arrays of a type, data and a worker's name (locust 2.47,
//! `locust/rpc/protocol.py` and `locust/runners.py`).

use std::collections::BTreeMap;

use rmpv::Value;
use serde::{Deserialize, Serialize};

use super::stats::Stats;
use super::users::Users;

/// What a worker says to its master.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkerMessage {
    /// It is there, and ready for a test.
    Ready,
    /// It is alive.
    Heartbeat(Health),
    /// It takes up other numbers of users.
    Spawning,
    /// It has taken them up.
    Spawned(Users),
    /// What its users did since it told the last time.
    Stats(Box<Stats>),
    /// Its users have stopped.
    Stopped,
    /// Something is wrong that its users are not to blame for.
    Exception(String),
    /// It goes.
    Quit,
}

/// How a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Health {
    /// `ready`, `spawning`, `running`, ...: Locust's states of a runner.
    pub(crate) state: &'static str,
    /// Of a core, percent. Locust warns above 90: of a Python process it is the whole; of ours, the busiest thread.
    pub(crate) current_cpu_usage: f64,
    /// Resident, bytes.
    pub(crate) current_memory_usage: u64,
}

/// What a worker hears.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MasterMessage {
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
pub(crate) struct Spawn {
    /// When the master said so, by its clock: one that is older than another is out of date.
    pub(crate) timestamp: f64,
    /// By class.
    pub(crate) user_classes_count: BTreeMap<String, u32>,
    /// The address of the system under test, if the master names one.
    #[serde(default)]
    pub(crate) host: Option<String>,
}

/// What a master says to a worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// It is known, as the one of this number.
    Known(usize),
    /// So many users of each class there are to be at this address; absolute counts, and when that was said (seconds of the epoch).
    Spawn { at: f64, classes: BTreeMap<String, u32>, host: String },
    /// The test is over.
    Stop,
    /// The worker is to go.
    Quit,
    /// The master is alive.
    Heartbeat,
}

/// What a master hears.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Report {
    /// A worker is ready for a test; its version, where it tells one.
    Ready(Option<String>),
    /// It is alive, and its process uses so much of a core (percent).
    Heartbeat(f64),
    /// It has taken up other numbers of users.
    Spawned(Users),
    /// What its users did since it told the last time.
    Stats(Box<Stats>),
    /// Its users have stopped.
    Stopped,
    /// A user has raised an exception that is no failed request.
    Exception(String),
    /// It goes.
    Quit,
    /// What does not concern this master.
    Other,
}

impl Order {
    /// As it goes over the wire, to the worker of this name.
    pub(crate) fn encode(&self, worker: &str) -> Vec<u8> {
        match self {
            Order::Known(index) => write(&("ack", BTreeMap::from([("index", index)]), worker)),
            Order::Spawn { at, classes, host } => {
                let (stop_timeout, parsed_options) = (0.0, BTreeMap::new());
                let order =
                    SpawnOrder { timestamp: *at, user_classes_count: classes, host, stop_timeout, parsed_options };
                write(&("spawn", order, worker))
            }
            Order::Stop => write(&("stop", (), worker)),
            Order::Quit => write(&("quit", (), worker)),
            Order::Heartbeat => write(&("heartbeat", (), worker)),
        }
    }
}

impl Report {
    /// Reads a message.
    ///
    /// # Errors
    /// What is wrong with it, where it is none of Locust 2.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Report, String> {
        let read = |e: &dyn std::fmt::Display| format!("{e}");
        let (kind, data, _): (String, Value, Value) = rmp_serde::from_slice(bytes).map_err(|e| read(&e))?;
        let wrong = |e: rmpv::ext::Error| format!("`{kind}`: {e}");
        Ok(match kind.as_str() {
            "client_ready" => Report::Ready(data.as_str().map(str::to_owned)),
            "heartbeat" => Report::Heartbeat(field(&data, "current_cpu_usage").and_then(Value::as_f64).unwrap_or(0.0)),
            "spawning_complete" => Report::Spawned(rmpv::ext::from_value(data).map_err(wrong)?),
            "stats" => Report::Stats(Box::new(rmpv::ext::from_value(data).map_err(wrong)?)),
            "client_stopped" => Report::Stopped,
            "exception" => {
                Report::Exception(field(&data, "msg").and_then(Value::as_str).unwrap_or_default().to_owned())
            }
            "quit" => Report::Quit,
            _ => Report::Other,
        })
    }
}

/// A field of a map.
fn field<'v>(data: &'v Value, name: &str) -> Option<&'v Value> {
    data.as_map()?.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

/// `spawn` as a master says it. Locust's workers expect all of it.
#[derive(Serialize)]
struct SpawnOrder<'a> {
    timestamp: f64,
    user_classes_count: &'a BTreeMap<String, u32>,
    host: &'a str,
    /// Seconds that users have to finish their tasks at the end.
    stop_timeout: f64,
    /// Flags of the master that the file itself has defined: none.
    parsed_options: BTreeMap<String, String>,
}

impl WorkerMessage {
    /// As it goes over the wire, from the worker of this name.
    pub(crate) fn encode(&self, worker: &str) -> Vec<u8> {
        match self {
            // Not a version: Locust then does not compare it with its own (`handle_message`).
            WorkerMessage::Ready => write(&("client_ready", -1, worker)),
            WorkerMessage::Heartbeat(health) => write(&("heartbeat", health, worker)),
            WorkerMessage::Spawning => write(&("spawning", (), worker)),
            WorkerMessage::Spawned(users) => write(&("spawning_complete", users, worker)),
            WorkerMessage::Stats(stats) => write(&("stats", stats, worker)),
            WorkerMessage::Stopped => write(&("client_stopped", (), worker)),
            WorkerMessage::Exception(why) => {
                let data = BTreeMap::from([("msg", why.as_str()), ("traceback", "")]);
                write(&("exception", data, worker))
            }
            WorkerMessage::Quit => write(&("quit", (), worker)),
        }
    }
}

fn write(what: &impl Serialize) -> Vec<u8> {
    // It fails only for types that have no form in msgpack; ours are numbers, texts, lists and maps.
    rmp_serde::to_vec_named(what).unwrap_or_default()
}

impl MasterMessage {
    /// Reads a message; none for what is not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<MasterMessage> {
        let (kind, data, _): (String, Value, Value) = rmp_serde::from_slice(bytes).ok()?;
        Some(match kind.as_str() {
            "ack" => MasterMessage::Known,
            "spawn" => MasterMessage::Spawn(rmpv::ext::from_value(data).ok()?),
            "stop" => MasterMessage::Stop,
            "quit" => MasterMessage::Quit,
            "reconnect" => MasterMessage::Reconnect,
            "heartbeat" => MasterMessage::Heartbeat,
            _ => MasterMessage::Other,
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
        let Some(MasterMessage::Spawn(spawn)) = MasterMessage::decode(&master("spawn", spawn)) else { panic!() };
        assert_eq!((spawn.timestamp, spawn.host), (1.5, None));
        assert_eq!(spawn.user_classes_count, BTreeMap::from([("Buy".to_owned(), 3), ("Look".to_owned(), 0)]));
        let ack = Value::Map(vec![("index".into(), 0.into())]);
        assert_eq!(MasterMessage::decode(&master("ack", ack)), Some(MasterMessage::Known));
        let bare = ["stop", "quit", "reconnect", "heartbeat", "update_user_class"];
        let heard = bare.map(|kind| MasterMessage::decode(&master(kind, Value::Nil)).unwrap());
        assert_eq!(
            heard,
            [
                MasterMessage::Stop,
                MasterMessage::Quit,
                MasterMessage::Reconnect,
                MasterMessage::Heartbeat,
                MasterMessage::Other
            ]
        );
        assert_eq!(MasterMessage::decode(&master("spawn", Value::Nil)), None);
    }

    #[test]
    fn what_a_worker_says_has_locusts_form() {
        let said = |told: WorkerMessage| rmp_serde::from_slice::<Value>(&told.encode("w")).unwrap().to_string();
        assert_eq!(said(WorkerMessage::Ready), r#"["client_ready", -1, "w"]"#);
        assert_eq!(said(WorkerMessage::Spawning), r#"["spawning", nil, "w"]"#);
        let users = Users::of(&BTreeMap::from([("Buy".to_owned(), 2), ("Look".to_owned(), 3)]));
        let text = r#"["spawning_complete", {"user_classes_count": {"Buy": 2, "Look": 3}, "user_count": 5}, "w"]"#;
        assert_eq!(said(WorkerMessage::Spawned(users)), text);
        let health = Health { state: "ready", current_cpu_usage: 0.5, current_memory_usage: 7 };
        let text = r#"["heartbeat", {"state": "ready", "current_cpu_usage": 0.5, "current_memory_usage": 7}, "w"]"#;
        assert_eq!(said(WorkerMessage::Heartbeat(health)), text);
        let text = r#"["exception", {"msg": "why", "traceback": ""}, "w"]"#;
        assert_eq!(said(WorkerMessage::Exception("why".to_owned())), text);
    }

    #[test]
    fn a_master_is_understood_by_its_workers_and_understands_them() {
        let classes = BTreeMap::from([("Buy".to_owned(), 2)]);
        let order = Order::Spawn { at: 2.5, classes: classes.clone(), host: "http://127.0.0.1:8080".to_owned() };
        let Some(MasterMessage::Spawn(spawn)) = MasterMessage::decode(&order.encode("w")) else { panic!() };
        assert_eq!((spawn.timestamp, spawn.user_classes_count), (2.5, classes.clone()));
        assert_eq!(spawn.host.as_deref(), Some("http://127.0.0.1:8080"));
        let others = [Order::Known(3), Order::Stop, Order::Quit, Order::Heartbeat].map(|one| one.encode("w"));
        let heard = others.map(|bytes| MasterMessage::decode(&bytes).unwrap());
        assert_eq!(heard, [MasterMessage::Known, MasterMessage::Stop, MasterMessage::Quit, MasterMessage::Heartbeat]);
        let said = |told: WorkerMessage| Report::decode(&told.encode("w")).unwrap();
        assert_eq!(
            (said(WorkerMessage::Ready), said(WorkerMessage::Stopped), said(WorkerMessage::Quit)),
            (Report::Ready(None), Report::Stopped, Report::Quit)
        );
        assert_eq!(said(WorkerMessage::Spawned(Users::of(&classes))), Report::Spawned(Users::of(&classes)));
        assert_eq!(said(WorkerMessage::Exception("why".to_owned())), Report::Exception("why".to_owned()));
        let version = Report::decode(&write(&("client_ready", "2.47.0", "w"))).unwrap();
        assert_eq!(version, Report::Ready(Some("2.47.0".to_owned())));
        assert!(Report::decode(&write(&("stats", (), "w"))).unwrap_err().contains("`stats`"));
    }

    #[test]
    fn statistics_are_read_as_locust_writes_them() {
        let entry = || {
            let times = Value::Map(vec![(7.into(), 2.into()), (Value::F64(150.4), 1.into())]);
            let seconds = Value::Map(vec![(1_700_000_000.into(), 3.into())]);
            let field = |name: &str, value: Value| (Value::from(name), value);
            Value::Map(vec![
                field("name", "Aggregated".into()),
                field("method", "".into()),
                field("last_request_timestamp", Value::Nil),
                field("start_time", Value::F64(1.5)),
                field("num_requests", 3.into()),
                field("num_none_requests", 0.into()),
                field("num_failures", 1.into()),
                field("total_response_time", Value::F64(164.2)),
                field("max_response_time", 150.into()),
                field("min_response_time", Value::Nil),
                field("total_content_length", 30.into()),
                field("response_times", times),
                field("num_reqs_per_sec", seconds.clone()),
                field("num_fail_per_sec", seconds),
            ])
        };
        let failure = Value::Map(vec![
            ("method".into(), "GET".into()),
            ("name".into(), "/".into()),
            ("error".into(), "HTTPError('500 ...')".into()),
            ("occurrences".into(), 1.into()),
        ]);
        let data = Value::Map(vec![
            ("stats".into(), Value::Array(vec![entry()])),
            ("stats_total".into(), entry()),
            ("errors".into(), Value::Map(vec![("key".into(), failure)])),
            ("user_classes_count".into(), Value::Map(vec![("Buy".into(), 4.into())])),
            ("user_count".into(), 4.into()),
        ]);
        let Report::Stats(stats) = Report::decode(&write(&("stats", data, "w"))).unwrap() else { panic!() };
        assert_eq!(stats.stats_total.response_times, BTreeMap::from([(7, 2), (150, 1)]));
        assert_eq!((stats.errors["key"].occurrences, stats.users.user_count), (1, 4));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (MasterMessage::decode(&bytes), Report::decode(&bytes));
        }
    }
}
