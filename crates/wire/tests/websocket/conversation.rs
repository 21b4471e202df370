//! A client and a server that open a WebSocket, speak and close it, over a connection on which everything happens that can.

use genkai_wire::http1::RequestHead;
use genkai_wire::websocket::deflate::{Agreed, Effort, Settings};
use genkai_wire::websocket::handshake::{Handshake, Opening, Progress, Upgrade};
use genkai_wire::websocket::{Assembler, Close, Decoder, Event, MAX_MESSAGE, Role, Scratch, code};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::decoded::Output;
use crate::properties::{Plan, Writer, decoder, plan};
use crate::stream::{Actor, Fortune, Side, converse, fortune, pair};

/// One of the two, from the handshake to the end.
struct Peer<'a> {
    side: Side,
    role: Role,
    plan: &'a [Plan],
    /// Settings that it offers, or agrees to.
    deflate: Option<Settings>,
    sent: usize,
    /// What was read of a handshake that is not whole.
    head: Vec<u8>,
    handshake: Option<Handshake>,
    open: Option<Open>,
    /// What the other should hear, messages and pings, in order.
    said: Vec<Output>,
    /// What was heard, in order, pongs too.
    heard: Vec<Output>,
    /// Whether its close frame is on its way or there.
    closing: bool,
    agreed: Option<Agreed>,
    out: Vec<u8>,
}

struct Open {
    writer: Writer,
    decoder: Decoder,
    scratch: Scratch,
    assembler: Assembler,
}

fn opening(deflate: Option<Settings>) -> Opening<'static> {
    Opening { target: "/", host: "h", fields: &[], protocols: &["a", "b"], deflate }
}

impl<'a> Peer<'a> {
    fn new(side: Side, role: Role, plan: &'a [Plan], deflate: Option<Settings>) -> Peer<'a> {
        let (said, heard, agreed) = (Vec::new(), Vec::new(), None);
        let (sent, head, out, handshake, open) = (0, Vec::new(), Vec::new(), None, None);
        Peer { side, role, plan, deflate, sent, head, handshake, open, said, heard, closing: false, agreed, out }
    }

    /// Opens, as far as `bytes` go; what is left of them are frames.
    fn shake(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (used, agreed) = match &mut self.handshake {
            Some(handshake) => match handshake.receive(&opening(self.deflate), bytes).expect("a right answer") {
                Progress::More => return Vec::new(),
                Progress::Open { used, agreement, .. } => (used, agreement.deflate),
                Progress::Refused { response, .. } => panic!("{response:?}"),
            },
            None => {
                self.head.extend_from_slice(bytes);
                let Some(head) = RequestHead::parse(&self.head).expect("a right request") else { return Vec::new() };
                let upgrade = Upgrade::check(&self.head, &head).expect("a right request");
                let agreed = upgrade.accept(&mut self.out, Some("b"), self.deflate.as_ref(), &[]).unwrap();
                (head.length + bytes.len() - self.head.len(), agreed)
            }
        };
        // All of the head has come before, but for what is in `bytes`.
        self.agree(agreed);
        bytes[used..].to_vec()
    }

    fn agree(&mut self, agreed: Option<Agreed>) {
        let writer = Writer::new(self.role, agreed.as_ref(), Effort { level: 6, threshold: 20 }, 7);
        let decoder = decoder(self.role, agreed.as_ref(), MAX_MESSAGE);
        let (scratch, assembler) = (Scratch::default(), Assembler::default());
        (self.open, self.agreed) = (Some(Open { writer, decoder, scratch, assembler }), agreed);
    }

    fn hear(&mut self, mut bytes: Vec<u8>) {
        let Some(open) = &mut self.open else { return };
        let mut at = 0;
        loop {
            let (used, event) =
                open.decoder.decode(&mut bytes[at..], &mut open.scratch).expect("the peer keeps to the rules");
            at += used;
            match event {
                None => return,
                Some(Event::Data(chunk)) => {
                    self.heard.extend(open.assembler.push(chunk).map(|m| Output::Message(m.kind, m.data.to_vec())));
                }
                Some(Event::Ping(payload)) => {
                    self.heard.push(Output::Ping(payload.to_vec()));
                    // It fails only after the close frame.
                    let _ = open.writer.encoder.pong(&mut open.writer.out, payload, 3);
                }
                Some(Event::Pong(payload)) => self.heard.push(Output::Pong(payload.to_vec())),
                Some(Event::Close(close)) => {
                    self.heard.push(Output::Close(close.code, close.reason.to_owned()));
                    if !self.closing {
                        open.writer.encoder.close(&mut open.writer.out, Close::answer(&close), 5).unwrap();
                    }
                    self.closing = true;
                    return;
                }
            }
        }
    }

    /// Says the next thing, when everything before is on its way.
    fn speak(&mut self) {
        let Some(open) = &mut self.open else { return };
        match self.plan.get(self.sent) {
            _ if self.closing => {}
            Some(plan) => {
                open.writer.write(plan, &mut self.said);
                self.sent += 1;
            }
            // The client ends it; the server has heard everything then.
            None if self.role == Role::Client => {
                open.writer.encoder.close(&mut open.writer.out, Some((code::NORMAL, "bye")), 9).unwrap();
                self.closing = true;
            }
            None => {}
        }
    }

    fn heard_close(&self) -> bool {
        matches!(self.heard.last(), Some(Output::Close(..)))
    }
}

impl Actor for Peer<'_> {
    async fn act(&mut self) {
        let mut part = [0; 500];
        loop {
            if self.out.is_empty() {
                self.speak();
            }
            if let Some(open) = &mut self.open {
                self.out.append(&mut open.writer.out);
            }
            while !self.out.is_empty() {
                // Reading comes first: both may have more to say than fits on the way.
                match self.side.read_or_write(&mut part, &self.out).await {
                    Ok((0, 0)) | Err(_) => return self.side.close(),
                    Ok((0, n)) => drop(self.out.drain(..n)),
                    Ok((n, _)) => self.take(&part[..n]),
                }
            }
            // What was heard meanwhile may call for an answer.
            if self.open.as_ref().is_some_and(|open| !open.writer.out.is_empty()) {
                continue;
            }
            if self.closing && self.heard_close() {
                return self.side.close();
            }
            let more = self.open.is_some() && !self.closing && self.sent < self.plan.len();
            if more || (self.open.is_some() && self.role == Role::Client && !self.closing) {
                continue;
            }
            match self.side.read(&mut part).await {
                Ok(n @ 1..) => self.take(&part[..n]),
                _ => return self.side.close(),
            }
        }
    }
}

impl Peer<'_> {
    fn take(&mut self, bytes: &[u8]) {
        let frames = if self.open.is_none() { self.shake(bytes) } else { bytes.to_vec() };
        self.hear(frames);
    }
}

fn settings() -> impl Strategy<Value = Option<Settings>> {
    use genkai_wire::websocket::deflate::Direction;
    let direction =
        || (any::<bool>(), 9u8..=15).prop_map(|(takeover, window_bits)| Direction { takeover, window_bits });
    proptest::option::of((direction(), direction()).prop_map(|(server, client)| Settings { server, client }))
}

/// Plans whose only control frames are pings: their pongs can be told from answers then.
fn plans() -> impl Strategy<Value = Vec<Plan>> {
    vec(plan(), 0..4).prop_map(|mut plans| {
        for plan in &mut plans {
            plan.between.retain(|said| matches!(said, Output::Ping(_)));
            // What is long is ASCII. It may go byte by byte.
            plan.content.truncate(2_000);
        }
        plans
    })
}

fn without_pongs(heard: &[Output]) -> Vec<&Output> {
    heard.iter().filter(|said| !matches!(said, Output::Pong(_) | Output::Close(..))).collect()
}

fn talk<'a>(
    plans: (&'a [Plan], &'a [Plan]),
    deflate: (Option<Settings>, Option<Settings>),
    fortune: &Fortune,
) -> (Peer<'a>, Peer<'a>) {
    let (near, far) = pair(fortune);
    let mut client = Peer::new(near, Role::Client, plans.0, deflate.0);
    let mut server = Peer::new(far, Role::Server, plans.1, deflate.1);
    client.handshake = Some(opening(deflate.0).write(&mut client.out, [7; 16]).unwrap());
    converse(fortune, &mut client, &mut server);
    (client, server)
}

/// What `one` heard is what `other` said, as far as it went; its pings were answered in order.
fn check(one: &Peer<'_>, other: &Peer<'_>) -> Result<(), TestCaseError> {
    let heard = without_pongs(&one.heard);
    prop_assert!(heard.len() <= other.said.len());
    for (heard, said) in heard.into_iter().zip(&other.said) {
        prop_assert_eq!(heard, said);
    }
    let pings = one.said.iter().filter_map(|said| if let Output::Ping(payload) = said { Some(payload) } else { None });
    let pongs = one.heard.iter().filter_map(|said| if let Output::Pong(payload) = said { Some(payload) } else { None });
    for (pong, ping) in pongs.zip(pings) {
        prop_assert_eq!(pong, ping);
    }
    Ok(())
}

proptest! {
    #[test]
    fn both_hear_what_the_other_says(
        here in plans(), there in plans(), offered in settings(), accepted in settings(), fortune in fortune(false),
    ) {
        let (client, server) = talk((&here, &there), (offered, accepted), &fortune);
        check(&client, &server)?;
        check(&server, &client)?;
        prop_assert_eq!(client.agreed, server.agreed);
        prop_assert!(offered.is_some() && accepted.is_some() || client.agreed.is_none());
        // The client closes when it has said all; what the server said before it heard of that has come.
        prop_assert_eq!(without_pongs(&server.heard).len(), client.said.len());
        prop_assert_eq!(without_pongs(&client.heard).len(), server.said.len());
        let bye = Output::Close(Some(code::NORMAL), "bye".into());
        prop_assert_eq!(server.heard.last(), Some(&bye));
        prop_assert!(matches!(client.heard.last(), Some(Output::Close(Some(code::NORMAL), _))));
    }

    #[test]
    fn what_breaks_is_cut_short_and_nothing_else(
        here in plans(), there in plans(), offered in settings(), accepted in settings(), fortune in fortune(true),
    ) {
        let (client, server) = talk((&here, &there), (offered, accepted), &fortune);
        check(&client, &server)?;
        check(&server, &client)?;
    }
}
