//! What the statistics socket and the log tell.

use std::collections::BTreeMap;

use genkai_model::evidence::LogLine;
use genkai_model::rooms::{Ended, Ender, Refused, RouterNode, Why};

use super::config::{BACKEND, number};
use crate::haproxy::evidence::{Row, SUBJECT, Session, Stat, ended, unanswered};
use genkai_place::log_lines::{ParsedLine, aggregate};

/// Each node.
pub(super) fn nodes(stat: &Stat) -> Vec<RouterNode> {
    let servers = stat.rows.iter().filter(|row| row.proxy == BACKEND);
    let node = |row: &Row| {
        Some(RouterNode {
            node: number(&row.server)?,
            peak: row.get("smax"),
            limit: row.fields.get("slim").copied(),
            connect_errors: row.get("econ"),
        })
    };
    servers.filter_map(node).collect()
}

/// Requests that waited at once, at most.
pub(super) fn queue_peak(stat: &Stat) -> Option<u64> {
    stat.row(BACKEND, "BACKEND").map(|row| row.get("qmax"))
}

/// Sessions of the log, so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    refused: BTreeMap<Why, u64>,
    pub(super) ended: Vec<Ended>,
}

/// Connections that are named, at most.
const NAMED: usize = 100_000;

impl Sessions {
    /// Takes new lines; what is to be shown of them: refusals, connections that were ended, what is no session.
    pub(super) fn take(&mut self, lines: &[String]) -> Vec<LogLine> {
        let shown = lines.iter().map(String::as_str).filter(|line| self.count(line));
        aggregate(SUBJECT, shown.collect::<Vec<_>>(), told)
    }

    /// Counts a line; whether it is to be shown.
    fn count(&mut self, line: &str) -> bool {
        match read(line) {
            Line::Refused(why) => *self.refused.entry(why).or_default() += 1,
            Line::Ended(by, member) => {
                let named = member.filter(|_| self.ended.len() < NAMED);
                self.ended.extend(named.map(|member| Ended { member, by }));
            }
            Line::Usual => return false,
            Line::Other => {}
        }
        true
    }

    /// Requests refused, by why.
    pub(super) fn refused(&self) -> Vec<Refused> {
        self.refused.iter().map(|(why, count)| Refused { why: *why, count: *count }).collect()
    }
}

/// What a line of the log is.
enum Line {
    Refused(Why),
    Ended(Ender, Option<u32>),
    /// A session that ended as it should.
    Usual,
    /// No session: a node that goes down, an error.
    Other,
}

/// Its form: see `config`.
fn read(line: &str) -> Line {
    let Some(Session { state, status, target, .. }) = Session::read(line) else { return Line::Other };
    let known = match status {
        "101" => ender(state).map(|by| Line::Ended(by, member(target))),
        _ => refusal(state, status).map(Line::Refused),
    };
    known.unwrap_or(Line::Usual)
}

fn told(line: &str) -> ParsedLine<'_> {
    let state = line.split(' ').nth(1).unwrap_or_default();
    let signature = match read(line) {
        Line::Refused(_) => Some(format!("{SUBJECT}.refused.{state}")),
        Line::Ended(..) => Some(format!("{SUBJECT}.ended.{state}")),
        Line::Usual | Line::Other => None,
    };
    ParsedLine { level: "warning", gist: line, signature: signature.map(Into::into) }
}

/// Who ended an open connection; none for the client itself. All but the server is the router's doing.
fn ender(state: &str) -> Option<Ender> {
    ended(state).map(|letter| if letter == 'S' { Ender::Node } else { Ender::Router })
}

/// Why a request was refused.
fn refusal(state: &str, status: &str) -> Option<Why> {
    match unanswered(state)? {
        ('s', 'Q') => Some(Why::QueueTimeout),
        ('s', 'C') => Some(Why::NodeSilent),
        ('S', 'C') => Some(Why::NodeRefused),
        ('R', _) => Some(Why::RouterFull),
        _ if status == "503" => Some(Why::NoNode),
        _ if status.starts_with('5') => Some(Why::Other),
        _ => None,
    }
}

/// `.../rooms/3?member=17` to 17.
fn member(target: &str) -> Option<u32> {
    target.rsplit_once("member=")?.1.split('&').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::evidence::STAT;

    #[test]
    fn nodes_are_told_by_their_rows() {
        let stat = Stat::read(STAT);
        let node = |node, limit, connect_errors| RouterNode { node, peak: 4, limit, connect_errors };
        assert_eq!(nodes(&stat), [node(1, Some(4), 0), node(2, None, 2)]);
        assert_eq!((queue_peak(&stat), queue_peak(&Stat::read(""))), (Some(3), None));
    }

    #[test]
    fn sessions_are_told_by_their_termination_state() {
        let mut sessions = Sessions::default();
        let lines = [
            ("session sQ status=503 queue=1 node=<NOSRV> target=/rooms/3?member=17", Some("haproxy.refused.sQ")),
            ("session sQ status=503 queue=2 node=<NOSRV> target=/rooms/3?member=18", Some("haproxy.refused.sQ")),
            ("session SC status=503 queue=0 node=node1 target=/rooms/3?member=19", Some("haproxy.refused.SC")),
            ("session KD status=101 queue=0 node=node1 target=/rooms/0?member=20", Some("haproxy.ended.KD")),
            ("session SD status=101 queue=0 node=node1 target=/rooms/0?member=21&x", Some("haproxy.ended.SD")),
            ("session CD status=101 queue=0 node=node1 target=/rooms/0?member=22", None),
            ("session -- status=101 queue=0 node=node1 target=/rooms/0?member=23", None),
            ("session CQ status=503 queue=4 node=<NOSRV> target=/rooms/0?member=24", None),
            ("session SC status=503 queue=0 node=<NOSRV> target=/rooms/0", Some("haproxy.refused.SC")),
        ];
        for (line, signature) in lines {
            let shown = sessions.take(&[line.to_owned()]);
            assert_eq!(shown.first().and_then(|line| line.signature.as_deref()), signature, "{line}");
        }
        let many = ["Server nodes/node1 is DOWN", "session", "session sQ 503 a b c"].map(str::to_owned);
        assert!(sessions.take(&many).iter().all(|line| line.signature.is_none()), "shown as they are");
        let refused = |why, count| Refused { why, count };
        let expected = [refused(Why::QueueTimeout, 2), refused(Why::NodeRefused, 2)];
        assert_eq!(sessions.refused(), expected);
        let ended = |member, by| Ended { member, by };
        assert_eq!(sessions.ended, [ended(20, Ender::Router), ended(21, Ender::Node)]);
    }
}
