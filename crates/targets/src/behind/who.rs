//! Who it is that is reached at a place, and what is looked at of him.

use std::thread;
use std::time::{Duration, Instant};

use genkai_model::evidence::LogLine;
use genkai_place::caps::Machine;
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_place::group::{self, Own, Throttle};
use genkai_place::stream::Stream;
use genkai_place::threads::Threads;
use genkai_place::usage::{OfUser, Tree, Usage, alone};
use genkai_place::waits::Waits;

use crate::catalog;
use crate::product::{NOTICE, Served};
use crate::upstreams::Started;

/// How long a service takes that its manager starts for whoever comes.
const STARTS: Duration = Duration::from_secs(10);
/// How long it is taken to be known which of the processes serve.
const KNOWN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Who {
    /// Nobody listens.
    Nobody,
    /// Somebody of whom nothing is seen from here.
    Unseen,
    /// A service manager, in the place of a service that has not started.
    Awaited,
    /// Its processes are another user's: all of that user's, where it is told who that is.
    Hidden(Option<(u32, OfUser)>),
    /// These.
    Known(Box<Processes>),
}

#[derive(Debug)]
pub(super) struct Processes {
    pub(super) first: u32,
    /// As people call it.
    pub(super) name: String,
    pub(super) tree: Tree,
    pub(super) threads: Threads,
    /// The main threads of those that serve, where their product has an event loop in each.
    loops: Threads,
    /// Which those are, and since when that is known.
    serving: Option<(Vec<u32>, Instant)>,
    pub(super) waits: Waits,
    /// The systemd unit that it is of.
    pub(super) unit: Option<String>,
    /// Whether processor time of groups that are its own is used up.
    pub(super) throttle: Throttle,
    /// What groups that are its own allow and count.
    pub(super) group: Own,
    /// Of these, processes that were ended for memory before anybody looked.
    pub(super) ended: u64,
    /// The same as of the look before, and when one was ended last.
    pub(super) killed: (u64, Option<Instant>),
    /// A product of the catalogue, or why nothing of it can be read; none: it is something else.
    pub(super) product: Option<Result<Box<dyn Served>, String>>,
    /// The last line of trouble in its log.
    pub(super) said: Option<String>,
    /// Since when none of its processes has been left, and whether that was told.
    pub(super) gone: Option<(Instant, bool)>,
}

impl Who {
    /// Whoever listens at `endpoint`.
    pub(super) fn at(endpoint: &Endpoint, machine: &Machine, memory: u64) -> Who {
        match come(endpoint) {
            Listener::Nobody => Who::Nobody,
            Listener::Unseen => Who::Unseen,
            Listener::Awaited => Who::Awaited,
            Listener::Hidden => Who::Hidden(endpoint.owner().map(|uid| (uid, OfUser::new(uid)))),
            Listener::Process(first) => {
                Who::Known(Box::new(Processes::of(first, catalog::serves(first, endpoint, machine, memory))))
            }
        }
    }

    /// Who it is that is reached at `at`, and what cannot be seen of it.
    pub(super) fn told(&self, at: &Endpoint) -> String {
        match self {
            Who::Nobody => format!("nobody listens at {at} on this machine{}", unsearched(at)),
            Who::Unseen => format!(
                "of whoever listens at {at} nothing is seen: there is such a socket, and no process that genkai may look at is known to listen there \
                 (a container's are in a network of their own), so that what they take of processors counts as other programs': run genkai as root"
            ),
            Who::Awaited => format!(
                "the service manager listens at {at} for a service that it starts when somebody comes, and did not start for a connection of \
                 genkai's: nothing of it is seen"
            ),
            Who::Hidden(None) => format!(
                "the processes that listen at {at} belong to another user, so that nothing of them is seen (processor, memory, descriptors, files, \
                 settings), and what they take of processors counts as other programs': run genkai as that user or as root"
            ),
            Who::Hidden(Some((uid, _))) => format!(
                "the processes that listen at {at} belong to another user ({uid}), so that of them is seen only what all processes of that user \
                 take of processors, which counts as theirs (not memory, descriptors, files, settings): run genkai as that user or as root"
            ),
            Who::Known(known) => {
                let Processes { first, name, product, .. } = &**known;
                let of = known.unit.iter().fold(format!("process {first}"), |of, unit| format!("{of} of {unit}"));
                match product {
                    None => format!("{at} is {name}, {of}"),
                    Some(Ok(product)) => format!("{at} is {} ({of})", product.told()),
                    Some(Err(why)) => format!("{at} is {name}, {of}, of which nothing more is known: {why}"),
                }
            }
        }
    }
}

/// Whoever listens there; where a service manager does, who serves once somebody has come, as the first request does.
fn come(endpoint: &Endpoint) -> Listener {
    let found = endpoint.listener();
    if found != Listener::Awaited {
        return found;
    }
    let deadline = Instant::now() + STARTS;
    // It is kept until the service has it.
    let _connection = Stream::connect(endpoint, STARTS);
    loop {
        let found = endpoint.listener();
        if found != Listener::Awaited || Instant::now() >= deadline {
            return found;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// What of this machine is not looked at by one who may not enter others' networks.
fn unsearched(at: &Endpoint) -> &'static str {
    let inner = matches!(at, Endpoint::Tcp(address) if address.ip().to_canonical().is_loopback());
    let unix = matches!(at, Endpoint::Unix(_));
    match inner || unix || nix::unistd::geteuid().is_root() {
        true => "",
        false => " (networks of containers left out, into which genkai sees as root only)",
    }
}

impl Processes {
    /// Those of which `first` is the first.
    pub(super) fn of(first: u32, product: Option<Result<Box<dyn Served>, String>>) -> Processes {
        let known = product.as_ref().and_then(|found| Some(found.as_ref().ok()?.product().to_owned()));
        let name = known.unwrap_or_else(|| named(first));
        let (tree, threads, waits) = (Tree::new(first), Threads::default(), Waits::default());
        let (unit, throttle, group) = (group::unit(first), Throttle::of_process(first), Own::of_process(first));
        let ended = group.kills().unwrap_or(0);
        Processes {
            first,
            name,
            tree,
            threads,
            loops: Threads::main(),
            serving: None,
            waits,
            unit,
            throttle,
            group,
            ended,
            killed: (ended, None),
            product,
            said: None,
            gone: None,
        }
    }

    /// The busiest of its event loops, as a share of a core; none where it has none, or it is not known which of its processes serve.
    pub(super) fn busiest_loop(&mut self, at: &Endpoint, usage: &Usage) -> Option<f64> {
        if self.serving.as_ref().is_none_or(|(_, since)| since.elapsed() >= KNOWN) {
            let found = self.product.as_ref()?.as_ref().ok()?.loops(at, usage)?;
            self.serving = Some((found, Instant::now()));
        }
        let (serving, _) = self.serving.as_ref()?;
        self.loops.busiest(serving.iter().copied())
    }

    /// Whether it is a product of which more is known than of any process.
    pub(super) fn is_known(&self) -> bool {
        matches!(&self.product, Some(Ok(product)) if product.is_pool())
    }
}

/// The last line that tells of trouble.
pub(super) fn trouble(logs: &[LogLine]) -> Option<String> {
    logs.iter().rev().find(|line| line.level != NOTICE).map(|line| line.text.clone())
}

/// What people call a process.
fn named(pid: u32) -> String {
    let name = Started::of(pid).name();
    if name.is_empty() { alone(pid).map(|one| one.name).unwrap_or_default() } else { name }
}
