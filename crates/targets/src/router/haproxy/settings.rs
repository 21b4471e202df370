//! What can be set, by HAProxy's own words.

use genkai_model::units::Span;

/// Settings of a router before nodes. Times and numbers that are not here are HAProxy's own defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `maxconn` of `global`: connections of clients at once. HAProxy takes two descriptors for each (one to the node).
    pub maxconn: u32,
    /// `maxconn` of each `server`; none: no cap.
    pub server_maxconn: Option<u32>,
    /// `timeout queue`.
    pub queue_timeout: Span,
    /// `timeout connect`.
    pub connect_timeout: Span,
    /// `timeout client` and `timeout server`: of requests, not of open WebSocket connections.
    pub idle_timeout: Span,
    /// `timeout tunnel`: of open WebSocket connections.
    pub tunnel_timeout: Span,
}

impl Settings {
    /// For so many clients: room for all of them, no cap for a server, the timeouts of Debian's haproxy.cfg where it has them
    /// (connect 5 s, client and server 50 s), a queue of as long as a connect, tunnels of an hour.
    pub fn of(clients: u32) -> Settings {
        Settings {
            maxconn: clients,
            server_maxconn: None,
            queue_timeout: Span::from_secs(5),
            connect_timeout: Span::from_secs(5),
            idle_timeout: Span::from_secs(50),
            tunnel_timeout: Span::from_secs(3600),
        }
    }
}

/// Descriptors that HAProxy takes for so many connections: two each (src/haproxy.c, `compute_ideal_maxconn`), and some of its
/// own: listeners, pollers, the statistics socket, pipes (100 are plenty for one thread without pipes).
pub(super) fn descriptors(maxconn: u32) -> u64 {
    2 * u64::from(maxconn) + 100
}
