//! What proxies say when a server behind them closes a connection before it has answered on it. Each has a name of its own: of two, one behind the other,
//! what the second says of its backend is nothing that the first says of it.

use genkai_model::limit::{Signature, Strength};

use super::log;

/// Of nginx.
pub(crate) const NGINX: &str = "nginx.upstream.closed";
/// Of Apache httpd.
pub(crate) const APACHE: &str = "apache.backend.closed";
/// Of HAProxy.
pub(crate) const HAPROXY: &str = "haproxy.server_closed";
/// Of Caddy.
pub(crate) const CADDY: &str = "caddy.upstream_closed";

/// Whatever proxy is before a server that closes connections for a reason of its own, which that server's own signs tell: so that what the proxy saw
/// of it is not told as another cause.
pub(crate) fn closed() -> impl Iterator<Item = Signature> {
    [NGINX, APACHE, HAPROXY, CADDY].into_iter().map(|name| log(name, Strength::Consistent))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use genkai_model::limit::Sign;

    use super::*;

    #[test]
    fn each_proxy_has_a_name_of_its_own_for_it() {
        let all: Vec<Signature> = closed().collect();
        assert!(all.iter().all(|one| one.strength == Strength::Consistent), "{all:?}");
        let name = |one: &Signature| match &one.sign {
            Sign::Log(name) => name.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(all.iter().map(name).collect::<BTreeSet<_>>().len(), 4, "{all:?}");
    }
}
