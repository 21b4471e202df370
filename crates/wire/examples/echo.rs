//! The smallest use of the WebSocket codec: an echo server and an echo client over blocking sockets. Both are what the
//! Autobahn test-suite (`wstest`) is run against:
//!
//! ```text
//! echo serve 127.0.0.1:9002            # then: wstest -m fuzzingclient
//! echo drive 127.0.0.1:9001            # while: wstest -m fuzzingserver
//! ```

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use genkai_wire::http1::RequestHead;
use genkai_wire::websocket::deflate::{Agreed, Effort, Settings};
use genkai_wire::websocket::handshake::{Opening, Progress, Upgrade};
use genkai_wire::websocket::{Assembler, Decoder, Encoder, Event, MAX_MESSAGE, Role, Scratch};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Longest silence of a peer.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address),
        ["drive", address] => drive(address),
        _ => Err("usage: echo serve ADDRESS | echo drive ADDRESS".into()),
    }
}

/// Accepts connections, one thread each, and echoes.
fn serve(address: &str) -> Outcome<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || {
            if let Err(error) = accepted(stream) {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

fn accepted(mut stream: TcpStream) -> Outcome<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut bytes, mut out, mut buffer) = (Vec::new(), Vec::new(), [0; 4096]);
    let (used, agreed) = loop {
        let count = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(head) = RequestHead::parse(&bytes)? {
            match Upgrade::check(&bytes, &head) {
                Ok(upgrade) => break (head.length, upgrade.accept(&mut out, None, Some(&Settings::default()), &[])?),
                Err(refusal) => {
                    refusal.write(&mut out);
                    return Ok(stream.write_all(&out)?);
                }
            }
        }
        if count == 0 {
            return Err("no request".into());
        }
    };
    stream.write_all(&out)?;
    Connection::new(stream, Role::Server, agreed).echo(&mut bytes[used..]).map(drop)
}

/// Runs all cases of a fuzzing server.
fn drive(address: &str) -> Outcome<()> {
    let count: u32 = String::from_utf8(opened(address, "/getCaseCount")?)?.trim().parse()?;
    for case in 1..=count {
        if let Err(error) = opened(address, &format!("/runCase?case={case}&agent=genkai")) {
            eprintln!("case {case}: {error}");
        }
    }
    opened(address, "/updateReports?agent=genkai").map(drop)
}

/// Opens a connection and echoes until it ends; the last message.
fn opened(address: &str, target: &str) -> Outcome<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let opening = Opening { target, host: address, fields: &[], protocols: &[], deflate: Some(Settings::default()) };
    let (mut out, mut buffer) = (Vec::new(), [0; 4096]);
    let mut handshake = opening.write(&mut out, *b"not so random...")?;
    stream.write_all(&out)?;
    loop {
        let count = stream.read(&mut buffer)?;
        match handshake.receive(&opening, &buffer[..count])? {
            Progress::More if count == 0 => return Err("no response".into()),
            Progress::More => {}
            Progress::Refused { response, .. } => return Err(format!("status {}", response.status).into()),
            Progress::Open { used, agreement, .. } => {
                return Connection::new(stream, Role::Client, agreement.deflate).echo(&mut buffer[used..count]);
            }
        }
    }
}

struct Connection {
    stream: TcpStream,
    decoder: Decoder,
    encoder: Encoder,
    assembler: Assembler,
    scratch: Scratch,
    last: Vec<u8>,
    out: Vec<u8>,
    key: u32,
}

impl Connection {
    fn new(stream: TcpStream, role: Role, agreed: Option<Agreed>) -> Connection {
        let (mut decoder, mut encoder) = (Decoder::new(role, MAX_MESSAGE), Encoder::new(role));
        if let Some(agreed) = agreed {
            (decoder, encoder) = (decoder.inflating(&agreed), encoder.deflating(&agreed, Effort::default()));
        }
        let (assembler, scratch) = (Assembler::default(), Scratch::default());
        Connection { stream, decoder, encoder, assembler, scratch, last: Vec::new(), out: Vec::new(), key: 1 }
    }

    /// Echoes what comes, `first` the bytes that came with the handshake. Returns the last message.
    fn echo(mut self, first: &mut [u8]) -> Outcome<Vec<u8>> {
        let mut going = self.take(first)?;
        let mut buffer = [0; 64 * 1024];
        while going {
            let count = self.stream.read(&mut buffer)?;
            going = count > 0 && self.take(&mut buffer[..count])?;
        }
        // What is still coming must be read, or the close frame may be lost in a reset.
        let _ = self.stream.shutdown(Shutdown::Write); // the peer may have ended it
        while self.stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
        Ok(self.last)
    }

    /// Answers what `bytes` say; whether the connection goes on.
    fn take(&mut self, bytes: &mut [u8]) -> Outcome<bool> {
        let mut at = 0;
        let going = loop {
            self.key = self.key.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match self.decoder.decode(&mut bytes[at..], &mut self.scratch) {
                Ok((_, None)) => break !self.encoder.is_closed(),
                Ok((used, Some(event))) => {
                    at += used;
                    match event {
                        Event::Data(chunk) => {
                            let Some(message) = self.assembler.push(chunk) else { continue };
                            self.last = message.data.to_vec();
                            let (kind, data) = (message.kind, &self.last);
                            self.encoder.message(&mut self.out, kind, data, self.key, &mut self.scratch)?;
                        }
                        Event::Ping(payload) => self.encoder.pong(&mut self.out, payload, self.key)?,
                        Event::Pong(_) => {}
                        Event::Close(close) => self.encoder.close(&mut self.out, close.answer(), self.key)?,
                    }
                }
                Err(error) => {
                    self.encoder.close(&mut self.out, Some((error.close_code(), "")), self.key)?;
                    break false;
                }
            }
        };
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(going)
    }
}
