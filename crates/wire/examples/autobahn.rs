//! The client role under Autobahn's fuzzing server: `autobahn ADDRESS` runs every case, sending each message back.
//! `scripts/autobahn.sh` starts the server and reads its verdicts.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use genkai_wire::websocket::deflate::{Effort, Settings};
use genkai_wire::websocket::handshake::{Opening, Progress};
use genkai_wire::websocket::{Assembler, Decoder, Encoder, Event, MAX_MESSAGE, Role, Scratch};

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let address = std::env::args().nth(1).ok_or("usage: autobahn ADDRESS")?;
    let cases: u32 = String::from_utf8(talk(&address, "/getCaseCount", None)?)?.parse()?;
    for case in 1..=cases {
        if let Err(e) = talk(&address, &format!("/runCase?case={case}&agent=genkai"), Some(Settings::default())) {
            eprintln!("case {case}: {e}");
        }
    }
    talk(&address, "/updateReports?agent=genkai", None)?;
    Ok(())
}

/// Opens a WebSocket and sends every message back until it closes. The last message.
fn talk(address: &str, target: &str, deflate: Option<Settings>) -> Fallible<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let opening = Opening { target, host: address, fields: &[], protocols: &[], deflate };
    let (mut out, mut buffer) = (Vec::new(), vec![0; 65_536]);
    let mut handshake = opening.write(&mut out, *b"0123456789abcdef")?;
    stream.write_all(&out)?;
    let (agreement, mut from, mut to) = loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Err("closed in the handshake".into());
        }
        match handshake.receive(&opening, &buffer[..n])? {
            Progress::More => {}
            Progress::Open { used, agreement, .. } => break (agreement, used, n),
            Progress::Refused { response, .. } => return Err(format!("status {}", response.status).into()),
        }
    };
    let (mut encoder, mut decoder) = (Encoder::new(Role::Client), Decoder::new(Role::Client, MAX_MESSAGE));
    if let Some(agreed) = &agreement.deflate {
        encoder = encoder.deflating(agreed, Effort::default());
        decoder = decoder.inflating(agreed);
    }
    let (mut scratch, mut assembler, mut last) = (Scratch::default(), Assembler::default(), Vec::new());
    let mut key = 0x9e37_79b9_u32;
    loop {
        out.clear();
        let mut open = true;
        while open {
            key = key.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            let (used, event) = match decoder.decode(&mut buffer[from..to], &mut scratch) {
                Ok(found) => found,
                Err(e) => {
                    let _ = encoder.close(&mut out, Some((e.close_code(), "")), key);
                    open = false;
                    break;
                }
            };
            from += used;
            match event {
                None => break,
                Some(Event::Data(chunk)) => {
                    if let Some(message) = assembler.push(chunk) {
                        let kind = message.kind;
                        last = message.data.to_vec();
                        encoder.message(&mut out, kind, &last, key, &mut scratch)?;
                    }
                }
                Some(Event::Ping(payload)) => encoder.pong(&mut out, payload, key)?,
                Some(Event::Pong(_)) => {}
                Some(Event::Close(close)) => {
                    let _ = encoder.close(&mut out, close.answer(), key);
                    open = false;
                }
            }
        }
        stream.write_all(&out)?;
        if !open {
            // The server closes first (RFC 6455 section 7.1.1).
            let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
            while matches!(stream.read(&mut buffer), Ok(1..)) {}
            let _ = stream.shutdown(Shutdown::Both);
            return Ok(last);
        }
        from = 0;
        to = stream.read(&mut buffer)?;
        if to == 0 {
            return Ok(last);
        }
    }
}
