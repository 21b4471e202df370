//! Socket.IO packets: what the reference implementation writes, properties, and nonsense.

use genkai_wire::socketio::{Delivery, Error, Frame, Inbox, Kind, MOST_ATTACHMENTS, Packet};
use proptest::prelude::*;

fn packet<'a>(kind: Kind, attachments: u32, namespace: &'a str, id: Option<u64>, data: &'a str) -> Frame<'a> {
    Frame::Message(Packet { kind, attachments, namespace, id, data })
}

fn written(frame: &Frame<'_>) -> String {
    let mut out = String::new();
    frame.write(&mut out);
    out
}

#[test]
fn packets_as_in_the_protocols_own_examples() {
    let open =
        r#"{"sid":"lv_VI97HAXpY6yYWAAAC","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#;
    let binary = r#"["baz",{"_placeholder":true,"num":0}]"#;
    for (text, frame) in [
        (format!("0{open}").as_str(), Frame::Open(open)),
        ("1", Frame::Close),
        ("2", Frame::Ping("")),
        ("3probe", Frame::Pong("probe")),
        ("6", Frame::Noop),
        ("40", packet(Kind::Connect, 0, "/", None, "")),
        (r#"40/admin,{"token":"123"}"#, packet(Kind::Connect, 0, "/admin", None, r#"{"token":"123"}"#)),
        ("41/admin,", packet(Kind::Disconnect, 0, "/admin", None, "")),
        (r#"42["foo"]"#, packet(Kind::Event, 0, "/", None, r#"["foo"]"#)),
        (r#"42/admin,12["foo",1]"#, packet(Kind::Event, 0, "/admin", Some(12), r#"["foo",1]"#)),
        (r#"43/admin,13["bar"]"#, packet(Kind::Ack, 0, "/admin", Some(13), r#"["bar"]"#)),
        (
            r#"44{"message":"Not authorized"}"#,
            packet(Kind::ConnectError, 0, "/", None, r#"{"message":"Not authorized"}"#),
        ),
        (&format!("451-{binary}"), packet(Kind::BinaryEvent, 1, "/", None, binary)),
        (&format!("461-/admin,15{binary}"), packet(Kind::BinaryAck, 1, "/admin", Some(15), binary)),
    ] {
        assert_eq!(Frame::parse(text), Ok(frame), "{text}");
        assert_eq!(written(&frame), text);
    }
}

#[test]
fn nonsense_is_told_apart() {
    for (text, error) in [
        ("", Error::Frame),
        ("7", Error::Frame),
        ("é", Error::Frame),
        ("4", Error::Kind),
        ("47", Error::Kind),
        ("4x", Error::Kind),
        ("45", Error::Attachments),
        ("45-[]", Error::Attachments),
        ("45+1-[]", Error::Attachments),
        ("459999999-[]", Error::Attachments),
        ("42/admin", Error::Namespace),
        ("4299999999999999999999[]", Error::Id),
    ] {
        assert_eq!(Frame::parse(text), Err(error), "{text}");
    }
    assert!(Frame::parse(&format!("45{MOST_ATTACHMENTS}-[]")).is_ok());
}

#[test]
fn attachments_follow_their_packet() {
    let mut inbox = Inbox::default();
    let text = r#"452-/a,["x",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#;
    assert_eq!(inbox.binary(b"early"), Err(Error::Order));
    assert_eq!(inbox.text(text), Ok(None));
    assert_eq!(inbox.text("42[]"), Err(Error::Order), "a packet while attachments are due");
    assert_eq!(inbox.text("2"), Ok(Some(Delivery::Frame(Frame::Ping("")))), "Engine.IO may come in between");
    assert_eq!(inbox.binary(b"one"), Ok(None));
    let Ok(Some(Delivery::Packet(packet, attachments))) = inbox.binary(b"two") else { panic!("whole") };
    assert_eq!((packet.namespace, packet.attachments, attachments), ("/a", 2, &[b"one".to_vec(), b"two".to_vec()][..]));
    assert_eq!(inbox.binary(b"late"), Err(Error::Order));
    assert!(matches!(inbox.text("42[]"), Ok(Some(Delivery::Packet(_, [])))));
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![
        Kind::Connect,
        Kind::Disconnect,
        Kind::Event,
        Kind::Ack,
        Kind::ConnectError,
        Kind::BinaryEvent,
        Kind::BinaryAck,
    ])
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        kind in any_kind(),
        attachments in 0..=MOST_ATTACHMENTS,
        namespace in "/[^,]{0,12}",
        id in proptest::option::of(any::<u64>()),
        data in r#"(|[\[{].{0,40})"#,
    ) {
        let attachments = if kind.is_binary() { attachments } else { 0 };
        let frame = packet(kind, attachments, &namespace, id, &data);
        let text = written(&frame);
        prop_assert_eq!(Frame::parse(&text), Ok(frame));
    }

    #[test]
    fn any_text_is_an_answer_or_an_error(texts in proptest::collection::vec("[0-9]{0,3}[-/,a\\[]{0,4}.{0,6}", 1..20)) {
        let mut inbox = Inbox::default();
        for text in &texts {
            if let Ok(frame) = Frame::parse(text) {
                let again = written(&frame);
                prop_assert_eq!(Frame::parse(&again), Ok(frame));
            }
            let _ = inbox.text(text).is_ok();
            let _ = inbox.binary(text.as_bytes()).is_ok();
        }
    }
}
