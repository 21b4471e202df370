//! What can be set on the servers of the comparison. The names are the same on all; not every server has all of them.

use std::collections::BTreeMap;

use genkai_model::setting::Setting;
use genkai_model::units::{Bytes, Span};

use super::rooms;

/// A setting that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Its name.
    pub name: Name,
    /// The server's own value, as it would be written.
    pub default: &'static str,
    /// Where that comes from.
    pub source: &'static str,
}

/// Names of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// Largest heap, bytes.
    Heap,
    /// Garbage collector: serial, parallel, g1, z.
    Gc,
    /// Threads that serve.
    Threads,
    /// Bytes a connection encodes its messages into before they are written.
    Buffer,
    /// SO_SNDBUF of its connections, bytes.
    SendBuffer,
    /// Largest message it takes, bytes.
    MaxMessage,
    /// A connection that is silent for so long is closed.
    IdleTimeout,
    /// Whether messages are gathered until they are flushed.
    Aggregation,
    /// Whether messages are compressed (RFC 7692), which the clients then offer.
    Compression,
}

const NAMES: [(Name, &str); 9] = [
    (Name::Heap, "heap"),
    (Name::Gc, "gc"),
    (Name::Threads, "threads"),
    (Name::Buffer, "buffer"),
    (Name::SendBuffer, "send-buffer"),
    (Name::MaxMessage, "max-message"),
    (Name::IdleTimeout, "idle-timeout"),
    (Name::Aggregation, "aggregation"),
    (Name::Compression, "compression"),
];

impl Name {
    /// As `--set` has it.
    pub fn text(self) -> &'static str {
        NAMES.iter().find(|(name, _)| *name == self).map_or("", |(_, text)| text)
    }
}

/// Collectors of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gc {
    /// One thread, everything stands still.
    Serial,
    /// Several threads, everything stands still.
    Parallel,
    /// Regions, mostly short pauses.
    G1,
    /// Concurrent, pauses below a millisecond.
    Z,
}

/// The settings of one server. None: its own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// See [`Name::Heap`].
    pub heap: Option<Bytes>,
    /// See [`Name::Gc`].
    pub gc: Option<Gc>,
    /// See [`Name::Threads`].
    pub threads: Option<u32>,
    /// See [`Name::Buffer`].
    pub buffer: Option<Bytes>,
    /// See [`Name::SendBuffer`].
    pub send_buffer: Option<Bytes>,
    /// See [`Name::MaxMessage`].
    pub max_message: Option<Bytes>,
    /// See [`Name::IdleTimeout`].
    pub idle_timeout: Option<Span>,
    /// See [`Name::Aggregation`].
    pub aggregation: bool,
    /// See [`Name::Compression`].
    pub compression: bool,
    /// What it is told as a node of chat rooms; none: it is none of several, and keeps no trace.
    pub rooms: Option<rooms::Settings>,
}

impl Settings {
    /// Reads settings in the user's words; `knobs` are those the server has.
    ///
    /// # Errors
    /// A sentence, when there is no such setting or its value is none.
    pub fn read(words: &BTreeMap<String, String>, knobs: &[Knob]) -> Result<Settings, String> {
        let mut settings = Settings::default();
        for (word, value) in words {
            let Some(knob) = knobs.iter().find(|knob| knob.name.text() == word) else {
                let all: Vec<&str> = knobs.iter().map(|knob| knob.name.text()).collect();
                return Err(format!("it has no setting `{word}`; it has: {}", all.join(", ")));
            };
            settings.set(knob.name, value).map_err(|why| format!("{word}={value}: {why}"))?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: Name, value: &str) -> Result<(), String> {
        let bytes = || match value.parse::<Bytes>() {
            Ok(Bytes(0)) => Err("must be more than nothing".to_owned()),
            // What the servers keep it in: an `int`.
            Ok(bytes) if bytes.0 > i32::MAX as u64 && name != Name::Heap => Err("must be below 2 GiB".to_owned()),
            other => other.map_err(|e| e.to_string()),
        };
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err("must be on or off".to_owned()),
        };
        match name {
            Name::Heap => self.heap = Some(bytes()?),
            Name::Gc => self.gc = Some(gc(value)?),
            Name::Threads => {
                let threads = value.parse().ok().filter(|n| (1..=10_000).contains(n));
                self.threads = Some(threads.ok_or("must be a number from 1 to 10000")?);
            }
            Name::Buffer => self.buffer = Some(bytes()?),
            Name::SendBuffer => self.send_buffer = Some(bytes()?),
            Name::MaxMessage => self.max_message = Some(bytes()?),
            Name::IdleTimeout => self.idle_timeout = Some(value.parse().map_err(|e| format!("{e}"))?),
            Name::Aggregation => self.aggregation = switch()?,
            Name::Compression => self.compression = switch()?,
        }
        Ok(())
    }
}

/// Every setting of `knobs` as it is, given `words`.
pub fn in_force(words: &BTreeMap<String, String>, knobs: &[Knob]) -> Vec<Setting> {
    let one = |knob: &Knob| {
        let given = words.get(knob.name.text());
        let value = given.map_or(knob.default, String::as_str).to_owned();
        Setting { name: knob.name.text().to_owned(), value, default: given.is_none() }
    };
    knobs.iter().map(one).collect()
}

fn gc(value: &str) -> Result<Gc, String> {
    match value.to_ascii_lowercase().as_str() {
        "serial" => Ok(Gc::Serial),
        "parallel" => Ok(Gc::Parallel),
        "g1" => Ok(Gc::G1),
        "z" | "zgc" => Ok(Gc::Z),
        _ => Err("must be serial, parallel, g1 or z".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOBS: &[Knob] = &[
        Knob { name: Name::Heap, default: "-", source: "" },
        Knob { name: Name::Gc, default: "g1", source: "" },
        Knob { name: Name::MaxMessage, default: "8k", source: "" },
        Knob { name: Name::Aggregation, default: "off", source: "" },
    ];

    fn read(words: &[(&str, &str)]) -> Result<Settings, String> {
        let words = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::read(&words, KNOBS)
    }

    #[test]
    fn settings_are_typed() {
        let settings = read(&[("heap", "512m"), ("gc", "ZGC"), ("max-message", "1m"), ("aggregation", "on")]).unwrap();
        assert_eq!((settings.heap, settings.gc), (Some(Bytes(512 << 20)), Some(Gc::Z)));
        assert_eq!((settings.max_message, settings.aggregation), (Some(Bytes(1 << 20)), true));
        assert_eq!(read(&[]), Ok(Settings::default()));
    }

    #[test]
    fn what_is_no_setting_is_told() {
        for (name, value, said) in [
            ("threads", "5", "it has: heap, gc, max-message, aggregation"),
            ("gc", "magic", "serial, parallel, g1 or z"),
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
