//! Members of a balancer that get no requests: nobody listens at their address.

use std::net::{Ipv6Addr, SocketAddr};

use super::again::own;
use crate::apache::config::Config;
use crate::apache::evidence::told;
use crate::apache::route::{Member, Members, authority, members_but, socket};

/// Members at whose address nobody listens, as long as others take requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// Those that get none: a connect that fails leaves the request to another member, and this one is in error for its `retry` (modules/proxy/mod_proxy.c:
    /// proxy_handler).
    pub out: Vec<String>,
    /// Those that are asked all the same (`status=+I`), and fail their requests.
    pub asked: Vec<String>,
}

/// The members that take the requests passed to a URL where `nobody` says at which addresses nobody listens; none: it names no balancer.
pub(super) fn without<'c>(
    config: &'c Config,
    url: &str,
    nobody: &dyn Fn(SocketAddr) -> bool,
) -> Option<(Members<'c>, Absent)> {
    // What stands for httpd's own listener in a copy may not have begun.
    let is_absent = |member: &Member<'_>| {
        let all = addresses(&member.url);
        !all.is_empty() && own(config, &member.url).is_none() && all.into_iter().all(nobody)
    };
    let (all, failing) = members_but(config, url, &is_absent)?;
    if all.first.is_empty() || all.first.iter().all(|one| failing.contains(one)) {
        return Some((members_but(config, url, &|_| false)?.0, Absent::default()));
    }
    let (asked, out): (Vec<_>, Vec<_>) = failing.iter().partition(|one| one.ignores_errors());
    let names = |some: Vec<&Member<'_>>| some.into_iter().map(|one| told(&one.url)).collect();
    Some((all, Absent { out: names(out), asked: names(asked) }))
}

/// Where a member is, as `localhost` at both addresses of the loopback.
fn addresses(url: &str) -> Vec<SocketAddr> {
    let named = authority(url).1.contains("localhost");
    let first = socket(url).into_iter();
    first.flat_map(|at| std::iter::once(at).chain(named.then(|| (Ipv6Addr::LOCALHOST, at.port()).into()))).collect()
}
