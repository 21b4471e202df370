//! What a VCL means and what is wrong with it, told from its text alone. Parameters of varnishd are not in it: they are taken as they are
//! by default.

use std::collections::BTreeSet;

use genkai_model::explain::{Explanation, Remark, RemarkKind, Timer};
use genkai_model::limit::Origin;
use genkai_model::units::Span;

use super::lexer::tokens;
use super::limits;
use super::vcl::{Attribute, Backend, Vcl};
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
    let Explain { main, machine, requests, .. } = *what;
    let vcl = Vcl::read(main)?;
    let default = |name: &str| limits::defaults(name);
    let files = vcl.files().map(|(_, file)| file.path.clone());
    let limits = limits::all(&vcl, &default, machine, requests);
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
    for (_, file, backend) in vcl.backends().filter(|(.., backend)| !backend.is_none) {
        for (name, default, ends) in TIMERS {
            let (zero, written) = (zero(backend, name), backend.attributes.iter().find(|one| one.name == name));
            let written = written.filter(|_| !zero);
            let unset = if zero {
                format!(
                    "; in Varnish 7.1 `.{name} = 0s` is as if it was not written, newer ones may take it as no time at all"
                )
            } else {
                String::new()
            };
            let value = written.map_or_else(|| format!("{default}s"), |one| one.value.clone());
            all.push(Timer {
                setting: format!("backend {}: {name}", backend.name),
                span: duration(&value),
                value,
                origin: written.map_or_else(source, |one| origin(file, one)),
                ends: format!("{ends}{unset}"),
            });
        }
    }
    all
}

/// Whether a time is written as none at all, for which varnishd takes the parameter (bin/varnishd/cache/cache_backend.c: FIND_TMO; measured on 7.1.1).
fn zero(backend: &Backend, name: &str) -> bool {
    let mut written = backend.attributes.iter().filter(|one| one.name == name);
    written.any(|one| duration(&one.value).is_some_and(|span| span.is_zero()))
}

fn origin<D>(file: &File<D>, attribute: &Attribute) -> Origin {
    Origin::File { path: file.path.clone(), line: file.line(attribute.span.start) }
}

/// A duration of VCL: `3.5s`, `100ms`, `2m`, `1h`, `1d`, `1w`, `1y` (lib/libvcc/vcc_utils.c: `vcc_TimeUnit`).
fn duration(text: &str) -> Option<Span> {
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let unit = match &text[digits..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        "y" => 31_536_000.0,
        _ => return None,
    };
    let number = text[..digits].parse::<f64>().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(Span::from_secs_f64(number * unit))
}

/// What keeps varnishd from loading a backend (lib/libvcc/vcc_backend.c: `vcc_ParseHostDef`); the place, the name, and why.
fn refused(vcl: &Vcl, backend: &Backend, before: &mut BTreeSet<String>) -> Vec<(usize, String, String)> {
    let all = &backend.attributes;
    let has = |name: &str| all.iter().any(|one| one.name == name);
    let name = format!("backend {}", backend.name);
    let mut why = Vec::new();
    if !before.insert(backend.name.clone()) {
        why.push((backend.inside, name.clone(), "stands there a second time"));
    }
    // Of a part of a VCL another one may use them.
    if vcl.version().is_some() && vcl.mentions(&backend.name) < 2 && vcl.default() != Some(&backend.name) {
        why.push((backend.inside, name.clone(), "is used nowhere"));
    }
    if !backend.is_none && !has("host") && !has("path") {
        why.push((backend.inside, name, "has neither .host nor .path"));
    }
    let again = |at: usize| all[..at].iter().any(|one| one.name == all[at].name);
    for (at, one) in all.iter().enumerate() {
        let text = if again(at) { Some("is set again") } else { wrong(one) };
        why.extend(text.map(|text| (one.span.start, format!(".{}", one.name), text)));
    }
    why.into_iter().map(|(at, name, text)| (at, name, format!("{text}: varnishd does not load it"))).collect()
}

/// What is wrong with an attribute's value.
fn wrong(one: &Attribute) -> Option<&'static str> {
    let is_number = !one.is_text && !one.value.is_empty() && one.value.bytes().all(|b| b.is_ascii_digit());
    match one.name.as_str() {
        "max_connections" if !is_number => Some("must be a whole number"),
        name if TIMERS.iter().any(|(timer, ..)| *timer == name) && (one.is_text || duration(&one.value).is_none()) => {
            Some("must be a time with its unit, such as 10s")
        }
        "host" | "port" | "path" | "host_header" if !one.is_text => Some("must stand between quotes"),
        _ => None,
    }
}

fn remarks(vcl: &Vcl) -> Vec<Remark> {
    let mut all = Vec::new();
    let main = vcl.files().next().map(|(_, file)| file.path.display().to_string()).unwrap_or_default();
    // A file without backends, or with nothing else, is part of another one: only the main file says the version.
    if vcl.version().is_none() && vcl.backends().next().is_some() && vcl.has_subroutines() {
        let text = "is not said: varnishd does not load it, except as a part that another file includes".to_owned();
        let hint = Some("begin the file with `vcl 4.1;`".to_owned());
        all.push(remark(RemarkKind::Unknown, Some(format!("{main}:1")), "the version of VCL", text, hint));
    }
    let mut before = BTreeSet::new();
    for (_, file, backend) in vcl.backends() {
        for (at, name, text) in refused(vcl, backend, &mut before) {
            all.push(remark(RemarkKind::Unknown, Some(file.place(at)), &name, text, None));
        }
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
    all.extend(added_none(vcl));
    all
}

/// Backends that are `none` in directors (vmod_directors/vdir.c: vdir_add_backend, "None backend cannot be added").
fn added_none(vcl: &Vcl) -> Vec<Remark> {
    let none: BTreeSet<&str> =
        vcl.backends().filter(|(.., backend)| backend.is_none).map(|(.., backend)| &*backend.name).collect();
    let mut all = Vec::new();
    for (_, file) in vcl.files() {
        for three in tokens(&file.text).windows(3) {
            let adds = three[0].word().is_some_and(|word| word.ends_with(".add_backend")) && three[1].is(b'(');
            let Some(name) = three[2].word().filter(|name| adds && none.contains(name)) else { continue };
            let text = "is none, and a director takes no such backend: varnishd does not start".to_owned();
            let place = Some(file.place(three[2].span.start));
            all.push(remark(RemarkKind::Unknown, place, &format!("backend {name}"), text, None));
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

    /// varnishd 7.1 refuses each ("Expected CNUM got '-'", "Expected ';' got '5'").
    #[test]
    fn whatever_stands_in_a_value_is_looked_at() {
        let (dir, file) = (tempfile::tempdir().unwrap(), "default.vcl");
        let says = |line: &str| {
            let text = format!("vcl 4.1;\nbackend default {{ .host = \"h\"; {line} }}\n");
            std::fs::write(dir.path().join(file), text).unwrap();
            remarks(&Vcl::read(&dir.path().join(file)).unwrap())
        };
        for wrong in [
            ".max_connections = -1;",
            ".max_connections = 5 5;",
            ".max_connections = 5 + 1;",
            ".connect_timeout = -5s;",
        ] {
            assert_eq!(says(wrong).len(), 1, "{wrong}");
        }
        assert_eq!(says(".max_connections = 5; .connect_timeout = 3 s; .first_byte_timeout = 1.5m;"), []);
    }

    #[test]
    fn a_time_of_nothing_is_the_parameters() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("default.vcl");
        let of = |line: &str| {
            std::fs::write(&file, format!("vcl 4.1;\nbackend default {{ .host = \"h\"; {line} }}\n")).unwrap();
            let all = timers(&Vcl::read(&file).unwrap());
            all.into_iter().find(|timer| timer.setting.ends_with("first_byte_timeout")).unwrap()
        };
        let (none, zero, some) = (of(""), of(".first_byte_timeout = 0s;"), of(".first_byte_timeout = 2s;"));
        assert_eq!((none.span, zero.span, some.span), (zero.span, Some(Span::from_secs(60)), Some(Span::from_secs(2))));
        assert!(
            zero.ends.contains("in Varnish 7.1 `.first_byte_timeout = 0s` is as if it was not written")
                && !none.ends.contains("written")
        );
    }

    /// varnishd 7.1 compiles it, and its child does not start.
    #[test]
    fn a_director_takes_no_backend_that_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("default.vcl");
        for (backend, expected) in [("none;", 1), ("{ .host = \"h\"; }", 0)] {
            let text = format!(
                "vcl 4.1;\nimport directors;\nbackend web {backend}\nsub vcl_init {{ new d = directors.random(); d.add_backend(web, 1); }}\n"
            );
            std::fs::write(&file, text).unwrap();
            assert_eq!(remarks(&Vcl::read(&file).unwrap()).len(), expected, "{backend}");
        }
    }
}
