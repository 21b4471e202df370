//! Artillery's scripts (<https://www.artillery.io/docs/reference/test-script>): every key that is known, and what cannot be done.

mod config;
mod steps;

pub(super) use config::CONFIG;
pub(super) use steps::{HTTP_STEPS, WAITED, WS_STEPS};

use crate::shape::{Format, Kind, Shape, field, needed, reads, shape};

/// Numbers are seconds, text is read as the npm package `ms` does.
static TIME: Format = reads("a duration", "60, \"5m\" or \"500ms\"", |text| {
    crate::artillery::time(text).map(drop).ok_or_else(String::new)
});

static TEMPLATE: Format = reads("text", "/users/{{ id }}", |text| {
    text.parse::<genkai_model::template::Template>().map(drop).map_err(|e| format!(": {e}"))
});

static PAUSE: Format = reads("a duration or a variable", "1, \"500ms\" or \"{{ pause }}\"", |text| {
    if text.contains("{{") { (TEMPLATE.read)(text) } else { (TIME.read)(text) }
});

const TEXT: Kind = Kind::Read(&TEMPLATE);

const CODE: Kind = Kind::Refused("genkai runs no JavaScript");

const BROWSER: Kind = Kind::Refused("genkai drives no browser and no other engine than http and ws");

/// The whole file.
pub(super) static SCRIPT: Shape = shape("an Artillery script", "").keys(&[
    needed("config", Kind::Object(&CONFIG), ""),
    needed("scenarios", Kind::List(&Kind::Object(&FLOW)), ""),
    field("before", Kind::Refused("genkai has no flow that runs once before the load"), ""),
    field("after", Kind::Refused("genkai has no flow that runs once after the load"), ""),
]);

static FLOW: Shape = shape("a scenario", "").keys(&[
    field("name", Kind::Text, ""),
    field("weight", Kind::Whole(0), ""),
    field("engine", Kind::Word(&["http", "ws", "websocket"]), ""),
    needed("flow", Kind::List(&Kind::Any), ""),
    field("beforeScenario", CODE, ""),
    field("afterScenario", CODE, ""),
    field("beforeRequest", CODE, ""),
    field("afterResponse", CODE, ""),
    field("testFunction", BROWSER, ""),
    field("flowFunction", BROWSER, ""),
]);
