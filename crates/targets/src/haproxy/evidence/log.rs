//! The log: lines of sessions, in the format that a private copy gives them, and messages of HAProxy itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use genkai_model::evidence::LogLine;

use super::SUBJECT;
use genkai_place::log_lines::{self, ParsedLine};

/// What a line of a session begins with.
pub(crate) const LINE: &str = "session";
/// What the word that says what went wrong with the connection to its server begins with.
const ERROR: &str = "error=";
/// What the word of a session's line that names its backend begins with.
pub(crate) const BACKEND: &str = "backend=";

/// Names of the messages that prove something. Sessions are known by their termination state (configuration manual 8.5).
pub mod signature {
    /// A request waited in the queue longer than it may: 503.
    pub const QUEUE_TIMEOUT: &str = "haproxy.refused.sQ";
    /// The queue of the one server that a request may go to was full: 503.
    pub const QUEUE_FULL: &str = "haproxy.refused.SQ";
    /// A server does not take connections: 503.
    pub const SERVER_REFUSED: &str = "haproxy.refused.SC";
    /// The handshake of TLS with a server failed: 503.
    pub const SERVER_TLS: &str = "haproxy.refused.tls";
    /// A server does not accept in time: 503.
    pub const SERVER_SLOW_CONNECT: &str = "haproxy.refused.sC";
    /// Something of this machine ran out while HAProxy connected to a server: 503.
    pub const RESOURCE: &str = "haproxy.refused.RC";
    /// A server closed before it had answered: 502.
    pub const SERVER_CLOSED: &str = crate::limits::closed::HAPROXY;
    /// HAProxy did not pass on what a server answered: 502.
    pub const RESPONSE_REFUSED: &str = "haproxy.response_refused";
    /// A server was silent longer than it may: 504.
    pub const SERVER_SILENT: &str = "haproxy.server_silent";
    /// There was no server to send a request to, and the log does not tell why: 503.
    pub const NO_SERVER: &str = "haproxy.no_server";
    /// The same, after health checks failed though the servers took connections.
    pub const NO_SERVER_BY_CHECK: &str = "haproxy.no_server.by_check";
    /// The same, after the connections of health checks failed.
    pub const NO_SERVER_BY_CONNECT: &str = "haproxy.no_server.by_connect";
    /// The same, after those were refused, or found no such socket.
    pub const NO_SERVER_BY_REFUSED: &str = "haproxy.no_server.by_refused";
    /// The same, after HAProxy had taken them out for errors of requests (`observe`).
    pub const NO_SERVER_BY_ERRORS: &str = "haproxy.no_server.by_errors";
    /// A server was taken out for errors of requests (`observe`).
    pub const TAKEN_OUT_BY_ERRORS: &str = "haproxy.taken_out.by_errors";
    /// A server was taken out because its health check failed though it took the connection.
    pub const CHECK_FAILED: &str = "haproxy.check_failed";
    /// A server was taken out because the connection of its health check failed.
    pub const CHECK_UNCONNECTED: &str = "haproxy.check_unconnected";
    /// The same, where the connection was refused, or there is no such socket.
    pub const CHECK_REFUSED: &str = "haproxy.check_refused";
    /// An open tunnel was silent longer than it may.
    pub const TUNNEL_SILENT: &str = "haproxy.tunnel_silent";
    /// A client did not send its request in time: 408.
    pub const CLIENT_SILENT: &str = "haproxy.client_silent";
    /// No descriptor is left.
    pub const DESCRIPTORS: &str = "haproxy.descriptors";
    /// The sockets that `maxconn` provides for are used up: two for each of its connections, and HAProxy's own.
    pub const SOCKETS: &str = "haproxy.sockets";
    /// No local port is left towards a server.
    pub const PORTS: &str = "haproxy.ports";

    /// A message that is not of the backend whose servers are looked at, or whose server is HAProxy itself.
    pub fn of_backend(message: &str, backend: &str) -> String {
        format!("{message}.{backend}")
    }

    /// A rule on this line of a copy answered the request, or ended it.
    pub fn of_rule(file: &str, line: usize) -> String {
        format!("haproxy.rule.{file}:{line}")
    }
}

/// What it prints for each attempt to connect to a server for which there is no socket. The session's line is then that of a server that
/// refuses.
const NO_SOCKET: &str = "not enough free sockets";

/// Messages of HAProxy itself (2.6; file named).
const MESSAGES: &[(&str, &str)] = &[
    ("reached process FD limit", signature::DESCRIPTORS), // src/sock.c: sock_accept_conn; src/sock.c: sock_create_server_socket
    ("reached system FD limit", signature::DESCRIPTORS),  // the same
    (NO_SOCKET, signature::SOCKETS),                      // src/proto_tcp.c: tcp_connect_server
    ("reached the configured maximum connection limit", signature::SOCKETS), // src/sock.c: sock_accept_conn
    ("no free ports", signature::PORTS),                  // src/proto_tcp.c: tcp_connect_server
];

/// A session's line, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session<'a> {
    /// Its termination state, e.g. `sQ`.
    pub(crate) state: &'a str,
    /// The status that the client got; `-` in TCP mode.
    pub(crate) status: &'a str,
    /// The rule that ended it, as `FILE:LINE` of a copy; none where no rule did, or HAProxy cannot tell.
    pub(crate) rule: Option<(&'a str, usize)>,
    /// The server that was chosen for it; none where none was.
    pub(crate) server: Option<&'a str>,
    /// Its backend, or its frontend where it came no further; none where the line does not tell.
    pub(crate) backend: Option<&'a str>,
    /// What went wrong with the connection to the server, spaces as `%20`; empty where the line does not tell.
    pub(crate) error: &'a str,
    /// The request target.
    pub(crate) target: &'a str,
}

impl<'a> Session<'a> {
    /// `session STATE status=S queue=Q node=N backend=B rule=FILE:LINE error=E target=T`, of which older versions tell no rule and no error; none for any other line.
    pub(crate) fn read(line: &'a str) -> Option<Session<'a>> {
        let mut words = line.split(' ');
        let (LINE, state, status, Some(_queue), node) =
            (words.next()?, words.next()?, words.next()?, words.next(), words.next()?)
        else {
            return None;
        };
        let mut words = words.peekable();
        let backend = words.next_if(|word| word.starts_with(BACKEND)).map(|word| &word[BACKEND.len()..]);
        let rule = words.next_if(|word| word.starts_with("rule=")).map(|word| &word["rule=".len()..]);
        let error = words.next_if(|word| word.starts_with(ERROR)).map_or("", |word| &word[ERROR.len()..]);
        let target = words.next()?;
        let rule =
            rule.and_then(|rule| rule.rsplit_once(':')).and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let server = node.strip_prefix("node=").filter(|name| *name != "<NOSRV>");
        Some(Session { state, status: status.strip_prefix("status=")?, rule, server, backend, error, target })
    }
}

/// Who ended an open connection, by its termination state (configuration manual 8.5); none for the client itself: `S` the
/// server, `K` an administrator, `D` a server that is down, `s` and `c` a timeout, `P`, `R`, `I` HAProxy itself.
pub(crate) fn ended(state: &str) -> Option<char> {
    state.chars().next().filter(|c| "SKDUscPRI".contains(*c))
}

/// Why a request got no answer of a server's: the two letters of its termination state, the second of which tells where it was
/// then (`Q` in the queue, `C` connecting, `H` waiting for the answer); none for one that did, or whose client left.
pub(crate) fn unanswered(state: &str) -> Option<(char, char)> {
    let mut letters = state.chars();
    Some((letters.next()?, letters.next()?)).filter(|(cause, _)| *cause != 'C')
}

/// What the log has told so far that later lines are read by.
#[derive(Debug, Default)]
pub(crate) struct Down {
    /// Which servers are out: `BACKEND/SERVER`, and the signature of the check that took it out; none where something else did.
    servers: BTreeMap<String, Option<&'static str>>,
    /// Whether sockets were used up in the interval before this, and in this.
    starved: (bool, bool),
    /// Whose messages are not those of the servers that are looked at.
    apart: Apart,
}

/// Backends whose messages say something else than that of the same kind of the servers that are looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Apart {
    /// The backend that is looked at; none: whichever it is.
    pub(crate) back: Option<String>,
    /// Servers that are listeners of the same HAProxy, as `BACKEND/SERVER`.
    pub(crate) own: BTreeSet<String>,
}

impl Apart {
    /// What a message of a session means: its name, with the backend where it is not of those servers.
    fn meaning(&self, signature: &str, session: Session<'_>) -> Option<String> {
        let backend = session.backend?;
        let is_queue = signature == signature::QUEUE_TIMEOUT && self.back.as_ref().is_some_and(|own| own != backend);
        let is_own = [signature::SERVER_REFUSED, signature::SERVER_CLOSED, signature::SERVER_SLOW_CONNECT]
            .contains(&signature)
            && session.server.is_some_and(|server| self.own.contains(&format!("{backend}/{server}")));
        let is_out = signature.starts_with(signature::NO_SERVER)
            && self.own.iter().any(|name| name.strip_prefix(backend).is_some_and(|rest| rest.starts_with('/')));
        (is_queue || is_own || is_out).then(|| signature::of_backend(signature, backend))
    }
}

impl Down {
    /// That of a HAProxy of which these say something else.
    pub(crate) fn of(apart: Apart) -> Down {
        Down { apart, ..Down::default() }
    }

    /// Lines of one interval, alike ones as one, each in the light of those before it.
    pub(crate) fn aggregate<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) -> Vec<LogLine> {
        let mut all: Vec<LogLine> = Vec::new();
        let mut run: Vec<&str> = Vec::new();
        let lines: Vec<&str> = lines.into_iter().collect();
        let starved = lines.iter().any(|line| Session::read(line).is_none() && line.contains(NO_SOCKET));
        self.starved = (self.starved.1, starved);
        for line in lines {
            // What a session without a server means changes with these lines.
            if is_change(line) {
                all.extend(self.of_run(&mut run));
                self.note(line);
            }
            run.push(line);
        }
        all.extend(self.of_run(&mut run));
        all
    }

    fn of_run(&self, run: &mut Vec<&str>) -> Vec<LogLine> {
        aggregate_as(run.drain(..), |line| {
            let mut parsed = parsed(line);
            if let (Some(signature::NO_SERVER), Some(session)) = (parsed.signature.as_deref(), Session::read(line)) {
                parsed.signature = Some(Cow::from(self.meaning(session.backend)));
            }
            // Nobody was asked who could have refused.
            if parsed.signature.as_deref() == Some(signature::SERVER_REFUSED) && (self.starved.0 || self.starved.1) {
                parsed.signature = Some(Cow::from(signature::SOCKETS));
            }
            let apart = parsed.signature.as_deref().zip(Session::read(line));
            if let Some(meaning) = apart.and_then(|(signature, session)| self.apart.meaning(signature, session)) {
                parsed.signature = Some(Cow::from(meaning));
            }
            parsed
        })
    }

    /// Why there is no server of this backend: what took out all of those that are out; not told where they are out for several reasons, or
    /// the log does not say which backend it is.
    fn meaning(&self, backend: Option<&str>) -> &'static str {
        let Some(backend) = backend else { return signature::NO_SERVER };
        let own = |name: &str| name.rsplit_once('/').is_some_and(|(of, _)| of == backend);
        let reasons: BTreeSet<_> =
            self.servers.iter().filter(|(name, _)| own(name)).map(|(_, reason)| *reason).collect();
        let all = |known: &[&str]| reasons.iter().all(|reason| reason.is_some_and(|reason| known.contains(&reason)));
        match () {
            () if reasons.is_empty() => signature::NO_SERVER,
            () if all(&[signature::TAKEN_OUT_BY_ERRORS]) => signature::NO_SERVER_BY_ERRORS,
            () if all(&[signature::CHECK_FAILED]) => signature::NO_SERVER_BY_CHECK,
            () if all(&[signature::CHECK_REFUSED]) => signature::NO_SERVER_BY_REFUSED,
            () if all(&[signature::CHECK_REFUSED, signature::CHECK_UNCONNECTED]) => signature::NO_SERVER_BY_CONNECT,
            () => signature::NO_SERVER,
        }
    }

    /// `Server BACKEND/SERVER is DOWN, reason: R, ...`, `... is going DOWN for maintenance` or `... is UP, ...` (src/server.c: srv_update_status).
    fn note(&mut self, line: &str) {
        let Some((name, rest)) = line.split_once("Server ").and_then(|(_, rest)| rest.split_once(" is ")) else {
            return;
        };
        let name = name.rsplit(' ').next().unwrap_or(name).to_owned();
        match rest.starts_with("UP") {
            true => _ = self.servers.remove(&name),
            false => _ = self.servers.insert(name, of_check(line)),
        }
    }
}

fn is_change(line: &str) -> bool {
    Session::read(line).is_none()
        && line.contains("Server ")
        && [" is DOWN", " is going DOWN", " is UP"].iter().any(|change| line.contains(change))
}

/// What of a health check, or which errors of requests, took a server out; none for other lines, or where something else did (an administrator, a
/// tracked server).
fn of_check(line: &str) -> Option<&'static str> {
    let reason = line.split_once(" is DOWN, reason: ")?.1;
    // include/haproxy/check-t.h, src/check.c: check_statuses. `Layer4 timeout` is a connection that nobody took in time.
    let refused = ["Connection refused", "No such file or directory"];
    match reason.strip_prefix("Layer4 connection problem, info: \"") {
        Some(info) if refused.iter().any(|start| info.starts_with(start)) => Some(signature::CHECK_REFUSED),
        _ if reason.starts_with("Layer4") || reason.starts_with("Socket error") => Some(signature::CHECK_UNCONNECTED),
        _ if ["Layer6", "Layer7", "External check"].iter().any(|start| reason.starts_with(start)) => {
            Some(signature::CHECK_FAILED)
        }
        _ if reason.starts_with("Health analyze") => Some(signature::TAKEN_OUT_BY_ERRORS),
        _ => None,
    }
}

/// Lines of one interval, without those before it.
#[cfg(test)]
pub(crate) fn aggregate<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<LogLine> {
    aggregate_as(lines, parsed)
}

/// Lines of one interval, alike ones as one.
fn aggregate_as<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    read: impl Fn(&'a str) -> ParsedLine<'a>,
) -> Vec<LogLine> {
    let mut all = log_lines::aggregate(SUBJECT, lines.into_iter().filter(|l| !chatter(l)), read);
    for line in &mut all {
        // The rule is known by its line in the copy, which means nothing to the user; the backend is said by what the line proves.
        let inner = |word: &str| {
            let error = word.starts_with(ERROR) && !word.contains("SSL");
            error || word.starts_with("rule=") || word.starts_with(BACKEND)
        };
        let words = line.text.split(' ').filter(|word| !(line.text.starts_with(LINE) && inner(word)));
        let words: Vec<String> = words
            .map(|word| if word.starts_with(ERROR) { word.replace("%20", "_") } else { word.to_owned() })
            .collect();
        line.text = words.join(" ");
    }
    all
}

/// What HAProxy says at every start.
fn chatter(line: &str) -> bool {
    line.starts_with("[NOTICE]") || line.starts_with("Proxy ") && line.ends_with(" started.")
}

fn parsed(line: &str) -> ParsedLine<'_> {
    let signature = match Session::read(line) {
        Some(session) => of_session(session),
        None if of_check(line).is_some() => of_check(line).map(str::to_owned),
        None => MESSAGES.iter().find(|(text, _)| line.contains(text)).map(|(_, signature)| (*signature).to_owned()),
    };
    ParsedLine { level: "warning", gist: line, signature: signature.map(Cow::from) }
}

fn of_session(session: Session<'_>) -> Option<String> {
    let (cause, at) = unanswered(session.state)?;
    // `P` and `L` are HAProxy's own (configuration manual 8.5), before a server was asked.
    if let (Some((file, line)), 'P' | 'L', 'R' | 'T') = (session.rule, cause, at) {
        return Some(signature::of_rule(file, line));
    }
    let known = match (cause, at, session.status) {
        ('s' | 'c', 'D', "101" | "-") => signature::TUNNEL_SILENT,
        ('s', 'H', _) => signature::SERVER_SILENT,
        ('c', 'R', _) => signature::CLIENT_SILENT,
        // With TLS 1.3 a certificate is refused after the handshake (RFC 8446, 4.4.2.4), when a request has been sent. Who only closes leaves no error of TLS.
        ('S', 'H', _) if session.error.contains("SSL") => signature::SERVER_TLS,
        ('S', 'H', _) => signature::SERVER_CLOSED,
        ('P', 'H', _) => signature::RESPONSE_REFUSED,
        ('s', 'Q', _) => signature::QUEUE_TIMEOUT,
        ('S', 'Q', _) => signature::QUEUE_FULL,
        // Nobody was asked who could have refused (configuration manual 8.5: SC, `no server`).
        ('S', 'C', _) if session.server.is_none() => signature::NO_SERVER,
        // src/connection.c: conn_err_code_str; every failure of a handshake has this word in its name.
        ('S', 'C', _) if session.error.contains("SSL") => signature::SERVER_TLS,
        ('S', 'C', _) => signature::SERVER_REFUSED,
        ('s', 'C', _) => signature::SERVER_SLOW_CONNECT,
        ('R', 'C', _) => signature::RESOURCE,
        // The process has no socket left (configuration manual 8.5).
        ('P', 'C', _) => signature::DESCRIPTORS,
        _ => return None,
    };
    Some(known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_not_asked_has_not_refused() {
        let down =
            |server: &str, reason: &str| format!("Server {server} is DOWN, reason: {reason}, check duration: 0ms.");
        let session = "session SC status=503 queue=0 node=<NOSRV> backend=b target=/";
        let shown = "session SC status=503 queue=0 node=<NOSRV> target=/";
        let wrong = down("b/s", "Layer7 wrong status, code: 404, info: \"Not Found\"");
        let refused =
            format!("[WARNING]  (7) : {}", down("b/s", "Layer4 connection problem, info: \"Connection refused\""));
        let told = |down: &mut Down, lines: &[&str]| {
            let all = down.aggregate(lines.iter().copied());
            all.iter().filter(|l| l.text == shown).filter_map(|l| l.signature.clone()).collect::<Vec<_>>()
        };
        assert_eq!(told(&mut Down::default(), &[session]), [signature::NO_SERVER]);
        assert_eq!(told(&mut Down::default(), &[&refused, session]), [signature::NO_SERVER_BY_REFUSED]);
        assert_eq!(
            told(&mut Down::default(), &[session, &wrong, session]),
            [signature::NO_SERVER, signature::NO_SERVER_BY_CHECK]
        );
        let mut over_time = Down::default();
        assert!(told(&mut over_time, &[&wrong]).is_empty());
        assert_eq!(told(&mut over_time, &[session]), [signature::NO_SERVER_BY_CHECK], "said in an earlier interval");
        let up = "Server b/s is UP, reason: Layer7 check passed, code: 200, check duration: 1ms.";
        assert_eq!(told(&mut over_time, &[up, session]), [signature::NO_SERVER]);
        let observed =
            down("b/s", "Health analyze, info: \"Detected 1 consecutive errors, last one was: Wrong http response\"");
        assert_eq!(
            told(&mut Down::default(), &[&observed, session]),
            [signature::NO_SERVER_BY_ERRORS],
            "no check failed"
        );
        let maintenance = "Server b/s is going DOWN for maintenance.";
        assert_eq!(told(&mut over_time, &[maintenance, session]), [signature::NO_SERVER]);
        let elsewhere = down("c/s", "Layer7 wrong status, code: 404");
        assert_eq!(told(&mut Down::default(), &[&elsewhere, session]), [signature::NO_SERVER], "of another backend");
        assert_eq!(told(&mut Down::default(), &[&elsewhere, &refused, session]), [signature::NO_SERVER_BY_REFUSED]);
        assert_eq!(
            told(&mut Down::default(), &[&wrong, shown]),
            [signature::NO_SERVER],
            "of which backend is not told"
        );
        let second = down("b/t", "Layer4 timeout");
        assert_eq!(told(&mut Down::default(), &[&wrong, &second, session]), [signature::NO_SERVER], "both reasons");
        assert_eq!(told(&mut Down::default(), &[&refused, &second, session]), [signature::NO_SERVER_BY_CONNECT]);
        let kept = "Server b/t is going DOWN for maintenance.";
        assert_eq!(told(&mut Down::default(), &[&wrong, kept, session]), [signature::NO_SERVER], "one by hand");
        let both = "session SC status=503 queue=0 node=<NOSRV> backend=c target=/";
        let mut of_both = told(&mut Down::default(), &[&elsewhere, &refused, session, both]);
        of_both.sort();
        assert_eq!(of_both, [signature::NO_SERVER_BY_CHECK, signature::NO_SERVER_BY_REFUSED], "each in its own light");
        let named = |line: &str| aggregate([line])[0].signature.clone();
        assert_eq!(named(&wrong).as_deref(), Some(signature::CHECK_FAILED));
        assert_eq!(named(&refused).as_deref(), Some(signature::CHECK_REFUSED));
    }

    #[test]
    fn a_session_for_which_there_is_no_socket_was_refused_by_no_server() {
        let session = "session SC status=503 queue=0 node=s1 target=/";
        let alert = "[ALERT]    (7) : socket(): not enough free sockets. Raise -n argument. Giving up.";
        let named = |down: &mut Down, lines: &[&str]| {
            down.aggregate(lines.iter().copied()).into_iter().filter_map(|line| line.signature).collect::<Vec<_>>()
        };
        let mut down = Down::default();
        assert_eq!(named(&mut down, &[session, alert]), [signature::SOCKETS]);
        assert_eq!(named(&mut down, &[session]), [signature::SOCKETS], "told in the interval before");
        assert_eq!(named(&mut down, &[session]), [signature::SERVER_REFUSED]);
    }

    #[test]
    fn a_queue_of_another_backend_and_its_own_listeners_are_told_apart() {
        let apart = Apart { back: Some("b".to_owned()), own: ["b/in".to_owned()].into() };
        let line = |state: &str, node: &str, backend: &str| {
            let line = format!("session {state} status=503 queue=3 node={node} backend={backend} target=/");
            let told = Down::of(apart.clone()).aggregate([line.as_str()]);
            told.into_iter().find_map(|line| line.signature).unwrap()
        };
        assert_eq!(line("sQ", "<NOSRV>", "b"), signature::QUEUE_TIMEOUT);
        assert_eq!(line("sQ", "<NOSRV>", "spare"), "haproxy.refused.sQ.spare");
        assert_eq!(line("SC", "in", "b"), "haproxy.refused.SC.b", "HAProxy itself refused it");
        assert_eq!(line("SC", "s", "b"), signature::SERVER_REFUSED);
        assert_eq!(line("SC", "in", "c"), signature::SERVER_REFUSED, "another server of that name");
        assert_eq!(line("sC", "in", "b"), "haproxy.refused.sC.b");
    }

    #[test]
    fn lines_are_known_by_their_termination_state() {
        for (line, signature) in [
            ("session sQ status=503 queue=3 node=<NOSRV> target=/", Some(signature::QUEUE_TIMEOUT)),
            ("session SC status=503 queue=0 node=s1 target=/", Some(signature::SERVER_REFUSED)),
            ("session SQ status=503 queue=0 node=s1 target=/", Some(signature::QUEUE_FULL)),
            ("session SC status=503 queue=0 node=s1 rule=-:- error=- target=/", Some(signature::SERVER_REFUSED)),
            (
                "session SC status=503 queue=0 node=s1 rule=-:- error=SSL%20handshake%20failure target=/",
                Some(signature::SERVER_TLS),
            ),
            (
                "session SH status=502 queue=0 node=s1 rule=-:- error=SSL_fatal_error target=/",
                Some(signature::SERVER_TLS),
            ),
            ("session SC status=503 queue=0 node=<NOSRV> target=/", Some(signature::NO_SERVER)),
            ("session sC status=503 queue=0 node=s1 target=/", Some("haproxy.refused.sC")),
            ("session RC status=503 queue=0 node=s1 target=/", Some(signature::RESOURCE)),
            ("session sH status=504 queue=0 node=s1 target=/", Some(signature::SERVER_SILENT)),
            ("session SH status=502 queue=0 node=s1 target=/", Some(signature::SERVER_CLOSED)),
            ("session PH status=502 queue=0 node=s1 target=/", Some(signature::RESPONSE_REFUSED)),
            ("session cD status=101 queue=0 node=s1 target=/", Some(signature::TUNNEL_SILENT)),
            ("session cR status=408 queue=0 node=<NOSRV> target=<BADREQ>", Some(signature::CLIENT_SILENT)),
            ("session CD status=200 queue=0 node=s1 target=/", None),
            ("session PR status=403 queue=0 node=<NOSRV> rule=000-h.cfg:7 target=/", Some("haproxy.rule.000-h.cfg:7")),
            (
                "session PR status=403 queue=0 node=<NOSRV> backend=f rule=000-h.cfg:7 target=/",
                Some("haproxy.rule.000-h.cfg:7"),
            ),
            ("session PT status=500 queue=0 node=<NOSRV> rule=000-h.cfg:8 target=/", Some("haproxy.rule.000-h.cfg:8")),
            ("session SC status=503 queue=0 node=s1 rule=000-h.cfg:7 target=/", Some(signature::SERVER_REFUSED)),
            ("session PR status=400 queue=0 node=<NOSRV> rule=-:- target=<BADREQ>", None),
            ("session -- status=200 queue=0 node=s1 target=/reached process FD limit", None),
            (
                "Proxy f reached process FD limit (maxsock=60). Please check 'ulimit-n' and restart.",
                Some(signature::DESCRIPTORS),
            ),
            ("Connect() failed for backend b: no free ports.", Some(signature::PORTS)),
        ] {
            let lines = aggregate([line]);
            assert_eq!(lines[0].signature.as_deref(), signature, "{line}");
        }
        assert!(aggregate(["Proxy f started.", "[NOTICE]   (1) : haproxy version is 2.6"]).is_empty());
    }
}
