//! Agreement on the parameters (RFC 7692 section 7.1).

use std::fmt::Write as _;

use super::{Agreed, Direction, Settings};

/// Name of the extension.
pub(in crate::websocket) const NAME: &str = "permessage-deflate";

const SERVER_TAKEOVER: &str = "server_no_context_takeover";
const CLIENT_TAKEOVER: &str = "client_no_context_takeover";
const SERVER_BITS: &str = "server_max_window_bits";
const CLIENT_BITS: &str = "client_max_window_bits";

/// Parameters that are malformed, unknown, repeated, or not what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::websocket) struct Refusal;

/// Parameters of an offer or a response as they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parameters {
    server_no_takeover: bool,
    client_no_takeover: bool,
    server_bits: Option<u8>,
    /// In an offer the value may be missing: "I can, if you want" (section 7.1.2.2).
    client_bits: Option<Option<u8>>,
}

impl Parameters {
    fn read<'a>(given: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Result<Parameters, Refusal> {
        let mut read = Parameters::default();
        for (name, value) in given {
            match (name, value) {
                (SERVER_TAKEOVER, None) if !read.server_no_takeover => read.server_no_takeover = true,
                (CLIENT_TAKEOVER, None) if !read.client_no_takeover => read.client_no_takeover = true,
                (SERVER_BITS, Some(value)) if read.server_bits.is_none() => read.server_bits = Some(bits(value)?),
                (CLIENT_BITS, value) if read.client_bits.is_none() => {
                    read.client_bits = Some(value.map(bits).transpose()?);
                }
                _ => return Err(Refusal),
            }
        }
        Ok(read)
    }
}

/// "A decimal integer value without leading zeroes between 8 to 15" (sections 7.1.2.1 and 7.1.2.2).
fn bits(value: &str) -> Result<u8, Refusal> {
    match value {
        "8" => Ok(8),
        "9" => Ok(9),
        "10" => Ok(10),
        "11" => Ok(11),
        "12" => Ok(12),
        "13" => Ok(13),
        "14" => Ok(14),
        "15" => Ok(15),
        _ => Err(Refusal),
    }
}

/// The bits of a setting, within what there is.
fn legal(of: Direction) -> u8 {
    of.window_bits.clamp(8, 15)
}

impl Settings {
    /// The offer of a client (section 7.1): it always says that its own window can be limited.
    pub(in crate::websocket) fn offer(&self) -> String {
        let mut text = String::from(NAME);
        if !self.server.takeover {
            add(&mut text, SERVER_TAKEOVER, None);
        }
        if !self.client.takeover {
            add(&mut text, CLIENT_TAKEOVER, None);
        }
        if legal(self.server) < 15 {
            add(&mut text, SERVER_BITS, Some(legal(self.server)));
        }
        add(&mut text, CLIENT_BITS, Some(legal(self.client)).filter(|bits| *bits < 15));
        text
    }

    /// What the response to [`offer`](Settings::offer) means; refused if it is not an answer to it: then the client fails
    /// the connection (section 7.1, RFC 6455 section 4.1).
    pub(in crate::websocket) fn check<'a>(
        &self,
        response: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Agreed, Refusal> {
        let response = Parameters::read(response)?;
        let (most_server, most_client) = (legal(self.server), legal(self.client));
        // What was asked of the server it must confirm; more it may do unasked (sections 7.1.1.1 and 7.1.2.1).
        let server_bits = response.server_bits.unwrap_or(15);
        let client_bits = match response.client_bits {
            None => most_client,
            Some(Some(bits)) if bits <= most_client => bits,
            Some(_) => return Err(Refusal),
        };
        if server_bits > most_server || (!self.server.takeover && !response.server_no_takeover) {
            return Err(Refusal);
        }
        Ok(Agreed {
            server: Direction { takeover: !response.server_no_takeover, window_bits: server_bits },
            client: Direction {
                takeover: self.client.takeover && !response.client_no_takeover,
                window_bits: client_bits,
            },
        })
    }

    /// A server's answer to an offer: what it agrees to, and the text that says so. Refused if the offer is not
    /// understood: the server declines it (section 7.1).
    pub(in crate::websocket) fn answer<'a>(
        &self,
        offer: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<(Agreed, String), Refusal> {
        let offer = Parameters::read(offer)?;
        let server = Direction {
            takeover: self.server.takeover && !offer.server_no_takeover,
            window_bits: legal(self.server).min(offer.server_bits.unwrap_or(15)),
        };
        let client = Direction {
            takeover: self.client.takeover && !offer.client_no_takeover,
            // Only a client that says it can may be asked to limit its window (section 7.1.2.2).
            window_bits: offer.client_bits.map_or(15, |hint| legal(self.client).min(hint.unwrap_or(15))),
        };
        let mut text = String::from(NAME);
        if !server.takeover {
            add(&mut text, SERVER_TAKEOVER, None);
        }
        if !client.takeover {
            add(&mut text, CLIENT_TAKEOVER, None);
        }
        if offer.server_bits.is_some() || server.window_bits < 15 {
            add(&mut text, SERVER_BITS, Some(server.window_bits));
        }
        if client.window_bits < 15 {
            add(&mut text, CLIENT_BITS, Some(client.window_bits));
        }
        Ok((Agreed { server, client }, text))
    }
}

fn add(text: &mut String, name: &str, value: Option<u8>) {
    match value {
        None => write!(text, "; {name}"),
        Some(value) => write!(text, "; {name}={value}"),
    }
    .expect("writing to memory");
}
