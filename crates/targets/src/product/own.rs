//! What a server answers itself, so that no request reaches what stands behind it.

use std::path::Path;

use genkai_model::error::ErrorKind;
use genkai_model::event::Rewrite;
use genkai_model::limit::{Law, Limit, Origin, Strength};

use crate::limits::{at_once, errors, grew, log};

/// A directive by which a server answers requests itself, or may.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnAnswer {
    /// Its name, e.g. `deny`.
    pub setting: String,
    /// Its arguments as written, e.g. `all`.
    pub value: String,
    /// Where it is written.
    pub origin: Origin,
    /// The statuses that it gives; empty: it ends the connection.
    pub statuses: Vec<u16>,
    /// The message of the server's log that only this directive makes; none: it says nothing when it answers.
    pub signature: Option<String>,
    /// The counter that grows only when it answers so; none: nothing counts that.
    pub counter: Option<String>,
    /// Which load of these requests it lets through, where the configuration alone says it.
    pub law: Option<Law>,
    /// Whether the client is not told that the connection has ended, and waits on.
    pub silent: bool,
    /// Whether these requests are answered so whatever else is the case: the configuration and the requests alone say it.
    pub certain: bool,
    /// Whether its message in the log is also made where it stands elsewhere, for other requests than this one.
    pub of_path: bool,
    /// Whether it only may: what it does is not known.
    pub guess: bool,
    /// Whether what stands behind has answered before it does.
    pub late: bool,
    /// When it answers, as a clause.
    pub when: String,
    /// By what it is known among several answers of the same line; empty: it has one.
    pub kind: &'static str,
}

impl OwnAnswer {
    /// Of the directive `setting` with these arguments, written there; to be completed with what it gives.
    pub(crate) fn of(setting: &str, value: impl Into<String>, origin: Origin) -> OwnAnswer {
        let (setting, value, when) = (setting.to_owned(), value.into(), "requests that it holds for".to_owned());
        OwnAnswer {
            setting,
            value,
            origin,
            statuses: Vec::new(),
            signature: None,
            counter: None,
            law: None,
            silent: false,
            certain: false,
            of_path: false,
            guess: false,
            late: false,
            when,
            kind: "",
        }
    }

    /// Whether another one is the same answer of the same line.
    pub fn is(&self, other: &OwnAnswer) -> bool {
        (&self.setting, &self.origin, self.kind) == (&other.setting, &other.origin, other.kind)
    }

    /// The directive as it is written, with its place.
    pub fn named(&self) -> String {
        let place = match &self.origin {
            Origin::File { path, line } => format!("{}:{line}", path.display()),
            Origin::Default(_) => "by default".to_owned(),
            Origin::Given => "as given".to_owned(),
            Origin::Machine(from) => from.clone(),
        };
        let written = format!("{} {}", self.setting, self.value);
        format!("`{}` ({place})", written.trim_end())
    }

    /// As a limit of `product`, of which nobody gets beyond it where `all` requests are answered so; else its message in the log shows it.
    /// None where what it gives is no failure.
    pub fn limit(&self, product: &str, all: bool) -> Option<Limit> {
        let kinds: Vec<ErrorKind> = match &self.statuses[..] {
            [] if self.silent => vec![ErrorKind::Timeout, ErrorKind::EofNew, ErrorKind::Reset],
            // Of TLS, an alert may say what is missing: `certificate_required`, before TLS 1.3 `handshake_failure`; or that there is no such name.
            [] => vec![
                ErrorKind::EofNew,
                ErrorKind::EofReused,
                ErrorKind::Reset,
                ErrorKind::ResetReused,
                ErrorKind::TlsClientWanted,
                ErrorKind::TlsHandshakeFailure,
                ErrorKind::TlsUnknownName,
            ],
            statuses => statuses.iter().filter_map(|status| ErrorKind::of_status(*status)).collect(),
        };
        // Where nothing is read before it ends, the client may not have seen that it had begun.
        let early = self.counter.as_ref().filter(|_| self.statuses.is_empty() && !self.silent);
        let kinds: Vec<ErrorKind> = kinds.into_iter().chain(early.map(|_| ErrorKind::ConnectOther)).collect();
        let line = if let Origin::File { line, .. } = self.origin { format!(".{line}") } else { String::new() };
        let kind = if self.kind.is_empty() { String::new() } else { format!(".{}", self.kind) };
        (!kinds.is_empty()).then(|| Limit {
            value: self.value.clone(),
            origin: self.origin.clone(),
            caps: format!("{product} {} itself", self.gives()),
            law: if all { at_once(0.0, 1.0) } else { self.law.clone().unwrap_or(Law::Unknown) },
            formula: format!(
                "{}: {product} {} itself, {}",
                self.when,
                self.gives(),
                if self.late { "in the place of what stands behind it" } else { "and nothing behind it is asked" }
            ),
            signatures: {
                let logged = self.signature.iter().map(|name| log(name, Strength::Decisive));
                logged.chain(self.counter.iter().map(|name| grew(name, Strength::Decisive))).collect()
            },
            symptom: errors(&kinds),
            ..Limit::named(
                &format!("{product}.answers.{}{line}{kind}", self.setting.replace(' ', "-")),
                product,
                &self.setting,
            )
        })
    }

    /// What it does, in words.
    fn gives(&self) -> String {
        match &self.statuses[..] {
            [] if self.silent => "drops the connection without a word to the client".to_owned(),
            [] => "ends the connection".to_owned(),
            statuses => {
                let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
                format!("answers {}", statuses.join(" or "))
            }
        }
    }
}

/// What is said of a redirect at `place` that requests do not go by, as it leads to the TLS listener at `to`.
pub(crate) fn followed(place: String, from: String, to: &str) -> Rewrite {
    Rewrite { place, from, to: format!("(left as it is; requests go at once to {to}, where it leads)") }
}

/// The place of a line of a file.
pub(crate) fn on_line(path: &Path, line: usize) -> Origin {
    Origin::File { path: path.to_owned(), line }
}

/// Bytes of the lines of a request's head, without their ends: the request line, then each header field.
pub(crate) fn head(request: &genkai_model::load::Request) -> (u64, Vec<u64>) {
    let line = request.method.len() + request.path.len() + " HTTP/1.1 ".len();
    let given = request.headers.iter().map(|(name, value)| name.len() + value.len());
    let lengths = given.chain(["Host".len() + request.host.len()]).map(|n| (n + ": ".len()) as u64);
    (line as u64, lengths.collect())
}

/// Whether a request carries a header field.
pub(crate) fn carries(request: &genkai_model::load::Request, field: &str) -> bool {
    request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(field))
}
