//! Limits on visitors that count none of the requests under load, as their key is empty for these.

use std::net::Ipv4Addr;

use genkai_model::limit::Origin;

use super::config::{Config, Found};
use super::limits::{Keyed, Reading};
use super::settings::{LIMIT_CONN, LIMIT_REQ};
use crate::explain::place;
use crate::files::Requests;
use genkai_place::caps::Machine;

/// A sentence for each of them that stands where these requests, of `visitor` (none: anybody), come by.
pub(super) fn told(
    config: &Config,
    requests: &Requests,
    version: (u32, u32, u32),
    machine: &Machine,
    visitor: Option<Ipv4Addr>,
) -> Vec<String> {
    // Those of a scenario may have other keys elsewhere.
    let Some(route) = config.route_of(requests).filter(|_| requests.also.is_empty()) else { return Vec::new() };
    let origin =
        |found: &Found<'_>| Origin::File { path: found.config.file(found.file).path.clone(), line: found.line() };
    let facts = Reading {
        config,
        route,
        origin: &origin,
        version,
        machine,
        status: None,
        visitor,
        headers: requests.headers.as_deref(),
        body: requests.body,
        absent: &|_| false,
    }
    .facts();
    let conns = facts.limit_conn.iter().filter(|zone| zone.keyed == Keyed::Nothing && zone.only.is_none());
    let reqs = facts.limit_req.iter().filter(|zone| zone.keyed == Keyed::Nothing && zone.only.is_none());
    let conns = conns.map(|zone| sentence(LIMIT_CONN.name, (&zone.zone, &zone.key), &zone.number.origin));
    conns.chain(reqs.map(|zone| sentence(LIMIT_REQ.name, (&zone.zone, &zone.key), &zone.rate.origin))).collect()
}

fn sentence(setting: &str, (zone, key): (&str, &str), origin: &Origin) -> String {
    let place = place(origin).map(|place| format!(" ({place})")).unwrap_or_default();
    format!(
        "{setting} of zone {zone}{place} limits none of these requests: its key {key} is empty for them, and requests with an empty key are not counted"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(http: &str, server: &str, visitor: Option<Ipv4Addr>) -> Vec<String> {
        let text = format!(
            "events {{}}\nhttp {{\n{http}\nserver {{ listen 80; {server} location / {{ proxy_pass http://127.0.0.1:9; }} }}\n}}\n"
        );
        let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/")).unwrap();
        told(&config, &Requests::to("localhost", "/"), (1, 22, 1), &Machine::of(&Default::default()), visitor)
    }

    #[test]
    fn a_limit_whose_key_is_empty_is_told_and_no_other() {
        let zones = "limit_conn_zone $server_name zone=c:1m; limit_req_zone $server_name zone=r:1m rate=5r/s;";
        let all = of(zones, "limit_conn c 1; limit_req zone=r;", None);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[0].starts_with("limit_conn of zone c (/n.conf:4) limits none of these requests"), "{all:?}");
        assert!(
            all[1].contains("limit_req of zone r (/n.conf:3)") && all[1].contains("$server_name is empty"),
            "{all:?}"
        );
        assert_eq!(of(zones, "server_name localhost; limit_conn c 1; limit_req zone=r;", None), Vec::<String>::new());
        let list = "geo $far { default 1; 127.0.0.0/8 0; }\nmap $far $key { 0 \"\"; 1 $binary_remote_addr; }\n\
                    limit_req_zone $key zone=r:1m rate=5r/s;";
        assert_eq!(of(list, "limit_req zone=r;", Some(Ipv4Addr::LOCALHOST)).len(), 1, "who comes from here");
        assert_eq!(of(list, "limit_req zone=r;", None), Vec::<String>::new(), "it depends");
    }
}
