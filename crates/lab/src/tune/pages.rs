//! What a configuration answers to requests that are made one by one: the one of a load, or those of a scenario that need no value of a run.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_engine::{Asked, ask_echo, ask_page};
use genkai_model::event::Page;
use genkai_model::load::{Load, Protocol, Request};
use genkai_model::transport::Transport;

use super::clock::Clock;
use super::content::Normal;
use crate::scenario;

/// Between two requests for the same page lies as much, where a clock in it is to be seen.
const APART: Duration = Duration::from_millis(1050);

/// What is asked, with the contents that are normal answers.
#[derive(Clone, Debug)]
pub(super) struct Pages(Vec<(Load, Normal)>);

/// How long an answer is waited for, and whether a second one that was soon is asked for a second later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) clock: Clock,
    pub(super) wanted: Duration,
    pub(super) apart: bool,
}

impl Pages {
    /// What of `load` can be asked.
    pub(super) fn of(load: &Load) -> Pages {
        let requests = load.scenario.as_deref().map_or_else(|| vec![load.request.clone()], scenario::asked);
        let protocol = load.http2().map_or_else(|| load.protocol.clone(), Protocol::Http2);
        let one = |request: Request| {
            (Load { request, protocol: protocol.clone(), scenario: None, ..load.clone() }, Normal::default())
        };
        Pages(requests.into_iter().filter(|one| ["GET", "HEAD"].contains(&one.method.as_str())).map(one).collect())
    }

    /// Whether nothing can be asked.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks for each twice, with the longest time that one took, the lesser of two. Of several those that fail by themselves are asked no more, if
    /// others do not: they are the load's to tell. None where it cannot be asked.
    pub(super) fn twice(
        &mut self,
        address: SocketAddr,
        transport: &Transport,
        patience: Patience,
    ) -> Option<(Page, Duration)> {
        let mut seen = Vec::new();
        for (load, normal) in &mut self.0 {
            seen.push(twice(load, normal, (address, transport), patience)?);
        }
        if seen.iter().any(|(page, _)| is_page(page)) {
            let mut good = seen.iter().map(|(page, _)| is_page(page));
            self.0.retain(|_| good.next() == Some(true));
            seen.retain(|(page, _)| is_page(page));
        }
        joined(seen)
    }

    /// Takes in what is normal by what stands behind, where as much was asked there.
    pub(super) fn join(&mut self, behind: &Pages) {
        if self.0.len() == behind.0.len() {
            self.0.iter_mut().zip(&behind.0).for_each(|((_, own), (_, other))| own.join(other));
        }
    }

    /// Asks for each once; `unchanged`: of a configuration with all in place, whose answers are normal ones.
    pub(super) fn once(
        &mut self,
        address: SocketAddr,
        transport: &Transport,
        within: Duration,
        unchanged: bool,
    ) -> Option<Page> {
        let one = |(load, normal): &mut (Load, Normal)| {
            let (page, content, took) = once(load, address, transport, within)?;
            let content = content.as_deref();
            let digest = match unchanged && is_page(&page) {
                true => normal.stands_for_normal(content),
                false => normal.stands_for(content),
            };
            Some((Page { digest, ..page }, took))
        };
        joined(self.0.iter_mut().map(one).collect::<Option<_>>()?).map(|(page, _)| page)
    }
}

/// Several answers as one: none, where there was none to one of them; else the worst status, that of each, and all contents that are compared.
fn joined(all: Vec<(Page, Duration)>) -> Option<(Page, Duration)> {
    let took = all.iter().map(|(_, took)| *took).max()?;
    let each = all.iter().map(|(page, _)| page.status).collect::<Option<Vec<_>>>();
    let status = each.as_ref().and_then(|each| each.iter().copied().max());
    let statuses = each.filter(|each| each.len() > 1).unwrap_or_default();
    let digests: Vec<&str> = all.iter().filter_map(|(page, _)| page.digest.as_deref()).collect();
    let digest = (!digests.is_empty()).then(|| digests.join("-"));
    Some((Page { status, digest, statuses }, took))
}

/// One request, made twice: what stands for its content is taken in.
fn twice(
    load: &Load,
    normal: &mut Normal,
    (address, transport): (SocketAddr, &Transport),
    Patience { clock, wanted, apart }: Patience,
) -> Option<(Page, Duration)> {
    let begun = Instant::now();
    let (first, content, took) = once(load, address, transport, clock.wait(wanted))?;
    if !is_page(&first) {
        return Some((first, took));
    }
    if apart {
        std::thread::sleep(APART.saturating_sub(begun.elapsed()).min(clock.left() / 2));
    }
    let (_, other, again) = once(load, address, transport, clock.wait(wanted))?;
    let digest = normal.learn(content.as_deref(), other.as_deref());
    Some((Page { digest, ..first }, took.min(again)))
}

/// One request, with its content: where an answer to it leads elsewhere (without its place), and what it has. None of one that has nothing by itself.
fn once(
    load: &Load,
    address: SocketAddr,
    transport: &Transport,
    within: Duration,
) -> Option<(Page, Option<Vec<u8>>, Duration)> {
    let load = Load { addresses: vec![address], transport: transport.clone(), ..load.clone() };
    let begun = Instant::now();
    if let Protocol::WebSocket(_) = load.protocol {
        // An answer that is no refusal and opens none is none: nobody gets a message by it.
        let opened = |status: &u16| *status == 101 || *status >= 400;
        let status = match ask_echo(&load, address, within)? {
            Asked::Answered { status, .. } => Some(status).filter(opened),
            _ => None,
        };
        return Some((Page { status, ..Page::default() }, None, begun.elapsed()));
    }
    let (asked, content) = ask_page(&load, address, within)?;
    let took = begun.elapsed();
    let Asked::Answered { status, location } = asked else { return Some((Page::default(), None, took)) };
    let content = content.filter(|_| load.request.method != "HEAD");
    let content = content.map(|content| [led(location.as_deref()), content].concat());
    Some((Page { status: Some(status), ..Page::default() }, content, took))
}

/// Where an answer leads to: path and query alone, as a copy listens elsewhere.
fn led(location: Option<&str>) -> Vec<u8> {
    let Some(to) = location else { return Vec::new() };
    let path = to.split_once("://").map_or(to, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    format!("{path}\n").into_bytes()
}

/// Whether it is a page, and no failure.
pub(super) fn is_page(page: &Page) -> bool {
    page.status.is_some_and(|status| status < 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(status: Option<u16>, digest: Option<&str>, statuses: &[u16]) -> Page {
        Page { status, digest: digest.map(str::to_owned), statuses: statuses.to_vec() }
    }

    fn answers(all: &[(Option<u16>, Option<&str>)]) -> Page {
        let one = |(status, digest): &(Option<u16>, Option<&str>)| (page(*status, *digest, &[]), Duration::ZERO);
        joined(all.iter().map(one).collect()).unwrap().0
    }

    #[test]
    fn several_answers_are_as_bad_as_the_worst() {
        assert_eq!(answers(&[(Some(200), Some("a"))]), page(Some(200), Some("a"), &[]));
        let mixed = answers(&[(Some(200), Some("a")), (Some(503), None), (Some(302), Some("b"))]);
        assert_eq!(mixed, page(Some(503), Some("a-b"), &[200, 503, 302]));
        assert_eq!(answers(&[(Some(200), None), (None, None)]), Page::default());
        assert!(joined(Vec::new()).is_none());
    }

    #[test]
    fn where_an_answer_leads_to_is_of_its_content() {
        assert_eq!(led(Some("http://127.0.0.1:4001/login?to=a")), led(Some("/login?to=a")));
        assert_ne!(led(Some("https://a.example/")), led(Some("https://a.example/login")));
        assert_eq!((led(Some("https://a.example")), led(None)), (led(Some("/")), Vec::new()));
    }
}
