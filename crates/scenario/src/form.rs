//! genkai's own scenario files: every key, what it may be and what it is for.

use genkai_model::objective::Objective;
use genkai_model::stage;
use genkai_model::template::Template;
use genkai_model::units::{Span, Spread};

use crate::shape::{Format, Kind, Shape, field, needed, reads, shape};

pub(crate) fn parsed<T: std::str::FromStr>(text: &str) -> Result<(), String> {
    text.parse::<T>().map(drop).map_err(|_| String::new())
}

pub(crate) static SPAN: Format =
    reads("a duration", "500ms, 10s or 2m", parsed::<Span>).pattern("^[0-9.]+ *(ns|us|ms|s|m|h)?$");
pub(crate) static TEMPLATE: Format =
    reads("text", "/users/{{id}}", |text| text.parse::<Template>().map(drop).map_err(|e| format!(": {e}")));
static PAUSE: Format =
    reads("a duration, a distribution or a variable", "1s, uniform(1s,3s), exp(2s) or \"{{pause}}\"", |text| {
        if text.contains("{{") { (TEMPLATE.read)(text) } else { parsed::<Spread>(text) }
    });
static LEVEL: Format = reads("a level", "50 or 0..50", |text| {
    stage::levels(text).filter(|_| !text.contains(['/', 'p'])).map(drop).ok_or_else(String::new)
})
.pattern("^[0-9.]+( *\\.\\. *[0-9.]+)?$");
static USERS: Format = reads("a number of users", "50 or 0..50", |text| {
    let whole =
        |(_, from, to): (Option<stage::Unit>, Option<f64>, f64)| from.unwrap_or(0.0).fract() + to.fract() == 0.0;
    (LEVEL.read)(text)?;
    stage::levels(text).filter(|levels| whole(*levels)).map(drop).ok_or_else(String::new)
})
.pattern("^[0-9]+( *\\.\\. *[0-9]+)?$");
pub(crate) static OBJECTIVE: Format = reads("an objective", "\"errors < 0.1%, p99 < 500ms\"", parsed::<Objective>);
pub(crate) static ADDRESS: Format = reads("an address", "http://127.0.0.1:8080", |text| {
    let known = ["http://", "https://", "ws://", "wss://", "unix:", "ws+unix:"];
    if known.iter().any(|scheme| text.starts_with(scheme)) { Ok(()) } else { Err(String::new()) }
})
.pattern("^(https?|wss?|unix|ws\\+unix):");
static REQUEST: Format = reads("a method and a path", "GET /users/{{id}}", |text| {
    let (method, path) = text.trim().split_once(' ').ok_or_else(String::new)?;
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_alphabetic()) || method.eq_ignore_ascii_case("connect") {
        return Err(String::new());
    }
    (TEMPLATE.read)(path.trim())
})
.pattern("^[A-Za-z]+ +[^ ].*$");
static STATUS: Format =
    reads("a status", "200, 2xx or 200-299", |text| statuses(text).map(drop).ok_or_else(String::new))
        .pattern("^[1-9]([0-9]{2}|xx)(-[1-9][0-9]{2})?$");
pub(crate) static JSON: Format =
    reads("a place in JSON", "/user/name (RFC 6901) or $.user.name (RFC 9535)", |text| match text.chars().next() {
        None | Some('/') => Ok(()),
        Some('$') => serde_json_path::JsonPath::parse(text).map(drop).map_err(|e| format!(": {e}")),
        Some(_) => Err(String::new()),
    })
    .pattern("^([/$].*)?$");
pub(crate) static REGEX: Format = reads("a regular expression", "'id=([0-9]+)'", |text| {
    regex::Regex::new(text).map(drop).map_err(|e| format!(": {}", e.to_string().lines().last().unwrap_or_default()))
});
static TIMES: Format = reads("a number, `forever` or a variable", "3, forever or \"{{n}}\"", |text| match text {
    "forever" => Ok(()),
    text if text.contains("{{") => (TEMPLATE.read)(text),
    text => parsed::<u64>(text),
});

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
pub(crate) static SCENARIO: Shape =
    shape("a scenario", "What users do, and how many of them: genkai load FILE").keys(&[
        field("title", Kind::Text, "Title in reports"),
        field("target", Kind::Read(&ADDRESS), "Address that all requests go to, e.g. http://127.0.0.1:8080/api"),
        field(
            "targets",
            Kind::Map(&Kind::Either(&[Kind::Object(&TARGET), Kind::Read(&ADDRESS)])),
            "Several targets by name; a step without a target uses the first",
        ),
        field("http2", Kind::Bool, HTTP2),
        field("streams", Kind::Whole(1), STREAMS),
        needed(
            "phases",
            Kind::List(&Kind::Object(&PHASE)),
            "Phases of the load, one after the other; all of users, or all of rates",
        ),
        field("spacing", Kind::Word(&["uniform", "poisson"]), "Rates: even or random spacing [uniform]"),
        field("most", Kind::Whole(1), "Rates: most runs at once [1000]"),
        field("requests", Kind::Whole(1), "End after this many requests"),
        field("timeout", Kind::Read(&SPAN), "A request without a complete response after this time has failed [10s]"),
        field("drain", Kind::Read(&SPAN), "Time that started runs may continue after the last phase [30s]"),
        field("objective", Kind::Read(&OBJECTIVE), "Objective; the exit code tells whether it holds [errors < 0.1%]"),
        field("cookies", Kind::Bool, "Keep and send cookies [true]"),
        field("redirects", Kind::Whole(0), "Redirects to follow, to targets only [0]"),
        field("headers", Kind::Map(&TEXT), "Header fields of every request and every WebSocket handshake"),
        field("variables", Kind::Map(&Kind::Any), "Values for {{name}}; each run takes a random element of a list"),
        field("data", Kind::OneOrMore(&Kind::Object(&TABLE)), "CSV files; each run takes one row"),
        needed("flows", Kind::List(&Kind::Object(&FLOW)), "What users do; each run takes one flow, by weight"),
    ]);

const HTTP2: &str = "Use HTTP/2: negotiated by ALPN with https://, without negotiation with http:// and unix: [false]";
const STREAMS: &str = "HTTP/2: users that share a connection; fewer if the server allows fewer [10]";

static TARGET: Shape = shape("a target", "Where steps go, and what is spoken there").keys(&[
    needed("url", Kind::Read(&ADDRESS), "Its address, e.g. https://127.0.0.1:8443/api"),
    field("http2", Kind::Bool, HTTP2),
    field("streams", Kind::Whole(1), STREAMS),
]);

static PHASE: Shape = shape("a phase", "A part of the load: users, rate, count or pause").keys(&[
    field("users", Kind::Read(&USERS), "Number of users, e.g. 50, or from and to, e.g. 0..50"),
    field("rate", Kind::Read(&LEVEL), "Runs started per second, however long they take, e.g. 10 or 0..10"),
    field("count", Kind::Whole(1), "Runs started, spread over the phase"),
    field("pause", Kind::Read(&SPAN), "Start nothing for this time"),
    field("for", Kind::Read(&SPAN), "Duration"),
    field("name", Kind::Text, "Title in reports"),
]);

static TABLE: Shape = shape("data", "A CSV file whose columns become variables").keys(&[
    needed("file", Kind::Text, "The file, from the scenario's folder"),
    field("columns", Kind::List(&Kind::Text), "Names of the columns [the first line]"),
    field("order", Kind::Word(&["sequence", "random"]), "Order in which runs take rows [sequence]"),
    field("delimiter", Kind::Text, "Character between values [,]"),
]);

static FLOW: Shape = shape("a flow", "What a user does, from beginning to end").keys(&[
    field("name", Kind::Text, "Its name"),
    field("weight", Kind::Whole(0), "Weight relative to the other flows [1]"),
    needed("steps", Kind::Same(&STEPS), "Steps, in order"),
]);

static STEPS: Kind = Kind::List(&Kind::Step(&[&ASK, &DIAL, &SAY, &HEAR, &THINK, &LOOP]));

static ASK: Shape = shape("a request", "An HTTP request and its response").keys(&[
    needed("request", Kind::Read(&REQUEST), "Method and path, e.g. POST /login"),
    field("name", Kind::Text, "Name in reports [method and path]"),
    field("target", Kind::Text, "Name of its target [the first]"),
    field("headers", Kind::Map(&TEXT), "Header fields"),
    field("query", Kind::Map(&TEXT), "Parameters added to the path"),
    field("body", TEXT_BODY, "Body as it is"),
    field("json", Kind::Any, "Body as JSON"),
    field("form", Kind::Map(&TEXT), "Body as an HTML form"),
    field("timeout", Kind::Read(&SPAN), "Timeout of this request"),
    field("redirects", Kind::Whole(0), "Redirects to follow"),
    field("capture", Kind::Map(&Kind::Object(&CAPTURE)), "Variables to take from the response"),
    field("check", Kind::Object(&CHECK), "Conditions on the response"),
]);
const TEXT_BODY: Kind = Kind::Read(&TEMPLATE);

static DIAL: Shape = shape("a connect", "A WebSocket is opened").keys(&[
    needed("connect", Kind::Read(&TEMPLATE), "Path"),
    field("name", Kind::Text, "Name in reports"),
    field("target", Kind::Text, "Name of its target [the first]"),
    field("headers", Kind::Map(&TEXT), "Header fields of the handshake"),
    field("subprotocols", Kind::List(&Kind::Text), "Subprotocols to offer, preferred first"),
    field("deflate", Kind::Bool, "Offer permessage-deflate [false]"),
]);

static SAY: Shape = shape("a send", "Sends a message on the open WebSocket").keys(&[
    needed("send", Kind::Any, "Text, or a mapping or list that becomes JSON"),
    field("name", Kind::Text, "Name in reports"),
    field("binary", Kind::Bool, "Send a binary message [false]"),
]);

static HEAR: Shape =
    shape("an expect", "Waits for the next message; the time counts from the last message sent").keys(&[
        needed(
            "expect",
            Kind::Either(&[Kind::Object(&CHECK), Kind::Read(&TEMPLATE)]),
            "Conditions on the message; or text that it must contain",
        ),
        field("name", Kind::Text, "Name in reports"),
        field("within", Kind::Read(&SPAN), "Longest wait [the timeout]"),
        field("search", Kind::Bool, "Skip messages that do not meet the conditions [false]"),
        field("capture", Kind::Map(&Kind::Object(&CAPTURE)), "Variables to take from the message"),
    ]);

static THINK: Shape = shape("a think", "A pause").keys(&[needed("think", Kind::Read(&PAUSE), "Duration")]);

static LOOP: Shape = shape("a loop", "Repeats steps").keys(&[
    needed(
        "loop",
        Kind::Either(&[Kind::Read(&TIMES), Kind::List(&Kind::Any)]),
        "Number of rounds, or a list: one round for each element",
    ),
    field("as", Kind::Text, "Variable for the number of the round, from 0, or the element [loop]"),
    needed("steps", Kind::Same(&STEPS), "Steps, in order"),
]);

static CAPTURE: Shape = shape("a capture", "Where to find a value: json, regex, header or body").keys(&[
    field("json", Kind::Read(&JSON), "In the JSON: a pointer, or a path that begins with $"),
    field("regex", Kind::Read(&REGEX), "The first match of this regular expression"),
    field("group", Kind::Whole(0), "Group of the match [1, or 0 if there is none]"),
    field("header", Kind::Text, "In this header field"),
    field("body", Kind::Bool, "The whole body"),
    field("optional", Kind::Bool, "Continue the run if the value is missing [false]"),
]);

static CHECK: Shape = shape("a check", "Conditions on a response or message").keys(&[
    field("status", Kind::OneOrMore(&Kind::Read(&STATUS)), "Status, one of these, e.g. 200, 2xx, 200-204"),
    field("contains", Kind::OneOrMore(&TEXT), "Text that it contains"),
    field("matches", Kind::Read(&REGEX), "Regular expression that it matches"),
    field("json", Kind::Map(&TEXT), "Values in its JSON, e.g. /user/name: \"{{name}}\""),
    field("exists", Kind::OneOrMore(&Kind::Read(&JSON)), "Places in its JSON that have a value"),
    field("header", Kind::Map(&TEXT), "Header fields that contain this text"),
    field("latency", Kind::Read(&SPAN), "Time that it took at most"),
    field("strict", Kind::Bool, "End the run if a condition does not hold [false]"),
]);
