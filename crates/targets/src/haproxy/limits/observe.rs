//! Servers that HAProxy takes out for errors of the requests themselves (`observe`), whatever their health checks say.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Remedy, RemedyUnit, Strength};

use crate::haproxy::config::{Config, Section};
use crate::haproxy::evidence::signature;
use crate::haproxy::proxy::{self, Server};
use crate::haproxy::settings::SERVER_OBSERVE;
use crate::limits::{errors, log, raised, valued};
use crate::settings::SourcedValue;

/// Errors in a row after which something is done, and what that is, where nothing is written (configuration manual 5.2; src/server.c).
const ERROR_LIMIT: &str = "10";
const ON_ERROR: &str = "fail-check";

/// What takes servers out for what they answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// What is looked at.
    line: SourcedValue<()>,
    /// After how many errors in a row.
    errors: String,
    /// What is done then.
    then: String,
}

impl Observed {
    /// That of `used`, servers of `back`; none where none is observed. Without a health check nothing is (include/haproxy/check.h: health_adjust).
    pub fn of<'c>(config: &'c Config, back: &'c Section, used: &[Server<'c>]) -> Option<Observed> {
        let (server, line, what) = used.iter().filter(|server| server.checked).find_map(|server| {
            let line = proxy::giving(config, back, server, SERVER_OBSERVE.directive)?;
            let what = proxy::parameter(line, SERVER_OBSERVE.directive).filter(|what| *what != "none")?;
            Some((server, line, what))
        })?;
        let said = |key: &str, default: &str| {
            let line = proxy::giving(config, back, server, key);
            line.and_then(|line| proxy::parameter(line, key)).unwrap_or(default).to_owned()
        };
        let held = SourcedValue { value: (), written: what.to_owned(), origin: proxy::origin(config, line) };
        Some(Observed { line: held, errors: said("error-limit", ERROR_LIMIT), then: said("on-error", ON_ERROR) })
    }
}

/// The few errors of a server become those of all requests while it is out. Where the servers fail anyhow, to look away changes nothing: that only
/// a test can tell. Clients get `answered` then.
pub(super) fn limit(observed: &Observed, answered: ErrorKind) -> Limit {
    let Observed { line, errors: limit, then } = observed;
    Limit {
        caps: format!(
            "errors of requests take servers out, whatever their health checks say (`observe {}`, `error-limit {limit}`, `on-error {then}`)",
            line.written
        ),
        formula: "while all servers are out, HAProxy asks none of them until their health checks have succeeded again".to_owned(),
        source: "HAProxy configuration manual 5.2, `observe`, `error-limit`, `on-error`; src/check.c: __health_adjust".to_owned(),
        signatures: vec![
            log(signature::NO_SERVER_BY_ERRORS, Strength::Decisive),
            log(signature::NO_SERVER, Strength::Consistent),
            log(signature::TAKEN_OUT_BY_ERRORS, Strength::Supports),
        ],
        symptom: errors(&[answered]),
        remedy: Some(Remedy {
            word: Some("none".to_owned()),
            note: Some("requests then go to a server that answers with errors as to the others, as long as its health check succeeds".to_owned()),
            ..raised(SERVER_OBSERVE.name, RemedyUnit::Zero, 1.0)
        }),
        ..valued("haproxy.server.observe", "haproxy", SERVER_OBSERVE.name, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    fn of(back: &str) -> Option<[String; 3]> {
        let text = format!("backend b\n{back}");
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let section = config.sections().iter().find(|section| section.kind == "backend").unwrap();
        let used: Vec<Server<'_>> = proxy::servers(&config, section).into_iter().filter(Server::is_used).collect();
        let Observed { line, errors, then } = Observed::of(&config, section, &used)?;
        Some([line.written, errors, then])
    }

    #[test]
    fn servers_are_observed_where_they_are_checked_and_say_so() {
        let told = |all: [&str; 3]| Some(all.map(str::to_owned));
        assert_eq!(of(" server s 1:1 check observe layer7\n"), told(["layer7", "10", "fail-check"]), "the defaults");
        let given = " default-server check observe layer4 on-error mark-down\n server s 1:1 error-limit 3\n";
        assert_eq!(of(given), told(["layer4", "3", "mark-down"]));
        assert_eq!(of(" server s 1:1 observe layer7\n"), None, "without a check nothing is taken out");
        assert_eq!(of(" default-server observe layer7\n server s 1:1 check observe none\n"), None);
        assert_eq!(of(" server s 1:1 check\n"), None);
    }
}
