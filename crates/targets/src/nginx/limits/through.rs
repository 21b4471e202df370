//! What the limits need to know of requests that nginx passes to itself: each time it gets one, it costs connections, and the limits of
//! the server that gets it count.

use std::net::Ipv4Addr;

use super::{Again, Facts, Reading, Upstream};
use crate::explain::place;
use crate::nginx::config::{Address, Through};

impl Reading<'_> {
    /// `facts` of the first time, with what is in force the further times.
    pub(super) fn through(&self, facts: Facts) -> Facts {
        let Through { routes, lost } = self.config.through(&self.route);
        if routes.is_empty() && lost.is_none() {
            return facts;
        }
        let relayed = self.config.is_relayed(routes.last().unwrap_or(&self.route));
        let mut all = Facts { lost, relayed, ..facts };
        for route in routes {
            let listen = route.listen.as_ref();
            let by = listen.and_then(|listen| place(&(self.origin)(&listen.found))).unwrap_or_default();
            // Who comes back by a Unix socket has no address.
            let inet = listen.is_some_and(|listen| matches!(listen.address, Address::Inet { .. }));
            let bound = !self.route.inherited("proxy_bind").is_empty();
            let visitor = Some(Ipv4Addr::LOCALHOST).filter(|_| inet && !bound);
            // A proxy sets headers of its own.
            let inner = Reading { route, visitor, headers: None, ..*self };
            let pass = inner.route.pass();
            let (upstream, others) = inner.upstreams();
            all.again.push(Again {
                by,
                serving: inner.serving(),
                cached: inner.cached(pass.as_ref()),
                mixed: inner.is_mixed(),
                takes: inner.takes(),
            });
            all.between.extend(std::mem::replace(&mut all.upstream, upstream).filter(|one| one.max_conns.is_some()));
            all.others.extend(others);
            for zone in inner.limit_conn() {
                match all.limit_conn.iter_mut().find(|known| known.zone == zone.zone) {
                    Some(known) => known.only = Some(twice(&zone.zone)),
                    None => all.limit_conn.push(zone),
                }
            }
            for zone in inner.limit_req() {
                match all.limit_req.iter_mut().find(|known| known.zone == zone.zone) {
                    Some(known) => known.only = Some(twice(&zone.zone)),
                    None => all.limit_req.push(zone),
                }
            }
        }
        // Where it is not known where they go, nothing is known of what is behind.
        if let Some(why) = &all.lost {
            let unsure = |one: &mut Upstream| one.only = Some(why.clone());
            all.upstream.iter_mut().for_each(unsure);
        }
        all
    }
}

/// Why a zone has no number that it shares with clients.
fn twice(zone: &str) -> String {
    format!(
        "nginx passes them to itself, and they come by zone {zone} each time, with keys that may be the same or not"
    )
}

#[cfg(test)]
mod tests;
