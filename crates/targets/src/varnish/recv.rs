//! Which backend a request is given to in `vcl_recv`: its statements are followed as far as its path and host decide them
//! (vcl(7), lib/libvcc/vcc_action.c, bin/varnishd/cache/cache_req_fsm.c: `cnt_recv`).

use std::collections::BTreeMap;

use super::lexer::{Token, closing};
use crate::files::Requests;

/// Subroutines that are called within each other, at most so deep.
const MAX_DEPTH: usize = 16;
/// Blocks within each other, and branches of one `if`, at most so many.
const MAX_BLOCKS: usize = 100;
/// Statements that one request is followed through, at most so many: subroutines may be called from many places.
const MAX_STEPS: usize = 20_000;
/// Functions of modules that leave a request's path and host alone; any other may change them.
const HARMLESS: [&str; 4] = ["std.", "cookie.", "purge.", "ban"];

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A backend or director is chosen: its name; none where an expression says it.
    Choose(Option<String>),
    /// The path may be another one from here on.
    Rewritten(Compared),
    /// `if`, with what is done where it holds, and where not.
    If(Condition, Vec<Step>, Vec<Step>),
    /// `return (ACTION)`; none: it only leaves the subroutine.
    Return(Option<String>),
    /// `call NAME`.
    Call(String),
    /// What is not read: it may do anything.
    Unknown,
}

/// What becomes of requests that are given to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Handling {
    /// Each is sent there, as bytes: no answer of Varnish's own.
    Piped,
    /// Each is sent there.
    Passed,
    /// Only those that the cache does not answer, and one for all that wait for the same object.
    Looked,
}

/// What a condition looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// The path.
    Url,
    /// The host.
    Host,
}

impl Compared {
    /// What a variable of VCL stands for. Names of headers may be in any case.
    fn of(name: &str) -> Option<Compared> {
        match name {
            "req.url" => Some(Compared::Url),
            name if name.eq_ignore_ascii_case("req.http.host") => Some(Compared::Host),
            _ => None,
        }
    }
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// `== "TEXT"`, or (false) `!=`.
    Is(Compared, String, bool),
    /// `~ "^TEXT"`, or (false) `!~`.
    Begins(Compared, String, bool),
    /// Any other: it is not evaluated.
    Unknown,
}

/// The statements of a subroutine's body.
pub(super) fn steps(all: &[Token]) -> Vec<Step> {
    steps_in(all, 0)
}

/// The same of a block in so many others.
fn steps_in(mut all: &[Token], depth: usize) -> Vec<Step> {
    if depth > MAX_BLOCKS {
        return vec![Step::Unknown];
    }
    let mut found = Vec::new();
    while let Some(first) = all.first() {
        let length = if first.is(b'{') {
            let end = block(all);
            found.extend(steps_in(inner(all, end), depth + 1));
            end
        } else if first.word() == Some("if") {
            let (step, length) = branch(&all[1..], depth + 1);
            found.push(step);
            length + 1
        } else {
            let end = all.iter().position(|token| token.is(b';')).unwrap_or(all.len());
            found.extend(plain(&all[..end]));
            end + 1
        };
        all = all.get(length..).unwrap_or_default();
    }
    found
}

/// How many words a block has that these begin with, its braces among them.
fn block(all: &[Token]) -> usize {
    closing(all).map_or(all.len(), |close| close + 1)
}

/// What stands in a block of so many words.
fn inner(all: &[Token], length: usize) -> &[Token] {
    all.get(1..length.saturating_sub(1)).unwrap_or_default()
}

/// What stands behind an `if`: condition, block, and what else; and how many words that are.
fn branch(all: &[Token], depth: usize) -> (Step, usize) {
    let open = all.iter().position(|token| token.is(b'{')).filter(|_| depth <= MAX_BLOCKS);
    let Some(open) = open else { return (Step::Unknown, all.len()) };
    let length = block(&all[open..]);
    let (then, rest) = (steps_in(inner(&all[open..], length), depth), &all[open + length..]);
    let word = |at: usize| rest.get(at).and_then(Token::word);
    let (otherwise, more) = match (word(0), word(1)) {
        (Some("elseif" | "elsif" | "elif"), _) => one(branch(&rest[1..], depth + 1), 1),
        (Some("else"), Some("if")) => one(branch(&rest[2..], depth + 1), 2),
        (Some("else"), _) => {
            let length = block(&rest[1..]);
            (steps_in(inner(&rest[1..], length), depth), 1 + length)
        }
        _ => (Vec::new(), 0),
    };
    (Step::If(condition(&all[..open]), then, otherwise), open + length + more)
}

fn one((step, length): (Step, usize), before: usize) -> (Vec<Step>, usize) {
    (vec![step], before + length)
}

/// A statement that ends in a semicolon, less that; none for one that decides nothing here.
fn plain(all: &[Token]) -> Vec<Step> {
    let word = |at: usize| all.get(at).and_then(Token::word);
    match (word(0), word(1)) {
        (Some("set"), Some("req.backend_hint")) => {
            let name = word(3).filter(|_| all.len() == 4 && all[2].is(b'='));
            vec![Step::Choose(name.map(str::to_owned))]
        }
        (Some("set"), Some("bereq.backend")) => vec![Step::Choose(None)],
        (Some("set" | "unset"), Some(name)) => Compared::of(name).map(Step::Rewritten).into_iter().collect(),
        (Some("return"), _) => vec![Step::Return(word(2).map(str::to_owned))],
        (Some("call"), Some(name)) => vec![Step::Call(name.to_owned())],
        (Some("new" | "synthetic" | "hash_data"), _) => Vec::new(),
        (Some(name), None) if name != "std.rollback" && HARMLESS.iter().any(|begin| name.starts_with(begin)) => {
            Vec::new()
        }
        (Some(name), None) if name.contains('.') => {
            vec![Step::Rewritten(Compared::Url), Step::Rewritten(Compared::Host)]
        }
        (None, None) if all.is_empty() => Vec::new(),
        _ => vec![Step::Unknown],
    }
}

/// What stands in the parentheses behind an `if`.
fn condition(all: &[Token]) -> Condition {
    let [open, what, sign @ .., text, close] = all else { return Condition::Unknown };
    let (Some(what), Some(text)) = (what.word().and_then(Compared::of), text.text()) else { return Condition::Unknown };
    if !open.is(b'(') || !close.is(b')') {
        return Condition::Unknown;
    }
    let begin = text.strip_prefix('^').filter(|text| is_plain(text));
    match (sign, begin) {
        ([one, other], _) if one.is(b'=') && other.is(b'=') => Condition::Is(what, text.to_owned(), true),
        ([one, other], _) if one.is(b'!') && other.is(b'=') => Condition::Is(what, text.to_owned(), false),
        ([one], Some(text)) if one.is(b'~') => Condition::Begins(what, text.to_owned(), true),
        ([one, other], Some(text)) if one.is(b'!') && other.is(b'~') => Condition::Begins(what, text.to_owned(), false),
        _ => Condition::Unknown,
    }
}

/// Whether a regular expression means nothing but its letters.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-'))
}

/// Whether statements choose a backend anywhere.
pub(super) fn choose(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Choose(_) => true,
        Step::If(_, then, otherwise) => choose(then) || choose(otherwise),
        _ => false,
    })
}

/// A request where it is by now.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// The backend that it would go to; none where that is not known.
    to: Option<String>,
    /// Whether its path is the one that it came with.
    url: bool,
    /// The same of its host.
    host: bool,
}

impl State {
    /// What is known where it came here one way or the other; none where neither goes on.
    fn either(one: Option<State>, other: Option<State>) -> Option<State> {
        match (one, other) {
            (Some(one), Some(other)) => Some(State {
                url: one.url && other.url,
                host: one.host && other.host,
                to: one.to.filter(|to| Some(to) == other.to.as_ref()),
            }),
            (one, other) => one.or(other),
        }
    }

    /// Whether a condition holds; none where that is not known.
    fn meets(&self, condition: &Condition, requests: &Requests) -> Option<bool> {
        let of = |what: &Compared| match what {
            Compared::Url => self.url.then_some(requests.path.as_str()),
            Compared::Host => self.host.then_some(requests.host.as_str()),
        };
        match condition {
            Condition::Is(what, text, holds) => Some((of(what)? == text) == *holds),
            Condition::Begins(what, text, holds) => Some(of(what)?.starts_with(text) == *holds),
            Condition::Unknown => None,
        }
    }
}

/// Requests on their way through `vcl_recv`.
#[derive(Debug)]
pub(super) struct Walk<'v, 'r> {
    /// Every subroutine, with what all its parts do, in order.
    subs: &'v BTreeMap<&'v str, Vec<&'v [Step]>>,
    requests: &'r Requests,
    default: Option<&'v str>,
    /// Where they leave it: the backend, none where that is not known, or none at all.
    ends: Vec<Option<(String, Handling)>>,
    depth: usize,
    steps: usize,
}

impl<'v, 'r> Walk<'v, 'r> {
    /// The backend that all of them are given to, and how (of several ways the last); none where that is not known, or not every one is given
    /// to a backend.
    pub(super) fn usual(
        subs: &'v BTreeMap<&'v str, Vec<&'v [Step]>>,
        default: Option<&'v str>,
        requests: &'r Requests,
    ) -> Option<(String, Handling)> {
        let mut walk = Walk { subs, requests, default, ends: Vec::new(), depth: 0, steps: 0 };
        let state = State { to: default.map(str::to_owned), url: true, host: true };
        // The built-in one looks up what may be cached.
        let last = walk.call("vcl_recv", state).map(|state| Some((state.to?, Handling::Looked)));
        walk.ends.extend(last);
        let ends: Vec<(String, Handling)> = walk.ends.into_iter().collect::<Option<_>>()?;
        let (to, _) = ends.first()?.clone();
        let handling = ends.iter().map(|(_, handling)| *handling).max()?;
        ends.iter().all(|(other, _)| *other == to).then_some((to, handling))
    }

    /// Through a subroutine; none where it does not come back from it.
    fn call(&mut self, name: &str, state: State) -> Option<State> {
        let Some(parts) = self.subs.get(name).filter(|_| self.depth < MAX_DEPTH) else {
            // The built-in one, after the user's.
            return if name == "vcl_recv" { Some(state) } else { self.lost() };
        };
        self.depth += 1;
        let (mut back, mut state) = (None, Some(state));
        for part in parts {
            state = state.and_then(|state| self.through(part, state, &mut back));
        }
        self.depth -= 1;
        State::either(state, back)
    }

    /// Through statements. `back`: where a `return` without an action goes on.
    fn through(&mut self, steps: &'v [Step], state: State, back: &mut Option<State>) -> Option<State> {
        steps.iter().try_fold(state, |state, step| self.step(step, state, back))
    }

    fn step(&mut self, step: &'v Step, state: State, back: &mut Option<State>) -> Option<State> {
        self.steps += 1;
        match step {
            _ if self.steps > MAX_STEPS => self.lost(),
            Step::Choose(to) => {
                let to = to.as_deref().map(|to| if to == "default" { self.default } else { Some(to) });
                Some(State { to: to.flatten().map(str::to_owned), ..state })
            }
            Step::Rewritten(Compared::Url) => Some(State { url: false, ..state }),
            Step::Rewritten(Compared::Host) => Some(State { host: false, ..state }),
            Step::If(condition, then, otherwise) => match state.meets(condition, self.requests) {
                Some(true) => self.through(then, state, back),
                Some(false) => self.through(otherwise, state, back),
                None => {
                    let one = self.through(then, state.clone(), back);
                    State::either(one, self.through(otherwise, state, back))
                }
            },
            Step::Return(Some(action)) => {
                let handling = match action.as_str() {
                    "hash" | "lookup" => Some(Handling::Looked),
                    "pass" => Some(Handling::Passed),
                    "pipe" => Some(Handling::Piped),
                    _ => None,
                };
                self.ends.push(state.to.zip(handling));
                None
            }
            Step::Return(None) => {
                *back = State::either(back.take(), Some(state));
                None
            }
            Step::Call(name) => self.call(name, state),
            Step::Unknown => self.lost(),
        }
    }

    /// What becomes of them is not known.
    fn lost(&mut self) -> Option<State> {
        self.ends.push(None);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexer::tokens;
    use super::*;

    fn usual(body: &str) -> Option<String> {
        let steps = steps(&tokens(body.as_bytes()));
        let subs = BTreeMap::from([("vcl_recv", vec![steps.as_slice()])]);
        Walk::usual(&subs, Some("web"), &Requests::to("localhost", "/api/x")).map(|(name, _)| name)
    }

    #[test]
    fn blocks_without_end_are_not_followed() {
        let nested = "{".repeat(100_000) + &"}".repeat(100_000);
        assert_eq!(usual(&nested), None);
        let branches = "if (req.http.X) { }".to_owned() + &" elsif (req.http.X) { }".repeat(10_000);
        assert_eq!(usual(&branches), None);
        assert_eq!(usual(&"if (req.http.X) { return (pass); }".repeat(50)).as_deref(), Some("web"));
    }

    #[test]
    fn what_is_not_closed_or_not_known_is_nothing_sure() {
        for text in [
            "if",
            "if (",
            "if (req.url",
            "if { } else",
            "} set req.backend_hint",
            "no such statement;",
            "return (vcl(x));",
        ] {
            assert!(["web", ""].contains(&usual(text).unwrap_or_default().as_str()), "{text}");
        }
        assert_eq!(usual("no such statement;"), None);
        assert_eq!(usual("return (vcl(x));"), None);
        assert_eq!(usual("set req.backend_hint = api; return (pass);").as_deref(), Some("api"));
    }
}
