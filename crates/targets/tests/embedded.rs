//! The embedded origin as a process: started, loaded, watched and stopped as a run does it.
//!
//! The origin under test is this very program: started as `embedded serve origin ...` it serves, otherwise it tests.
//! (genkai's own executable is built from a crate above this one.)

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::ServerState;
use genkai_model::evidence::metric;
use genkai_model::plan::OriginSpec;
use genkai_model::units::Bytes;
use genkai_place::machine;
use genkai_place::observation::Observation;
use genkai_targets::embedded::{CPU, FDS, Origin, RSS};

const LONG: Duration = Duration::from_secs(20);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.starts_with(&["serve".to_owned(), "origin".to_owned()]) {
        return serve(&arguments[2..]);
    }
    let tests: [(&str, fn()); 4] = [
        ("what_the_origin_does_is_what_is_observed", what_the_origin_does_is_what_is_observed),
        ("a_full_queue_is_observed", a_full_queue_is_observed),
        ("its_end_is_told_once", its_end_is_told_once),
        ("it_runs_where_it_is_put", it_runs_where_it_is_put),
    ];
    let wanted = arguments.iter().find(|argument| !argument.starts_with('-'));
    let [listing, ignored, exact] =
        ["--list", "--ignored", "--exact"].map(|flag| arguments.iter().any(|one| one == flag));
    if listing && ignored {
        return; // None is.
    }
    let asked =
        |name: &str| wanted.is_none_or(|wanted| if exact { name == wanted } else { name.contains(wanted.as_str()) });
    for (name, test) in tests.into_iter().filter(|(name, _)| asked(name)) {
        if listing {
            println!("{name}: test");
            continue;
        }
        // A panic ends the program with a failure; the test before it in the output is the one.
        println!("test {name}");
        test();
    }
}

/// As `genkai serve origin` does, for the flags that are given here.
fn serve(flags: &[String]) {
    let flag = |name: &str| flags.chunks(2).find(|pair| pair[0] == name).map(|pair| pair[1].as_str());
    let listener = genkai_origin::listen(flag("--listen").unwrap().parse().unwrap()).unwrap();
    println!(r#"{{"listening":"{}"}}"#, listener.local_addr().unwrap());
    let spec = OriginSpec {
        body: flag("--body").unwrap().parse().unwrap(),
        service_time: flag("--service-time").unwrap().parse().unwrap(),
        workers: flag("--workers").map(|text| text.parse().unwrap()),
        queue: flag("--queue").map(|text| text.parse().unwrap()),
        seed: flag("--seed").unwrap().parse().unwrap(),
    };
    let stats = flag("--stats").map(|text| text.parse::<genkai_model::units::Span>().unwrap().duration());
    genkai_origin::http::serve(
        listener,
        spec,
        &genkai_origin::http::Extras { stats, ..Default::default() },
        Arc::new(AtomicBool::new(false)),
    )
    .unwrap();
}

fn start(
    service: &str,
    workers: Option<u32>,
    queue: Option<u32>,
    cpus: Option<&[usize]>,
) -> (Origin, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let spec = OriginSpec { body: Bytes(100), service_time: service.parse().unwrap(), workers, queue, seed: 1 };
    let program = std::env::current_exe().unwrap();
    (Origin::start(&program, &spec, cpus, dir.path()).unwrap(), dir)
}

fn request(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Looks until a look shows what is waited for.
fn until(origin: &mut Origin, what: &str, shows: impl Fn(&Observation) -> bool) -> Observation {
    let deadline = Instant::now() + LONG;
    loop {
        let seen = origin.observe();
        if shows(&seen) {
            return seen;
        }
        assert!(Instant::now() < deadline, "never: {what}; last {seen:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn value(seen: &Observation, name: &str) -> Option<f64> {
    seen.samples.iter().find_map(|sample| sample.metrics.get(name).copied())
}

fn what_the_origin_does_is_what_is_observed() {
    let (mut origin, _dir) = start("20ms", Some(2), None, None);
    let streams: Vec<TcpStream> = (0..10).map(|_| request(origin.address())).collect();
    for stream in streams {
        assert!(answer(stream).starts_with("HTTP/1.1 200 "));
    }
    let seen = until(&mut origin, "ten done", |seen| value(seen, metric::BACKEND_DONE) == Some(10.0));
    assert_eq!(seen.samples[0].subject, "backend");
    assert_eq!(value(&seen, metric::BACKEND_WORKERS), Some(2.0));
    assert_eq!(value(&seen, metric::BACKEND_BUSY), Some(0.0));
    assert_eq!(value(&seen, metric::BACKEND_REFUSED), Some(0.0));
    assert!(value(&seen, RSS).unwrap() > 100_000.0 && value(&seen, FDS).unwrap() > 3.0);
    assert!((0.0..=1.2).contains(&value(&seen, CPU).unwrap()), "one thread: {seen:?}");
    assert!(origin.limits().iter().any(|limit| limit.id == "backend.workers"));
    let address = origin.address();
    drop(origin);
    assert!(TcpStream::connect(address).is_err(), "still listening");
}

fn a_full_queue_is_observed() {
    let (mut origin, _dir) = start("1h", Some(1), Some(1), None);
    let _served = request(origin.address());
    until(&mut origin, "one busy", |seen| value(seen, metric::BACKEND_BUSY) == Some(1.0));
    let _queued = request(origin.address());
    until(&mut origin, "one queued", |seen| value(seen, metric::BACKEND_QUEUED) == Some(1.0));
    assert!(answer(request(origin.address())).starts_with("HTTP/1.1 503 "));
    until(&mut origin, "one refused", |seen| value(seen, metric::BACKEND_REFUSED) == Some(1.0));
}

fn its_end_is_told_once() {
    let (mut origin, dir) = start("0s", None, None, None);
    let seen = until(&mut origin, "counts", |seen| value(seen, metric::BACKEND_DONE).is_some());
    assert_eq!(value(&seen, metric::BACKEND_WORKERS), None, "no cap, no such metric");
    std::fs::write(dir.path().join("origin.log"), "thread panicked\n").unwrap();
    let seen = until(&mut origin, "a line of its log", |seen| !seen.logs.is_empty());
    assert_eq!((seen.logs.len(), seen.logs[0].text.as_str()), (1, "thread panicked"));
    let pid = listener_pid(origin.address());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    let seen = until(&mut origin, "its end", |seen| !seen.states.is_empty());
    assert_eq!((seen.states.len(), seen.states[0].state), (1, ServerState::Died));
    assert!(seen.states[0].detail.as_ref().unwrap().contains("signal: 9"), "{seen:?}");
    assert!(seen.samples.is_empty());
    assert_eq!(origin.observe(), Observation::default());
}

/// The child of this process that is an origin (there is one at a time).
fn listener_pid(address: SocketAddr) -> i32 {
    assert!(TcpStream::connect(address).is_ok());
    let me = std::process::id() as i32;
    let stats = procfs::process::all_processes().unwrap().flatten().filter_map(|process| process.stat().ok());
    stats.filter(|stat| stat.ppid == me && stat.comm.starts_with("embedded")).map(|stat| stat.pid).next().unwrap()
}

fn it_runs_where_it_is_put() {
    let last = *machine::cores().last().unwrap();
    let (origin, _dir) = start("0s", None, None, Some(&[last]));
    let status = std::fs::read_to_string(format!("/proc/{}/status", listener_pid(origin.address()))).unwrap();
    assert!(status.contains(&format!("Cpus_allowed_list:\t{last}\n")), "{status}");
}
