//! What a call asks besides its body: parameters that the published API has for it, of the type that it has, and no other. (A real API server
//! passes over what it does not know, so that a misspelt one would never be seen.)

use hyper::body::Incoming;
use hyper::{Method, Request};

use super::objects::decoded;

/// Parameters of attaching and of commands in containers; `command` is of commands alone.
const STREAMS: [&str; 6] = ["stdin", "stdout", "stderr", "tty", "container", "command"];
/// Of reading a log.
const LOG: [&str; 7] = ["container", "follow", "limitBytes", "previous", "sinceSeconds", "tailLines", "timestamps"];
/// Of lists.
const LIST: [&str; 6] = ["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "timeoutSeconds"];
/// Of what changes something.
const CHANGE: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];
/// Parameters that are true or false.
const TRUTHS: [&str; 7] = ["stdin", "stdout", "stderr", "tty", "follow", "previous", "force"];

/// Whether a call is one that the API has.
pub(super) fn is_known(request: &Request<Incoming>, parts: &[&str]) {
    let query = request.uri().query().unwrap_or_default();
    let last = parts.last().copied().unwrap_or_default();
    let known: &[&str] = match (request.method(), last) {
        (&Method::GET, "exec") => &STREAMS,
        (&Method::GET, "attach") => &STREAMS[..5],
        (&Method::GET, "log") => &LOG,
        (&Method::GET, "pods" | "events" | "services" | "ingresses") => &LIST,
        (&Method::GET | &Method::DELETE, _) => &[],
        _ => &CHANGE,
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        assert!(known.contains(&name), "{} {} has no parameter {name}", request.method(), request.uri());
        let value = decoded(value);
        assert!(!TRUTHS.contains(&name) || matches!(value.as_str(), "true" | "false"), "{name}={value}");
        let number = matches!(name, "limit" | "limitBytes" | "tailLines" | "sinceSeconds" | "timeoutSeconds");
        assert!(!number || value.parse::<u64>().is_ok(), "{name}={value}");
    }
    if matches!(last, "exec" | "attach") {
        is_websocket(request);
    }
}

/// Whether a call switches to WebSocket as RFC 6455 (4.1) has it, with the channels that the API server has.
fn is_websocket(request: &Request<Incoming>) {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    assert!(header("upgrade").eq_ignore_ascii_case("websocket"), "{:?}", request.headers());
    assert!(header("connection").to_ascii_lowercase().contains("upgrade"), "{:?}", request.headers());
    assert_eq!((header("sec-websocket-version"), header("sec-websocket-key").len()), ("13", 24));
    for one in header("sec-websocket-protocol").split(", ") {
        assert!(matches!(one, "v4.channel.k8s.io" | "v5.channel.k8s.io"), "no such channels: {one}");
    }
}
