//! genkai's own chat rooms, which speak the application too: the reference.

use std::path::Path;
use std::process::Command;

use super::rooms;
use super::settings::{Knob, Name, Settings};
use super::{Place, Product};
use crate::error::TargetError;

pub(super) const PRODUCT: Product = Product {
    name: "embedded",
    socketio: false,
    knobs: &[Knob { name: Name::MaxMessage, default: "64k", source: "genkai serve rooms --max-message" }],
    check: |_| Ok(()),
    command,
    gc_log: None,
};

fn command(place: &Place, settings: &Settings, _: &Path) -> Result<Command, TargetError> {
    let mut command = Command::new(&place.program);
    command.args(["serve", "rooms", "--listen", "127.0.0.1:0"]);
    if let Some(bytes) = settings.max_message {
        command.args(["--max-message", &bytes.0.to_string()]);
    }
    command.args(settings.rooms.iter().flat_map(rooms::Settings::flags));
    Ok(command)
}
