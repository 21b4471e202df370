//! What a handshake of TLS takes a product of processor time, measured before any load of new connections: nothing else tells how much of a load it is.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use genkai_engine::{connect, handshake};
use genkai_model::limit::Limit;
use genkai_model::load::{Load, Protocol, Reuse};
use genkai_model::transport::{Tls, Transport};
use genkai_place::usage::Tree;
use genkai_targets::product::{Handshakes, Prepared, Running, Secured};

use crate::error::LabError;

/// Identity of the note in the record.
pub(crate) const NOTE: &str = "handshakes";

/// How many of each kind are made.
const TIMES: u32 = 40;
/// In how many parts those with a request are timed, those of a part at once: how far their means lie apart is how sure the figure is.
const PARTS: u32 = 4;
/// How many are made one after the other where a request is not quick.
const FEW: u32 = 5;
/// How long a step of one may take.
const WITHIN: Duration = Duration::from_secs(2);
/// A request may take so long for many to be made, one after the other, before a load.
const QUICK: Duration = Duration::from_millis(50);
/// The same of a few.
const SLOW: Duration = Duration::from_millis(500);

/// What was measured of a product's handshakes with one kind of key and one way to resume sessions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The key and the sessions; none where nothing is known of them.
    secured: Option<Secured>,
    /// Whether the load offers sessions to be resumed.
    offers: bool,
    /// What they took.
    took: Took,
}

/// Processor time of all processes of the product for one connection each.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Took {
    /// A full handshake alone.
    alone: Duration,
    /// With requests; none where one takes too long for that.
    asked: Option<Asked>,
}

/// What connections with a request took.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Asked {
    /// A connection with a full handshake and the request: the least and the most of the means of several.
    full: (Duration, Duration),
    /// The same where a session is offered again, how many there were, and how many of these were resumed.
    again: (Duration, u32, u32),
}

impl Measured {
    /// Whether it was measured of a product like this one.
    pub(crate) fn is_of(&self, product: &dyn Prepared) -> bool {
        self.secured == product.secured()
    }

    /// The limits that handshakes set, beside those of the product that are known. Where sessions are resumed there are none.
    pub(crate) fn limits(&self, product: &str, known: &[Limit]) -> Vec<Limit> {
        let processor = known.iter().find(|limit| limit.id == format!("{product}.cpu"));
        let (Some(secured), Some(processor), Some(asked)) = (&self.secured, processor, self.took.asked) else {
            return Vec::new();
        };
        let resumed = asked.again.2 > 0;
        if self.offers && resumed {
            return Vec::new();
        }
        secured.limits(processor, &Handshakes { alone: self.took.alone, asked: asked.full, refused: self.offers })
    }

    /// The sentence.
    pub(crate) fn words(&self, product: &str) -> String {
        let Took { alone, asked } = self.took;
        let most = match alone.as_secs_f64() {
            0.0 => String::new(),
            seconds => format!("; full handshakes alone fill a core at {:.0} a second", 1.0 / seconds),
        };
        let with = asked.map_or_else(
            || ", and requests take too long to be timed so; whether sessions are resumed was not tried".to_owned(),
            |Asked { full: (least, most), again }| {
                format!(
                    ", {} to {} with a request (means of {}); {}",
                    ms(least),
                    ms(most),
                    TIMES / PARTS,
                    sessions(again)
                )
            },
        );
        let key = self.secured.as_ref().map_or_else(String::new, |secured| format!(" (key {})", secured.key));
        let load = match self.offers {
            true => {
                "the load offers sessions again, as visitors do who return; with --no-resume each handshake is full, as that of a new visitor"
            }
            false => "the load offers none (--no-resume): each handshake is full, as that of a new visitor",
        };
        format!(
            "each request is a connection with TLS of its own: before the load, {product} took {} of processor time for a full handshake alone{key} \
             (mean of {TIMES}){with}{most}; {load}",
            ms(alone),
        )
    }
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// What becomes of sessions that are offered again.
fn sessions((took, of, resumed): (Duration, u32, u32)) -> String {
    match resumed {
        0 => format!("sessions are not resumed: {} where one is offered again", ms(took)),
        _ => format!(
            "{} where a session is offered again ({resumed} of {of} were resumed; the first has none to offer)",
            ms(took)
        ),
    }
}

/// What handshakes of a load take that makes a connection for each request; none where there are none, or nothing can be measured.
///
/// # Errors
/// When the product does not start.
pub(crate) fn measured(
    product: &dyn Prepared,
    load: &Load,
    cpus: Option<&[usize]>,
) -> Result<Option<Measured>, LabError> {
    let Transport::Tls(tls) = product.transport() else { return Ok(None) };
    let each = load.reuse == Reuse::PerRequest && load.protocol == Protocol::Http1 && load.is_one_request();
    if !each || product.elsewhere().is_some() {
        return Ok(None);
    }
    let running = product.start(cpus)?;
    let took = measure(&*running, load, &tls);
    running.stop();
    Ok(took.map(|took| Measured { secured: product.secured(), offers: tls.resume, took }))
}

fn measure(running: &dyn Running, load: &Load, tls: &Tls) -> Option<Took> {
    let address = running.address();
    let with = |resume: bool| {
        let transport = Transport::Tls(Tls { resume, ..tls.clone() });
        Load { transport, ..load.clone() }
    };
    let tree = Tree::new(running.first()?);
    let mut before = tree.processor();
    let mut used = |times: u32| {
        let now = tree.processor();
        let used = now.saturating_sub(std::mem::replace(&mut before, now));
        used / times
    };
    // What is done once for the first connection is no cost of all.
    let began = Instant::now();
    connect(&with(false), address, 1, WITHIN)?;
    let took = began.elapsed();
    used(1);
    for _ in 0..TIMES {
        handshake(tls, address, WITHIN).ok()?;
    }
    let alone = used(TIMES);
    let mut with_request = || {
        let mut means = Vec::new();
        for _ in 0..PARTS {
            at_once(&with(false), address, TIMES / PARTS)?;
            means.push(used(TIMES / PARTS));
        }
        let full = (*means.iter().min()?, *means.iter().max()?);
        let times = if took <= QUICK { TIMES } else { FEW };
        let resumed = connect(&with(true), address, times, WITHIN)?;
        Some(Asked { full, again: (used(times), times, resumed) })
    };
    Some(Took { alone, asked: if took <= SLOW { with_request() } else { None } })
}

/// Makes so many connections at once, each with the load's request; none where one comes to nothing.
fn at_once(load: &Load, address: SocketAddr, times: u32) -> Option<()> {
    thread::scope(|scope| {
        let all: Vec<_> = (0..times).map(|_| scope.spawn(|| connect(load, address, 1, WITHIN))).collect();
        let made = all.into_iter().map(|one| one.join().ok().flatten());
        made.map(|resumed| resumed.map(|_| ())).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_whether_sessions_are_resumed() {
        let us = Duration::from_micros;
        let asked = |resumed| Asked { full: (us(2_400), us(2_600)), again: (us(600), TIMES, resumed) };
        let of =
            |asked| Measured { secured: None, offers: true, took: Took { alone: us(2_000), asked } }.words("nginx");
        let (slow, none, some) = (of(None), of(Some(asked(0))), of(Some(asked(39))));
        assert!(slow.contains("2.00 ms") && slow.contains("was not tried") && !slow.contains("resumed: "), "{slow}");
        assert!(
            none.contains("are not resumed: 0.60 ms")
                && none.contains("2.00 ms")
                && none.contains("2.40 ms to 2.60 ms"),
            "{none}"
        );
        assert!(some.contains("39 of 40 were resumed") && some.contains("fill a core at 500 a second"), "{some}");
    }
}
