//! TCP, Unix sockets and TLS: the same load over each, and what can be wrong with a certificate.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use crate::authority::{Authority, Paper, TlsServer};
use crate::server::{HELLO, Seen, Server, load, make, users};
use genkai_engine::{EngineError, StopFlag, run};
use genkai_model::error::ErrorKind;
use genkai_model::load::{Body, Load, Reuse, Stop};
use genkai_model::transport::{Identity, Tls, Transport};
use genkai_model::units::Span;

fn tls(server: &TlsServer, authority: &Authority, requests: u64) -> Load {
    let tls = authority.trusted();
    Load { transport: Transport::Tls(tls), ..load(server.address, requests) }
}

fn spec(load: &mut Load) -> &mut Tls {
    match &mut load.transport {
        Transport::Tls(tls) => tls,
        other => panic!("{other:?}"),
    }
}

fn handshakes(seen: &Seen) -> (u64, u64) {
    let of = |what: fn(&genkai_model::event::Handshakes) -> u64| {
        seen.ticks.iter().filter_map(|t| t.handshakes.as_ref()).map(what).sum()
    };
    (of(|h| h.full), of(|h| h.resumed))
}

#[test]
fn the_same_load_over_a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    seen.extend_from_slice(&buffer[..n]);
                    if seen.ends_with(b"\r\n\r\n") {
                        seen.clear();
                        let _ = stream.write_all(HELLO);
                    }
                }
            });
        }
    });
    let load = Load { addresses: vec![], arrivals: users(5), ..load("127.0.0.1:1".parse().unwrap(), 100) };
    let seen = make(&Load { transport: Transport::Unix { path: path.clone() }, ..load.clone() });
    assert_eq!((seen.ok(), seen.errors(), seen.sum(|t| t.opened)), (100, 0, 5));
    let missing = dir.path().join("nobody");
    let stop = Stop { requests: Some(3), ..load.stop };
    let seen = make(&Load { transport: Transport::Unix { path: missing }, arrivals: users(1), stop, ..load });
    assert_eq!(seen.kinds(), [ErrorKind::ConnectRefused]);
}

#[test]
fn requests_and_bodies_of_any_size_pass_through_tls() {
    let authority = Authority::new();
    let server = TlsServer::start(&authority, Paper::good());
    for size in [0, 1, 16_384, 16_385, 1_000_000] {
        let mut load = tls(&server, &authority, 12);
        load.arrivals = users(3);
        load.request.method = "POST".into();
        // The server sends back as many bytes as it got.
        load.request.body = Body::Size(size);
        let seen = make(&load);
        assert_eq!((seen.ok(), seen.errors()), (12, 0), "{size}: {:?}", seen.kinds());
        assert!(seen.sum(|t| t.bytes_in) >= 12 * size && seen.sum(|t| t.bytes_out) >= 12 * size);
        assert_eq!(handshakes(&seen).0 + handshakes(&seen).1, 3);
    }
}

#[test]
fn sessions_are_resumed_and_counted() {
    let authority = Authority::new();
    let server = TlsServer::start(&authority, Paper::good());
    let mut load = tls(&server, &authority, 10);
    load.reuse = Reuse::PerRequest;
    let seen = make(&load);
    assert_eq!((seen.ok(), handshakes(&seen)), (10, (1, 9)));
    spec(&mut load).resume = false;
    assert_eq!(handshakes(&make(&load)), (10, 0));
}

#[test]
fn what_is_wrong_with_a_certificate_has_a_name() {
    let (authority, other) = (Authority::new(), Authority::new());
    let fails = |paper: Paper, change: &dyn Fn(&mut Tls)| {
        let server = TlsServer::start(&authority, paper);
        let mut load = tls(&server, &authority, 1);
        change(spec(&mut load));
        make(&load).kinds()
    };
    let as_is = |_: &mut Tls| ();
    assert_eq!(fails(Paper { days: (-20, -10), ..Paper::good() }, &as_is), [ErrorKind::TlsExpired]);
    assert_eq!(fails(Paper { days: (10, 20), ..Paper::good() }, &as_is), [ErrorKind::TlsExpired]);
    assert_eq!(fails(Paper { name: "elsewhere.test", ..Paper::good() }, &as_is), [ErrorKind::TlsWrongName]);
    assert_eq!(fails(Paper::good(), &|tls| tls.ca = Some(other.file.clone())), [ErrorKind::TlsUntrusted]);
    assert_eq!(fails(Paper::good(), &|tls| tls.ca = Some(authority.issue_files("other").0)), [ErrorKind::TlsUntrusted]);
    let careless = |tls: &mut Tls| (tls.insecure, tls.ca) = (true, None);
    for paper in [Paper { days: (-20, -10), ..Paper::good() }, Paper { name: "elsewhere.test", ..Paper::good() }] {
        assert_eq!(fails(paper, &careless), []);
    }
}

/// What `openssl req -x509` makes: signed by itself, and an authority's by its own word.
#[test]
fn a_self_signed_certificate_is_taken_by_who_names_it_and_called_so_by_who_does_not() {
    let stranger = Authority::new();
    for paper in [Paper::good(), Paper { days: (-20, -10), ..Paper::good() }] {
        for is_authority in [true, false] {
            let own = Authority::self_signed(paper, is_authority);
            let server = TlsServer::start_with(own.config);
            let kinds = |tls: Tls| {
                let made = make(&Load { transport: Transport::Tls(tls), ..load(server.address, 1) });
                made.kinds()
            };
            let tls = Tls { ca: Some(own.file.clone()), ..stranger.trusted() };
            let valid = paper.days.1 > 0;
            let named = if valid { vec![] } else { vec![ErrorKind::TlsExpired] };
            assert_eq!(kinds(tls.clone()), named, "{is_authority}");
            let unnamed = if valid { ErrorKind::TlsSelfSigned } else { ErrorKind::TlsExpired };
            assert_eq!(kinds(stranger.trusted()), [unnamed], "{is_authority}");
            if valid {
                let elsewhere = Tls { server_name: "elsewhere.test".into(), ..tls };
                assert_eq!(kinds(elsewhere), [ErrorKind::TlsWrongName], "{is_authority}");
            }
        }
    }
    assert_eq!(ErrorKind::TlsSelfSigned.side(), genkai_model::error::Side::Unknown, "nobody's failure");
}

#[test]
fn a_client_shows_its_certificate_when_it_has_one() {
    let authority = Authority::new();
    let server = TlsServer::start(&authority, Paper { wants_client: true, ..Paper::good() });
    let mut load = tls(&server, &authority, 3);
    assert_eq!(make(&load).kinds(), [ErrorKind::TlsClientWanted]);
    let stranger = Authority::new();
    let (certificate, key) = stranger.issue_files("stranger");
    spec(&mut load).identity = Some(Identity { certificate, key });
    assert_eq!(make(&load).kinds(), [ErrorKind::TlsClientRefused]);
    let (certificate, key) = authority.issue_files("client");
    spec(&mut load).identity = Some(Identity { certificate, key });
    let seen = make(&load);
    assert_eq!((seen.ok(), seen.errors()), (3, 0));
}

#[test]
fn what_does_not_speak_tls_fails_in_the_handshake() {
    let authority = Authority::new();
    let of = |server: &Server, ms: u64| {
        let tls = Tls { resume: false, ..authority.trusted() };
        let timeout = Span::from_millis(ms);
        make(&Load { transport: Transport::Tls(tls), timeout, ..load(server.address, 1) }).kinds()
    };
    let http = Server::start(|stream, _| {
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    assert_eq!(of(&http, 5000), [ErrorKind::TlsFailed]);
    let closes = Server::start(|stream, _| {
        let _ = stream.read(&mut [0; 1000]);
    });
    assert_eq!(of(&closes, 5000), [ErrorKind::TlsClosed]);
    let silent = Server::start(|stream, _| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert_eq!(of(&silent, 80), [ErrorKind::TlsTimeout]);
}

#[test]
fn an_alert_is_told_by_its_own_name() {
    let authority = Authority::new();
    // RFC 8446 section 6.2, RFC 6066 section 3: a record of version 3.3 with two bytes, fatal and which.
    let says = |alert: u8| {
        let server = Server::start(move |stream, _| {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, alert]);
        });
        let tls = Tls { resume: false, ..authority.trusted() };
        make(&Load { transport: Transport::Tls(tls), ..load(server.address, 1) }).kinds()
    };
    assert_eq!(says(112), [ErrorKind::TlsUnknownName]);
    assert_eq!(says(70), [ErrorKind::TlsVersion]);
    assert_eq!(says(40), [ErrorKind::TlsHandshakeFailure]);
}

#[test]
fn files_that_cannot_be_used_are_named_before_the_load() {
    let authority = Authority::new();
    let server = TlsServer::start(&authority, Paper::good());
    let says = |change: &dyn Fn(&mut Tls)| {
        let mut load = tls(&server, &authority, 1);
        change(spec(&mut load));
        match run(&load, None, &StopFlag::new(), |_| panic!("started"), |_| ()).unwrap_err() {
            EngineError::Tls(message) => message,
            other => panic!("{other}"),
        }
    };
    let nowhere = PathBuf::from("/nowhere/ca.pem");
    assert!(says(&|tls| tls.ca = Some(nowhere.clone())).contains("/nowhere/ca.pem"));
    let empty = authority.dir.path().join("empty.pem");
    std::fs::write(&empty, "nothing here").unwrap();
    assert!(says(&|tls| tls.ca = Some(empty.clone())).contains("no certificate"));
    assert!(says(&|tls| tls.server_name = "a b".into()).contains("`a b`"));
    let (certificate, key) = authority.issue_files("one");
    let (_, strange) = authority.issue_files("two");
    let unfit = Identity { certificate: certificate.clone(), key: strange };
    assert!(says(&|tls| tls.identity = Some(unfit.clone())).contains("do not fit"));
    let swapped = Identity { certificate: key, key: certificate };
    assert!(says(&|tls| tls.identity = Some(swapped.clone())).contains("no private key"));
}
