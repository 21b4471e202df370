//! Requests that HAProxy passes to itself: each time they take one of its connections more.

use crate::files::Requests;
use crate::haproxy::config::{Config, Section};
use crate::haproxy::proxy::first_parameter;
use crate::haproxy::route::{Address, Bind, Route, binds};

/// Requests that are passed on more often than this go in a circle.
const MOST: u64 = 16;

/// How often a request comes in at HAProxy, the client's own time with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// So often.
    Times(u64),
    /// Some servers lead back to HAProxy and some do not, or it goes in a circle.
    Untold,
}

impl Passes {
    /// Of the requests that take this way.
    pub(super) fn of(config: &Config, route: Option<&Route<'_>>, requests: &Requests) -> Passes {
        let mut now = route.cloned();
        for times in 1..=MOST {
            let Some(route) = now.filter(|route| route.answered.is_none()) else { return Passes::Times(times) };
            let all: Vec<Option<(&Section, Bind<'_>)>> = route
                .servers(config)
                .iter()
                .map(|server| own(config, &Address::parse(server.found.arg(first_parameter(server.found) - 1)?)))
                .collect();
            let Some(next) = all.first() else { return Passes::Times(times) };
            if all.iter().any(|one| one != next) {
                return if all.iter().all(Option::is_none) { Passes::Times(times) } else { Passes::Untold };
            }
            let Some((front, bind)) = next.clone() else { return Passes::Times(times) };
            now = Some(Route::of(config, front, bind, requests));
        }
        Passes::Untold
    }

    /// Connections of HAProxy that a client takes while its request is served; none where that is not known.
    pub(super) fn connections(self) -> Option<f64> {
        match self {
            Passes::Times(times) => Some(times as f64),
            Passes::Untold => None,
        }
    }

    /// What a formula says of it; nothing where it comes in once.
    pub(super) fn said(self) -> String {
        match self {
            Passes::Times(1) => String::new(),
            Passes::Times(times) => {
                format!(
                    "; HAProxy passes requests to itself: a client in flight holds {times} of its connections, an idle one 1"
                )
            }
            Passes::Untold => {
                "; some servers lead back to HAProxy itself: how many of its connections a client holds is not known"
                    .to_owned()
            }
        }
    }
}

/// The listener of the same HAProxy at an address.
fn own<'c>(config: &'c Config, address: &Address) -> Option<(&'c Section, Bind<'c>)> {
    let fronts = config.sections().iter().filter(|section| section.is_front());
    let mut all = fronts.flat_map(|front| binds(config, front).into_iter().map(move |bind| (front, bind)));
    all.find(|(_, bind)| bind.addresses.iter().any(|listens| listens.takes(address)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    const FRONTS: &str = "defaults\n mode http\nfrontend a\n bind 127.0.0.1:80\n default_backend loop\nfrontend b\n bind *:81,/run/b.sock\n \
                          default_backend real\nbackend real\n server r 127.0.0.1:9\n";

    fn passes(servers: &str) -> Passes {
        let text = format!("{FRONTS}backend loop\n{servers}");
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let requests = Requests::default();
        Passes::of(&config, Route::find(&config, &requests).as_ref(), &requests)
    }

    #[test]
    fn a_request_is_followed_back_into_haproxy() {
        assert_eq!(passes(" server s 127.0.0.1:9\n"), Passes::Times(1));
        assert_eq!(passes(" server s 127.0.0.1:81\n"), Passes::Times(2));
        assert_eq!(passes(" server s unix@/run/b.sock\n"), Passes::Times(2));
        assert_eq!(passes(" server s 127.0.0.1:81\n server t 127.0.0.1:81\n"), Passes::Times(2));
        assert_eq!(passes(" server s 127.0.0.1:82\n server t 127.0.0.1:83\n"), Passes::Times(1));
    }

    #[test]
    fn where_only_some_servers_lead_back_or_all_in_a_circle_nothing_is_told() {
        assert_eq!(passes(" server s 127.0.0.1:81\n server t 127.0.0.1:9\n"), Passes::Untold);
        assert_eq!(passes(" server s 127.0.0.1:80\n"), Passes::Untold);
    }
}
