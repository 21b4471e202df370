//! Steps of the http and ws engines.

use genkai_model::scenario::{
    Capture, Check, Connect, Expect, Expected, Loop, Request, Send, Source, Step, Think, Times,
};
use genkai_model::template::{Form, Part, Template};
use genkai_model::units::{Span, Spread};
use genkai_model::websocket::Deflate;

use super::{Common, form, texts, time};
use crate::builder::{self, Builder, resolve};
use crate::fault::{Fault, Place};
use crate::native::{add_header, regex, waits, whole, with_defaults, without_query};
use crate::shape::{self, Kind, Notes};
use crate::yaml::{Node, Value};

/// Redirections that Artillery follows.
const REDIRECTS: u8 = 10;
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// A template, with what is known of the environment put in.
pub(super) fn template(node: &Node, builder: &mut Builder<'_>) -> Result<Template, Fault> {
    let text = node.scalar().unwrap_or_default();
    let template = settled(builder::parse(text, node.place)?, builder);
    builder.uses(&template, node.place);
    Ok(template)
}

fn settled(mut template: Template, builder: &Builder<'_>) -> Template {
    resolve(&mut template, |name, way| match (name, way) {
        ("$processEnvironment" | "$env", [variable]) => (builder.world.environment)(variable),
        _ => None,
    });
    template
}

fn json(node: &Node, builder: &mut Builder<'_>) -> Result<Template, Fault> {
    builder.json(node).map(|template| settled(template, builder))
}

/// Steps of the http engine.
pub(super) fn ask(flow: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Step>, Fault> {
    let mut steps = Vec::new();
    for node in flow.list() {
        if let Some((method, request)) = METHODS.iter().find_map(|method| node.get(method).map(|node| (*method, node)))
        {
            steps.push(self::request(method, request, builder, common)?);
        } else if let Some(pause) = node.get("think") {
            steps.push(think(pause, builder, common)?);
        } else if node.has("loop") {
            steps.push(repeat(node, builder, |inner, builder| ask(inner, builder, common))?);
        }
    }
    Ok(steps)
}

/// Steps of the ws engine. The connection is opened before the first.
pub(super) fn talk(flow: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Step>, Fault> {
    let first = flow.list().first().and_then(|node| node.get("connect"));
    let mut steps = vec![connect(first, flow.place, builder, common)?];
    for (n, node) in flow.list().iter().enumerate() {
        if n > 0 && node.has("connect") {
            return Err(Fault::at(node.place, "`connect` must be the first step", "a virtual user has one connection"));
        }
    }
    steps.extend(said(flow, builder, common)?);
    Ok(steps)
}

fn said(flow: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Step>, Fault> {
    let mut steps = Vec::new();
    for node in flow.list() {
        let label = node.get("name").and_then(Node::scalar);
        if let Some(message) = node.get("send") {
            let waited = message.has("payload") && (message.has("capture") || message.has("match"));
            if waited {
                shape::check(message, &Kind::Object(&form::WAITED), "send", &mut Notes::new())?;
            }
            let content = if waited { message.get("payload").unwrap_or(message) } else { message };
            let payload = match content.scalar() {
                Some(_) => template(content, builder)?,
                None => json(content, builder)?,
            };
            let name = builder.name(label.unwrap_or("send"), node.place)?;
            steps.push(Step::Send(Send { name, payload, binary: false }));
            if waited {
                steps.push(wait(message, &format!("{} answered", label.unwrap_or("send")), builder, common)?);
            }
        } else if let Some(message) = node.get("wait") {
            steps.push(wait(message, label.unwrap_or("wait"), builder, common)?);
        } else if let Some(pause) = node.get("think") {
            steps.push(think(pause, builder, common)?);
        } else if node.has("loop") {
            steps.push(repeat(node, builder, |inner, builder| said(inner, builder, common))?);
        } else if node.has("connect") && node.place != flow.list()[0].place {
            return Err(Fault::at(node.place, "`connect` must be the first step", "a virtual user has one connection"));
        }
    }
    Ok(steps)
}

fn wait(node: &Node, name: &str, builder: &mut Builder<'_>, common: &Common) -> Result<Step, Fault> {
    let captures = captures(node, builder, common)?;
    let checks = matches(node, name, builder)?;
    let name = builder.name(name, node.place)?;
    Ok(Step::Expect(Expect { name, within: None, search: false, captures, checks }))
}

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
        return Err(Fault::at(node.place, "the host must not depend on a variable", "name each target in full"));
    }
    if !["http", "https", "ws", "wss"].contains(&scheme.as_str()) {
        return Err(Fault::at(node.place, format!("`{scheme}://` is not spoken here"), "http, https, ws or wss"));
    }
    let (host, path) = rest.split_at(end);
    let url = format!("{scheme}://{host}");
    if let Some(Part::Text(first)) = joined.0.first_mut() {
        path.clone_into(first);
    }
    Ok((builder.target(host, &url), joined))
}

fn request(method: &str, node: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Step, Fault> {
    let url = node.get("url").unwrap_or(node);
    let (target, mut path) = address(url, builder, common)?;
    let method = method.to_ascii_uppercase();
    let label = node
        .get("name")
        .and_then(Node::scalar)
        .map_or_else(|| format!("{method} {}", without_query(&path.to_string())), str::to_owned);
    if let Some(query) = node.get("qs") {
        path.push_text(if path.to_string().contains('?') { "&" } else { "?" });
        let form = builder.form(query);
        path.push(settled(form, builder));
    }
    let mut headers = with_defaults(super::headers(node.get("headers"), builder)?, &common.headers);
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
        _ => return Err(Fault::at(node.place, "a request has one of json, form, body", "keep one of them")),
    };
    if let Some(auth) = node.get("auth") {
        headers.push(("Authorization".to_owned(), basic(auth, builder)?));
    }
    let follows = node.get("followRedirect").and_then(Node::boolean).unwrap_or(true);
    let mut checks = matches(node, &label, builder)?;
    for expectation in node.get("expect").map(Node::each).unwrap_or_default() {
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
                return Err(Fault::at(
                    node.place,
                    "`auth` with a variable cannot be done",
                    "give an Authorization header",
                ));
            }
        }
        plain.push_str(if name == "user" { ":" } else { "" });
    }
    Ok(Template::text(format!("Basic {}", base64(plain.as_bytes()))))
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for n in 0..4 {
            out.push(if n <= three.len() { LETTERS[(bits >> (18 - 6 * n) & 63) as usize] as char } else { '=' });
        }
    }
    out
}

fn connect(node: Option<&Node>, place: Place, builder: &mut Builder<'_>, common: &Common) -> Result<Step, Fault> {
    let given = node.and_then(|node| if node.scalar().is_some() { Some(node) } else { node.get("target") });
    let (target, mut path) = given.map_or(Ok((0, Template::default())), |node| address(node, builder, common))?;
    if path.0.is_empty() || path.to_string().is_empty() {
        // The target's own path is all of it.
        path = Template::text("");
    }
    let own = |name: &str| node.and_then(|node| node.get(name));
    let headers = super::headers(own("headers"), builder)?;
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

fn think(node: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Step, Fault> {
    let Some(span) = node.scalar().and_then(time) else {
        return Ok(Step::Think(Think::Template(template(node, builder)?)));
    };
    let spread = match common.jitter {
        None => Spread::Constant(span),
        Some((by, share)) => {
            let by = if share { span.as_secs_f64() * by } else { by };
            let around = |seconds: f64| Span::from_secs_f64(seconds);
            Spread::Uniform(around(span.as_secs_f64() - by), around(span.as_secs_f64() + by))
        }
    };
    Ok(Step::Think(Think::Spread(spread)))
}

fn repeat(
    node: &Node,
    builder: &mut Builder<'_>,
    read: impl FnOnce(&Node, &mut Builder<'_>) -> Result<Vec<Step>, Fault>,
) -> Result<Step, Fault> {
    let over = node.get("over");
    let own = if over.is_some() { ["loopElement", "loopValue"] } else { ["loopValue", "loopElement"] };
    let variable = own.iter().find_map(|key| node.get(key)).and_then(Node::scalar);
    let variable = variable.unwrap_or(if over.is_some() { "$loopElement" } else { "$loopCount" }).to_owned();
    builder.defines(&variable);
    let times = match (over, node.get("count")) {
        (Some(Node { value: Value::List(list), .. }), _) => Times::Over(list.iter().map(Node::json).collect()),
        (Some(name), _) => {
            let name = name.scalar().unwrap_or_default();
            let name = name.trim_start_matches("{{").trim_end_matches("}}").trim().to_owned();
            let named = Template(vec![Part::Value {
                from: genkai_model::template::Origin::Variable(name.clone(), Vec::new()),
                form: Form::Plain,
            }]);
            builder.uses(&named, node.place);
            Times::Elements(name)
        }
        (None, None) => Times::Forever,
        (None, Some(count)) => match count.number() {
            Some(n) if n < 0.0 => Times::Forever,
            Some(_) => Times::Count(whole(count)),
            None => Times::Template(template(count, builder)?),
        },
    };
    let inner = read(node.get("loop").unwrap_or(node), builder)?;
    if !inner.iter().any(waits) && !inner.iter().any(|step| matches!(step, Step::Think(_))) && times == Times::Forever {
        return Err(Fault::at(node.place, "a loop for ever that waits for nothing", "add a think"));
    }
    Ok(Step::Loop(Loop { times, variable, steps: inner }))
}

fn captures(node: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Capture>, Fault> {
    let mut all = Vec::new();
    for node in node.get("capture").map(Node::each).unwrap_or_default() {
        let text = |name: &str| node.get(name).and_then(Node::scalar).map(str::to_owned);
        let from = match (text("json"), text("regexp"), text("header")) {
            (Some(path), None, None) => Source::Json(path),
            (None, Some(pattern), None) => regex(flagged(pattern, node)?, node)?,
            (None, None, Some(name)) => Source::Header(name),
            _ => return Err(Fault::at(node.place, "a capture has one of json, regexp, header", "keep one of them")),
        };
        let variable = text("as").unwrap_or_default();
        builder.defines(&variable);
        let strict = node.get("strict").and_then(Node::boolean).unwrap_or(common.strict);
        all.push(Capture { variable, from, optional: !strict });
    }
    Ok(all)
}

/// Flags of a JavaScript regular expression, as the expression itself says them.
fn flagged(pattern: String, node: &Node) -> Result<String, Fault> {
    let Some(flags) = node.get("flags").and_then(Node::scalar) else { return Ok(pattern) };
    if let Some(bad) = flags.chars().find(|flag| !"gimsu".contains(*flag)) {
        return Err(Fault::at(
            node.place,
            format!("the flag `{bad}` of a regular expression cannot be done"),
            "known: g, i, m, s, u",
        ));
    }
    // The first match is taken whether `g` says so or not, and all text is Unicode.
    let own: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
    Ok(if own.is_empty() { pattern } else { format!("(?{own}){pattern}") })
}

fn matches(node: &Node, of: &str, builder: &mut Builder<'_>) -> Result<Vec<Check>, Fault> {
    let mut all = Vec::new();
    for node in node.get("match").map(Node::each).unwrap_or_default() {
        let path = node.get("json").and_then(Node::scalar).unwrap_or_default().to_owned();
        let value = node.get("value").map_or(Ok(Template::default()), |node| template(node, builder))?;
        let strict = node.get("strict").and_then(Node::boolean).unwrap_or(true);
        let about = format!("{path} = {value}");
        all.push(builder.check(of, &about, Expected::Equals(Source::Json(path), value), strict, node.place)?);
    }
    Ok(all)
}

fn expectations(node: &Node, of: &str, builder: &mut Builder<'_>) -> Result<Vec<Check>, Fault> {
    let mut all = Vec::new();
    for (key, value) in node.map() {
        let texts = texts(Some(value));
        let mut codes: Vec<u16> = value.each().iter().filter_map(Node::number).map(|n| n as u16).collect();
        codes.sort_unstable();
        let first = || texts.first().cloned().unwrap_or_default();
        let (about, what) = match key.name.as_str() {
            "statusCode" => (
                format!("status {}", texts.join(", ")),
                Expected::Status(codes.iter().map(|code| (*code, *code)).collect()),
            ),
            "notStatusCode" => (format!("status not {}", texts.join(", ")), Expected::Status(others(&codes))),
            "contentType" => {
                let text = template(value, builder)?;
                (format!("content type {text}"), Expected::HeaderContains("Content-Type".to_owned(), text))
            }
            "hasHeader" => (format!("has header {}", first()), Expected::Exists(Source::Header(first()))),
            "headerEquals" => {
                let [name, wanted] = value.list() else {
                    return Err(Fault::at(
                        value.place,
                        "`headerEquals` is a list of two",
                        "e.g. [content-type, text/html]",
                    ));
                };
                let (name, wanted) = (name.scalar().unwrap_or_default().to_owned(), template(wanted, builder)?);
                (format!("header {name} = {wanted}"), Expected::Equals(Source::Header(name), wanted))
            }
            "hasProperty" => {
                let path = if first().starts_with('$') { first() } else { format!("$.{}", first()) };
                if let Err(why) = (crate::form::JSON.read)(&path) {
                    return Err(Fault::at(
                        value.place,
                        format!("`{}` is not a property{why}", first()),
                        "e.g. user.name",
                    ));
                }
                (format!("has {}", first()), Expected::Exists(Source::Json(path)))
            }
            "matchesRegexp" => (format!("matches `{}`", first()), Expected::Matches(first())),
            _ => continue,
        };
        all.push(builder.check(of, &about, what, false, key.place)?);
    }
    Ok(all)
}

/// All statuses but these, which are in order.
fn others(codes: &[u16]) -> Vec<(u16, u16)> {
    let (mut from, mut all) = (100, Vec::new());
    for code in codes {
        if *code > from {
            all.push((from, code - 1));
        }
        from = from.max(code + 1);
    }
    all.push((from, 999.max(from)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_as_the_standards_have_it() {
        // RFC 4648 section 10, RFC 7617 section 2.
        for (plain, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(base64(b"Aladdin:open sesame"), "QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(others(&[200, 201, 500]), [(100, 199), (202, 499), (501, 999)]);
    }
}
