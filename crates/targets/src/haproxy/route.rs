//! Which frontend takes the requests under test, and which backend they reach.

mod acl;
mod asked;
mod bind;
mod redirected;
mod rules;

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::config::{Config, Found, Section};
use super::proxy::{self, Mode, Server, giving, is_off};
use crate::files::Requests;
use asked::Asked;
pub use bind::{Bind, binds};
pub(super) use rules::{final_action, moves};

/// Where a `bind` or a `server` is: configuration manual 11.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host (empty or `*`: any) and ports.
    Inet {
        /// As written, without brackets.
        host: String,
        /// Ports; none where a server names none (or `+N`): the client's port.
        ports: Option<RangeInclusive<u16>>,
    },
    /// A Unix socket, or an abstract one.
    Unix(String),
    /// Inherited descriptors, QUIC, and what else there is.
    Other(String),
}

impl Address {
    /// Reads one address of a `bind` or `server`.
    pub fn parse(text: &str) -> Address {
        if let Some(path) = text.strip_prefix("unix@").or_else(|| text.starts_with('/').then_some(text)) {
            return Address::Unix(path.to_owned());
        }
        if text.starts_with("abns@") {
            return Address::Unix(text.to_owned());
        }
        let plain =
            ["ipv4@", "ipv6@", "tcp4@", "tcp6@", "tcp@"].iter().find_map(|p| text.strip_prefix(p)).unwrap_or(text);
        if plain.contains('@') {
            return Address::Other(text.to_owned());
        }
        let (host, port) = plain.rsplit_once(':').unwrap_or((plain, ""));
        let ports = port.split_once('-').map_or_else(|| Some((port, port)), Some);
        let ports = ports.and_then(|(a, b)| Some(a.parse::<u16>().ok()?..=b.parse::<u16>().ok()?));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Address::Inet { host: host.to_owned(), ports }
    }

    /// Whether a server at `address` is a listener here: of ports, each of them.
    pub(super) fn takes(&self, address: &Address) -> bool {
        match (self, address) {
            (Address::Inet { host: own, ports: Some(mine) }, Address::Inet { host, ports: Some(wanted) }) => {
                let here =
                    own == host || Address::is_loopback(host) && (Address::is_any(own) || Address::is_loopback(own));
                here && mine.contains(wanted.start()) && mine.contains(wanted.end())
            }
            (Address::Unix(mine), Address::Unix(wanted)) => mine == wanted,
            _ => false,
        }
    }

    /// Whether it is every address of this machine.
    pub fn is_any(host: &str) -> bool {
        matches!(host, "" | "*" | "0.0.0.0" | "::")
    }

    /// Whether a host is this machine's loopback.
    pub fn is_loopback(host: &str) -> bool {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// The way of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route<'c> {
    /// The section that takes it.
    pub front: &'c Section,
    /// Its listener.
    pub bind: Bind<'c>,
    /// The section with the servers; none where no backend can be told.
    pub back: Option<&'c Section>,
    /// The line by which HAProxy answers itself, or refuses: no request reaches a server.
    pub answered: Option<&'c Found>,
    /// The line by which a plain listener redirected them to the one with TLS that they now come in by; none: they came in here at once.
    pub redirect: Option<&'c Found>,
    /// The server that a `use-server` names.
    pub chosen: Option<&'c str>,
    /// Lines that something else decides than the requests' path and host: where they go, or whether any server gets them, is not sure.
    pub doubts: Vec<&'c Found>,
    /// Other backends that they may go to.
    pub others: Vec<&'c Section>,
}

impl<'c> Route<'c> {
    /// The first frontend with a plain TCP listener (a status page of HAProxy's own only where there is no other), and the
    /// backend its requests reach; where all listeners speak TLS, the first of those in the same way. Of those on the port of their Host
    /// header where it has one and there are some. None when there is no listener on TCP at all.
    pub fn find(config: &'c Config, requests: &Requests) -> Option<Route<'c>> {
        let inet = |bind: &Bind<'_>| bind.addresses.iter().any(|a| matches!(a, Address::Inet { .. }));
        let fronts = || config.sections().iter().filter(|s| s.is_front() && !is_off(config, s));
        let all = || fronts().flat_map(|s| binds(config, s).into_iter().filter(inet).map(move |b| (s, b)));
        let asked = requests.port().filter(|port| all().any(|(_, bind)| bind.is_on(*port)));
        let best = |tls: bool| {
            let on = move |bind: &Bind<'_>| bind.tls == tls && asked.is_none_or(|port| bind.is_on(port));
            let led = move |bind: Bind<'c>| match asked {
                Some(port) => bind.led(port),
                None => bind,
            };
            let these = || all().filter(move |(_, bind)| on(bind)).map(move |(front, bind)| (front, led(bind)));
            let routes = || these().map(|(front, bind)| Route::of(config, front, bind, requests));
            routes().find(|route| route.back.is_some()).or_else(|| routes().next())
        };
        let Some(plain) = best(false) else { return best(true) };
        let Some((redirect, port)) = plain.secured(requests) else { return Some(plain) };
        let secured = all().filter(|(_, bind)| bind.tls).collect();
        let there = plain.led(port, secured).map(|(front, bind)| Route::of(config, front, bind, requests));
        Some(there.map_or(plain, |route| Route { redirect: Some(redirect), ..route }))
    }

    /// By the rules of a frontend in the order in which HAProxy looks at them, then those of the backend.
    pub(super) fn of(config: &'c Config, front: &'c Section, bind: Bind<'c>, requests: &Requests) -> Route<'c> {
        let http = proxy::mode(config, front) == Mode::Http;
        let mut asked = if http { Asked::of(requests, bind.tls) } else { Asked::blind(Some(bind.tls)) };
        let mut route = Route {
            front,
            bind,
            back: None,
            answered: None,
            redirect: None,
            chosen: None,
            doubts: Vec::new(),
            others: Vec::new(),
        };
        route.connection(config);
        route.requests(config, front, &mut asked);
        let (sure, answered) = (route.doubts.len(), route.answered);
        route.back = route.backend(config, &asked);
        let certain = route.doubts.len() == sure;
        if let Some(back) = route.back.filter(|back| *back != front) {
            route.requests(config, back, &mut asked);
        }
        if !certain && answered.is_none() {
            // Requests that another backend gets are not answered by this one's rules.
            route.doubts.extend(route.answered.take());
        }
        route.chosen = route.back.and_then(|back| route.server(config, back, &asked));
        let redirecting = route.servers(config).into_iter().find_map(|s| giving(config, route.back?, &s, "redir"));
        route.doubts.extend(redirecting.filter(|_| http));
        route
    }

    /// The backend of a frontend's requests: by the first `use_backend` whose condition holds, else `default_backend`, else itself.
    fn backend(&mut self, config: &'c Config, asked: &Asked<'_>) -> Option<&'c Section> {
        let front = self.front;
        let named = |name: &str| config.sections().iter().find(|s| s.is_back() && s.name == name);
        for rule in config.inside(front).iter().filter(|f| f.is("use_backend")) {
            let to = rule.arg(0).unwrap_or_default();
            match acl::applies(config, front, rule, asked) {
                Some(false) => {}
                Some(true) if !to.contains("%[") => return named(to),
                _ => {
                    self.doubts.push(rule);
                    self.others.extend(named(to).filter(|_| !self.others.iter().any(|other| other.name == to)));
                }
            }
        }
        let default = config.value(front, "default_backend").and_then(|f| named(f.arg(0)?));
        default.or_else(|| (front.is_back() && config.inside(front).iter().any(is_server)).then_some(front))
    }

    /// The server of the first `use-server` whose condition holds, and whose server is not disabled (src/stream.c:
    /// process_server_rules goes on with the next rule).
    fn server(&mut self, config: &'c Config, back: &'c Section, asked: &Asked<'_>) -> Option<&'c str> {
        let all = proxy::servers(config, back);
        let enabled = |rule: &&Found| all.iter().any(|s| s.found.arg(0) == rule.arg(0) && !s.disabled);
        for rule in config.inside(back).iter().filter(|f| f.is("use-server")).filter(enabled) {
            match acl::applies(config, back, rule, asked) {
                Some(true) => return rule.arg(0),
                Some(false) => {}
                None => self.doubts.push(rule),
            }
        }
        None
    }

    /// Its servers that take requests as long as all live: the one that `use-server` names, else those in regular use, else of those that
    /// are `backup` the first, or all of them (`option allbackups`).
    pub fn servers(&self, config: &'c Config) -> Vec<Server<'c>> {
        self.servers_but(config, |_| false)
    }

    /// The same where some do not live.
    pub(super) fn servers_but(&self, config: &'c Config, out: impl Fn(&Server<'c>) -> bool) -> Vec<Server<'c>> {
        let Some(back) = self.back else { return Vec::new() };
        let chosen =
            |server: &Server<'c>| self.chosen.is_some() && server.found.arg(0) == self.chosen && !server.disabled;
        let all: Vec<Server<'c>> = proxy::servers(config, back).into_iter().filter(|server| !out(server)).collect();
        match all.iter().find(|server| chosen(server)) {
            Some(server) => vec![server.clone()],
            None => in_use_of(config, back, all),
        }
    }

    /// Whether requests reach a server; none: some may, and some may not.
    pub(super) fn is_served(&self, config: &Config) -> Option<bool> {
        let reached = self.answered.is_none() && !self.servers(config).is_empty();
        let may_end = self.doubts.iter().any(|doubt| final_action(doubt).is_some() || is_server(doubt));
        let sure = if reached { !may_end } else { self.doubts.is_empty() && self.others.is_empty() };
        sure.then_some(reached)
    }
}

fn is_server(found: &Found) -> bool {
    found.is("server") || found.is("server-template")
}

/// The servers of a section that take requests as long as all live.
pub(super) fn in_use<'c>(config: &'c Config, back: &'c Section) -> Vec<Server<'c>> {
    in_use_of(config, back, proxy::servers(config, back))
}

fn in_use_of<'c>(config: &'c Config, back: &'c Section, all: Vec<Server<'c>>) -> Vec<Server<'c>> {
    let active: Vec<Server<'_>> = all.iter().filter(|server| server.is_used()).cloned().collect();
    if !active.is_empty() {
        return active;
    }
    let backups = all.into_iter().filter(|server| server.backup && !server.disabled && server.weight > 0);
    let every = config.value(back, "option allbackups").is_some();
    backups.take(if every { usize::MAX } else { 1 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    #[test]
    fn addresses_are_read() {
        let inet = |host: &str, ports| Address::Inet { host: host.to_owned(), ports };
        assert_eq!(Address::parse("*:80"), inet("*", Some(80..=80)));
        assert_eq!(Address::parse(":8000-8003"), inet("", Some(8000..=8003)));
        assert_eq!(Address::parse("[::1]:443"), inet("::1", Some(443..=443)));
        assert_eq!(Address::parse(":::443"), inet("::", Some(443..=443)));
        assert_eq!(Address::parse("ipv4@app:+1"), inet("app", Some(1..=1)));
        assert_eq!(Address::parse("app"), inet("app", None));
        assert_eq!(Address::parse("/run/x.sock"), Address::Unix("/run/x.sock".to_owned()));
        assert_eq!(Address::parse("fd@3"), Address::Other("fd@3".to_owned()));
    }

    #[test]
    fn requests_find_their_backend() {
        let text = "defaults\n mode http\nlisten stats\n bind :9\n stats enable\nfrontend tls\n bind :443 ssl crt x\nfrontend www\n bind :80\n \
            acl api path_beg /api\n acl shop hdr(host) -i shop.example\n use_backend api if api !shop\n use_backend shop if shop\n \
            default_backend web\nbackend web\n server a 127.0.0.1:1\nbackend api\n server b 127.0.0.1:2\n server c \
            127.0.0.1:3 backup\nbackend shop\n server d 127.0.0.1:4\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let back = |host: &str, path: &str| {
            let route = Route::find(&config, &Requests::to(host, path)).unwrap();
            assert_eq!(route.front.name, "www");
            (route.back.unwrap().name.clone(), route.servers(&config).len())
        };
        assert_eq!(back("x", "/"), ("web".to_owned(), 1));
        assert_eq!(back("x", "/api/1"), ("api".to_owned(), 1));
        assert_eq!(back("SHOP.example", "/api"), ("shop".to_owned(), 1));
    }

    /// Backend, servers, whether HAProxy answers, and how many rules something else decides.
    fn way(front: &str, back: &str) -> (String, Vec<String>, bool, usize) {
        let text = format!(
            "defaults\n mode http\nfrontend f\n bind :80\n{front} default_backend b\nbackend b\n{back} server s1 127.0.0.1:1\n server s2 \
             127.0.0.1:2\nbackend a\n server s3 127.0.0.1:3\n"
        );
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let route = Route::find(&config, &Requests::to("one.example", "/p/x.png?u=7")).unwrap();
        let names = route.servers(&config).iter().map(|s| s.found.arg(0).unwrap().to_owned()).collect();
        (route.back.unwrap().name.clone(), names, route.answered.is_some(), route.doubts.len())
    }

    #[test]
    fn conditions_that_requests_decide_are_decided() {
        for (condition, holds) in [
            ("if { path_beg /p }", Some(true)),
            ("if { path /p }", Some(false)),
            ("if !{ path_end .png .jpg }", Some(false)),
            ("if { path_end -i .PNG } { hdr(host) -i ONE.example }", Some(true)),
            ("if { hdr(host) ONE.example }", Some(false)),
            ("if { path / } or { path_reg ^/[a-p]/ }", Some(true)),
            ("unless { path_dir p }", Some(false)),
            ("if { always_true }", Some(true)),
            ("if { url_param(u) 7 }", Some(true)),
            ("if { hdr_dom(host) example }", Some(true)),
            ("if METH_GET", None),
            ("if METH_PUT", None),
            ("if { method GET HEAD POST OPTIONS }", None),
            ("unless { req.hdr(host) -m found }", Some(false)),
            ("if { url_param(u) -m found }", Some(true)),
            ("if { url_param(none) -m found }", Some(false)),
            ("if { path_dir p/x.png }", Some(true)),
            ("if { path_dir /p/ }", Some(true)),
            ("if { path_dir x }", Some(false)),
            ("if { path_dir / }", None),
            ("if { hdr_dom(host) -i .Example }", Some(true)),
            ("if { hdr_dom(host) one.ex }", Some(false)),
            ("if { src 10.0.0.0/8 }", None),
            ("if { src 10.0.0.0/8 } { path /none }", Some(false)),
            ("if { ssl_fc }", Some(false)),
            ("if { hdr(user-agent) -m found }", None),
            ("if x", Some(true)),
            ("if !x or y", None),
            ("", Some(true)),
        ] {
            let told = way(&format!(" acl x path_beg /p\n acl y src 10.0.0.1\n use_backend a {condition}\n"), "");
            let expected = match holds {
                Some(true) => ("a", 0),
                Some(false) => ("b", 0),
                None => ("b", 1),
            };
            assert_eq!((told.0.as_str(), told.3), expected, "{condition}");
        }
    }

    #[test]
    fn what_opens_a_websocket_decides_where_it_goes() {
        let to = |requests: &Requests, rules: &str, condition: &str| {
            let text = format!(
                "defaults\n mode http\nfrontend f\n bind :80\n{rules} use_backend ws if {condition}\n default_backend b\nbackend b\n server s \
                 127.0.0.1:1\nbackend ws\n server w 127.0.0.1:2\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let route = Route::find(&config, requests).unwrap();
            (route.back.unwrap().name.clone(), route.doubts.len())
        };
        let websocket = Requests { websocket: true, ..Requests::to("x", "/") };
        let (ws, open) = (("ws".to_owned(), 0), ("b".to_owned(), 1));
        for condition in [
            "{ hdr(Upgrade) -i websocket }",
            "{ hdr(Upgrade) -i WebSocket }",
            "{ hdr(upgrade) websocket }",
            "{ hdr(Connection) -i upgrade } { hdr(Upgrade) -i websocket }",
            "{ hdr_sub(connection) -i upgrade }",
            "{ req.hdr(upgrade) -m found }",
        ] {
            assert_eq!(to(&websocket, "", condition), ws, "{condition}");
            assert_eq!(
                to(&Requests::to("x", "/"), "", condition),
                open,
                "{condition}: others may have it of the user's"
            );
        }
        let condition = "{ hdr(Upgrade) -i websocket }";
        assert_eq!(to(&websocket, "", "{ hdr(Upgrade) -i h2c }"), ("b".to_owned(), 0));
        assert_eq!(to(&websocket, " http-request del-header Upgrade\n", condition), open, "it is not there any more");
        assert_eq!(to(&websocket, " http-request del-header u -m beg\n", condition), open);
        assert_eq!(to(&websocket, " http-request set-header X y\n", condition), ws);
        let streams = Requests { streams: Some(10), ..websocket.clone() };
        assert_eq!(to(&streams, "", condition), open);
    }

    #[test]
    fn rules_in_order_answer_or_choose() {
        let answered = |front: &str, back: &str| (way(front, back).2, way(front, back).3);
        assert_eq!(answered(" http-request return status 200 if { path_beg /p }\n", ""), (true, 0));
        assert_eq!(answered(" http-request allow if { path_beg /p }\n http-request deny\n", ""), (false, 0));
        assert_eq!(answered(" http-request deny if { path /q }\n redirect prefix /x if { path /q }\n", ""), (false, 0));
        assert_eq!(answered(" http-request set-path /q\n http-request deny if { path /q }\n", ""), (false, 1));
        assert_eq!(answered(" http-request allow if { src 10.0.0.1 }\n http-request deny\n", ""), (false, 2));
        assert_eq!(answered(" use_backend a if { src 10.0.0.1 }\n", " http-request deny\n"), (false, 2));
        for (rewritten, criterion) in [
            ("set-header HOST x", "hdr(host) one.example"),
            ("replace-header Host (.*) \\1x", "hdr(host) one.example"),
            ("del-header ho -m beg", "hdr(host) one.example"),
            ("set-query u=8", "url_param(u) 7"),
        ] {
            let rules = format!(" http-request {rewritten}\n http-request deny if {{ {criterion} }}\n");
            assert_eq!(answered(&rules, ""), (false, 1), "{rewritten}");
        }
        let own = " http-request lua.own\n http-request deny if { path_beg /p }\n";
        assert_eq!(answered(own, ""), (false, 2), "it may answer, and rewrite");
        let other = " http-request set-header x y\n http-request deny if { hdr(host) one.example }\n";
        assert_eq!(answered(other, ""), (true, 0));
        assert_eq!(answered("", " http-request tarpit if { path_beg /p }\n"), (true, 0));
        assert_eq!(answered(" http-request deny if { src 10.0.0.1 }\n", ""), (false, 1));
        let servers = |back: &str| way("", back).1;
        assert_eq!(servers(" use-server s2 if { path_beg /p }\n"), ["s2"]);
        assert_eq!(servers(" use-server s2 if { path_beg /p }\n default-server disabled\n"), [""; 0]);
        assert_eq!(servers(" use-server s9 if { path_beg /q }\n use-server s1 unless { path / }\n"), ["s1"]);
        assert_eq!(servers(" default-server backup\n"), ["s1"]);
        assert_eq!(servers(" default-server backup\n option allbackups\n"), ["s1", "s2"]);
        assert_eq!(way(" use_backend %[path,map(x)]\n", "").3, 1);
    }

    #[test]
    fn whatever_may_end_a_request_before_a_server_is_seen() {
        let answered = |front: &str, back: &str| (way(front, back).2, way(front, back).3);
        for (line, expected) in [
            ("monitor-uri /p/x.png?u=7", (true, 0)),
            ("monitor-uri /p/x.png", (false, 0)),
            ("tcp-request connection reject", (true, 0)),
            ("tcp-request connection reject if { src_conn_cur gt 6 }", (false, 1)),
            ("tcp-request connection accept if { src 10.0.0.1 }\n tcp-request connection reject", (false, 2)),
            ("tcp-request session silent-drop if { src_conn_rate gt 6 }", (false, 1)),
            ("tcp-request session reject if FALSE", (false, 0)),
            ("tcp-request content reject if { path_beg /p }", (true, 0)),
            ("tcp-request content reject if { path_beg /q }", (false, 0)),
            ("tcp-request content use-service lua.x", (true, 0)),
            ("tcp-request connection track-sc0 src\n tcp-request inspect-delay 5s", (false, 0)),
            ("http-request cache-use x", (false, 1)),
            ("http-request set-var(txn.x) src\n http-request sc-inc-gpc0(0)\n http-request track-sc0 src", (false, 0)),
            ("http-request of-a-later-version", (false, 1)),
            ("stats uri /p", (false, 1)),
            ("stats enable", (false, 0)),
            ("stats enable\n http-request set-path /q", (false, 1)),
        ] {
            assert_eq!(answered(&format!(" {line}\n"), ""), expected, "{line}");
        }
        assert_eq!(answered("", " default-server redir http://x\n"), (false, 1));
        assert_eq!(answered("", " tcp-request content reject\n"), (true, 0));
    }

    #[test]
    fn nothing_of_a_request_decides_where_only_bytes_are_seen() {
        let text = "frontend f\n bind :80\n use_backend a if { path / }\n default_backend b\n monitor-uri /\n stats uri /\nbackend \
                    a\n server a 127.0.0.1:1\nbackend b\n server b 127.0.0.1:1 redir http://x\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let route = Route::find(&config, &Requests::to("x", "/")).unwrap();
        assert_eq!((route.doubts.len(), route.others.len(), route.answered), (1, 1, None));
    }

    #[test]
    fn a_host_is_compared_with_its_port() {
        let text = "frontend f\n mode http\n bind :80\n use_backend a if { hdr(host) one.example }\n use_backend c if { hdr_dom(host) \
            one.example }\nbackend a\n server a 127.0.0.1:1\nbackend c\n server c 127.0.0.1:1\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let back = |host: &str| Route::find(&config, &Requests::to(host, "/")).unwrap().back.unwrap().name.clone();
        assert_eq!((back("one.example"), back("one.example:8080")), ("a".to_owned(), "c".to_owned()));
    }

    #[test]
    fn the_port_of_a_host_header_says_which_listener_is_asked() {
        let text = "frontend a\n bind :80\n default_backend x\nfrontend b\n bind :81,:82-90\n default_backend x\nfrontend c\n bind :443 ssl crt x\n \
            default_backend x\nbackend x\n server a 127.0.0.1:1\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let find = |host: &str| {
            let route = Route::find(&config, &Requests::to(host, "/")).unwrap();
            (route.front.name.clone(), route.bind.addresses[0].clone())
        };
        let at = |port| Address::Inet { host: String::new(), ports: Some(port..=port) };
        assert_eq!(find("x"), ("a".to_owned(), at(80)));
        assert_eq!(find("x:85"), ("b".to_owned(), at(85)));
        assert_eq!(find("[::1]:443"), ("c".to_owned(), at(443)), "also one with TLS");
        assert_eq!(find("x:99"), ("a".to_owned(), at(80)), "nobody listens there");
    }

    #[test]
    fn a_listener_with_tls_serves_where_there_is_no_other() {
        let text = "frontend admin\n bind :8443 ssl crt x\nfrontend www\n bind /run/x.sock\n bind :443 ssl crt x alpn h2\n \
            default_backend web\nbackend web\n server a 127.0.0.1:1\n";
        let find = |text: &str| {
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            Route::find(&config, &Requests::default()).map(|route| (route.front.name.clone(), route.bind.tls))
        };
        assert_eq!(find(text), Some(("www".to_owned(), true)), "the one with servers");
        assert_eq!(find(&text.replace("bind /run/x.sock", "bind :80")), Some(("www".to_owned(), false)));
        assert_eq!(find("frontend f\n bind /run/x.sock\n"), None);
    }
}
