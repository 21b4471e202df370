//! Requests that are followed through the product before any load, with places of genkai's own between it and those whom it asks: whether they are asked
//! at all, and what they answer.

use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use genkai_engine::{Asked, ask};
use genkai_model::error::ErrorKind;
use genkai_model::limit::{BACKEND_ANSWERS, Law, Limit, Origin, Symptom};
use genkai_model::load::{Load, Protocol};
use genkai_place::endpoint::Endpoint;
use genkai_place::tap::{Passed, Tap};
use genkai_targets::product::Prepared;

use super::System;
use crate::backend::Backend;
use crate::error::LabError;
use crate::first::{WITHIN, alike};
use crate::folder::Folder;
use crate::scenario::aimed;

/// Identity of the notes that tell what came of it.
pub(crate) const NOTE: &str = "followed";
/// So many requests are made, one after another.
const TIMES: usize = 5;
/// The header field by which one is known again. What a proxy does not pass on is not followed.
const MARK: &str = "X-Genkai-Followed";
/// How long an answer may take to be seen once it has come.
const SEEN: Duration = Duration::from_millis(30);

/// What came of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Onward {
    /// To whom they go, as the configuration says.
    places: Vec<Endpoint>,
    /// How many were made.
    times: usize,
    /// Whether those were asked; none: that is not known.
    asked: Option<bool>,
    /// The only one that was asked, with the failure by which he answered each; clients got the same.
    failed: Option<(Endpoint, u16)>,
}

/// What came of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct One {
    /// What the client was answered.
    through: Option<u16>,
    /// Whether anybody behind was asked; none: that is not known.
    asked: Option<bool>,
    /// By the how-manieth of them it was answered, and how.
    answered: Option<(usize, u16)>,
}

impl One {
    /// Whether nobody behind was asked, or somebody answered with a failure.
    fn is_odd(&self) -> bool {
        self.asked == Some(false) || self.answered.is_some_and(|(_, status)| status >= 500)
    }
}

impl Onward {
    /// Of requests through `product`, whose copy for it goes to `dir`. None where they cannot be followed.
    fn of(product: &dyn Prepared, load: &Load, dir: &Path, cpus: Option<&[usize]>) -> Option<Onward> {
        let (mut places, mut taps) = (Vec::new(), Vec::new());
        let led = product.through(
            &mut |written, at| {
                let tap = Tap::before(at)?;
                let own = tap.at().clone();
                places.push(written.clone());
                taps.push(tap);
                Ok(own)
            },
            dir,
        );
        let led = led.ok().filter(|_| !taps.is_empty())?;
        let running = led.start(cpus).ok()?;
        let load = aimed(load, running.address(), led.transport());
        let mut all: Vec<One> = Vec::new();
        // One that is answered well by those behind tells all that there is to be told.
        while all.len() < TIMES && all.last().is_none_or(One::is_odd) {
            all.push(followed(&load, all.len(), &taps));
        }
        running.stop();
        Some(Onward::made(places, &all))
    }

    fn made(places: Vec<Endpoint>, all: &[One]) -> Onward {
        let times = all.len();
        let asked = match all.iter().any(|one| one.asked == Some(true)) {
            true => Some(true),
            // What is answered well without them needs them for nothing.
            false
                if all.iter().all(|one| one.asked == Some(false) && one.through.is_some_and(|status| status < 400)) =>
            {
                Some(false)
            }
            false => None,
        };
        let first = all.first().and_then(|one| one.answered);
        let same = |one: &One| one.answered == first && one.through == first.map(|(_, status)| status);
        let failed = first.filter(|(_, status)| *status >= 500 && places.len() == 1 && all.iter().all(same));
        let failed = failed.and_then(|(at, status)| Some((places.get(at)?.clone(), status)));
        Onward { places, times, asked, failed }
    }

    /// That the only one whom the product asks answers with a failure, however few requests there are.
    pub(super) fn failing(&self) -> Option<Limit> {
        let (place, status) = self.failed.as_ref()?;
        let kind = ErrorKind::of_status(*status)?;
        Some(Limit {
            value: place.to_string(),
            origin: Origin::Machine("requests followed before any load".to_owned()),
            caps: format!(
                "before any load, {place} answered {status} to each of {} requests that were passed on to it one after another",
                self.times
            ),
            law: Law::Slots { value: 0.0, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 },
            formula: "it fails however few there are: no request was answered well".to_owned(),
            source: "what went over the connections to it, which led through a place of genkai's own".to_owned(),
            symptom: Symptom { errors: vec![kind], slow: false },
            ..Limit::named(BACKEND_ANSWERS, "backend", "(answers)")
        })
    }

    /// What is to be said of it; none: nothing.
    pub(crate) fn told(&self, product: &str) -> Option<String> {
        let places: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        let (times, places) = (self.times, places.join(", "));
        match (&self.failed, self.asked) {
            (Some((place, status)), _) => Some(format!(
                "{times} requests were followed through {product} before the load, one after another: {place} was asked, and answered each with {status}"
            )),
            (None, Some(false)) => Some(format!(
                "{times} requests were followed through {product} before the load, one after another: none of them was passed on to {places}; what limits those \
                 who listen there is left out"
            )),
            _ => None,
        }
    }
}

/// Whether a limit is of the product itself, or of the machine, and not of what stands behind.
pub(super) fn is_own(limit: &Limit, product: &str) -> bool {
    let of = |name: &str| limit.id.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    of(product) || [product, "kernel", "machine"].contains(&limit.subject.as_str())
}

impl System {
    /// Whether requests of this load are to be followed: where those behind are the user's own, and they fail (`failed`) or have numbers of workers.
    pub(crate) fn follows(&self, product: &dyn Prepared, load: &Load, failed: bool) -> bool {
        let is_one = load.is_one_request() && !matches!(load.protocol, Protocol::WebSocket(_));
        let safe = ["GET", "HEAD"].contains(&load.request.method.as_str());
        let here = !self.is_elsewhere() && !load.scale.is_spread();
        let kept = matches!(self.backend, Backend::Kept(..));
        let failed = failed && self.answered.is_none();
        let pools = || {
            let is_pool = |limit: &Limit| matches!(limit.law, Law::Workers { .. } | Law::Growing { .. });
            self.limits(product).iter().any(|limit| is_pool(limit) && !is_own(limit, product.product()))
        };
        is_one && safe && here && kept && (failed || pools())
    }

    /// Follows them through a copy of its own; what is to be said of it.
    ///
    /// # Errors
    /// When there is no folder for it.
    pub(crate) fn follow(
        &mut self,
        product: &dyn Prepared,
        load: &Load,
        folder: &Folder,
    ) -> Result<Option<String>, LabError> {
        let dir = folder.private("followed")?;
        self.onward = Onward::of(product, load, &dir, self.cpus());
        Ok(self.onward.as_ref().and_then(|onward| onward.told(product.product())))
    }

    /// Whether it is known that the load's requests go to nobody behind the product.
    pub(crate) fn is_unasked(&self) -> bool {
        self.onward.as_ref().is_some_and(|onward| onward.asked == Some(false))
    }
}

/// Makes one request and follows it.
fn followed(load: &Load, number: usize, taps: &[Tap]) -> One {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mark = format!("{:x}-{:x}-{number}", std::process::id(), since.as_nanos());
    let mut load = alike(load);
    load.request.headers.push((MARK.to_owned(), mark.clone()));
    let look = || taps.iter().map(Tap::seen).collect::<Vec<_>>();
    let before = look();
    let address = load.addresses.first().copied();
    let came = address.and_then(|at| ask(&load, at, WITHIN));
    thread::sleep(SEEN);
    let through = if let Some(Asked::Answered { status, .. }) = came { Some(status) } else { None };
    judged(&before, &look(), mark.as_bytes(), through)
}

/// What of it went over connections, by what had gone over them before.
fn judged(before: &[Vec<Passed>], after: &[Vec<Passed>], mark: &[u8], through: Option<u16>) -> One {
    let mut asked = Some(false);
    for (at, all) in after.iter().enumerate() {
        for (nth, one) in all.iter().enumerate() {
            let old = before.get(at).and_then(|all| all.get(nth));
            let from = |of: fn(&Passed) -> &Vec<u8>| &of(one)[old.map_or(0, |old| of(old).len())..];
            let new = from(|one| &one.asked);
            if find(new, mark).is_some() {
                let answered = status(from(|one| &one.answered)).map(|status| (at, status));
                return One { through, asked: Some(true), answered };
            }
            // Another's (a check of the product's own), or one that cannot be read, or was not led on.
            if !new.is_empty() || old.is_none() {
                asked = None;
            }
        }
    }
    One { through, asked, answered: None }
}

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

fn find(all: &[u8], what: &[u8]) -> Option<usize> {
    all.windows(what.len()).position(|some| some == what)
}

/// The status of an answer of HTTP/1 or FastCGI; none: it is neither, or has not come.
fn status(answer: &[u8]) -> Option<u16> {
    let number = |text: &[u8]| std::str::from_utf8(text.get(..3)?).ok()?.parse().ok();
    match answer {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', rest @ ..] => match number(rest)? {
            // What comes before the answer.
            100..200 => {
                let end = find(rest, END)?;
                status(&rest[end + 4..])
            }
            status => Some(status),
        },
        [1, 6 | 7, ..] => {
            let said = printed(answer);
            let end = find(&said, END)?;
            let head = String::from_utf8_lossy(&said[..end]).into_owned();
            let line = head.lines().find_map(|line| line.strip_prefix("Status:").map(|text| text.trim().to_owned()));
            line.map_or(Some(200), |text| number(text.as_bytes()))
        }
        _ => None,
    }
}

/// What an answer of FastCGI has on its standard output (FastCGI specification, 3.3 and 5.3).
fn printed(mut records: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let [1, kind, _, _, high, low, padding, _, rest @ ..] = records {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        if *kind == 6 {
            all.extend(&rest[..length]);
        }
        records = rest.get(length + usize::from(*padding)..).unwrap_or_default();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(asked: &str, answered: &[u8]) -> Passed {
        Passed { asked: asked.as_bytes().to_vec(), answered: answered.to_vec() }
    }

    #[test]
    fn a_request_is_known_by_its_mark_on_a_connection_that_is_kept_too() {
        let before = [vec![passed("GET / m1", b"HTTP/1.1 200 OK\r\n\r\n")]];
        let both = b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500 No\r\n\r\n";
        let after = [vec![passed("GET / m1GET / m2", both)]];
        let one = judged(&before, &after, b"m2", Some(500));
        assert_eq!(one, One { through: Some(500), asked: Some(true), answered: Some((0, 500)) });
        assert_eq!(judged(&before, &before, b"m2", Some(200)).asked, Some(false));
        let check = [vec![before[0][0].clone(), passed("OPTIONS / HTTP/1.0", b"")]];
        assert_eq!(judged(&before, &check, b"m2", Some(200)).asked, None, "somebody was asked for something");
    }

    #[test]
    fn statuses_of_http_and_fastcgi_are_read() {
        assert_eq!(status(b"HTTP/1.1 503 No\r\n"), Some(503));
        assert_eq!(status(b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"), Some(200));
        assert_eq!((status(b""), status(b"\x16\x03\x03")), (None, None));
        let record =
            |kind: u8, text: &str| [&[1, kind, 0, 1, 0, text.len() as u8, 1, 0], text.as_bytes(), &[0]].concat();
        let answer =
            [record(7, "PHP message"), record(6, "Status: 500 Internal\r\nX: y\r\n"), record(6, "\r\nbody")].concat();
        assert_eq!(status(&answer), Some(500));
        assert_eq!(status(&record(6, "Content-type: text/html\r\n\r\n")), Some(200));
    }

    #[test]
    fn only_what_fails_each_time_in_the_same_way_is_named() {
        let at = Endpoint::Tcp(([127, 0, 0, 1], 9).into());
        let one = |status: u16| One { through: Some(status), asked: Some(true), answered: Some((0, status)) };
        let of = |all: &[One]| Onward::made(vec![at.clone()], all);
        let failing = of(&[one(500), one(500)]);
        let limit = failing.failing().unwrap();
        assert!(limit.caps.contains("127.0.0.1:9 answered 500 to each of 2 requests"), "{}", limit.caps);
        assert!(failing.told("nginx").unwrap().ends_with("127.0.0.1:9 was asked, and answered each with 500"));
        for all in [vec![one(500), one(200)], vec![one(404); 2], vec![One { through: Some(502), ..one(500) }; 2]] {
            assert_eq!((of(&all).failing(), of(&all).told("nginx")), (None, None), "{all:?}");
        }
        let own = |status: u16| One { through: Some(status), asked: Some(false), answered: None };
        assert_eq!(of(&[own(200), own(200)]).asked, Some(false));
        assert!(of(&[own(200)]).told("nginx").unwrap().contains("none of them was passed on to 127.0.0.1:9"));
        assert_eq!(of(&[own(503), own(503)]).asked, None, "it may not know yet who is there");
        assert_eq!(of(&[own(200), one(200)]).asked, Some(true));
        let two = Onward::made(vec![at.clone(), at.clone()], &[one(500), one(500)]);
        assert_eq!(two.failing(), None, "of several the others may do");
    }
}
