//! Caches compared, in words.

use genkai_model::cache::{Conformance, Kept, Rule, Warmth};
use genkai_model::finding::cache::{
    BestRate, CacheCaveat, CacheContender, CacheFinding, CacheStanding, Mount, PassFinding, RateFinding, RateRepeat,
    Trouble,
};
use genkai_model::finding::{Estimate, Outcome};

use serde::Serialize;

use crate::{clean, figure, words as table};

/// Longest list of settings, characters.
const LONGEST: usize = 4_000;
/// Most names in a row.
const LISTED: usize = 4;

/// The answer: what a reader can quote, then each pass, what went wrong, what limits it.
pub(crate) fn sentences(finding: &CacheFinding) -> Vec<String> {
    let mut all = vec![headline(finding)];
    all.extend(finding.passes.iter().filter(|pass| !pass.standings.is_empty()).map(answer));
    all.extend(highest(finding));
    all.extend(finding.mounts.iter().filter_map(mount));
    all.extend(finding.troubles.iter().map(trouble));
    all.extend(finding.caveats.iter().map(caveat));
    all
}

/// Words of a comparison of caches, for its page.
#[derive(Debug, Serialize)]
pub(crate) struct Words {
    headline: String,
    answers: Vec<String>,
    troubles: Vec<String>,
    caveats: Vec<String>,
    budget: String,
    columns: &'static [&'static str],
    passes: Vec<PassWords>,
    rates: &'static [&'static str],
    held: Vec<Vec<String>>,
    rules: RuleWords,
    settings: Vec<String>,
    limits: Vec<Option<String>>,
}

/// One pass: a row a contender, as [`COLUMNS`] has them.
#[derive(Debug, Serialize)]
struct PassWords {
    title: String,
    rows: Vec<Vec<String>>,
}

/// A row a contender, a column a rule.
#[derive(Debug, Serialize)]
struct RuleWords {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// The words of the page.
pub(crate) fn words(finding: &CacheFinding) -> Words {
    let shown = finding.passes.iter().filter(|pass| !pass.standings.is_empty());
    let pass = |pass: &PassFinding| PassWords {
        title: format!("{} pass", warmth(pass.warmth)),
        rows: pass.standings.iter().map(row).collect(),
    };
    let tried = finding.participants.iter().filter(|one| !one.conformance.is_empty());
    let rules = |one: &CacheContender| {
        let cells = Rule::ALL.iter().map(|rule| {
            let found = one.conformance.iter().find(|tried| tried.rule == *rule);
            found.map_or_else(|| "-".to_owned(), |tried| format!("{}: {}", kept(tried), clean::line(&tried.seen)))
        });
        std::iter::once(clean::line(&one.name)).chain(cells).collect()
    };
    Words {
        headline: headline(finding),
        answers: shown
            .clone()
            .map(answer)
            .chain(highest(finding))
            .chain(finding.mounts.iter().filter_map(mount))
            .collect(),
        troubles: finding.troubles.iter().map(trouble).collect(),
        caveats: finding.caveats.iter().map(caveat).collect(),
        budget: budget(finding),
        columns: COLUMNS,
        passes: shown.map(pass).collect(),
        rates: RATES,
        held: rates(finding),
        rules: RuleWords {
            head: std::iter::once("cache").chain(Rule::ALL.into_iter().map(rule)).collect(),
            rows: tried.map(rules).collect(),
        },
        settings: finding.participants.iter().map(settings).collect(),
        limits: finding.participants.iter().map(limits).collect(),
    }
}

/// Every setting that is not a default, in one line.
pub(crate) fn settings(one: &CacheContender) -> String {
    let all: Vec<String> = one.settings.iter().map(|s| format!("{} {}", s.name, s.value).trim().to_owned()).collect();
    clean::cut(&all.join("; "), LONGEST)
}

/// `CacheMaxFileSize 1000000 (bytes of an object; ...)`: what caps it; none where nothing is known.
pub(crate) fn limits(one: &CacheContender) -> Option<String> {
    let all = one.limits.iter().map(|limit| format!("{} {} ({})", limit.setting, limit.value, limit.caps));
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| clean::cut(&all.join("; "), LONGEST))
}

/// `Each may use 64m of memory or 256m of disk for objects; servers on core 0, generator on core 1. ...`: what is the same for all.
pub(crate) fn budget(finding: &CacheFinding) -> String {
    format!(
        "Each may use {} of memory or {} of disk for objects; {}. In every round each is started empty, and before its cold pass the \
         kernel is asked to drop the origin's files from memory (posix_fadvise).",
        finding.memory,
        finding.disk,
        table::pinning(finding.pinning.as_ref())
    )
}

/// What tables say of a standing.
pub(crate) const COLUMNS: &[&str] = &[
    "cache",
    "rank",
    "requests/s (95 % interval)",
    "p50",
    "p99",
    "within 1 s",
    "hits",
    "at origin",
    "connects",
    "CPU/request",
    "origin's CPU",
    "read/request",
    "written/request",
    "memory",
    "page cache",
    "disk read",
    "disk written",
    "bytes in/s",
    "bytes out/s",
    "cores busy",
    "client busy",
    "settled",
];

/// A standing in the order of [`COLUMNS`].
pub(crate) fn row(one: &CacheStanding) -> Vec<String> {
    let bytes = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure::bytes);
    vec![
        clean::line(&one.name),
        rank(one),
        spread(one),
        figure::seconds(one.latency.p50),
        figure::seconds(one.latency.p99),
        format!("{} of {}", figure::count(one.within_second), figure::count(one.requests)),
        hits(one),
        figure::count(one.origin),
        figure::count(one.connects),
        figure::seconds(one.cost.cpu),
        figure::seconds(one.cost.origin_cpu),
        bytes(one.cost.read),
        bytes(one.cost.written),
        figure::bytes(one.cost.memory),
        bytes(one.cost.page_cache),
        bytes(one.cost.device_read),
        bytes(one.cost.device_written),
        figure::bytes(one.flow.received),
        figure::bytes(one.flow.sent),
        figure::percent(one.busy),
        figure::percent(one.client),
        settled(one),
    ]
}

/// `after 40 ms, 3 of 5`: when and in how many rounds passes settled; those too short to tell are left out.
pub(crate) fn settled(one: &CacheStanding) -> String {
    let settling = &one.settling;
    match (settling.after, settling.settled + settling.never) {
        (_, 0) => "too short to tell".to_owned(),
        (Some(after), of) => format!("after {}, {} of {of}", figure::seconds(after), settling.settled),
        (None, of) => format!("never, 0 of {of}"),
    }
}

/// What the table of highest rates says.
pub(crate) const RATES: &[&str] = &["cache", "rank cold", "cold (95 %)", "rank warm", "warm (95 %)"];

/// The highest rates: a row a contender, in the order of [`RATES`]; nothing where they were not looked for.
pub(crate) fn rates(finding: &CacheFinding) -> Vec<Vec<String>> {
    let of = |name: &str, warmth: Warmth| {
        let mut all = finding.held.iter().filter(|rates| rates.warmth == warmth).flat_map(|rates| &rates.standings);
        let found = all.find(|held| held.name == name);
        found.map_or_else(|| ["-".to_owned(), "-".to_owned()], |one| [ranked(one.best, one.worst), held(one)])
    };
    let row = |one: &CacheContender| {
        let both = [Warmth::Cold, Warmth::Warm].into_iter().flat_map(|warmth| of(&one.name, warmth));
        std::iter::once(clean::line(&one.name)).chain(both).collect()
    };
    if finding.held.is_empty() { Vec::new() } else { finding.participants.iter().map(row).collect() }
}

/// The sentence that can be quoted.
pub(crate) fn headline(finding: &CacheFinding) -> String {
    if finding.outcome == Outcome::Unfinished {
        return "The run was cut off before there was an answer for every cache.".to_owned();
    }
    let warm = finding.passes.iter().find(|pass| pass.warmth == Warmth::Warm);
    let Some(pass) = warm.filter(|pass| !pass.standings.is_empty()) else {
        return "There is nothing to compare.".to_owned();
    };
    let limited = |one: &CacheStanding| one.client_limited as usize * 2 > one.rounds.len();
    if !pass.stressed && pass.standings.iter().any(limited) {
        return "The client was the limit: it could not ask faster, and differences say nothing of the caches. See the highest rates; \
                give the client more (a core of its own, another machine)."
            .to_owned();
    }
    if !pass.stressed {
        return "What was offered was the limit: no cache was busy, and differences say nothing of them. Offer more: --clients, no \
                --rate; a machine with nothing else to do."
            .to_owned();
    }
    let first: Vec<&CacheStanding> = pass.standings.iter().filter(|one| one.best == 1).collect();
    let rate = pass.standings.first().and_then(|one| one.rate);
    let rate = rate.map_or_else(String::new, |rate| format!(" ({} requests/s)", figure::count(rate.value as u64)));
    let conditions = format!(
        "{} requests and {} clients, warm",
        figure::count(finding.requests.into()),
        figure::count(finding.clients.into())
    );
    match &first[..] {
        [] => "No cache is the fastest for certain.".to_owned(),
        [one] => format!("{} is the fastest for certain with {conditions}{rate}.", clean::line(&one.name)),
        several if several.len() == pass.standings.len() => {
            format!("With {conditions}, none can be told apart from all others.")
        }
        several => {
            format!(
                "With {conditions}, the fastest{rate} is one of {}: they cannot be told apart.",
                listed(several.iter().map(|one| one.name.as_str()))
            )
        }
    }
}

fn listed<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = all.len().saturating_sub(LISTED);
    let names: Vec<String> = all.take(LISTED).map(clean::line).collect();
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

/// `Cold: nginx 3,120/s (1), apache-disk 2,800/s (2-3), ...`: each with its rank.
pub(crate) fn answer(pass: &PassFinding) -> String {
    let one = |one: &CacheStanding| format!("{} {} ({})", clean::line(&one.name), rate(one), rank(one));
    let all: Vec<String> = pass.standings.iter().map(one).collect();
    let pairs = pass.pairs.len();
    let certain = pass.pairs.iter().filter(|pair| pair.certain).count();
    let told = match (pairs, certain) {
        (0, _) => String::new(),
        _ if !pass.stressed => " Nobody was stressed: nobody is ranked.".to_owned(),
        (n, c) if n == c => " All can be told apart.".to_owned(),
        (n, c) => format!(" {c} of {} can be told apart.", figure::plural(n as u64, "pair", "pairs")),
    };
    format!("{}: {}.{told}", warmth(pass.warmth), all.join(", "))
}

/// `3,120/s`.
pub(crate) fn rate(one: &CacheStanding) -> String {
    one.rate.map_or_else(|| "-".to_owned(), |rate| format!("{}/s", figure::count(rate.value as u64)))
}

/// `1`, `2-3`.
pub(crate) fn rank(one: &CacheStanding) -> String {
    ranked(one.best, one.worst)
}

fn ranked(best: u32, worst: u32) -> String {
    if best == worst { best.to_string() } else { format!("{best}-{worst}") }
}

/// `3,120 (3,000-3,240)`.
pub(crate) fn spread(one: &CacheStanding) -> String {
    one.rate.map_or_else(|| "-".to_owned(), figures)
}

fn figures(rate: Estimate) -> String {
    let whole = |x: f64| figure::count(x.max(0.0) as u64);
    format!("{} ({}-{})", whole(rate.value), whole(rate.interval.low), whole(rate.interval.high))
}

/// `Cold`, `Warm`.
pub(crate) fn warmth(warmth: Warmth) -> &'static str {
    match warmth {
        Warmth::Cold => "Cold",
        Warmth::Warm => "Warm",
    }
}

/// `98.2 %`; of requests that a cache counted.
pub(crate) fn hits(one: &CacheStanding) -> String {
    match one.own {
        Some(own) if own.hits + own.misses > 0 => figure::percent(own.hits as f64 / (own.hits + own.misses) as f64),
        _ => "-".to_owned(),
    }
}

/// Who holds the highest rate, and how many rounds more would tell who does: cold, then warm. Who was too fast for the search comes first.
fn highest(finding: &CacheFinding) -> impl Iterator<Item = String> + '_ {
    let state = |rates: &RateFinding| warmth(rates.warmth).to_lowercase();
    let said = move |rates: &RateFinding| match (beyond(rates), known(rates)) {
        (None, None) => None,
        (None, Some(known)) => {
            Some(format!("The highest rate at which {} holds, {}: {known}", finding.objective, state(rates)))
        }
        (Some(beyond), known) => {
            let others = known.map_or_else(String::new, |known| format!(" The highest of the others: {known}"));
            Some(format!(
                "Who holds the highest rate at which {} holds, {}, is not known: {beyond}.{others}",
                finding.objective,
                state(rates)
            ))
        }
    };
    finding.held.iter().filter_map(said)
}

/// Those without a rate because a search met no end of theirs, each with what it bore; none: there are none.
fn beyond(rates: &RateFinding) -> Option<String> {
    let met_none = |one: &&BestRate| {
        let open = |one: &RateRepeat| one.client_limited || one.holds.is_some() && one.fails.is_none();
        one.rate.is_none() && one.repeats.iter().any(open)
    };
    let all = rates.standings.iter().filter(met_none);
    let all: Vec<String> = all.map(|one| format!("{} bears {}", clean::line(&one.name), held(one))).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// `3,120 (3,000-3,240) requests/s with nginx.`: the first of those whose rate is known, and who cannot be told from it.
fn known(rates: &RateFinding) -> Option<String> {
    let first = rates.standings.first()?;
    let best = format!("{} requests/s with {}", figures(first.rate?), clean::line(&first.name));
    let tied: Vec<&BestRate> = rates.standings.iter().filter(|one| one.best == 1 && one.rate.is_some()).collect();
    if tied.len() < 2 {
        return Some(format!("{best}."));
    }
    let names = listed(tied.iter().map(|one| one.name.as_str()));
    Some(format!("{best}; {names} cannot be told apart. {}", more(rates, &tied)))
}

/// How many more rounds would tell two of the first apart: those for which it takes the fewest.
fn more(rates: &RateFinding, tied: &[&BestRate]) -> String {
    let is_tied = |name: &str| tied.iter().any(|one| one.name == name);
    let among = rates.pairs.iter().filter(|pair| is_tied(&pair.faster) && is_tied(&pair.slower));
    let fewest = among.filter_map(|pair| Some((pair.more?, pair))).min_by_key(|(more, _)| *more);
    match fewest {
        Some((more, pair)) => format!(
            "If spread and means stay as they are, {} would tell {} from {}.",
            figure::plural(more.into(), "more round", "more rounds"),
            clean::line(&pair.faster),
            clean::line(&pair.slower)
        ),
        None => "No number of rounds up to 1,000 would tell them, as it stands.".to_owned(),
    }
}

/// `12,000 (11,500-12,600)`; what is known where searches found no two sides.
pub(crate) fn held(held: &BestRate) -> String {
    let per_second = |x: f64| format!("{}/s", figure::count(x as u64));
    let limited = held.repeats.iter().filter(|one| one.client_limited).count();
    let most = held.repeats.iter().filter_map(|one| one.holds).reduce(f64::max);
    let least = held.repeats.iter().filter_map(|one| one.fails).reduce(f64::min);
    match (held.rate, most, least) {
        (Some(rate), ..) if limited == 0 => figures(rate),
        (Some(rate), ..) => format!("{}, client at its limit in {limited} of {}", figures(rate), held.repeats.len()),
        (None, Some(holds), _) if limited > 0 => {
            format!("{} or more: all that this client can offer", per_second(holds))
        }
        (None, None, _) if limited > 0 => "more than this client can offer".to_owned(),
        (None, Some(holds), Some(fails)) => format!("{} (not {})", per_second(holds), per_second(fails)),
        (None, Some(holds), None) => format!("{} or more", per_second(holds)),
        (None, None, Some(fails)) => format!("less than {}", per_second(fails)),
        (None, None, None) => "-".to_owned(),
    }
}

fn mount(mount: &Mount) -> Option<String> {
    let ratio = mount.ratio?;
    let told = if ratio.interval.low > 1.0 || ratio.interval.high < 1.0 {
        "that is a difference"
    } else {
        "no difference that can be told from chance"
    };
    Some(format!(
        "The origin alone mounted {}: {} times as many responses a second as with relatime ({}): {told}.",
        mount.option.option(),
        figure::number(ratio.value),
        figure::range(ratio.interval, figure::number)
    ))
}

/// One sentence.
pub(crate) fn trouble(trouble: &Trouble) -> String {
    match trouble {
        Trouble::WrongBodies { name, count, first, trial } => {
            let what = first.map_or_else(String::new, |wrong| match wrong.came {
                Some(came) => format!(": object {} was asked for, and the body of object {came} came", wrong.asked),
                None => format!(
                    ": object {} was asked for, and {} of {} bytes came that are no object",
                    wrong.asked, wrong.bytes, wrong.due
                ),
            });
            let bodies = figure::plural(*count, "wrong body", "wrong bodies");
            format!("{} gave {bodies}, first in trial {trial}{what}.", clean::line(name))
        }
        Trouble::Failed { name, errors } => {
            let one = |error: &genkai_model::error::ErrorCount| {
                format!("{} x {}", figure::count(error.count), table::error(error.kind))
            };
            let all: Vec<String> = errors.iter().take(LISTED).map(one).collect();
            format!("Requests to {} failed: {}.", clean::line(name), all.join(", "))
        }
        Trouble::Disagree { name, trial, warmth: state, misses, origin } => format!(
            "{} says that it missed {} times in a {} pass (trial {trial}), and the origin was asked {} times.",
            clean::line(name),
            figure::count(*misses),
            warmth(*state).to_lowercase(),
            figure::count(*origin)
        ),
        Trouble::Rule(one) => format!(
            "{} breaks a rule of HTTP: {} ({}).",
            clean::line(&one.contender),
            rule(one.rule),
            clean::line(&one.seen)
        ),
    }
}

/// What a rule says.
pub(crate) fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::Validator => "304 to its own entity tag, the object to another",
        Rule::Vary => "a response with Vary answers only requests alike",
        Rule::NoStore => "no-store is not kept",
        Rule::Private => "private is not kept",
        Rule::Freshness => "nothing is given unasked after its max-age",
        Rule::Range => "a range is that range, or the whole",
    }
}

/// `kept`, `kept (not used)`, `broken`, `unknown`.
pub(crate) fn kept(one: &Conformance) -> &'static str {
    match one.verdict {
        Kept::Kept => "kept",
        Kept::Passed => "kept (not used)",
        Kept::Broken => "broken",
        Kept::Unknown => "unknown",
    }
}

/// One sentence.
pub(crate) fn caveat(caveat: &CacheCaveat) -> String {
    match caveat {
        CacheCaveat::OfferedLoad { warmth: state, busiest } => format!(
            "{} pass: what was offered was the limit. The busiest side used {} of the servers' cores; a rate then says how fast requests \
             were made, and differences of some percent mean nothing.",
            warmth(*state),
            figure::percent(*busiest)
        ),
        CacheCaveat::SharedCores { cores } => format!(
            "Origin and cache share {}: a miss costs a cache the origin's time too.",
            figure::plural((*cores).into(), "core", "cores")
        ),
        CacheCaveat::Client { name, warmth: state, rounds, of, used } => format!(
            "In {rounds} of {of} {} passes of {} the client was at its limit (its thread used {} of a core): it may be faster than that, \
             and is not ranked behind others.",
            warmth(*state).to_lowercase(),
            clean::line(name),
            figure::percent(*used)
        ),
        CacheCaveat::NotSettled { name, warmth: state, rounds, of } => format!(
            "{}: {rounds} of {of} {} passes never settled; rate or latency was still changing when they ended, and more requests \
             (--requests) would give another rate.",
            clean::line(name),
            warmth(*state).to_lowercase()
        ),
        CacheCaveat::RatesNotSettled { warmth: state, loads, of } => format!(
            "{loads} of {of} loads of the {} searches never settled: those are judged whole, warm-up included.",
            warmth(*state).to_lowercase()
        ),
        CacheCaveat::PageCache { bytes } => format!(
            "Up to {} of the origin's files stayed in memory before cold passes, although they were to be dropped.",
            figure::bytes(*bytes as f64)
        ),
        CacheCaveat::Short { seconds } => {
            format!(
                "The shortest pass took {}: give more requests (--requests) for figures with less noise.",
                figure::seconds(*seconds)
            )
        }
        CacheCaveat::OneRound => "There is one round, and no interval.".to_owned(),
    }
}
