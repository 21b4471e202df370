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
    let (needed, most) = (2 * u64::from(clients) + OWN, machine::hard_descriptors());
    if needed <= most {
        return Ok(());
    }
    let what = format!("the router needs {needed} descriptors for {clients} clients (two each), and may have {most}");
    let fit = most.saturating_sub(OWN) / 2;
    let hint = "fewer --rooms or --members (rooms-http: --most), or --router none";
    Err(TargetError::machine("", format!("{what}\n  hint: at most {fit} clients fit; {hint}")))
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
        "haproxy" => haproxy::router::limits(plan, clients, nodes, machine),
        "nginx" => nginx::router::limits(plan, nodes),
        _ => Vec::new(),
    }
}

/// A running router. Dropping it ends it.
#[derive(Debug)]
pub struct Router(Kind);

#[derive(Debug)]
enum Kind {
    Haproxy(Box<haproxy::router::Router>),
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
                let nginx = nginx::router::prepare(plan, clients, nodes, dir)?;
                Kind::Nginx(Box::new(nginx.start(cpus)?), nginx.version().to_owned())
            }
            "haproxy" => Kind::Haproxy(Box::new(haproxy::router::Router::start(plan, clients, nodes, cpus, dir)?)),
            name => return Err(unknown(name)),
        };
        Ok(Router(kind))
    }

    /// The listener that the load goes to.
    pub fn address(&self) -> SocketAddr {
        match &self.0 {
            Kind::Haproxy(haproxy) => haproxy.address(),
            Kind::Nginx(nginx, _) => nginx.address(),
        }
    }

    /// Looks at it.
    pub fn observe(&mut self) -> Observation {
        match &mut self.0 {
            Kind::Haproxy(haproxy) => haproxy.observe(),
            Kind::Nginx(nginx, _) => nginx.observe(),
        }
    }

    /// What it tells after a load. (nginx tells of refusals in its log alone.)
    pub fn report(&mut self) -> RouterReport {
        match &mut self.0 {
            Kind::Haproxy(haproxy) => haproxy.report(),
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
        self.resettable().map(haproxy::router::Router::freeze)
    }

    /// Kills it and starts it anew at the same address: what was on its way through it is lost.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn reset(&mut self) -> Result<(), TargetError> {
        self.resettable()?.reset()
    }

    fn resettable(&mut self) -> Result<&mut haproxy::router::Router, TargetError> {
        match &mut self.0 {
            Kind::Haproxy(haproxy) => Ok(haproxy),
            Kind::Nginx(..) => Err(no_reset()),
        }
    }
}
