//! What stands before nodes and spreads connections over them, whichever product it is.

mod balance;
pub mod haproxy;

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::limit::Limit;
use genkai_model::plan;
use genkai_model::rooms::RouterReport;

use crate::error::TargetError;
use crate::nginx;
use crate::product::Prepared as _;
use genkai_place::caps::Machine;
use genkai_place::machine;
use genkai_place::observation::Observation;

/// Products that can be one, as plans and the command line name them.
pub const ROUTERS: &[&str] = &["haproxy", "nginx"];

/// Why there is no router. One clear message each.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    /// There is no such product.
    #[error("`{name}` is no router; there are: {}", ROUTERS.join(", "))]
    Unknown {
        /// As asked for.
        name: String,
    },
    /// It would need more descriptors than it can have.
    #[error(
        "the router needs {needed} descriptors for {clients} clients (two each), and may have {most}\n  hint: at most {} clients \
         fit; fewer --rooms or --members (rooms-http: --most), or --router none", (most.saturating_sub(OWN)) / 2
    )]
    TooMany {
        /// Clients at once.
        clients: u32,
        /// Descriptors for them.
        needed: u64,
        /// Descriptors that there can be.
        most: u64,
    },
    /// It cannot be disturbed so.
    #[error("only haproxy can be reset on purpose\n  hint: --router haproxy")]
    NoReset,
    /// HAProxy or nginx.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A file that cannot be written.
    #[error("cannot write the router's configuration: {0}")]
    File(#[from] std::io::Error),
}

impl RouterError {
    /// Whether what the user asked for is at fault, not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, RouterError::Unknown { .. } | RouterError::NoReset)
    }
}

/// Descriptors that a router has of its own: listeners, logs, pollers.
const OWN: u64 = 100;

/// Whether a router can hold so many clients on this machine, and, if it is to be reset on purpose, whether it can be.
///
/// # Errors
/// The product is unknown or cannot be reset, or has not descriptors enough.
pub fn check(plan: &plan::Router, clients: u32, resets: bool) -> Result<(), RouterError> {
    if !ROUTERS.contains(&plan.product.as_str()) {
        return Err(RouterError::Unknown { name: plan.product.clone() });
    }
    if resets && plan.product != "haproxy" {
        return Err(RouterError::NoReset);
    }
    let (needed, most) = (2 * u64::from(clients) + OWN, machine::hard_descriptors());
    if needed > most { Err(RouterError::TooMany { clients, needed, most }) } else { Ok(()) }
}

/// What HAProxy is set to.
fn settings(plan: &plan::Router, clients: u32) -> haproxy::Settings {
    // One more, so that looking whether it is ready takes nobody's place.
    let all = haproxy::Settings::of(clients + 1);
    haproxy::Settings { server_maxconn: plan.node_connections, queue_timeout: plan.queue_timeout, ..all }
}

/// Every limit of the router that `plan` describes, before so many nodes and with room for so many clients.
pub fn limits(plan: &plan::Router, clients: u32, nodes: u32, machine: &Machine) -> Vec<Limit> {
    match plan.product.as_str() {
        "haproxy" => haproxy::limits::of(&settings(plan, clients), nodes, machine),
        "nginx" => balance::limits(plan, nodes),
        _ => Vec::new(),
    }
}

/// A running router. Dropping it ends it.
#[derive(Debug)]
pub enum Router {
    /// HAProxy.
    Haproxy(Box<haproxy::Running>),
    /// nginx, and its version.
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
    ) -> Result<Router, RouterError> {
        match plan.product.as_str() {
            "nginx" => {
                let nginx = balance::prepare(plan, clients, nodes, dir)?;
                Ok(Router::Nginx(Box::new(nginx.start(cpus)?), nginx.version().to_owned()))
            }
            "haproxy" => {
                let prepared = haproxy::Prepared::find(settings(plan, clients), dir)?;
                Ok(Router::Haproxy(Box::new(prepared.start(nodes, cpus, dir)?)))
            }
            name => Err(RouterError::Unknown { name: name.to_owned() }),
        }
    }

    /// The listener that the load goes to.
    pub fn address(&self) -> SocketAddr {
        match self {
            Router::Haproxy(haproxy) => haproxy.address(),
            Router::Nginx(nginx, _) => nginx.address(),
        }
    }

    /// Looks at it.
    pub fn observe(&mut self) -> Observation {
        match self {
            Router::Haproxy(haproxy) => haproxy.observe(),
            Router::Nginx(nginx, _) => nginx.observe(),
        }
    }

    /// What it tells after a load. (nginx tells of refusals in its log alone.)
    pub fn report(&mut self) -> RouterReport {
        match self {
            Router::Haproxy(haproxy) => haproxy.report(),
            Router::Nginx(_, version) => {
                RouterReport { product: "nginx".to_owned(), version: version.clone(), ..RouterReport::default() }
            }
        }
    }

    /// Lets it stand still: a fault on purpose.
    ///
    /// # Errors
    /// When the product cannot be reset afterwards.
    pub fn freeze(&mut self) -> Result<(), RouterError> {
        match self {
            Router::Haproxy(haproxy) => {
                haproxy.freeze();
                Ok(())
            }
            Router::Nginx(..) => Err(RouterError::NoReset),
        }
    }

    /// Kills it and starts it anew at the same address: what was on its way through it is lost.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn reset(&mut self) -> Result<(), RouterError> {
        match self {
            Router::Haproxy(haproxy) => Ok(haproxy.reset()?),
            Router::Nginx(..) => Err(RouterError::NoReset),
        }
    }

    /// Ends it.
    pub fn stop(self) {
        match self {
            Router::Haproxy(haproxy) => haproxy.stop(),
            Router::Nginx(nginx, _) => drop(nginx.stop()),
        }
    }
}
