//! What the statistics socket tells (management manual 9).

use std::collections::BTreeMap;

use genkai_model::evidence::{Sample, metric};

use super::{SUBJECT, metrics as names};
use genkai_place::usage::Usage;

/// What `show info` tells of the whole process, as `haproxy.NAME` (management manual 9.3, `show info`).
const INFO: [(&str, &str); 12] = [
    ("CurrConns", "connections"),
    ("Maxconn", "maxconn"),
    ("CurrSslConns", "tls_connections"),
    ("MaxSslConns", "maxsslconn"),
    ("CumConns", "connections_total"),
    ("Idle_pct", "idle_percent"),
    ("ConnRate", "connection_rate"),
    ("ConnRateLimit", "connection_rate_limit"),
    ("SessRate", "session_rate"),
    ("SessRateLimit", "session_rate_limit"),
    ("SslRate", "tls_rate"),
    ("SslRateLimit", "tls_rate_limit"),
];

/// The sections that are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// That which takes the connections.
    pub(crate) front: String,
    /// That with the servers.
    pub(crate) back: String,
}

/// The rows of `show stat` (management manual 9.1), by proxy and server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) rows: Vec<Row>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) proxy: String,
    pub(crate) server: String,
    pub(crate) fields: BTreeMap<String, u64>,
}

impl Row {
    /// A field; 0 where it is empty.
    pub(crate) fn get(&self, field: &str) -> u64 {
        self.fields.get(field).copied().unwrap_or(0)
    }

    /// Whether it is one server's: not the sum of a section, and not a listener's (`option socket-stats`, type 3).
    fn is_server(&self) -> bool {
        !matches!(self.server.as_str(), "FRONTEND" | "BACKEND") && self.fields.get("type").is_none_or(|kind| *kind == 2)
    }

    /// Answers with the status of an error; none where HAProxy does not count answers (`mode tcp`).
    fn failed(&self) -> Option<u64> {
        Some(self.get("hrsp_4xx") + self.fields.get("hrsp_5xx")?)
    }

    /// All other answers.
    fn passed(&self) -> u64 {
        ["hrsp_1xx", "hrsp_2xx", "hrsp_3xx", "hrsp_other"].iter().map(|field| self.get(field)).sum()
    }
}

impl Stat {
    /// Reads the table: its first line names the columns.
    pub(crate) fn read(text: &str) -> Stat {
        let mut lines = text.lines().skip_while(|line| !line.starts_with("# "));
        let names: Vec<&str> = lines.next().unwrap_or_default().trim_start_matches("# ").split(',').collect();
        let row = |line: &str| {
            let values: Vec<&str> = line.split(',').collect();
            let fields = names.iter().zip(&values).filter_map(|(name, v)| Some(((*name).to_owned(), v.parse().ok()?)));
            let status = names.iter().zip(&values).find(|(name, _)| **name == "status").and_then(|(_, v)| is_down(v));
            let fields = fields.chain(status.map(|down| (DOWN.to_owned(), u64::from(down))));
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
    pub(crate) fn after(mut self, before: &Stat) -> Stat {
        for old in &before.rows {
            let Some(row) = self.rows.iter_mut().find(|row| row.proxy == old.proxy && row.server == old.server) else {
                self.rows.push(old.clone());
                continue;
            };
            for (name, past) in &old.fields {
                let now = row.fields.entry(name.clone()).or_default();
                match &**name {
                    "smax" | "qmax" => *now = (*now).max(*past),
                    "dcon" | "dses" | "dreq" | "econ" | "eresp" | "stot" | "hrsp_1xx" | "hrsp_2xx" | "hrsp_3xx"
                    | "hrsp_4xx" | "hrsp_5xx" | "hrsp_other" => *now += past,
                    _ => {}
                }
            }
        }
        self
    }

    /// One row.
    pub(crate) fn row(&self, proxy: &str, server: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.proxy == proxy && row.server == server)
    }

    fn metrics(&self, names: &Names, metrics: &mut BTreeMap<String, f64>) {
        let (front, back) = (self.row(&names.front, "FRONTEND"), self.row(&names.back, "BACKEND"));
        let mut put = |name: &str, row: Option<&Row>, field: &str| {
            if let Some(value) = row.and_then(|row| row.fields.get(field)) {
                metrics.insert(format!("{SUBJECT}.{name}"), *value as f64);
            }
        };
        put("sessions", front, "scur");
        put("sessions_limit", front, "slim");
        put("frontend_rate", front, "rate");
        if front.is_some_and(|row| row.get("rate_lim") > 0) {
            put("frontend_rate_limit", front, "rate_lim");
        }
        put("queued", back, "qcur");
        put("connect_errors_total", back, "econ");
        put("response_errors_total", back, "eresp");
        put("refused_total", front, "hrsp_5xx");
        put("denied_connections_total", front, "dcon");
        put("denied_sessions_total", front, "dses");
        put("denied_requests_total", front, "dreq");
        let servers: Vec<&Row> = self.servers(names).collect();
        let fullest = servers.iter().copied().max_by_key(|row| row.get("scur"));
        put("server_sessions_max", fullest, "scur");
        put("server_sessions_limit", fullest, "slim");
        for row in &servers {
            put(&of_server(&row.server, "connect_errors_total"), Some(row), "econ");
            put(&of_server(&row.server, "response_errors_total"), Some(row), "eresp");
        }
        self.elsewhere(names, metrics);
        each_time(&servers, metrics);
        answers(&servers, metrics);
        let down = servers.iter().filter_map(|row| Some((&row.server, *row.fields.get(DOWN)?)));
        metrics.extend(down.map(|(server, down)| (metric::of_down(SUBJECT, server), down as f64)));
    }

    /// Connections and queues of the sections that are not looked at, and have had any.
    fn elsewhere(&self, names: &Names, metrics: &mut BTreeMap<String, f64>) {
        let mut put = |name: String, row: &Row, field: &str| {
            metrics.extend(row.fields.get(field).map(|value| (format!("{SUBJECT}.{name}"), *value as f64)));
        };
        for row in self.rows.iter().filter(|row| row.get("stot") > 0) {
            match row.server.as_str() {
                "FRONTEND" if row.proxy != names.front => {
                    put(of_frontend(&row.proxy, "sessions"), row, "scur");
                    put(of_frontend(&row.proxy, "sessions_limit"), row, "slim");
                }
                "BACKEND" if row.proxy != names.back => {
                    put(of_backend(&row.proxy, "queued"), row, "qcur");
                    let own = self.rows.iter().filter(|one| one.proxy == row.proxy && one.is_server());
                    if let Some(fullest) = own.max_by_key(|one| one.get("scur")) {
                        put(of_backend(&row.proxy, "server_sessions_max"), fullest, "scur");
                        put(of_backend(&row.proxy, "server_sessions_limit"), fullest, "slim");
                    }
                }
                _ => {}
            }
        }
    }

    /// What servers answered beside what clients got, where only requests of this frontend come to them and HAProxy counts answers.
    pub(super) fn passing(&self, names: &Names) -> Option<Passing> {
        let front = self.row(&names.front, "FRONTEND")?;
        let is_other = |row: &Row| row.server == "FRONTEND" && row.proxy != names.front;
        if self.rows.iter().any(|row| is_other(row) && row.get("req_tot") > 0) {
            return None;
        }
        let mut passing = Passing { shown: front.failed()? + front.get("scur"), ..Passing::default() };
        for row in &self.rows {
            match row.server.as_str() {
                "BACKEND" => passing.again += row.get("wretr"),
                _ if row.is_server() => {
                    passing.answered += row.failed()? + row.passed();
                    passing.failed += row.failed()?;
                }
                _ => {}
            }
        }
        Some(passing)
    }

    fn servers(&self, names: &Names) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.proxy == names.back && row.is_server())
    }
}

/// Answers of all servers, and what their clients were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passing {
    /// Answers of servers.
    pub(super) answered: u64,
    /// Those with the status of an error.
    pub(super) failed: u64,
    /// Answers with the status of an error that clients got, and those that may be on their way.
    pub(super) shown: u64,
    /// Requests that were sent to a server once more.
    pub(super) again: u64,
}

/// How a row's fields call whether its server failed its check.
const DOWN: &str = "down";

/// Whether a server gets no requests because it failed; none where nothing checks it, or an administrator or an agent decides.
fn is_down(status: &str) -> Option<bool> {
    match status.split(' ').next()? {
        "DOWN" => (!status.contains("agent")).then_some(true),
        "UP" => Some(false),
        _ => None,
    }
}

/// What of one server is called, after `haproxy.`.
pub(crate) fn of_server(server: &str, what: &str) -> String {
    format!("server.{server}.{what}")
}

/// What of one backend that is not looked at is called, after `haproxy.`.
pub(crate) fn of_backend(backend: &str, what: &str) -> String {
    format!("backend.{backend}.{what}")
}

/// The same of one frontend.
pub(crate) fn of_frontend(frontend: &str, what: &str) -> String {
    format!("frontend.{frontend}.{what}")
}

/// A server that answers sooner than this (milliseconds) is as good as one that answers at once.
const AT_ONCE: u64 = 20;

/// How long each server took to answer, on average of its last 1,024 requests (`rtime`), and the least of these. A request without an answer (not
/// yet, or its connection failed) counts there as one that took no time: of a server without any nothing is told, and one to which connections
/// failed is not the fastest.
fn each_time(servers: &[&Row], metrics: &mut BTreeMap<String, f64>) {
    let counted = |row: &Row| row.fields.keys().any(|field| field.starts_with("hrsp_"));
    let has_answered = |row: &Row| {
        let answers = row.fields.iter().filter(|(field, _)| field.starts_with("hrsp_")).map(|(_, count)| *count);
        row.get("stot") > 0 && (!counted(row) || answers.sum::<u64>() > 0)
    };
    let answered = servers.iter().filter(|row| has_answered(row));
    let times: Vec<(&Row, u64)> = answered.filter_map(|row| Some((*row, *row.fields.get("rtime")?))).collect();
    let seconds = |milliseconds: u64| milliseconds as f64 / 1000.0;
    for (row, time) in &times {
        metrics.insert(format!("{SUBJECT}.{}", of_server(&row.server, "response_time")), seconds(*time));
    }
    let sound = times.iter().filter(|(row, _)| row.get("econ") == 0);
    if let Some(least) = sound.map(|(_, time)| *time).min() {
        metrics.insert(super::metrics::FASTEST.to_owned(), seconds(least.max(AT_ONCE)));
    }
}

/// What each server answered, and how much of it with the status of an error; nothing where HAProxy does not count answers (`mode tcp`).
fn answers(servers: &[&Row], metrics: &mut BTreeMap<String, f64>) {
    let mut all_failed = None;
    for row in servers {
        let Some(failed) = row.failed() else { continue };
        for (what, value) in [(names::FAILED_ANSWERS, failed), (names::ANSWERS, failed + row.passed())] {
            metrics.insert(format!("{SUBJECT}.{}", of_server(&row.server, what)), value as f64);
        }
        *all_failed.get_or_insert(0) += failed;
    }
    metrics.extend(all_failed.map(|failed| (names::ALL_FAILED_ANSWERS.to_owned(), failed as f64)));
}

/// One sample of subject `haproxy`: of `show info` what [`INFO`] names (a rate limit only where there is one); of `show stat`
/// sessions, queue and errors of the sections looked at, and the fullest server; what its process consumes.
pub(crate) fn sample(info: &str, stat: &Stat, names: &Names, usage: &Usage) -> Sample {
    let mut sample = usage.sample_of_one(SUBJECT);
    let metrics = &mut sample.metrics;
    for line in info.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let known = INFO.iter().find(|(known, _)| *known == name);
        if let (Some((name, known)), Ok(value)) = (known, value.trim().parse::<f64>())
            && (!name.ends_with("Limit") || value > 0.0)
        {
            metrics.insert(format!("{SUBJECT}.{known}"), value);
        }
    }
    stat.metrics(names, metrics);
    sample
}

/// A table as HAProxy 2.6.12 tells it, columns beyond `econ` left out.
#[cfg(test)]
pub(crate) const STAT: &str = "# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,\n\
    router,FRONTEND,,,7,9,100,12,0,0,0,0,0,,,\n\
    nodes,node1,0,0,4,4,4,8,0,0,,0,,0,0,\n\
    nodes,node2,0,0,3,4,,4,0,0,,0,,2,0,\n\
    nodes,BACKEND,1,3,7,8,10,12,0,0,0,0,,2,0,\n\n";

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

    #[test]
    fn each_server_has_a_time_of_its_own() {
        let text = "# pxname,svname,stot,econ,eresp,hrsp_2xx,hrsp_5xx,rtime\nb,a,9,0,0,9,0,30\nb,c,9,4,0,4,1,400\nb,d,0,0,0,0,0,0\nb,e,5,0,0,0,0,0\n\
            b,f,5,5,0,0,0,0\nb,g,9,4,0,4,1,10\nb,BACKEND,28,9,0,13,1,200\n";
        let names = Names { front: "f".to_owned(), back: "b".to_owned() };
        let sample = sample("", &Stat::read(text), &names, &Usage::default());
        let metric = |name: &str| sample.metrics.get(&format!("haproxy.{name}")).copied();
        let times = ["a", "c", "d", "e", "f", "g"].map(|server| metric(&of_server(server, "response_time")));
        let told = [Some(0.03), Some(0.4), None, None, None, Some(0.01)];
        assert_eq!(times, told, "nobody asked the third, the fourth has not answered yet, the fifth refuses");
        assert_eq!(metric("server.c.connect_errors_total"), Some(4.0));
        assert_eq!(metric("server_fastest"), Some(0.03), "refused connections took the last no time");
    }

    #[test]
    fn what_servers_answered_is_compared_only_where_no_other_frontend_asks_them() {
        let names = Names { front: "f".to_owned(), back: "b".to_owned() };
        let passing = |others: &str| {
            let text = format!(
                "# pxname,svname,scur,req_tot,wretr,type,hrsp_2xx,hrsp_4xx,hrsp_5xx\nf,FRONTEND,3,90,,0,80,1,4\nf,sock-1,3,,,3,,,\n\
                 b,s,1,,,2,40,0,30\nb,BACKEND,1,70,5,1,40,0,30\n{others}"
            );
            Stat::read(&text).passing(&names)
        };
        let all = Passing { answered: 70, failed: 30, shown: 8, again: 5 };
        assert_eq!(passing(""), Some(all));
        assert_eq!(passing("admin,FRONTEND,0,0,,0,0,0,0\n"), Some(all));
        assert_eq!(passing("c,t,0,,,2,9,1,0\n"), Some(Passing { answered: 80, failed: 31, ..all }));
        assert_eq!(passing("g,FRONTEND,0,7,,0,7,0,0\n"), None);
        let tcp = "# pxname,svname,scur,req_tot,wretr,type\nf,FRONTEND,3,,,0\nb,s,1,,,2\n";
        assert_eq!(Stat::read(tcp).passing(&names), None);
    }

    #[test]
    fn servers_that_failed_their_check_are_down() {
        let text = "# pxname,svname,scur,status\nb,a,0,UP\nb,c,0,DOWN\nb,d,0,DOWN 1/2\nb,e,0,MAINT\nb,f,0,no check\nb,g,0,UP 2/3\nb,h,0,DOWN (agent)\n\
                    b,BACKEND,0,DOWN\n";
        let names = Names { front: "f".to_owned(), back: "b".to_owned() };
        let sample = sample("", &Stat::read(text), &names, &Usage::default());
        let down: Vec<_> =
            sample.metrics.iter().filter_map(|(name, value)| Some((metric::down(name)?.1, *value))).collect();
        assert_eq!(down, [("a", 0.0), ("c", 1.0), ("d", 1.0), ("g", 0.0)]);
    }

    #[test]
    fn answers_are_counted_for_each_server() {
        let text = "# pxname,svname,stot,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other\n\
            b,a,9,0,8,1,0,0,0\nb,c,9,0,5,0,1,3,0\nt,d,9,,,,,,\nb,BACKEND,18,0,13,1,1,4,0\n";
        let names = Names { front: "f".to_owned(), back: "b".to_owned() };
        let sample = sample("", &Stat::read(text), &names, &Usage::default());
        let metric = |name: &str| sample.metrics.get(&format!("haproxy.{name}")).copied();
        let of = |server| ["failed_answers_total", "answers_total"].map(|what| metric(&of_server(server, what)));
        assert_eq!((of("a"), of("c")), ([Some(0.0), Some(9.0)], [Some(4.0), Some(9.0)]));
        assert_eq!((metric("failed_answers_total"), of("d")), (Some(4.0), [None, None]), "the fifth is HAProxy's own");
    }

    #[test]
    fn what_is_elsewhere_has_gauges_of_its_own() {
        let text = "# pxname,svname,qcur,scur,slim,stot\nf,FRONTEND,,9,100,9\nb,s,0,0,7,0\nb,BACKEND,0,0,,0\nin,FRONTEND,,5,30,5\n\
                    spare,t,0,4,10,5\nspare,u,0,3,10,4\nspare,BACKEND,6,7,20,9\nidle,BACKEND,0,0,20,0\n";
        let names = Names { front: "f".to_owned(), back: "b".to_owned() };
        let sample = sample("", &Stat::read(text), &names, &Usage::default());
        let metric = |name: String| sample.metrics.get(&format!("haproxy.{name}")).copied();
        let of = |what| metric(of_backend("spare", what));
        let told = ["queued", "server_sessions_max", "server_sessions_limit"].map(of);
        assert_eq!(told, [Some(6.0), Some(4.0), Some(10.0)]);
        let front = ["sessions", "sessions_limit"].map(|what| metric(of_frontend("in", what)));
        assert_eq!(front, [Some(5.0), Some(30.0)]);
        assert_eq!((metric("queued".to_owned()), metric(of_backend("idle", "queued"))), (Some(0.0), None));
    }

    #[test]
    fn the_table_is_read_by_its_names() {
        let stat = Stat::read(STAT);
        assert_eq!((stat.row("nodes", "BACKEND").map(|r| r.get("qmax")), Stat::read("").rows.len()), (Some(3), 0));
        let names = Names { front: "router".to_owned(), back: "nodes".to_owned() };
        let info = "Name: HAProxy\nMaxconn: 100\nCurrConns: 7\nConnRateLimit: 0\nSslRate: 5\nSslRateLimit: 30\n";
        let sample = sample(info, &stat, &names, &Usage::default());
        let metric = |name: &str| sample.metrics.get(&format!("haproxy.{name}")).copied();
        assert_eq!((metric("connections"), metric("maxconn"), metric("sessions")), (Some(7.0), Some(100.0), Some(7.0)));
        assert_eq!((metric("sessions_limit"), metric("connection_rate_limit")), (Some(100.0), None));
        assert_eq!((metric("tls_rate"), metric("tls_rate_limit")), (Some(5.0), Some(30.0)));
        assert_eq!((metric("queued"), metric("server_sessions_max")), (Some(1.0), Some(4.0)));
        assert_eq!(metric("server_sessions_limit"), Some(4.0));
    }
}
