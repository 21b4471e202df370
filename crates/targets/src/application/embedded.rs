//! genkai's own chat rooms, which speak the application too: the reference.

use std::path::Path;
use std::process::Command;

use super::rooms;
use super::settings::{Knob, MAX_MESSAGE, Settings};
use super::{Place, Product};
use crate::error::TargetError;

pub(super) const PRODUCT: Product = Product {
    name: "embedded",
    socketio: false,
    knobs: &[Knob { name: MAX_MESSAGE, default: "64k", source: "genkai serve rooms --max-message" }],
    needs: &[],
    built: None,
    command,
    gc_log: None,
    most: None,
};

fn command(place: &Place, settings: &Settings, _: &Path) -> Result<Command, TargetError> {
    let mut command = Command::new(&place.program);
    command.args(["serve", "rooms", "--listen", &format!("{}:0", settings.address())]);
    command.args(settings.get(MAX_MESSAGE).into_iter().flat_map(|bytes| ["--max-message", bytes]));
    command.args(settings.rooms.iter().flat_map(rooms::Settings::flags));
    Ok(command)
}
