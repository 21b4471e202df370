//! Jetty 12, as a program of its own.

use std::path::Path;
use std::process::Command;

use super::settings::{BUFFER, IDLE_TIMEOUT, Knob, MAX_MESSAGE, Settings};
use super::{Place, Product, jvm};
use crate::error::TargetError;

const NAME: &str = "jetty";
const JAR: &str = "jetty/target/server.jar";

pub(super) const PRODUCT: Product = Product {
    name: NAME,
    socketio: false,
    knobs: &[
        jvm::HEAP_KNOB,
        jvm::GC_KNOB,
        jvm::threads("QueuedThreadPool.java"),
        Knob { name: BUFFER, default: "4k", source: "DEFAULT_OUTPUT_BUFFER_SIZE, WebSocketConstants.java" },
        jvm::send_buffer("ServerConnector.setAcceptedSendBufferSize, none"),
        Knob { name: MAX_MESSAGE, default: "64k", source: "DEFAULT_MAX_TEXT_MESSAGE_SIZE, WebSocketConstants.java" },
        Knob { name: IDLE_TIMEOUT, default: "30s", source: "DEFAULT_IDLE_TIMEOUT, WebSocketConstants.java" },
        jvm::COMPRESSION_KNOB,
    ],
    needs: &[jvm::JAVA],
    built: Some(JAR),
    command,
    gc_log: Some(jvm::GC_LOG),
    most: None,
};

fn command(place: &Place, settings: &Settings, dir: &Path) -> Result<Command, TargetError> {
    let jar = place.built(NAME, JAR)?;
    let mut command = jvm::command(settings, dir);
    jvm::property(&mut command, "genkai.buffer", settings.get(BUFFER));
    command.arg("-jar").arg(jar);
    Ok(command)
}
