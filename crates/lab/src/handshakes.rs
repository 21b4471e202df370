//! What a handshake of TLS takes a product of processor time, measured before any load of new connections: nothing else tells how much of a load it is.

use std::time::{Duration, Instant};

use genkai_engine::{connect, handshake};
use genkai_model::load::{Load, Protocol, Reuse};
use genkai_model::transport::{Tls, Transport};
use genkai_place::usage::Tree;
use genkai_targets::product::{Prepared, Running};

use crate::error::LabError;

/// Identity of the note in the record.
pub(crate) const NOTE: &str = "handshakes";

/// How many of each kind are made.
const TIMES: u32 = 40;
/// How long a step of one may take.
const WITHIN: Duration = Duration::from_secs(2);
/// A request may take so long for as many to be made, one after the other, before a load.
const QUICK: Duration = Duration::from_millis(50);

/// What was measured: processor time of all processes of the product for one connection each.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    /// A full handshake alone.
    alone: Duration,
    /// With requests; none where one takes too long for that.
    asked: Option<Asked>,
}

/// What connections with a request took.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Asked {
    /// A connection with a full handshake and the request.
    full: Duration,
    /// The same where a session is offered again, and how many of these were resumed.
    again: (Duration, u32),
}

/// A sentence about handshakes of a load that makes a connection for each request; none where there are none, or nothing can be measured.
///
/// # Errors
/// When the product does not start.
pub(crate) fn told(product: &dyn Prepared, load: &Load, cpus: Option<&[usize]>) -> Result<Option<String>, LabError> {
    let Transport::Tls(tls) = product.transport() else { return Ok(None) };
    let each = load.reuse == Reuse::PerRequest && load.protocol == Protocol::Http1 && load.is_one_request();
    if !each || product.elsewhere().is_some() {
        return Ok(None);
    }
    let running = product.start(cpus)?;
    let measured = measure(&*running, load, &tls);
    running.stop();
    Ok(measured.map(|measured| words(product.product(), &measured)))
}

fn measure(running: &dyn Running, load: &Load, tls: &Tls) -> Option<Measured> {
    let address = running.address();
    let with = |resume: bool| {
        let transport = Transport::Tls(Tls { resume, ..tls.clone() });
        Load { transport, ..load.clone() }
    };
    let tree = Tree::new(running.first()?);
    let mut before = tree.processor();
    let mut used = || {
        let now = tree.processor();
        let used = now.saturating_sub(std::mem::replace(&mut before, now));
        used / TIMES
    };
    // What is done once for the first connection is no cost of all.
    let began = Instant::now();
    connect(&with(false), address, 1, WITHIN)?;
    let is_quick = began.elapsed() <= QUICK;
    used();
    for _ in 0..TIMES {
        handshake(tls, address, WITHIN).ok()?;
    }
    let alone = used();
    let mut with_request = || {
        connect(&with(false), address, TIMES, WITHIN)?;
        let full = used();
        let resumed = connect(&with(true), address, TIMES, WITHIN)?;
        Some(Asked { full, again: (used(), resumed) })
    };
    Some(Measured { alone, asked: if is_quick { with_request() } else { None } })
}

/// The sentence.
fn words(product: &str, measured: &Measured) -> String {
    let Measured { alone, asked } = *measured;
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let sessions = |again: Duration, resumed: u32| match resumed {
        0 => format!("sessions are not resumed: {} where one is offered again", ms(again)),
        _ => format!(
            "{} where a session is offered again ({resumed} of {TIMES} were resumed; the first has none to offer)",
            ms(again)
        ),
    };
    let most = match alone.as_secs_f64() {
        0.0 => String::new(),
        seconds => format!("; full handshakes alone fill a core at {:.0} a second", 1.0 / seconds),
    };
    let with = asked.map_or_else(
        || ", and requests take too long to be timed so; whether sessions are resumed was not tried".to_owned(),
        |Asked { full, again: (again, resumed) }| {
            format!(", {} with a request; {}", ms(full), sessions(again, resumed))
        },
    );
    format!(
        "each request is a connection with TLS of its own: before the load, {product} took {} of processor time for a full handshake alone (mean of \
         {TIMES}){with}{most}",
        ms(alone),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_whether_sessions_are_resumed() {
        let of = |resumed| Measured {
            alone: Duration::from_micros(2_000),
            asked: Some(Asked { full: Duration::from_micros(2_500), again: (Duration::from_micros(600), resumed) }),
        };
        let slow = words("nginx", &Measured { asked: None, ..of(0) });
        assert!(slow.contains("2.00 ms") && slow.contains("was not tried") && !slow.contains("resumed: "), "{slow}");
        let (none, some) = (words("nginx", &of(0)), words("nginx", &of(39)));
        assert!(
            none.contains("are not resumed: 0.60 ms") && none.contains("2.00 ms") && none.contains("2.50 ms"),
            "{none}"
        );
        assert!(some.contains("39 of 40 were resumed") && some.contains("fill a core at 500 a second"), "{some}");
    }
}
