//! Requests that nginx passes to itself: a `server` of the same configuration listens where a `*_pass` leads.

use super::{
    Address, Config, Family, Found, Host, Listen, Pass, Protocol, Route, Target, UpstreamServer, Way, authority,
};

/// Times that a request is followed through nginx itself.
const TIMES: usize = 8;

/// The ways of requests that nginx passes to itself.
#[derive(Clone, Debug, Default)]
pub struct Through<'a> {
    /// The route of each further time that it gets a request, in order; empty: it passes nothing to itself.
    pub routes: Vec<Route<'a>>,
    /// Why they cannot be followed further; none: the last one leads out of it.
    pub lost: Option<String>,
}

/// Where a pass leads.
enum To<'a> {
    /// Out of this nginx, or nowhere.
    Out,
    /// To this listener of its own.
    Own(Box<Listen<'a>>),
    /// To itself or out of it, and why that is not known.
    Unsure(String),
}

/// What a request asks for the next time: by which listener, with which Host header and target.
type Next<'a> = (Listen<'a>, Option<String>, String);

impl Config {
    /// The listener of TCP that is reached at `address`: the exact one before the wildcard, as in the kernel.
    pub(in crate::nginx) fn listener_at(&self, address: &Address) -> Option<Listen<'_>> {
        let key = local(address);
        let listens: Vec<_> = self.listens().into_iter().filter(|l| !l.udp).collect();
        let exact = listens.iter().find(|l| local(&l.address) == key);
        let (Address::Inet { port, .. }, true) = (&key, is_loopback(&key)) else { return exact.cloned() };
        let within = |l: &Listen<'_>| match &l.address {
            Address::Inet { port: first, .. } => (*first..=l.last_port.unwrap_or(*first)).contains(port),
            Address::Unix(_) => false,
        };
        exact.or_else(|| listens.iter().find(|l| l.address.is_wildcard() && within(l))).cloned()
    }

    /// Where requests of `route` go on to in this nginx itself.
    pub fn through<'a>(&'a self, route: &Route<'a>) -> Through<'a> {
        let mut through = Through::default();
        loop {
            let last = through.routes.last().unwrap_or(route);
            match self.next(last) {
                Ok(None) => return through,
                Ok(Some(_)) if through.routes.len() == TIMES => {
                    through.lost = Some(format!("requests came back to it {TIMES} times, and there was no end"));
                    return through;
                }
                Ok(Some((listen, host, target))) => {
                    match self.route_by(Some(&listen.address), host.as_deref(), &target) {
                        Some(inner) => through.routes.push(inner),
                        None => return through,
                    }
                }
                Err(why) => {
                    through.lost = Some(why);
                    return through;
                }
            }
        }
    }

    /// Whether requests of a route that [`Config::through`] follows no further go to a `stream` server of this nginx.
    pub fn is_relayed(&self, route: &Route<'_>) -> bool {
        let passes = route.ways.iter().filter_map(|way| Some((way, way.pass()?)));
        let mut leads = passes.map(|(way, pass)| self.leads(way, &pass));
        leads.any(|to| matches!(to, To::Own(listen) if listen.family == Family::Stream))
    }

    /// What a request of this route asks nginx itself for; none: it does not go there.
    fn next<'a>(&'a self, route: &Route<'a>) -> Result<Option<Next<'a>>, String> {
        let mut all = Vec::new();
        for way in &route.ways {
            let Some(pass) = way.pass() else {
                all.push(None);
                continue;
            };
            all.push(match self.leads(way, &pass) {
                To::Out => None,
                To::Unsure(why) => return Err(why),
                To::Own(listen) if listen.family != Family::Http || pass.protocol != Protocol::Http => {
                    return Err(format!(
                        "what `{}` at {} leads to is not followed",
                        pass.found.written(),
                        pass.found.place()
                    ));
                }
                To::Own(listen) => Some(self.asked_again(route, way, &pass, *listen)?),
            });
        }
        if all.iter().all(Option::is_none) {
            return Ok(None);
        }
        let doubts = || {
            let lost = route.ways.iter().filter_map(|way| way.lost.clone());
            let all: Vec<String> = route.doubts.iter().cloned().chain(lost).collect();
            if all.is_empty() { "not all requests go the same way".to_owned() } else { all.join(", ") }
        };
        let asks = |next: &Option<Next<'a>>| {
            next.as_ref().map(|(l, host, target)| (l.found.place(), host.clone(), target.clone()))
        };
        let same = all.iter().all(|next| asks(next) == asks(&all[0]));
        if !same || route.ways.iter().any(|way| way.lost.is_some()) {
            return Err(format!("only some requests may go there: {}", doubts()));
        }
        Ok(all.swap_remove(0))
    }

    fn leads<'a>(&'a self, way: &Way<'a>, pass: &Pass<'a>) -> To<'a> {
        let own = |address: &Address| self.listener_at(address);
        match &pass.target {
            Target::Address(address) => own(address).map_or(To::Out, |listen| To::Own(Box::new(listen))),
            Target::Upstream(name) => self.group_leads(name, pass),
            Target::Variable => {
                // Where the texts are not known, nothing says that it leads here.
                let texts = way.variables.value(&pass.found.arg(0).unwrap_or_default()).texts.unwrap_or_default();
                let default = if pass.tls { 443 } else { 80 };
                let leads = |text: &String| {
                    let named = authority(text);
                    let group = self.http_group(&named).is_some();
                    let address = Address::parse(&named, false, default);
                    if group {
                        !matches!(self.group_leads(&named, pass), To::Out)
                    } else {
                        address.is_some_and(|(address, _)| own(&address).is_some())
                    }
                };
                if texts.iter().any(leads) {
                    return To::Unsure(format!("`{}` at {} decides", pass.found.written(), pass.found.place()));
                }
                To::Out
            }
        }
    }

    fn http_group(&self, name: &str) -> Option<super::Upstream<'_>> {
        self.upstreams().into_iter().find(|u| u.family == Family::Http && u.name.eq_ignore_ascii_case(name))
    }

    /// Servers that are `backup` count where the others may have no room for a request.
    fn group_leads<'a>(&'a self, name: &str, pass: &Pass<'a>) -> To<'a> {
        let Some(group) = self.http_group(name) else { return To::Out };
        let used: Vec<&UpstreamServer<'_>> = group.servers.iter().filter(|s| !s.down && !s.backup).collect();
        let capped = used.iter().all(|s| s.max_conns > 0);
        let backups = group.servers.iter().filter(|s| !s.down && s.backup && capped);
        let servers = used.iter().copied().chain(backups);
        let own: Vec<Option<Listen<'a>>> =
            servers.map(|s| s.address.as_ref().and_then(|address| self.listener_at(address))).collect();
        let places: Vec<_> = own.iter().map(|l| l.as_ref().map(|l| l.found.place())).collect();
        match own.into_iter().next().flatten() {
            _ if places.iter().all(Option::is_none) => To::Out,
            Some(listen) if places.iter().all(|place| *place == places[0]) => To::Own(Box::new(listen)),
            _ => To::Unsure(format!(
                "servers of the group `{name}` that `{}` at {} names differ",
                pass.found.written(),
                pass.found.place()
            )),
        }
    }

    /// What a request asks for when it comes back by `listen`.
    fn asked_again<'a>(
        &'a self,
        route: &Route<'a>,
        way: &Way<'a>,
        pass: &Pass<'a>,
        listen: Listen<'a>,
    ) -> Result<Next<'a>, String> {
        let known = &way.variables;
        let query =
            || known.args.as_deref().filter(|args| !args.is_empty()).map(|args| format!("?{args}")).unwrap_or_default();
        let rewritten = || known.uri.as_ref().filter(|_| pass.rest.is_empty()).map(|uri| format!("{uri}{}", query()));
        let as_asked = || (pass.rest == "$request_uri").then(|| known.target.clone());
        let target = route.passed_on(way, pass, &known.target).or_else(rewritten).or_else(as_asked);
        // After a Unix socket, a path begins with a colon.
        let target = target.map(|target| target.strip_prefix(':').map_or_else(|| target.clone(), str::to_owned));
        let target = target.filter(|target| target.starts_with('/')).ok_or_else(|| {
            format!("which path `{}` at {} passes on is not known", pass.found.written(), pass.found.place())
        })?;
        let headers = route.inherited_at(&way.handler, "proxy_set_header");
        let header = headers.iter().rfind(|f| f.arg(0).is_some_and(|name| name.eq_ignore_ascii_case("host")));
        let host = match header.and_then(|f| f.arg(1)) {
            None => {
                Some(if pass.authority.starts_with("unix:") { "localhost".to_owned() } else { pass.authority.clone() })
            }
            Some(text) if text == "$proxy_host" => Some(pass.authority.clone()),
            Some(text) if text == "$http_host" => known.host.clone(),
            Some(text) => known.value(&text).constant().map(str::to_owned),
        };
        if host.is_none() && self.servers_at(&listen.address) > 1 {
            return Err(format!(
                "several servers listen at {}, and the Host header that is passed on is not known",
                listen.found.place()
            ));
        }
        Ok((listen, host, target))
    }

    /// Servers that listen at an address.
    fn servers_at(&self, address: &Address) -> usize {
        let at = |server: &Found<'_>| self.listens_of(server).iter().any(|l| l.address == *address && !l.udp);
        self.servers().iter().filter(|server| at(server)).count()
    }
}

/// The same address for all that lead to this machine by its loopback.
fn local(address: &Address) -> Address {
    match address {
        Address::Inet { port, .. } if is_loopback(address) => {
            Address::Inet { host: Host::Name("localhost".to_owned()), port: *port }
        }
        other => other.clone(),
    }
}

fn is_loopback(address: &Address) -> bool {
    match address {
        Address::Inet { host: Host::V4(ip), .. } => *ip == std::net::Ipv4Addr::LOCALHOST,
        Address::Inet { host: Host::V6(ip), .. } => *ip == std::net::Ipv6Addr::LOCALHOST,
        Address::Inet { host: Host::Name(name), .. } => name == "localhost",
        Address::Unix(_) => false,
    }
}

#[cfg(test)]
mod tests;
