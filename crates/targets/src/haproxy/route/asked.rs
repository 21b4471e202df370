//! What is known of the requests under test, while rules are looked at.

use genkai_model::load::host_sent;

use crate::files::Requests;

/// What a rule rewrites of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    All,
    Path,
    Query,
    Host,
    /// Any header.
    Headers,
    /// Another header that the route may be decided by, in small letters.
    Header(&'static str),
}

/// Headers of every request that opens a WebSocket (RFC 6455 section 4.1), with their values.
const OPENING: [(&str, &str); 2] = [("upgrade", "websocket"), ("connection", "Upgrade")];

impl Changed {
    /// What a rule changes that changes this header; none: nothing that is known of requests.
    pub(super) fn header(name: &str) -> Option<Changed> {
        let known = OPENING.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        known.map(|(known, _)| Changed::Header(known)).or(name.eq_ignore_ascii_case("host").then_some(Changed::Host))
    }
}

/// What the requests under test tell of themselves.
pub(super) struct Asked<'r> {
    /// Host header as it is sent; none: any.
    pub(super) host: Option<&'r str>,
    /// Path without query; none where a rule has changed it. (The method is never known.)
    pub(super) path: Option<&'r str>,
    /// Path with query.
    pub(super) target: Option<&'r str>,
    /// Whether they come by TLS; none: it is not known yet.
    pub(super) tls: Option<bool>,
    /// Whether HAProxy reads them as HTTP.
    pub(super) http: bool,
    /// What they have of the headers by which a WebSocket is opened; empty: not known.
    opening: Vec<(&'static str, &'static str)>,
}

impl<'r> Asked<'r> {
    /// Where HAProxy reads requests.
    pub(super) fn of(requests: &'r Requests, tls: bool) -> Self {
        let host = Some(host_sent(&requests.host, tls)).filter(|host| !host.is_empty());
        let target = requests.path.split('#').next().map(|target| if target.is_empty() { "/" } else { target });
        // HTTP/2 opens them otherwise (RFC 8441).
        let opens = requests.websocket && requests.streams.is_none();
        let opening = if opens { OPENING.to_vec() } else { Vec::new() };
        Asked { host, path: target.and_then(|t| t.split('?').next()), target, tls: Some(tls), http: true, opening }
    }

    /// Where it only sees a connection, or bytes.
    pub(super) fn blind(tls: Option<bool>) -> Self {
        Asked { host: None, path: None, target: None, tls, http: false, opening: Vec::new() }
    }

    /// What stands behind `?`; none where that is not known.
    pub(super) fn query(&self) -> Option<&'r str> {
        Some(self.target?.split_once('?').map_or("", |(_, query)| query))
    }

    /// The value of a header that opens a WebSocket; none: not known.
    pub(super) fn opening(&self, name: &str) -> Option<&'static str> {
        self.opening.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, value)| *value)
    }

    /// A field of the query, or that it has none of that name; none where the query is not known.
    pub(super) fn parameter(&self, name: &str) -> Option<Option<&'r str>> {
        let mut fields = self.query()?.split(['&', ';']).filter_map(|field| field.split_once('='));
        Some(fields.find(|(key, _)| *key == name).map(|(_, value)| value))
    }

    /// Something has been rewritten: it is not known any more.
    pub(super) fn forget(&mut self, changed: Changed) {
        match changed {
            Changed::All => {
                (self.host, self.path, self.target) = (None, None, None);
                self.opening.clear();
            }
            Changed::Path => (self.path, self.target) = (None, None),
            Changed::Query => self.target = None,
            Changed::Host => self.host = None,
            Changed::Headers => {
                self.host = None;
                self.opening.clear();
            }
            Changed::Header(name) => self.opening.retain(|(known, _)| *known != name),
        }
    }
}
