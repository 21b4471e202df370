//! Jetty 12, as a program of its own.

use std::path::Path;
use std::process::Command;

use super::settings::{Knob, Name, Settings};
use super::{Place, Product, jvm};
use crate::error::TargetError;

const NAME: &str = "jetty";
const JAR: &str = "jetty/target/server.jar";

pub(super) const PRODUCT: Product = Product {
    name: NAME,
    socketio: false,
    knobs: &[
        jvm::HEAP,
        jvm::GC,
        jvm::threads("QueuedThreadPool.java"),
        Knob { name: Name::Buffer, default: "4k", source: "DEFAULT_OUTPUT_BUFFER_SIZE, WebSocketConstants.java" },
        jvm::send_buffer("ServerConnector.setAcceptedSendBufferSize, none"),
        Knob {
            name: Name::MaxMessage,
            default: "64k",
            source: "DEFAULT_MAX_TEXT_MESSAGE_SIZE, WebSocketConstants.java",
        },
        Knob { name: Name::IdleTimeout, default: "30s", source: "DEFAULT_IDLE_TIMEOUT, WebSocketConstants.java" },
        jvm::COMPRESSION,
    ],
    check,
    command,
    gc_log: Some(jvm::GC_LOG),
};

fn check(place: &Place) -> Result<(), TargetError> {
    jvm::check(NAME)?;
    place.built(NAME, JAR).map(drop)
}

fn command(place: &Place, settings: &Settings, dir: &Path) -> Result<Command, TargetError> {
    let jar = place.built(NAME, JAR)?;
    let mut command = jvm::command(settings, dir);
    jvm::property(&mut command, "genkai.buffer", settings.buffer.map(|bytes| bytes.0));
    command.arg("-jar").arg(jar);
    Ok(command)
}
