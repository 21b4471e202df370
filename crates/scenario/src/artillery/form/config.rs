//! The part `config` of a script.

use super::{BROWSER, CODE, TEXT, TIME};
use crate::form::ADDRESS;
use crate::shape::{Kind, Shape, field, needed, shape};

pub(in crate::artillery) static CONFIG: Shape = shape("config", "").keys(&[
    field("target", Kind::Read(&ADDRESS), ""),
    field("phases", Kind::List(&Kind::Object(&PHASE)), ""),
    field("environments", Kind::Map(&Kind::Any), ""),
    field("variables", Kind::Map(&Kind::Any), ""),
    field("payload", Kind::OneOrMore(&Kind::Object(&PAYLOAD)), ""),
    field("tls", Kind::Object(&TLS), ""),
    field("timeout", Kind::Number, ""),
    field("http", Kind::Object(&HTTP), ""),
    field("ws", Kind::Object(&WS), ""),
    field("defaults", Kind::Object(&DEFAULTS), ""),
    field("plugins", Kind::Object(&PLUGINS), ""),
    field("ensure", Kind::Object(&ENSURE), ""),
    field("apdex", Kind::Noted("no Apdex is computed; the whole distribution is reported"), ""),
    field("statsInterval", Kind::Noted("genkai reports at its own intervals"), ""),
    field("processor", CODE, ""),
    field("socketio", Kind::Refused("genkai does not speak Socket.IO yet"), ""),
    field("engines", BROWSER, ""),
    field("includeFiles", Kind::Refused("only Artillery's cloud workers need files named"), ""),
    field("bundling", Kind::Refused("genkai runs no JavaScript"), ""),
]);

static PHASE: Shape = shape("a phase", "").keys(&[
    field("duration", Kind::Read(&TIME), ""),
    field("arrivalRate", Kind::Number, ""),
    field("rampTo", Kind::Number, ""),
    field("arrivalCount", Kind::Whole(0), ""),
    field("maxVusers", Kind::Whole(1), ""),
    field("pause", Kind::Read(&TIME), ""),
    field("name", Kind::Text, ""),
    field("mode", Kind::Word(&["uniform", "poisson"]), ""),
]);

static PAYLOAD: Shape = shape("payload", "").keys(&[
    needed("path", Kind::Text, ""),
    field("fields", Kind::List(&Kind::Text), ""),
    field("order", Kind::Word(&["random", "sequence"]), ""),
    field("skipHeader", Kind::Bool, ""),
    field("delimiter", Kind::Text, ""),
    field("cast", Kind::Bool, ""),
    field("skipEmptyLines", Kind::Noted("empty lines are always left out"), ""),
    field("loadAll", Kind::Bool, ""),
    field("name", Kind::Text, ""),
]);

static TLS: Shape = shape("tls", "").keys(&[field("rejectUnauthorized", Kind::Bool, "")]);

static HTTP: Shape = shape("http", "").keys(&[
    field("timeout", Kind::Number, ""),
    field("defaults", Kind::Object(&DEFAULTS), ""),
    field("extendedMetrics", Kind::Noted("connect and TLS times are always reported"), ""),
    field("http2", Kind::Bool, ""),
    field("maxSockets", Kind::Noted("each virtual user has one connection a target"), ""),
    field("pool", Kind::Refused("each virtual user has connections of its own"), ""),
    field("cookieJarOptions", Kind::Refused("cookies are kept as RFC 6265 has it"), ""),
]);

static WS: Shape = shape("ws", "").keys(&[
    field("subprotocols", Kind::List(&Kind::Text), ""),
    field("headers", Kind::Map(&TEXT), ""),
    field("rejectUnauthorized", Kind::Bool, ""),
    field("perMessageDeflate", Kind::Bool, ""),
    field("timeout", Kind::Number, ""),
    field("proxy", Kind::Refused("genkai goes to its target itself"), ""),
    field("maxRedirects", Kind::Refused("openings of WebSockets are not redirected"), ""),
    field("followRedirects", Kind::Refused("openings of WebSockets are not redirected"), ""),
]);

static DEFAULTS: Shape = shape("defaults", "").keys(&[
    field("headers", Kind::Map(&TEXT), ""),
    field("strictCapture", Kind::Bool, ""),
    field("think", Kind::Object(&JITTER), ""),
    field("cookie", Kind::Refused("name cookies in a Cookie header"), ""),
]);

static JITTER: Shape = shape("think", "").keys(&[field("jitter", Kind::Text, "")]);

static PLUGINS: Shape = shape("plugins", "").keys(&[
    field("expect", Kind::Noted("expectations are checked; one that fails is a failed request"), ""),
    field("ensure", Kind::Either(&[Kind::Object(&ENSURE), Kind::Any]), ""),
    field("apdex", Kind::Noted("no Apdex is computed; the whole distribution is reported"), ""),
    field("metrics-by-endpoint", Kind::Noted("every step is measured by its name anyway"), ""),
    field("publish-metrics", Kind::Refused("genkai sends its figures to nobody; see --json"), ""),
    field("fake-data", Kind::Refused("write {{ $randomString(10) }}, {{ $uuid() }} or use a CSV file"), ""),
    field("slack", Kind::Refused("genkai tells nobody but its caller"), ""),
]);

static ENSURE: Shape = shape("ensure", "").keys(&[
    field("thresholds", Kind::List(&Kind::Map(&Kind::Number)), ""),
    field("conditions", Kind::List(&Kind::Object(&CONDITION)), ""),
    field("min", Kind::Refused("a smallest value says nothing about a load"), ""),
    field("max", Kind::Number, ""),
    field("median", Kind::Number, ""),
    field("p50", Kind::Number, ""),
    field("p75", Kind::Number, ""),
    field("p90", Kind::Number, ""),
    field("p95", Kind::Number, ""),
    field("p99", Kind::Number, ""),
    field("p999", Kind::Number, ""),
    field("maxErrorRate", Kind::Number, ""),
]);

static CONDITION: Shape =
    shape("a condition", "").keys(&[needed("expression", Kind::Text, ""), field("strict", Kind::Bool, "")]);
