//! A server that runs on this machine already, as a contender: nothing of it is started, changed or ended; what its
//! processes use is seen where they may be looked at.

use std::net::SocketAddr;
use std::process::ExitStatus;

use crate::port_probe::PortProbe;
use crate::product::Running;
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_place::observation::Observation;
use genkai_place::usage::Tree;

/// Subject of its samples.
pub const SUBJECT: &str = "server";

/// A server that is there.
#[derive(Debug)]
pub struct ExternalServer {
    address: SocketAddr,
    probe: PortProbe,
    /// Its processes; none where they cannot be found (another user's, in another namespace).
    tree: Option<Tree>,
}

impl ExternalServer {
    /// The server that listens on `address`.
    pub fn new(address: SocketAddr) -> ExternalServer {
        ExternalServer {
            address,
            probe: PortProbe::new([address]),
            tree: match Endpoint::Tcp(address).listener() {
                Listener::Process(pid) => Some(Tree::new(pid)),
                Listener::Hidden | Listener::Nobody | Listener::Unseen | Listener::Awaited => None,
            },
        }
    }
}

impl Running for ExternalServer {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn observe(&mut self) -> Observation {
        let mut seen = self.probe.observe();
        for state in &mut seen.states {
            SUBJECT.clone_into(&mut state.subject);
        }
        if let Some(tree) = &mut self.tree {
            seen.samples.push(tree.sample().sample(SUBJECT));
        }
        seen
    }

    /// Nothing: it is not ours.
    fn stop(self: Box<Self>) -> ExitStatus {
        ExitStatus::default()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_found_with_what_it_uses() {
        let open = TcpListener::bind("127.57.0.1:0").unwrap();
        let mut server = ExternalServer::new(open.local_addr().unwrap());
        assert!(server.tree.is_some());
        let seen = server.observe();
        let sample = seen.samples.first().expect("our own process");
        assert!(sample.metrics["server.rss"] > 1e6, "{sample:?}");
        let closed = TcpListener::bind("127.57.0.1:0").unwrap().local_addr().unwrap();
        let mut nobody = ExternalServer::new(closed);
        assert!(nobody.observe().samples.is_empty());
    }
}
