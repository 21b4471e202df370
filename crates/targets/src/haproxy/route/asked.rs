//! What is known of the requests under test, while rules are looked at.

use crate::files::Requests;

/// What a rule rewrites of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    All,
    Path,
    Query,
    Host,
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
}

impl<'r> Asked<'r> {
    /// Where HAProxy reads requests.
    pub(super) fn of(requests: &'r Requests, tls: bool) -> Self {
        let host = Some(requests.host.as_str()).filter(|host| !host.is_empty());
        let target = requests.path.split('#').next().map(|target| if target.is_empty() { "/" } else { target });
        Asked { host, path: target.and_then(|t| t.split('?').next()), target, tls: Some(tls), http: true }
    }

    /// Where it only sees a connection, or bytes.
    pub(super) fn blind(tls: Option<bool>) -> Self {
        Asked { host: None, path: None, target: None, tls, http: false }
    }

    /// What stands behind `?`; none where that is not known.
    pub(super) fn query(&self) -> Option<&'r str> {
        Some(self.target?.split_once('?').map_or("", |(_, query)| query))
    }

    /// A field of the query, or that it has none of that name; none where the query is not known.
    pub(super) fn parameter(&self, name: &str) -> Option<Option<&'r str>> {
        let mut fields = self.query()?.split(['&', ';']).filter_map(|field| field.split_once('='));
        Some(fields.find(|(key, _)| *key == name).map(|(_, value)| value))
    }

    /// Something has been rewritten: it is not known any more.
    pub(super) fn forget(&mut self, changed: Changed) {
        match changed {
            Changed::All => (self.host, self.path, self.target) = (None, None, None),
            Changed::Path => (self.path, self.target) = (None, None),
            Changed::Query => self.target = None,
            Changed::Host => self.host = None,
        }
    }
}
