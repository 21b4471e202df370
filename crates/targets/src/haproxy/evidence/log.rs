//! The log: lines of sessions, in the format that a private copy gives them, and messages of HAProxy itself.

use std::borrow::Cow;

use genkai_model::evidence::LogLine;

use super::SUBJECT;
use genkai_place::log_lines::{self, ParsedLine};

/// What a line of a session begins with.
pub(crate) const LINE: &str = "session";

/// Names of the messages that prove something. Sessions are known by their termination state (configuration manual 8.5).
pub mod signature {
    /// A request waited in the queue longer than it may: 503.
    pub const QUEUE_TIMEOUT: &str = "haproxy.refused.sQ";
    /// A server does not take connections: 503.
    pub const SERVER_REFUSED: &str = "haproxy.refused.SC";
    /// A server does not accept in time: 503.
    pub const SERVER_SLOW_CONNECT: &str = "haproxy.refused.sC";
    /// Something of this machine ran out while HAProxy connected to a server: 503.
    pub const RESOURCE: &str = "haproxy.refused.RC";
    /// A server closed before it had answered: 502.
    pub const SERVER_CLOSED: &str = "haproxy.server_closed";
    /// HAProxy did not pass on what a server answered: 502.
    pub const RESPONSE_REFUSED: &str = "haproxy.response_refused";
    /// A server was silent longer than it may: 504.
    pub const SERVER_SILENT: &str = "haproxy.server_silent";
    /// No server lives.
    pub const SERVER_DOWN: &str = "haproxy.server_down";
    /// An open tunnel was silent longer than it may.
    pub const TUNNEL_SILENT: &str = "haproxy.tunnel_silent";
    /// A client did not send its request in time: 408.
    pub const CLIENT_SILENT: &str = "haproxy.client_silent";
    /// No descriptor is left.
    pub const DESCRIPTORS: &str = "haproxy.descriptors";
    /// No local port is left towards a server.
    pub const PORTS: &str = "haproxy.ports";

    /// A rule on this line of a copy answered the request, or ended it.
    pub fn of_rule(file: &str, line: usize) -> String {
        format!("haproxy.rule.{file}:{line}")
    }
}

/// Messages of HAProxy itself (2.6; file named).
const MESSAGES: &[(&str, &str)] = &[
    ("reached process FD limit", signature::DESCRIPTORS), // src/sock.c: sock_accept_conn; src/sock.c: sock_create_server_socket
    ("reached system FD limit", signature::DESCRIPTORS),  // the same
    ("no free ports", signature::PORTS),                  // src/proto_tcp.c: tcp_connect_server
    ("has no server available!", signature::SERVER_DOWN), // src/server.c: srv_update_status
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
    /// The request target.
    pub(crate) target: &'a str,
}

impl<'a> Session<'a> {
    /// `session STATE status=S queue=Q node=N rule=FILE:LINE target=T`, of which older versions tell no rule; none for any other line.
    pub(crate) fn read(line: &'a str) -> Option<Session<'a>> {
        let words: Vec<&str> = line.split(' ').collect();
        let [LINE, state, status, _queue, _node, ref rest @ ..] = words[..] else { return None };
        let rule = rest.first().and_then(|word| word.strip_prefix("rule="));
        let target = rest.get(usize::from(rule.is_some()))?;
        let rule =
            rule.and_then(|rule| rule.rsplit_once(':')).and_then(|(file, line)| Some((file, line.parse().ok()?)));
        Some(Session { state, status: status.strip_prefix("status=")?, rule, target })
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

/// Lines of one interval, alike ones as one.
pub(crate) fn aggregate<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<LogLine> {
    let mut all = log_lines::aggregate(SUBJECT, lines.into_iter().filter(|l| !chatter(l)), parsed);
    for line in &mut all {
        // The rule is known by its line in the copy, which means nothing to the user.
        let words = line.text.split(' ').filter(|word| !(line.text.starts_with(LINE) && word.starts_with("rule=")));
        line.text = words.collect::<Vec<_>>().join(" ");
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
        ('S', 'H', _) => signature::SERVER_CLOSED,
        ('P', 'H', _) => signature::RESPONSE_REFUSED,
        ('s', 'Q', _) => signature::QUEUE_TIMEOUT,
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
    fn lines_are_known_by_their_termination_state() {
        for (line, signature) in [
            ("session sQ status=503 queue=3 node=<NOSRV> target=/", Some(signature::QUEUE_TIMEOUT)),
            ("session SC status=503 queue=0 node=s1 target=/", Some(signature::SERVER_REFUSED)),
            ("session sC status=503 queue=0 node=s1 target=/", Some("haproxy.refused.sC")),
            ("session RC status=503 queue=0 node=s1 target=/", Some(signature::RESOURCE)),
            ("session sH status=504 queue=0 node=s1 target=/", Some(signature::SERVER_SILENT)),
            ("session SH status=502 queue=0 node=s1 target=/", Some(signature::SERVER_CLOSED)),
            ("session PH status=502 queue=0 node=s1 target=/", Some(signature::RESPONSE_REFUSED)),
            ("session cD status=101 queue=0 node=s1 target=/", Some(signature::TUNNEL_SILENT)),
            ("session cR status=408 queue=0 node=<NOSRV> target=<BADREQ>", Some(signature::CLIENT_SILENT)),
            ("session CD status=200 queue=0 node=s1 target=/", None),
            ("session PR status=403 queue=0 node=<NOSRV> rule=000-h.cfg:7 target=/", Some("haproxy.rule.000-h.cfg:7")),
            ("session PT status=500 queue=0 node=<NOSRV> rule=000-h.cfg:8 target=/", Some("haproxy.rule.000-h.cfg:8")),
            ("session SC status=503 queue=0 node=s1 rule=000-h.cfg:7 target=/", Some(signature::SERVER_REFUSED)),
            ("session PR status=400 queue=0 node=<NOSRV> rule=-:- target=<BADREQ>", None),
            ("session -- status=200 queue=0 node=s1 target=/reached process FD limit", None),
            (
                "Proxy f reached process FD limit (maxsock=60). Please check 'ulimit-n' and restart.",
                Some(signature::DESCRIPTORS),
            ),
            ("Connect() failed for backend b: no free ports.", Some(signature::PORTS)),
            ("backend b has no server available!", Some(signature::SERVER_DOWN)),
        ] {
            let lines = aggregate([line]);
            assert_eq!(lines[0].signature.as_deref(), signature, "{line}");
        }
        assert!(aggregate(["Proxy f started.", "[NOTICE]   (1) : haproxy version is 2.6"]).is_empty());
    }
}
