//! What limits the answer of a comparison of systems, in words.

use crate::study::comparison::title;
use crate::study::tune::client;
use crate::study::tune::estimate;
use crate::{clean, figure, words};
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{ComparisonCaveat, KindOfAnswer};

pub(crate) fn caveat(caveat: &ComparisonCaveat) -> String {
    let turns = |n: u32| figure::plural(n.into(), "turn", "turns");
    match caveat {
        ComparisonCaveat::ControlDiffers { figures } => {
            let all: Vec<&str> = figures.iter().map(|figure| title(*figure)).collect();
            format!(
                "The first contender differs from itself in {}: something else than the contenders made a difference, and nothing here \
                 is to be trusted.",
                all.join(", ")
            )
        }
        ComparisonCaveat::ControlStrays { figures } => {
            let all: Vec<&str> = figures.iter().map(|figure| title(*figure)).collect();
            format!("The first contender differs from itself in {}: nothing is said of that.", all.join(", "))
        }
        ComparisonCaveat::NoControl => {
            "There was no control (a contender against itself), so other influences would not be noticed.".to_owned()
        }
        ComparisonCaveat::NotRestarted { names } => not_restarted(names),
        ComparisonCaveat::NotCompressed { name, base, bytes, asked } => format!(
            "{}: a response has {} with it, as with {}: nothing was compressed by it, so that this load says nothing of what it does{}.",
            clean::line(name),
            figure::bytes(*bytes),
            clean::line(base),
            if *asked { "" } else { "; the requests do not ask for it (-H \"Accept-Encoding: gzip\")" }
        ),
        ComparisonCaveat::Paced { name, paced } => format!(
            "{}: after {} the user waited until {} after the request was planned; without these pauses users ask more often.",
            clean::line(name),
            figure::plural(*paced, "failure", "failures"),
            words::pace()
        ),
        ComparisonCaveat::Retried { name, retried } => {
            format!("{}: in its turns that count, {}.", clean::line(name), words::retried(*retried))
        }
        ComparisonCaveat::HiddenErrors { name, responses, hidden } => format!(
            "{} Failures are compared as clients saw them.",
            words::hidden_errors("the last looks in the turns that count", &clean::line(name), *responses, *hidden)
        ),
        ComparisonCaveat::AnswersUnlike { answers } => unlike(answers),
        ComparisonCaveat::ClientLimit { name, turns: n, reason } => format!(
            "{}: the generator was the limit in {} ({}), which do not count.",
            clean::line(name),
            turns(*n),
            client::reason(reason)
        ),
        ComparisonCaveat::Died { name, turns: n } => {
            format!("{}: a server process ended by itself in {}.", clean::line(name), turns(*n))
        }
        ComparisonCaveat::NotSteady { name, turns: n, of } => format!(
            "{}: in {n} of {} no steady state was reached; a longer --hold might give other figures.",
            clean::line(name),
            turns(*of)
        ),
        ComparisonCaveat::Drift { name, figure, ratio } => format!(
            "{}: {} drifted; the later half of the blocks has {} times that of the earlier half.",
            clean::line(name),
            title(*figure),
            estimate(*ratio, figure::number)
        ),
        ComparisonCaveat::Survivors { name } => format!(
            "{} fails more, and only requests that succeed have a latency: latencies are of different requests.",
            clean::line(name)
        ),
        ComparisonCaveat::LeftUnanswered { name, unanswered, planned, longest, patience, judged } => format!(
            "{}: {}{} of {} had no answer when its turns ended, having waited for longer than any took that ended, up to {}.{}",
            clean::line(name),
            if judged.is_none() { "at least " } else { "" },
            figure::count(*unanswered),
            figure::plural(*planned, "request", "requests"),
            figure::seconds(*longest),
            judged.map_or_else(String::new, |judged| left(judged, *patience))
        ),
        ComparisonCaveat::NothingAnswered { name, turns: n } => format!(
            "{}: in {} nothing was answered well in the part that is measured: throughput is 0 there, which has no ratio.",
            clean::line(name),
            turns(*n)
        ),
        ComparisonCaveat::Unanswered { base, other } => format!(
            "No request succeeded, neither of {} nor of {}: nothing is said of them.",
            clean::line(base),
            clean::line(other)
        ),
        ComparisonCaveat::Dropped { name, block, why } => format!(
            "{} did not start in block {block} and is compared with nobody; the others went on. {}",
            clean::line(name),
            clean::line(why)
        ),
        ComparisonCaveat::RecordCutOff => "The record ends before the run did.".to_owned(),
    }
}

/// What is told of requests that were left without an answer.
fn left(judged: u64, patience: f64) -> String {
    format!(
        " Its failures are of the {} that were planned early enough to be answered, to fail, or to wait for longer than {}. Those without an \
         answer have no latency yet, and count as longer than they had waited.",
        figure::count(judged),
        figure::seconds(patience)
    )
}

/// That contenders answer the same request otherwise: `Answers are unlike: a: 200, 2.1 KiB each; b: 302, 110 B each. ...`.
fn unlike(answers: &[KindOfAnswer]) -> String {
    let one = |of: &KindOfAnswer| {
        let status = of.status.map(|status| status.to_string());
        let bytes = of.bytes.map(|bytes| format!("{} each", figure::bytes(bytes)));
        let parts: Vec<String> = status.into_iter().chain(bytes).collect();
        format!("{}: {}", clean::line(&of.name), parts.join(", "))
    };
    let all: Vec<String> = answers.iter().map(one).collect();
    format!(
        "Answers are unlike: {}. (The most frequent status of the good ones; bytes of an answer, head and body, the mean.) They do not do the \
         same work, so which is faster says nothing of how fast each does it.",
        all.join("; ")
    )
}

/// That what runs already is compared as it stands.
fn not_restarted(names: &[String]) -> String {
    let all: Vec<String> = names.iter().map(|name| clean::line(name)).collect();
    let aging = Figure::ALL.iter().filter(|(figure, _)| figure.ages()).map(|(figure, _)| title(*figure));
    let (them, they) = if names.len() == 1 { ("it", "it is") } else { ("them", "they are") };
    format!(
        "{}: genkai did not start {them} and does not restart {them}, so {they} older with every turn. What was compared is running processes: two \
         of the same program may differ. {} change with age and are not judged; to compare them, give products or configuration files instead \
         of addresses.",
        all.join(", "),
        figure::capital(&aging.collect::<Vec<_>>().join(" and ")),
    )
}
