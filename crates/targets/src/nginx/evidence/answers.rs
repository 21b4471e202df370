//! The log of what servers behind answered with an error, and how long they took for a share of all requests, as a private copy writes it.

use std::collections::{BTreeMap, VecDeque};

use genkai_model::evidence::metric;
use genkai_place::tail::Tail;

use crate::nginx::private::REJECTED;

/// How many times of a server are kept, the last ones, and how many it takes to tell how long it takes.
const KEPT: usize = 64;
const FEWEST: usize = 5;
/// With as many it is told how long it takes at least.
const FEW: usize = 3;
/// Less than this is told as this, seconds: nobody calls a server slow that takes no longer.
const STEP: f64 = 20e-3;
/// From so many requests on that ended with servers that did not answer it is told which of them it was, and which part of them it has to be, in tenths.
const TELLING: u64 = 10;
const NEARLY: u64 = 9;
/// The status that nginx gives for a server that refuses connections, or closes them unanswered.
const UNANSWERED: &str = "502";
/// The status that nginx writes down where the client has gone before there was an answer.
const GONE: &str = "499";

/// Counts them, server by server.
#[derive(Debug)]
pub struct Answers {
    log: Tail,
    failed: BTreeMap<String, u64>,
    /// Answers that were sent as good ones in the place of an error.
    hidden: u64,
    /// How often each refused, or closed a connection unanswered, where the client got no answer of another.
    unanswered: BTreeMap<String, u64>,
    /// Of requests whose time is told, by server.
    timed: BTreeMap<String, Timed>,
}

/// What one server did with the requests whose time is told.
#[derive(Debug, Default)]
struct Timed {
    /// Answers, and those of them with the status of an error.
    all: u64,
    failed: u64,
    /// How long they took, seconds.
    took: VecDeque<f64>,
    /// How long those had waited that were not answered when the client went, seconds.
    waited: VecDeque<f64>,
}

/// One such request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// The head came after so many seconds.
    Took(f64),
    /// None had come after so many seconds.
    Waited(f64),
}

impl Timed {
    fn add(&mut self, told: Told, failed: bool) {
        let (all, seconds) = match told {
            Told::Took(seconds) => (&mut self.took, seconds),
            Told::Waited(seconds) => (&mut self.waited, seconds),
        };
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(seconds);
        if matches!(told, Told::Took(_)) {
            self.all += 1;
            self.failed += u64::from(failed);
        }
    }

    /// How long it takes on average, where enough is known of it.
    fn mean(&self) -> Option<f64> {
        let known = self.took.len() >= FEWEST;
        known.then(|| (self.took.iter().sum::<f64>() / self.took.len() as f64).max(STEP))
    }

    /// How long a server takes at least of which few answers are known, beside one that takes so long on average: each answer took so long, and what was not
    /// answered waited longer than the other takes.
    fn least(&self, fastest: f64) -> Option<f64> {
        let waited = self.waited.iter().filter(|seconds| **seconds > fastest);
        let known = self.took.iter().chain(waited);
        (known.clone().count() >= FEW).then(|| known.copied().fold(f64::INFINITY, f64::min).max(STEP))
    }
}

impl Answers {
    /// Of these servers, as nginx names them (`address:port`, `unix:/path`).
    pub(in crate::nginx) fn of(log: Tail, servers: impl IntoIterator<Item = String>) -> Answers {
        let failed: BTreeMap<String, u64> = servers.into_iter().map(|server| (server, 0)).collect();
        // Those of other groups are none of several that the same requests go to.
        let timed = failed.keys().map(|server| (server.clone(), Timed::default())).collect();
        Answers { log, unanswered: failed.clone(), failed, timed, hidden: 0 }
    }

    /// Adds how many there were until now.
    pub(super) fn count(&mut self, metrics: &mut BTreeMap<String, f64>) {
        for line in self.log.lines() {
            self.read(&line);
        }
        metrics.extend(self.failed.iter().map(|(server, failed)| (of_server(server), *failed as f64)));
        metrics.insert(metric::HIDDEN_ERRORS.to_owned(), self.hidden as f64);
        metrics.insert(super::metrics::FAILED_ANSWERS.to_owned(), self.failed.values().sum::<u64>() as f64);
        metrics.extend(self.timed.iter().map(|(server, timed)| (timed_of(server), timed.all as f64)));
        metrics.extend(self.timed.iter().map(|(server, timed)| (timed_failed_of(server), timed.failed as f64)));
        metrics.extend(self.times());
        metrics.extend(self.refused());
    }

    /// How often each did not answer, of the one alone that nearly all was: of several, none is why.
    fn refused(&self) -> impl Iterator<Item = (String, f64)> {
        let all: u64 = self.unanswered.values().sum();
        let told = move |n: u64| all >= TELLING && n * 10 >= all * NEARLY;
        self.unanswered.iter().map(move |(server, n)| (unanswered_of(server), if told(*n) { *n as f64 } else { 0.0 }))
    }

    fn read(&mut self, line: &str) {
        let by = server(line);
        if let Some(server) = by {
            *self.failed.entry(server.to_owned()).or_default() += 1;
        }
        for server in unanswering(line) {
            if let Some(n) = self.unanswered.get_mut(server) {
                *n += 1;
            }
        }
        self.hidden += u64::from(is_hidden(line));
        if let Some((server, told)) = timed(line)
            && let Some(timed) = self.timed.get_mut(server)
        {
            timed.add(told, by == Some(server));
        }
    }

    /// How long each takes of which that is known, and the fastest of them.
    fn times(&self) -> Vec<(String, f64)> {
        let Some(fastest) = self.timed.values().filter_map(Timed::mean).min_by(f64::total_cmp) else {
            return Vec::new();
        };
        let of = |timed: &Timed| timed.mean().or_else(|| timed.least(fastest));
        let all: Vec<(String, f64)> =
            self.timed.iter().filter_map(|(server, timed)| Some((time_of(server), of(timed)?))).collect();
        match all.len() {
            ..2 => Vec::new(),
            _ => all.into_iter().chain([(super::metrics::FASTEST.to_owned(), fastest)]).collect(),
        }
    }
}

/// What the failed answers of a server are called.
pub(in crate::nginx) fn of_server(server: &str) -> String {
    format!("nginx.server.{server}.failed_answers_total")
}

/// What it is called how often one refused, or closed a connection unanswered, where it alone did.
pub(in crate::nginx) fn unanswered_of(server: &str) -> String {
    format!("nginx.server.{server}.unanswered_total")
}

/// What its answers to requests whose time is told are called.
pub(in crate::nginx) fn timed_of(server: &str) -> String {
    format!("nginx.server.{server}.timed_answers_total")
}

/// What those of them are called that have the status of an error.
pub(in crate::nginx) fn timed_failed_of(server: &str) -> String {
    format!("nginx.server.{server}.timed_failed_answers_total")
}

/// What the mean time of a server is called, seconds.
pub(in crate::nginx) fn time_of(server: &str) -> String {
    format!("nginx.server.{server}.response_time")
}

/// The server that was asked last, and how long its head took or was waited for; none where the line is there for something else.
fn timed(line: &str) -> Option<(&str, Told)> {
    let (rest, waited) = line.strip_suffix("|t")?.rsplit_once('|')?;
    let status = rest.split('|').next()?;
    let mut fields = rest.split('|').skip(2).map(ended);
    let (time, server) = (fields.next()?, fields.next()?);
    match time.parse() {
        Ok(took) => Some((server, Told::Took(took))),
        Err(_) => Some((server, Told::Waited(ended(waited).parse().ok().filter(|_| status == GONE)?))),
    }
}

/// What a field says of the server that was asked last.
fn ended(field: &str) -> &str {
    field.rsplit([',', ' ']).next().unwrap_or(field)
}

/// The server whose answer the client got (`STATUS|STATUSES|TIMES|SERVERS|REFUSALS|BYTES|WHOLE TIMES|SHARE`, of each server that was asked, separated by commas, and by colons after
/// an internal redirect). None where nginx answered itself: no head had come, or the status is another one.
fn server(line: &str) -> Option<&str> {
    let mut fields = line.split('|').map(ended);
    let (status, last, time, server) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    (status == last && status.starts_with(['4', '5']) && time != "-").then_some(server)
}

/// The servers that were asked for a request and sent nothing, where the client got nginx's own 502 for the last of them.
fn unanswering(line: &str) -> impl Iterator<Item = &str> {
    let mut fields = line.split('|');
    let status = fields.next().unwrap_or_default();
    // Of an internal redirect the last part counts.
    let mut last = || fields.next().and_then(|field| field.rsplit(" : ").next()).unwrap_or_default().split(", ");
    let (statuses, times, servers, _, received) = (last(), last(), last(), last(), last());
    let each = statuses.zip(times).zip(servers.zip(received)).filter(move |_| status == UNANSWERED);
    let nothing = |((status, time), (_, received)): &((&str, &str), (&str, &str))| {
        *status == UNANSWERED && *time == "-" && *received == "0"
    };
    each.filter(nothing).map(|(_, (server, _))| server)
}

/// Whether the client got a good answer where a server that nginx asked had given an error, or nginx one in its place (`error_page 502 =200`), or
/// where nginx had refused the request (`limit_conn`, `limit_req`).
/// Colons separate what was asked before an internal redirect from what was asked after it; the last of the servers asked for one counts.
fn is_hidden(line: &str) -> bool {
    let mut fields = line.split('|');
    let (Some(status), Some(all)) = (fields.next(), fields.next()) else { return false };
    let last = |asked: &str| asked.rsplit(", ").next().unwrap_or_default().to_owned();
    let ended: Vec<String> = all.split(" : ").map(last).collect();
    // Nothing found in one place, and found in another, is how such sites are made (`error_page 404 = @application`).
    let found = ended.last().is_some_and(|last| last.starts_with(['2', '3']));
    let is_error = |ended: &String| ended.starts_with('5') || ended.starts_with('4') && !found;
    let refused = fields.nth(2).is_some_and(|all| all.split(',').any(|one| one == REJECTED));
    status.starts_with(['2', '3']) && (refused || ended.iter().any(is_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_answer_in_the_place_of_an_error_is_hidden() {
        assert!(is_hidden("200|502|-|127.0.0.1:9"), "a page of nginx's own");
        assert!(is_hidden("200|503, 500 : 200|0.1, 0.1 : 0.2|127.0.0.1:9, 127.0.0.1:8 : 127.0.0.1:7"));
        assert!(!is_hidden("200|502, 200|-, 0.1|127.0.0.1:9, 127.0.0.1:8"), "the next server answered");
        assert!(!is_hidden("200|404 : 200|0.1 : 0.2|127.0.0.1:9 : 127.0.0.1:8"), "found elsewhere");
        assert!(is_hidden("200|404|0.1|127.0.0.1:9"), "a page of nginx's own");
        assert!(!is_hidden("503|503|0.1|127.0.0.1:9") && !is_hidden("garbage"));
        assert!(
            is_hidden("200|-|-|-|REJECTED|") && is_hidden("200|-|-|-|PASSED,REJECTED|t"),
            "refused by nginx itself"
        );
        assert!(!is_hidden("503|-|-|-|REJECTED|t") && !is_hidden("200|200|0.1|127.0.0.1:9|REJECTED_DRY_RUN,-|t"));
    }

    #[test]
    fn an_answer_of_nginx_own_is_nobodys() {
        assert_eq!(server("500|500|0.050|127.0.0.1:9"), Some("127.0.0.1:9"));
        assert_eq!(server("503|502, 503|-, 0.001|127.0.0.1:8, unix:/a.sock"), Some("unix:/a.sock"));
        assert_eq!(server("502|502|-|127.0.0.1:9"), None, "refused, or closed");
        assert_eq!(server("504|504|-|127.0.0.1:9"), None, "no answer in time");
        assert_eq!(server("200|500 : 200|0.050 : 0.001|127.0.0.1:9 : 127.0.0.1:8"), None, "another page was sent");
        assert_eq!(server("404|404|0.010|127.0.0.1:9"), Some("127.0.0.1:9"));
        assert_eq!(server("garbage"), None);
        assert_eq!(server("404|404|0.010|127.0.0.1:9|t"), Some("127.0.0.1:9"));
    }

    #[test]
    fn who_does_not_answer_is_told_where_he_is_the_only_one() {
        let of = |line: &str| unanswering(line).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of("502|502|-|a:1||0|0.000|t"), ["a:1"]);
        assert_eq!(of("502|502, 502|-, -|a:1, unix:/b||0, 0|0.000, 0.000|"), ["a:1", "unix:/b"]);
        assert_eq!(of("502|503, 502|0.001, -|a:1, b:2||99, 0|0.001, 0.000|"), ["b:2"], "the other answered");
        for line in [
            "200|502, 200|-, 0.001|a:1, b:2||0, 9|x|t",
            "502|502|0.001|a:1||9|x|",
            "502|502|-|a:1||5120|0.001|",
            "504|504|-|a:1||0|2.000|",
            "garbage",
        ] {
            assert_eq!(of(line), Vec::<String>::new(), "{line}");
        }
        let told = |lines: &[(&str, usize)]| {
            let mut answers = Answers::of(Tail::open("/nonexistent"), ["a:1", "b:2"].map(str::to_owned));
            lines.iter().for_each(|(line, times)| (0..*times).for_each(|_| answers.read(line)));
            let all: BTreeMap<String, f64> = answers.refused().collect();
            ["a:1", "b:2"].map(|server| all[&unanswered_of(server)])
        };
        let (first, second) = ("502|502|-|a:1||0|0.000|", "502|502|-|b:2||0|0.000|");
        assert_eq!(told(&[(first, 20), ("502|502|-|u||0|0.000|", 9)]), [20.0, 0.0], "the group's name is no server's");
        assert_eq!((told(&[(first, 9)]), told(&[(first, 20), (second, 19)])), ([0.0; 2], [0.0; 2]));
    }

    #[test]
    fn times_are_those_of_the_share() {
        let took = |server, seconds| Some((server, Told::Took(seconds)));
        assert_eq!(timed("200|200|0.050|127.0.0.1:9||0.051|t"), took("127.0.0.1:9", 0.05));
        assert_eq!(
            timed("200|502, 200|-, 0.001|127.0.0.1:8, unix:/a.sock||0.000, 0.001|t"),
            took("unix:/a.sock", 0.001)
        );
        assert_eq!(timed("500|500|0.050|127.0.0.1:9||0.050|"), None, "there as it failed: it would count twice");
        assert_eq!(timed("499|-|-|127.0.0.1:9||1.204|t"), Some(("127.0.0.1:9", Told::Waited(1.204))));
        assert_eq!(timed("504|504|-|127.0.0.1:9||2.000|t"), None);
        assert_eq!((timed("200|-|-|-||-|t"), timed("garbage"), timed("garbage|t")), (None, None, None));
    }

    /// What is told of the times of these servers, with these lines in the log.
    fn told(lines: &[(&str, usize)]) -> BTreeMap<String, f64> {
        let mut answers = Answers::of(Tail::open("/nonexistent"), ["a:1", "b:2", "c:3"].map(str::to_owned));
        lines.iter().for_each(|(line, times)| (0..*times).for_each(|_| answers.read(line)));
        answers.times().into_iter().collect()
    }

    #[test]
    fn a_server_with_few_answers_takes_as_long_as_its_fastest() {
        let quick = ("200|200|0.03125|a:1||0.032|t", 18);
        let all = told(&[quick, ("200|200|1.500|b:2||1.500|t", 2), ("200|200|1.490|b:2||1.490|t", 1)]);
        assert_eq!((all[&time_of("b:2")], all[super::super::metrics::FASTEST]), (1.49, 0.03125));
        // One slow answer of several says nothing.
        let all = told(&[quick, ("200|200|1.500|b:2||1.500|t", 2), ("200|200|0.025|b:2||0.025|t", 1)]);
        assert_eq!(all[&time_of("b:2")], 0.025);
        assert!(told(&[quick, ("200|200|1.500|b:2||1.500|t", 2)]).is_empty(), "strays");
        // None was answered when the load ended.
        let all = told(&[quick, ("499|-|-|c:3||1.900|t", 3), ("499|-|-|c:3||0.004|t", 2)]);
        assert_eq!(all[&time_of("c:3")], 1.9);
        // Those of one that answered are no news.
        let all = told(&[quick, ("200|200|0.0625|c:3||0.063|t", 9), ("499|-|-|c:3||1.900|t", 3)]);
        assert_eq!(all[&time_of("c:3")], 0.0625);
    }

    #[test]
    fn what_failed_of_a_share_is_counted_beside_what_was_answered() {
        let lines = [
            "500|500|0.021|a:1||0.021|t",
            "500|500|0.021|a:1||0.021|",
            "200|200|0.020|b:2||0.020|t",
            "499|-|-|b:2||1.900|t",
            "200|200|0.020|elsewhere:9||0.020|t",
        ];
        let mut answers = Answers::of(Tail::open("/nonexistent"), ["a:1", "b:2"].map(str::to_owned));
        lines.iter().for_each(|line| answers.read(line));
        let mut metrics = BTreeMap::new();
        answers.count(&mut metrics);
        let of = |server| [of_server(server), timed_of(server), timed_failed_of(server)].map(|name| metrics[&name]);
        assert_eq!((of("a:1"), of("b:2")), ([2.0, 1.0, 1.0], [0.0, 1.0, 0.0]));
    }
}
