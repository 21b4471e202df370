//! What stands before nodes and spreads connections over them, whichever product it is.

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::limit::Limit;
use genkai_model::plan;
use genkai_model::rooms::RouterReport;

use crate::error::TargetError;
use crate::product::Prepared as _;
use crate::{haproxy, nginx};
use genkai_place::caps::Machine;
use genkai_place::machine;
use genkai_place::observation::Observation;

/// Products that can be one, as plans and the command line name them.
pub const ROUTERS: &[&str] = &["haproxy", "nginx"];

/// Descriptors that a router has of its own: listeners, logs, pollers.
const OWN: u64 = 100;

/// Processes of a router, at most.
const MOST_PROCESSES: u64 = 64;

/// Whether a router can hold so many clients on this machine, and, if it is to be reset on purpose, whether it can be.
///
/// # Errors
/// The product is unknown or cannot be reset, or has not descriptors enough.
pub fn check(plan: &plan::Router, clients: u32, resets: bool) -> Result<(), TargetError> {
    if !ROUTERS.contains(&plan.product.as_str()) {
        return Err(unknown(&plan.product));
    }
    if resets && plan.product != "haproxy" {
        return Err(no_reset());
    }
    let (most, processes) = (machine::hard_descriptors(), processes(&plan.product, clients));
    // One that counts connections of nodes, or is killed on purpose, is one process.
    let alone = if plan.node_connections.is_some() {
        Some("--node-connections is counted")
    } else {
        resets.then_some("what is reset is")
    };
    let fit = match alone {
        Some(_) => most.saturating_sub(OWN) / 2,
        None => each(&plan.product) * MOST_PROCESSES,
    };
    if u64::from(clients) <= fit {
        return Ok(());
    }
    let needed = 2 * u64::from(clients) + OWN * processes;
    let who = alone.map_or_else(
        || format!(" (in {MOST_PROCESSES} processes at most)"),
        |why| format!(", and {why} in one process"),
    );
    let what = format!(
        "the router needs {needed} descriptors for {clients} clients (two each), and a process may have {most}{who}"
    );
    let hint = "fewer --rooms or --members (rooms-http: --most), or --router none";
    Err(TargetError::machine("", format!("{what}\n  hint: at most {fit} clients fit; {hint}")))
}

/// Processes that a router for so many clients needs: each may have only so many descriptors.
fn processes(product: &str, clients: u32) -> u64 {
    if u64::from(clients) <= machine::hard_descriptors().saturating_sub(OWN) / 2 {
        return 1;
    }
    u64::from(clients).div_ceil(each(product)).max(1)
}

/// Clients that one of several processes may be meant to get: at least 1.
fn each(product: &str) -> u64 {
    let room = machine::hard_descriptors().saturating_sub(OWN + 2 * MOST_PROCESSES) / 2;
    let meant = match product {
        // The kernel chooses a worker by a hash of both addresses (socket(7), SO_REUSEPORT): one gets more than its share by chance.
        "nginx" => by_chance(room),
        // Clients are spread over processes as over nodes: evenly, but for one each.
        _ => room,
    };
    meant.max(1)
}

/// The largest mean number of clients, of which each comes here by chance, that exceeds `room` in less than one of a million routers: it stays five
/// standard deviations below it, of which one is at most the root of the mean (binomial distribution).
fn by_chance(room: u64) -> u64 {
    let root = ((25.0 + 4.0 * room as f64).sqrt() - 5.0) / 2.0;
    (root * root) as u64
}

/// There is no such product.
fn unknown(name: &str) -> TargetError {
    TargetError::usage("", format!("`{name}` is no router; there are: {}", ROUTERS.join(", ")))
}

/// It cannot be disturbed so.
fn no_reset() -> TargetError {
    TargetError::usage("", "only haproxy can be reset on purpose\n  hint: --router haproxy")
}

/// Every limit of the router that `plan` describes, before so many nodes and with room for so many clients.
pub fn limits(plan: &plan::Router, clients: u32, nodes: u32, machine: &Machine) -> Vec<Limit> {
    match plan.product.as_str() {
        "haproxy" => haproxy::router::limits(
            plan,
            part(&plan.product, clients),
            processes(&plan.product, clients),
            nodes,
            machine,
        ),
        "nginx" => nginx::router::limits(plan, nodes),
        _ => Vec::new(),
    }
}

/// Clients of one of its processes, at most.
fn part(product: &str, clients: u32) -> u32 {
    let processes = u32::try_from(processes(product, clients)).unwrap_or(u32::MAX);
    // Evenly, but for one or another.
    if processes == 1 { clients } else { clients.div_ceil(processes) + processes }
}

/// A running router. Dropping it ends it.
#[derive(Debug)]
pub struct Router(Kind);

#[derive(Debug)]
enum Kind {
    /// Its processes.
    Haproxy(Vec<haproxy::router::Router>),
    /// With its version.
    Nginx(Box<nginx::Running>, String),
}

impl Router {
    /// Starts the router that `plan` describes before `nodes`, with room for `clients` at once, its files in `dir`.
    ///
    /// # Errors
    /// The product is missing or does not start.
    pub fn start(
        plan: &plan::Router,
        clients: u32,
        nodes: &[SocketAddr],
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Router, TargetError> {
        let kind = match plan.product.as_str() {
            "nginx" => {
                let nginx = nginx::router::prepare(plan, processes(&plan.product, clients), clients, nodes, dir)?;
                Kind::Nginx(Box::new(nginx.start(cpus)?), nginx.version().to_owned())
            }
            "haproxy" => {
                let one = |number: u64| {
                    let dir = if number == 1 { dir.to_owned() } else { dir.join(format!("router-{number}")) };
                    std::fs::create_dir_all(&dir).map_err(TargetError::files(&dir))?;
                    haproxy::router::Router::start(plan, number, part(&plan.product, clients), nodes, cpus, &dir)
                };
                Kind::Haproxy((1..=processes(&plan.product, clients)).map(one).collect::<Result<_, _>>()?)
            }
            name => return Err(unknown(name)),
        };
        Ok(Router(kind))
    }

    /// The listeners that the load goes to, one as much as the other.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match &self.0 {
            Kind::Haproxy(all) => all.iter().map(haproxy::router::Router::address).collect(),
            Kind::Nginx(nginx, _) => vec![nginx.address()],
        }
    }

    /// Looks at it.
    pub fn observe(&mut self) -> Observation {
        match &mut self.0 {
            Kind::Haproxy(all) => all.iter_mut().fold(Observation::default(), |mut seen, one| {
                seen.merge(one.observe());
                seen
            }),
            Kind::Nginx(nginx, _) => nginx.observe(),
        }
    }

    /// What it tells after a load. (nginx tells of refusals in its log alone.)
    pub fn report(&mut self) -> RouterReport {
        match &mut self.0 {
            Kind::Haproxy(all) => {
                let reports = all.iter_mut().map(haproxy::router::Router::report);
                reports.reduce(RouterReport::and).unwrap_or_default()
            }
            Kind::Nginx(_, version) => {
                RouterReport { product: "nginx".to_owned(), version: version.clone(), ..RouterReport::default() }
            }
        }
    }

    /// Lets it stand still: a fault on purpose.
    ///
    /// # Errors
    /// When the product cannot be reset afterwards.
    pub fn freeze(&mut self) -> Result<(), TargetError> {
        self.resettable().map(|all| all.iter_mut().for_each(haproxy::router::Router::freeze))
    }

    /// Kills it and starts it anew at the same address: what was on its way through it is lost.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn reset(&mut self) -> Result<(), TargetError> {
        self.resettable()?.iter_mut().try_for_each(haproxy::router::Router::reset)
    }

    fn resettable(&mut self) -> Result<&mut [haproxy::router::Router], TargetError> {
        match &mut self.0 {
            Kind::Haproxy(all) => Ok(all),
            Kind::Nginx(..) => Err(no_reset()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_by_chance_has_room_for_five_standard_deviations() {
        for room in [0, 1, 400, 9_886, 500_000] {
            let meant = by_chance(room);
            assert!(meant as f64 + 5.0 * (meant as f64).sqrt() <= room as f64, "{room}: {meant}");
            let more = (meant + 1) as f64;
            assert!(more + 5.0 * more.sqrt() > room as f64, "{room}: {meant} is the largest");
        }
        assert!(each("nginx") < each("haproxy"));
    }
}
