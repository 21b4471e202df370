//! What a user takes from a response or message, and what must hold for it.

use std::borrow::Cow;
use std::cell::OnceCell;

use genkai_model::scenario::{Capture, Check, Expected, Source};
use genkai_wire::http1::{BodyDecoder, ResponseHead, fields};
use rand_pcg::Pcg64Mcg;
use regex::Regex;
use serde_json::Value as Json;
use serde_json_path::JsonPath;

use super::value::{Names, Value, Writer};
use crate::clock::Moment;
use crate::measure::flows::FlowTally;

/// Captures and checks of a step, ready for use.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    captures: Vec<(usize, Place, bool)>,
    checks: Vec<(u32, Must, bool)>,
    /// Whether the response must be kept.
    pub(super) keeps: bool,
    /// Whether a check is about the status.
    pub(super) status: bool,
}

/// Where a value is.
#[derive(Debug)]
enum Place {
    Pointer(String),
    Path(JsonPath),
    Regex(Regex, usize),
    Header(String),
    Body,
}

#[derive(Debug)]
enum Must {
    Status(Vec<(u16, u16)>),
    Contains(Writer),
    Matches(Regex),
    Equals(Place, Writer),
    Exists(Place),
    HeaderContains(String, Writer),
    Within(Moment),
}

/// A response or message.
pub(super) struct Answer<'a> {
    /// Status; zero for messages.
    status: u16,
    head: &'a [u8],
    body: Cow<'a, [u8]>,
    json: OnceCell<Option<Json>>,
    /// From its planned instant to its end.
    pub(super) took: Moment,
}

/// How an answer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Whether all checks held.
    pub(super) held: bool,
    /// Whether everything to be taken from it was there.
    pub(super) found: bool,
    /// Whether the run can go on.
    pub(super) go_on: bool,
}

impl<'a> Answer<'a> {
    /// Of the bytes of a response that was kept: its head (interim ones are skipped), and its body without transfer coding.
    pub(super) fn of_response(raw: &'a [u8], to_head: bool, status: u16, took: Moment) -> Answer<'a> {
        let mut rest = raw;
        let (mut head, mut body) = (&raw[..0], Cow::Borrowed(&raw[..0]));
        while let Ok(Some(parsed)) = ResponseHead::parse(rest, to_head) {
            let (its, after) = rest.split_at(parsed.length);
            if parsed.interim() {
                rest = after;
                continue;
            }
            (head, body) = (its, Cow::Owned(content(after, BodyDecoder::new(parsed.framing))));
            break;
        }
        Answer { status, head, body, json: OnceCell::new(), took }
    }

    /// Of a response whose fields and content came apart.
    pub(super) fn of_parts(head: &'a [u8], body: &'a [u8], status: u16, took: Moment) -> Answer<'a> {
        Answer { status, head, body: Cow::Borrowed(body), json: OnceCell::new(), took }
    }

    /// Of a message.
    pub(super) fn of_message(data: &'a [u8], took: Moment) -> Answer<'a> {
        Answer { status: 0, head: &[], body: Cow::Borrowed(data), json: OnceCell::new(), took }
    }

    /// Values of a header field.
    pub(super) fn fields(&self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let head = self.head;
        fields(head).filter(move |(its, _)| its.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    fn json(&self) -> Option<&Json> {
        self.json.get_or_init(|| serde_json::from_slice(&self.body).ok()).as_ref()
    }

    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    fn find(&self, place: &Place) -> Option<Value> {
        match place {
            Place::Pointer(pointer) => self.json()?.pointer(pointer).map(Value::of),
            Place::Path(path) => path.query(self.json()?).first().map(Value::of),
            Place::Regex(regex, group) => {
                regex.captures(&self.text())?.get(*group).map(|found| Value::text(found.as_str()))
            }
            Place::Header(name) => {
                let first = fields(self.head).find(|(its, _)| its.eq_ignore_ascii_case(name.as_bytes()));
                first.map(|(_, value)| Value::text(&String::from_utf8_lossy(value)))
            }
            Place::Body => Some(Value::text(&self.text())),
        }
    }
}

/// The content in `bytes`, as far as it is there.
fn content(bytes: &[u8], mut decoder: BodyDecoder) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Ok(part) = decoder.decode(&bytes[at..]) {
        at += part.framing;
        out.extend_from_slice(&bytes[at..at + part.data]);
        at += part.data;
        if part.done || at == bytes.len() {
            break;
        }
    }
    out
}

impl Place {
    fn new(source: &Source) -> Result<Place, String> {
        Ok(match source {
            Source::Json(path) if path.starts_with('$') => {
                Place::Path(JsonPath::parse(path).map_err(|e| format!("`{path}` is not a JSON path: {e}"))?)
            }
            Source::Json(pointer) => Place::Pointer(pointer.clone()),
            Source::Regex { pattern, group } => Place::Regex(expression(pattern)?, *group as usize),
            Source::Header(name) => Place::Header(name.clone()),
            Source::Body => Place::Body,
        })
    }
}

fn expression(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|e| format!("`{pattern}` is not a regular expression: {e}"))
}

impl Wanted {
    /// Of a step.
    pub(super) fn new(captures: &[Capture], checks: &[Check], names: &mut Names) -> Result<Wanted, String> {
        let mut wanted = Wanted::default();
        for capture in captures {
            wanted.captures.push((names.slot(&capture.variable), Place::new(&capture.from)?, capture.optional));
            wanted.keeps = true;
        }
        for check in checks {
            let must = match &check.what {
                Expected::Status(ranges) => Must::Status(ranges.clone()),
                Expected::Contains(text) => Must::Contains(Writer::new(text, names)),
                Expected::Matches(pattern) => Must::Matches(expression(pattern)?),
                Expected::Equals(source, text) => Must::Equals(Place::new(source)?, Writer::new(text, names)),
                Expected::Exists(source) => Must::Exists(Place::new(source)?),
                Expected::HeaderContains(name, text) => Must::HeaderContains(name.clone(), Writer::new(text, names)),
                Expected::Within(span) => Must::Within(span.0),
            };
            wanted.status |= matches!(must, Must::Status(_));
            wanted.keeps |= !matches!(must, Must::Status(_) | Must::Within(_));
            wanted.checks.push((check.name, must, check.strict));
        }
        Ok(wanted)
    }

    /// Whether the checks hold, without counting them.
    pub(super) fn accepts(&self, answer: &Answer<'_>, slots: &[Option<Value>], random: &mut Pcg64Mcg) -> bool {
        self.checks.iter().all(|(_, must, _)| holds(must, answer, slots, random))
    }

    /// Makes the checks and takes the values.
    pub(super) fn apply(
        &self,
        answer: &Answer<'_>,
        slots: &mut [Option<Value>],
        random: &mut Pcg64Mcg,
        tally: &mut FlowTally,
    ) -> Verdict {
        let mut verdict = Verdict { held: true, found: true, go_on: true };
        for (name, must, strict) in &self.checks {
            let held = holds(must, answer, slots, random);
            tally.checked(*name, held);
            verdict.held &= held;
            verdict.go_on &= held || !strict;
        }
        for (slot, place, optional) in &self.captures {
            slots[*slot] = answer.find(place).or_else(|| optional.then(|| Value::text("")));
            if slots[*slot].is_none() {
                tally.counts.missed += 1;
                (verdict.found, verdict.go_on) = (false, false);
            }
        }
        verdict
    }
}

fn holds(must: &Must, answer: &Answer<'_>, slots: &[Option<Value>], random: &mut Pcg64Mcg) -> bool {
    let mut written = |writer: &Writer| {
        let mut out = String::new();
        writer.write(&mut out, slots, random).ok().map(|()| out)
    };
    match must {
        Must::Status(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&answer.status)),
        Must::Contains(writer) => written(writer).is_some_and(|text| answer.text().contains(&text)),
        Must::Matches(regex) => regex.is_match(&answer.text()),
        Must::Exists(place) => answer.find(place).is_some(),
        Must::Within(most) => answer.took < *most,
        Must::HeaderContains(name, writer) => written(writer).is_some_and(|text| {
            let mut values = fields(answer.head).filter(|(its, _)| its.eq_ignore_ascii_case(name.as_bytes()));
            values.any(|(_, value)| String::from_utf8_lossy(value).contains(&text))
        }),
        Must::Equals(place, writer) => {
            let found = answer.find(place).map(|value| match value {
                Value::Text(text) => text.to_string(),
                Value::Json(json) => json.to_string(),
            });
            found.is_some() && found == written(writer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::figure::Figure;
    use rand::SeedableRng;

    const RAW: &[u8] =
        b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 201 Created\r\nX-Id: 42\r\nTransfer-Encoding: chunked\r\n\r\n\
        a\r\n{\"a\":[1,\"b\r\n9\r\n\"],\"n\":7}\r\n0\r\n\r\n";

    fn judged(captures: &[Capture], checks: &[(Expected, bool)]) -> (Verdict, Vec<Option<Value>>, FlowTally) {
        let mut names = Names::default();
        let checks: Vec<Check> =
            checks.iter().map(|(what, strict)| Check { name: 0, what: what.clone(), strict: *strict }).collect();
        let wanted = Wanted::new(captures, &checks, &mut names).unwrap();
        let (mut slots, mut tally) = (vec![None; names.len()], FlowTally::default());
        let answer = Answer::of_response(RAW, false, 201, 5_000_000);
        let verdict = wanted.apply(&answer, &mut slots, &mut Pcg64Mcg::seed_from_u64(1), &mut tally);
        (verdict, slots, tally)
    }

    #[test]
    fn values_are_found_wherever_they_are() {
        let take = |variable: &str, from| Capture { variable: variable.to_owned(), from, optional: false };
        let regex = Source::Regex { pattern: "\"n\":(\\d+)".to_owned(), group: 1 };
        let captures = [
            take("a", Source::Json("/a/1".to_owned())),
            take("b", Source::Json("$.a[0]".to_owned())),
            take("c", regex),
            take("d", Source::Header("x-id".to_owned())),
        ];
        let (verdict, slots, _) = judged(&captures, &[]);
        assert!(verdict.found && verdict.go_on);
        let text = Value::text;
        assert_eq!(slots, [text("b"), Value::of(&1.into()), text("7"), text("42")].map(Some));
        let missing = [take("e", Source::Json("/none".to_owned()))];
        let (verdict, slots, tally) = judged(&missing, &[]);
        assert!(!verdict.found && !verdict.go_on && slots == [None] && tally.counts.missed == 1);
        let optional = [Capture { optional: true, ..missing[0].clone() }];
        assert!(judged(&optional, &[]).0.go_on);
    }

    #[test]
    fn checks_hold_or_not_and_only_strict_ones_stop() {
        let template = |text: &str| text.parse().unwrap();
        let span = genkai_model::units::Span::from_millis;
        for (what, holds) in [
            (Expected::Status(vec![(200, 200), (201, 299)]), true),
            (Expected::Status(vec![(200, 200)]), false),
            (Expected::Contains(template("\"n\":7")), true),
            (Expected::Contains(template("{{unset}}")), false),
            (Expected::Matches("n.:[0-9]".to_owned()), true),
            (Expected::Equals(Source::Json("/n".to_owned()), template("7")), true),
            (Expected::Equals(Source::Json("/n".to_owned()), template("8")), false),
            (Expected::Exists(Source::Json("$.none".to_owned())), false),
            (Expected::HeaderContains("X-ID".to_owned(), template("4")), true),
            (Expected::Within(span(6)), true),
            (Expected::Within(span(5)), false),
        ] {
            let (verdict, _, mut tally) = judged(&[], &[(what.clone(), false)]);
            assert_eq!((verdict.held, verdict.go_on), (holds, true), "{what:?}");
            let counted = &tally.seen().tell().unwrap().checks[0];
            assert_eq!((counted.passed, counted.failed), (u64::from(holds), u64::from(!holds)));
            assert_eq!(judged(&[], &[(what, true)]).0.go_on, holds);
        }
    }
}
