//! `genkai serve`: the embedded servers, each a process of its own.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use genkai_model::exit::Exit;
use genkai_origin::Reserved;
use genkai_origin::http::Stall;
use genkai_place::machine;
use genkai_place::process::{Child, Signal, Spawn};

use crate::cli::{Echo, Link, Origin, Rooms};
use crate::{Failure, interrupt};

/// How often processes of ours are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long one of them may take to listen, or to end.
const WITHIN: Duration = Duration::from_secs(10);

/// `genkai serve origin`. The first line on stdout tells the address.
pub(crate) fn origin(flags: &Origin) -> Result<Exit, Failure> {
    let listener = genkai_origin::listen(flags.listen).map_err(|e| taken(flags.listen, &e))?;
    announce(address(&listener)?)?;
    let extras = genkai_origin::http::Extras {
        stats: flags.stats.map(|s| s.duration()),
        stall: flags.stall.map(|lasts| Stall { lasts: lasts.duration(), every: flags.stall_every.duration() }),
        account: flags.account.clone(),
    };
    genkai_origin::http::serve(listener, flags.origin.spec(), &extras, interrupt::plain_flag())
        .map_err(|e| Failure::environment(format!("the origin stopped: {e}")))?;
    Ok(Exit::Holds)
}

/// `genkai serve echo`. The first line on stdout tells the address.
pub(crate) fn echo(flags: &Echo) -> Result<Exit, Failure> {
    genkai_lab::raise_descriptors();
    if flags.processes > 1 {
        return several(flags);
    }
    let listen = if flags.shared { genkai_origin::listen_shared } else { genkai_origin::listen };
    let listener = listen(flags.listen).map_err(|e| taken(flags.listen, &e))?;
    announce(address(&listener)?)?;
    let spec = genkai_origin::echo::Spec {
        deflate: !flags.no_deflate,
        max_message: flags.max_message.0,
        delay: flags.delay.duration(),
    };
    genkai_origin::echo::serve(listener, spec, &interrupt::plain_flag())
        .map_err(|e| Failure::environment(format!("the echo server stopped: {e}")))?;
    Ok(Exit::Holds)
}

/// `genkai serve link`. The first line on stdout tells the address.
pub(crate) fn link(flags: &Link) -> Result<Exit, Failure> {
    for (name, share) in [("--loss", flags.loss), ("--reset", flags.reset)] {
        if !(0.0..=1.0).contains(&share) {
            return Err(Failure::usage(format!("{name} {share}: must be a share between 0 and 1, such as 0.02")));
        }
    }
    let listener = genkai_origin::listen(flags.listen).map_err(|e| taken(flags.listen, &e))?;
    announce(address(&listener)?)?;
    let spec = genkai_origin::link::Spec {
        delay: flags.delay.duration(),
        loss: flags.loss,
        reset: flags.reset,
        rate: flags.rate.map_or(0, |bytes| bytes.0),
    };
    genkai_origin::link::serve(listener, flags.to, spec, flags.seed, &interrupt::plain_flag())
        .map_err(|e| Failure::environment(format!("the link stopped: {e}")))?;
    Ok(Exit::Holds)
}

/// `genkai serve rooms`. The first line on stdout tells the address.
pub(crate) fn rooms(flags: &Rooms) -> Result<Exit, Failure> {
    let listener = genkai_origin::listen(flags.listen).map_err(|e| taken(flags.listen, &e))?;
    let address = address(&listener)?;
    let spec = genkai_origin::rooms::Spec {
        max_message: flags.max_message.0,
        member_queue: usize::try_from(flags.member_queue.0).unwrap_or(usize::MAX),
        trace: flags.trace,
        redis: flags.redis.clone(),
        lose_every: flags.lose_every,
    };
    let joined = || announce(address).map_err(|e| io::Error::other(e.message));
    genkai_origin::rooms::serve(listener, spec, flags.stats.map(|s| s.duration()), &interrupt::plain_flag(), joined)
        .map_err(|e| Failure::environment(format!("the rooms stopped: {e}")))?;
    Ok(Exit::Holds)
}

/// The echo server in several processes on one port, which end together.
fn several(flags: &Echo) -> Result<Exit, Failure> {
    let stop = interrupt::plain_flag();
    let reserved = Reserved::take(flags.listen).map_err(|e| taken(flags.listen, &e))?;
    let address = reserved.address().map_err(|e| taken(flags.listen, &e))?;
    let mut children = Vec::with_capacity(usize::from(flags.processes));
    for number in 1..=flags.processes {
        children.push(one_of(flags, address, number)?);
    }
    drop(reserved);
    announce(address)?;
    while !stop.load(Ordering::Relaxed) {
        if let Some((number, status)) = (1..).zip(&mut children).find_map(|(n, c)| Some((n, c.try_exited()?))) {
            return Err(Failure::environment(format!(
                "process {number} of the echo server ended by itself ({status})"
            )));
        }
        thread::sleep(LOOK);
    }
    children.iter().for_each(|child| child.signal(Signal::SIGTERM));
    for mut child in children {
        child.stop(Signal::SIGTERM, WITHIN);
    }
    Ok(Exit::Holds)
}

/// Starts one of them and waits until it listens.
fn one_of(flags: &Echo, address: SocketAddr, number: u16) -> Result<Child, Failure> {
    let name = format!("process {number} of the echo server");
    let fail = |why: String| Failure::environment(format!("{name}: {why}"));
    let mut command = Command::new(crate::program()?);
    command.args(["serve", "echo", "--shared", "--listen", &address.to_string()]);
    command.args(["--max-message", &flags.max_message.0.to_string()]);
    command.args(["--delay", &flags.delay.to_string()]);
    command.args(flags.no_deflate.then_some("--no-deflate"));
    let nofile = Some(machine::hard_descriptors());
    let spawn = Spawn { name: name.clone(), nofile, ..Spawn::default() };
    let mut child = Child::piped(command, spawn).map_err(|e| fail(e.to_string()))?;
    let out = child.take_stdout().ok_or_else(|| fail("no output".to_owned()))?;
    let (tell, said) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(out).read_line(&mut line);
        let _ = tell.send(line);
    });
    match said.recv_timeout(WITHIN) {
        Ok(line) if line.contains("listening") => Ok(child),
        _ => Err(fail("it does not listen".to_owned())),
    }
}

fn taken(address: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot listen on {address}: {error}\n  hint: port 0 takes a free one"))
}

fn address(listener: &TcpListener) -> Result<SocketAddr, Failure> {
    listener.local_addr().map_err(|e| Failure::environment(e.to_string()))
}

fn announce(address: SocketAddr) -> Result<(), Failure> {
    let line = serde_json::json!({ "listening": address.to_string() });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| Failure::environment(format!("stdout: {e}")))
}
