//! ws and Socket.IO on Node.js.

use std::process::Command;

use super::product::needs;
use super::rooms;
use super::settings::{Knob, Name, Settings};
use super::{Place, Product};
use crate::error::TargetError;
use genkai_place::program;

const WS_NAME: &str = "node-ws";
const SOCKET_IO_NAME: &str = "socketio";

const HEAP: Knob = Knob {
    name: Name::Heap,
    default: "V8's choice by memory",
    source: "--max-old-space-size; V8 heap.cc, a quarter of the memory up to 4 GiB",
};

pub(super) const WS: Product = Product {
    name: WS_NAME,
    socketio: false,
    knobs: &[
        HEAP,
        Knob { name: Name::MaxMessage, default: "100m", source: "maxPayload, ws lib/websocket-server.js" },
        Knob { name: Name::Compression, default: "off", source: "perMessageDeflate, ws lib/websocket-server.js" },
    ],
    check: |place| check(place, WS_NAME, "node-ws/node_modules/ws/package.json"),
    command: |place, settings, _| command(place, WS_NAME, settings),
    gc_log: None,
};

pub(super) const SOCKET_IO: Product = Product {
    name: SOCKET_IO_NAME,
    socketio: true,
    knobs: &[
        HEAP,
        Knob { name: Name::MaxMessage, default: "1000000", source: "maxHttpBufferSize 1e6, engine.io lib/server.js" },
        Knob { name: Name::Compression, default: "off", source: "perMessageDeflate, engine.io lib/server.js" },
    ],
    check: |place| check(place, SOCKET_IO_NAME, "socketio/node_modules/socket.io/package.json"),
    command: |place, settings, _| command(place, SOCKET_IO_NAME, settings),
    gc_log: None,
};

fn check(place: &Place, server: &'static str, module: &str) -> Result<(), TargetError> {
    program::find("node").ok_or_else(|| needs(server, "Node.js (node)", "nodejs npm"))?;
    place.built(server, module).map(drop)
}

fn command(place: &Place, server: &'static str, settings: &Settings) -> Result<Command, TargetError> {
    let script = place.built(server, &format!("{server}/server.js"))?;
    let mut command = Command::new(program::find("node").unwrap_or_else(|| "node".into()));
    command.args(settings.heap.map(|heap| format!("--max-old-space-size={}", (heap.0 >> 20).max(1))));
    command.arg(script);
    if let Some(bytes) = settings.max_message {
        command.args(["--max-payload", &bytes.0.to_string()]);
    }
    command.args(settings.compression.then_some("--deflate"));
    command.args(settings.rooms.iter().flat_map(rooms::Settings::flags));
    Ok(command)
}
