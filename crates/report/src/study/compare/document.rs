//! The report of a comparison.

use super::{control, limits, pair, place, sentences, shown, stress, sure as certainty, unlike};
use crate::document::{
    Block, Card, Chart, Document, Drawing, Entry, Factor, Interval, Kind, Part, Plot, Section, Series, Table, Trend,
    sure,
};
use crate::study::claim;
use crate::study::comparison::{call, interval, size, title};
use crate::study::environment::{self, Asked};
use crate::study::machines;
use crate::{clean, figure, words};
use genkai_model::event::Rewrite;
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{ComparedContender, ComparedPair, ComparisonFinding, TurnFinding};
use genkai_model::finding::{Call, Effect, Outcome};
use genkai_model::record::Record;

/// The report.
pub fn compare(record: &Record, finding: &ComparisonFinding) -> Document {
    let turned = match finding.outcome {
        Outcome::Holds => "what decides is decided",
        Outcome::Fails => "not everything can be decided",
        Outcome::Invalid => "nothing is decided",
        Outcome::Unfinished => "cut off before there was an answer",
    };
    let mut document = Document::of(finding.outcome, turned, sentences(finding));
    let decided = finding.blocks >= 2;
    let said = finding.claim.as_ref().filter(|_| decided).map(|claim| Block::text(claim::sentence(claim)));
    document.answer.extend(unlike(finding).map(Block::text));
    document.answer.extend(said);
    document.answer.extend(decided.then(|| Block::Table(Table { matrix: true, ..figures(finding) })));
    document.answer.push(Block::aside(certainty(finding)));
    if decided {
        document.sections.extend([differences(finding), by_contender(finding)]);
    }
    document.sections.extend(over_blocks(finding));
    let (limits, machines) = (limits(finding), machines::limited(&finding.processes));
    document
        .sections
        .extend(sure(control(finding).into_iter().chain(stress(finding)).chain(machines).chain(limits).collect()));
    document.sections.push(systems(finding));
    document.sections.extend(environment::of(record, Asked::Load));
    document.sections.extend(machines::sections(&finding.processes));
    if decided {
        document.sections.push(Section::terminal("Figures").and_markdown().with(figures(finding).block()));
        document.sections.extend(
            finding
                .pairs
                .iter()
                .map(|pair| Section::terminal(&beside(pair)).and_markdown().with(effects(pair).block())),
        );
    }
    document.sections.push(Section::terminal("Systems"));
    document.sections.extend(finding.contenders.iter().flat_map(subject));
    document
}

/// `b beside a`.
fn beside(pair: &ComparedPair) -> String {
    format!("{} beside {}", clean::line(&pair.other), clean::line(&pair.base))
}

/// A row a figure, a column a contender.
fn figures(finding: &ComparisonFinding) -> Table {
    let ranked = finding.comparison.base.is_none() && finding.contenders.len() > 2;
    let names = finding.contenders.iter().map(|subject| clean::line(&subject.name));
    let head: Vec<String> = std::iter::once("figure".to_owned()).chain(names).collect();
    let row = |(n, (figure, _)): (usize, &(Figure, &str))| {
        let cell = |subject: &ComparedContender| {
            let one = &subject.figures[n];
            let rank = if ranked { format!(" ({})", place(subject, one)) } else { String::new() };
            format!("{}{rank}", shown(*figure, one))
        };
        std::iter::once(title(*figure).to_owned()).chain(finding.contenders.iter().map(cell)).collect::<Vec<String>>()
    };
    Table::new("Figures", &head, Figure::ALL.iter().enumerate().map(row)).figures()
}

/// A row a figure of a pair.
fn effects(pair: &ComparedPair) -> Table {
    let row = |effect: &Effect| [title(effect.figure).to_owned(), size(effect), interval(effect), call(effect)];
    let head = ["figure", "effect", "interval", "says"];
    Table::new("Every figure", &head, pair.effects.iter().map(row)).kinds(Kind::Figure, [1, 2])
}

/// Each pair.
fn differences(finding: &ComparisonFinding) -> Section {
    let lead = "Left of the line is less, right of it more. The band is the margin: an interval within it is no difference that matters. \
                These are confidence intervals that hold together.";
    Section::page(Part::Figure, "pairs", "What differs", lead).with([cards(finding)])
}

/// A card a pair: the effect on every figure, drawn and in words.
pub(in crate::study) fn cards(finding: &ComparisonFinding) -> Block {
    let card = |one: &ComparedPair| {
        let drawn = drawing(one, finding.comparison.margin);
        let every = Block::details("Every figure", effects(one).block());
        Card::new(beside(one), drawn.into_iter().chain([Block::aside(pair(one)), every]))
    };
    Block::Cards { cards: finding.pairs.iter().map(card).collect(), wide: true }
}

/// The effects that are ratios; none where none is known.
fn drawing(one: &ComparedPair, margin: f64) -> Option<Block> {
    let row = |effect: &Effect| {
        let ratio = effect.effect.filter(|_| !effect.figure.is_fraction())?;
        Some(Factor { name: title(effect.figure).to_owned(), ratio, call: class(effect.call).to_owned() })
    };
    let rows: Vec<Factor> = one.effects.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Block::Drawing(Drawing::Effects { margin, label: pair(one), rows }))
}

fn class(call: Call) -> &'static str {
    match call {
        Call::Better => "better",
        Call::Worse => "worse",
        Call::Same => "same",
        Call::CannotTell { .. } | Call::NotJudged => "cannot_tell",
        Call::Missing => "missing",
    }
}

/// A small drawing a figure, a row a contender.
fn by_contender(finding: &ComparisonFinding) -> Section {
    let card = |(n, (figure, _)): (usize, &(Figure, &str))| {
        let entry = |subject: &ComparedContender| {
            let filled = finding.comparison.base.as_ref() != Some(&subject.name);
            let mark = Interval::new(subject.figures[n].value, filled, shown(*figure, &subject.figures[n]));
            Entry { name: clean::line(&subject.name), marks: vec![mark] }
        };
        let entries = finding.contenders.iter().map(entry).collect();
        Card::new(title(*figure), [Block::Drawing(Drawing::intervals(entries))])
    };
    let cards = Figure::ALL.iter().enumerate().map(card).collect();
    let lead = "Means over blocks with 95 % confidence intervals of their own; what differs is decided block by block above, not by whether \
                these overlap.";
    Section::page(Part::Figure, "figures", "Contender by contender", lead).with([Block::Cards { cards, wide: true }])
}

/// Figures that are drawn block by block: each with its title, its unit and how many of that unit one is.
const DRAWN: [(Figure, &str, &str, f64); 4] = [
    (Figure::Throughput, "Throughput", "responses/s", 1.0),
    (Figure::P95, "p95 latency", "ms", 1e3),
    (Figure::Cpu, "CPU per request", "µs", 1e6),
    (Figure::Memory, "Memory", "MiB", 1.0 / 1_048_576.0),
];

/// Each figure from block to block.
fn over_blocks(finding: &ComparisonFinding) -> Option<Section> {
    let (names, lines) = contenders(finding);
    let charts = DRAWN.iter().filter_map(|drawn| Some(Block::Chart(over(finding, drawn, &names, &lines)?)));
    let blocks = [Block::Legend { names: names.clone() }, Block::Multiples { blocks: charts.collect() }];
    let lead = format!(
        "Every turn, {}. What drifts on the machine moves all lines together, and does not touch their differences.",
        begun(finding)
    );
    (!finding.turns.is_empty()).then(|| Section::page(Part::Evidence, "blocks", "Block by block", &lead).with(blocks))
}

/// Names of the contenders, then of the control; and who each is, with whether it is the control.
fn contenders(finding: &ComparisonFinding) -> (Vec<String>, Vec<(&str, bool)>) {
    let mut all: Vec<(&str, bool)> =
        finding.comparison.contenders.iter().map(|one| (one.name.as_str(), false)).collect();
    all.extend(finding.turns.iter().find(|turn| turn.control).map(|turn| (turn.contender.as_str(), true)));
    let name =
        |(name, control): &(&str, bool)| format!("{}{}", clean::line(name), if *control { ", again" } else { "" });
    (all.iter().map(name).collect(), all)
}

/// The chart of a figure; none where no turn has it.
fn over(
    finding: &ComparisonFinding,
    (figure, name, unit, factor): &(Figure, &str, &str, f64),
    names: &[String],
    lines: &[(&str, bool)],
) -> Option<Chart> {
    let n = Figure::ALL.iter().position(|(one, _)| one == figure)?;
    finding.turns.iter().any(|turn| turn.values[n].is_some()).then_some(())?;
    let value = |turn: &TurnFinding| turn.values[n].filter(|_| turn.counts).map(|value| value * factor);
    let of = |(name, control): &(&str, bool)| {
        let turns = finding.turns.iter().filter(|turn| turn.contender == *name && turn.control == *control);
        turns.map(|turn| (f64::from(turn.block), value(turn))).collect::<Vec<_>>()
    };
    let all = lines.iter().zip(names).enumerate().map(|(tone, (line, name))| Series {
        name: name.clone(),
        tone,
        points: of(line),
        rings: Vec::new(),
    });
    let lines: Vec<Series> = all.filter(|line| !line.points.is_empty()).collect();
    let last = finding.turns.iter().map(|turn| turn.block).max().unwrap_or(0).max(2);
    let row = |block: u32| {
        let at =
            |line: &Series| line.points.iter().find(|(at, _)| *at == f64::from(block)).and_then(|(_, value)| *value);
        let cells = lines.iter().map(|line| at(line).map_or_else(|| "–".to_owned(), figure::number));
        std::iter::once(block.to_string()).chain(cells).collect::<Vec<String>>()
    };
    let shown: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let head: Vec<&str> = std::iter::once("block").chain(shown.iter().copied()).collect();
    let title = format!("{name}, {unit}");
    Some(Chart {
        description: format!("{name} of each turn, block by block, a line for each of {}.", shown.join(", ")),
        numbers: Table { long: true, ..Table::new(&title, &head, (1..=last).map(row)).figures() },
        plot: Plot::Trend(Trend { step: "block".to_owned(), last: last.into(), unit: (*unit).to_owned(), lines }),
        title,
    })
}

/// How a turn begins.
fn begun(finding: &ComparisonFinding) -> &'static str {
    let contenders = &finding.comparison.contenders;
    match contenders.iter().filter(|one| one.runs.is_restarted()).count() {
        0 => "of servers that were not restarted",
        all if all == contenders.len() => "started anew for each turn",
        _ => "started anew for each turn, except for addresses",
    }
}

/// The systems as they ran.
fn systems(finding: &ComparisonFinding) -> Section {
    let row = |one: &ComparedContender| {
        let errors = if one.errors.is_empty() { "none".to_owned() } else { words::errors(&one.errors) };
        let held = format!("{} of {}", one.held, one.turns);
        [clean::line(&one.name), clean::line(&one.version), settings(one), errors, held]
    };
    let head = ["system", "server", "settings that are written or given", "failures", "objective held, turns"];
    let table = Table::new("Systems", &head, finding.contenders.iter().map(row));
    let copies = finding.contenders.iter().filter_map(|one| {
        let summary = format!("{}: {}", clean::line(&one.name), copy(&one.rewrites)?);
        Some(Block::details(summary, [Block::Table(environment::rewritten(&one.rewrites))]))
    });
    let ours = finding.comparison.contenders.iter().all(|one| one.runs.is_restarted());
    let same = if ours { "Same load, same cores, same backend" } else { "Same load" };
    let lead = format!("{same}; {}.", begun(finding));
    Section::page(Part::Environment, "systems", "The systems as they ran", &lead).with(table.block()).with(copies)
}

/// A system in short. Markdown has what its private copy differs in, line by line; a terminal leaves that to the page.
fn subject(one: &ComparedContender) -> [Section; 2] {
    let facts = |more: &str| {
        let mut facts = vec![("server", clean::line(&one.version)), ("settings", settings(one))];
        facts.extend(copy(&one.rewrites).map(|copy| ("copy", format!("{copy}{more}"))));
        facts.extend((!one.errors.is_empty()).then(|| ("failures", words::errors(&one.errors))));
        let steady = |warm_up| ("steady", format!("{} after the ramp (median)", figure::seconds(warm_up)));
        facts.extend(one.warm_up.map(steady));
        let turns = figure::plural(one.turns.into(), "turn", "turns");
        facts.push(("objective", format!("held in {} of {turns}", one.held)));
        [Block::facts(facts)]
    };
    let name = clean::line(&one.name);
    let copied = environment::rewritten(&one.rewrites).block();
    [Section::terminal(&name).with(facts(": see the report")), Section::markdown(&name).with(facts("")).with(copied)]
}

/// `worker_connections 1024, gzip on`: those that are written or given.
fn settings(one: &ComparedContender) -> String {
    let all: Vec<String> =
        one.settings.iter().map(|s| format!("{} {}", clean::line(&s.name), clean::line(&s.value))).collect();
    if all.is_empty() { "none that is known".to_owned() } else { all.join(", ") }
}

/// Most files that are named of those a private copy differs in.
const FILES: usize = 3;

/// `5 lines of squid.conf differ in its private copy`; none where there is no copy, or it differs in nothing.
pub(crate) fn copy(rewrites: &[Rewrite]) -> Option<String> {
    let mut files: Vec<String> = Vec::new();
    for one in rewrites {
        let file = file(&one.place);
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let more = files.len().saturating_sub(FILES);
    files.truncate(FILES);
    let mut of = files.join(", ");
    if more > 0 {
        of.push_str(&format!(" and {}", figure::plural(more as u64, "other", "others")));
    }
    let lines = figure::plural(rewrites.len() as u64, "line", "lines");
    let verb = if rewrites.len() == 1 { "differs" } else { "differ" };
    (!rewrites.is_empty()).then(|| format!("{lines} of {of} {verb} in its private copy"))
}

/// The name of the file of a place, which may be a whole file.
fn file(place: &str) -> String {
    let path = place.rsplit_once(':').filter(|(_, line)| line.parse::<u32>().is_ok()).map_or(place, |(path, _)| path);
    clean::line(path.rsplit('/').next().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_copy_differs_in_is_short() {
        let rewrite = |place: &str| Rewrite { place: place.to_owned(), from: String::new(), to: String::new() };
        let said = |places: &[&str]| copy(&places.iter().map(|place| rewrite(place)).collect::<Vec<_>>());
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["/u/squid.conf:7"]).unwrap(), "1 line of squid.conf differs in its private copy");
        let two = said(&["/u/squid.conf:7", "/u/peers.conf:1", "/u/squid.conf:9"]).unwrap();
        assert_eq!(two, "3 lines of squid.conf, peers.conf differ in its private copy");
        let many = said(&["/u/a:1", "/u/b:1", "/u/c:1", "/u/ssl/d.key", "/u/e:1"]).unwrap();
        assert_eq!(many, "5 lines of a, b, c and 2 others differ in its private copy");
    }
}
