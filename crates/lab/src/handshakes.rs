//! What a handshake of TLS takes a product of processor time, measured before any load of new connections: nothing else tells how much of a load it is.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use genkai_engine::{Connected, connect, handshake};
use genkai_model::event::Pinning;
use genkai_model::limit::Limit;
use genkai_model::load::{Arrivals, Load, Protocol, Reuse};
use genkai_model::transport::{Tls, Transport};
use genkai_place::kernel;
use genkai_place::usage::Tree;
use genkai_targets::cores;
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
    /// What makes a connection of the load.
    makes: Makes,
    /// What they took.
    took: Took,
}

/// What makes the connections with TLS of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Makes {
    /// Each request one of its own.
    Requests,
    /// Users of a scenario, who stay and keep theirs for as long as the server does.
    Users,
    /// Users of a scenario who come at a rate, run it once and leave with theirs.
    Arrivals,
    /// The same with HTTP/2, whose connections are shared.
    Shared,
}

impl Makes {
    /// None where too few are made, or where they are not those of requests.
    fn of(load: &Load) -> Option<Makes> {
        if load.reuse == Reuse::PerRequest && load.is_one_request() {
            return Some(Makes::Requests);
        }
        let scenario = load.scenario.as_ref().filter(|scenario| !scenario.talks())?;
        let shared = scenario.targets.iter().any(|target| target.http2.is_some());
        Some(match load.arrivals {
            _ if shared => Makes::Shared,
            Arrivals::Users { .. } => Makes::Users,
            Arrivals::Rate { .. } => Makes::Arrivals,
        })
    }

    fn words(self) -> &'static str {
        match self {
            Makes::Requests => "each request is a connection with TLS of its own",
            Makes::Users => {
                "users keep their connections with TLS for as long as the server does, and each further one is a handshake (how many a second is not predicted)"
            }
            Makes::Arrivals => {
                "each user who comes makes connections with TLS of their own and leaves with them, so handshakes come as often as users do (at which rate they \
                 use the processor up is not predicted)"
            }
            Makes::Shared => {
                "connections with TLS are shared by users, and each further one is a handshake (how many a second is not predicted)"
            }
        }
    }
}

/// Threads that never wait, as those of a generator with much to do: what shares a core, a cache or a clock with them takes longer.
struct Busy {
    ended: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Busy {
    fn on(cores: Option<&[usize]>, threads: u16) -> Busy {
        let ended = Arc::new(AtomicBool::new(false));
        let one = |number: usize| {
            let (ended, core) =
                (ended.clone(), cores.and_then(|cores| cores.get(number % cores.len().max(1)).copied()));
            thread::spawn(move || {
                let _ = core.map(genkai_engine::pin);
                let (mut state, mut memory) = (number as u64 + 1, vec![0_u64; 8_192]);
                while !ended.load(Ordering::Relaxed) {
                    for _ in 0..1_000 {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let at = (state >> 51) as usize;
                        memory[at] = memory[at].wrapping_add(state);
                    }
                }
                std::hint::black_box(memory);
            })
        };
        let threads = (0..usize::from(threads.max(1))).map(one).collect();
        Busy { ended, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Processor time of all processes of the product for one connection each.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Took {
    /// A full handshake alone.
    alone: Duration,
    /// With requests.
    asked: Result<Asked, Unasked>,
    /// What this process took itself for such a connection, or for a handshake alone where none was made with a request.
    own: Duration,
}

/// Why no connections with a request were timed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unasked {
    /// A request takes too long for many.
    Slow,
    /// It may do something.
    Unsafe,
    /// One came to nothing.
    Failed,
    /// Not all were answered as the first one was: what refuses some of them takes another time.
    Unlike,
}

impl Unasked {
    fn words(self) -> &'static str {
        match self {
            Unasked::Slow => "a request takes too long for connections with one to be timed",
            Unasked::Unsafe => {
                "a request that may do something is not made before a load, so connections with one were not timed"
            }
            Unasked::Failed => "a connection with a request came to nothing, so they were not timed",
            Unasked::Unlike => {
                "not all connections with a request were answered with one status, so they were not timed"
            }
        }
    }
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

    /// The limits that handshakes set, beside those of the product that are known. Where most sessions are resumed there are none.
    pub(crate) fn limits(&self, product: &str, known: &[Limit]) -> Vec<Limit> {
        let of = |id: &str| known.iter().find(|limit| limit.id == id);
        let (Some(secured), Some(processor)) = (&self.secured, of(&format!("{product}.cpu"))) else {
            return Vec::new();
        };
        // Where a quota is all that there is of processor time, it is the one that says when that is used up.
        let quota = of(cores::QUOTA).filter(|quota| quota.law == processor.law);
        let used_up = quota.map(|quota| {
            let signatures = processor.signatures.iter().chain(&quota.signatures).cloned().collect();
            Limit { signatures, ..processor.clone() }
        });
        let processor = used_up.as_ref().unwrap_or(processor);
        let asked = match self.took.asked {
            Ok(Asked { again: (_, of, resumed), .. }) if self.offers && resumed * 2 >= of => return Vec::new(),
            // Where a few are resumed, a connection may take as little as it takes with them.
            Ok(Asked { full: (least, most), again: (again, _, resumed) }) => {
                Some((if self.offers && resumed > 0 { least.min(again) } else { least }, most))
            }
            // Whether sessions are resumed is not known, or how long a connection takes.
            Err(_) if self.offers || self.makes == Makes::Requests => return Vec::new(),
            Err(_) => None,
        };
        let asked = asked.filter(|_| self.makes == Makes::Requests);
        secured.limits(
            processor,
            &Handshakes { alone: self.took.alone, asked, refused: self.offers, shared: quota.map(|_| self.took.own) },
        )
    }

    /// The sentence.
    pub(crate) fn words(&self, product: &str) -> String {
        let Took { alone, asked, .. } = self.took;
        let most = match alone.as_secs_f64() {
            0.0 => String::new(),
            seconds => format!("; full handshakes alone fill a core at {:.0} a second", 1.0 / seconds),
        };
        let with = asked.map_or_else(
            |why| format!("; {}; whether sessions are resumed is not known", why.words()),
            |Asked { full: (least, most), again }| {
                format!(
                    ", {} to {} with a request (means of {}, half of them beside threads as busy as a generator can be); {}",
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
        let makes = self.makes.words();
        format!(
            "{makes}: before the load, {product} took {} of processor time for a full handshake alone{key} \
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
    pinning: Option<&Pinning>,
) -> Result<Option<Measured>, LabError> {
    let Transport::Tls(tls) = product.transport() else { return Ok(None) };
    let Some(makes) = Makes::of(load) else { return Ok(None) };
    if matches!(load.protocol, Protocol::WebSocket(_)) || product.elsewhere().is_some() {
        return Ok(None);
    }
    let running = product.start(pinning.map(|pinning| &*pinning.servers))?;
    let took = measure(&*running, load, &tls, pinning.map(|pinning| &*pinning.client));
    running.stop();
    Ok(took.map(|took| Measured { secured: product.secured(), offers: tls.resume, makes, took }))
}

fn measure(running: &dyn Running, load: &Load, tls: &Tls, client: Option<&[usize]>) -> Option<Took> {
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
    let is_safe = ["GET", "HEAD"].contains(&load.request.method.as_str());
    let first = if is_safe { connect(&with(false), address, 1, WITHIN)? } else { Connected::default() };
    let took = began.elapsed();
    if !is_safe {
        handshake(tls, address, WITHIN).ok()?;
    }
    used(1);
    let began = kernel::own();
    for _ in 0..TIMES {
        handshake(tls, address, WITHIN).ok()?;
    }
    let mut own = kernel::own().saturating_sub(began) / TIMES;
    let alone = used(TIMES);
    let mut with_request = || {
        let mut means = Vec::new();
        for part in 0..PARTS {
            let busy = (part * 2 >= PARTS).then(|| Busy::on(client, load.threads));
            let began = kernel::own();
            alike(at_once(&with(false), address, TIMES / PARTS), &first.statuses)?;
            if busy.is_none() {
                own = own.max(kernel::own().saturating_sub(began) / (TIMES / PARTS));
            }
            means.push(used(TIMES / PARTS));
        }
        let full = means.iter().min().copied().zip(means.iter().max().copied()).ok_or(Unasked::Failed)?;
        let times = if took <= QUICK { TIMES } else { FEW };
        let made = alike(connect(&with(true), address, times, WITHIN), &first.statuses)?;
        Ok(Asked { full, again: (used(times), times, made.resumed) })
    };
    let asked = match (is_safe, took <= SLOW) {
        (false, _) => Err(Unasked::Unsafe),
        (true, false) => Err(Unasked::Slow),
        (true, true) => with_request(),
    };
    Some(Took { alone, asked, own })
}

/// What was made, where all of it was answered as the first was.
fn alike(made: Option<Connected>, statuses: &BTreeSet<u16>) -> Result<Connected, Unasked> {
    let made = made.ok_or(Unasked::Failed)?;
    if made.statuses == *statuses { Ok(made) } else { Err(Unasked::Unlike) }
}

/// Makes so many connections at once, each with the load's request; none where one comes to nothing.
fn at_once(load: &Load, address: SocketAddr, times: u32) -> Option<Connected> {
    thread::scope(|scope| {
        let all: Vec<_> = (0..times).map(|_| scope.spawn(|| connect(load, address, 1, WITHIN))).collect();
        let made: Option<Vec<Connected>> = all.into_iter().map(|one| one.join().ok().flatten()).collect();
        made.map(|made| Connected {
            resumed: made.iter().map(|one| one.resumed).sum(),
            statuses: made.into_iter().flat_map(|one| one.statuses).collect(),
        })
    })
}

#[cfg(test)]
mod tests {
    use genkai_model::load::Spacing;
    use genkai_model::scenario::Scenario;
    use genkai_model::units::{Span, Spread};

    use super::*;

    #[test]
    fn it_is_said_whether_sessions_are_resumed() {
        let us = Duration::from_micros;
        let asked = |resumed| Asked { full: (us(2_400), us(2_600)), again: (us(600), TIMES, resumed) };
        let of = |asked| {
            Measured {
                secured: None,
                offers: true,
                makes: Makes::Requests,
                took: Took { alone: us(2_000), asked, own: us(500) },
            }
            .words("nginx")
        };
        let (slow, none, some) = (of(Err(Unasked::Slow)), of(Ok(asked(0))), of(Ok(asked(39))));
        assert!(
            slow.contains("2.00 ms")
                && slow.contains("too long")
                && slow.contains("resumed is not known")
                && !slow.contains("resumed: "),
            "{slow}"
        );
        assert!(
            none.contains("are not resumed: 0.60 ms")
                && none.contains("2.00 ms")
                && none.contains("2.40 ms to 2.60 ms"),
            "{none}"
        );
        assert!(some.contains("39 of 40 were resumed") && some.contains("fill a core at 500 a second"), "{some}");
    }

    /// Users who come at a rate run a scenario once, and no connection outlives them.
    #[test]
    fn users_who_come_at_a_rate_are_not_said_to_keep_their_connections() {
        let users = Arrivals::Users { count: 1, spawn_rate: 1.0, think: Spread::default() };
        let rate = Arrivals::Rate {
            per_second: 200.0,
            ramp: Span::from_secs(0),
            spacing: Spacing::default(),
            connections: 10,
        };
        let scenario = || {
            Some(Box::new(Scenario {
                targets: Vec::new(),
                variables: Vec::new(),
                tables: Vec::new(),
                flows: Vec::new(),
                names: Vec::new(),
                checks: Vec::new(),
                drain: Span::from_secs(0),
                skip: false,
            }))
        };
        let of = |arrivals, scenario| Makes::of(&Load { arrivals, scenario, ..Load::users(1, 1.0) });
        assert_eq!(of(users, scenario()), Some(Makes::Users));
        assert_eq!(of(rate, scenario()), Some(Makes::Arrivals));
        assert_eq!(of(rate, None), None, "their connections are kept from request to request");
        assert!(Makes::Users.words().contains("keep") && !Makes::Arrivals.words().contains("keep"));
    }

    #[test]
    fn what_is_refused_at_once_is_not_timed_as_what_is_answered() {
        let of = |statuses: &[u16]| Connected { resumed: 0, statuses: statuses.iter().copied().collect() };
        let first = of(&[200]).statuses;
        assert_eq!(alike(Some(of(&[200])), &first), Ok(of(&[200])));
        assert_eq!(alike(Some(of(&[200, 503])), &first), Err(Unasked::Unlike));
        assert_eq!(alike(Some(of(&[503])), &first), Err(Unasked::Unlike));
        assert_eq!(alike(None, &first), Err(Unasked::Failed));
    }
}
