//! What servers on Java have in common.

use std::path::Path;
use std::process::Command;

use super::product::Need;
use super::rooms;
use super::settings::{COMPRESSION, GC, HEAP, IDLE_TIMEOUT, Knob, MAX_MESSAGE, SEND_BUFFER, Settings, THREADS};
use genkai_place::program;

/// The log of the collector.
pub(super) const GC_LOG: &str = "gc.log";

/// The JVM's own settings.
pub(super) const HEAP_KNOB: Knob =
    Knob { name: HEAP, default: "a quarter of the memory", source: "HotSpot, MaxRAMPercentage 25" };
pub(super) const GC_KNOB: Knob = Knob {
    name: GC,
    default: "g1, serial on one core",
    source: "HotSpot ergonomics: G1 where the JVM sees two processors and 1792 MB or more, else Serial",
};

/// Compression (RFC 7692): the servers agree to it by themselves.
pub(super) const COMPRESSION_KNOB: Knob =
    Knob { name: COMPRESSION, default: "off", source: "used where clients offer it" };

/// Threads that serve; `source` has the default.
pub(super) const fn threads(source: &'static str) -> Knob {
    Knob { name: THREADS, default: "200", source }
}

/// The send buffer of connections; `source` has the default.
pub(super) const fn send_buffer(source: &'static str) -> Knob {
    Knob { name: SEND_BUFFER, default: "the system's", source }
}

/// It.
pub(super) const JAVA: Need = Need { found: "java", what: "a JDK (java)", package: "default-jdk-headless" };

/// The command of a JVM whose files are in `dir`: memory, collector, its log with instants of System.nanoTime.
pub(super) fn command(settings: &Settings, dir: &Path) -> Command {
    let mut command = Command::new(program::find("java").unwrap_or_else(|| "java".into()));
    command.arg(format!("-Xlog:gc*:file={}:timenanos,level,tags:filecount=0", dir.join(GC_LOG).display()));
    command.args(settings.get(HEAP).map(|heap| format!("-Xmx{heap}"))).args(settings.get(GC));
    command.args(settings.listen.map(|address| format!("-Dgenkai.address={address}")));
    property(&mut command, "genkai.threads", settings.get(THREADS));
    property(&mut command, "genkai.sendBuffer", settings.get(SEND_BUFFER));
    property(&mut command, "genkai.maxMessage", settings.get(MAX_MESSAGE));
    property(&mut command, "genkai.idle", settings.get(IDLE_TIMEOUT));
    for (name, value) in settings.rooms.iter().flat_map(rooms::Settings::words) {
        command.arg(format!("-Dgenkai.{name}={value}"));
    }
    command
}

/// Adds a system property, where it has a value.
pub(super) fn property(command: &mut Command, name: &str, value: Option<&str>) {
    command.args(value.map(|value| format!("-D{name}={value}")));
}
