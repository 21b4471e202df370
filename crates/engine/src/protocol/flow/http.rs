//! HTTP requests of a flow.

use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_wire::http1::{Ending, Error, Memo, Progress, Received, ResponseReader};

use super::answer::Answer;
use super::plan::{Plan, RequestStep};
use super::user::{Halt, TargetClient, User};
use crate::clock::Moment;
use crate::measure::attempt::Attempt;
use crate::measure::ledger::of_status;
use crate::protocol::connection::Connection;
use crate::protocol::http1::Intake;
use crate::protocol::http2::{Head, Kept, Prepared, Requester};
use crate::protocol::request::ScheduledRequest;

/// Bytes kept of a response whose body is looked at, and of one whose head is.
const MOST_BODY: usize = 1 << 20;
const MOST_HEAD: usize = 16 * 1024;

/// Receives a response and keeps its beginning.
struct Keeper {
    reader: ResponseReader,
    raw: Vec<u8>,
    most: usize,
    /// What HTTP/2 gave instead.
    kept: Kept,
}

impl Keeper {
    /// Of so many bytes of each response.
    fn new(most: usize) -> Keeper {
        Keeper { reader: ResponseReader::new(false), raw: Vec::new(), most, kept: Kept::at_most(most) }
    }

    /// Before the next response.
    fn clear(&mut self, to_head: bool) {
        self.reader = ResponseReader::new(to_head);
        self.raw.clear();
        self.kept.clear();
    }

    fn answer(&self, to_head: bool, status: u16, took: Moment) -> Answer<'_> {
        if self.raw.is_empty() {
            return Answer::of_parts(&self.kept.head, &self.kept.body, status, took);
        }
        Answer::of_response(&self.raw, to_head, status, took)
    }
}

impl Intake for Keeper {
    fn receive_with(&mut self, bytes: &[u8], memo: &mut Memo) -> Result<Progress, Error> {
        let room = self.most - self.raw.len();
        self.raw.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.reader.receive_with(bytes, memo)
    }

    fn close(&self) -> Ending {
        self.reader.close()
    }

    fn started(&self) -> bool {
        self.reader.started()
    }

    fn surplus(&self) -> bool {
        self.reader.surplus()
    }
}

/// Where a request goes, after redirections.
struct Hop {
    target: u32,
    method: String,
    path: String,
}

impl User {
    /// Makes a request, counts it, and takes from its response what is wanted.
    pub(super) async fn request(&mut self, plan: &Plan, step: &RequestStep) -> Result<(), Halt> {
        let (planned, now) = (self.planned, self.core.clock.now());
        if !self.core.ledger.borrow_mut().claim(planned.max(now)) {
            return Err(Halt::Over);
        }
        let most = if step.wanted.keeps { MOST_BODY } else { MOST_HEAD };
        let keeps = step.wanted.keeps || step.cookies || step.redirects > 0;
        let mut keeper = Keeper::new(if keeps { most } else { 0 });
        let Some(path) = self.path(plan, step) else { return Err(self.unsendable(step.name, planned)) };
        let mut hop = Hop { target: step.target, method: step.method.clone(), path };
        let mut left = step.redirects;
        // A redirection and what it leads to are one request: sent when the first of them was, and given up after the time that one has.
        let (begun, timeout) = (self.core.clock.now(), step.timeout.unwrap_or(self.core.timeout));
        let mut written = None;
        loop {
            if self.render(plan, step, &hop).is_none() {
                return Err(self.unsendable(step.name, planned));
            }
            keeper.clear(hop.method == "HEAD");
            let rest = timeout.saturating_sub(self.core.clock.now().saturating_sub(begun));
            let Some(attempt) = self.attempt(&hop, &mut keeper, rest).await else { return Err(Halt::Over) };
            let attempt = Attempt { written: *written.get_or_insert(attempt.written), ..attempt };
            let Ok(received) = attempt.outcome else { return self.judge(step, planned, &attempt, None) };
            let took = attempt.at.saturating_sub(planned);
            let answer = keeper.answer(hop.method == "HEAD", received.status, took);
            if step.cookies {
                answer.fields("set-cookie").for_each(|field| self.cookies.set(hop.target, &hop.path, field));
            }
            match redirected(plan, &hop, received.status, &answer).filter(|_| left > 0) {
                Some(next) => {
                    self.core.ledger.borrow_mut().redirected(self.core.clock.now());
                    (hop, left) = (next, left - 1);
                }
                None => return self.judge(step, planned, &attempt, Some((received, answer))),
            }
        }
    }

    /// Sends the rendered request and receives its response; none when the load is over before that ended. What comes next, a
    /// redirection's request too, is planned from then on.
    async fn attempt(&mut self, hop: &Hop, keeper: &mut Keeper, timeout: Moment) -> Option<Attempt> {
        let n = hop.target as usize;
        let mut client = self.clients[n].take().unwrap_or_else(|| self.client(n));
        let request = ScheduledRequest { planned: self.planned, prompt: true };
        let attempt = match &mut client {
            TargetClient::Own(connection) => {
                let attempt = connection.attempt(request, &self.message, keeper, timeout).await;
                self.planned = connection.after(&attempt).await;
                Some(attempt)
            }
            TargetClient::Requester(requester) => {
                let attempt = requester.attempt(request, self.prepared.as_ref()?, &mut keeper.kept, timeout).await;
                requester.after();
                self.planned = attempt.map_or(self.planned, |attempt| attempt.at);
                attempt
            }
        };
        self.clients[n] = Some(client);
        attempt
    }

    /// What asks the `n`-th target.
    fn client(&self, n: usize) -> TargetClient {
        match &self.group.fleets[n] {
            Some(pool) => TargetClient::Requester(Requester::new(pool)),
            None => TargetClient::Own(Box::new(Connection::toward(
                Rc::clone(&self.core),
                Rc::clone(&self.group.endpoints[n]),
            ))),
        }
    }

    /// The path after the target's base; none when a variable is missing.
    fn path(&mut self, plan: &Plan, step: &RequestStep) -> Option<String> {
        let mut path = plan.targets[step.target as usize].base.clone();
        let written = self.written(&step.path)?;
        if !written.starts_with('/') && !path.ends_with('/') {
            path.push('/');
        }
        encode(&mut path, &written);
        Some(path)
    }

    /// Renders the request.
    fn render(&mut self, plan: &Plan, step: &RequestStep, hop: &Hop) -> Option<()> {
        let User { slots, random, text, message, prepared, cookies, .. } = self;
        text.clear();
        let mut fields = Vec::with_capacity(step.headers.len() + 1);
        for (name, value) in &step.headers {
            let from = text.len();
            value.write(text, slots, random).ok()?;
            fields.push((name.as_str(), from..text.len()));
        }
        let from = text.len();
        if step.cookies && cookies.write(hop.target, &hop.path, text) {
            fields.push(("Cookie", from..text.len()));
        }
        let from = text.len();
        // A redirection that changes the method has no body (RFC 9110 section 15.4).
        let body = step.body.as_ref().filter(|_| hop.method == step.method);
        if let Some(body) = body {
            body.write(text, slots, random).ok()?;
        }
        let body = body.map(|_| &text[from..]);
        let target = &plan.targets[hop.target as usize];
        // A Host header of the scenario's own is what goes into the Host field.
        let own =
            fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| &text[value.clone()]);
        let others = fields.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
        let others = others.map(|(name, value)| (*name, &text[value.clone()]));
        let host = own.unwrap_or(&target.host);
        if target.http2.is_none() {
            return message.rewrite(&hop.method, &hop.path, host, others, body).ok();
        }
        let head = Head { scheme: target.scheme, method: &hop.method, path: &hop.path, host };
        *prepared = Some(Prepared::rendered(head, others, body).ok()?);
        Some(())
    }

    /// Counts a request that was taken up and whose end is known.
    fn judge(
        &mut self,
        step: &RequestStep,
        planned: Moment,
        attempt: &Attempt,
        got: Option<(Received, Answer<'_>)>,
    ) -> Result<(), Halt> {
        self.answered = Some(attempt.at);
        let (slots, random) = (&mut self.slots, &mut self.random);
        let mut ledger = self.core.ledger.borrow_mut();
        if let Ok(received) = attempt.outcome {
            ledger.answered(attempt.at, received.status);
        }
        let (kind, go_on) = match (got, ledger.flows(attempt.at)) {
            (None, _) => (attempt.outcome.err(), false),
            (Some((received, _)), None) => (of_status(received.status), true),
            (Some((received, answer)), Some(flows)) => {
                let verdict = step.wanted.apply(&answer, slots, random, flows);
                let status = of_status(received.status).filter(|_| !step.wanted.status);
                let check = (!verdict.held).then_some(ErrorKind::Check);
                let capture = (!verdict.found).then_some(ErrorKind::Capture);
                (status.or(check).or(capture), verdict.go_on)
            }
        };
        ledger.step(attempt.at, step.name, kind, Some(attempt.at.saturating_sub(planned)));
        match kind {
            None => ledger.succeeded(attempt.at, planned, attempt.written),
            Some(kind) => ledger.failed(attempt.at, planned, kind),
        }
        if go_on { Ok(()) } else { Err(Halt::Broken) }
    }

    /// Counts a request that was taken up and cannot be sent.
    pub(super) fn unsendable(&self, name: u32, planned: Moment) -> Halt {
        let now = self.core.clock.now();
        let mut ledger = self.core.ledger.borrow_mut();
        ledger.step(now, name, Some(ErrorKind::Unsendable), None);
        ledger.failed(now, planned, ErrorKind::Unsendable);
        Halt::Broken
    }
}

/// Appends a path with what must not stand in one percent-encoded (RFC 3986 section 2.1).
pub(super) fn encode(out: &mut String, path: &str) {
    use std::fmt::Write as _;
    for byte in path.split('#').next().unwrap_or_default().bytes() {
        match byte {
            0x21..=0x7e => out.push(byte as char),
            other => write!(out, "%{other:02X}").expect("writing to memory"),
        }
    }
}

/// Whether a reference begins with a scheme (RFC 3986 section 4.2: the first segment of a relative one has no colon).
fn is_absolute(location: &str) -> bool {
    location.find([':', '/', '?', '#']).is_some_and(|at| location[at..].starts_with(':'))
}

/// Where a response sends on to (RFC 9110 section 15.4), if that is one of the scenario's targets.
fn redirected(plan: &Plan, hop: &Hop, status: u16, answer: &Answer<'_>) -> Option<Hop> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = std::str::from_utf8(answer.fields("location").next()?).ok()?;
    let absolute = is_absolute(location);
    let (target, place) = match location.strip_prefix("//") {
        Some(_) => return None,
        None if absolute => {
            let of = |origin: &str| {
                location.strip_prefix(origin).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            };
            plan.targets.iter().enumerate().find_map(|(n, target)| of(&target.origin).map(|rest| (n as u32, rest)))?
        }
        None => (hop.target, location),
    };
    let mut path = String::new();
    match place.chars().next() {
        Some('/') => {}
        Some('?') | None if absolute => path.push('/'),
        Some('?') => path.push_str(hop.path.split('?').next().unwrap_or("/")),
        // Relative to the last slash of the path (RFC 3986 section 5.2.3).
        _ => {
            let old = hop.path.split('?').next().unwrap_or("/");
            path.push_str(&old[..=old.rfind('/').unwrap_or(0)]);
        }
    }
    encode(&mut path, place);
    // As browsers do it, and RFC 9110 allows: only 307 and 308 keep a method that is not safe.
    let keep = matches!(status, 307 | 308) || matches!(hop.method.as_str(), "GET" | "HEAD");
    Some(Hop { target, method: if keep { hop.method.clone() } else { "GET".to_owned() }, path })
}

#[cfg(test)]
mod tests {
    use super::is_absolute;

    #[test]
    fn a_url_in_a_query_makes_no_reference_absolute() {
        for absolute in ["http://a/", "https://a", "http://a?b", "mailto:a@b"] {
            assert!(is_absolute(absolute), "{absolute}");
        }
        for relative in ["/login?next=https://app/", "?to=http://a", "a?b=c://d", "#a://b", "//a.b/c://d", "there", ""]
        {
            assert!(!is_absolute(relative), "{relative}");
        }
    }
}
