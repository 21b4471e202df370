//! genkai's own scenario files: every key, what it may be and what it is for.

use genkai_model::objective::Objective;
use genkai_model::stage;
use genkai_model::template::Template;
use genkai_model::units::{Span, Spread};

use crate::shape::{Format, Kind, Shape, field};

pub(crate) fn parsed<T: std::str::FromStr>(text: &str) -> Result<(), String> {
    text.parse::<T>().map(drop).map_err(|_| String::new())
}

pub(crate) static SPAN: Format = Format {
    name: "a duration",
    pattern: Some("^[0-9.]+ *(ns|us|ms|s|m|h)?$"),
    example: "500ms, 10s or 2m",
    read: parsed::<Span>,
};
pub(crate) static TEMPLATE: Format = Format {
    name: "text",
    pattern: None,
    example: "/users/{{id}}",
    read: |text| text.parse::<Template>().map(drop).map_err(|e| format!(": {e}")),
};
static PAUSE: Format = Format {
    name: "a duration, a distribution or a variable",
    pattern: None,
    example: "1s, uniform(1s,3s), exp(2s) or \"{{pause}}\"",
    read: |text| if text.contains("{{") { (TEMPLATE.read)(text) } else { parsed::<Spread>(text) },
};
static LEVEL: Format = Format {
    name: "a level",
    pattern: Some("^[0-9.]+( *\\.\\. *[0-9.]+)?$"),
    example: "50 or 0..50",
    read: |text| stage::levels(text).filter(|_| !text.contains(['/', 'p'])).map(drop).ok_or_else(String::new),
};
static USERS: Format = Format {
    name: "a number of users",
    pattern: Some("^[0-9]+( *\\.\\. *[0-9]+)?$"),
    example: "50 or 0..50",
    read: |text| {
        let whole =
            |(_, from, to): (Option<stage::Unit>, Option<f64>, f64)| from.unwrap_or(0.0).fract() + to.fract() == 0.0;
        (LEVEL.read)(text)?;
        stage::levels(text).filter(|levels| whole(*levels)).map(drop).ok_or_else(String::new)
    },
};
pub(crate) static OBJECTIVE: Format = Format {
    name: "an objective",
    pattern: None,
    example: "\"errors < 0.1%, p99 < 500ms\"",
    read: parsed::<Objective>,
};
pub(crate) static ADDRESS: Format = Format {
    name: "an address",
    pattern: Some("^(https?|wss?|unix|ws\\+unix):"),
    example: "http://127.0.0.1:8080",
    read: |text| {
        let known = ["http://", "https://", "ws://", "wss://", "unix:", "ws+unix:"];
        if known.iter().any(|scheme| text.starts_with(scheme)) { Ok(()) } else { Err(String::new()) }
    },
};
static REQUEST: Format = Format {
    name: "a method and a path",
    pattern: Some("^[A-Za-z]+ +[^ ].*$"),
    example: "GET /users/{{id}}",
    read: |text| {
        let (method, path) = text.trim().split_once(' ').ok_or_else(String::new)?;
        if method.is_empty()
            || !method.bytes().all(|b| b.is_ascii_alphabetic())
            || method.eq_ignore_ascii_case("connect")
        {
            return Err(String::new());
        }
        (TEMPLATE.read)(path.trim())
    },
};
static STATUS: Format = Format {
    name: "a status",
    pattern: Some("^[1-9]([0-9]{2}|xx)(-[1-9][0-9]{2})?$"),
    example: "200, 2xx or 200-299",
    read: |text| statuses(text).map(drop).ok_or_else(String::new),
};
pub(crate) static JSON: Format = Format {
    name: "a place in JSON",
    pattern: Some("^([/$].*)?$"),
    example: "/user/name (RFC 6901) or $.user.name (RFC 9535)",
    read: |text| match text.chars().next() {
        None | Some('/') => Ok(()),
        Some('$') => serde_json_path::JsonPath::parse(text).map(drop).map_err(|e| format!(": {e}")),
        Some(_) => Err(String::new()),
    },
};
pub(crate) static REGEX: Format = Format {
    name: "a regular expression",
    pattern: None,
    example: "'id=([0-9]+)'",
    read: |text| {
        regex::Regex::new(text).map(drop).map_err(|e| format!(": {}", e.to_string().lines().last().unwrap_or_default()))
    },
};
static TIMES: Format = Format {
    name: "a number, `forever` or a variable",
    pattern: None,
    example: "3, forever or \"{{n}}\"",
    read: |text| match text {
        "forever" => Ok(()),
        text if text.contains("{{") => (TEMPLATE.read)(text),
        text => parsed::<u64>(text),
    },
};

/// The statuses that `200`, `2xx` or `200-299` mean: first and last.
pub(crate) fn statuses(text: &str) -> Option<(u16, u16)> {
    let one = |text: &str| text.trim().parse().ok().filter(|status| (100..=999).contains(status));
    if let Some(hundred) = text.strip_suffix("xx").and_then(|digit| digit.parse::<u16>().ok()) {
        return (1..=9).contains(&hundred).then_some((hundred * 100, hundred * 100 + 99));
    }
    match text.split_once('-') {
        Some((from, to)) => one(from).zip(one(to)).filter(|(from, to)| from <= to),
        None => one(text).map(|status| (status, status)),
    }
}

static TEXT: Kind = Kind::Read(&TEMPLATE);

/// The whole file.
pub(crate) static SCENARIO: Shape = Shape {
    name: "a scenario",
    about: "What users do, and how many of them: genkai load FILE",
    needs: &["phases", "flows"],
    keys: &[
        field("title", Kind::Text, "What people call it"),
        field("target", Kind::Read(&ADDRESS), "Where everything goes, e.g. http://127.0.0.1:8080/api"),
        field(
            "targets",
            Kind::Map(&Kind::Either(&[Kind::Object(&TARGET), Kind::Read(&ADDRESS)])),
            "Several targets by name; the first is the one of steps that name none",
        ),
        field("http2", Kind::Bool, HTTP2),
        field("streams", Kind::Whole(1), STREAMS),
        field(
            "phases",
            Kind::List(&Kind::Object(&PHASE)),
            "How the load goes, one after the other; all in users, or all in rates",
        ),
        field("spacing", Kind::Word(&["uniform", "poisson"]), "Rates: evenly spaced, or at random [uniform]"),
        field("most", Kind::Whole(1), "Rates: at most so many runs at once [1000]"),
        field("requests", Kind::Whole(1), "End after so many requests"),
        field("timeout", Kind::Read(&SPAN), "A request without a complete response after this has failed [10s]"),
        field("drain", Kind::Read(&SPAN), "How long runs that have begun may go on after the last phase [30s]"),
        field("objective", Kind::Read(&OBJECTIVE), "What must hold; the exit code tells [errors < 0.1%]"),
        field("cookies", Kind::Bool, "Whether cookies are kept and sent [true]"),
        field("redirects", Kind::Whole(0), "So many redirections are followed, to targets only [0]"),
        field("headers", Kind::Map(&TEXT), "Header fields of every request and every WebSocket's opening"),
        field("variables", Kind::Map(&Kind::Any), "Values for {{name}}; of a list, each run takes one at random"),
        field("data", Kind::OneOrMore(&Kind::Object(&TABLE)), "CSV files; each run takes a row"),
        field("flows", Kind::List(&Kind::Object(&FLOW)), "What users do; each run takes one, by weight"),
    ],
};

const HTTP2: &str =
    "Requests are HTTP/2: agreed on by ALPN with https://, without asking with http:// and unix: [false]";
const STREAMS: &str = "HTTP/2: users that share a connection; fewer where the server allows fewer [10]";

static TARGET: Shape = Shape {
    name: "a target",
    about: "Where steps go, and what is spoken there",
    needs: &["url"],
    keys: &[
        field("url", Kind::Read(&ADDRESS), "Its address, e.g. https://127.0.0.1:8443/api"),
        field("http2", Kind::Bool, HTTP2),
        field("streams", Kind::Whole(1), STREAMS),
    ],
};

static PHASE: Shape = Shape {
    name: "a phase",
    about: "A part of the load: users, rate, count or pause",
    needs: &[],
    keys: &[
        field("users", Kind::Read(&USERS), "So many users at once, e.g. 50, or from and to, e.g. 0..50"),
        field("rate", Kind::Read(&LEVEL), "So many runs begin a second, whatever becomes of them, e.g. 10 or 0..10"),
        field("count", Kind::Whole(1), "So many runs begin, spread over the phase"),
        field("pause", Kind::Read(&SPAN), "Nothing, for so long"),
        field("for", Kind::Read(&SPAN), "How long"),
        field("name", Kind::Text, "What people call it"),
    ],
};

static TABLE: Shape = Shape {
    name: "data",
    about: "A CSV file whose columns become variables",
    needs: &["file"],
    keys: &[
        field("file", Kind::Text, "The file, from the scenario's folder"),
        field("columns", Kind::List(&Kind::Text), "Names of the columns [those in the first line]"),
        field("order", Kind::Word(&["sequence", "random"]), "Which row a run takes [sequence]"),
        field("delimiter", Kind::Text, "What stands between values [,]"),
    ],
};

static FLOW: Shape = Shape {
    name: "a flow",
    about: "What a user does, from beginning to end",
    needs: &["steps"],
    keys: &[
        field("name", Kind::Text, "Its name"),
        field("weight", Kind::Whole(0), "How often it is taken, beside the others [1]"),
        field("steps", Kind::Same(&STEPS), "What is done"),
    ],
};

static STEPS: Kind = Kind::List(&Kind::Step(&[&ASK, &DIAL, &SAY, &HEAR, &THINK, &LOOP]));

static ASK: Shape = Shape {
    name: "a request",
    about: "An HTTP request and its response",
    needs: &["request"],
    keys: &[
        field("request", Kind::Read(&REQUEST), "Method and path, e.g. POST /login"),
        field("name", Kind::Text, "What it is counted as [method and path]"),
        field("target", Kind::Text, "Name of its target [the first]"),
        field("headers", Kind::Map(&TEXT), "Header fields"),
        field("query", Kind::Map(&TEXT), "Parameters added to the path"),
        field("body", TEXT_BODY, "Body as it is"),
        field("json", Kind::Any, "Body as JSON"),
        field("form", Kind::Map(&TEXT), "Body as an HTML form"),
        field("timeout", Kind::Read(&SPAN), "Its own timeout"),
        field("redirects", Kind::Whole(0), "So many redirections are followed"),
        field("capture", Kind::Map(&Kind::Object(&CAPTURE)), "Variables taken from the response"),
        field("check", Kind::Object(&CHECK), "What must hold for the response"),
    ],
};
const TEXT_BODY: Kind = Kind::Read(&TEMPLATE);

static DIAL: Shape = Shape {
    name: "a connect",
    about: "A WebSocket is opened",
    needs: &["connect"],
    keys: &[
        field("connect", Kind::Read(&TEMPLATE), "Its path"),
        field("name", Kind::Text, "What it is counted as"),
        field("target", Kind::Text, "Name of its target [the first]"),
        field("headers", Kind::Map(&TEXT), "Header fields of the handshake"),
        field("subprotocols", Kind::List(&Kind::Text), "Subprotocols offered, best first"),
        field("deflate", Kind::Bool, "Offer permessage-deflate [false]"),
    ],
};

static SAY: Shape = Shape {
    name: "a send",
    about: "A message is sent on the open WebSocket",
    needs: &["send"],
    keys: &[
        field("send", Kind::Any, "Text, or a mapping or list that becomes JSON"),
        field("name", Kind::Text, "What it is counted as"),
        field("binary", Kind::Bool, "A binary message [false]"),
    ],
};

static HEAR: Shape = Shape {
    name: "an expect",
    about: "The next message is waited for; the time is counted from the last one sent",
    needs: &["expect"],
    keys: &[
        field(
            "expect",
            Kind::Either(&[Kind::Object(&CHECK), Kind::Read(&TEMPLATE)]),
            "What must hold for it; text must be in it",
        ),
        field("name", Kind::Text, "What it is counted as"),
        field("within", Kind::Read(&SPAN), "How long at most [the timeout]"),
        field("search", Kind::Bool, "Pass over messages for which it does not hold [false]"),
        field("capture", Kind::Map(&Kind::Object(&CAPTURE)), "Variables taken from it"),
    ],
};

static THINK: Shape = Shape {
    name: "a think",
    about: "A pause",
    needs: &["think"],
    keys: &[field("think", Kind::Read(&PAUSE), "How long")],
};

static LOOP: Shape = Shape {
    name: "a loop",
    about: "Steps are done again and again",
    needs: &["loop", "steps"],
    keys: &[
        field(
            "loop",
            Kind::Either(&[Kind::Read(&TIMES), Kind::List(&Kind::Any)]),
            "How often; or a list: once for each element",
        ),
        field("as", Kind::Text, "Variable that holds the number of the round, from 0, or the element [loop]"),
        field("steps", Kind::Same(&STEPS), "What is done"),
    ],
};

static CAPTURE: Shape = Shape {
    name: "a capture",
    about: "Where a value is: json, regex, header or body",
    needs: &[],
    keys: &[
        field("json", Kind::Read(&JSON), "In the JSON: a pointer, or a path that begins with $"),
        field("regex", Kind::Read(&REGEX), "What this matches first"),
        field("group", Kind::Whole(0), "Which group of it [1, or 0 where there is none]"),
        field("header", Kind::Text, "In this header field"),
        field("body", Kind::Bool, "All of it"),
        field("optional", Kind::Bool, "It may be missing; else the run ends [false]"),
    ],
};

static CHECK: Shape = Shape {
    name: "a check",
    about: "What must hold for a response or message",
    needs: &[],
    keys: &[
        field("status", Kind::OneOrMore(&Kind::Read(&STATUS)), "Its status is one of these, e.g. 200, 2xx, 200-204"),
        field("contains", Kind::OneOrMore(&TEXT), "It holds this text"),
        field("matches", Kind::Read(&REGEX), "It matches this"),
        field("json", Kind::Map(&TEXT), "What is there in its JSON is this, e.g. /user/name: \"{{name}}\""),
        field("exists", Kind::OneOrMore(&Kind::Read(&JSON)), "There is something there in its JSON"),
        field("header", Kind::Map(&TEXT), "The header field holds this text"),
        field("latency", Kind::Read(&SPAN), "It took less than this"),
        field("strict", Kind::Bool, "When it does not hold, the run ends [false]"),
    ],
};
