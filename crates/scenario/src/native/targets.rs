//! Where steps go.

use genkai_model::http2::{Http2, STREAMS};

use super::whole;
use crate::builder::{Builder, opens_websockets};
use crate::fault::Fault;
use crate::yaml::Node;

/// A target that was named.
struct Named<'a> {
    name: String,
    url: String,
    http2: Option<Http2>,
    /// What the file says of it.
    said: Option<&'a Node>,
}

/// Those of the file, with the addresses that were given beside it.
pub(super) fn targets(root: &Node, builder: &mut Builder<'_>) -> Result<(), Fault> {
    let mut all = written(root)?;
    for (name, url) in builder.world.targets {
        match name {
            Some(name) => match all.iter_mut().find(|known| known.name == *name) {
                Some(known) => known.url.clone_from(url),
                None => return Err(Fault::whole(format!("there is no target `{name}`"), "see its `targets`")),
            },
            None if all.is_empty() => all.push(Named::new("target", url, None)),
            None => all[0].url.clone_from(url),
        }
    }
    if all.is_empty() {
        let hint = "add `target: http://127.0.0.1:8080`, or give --target";
        return Err(root.fault("there is no target", hint));
    }
    for mut target in all {
        target.http2 = http2(root, &target)?;
        builder.another(&target.name, &target.url, target.http2);
    }
    if let Some(streams) = root.get("streams")
        && builder.scenario.targets.iter().all(|target| target.http2.is_none())
    {
        return Err(needs_http2(streams));
    }
    Ok(())
}

fn written(root: &Node) -> Result<Vec<Named<'_>>, Fault> {
    match (root.get("target"), root.get("targets")) {
        (Some(_), Some(both)) => Err(both.fault("both `target` and `targets`", "keep one of them")),
        (Some(one), None) => Ok(vec![Named::new("target", one.scalar().unwrap_or_default(), Some(one))]),
        (None, Some(some)) => Ok(some
            .map()
            .iter()
            .map(|(key, node)| {
                let url = node.get("url").unwrap_or(node).scalar().unwrap_or_default();
                Named::new(&key.name, url, Some(node))
            })
            .collect()),
        (None, None) => Ok(Vec::new()),
    }
}

impl<'a> Named<'a> {
    fn new(name: &str, url: &str, said: Option<&'a Node>) -> Named<'a> {
        Named { name: name.to_owned(), url: url.to_owned(), http2: None, said }
    }
}

/// Whether requests to `target` are HTTP/2: as it says itself, else as is said of all.
fn http2(root: &Node, target: &Named<'_>) -> Result<Option<Http2>, Fault> {
    let own = |key| target.said.and_then(|node| node.get(key));
    let talks = opens_websockets(&target.url);
    let asked = own("http2").or(root.get("http2").filter(|_| !talks));
    let wanted = asked.and_then(Node::boolean).unwrap_or(false);
    match (wanted, asked, own("streams")) {
        (true, Some(asked), _) if talks => {
            let hint = "WebSockets are opened by HTTP/1.1; for requests write https:// or http://";
            Err(asked.fault(format!("`http2` with {}", target.url), hint))
        }
        (true, ..) => {
            let streams = own("streams")
                .or(root.get("streams"))
                .map_or(STREAMS, |node| whole(node).min(u64::from(u32::MAX)) as u32);
            Ok(Some(Http2 { streams }))
        }
        (false, _, Some(streams)) => Err(needs_http2(streams)),
        (false, ..) => Ok(None),
    }
}

fn needs_http2(streams: &Node) -> Fault {
    streams.fault("`streams`: HTTP/1.1 has none", "add `http2: true`")
}
