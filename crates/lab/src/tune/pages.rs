//! What a configuration answers to requests that are made one by one: the one of a load, or those of a scenario that need no value of a run.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_engine::{Asked, ask_page};
use genkai_model::event::Page;
use genkai_model::load::{Load, Protocol, Request};
use genkai_model::transport::Transport;

use crate::scenario;

/// How long an answer is waited for at first.
pub(super) const WITHIN: Duration = Duration::from_secs(5);

/// What is asked, with whether its content is compared: not one that differs from one time to the next.
#[derive(Clone, Debug)]
pub(super) struct Pages(Vec<(Load, bool)>);

impl Pages {
    /// What of `load` can be asked.
    pub(super) fn of(load: &Load) -> Pages {
        let requests = load.scenario.as_deref().map_or_else(|| vec![load.request.clone()], scenario::asked);
        let protocol = load.http2().map_or_else(|| load.protocol.clone(), Protocol::Http2);
        let one =
            |request: Request| (Load { request, protocol: protocol.clone(), scenario: None, ..load.clone() }, true);
        Pages(requests.into_iter().filter(|one| ["GET", "HEAD"].contains(&one.method.as_str())).map(one).collect())
    }

    /// Whether nothing can be asked.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks for each twice, with the longest time that one took, the lesser of two. Of several those that fail by themselves are asked no more, if
    /// others do not: they are the load's to tell. None where it cannot be asked.
    pub(super) fn twice(&mut self, address: SocketAddr, transport: &Transport) -> Option<(Page, Duration)> {
        let mut seen = Vec::new();
        for (load, _) in &self.0 {
            seen.push(twice(load, address, transport)?);
        }
        if seen.iter().any(|(page, _)| is_page(page)) {
            let mut good = seen.iter().map(|(page, _)| is_page(page));
            self.0.retain(|_| good.next() == Some(true));
            seen.retain(|(page, _)| is_page(page));
        }
        for ((_, compared), (page, _)) in self.0.iter_mut().zip(&seen) {
            *compared = page.digest.is_some();
        }
        joined(seen)
    }

    /// Asks for each once.
    pub(super) fn once(&self, address: SocketAddr, transport: &Transport, within: Duration) -> Option<Page> {
        let one = |(load, compared): &(Load, bool)| {
            let (page, took) = once(load, address, transport, within)?;
            let digest = page.digest.filter(|_| *compared);
            Some((Page { digest, ..page }, took))
        };
        joined(self.0.iter().map(one).collect::<Option<_>>()?).map(|(page, _)| page)
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

/// One request, made twice: a content that differs has no digest.
fn twice(load: &Load, address: SocketAddr, transport: &Transport) -> Option<(Page, Duration)> {
    let (first, took) = once(load, address, transport, WITHIN)?;
    if !is_page(&first) {
        return Some((first, took));
    }
    let (second, again) = once(load, address, transport, WITHIN)?;
    let digest = first.digest.filter(|digest| second.digest.as_ref() == Some(digest));
    Some((Page { digest, ..first }, took.min(again)))
}

fn once(load: &Load, address: SocketAddr, transport: &Transport, within: Duration) -> Option<(Page, Duration)> {
    let load = Load { addresses: vec![address], transport: transport.clone(), ..load.clone() };
    let begun = Instant::now();
    let (asked, digest) = ask_page(&load, address, within)?;
    let status = if let Asked::Answered { status, .. } = asked { Some(status) } else { None };
    Some((Page { status, digest, statuses: Vec::new() }, begun.elapsed()))
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
}
