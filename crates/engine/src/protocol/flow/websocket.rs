//! WebSocket steps of a flow.

use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_model::load::{Body, Request};

use super::answer::Answer;
use super::http::encode;
use super::plan::{ConnectStep, ExpectStep, Plan, SendStep};
use super::user::{Halt, User};
use crate::clock::Moment;
use crate::protocol::connection::Connection;
use crate::protocol::websocket::{self, Session};

impl User {
    /// Opens a WebSocket.
    pub(super) async fn connect(&mut self, plan: &Plan, step: &ConnectStep) -> Result<(), Halt> {
        if let Some(mut before) = self.session.take() {
            before.finish().await;
        }
        let planned = self.planned;
        if !self.core.ledger.borrow_mut().claim(self.core.clock.now()) {
            return Err(Halt::Over);
        }
        let Some(opening) = self.opening(plan, step) else { return Err(self.unsendable(step.name, planned)) };
        let endpoint = Rc::clone(&self.group.endpoints[step.target as usize]);
        let connection = Connection::toward(Rc::clone(&self.core), endpoint);
        let mut session = Session::on(connection, Rc::new(opening), self.number);
        let (core, mut written) = (Rc::clone(&self.core), planned);
        let asked = |at: Moment| {
            written = at;
            core.ledger.borrow_mut().sent(at, None);
        };
        let opened = session.open(asked).await;
        let at = self.core.clock.now();
        self.planned = at;
        self.last_sent = None;
        if let Err(kind) = opened {
            session.end(kind);
            return Err(self.failed(step.name, at, planned, kind));
        }
        self.session = Some(session);
        self.went_well(step.name, at, planned, written);
        Ok(())
    }

    /// The opening as a session takes it; none when it cannot be sent.
    fn opening(&mut self, plan: &Plan, step: &ConnectStep) -> Option<websocket::Plan> {
        let target = &plan.targets[step.target as usize];
        let mut path = target.base.clone();
        let written = self.written(&step.path)?;
        if !written.starts_with('/') && !path.ends_with('/') {
            path.push('/');
        }
        encode(&mut path, &written);
        let mut headers = Vec::with_capacity(step.headers.len());
        let mut host = target.host.clone();
        for (name, value) in &step.headers {
            let value = self.written(value)?;
            if name.eq_ignore_ascii_case("host") {
                host = value;
            } else {
                headers.push((name.clone(), value));
            }
        }
        let request = Request { method: "GET".to_owned(), path, host, headers, body: Body::Empty };
        websocket::Plan::listening(request, step.subprotocols.clone(), step.deflate).ok()
    }

    /// Sends a message, and waits until the socket has taken it.
    pub(super) async fn send(&mut self, step: &SendStep) -> Result<(), Halt> {
        let planned = self.planned;
        let text = self.written(&step.payload);
        let now = self.core.clock.now();
        let sent = match (&mut self.session, text) {
            (_, None) => Err(ErrorKind::Unsendable),
            (None, _) => Err(ErrorKind::Closed),
            (Some(session), Some(text)) => match session.send_message(step.kind, text.as_bytes()) {
                Ok(()) => session.flush().await,
                Err(kind) => Err(kind),
            },
        };
        match sent {
            Ok(()) => {
                self.last_sent = Some((planned, now));
                self.planned = self.core.clock.now();
                let mut ledger = self.core.ledger.borrow_mut();
                ledger.step(now, step.name, None, None);
                if let Some(flows) = ledger.flows(now) {
                    flows.counts.sent += 1;
                }
                Ok(())
            }
            Err(kind) => {
                // It is a request only now that it has failed: what it would have been waited for with will not be.
                if !self.core.ledger.borrow_mut().claim(now) {
                    return Err(Halt::Over);
                }
                self.part(kind).await;
                Err(self.failed(step.name, now, planned, kind))
            }
        }
    }

    /// Waits for a message, and takes from it what is wanted.
    pub(super) async fn expect(&mut self, step: &ExpectStep) -> Result<(), Halt> {
        let began = self.core.clock.now();
        let (planned, written) = self.last_sent.take().unwrap_or((self.planned, began));
        if !self.core.ledger.borrow_mut().claim(began) {
            return Err(Halt::Over);
        }
        self.core.ledger.borrow_mut().sent(began, None);
        let until = began.saturating_add(step.within.unwrap_or(self.core.timeout));
        loop {
            let next = match &mut self.session {
                Some(session) => session.next_message(until).await,
                None => Err(ErrorKind::Closed),
            };
            let message = match next {
                Ok(Some(message)) => message,
                // The load is over: what was waited for stays in flight.
                Ok(None) => return Err(Halt::Over),
                Err(kind) => {
                    let now = self.core.clock.now();
                    if kind != ErrorKind::Timeout {
                        self.part(kind).await;
                    }
                    self.planned = now;
                    return Err(self.failed(step.name, now, planned, kind));
                }
            };
            let at = message.at.max(planned);
            let answer = Answer::of_message(&message.data, at - planned);
            if step.search && !step.wanted.accepts(&answer, &self.slots, &mut self.random) {
                continue;
            }
            self.planned = self.core.clock.now();
            return self.weigh(step, &answer, at, (planned, written));
        }
    }

    fn weigh(
        &mut self,
        step: &ExpectStep,
        answer: &Answer<'_>,
        at: Moment,
        spoken: (Moment, Moment),
    ) -> Result<(), Halt> {
        let (planned, written) = spoken;
        let core = Rc::clone(&self.core);
        let mut ledger = core.ledger.borrow_mut();
        let Some(flows) = ledger.flows(self.planned) else { return Err(Halt::Over) };
        let verdict = step.wanted.apply(answer, &mut self.slots, &mut self.random, flows);
        drop(ledger);
        self.answered = Some(self.planned);
        if verdict.held && verdict.found {
            self.went_well(step.name, at, planned, written);
        } else {
            let kind = if verdict.held { ErrorKind::Capture } else { ErrorKind::Check };
            self.failed(step.name, at, planned, kind);
        }
        if verdict.go_on { Ok(()) } else { Err(Halt::Broken) }
    }

    fn went_well(&self, name: u32, at: Moment, planned: Moment, written: Moment) {
        // It happened at `at`; it is counted now.
        let now = self.core.clock.now();
        let mut ledger = self.core.ledger.borrow_mut();
        ledger.step(now, name, None, Some(at.saturating_sub(planned)));
        ledger.succeeded_at(now, at.saturating_sub(planned), at.saturating_sub(written));
    }

    fn failed(&self, name: u32, at: Moment, planned: Moment, kind: ErrorKind) -> Halt {
        let mut ledger = self.core.ledger.borrow_mut();
        let now = at.max(self.core.clock.now());
        ledger.step(now, name, Some(kind), None);
        ledger.failed(now, planned, kind);
        Halt::Broken
    }

    /// The connection is of no further use.
    async fn part(&mut self, kind: ErrorKind) {
        if let Some(mut session) = self.session.take() {
            session.part(kind).await;
        }
    }
}
