//! Servers compared, in words.

use std::collections::BTreeMap;

use genkai_model::contest::{Case, Contest};
use genkai_model::finding::contest::{
    CaseFinding, ContestCaveat, ContestContender, ContestFinding, ContestStanding, MessageLimit,
};
use genkai_model::finding::{Estimate, Outcome};

use serde::Serialize;

use super::proof::estimate;
use crate::{clean, figure};

/// Most pairs that a sentence names.
const LISTED: usize = 3;

/// The answer: a sentence a case, then what limits it.
pub(crate) fn sentences(finding: &ContestFinding) -> Vec<String> {
    let mut all = vec![headline(finding)];
    all.extend(finding.cases.iter().map(|case| answer(&finding.contest, case)));
    all.extend(finding.limits.iter().map(limit));
    all.extend(finding.caveats.iter().map(caveat));
    all
}

/// `embedded is the fastest for certain in 5 of 8 cases, jetty in 1; 2 are not decided.`
pub(crate) fn headline(finding: &ContestFinding) -> String {
    let certain = |case: &CaseFinding| {
        case.standings.iter().find(|one| (one.best, one.worst) == (1, 1)).map(|one| one.name.clone())
    };
    let mut firsts: BTreeMap<String, u64> = BTreeMap::new();
    finding.cases.iter().filter_map(certain).for_each(|name| *firsts.entry(name).or_default() += 1);
    let mut order: Vec<(String, u64)> = firsts.into_iter().collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let cases = finding.cases.len() as u64;
    let undecided = cases - order.iter().map(|(_, count)| count).sum::<u64>();
    let of = figure::plural(cases, "case", "cases");
    if finding.outcome == Outcome::Unfinished {
        return "The run was cut off before there was an answer for every server.".to_owned();
    }
    let Some(((name, count), rest)) = order.split_first() else {
        return format!("No server is the fastest for certain in any of {of}.");
    };
    let rest: String = rest.iter().map(|(name, count)| format!(", {} in {count}", clean::line(name))).collect();
    let open = if undecided > 0 { format!("; {undecided} not decided") } else { String::new() };
    format!("{} is the fastest for certain in {count} of {of}{rest}{open}.", clean::line(name))
}

/// `One message to 200 clients, until the last has it: embedded 1.2 ms (1), tomcat 2.1 ms (2). They can be told apart.`: each with
/// its rank.
pub(crate) fn answer(contest: &Contest, case: &CaseFinding) -> String {
    let one = |standing: &ContestStanding| {
        let figure = standing.figure.map_or("no answer".to_owned(), |figure| figure::seconds(figure.value));
        format!("{} {figure} ({})", clean::line(&standing.name), rank(standing))
    };
    let all: Vec<String> = case.standings.iter().map(one).collect();
    format!("{}: {}. {}", title(contest, case.case), all.join(", "), told_apart(case))
}

/// What a case measures.
pub(crate) fn title(contest: &Contest, case: Case) -> String {
    let kind = |binary: bool| if binary { "binary" } else { "text" };
    let clients = figure::count(contest.clients.into());
    match case {
        Case::Receive => format!("One message to {clients} clients, until the last has it"),
        Case::Send => format!("{clients} clients send at once, mean time until the server has a message"),
        Case::Give { bytes, binary } => {
            format!("{} of {} to one client, until it has all", figure::bytes(bytes as f64), kind(binary))
        }
        Case::Take { bytes, binary } => format!("{} of {} from a client", figure::bytes(bytes as f64), kind(binary)),
    }
}

/// Which contenders differ for certain.
pub(crate) fn told_apart(case: &CaseFinding) -> String {
    let doubtful: Vec<String> = case
        .pairs
        .iter()
        .filter(|pair| !pair.certain)
        .map(|pair| format!("{} and {}", clean::line(&pair.faster), clean::line(&pair.slower)))
        .collect();
    if case.pairs.is_empty() {
        return "There is nothing to compare.".to_owned();
    }
    match &doubtful[..] {
        [] if case.pairs.len() == 1 => "They can be told apart.".to_owned(),
        [] => "All can be told apart.".to_owned(),
        all if all.len() == case.pairs.len() => "None can be told apart from another.".to_owned(),
        all if all.len() <= LISTED => format!("Not distinguishable: {}.", all.join("; ")),
        all => format!(
            "{} of {} pairs can be told apart; a rank is a range where they cannot.",
            case.pairs.len() - all.len(),
            case.pairs.len()
        ),
    }
}

/// `1`, `2-3`.
pub(crate) fn rank(standing: &ContestStanding) -> String {
    if standing.best == 0 {
        "reference".to_owned()
    } else if standing.best == standing.worst {
        standing.best.to_string()
    } else {
        format!("{}-{}", standing.best, standing.worst)
    }
}

/// `1.2 ms, 95 % interval 1.1 ms-1.3 ms, n=10`.
pub(crate) fn of(figure: Option<Estimate>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| estimate(figure, figure::seconds))
}

/// What a server did not take.
pub(crate) fn limit(limit: &MessageLimit) -> String {
    let name = clean::line(&limit.name);
    let kinds = limit.kinds.join(" and ");
    let refused = figure::count(limit.refused);
    let taken = limit.taken.map_or_else(
        || format!("{name} takes no {kinds} message that was tried"),
        |taken| format!("{name} takes {kinds} messages of {} bytes", figure::count(taken)),
    );
    let end = match limit.code {
        Some(1009) => "ends the connection with 1009, message too big".to_owned(),
        Some(1006) => "ends the connection without a close frame".to_owned(),
        Some(code) => format!("ends the connection with {code}"),
        None => "is not answered".to_owned(),
    };
    let mut text = format!("{taken}; one of {refused} bytes {end}.");
    if let (Some(setting), Some(value)) = (&limit.setting, &limit.value) {
        let (setting, value) = (clean::line(setting), clean::line(value));
        let sure = if limit.proved { "That is" } else { "That may be" };
        let source = limit.source.as_ref().map_or_else(String::new, |source| format!(" ({})", clean::line(source)));
        text.push_str(&format!(" {sure} its {setting}, {value}{source}; --server-set {name}.{setting}=SIZE lifts it."));
    }
    text
}

/// What limits the answer.
pub(crate) fn caveat(caveat: &ContestCaveat) -> String {
    match caveat {
        ContestCaveat::OneStart => {
            "All rounds are of one start of the servers; another start of the same server may differ \
                                    by more than these intervals say (--starts 5 measures that)."
                .to_owned()
        }
        ContestCaveat::Drift { name, case, ratio } => format!(
            "{}, {case}: the later half of its rounds takes {} times as long as the earlier half; a longer --warm-up tells \
             whether that ends.",
            clean::line(name),
            estimate(*ratio, figure::number)
        ),
        ContestCaveat::ClientBusy { name, case, busy } => format!(
            "{}, {case}: the client was busy {} of the time, so it is the limit there, not the server.",
            clean::line(name),
            figure::percent(*busy)
        ),
        ContestCaveat::Disturbed { name, fraction } => format!(
            "While {} was asked, the other servers used {} of the processor time that it used.",
            clean::line(name),
            figure::percent(*fraction)
        ),
        ContestCaveat::Unanswered { name, case, rounds, code } => format!(
            "{}, {case}: {} without a whole answer{}.",
            clean::line(name),
            figure::plural((*rounds).into(), "round", "rounds"),
            code.map_or_else(String::new, |code| format!(" (connections ended with {code})"))
        ),
        ContestCaveat::Reopened { name, connections, code } => format!(
            "{}: {} ended (mostly with {code}) while nothing was asked of it, and were opened again; an idle timeout may be the \
             reason.",
            clean::line(name),
            figure::plural(*connections, "connection", "connections")
        ),
        ContestCaveat::RecordCutOff => "The record ends before the run did.".to_owned(),
    }
}

/// `heap 512m, threads 200 (default)`.
pub(crate) fn settings(entrant: &ContestContender) -> String {
    let one = |setting: &genkai_model::setting::Setting| {
        let default = if setting.default { " (default)" } else { "" };
        format!("{} {}{default}", setting.name, clean::line(&setting.value))
    };
    entrant.settings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `Pause Young (Normal): 12 pauses, 34 ms in all, 5 ms the longest`; none without a collector.
pub(crate) fn pauses(entrant: &ContestContender) -> Option<String> {
    let one = |pause: &genkai_model::finding::contest::Pause| {
        format!(
            "{}: {}, {} in all, {} the longest",
            clean::line(&pause.kind),
            figure::plural(pause.count, "pause", "pauses"),
            figure::seconds(pause.total),
            figure::seconds(pause.longest)
        )
    };
    let all: Vec<String> = entrant.pauses.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// `0.8 s of processor time, 120 MiB resident, 64 MiB of heap, 41 threads, 215 descriptors`.
pub(crate) fn usage(entrant: &ContestContender) -> String {
    let usage = &entrant.usage;
    let mut all = vec![
        format!("{} of processor time", figure::seconds(usage.cpu)),
        format!("{} resident", figure::bytes(usage.rss as f64)),
    ];
    all.extend(usage.heap.map(|heap| format!("{} of heap", figure::bytes(heap as f64))));
    all.push(figure::plural(usage.threads.into(), "thread", "threads"));
    all.extend(usage.descriptors.map(|n| figure::plural(n, "descriptor", "descriptors")));
    all.join(", ")
}

/// Everything that the page says, so that it words nothing itself.
#[derive(Serialize)]
pub(crate) struct Words {
    headline: String,
    limits: Vec<String>,
    caveats: Vec<String>,
    cases: Vec<CaseWords>,
    entrants: Vec<EntrantWords>,
}

/// Words of a case.
#[derive(Serialize)]
struct CaseWords {
    title: String,
    told_apart: String,
    /// Of each standing.
    ranks: Vec<String>,
    figures: Vec<String>,
}

/// Words of a server.
#[derive(Serialize)]
struct EntrantWords {
    settings: String,
    usage: String,
    pauses: Option<String>,
    started: String,
}

/// Words for the page.
pub(crate) fn words(finding: &ContestFinding) -> Words {
    let contest = &finding.contest;
    let case = |case: &CaseFinding| CaseWords {
        title: title(contest, case.case),
        told_apart: told_apart(case),
        ranks: case.standings.iter().map(rank).collect(),
        figures: case.standings.iter().map(|standing| of(standing.figure)).collect(),
    };
    let entrant = |entrant: &ContestContender| EntrantWords {
        settings: settings(entrant),
        usage: usage(entrant),
        pauses: pauses(entrant),
        started: figure::seconds(entrant.started),
    };
    Words {
        headline: headline(finding),
        limits: finding.limits.iter().map(limit).collect(),
        caveats: finding.caveats.iter().map(caveat).collect(),
        cases: finding.cases.iter().map(case).collect(),
        entrants: finding.entrants.iter().map(entrant).collect(),
    }
}
