//! The WebSocket client against ws on Node.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::product::{Product, file, folder, said};
use crate::server::{Seen, load, make, users};
use genkai_model::error::ErrorKind;
use genkai_model::load::{Load, Protocol};
use genkai_model::websocket::{Deflate, Message, WebSocket};

/// The application of the server comparison, with the ws that it uses.
fn application() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/node-ws");
    assert!(folder.join("node_modules/ws").exists(), "ws is not installed; `make apps` does that");
    folder
}

fn sockets() -> Product {
    let folder = folder();
    let mut command = Command::new("node");
    command.arg(file("node/sockets.js")).arg(application()).arg(folder.path().join("access.log"));
    Product::start(folder, &mut command, |output| said(output, "listening on port ")).unwrap()
}

/// Six messages of two users.
fn talk(server: &Product, path: &str, change: impl FnOnce(&mut WebSocket)) -> Seen {
    let message = Some(Message { size: 500, binary: false });
    let mut websocket = WebSocket { message, ..WebSocket::default() };
    change(&mut websocket);
    let mut load = Load { arrivals: users(2), protocol: Protocol::WebSocket(websocket), ..load(server.address, 6) };
    load.request.path = path.to_owned();
    make(&load)
}

#[track_caller]
fn echoes(server: &Product, path: &str, change: impl FnOnce(&mut WebSocket)) -> Seen {
    let seen = talk(server, path, change);
    let messages = seen.messages();
    assert_eq!((seen.ok(), seen.kinds(), messages.delivered, messages.lost), (6, vec![], 6, 0), "{path}");
    assert_eq!((seen.codes(), server.connections(path, 2)), (vec![(1000, 2)], Ok(2)), "{path}");
    seen
}

#[test]
fn echoes_of_all_sizes_and_kinds() {
    let server = sockets();
    for (size, binary) in [(24, false), (125, true), (126, false), (65_535, true), (65_536, false), (1_000_000, true)] {
        let path = format!("/echo?{size}");
        let seen = echoes(&server, &path, |websocket| websocket.message = Some(Message { size, binary }));
        assert!(seen.sum(|t| t.bytes_in) > 6 * size && seen.sum(|t| t.bytes_out) > 6 * size);
    }
    let seen = echoes(&server, "/fragments", |_| ());
    assert!(seen.messages().pings > 0, "pings between fragments were answered");
    let seen = echoes(&server, "/welcome", |_| ());
    assert_eq!(seen.messages().foreign, 2, "what came with the handshake was heard");
}

#[test]
fn compression_as_agreed() {
    let server = sockets();
    for path in ["/takeover", "/no-takeover", "/small-window", "/fragments-deflate", "/echo"] {
        for (n, deflate) in [Deflate::Takeover, Deflate::NoTakeover].into_iter().enumerate() {
            let size = 20_000;
            let seen = echoes(&server, &format!("{path}?{n}"), |websocket| {
                websocket.message = Some(Message { size, binary: false });
                websocket.deflate = Some(deflate);
            });
            let compressed = seen.sum(|t| t.bytes_in) < 6 * size / 2 && seen.sum(|t| t.bytes_out) < 6 * size / 2;
            assert_eq!(compressed, path != "/echo", "{path}: only if the server wants it");
        }
    }
    // Not offered, not used.
    echoes(&server, "/takeover", |_| ());
}

#[test]
fn connections_that_ws_ends() {
    let server = sockets();
    for (path, kind, code) in [
        ("/going-away", ErrorKind::Closed, 1001),
        ("/own-code", ErrorKind::Closed, 4321),
        ("/no-code", ErrorKind::Closed, 1005),
        ("/terminate", ErrorKind::ClosedAbnormally, 1006),
        ("/closes-at-once", ErrorKind::Closed, 1013),
    ] {
        let seen = talk(&server, path, |_| ());
        assert_eq!((seen.ok(), seen.kinds(), seen.errors()), (0, vec![kind], 6), "{path}");
        assert_eq!((seen.codes(), server.connections(path, 6)), (vec![(code, 6)], Ok(6)), "{path}");
        // The close frame was answered with its own code, as far as there was one.
        let ended = format!("closed {path} {code}\n");
        assert!(server.says(|output| output.matches(&ended).count() == 6), "{path}: {}", server.output());
    }
    let seen = talk(&server, "/small", |websocket| websocket.message = Some(Message { size: 2_000, binary: true }));
    assert_eq!((seen.kinds(), seen.codes()), (vec![ErrorKind::Closed], vec![(1009, 6)]), "too big for the server");
    echoes(&server, "/small?enough", |websocket| websocket.message = Some(Message { size: 1_000, binary: true }));
}

#[test]
fn text_that_is_none_is_refused_with_1007() {
    let server = sockets();
    for path in ["/invalid-text", "/invalid-border"] {
        let seen = talk(&server, path, |_| ());
        assert_eq!((seen.ok(), seen.kinds(), seen.errors()), (0, vec![ErrorKind::Frame], 6), "{path}");
        let ended = format!("closed {path} 1007\n");
        assert!(server.says(|output| output.matches(&ended).count() == 6), "{path}: {}", server.output());
    }
}

#[test]
fn handshakes_that_ws_refuses() {
    let server = sockets();
    let offers = |websocket: &mut WebSocket| websocket.subprotocols = vec!["chat".into(), "news".into()];
    for (path, kind) in [
        ("/who", ErrorKind::Status4xx),
        ("/refused", ErrorKind::Status4xx),
        ("/wrong-protocol", ErrorKind::UpgradeInvalid),
    ] {
        let seen = talk(&server, path, offers);
        assert_eq!((seen.ok(), seen.kinds(), seen.errors()), (0, vec![kind], 6), "{path}");
        assert_eq!(seen.codes(), [], "{path}: never open");
    }
    echoes(&server, "/protocol", offers);
}

#[test]
fn the_application_echoes_and_says_goodbye() {
    for deflate in [false, true] {
        let mut command = Command::new("node");
        command.arg(application().join("server.js")).args(deflate.then_some("--deflate"));
        let server = Product::start(folder(), &mut command, |output| said(output, "127.0.0.1:")).unwrap();
        let seen = talk(&server, "/echo", |websocket| {
            websocket.message = Some(Message { size: 20_000, binary: false });
            websocket.deflate = Some(Deflate::Takeover);
        });
        assert_eq!((seen.ok(), seen.errors(), seen.codes()), (6, 0, vec![(1000, 2)]));
        assert_eq!(seen.sum(|t| t.bytes_in) < 6 * 20_000 / 2, deflate);
        assert_eq!(talk(&server, "/elsewhere", |_| ()).kinds(), [ErrorKind::Status4xx]);
    }
}
