//! Upstreams at whose address nobody listens: whether they get requests.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::caddy::config::Line;
use crate::limits::backend::loopback;

/// Upstreams at whose address nobody listens, as long as there are others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// Where they are.
    pub at: Vec<String>,
    /// Whether they are held for down: for their failures (`fail_duration`), or since a check of Caddy's own finds nobody there, as it does at the beginning. Else
    /// each is asked again and again, and its requests fail, or try again.
    pub down: bool,
}

impl Absent {
    /// Of upstreams that have the same address in the copy that runs (`now`): what stands in for one may not have begun. `proxy`: that of the copy.
    pub(super) fn of(
        config: &BTreeSet<String>,
        now: &BTreeSet<String>,
        (proxy, fails): (Option<&Line>, bool),
        nobody: &dyn Fn(SocketAddr) -> bool,
    ) -> Absent {
        let is_absent = |dial: &&String| {
            let all = loopback(dial);
            config.contains(*dial) && !all.is_empty() && all.into_iter().all(nobody)
        };
        let at: Vec<String> = now.iter().filter(is_absent).cloned().collect();
        if at.len() == now.len() {
            return Absent::default();
        }
        Absent { at, down: fails || proxy.is_some_and(is_checked) }
    }
}

/// Whether Caddy asks each upstream at its own address whether it is well, of which one failure is enough (modules/caddyhttp/reverseproxy/healthchecks.go:
/// activeHealthChecker, doActiveHealthCheckForAllHosts: the first time at once).
fn is_checked(proxy: &Line) -> bool {
    let has = |name: &str| proxy.option(name).is_some();
    let several = proxy.option("health_fails").is_some_and(|line| line.arg(0).is_none_or(|word| word.value != "1"));
    (has("health_uri") || has("health_path")) && !has("health_port") && !has("health_upstream") && !several
}
