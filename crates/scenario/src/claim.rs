//! Claims: advice, and how it is put to the test.

use std::path::Path;

use genkai_model::claim::{Claim, LoadTest, Promise, Promised, Test};
use genkai_model::figure::Figure;
use genkai_model::load::{Arrivals, Body, Load, Protocol, Reuse, Spacing};
use genkai_model::plan::{Answers, Backend, ConfigSource, Front, System, WebSocketServer};
use genkai_model::setting::RequestedChange;
use genkai_model::units::{Bytes, Span, Spread};
use genkai_model::websocket::{Message, SMALLEST_MESSAGE, WebSocket};

use crate::backend::{BACKEND, SIZE, SPREAD, backend, embedded, read as value};
use crate::fault::Fault;
use crate::form::{OBJECTIVE, SPAN, parsed};
use crate::native::whole;
use crate::shape::{Format, Kind, Shape, field, needed, one_of, reads, shape};
use crate::systems::{SETTINGS, settings, tree};
use crate::yaml::Node;

static CHANGE: Format =
    reads("a change", "\"worker_connections 512 -> 1024\"", parsed::<RequestedChange>).pattern("(->|=)");
static PATH: Format = reads("a path", "/index.html", |text| {
    if text.starts_with('/') && text.bytes().all(|b| b.is_ascii_graphic()) { Ok(()) } else { Err(String::new()) }
})
.pattern("^/");
static BECOMES: Kind = Kind::Word(&["better", "worse", "same"]);
static TIMES: Format = reads("one of better, worse, same, or a factor", "better, or x0.5", parsed::<Promised>)
    .pattern(r"^(better|worse|same|x[0-9]+(\.[0-9]+)?)$");
static BY_RATIO: Kind = Kind::Read(&TIMES);

static PROMISES: Shape = shape("promises", "What the advice promises for each figure.").keys(&[
    field("failures", Kind::Same(&BECOMES), "Share of failed requests."),
    field("throughput", Kind::Same(&BY_RATIO), "Successful responses per second."),
    field("p50", Kind::Same(&BY_RATIO), "Median latency."),
    field("p95", Kind::Same(&BY_RATIO), "95th percentile of the latency."),
    field("p99", Kind::Same(&BY_RATIO), "99th percentile of the latency."),
    field("max", Kind::Same(&BY_RATIO), "Longest latency."),
    field("cpu", Kind::Same(&BY_RATIO), "Processor time of the server per request."),
    field("memory", Kind::Same(&BY_RATIO), "Largest resident memory of the server."),
]);

static WEBSOCKET: Shape = shape("WebSockets", "WebSocket load.").keys(&[
    field("message", Kind::Read(&SIZE), "Size of a message, at least 24 bytes; 64 if left out."),
    field("binary", Kind::Bool, "Send binary messages instead of text."),
    field("ping", Kind::Read(&SPAN), "Send a ping at this interval on idle connections."),
]);

static LOAD: Shape = shape("a load", "The load under which it is tested.").keys(&[
    field(
        "users",
        Kind::Whole(1),
        "Closed model: number of users, each waiting for its response; 50 if nothing is given.",
    ),
    field("think", Kind::Read(&SPREAD), "Pause between a response and the user's next request."),
    field("rate", Kind::Number, "Open model: requests (or WebSocket messages) per second, instead of users."),
    field(
        "connections",
        Kind::Whole(1),
        "Open model: most connections, 1000 if left out. WebSocket without a rate: number of connections, held idle.",
    ),
    field(
        "websocket",
        Kind::Either(&[Kind::Bool, Kind::Object(&WEBSOCKET)]),
        "Use WebSocket; the backend must send each message back.",
    ),
    field("path", Kind::Read(&PATH), "Path to request; / if left out."),
    field("body", Kind::Read(&SIZE), "Size of a request body; the method is then POST."),
    field("new-connections", Kind::Bool, "Open a new connection for each request."),
    field("timeout", Kind::Read(&SPAN), "A request without a response after this time has failed; 60s if left out."),
    field("hold", Kind::Read(&SPAN), "Time for which each turn holds the load."),
]);

/// The whole file.
pub(crate) static CLAIM: Shape = shape("a claim", "Advice, and how `genkai claims FILE` tests it.").keys(&[
    field("name", Kind::Text, "Short name; that of the file if left out."),
    needed("advice", Kind::Text, "The advice, as its source words it."),
    field("read", Kind::Text, "Source of the advice."),
    needed("product", Kind::Product, "Product that has the setting."),
    field(
        "config",
        Kind::Text,
        "Main file of a configuration, relative to the folder of this file; a plain reverse proxy if left out.",
    ),
    field("set", Kind::Same(&SETTINGS), "Settings before the change, by name."),
    field("backend", Kind::Same(&BACKEND), "Backend; embedded if left out, or keep with `config`."),
    field("tls", Kind::Bool, "The plain reverse proxy listens with TLS."),
    field("line", Kind::Text, "Line of a configuration to give to the server's own check, instead of a change."),
    field(
        "change",
        Kind::OneOrMore(&Kind::Read(&CHANGE)),
        "Change that the advice makes. Several are tested one by one, and all together.",
    ),
    field("load", Kind::Object(&LOAD), "The load under which it is tested."),
    field("objective", Kind::Read(&OBJECTIVE), "Objective of each turn, reported beside the comparison."),
    field("promises", Kind::Object(&PROMISES), "What the advice promises for each figure."),
]);

/// Reads the claim in `text`, which is that of `file`; paths in it are from `folder`, its product is one of `products`.
///
/// # Errors
/// The first mistake.
pub fn read(file: &str, text: &str, folder: &Path, products: &[&str]) -> Result<Claim, Fault> {
    let made = tree(text, &CLAIM).and_then(|root| {
        root.get("product").map_or(Ok(()), |product| one_of(product, products, "product"))?;
        claim(&root, file, folder)
    });
    made.map_err(|fault| fault.within(file))
}

fn claim(root: &Node, file: &str, folder: &Path) -> Result<Claim, Fault> {
    let text = |name: &str| root.text(name).map(str::to_owned);
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let config = text("config").map_or(ConfigSource::Generated, |path| ConfigSource::File(folder.join(path)));
    let usual = match config {
        ConfigSource::Generated => Backend::Embedded(embedded(None)),
        ConfigSource::File(_) | ConfigSource::Cluster(_) => Backend::Kept,
    };
    let system = System {
        product: text("product").unwrap_or_default(),
        program: None,
        command: None,
        config,
        settings: settings(root.get("set")),
        backend: messages(root).or(backend(root.get("backend"))?).unwrap_or(usual),
        front: Front { tls: root.is("tls") == Some(true), ..Front::default() },
        allow_remote: Vec::new(),
        start_applications: false,
    };
    let test = match (text("line"), root.get("change")) {
        (Some(_), Some(change)) => {
            return Err(change.fault("both `line` and `change`", "a line is only checked; keep one of them"));
        }
        (Some(line), None) => {
            if line.contains(['\n', '\r']) {
                return Err(root.fault("`line` has several lines", "give one"));
            }
            Test::Line(line)
        }
        (None, Some(change)) => Test::Load(Box::new(test(root, change)?)),
        (None, None) => return Err(root.fault("a claim needs `change` or `line`", "")),
    };
    Ok(Claim {
        name: text("name").or(stem).unwrap_or_default(),
        advice: text("advice").unwrap_or_default(),
        read: text("read").unwrap_or_default(),
        system,
        test,
    })
}

fn test(root: &Node, change: &Node) -> Result<LoadTest, Fault> {
    let promised = root.get("promises");
    let promises: Vec<Promise> =
        promised.map(Node::map).unwrap_or_default().iter().filter_map(|(key, node)| promise(&key.name, node)).collect();
    if promises.is_empty() {
        return Err(root.fault("the advice promises nothing", "add `promises`, e.g. `throughput: better`"));
    }
    let objective = value(root, "objective").unwrap_or_default();
    let changes = change.each().iter().filter_map(Node::scalar).map(str::to_owned).collect();
    let (load, hold) = match root.get("load") {
        Some(node) => (load(node)?, value::<Span>(node, "hold")),
        None => (Load::users(USERS, 1e6), None),
    };
    Ok(LoadTest { changes, load, hold, objective, promises })
}

/// The server behind WebSockets, which sends every message back; none for other loads, or where the file names another.
fn messages(root: &Node) -> Option<Backend> {
    let said = root.get("backend");
    let ours = said.is_none_or(|node| node.scalar().is_none_or(|word| word == "embedded"));
    let generated = said.is_some() || root.get("config").is_none();
    let speaks = root.get("load").is_some_and(speaks);
    let delay = match said.and_then(|node| value::<Spread>(node, "time")) {
        Some(Spread::Constant(time)) => time,
        _ => Span(0),
    };
    let server = WebSocketServer { answers: Answers::Echo, max_message: Bytes(64 << 20), delay };
    (ours && generated && speaks).then_some(Backend::WebSocket(server))
}

/// Whether a load is of WebSockets.
fn speaks(load: &Node) -> bool {
    load.get("websocket").is_some_and(|node| node.boolean() != Some(false))
}

/// The load as WebSockets.
fn websockets(node: &Node, spoken: &Node, mut load: Load) -> Result<Load, Fault> {
    let held = node.get("connections").filter(|_| node.get("rate").is_none());
    let size = value(spoken, "message").unwrap_or(Bytes(64)).0;
    if size < SMALLEST_MESSAGE {
        let hint = "a message carries its identity";
        return Err(spoken.fault(format!("`message` must be at least {SMALLEST_MESSAGE} bytes"), hint));
    }
    if let (Some(connections), Arrivals::Users { count, .. }) = (held, &mut load.arrivals) {
        *count = whole(connections).min(1_000_000) as u32;
    }
    let binary = spoken.is("binary") == Some(true);
    load.protocol = Protocol::WebSocket(WebSocket {
        message: held.is_none().then_some(Message { size, binary }),
        ping: value(spoken, "ping").filter(|_| held.is_some()),
        ..WebSocket::default()
    });
    Ok(load)
}

/// Users where nothing is said.
const USERS: u32 = 50;

fn promise(figure: &str, node: &Node) -> Option<Promise> {
    let word = node.scalar()?;
    Some(Promise { figure: figure.parse::<Figure>().ok()?, becomes: word.parse().ok()? })
}

fn load(node: &Node) -> Result<Load, Fault> {
    let number = |name: &str| node.get(name).map(|n| whole(n).min(1_000_000) as u32);
    let think = value(node, "think");
    let mut load = Load::users(number("users").unwrap_or(USERS), 1e6);
    match (node.get("rate"), node.get("users").or(node.get("think"))) {
        (Some(_), Some(users)) => {
            return Err(users.fault("both `rate` and users", "the open model has no users; keep one of them"));
        }
        (Some(rate), None) => {
            let per_second = rate.number().filter(|rate| *rate > 0.0 && *rate <= 1e7);
            let per_second = per_second.ok_or_else(|| rate.fault("`rate` must be above 0 and at most 10000000", ""))?;
            let connections = number("connections").unwrap_or(1000);
            load.arrivals = Arrivals::Rate { per_second, ramp: Span(0), spacing: Spacing::Uniform, connections };
            load.kernel_timestamps = true;
        }
        (None, _) => {
            if let Some(connections) = node.get("connections").filter(|_| !speaks(node)) {
                return Err(connections.fault("`connections` belongs to `rate`", "the closed model has one a user"));
            }
            if let (Arrivals::Users { think: pause, .. }, Some(given)) = (&mut load.arrivals, think) {
                *pause = given;
            }
        }
    }
    if let Some(path) = node.text("path") {
        path.clone_into(&mut load.request.path);
    }
    if let Some(Bytes(size)) = value(node, "body") {
        load.request.body = Body::Size(size);
        "POST".clone_into(&mut load.request.method);
    }
    if node.is("new-connections") == Some(true) {
        load.reuse = Reuse::PerRequest;
    }
    load.timeout = value(node, "timeout").filter(|span: &Span| span.0 > 0).unwrap_or(load.timeout);
    match node.get("websocket").filter(|_| speaks(node)) {
        Some(spoken) => websockets(node, spoken, load),
        None => Ok(load),
    }
}
