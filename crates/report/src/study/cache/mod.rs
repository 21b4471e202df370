//! Caches compared: the sentences.

mod document;

use super::comparison::ranks;
use crate::{clean, figure, words};
use genkai_model::cache::{Rule, Warmth};
use genkai_model::finding::cache::{
    BestRate, CacheCaveat, CacheFinding, CacheStanding, Mount, PassFinding, RateFinding, RateRepeat, Trouble,
};
use genkai_model::finding::{Estimate, Outcome};

pub use document::cache;

/// Most names in a row.
const LISTED: usize = 4;

/// The answer: what a reader can quote, then each pass, what went wrong, what limits it.
fn sentences(finding: &CacheFinding) -> Vec<String> {
    let mut all = vec![headline(finding)];
    all.extend(finding.passes.iter().filter(|pass| !pass.standings.is_empty()).map(answer));
    all.extend(highest(finding));
    all.extend(finding.mounts.iter().filter_map(mount));
    all.extend(finding.troubles.iter().map(trouble));
    all.extend(finding.caveats.iter().map(caveat));
    all
}

/// The sentence that can be quoted.
fn headline(finding: &CacheFinding) -> String {
    if finding.outcome == Outcome::Unfinished {
        return "The run was cut off before there was an answer for every cache.".to_owned();
    }
    let warm = finding.passes.iter().find(|pass| pass.warmth == Warmth::Warm);
    let Some(pass) = warm.filter(|pass| !pass.standings.is_empty()) else {
        return "There is nothing to compare.".to_owned();
    };
    let limited = |one: &CacheStanding| one.client_limited as usize * 2 > one.rounds.len();
    if !pass.stressed && pass.standings.iter().any(limited) {
        return "The load generator was the limit: it could not ask faster, and differences say nothing about the caches. See the highest \
                rates; give the load generator more (a core of its own, another machine)."
            .to_owned();
    }
    if !pass.stressed {
        return "The offered load was the limit: no cache was busy, so the differences say nothing about them. Raise --clients or drop \
                --rate; use a machine with nothing else to do."
            .to_owned();
    }
    let first: Vec<&CacheStanding> = pass.standings.iter().filter(|one| one.best == 1).collect();
    let rate = pass.standings.first().and_then(|one| one.rate);
    let rate = rate.map_or_else(String::new, |rate| format!(" ({} requests/s)", figure::whole(rate.value)));
    let conditions = format!(
        "{} requests and {} clients, warm",
        figure::count(finding.requests.into()),
        figure::count(finding.clients.into())
    );
    match &first[..] {
        [one] if pass.standings.len() == 1 => {
            let name = clean::line(&one.name);
            format!("With {conditions}, {name} alone was measured{rate}: how it compares with others is not known.")
        }
        [] => "No cache is the fastest for certain.".to_owned(),
        [one] => format!("{} is the fastest for certain with {conditions}{rate}.", clean::line(&one.name)),
        several if several.len() == pass.standings.len() => {
            format!("With {conditions}, none differs measurably from all others.")
        }
        several => {
            format!(
                "With {conditions}, the fastest{rate} is one of {}: they do not differ measurably.",
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
fn answer(pass: &PassFinding) -> String {
    let rank = |one: &CacheStanding| if pass.standings.len() > 1 { format!(" ({})", rank(one)) } else { String::new() };
    let one = |one: &CacheStanding| format!("{} {}{}", clean::line(&one.name), rate(one), rank(one));
    let all: Vec<String> = pass.standings.iter().map(one).collect();
    let pairs = pass.pairs.len();
    let certain = pass.pairs.iter().filter(|pair| pair.certain).count();
    let told = match (pairs, certain) {
        (0, _) => String::new(),
        _ if !pass.stressed => " No cache was busy: none is ranked.".to_owned(),
        (1, 1) => " They differ.".to_owned(),
        (n, c) if n == c => " All differ.".to_owned(),
        (n, c) => format!(" {c} of {} differ.", figure::plural(n as u64, "pair", "pairs")),
    };
    format!("{}: {}.{told}", warmth(pass.warmth), all.join(", "))
}

/// `3,120/s`.
fn rate(one: &CacheStanding) -> String {
    one.rate.map_or_else(|| "-".to_owned(), |rate| format!("{}/s", figure::whole(rate.value)))
}

/// `1`, `2-3`.
fn rank(one: &CacheStanding) -> String {
    ranks(one.best, one.worst)
}

/// `3,120 (3,000-3,240)`.
fn spread(one: &CacheStanding) -> String {
    one.rate.map_or_else(|| "-".to_owned(), figures)
}

fn figures(rate: Estimate) -> String {
    let whole = |x: f64| figure::whole(x.max(0.0));
    format!("{} ({}-{})", whole(rate.value), whole(rate.interval.low), whole(rate.interval.high))
}

/// `Cold`, `Warm`.
fn warmth(warmth: Warmth) -> &'static str {
    match warmth {
        Warmth::Cold => "Cold",
        Warmth::Warm => "Warm",
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
    finding.best_rates.iter().filter_map(said)
}

/// Those without a rate because a search met no end of theirs, each with what it bore; none: there are none.
fn beyond(rates: &RateFinding) -> Option<String> {
    let met_none = |one: &&BestRate| {
        let open = |one: &RateRepeat| one.client_limited || one.holds.is_some() && one.fails.is_none();
        one.rate.is_none() && one.repeats.iter().any(open)
    };
    let all = rates.standings.iter().filter(met_none);
    let all: Vec<String> = all.map(|one| format!("{} bears {}", clean::line(&one.name), best_rate(one))).collect();
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
    Some(format!("{best}; {names} do not differ measurably. {}", more(rates, &tied)))
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
fn best_rate(one: &BestRate) -> String {
    let per_second = |x: f64| format!("{}/s", figure::whole(x));
    let limited = one.repeats.iter().filter(|one| one.client_limited).count();
    let most = one.repeats.iter().filter_map(|one| one.holds).reduce(f64::max);
    let least = one.repeats.iter().filter_map(|one| one.fails).reduce(f64::min);
    match (one.rate, most, least) {
        (Some(rate), ..) if limited == 0 => figures(rate),
        (Some(rate), ..) => {
            format!("{}, load generator at its limit in {limited} of {}", figures(rate), one.repeats.len())
        }
        (None, Some(holds), _) if limited > 0 => {
            format!("{} or more: all that this load generator can offer", per_second(holds))
        }
        (None, None, _) if limited > 0 => "more than this load generator can offer".to_owned(),
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
        "no measurable difference"
    };
    Some(format!(
        "The origin alone mounted {}: {} times as many responses a second as with relatime ({}): {told}.",
        mount.option.option(),
        figure::number(ratio.value),
        figure::range(ratio.interval, figure::number)
    ))
}

/// One sentence.
fn trouble(trouble: &Trouble) -> String {
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
                format!("{} x {}", figure::count(error.count), words::error(error.kind))
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
fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::Validator => "304 to its own entity tag, the object to another",
        Rule::Vary => "a response with Vary answers only requests alike",
        Rule::NoStore => "no-store is not kept",
        Rule::Private => "private is not kept",
        Rule::Freshness => "nothing is given unasked after its max-age",
        Rule::Range => "a range is that range, or the whole",
    }
}

/// One sentence.
fn caveat(caveat: &CacheCaveat) -> String {
    match caveat {
        CacheCaveat::OfferedLoad { warmth: state, busiest } => format!(
            "{} pass: the offered load was the limit. The busiest side used {} of the servers' cores; a rate then says how fast requests \
             were made, and differences of some percent mean nothing.",
            warmth(*state),
            figure::percent(*busiest)
        ),
        CacheCaveat::SharedCores { cores } => format!(
            "Origin and cache share {}: a miss costs a cache the origin's time too.",
            figure::plural((*cores).into(), "core", "cores")
        ),
        CacheCaveat::Client { name, warmth: state, rounds, of, used } => format!(
            "In {rounds} of {of} {} passes of {} the load generator was at its limit (its thread used {} of a core): it may be faster than that, \
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
