//! A server whose first process starts others: waiting until they are there and answer, and ending them.

use std::net::SocketAddr;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::State;

use crate::observation::died;
use crate::process::{Child, Signal};
use crate::{PlaceError, ready};

/// Start-up resolves names of backends; a server that has not started by then will not.
const READY: Duration = Duration::from_secs(30);
/// Once one process is there, the others have this long: when some do not come (they die as soon as they are born), those
/// that live are enough.
const STRAGGLERS: Duration = Duration::from_secs(2);
/// A graceful end waits for requests in flight, but not longer than this.
const GRACE: Duration = Duration::from_millis(1500);
/// A fast end (SIGTERM) after that.
const TERM: Duration = Duration::from_secs(2);
/// A start whose ports were taken meanwhile is tried again with others, so many times.
const STARTS: u32 = 5;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `count` processes live, as `list` tells them by the id of the first, and `address` accepts; their process ids.
/// They are forked only once every listener is bound, so an answer cannot come from somebody else's listener.
///
/// # Errors
/// [`PlaceError::Exited`] as soon as the first process has ended, [`PlaceError::Silent`] when it does not answer in 30 s.
pub fn ready(
    child: &mut Child,
    address: SocketAddr,
    count: u32,
    list: impl Fn(u32) -> Vec<u32>,
) -> Result<Vec<u32>, PlaceError> {
    let deadline = Instant::now() + READY;
    let all = grown(child, address, count, list, deadline)?;
    ready::connectable(address, deadline.saturating_duration_since(Instant::now()), child)?;
    Ok(all)
}

fn grown(
    child: &mut Child,
    address: SocketAddr,
    count: u32,
    list: impl Fn(u32) -> Vec<u32>,
    deadline: Instant,
) -> Result<Vec<u32>, PlaceError> {
    let mut enough: Option<Instant> = None;
    loop {
        let alive = list(child.pid());
        let all = alive.len() >= count.max(1) as usize;
        if all || (!alive.is_empty() && *enough.get_or_insert(Instant::now() + STRAGGLERS) <= Instant::now()) {
            return Ok(alive);
        }
        if child.try_exited().is_some() {
            return Err(child.exited());
        }
        if Instant::now() >= deadline {
            let (name, tail) = (child.name().to_owned(), child.last_words());
            return Err(PlaceError::Silent { name, address, within: READY, tail });
        }
        thread::sleep(PAUSE);
    }
}

/// Starts a server at `site`. Where a port of it was taken since it was chosen (a line of the server's last words says so to
/// `taken`), at another that `anew` makes, so often. Gives the site, too.
///
/// # Errors
/// When it does not start, or [`PlaceError::Ports`] after [`STARTS`] times.
pub fn started<Site, Running, E: From<PlaceError>>(
    name: &str,
    mut site: Site,
    start: impl Fn(&Site) -> Result<Running, PlaceError>,
    taken: fn(&str) -> bool,
    anew: impl Fn(Site) -> Result<Site, E>,
) -> Result<(Running, Site), E> {
    let mut said = String::new();
    for _ in 0..STARTS {
        let error = match start(&site) {
            Ok(running) => return Ok((running, site)),
            Err(error) => error,
        };
        let PlaceError::Exited { tail, .. } = &error else { return Err(error.into()) };
        let Some(line) = tail.lines().find(|line| taken(line)) else { return Err(error.into()) };
        line.clone_into(&mut said);
        site = anew(site)?;
    }
    Err(PlaceError::Ports { name: name.to_owned(), attempts: STARTS, said }.into())
}

/// The state to tell when the first process of a server (`first`: what the product calls it) has ended.
pub fn death(child: &mut Child, subject: &str, first: &str) -> Option<State> {
    let status = child.death()?;
    Some(died(subject, &format!("the {first} process ended: "), status))
}

/// Ends it: by the product's signal for a graceful end, then fast, then by force. Afterwards no process of it is left.
pub fn stop(child: &mut Child, graceful: Signal) -> ExitStatus {
    child.signal(graceful);
    let deadline = Instant::now() + GRACE;
    while child.try_exited().is_none() && Instant::now() < deadline {
        thread::sleep(PAUSE);
    }
    child.stop(Signal::SIGTERM, TERM)
}
