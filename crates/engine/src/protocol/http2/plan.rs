//! Requests, prepared: the load's once, those of a scenario one by one.

use std::sync::Arc;

use bytes::Bytes;
use genkai_model::http2::Http2;
use genkai_model::load::{self, Body, Load, Raw};
use genkai_model::transport::Transport;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Uri, Version};

use crate::error::EngineError;

/// Filler of bodies; longer ones are made of it again and again.
static FILLER: [u8; 64 * 1024] = [b'x'; 64 * 1024];

/// Fields that HTTP/2 has not: they are about an HTTP/1.1 connection (RFC 9113 section 8.2.2).
const OF_CONNECTIONS: [&str; 6] =
    ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "http2-settings"];

/// HTTP/2 as a load has it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Most requests at once on a connection.
    pub(crate) streams: u32,
    /// The request that is made over and over.
    pub(crate) request: Arc<Prepared>,
}

/// What a request asks for, and of whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// `http` or `https`.
    pub(crate) scheme: &'a str,
    /// The method.
    pub(crate) method: &'a str,
    /// Path with query.
    pub(crate) path: &'a str,
    /// What the Host field would say.
    pub(crate) host: &'a str,
}

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    method: Method,
    target: Uri,
    fields: HeaderMap,
    body: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Given(Bytes),
    Filler(u64),
}

impl Plan {
    /// What `load` says, which speaks HTTP/2.
    ///
    /// # Errors
    /// When there is no such request.
    pub(crate) fn read(load: &Load, http2: &Http2) -> Result<Plan, EngineError> {
        let request = Prepared::new(scheme(&load.transport), &load.request).map_err(EngineError::Load)?;
        Ok(Plan { streams: http2.streams, request: Arc::new(request) })
    }
}

/// What `:scheme` says of connections carried by `transport`.
pub(crate) fn scheme(transport: &Transport) -> &'static str {
    if matches!(transport, Transport::Tls(_)) { "https" } else { "http" }
}

impl Prepared {
    /// `request` as HTTP/2 has it; what of it cannot be sent is the error.
    pub(crate) fn new(scheme: &str, request: &load::Request) -> Result<Prepared, String> {
        let head = Head { scheme, method: &request.method, path: &request.path, host: &request.host };
        let fields = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let body = match &request.body {
            Body::Empty => None,
            Body::Text(text) => Some(Content::Given(Bytes::from(text.clone()))),
            Body::Bytes(Raw(bytes)) => Some(Content::Given(Bytes::from(bytes.clone()))),
            Body::Size(n) => Some(Content::Filler(*n)),
        };
        Prepared::made(head, fields, body)
    }

    /// A request that was rendered, copied once; what of it cannot be sent is the error.
    pub(crate) fn rendered<'f>(
        head: Head<'_>,
        fields: impl Iterator<Item = (&'f str, &'f str)>,
        body: Option<&str>,
    ) -> Result<Prepared, String> {
        let body = body.map(|text| Content::Given(Bytes::copy_from_slice(text.as_bytes())));
        Prepared::made(head, fields, body)
    }

    fn made<'f>(
        head: Head<'_>,
        all: impl Iterator<Item = (&'f str, &'f str)>,
        body: Option<Content>,
    ) -> Result<Prepared, String> {
        let Head { scheme, method, path, host } = head;
        let wrong = |what: &str| format!("{what} cannot be sent in an HTTP/2 request");
        let target = Uri::builder()
            .scheme(scheme)
            .authority(host)
            .path_and_query(path)
            .build()
            .map_err(|_| wrong(&format!("`{host}` as host with `{path}` as path")))?;
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| wrong(method))?;
        let mut fields = HeaderMap::new();
        for (name, value) in all {
            let field =
                HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_bytes(value.as_bytes()).ok());
            let (name, value) = field.ok_or_else(|| wrong(&format!("the field `{name}`")))?;
            let te = name == "te" && value != "trailers";
            if te || OF_CONNECTIONS.contains(&name.as_str()) {
                return Err(wrong(&format!("`{name}`, which is about an HTTP/1.1 connection,")));
            }
            fields.append(name, value);
        }
        let has_body = body.is_some();
        let mut prepared = Prepared { method, target, fields, body: body.unwrap_or(Content::Filler(0)) };
        if has_body {
            prepared.fields.append(CONTENT_LENGTH, HeaderValue::from(prepared.length()));
        }
        Ok(prepared)
    }

    /// The request's head.
    pub(super) fn head(&self) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone();
        *request.version_mut() = Version::HTTP_2;
        if !self.fields.is_empty() {
            *request.headers_mut() = self.fields.clone();
        }
        request
    }

    /// Length of the body.
    pub(super) fn length(&self) -> u64 {
        match &self.body {
            Content::Given(text) => text.len() as u64,
            Content::Filler(n) => *n,
        }
    }

    /// A run of the body from `at`, of at most `most` bytes; empty only at its end.
    pub(super) fn chunk(&self, at: u64, most: usize) -> Bytes {
        let left = usize::try_from(self.length() - at).unwrap_or(usize::MAX);
        match &self.body {
            Content::Given(text) => text.slice(at as usize..at as usize + left.min(most)),
            Content::Filler(_) => Bytes::from_static(&FILLER[..left.min(most).min(FILLER.len())]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::load::Request as Asked;

    fn load(change: impl FnOnce(&mut Asked)) -> Load {
        let mut load = Load::users(1, 1.0);
        (load.request.path, load.request.host) = ("/a?b".to_owned(), "h:1".to_owned());
        load.request.headers.push(("Accept".to_owned(), "*/*".to_owned()));
        change(&mut load.request);
        load
    }

    fn read(load: &Load) -> Result<Plan, EngineError> {
        Plan::read(load, &Http2 { streams: 5 })
    }

    #[test]
    fn a_body_is_as_long_as_its_head_says() {
        for body in [Body::Text("hello".into()), Body::Size(0), Body::Size(200_001)] {
            let plan = read(&load(|r| r.body = body.clone())).unwrap().request;
            let said: u64 = plan.head().headers()[CONTENT_LENGTH].to_str().unwrap().parse().unwrap();
            let (mut at, mut runs) = (0, 0);
            while at < plan.length() {
                at += plan.chunk(at, 100_000).len() as u64;
                runs += 1;
            }
            assert_eq!((at, plan.chunk(at, 9).len()), (said, 0), "{body:?}");
            assert!(runs <= 4);
        }
        let plain = read(&load(|_| ())).unwrap().request.head();
        assert_eq!((plain.uri().to_string(), plain.headers().len()), ("http://h:1/a?b".into(), 1));
    }

    #[test]
    fn what_http2_has_not_is_refused_by_name() {
        let refused = |change: fn(&mut Asked), word: &str| {
            let error = read(&load(change)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        };
        refused(|r| r.host = "a b".into(), "`a b`");
        refused(|r| r.headers.push(("Upgrade".into(), "x".into())), "`upgrade`");
        refused(|r| r.headers.push(("TE".into(), "gzip".into())), "`te`");
        refused(|r| r.headers.push(("A b".into(), "x".into())), "`A b`");
        assert!(read(&load(|r| r.headers.push(("te".into(), "trailers".into())))).is_ok());
    }
}
