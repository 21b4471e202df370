//! Servers that answer no requests since nobody is at their address: their check takes them out, or what they refuse goes to another.

use std::net::SocketAddr;

use super::again::target;
use super::check::{connects, out_after};
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::proxy::{self, Server};
use crate::haproxy::route::Route;
use crate::limits::backend::{loopback, nobody_listens};

/// A server that is out later than this gets requests for a while, milliseconds.
const SOON: u64 = 10_000;

/// Where servers are that are not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Absent {
    pub at: Vec<String>,
    /// Whether HAProxy goes on asking them: what they refuse goes to the others, and fails where these have no room.
    pub asked: bool,
}

/// The servers that answer the requests of a route while nobody listens where some are, and these: all of `used` and none where that is so of all, or
/// no copy runs.
pub(super) fn without<'c>(
    config: &'c Config,
    running: Option<&Config>,
    route: &Route<'c>,
    used: &[Server<'c>],
) -> (Vec<Server<'c>>, Absent) {
    where_absent(config, running, route, used, &nobody_listens)
}

fn where_absent<'c>(
    config: &'c Config,
    running: Option<&Config>,
    route: &Route<'c>,
    used: &[Server<'c>],
    nobody: &dyn Fn(SocketAddr) -> bool,
) -> (Vec<Server<'c>>, Absent) {
    let all = || (used.to_vec(), Absent::default());
    let Some((copy, back)) = running.zip(route.back) else { return all() };
    let nobody_at = |server: &Server<'_>| {
        let addresses = target(server).map(loopback).unwrap_or_default();
        !addresses.is_empty() && addresses.into_iter().all(nobody)
    };
    let lines = proxy::servers(config, back);
    let out = |is_out: &dyn Fn(&Server<'_>) -> bool| -> Vec<&Found> {
        lines.iter().filter(|one| is_out(one) && nobody_at(one)).map(|one| one.found).collect()
    };
    let taken = out(&|server| is_taken_out(copy, back, server));
    // Of several that are not there, one after the other may be asked until no retry is left; and beside none that is asked in turn there is nobody to go to.
    let refuses = |server: &&Server<'c>| !server.checked && twin(copy, back, server).is_some() && nobody_at(server);
    let refusing: Vec<&Server<'_>> = used.iter().filter(refuses).collect();
    let others = used.len() > refusing.len();
    let asked = taken.is_empty() && others && matches!(refusing[..], [one] if one.count == 1) && goes_round(copy, back);
    let out = if asked { refusing.into_iter().map(|one| one.found).collect() } else { taken };
    let is_out = |server: &Server<'_>| out.iter().any(|found| std::ptr::eq(*found, server.found));
    let servers = route.servers_but(config, is_out);
    if servers.is_empty() {
        return all();
    }
    let at = used.iter().filter(|server| is_out(server)).filter_map(|server| target(server).map(str::to_owned));
    (servers, Absent { at: at.collect(), asked })
}

/// Whether a server has the same address in the copy, and its check takes it out soon where nobody is there: what stands in for one may not have begun, and
/// one that nothing checks gets its requests and fails them.
fn is_taken_out(copy: &Config, back: &Section, server: &Server<'_>) -> bool {
    let twin = twin(copy, back, server);
    twin.is_some_and(|(section, twin)| {
        twin.checked && connects(copy, section, &twin) && out_after(copy, section, &twin) <= SOON
    })
}

/// The same server in the copy, with its section; none where it is not there, or has another address.
fn twin<'c>(copy: &'c Config, back: &Section, server: &Server<'_>) -> Option<(&'c Section, Server<'c>)> {
    let section = copy.sections().iter().find(|one| one.is_back() && one.name == back.name)?;
    let is_it = |twin: &Server<'_>| twin.found.arg(0) == server.found.arg(0) && target(twin) == target(server);
    Some((section, proxy::servers(copy, section).into_iter().find(is_it)?))
}

/// Whether a request that a server refuses goes to another at once, where one has room: with `option redispatch`, a retry, and servers that are asked in
/// turn (src/backend.c: back_handle_st_cer). What keeps clients with a server may lead it back there.
fn goes_round(copy: &Config, back: &Section) -> bool {
    let Some(back) = copy.sections().iter().find(|one| one.is_back() && one.name == back.name) else { return false };
    // With `no` before it, it is off.
    let is_it = |line: &&Found| line.words.iter().map(|word| word.value.as_str()).take(2).eq(["option", "redispatch"]);
    let on = copy.lineage(back).find_map(|section| copy.inside(section).iter().rev().find(is_it));
    let retries = copy.value(back, "retries").and_then(|line| line.arg(0)).is_none_or(|many| many != "0");
    let again = copy.value(back, "retry-on");
    let connects = again.is_none_or(|line| {
        line.words.iter().any(|word| ["conn-failure", "all-retryable-errors"].contains(&word.value.as_str()))
    });
    let counted = copy.found().iter().any(|line| line.words.iter().any(|word| word.value == "set-retries"));
    let balance = copy.value(back, "balance").and_then(|line| line.arg(0)).unwrap_or("roundrobin");
    let kept = ["cookie", "stick on", "stick match", "option persist", "persist", "use-server"];
    let is_kept = kept.iter().any(|key| copy.last_of(back, &[key]).is_some());
    on.is_some_and(|line| line.prefix.is_none())
        && retries
        && connects
        && !counted
        && matches!(balance, "roundrobin" | "static-rr")
        && !is_kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Requests;
    use crate::haproxy::config::Reading;

    fn read(servers: &str) -> Config {
        let text = format!("frontend f\n bind :80\n default_backend b\nbackend b\n{servers}");
        Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap()
    }

    /// Ports of the servers that get requests, and of those that do not, where nobody listens at some.
    fn of(servers: &str, copy: &str, nobody: &[u16]) -> (Vec<String>, Vec<String>) {
        let (config, copy) = (read(servers), read(copy));
        let route = Route::find(&config, &Requests::default()).unwrap();
        let used = route.servers(&config);
        let nobody = |address: SocketAddr| nobody.contains(&address.port());
        let (servers, absent) = where_absent(&config, Some(&copy), &route, &used, &nobody);
        let names = servers.iter().filter_map(|server| server.found.arg(0)).map(str::to_owned).collect();
        (names, absent.at)
    }

    #[test]
    fn a_server_that_is_checked_where_nobody_listens_gets_no_requests() {
        let told = |names: &[&str], absent: &[&str]| {
            let own = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            (own(names), own(absent))
        };
        let two = " server a 127.0.0.1:1 check\n server z 127.0.0.1:2 check\n";
        let (both, one) = (told(&["a", "z"], &[]), told(&["a"], &["127.0.0.1:2"]));
        assert_eq!((of(two, two, &[]), of(two, two, &[2])), (both.clone(), one));
        assert_eq!(of(two, two, &[1, 2]), both, "then it is not that which stops a load");
        let (unchecked, elsewhere) = (two.replace("2 check", "2"), two.replace("2 check", "2 check port 9"));
        for text in [&unchecked, &elsewhere] {
            assert_eq!(of(text, text, &[2]), both, "it gets its requests, and fails them");
        }
        assert_eq!(of(two, &two.replace(":2", ":7"), &[2]), both, "something else is in its place");
        let elsewhere = format!(" option httpchk\n http-check connect port 9\n{two}");
        assert_eq!(of(&elsewhere, &elsewhere, &[2]), both, "nor does a check that a rule leads elsewhere find that");
        let late = two.replace("check", "check inter 1m");
        assert_eq!(of(&late, &late, &[2]), both, "it may get requests for a minute");
        let round = format!(" option redispatch\n{unchecked}");
        let one = told(&["a"], &["127.0.0.1:2"]);
        assert_eq!(of(&round, &round, &[2]), one, "what it refuses goes to the other");
        for not in [
            " retries 0\n",
            " balance leastconn\n",
            " cookie x insert\n",
            " no option redispatch\n",
            " retry-on none\n",
        ] {
            let text = format!("{round}{not}");
            assert_eq!(of(&text, &text, &[2]), both, "{not}");
        }
        for beside in ["backup", "disabled", "weight 0"] {
            let text = format!(" option redispatch\n server a 127.0.0.1:1\n server z 127.0.0.1:2 {beside}\n");
            let alone = told(&["a"], &[]);
            assert_eq!(of(&text, &text, &[2]), alone, "{beside}: nobody asks it");
            assert_eq!(of(&text, &text, &[1]), alone, "{beside}: it is asked in place of none that is up");
        }
        let many = " option redispatch\n server a 127.0.0.1:1\n server-template w 1-6 127.0.0.1:2\n";
        assert_eq!(of(many, many, &[2]).1.len(), 0, "retries end before all of them were asked");
        let backup = format!("{two} server c 127.0.0.1:3 backup\n");
        let instead = told(&["c"], &["127.0.0.1:1", "127.0.0.1:2"]);
        assert_eq!(of(&backup, &backup, &[1, 2]), instead, "the backup takes over");
    }
}
