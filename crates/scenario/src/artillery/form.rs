//! Artillery's scripts (<https://www.artillery.io/docs/reference/test-script>): every key that is known, and what cannot be done.

use crate::form::{ADDRESS, JSON, REGEX};
use crate::shape::{Format, Kind, Shape, field};

/// Numbers are seconds, text is read as the npm package `ms` does.
static TIME: Format = Format {
    name: "a duration",
    pattern: None,
    example: "60, \"5m\" or \"500ms\"",
    read: |text| super::time(text).map(drop).ok_or_else(String::new),
};
static TEMPLATE: Format = Format {
    name: "text",
    pattern: None,
    example: "/users/{{ id }}",
    read: |text| text.parse::<genkai_model::template::Template>().map(drop).map_err(|e| format!(": {e}")),
};
static PAUSE: Format = Format {
    name: "a duration or a variable",
    pattern: None,
    example: "1, \"500ms\" or \"{{ pause }}\"",
    read: |text| if text.contains("{{") { (TEMPLATE.read)(text) } else { (TIME.read)(text) },
};

const TEXT: Kind = Kind::Read(&TEMPLATE);
const CODE: Kind = Kind::Refused("genkai runs no JavaScript");
const BROWSER: Kind = Kind::Refused("genkai drives no browser and no other engine than http and ws");

/// The whole file.
pub(super) static SCRIPT: Shape = Shape {
    name: "an Artillery script",
    about: "",
    needs: &["config", "scenarios"],
    keys: &[
        field("config", Kind::Object(&CONFIG), ""),
        field("scenarios", Kind::List(&Kind::Object(&FLOW)), ""),
        field("before", Kind::Refused("genkai has no flow that runs once before the load"), ""),
        field("after", Kind::Refused("genkai has no flow that runs once after the load"), ""),
    ],
};

pub(super) static CONFIG: Shape = Shape {
    name: "config",
    about: "",
    needs: &[],
    keys: &[
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
    ],
};

static PHASE: Shape = Shape {
    name: "a phase",
    about: "",
    needs: &[],
    keys: &[
        field("duration", Kind::Read(&TIME), ""),
        field("arrivalRate", Kind::Number, ""),
        field("rampTo", Kind::Number, ""),
        field("arrivalCount", Kind::Whole(0), ""),
        field("maxVusers", Kind::Whole(1), ""),
        field("pause", Kind::Read(&TIME), ""),
        field("name", Kind::Text, ""),
        field("mode", Kind::Word(&["uniform", "poisson"]), ""),
    ],
};

static PAYLOAD: Shape = Shape {
    name: "payload",
    about: "",
    needs: &["path"],
    keys: &[
        field("path", Kind::Text, ""),
        field("fields", Kind::List(&Kind::Text), ""),
        field("order", Kind::Word(&["random", "sequence"]), ""),
        field("skipHeader", Kind::Bool, ""),
        field("delimiter", Kind::Text, ""),
        field("cast", Kind::Bool, ""),
        field("skipEmptyLines", Kind::Noted("empty lines are always left out"), ""),
        field("loadAll", Kind::Bool, ""),
        field("name", Kind::Text, ""),
    ],
};

static TLS: Shape = Shape { name: "tls", about: "", needs: &[], keys: &[field("rejectUnauthorized", Kind::Bool, "")] };

static HTTP: Shape = Shape {
    name: "http",
    about: "",
    needs: &[],
    keys: &[
        field("timeout", Kind::Number, ""),
        field("defaults", Kind::Object(&DEFAULTS), ""),
        field("extendedMetrics", Kind::Noted("connect and TLS times are always reported"), ""),
        field("maxSockets", Kind::Noted("each virtual user has one connection a target"), ""),
        field("pool", Kind::Refused("each virtual user has connections of its own"), ""),
        field("cookieJarOptions", Kind::Refused("cookies are kept as RFC 6265 has it"), ""),
    ],
};

static WS: Shape = Shape {
    name: "ws",
    about: "",
    needs: &[],
    keys: &[
        field("subprotocols", Kind::List(&Kind::Text), ""),
        field("headers", Kind::Map(&TEXT), ""),
        field("rejectUnauthorized", Kind::Bool, ""),
        field("perMessageDeflate", Kind::Bool, ""),
        field("timeout", Kind::Number, ""),
        field("proxy", Kind::Refused("genkai goes to its target itself"), ""),
        field("maxRedirects", Kind::Refused("openings of WebSockets are not redirected"), ""),
        field("followRedirects", Kind::Refused("openings of WebSockets are not redirected"), ""),
    ],
};

static DEFAULTS: Shape = Shape {
    name: "defaults",
    about: "",
    needs: &[],
    keys: &[
        field("headers", Kind::Map(&TEXT), ""),
        field("strictCapture", Kind::Bool, ""),
        field("think", Kind::Object(&JITTER), ""),
        field("cookie", Kind::Refused("name cookies in a Cookie header"), ""),
    ],
};

static JITTER: Shape = Shape { name: "think", about: "", needs: &[], keys: &[field("jitter", Kind::Text, "")] };

static PLUGINS: Shape = Shape {
    name: "plugins",
    about: "",
    needs: &[],
    keys: &[
        field("expect", Kind::Noted("expectations are checked; one that fails is a failed request"), ""),
        field("ensure", Kind::Either(&[Kind::Object(&ENSURE), Kind::Any]), ""),
        field("apdex", Kind::Noted("no Apdex is computed; the whole distribution is reported"), ""),
        field("metrics-by-endpoint", Kind::Noted("every step is measured by its name anyway"), ""),
        field("publish-metrics", Kind::Refused("genkai sends its figures to nobody; see --json"), ""),
        field("fake-data", Kind::Refused("write {{ $randomString(10) }}, {{ $uuid() }} or use a CSV file"), ""),
        field("slack", Kind::Refused("genkai tells nobody but its caller"), ""),
    ],
};

pub(super) static ENSURE: Shape = Shape {
    name: "ensure",
    about: "",
    needs: &[],
    keys: &[
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
    ],
};

static CONDITION: Shape = Shape {
    name: "a condition",
    about: "",
    needs: &["expression"],
    keys: &[field("expression", Kind::Text, ""), field("strict", Kind::Bool, "")],
};

static FLOW: Shape = Shape {
    name: "a scenario",
    about: "",
    needs: &["flow"],
    keys: &[
        field("name", Kind::Text, ""),
        field("weight", Kind::Whole(0), ""),
        field("engine", Kind::Word(&["http", "ws", "websocket"]), ""),
        field("flow", Kind::List(&Kind::Any), ""),
        field("beforeScenario", CODE, ""),
        field("afterScenario", CODE, ""),
        field("beforeRequest", CODE, ""),
        field("afterResponse", CODE, ""),
        field("testFunction", BROWSER, ""),
        field("flowFunction", BROWSER, ""),
    ],
};

/// Steps of the http engine.
pub(super) static HTTP_STEPS: Kind = Kind::List(&Kind::Step(&[
    &GET, &POST, &PUT, &PATCH, &DELETE, &HEAD, &OPTIONS, &THINK, &HTTP_LOOP, &LOG, &FUNCTION, &PARALLEL,
]));

macro_rules! requests {
    ($($name:ident $method:literal),+) => {
        $(static $name: Shape = Shape {
            name: $method, about: "", needs: &[$method],
            keys: &[field($method, Kind::Object(&REQUEST), "")],
        };)+
    };
}
requests!(GET "get", POST "post", PUT "put", PATCH "patch", DELETE "delete", HEAD "head", OPTIONS "options");

static REQUEST: Shape = Shape {
    name: "a request",
    about: "",
    needs: &["url"],
    keys: &[
        field("url", TEXT, ""),
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
        field("ifTrue", Kind::Refused("genkai has no conditional steps"), ""),
        field("beforeRequest", CODE, ""),
        field("afterResponse", CODE, ""),
    ],
};

static AUTH: Shape = Shape {
    name: "auth",
    about: "",
    needs: &["user", "pass"],
    keys: &[field("user", Kind::Text, ""), field("pass", Kind::Text, "")],
};

static CAPTURE: Shape = Shape {
    name: "a capture",
    about: "",
    needs: &["as"],
    keys: &[
        field("json", Kind::Read(&JSON), ""),
        field("regexp", Kind::Read(&REGEX), ""),
        field("header", Kind::Text, ""),
        field("group", Kind::Whole(0), ""),
        field("flags", Kind::Text, ""),
        field("as", Kind::Text, ""),
        field("strict", Kind::Bool, ""),
        field("xpath", Kind::Refused("genkai reads JSON and text, not XML"), ""),
        field("selector", Kind::Refused("genkai reads JSON and text, not HTML"), ""),
        field("transform", CODE, ""),
    ],
};

static MATCH: Shape = Shape {
    name: "a match",
    about: "",
    needs: &["json", "value"],
    keys: &[field("json", Kind::Read(&JSON), ""), field("value", TEXT, ""), field("strict", Kind::Bool, "")],
};

static EXPECT: Shape = Shape {
    name: "an expectation",
    about: "",
    needs: &[],
    keys: &[
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
    ],
};

static THINK: Shape =
    Shape { name: "think", about: "", needs: &["think"], keys: &[field("think", Kind::Read(&PAUSE), "")] };

static LOG: Shape =
    Shape { name: "log", about: "", needs: &[], keys: &[field("log", Kind::Noted("prints nothing under load"), "")] };

static FUNCTION: Shape = Shape { name: "function", about: "", needs: &[], keys: &[field("function", CODE, "")] };

static PARALLEL: Shape = Shape {
    name: "parallel",
    about: "",
    needs: &[],
    keys: &[field("parallel", Kind::Refused("a virtual user does one thing after the other"), "")],
};

macro_rules! loops {
    ($name:ident $steps:ident) => {
        static $name: Shape = Shape {
            name: "loop",
            about: "",
            needs: &["loop"],
            keys: &[
                field("loop", Kind::Same(&$steps), ""),
                field("count", TEXT, ""),
                field("over", Kind::Any, ""),
                field("loopValue", Kind::Text, ""),
                field("loopElement", Kind::Text, ""),
                field("whileTrue", CODE, ""),
            ],
        };
    };
}
/// Steps of the ws engine.
pub(super) static WS_STEPS: Kind =
    Kind::List(&Kind::Step(&[&CONNECT, &SEND, &WAIT, &THINK, &WS_LOOP, &LOG, &FUNCTION]));
loops!(HTTP_LOOP HTTP_STEPS);
loops!(WS_LOOP WS_STEPS);

static CONNECT: Shape = Shape {
    name: "connect",
    about: "",
    needs: &["connect"],
    keys: &[field("connect", Kind::Either(&[TEXT, Kind::Object(&OPENING)]), "")],
};

static OPENING: Shape = Shape {
    name: "connect",
    about: "",
    needs: &[],
    keys: &[
        field("target", TEXT, ""),
        field("headers", Kind::Map(&TEXT), ""),
        field("subprotocols", Kind::List(&Kind::Text), ""),
        field("perMessageDeflate", Kind::Bool, ""),
        field("rejectUnauthorized", Kind::Bool, ""),
        field("function", CODE, ""),
        field("proxy", Kind::Refused("genkai goes to its target itself"), ""),
    ],
};

static SEND: Shape = Shape {
    name: "send",
    about: "",
    needs: &["send"],
    keys: &[field("send", Kind::Any, ""), field("name", Kind::Text, "")],
};

/// What a message is waited for with, in `send` or `wait`.
pub(super) static WAITED: Shape = Shape {
    name: "wait",
    about: "",
    needs: &[],
    keys: &[
        field("payload", Kind::Any, ""),
        field("capture", Kind::OneOrMore(&Kind::Object(&CAPTURE)), ""),
        field("match", Kind::OneOrMore(&Kind::Object(&MATCH)), ""),
    ],
};

static WAIT: Shape = Shape {
    name: "wait",
    about: "",
    needs: &["wait"],
    keys: &[field("wait", Kind::Object(&WAITED), ""), field("name", Kind::Text, "")],
};
