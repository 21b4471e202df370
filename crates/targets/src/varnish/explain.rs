//! What a VCL means and what is wrong with it, told from its text alone. Parameters of varnishd are not in it: they are taken as they are
//! by default.

use genkai_model::explain::{Explanation, Remark, RemarkKind, Timer};
use genkai_model::limit::Origin;
use genkai_model::units::Span;

use super::limits;
use super::vcl::{Attribute, Vcl};
use crate::error::TargetError;
use crate::explain::{Explain, explanation, remark};
use crate::files::File;
use crate::files::names::nearest;

/// Attributes of a backend (vcl-backend(7), Varnish 7.1).
const ATTRIBUTES: &[&str] = &[
    "host",
    "port",
    "path",
    "host_header",
    "connect_timeout",
    "first_byte_timeout",
    "between_bytes_timeout",
    "probe",
    "proxy_header",
    "max_connections",
    "via",
    "authority",
    "preamble",
    "wait_limit",
    "wait_timeout",
];
/// Those that count time, their default (parameters of the same name, include/tbl/params.h) in seconds, and what they end.
const TIMERS: [(&str, &str, &str); 3] = [
    ("connect_timeout", "3.500", "an attempt to connect to the backend"),
    ("first_byte_timeout", "60.000", "a request whose response does not begin"),
    ("between_bytes_timeout", "60.000", "a response that pauses"),
];
/// Parameters that count time for clients.
const CLIENTS: [(&str, u64, &str); 3] = [
    ("timeout_idle", 5, "a kept connection of a client, idle"),
    ("pipe_timeout", 60, "a tunnel (WebSocket, `return (pipe)`) in which nothing is said"),
    ("idle_send_timeout", 60, "a client that takes no more data"),
];

/// Explains a VCL.
///
/// # Errors
/// A file that is missing, unreadable, or that includes itself.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, machine, .. } = *what;
    let vcl = Vcl::read(main)?;
    let default = |name: &str| limits::defaults(name);
    let files = vcl.files().map(|(_, file)| file.path.clone());
    let limits = limits::all(&vcl, &default, machine);
    Ok(explanation("varnish", files, limits, timers(&vcl), remarks(&vcl)))
}

fn timers(vcl: &Vcl) -> Vec<Timer> {
    let source = || Origin::Default("varnish 7.1 include/tbl/params.h".to_owned());
    let client = |(name, seconds, ends): (&str, u64, &str)| Timer {
        setting: name.to_owned(),
        value: seconds.to_string(),
        origin: source(),
        span: Some(Span::from_secs(seconds)),
        ends: ends.to_owned(),
    };
    let mut all: Vec<Timer> = CLIENTS.into_iter().map(client).collect();
    for (_, file, backend) in vcl.backends() {
        for (name, default, ends) in TIMERS {
            let written = backend.attributes.iter().find(|one| one.name == name);
            let value = written.map_or_else(|| format!("{default}s"), |one| one.value.clone());
            all.push(Timer {
                setting: format!("backend {}: {name}", backend.name),
                span: duration(&value),
                value,
                origin: written.map_or_else(source, |one| origin(file, one)),
                ends: ends.to_owned(),
            });
        }
    }
    all
}

fn origin<D>(file: &File<D>, attribute: &Attribute) -> Origin {
    Origin::File { path: file.path.clone(), line: file.line(attribute.span.start) }
}

/// A duration of VCL: `3.5s`, `100ms`, `2m`, `1h`.
fn duration(text: &str) -> Option<Span> {
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let unit = match &text[digits..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Some(Span::from_secs_f64(text[..digits].parse::<f64>().ok()? * unit))
}

fn remarks(vcl: &Vcl) -> Vec<Remark> {
    let mut all = Vec::new();
    let main = vcl.files().next().map(|(_, file)| file.path.display().to_string()).unwrap_or_default();
    if vcl.version().is_none() {
        let text = "is not said: varnishd does not load it".to_owned();
        let hint = Some("begin the file with `vcl 4.1;`".to_owned());
        all.push(remark(RemarkKind::Unknown, Some(format!("{main}:1")), "the version of VCL", text, hint));
    }
    for (_, file, backend) in vcl.backends() {
        let has = |name: &str| backend.attributes.iter().any(|one| one.name == name);
        for one in backend.attributes.iter().filter(|one| !ATTRIBUTES.contains(&one.name.as_str())) {
            let near = nearest(&one.name, ATTRIBUTES.iter().copied()).map(|near| format!("did you mean .{near}?"));
            let text = "backends have no such attribute: varnishd does not load it".to_owned();
            let place = Some(file.place(one.span.start));
            all.push(remark(RemarkKind::Unknown, place, &format!(".{}", one.name), text, near));
        }
        if has("host") && has("path") {
            let text = "has both .host and .path: varnishd does not load it".to_owned();
            let name = format!("backend {}", backend.name);
            let hint = Some("keep one of them".to_owned());
            all.push(remark(RemarkKind::Contradiction, Some(file.place(backend.inside)), &name, text, hint));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(
            (duration("3.5s"), duration("100ms"), duration("2x")),
            (Some(Span::from_millis(3500)), Some(Span::from_millis(100)), None)
        );
    }
}
