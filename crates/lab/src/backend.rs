//! What stands behind the product under test, running.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

use genkai_engine::StopFlag;
use genkai_model::evidence::metric;
use genkai_model::limit::Limit;
use genkai_model::plan;
use genkai_model::transport::Transport;
use genkai_place::authority;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::observation::Observation;
use genkai_targets::behind::Behind;
use genkai_targets::embedded::Origin;
use genkai_targets::port_probe::PortProbe;
use genkai_targets::wordpress::WordPress;

use crate::error::LabError;
use crate::folder::Folder;

/// How long a backend of the user's may take to accept a connection.
const REACHABLE_WITHIN: Duration = Duration::from_secs(5);

/// A backend in one of its forms. Dropping one that is ours ends it.
pub enum Backend {
    /// An embedded server, a process of ours.
    Embedded(Box<Origin>),
    /// WordPress with its database and interpreter, processes of ours.
    WordPress(Box<WordPress>),
    /// Somebody else's process.
    External(SocketAddr, PortProbe, Behind),
    /// Whatever the user's configuration names, and where it leads.
    Kept(Behind, Vec<Endpoint>),
}

impl Backend {
    /// Starts (or finds) what the plan names. `program` is genkai's own executable.
    ///
    /// # Errors
    /// When it does not start, does not answer, or is not on this machine.
    pub fn start(
        spec: &plan::Backend,
        program: &Path,
        folder: &Folder,
        cpus: Option<&[usize]>,
    ) -> Result<Backend, LabError> {
        match spec {
            plan::Backend::Embedded(spec) => {
                Ok(Backend::Embedded(Box::new(Origin::start(program, spec, cpus, &folder.private("origin")?)?)))
            }
            plan::Backend::WebSocket(spec) => {
                Ok(Backend::Embedded(Box::new(Origin::start(program, spec, cpus, &folder.private("origin")?)?)))
            }
            plan::Backend::WordPress(site) => {
                let dir = folder.private("wordpress")?;
                let wordpress = WordPress::start(&dir, site, cpus)?;
                wordpress.warm()?;
                Ok(Backend::WordPress(Box::new(wordpress)))
            }
            plan::Backend::Url(url) => {
                let address = reachable(url)?;
                if let Some(name) = secured(spec) {
                    handshake(address, &name)?;
                }
                Ok(Backend::External(address, PortProbe::new([address]), Behind::default()))
            }
            plan::Backend::Kept => Ok(Backend::Kept(Behind::default(), Vec::new())),
        }
    }

    /// Finds the processes of what genkai did not start: those that listen where it is said to be, or where the product's configuration
    /// (`named`) leads. `of` is the machine, with so much memory (bytes).
    pub fn meet(&mut self, named: &[Endpoint], of: &Machine, memory: u64) {
        match self {
            Backend::External(address, _, behind) => *behind = Behind::find(&[Endpoint::Tcp(*address)], of, memory),
            Backend::Kept(behind, places) => {
                (*behind, *places) = (Behind::find(named, of, memory), named.to_vec());
            }
            Backend::Embedded(_) | Backend::WordPress(_) => {}
        }
    }

    /// What it is made of, where genkai did not start it.
    pub fn behind(&mut self) -> Option<&mut Behind> {
        match self {
            Backend::External(_, _, behind) | Backend::Kept(behind, _) => Some(behind),
            Backend::Embedded(_) | Backend::WordPress(_) => None,
        }
    }

    /// Who it is, where genkai did not start it: a sentence for each server.
    pub fn told(&self) -> Vec<String> {
        match self {
            Backend::External(_, _, behind) | Backend::Kept(behind, _) => behind.told(),
            Backend::Embedded(_) | Backend::WordPress(_) => Vec::new(),
        }
    }

    /// Whether its processes are ours.
    pub fn is_ours(&self) -> bool {
        matches!(self, Backend::Embedded(_) | Backend::WordPress(_))
    }

    /// Where the product under test must connect to; none: where its configuration says.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Backend::Embedded(origin) => Some(origin.address()),
            Backend::WordPress(wordpress) => Some(wordpress.address()),
            Backend::External(address, ..) => Some(*address),
            Backend::Kept(..) => None,
        }
    }

    /// Where it can be asked by itself; none where its configuration leads to several, or to what is no TCP address of this machine.
    pub fn alone(&self) -> Option<SocketAddr> {
        match self {
            Backend::Kept(_, places) => single(places),
            other => other.address(),
        }
    }

    /// Where the user's configuration leads, each place once.
    pub fn places(&self) -> Vec<&Endpoint> {
        let all = if let Backend::Kept(_, places) = self { places.as_slice() } else { &[] };
        let mut each: Vec<&Endpoint> = Vec::new();
        all.iter().for_each(|at| {
            if !each.contains(&at) {
                each.push(at);
            }
        });
        each
    }

    /// Its limits, as far as it is ours to know.
    pub fn limits(&self) -> Vec<Limit> {
        match self {
            Backend::Embedded(origin) => origin.limits(),
            Backend::WordPress(wordpress) => wordpress.limits(),
            Backend::External(_, _, behind) | Backend::Kept(behind, _) => behind.limits(),
        }
    }

    /// Looks at it.
    pub fn observe(&mut self) -> Observation {
        match self {
            Backend::Embedded(origin) => origin.observe(),
            Backend::WordPress(wordpress) => wordpress.observe(),
            Backend::External(_, watch, behind) => {
                // Of processes that have ended, that nobody is there to accept says nothing more.
                let mut seen = behind.observe();
                let probed = watch.observe();
                seen.merge(if behind.is_gone() { Observation::default() } else { probed });
                seen
            }
            Backend::Kept(behind, _) => behind.observe(),
        }
    }

    /// Versions of its programs.
    pub fn versions(&self) -> Vec<(String, String)> {
        match self {
            Backend::WordPress(wordpress) => wordpress.versions(),
            _ => Vec::new(),
        }
    }

    /// Waits until requests of an earlier trial have left it, at most `longest`, or until the user wants to stop. True
    /// when it is idle (or cannot say).
    pub fn drain(&mut self, longest: Duration, interrupt: &StopFlag) -> bool {
        let deadline = Instant::now() + longest;
        loop {
            let seen = self.observe();
            let load: f64 = seen
                .samples
                .iter()
                .flat_map(|s| [metric::BACKEND_BUSY, metric::BACKEND_QUEUED].map(|name| s.metrics.get(name)))
                .flatten()
                .sum();
            if load == 0.0 {
                return true;
            }
            if Instant::now() >= deadline || interrupt.is_stopped() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The one address that is named, where somebody on this machine listens there.
fn single(named: &[Endpoint]) -> Option<SocketAddr> {
    let first = named.first().filter(|first| named.iter().all(|one| one == *first))?;
    match first {
        Endpoint::Tcp(address) if !first.is_nobodys() => Some(*address),
        Endpoint::Tcp(_) | Endpoint::Unix(_) => None,
    }
}

/// Why a backend of somebody else's was not asked by itself. `alone`: where it can be; `places`: where the configuration leads; `copied`: a private
/// copy, which is started and asked with the product, takes the load in the place of one of them; `far`: other machines make the load.
pub(crate) fn unasked(alone: Option<SocketAddr>, places: &[&Endpoint], copied: bool, far: bool) -> String {
    match alone {
        _ if copied => {
            "what would be asked there goes to a private copy of it, and genkai asks that through the product only"
                .to_owned()
        }
        Some(address) if far && address.ip().is_loopback() => {
            format!("other machines make the load, and {address} is this machine's own")
        }
        Some(address) => {
            format!(
                "{address} is not one that genkai can ask with this load's requests, or answers them with failures before any load"
            )
        }
        None if places.len() > 1 => {
            let all: Vec<String> = places.iter().map(ToString::to_string).collect();
            format!(
                "it leads to {} places ({}), and each gets a part of the load only, of a size that genkai does not know",
                all.len(),
                all.join(", ")
            )
        }
        None => "genkai knows no single TCP address behind it at which somebody listens on this machine".to_owned(),
    }
}

/// The name that a backend is told in the handshake of TLS; empty: none, as it is an address. None: it takes no TLS.
pub(crate) fn secured(backend: &plan::Backend) -> Option<String> {
    let plan::Backend::Url(url) = backend else { return None };
    let rest = url.strip_prefix("https://")?;
    let host = authority::bare(rest.split('/').next().unwrap_or(rest));
    Some(if host.parse::<IpAddr>().is_ok() { String::new() } else { host })
}

/// Makes one handshake of TLS, whatever certificate is shown.
fn handshake(address: SocketAddr, name: &str) -> Result<(), LabError> {
    let host = if name.is_empty() { address.ip().to_string() } else { name.to_owned() };
    let Transport::Tls(tls) = authority::transport(None, &host, true) else { return Ok(()) };
    genkai_engine::handshake(&tls, address, REACHABLE_WITHIN).map_err(|why| {
        LabError::Environment(format!(
            "the TLS handshake with the backend at {address} fails: {why}\n  hint: give it with http:// if it takes no TLS; a backend that \
             wants a certificate of its clients is had with --config and --backend keep"
        ))
    })
}

/// Resolves `http://host:port/` or `https://host:port/` and checks that something accepts connections there.
pub(crate) fn reachable(url: &str) -> Result<SocketAddr, LabError> {
    let (usual, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (80, rest),
        (_, Some(rest)) => (443, rest),
        _ => return Err(LabError::Plan(format!("--backend {url}: only http:// and https:// addresses are supported"))),
    };
    let authority = rest.split('/').next().unwrap_or(rest);
    let with_port = if authority.rsplit(':').next().is_some_and(|p| p.parse::<u16>().is_ok()) {
        authority.to_owned()
    } else {
        format!("{authority}:{usual}")
    };
    let address = with_port
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| LabError::Environment(format!("--backend {url}: the host name does not resolve")))?;
    let deadline = Instant::now() + REACHABLE_WITHIN;
    loop {
        match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
            Ok(_) => return Ok(address),
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(100)),
            Err(e) => {
                return Err(LabError::Environment(format!(
                    "the backend at {address} did not accept a connection within {} s: {e}\n  hint: start it first, or \
                     use --backend embedded",
                    REACHABLE_WITHIN.as_secs()
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn only_one_address_where_somebody_listens_is_asked_alone() {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = Endpoint::Tcp(open.local_addr().unwrap());
        let closed = Endpoint::Tcp(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
        let socket = Endpoint::Unix("/run/php.sock".into());
        assert_eq!(single(std::slice::from_ref(&here)), open.local_addr().ok());
        assert_eq!(single(&[here.clone(), here.clone()]), open.local_addr().ok(), "named twice");
        for others in
            [vec![], vec![closed.clone()], vec![socket.clone()], vec![here.clone(), closed], vec![here, socket]]
        {
            assert_eq!(single(&others), None, "{others:?}");
        }
    }

    /// The place of a server that is copied is not among those that the load leads to, though somebody listens there.
    #[test]
    fn a_backend_whose_copy_takes_the_load_is_not_said_to_listen_nowhere() {
        let at: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        let [one, other] = [Endpoint::Tcp(at), Endpoint::Unix("/run/php.sock".into())];
        assert!(unasked(None, &[], true, false).starts_with("what would be asked there goes to a private copy of it"));
        assert!(unasked(None, &[], false, false).contains("knows no single TCP address"));
        assert!(
            unasked(None, &[&one, &other], false, false).starts_with("it leads to 2 places (127.0.0.1:8080, unix:")
        );
        assert!(unasked(Some(at), &[&one], false, true).contains("this machine's own"));
        assert!(unasked(Some(at), &[&one], false, false).contains("failures before any load"));
    }
}
