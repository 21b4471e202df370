//! ws and Socket.IO on Node.js.

use std::process::Command;

use super::product::Need;
use super::rooms;
use super::settings::{COMPRESSION, HEAP, Knob, MAX_MESSAGE, Settings};
use super::{Place, Product};
use crate::error::TargetError;
use genkai_place::program;

const WS_NAME: &str = "node-ws";
const SOCKET_IO_NAME: &str = "socketio";

const NEEDS: &[Need] = &[Need { found: "node", what: "Node.js (node)", package: "nodejs npm" }];

const HEAP_KNOB: Knob = Knob {
    name: HEAP,
    default: "V8's choice by memory",
    source: "--max-old-space-size; V8 heap.cc, a quarter of the memory up to 4 GiB",
};

pub(super) const WS: Product = Product {
    name: WS_NAME,
    socketio: false,
    knobs: &[
        HEAP_KNOB,
        Knob { name: MAX_MESSAGE, default: "100m", source: "maxPayload, ws lib/websocket-server.js" },
        Knob { name: COMPRESSION, default: "off", source: "perMessageDeflate, ws lib/websocket-server.js" },
    ],
    needs: NEEDS,
    built: Some("node-ws/node_modules/ws/package.json"),
    command: |place, settings, _| command(place, WS_NAME, settings),
    gc_log: None,
    most: None,
};

pub(super) const SOCKET_IO: Product = Product {
    name: SOCKET_IO_NAME,
    socketio: true,
    knobs: &[
        HEAP_KNOB,
        Knob { name: MAX_MESSAGE, default: "1000000", source: "maxHttpBufferSize 1e6, engine.io lib/server.js" },
        Knob { name: COMPRESSION, default: "off", source: "perMessageDeflate, engine.io lib/server.js" },
    ],
    needs: NEEDS,
    built: Some("socketio/node_modules/socket.io/package.json"),
    command: |place, settings, _| command(place, SOCKET_IO_NAME, settings),
    gc_log: None,
    most: None,
};

fn command(place: &Place, server: &'static str, settings: &Settings) -> Result<Command, TargetError> {
    let script = place.built(server, &format!("{server}/server.js"))?;
    let mut command = Command::new(program::find("node").unwrap_or_else(|| "node".into()));
    let heap = settings.get(HEAP).and_then(|bytes| bytes.parse::<u64>().ok());
    command.args(heap.map(|heap| format!("--max-old-space-size={}", (heap >> 20).max(1))));
    command.arg(script);
    command.args(settings.get(MAX_MESSAGE).into_iter().flat_map(|bytes| ["--max-payload", bytes]));
    command.args(settings.listen.map(|address| format!("--address={address}")));
    command.args(settings.is_on(COMPRESSION).then_some("--deflate"));
    command.args(settings.rooms.iter().flat_map(rooms::Settings::flags));
    Ok(command)
}
