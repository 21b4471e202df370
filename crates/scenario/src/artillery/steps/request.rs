//! Requests, and openings of WebSockets: where they go and what they carry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use genkai_model::scenario::{Connect, Request, Step};
use genkai_model::template::{Part, Template};
use genkai_model::units::Span;
use genkai_model::websocket::Deflate;

use super::checks::{captures, expectations, matches};
use super::{json, settled, template};
use crate::artillery::{Common, headers, texts};
use crate::builder::{Builder, resolve};
use crate::fault::{Fault, Place};
use crate::native::{add_header, with_defaults, without_query};
use crate::yaml::Node;

/// Redirections that Artillery follows.
const REDIRECTS: u8 = 10;

/// Where an address goes: a target, and the path there.
fn address(node: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<(u32, Template), Fault> {
    let mut template = template(node, builder)?;
    resolve(&mut template, |name, way| (name == "target" && way.is_empty()).then(|| common.target.clone()));
    // Text that was put in joins its neighbours.
    let mut joined = Template::default();
    joined.push(template);
    let Some(Part::Text(first)) = joined.0.first_mut() else {
        if joined.0.is_empty() {
            return Ok((0, Template::text("/")));
        }
        return Ok((0, joined));
    };
    let own = common.target.trim_end_matches('/');
    if let Some(rest) = first.strip_prefix(own).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?'])) {
        *first = rest.to_owned();
        return Ok((0, joined));
    }
    let Some((scheme, rest)) =
        first.clone().split_once("://").map(|(scheme, rest)| (scheme.to_owned(), rest.to_owned()))
    else {
        return Ok((0, joined));
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    if end == rest.len() && joined.0.len() > 1 {
        return Err(node.fault("the host must not depend on a variable", "name each target in full"));
    }
    if !["http", "https", "ws", "wss"].contains(&scheme.as_str()) {
        return Err(node.fault(format!("`{scheme}://` is not spoken here"), "http, https, ws or wss"));
    }
    let (host, path) = rest.split_at(end);
    let url = format!("{scheme}://{host}");
    if let Some(Part::Text(first)) = joined.0.first_mut() {
        path.clone_into(first);
    }
    Ok((builder.target(host, &url), joined))
}

pub(super) fn request(method: &str, node: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Step, Fault> {
    let url = node.get("url").unwrap_or(node);
    let (target, mut path) = address(url, builder, common)?;
    let method = method.to_ascii_uppercase();
    let label =
        node.text("name").map_or_else(|| format!("{method} {}", without_query(&path.to_string())), str::to_owned);
    if let Some(query) = node.get("qs") {
        path.push_text(if path.to_string().contains('?') { "&" } else { "?" });
        let form = builder.form(query);
        path.push(settled(form, builder));
    }
    let mut headers = with_defaults(headers(node.get("headers"), builder)?, &common.headers);
    let body = match (node.get("json"), node.get("form"), node.get("body")) {
        (None, None, None) => None,
        (Some(body), None, None) => {
            add_header(&mut headers, "Content-Type", "application/json");
            Some(json(body, builder)?)
        }
        (None, Some(form), None) => {
            add_header(&mut headers, "Content-Type", "application/x-www-form-urlencoded");
            let form = builder.form(form);
            Some(settled(form, builder))
        }
        (None, None, Some(body)) => Some(template(body, builder)?),
        _ => return Err(node.fault("a request has one of json, form, body", "keep one of them")),
    };
    if let Some(auth) = node.get("auth") {
        headers.push(("Authorization".to_owned(), basic(auth, builder)?));
    }
    let follows = node.is("followRedirect").unwrap_or(true);
    let mut checks = matches(node, &label, builder)?;
    for expectation in node.each_of("expect") {
        checks.extend(expectations(expectation, &label, builder)?);
    }
    Ok(Step::Request(Box::new(Request {
        name: builder.name(&label, node.place)?,
        target,
        method,
        path,
        headers,
        body,
        redirects: if follows { REDIRECTS } else { 0 },
        cookies: true,
        timeout: node.get("timeout").and_then(Node::number).map(Span::from_secs_f64).filter(|span| span.0 > 0),
        captures: captures(node, builder, common)?,
        checks,
    })))
}

/// RFC 7617. What is encoded cannot hold values that are not known yet.
fn basic(node: &Node, builder: &mut Builder<'_>) -> Result<Template, Fault> {
    let mut plain = String::new();
    for name in ["user", "pass"] {
        let Some(node) = node.get(name) else { continue };
        let part = template(node, builder)?;
        match part.0.as_slice() {
            [] => {}
            [Part::Text(text)] => plain.push_str(text),
            _ => {
                return Err(node.fault("`auth` with a variable cannot be done", "give an Authorization header"));
            }
        }
        plain.push_str(if name == "user" { ":" } else { "" });
    }
    Ok(Template::text(format!("Basic {}", STANDARD.encode(plain))))
}

pub(super) fn connect(
    node: Option<&Node>,
    place: Place,
    builder: &mut Builder<'_>,
    common: &Common,
) -> Result<Step, Fault> {
    let given = node.and_then(|node| if node.scalar().is_some() { Some(node) } else { node.get("target") });
    let (target, mut path) = given.map_or(Ok((0, Template::default())), |node| address(node, builder, common))?;
    if path.0.is_empty() || path.to_string().is_empty() {
        // The target's own path is all of it.
        path = Template::text("");
    }
    let own = |name: &str| node.and_then(|node| node.get(name));
    let headers = headers(own("headers"), builder)?;
    let deflate = own("perMessageDeflate").and_then(Node::boolean).unwrap_or(common.deflate);
    let subprotocols = own("subprotocols").map_or_else(|| common.subprotocols.clone(), |list| texts(Some(list)));
    Ok(Step::Connect(Box::new(Connect {
        name: builder.name("connect", place)?,
        target,
        path,
        headers: with_defaults(headers, &common.ws_headers),
        subprotocols,
        deflate: deflate.then_some(Deflate::Takeover),
    })))
}
