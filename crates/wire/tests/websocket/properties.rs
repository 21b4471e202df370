//! Properties: what one role writes the other reads, splits do not matter, nothing panics.

use genkai_wire::websocket::deflate::{Agreed, Direction, Effort};
use genkai_wire::websocket::handshake::{Opening, Upgrade};
use genkai_wire::websocket::{Decoder, Encoder, Kind, Role, Scratch};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::decoded::{Decoded, Output, hear, masked, raw};

/// A message, where to cut it into fragments, and control frames to put in between (the last ones after it).
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) content: Vec<u8>,
    cuts: Vec<usize>,
    pub(crate) between: Vec<Output>,
}

fn content() -> impl Strategy<Value = (Kind, Vec<u8>)> {
    prop_oneof![
        "\\PC{0,40}".prop_map(|text| (Kind::Text, text.into_bytes())),
        vec(any::<u8>(), 0..300).prop_map(|bytes| (Kind::Binary, bytes)),
        // Long and compressible: more than a scratch buffer.
        ("[a-c]{1,9}", 0..9000usize).prop_map(|(text, times)| (Kind::Text, text.repeat(times).into_bytes())),
    ]
}

fn control() -> impl Strategy<Value = Output> {
    let payload = || prop_oneof![vec(any::<u8>(), 0..5), vec(any::<u8>(), 120..=125)];
    prop_oneof![payload().prop_map(Output::Ping), payload().prop_map(Output::Pong)]
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let fragments = (vec(any::<usize>(), 0..4), vec(control(), 0..4));
    (content(), fragments).prop_map(|((kind, content), (cuts, between))| Plan { kind, content, cuts, between })
}

fn agreement() -> impl Strategy<Value = Option<Agreed>> {
    let direction =
        || (any::<bool>(), 8u8..=15).prop_map(|(takeover, window_bits)| Direction { takeover, window_bits });
    proptest::option::of((direction(), direction()).prop_map(|(server, client)| Agreed { server, client }))
}

/// `bytes` cut at `cuts` (taken modulo its length).
fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    places.push(bytes.len());
    places.sort_unstable();
    let mut from = 0;
    places.into_iter().map(|to| &bytes[std::mem::replace(&mut from, to)..to]).collect()
}

pub(crate) struct Writer {
    pub(crate) encoder: Encoder,
    scratch: Scratch,
    pub(crate) out: Vec<u8>,
    key: u32,
}

impl Writer {
    pub(crate) fn new(role: Role, agreed: Option<&Agreed>, effort: Effort, key: u32) -> Writer {
        let encoder = Encoder::new(role);
        let encoder = match agreed {
            Some(agreed) => encoder.deflating(agreed, effort),
            None => encoder,
        };
        Writer { encoder, scratch: Scratch::default(), out: Vec::new(), key }
    }

    /// Writes the plan and says in what order it should be heard.
    pub(crate) fn write(&mut self, plan: &Plan, heard: &mut Vec<Output>) {
        let fragments = cut(&plan.content, &plan.cuts);
        let mut between = plan.between.iter();
        for (i, fragment) in fragments.iter().enumerate() {
            self.key = self.key.wrapping_mul(2_654_435_761).wrapping_add(1);
            let last = i + 1 == fragments.len();
            self.encoder.fragment(&mut self.out, plan.kind, fragment, last, self.key, &mut self.scratch).unwrap();
            if last {
                heard.push(Output::Message(plan.kind, plan.content.clone()));
            }
            for said in between.by_ref().take(if last { 9 } else { 1 }) {
                match said {
                    Output::Ping(payload) => self.encoder.ping(&mut self.out, payload, self.key).unwrap(),
                    Output::Pong(payload) => self.encoder.pong(&mut self.out, payload, self.key).unwrap(),
                    other => unreachable!("{other:?}"),
                }
                heard.push(said.clone());
            }
        }
    }
}

pub(crate) fn decoder(role: Role, agreed: Option<&Agreed>, max: u64) -> Decoder {
    let decoder = Decoder::new(role, max);
    match agreed {
        Some(agreed) => decoder.inflating(agreed),
        None => decoder,
    }
}

/// Frames as a hostile or broken peer might make them: mostly sensible headers, so that the depths are reached.
fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        4 => prop::sample::select(vec![0x81u8, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8a, 0xc1, 0xc2, 0x41, 0x42]),
        1 => Just(0x88),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        vec(any::<u8>(), 0..20),
        "[a-zé€😀]{0,8}".prop_map(String::into_bytes),
        vec(prop::sample::select(vec![0xf2u8, 0x48, 0xcd, 0xc9, 0x07, 0x00, 0x03, 0x05, 0xff]), 0..20),
    ];
    let frames = vec((first, payload).prop_map(|(first, payload)| raw(first, &payload)), 0..8);
    prop_oneof![
        4 => frames.clone().prop_map(|frames| frames.concat()),
        4 => frames.prop_map(|frames| masked(&frames)),
        1 => vec(any::<u8>(), 0..100),
    ]
}

proptest! {
    #[test]
    fn one_reads_what_the_other_writes(
        client: bool, plans in vec(plan(), 0..5), agreed in agreement(), level in 0u8..=9, threshold in 0usize..100,
        key: u32, cuts in vec(any::<usize>(), 0..8), closing in proptest::option::of((3000u16..5000, "\\PC{0,30}")),
    ) {
        let (from, to) = if client { (Role::Client, Role::Server) } else { (Role::Server, Role::Client) };
        let mut writer = Writer::new(from, agreed.as_ref(), Effort { level, threshold }, key);
        let mut said = Vec::new();
        for plan in &plans {
            writer.write(plan, &mut said);
        }
        if let Some((code, reason)) = &closing {
            writer.encoder.close(&mut writer.out, Some((*code, reason)), key).unwrap();
            said.push(Output::Close(Some(*code), reason.clone()));
        }
        let longest = plans.iter().map(|plan| plan.content.len()).max().unwrap_or(0) as u64;
        let expected = Decoded::clean(said);
        prop_assert_eq!(&hear(&mut decoder(to, agreed.as_ref(), longest), cut(&writer.out, &cuts)), &expected);
        if writer.out.len() < 5000 {
            prop_assert_eq!(&hear(&mut decoder(to, agreed.as_ref(), longest), writer.out.chunks(1)), &expected);
        }
        if longest > 0 {
            let heard = hear(&mut decoder(to, agreed.as_ref(), longest - 1), cut(&writer.out, &cuts));
            prop_assert_eq!(heard.error.map(|error| error.close_code()), Some(1009));
        }
    }

    #[test]
    fn splits_do_not_matter(
        client: bool, bytes in nonsense(), agreed in agreement(), max in 0u64..60, cuts in vec(any::<usize>(), 0..6),
    ) {
        let role = if client { Role::Client } else { Role::Server };
        let new = || decoder(role, agreed.as_ref(), max);
        let whole = hear(&mut new(), [bytes.as_slice()]);
        prop_assert_eq!(&hear(&mut new(), cut(&bytes, &cuts)), &whole);
        prop_assert_eq!(&hear(&mut new(), bytes.chunks(1)), &whole);
        for said in &whole.said {
            match said {
                Output::Message(Kind::Text, text) => prop_assert!(std::str::from_utf8(text).is_ok()),
                Output::Message(Kind::Binary, bytes) => prop_assert!(bytes.len() as u64 <= max),
                Output::Ping(payload) | Output::Pong(payload) => prop_assert!(payload.len() <= 125),
                Output::Close(..) => prop_assert_eq!(Some(said), whole.said.last()),
            }
        }
    }

    #[test]
    fn the_upgrade_check_takes_any_request(
        names in vec(prop::sample::select(vec![
            "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol",
            "Sec-WebSocket-Extensions",
        ]), 0..7),
        values in vec(prop_oneof![
            "[a-z,;=\"\\\\ ]{0,12}".boxed(),
            Just("websocket".to_owned()).boxed(), Just("upgrade".to_owned()).boxed(), Just("13".to_owned()).boxed(),
            Just("dGhlIHNhbXBsZSBub25jZQ==".to_owned()).boxed(),
            Just("permessage-deflate; client_max_window_bits".to_owned()).boxed(),
        ], 7),
    ) {
        let fields: String = names.iter().zip(&values).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let head = genkai_wire::http1::RequestHead::parse(request.as_bytes()).unwrap().unwrap();
        let mut out = Vec::new();
        match Upgrade::check(request.as_bytes(), &head) {
            Ok(upgrade) => drop(upgrade.accept(&mut out, None, Some(&Default::default()), &[]).unwrap()),
            Err(refusal) => refusal.write(&mut out),
        }
        let response = genkai_wire::http1::ResponseHead::parse(&out, false).unwrap().unwrap();
        prop_assert!(matches!(response.status, 101 | 400 | 426));
    }

    #[test]
    fn the_handshake_takes_any_answer(text in "(HTTP/1.1 (101|200|100) x\r\n)?(((Upgrade|Connection|Sec-WebSocket-(Accept|Extensions)): [a-z;,=\"]{0,9})?\r\n){0,6}") {
        let opening = Opening { target: "/", host: "a", fields: &[], protocols: &[], deflate: Some(Default::default()) };
        let run = |slices: Vec<&[u8]>| {
            let mut handshake = opening.write(&mut Vec::new(), [0; 16]).unwrap();
            for slice in slices {
                match handshake.receive(&opening, slice) {
                    Ok(genkai_wire::websocket::handshake::Progress::More) => {}
                    other => return format!("{:?}", other.map(|progress| std::mem::discriminant(&progress))),
                }
            }
            "more".to_owned()
        };
        prop_assert_eq!(run(vec![text.as_bytes()]), run(text.as_bytes().chunks(1).collect()));
    }
}
