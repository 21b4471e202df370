//! Backends of systems, as files describe them.

use genkai_model::plan::{Backend, OriginSpec, Site};
use genkai_model::units::{Bytes, Spread};

use crate::fault::Fault;
use crate::form::parsed;
use crate::native::whole;
use crate::shape::{Format, Kind, Shape, field, reads, shape};
use crate::yaml::Node;

static WHAT: Format =
    reads("a backend", "embedded, wordpress, keep or http://127.0.0.1:8080 (or https://)", |text| match text {
        "embedded" | "wordpress" | "keep" => Ok(()),
        text if text.starts_with("http://") || text.starts_with("https://") => Ok(()),
        _ => Err(String::new()),
    })
    .pattern("^(embedded|wordpress|keep|https?://.*)$");
pub(crate) static SIZE: Format = reads("a size", "512, 64k or 1m", parsed::<Bytes>).pattern("^[0-9]+[kmgKMG]?[bB]?$");
pub(crate) static SPREAD: Format =
    reads("a time or a distribution", "50ms, exp(50ms) or lognormal(50ms,0.5)", parsed::<Spread>);

static EMBEDDED: Shape = shape("an embedded backend", "genkai's own origin.").keys(&[
    field("body", Kind::Read(&SIZE), "Size of each response body; 10k if left out."),
    field("time", Kind::Read(&SPREAD), "Time to serve a request; 0s if left out."),
    field("workers", Kind::Whole(1), "Requests served at once, like a php-fpm pool; no limit if left out."),
    field("queue", Kind::Whole(0), "Requests that may wait for a worker; further ones get 503. No limit if left out."),
]);

/// A backend: a word, an address, or the embedded one's behaviour.
pub(crate) static BACKEND: Kind = Kind::Either(&[Kind::Read(&WHAT), Kind::Object(&EMBEDDED)]);

/// `pm.max_children` of Debian's php-fpm pool.
const CHILDREN: u32 = 5;

/// The backend that `node` (checked) says; none without one.
pub(crate) fn backend(node: Option<&Node>) -> Result<Option<Backend>, Fault> {
    let Some(node) = node else { return Ok(None) };
    Ok(Some(match node.scalar() {
        Some("wordpress") => Backend::WordPress(Site::new(CHILDREN)),
        Some("keep") => Backend::Kept,
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => Backend::Url(url.to_owned()),
        _ => Backend::Embedded(embedded(Some(node))),
    }))
}

/// The embedded backend with the behaviour that `node` (checked) says.
pub(crate) fn embedded(node: Option<&Node>) -> OriginSpec {
    let number = |name: &str| node?.get(name).map(|n| whole(n).min(u64::from(u32::MAX)) as u32);
    OriginSpec {
        body: node.and_then(|node| read(node, "body")).unwrap_or(Bytes(10 << 10)),
        service_time: node.and_then(|node| read(node, "time")).unwrap_or_default(),
        workers: number("workers"),
        queue: number("queue"),
        seed: 1,
    }
}

/// The value of a key (checked) that is text in a format.
pub(crate) fn read<T: std::str::FromStr>(node: &Node, name: &str) -> Option<T> {
    node.get(name)?.scalar()?.parse().ok()
}
