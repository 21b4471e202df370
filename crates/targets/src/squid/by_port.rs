//! What Squid decides by its own port or address.

use super::config::Config;
use crate::explain::place;
use crate::product::ByPort;

/// Kinds of `acl` that match it (src/acl/RegisterAcls: localport, localip and their old names).
const OWN: [&str; 4] = ["localport", "localip", "myport", "myip"];

/// The first `acl` of them that another directive asks.
pub(super) fn by_port(config: &Config) -> Option<ByPort> {
    let is_asked = |name: &str| {
        let others = config.entries.all().iter().filter(|entry| entry.name != "acl");
        others.flat_map(|entry| &entry.values).any(|word| word.trim_start_matches('!') == name)
    };
    let decides = |values: &[String]| match values {
        [name, kind, ..] => OWN.contains(&kind.as_str()) && is_asked(name),
        _ => false,
    };
    let found = config.each("acl").find(|entry| decides(&entry.values))?;
    let place = place(&config.entries.origin(found)).unwrap_or_default();
    Some(ByPort { place, written: config.written(found), ports: None, unsure: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acl_of_the_servers_own_port_decides_where_somebody_asks_it() {
        let told = |text: &str| {
            let config = Config::of_text("/x/squid.conf".as_ref(), text.into()).unwrap();
            by_port(&config).map(|by| (by.place, by.written))
        };
        let text = "http_port 3128\nacl inner localport 3128\nacl all2 src all\n";
        let asked = format!("{text}http_access deny !inner\n");
        assert_eq!(told(&asked), Some(("/x/squid.conf:2".to_owned(), "acl inner localport 3128".to_owned())));
        assert_eq!(told(&format!("{text}http_access allow all2\n")), None);
    }
}
