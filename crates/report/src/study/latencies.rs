//! Servers compared, in words.

mod clocks;

use genkai_model::finding::latencies::{
    CaseFinding, LatencyCaveat, LatencyContender, LatencyFinding, LatencyStanding, MeasuredRound, MessageLimit,
};
use genkai_model::finding::{Estimate, Outcome, RankedPair};
use genkai_model::latencies::{Case, Contender, LatencyComparison};
use genkai_model::record::Record;
use std::collections::{BTreeMap, BTreeSet};

use super::comparison::{ranked, ranks};
use super::environment::{self, Asked};
use super::tune::estimate;
use crate::document::{
    Block, Card, Cell, Chart, Document, Drawing, Entry, Interval, Kind, Part, Plot, Section, Series, Style, Table,
    Trend, sure,
};
use crate::{clean, figure};

/// Most pairs that a sentence names.
const LISTED: usize = 3;

/// The answer: a sentence a case, then what limits it.
fn sentences(finding: &LatencyFinding) -> Vec<String> {
    let mut all = vec![headline(finding)];
    all.extend(finding.cases.iter().map(|case| answer(&finding.comparison, case)));
    all.extend(finding.limits.iter().map(limit));
    all.extend(finding.caveats.iter().map(caveat));
    all
}

/// Whether a case ranks several servers: one alone is not the fastest of them.
fn is_ranked(case: &CaseFinding) -> bool {
    case.standings.iter().filter(|one| one.best > 0).count() > 1
}

/// Whether one is the fastest of its case for certain.
fn is_first(case: &CaseFinding, one: &LatencyStanding) -> bool {
    is_ranked(case) && (one.best, one.worst) == (1, 1)
}

/// `embedded is the fastest for certain in 5 of 8 cases, jetty in 1; 2 are not decided.`
fn headline(finding: &LatencyFinding) -> String {
    let certain =
        |case: &CaseFinding| case.standings.iter().find(|one| is_first(case, one)).map(|one| one.name.clone());
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
    if !finding.cases.iter().any(is_ranked) {
        return alone(finding);
    }
    let Some(((name, count), rest)) = order.split_first() else {
        let among = if cases > 1 { format!(" in any of {of}") } else { String::new() };
        return format!("No server is the fastest for certain{among}.");
    };
    if cases == 1 {
        return format!("{} is the fastest for certain.", clean::line(name));
    }
    let rest: String = rest.iter().map(|(name, count)| format!(", {} in {count}", clean::line(name))).collect();
    let open = if undecided > 0 { format!("; {undecided} not decided") } else { String::new() };
    format!("{} is the fastest for certain in {count} of {of}{rest}{open}.", clean::line(name))
}

/// Where no case ranks several: `The only server that is ranked is tomcat: how it compares with others is not known.`
fn alone(finding: &LatencyFinding) -> String {
    let ranked = finding.cases.iter().flat_map(|case| &case.standings).filter(|one| one.best > 0);
    let names: BTreeSet<String> = ranked.map(|one| clean::line(&one.name)).collect();
    match names.iter().collect::<Vec<_>>()[..] {
        [one] => format!("The only server that is ranked is {one}: how it compares with others is not known."),
        _ => "No two servers are ranked in the same case: there is nothing to compare.".to_owned(),
    }
}

/// `One message to 200 clients, until the last has it: embedded 1.2 ms (1), tomcat 2.1 ms (2). All differ.`: each with
/// its rank.
fn answer(comparison: &LatencyComparison, case: &CaseFinding) -> String {
    let one = |standing: &LatencyStanding| {
        let figure = standing.figure.map_or("no answer".to_owned(), |figure| figure::seconds(figure.value));
        format!("{} {figure} ({})", clean::line(&standing.name), rank(case, standing))
    };
    let all: Vec<String> = case.standings.iter().map(one).collect();
    let clocks = clocks::each(case);
    format!("{}: {}{clocks}. {}", title(comparison, case.case), all.join(", "), differ(case))
}

/// What a case measures.
fn title(comparison: &LatencyComparison, case: Case) -> String {
    let kind = |binary: bool| if binary { "binary" } else { "text" };
    let clients = figure::count(comparison.clients.into());
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
fn differ(case: &CaseFinding) -> String {
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
        [] if case.pairs.len() == 1 => "They differ.".to_owned(),
        [] => "All differ.".to_owned(),
        all if all.len() == case.pairs.len() => "No two of them differ measurably.".to_owned(),
        all if all.len() <= LISTED => format!("No measurable difference: {}.", all.join("; ")),
        all => format!(
            "{} of {} pairs differ; a rank is a range where they do not differ measurably.",
            case.pairs.len() - all.len(),
            case.pairs.len()
        ),
    }
}

/// `1`, `2-3`.
fn rank(case: &CaseFinding, standing: &LatencyStanding) -> String {
    match standing.best {
        0 => "reference".to_owned(),
        _ if !is_ranked(case) => "no rank".to_owned(),
        _ => ranks(standing.best, standing.worst),
    }
}

/// `1.2 ms (1.1-1.3 ms), n=10`.
fn of(standing: &LatencyStanding) -> String {
    let of = |one: Estimate| {
        let interval = figure::range(one.interval, figure::seconds);
        format!("{} ({interval}), n={}{}", figure::seconds(one.value), one.n, clocks::beside(standing))
    };
    standing.figure.map_or_else(|| "-".to_owned(), of)
}

/// What a server did not take.
fn limit(limit: &MessageLimit) -> String {
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
fn caveat(caveat: &LatencyCaveat) -> String {
    match caveat {
        LatencyCaveat::OneStart => {
            "All rounds are of one start of the servers; another start of the same server may differ \
                                    by more than these intervals say (--starts 5 measures that)."
                .to_owned()
        }
        LatencyCaveat::Drift { name, case, ratio } => format!(
            "{}, {case}: the later half of its rounds takes {} times as long as the earlier half; a longer --warm-up tells \
             whether that ends.",
            clean::line(name),
            estimate(*ratio, figure::number)
        ),
        LatencyCaveat::ClientBusy { name, case, busy, place } => format!(
            "{}, {case}: the load generator{} was busy {} of the time, so it is the limit there, not the server.",
            clean::line(name),
            clocks::at(place.as_deref()),
            figure::percent(*busy)
        ),
        LatencyCaveat::Clocks { case, uncertainty, undecided } => clocks::said(*case, *uncertainty, *undecided),
        LatencyCaveat::Disturbed { name, fraction } => format!(
            "While {} was asked, the other servers used {} of the processor time that it used.",
            clean::line(name),
            figure::percent(*fraction)
        ),
        LatencyCaveat::Unanswered { name, case, rounds, code } => format!(
            "{}, {case}: {} without a whole answer{}.",
            clean::line(name),
            figure::plural((*rounds).into(), "round", "rounds"),
            code.map_or_else(String::new, |code| format!(" (connections ended with {code})"))
        ),
        LatencyCaveat::Reopened { name, connections, code } => format!(
            "{}: {} ended (mostly with {code}) while nothing was asked of it, and were opened again; an idle timeout may be the \
             reason.",
            clean::line(name),
            figure::plural(*connections, "connection", "connections")
        ),
        LatencyCaveat::RecordCutOff => "The record ends before the run did.".to_owned(),
    }
}

/// `heap 512m, threads 200 (default)`.
fn settings(server: &LatencyContender) -> String {
    let one = |setting: &genkai_model::setting::Setting| {
        let default = if setting.default { " (default)" } else { "" };
        format!("{} {}{default}", setting.name, clean::line(&setting.value))
    };
    server.settings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `Pause Young (Normal): 12 pauses, 34 ms in all, 5 ms the longest`; none without a collector.
fn pauses(server: &LatencyContender) -> Option<String> {
    let one = |pause: &genkai_model::finding::latencies::Pause| {
        format!(
            "{}: {}, {} in all, {} the longest",
            clean::line(&pause.kind),
            figure::plural(pause.count, "pause", "pauses"),
            figure::seconds(pause.total),
            figure::seconds(pause.longest)
        )
    };
    let all: Vec<String> = server.pauses.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// `0.8 s of processor time, 120 MiB resident, 64 MiB of heap, 41 threads, 215 descriptors`.
fn usage(server: &LatencyContender) -> String {
    let usage = &server.usage;
    let mut all = vec![
        format!("{} of processor time", figure::seconds(usage.cpu)),
        format!("{} resident", figure::bytes(usage.rss as f64)),
    ];
    all.extend(usage.heap.map(|heap| format!("{} of heap", figure::bytes(heap as f64))));
    all.push(figure::plural(usage.threads.into(), "thread", "threads"));
    all.extend(usage.descriptors.map(|n| figure::plural(n, "descriptor", "descriptors")));
    all.join(", ")
}

/// The report.
pub fn latencies(record: &Record, finding: &LatencyFinding) -> Document {
    let turned = match finding.outcome {
        Outcome::Holds => "every server answered every round",
        Outcome::Fails => "a server did not answer in some rounds",
        Outcome::Invalid => "the load generator was the limit",
        Outcome::Unfinished => "cut off before there was an answer",
    };
    let mut document = Document::of(finding.outcome, turned, sentences(finding));
    document.answer = vec![Block::Table(matrix(finding)), Block::aside(method(finding))];
    document.sections.extend([cases(finding), rounds(finding)]);
    document.sections.extend(
        [changed(finding), limits(finding), sure(finding.caveats.iter().map(caveat).collect())].into_iter().flatten(),
    );
    document.sections.push(servers(finding));
    document.sections.extend(clocks::processes(finding));
    document.sections.extend(environment::of(record, Asked::Nothing));
    document.sections.extend(finding.cases.iter().map(|case| ranking(&finding.comparison, case)));
    document.sections.push(Section::terminal("Servers").and_markdown());
    document.sections.extend(finding.contenders.iter().map(in_short));
    document.sections.extend(clocks::in_short(finding));
    document
}

/// How it was measured.
fn method(finding: &LatencyFinding) -> String {
    let comparison = &finding.comparison;
    let ranks = match finding.cases.iter().any(is_ranked) {
        true => "Bold: the fastest for certain. A rank is a range where the intervals do not decide it. ",
        false => "",
    };
    let starts =
        if comparison.starts > 1 { format!(", {} starts of all servers", comparison.starts) } else { String::new() };
    format!(
        "{ranks}{} rounds after {} to warm up{starts}, \
         servers asked in an order drawn for each round.",
        comparison.rounds, comparison.warm_up
    )
}

/// Every figure: a row a case, a column a server.
fn matrix(finding: &LatencyFinding) -> Table {
    let names: Vec<String> = finding.contenders.iter().map(|one| clean::line(&one.name)).collect();
    let cell = |case: &CaseFinding, server: &LatencyContender| {
        let Some(one) = case.standings.iter().find(|one| one.name == server.name) else { return "–".into() };
        let text = format!("{} ({})", value(one), rank(case, one));
        if is_first(case, one) { Cell::styled(Style::Strong, text) } else { text.into() }
    };
    let row = |case: &CaseFinding| {
        let title = Cell::from(title(&finding.comparison, case.case));
        std::iter::once(title).chain(finding.contenders.iter().map(|one| cell(case, one))).collect::<Vec<Cell>>()
    };
    let head: Vec<String> = std::iter::once("figure (rank)".to_owned()).chain(names).collect();
    Table { matrix: true, ..Table::new("Figures and ranks", &head, finding.cases.iter().map(row)).figures() }
}

/// `1.2 ms`.
fn value(standing: &LatencyStanding) -> String {
    let value = |figure: Estimate| format!("{}{}", figure::seconds(figure.value), clocks::wrong(standing));
    standing.figure.map_or_else(|| "–".to_owned(), value)
}

/// Each case: who stands where, with intervals.
fn cases(finding: &LatencyFinding) -> Section {
    let card = |case: &CaseFinding| {
        let entry = |one: &LatencyStanding| Entry {
            name: format!("{}. {}", rank(case, one), clean::line(&one.name)),
            marks: vec![Interval::new(one.figure, true, value(one))],
        };
        let drawn = Drawing::intervals(case.standings.iter().map(entry).collect());
        let every = pairs(case).block().map(|table| Block::details("Every pair", [table]));
        let blocks = [Block::Drawing(drawn), Block::aside(differ(case))];
        Card::new(title(&finding.comparison, case.case), blocks.into_iter().chain(every))
    };
    let lead = "Shorter is better. Dots are geometric means, whiskers 95 % confidence intervals; a rank is a range where intervals do not \
                decide it.";
    let cards = finding.cases.iter().map(card).collect();
    Section::page(Part::Figure, "cases", "Who is faster", lead).with([Block::Cards { cards, wide: true }])
}

/// Every two servers of a case.
fn pairs(case: &CaseFinding) -> Table {
    let clocks = case.pairs.iter().any(|pair| pair.clock_uncertainty.is_some());
    let row = |pair: &RankedPair| {
        let own = ranked([&pair.slower, &pair.faster], pair);
        own.into_iter().chain(clocks.then(|| clocks::between(pair))).collect::<Vec<String>>()
    };
    let head = ["slower / faster", "ratio", "interval, all pairs together", "differ"];
    let head: Vec<&str> = head.into_iter().chain(clocks.then_some("clocks leave open")).collect();
    Table::new("Every pair", &head, case.pairs.iter().map(row)).kinds(Kind::Figure, [1, 2])
}

/// Each case over its rounds.
fn rounds(finding: &LatencyFinding) -> Section {
    let names: Vec<String> = finding.comparison.contenders.iter().map(|one| clean::line(&one.name)).collect();
    let tone = |name: &str| finding.comparison.contenders.iter().position(|one| one.name == name).unwrap_or(0);
    let charts = finding.cases.iter().map(|case| Block::Chart(over(&finding.comparison, case, &tone))).collect();
    let lead = "Every round that counts. A ring is a round in which the server's garbage collector paused it.";
    let blocks = [Block::Legend { names }, Block::Multiples { blocks: charts }];
    Section::page(Part::Evidence, "rounds", "Over the rounds", lead).with(blocks)
}

/// A case over the rounds of all starts, one after the other.
fn over(comparison: &LatencyComparison, case: &CaseFinding, tone: &impl Fn(&str) -> usize) -> Chart {
    let all = case.standings.iter().flat_map(|one| &one.rounds).map(|round| (round.start, round.round));
    let order: Vec<(u32, u32)> = all.collect::<BTreeSet<_>>().into_iter().collect();
    let at = |round: &MeasuredRound| {
        order.iter().position(|one| *one == (round.start, round.round)).map_or(0.0, |i| i as f64 + 1.0)
    };
    let ms = |seconds: f64| seconds * 1e3;
    let line = |one: &LatencyStanding| {
        let paused = one.rounds.iter().filter(|round| round.paused > 0.0);
        Series {
            name: clean::line(&one.name),
            tone: tone(&one.name),
            points: one.rounds.iter().map(|round| (at(round), round.figure.map(ms))).collect(),
            rings: paused.filter_map(|round| Some((at(round), ms(round.figure?), ms(round.paused)))).collect(),
        }
    };
    let names: Vec<String> = case.standings.iter().map(|one| clean::line(&one.name)).collect();
    let row = |key: &(u32, u32)| {
        let of = |one: &LatencyStanding| one.rounds.iter().find(|round| (round.start, round.round) == *key).cloned();
        let rounds: Vec<Option<MeasuredRound>> = case.standings.iter().map(of).collect();
        let figure = |round: &Option<MeasuredRound>| {
            round.as_ref().and_then(|one| one.figure).map_or("–".to_owned(), figure::seconds)
        };
        let paused = names.iter().zip(&rounds).filter_map(|(name, round)| {
            round.as_ref().filter(|one| one.paused > 0.0).map(|one| format!("{name} {}", figure::seconds(one.paused)))
        });
        let paused = paused.collect::<Vec<_>>().join(", ");
        let key = if key.0 == 1 { key.1.to_string() } else { format!("{}:{}", key.0, key.1) };
        let paused = if paused.is_empty() { "–".to_owned() } else { paused };
        std::iter::once(key).chain(rounds.iter().map(figure)).chain([paused]).collect::<Vec<String>>()
    };
    let head: Vec<String> =
        std::iter::once("round".to_owned()).chain(names.iter().cloned()).chain(["paused".to_owned()]).collect();
    let title = title(comparison, case.case);
    Chart {
        description: format!(
            "The figure of each of {} rounds that count, a line for each of {}. Rings are rounds in which a garbage collector paused the \
             server.",
            order.len(),
            names.join(", ")
        ),
        numbers: Table { long: true, ..Table::new(&title, &head, order.iter().map(row)).figures() },
        plot: Plot::Trend(Trend {
            step: "round".to_owned(),
            last: order.len().max(2) as f64,
            unit: "ms".to_owned(),
            lines: case.standings.iter().map(line).collect(),
        }),
        title,
    }
}

/// Servers with a setting changed, each beside the same server without.
fn changed(finding: &LatencyFinding) -> Option<Section> {
    let all = &finding.comparison.contenders;
    let plain = |variant: &Contender| all.iter().find(|one| one.server == variant.server && !one.variant);
    let both = all.iter().filter(|one| one.variant).filter_map(|variant| Some((plain(variant)?, variant)));
    let rows: Vec<Vec<String>> = both
        .flat_map(|(plain, variant)| {
            finding.cases.iter().filter_map(|case| beside(&finding.comparison, case, &plain.name, &variant.name))
        })
        .collect();
    let head = ["message", "before", "", "after", "", "change"];
    let table =
        Table::new("Before and after a change", &head, rows).kinds(Kind::Figure, [2, 4]).kinds(Kind::Prose, [5]);
    let lead = "The same server with one setting changed, asked in the same rounds.";
    Section::page(Part::Change, "changed", "Before and after a change", lead).with(table.block()).filled()
}

/// A row, where both were asked this case.
fn beside(comparison: &LatencyComparison, case: &CaseFinding, plain: &str, variant: &str) -> Option<Vec<String>> {
    let of = |name: &str| case.standings.iter().find(|one| one.name == name).map(value);
    let is = |name: &str| name == plain || name == variant;
    let pair = case.pairs.iter().find(|pair| is(&pair.faster) && is(&pair.slower))?;
    let ratio =
        format!("{}× ({})", figure::number(pair.ratio.value), figure::range(pair.ratio.interval, figure::number));
    let change = match (pair.certain, pair.faster == variant) {
        (false, _) => "not measurably".to_owned(),
        (true, true) => format!("faster, {ratio}"),
        (true, false) => format!("slower, {ratio}"),
    };
    Some(vec![title(comparison, case.case), clean::line(plain), of(plain)?, clean::line(variant), of(variant)?, change])
}

/// Messages that were refused.
fn limits(finding: &LatencyFinding) -> Option<Section> {
    let lead = "What a client may send to each server as it was set, tried with one message after the other.";
    let said = Block::notes(finding.limits.iter().map(limit).collect());
    Section::page(Part::Evidence, "limits", "Messages that are too big", lead).with(said).filled()
}

/// The servers as they ran.
fn servers(finding: &LatencyFinding) -> Section {
    let row = |one: &LatencyContender| {
        let pauses = pauses(one).unwrap_or_else(|| "–".to_owned());
        [
            clean::line(&one.name),
            clean::line(&one.version),
            settings(one),
            usage(one),
            pauses,
            figure::seconds(one.started),
        ]
    };
    let head =
        ["server", "version", "settings", "used in all rounds that count", "collector's pauses", "listened after"];
    let lead = "The same small application on each (apps/ of genkai's source).";
    let table = Table::new("Servers", &head, finding.contenders.iter().map(row));
    Section::page(Part::Environment, "servers", "The servers as they ran", lead).with(table.block())
}

/// A case in short.
fn ranking(comparison: &LatencyComparison, case: &CaseFinding) -> Section {
    let best = case.standings.first().map(|standing| standing.name.as_str()).unwrap_or_default();
    let row = |standing: &LatencyStanding| {
        let pair = case.pairs.iter().find(|pair| pair.faster == best && pair.slower == standing.name);
        let ratio = pair.map_or_else(String::new, |pair| {
            let interval = figure::range(pair.ratio.interval, figure::number);
            format!("{}x ({interval}){}", figure::number(pair.ratio.value), if pair.certain { "" } else { " ?" })
        });
        [clean::line(&standing.name), rank(case, standing), of(standing), ratio]
    };
    let title = title(comparison, case.case);
    // Of whom it is a multiple: the first of the order, which several may share.
    let times = format!("times {}", clean::line(best));
    let head = ["server", "rank", "figure (95 % confidence interval)", &times];
    let table = Table::new(&title, &head, case.standings.iter().map(row));
    Section::terminal(&title).and_markdown().with(table.block())
}

/// A server in short.
fn in_short(one: &LatencyContender) -> Section {
    let started = format!("{}; listened after {}", clean::line(&one.version), figure::seconds(one.started));
    let pauses = pauses(one).map(|pauses| Block::fact("collector", pauses));
    let facts = [(&*clean::line(&one.name), started), ("settings", settings(one)), ("used", usage(one))];
    Section::terminal("").and_markdown().with([Block::facts(facts)]).with(pauses)
}
