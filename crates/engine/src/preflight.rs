//! Whether a load fits this machine, before it is made.

use std::collections::BTreeSet;

use genkai_model::load::{Arrivals, Load, Protocol};
use genkai_model::transport::Transport;

/// Descriptors the process needs besides its connections: standard streams, the record's files, pipes of the servers it
/// started; and for each thread an epoll and a timerfd, and some to spare.
const OWN: u64 = 64;
const PER_THREAD: u64 = 8;

/// What a load runs out of first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// Descriptors of this process (RLIMIT_NOFILE).
    Descriptors,
    /// Local ports: one a connection for each destination address (net.ipv4.ip_local_port_range).
    Ports,
}

/// A load with more connections than fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the load needs {asked} connections, but only {largest} fit: {hint}")]
pub struct TooLarge {
    /// Connections asked for.
    pub asked: u64,
    /// The largest number that fits.
    pub largest: u64,
    /// What is short.
    pub limited_by: Limiter,
    /// The limit in figures and how to raise it, one sentence.
    pub hint: String,
}

/// Checks `load` against the soft limit on `descriptors` and the range of local `ports` (first, last).
///
/// # Errors
/// When the load's connections do not fit, with the largest number that does.
pub fn preflight(load: &Load, descriptors: u64, ports: (u16, u16)) -> Result<(), TooLarge> {
    let asked = match load.arrivals {
        Arrivals::Users { count, .. } => match load.protocol {
            // More, where the server allows fewer streams a connection: that is found out in the load.
            Protocol::Http2(http2) => u64::from(count.div_ceil(http2.streams.max(1))),
            _ => u64::from(count),
        },
        Arrivals::Rate { connections, .. } => u64::from(connections),
    };
    let own = OWN + PER_THREAD * u64::from(load.threads);
    let by_descriptors = descriptors.saturating_sub(own);
    let range = (u64::from(ports.1) + 1).saturating_sub(u64::from(ports.0));
    let destinations = load.addresses.iter().collect::<BTreeSet<_>>().len() as u64;
    let by_ports = if matches!(load.transport, Transport::Unix { .. }) { u64::MAX } else { range * destinations };
    let largest = by_descriptors.min(by_ports);
    if asked <= largest {
        return Ok(());
    }
    let (limited_by, hint) = if by_descriptors <= by_ports {
        let needed = asked + own;
        let hint = format!(
            "this process may open {descriptors} descriptors and needs {own} for itself; raise it with `ulimit -n {needed}`"
        );
        (Limiter::Descriptors, hint)
    } else {
        let hint = format!(
            "there are {range} local ports ({}-{}) for each of {destinations} destination address(es); widen \
             net.ipv4.ip_local_port_range or give more addresses",
            ports.0, ports.1
        );
        (Limiter::Ports, hint)
    };
    Err(TooLarge { asked, largest, limited_by, hint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::load::{Body, Request, Reuse, Stop};
    use genkai_model::units::{Span, Spread};

    fn load(count: u32, addresses: &[&str]) -> Load {
        Load {
            addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
            transport: Default::default(),
            protocol: Default::default(),
            request: Request {
                method: "GET".into(),
                path: "/".into(),
                host: "a".into(),
                headers: vec![],
                body: Body::Empty,
            },
            arrivals: Arrivals::Users { count, spawn_rate: 1.0, think: Spread::default() },
            reuse: Reuse::KeepAlive,
            stop: Stop { after: Span::from_secs(1), requests: None },
            timeout: Span::from_secs(1),
            threads: 2,
            tick: Span::from_secs(1),
            seed: 1,
            kernel_timestamps: false,
        }
    }

    #[test]
    fn the_largest_fits_and_one_more_does_not() {
        let one = ["127.0.0.1:80"];
        let range = (32768, 60999);
        let refused = preflight(&load(30_000, &one), 1 << 20, range).unwrap_err();
        assert_eq!((refused.largest, refused.limited_by), (28_232, Limiter::Ports));
        assert_eq!(preflight(&load(28_232, &one), 1 << 20, range), Ok(()));
        let refused = preflight(&load(30_000, &one), 1024, range).unwrap_err();
        assert_eq!((refused.largest, refused.limited_by), (944, Limiter::Descriptors));
        assert_eq!(preflight(&load(944, &one), 1024, range), Ok(()));
        assert!(preflight(&load(945, &one), 1024, range).unwrap_err().to_string().contains("ulimit -n 1025"));
        assert_eq!(preflight(&load(1, &one), 10, range).unwrap_err().largest, 0);
    }

    #[test]
    fn each_destination_has_all_ports() {
        let load = load(300, &["127.0.0.1:80", "127.0.0.1:81", "127.0.0.1:81"]);
        assert_eq!(preflight(&load, 1 << 20, (1000, 1099)).unwrap_err().largest, 200);
    }
}
