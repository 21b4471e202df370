//! Chat rooms: the sentences.

mod document;
mod way;

use super::tune::{cause, client};
use crate::{figure, words};
use genkai_model::finding::Outcome;
use genkai_model::finding::rooms::{Place, Placed, RoomsCause, RoomsFinding, RoomsRun};
use genkai_model::rooms::{Refused, RouterReport, Why};

pub use document::rooms;

/// Each run's score, then what follows from all of them.
pub(crate) fn sentences(finding: &RoomsFinding) -> Vec<String> {
    let mut all: Vec<String> = finding.runs.iter().map(score).collect();
    all.extend(finding.runs.iter().flat_map(causes));
    all.extend(answer(finding));
    all.extend(invalid(finding));
    all
}

/// The same with the answer in front, for a headline.
pub(crate) fn answer_first(finding: &RoomsFinding) -> Vec<String> {
    let scores = finding.runs.iter().map(score);
    let causes = finding.runs.iter().flat_map(causes);
    answer(finding).into_iter().chain(scores).chain(causes).chain(invalid(finding)).collect()
}

/// Runs that the generator limited.
fn invalid(finding: &RoomsFinding) -> Vec<String> {
    let mut all = Vec::new();
    for run in finding.runs.iter().filter(|run| !run.client.valid) {
        all.push(format!("{}: the load generator was the limit: {}", nodes(run.nodes), client::reasons(&run.client)));
    }
    all
}

/// `25 nodes: 999,812 of 1,000,000; 188 missing: all in the write queue of node 7, sent between 412 s and 419 s.`
pub(crate) fn score(run: &RoomsRun) -> String {
    let (score, planned) = (figure::count(run.score), figure::count(run.planned));
    let missing = run.planned.saturating_sub(run.score);
    let foreign = match run.foreign {
        0 => String::new(),
        n => format!("; {} in a wrong room", figure::plural(n, "delivery", "deliveries")),
    };
    if missing == 0 && run.foreign > 0 {
        return format!("{}: {score} of {planned}, but not a full score{foreign}.", nodes(run.nodes));
    }
    if missing == 0 {
        return format!("{}: {score} of {planned}, a full score.", nodes(run.nodes));
    }
    let places = match &run.missing[..] {
        [] => "it is not known where".to_owned(),
        [one] if missing == 1 => place(one),
        [one] => format!("all {}", place(one)),
        many => {
            many.iter().map(|one| format!("{} {}", figure::count(one.count), place(one))).collect::<Vec<_>>().join("; ")
        }
    };
    format!("{}: {score} of {planned}; {} missing: {places}{foreign}.", nodes(run.nodes), figure::count(missing))
}

/// `2 nodes: 340 deliveries were lost because of redis's maxclients = 7: refused clients rose from 0 to 12.`
fn causes(run: &RoomsRun) -> Vec<String> {
    let one = |cause: &RoomsCause| {
        let evidence: Vec<String> = cause.evidence.iter().map(cause::evidence).collect();
        format!(
            "{}: {} in the backplane or on the way to it because of {}'s {}: {}.",
            nodes(run.nodes),
            figure::plural(cause.lost, "delivery was lost", "deliveries were lost"),
            words::subject(&cause.limit.subject),
            words::setting(&cause.limit.setting, &cause.limit.value),
            evidence.join("; ")
        )
    };
    run.causes.iter().map(one).collect()
}

fn answer(finding: &RoomsFinding) -> Option<String> {
    let tried = finding.runs.len() > 1;
    match (finding.smallest_full, finding.outcome) {
        (Some(n), _) if tried => Some(format!("The smallest number of nodes with a full score: {n}.")),
        (Some(_), _) => None,
        (None, Outcome::Unfinished) => Some("The run was cut off before there was an answer.".to_owned()),
        (None, Outcome::Invalid) => {
            Some("No run has both a full score and a load generator that was not the limit.".to_owned())
        }
        (None, _) if tried => Some("No number of nodes that was tried has a full score.".to_owned()),
        (None, _) => None,
    }
}

/// `25 nodes`.
pub(crate) fn nodes(n: u32) -> String {
    figure::plural(u64::from(n), "node", "nodes")
}

/// `in the write queue of node 7, sent between 412 s and 419 s`.
pub(crate) fn place(placed: &Placed) -> String {
    let node = placed.node.map_or_else(|| "a node".to_owned(), |n| format!("node {n}"));
    let place = match placed.place {
        Place::NeverSent => "never sent".to_owned(),
        Place::BeforeNode => "between their senders and the nodes".to_owned(),
        Place::InRouter => "in the router, which ended their connections".to_owned(),
        Place::InNode => format!("in {node}"),
        Place::DeadNode => format!("in {node}, which ended"),
        Place::ToBackplane => format!("between {node} and the backplane"),
        Place::InBackplane => "in the backplane".to_owned(),
        Place::WriteQueue => format!("in the write queue of {node} (the receiver read too slowly)"),
        Place::ReceiverGone => format!("in {node}, whose receiver was gone"),
        Place::AfterNode => format!("after {node} had written them to the receiver's socket"),
        Place::ReceiverAway => "while the room's first entrant was not connected".to_owned(),
        Place::Unknown => "somewhere beyond the senders (the servers kept no trace)".to_owned(),
    };
    match (placed.from_us, placed.to_us) {
        (Some(from), Some(to)) => {
            let at = |us: u64| format!("{} s", figure::number(us as f64 / 1e6));
            if to - from < 1_000_000 {
                format!("{place}, sent at {}", at(from))
            } else {
                format!("{place}, sent between {} and {}", at(from), at(to))
            }
        }
        _ => place,
    }
}

/// `9,990 at the first attempt, 8 at the second, 2 later; 2 never`.
pub(crate) fn entries(run: &RoomsRun) -> String {
    let names = ["at the first attempt", "at the second"];
    let mut parts: Vec<String> = run
        .entered_after
        .iter()
        .take(2)
        .zip(names)
        .filter(|(count, _)| **count > 0)
        .map(|(count, name)| format!("{} {name}", figure::count(*count)))
        .collect();
    let later: u64 = run.entered_after.iter().skip(2).sum();
    if later > 0 {
        parts.push(format!("{} later", figure::count(later)));
    }
    if run.never_entered > 0 {
        parts.push(format!("{} never", figure::count(run.never_entered)));
    }
    let refused =
        if run.refused.is_empty() { String::new() } else { format!("; refused: {}", words::errors(&run.refused)) };
    format!("{}{refused}", parts.join(", "))
}

/// Why routers refused: `12 waited too long for a node with room`.
pub(crate) fn refusals(all: &[Refused]) -> String {
    let why = |why: Why| match why {
        Why::QueueTimeout => "waited too long for a node with room",
        Why::NodesFull => "found every node full",
        Why::NodeRefused => "were refused by their node",
        Why::NodeSilent => "got no connection to their node in time",
        Why::NoNode => "found no node",
        Why::RouterFull => "found the router full",
        Why::Other => "failed otherwise",
    };
    let parts = all.iter().map(|refused| format!("{} {}", figure::count(refused.count), why(refused.why)));
    parts.collect::<Vec<_>>().join(", ")
}

/// What the router had to bear: `haproxy 2.6.12: at most 250 connections to a node of 250 allowed, 12 requests waiting`.
pub(crate) fn router(router: &RouterReport) -> String {
    let mut parts = Vec::new();
    if let Some(fullest) = router.nodes.iter().max_by_key(|node| node.peak) {
        let allowed = fullest.limit.map(|limit| format!(" of {} allowed", figure::count(limit))).unwrap_or_default();
        parts.push(format!("at most {} connections to a node{allowed}", figure::count(fullest.peak)));
    }
    if let Some(peak) = router.queue_peak {
        parts.push(format!("at most {} waiting", figure::plural(peak, "request", "requests")));
    }
    if !router.refused.is_empty() {
        parts.push(format!("refused: {}", refusals(&router.refused)));
    }
    if !router.resets_us.is_empty() {
        parts.push("killed and started anew on purpose".to_owned());
    }
    let name = format!("{} {}", router.product, router.version);
    if parts.is_empty() { name } else { format!("{name}: {}", parts.join("; ")) }
}

/// How the generator did.
pub(crate) fn generator(run: &RoomsRun) -> String {
    let (used, late) = (figure::percent(run.client.cpu_max), figure::seconds(run.client.lateness.p99));
    let figures =
        format!("its busiest thread used {used} of a core, 99 % of messages left within {late} of their instant");
    if run.client.valid { format!("was not the limit: {figures}") } else { format!("was the limit: {figures}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::finding::{ClientCheck, Quantiles};

    fn run(nodes: u32, score: u64, missing: Vec<Placed>) -> RoomsRun {
        let client =
            ClientCheck { valid: true, reasons: vec![], lateness: Quantiles::default(), receipt: None, cpu_max: 0.5 };
        RoomsRun {
            trial: 1,
            nodes,
            score,
            planned: 1_000_000,
            sent: 1_000_000,
            delivered: 0,
            lost: 0,
            duplicated: 0,
            reordered: 0,
            foreign: 0,
            away: 0,
            rooms: vec![],
            full: 10_000,
            entered: 10_000,
            never_entered: 2,
            entered_after: vec![9_000, 8, 1, 1],
            refused: vec![],
            cuts: vec![],
            missing,
            losses: vec![],
            causes: vec![],
            router: None,
            hops: Default::default(),
            over: vec![],
            latency: Quantiles::default(),
            lasted: 800.0,
            client,
            workers: vec![],
        }
    }

    #[test]
    fn one_missing_message_is_not_all() {
        let at = |count: u64| Placed { place: Place::NeverSent, node: None, count, from_us: None, to_us: None };
        assert_eq!(score(&run(2, 999_999, vec![at(1)])), "2 nodes: 999,999 of 1,000,000; 1 missing: never sent.");
        assert_eq!(score(&run(2, 999_998, vec![at(2)])), "2 nodes: 999,998 of 1,000,000; 2 missing: all never sent.");
    }

    #[test]
    fn the_answer_is_a_sentence_to_quote() {
        let queue = Placed {
            place: Place::WriteQueue,
            node: Some(7),
            count: 188,
            from_us: Some(412_000_000),
            to_us: Some(419_000_000),
        };
        let runs = vec![run(25, 999_812, vec![queue]), run(30, 1_000_000, vec![])];
        let finding = RoomsFinding { runs, smallest_full: Some(30), outcome: Outcome::Holds };
        assert_eq!(
            sentences(&finding),
            [
                "25 nodes: 999,812 of 1,000,000; 188 missing: all in the write queue of node 7 (the receiver read too \
                 slowly), sent between 412 s and 419 s.",
                "30 nodes: 1,000,000 of 1,000,000, a full score.",
                "The smallest number of nodes with a full score: 30."
            ]
        );
    }

    #[test]
    fn what_is_heard_in_a_wrong_room_is_said() {
        let wrong = |score, n| RoomsRun { foreign: n, ..run(1, score, vec![]) };
        assert_eq!(
            score(&wrong(1_000_000, 1)),
            "1 node: 1,000,000 of 1,000,000, but not a full score; 1 delivery in a wrong room."
        );
        assert_eq!(
            score(&wrong(999_999, 2)),
            "1 node: 999,999 of 1,000,000; 1 missing: it is not known where; 2 deliveries in a wrong room."
        );
    }

    #[test]
    fn several_places_are_told_apart() {
        let of = |place, count| Placed { place, node: None, count, from_us: None, to_us: None };
        let run = run(1, 900_000, vec![of(Place::NeverSent, 60_000), of(Place::InBackplane, 40_000)]);
        assert_eq!(
            score(&run),
            "1 node: 900,000 of 1,000,000; 100,000 missing: 60,000 never sent; 40,000 in the backplane."
        );
        assert_eq!(entries(&run), "9,000 at the first attempt, 8 at the second, 2 later, 2 never");
    }
}
