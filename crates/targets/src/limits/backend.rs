//! Limits that show in a proxy but lie behind it, or between the two.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Answers, Law, Limit, Origin, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};
use genkai_model::units::Span;
use genkai_place::endpoint::Endpoint;

use super::{at_once, counted, errors, log, raised, valued};
use crate::settings::SourcedValue;

/// The backend `name` does not take connections, or closes them unanswered: nothing in the proxy lifts that. To be completed with what the
/// proxy answers.
pub(crate) fn refusing(id: &str, setting: &str, name: &SourcedValue<()>) -> Limit {
    Limit {
        caps: "it refuses connections, or closes them unanswered".to_owned(),
        symptom: errors(&[ErrorKind::Status502]),
        ..valued(id, "backend", setting, name)
    }
}

/// Where a proxy connects to: what its directive names, and where that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The name, and the directive's place.
    pub name: SourcedValue<()>,
    /// The address, as written.
    pub address: String,
}

/// The addresses of this machine's loopback that `host:port` stands for, of `localhost` both; none: it is another place, or not known.
pub(crate) fn loopback(text: &str) -> Vec<SocketAddr> {
    let all = match text.strip_prefix("localhost:") {
        Some(port) => vec![format!("127.0.0.1:{port}"), format!("[::1]:{port}")],
        None => vec![text.to_owned()],
    };
    let all: Vec<SocketAddr> = all.iter().filter_map(|text| text.parse().ok()).collect();
    all.into_iter().filter(|address| address.ip().is_loopback()).collect()
}

/// Whether nobody listens at a loopback address.
pub(crate) fn nobody_listens(address: SocketAddr) -> bool {
    address.ip().is_loopback() && Endpoint::Tcp(address).is_nobodys()
}

/// What is said of servers at whose places nobody listens: they are not counted. Nothing where there are none.
pub(crate) fn nobody_at(places: &[impl AsRef<str>]) -> String {
    let all: Vec<&str> = places.iter().map(AsRef::as_ref).collect();
    if all.is_empty() { String::new() } else { format!("; nobody listens at {}", all.join(", ")) }
}

/// `place`, which messages call `setting`, cannot be connected to: something is broken, and no load is too much. Whether the address is wrong, or
/// nobody listens there yet, is not seen from outside. To be completed with the signs, and with what the proxy answers.
pub(crate) fn unreachable(id: &str, subject: &str, setting: &str, place: &Place) -> Limit {
    let at = &place.address;
    let caps = match at.contains('/') {
        true => format!("nobody listens on the socket {at}, there is no such socket, or {subject} may not open it"),
        false => format!("nobody listens at {at}, or no route leads there"),
    };
    Limit { caps, fault: true, ..valued(id, subject, setting, &place.name) }
}

/// Somebody listens at `place`, but the handshake of TLS with it fails: something is broken, and no load is too much. To be completed with the
/// signs, and with what the proxy answers.
pub(crate) fn unsecured(id: &str, subject: &str, setting: &str, place: &Place) -> Limit {
    let caps = format!(
        "the TLS handshake with {} fails: it speaks no TLS, or one of the two does not accept the other's certificate or version (the log of {subject} \
         has the reason)",
        place.address
    );
    Limit { caps, fault: true, ..valued(id, subject, setting, &place.name) }
}

/// How the signature ends of a proxy's message that the server behind it asks for a certificate, and that it has none. A server may do without.
pub(crate) const UNCERTIFIED: &str = ".backend.certificate";

/// Limits of a system whose backend is known to end handshakes of clients without a certificate: a proxy that says it has none is refused for it.
pub fn certificate_wanted(all: &mut [Limit]) {
    for limit in all {
        let missed =
            |one: &&mut Signature| matches!(&one.sign, Sign::LoggedUnserved(name) if name.ends_with(UNCERTIFIED));
        let Some(one) = limit.signatures.iter_mut().find(missed) else { continue };
        one.strength = Strength::Decisive;
        limit.caps += "; asked without a certificate before the load, it ended the handshake for want of one";
    }
}

/// The backend is slower than the time that `setting` gives it. That ends the request; the slowness is the backend's. To be completed with
/// the signs.
pub(crate) fn silent(id: &str, setting: &str, time: &SourcedValue<Span>) -> Limit {
    Limit {
        caps: format!(
            "it is slower than {setting} = {} allows (a longer one makes clients wait instead of fail)",
            time.written
        ),
        symptom: Symptom { errors: vec![ErrorKind::Status504], slow: true },
        patience: Some(time.value.as_secs_f64()),
        ..valued(id, "backend", &format!("slower than {setting}"), time)
    }
}

/// Pools behind a proxy, which is `product` or stands behind it: a request that waits there is given up by the proxy, which answers it as it does where what stands behind is slow. Where
/// several servers stand behind, a request that one of them was too slow for may be tried with another.
pub fn given_up(all: &mut [Limit], product: &str) {
    let proxy = all.iter().filter(|limit| limit.patience.is_some());
    let first = proxy.min_by(|a, b| a.patience.unwrap_or(f64::MAX).total_cmp(&b.patience.unwrap_or(f64::MAX))).cloned();
    let Some((front, longest)) = first.and_then(|limit| limit.patience.map(|longest| (limit, longest))) else { return };
    let own = front.id.split('.').next().unwrap_or_default().to_owned();
    let several = all.iter().any(|limit| limit.id.starts_with("backend2."));
    let is_behind = |limit: &&mut Limit| {
        let whose = limit.id.split('.').next().unwrap_or_default();
        // What waits in the product itself has not come to a proxy behind it.
        ![&*own, product].contains(&whose) && !whose.starts_with("beyond") && limit.subject != own
    };
    for limit in all.iter_mut().filter(is_behind).filter(|_| !several) {
        let (wait, service) = match &mut limit.law {
            Law::Workers { wait, service, .. } => (wait, *service),
            Law::Growing { wait, .. } => (wait, None),
            _ => continue,
        };
        let late = (longest - service.unwrap_or(0.0)).max(0.0);
        if wait.is_some_and(|wait| wait <= late) {
            continue;
        }
        *wait = Some(late);
        let setting = front.setting.trim_start_matches("slower than ");
        let longest = Span((longest * 1e9) as u64);
        limit.formula = format!("{}; a request without an answer for {longest} ({setting}) is given up", limit.formula);
        for kind in &front.symptom.errors {
            if !limit.symptom.errors.contains(kind) {
                limit.symptom.errors.push(*kind);
            }
        }
    }
}

/// A tunnel (`what`) on which nothing is said for the time of `setting`, which messages call `name`. The client knows how long it had been
/// silent.
pub(crate) fn idle(
    (subject, what): (&str, &str),
    (setting, name): (&str, &str),
    time: &SourcedValue<Span>,
    unit: RemedyUnit,
) -> Limit {
    Limit {
        caps: format!("how long {what} may be silent in both directions"),
        law: Law::Idle { after: time.value.as_secs_f64() },
        formula: format!("{what} ends after {} ({name}) without a byte", time.value),
        symptom: errors(&[ErrorKind::ClosedAbnormally]),
        remedy: Some(Remedy {
            note: Some("pings of either side, more often than it, do without the change".to_owned()),
            ..raised(setting, unit, 1.0)
        }),
        ..valued(&format!("{subject}.idle"), subject, setting, time)
    }
}

/// How many addresses there are among `all`: towards each, local ports are used once, however many servers of a group it is.
pub(crate) fn distinct(all: &[SocketAddr]) -> u64 {
    all.iter().collect::<BTreeSet<_>>().len() as u64
}

/// Local ports of a proxy towards the servers behind it.
pub(crate) struct Ports<'a> {
    /// The limit's name.
    pub(crate) id: &'a str,
    /// Who connects to whom, in words (`Apache to its backend`).
    pub(crate) way: &'a str,
    /// How many addresses are behind.
    pub(crate) addresses: u64,
    /// What is at each, as a noun.
    pub(crate) noun: &'a str,
    /// Local ports, first and last.
    pub(crate) range: (u16, u16),
    /// The log's message when there is none left.
    pub(crate) signature: &'a str,
    /// What clients get then.
    pub(crate) answer: ErrorKind,
}

impl Ports<'_> {
    /// It as a limit; none where nothing behind has a TCP address.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let (first, last) = self.range;
        let ports = u64::from(last.saturating_sub(first)) + 1;
        (self.addresses > 0).then(|| Limit {
            value: format!("{first} {last}"),
            origin: Origin::Machine("/proc/sys/net/ipv4/ip_local_port_range".to_owned()),
            caps: format!("connections from {} at once, those in TIME_WAIT included", self.way),
            law: at_once(ports.saturating_mul(self.addresses) as f64, 1.0),
            formula: format!("{ports} local ports x {}", counted(self.addresses, self.noun)),
            source: "ip(7) ip_local_port_range: one port for each (source, destination address, destination port)"
                .to_owned(),
            signatures: vec![log(self.signature, Strength::Decisive)],
            symptom: errors(&[self.answer]),
            ..Limit::named(self.id, "kernel", "net.ipv4.ip_local_port_range")
        })
    }
}

/// Signature of a proxy's log line that says that the accept queue of this Unix socket was full: of the proxy's limit, and of that of whoever
/// listens there.
pub(crate) fn queue_full(socket: &str) -> String {
    format!("{QUEUE_FULL}.{socket}")
}

/// What it begins with.
pub(crate) const QUEUE_FULL: &str = "backend.queue_full";

/// The statuses of errors.
pub(crate) const ERROR_STATUSES: [ErrorKind; 8] = [
    ErrorKind::Status4xx,
    ErrorKind::Status413,
    ErrorKind::Status429,
    ErrorKind::Status500,
    ErrorKind::Status502,
    ErrorKind::Status503,
    ErrorKind::Status504,
    ErrorKind::Status5xx,
];

/// Several servers behind the product PRODUCT, which answer with errors: each by itself, with its name, the place of its line and the metrics of
/// its answers; and all of them, whose metric of failed answers is `sum`. `source` says where these are counted. Unless `alone`, only all of them:
/// where it is not counted how much each was asked, one of which most failures come may be one that most requests go to.
pub(crate) fn answering(
    product: &str,
    each: &[(String, SourcedValue<()>, Answers)],
    (sum, source): (&str, &str),
    alone: bool,
) -> Vec<Limit> {
    let common = |sign: Sign, strength: Strength, limit: Limit| Limit {
        formula: "no number says when: these are answers of its own, which are passed on to clients".to_owned(),
        source: source.to_owned(),
        signatures: vec![Signature { sign, strength }],
        symptom: errors(&ERROR_STATUSES),
        ..limit
    };
    let one = |(at, (name, held, own)): (usize, &(String, SourcedValue<()>, Answers))| {
        let rest = each.iter().enumerate().filter(|(other, _)| *other != at);
        let others = rest.map(|(_, (_, _, answers))| answers.clone()).collect();
        let limit = Limit {
            caps: format!(
                "the requests that failed were answered with an error by server {name} itself, one of {}",
                each.len()
            ),
            // A name that is its address says all.
            value: if held.written == *name { String::new() } else { held.written.clone() },
            ..valued(&format!("{product}.server.answers.{name}"), "backend", &format!("server {name}"), held)
        };
        common(Sign::Answers { own: own.clone(), others }, Strength::Decisive, limit)
    };
    let names: BTreeSet<&str> = each.iter().map(|(name, ..)| name.as_str()).collect();
    // Servers of one name are one; and of a single one there is nothing to tell apart.
    if names.len() < 2 {
        return Vec::new();
    }
    let alone = alone && names.len() == each.len();
    let limit = Limit {
        caps: format!(
            "one or more of its {} servers answered the requests that failed with errors themselves",
            names.len()
        ),
        ..Limit::named(&format!("{product}.server.answers"), "backend", "(answers)")
    };
    let all =
        Sign::Answers { own: Answers { failed: sum.to_owned(), all: None, failed_of_all: None }, others: Vec::new() };
    let mut limits: Vec<Limit> = each.iter().enumerate().filter(|_| alone).map(one).collect();
    limits.push(common(all, Strength::Supports, limit));
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_loopback_is_both_of_its_addresses() {
        let of = |text: &str| loopback(text).iter().map(SocketAddr::to_string).collect::<Vec<_>>();
        assert_eq!(of("localhost:80"), ["127.0.0.1:80", "[::1]:80"]);
        assert_eq!(
            (of("127.0.0.2:80"), of("[::1]:80")),
            (vec!["127.0.0.2:80".to_owned()], vec!["[::1]:80".to_owned()])
        );
        assert_eq!((of("10.0.0.1:80"), of("app:80"), of("127.0.0.1"), of("/run/x")), (vec![], vec![], vec![], vec![]));
    }

    #[test]
    fn a_pool_has_as_long_as_the_proxy_before_it() {
        let span = SourcedValue { value: Span::from_secs(2), written: "2".to_owned(), origin: Origin::Given };
        let timeout = Limit {
            symptom: errors(&[ErrorKind::Status502, ErrorKind::Status504]),
            ..silent("apache.ProxyTimeout", "ProxyTimeout", &span)
        };
        let pool = |id: &str, wait| Limit {
            law: Law::Workers { workers: 3.0, queue: None, service: Some(0.5), wait },
            symptom: Symptom { errors: vec![ErrorKind::Status504], slow: true },
            ..Limit::named(id, "gunicorn", "workers")
        };
        let waits_behind = |front: &str, all: Vec<Limit>| {
            let mut all: Vec<Limit> = std::iter::once(timeout.clone()).chain(all).collect();
            given_up(&mut all, front);
            let of = |limit: &Limit| if let Law::Workers { wait, .. } = limit.law { wait } else { None };
            (all[1..].iter().map(of).collect::<Vec<_>>(), all[1].symptom.errors.clone(), all[1].formula.clone())
        };
        let waits = |all: Vec<Limit>| waits_behind("apache", all);
        let queue = waits_behind("haproxy", vec![pool("haproxy.server.maxconn", None)]).0;
        assert_eq!(queue, [None], "who waits there is not with Apache yet");
        let (wait, kinds, formula) = waits(vec![pool("backend.gunicorn.workers", None)]);
        assert_eq!((wait, kinds), (vec![Some(1.5)], vec![ErrorKind::Status504, ErrorKind::Status502]));
        assert!(formula.ends_with("without an answer for 2s (ProxyTimeout) is given up"), "{formula}");
        assert_eq!(waits(vec![pool("php-fpm.www.pm.max_children", Some(1.0))]).0, [Some(1.0)], "it is shorter");
        assert_eq!(waits(vec![pool("apache.MaxRequestWorkers", None)]).0, [None], "who waits there is with the proxy");
        let two = waits(vec![pool("backend.gunicorn.workers", None), pool("backend2.gunicorn.workers", None)]);
        assert_eq!(two.0, [None, None], "it may be tried with the other one");
    }
}
