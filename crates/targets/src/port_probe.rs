//! A server that is not ours: all that can be seen of it is whether it still takes connections.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use genkai_model::event::{ServerState, State};

use genkai_place::observation::Observation;

/// Least time between two looks: each is a connection that the server must accept and drop.
const EVERY: Duration = Duration::from_millis(500);
/// How long a connection may take. What takes longer waits in a full queue, which is no end.
const PATIENCE: Duration = Duration::from_millis(100);
/// Most addresses that are looked at: together they may not delay the other looks by more than a second.
const MOST: usize = 8;

/// Watches addresses of somebody else's server.
#[derive(Debug)]
pub struct PortProbe {
    addresses: Vec<SocketAddr>,
    /// Those that have refused since they last accepted, or have never accepted: nothing more is said of them.
    silent: BTreeSet<SocketAddr>,
    last: Option<Instant>,
}

impl PortProbe {
    /// Watches the first eight of `addresses`. An address is only said to have ended once it has accepted a connection.
    pub fn new(addresses: impl IntoIterator<Item = SocketAddr>) -> PortProbe {
        let all: BTreeSet<SocketAddr> = addresses.into_iter().take(MOST).collect();
        PortProbe { addresses: all.iter().copied().collect(), silent: all, last: None }
    }

    /// Tries to connect to each address, at most twice a second. [`ServerState::Refuses`] when one refuses that accepted before,
    /// with the address in the detail (`127.0.0.1:8080 stopped accepting connections: Connection refused (os error 111)`);
    /// [`ServerState::Ready`] when it accepts again. Only a refusal counts: nobody listens (tcp(7); Linux answers a full queue
    /// with silence unless `tcp_abort_on_overflow` is set).
    pub fn observe(&mut self) -> Observation {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return Observation::default();
        }
        let first = self.last.replace(Instant::now()).is_none();
        let addresses = self.addresses.clone();
        let states = addresses.into_iter().filter_map(|address| self.look(address, first)).collect();
        Observation { states, ..Observation::default() }
    }

    fn look(&mut self, address: SocketAddr, first: bool) -> Option<State> {
        let state = |state, detail| Some(State { subject: "backend".to_owned(), state, detail: Some(detail) });
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) if self.silent.remove(&address) && !first => {
                state(ServerState::Ready, format!("{address} accepts connections"))
            }
            Err(e) if e.kind() == ErrorKind::ConnectionRefused && self.silent.insert(address) => {
                state(ServerState::Refuses, format!("{address} stopped accepting connections: {e}"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Looks again whatever the clock says.
    fn look(probe: &mut PortProbe) -> Vec<(ServerState, String)> {
        probe.last = probe.last.and_then(|last| last.checked_sub(EVERY));
        let seen = probe.observe();
        assert!(seen.samples.is_empty() && seen.logs.is_empty());
        seen.states.into_iter().map(|s| (s.state, s.detail.unwrap())).collect()
    }

    /// Looks until there is something to tell. A closed listener lives on in a process that another test has forked and
    /// that has not come to its exec yet.
    fn look_until_told(probe: &mut PortProbe) -> Vec<(ServerState, String)> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let seen = look(probe);
            if !seen.is_empty() || Instant::now() > deadline {
                return seen;
            }
        }
    }

    #[test]
    fn its_end_and_its_return_are_told_once() {
        // An address of its own, so that no other test is given the port meanwhile.
        let listener = TcpListener::bind("127.54.3.2:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut probe = PortProbe::new([address]);
        assert_eq!(look(&mut probe), [], "it is there, as expected");
        drop(listener);
        let seen = look_until_told(&mut probe);
        assert_eq!((seen.len(), seen[0].0), (1, ServerState::Refuses), "{seen:?}");
        assert!(seen[0].1.starts_with(&format!("{address} stopped accepting connections")), "{seen:?}");
        assert_eq!(look(&mut probe), [], "told once");
        let _again = TcpListener::bind(address).unwrap();
        assert_eq!(look(&mut probe), [(ServerState::Ready, format!("{address} accepts connections"))]);
        assert_eq!(look(&mut probe), []);
    }

    #[test]
    fn what_never_accepted_has_not_ended() {
        let closed = TcpListener::bind("127.54.3.3:0").unwrap().local_addr().unwrap();
        let mut probe = PortProbe::new([closed]);
        assert_eq!(look(&mut probe), []);
        assert_eq!(look(&mut probe), []);
    }

    #[test]
    fn it_is_not_asked_more_often_than_needed() {
        let listener = TcpListener::bind("127.54.3.4:0").unwrap();
        let mut probe = PortProbe::new([listener.local_addr().unwrap()]);
        probe.observe();
        drop(listener);
        assert_eq!(probe.observe().states, [], "too soon to look again");
        assert_eq!(look_until_told(&mut probe).len(), 1);
    }
}
