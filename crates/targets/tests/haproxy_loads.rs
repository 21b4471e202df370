//! What is predicted for HAProxy's caps, held against loads: as many clients as predicted are all served at once, a tenth more are not,
//! counted by the servers behind. `GENKAI_PREDICTIONS=1` tries all cases, `make test` every fifth.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use genkai_model::limit::Law;
use genkai_place::authority;
use genkai_targets::catalog::explain;
use genkai_targets::files::Requests;

/// How long a server holds each request, and how long a load lasts.
const HOLD: Duration = Duration::from_millis(250);
const LOAD: Duration = Duration::from_millis(1000);

/// A limit, lines of `global`, of `defaults`, of the frontend and of the backend; `A` to `D` are addresses of servers.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

const SERVER: &str = "haproxy.server.maxconn";
const GROWING: &str = "haproxy.server.minconn";
const FRONT: &str = "haproxy.frontend.maxconn";
const PROCESS: &str = "haproxy.maxconn";
const BIND: &str = "haproxy.bind.maxconn";

const CASES: &[Case] = &[
    (
        SERVER,
        "",
        "",
        "use_backend x if { path / }",
        "server a A maxconn 15\nbackend x from special\nserver b B maxconn 5",
    ),
    (
        SERVER,
        "",
        "",
        "use_backend x if { path /x } or !{ method GET HEAD POST }",
        "server a A maxconn 15\nbackend x from special\nserver b B maxconn 5",
    ),
    (
        SERVER,
        "",
        "",
        "http-request return status 200 content-type text/plain string ok if { path_beg / }",
        "server a A maxconn 5",
    ),
    (SERVER, "", "", "monitor-uri /", "server a A maxconn 5"),
    (SERVER, "", "", "tcp-request content accept if { path / }\ntcp-request content reject", "server a A maxconn 5"),
    (SERVER, "", "", "http-request deny if { path /x }\nhttp-request allow\nhttp-request deny", "server a A maxconn 5"),
    (SERVER, "", "", "", "balance hdr(host)\nserver a A maxconn 6\nserver b B maxconn 6"),
    (SERVER, "", "", "", "use-server b if { path / }\nserver a A maxconn 15\nserver b B maxconn 4"),
    (SERVER, "", "", "", "use-server b if { path /x }\nserver a A maxconn 15\nserver b B maxconn 4"),
    (SERVER, "", "", "", "server a A maxconn 5 backup\nserver b B maxconn 7 backup"),
    (SERVER, "", "", "", "option allbackups\nserver a A maxconn 5 backup\nserver b B maxconn 7 backup"),
    (SERVER, "", "", "", "server-template t 1-3 A maxconn 4"),
    (BIND, "", "", "bind maxconn 9", "server a A maxconn 30"),
    (SERVER, "", "", "", "balance url_param u\nserver a A maxconn 6\nserver b B maxconn 9"),
    (SERVER, "", "", "", "server a A maxconn 5"),
    (SERVER, "", "", "", "server a A maxconn 13"),
    (SERVER, "", "", "", "server a A maxconn 3\nserver b B maxconn 9\nserver c C maxconn 6"),
    (SERVER, "", "", "", "default-server maxconn 10\nserver a A\nserver b B maxconn 15"),
    (GROWING, "", "", "", "fullconn 1000\nserver a A minconn 5 maxconn 60"),
    (SERVER, "", "", "", "default-server maxconn 10 maxqueue 5\nserver a A\nserver b B maxconn 15"),
    (SERVER, "", "", "", "balance leastconn\nserver a A maxconn 4\nserver b B maxconn 11"),
    (SERVER, "", "", "", "balance first\nserver a A maxconn 4\nserver b B maxconn 11"),
    (SERVER, "", "", "", "balance static-rr\nserver a A maxconn 4 weight 3\nserver b B maxconn 11"),
    (FRONT, "", "maxconn 12", "", "server a A"),
    (SERVER, "", "", "", "balance source\nserver a A maxconn 6\nserver b B maxconn 9"),
    (SERVER, "", "", "", "balance random\nserver a A maxconn 6\nserver b B maxconn 9"),
    (SERVER, "", "", "", "balance uri\nserver a A maxconn 6\nserver b B maxconn 6"),
    (SERVER, "", "default-server maxconn 7", "", "server a A\nserver b B"),
    (PROCESS, "maxconn 15\nmaxconn 40", "", "", "server a A"),
    (SERVER, "", "", "", "server a A\ndefault-server maxconn 7\nserver b B disabled\nserver c C backup"),
    (
        SERVER,
        "",
        "",
        "",
        "default-server maxconn 8\nserver a A\nserver b B weight 0\nserver c C backup\nserver d D disabled",
    ),
    (SERVER, "", "", "", "server a A maxconn 20 minconn 25"),
    (SERVER, "", "", "", "server a A minconn 9"),
    (GROWING, "", "", "", "fullconn 40\nserver a A minconn 2 maxconn 20"),
    (GROWING, "", "", "", "fullconn 12\nserver a A minconn 3 maxconn 12"),
    (GROWING, "", "", "", "fullconn 500\nserver a A minconn 4 maxconn 30\nserver b B minconn 4 maxconn 30"),
    (GROWING, "", "maxconn 400", "", "server a A minconn 3 maxconn 20"),
    (GROWING, "maxconn 300", "fullconn 200", "", "server a A minconn 6 maxconn 24"),
    (FRONT, "", "", "maxconn 14", "server a A maxconn 30"),
    (FRONT, "", "maxconn 30", "maxconn 9\nmaxconn 11", "server a A"),
    (PROCESS, "maxconn 18", "maxconn 500", "", "server a A"),
    (PROCESS, "maxconn 9", "", "maxconn 0", "server a A"),
    (SERVER, "nbthread 2", "", "", "server a A maxconn 16\nserver b B maxconn 2"),
    (SERVER, "", "mode tcp", "", "server a A maxconn 8\nserver b B maxconn 5"),
    (SERVER, "", "mode tcp", "", "server a A maxconn 8"),
    (SERVER, "", "option http-server-close", "", "server a A maxconn 10"),
];

/// A server that holds every request and counts how many it has.
struct Counting {
    address: SocketAddr,
    most: Arc<AtomicI64>,
}

fn counting(now: &Arc<AtomicI64>, most: &Arc<AtomicI64>) -> Counting {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (now, most_here) = (Arc::clone(now), Arc::clone(most));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most_here));
            std::thread::spawn(move || serve(&stream, &now, &most));
        }
    });
    Counting { address, most: Arc::clone(most) }
}

/// The end of a head is an empty line.
fn head(reader: &mut impl BufRead) -> Option<String> {
    let mut all = String::new();
    loop {
        let before = all.len();
        if reader.read_line(&mut all).ok()? == 0 {
            return None;
        }
        if all[before..].trim().is_empty() {
            return Some(all);
        }
    }
}

fn serve(stream: &TcpStream, now: &AtomicI64, most: &AtomicI64) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        head(&mut reader)?;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(HOLD);
        now.fetch_sub(1, Ordering::SeqCst);
        (&mut &*stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}

/// One user: requests one after the other on one connection. A connection that is not accepted waits.
fn user(to: SocketAddr, stop: &AtomicBool) -> Option<()> {
    let stream = TcpStream::connect(to).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut reader = BufReader::new(&stream);
    while !stop.load(Ordering::Relaxed) {
        (&mut &stream).write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
        head(&mut reader)?;
        reader.read_exact(&mut [0; 2]).ok()?;
    }
    Some(())
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn haproxy(path: &Path, at: SocketAddr) -> Running {
    let mut command = Command::new("haproxy");
    command.args(["-db", "-f"]).arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().unwrap());
    let until = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(at).is_err() {
        assert!(Instant::now() < until, "HAProxy does not listen: {}", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    running
}

/// The most requests that were at the servers at once, with so many users.
fn load(path: &Path, at: SocketAddr, users: i64, servers: &Counting) -> i64 {
    servers.most.store(0, Ordering::SeqCst);
    let running = haproxy(path, at);
    std::thread::sleep(Duration::from_millis(50));
    let stop = Arc::new(AtomicBool::new(false));
    let all: Vec<_> = (0..users)
        .map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || user(at, &stop))
        })
        .collect();
    std::thread::sleep(LOAD);
    stop.store(true, Ordering::Relaxed);
    drop(running);
    for one in all {
        let _ = one.join();
    }
    std::thread::sleep(HOLD);
    servers.most.load(Ordering::SeqCst)
}

fn indented(lines: &str, servers: &[Counting]) -> String {
    let each = |line: &str| {
        let word = |word: &str| match word {
            "A" | "B" | "C" | "D" => servers[usize::from(word.as_bytes()[0] - b'A')].address.to_string(),
            other => other.to_owned(),
        };
        format!("    {}\n", line.split(' ').map(word).collect::<Vec<_>>().join(" "))
    };
    lines.lines().map(each).collect()
}

/// Clients from which on some wait, by the law: from and to.
fn begins(law: &Law) -> (i64, i64) {
    match *law {
        Law::Workers { workers, .. } => (workers as i64, workers as i64),
        Law::Growing { least, most, full, .. } => {
            (least as i64, if full.is_none_or(|full| most >= full) { most as i64 } else { least as i64 })
        }
        Law::Slots { value, soft, .. } => ((value * soft).round() as i64, value as i64),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn as_many_clients_as_predicted_are_served_at_once_and_a_tenth_more_are_not() {
    if Command::new("haproxy").arg("-v").stdout(Stdio::null()).status().is_err() {
        return genkai_tidy::noted::skipped("haproxy is not installed");
    }
    let every = if std::env::var_os("GENKAI_PREDICTIONS").is_some() { 1 } else { 5 };
    let (now, most) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let servers: Vec<Counting> = (0..4).map(|_| counting(&now, &most)).collect();
    let dir = tempfile::tempdir().unwrap();
    let (mut wrong, mut held, mut untold) = (Vec::new(), 0, Vec::new());
    for (id, global, defaults, front, back) in CASES.iter().step_by(every) {
        let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        // Options of the listener's line stand first.
        let (bind, front) =
            front.strip_prefix("bind ").map_or(("", *front), |rest| rest.split_once('\n').unwrap_or((rest, "")));
        let path = dir.path().join("haproxy.cfg");
        let text = format!(
            "global\n{}defaults base\n    mode http\n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\n    timeout queue \
             20s\ndefaults special from base\n{}frontend f from special\n    bind {at} {bind}\n    default_backend b\n{}backend b from special\n{}",
            indented(global, &servers),
            indented(defaults, &servers),
            indented(front, &servers),
            indented(back, &servers),
        );
        std::fs::write(&path, &text).unwrap();
        let explained = explain(Some("haproxy"), &path, &Requests::to("localhost", "/")).unwrap();
        let Some(limit) = explained.limits.iter().find(|limit| limit.id == *id) else {
            // One server without a cap takes the rest: nothing is predicted, and nobody waits. Where HAProxy answers, none gets there.
            let seen = load(&path, at, 30, &servers[0]);
            held += 1;
            let answers = ["return", "monitor-uri"].iter().any(|word| front.contains(word));
            if seen < 30 && !(seen == 0 && answers) {
                wrong.push(format!("{back}: no limit, and {seen} of 30 at once"));
            }
            continue;
        };
        // No number is told where it depends on the clients.
        if limit.law == Law::Unknown {
            untold.push(*back);
            continue;
        }
        let (low, high) = begins(&limit.law);
        // Noise makes fewer, never more: what fails is tried again.
        let more = high + (high + 9) / 10;
        let all_served = (0..3).any(|_| load(&path, at, low, &servers[0]) == low);
        let waits = load(&path, at, more, &servers[0]) < more;
        held += 2;
        if !all_served || !waits {
            wrong.push(format!("{id} {low}-{high}: all served: {all_served}, {more} wait: {waits}\n{text}"));
        }
    }
    println!("{held} predictions, no number is told of {untold:?}");
    assert!(untold.len() * 10 <= CASES.len(), "{untold:?}");
    assert!(wrong.is_empty(), "{} of {held} do not hold:\n{}", wrong.len(), wrong.join("\n"));
}

/// What comes back for bytes that are no TLS, within so long.
fn rejected(at: SocketAddr, within: Duration) -> Option<usize> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(within)).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    stream.read(&mut [0; 64]).or_else(|e| if e.kind() == ErrorKind::ConnectionReset { Ok(0) } else { Err(e) }).ok()
}

/// HAProxy counts a TLS connection when it is accepted: a handshake need not be tried.
#[test]
fn a_tls_connection_beyond_maxsslconn_is_accepted_and_left_alone() {
    if Command::new("haproxy").arg("-v").stdout(Stdio::null()).status().is_err() {
        return genkai_tidy::noted::skipped("haproxy is not installed");
    }
    let dir = tempfile::Builder::new().prefix("genkai-hs-").tempdir().unwrap();
    let papers = authority::make(dir.path()).unwrap();
    // All at once, so that none is given twice.
    let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [one, two, plain] = free.map(|listener| listener.local_addr().unwrap());
    let path = dir.path().join("haproxy.cfg");
    let text = format!(
        "global\n  maxsslconn 3\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\nfrontend f\n  \
         bind {one} ssl crt {both}\n  bind {two} ssl crt {both}\n  bind {plain}\n  http-request return status 200\n",
        both = papers.both.display(),
    );
    std::fs::write(&path, text.replace(&format!("  bind {plain}\n"), "")).unwrap();
    let explained = explain(Some("haproxy"), &path, &Requests::to("localhost", "/")).unwrap();
    let limit = explained.limits.iter().find(|limit| limit.id == "haproxy.maxsslconn").unwrap();
    assert!(limit.caps.contains("its client hangs"), "{}", limit.caps);
    std::fs::write(&path, &text).unwrap();
    let _running = haproxy(&path, plain);
    let patient = Duration::from_secs(10);
    assert!(rejected(one, patient).is_some() && rejected(two, patient).is_some(), "with room it ends a handshake");
    let mut held: Vec<TcpStream> = [one, two, one].iter().map(|at| TcpStream::connect(at).unwrap()).collect();
    let until = Instant::now() + patient;
    // As soon as all three are counted no listener has room.
    let short = Duration::from_secs(1);
    while [one, two].iter().any(|at| rejected(*at, short).is_some()) {
        assert!(Instant::now() < until, "three connections fill it");
        // One that came before those of above were forgotten is left alone for good, and not counted.
        held.push(TcpStream::connect(one).unwrap());
    }
    assert!(user_once(plain), "a listener without TLS is not concerned");
    drop(held);
    while rejected(one, short).is_none() || rejected(two, short).is_none() {
        assert!(Instant::now() < until + patient, "with room there is an answer again");
    }
}

/// Whether one request is answered.
fn user_once(to: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(to) else { return false };
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").is_ok()
        && head(&mut BufReader::new(stream)).is_some()
}
