//! Caches compared, in words.

use genkai_model::cache::{
    CacheCaveat, CacheFinding, CacheStanding, Conformance, Held, Kept, Mount, Participant, PassFinding, Rule, Trouble,
    Warmth,
};
use genkai_model::finding::Outcome;

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
    let rules = |one: &Participant| {
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
pub(crate) fn settings(one: &Participant) -> String {
    let all: Vec<String> = one.settings.iter().map(|s| format!("{} {}", s.name, s.value).trim().to_owned()).collect();
    clean::cut(&all.join("; "), LONGEST)
}

/// `CacheMaxFileSize 1000000 (bytes of an object; ...)`: what caps it; none where nothing is known.
pub(crate) fn limits(one: &Participant) -> Option<String> {
    let all = one.limits.iter().map(|limit| format!("{} {} ({})", limit.setting, limit.value, limit.caps));
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| clean::cut(&all.join("; "), LONGEST))
}

/// `Each may use 64m of memory or 256m of disk for objects.`
pub(crate) fn budget(finding: &CacheFinding) -> String {
    format!("Each may use {} of memory or {} of disk for objects.", finding.memory, finding.disk)
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
    "cores busy",
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
        figure::percent(one.busy),
    ]
}

/// The highest rates: a row a contender, cold and warm; nothing where they were not looked for.
pub(crate) fn rates(finding: &CacheFinding) -> Vec<Vec<String>> {
    let of = |name: &str, warmth: Warmth| {
        let found = finding.held.iter().find(|held: &&Held| held.name == name && held.warmth == warmth);
        found.map_or_else(|| "-".to_owned(), held)
    };
    let row =
        |one: &Participant| vec![clean::line(&one.name), of(&one.name, Warmth::Cold), of(&one.name, Warmth::Warm)];
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
            format!("With {conditions}, the fastest{rate} is one of {}: they cannot be told apart.", listed(several))
        }
    }
}

fn listed(all: &[&CacheStanding]) -> String {
    let names: Vec<String> = all.iter().take(LISTED).map(|one| clean::line(&one.name)).collect();
    let more = all.len().saturating_sub(LISTED);
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
    if one.best == one.worst { one.best.to_string() } else { format!("{}-{}", one.best, one.worst) }
}

/// `3,120 (3,000-3,240)`.
pub(crate) fn spread(one: &CacheStanding) -> String {
    let whole = |x: f64| figure::count(x.max(0.0) as u64);
    let figures = |rate: genkai_model::finding::Estimate| {
        format!("{} ({}-{})", whole(rate.value), whole(rate.interval.low), whole(rate.interval.high))
    };
    one.rate.map_or_else(|| "-".to_owned(), figures)
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

fn highest(finding: &CacheFinding) -> Option<String> {
    let warm = finding.held.iter().filter(|held| held.warmth == Warmth::Warm && held.holds.is_some());
    let best = warm.max_by(|a, b| a.holds.unwrap_or(0.0).total_cmp(&b.holds.unwrap_or(0.0)))?;
    Some(format!(
        "The highest rate at which {} holds, warm: {} with {}, in one search without repeats.",
        finding.objective,
        held(best),
        clean::line(&best.name)
    ))
}

/// `12,000/s (not 13,100/s)`.
pub(crate) fn held(held: &Held) -> String {
    let per_second = |x: f64| format!("{}/s", figure::count(x as u64));
    match (held.holds, held.fails) {
        _ if held.client_limited => "more than this client can offer".to_owned(),
        (Some(holds), Some(fails)) => format!("{} (not {})", per_second(holds), per_second(fails)),
        (Some(holds), None) => format!("{} or more", per_second(holds)),
        (None, Some(fails)) => format!("less than {}", per_second(fails)),
        (None, None) => "-".to_owned(),
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
        CacheCaveat::Client { name, warmth: state } => format!(
            "In a {} pass of {} the client was at its own limit.",
            warmth(*state).to_lowercase(),
            clean::line(name)
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
