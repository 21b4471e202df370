//! How many requests the servers of a backend get at once.

use genkai_model::limit::{Law, Origin};

use crate::haproxy::config::{Config, Section};
use crate::haproxy::proxy::{self, Choice, Server, choice, fullconn};
use crate::limits::{connections, counted};

/// Loads of a backend that are tried one by one, to find the first at which a request waits.
const TRIED: u64 = 100_000;
/// The most servers that are told one by one.
const NAMED: u64 = 1000;

/// What `maxconn` and `minconn` of all servers in use let through together.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Requests at once up to which none waits.
    pub least: u64,
    /// Requests that are never exceeded.
    pub most: u64,
    /// `fullconn`, where the servers' share grows with the load towards it.
    pub full: Option<u64>,
    /// Whether nothing but the servers' `maxconn` decides, so that `least` is `most`.
    pub fixed: bool,
    /// Servers without a cap, where that leaves no number.
    pub uncapped: bool,
    /// Each of the servers, and how many requests it gets at once; of one alone, or where a request cannot go to any, none.
    pub each: Vec<(String, u64)>,
    /// How many equal parts the numbers have, each of which a server's setting stands for.
    pub parts: u64,
    /// `minconn` of the servers where `full` is known, else `maxconn`; different ones one after the other.
    pub written: String,
    /// Where the first of them is.
    pub origin: Origin,
    /// How the numbers come about.
    pub formula: String,
}

impl Capacity {
    /// Of the servers in use of `back` for requests of one source for `target`, in a process with so many connections; none: nothing ever
    /// waits.
    pub fn of(config: &Config, back: &Section, used: &[Server<'_>], process: u64, target: &str) -> Option<Capacity> {
        let servers = used.iter().map(|s| s.count).fold(0, u64::saturating_add);
        let choice = if servers == 1 { Choice::AnyWithRoom } else { choice(config, back, target) };
        let uncapped = used.iter().any(|s| s.maxconn == 0);
        if used.iter().all(|s| s.maxconn == 0) || uncapped && choice == Choice::AnyWithRoom {
            return None;
        }
        let grows = used.iter().any(|s| s.minconn != s.maxconn);
        let fullconn = fullconn(config, back, process);
        let each = used.iter().map(|s| s.count.saturating_mul(s.maxconn));
        let most = match choice {
            Choice::One(_) => used.iter().map(|s| s.maxconn).max().unwrap_or(0),
            _ => each.fold(0, u64::saturating_add),
        };
        let lowest = used.iter().map(|s| s.minconn).filter(|n| *n > 0).min().unwrap_or(0);
        let least = if choice == Choice::AnyWithRoom { free(used, fullconn, most) } else { lowest };
        // One line through the origin is only right for servers of which each grows in the same way.
        let share = |n: u64, of: u64| u128::from(n) * u128::from(of);
        let alike = used.iter().all(|s| share(s.minconn, used[0].maxconn) == share(used[0].minconn, s.maxconn));
        let full = (grows && alike && choice == Choice::AnyWithRoom).then_some(fullconn);
        // Where the servers' share is known to grow with the load, it is what they get at least that is told; else what they never get more than.
        let key = if full.is_some() { "minconn" } else { "maxconn" };
        let (_, origin) =
            proxy::written(config, back, used, key).or_else(|| proxy::written(config, back, used, "minconn"))?;
        Some(Capacity {
            least,
            most,
            full,
            fixed: !grows && least == most && matches!(choice, Choice::AnyWithRoom | Choice::One(_)),
            uncapped,
            each: match (2..=NAMED).contains(&servers) && !uncapped && !matches!(choice, Choice::One(_)) {
                true => used.iter().flat_map(|line| line.names().map(|name| (name, line.maxconn))).collect(),
                false => Vec::new(),
            },
            parts: if choice == Choice::AnyWithRoom { servers } else { 1 },
            written: different(used.iter().map(|s| if full.is_some() { s.minconn } else { s.maxconn })),
            origin,
            formula: formula(used, choice, (grows && !uncapped).then_some(fullconn), most),
        })
    }

    /// Its law where no request waits: those for which the servers have no room fail.
    pub fn at_once(&self, http: bool) -> Law {
        let value = self.most as f64;
        match (self.fixed && !self.uncapped, http) {
            (false, _) => Law::Unknown,
            (true, false) => connections(value, 1.0),
            (true, true) => Law::Slots { value, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 },
        }
    }

    /// Its law, for requests that wait at most so many seconds; in TCP mode (`http`: not) a connection is what HTTP's requests are.
    pub fn law(&self, http: bool, wait: Option<f64>) -> Law {
        let (least, most) = (self.least as f64, self.most as f64);
        let full = self.full.map(|full| full as f64);
        match (self.fixed, http) {
            _ if self.uncapped => Law::Unknown,
            (true, true) => Law::Workers { workers: most, queue: None, service: None, wait },
            (false, true) => Law::Growing { least, most, full, wait },
            (true, false) => connections(most, 1.0),
            (false, false) => {
                let high = if full.is_none_or(|full| most >= full) { most } else { least };
                Law::Slots {
                    value: high,
                    reserved: 0.0,
                    idle_cost: 1.0,
                    busy_cost: 1.0,
                    pools: 1.0,
                    soft: least / high,
                }
            }
        }
    }
}

/// The highest load up to which no request waits where any server with room is taken.
fn free(used: &[Server<'_>], full: u64, most: u64) -> u64 {
    let slots = |load| used.iter().map(|s| s.count.saturating_mul(s.slots(load, full))).fold(0, u64::saturating_add);
    let waits = (1..=most.min(TRIED)).find(|load| slots(*load) < *load);
    waits.map_or(most, |load| load - 1)
}

fn formula(used: &[Server<'_>], choice: Choice, full: Option<u64>, most: u64) -> String {
    let each = |s: &Server<'_>| match (full, s.count) {
        (Some(full), _) if s.minconn != s.maxconn => {
            format!("{}max(minconn {}, maxconn {} x load / fullconn {full})", times(s.count), s.minconn, s.maxconn)
        }
        (_, count) => format!("{}{}", times(count), s.maxconn),
    };
    let alike = used.iter().all(|s| (s.minconn, s.maxconn) == (used[0].minconn, used[0].maxconn));
    let servers = used.iter().map(|s| s.count).fold(0, u64::saturating_add);
    let sum = match full {
        None if alike => {
            format!("{} x maxconn {} = {most} requests at once", counted(servers, "server"), used[0].maxconn)
        }
        None => {
            let parts: Vec<String> = used.iter().map(each).collect();
            format!("maxconn {} = {most} requests at once", parts.join(" + "))
        }
        Some(_) => {
            let parts: Vec<String> = used.iter().map(each).collect();
            format!(
                "{} requests at once, where load is all requests of the backend, those that wait included",
                parts.join(" + ")
            )
        }
    };
    match choice {
        Choice::AnyWithRoom => sum,
        Choice::One(what) => {
            let all: Vec<String> = used.iter().map(|s| each(&Server { count: 1, ..s.clone() })).collect();
            let mut numbers = all.clone();
            numbers.dedup();
            format!("maxconn {} requests at once: one {what}, one server", numbers.join(" or "))
        }
        Choice::Drawn => format!("{sum}, or fewer: a server is drawn, and who draws a full one waits"),
        Choice::ByKey => format!("{sum}, or fewer: each request has its server, and waits where that one is full"),
    }
}

/// Numbers one after the other, each once.
fn different(numbers: impl Iterator<Item = u64>) -> String {
    let mut all: Vec<String> = Vec::new();
    for number in numbers.map(|n| n.to_string()) {
        if !all.contains(&number) {
            all.push(number);
        }
    }
    all.join(", ")
}

fn times(count: u64) -> String {
    if count > 1 { format!("{count} x ") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    fn of(back: &str) -> Option<(u64, u64, bool, String)> {
        let config =
            Config::of_texts(vec![("/x".into(), format!("backend b\n{back}").into())], Reading::default()).unwrap();
        let section = &config.sections()[0];
        let used: Vec<Server<'_>> = proxy::servers(&config, section).into_iter().filter(Server::is_used).collect();
        Capacity::of(&config, section, &used, 2000, "/").map(|c| (c.least, c.most, c.fixed, c.written))
    }

    #[test]
    fn servers_add_up_and_one_without_a_cap_takes_the_rest() {
        let told = |text: &str| text.to_owned();
        assert_eq!(
            of(" default-server maxconn 10 maxqueue 5\n server a 1:1\n server b 1:1 maxconn 15\n"),
            Some((25, 25, true, told("10, 15")))
        );
        assert_eq!(of(" server a 1:1 maxconn 20 minconn 30\n"), Some((30, 30, true, told("30"))));
        assert_eq!(of(" server a 1:1 maxconn 10\n server b 1:1\n"), None);
        assert_eq!(
            of(" server a 1:1 maxconn 10\n server b 1:1 backup\n server c 1:1 weight 0\n"),
            Some((10, 10, true, told("10")))
        );
        assert_eq!(of(" server-template a 3-5 h:1 maxconn 4\n"), Some((12, 12, true, told("4"))));
    }

    #[test]
    fn the_value_told_is_that_of_the_setting_told() {
        let unlike = of(" fullconn 100\n server a 1:1 minconn 5 maxconn 30\n server b 1:1 maxconn 10\n").unwrap();
        assert_eq!(unlike.3, "30, 10", "no one minconn tells what these get");
        let alike = of(" fullconn 1000\n server a 1:1 minconn 5 maxconn 60\n server b 1:1 minconn 10 maxconn 120\n");
        assert_eq!(alike.unwrap().3, "5, 10");
    }

    #[test]
    fn a_key_or_a_draw_may_make_requests_wait_for_one_server() {
        let two = " server a 1:1 maxconn 10\n server b 1:1 maxconn 15\n";
        for (balance, most) in [
            ("source", 15),
            ("uri", 15),
            ("hdr(host)", 15),
            ("random", 25),
            ("hdr(x)", 25),
            ("uri\n hash-balance-factor 150", 25),
        ] {
            let told = of(&format!(" balance {balance}\n{two}")).map(|c| (c.0, c.1, c.2));
            assert_eq!(told, Some((10, most, false)), "{balance}");
        }
        let alike = of(&format!(" balance source\n{}", two.replace("15", "10"))).unwrap();
        assert_eq!((alike.1, alike.2), (10, true), "one server gets all");
        assert_eq!(of(&format!(" balance url_param u\n{two}")).map(|c| c.2), Some(true), "there is no such parameter");
        assert_eq!(of(" balance source\n server a 1:1 maxconn 10\n").map(|c| (c.0, c.2)), Some((10, true)));
    }

    #[test]
    fn shares_that_grow_keep_up_only_where_fullconn_is_small() {
        let of = |full: u64| of(&format!(" fullconn {full}\n server a 1:1 minconn 5 maxconn 60\n")).map(|c| (c.0, c.1));
        assert_eq!((of(1000), of(60), of(20)), (Some((5, 60)), Some((60, 60)), Some((60, 60))));
    }
}
