//! Requests that httpd passes to a virtual host of its own: each time they take one of its workers more.

use std::net::{IpAddr, UdpSocket};

use crate::apache::config::Config;
use crate::apache::handler;
use crate::apache::route::{Listen, Pass, Route, authority, listens, members, socket};
use crate::files::Requests;

/// Requests that are passed on more often than this go in a circle.
const MOST: u64 = 16;

/// How often a request comes in at httpd, the client's own time with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// So often; whether httpd passes it to another server at last.
    Times(u64, bool),
    /// Some members of a balancer lead back to httpd and some do not, it goes in a circle, or patterns decide where it goes.
    Untold,
}

impl Passes {
    /// Of the requests under test.
    pub(super) fn of(config: &Config, requests: &Requests) -> Passes {
        followed(config, requests).0
    }

    /// Whether requests come in again.
    pub(super) fn is_again(self) -> bool {
        !matches!(self, Passes::Times(1, _))
    }

    /// Workers that a request takes; none where that is not known.
    pub(super) fn workers(self) -> Option<f64> {
        match self {
            Passes::Times(times, _) => Some(times as f64),
            Passes::Untold => None,
        }
    }

    /// Connections that are of a request: of its client, and those by which it is passed on. At least, where that is not known.
    pub(super) fn connections(self) -> u64 {
        match self {
            Passes::Times(times, outside) => 2 * times - u64::from(!outside),
            Passes::Untold => 2,
        }
    }

    /// What a formula says of it; nothing where it comes in once.
    pub(super) fn said(self) -> String {
        match self {
            Passes::Times(1, _) => String::new(),
            Passes::Times(times, _) => {
                format!("; httpd passes requests to itself: one in flight holds {times} of its workers")
            }
            Passes::Untold => {
                "; requests lead back to httpd itself, in a circle or some of them: how many of its workers one holds is not known".to_owned()
            }
        }
    }
}

/// How often the requests under test come in, and what passes them on to another server at last; none: nothing, or that is not known.
pub(super) fn followed<'c>(config: &'c Config, requests: &Requests) -> (Passes, Option<Pass<'c>>) {
    let Some(mut route) = Route::find(config, requests) else { return (Passes::Times(1, false), None) };
    let (mut host, mut target) = (requests.host.clone(), requests.path.clone());
    for times in 1..=MOST {
        // The first pass is looked for by the whole target, as its settings are.
        let path = if times == 1 { &target } else { target.split('?').next().unwrap_or_default() };
        let asked = Requests::to(&host, path);
        let Some(pass) = handler::pass(config, &route, &asked) else { return (Passes::Times(times, false), None) };
        let urls: Vec<String> = match members(config, &pass.url) {
            Some(all) => all.first.into_iter().map(|member| member.url).collect(),
            None => vec![pass.url.clone()],
        };
        let all: Vec<Option<Listen<'_>>> = urls.iter().map(|url| own(config, url)).collect();
        if all.iter().all(Option::is_none) {
            return (Passes::Times(times, true), Some(pass));
        }
        let (Some(Some(next)), Some(further)) = (all.first(), route.forwarded(config, &target)) else { break };
        if all.iter().any(|one| one.as_ref() != Some(next)) {
            break;
        }
        if !route.keeps_host(config) {
            authority(&urls[0]).1.clone_into(&mut host);
        }
        target = further;
        route = Route::at(config, next.clone(), &host);
    }
    (Passes::Untold, None)
}

/// The listener of the same httpd that a URL leads to.
pub(super) fn own<'c>(config: &'c Config, url: &str) -> Option<Listen<'c>> {
    let to = socket(url)?;
    let takes = |listen: &Listen<'_>| {
        listen.port == to.port()
            && match &listen.ip {
                Some(ip) => ip.parse().is_ok_and(|ip: IpAddr| ip == to.ip() || ip.is_unspecified() && is_here(to.ip())),
                None => is_here(to.ip()),
            }
    };
    listens(config).into_iter().find(takes)
}

/// Whether an address is this machine's: one can listen there.
fn is_here(ip: IpAddr) -> bool {
    ip.is_loopback() || !ip.is_unspecified() && UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    fn passes(text: &str) -> Passes {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let inner = "Listen 80\nListen 127.0.0.1:81\n<VirtualHost *:81>\nServerName inner\nProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n\
                     <VirtualHost *:81>\nServerName 127.0.0.1\nProxyPass /round http://127.0.0.1:80/round\nProxyPass /a/ http://127.0.0.1:9/\n\
                     </VirtualHost>\n";
        let text = format!("{inner}<VirtualHost *:80>\nServerName inner\n{text}\n</VirtualHost>\n");
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
        Passes::of(&config, &Requests::to("inner", "/a/x"))
    }

    #[test]
    fn a_request_is_followed_back_into_httpd() {
        assert_eq!(passes(""), Passes::Times(1, false));
        assert_eq!(passes("ProxyPass / http://127.0.0.1:9/"), Passes::Times(1, true));
        assert_eq!(
            passes("ProxyPass / http://127.0.0.1:81/"),
            Passes::Times(2, true),
            "/a/ of the host by its address"
        );
        assert_eq!(passes("ProxyPass /a/ http://127.0.0.1:81/b/"), Passes::Times(2, false), "/b/ is its own file");
        assert_eq!(passes("ProxyPass /a http://127.0.0.1:81/round"), Passes::Times(3, false), "and out of it again");
        assert_eq!(passes("ProxyPass /a/ http://localhost:81/b/\nProxyPreserveHost On"), Passes::Times(2, true));
        assert_eq!(passes("ProxyPass / http://10.0.0.1:81/"), Passes::Times(1, true), "another address");
        assert_eq!(passes("ProxyPass / http://192.0.2.1:80/"), Passes::Times(1, true), "another machine's");
        let balanced =
            |members: &str| passes(&format!("<Proxy balancer://b>\n{members}</Proxy>\nProxyPass / balancer://b/"));
        assert_eq!(balanced("BalancerMember http://127.0.0.1:81\n"), Passes::Times(2, true));
        assert_eq!(balanced("BalancerMember http://127.0.0.1:81\nBalancerMember http://127.0.0.1:9\n"), Passes::Untold);
        assert_eq!(balanced("BalancerMember http://127.0.0.1:9\nBalancerMember http://127.0.0.1:81\n"), Passes::Untold);
    }

    #[test]
    fn an_address_of_this_machine_is_one_to_listen_at() {
        let is_here = |ip: &str| super::is_here(ip.parse().unwrap());
        assert!(is_here("127.0.0.1") && is_here("::1"));
        assert!(!is_here("192.0.2.1") && !is_here("0.0.0.0"));
        // The one by which this machine reaches others, where it has one.
        let way = UdpSocket::bind("0.0.0.0:0").unwrap();
        if way.connect("192.0.2.1:9").is_ok() {
            assert!(super::is_here(way.local_addr().unwrap().ip()));
        }
    }

    #[test]
    fn what_goes_in_a_circle_or_by_patterns_is_not_told() {
        assert_eq!(passes("ProxyPass / http://127.0.0.1:80/"), Passes::Untold);
        assert_eq!(passes("ProxyPass / http://127.0.0.1:81/round/"), Passes::Untold);
        assert_eq!(passes("ProxyPassMatch ^/(.*)$ http://127.0.0.1:81/$1"), Passes::Untold);
        assert_eq!(passes("ProxyPassMatch ^/(.*)$ http://127.0.0.1:9/$1"), Passes::Times(1, true));
    }
}
