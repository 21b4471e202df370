//! The steps of a flow, of the http and of the ws engine.

use super::{CODE, PAUSE, TEXT};
use crate::form::{JSON, REGEX};
use crate::shape::{Kind, Shape, field, needed, shape};

/// Steps of the http engine.
pub(in crate::artillery) static HTTP_STEPS: Kind = Kind::List(&Kind::Step(&[
    &GET, &POST, &PUT, &PATCH, &DELETE, &HEAD, &OPTIONS, &THINK, &HTTP_LOOP, &LOG, &FUNCTION, &PARALLEL,
]));

macro_rules! requests {
    ($($name:ident $method:literal),+) => {
        $(static $name: Shape = shape($method, "").keys(&[needed($method, Kind::Object(&REQUEST), "")]);)+
    };
}

requests!(GET "get", POST "post", PUT "put", PATCH "patch", DELETE "delete", HEAD "head", OPTIONS "options");

static REQUEST: Shape = shape("a request", "").keys(&[
    needed("url", TEXT, ""),
    field("name", Kind::Text, ""),
    field("json", Kind::Any, ""),
    field("body", TEXT, ""),
    field("form", Kind::Map(&TEXT), ""),
    field("headers", Kind::Map(&TEXT), ""),
    field("qs", Kind::Map(&TEXT), ""),
    field("auth", Kind::Object(&AUTH), ""),
    field("followRedirect", Kind::Bool, ""),
    field("timeout", Kind::Number, ""),
    field("capture", Kind::OneOrMore(&Kind::Object(&CAPTURE)), ""),
    field("expect", Kind::OneOrMore(&Kind::Object(&EXPECT)), ""),
    field("match", Kind::OneOrMore(&Kind::Object(&MATCH)), ""),
    field("formData", Kind::Refused("genkai makes no multipart bodies"), ""),
    field("cookie", Kind::Refused("name cookies in a Cookie header"), ""),
    field("gzip", Kind::Refused("genkai does not unpack responses"), ""),
    field("http2", Kind::Refused("say it for all requests: `http2: true` under config.http"), ""),
    field("ifTrue", Kind::Refused("genkai has no conditional steps"), ""),
    field("beforeRequest", CODE, ""),
    field("afterResponse", CODE, ""),
]);

static AUTH: Shape = shape("auth", "").keys(&[needed("user", Kind::Text, ""), needed("pass", Kind::Text, "")]);

static CAPTURE: Shape = shape("a capture", "").keys(&[
    field("json", Kind::Read(&JSON), ""),
    field("regexp", Kind::Read(&REGEX), ""),
    field("header", Kind::Text, ""),
    field("group", Kind::Whole(0), ""),
    field("flags", Kind::Text, ""),
    needed("as", Kind::Text, ""),
    field("strict", Kind::Bool, ""),
    field("xpath", Kind::Refused("genkai reads JSON and text, not XML"), ""),
    field("selector", Kind::Refused("genkai reads JSON and text, not HTML"), ""),
    field("transform", CODE, ""),
]);

static MATCH: Shape = shape("a match", "").keys(&[
    needed("json", Kind::Read(&JSON), ""),
    needed("value", TEXT, ""),
    field("strict", Kind::Bool, ""),
]);

static EXPECT: Shape = shape("an expectation", "").keys(&[
    field("statusCode", Kind::OneOrMore(&Kind::Whole(100)), ""),
    field("notStatusCode", Kind::OneOrMore(&Kind::Whole(100)), ""),
    field("contentType", TEXT, ""),
    field("hasHeader", Kind::Text, ""),
    field("headerEquals", Kind::List(&TEXT), ""),
    field("hasProperty", Kind::Text, ""),
    field("matchesRegexp", Kind::Read(&REGEX), ""),
    field("equals", Kind::Refused("compare with a `match`"), ""),
    field("notHasProperty", Kind::Refused("genkai expects only what is there"), ""),
    field("cdnHit", Kind::Refused("expect the header itself: hasHeader, headerEquals"), ""),
    field("jmespath", Kind::Refused("write it as a `match` with a JSON path"), ""),
]);

static THINK: Shape = shape("think", "").keys(&[needed("think", Kind::Read(&PAUSE), "")]);

static LOG: Shape = shape("log", "").keys(&[field("log", Kind::Noted("prints nothing under load"), "")]);

static FUNCTION: Shape = shape("function", "").keys(&[field("function", CODE, "")]);

static PARALLEL: Shape = shape("parallel", "").keys(&[field(
    "parallel",
    Kind::Refused("a virtual user does one thing after the other"),
    "",
)]);

macro_rules! loops {
    ($name:ident $steps:ident) => {
        static $name: Shape = shape("loop", "").keys(&[
            needed("loop", Kind::Same(&$steps), ""),
            field("count", TEXT, ""),
            field("over", Kind::Any, ""),
            field("loopValue", Kind::Text, ""),
            field("loopElement", Kind::Text, ""),
            field("whileTrue", CODE, ""),
        ]);
    };
}

/// Steps of the ws engine.
pub(in crate::artillery) static WS_STEPS: Kind =
    Kind::List(&Kind::Step(&[&CONNECT, &SEND, &WAIT, &THINK, &WS_LOOP, &LOG, &FUNCTION]));
loops!(HTTP_LOOP HTTP_STEPS);

loops!(WS_LOOP WS_STEPS);

static CONNECT: Shape =
    shape("connect", "").keys(&[needed("connect", Kind::Either(&[TEXT, Kind::Object(&OPENING)]), "")]);

static OPENING: Shape = shape("connect", "").keys(&[
    field("target", TEXT, ""),
    field("headers", Kind::Map(&TEXT), ""),
    field("subprotocols", Kind::List(&Kind::Text), ""),
    field("perMessageDeflate", Kind::Bool, ""),
    field("rejectUnauthorized", Kind::Bool, ""),
    field("function", CODE, ""),
    field("proxy", Kind::Refused("genkai goes to its target itself"), ""),
]);

static SEND: Shape = shape("send", "").keys(&[needed("send", Kind::Any, ""), field("name", Kind::Text, "")]);

/// What a message is waited for with, in `send` or `wait`.
pub(in crate::artillery) static WAITED: Shape = shape("wait", "").keys(&[
    field("payload", Kind::Any, ""),
    field("capture", Kind::OneOrMore(&Kind::Object(&CAPTURE)), ""),
    field("match", Kind::OneOrMore(&Kind::Object(&MATCH)), ""),
]);

static WAIT: Shape =
    shape("wait", "").keys(&[needed("wait", Kind::Object(&WAITED), ""), field("name", Kind::Text, "")]);
