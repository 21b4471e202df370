//! `stream` servers of the same configuration by which clients come to the server under load, which genkai asks directly.

use super::config::{Address, Config, Family, Found, Listen, Pass, Protocol, Target, authority};
use super::remote::{sole, values};
use crate::files::Requests;

/// What such a server limits.
const LIMITS: [&str; 3] = ["limit_conn", "proxy_download_rate", "proxy_upload_rate"];

/// A sentence for each of them that leads to the listener of these requests.
pub(super) fn told(config: &Config, requests: &Requests) -> Vec<String> {
    let Some(listen) = config.route_of(requests).and_then(|route| route.listen) else { return Vec::new() };
    let passes = config.passes();
    let leads = passes.iter().filter(|pass| pass.protocol == Protocol::Stream && leads(config, pass, &listen));
    leads.map(|pass| sentence(pass, &listen)).collect()
}

fn leads(config: &Config, pass: &Pass<'_>, listen: &Listen<'_>) -> bool {
    let own = |address: &Address| {
        config.listener_at(address).is_some_and(|own| own.family == Family::Http && own.address == listen.address)
    };
    let groups = config.upstreams();
    let group = |name: &str| {
        let named = groups.iter().filter(|u| u.family == Family::Stream && u.name.eq_ignore_ascii_case(name));
        named.flat_map(|group| &group.servers).any(|server| server.address.as_ref().is_some_and(own))
    };
    match &pass.target {
        Target::Address(address) => own(address),
        Target::Upstream(name) => group(name),
        Target::Variable => {
            let named = sole(&pass.authority).map(|name| values(config, name)).unwrap_or_default();
            named.iter().any(|(_, value)| {
                let named = authority(value);
                group(&named) || Address::parse(&named, false, 80).is_some_and(|(address, _)| own(&address))
            })
        }
    }
}

fn sentence(pass: &Pass<'_>, listen: &Listen<'_>) -> String {
    let server = pass.found.parent();
    let inside = |block: &Found<'_>| {
        let all = block.inside().into_iter().filter(|found| LIMITS.iter().any(|name| found.directive.is(name)));
        all.map(|found| format!("`{}` at {}", found.written(), found.place())).collect::<Vec<_>>()
    };
    let own = server.as_ref().map(inside).unwrap_or_default();
    // Those of `stream` are in force where the server has none.
    let outer = server.and_then(|server| server.parent()).filter(|_| own.is_empty());
    let limits = [own, outer.as_ref().map(inside).unwrap_or_default()].concat();
    let limits = if limits.is_empty() { String::new() } else { format!(" (among it {})", limits.join(", ")) };
    format!(
        "clients may come by a stream server of the same nginx, which passes them on to the server under load (`{}` at {}); the load went \
         to `{}` at {} directly: what the stream server limits or takes{limits} was not loaded",
        pass.found.written(),
        pass.found.place(),
        listen.found.written(),
        listen.found.place()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(stream: &str) -> Vec<String> {
        let text = format!(
            "events {{}}\nstream {{\n{stream}\n}}\nhttp {{ server {{ listen 127.0.0.1:81 proxy_protocol; location / {{ return 200; }} }} }}\n"
        );
        let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/")).unwrap();
        told(&config, &Requests::to("", "/"))
    }

    #[test]
    fn a_stream_server_that_leads_to_the_listener_under_load_is_told_with_its_limits() {
        let all = of("server { listen 80; limit_conn c 20; proxy_pass 127.0.0.1:81; }");
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(all[0].contains("`proxy_pass 127.0.0.1:81` at /n.conf:3"), "{all:?}");
        assert!(all[0].contains("(among it `limit_conn c 20` at /n.conf:3)"), "{all:?}");
        let group = of("limit_conn c 9; upstream w { server 127.0.0.1:81; } server { listen 80; proxy_pass w; }");
        assert!(group.len() == 1 && group[0].contains("`limit_conn c 9`"), "{group:?}");
        let chosen = "map $ssl_preread_server_name $w { default 127.0.0.1:81; } server { listen 80; proxy_pass $w; }";
        assert_eq!(of(chosen).len(), 1);
        assert_eq!(of("server { listen 80; proxy_pass 127.0.0.1:82; }"), Vec::<String>::new());
    }
}
