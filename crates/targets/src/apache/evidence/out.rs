//! Members of a balancer that get no requests because they failed: httpd writes how long (modules/proxy/proxy_util.c: ap_proxy_connect_backend), and
//! all its children think the same, as a member's status is in shared memory.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use genkai_model::evidence::metric;

use crate::apache::route::usual_port;

/// By `HOST:PORT` the name of each, and until when it is out.
#[derive(Debug)]
pub(in crate::apache) struct Out(BTreeMap<String, (String, Option<Instant>)>);

impl Out {
    /// Of these members, as the log of answers names them; of two at one address nothing is told.
    pub(in crate::apache) fn of(members: impl IntoIterator<Item = String>) -> Out {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for member in members {
            all.entry(address(&member)).or_default().push(member);
        }
        let alone = |(address, mut members): (String, Vec<String>)| {
            members.pop().filter(|_| members.is_empty()).map(|member| (address, (member, None)))
        };
        Out(all.into_iter().filter_map(alone).collect())
    }

    /// Takes lines of the error log.
    pub(super) fn read(&mut self, lines: &[String], now: Instant) {
        for (address, time) in lines.iter().filter_map(|line| disabled(line)) {
            if let Some((_, until)) = self.0.get_mut(address) {
                *until = now.checked_add(time).or(*until);
            }
        }
    }

    /// Adds which are out now. Where all are, httpd takes them in again before their time (mod_proxy_balancer.c: `forcerecovery`): none is told.
    pub(super) fn count(&self, now: Instant, metrics: &mut BTreeMap<String, f64>) {
        let waits = |until: &Option<Instant>| until.is_some_and(|until| now < until);
        let some_serve = self.0.values().any(|(_, until)| !waits(until));
        let is_out = |until: &Option<Instant>| some_serve && waits(until);
        let all = self.0.values();
        metrics
            .extend(all.map(|(member, until)| (metric::of_down("apache", member), f64::from(u8::from(is_out(until))))));
    }
}

/// `HOST:PORT` of a member's name, which leaves out the port that its scheme has anyway.
fn address(member: &str) -> String {
    let (scheme, rest) = member.split_once("://").unwrap_or(("", member));
    let host = rest.split('/').next().unwrap_or(rest);
    let usual = usual_port(scheme).unwrap_or(80);
    if host.rsplit(']').next().unwrap_or(host).contains(':') { host.to_owned() } else { format!("{host}:{usual}") }
}

/// The member that a line says to be left alone, and for how long.
fn disabled(line: &str) -> Option<(&str, Duration)> {
    let rest = line.split_once("AH00959: ")?.1.split_once("disabling worker for (")?.1;
    let (address, rest) = rest.split_once(") for ")?;
    let seconds = rest.trim_end().strip_suffix('s')?.parse().ok()?;
    Some((address, Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_out_for_as_long_as_the_log_says() {
        // Written by 2.4.71.
        let line = "[Thu Nov 26 13:25:15.104236 2026] [proxy:error] [pid 5663:tid 5669] AH00959: ap_proxy_connect_backend disabling worker for \
                    (127.0.0.1:1) for 5s";
        let failed = "[Thu Nov 26 13:25:15.104208 2026] [proxy:error] [pid 5663:tid 5669] (111)Connection refused: AH00957: http: attempt to \
                      connect to 127.0.0.1:2 (127.0.0.1:2) failed";
        let names = ["http://127.0.0.1:1", "http://127.0.0.1:2", "http://localhost", "http://h:3/a", "http://h:3/b"];
        let mut out = Out::of(names.map(str::to_owned));
        let now = Instant::now();
        let seen = |out: &Out, after: u64| {
            let mut metrics = BTreeMap::new();
            out.count(now + Duration::from_secs(after), &mut metrics);
            names.map(|name| metrics.get(&metric::of_down("apache", name)).copied())
        };
        out.read(&[failed.to_owned()], now);
        let (up, down) = (Some(0.0), Some(1.0));
        assert_eq!(seen(&out, 0), [up, up, up, None, None], "a connection that failed is no member that is left alone");
        out.read(&[line.to_owned(), line.replace("127.0.0.1:1", "localhost:80").replace("5s", "60s")], now);
        assert_eq!(seen(&out, 4), [down, up, down, None, None]);
        assert_eq!(seen(&out, 5), [up, up, down, None, None]);
        // A number that nobody waits for, as a script may write it.
        out.read(&[line.replace("5s", "18446744073709551615s")], now);
        assert_eq!(seen(&out, 5), [up, up, down, None, None]);
        // None is left: httpd takes them in again at once.
        out.read(&[line.to_owned(), line.replace("127.0.0.1:1", "127.0.0.1:2")], now);
        assert_eq!(seen(&out, 4), [up, up, up, None, None]);
    }
}
