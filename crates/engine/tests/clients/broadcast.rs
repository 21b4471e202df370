//! Clients that do one thing together, against the real ws and Socket.IO.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::product::{Product, folder, said};
use genkai_engine::broadcast::{Answer, BroadcastClients, BroadcastError, ClientOptions};
use genkai_model::latencies::Case;

const PATIENCE: Duration = Duration::from_secs(20);
const PLAIN: ClientOptions = ClientOptions { socketio: false, compression: false };
const SOCKET_IO: ClientOptions = ClientOptions { socketio: true, compression: false };

/// An application of the server comparison, with what it uses.
fn application(name: &str, module: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").join(name);
    assert!(folder.join("node_modules").join(module).exists(), "{module} is not installed; `make apps` does that");
    folder.join("server.js")
}

fn start(script: &Path, flags: &[&str]) -> Result<Product, String> {
    let mut command = Command::new("node");
    command.arg(script).args(flags);
    Product::start(folder(), &mut command, |output| said(output, "127.0.0.1:"))
}

fn ws(flags: &[&str]) -> Product {
    start(&application("node-ws", "ws"), flags).unwrap()
}

fn socket_io(flags: &[&str]) -> Product {
    start(&application("socketio", "socket.io"), flags).unwrap()
}

#[track_caller]
fn whole(clients: &mut BroadcastClients, case: Case) -> Answer {
    let answer = clients.ask(case, 100).unwrap();
    assert!(answer.figure.is_some_and(|ns| ns > 0 && u128::from(ns) <= answer.lasted.as_nanos()), "{case}: {answer:?}");
    assert!(answer.missing == 0 && answer.closes.is_empty(), "{case}: {answer:?}");
    assert!(answer.heap > Some(0) && answer.busy > 0.0, "{case}: {answer:?}");
    answer
}

#[test]
fn all_cases_in_all_manners() {
    let compressed = ClientOptions { compression: true, ..PLAIN };
    for (server, options) in
        [(ws(&[]), PLAIN), (ws(&["--deflate"]), compressed), (socket_io(&[]), SOCKET_IO), (ws(&[]), compressed)]
    {
        let mut clients = BroadcastClients::connect(server.address, options, 70, PATIENCE).unwrap();
        let received = whole(&mut clients, Case::Receive);
        assert_eq!((received.due, received.delays.len()), (70, 70));
        assert!(
            received.figure.unwrap() >= received.delays.value_at_quantile(0.5),
            "the last is no earlier than others"
        );
        assert_eq!(whole(&mut clients, Case::Send).due, 70);
        for binary in [false, true] {
            for bytes in [100, 70_000, 900_000] {
                whole(&mut clients, Case::Give { bytes, binary });
                whole(&mut clients, Case::Take { bytes, binary });
            }
        }
        assert_eq!(clients.reconnect().unwrap(), 0, "all are still connected");
    }
}

#[test]
fn what_is_too_big_ends_the_connection_and_the_next_question_opens_it_again() {
    let big = Case::Take { bytes: 5_001, binary: true };
    for (server, options) in
        [(ws(&["--max-payload", "5000"]), PLAIN), (socket_io(&["--max-payload", "5000"]), SOCKET_IO)]
    {
        let mut clients = BroadcastClients::connect(server.address, options, 3, PATIENCE).unwrap();
        for _ in 0..3 {
            let answer = clients.ask(big, 100).unwrap();
            assert_eq!((answer.figure, answer.missing), (None, 1));
            assert_eq!(answer.closes.iter().map(|close| (close.code, close.count)).collect::<Vec<_>>(), [(1009, 1)]);
            whole(&mut clients, Case::Take { bytes: 5_000, binary: true });
            assert_eq!(whole(&mut clients, Case::Receive).due, 3);
        }
    }
}

/// Asks until the answer is whole again; how often connections had to be opened.
fn until_whole(clients: &mut BroadcastClients) -> Answer {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match clients.ask(Case::Receive, 100) {
            Ok(answer) if answer.missing == 0 => return answer,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
    }
}

#[test]
fn a_server_that_comes_back_is_connected_to_again() {
    for (script, options) in [(application("node-ws", "ws"), PLAIN), (application("socketio", "socket.io"), SOCKET_IO)]
    {
        let first = start(&script, &[]).unwrap();
        let address: SocketAddr = first.address;
        let mut clients = BroadcastClients::connect(address, options, 40, Duration::from_secs(5)).unwrap();
        whole(&mut clients, Case::Receive);
        drop(first);
        // Whether the end is heard before or after the question: nothing comes, and nobody waits for ever.
        match clients.ask(Case::Receive, 100) {
            Ok(answer) => assert!(answer.figure.is_none() && answer.missing == 40, "{answer:?}"),
            Err(e) => assert!(matches!(e, BroadcastError::Connect { .. } | BroadcastError::Open { .. }), "{e}"),
        }
        let Err(BroadcastError::Connect { address: to, .. }) = clients.reconnect() else { panic!("nobody listens") };
        assert_eq!(to, address);
        let port = address.port().to_string();
        // Another process may have been given the port meanwhile; then there is nothing to come back to.
        let Ok(second) = start(&script, &["--port", &port]) else { continue };
        assert_eq!(second.address, address);
        assert_eq!(until_whole(&mut clients).due, 40);
    }
}

#[test]
fn socket_io_pings_are_answered_and_silence_is_an_end() {
    let server = socket_io(&["--ping-interval", "150", "--ping-timeout", "3000"]);
    let mut clients = BroadcastClients::connect(server.address, SOCKET_IO, 5, PATIENCE).unwrap();
    let end = Instant::now() + Duration::from_secs(4);
    while Instant::now() < end {
        clients.poll().unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(clients.reconnect().unwrap(), 0, "a client that answers pings stays longer than a ping's timeout");
    // Unattended it does not answer, and the server ends it; or its own patience ends first.
    std::thread::sleep(Duration::from_millis(3_600));
    clients.poll().unwrap();
    assert_eq!(clients.reconnect().unwrap(), 5, "all had to be opened again");
    assert_eq!(until_whole(&mut clients).due, 5);
}

#[test]
fn a_server_of_something_else_is_told_apart() {
    let server = ws(&[]);
    let error = BroadcastClients::connect(server.address, SOCKET_IO, 1, Duration::from_secs(5)).unwrap_err();
    assert!(matches!(error, BroadcastError::Open { number: 0, .. }), "{error}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = BroadcastClients::connect(closed, PLAIN, 1, Duration::from_secs(5)).unwrap_err();
    assert!(matches!(error, BroadcastError::Connect { .. }), "{error}");
}
