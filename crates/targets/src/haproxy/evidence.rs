//! What the statistics socket and the log tell.

use std::collections::BTreeMap;

use genkai_model::evidence::{LogLine, Sample};
use genkai_model::rooms::{Ended, Ender, Refused, RouterNode, Why};

use super::config::{BACKEND, FRONTEND, LINE, number};
use crate::local::gather::{Told, gather};
use crate::local::usage::Usage;

/// Who it is in a record.
pub(super) const SUBJECT: &str = "haproxy";

/// What `show info` tells of the whole process, as `haproxy.NAME` (management manual 9.3, `show info`).
const INFO: [(&str, &str); 4] = [
    ("CurrConns", "connections"),
    ("Maxconn", "maxconn"),
    ("CumConns", "connections_total"),
    ("Idle_pct", "idle_percent"),
];

/// The rows of `show stat` (management manual 9.1), by proxy and server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stat {
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    proxy: String,
    server: String,
    fields: BTreeMap<String, u64>,
}

impl Stat {
    /// Reads the table: its first line names the columns.
    pub(super) fn read(text: &str) -> Stat {
        let mut lines = text.lines().skip_while(|line| !line.starts_with("# "));
        let names: Vec<&str> = lines.next().unwrap_or_default().trim_start_matches("# ").split(',').collect();
        let row = |line: &str| {
            let values: Vec<&str> = line.split(',').collect();
            let fields = names.iter().zip(&values).filter_map(|(name, v)| Some(((*name).to_owned(), v.parse().ok()?)));
            Some(Row {
                proxy: (*values.first()?).to_owned(),
                server: (*values.get(1)?).to_owned(),
                fields: fields.collect(),
            })
        };
        Stat { rows: lines.filter(|line| line.contains(',')).filter_map(row).collect() }
    }

    /// This one after `before`, of a process that is no more: the higher peaks, the sums of what was counted. Rows that are missing
    /// now are as they were.
    pub(super) fn after(mut self, before: &Stat) -> Stat {
        for old in &before.rows {
            let Some(row) = self.rows.iter_mut().find(|row| row.proxy == old.proxy && row.server == old.server) else {
                self.rows.push(old.clone());
                continue;
            };
            for (name, past) in &old.fields {
                let now = row.fields.entry(name.clone()).or_default();
                match &**name {
                    "smax" | "qmax" => *now = (*now).max(*past),
                    "econ" | "eresp" | "hrsp_5xx" | "stot" => *now += past,
                    _ => {}
                }
            }
        }
        self
    }

    pub(super) fn row(&self, proxy: &str, server: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.proxy == proxy && row.server == server)
    }

    /// Each node.
    pub(super) fn nodes(&self) -> Vec<RouterNode> {
        let servers = self.rows.iter().filter(|row| row.proxy == BACKEND);
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
    pub(super) fn queue_peak(&self) -> Option<u64> {
        self.row(BACKEND, "BACKEND").map(|row| row.get("qmax"))
    }

    fn metrics(&self, metrics: &mut BTreeMap<String, f64>) {
        let backend = self.row(BACKEND, "BACKEND");
        let mut put = |name: &str, row: Option<&Row>, field: &str| {
            if let Some(value) = row.and_then(|row| row.fields.get(field)) {
                metrics.insert(format!("{SUBJECT}.{name}"), *value as f64);
            }
        };
        put("sessions", self.row(FRONTEND, "FRONTEND"), "scur");
        put("queued", backend, "qcur");
        put("connect_errors_total", backend, "econ");
        put("response_errors_total", backend, "eresp");
        put("refused_total", self.row(FRONTEND, "FRONTEND"), "hrsp_5xx");
        let fullest = self.rows.iter().filter(|row| number(&row.server).is_some()).max_by_key(|row| row.get("scur"));
        put("node_sessions_max", fullest, "scur");
        put("node_sessions_limit", fullest, "slim");
    }
}

impl Row {
    pub(super) fn get(&self, field: &str) -> u64 {
        self.fields.get(field).copied().unwrap_or(0)
    }
}

/// One sample of subject `haproxy`: of `show info` what [`INFO`] names; `haproxy.sessions`, `haproxy.queued`,
/// `haproxy.connect_errors_total`, `haproxy.response_errors_total`, `haproxy.refused_total` (answers 5xx) of `show stat`;
/// `haproxy.node_sessions_max` and `haproxy.node_sessions_limit` of the fullest node; what its process consumes.
pub(super) fn sample(info: &str, stat: &Stat, usage: &Usage) -> Sample {
    let mut metrics = BTreeMap::new();
    for line in info.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let known = INFO.iter().find(|(known, _)| *known == name);
        if let (Some((_, name)), Ok(value)) = (known, value.trim().parse::<f64>()) {
            metrics.insert(format!("{SUBJECT}.{name}"), value);
        }
    }
    stat.metrics(&mut metrics);
    metrics.insert(format!("{SUBJECT}.cpu"), usage.cpu);
    metrics.insert(format!("{SUBJECT}.rss"), usage.rss as f64);
    if let Some(fds) = usage.fds_max {
        metrics.insert(format!("{SUBJECT}.worker_fds_max"), fds as f64);
    }
    Sample { subject: SUBJECT.to_owned(), metrics }
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
        gather(SUBJECT, shown.collect::<Vec<_>>(), told)
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
    let words: Vec<&str> = line.split(' ').collect();
    let [LINE, state, status, _queue, _node, target, ..] = words[..] else { return Line::Other };
    let Some(status) = status.strip_prefix("status=") else { return Line::Other };
    let known = match status {
        "101" => ender(state).map(|by| Line::Ended(by, member(target))),
        _ => refusal(state, status).map(Line::Refused),
    };
    known.unwrap_or(Line::Usual)
}

fn told(line: &str) -> Told<'_> {
    let state = line.split(' ').nth(1).unwrap_or_default();
    let signature = match read(line) {
        Line::Refused(_) => Some(format!("{SUBJECT}.refused.{state}")),
        Line::Ended(..) => Some(format!("{SUBJECT}.ended.{state}")),
        Line::Usual | Line::Other => None,
    };
    Told { level: "warning", gist: line, signature: signature.map(Into::into) }
}

/// Who ended an open connection, by its termination state (configuration manual 8.5); none for the client itself. `S`: the
/// server; `K` an administrator, `D` a server that is down, `s` and `c` a timeout of the router, `P`, `R`, `I` the router itself.
fn ender(state: &str) -> Option<Ender> {
    match state.chars().next()? {
        'S' => Some(Ender::Node),
        'K' | 'D' | 'U' | 's' | 'c' | 'P' | 'R' | 'I' => Some(Ender::Router),
        _ => None,
    }
}

/// Why a request was refused, by its termination state (configuration manual 8.5): the second letter tells where it was
/// then, `Q` in the queue, `C` connecting.
fn refusal(state: &str, status: &str) -> Option<Why> {
    let mut letters = state.chars();
    match (letters.next()?, letters.next()?) {
        ('s', 'Q') => Some(Why::QueueTimeout),
        ('s', 'C') => Some(Why::NodeSilent),
        ('S', 'C') => Some(Why::NodeRefused),
        ('R', _) => Some(Why::RouterFull),
        // The client did not wait for an answer.
        ('C', _) => None,
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

    #[test]
    fn a_process_that_was_killed_counts() {
        let table = |smax, econ| format!("# pxname,svname,scur,smax,slim,econ,qmax\nnodes,node1,1,{smax},9,{econ},0\n");
        let (old, new) = (Stat::read(&table(7, 2)), Stat::read(&table(5, 1)));
        let both = new.after(&old);
        let value = |field| both.rows[0].get(field);
        assert_eq!((value("smax"), value("econ"), value("scur"), value("slim")), (7, 3, 1, 9));
        assert_eq!(Stat::default().after(&old), old, "it does not answer any more");
    }

    /// HAProxy 2.6.12, columns beyond `econ` left out.
    const STAT: &str = "# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,\n\
        router,FRONTEND,,,7,9,100,12,0,0,0,0,0,,,\n\
        nodes,node1,0,0,4,4,4,8,0,0,,0,,0,0,\n\
        nodes,node2,0,0,3,4,,4,0,0,,0,,2,0,\n\
        nodes,BACKEND,1,3,7,8,10,12,0,0,0,0,,2,0,\n\n";

    #[test]
    fn the_table_is_read_by_its_names() {
        let stat = Stat::read(STAT);
        let node = |node, limit, connect_errors| RouterNode { node, peak: 4, limit, connect_errors };
        assert_eq!(stat.nodes(), [node(1, Some(4), 0), node(2, None, 2)]);
        assert_eq!((stat.queue_peak(), Stat::read("").queue_peak()), (Some(3), None));
        let sample = sample("Name: HAProxy\nMaxconn: 100\nCurrConns: 7\n", &stat, &Usage::default());
        let metric = |name: &str| sample.metrics[&format!("haproxy.{name}")];
        assert_eq!((metric("connections"), metric("maxconn"), metric("sessions")), (7.0, 100.0, 7.0));
        assert_eq!((metric("queued"), metric("node_sessions_max"), metric("node_sessions_limit")), (1.0, 4.0, 4.0));
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
