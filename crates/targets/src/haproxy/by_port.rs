//! What HAProxy decides by its own port or address (`dst_port`, `dst`).

use super::config::{Config, Found};
use super::route::{Address, Route};
use crate::files::Requests;
use crate::product::ByPort;

/// How samples of the two are called (configuration manual 7.3.3).
const ADDRESS: [&str; 2] = ["dst", "fc_dst"];
const PORT: [&str; 2] = ["dst_port", "fc_dst_port"];

/// The first line that decides so, in the frontend and the backend of these requests.
pub(super) fn by_port(config: &Config, requests: &Requests) -> Option<ByPort> {
    let route = Route::find(config, requests)?;
    let sections = std::iter::once(route.front).chain(route.back).chain(route.others.iter().copied());
    let all: Vec<&Found> = sections.flat_map(|section| config.inside(section)).collect();
    let first = |of: &[&str]| all.iter().copied().find(|found| decides(found, of));
    if let Some(found) = first(&ADDRESS) {
        return Some(ByPort { place: config.place(found), written: found.written(), ports: None });
    }
    let found = first(&PORT)?;
    let port = |address: &Address| match address {
        Address::Inet { ports: Some(ports), .. } => Some(*ports.start()),
        _ => None,
    };
    let ports = route.bind.addresses.iter().find_map(port).into_iter().collect();
    Some(ByPort { place: config.place(found), written: found.written(), ports: Some(ports) })
}

/// Whether its condition, or what it chooses, is made of a sample of these.
fn decides(found: &Found, own: &[&str]) -> bool {
    let words: Vec<&str> = found.words.iter().map(|word| word.value.as_str()).collect();
    let is_own = |sample: &str| sample.split([',', '(']).next().is_some_and(|name| own.contains(&name.trim()));
    // A sample in a text, `%[dst_port,map(/x)]`.
    let within = |text: &&str| text.split("%[").skip(1).any(is_own);
    // What follows a brace is what a condition asks for.
    let asked =
        words.iter().zip(words.iter().skip(1)).any(|(before, word)| matches!(*before, "{" | "!{") && is_own(word));
    match found.name() {
        "acl" => words.get(2).copied().is_some_and(is_own),
        "use_backend" | "use-server" | "default_backend" => asked || words.iter().any(within),
        _ => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    fn line(front: &str) -> Option<(String, Option<Vec<u16>>)> {
        let text = format!(
            "frontend a\n bind :8080\n {front}\n default_backend x\nfrontend b\n bind :81\n acl y dst_port 81\nbackend x\n server s 127.0.0.1:9\n"
        );
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        by_port(&config, &Requests::to("x", "/")).map(|by| (by.place.rsplit(':').next().unwrap().to_owned(), by.ports))
    }

    #[test]
    fn what_is_decided_by_the_servers_own_port_is_found_and_what_is_told_others_is_not() {
        let at = Some(("3".to_owned(), Some(vec![8080])));
        for front in ["acl p dst_port 80", "use_backend x if { dst_port 80 }", "use_backend %[dst_port,map(/x)]"] {
            assert_eq!(line(front), at, "{front}");
        }
        let none = line("http-request deny unless { dst 10.0.0.1 }");
        assert_eq!(none, Some(("3".to_owned(), None)), "no copy has that address");
        for front in [
            "http-request set-header X-Forwarded-Port %[dst_port]",
            "acl full dst_conn gt 5",
            "acl dst path_beg /dst/",
            "use_backend dst-pool if { hdr(host) dst.example.com }",
            "log-format dst",
        ] {
            assert_eq!(line(front), None, "{front}");
        }
    }
}
