//! What servers on Java have in common.

use std::path::Path;
use std::process::Command;

use super::product::needs;
use super::rooms;
use super::settings::{Gc, Knob, Name, Settings};
use crate::error::TargetError;
use genkai_place::program;

/// The log of the collector.
pub(super) const GC_LOG: &str = "gc.log";

/// The JVM's own settings.
pub(super) const HEAP: Knob =
    Knob { name: Name::Heap, default: "a quarter of the memory", source: "HotSpot, MaxRAMPercentage 25" };
pub(super) const GC: Knob = Knob {
    name: Name::Gc,
    default: "g1, serial on one core",
    source: "HotSpot ergonomics: G1 where the JVM sees two processors and 1792 MB or more, else Serial",
};

/// Compression (RFC 7692): the servers agree to it by themselves.
pub(super) const COMPRESSION: Knob =
    Knob { name: Name::Compression, default: "off", source: "used where clients offer it" };

/// Threads that serve; `source` has the default.
pub(super) const fn threads(source: &'static str) -> Knob {
    Knob { name: Name::Threads, default: "200", source }
}

/// The send buffer of connections; `source` has the default.
pub(super) const fn send_buffer(source: &'static str) -> Knob {
    Knob { name: Name::SendBuffer, default: "the system's", source }
}

/// Whether there is a Java.
///
/// # Errors
/// When there is none.
pub(super) fn check(server: &'static str) -> Result<(), TargetError> {
    program::find("java").map(drop).ok_or_else(|| needs(server, "a JDK (java)", "default-jdk-headless"))
}

/// The command of a JVM whose files are in `dir`: memory, collector, its log with instants of System.nanoTime.
pub(super) fn command(settings: &Settings, dir: &Path) -> Command {
    let mut command = Command::new(program::find("java").unwrap_or_else(|| "java".into()));
    command.arg(format!("-Xlog:gc*:file={}:timenanos,level,tags:filecount=0", dir.join(GC_LOG).display()));
    command.args(settings.heap.map(|heap| format!("-Xmx{}", heap.0)));
    command.args(settings.gc.map(|gc| match gc {
        Gc::Serial => "-XX:+UseSerialGC",
        Gc::Parallel => "-XX:+UseParallelGC",
        Gc::G1 => "-XX:+UseG1GC",
        Gc::Z => "-XX:+UseZGC",
    }));
    property(&mut command, "genkai.threads", settings.threads.map(u64::from));
    property(&mut command, "genkai.sendBuffer", settings.send_buffer.map(|bytes| bytes.0));
    property(&mut command, "genkai.maxMessage", settings.max_message.map(|bytes| bytes.0));
    property(&mut command, "genkai.idle", settings.idle_timeout.map(|span| span.0 / 1_000_000));
    for (name, value) in settings.rooms.iter().flat_map(rooms::Settings::words) {
        command.arg(format!("-Dgenkai.{name}={value}"));
    }
    command
}

/// Adds a system property, where it has a value.
pub(super) fn property(command: &mut Command, name: &str, value: Option<u64>) {
    command.args(value.map(|value| format!("-D{name}={value}")));
}
