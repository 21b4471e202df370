//! HTTP/1.1 between a client and a server that use the codec, over a connection on which everything happens that can.

mod chunks;
mod stream;

use chunks::{write_chunk, write_last_chunk};
use genkai_wire::http1::{
    BodyDecoder, Ending, Framing, Length, Progress, Received, RequestHead, ResponseHead, ResponseReader, write_request,
    write_response,
};
use proptest::prelude::*;
use stream::{Actor, Fortune, Side, converse, fortune, pair};

/// A body, and how it is sent.
#[derive(Clone, Debug)]
struct Content {
    chunks: Vec<String>,
    length: Length,
}

/// A request, and what it will be answered.
#[derive(Clone, Debug)]
struct Exchange {
    request: Content,
    interim: usize,
    status: u16,
    response: Content,
}

fn content(until_close: bool) -> impl Strategy<Value = Content> {
    let chunk = prop_oneof![3 => "[a-z]{1,9}", 1 => "[a-z]{200,900}"];
    (proptest::collection::vec(chunk, 0..4), 0..10).prop_map(move |(chunks, kind)| {
        let bytes = chunks.iter().map(String::len).sum::<usize>() as u64;
        let length = match kind {
            0..5 => Length::Known(bytes),
            9 if until_close => Length::UntilClose,
            _ => Length::Chunked,
        };
        Content { chunks, length }
    })
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let status = prop::sample::select(vec![200u16, 201, 206, 404, 413, 500, 503]);
    let one = (content(false), 0usize..3, status, content(true))
        .prop_map(|(request, interim, status, response)| Exchange { request, interim, status, response });
    proptest::collection::vec(one, 1..5)
}

impl Content {
    fn bytes(&self) -> Vec<u8> {
        self.chunks.concat().into_bytes()
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.length != Length::Chunked {
            return out.extend_from_slice(&self.bytes());
        }
        self.chunks.iter().for_each(|chunk| write_chunk(out, chunk.as_bytes()));
        write_last_chunk(out, [("X-Sum", "1")]);
    }
}

/// What is to be sent, and how much of it has been.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    async fn flush(&mut self, side: &Side) -> std::io::Result<()> {
        while self.sent < self.bytes.len() {
            self.sent += side.write(&self.bytes[self.sent..]).await?;
        }
        *self = Outbox::default();
        Ok(())
    }
}

struct Client<'a> {
    side: Side,
    plan: &'a [Exchange],
    outbox: Outbox,
    /// Present while a response is awaited.
    reader: Option<ResponseReader>,
    /// What has come of the present response.
    came: Vec<u8>,
    /// Responses that came whole, with their content.
    responses: Vec<(Received, Vec<u8>)>,
    /// How it ended, if not as planned.
    broken: Option<Ending>,
}

impl Client<'_> {
    fn ask(&mut self) {
        let exchange = &self.plan[self.responses.len()];
        write_request(&mut self.outbox.bytes, "POST", "/", "h", [], exchange.request.length).unwrap();
        exchange.request.write(&mut self.outbox.bytes);
        (self.reader, self.came) = (Some(ResponseReader::new(false)), Vec::new());
    }

    fn over(&mut self, received: Received) {
        self.responses.push((received, body(&self.came)));
        self.reader = None;
        if !received.persistent {
            self.side.close();
        }
    }

    fn end(&mut self, ending: Ending) {
        match ending {
            Ending::Done(received) => self.over(received),
            other => self.broken = Some(other),
        }
        self.side.close();
    }
}

impl Actor for Client<'_> {
    async fn act(&mut self) {
        loop {
            let stays = self.responses.last().is_none_or(|(received, _)| received.persistent);
            if self.broken.is_some() || !stays || (self.reader.is_none() && self.responses.len() == self.plan.len()) {
                return self.side.close();
            }
            if self.reader.is_none() {
                self.ask();
            }
            let mut part = [0; 1000];
            // A request that cannot be sent is no reason not to look for what has been answered.
            let _ = self.outbox.flush(&self.side).await;
            let read = self.side.read(&mut part).await;
            let reader = self.reader.as_mut().expect("asked");
            match read {
                Ok(n @ 1..) => {
                    self.came.extend_from_slice(&part[..n]);
                    if let Progress::Done(received) = reader.receive(&part[..n]).expect("the server keeps to the rules")
                    {
                        self.over(received);
                    }
                }
                Ok(_) => {
                    let ending = reader.close();
                    self.end(ending);
                }
                // A reset ends no response, whatever its framing.
                Err(_) => {
                    let ending = if reader.started() { Ending::Truncated } else { Ending::Nothing };
                    self.end(ending);
                }
            }
        }
    }
}

/// Content of the response in `bytes`, after interim ones.
fn body(mut bytes: &[u8]) -> Vec<u8> {
    loop {
        let head = ResponseHead::parse(bytes, false).unwrap().expect("whole");
        bytes = &bytes[head.length..];
        if !head.interim() {
            return decode(head.framing, bytes);
        }
    }
}

fn decode(framing: Framing, bytes: &[u8]) -> Vec<u8> {
    let (mut decoder, mut all, mut at) = (BodyDecoder::new(framing), Vec::new(), 0);
    while at < bytes.len() && !decoder.done() {
        let part = decoder.decode(&bytes[at..]).expect("the peer keeps to the rules");
        all.extend_from_slice(&bytes[at + part.framing..][..part.data]);
        at += part.framing + part.data;
    }
    all
}

struct Server<'a> {
    side: Side,
    plan: &'a [Exchange],
    outbox: Outbox,
    /// What has come and is not used.
    came: Vec<u8>,
    /// The body of the present request, and its content so far.
    body: Option<(BodyDecoder, Vec<u8>)>,
    requests: Vec<Vec<u8>>,
    closing: bool,
}

impl Server<'_> {
    /// Goes on with what has come; whether there may be more to do with it.
    fn take(&mut self) -> bool {
        let Some((decoder, content)) = &mut self.body else {
            let Some(head) = RequestHead::parse(&self.came).expect("the client keeps to the rules") else {
                return false;
            };
            let (length, framing) = (head.length, head.framing);
            self.came.drain(..length);
            self.body = Some((BodyDecoder::new(framing), Vec::new()));
            return true;
        };
        if !decoder.done() {
            let part = decoder.decode(&self.came).expect("the client keeps to the rules");
            content.extend_from_slice(&self.came[part.framing..][..part.data]);
            self.came.drain(..part.framing + part.data);
        }
        if !decoder.done() {
            return !self.came.is_empty();
        }
        let (_, content) = self.body.take().expect("just seen");
        self.requests.push(content);
        self.answer();
        true
    }

    fn answer(&mut self) {
        let exchange = &self.plan[self.requests.len() - 1];
        let out = &mut self.outbox.bytes;
        for _ in 0..exchange.interim {
            write_response(out, 103, "Early Hints", [("Link", "</a>")], Length::None).unwrap();
        }
        write_response(out, exchange.status, "Reason", [], exchange.response.length).unwrap();
        exchange.response.write(out);
        self.closing = exchange.response.length == Length::UntilClose;
    }
}

impl Actor for Server<'_> {
    async fn act(&mut self) {
        let mut part = [0; 700];
        loop {
            while self.outbox.bytes.is_empty() && !self.closing && self.take() {}
            if self.outbox.flush(&self.side).await.is_err() || self.closing {
                return self.side.close();
            }
            match self.side.read(&mut part).await {
                Ok(n @ 1..) => self.came.extend_from_slice(&part[..n]),
                _ => return self.side.close(),
            }
        }
    }
}

fn talk<'a>(plan: &'a [Exchange], fortune: &Fortune) -> (Client<'a>, Server<'a>) {
    let (near, far) = pair(fortune);
    let outbox = Outbox::default;
    let mut client =
        Client { side: near, plan, outbox: outbox(), reader: None, came: vec![], responses: vec![], broken: None };
    let mut server =
        Server { side: far, plan, outbox: outbox(), came: vec![], body: None, requests: vec![], closing: false };
    converse(fortune, &mut client, &mut server);
    (client, server)
}

/// What was said is what was heard, as far as it went.
fn check(plan: &[Exchange], client: &Client<'_>, server: &Server<'_>) -> Result<(), TestCaseError> {
    for (content, exchange) in server.requests.iter().zip(plan) {
        prop_assert_eq!(content, &exchange.request.bytes());
    }
    for ((received, content), exchange) in client.responses.iter().zip(plan) {
        let until_close = exchange.response.length == Length::UntilClose;
        prop_assert_eq!(*received, Received { status: exchange.status, persistent: !until_close });
        // What lasts until close is whole when the connection is closed, wherever that is.
        let sent = exchange.response.bytes();
        let right = if until_close { sent.starts_with(content) } else { *content == sent };
        prop_assert!(right, "{:?}", content);
    }
    prop_assert!(client.responses.len() <= server.requests.len());
    Ok(())
}

proptest! {
    #[test]
    fn what_is_asked_is_answered(plan in exchanges(), fortune in fortune(false)) {
        let (client, server) = talk(&plan, &fortune);
        check(&plan, &client, &server)?;
        let last = plan.iter().position(|exchange| exchange.response.length == Length::UntilClose);
        let expected = last.map_or(plan.len(), |at| at + 1);
        prop_assert_eq!((client.responses.len(), server.requests.len(), client.broken), (expected, expected, None));
        let (got, sent) = (&client.responses[expected - 1].1, plan[expected - 1].response.bytes());
        prop_assert_eq!(got, &sent);
    }

    #[test]
    fn what_breaks_is_cut_short_and_nothing_else(plan in exchanges(), fortune in fortune(true)) {
        let (client, server) = talk(&plan, &fortune);
        check(&plan, &client, &server)?;
        match client.broken {
            None => {}
            Some(Ending::Nothing) => prop_assert!(client.came.is_empty()),
            Some(Ending::Truncated) => prop_assert!(!client.came.is_empty()),
            Some(Ending::Done(_)) => prop_assert!(false, "an end of its own"),
        }
    }
}
