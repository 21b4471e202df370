//! What can be set on the servers of the comparison. The names are the same on all; not every server has all of them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use genkai_model::setting::Setting;
use genkai_model::units::{Bytes, Span};

use super::rooms;

/// A setting that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Its name, as `--set` has it.
    pub name: &'static str,
    /// The server's own value, as it would be written.
    pub default: &'static str,
    /// Where that comes from.
    pub source: &'static str,
}

/// Largest heap, bytes.
pub(super) const HEAP: &str = "heap";
/// Garbage collector: serial, parallel, g1, z.
pub(super) const GC: &str = "gc";
/// Threads that serve.
pub(super) const THREADS: &str = "threads";
/// Bytes a connection encodes its messages into before they are written.
pub(super) const BUFFER: &str = "buffer";
/// SO_SNDBUF of its connections, bytes.
pub(super) const SEND_BUFFER: &str = "send-buffer";
/// Largest message it takes, bytes.
pub(super) const MAX_MESSAGE: &str = "max-message";
/// A connection that is silent for so long is closed.
pub(super) const IDLE_TIMEOUT: &str = "idle-timeout";
/// Whether messages are gathered until they are flushed.
pub(super) const AGGREGATION: &str = "aggregation";
/// Whether messages are compressed (RFC 7692), which the clients then offer.
pub(super) const COMPRESSION: &str = "compression";

/// Collectors of the JVM, with its flag for each.
const COLLECTORS: [(&str, &str); 5] = [
    ("serial", "-XX:+UseSerialGC"),
    ("parallel", "-XX:+UseParallelGC"),
    ("g1", "-XX:+UseG1GC"),
    ("z", "-XX:+UseZGC"),
    ("zgc", "-XX:+UseZGC"),
];

/// The settings of one server. What is not given is its own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// As programs take them: plain numbers of bytes or milliseconds, `on` and `off`, a flag for the collector.
    values: BTreeMap<&'static str, String>,
    /// What it is told as a node of chat rooms; none: it is none of several, and keeps no trace.
    pub(super) rooms: Option<rooms::Settings>,
    /// Where it listens; none: 127.0.0.1.
    pub(super) listen: Option<Ipv4Addr>,
}

impl Settings {
    /// Of a node of chat rooms, which has its own defaults otherwise.
    pub(crate) fn of_node(rooms: rooms::Settings) -> Settings {
        Settings { rooms: Some(rooms), ..Settings::default() }
    }

    /// Reads settings in the user's words; `knobs` are those the server has.
    ///
    /// # Errors
    /// A sentence, when there is no such setting or its value is none.
    pub fn read(words: &BTreeMap<String, String>, knobs: &[Knob]) -> Result<Settings, String> {
        let mut settings = Settings::default();
        for (word, value) in words {
            let Some(knob) = knobs.iter().find(|knob| knob.name == word) else {
                let all: Vec<&str> = knobs.iter().map(|knob| knob.name).collect();
                return Err(format!("it has no setting `{word}`; it has: {}", all.join(", ")));
            };
            let written = written(knob.name, value).map_err(|why| format!("{word}={value}: {why}"))?;
            settings.values.insert(knob.name, written);
        }
        Ok(settings)
    }

    /// The address at which it listens.
    pub(super) fn address(&self) -> Ipv4Addr {
        self.listen.unwrap_or(Ipv4Addr::LOCALHOST)
    }

    /// A value that is given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether a setting is given and on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some("on")
    }
}

/// A value as programs take it.
fn written(name: &str, value: &str) -> Result<String, String> {
    let number = |text: &str| text.parse().ok().filter(|n: &u32| (1..=10_000).contains(n)).map(|n| n.to_string());
    let collector = |text: &str| COLLECTORS.iter().find(|(name, _)| *name == text).map(|(_, flag)| (*flag).to_owned());
    match name {
        GC => collector(&value.to_ascii_lowercase()).ok_or_else(|| "must be serial, parallel, g1 or z".to_owned()),
        THREADS => number(value).ok_or_else(|| "must be a number from 1 to 10000".to_owned()),
        IDLE_TIMEOUT => value.parse().map(|span: Span| (span.0 / 1_000_000).to_string()).map_err(|e| format!("{e}")),
        AGGREGATION | COMPRESSION if !["on", "off"].contains(&value) => Err("must be on or off".to_owned()),
        AGGREGATION | COMPRESSION => Ok(value.to_owned()),
        _ => match value.parse::<Bytes>() {
            Ok(Bytes(0)) => Err("must be more than nothing".to_owned()),
            // What the servers keep it in: an `int`.
            Ok(bytes) if bytes.0 > i32::MAX as u64 && name != HEAP => Err("must be below 2 GiB".to_owned()),
            other => other.map(|bytes| bytes.0.to_string()).map_err(|e| e.to_string()),
        },
    }
}

/// Every setting of `knobs` as it is, given `words`.
pub fn in_force(words: &BTreeMap<String, String>, knobs: &[Knob]) -> Vec<Setting> {
    let one = |knob: &Knob| {
        let given = words.get(knob.name);
        let value = given.map_or(knob.default, String::as_str).to_owned();
        Setting { name: knob.name.to_owned(), value, default: given.is_none() }
    };
    knobs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOBS: &[Knob] = &[
        Knob { name: HEAP, default: "-", source: "" },
        Knob { name: GC, default: "g1", source: "" },
        Knob { name: MAX_MESSAGE, default: "8k", source: "" },
        Knob { name: AGGREGATION, default: "off", source: "" },
    ];

    fn read(words: &[(&str, &str)]) -> Result<Settings, String> {
        let words = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::read(&words, KNOBS)
    }

    #[test]
    fn settings_are_typed() {
        let settings = read(&[("heap", "512m"), ("gc", "ZGC"), ("max-message", "1m"), ("aggregation", "on")]).unwrap();
        assert_eq!((settings.get(HEAP), settings.get(GC)), (Some("536870912"), Some("-XX:+UseZGC")));
        assert_eq!((settings.get(MAX_MESSAGE), settings.is_on(AGGREGATION)), (Some("1048576"), true));
        assert_eq!(read(&[]), Ok(Settings::default()));
    }

    #[test]
    fn what_is_no_setting_is_told() {
        for (name, value, said) in [
            ("threads", "5", "it has: heap, gc, max-message, aggregation"),
            ("gc", "magic", "serial, parallel, g1 or z"),
            ("gc", "gc", "serial, parallel, g1 or z"),
            ("heap", "lots", "heap=lots"),
            ("max-message", "0", "more than nothing"),
            ("max-message", "3g", "below 2 GiB"),
            ("aggregation", "yes", "on or off"),
        ] {
            let why = read(&[(name, value)]).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn what_is_in_force_is_given_or_the_default() {
        let words = BTreeMap::from([("max-message".to_owned(), "1m".to_owned())]);
        let all = in_force(&words, KNOBS);
        let one = |name: &str| all.iter().find(|s| s.name == name).map(|s| (s.value.as_str(), s.default)).unwrap();
        assert_eq!((one("max-message"), one("gc")), (("1m", false), ("g1", true)));
    }
}
