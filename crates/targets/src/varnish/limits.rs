//! What caps requests, as data.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::evidence::{SUBJECT, metrics};
use super::recv::Handling;
use super::settings::THREADS;
use super::vcl::{Backend, Item, Vcl};
use crate::cache::answers;
use crate::files::{File, Requests, masked};
use crate::limits::{accept_queue, at_once, grew, raised, raised_onward, reached};
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;

/// Where Varnish has its defaults.
const SOURCE: &str = "varnish 7.1 include/tbl/params.h";

/// A parameter's value, and where that comes from.
pub(super) type Parameter<'a> = dyn Fn(&str) -> (String, Origin) + 'a;

/// Every limit of a Varnish with default threads.
pub(super) fn of() -> Vec<Limit> {
    vec![threads(&defaults)]
}

/// Parameters that nobody has set.
pub(super) fn defaults(name: &str) -> (String, Origin) {
    let value = match name {
        "thread_pools" => THREADS.0,
        "thread_pool_max" => THREADS.1,
        "thread_pool_min" => 100,
        "thread_pool_reserve" => 0,
        _ => LISTEN_DEPTH,
    };
    (value.to_string(), Origin::Default(SOURCE.to_owned()))
}

/// `listen_depth` of Varnish 7.1 (include/tbl/params.h).
const LISTEN_DEPTH: u32 = 1024;

/// Every limit of a VCL with these parameters, for these requests.
pub(super) fn all(vcl: &Vcl, value: &Parameter<'_>, machine: &Machine, requests: &Requests) -> Vec<Limit> {
    let usual = vcl.usual(requests);
    let capped = vcl.backends().filter(|(_, _, backend)| cap(backend).is_some()).count();
    let backends = vcl.backends().filter_map(|(_, file, backend)| {
        let handling = usual.filter(|(name, _)| *name == backend.name).map(|(_, handling)| handling);
        let limit = connections(backend, handling, vcl.chooses())?;
        let attribute = backend.attributes.iter().find(|one| one.name == "max_connections")?;
        let origin = Origin::File { path: file.path.clone(), line: file.line(attribute.span.start) };
        // Where several have a cap, one may be full a moment after another: which was first, counts of seconds do not say.
        let signatures = match capped {
            1 => vec![grew(metrics::BUSY, Strength::Decisive)],
            _ => vec![grew(&metrics::busy(&backend.name), Strength::Consistent)],
        };
        Some(Limit { origin, signatures, ..limit })
    });
    [threads(value), backlog(value, machine), one_after_another()].into_iter().chain(backends).collect()
}

/// What an object that is not kept does to those who ask for it at once. Of no number of clients it can be told when that is too slow: it is from the
/// second on.
fn one_after_another() -> Limit {
    Limit {
        value: "1".to_owned(),
        origin: Origin::Default("varnish 7.1 bin/varnishd/cache/cache_hash.c: HSH_Lookup, hsh_rush".to_owned()),
        caps: "while one request fetches an object the others that ask for it wait for that answer; where it may not be kept at all (`beresp.ttl` of 0s, \
               also with `beresp.uncacheable`) it is of use to none of them, and they are fetched one after another (with a `beresp.ttl` of some seconds \
               beside `beresp.uncacheable`, or `return (pass)` in vcl_recv, they are fetched at once)"
            .to_owned(),
        formula: "1 / time of a fetch, requests a second for each object that is not kept".to_owned(),
        source: "varnish-counters(7): busy_wakeup, cache_hit, cache_miss, cache_hitmiss".to_owned(),
        signatures: vec![grew(metrics::IN_VAIN, Strength::Supports)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        ..Limit::named("varnish.requests_for_one_object", SUBJECT, "requests for one object at once")
    }
}

/// Several backends, of which some answer with errors or not at all. A VCL may have a request made again (`return (retry)`, `return (restart)`).
pub(super) fn answering(vcl: &Vcl) -> Vec<Limit> {
    let held = |(_, file, backend): (_, &File<Item>, &Backend)| {
        let written = backend.place()?;
        let origin = Origin::File { path: file.path.clone(), line: file.line(backend.inside) };
        Some((backend.name.clone(), SourcedValue { value: (), written, origin }))
    };
    let each: Vec<_> = vcl.backends().filter_map(held).collect();
    let repeats = ["retry", "restart"].iter().any(|word| vcl.mentions(word) > 0);
    let source = "varnish 7.1 vsl(7): BerespStatus, BackendOpen, FetchError, in a log of genkai's own; varnish-counters(7): VBE req";
    answers::limits(SUBJECT, &each, source, metrics::asked, repeats)
}

/// A request holds a thread, and one that goes to a backend a second one, which fetches (bin/varnishd/cache/cache_fetch.c: VBF_Fetch, a
/// task of its own). Of each pool some threads are kept for what must go on (cache_wrk.c: pool_reserve, two fifths of it for a request).
/// Which requests are answered from the cache is not in the configuration.
fn threads(value: &Parameter<'_>) -> Limit {
    let (pools, (most, origin)) = (value("thread_pools").0, value("thread_pool_max"));
    let number = |text: &str, other: u32| text.parse::<f64>().unwrap_or_else(|_| f64::from(other));
    let (each, count) = (number(&most, THREADS.1), number(&pools, THREADS.0));
    let kept = reserved(number(&value("thread_pool_reserve").0, 0), number(&value("thread_pool_min").0, 100));
    let fetched = ((each - kept) / 2.0).floor().max(1.0);
    Limit {
        value: most.clone(),
        origin,
        caps:
            "requests at once, one thread each and one more while it is fetched; idle kept connections hold no thread"
                .to_owned(),
        law: Law::Slots {
            value: each,
            reserved: 0.0,
            idle_cost: 0.0,
            busy_cost: 1.0,
            pools: count,
            soft: (fetched / each).min(1.0),
        },
        formula: format!(
            "thread_pools {pools} x from {fetched} ((thread_pool_max {most} - {kept} kept) / 2, all fetched from a backend) to {most} (all from \
             the cache)"
        ),
        source: "varnish 7.1 bin/varnishd/cache/cache_wrk.c: pool_reserve; cache_fetch.c: VBF_Fetch".to_owned(),
        signatures: vec![grew(metrics::LIMITED, Strength::Decisive), reached(metrics::QUEUED, 1.0, Strength::Supports)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        remedy: Some(Remedy {
            note: Some("thread_pools times as many threads, each with a stack and a workspace".to_owned()),
            ..raised("thread_pool_max", RemedyUnit::Count, 1.0)
        }),
        ..Limit::named("varnish.thread_pool_max", "varnish", "thread_pool_max")
    }
}

/// Threads of a pool that no request gets: two fifths of thread_pool_reserve, which is by default a twentieth of thread_pool_min and one
/// more, at least five.
fn reserved(asked: f64, least: f64) -> f64 {
    let reserve = if asked > 0.0 { asked } else { ((least / 20.0).floor() + 1.0).max(5.0) };
    (reserve * 2.0 / 5.0).floor()
}

fn backlog(value: &Parameter<'_>, machine: &Machine) -> Limit {
    let (written, origin) = value("listen_depth");
    let queue = written.parse::<u32>().unwrap_or(LISTEN_DEPTH).min(machine.somaxconn) + 1;
    Limit {
        value: written.clone(),
        origin,
        formula: format!("min(listen_depth {written}, net.core.somaxconn {}) + 1", machine.somaxconn),
        source: "varnish 7.1 include/tbl/params.h: listen_depth; listen(2)".to_owned(),
        ..accept_queue("varnish.listen_depth", "varnish", "listen_depth", f64::from(queue))
    }
}

/// What a backend takes at once; none where it has no cap. Only the usual backend of the requests has a number, where what `chooses` one is
/// understood and each request is sent to it: how many the cache answers, and how many wait for one that is fetched, the file does not say.
fn connections(backend: &Backend, usual: Option<Handling>, chooses: bool) -> Option<Limit> {
    let (written, most) = cap(backend)?;
    let name = masked(&backend.name);
    let piped = usual == Some(Handling::Piped);
    let (beyond, error) = match piped {
        true => ("closed without an answer", ErrorKind::EofNew),
        false => ("answered 503", ErrorKind::Status503),
    };
    let which = match (usual, chooses) {
        (None, _) => "; only those that the VCL sends there: not these, or conditions decide that are not evaluated",
        (Some(Handling::Looked), _) => {
            ", requests that miss at once for different objects: how many the cache answers is not in the file"
        }
        (Some(_), false) => ", every request",
        (Some(_), true) => ", every request for this path and host",
    };
    let law = match usual {
        Some(Handling::Passed | Handling::Piped) => at_once(f64::from(most), 1.0),
        Some(Handling::Looked) | None => Law::Unknown,
    };
    let setting = format!("backend.{}.max_connections", backend.name);
    // Without a law nothing says what another number does.
    let remedy = (law != Law::Unknown && name == backend.name).then(|| raised_onward(&setting));
    Some(Limit {
        value: written.clone(),
        caps: format!("requests at the backend at once; a further one is {beyond}"),
        law,
        formula: format!("backend {name}: .max_connections {most}{which}"),
        source: "vcl-backend(7); varnish 7.1 bin/varnishd/cache/cache_backend.c: VBE_Healthy, vbe_dir_getfd".to_owned(),
        symptom: Symptom { errors: vec![error], slow: false },
        remedy,
        ..Limit::named(
            &format!("varnish.backend.{name}.max_connections"),
            "varnish",
            &format!("backend.{name}.max_connections"),
        )
    })
}

/// Its `.max_connections`, as written and as a number; none where it has no cap.
fn cap(backend: &Backend) -> Option<(&String, u32)> {
    let written = &backend.attributes.iter().find(|one| one.name == "max_connections")?.value;
    Some((written, written.parse().ok().filter(|most| *most > 0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_has_a_number_only_where_each_request_is_sent_to_it() {
        let of = |recv: &str| {
            let text =
                format!("vcl 4.1;\nbackend a {{ .host = \"h\"; .max_connections = 7; }}\nsub vcl_recv {{ {recv} }}\n");
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.vcl");
            std::fs::write(&path, text).unwrap();
            let vcl = Vcl::read(&path).unwrap();
            let backend = vcl.backends().next().unwrap().2.clone();
            let usual = vcl.usual(&Requests::to("localhost", "/")).map(|(_, handling)| handling);
            let limit = connections(&backend, usual, false).unwrap();
            (limit.law == at_once(7.0, 1.0), limit.symptom.errors[0])
        };
        assert_eq!(of("return (pass);"), (true, ErrorKind::Status503));
        assert_eq!(of("return (pipe);"), (true, ErrorKind::EofNew));
        for cached in ["", "return (hash);", "if (req.http.x) { return (pass); }"] {
            assert_eq!(of(cached), (false, ErrorKind::Status503), "{cached}");
        }
    }

    #[test]
    fn the_counter_of_busy_backends_decides_where_one_backend_alone_has_a_cap() {
        let of = |second: &str| {
            let text = format!(
                "vcl 4.1;\nbackend a {{ .host = \"h\"; .max_connections = 7; }}\nbackend b {{ .host = \"h\"; {second} }}\n\
                 sub vcl_recv {{ return (pass); }}\n"
            );
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.vcl");
            std::fs::write(&path, text).unwrap();
            let machine = Machine::of(&genkai_model::event::Environment::default());
            let all = all(&Vcl::read(&path).unwrap(), &defaults, &machine, &Requests::to("localhost", "/"));
            let limit = all.into_iter().find(|limit| limit.id == "varnish.backend.a.max_connections").unwrap();
            limit.signatures
        };
        assert_eq!(of(""), [grew(metrics::BUSY, Strength::Decisive)]);
        assert_eq!(of(".max_connections = 0;"), [grew(metrics::BUSY, Strength::Decisive)]);
        assert_eq!(of(".max_connections = 9;"), [grew(&metrics::busy("a"), Strength::Consistent)]);
    }

    #[test]
    fn a_request_that_is_fetched_takes_two_threads() {
        let value = |name: &str| {
            let written = match name {
                "thread_pools" => "1",
                "thread_pool_max" | "thread_pool_min" => "20",
                _ => "0",
            };
            (written.to_owned(), Origin::Given)
        };
        // Measured on 7.1: of one pool of 20, about ten requests that are passed on are served at once.
        let Law::Slots { value: most, soft, .. } = threads(&value).law else { panic!("slots") };
        assert_eq!((most * soft, most), (9.0, 20.0));
        assert_eq!((reserved(0.0, 100.0), reserved(0.0, 400.0), reserved(10.0, 100.0)), (2.0, 8.0, 4.0));
    }
}
