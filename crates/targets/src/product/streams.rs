//! Limits of a product whose clients come by HTTP/2: a client is a stream, and several share a connection.

use std::net::Ipv4Addr;

use genkai_model::limit::{Law, Limit};
use genkai_model::transport::Transport;
use genkai_place::authority;

/// TLS with this name, whatever certificate is shown; an empty one is not sent, as an address is not. None: no TLS.
pub(super) fn onward(name: Option<String>) -> Transport {
    let Some(name) = name else { return Transport::Tcp };
    let address = Ipv4Addr::LOCALHOST.to_string();
    authority::transport(None, if name.is_empty() { &address } else { &name }, true)
}

/// `limit` where so many requests share a connection. What counts connections of clients lets as many times more of them in; what a request
/// in flight takes beside (a connection to the server behind) is still one each. Few connections are not spread evenly over workers: from one
/// worker's share on, some may suffer. What counts how connections come has no number in clients.
pub(crate) fn shared(limit: Limit, streams: u32) -> Limit {
    let n = f64::from(streams);
    match limit.law {
        Law::Slots { value, reserved, idle_cost, busy_cost, pools, soft } if idle_cost > 0.0 => {
            let share = idle_cost / n;
            let beside = busy_cost - idle_cost;
            let formula = format!(
                "{pools} x floor(({value} {}) / {}): over HTTP/2 {streams} users share a connection, and each of them whose request is \
                 in flight takes {beside} more{}; with a connection each: {}",
                if reserved < 0.0 { format!("+ {}", -reserved) } else { format!("- {reserved}") },
                rounded(share + beside),
                uneven(pools),
                limit.formula
            );
            let soft = soft / pools;
            let law = Law::Slots { value, reserved, idle_cost: share, busy_cost: share + beside, pools, soft };
            Limit { law, formula, ..limit }
        }
        Law::Backlog { .. } | Law::NewConnections { .. } => {
            unknown(limit, &format!("over HTTP/2 up to {streams} users share a connection, and most of them open none"))
        }
        _ => limit,
    }
}

/// The same with a law that no number is known of, and why.
pub(crate) fn unknown(limit: Limit, why: &str) -> Limit {
    let formula = format!("cannot tell: {why}; with a connection each: {}", limit.formula);
    Limit { law: Law::Unknown, formula, ..limit }
}

/// How connections come to several workers.
fn uneven(pools: f64) -> &'static str {
    if pools > 1.0 { " (few connections are not spread evenly: one worker may have all)" } else { "" }
}

/// Three digits.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(idle_cost: f64, busy_cost: f64, pools: f64) -> Limit {
        let law = Law::Slots { value: 512.0, reserved: 2.0, idle_cost, busy_cost, pools, soft: 0.9 };
        Limit { law, formula: "512".to_owned(), ..Limit::named("a", "a", "a") }
    }

    #[test]
    fn only_the_connection_of_the_client_is_shared() {
        let Law::Slots { idle_cost, busy_cost, soft, .. } = shared(slots(1.0, 2.0, 1.0), 10).law else { panic!() };
        assert!((idle_cost, soft) == (0.1, 0.9) && (busy_cost - 1.1).abs() < 1e-9);
        let Law::Slots { soft, .. } = shared(slots(1.0, 1.0, 3.0), 10).law else { panic!() };
        assert!((soft - 0.3).abs() < 1e-9, "one worker may have all of them");
        assert_eq!(shared(slots(0.0, 1.0, 1.0), 10), slots(0.0, 1.0, 1.0), "counts requests");
        let backlog = Limit { law: Law::Backlog { value: 512.0 }, ..slots(1.0, 1.0, 1.0) };
        assert_eq!(shared(backlog, 10).law, Law::Unknown);
    }
}
