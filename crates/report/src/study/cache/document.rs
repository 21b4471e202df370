//! The report of a comparison of caches.

use super::{answer, best_rate, caveat, highest, mount, rank, rule, sentences, spread, trouble, warmth};
use crate::document::{Block, Card, Document, Drawing, Entry, Interval, Kind, Part, Section, Table, sure};
use crate::study::comparison::{ranked, ranks};
use crate::study::environment::{self, Asked};
use crate::study::machines;
use crate::{clean, figure, words};
use genkai_model::cache::{Conformance, Kept, Rule, Warmth};
use genkai_model::finding::cache::{CacheContender, CacheFinding, CacheStanding, PassFinding};
use genkai_model::finding::{Estimate, Outcome, RankedPair};
use genkai_model::record::Record;
use genkai_model::units::Range;

/// Longest list of settings, characters.
const LONGEST: usize = 4_000;

/// The report.
pub fn cache(record: &Record, finding: &CacheFinding) -> Document {
    let turned = match finding.outcome {
        Outcome::Holds if finding.contenders.len() == 1 => "it answered every request, correctly",
        Outcome::Holds => "every cache answered every request, correctly",
        Outcome::Fails => "something went wrong: see below",
        Outcome::Invalid => "the load generator was the limit",
        Outcome::Unfinished => "cut off before there was an answer",
    };
    let mut document = Document::of(finding.outcome, turned, sentences(finding));
    let answers = passes(finding).map(answer).chain(highest(finding)).chain(finding.mounts.iter().filter_map(mount));
    document.answer.extend(answers.map(Block::text));
    document
        .answer
        .push(Block::aside(format!("{} A rank is a range where the intervals do not decide it.", budget(finding))));
    let wrong = Block::notes(finding.troubles.iter().map(trouble).collect());
    document.sections.extend(Section::page(Part::Figure, "troubles", "What went wrong", "").with(wrong).filled());
    document.sections.extend([costs(finding), figures(finding)]);
    document.sections.extend([highest_rates(finding), pairs(finding), rules(finding)].into_iter().flatten());
    let limits = machines::limited(&finding.processes).into_iter();
    document.sections.extend(sure(limits.chain(finding.caveats.iter().map(caveat)).collect()));
    document.sections.push(caches(finding));
    document.sections.extend(environment::of(record, Asked::Load));
    document.sections.extend(machines::sections(&finding.processes));
    document.sections.extend(passes(finding).flat_map(|pass| [speed(pass), cost(pass)]));
    document.sections.extend(rates_in_short(finding));
    document.sections.push(Section::terminal("Caches").and_markdown().with([Block::fact("budget", budget(finding))]));
    document.sections.extend(finding.contenders.iter().map(in_short));
    document
}

fn passes(finding: &CacheFinding) -> impl Iterator<Item = &PassFinding> {
    finding.passes.iter().filter(|pass| !pass.standings.is_empty())
}

/// What is measured of a standing: its title, the figure where it is known, and how it is shown.
type Measure = (&'static str, fn(&CacheStanding) -> Option<Estimate>, fn(f64) -> String);

const MEASURES: [Measure; 7] = [
    ("Requests a second", |one| one.rate, figure::whole),
    ("Processor time of the cache, a request", |one| exact(Some(one.cost.cpu)), figure::seconds),
    ("Processor time of the origin, a request", |one| exact(Some(one.cost.origin_cpu)), figure::seconds),
    ("Memory of its processes", |one| exact(Some(one.cost.memory)), figure::bytes),
    ("Read from disk, a request", |one| exact(one.cost.read), figure::bytes),
    ("Written to disk, a request", |one| exact(one.cost.written), figure::bytes),
    ("Its files in the page cache", |one| exact(one.cost.page_cache), figure::bytes),
];

/// A figure without repeats: its own interval.
fn exact(value: Option<f64>) -> Option<Estimate> {
    value.map(|value| Estimate { value, interval: Range { low: value, high: value }, n: 1 })
}

/// Who, in which pass, with what.
type Known<'a> = (&'a str, Warmth, Option<Estimate>);

/// Figures of `names` as a card, cold above warm; none where no figure is known.
fn card(title: &str, names: &[&str], known: &[Known<'_>], show: fn(f64) -> String) -> Option<Card> {
    let mark = |(_, warmth, estimate): &Known<'_>| {
        let value = estimate.map_or_else(|| "–".to_owned(), |one| show(one.value));
        Interval::new(*estimate, *warmth == Warmth::Warm, value)
    };
    let entry = |name: &&str| {
        let marks = known.iter().filter(|(one, ..)| one == name).map(mark).collect();
        Entry { name: clean::line(name), marks }
    };
    known.iter().any(|(.., estimate)| estimate.is_some()).then_some(())?;
    Some(Card::new(title, [Block::Drawing(Drawing::intervals(names.iter().map(entry).collect()))]))
}

/// Every measure as a small drawing.
fn costs(finding: &CacheFinding) -> Section {
    let names: Vec<&str> = finding.contenders.iter().map(|one| one.name.as_str()).collect();
    let drawn = |(title, of, show): &Measure| {
        let known: Vec<Known<'_>> = finding
            .passes
            .iter()
            .flat_map(|pass| pass.standings.iter().map(|one| (one.name.as_str(), pass.warmth, of(one))))
            .collect();
        card(title, &names, &known, *show)
    };
    let cards = MEASURES.iter().filter_map(drawn).collect();
    let lead = "Hollow: cold, the cache was empty. Filled: warm, asked for the same again. Whiskers are 95 % confidence intervals over \
                rounds; costs are means.";
    Section::page(Part::Figure, "costs", "Speed and cost", lead).with([Block::Cards { cards, wide: true }])
}

/// A figure of a pass: its title, that on a terminal where it is shown there, and the cell.
type Figure = (&'static str, &'static str, fn(&CacheStanding) -> String);

/// Who it is of, and the speed.
const SPEED: [Figure; 9] = [
    ("cache", "cache", |one| clean::line(&one.name)),
    ("rank", "rank", rank),
    ("requests/s (95 % confidence interval)", "requests/s (95 %)", spread),
    ("p50", "p50", |one| figure::seconds(one.latency.p50)),
    ("p99", "p99", |one| figure::seconds(one.latency.p99)),
    ("within 1 s", "", |one| format!("{} of {}", figure::count(one.within_second), figure::count(one.requests))),
    ("hits", "hits", hits),
    ("at origin", "at origin", |one| figure::count(one.origin)),
    ("connects", "", |one| figure::count(one.connects)),
];

/// The cost of a request, and what else was used.
const COST: [Figure; 13] = [
    ("CPU/request", "CPU/req.", |one| figure::seconds(one.cost.cpu)),
    ("origin's CPU", "origin's", |one| figure::seconds(one.cost.origin_cpu)),
    ("read/request", "read/req.", |one| bytes(one.cost.read)),
    ("written/request", "written", |one| bytes(one.cost.written)),
    ("memory", "memory", |one| figure::bytes(one.cost.memory)),
    ("page cache", "page cache", |one| bytes(one.cost.page_cache)),
    ("disk read", "", |one| bytes(one.cost.device_read)),
    ("disk written", "", |one| bytes(one.cost.device_written)),
    ("bytes in/s", "", |one| figure::bytes(one.flow.received)),
    ("bytes out/s", "", |one| figure::bytes(one.flow.sent)),
    ("cores busy", "", |one| figure::percent(one.busy)),
    ("client busy", "", |one| figure::percent(one.client)),
    ("settled", "", settled),
];

fn bytes(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), figure::bytes)
}

/// Figures of a pass, a row a cache, under the titles that `title` picks; those without one are left out.
fn table(pass: &PassFinding, figures: &[&Figure], title: fn(&Figure) -> &'static str) -> Table {
    let shown: Vec<&&Figure> = figures.iter().filter(|figure| !title(figure).is_empty()).collect();
    let head: Vec<&str> = shown.iter().map(|figure| title(figure)).collect();
    let row = |one: &CacheStanding| shown.iter().map(|(.., cell)| cell(one)).collect::<Vec<String>>();
    Table::new(&heading(pass), &head, pass.standings.iter().map(row)).figures()
}

/// `Cold pass`.
fn heading(pass: &PassFinding) -> String {
    format!("{} pass", warmth(pass.warmth))
}

fn figures(finding: &CacheFinding) -> Section {
    let all: Vec<&Figure> = SPEED.iter().chain(&COST).collect();
    let tables = passes(finding)
        .flat_map(|pass| [Block::heading(heading(pass)), Block::Table(table(pass, &all, |figure| figure.0))]);
    Section::page(Part::Figure, "figures", "Every figure", "").and_markdown().with(tables)
}

fn speed(pass: &PassFinding) -> Section {
    let figures: Vec<&Figure> = SPEED.iter().collect();
    Section::terminal(&heading(pass)).with([Block::Table(table(pass, &figures, |figure| figure.1))])
}

fn cost(pass: &PassFinding) -> Section {
    let figures: Vec<&Figure> = SPEED.iter().take(1).chain(&COST).collect();
    Section::terminal("").with([Block::Table(table(pass, &figures, |figure| figure.1))])
}

/// Each two of a pass or a search, folded away; none without pairs.
fn every(title: String, pairs: &[RankedPair]) -> Option<Block> {
    let row = |pair: &RankedPair| {
        let more = match pair.more {
            _ if pair.certain => "–".to_owned(),
            Some(more) => figure::count(more.into()),
            None => "more than 1,000, or no number".to_owned(),
        };
        ranked([&pair.faster, &pair.slower], pair).into_iter().chain([more])
    };
    let head = ["faster / slower", "ratio", "interval, all pairs together", "differ", "more rounds it would take"];
    let table = Table::new(&title, &head, pairs.iter().map(row)).kinds(Kind::Figure, [1, 2, 4]).block()?;
    Some(Block::details(title, [table]))
}

fn pairs(finding: &CacheFinding) -> Option<Section> {
    let state = |of: Warmth| warmth(of).to_lowercase();
    let passes =
        finding.passes.iter().map(|pass| every(format!("Every pair, {} pass", state(pass.warmth)), &pass.pairs));
    let rates = finding
        .best_rates
        .iter()
        .map(|one| every(format!("Every pair, highest rates {}", state(one.warmth)), &one.pairs));
    let lead = "Rates of the same round are compared.";
    Section::page(Part::Evidence, "pairs", "Two by two", lead).with(passes.chain(rates).flatten()).filled()
}

/// The highest rates: cold and warm of each.
fn rates(finding: &CacheFinding) -> Table {
    let of = |name: &str, warmth: Warmth| {
        let mut all =
            finding.best_rates.iter().filter(|rates| rates.warmth == warmth).flat_map(|rates| &rates.standings);
        let found = all.find(|one| one.name == name);
        found.map_or_else(|| ["-".to_owned(), "-".to_owned()], |one| [ranks(one.best, one.worst), best_rate(one)])
    };
    let row = |one: &CacheContender| {
        let both = [Warmth::Cold, Warmth::Warm].into_iter().flat_map(|warmth| of(&one.name, warmth));
        std::iter::once(clean::line(&one.name)).chain(both).collect::<Vec<String>>()
    };
    let shown: &[CacheContender] = if finding.best_rates.is_empty() { &[] } else { &finding.contenders };
    let head = ["cache", "rank cold", "cold (95 %)", "rank warm", "warm (95 %)"];
    Table::new("Highest rates", &head, shown.iter().map(row)).figures()
}

fn highest_rates(finding: &CacheFinding) -> Option<Section> {
    let all = finding
        .best_rates
        .iter()
        .flat_map(|rates| rates.standings.iter().map(|one| (one.name.as_str(), rates.warmth, one.rate)));
    let known: Vec<Known<'_>> = all.collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, ..) in &known {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let cards = card("Highest rate, requests a second", &names, &known, figure::whole);
    let drawn = cards.map(|card| Block::Cards { cards: vec![card], wide: true });
    let lead = format!(
        "The highest rate at which {} holds and requests do not pile up, searched anew in every round: the mean with its 95 % confidence \
         interval, which has the spread over rounds and the width of the steps in it.",
        finding.objective
    );
    let section = Section::page(Part::Figure, "rates", "Highest rates", &lead).with(drawn);
    Some(section.with([rates(finding).block()?]))
}

fn rates_in_short(finding: &CacheFinding) -> Option<Section> {
    let title = format!("Highest rate with {}", finding.objective);
    Some(Section::terminal(&title).and_markdown().with([rates(finding).block()?]))
}

/// The rules of HTTP: a row a cache, a column a rule.
fn rules(finding: &CacheFinding) -> Option<Section> {
    let row = |one: &CacheContender| {
        let cells = Rule::ALL.iter().map(|rule| {
            let found = one.conformance.iter().find(|tried| tried.rule == *rule);
            found.map_or_else(|| "-".to_owned(), |tried| format!("{}: {}", kept(tried), clean::line(&tried.seen)))
        });
        std::iter::once(clean::line(&one.name)).chain(cells).collect::<Vec<String>>()
    };
    let head: Vec<&str> = std::iter::once("cache").chain(Rule::ALL.into_iter().map(rule)).collect();
    let tried = finding.contenders.iter().filter(|one| !one.conformance.is_empty());
    let table = Table::new("Rules of HTTP", &head, tried.map(row)).block();
    let lead = "Each tried with a few requests on pages made for it.";
    Section::page(Part::Evidence, "rules", "Rules of HTTP", lead).with(table).filled()
}

/// The caches as they ran.
fn caches(finding: &CacheFinding) -> Section {
    let row = |one: &CacheContender| {
        let caps = limits(one).unwrap_or_else(|| "–".to_owned());
        [clean::line(&one.name), clean::line(&one.version), one.store.clone(), settings(one), caps]
    };
    let head = ["cache", "version", "keeps objects in", "settings", "caps"];
    let table = Table::new("Caches", &head, finding.contenders.iter().map(row));
    let lead = "Every setting that is not the product's own default.";
    Section::page(Part::Environment, "caches", "The caches as they ran", lead).with(table.block())
}

/// A cache in short.
fn in_short(one: &CacheContender) -> Section {
    let started = figure::seconds(one.started);
    let about = format!("{}; {}; up after {started}", clean::line(&one.version), one.store);
    let rules = one.conformance.iter().map(|tried| format!("{}: {}", rule(tried.rule), kept(tried)));
    let rules: Vec<String> = rules.collect();
    let settings = (!one.settings.is_empty()).then(|| Block::fact("settings", settings(one)));
    let limits = limits(one).map(|limits| Block::fact("limits", limits));
    let rules = (!rules.is_empty()).then(|| Block::fact("HTTP", rules.join("; ")));
    let facts = [Some(Block::fact(clean::line(&one.name), about)), settings, limits, rules];
    Section::terminal("").with(facts.into_iter().flatten())
}

/// Every setting that is not a default, in one line.
fn settings(one: &CacheContender) -> String {
    let all: Vec<String> = one.settings.iter().map(|s| format!("{} {}", s.name, s.value).trim().to_owned()).collect();
    clean::cut(&all.join("; "), LONGEST)
}

/// `CacheMaxFileSize 1000000 (bytes of an object; ...)`: what caps it; none where nothing is known.
fn limits(one: &CacheContender) -> Option<String> {
    let all = one.limits.iter().map(|limit| format!("{} {} ({})", limit.setting, limit.value, limit.caps));
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| clean::cut(&all.join("; "), LONGEST))
}

/// `Each may use 64m of memory or 256m of disk for objects; servers on core 0, generator on core 1. ...`: what is the same for all.
fn budget(finding: &CacheFinding) -> String {
    format!(
        "Each may use {} of memory or {} of disk for objects; {}. In every round each is started empty, and before its cold pass the \
         kernel is asked to drop the origin's files from memory (posix_fadvise).",
        finding.memory,
        finding.disk,
        words::pinning(finding.pinning.as_ref())
    )
}

/// `after 40 ms, 3 of 5`: when and in how many rounds passes settled; those too short to tell are left out.
fn settled(one: &CacheStanding) -> String {
    let settling = &one.settling;
    match (settling.after, settling.settled + settling.never) {
        (_, 0) => "too short to tell".to_owned(),
        (Some(after), of) => format!("after {}, {} of {of}", figure::seconds(after), settling.settled),
        (None, of) => format!("never, 0 of {of}"),
    }
}

/// `98.2 %`; of requests that a cache counted.
fn hits(one: &CacheStanding) -> String {
    match one.own {
        Some(own) if own.hits + own.misses > 0 => figure::percent(own.hits as f64 / (own.hits + own.misses) as f64),
        _ => "-".to_owned(),
    }
}

/// `kept`, `kept (not used)`, `broken`, `unknown`.
fn kept(one: &Conformance) -> &'static str {
    match one.verdict {
        Kept::Kept => "kept",
        Kept::Passed => "kept (not used)",
        Kept::Broken => "broken",
        Kept::Unknown => "unknown",
    }
}
