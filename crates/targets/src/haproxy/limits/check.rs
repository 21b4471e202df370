//! Health checks: a server whose check fails gets no requests, whatever it would answer them.

use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::proxy::{self, Server};
use crate::settings::SourcedValue;

/// Lines that say what a check asks, of which the last counts (configuration manual 4.2; src/check.c: proxy_parse_httpchk_opt and those beside it).
const KINDS: [&str; 8] = [
    "option httpchk",
    "option tcp-check",
    "option ssl-hello-chk",
    "option mysql-check",
    "option pgsql-check",
    "option smtpchk",
    "option ldap-check",
    "option external-check",
];

/// The health check of the servers in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The line that says what it asks, else that which switches it on.
    pub line: SourcedValue<()>,
    /// Whether it goes to another port or address than requests.
    pub elsewhere: bool,
}

impl Check {
    /// That of `used`, servers of `back`; none where none of them is checked.
    pub fn of(config: &Config, back: &Section, used: &[Server<'_>]) -> Option<Check> {
        let checked: Vec<&Server<'_>> = used.iter().filter(|server| server.checked).collect();
        let first = checked.first()?;
        let kind = config.last_of(back, &KINDS);
        let line: &Found = kind.or_else(|| proxy::giving(config, back, first, "check")).unwrap_or(first.found);
        let written = if kind.is_some() { line.written() } else { "check".to_owned() };
        let held = SourcedValue { value: (), written, origin: proxy::origin(config, line) };
        Some(Check { line: held, elsewhere: checked.iter().any(|server| server.checked_elsewhere) })
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::Origin;

    use super::*;
    use crate::haproxy::config::Reading;

    fn of(back: &str) -> Option<(String, usize, bool)> {
        of_all(&format!("backend b\n{back}"))
    }

    fn of_all(text: &str) -> Option<(String, usize, bool)> {
        let config = Config::of_texts(vec![("/x".into(), text.to_owned().into())], Reading::default()).unwrap();
        let section = config.sections().iter().find(|section| section.kind == "backend").unwrap();
        let used: Vec<Server<'_>> = proxy::servers(&config, section).into_iter().filter(Server::is_used).collect();
        let check = Check::of(&config, section, &used)?;
        let Origin::File { line, .. } = check.line.origin else { panic!("not in a file") };
        Some((check.line.written, line, check.elsewhere))
    }

    #[test]
    fn a_check_is_what_the_section_asks_of_servers_that_are_checked() {
        let told = |text: &str, line, elsewhere| Some((text.to_owned(), line, elsewhere));
        assert_eq!(of(" option httpchk GET /h\n server s 1:1\n"), None, "it is not switched on");
        assert_eq!(of(" option httpchk GET /h\n server s 1:1 check\n"), told("option httpchk GET /h", 2, false));
        let two = " option httpchk GET /h\n option tcp-check\n server s 1:1 check\n";
        assert_eq!(of(two), told("option tcp-check", 3, false), "the last one counts");
        let inherited = "defaults\n option httpchk GET /h\nbackend b\n option mysql-check\n server s 1:1 check\n";
        assert_eq!(of_all(inherited), told("option mysql-check", 4, false), "the nearest one counts");
        let inherited = "defaults\n option tcp-check\n option httpchk GET /h\nbackend b\n server s 1:1 check\n";
        assert_eq!(of_all(inherited), told("option httpchk GET /h", 3, false));
        assert_eq!(of(" default-server check\n server s 1:1\n"), told("check", 2, false));
        assert_eq!(of(" default-server check\n server s 1:1 no-check\n"), None);
        assert_eq!(of(" server s 1:1\n server t 1:1 check port 81\n"), told("check", 3, true));
    }
}
