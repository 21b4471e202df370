//! Before against after, and how sure it all is.

use genkai_model::finding::{
    Answer, Because, Call, Cause, Confidence, Decision, Estimate, Evidence, Moved, Outcome, Pairing, Proof,
    ProposedChange, Rule, TrialFinding, Verdict,
};
use genkai_model::limit::BACKEND_ANSWERS;
use genkai_model::objective::Condition;
use genkai_model::setting::Change;

use super::again;
use super::condition::condition;
use super::foretold::foretold;
use crate::context::{self, Context};
use crate::study::comparison;
use crate::{clean, figure};

/// The proof's figures, if there was one.
pub(super) fn proof(context: Context<'_>, v: &Verdict) -> Vec<String> {
    let Some(p) = &v.proof else { return Vec::new() };
    // Where nothing failed before and after, the figure that is asked for is another.
    let other = p.failures == [0, 0] && p.judged.as_ref().and_then(|j| condition(&j.condition)).is_some_and(is_ratio);
    let failures = (!other).then(|| failures(context, v, p));
    failures.into_iter().chain([speed(context, p)]).collect()
}

fn is_ratio(condition: Condition) -> bool {
    matches!(condition, Condition::LatencyBelow(..) | Condition::RateAbove(_))
}

/// What the share of failures is that stands beside their number: it is told of runs, which is what varies.
const MEAN: &str = "mean of the runs ";

fn failures(context: Context<'_>, v: &Verdict, p: &Proof) -> String {
    let [before, after] = names(v, Side::After);
    let runs = figure::plural(u64::from(p.pairs), "run", "runs");
    format!(
        "With {after}, {} of {} {} in {runs}{}; with {before}, {} of {} did ({MEAN}{}).",
        figure::count(p.failures[1]),
        figure::count(p.finished[1]),
        failing(context, p).1,
        if p.failures[1] > 0 {
            format!(" ({MEAN}{})", estimate(p.failed_after, figure::percent))
        } else {
            String::new()
        },
        figure::count(p.failures[0]),
        figure::count(p.finished[0]),
        estimate(p.failed_before, figure::percent)
    )
}

/// What failed in a proof, as a noun and as a clause without its number.
pub(crate) fn failing(context: Context<'_>, p: &Proof) -> (String, String) {
    let (noun, clause) = match p.judged.as_ref().and_then(|j| condition(&j.condition)) {
        Some(Condition::ConnectsAbove(_)) => ("failed openings", "openings of a WebSocket failed"),
        Some(Condition::DeliveredAbove(_)) => ("lost messages", "messages got lost"),
        Some(Condition::DisconnectsBelow(_)) => ("unasked ends", "open WebSockets ended unasked"),
        // Whoever waits in vain has not failed.
        _ if p.unanswered != [0, 0] => {
            let counted = context.counted();
            return (format!("failed or unanswered {counted}"), format!("{counted} failed or had no answer in time"));
        }
        _ => return (format!("failed {}", context.counted()), format!("{} failed", context.counted())),
    };
    (noun.to_owned(), clause.to_owned())
}

fn speed(context: Context<'_>, p: &Proof) -> String {
    let [rate_before, rate_after, rate_gain] = p.rate;
    let [p99_before, p99_after, p99_gain] = p.p99;
    let p99 = |e: Estimate, at_least: bool| match () {
        () if at_least => format!("more than {}", figure::seconds(e.value)),
        () if e.value > 0.0 => figure::seconds(e.value),
        () => "none succeeded".to_owned(),
    };
    let both = p99_before.value > 0.0 && p99_after.value > 0.0 && p.p99_at_least == [false; 2];
    format!(
        "Successful {}: {}/s before, {}/s after ({}). p99 latency: {} before, {} after ({}).",
        context.counted(),
        figure::number(rate_before.value),
        figure::number(rate_after.value),
        difference(rate_gain, |x| format!("{}/s", figure::number(x))),
        p99(p99_before, p.p99_at_least[0]),
        p99(p99_after, p.p99_at_least[1]),
        match both {
            true => difference(p99_gain, figure::seconds),
            false if p.p99_at_least != [false; 2] => "by how much is not known".to_owned(),
            false => "no difference to tell".to_owned(),
        }
    )
}

/// `19.5 %, 95 % confidence interval 18.1-20.9 %, n=3`.
pub(crate) fn estimate(e: Estimate, show: impl Fn(f64) -> String + Copy) -> String {
    format!("{}, 95 % confidence interval {}, n={}", show(e.value), figure::range(e.interval, show), e.n)
}

/// `+290/s, 95 % confidence interval +250/s to +330/s`.
pub(crate) fn difference(e: Estimate, show: impl Fn(f64) -> String + Copy) -> String {
    let sign = |x| figure::signed(x, show);
    format!("{}, 95 % confidence interval {} to {}", sign(e.value), sign(e.interval.low), sign(e.interval.high))
}

/// What baseline and proposal are called: `worker_connections 512` and `768`, the setting named once, where it is first
/// spoken of; plain names where several settings change.
pub(crate) fn names(v: &Verdict, first: Side) -> [String; 2] {
    match v.proposal.as_slice() {
        [one] => {
            let c = &one.change;
            let named = |side, value| {
                let value = clean::line(value);
                if side == first { format!("{} {value}", clean::line(&c.setting)) } else { value }
            };
            [named(Side::Before, &c.from), named(Side::After, &c.to)]
        }
        _ => ["the baseline".to_owned(), "the proposal".to_owned()],
    }
}

/// Which of the two is spoken of first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// The figures of a load that held, where nothing had to be proved.
pub(super) fn held(context: Context<'_>, v: &Verdict) -> Option<String> {
    let unproved = v.proof.is_none() && v.outcome() == Outcome::Holds;
    let trial = v.trials.iter().find(|t| t.broke.is_none()).filter(|_| unproved)?;
    let latency = match trial.latency.is_empty() {
        true => String::new(),
        false => format!(
            "; latency p50 {}, p99 {}, largest {} ({} responses)",
            figure::seconds(trial.latency.p50),
            figure::seconds(trial.latency.p99),
            figure::seconds(trial.latency.max),
            figure::count(trial.latency.count)
        ),
    };
    // The figures are of the whole trial.
    let whole = if context.ramps() { ", the rise to that included" } else { "" };
    Some(format!(
        "At {}{whole}, {} in {}; {} successful {}/s{latency}.",
        context.level(context.rose_to.unwrap_or(trial.asked)),
        context::failed_of(context, trial),
        figure::seconds(trial.lasted),
        figure::number(trial.rate),
        context.counted(),
    ))
}

/// How sure the answer is: of the causes, and of the changes.
pub(super) fn sure(context: Context<'_>, v: &Verdict) -> Option<String> {
    // Nothing failed where nothing came, and nothing held.
    let proof = v.proof.as_ref().and_then(|p| match v.decision() {
        Decision::Carried { pairs: Pairing::Unanswered { unanswered, of } } => {
            (unanswered < of).then(|| partly(context, p, [unanswered, of]))
        }
        // What waits violates nothing, and holds nothing.
        Decision::Carried { pairs: Pairing::Outpaced { .. } } => {
            Some(decided(context, p, "was violated with every baseline and with no proposal"))
        }
        _ => Some(decided(context, p, "failed with every baseline and held with every proposal")),
    });
    let parts: Vec<String> = causes(v).into_iter().chain(proof).collect();
    match (parts.is_empty(), v.must_change()) {
        (false, _) => Some(parts.join(" ")),
        (true, Answer::No) => Some("One load was run; it says what held, not how far beyond it holds.".to_owned()),
        (true, _) => None,
    }
}

/// How sure the causes are: those that a test confirmed, and the one that none was made of.
fn causes(v: &Verdict) -> Vec<String> {
    let confirmed: Vec<&Cause> = v.causes.iter().filter(|c| c.confidence == Confidence::Proved).collect();
    // An invalid measurement says nothing of what was met.
    if v.outcome() == Outcome::Invalid {
        return Vec::new();
    }
    if !v.decision().confirms() {
        return vec![format!("The cause is not confirmed: {}.", unconfirmed(v.because()))];
    }
    let open = v.causes.iter().rfind(|c| matches!(c.confidence, Confidence::Likely | Confidence::Possible));
    let who = if confirmed.is_empty() { "The cause" } else { "What stops the load then" };
    let tested = match &confirmed[..] {
        [] => None,
        [one] => Some(format!("The cause is confirmed: changing that setting alone {}.", became(v, one))),
        all => {
            let each: Vec<String> =
                all.iter().map(|c| format!("{} {}{}", setting(c), became(v, c), untried(v, c))).collect();
            Some(format!("The causes are confirmed, each by changing that setting alone: {}.", each.join("; ")))
        }
    };
    // Where directives were left out, that is the test.
    let left_out = matches!(v.decision(), Decision::Bisected | Decision::Guarded);
    let stands = open.map(|c| match (c.confidence, left_out) {
        _ if again::is_once(v, c) => {
            let what = if confirmed.is_empty() { "The cause" } else { "The last change" };
            format!("{what} is not confirmed: changing {} moved the break, but {}.", setting(c), again::ONCE)
        }
        (Confidence::Possible, true) => "What is named was put to the test, by leaving it out.".to_owned(),
        _ => untested(who, c),
    });
    tested.into_iter().chain(stands).collect()
}

/// What the proof saw that the search did not.
pub(super) fn unconfirmed(because: Because) -> &'static str {
    match because {
        Because::NotReproduced => "what failed in the search did not fail again, with or without the change",
        Because::Contradicted => {
            "in the proof, the objective held at least once without the change and failed at least once with it"
        }
        Because::ChangeMadeNoDifference => "in the proof, the change made no measurable difference",
        Because::ChangeMadeItWorse => "in the proof, the change made it worse",
        _ => "in the proof, the objective failed in every trial with the change, too, which is not certain to help",
    }
}

/// The setting that was changed to test a cause.
fn setting(cause: &Cause) -> String {
    let changed = cause.counterfactual.as_ref().map(|test| test.change.setting.as_str());
    clean::line(changed.unwrap_or(&cause.limit.setting))
}

/// That nobody tried the other changes without one that left the system broken at the same load: they might do alone.
fn untried(v: &Verdict, cause: &Cause) -> &'static str {
    if is_untried(v, cause) { " (whether it is needed beside the other changes was not tried)" } else { "" }
}

/// Whether a change is proposed beside others although it carried no larger load by itself, and these were not tried without it.
pub(super) fn is_untried(v: &Verdict, cause: &Cause) -> bool {
    let test = cause.counterfactual.as_ref();
    let is_its = |one: &&ProposedChange| test.is_some_and(|test| one.change.setting == test.change.setting);
    let others: Vec<_> = v.proposal.iter().filter(|one| !is_its(one)).map(|one| &one.change).collect();
    let proposed = others.len() < v.proposal.len();
    let asked = v.trials.first().map_or(0.0, |trial| trial.asked);
    let is_without = |trial: &&TrialFinding| {
        let same =
            |change: &&Change| trial.changes.iter().any(|one| (&one.setting, &one.to) == (&change.setting, &change.to));
        let broke = trial.broke.as_ref().is_some_and(|broke| broke.level < asked);
        broke && trial.changes.len() == others.len() && others.iter().all(same)
    };
    cause.stays() && proposed && !others.is_empty() && !v.trials.iter().any(|trial| is_without(&trial))
}

/// What became of the break when the setting of a confirmed cause was changed.
fn became(v: &Verdict, cause: &Cause) -> &'static str {
    let test = cause.counterfactual.as_ref();
    let predicted = foretold(v, cause);
    let unforeseen = cause.limit.law.is_tried() || predicted.is_none();
    match test.map(|test| (test.moved, test.observed.is_some())) {
        _ if cause.stays() => "put the signs of another limit in its place, at no larger load",
        Some((_, false)) | None => "removed the break",
        Some(_) if test.is_some_and(|test| test.again.is_some()) => {
            "moved the break, and again when both were tried again"
        }
        Some(_) if unforeseen => "moved the break",
        Some((Moved::Elsewhere, _)) => "moved the break, but not to where the formula puts it",
        // A load that is only the least at which it may come is no place that was foretold.
        Some(_) if predicted.is_some_and(context::is_wide) => {
            "moved the break (the formula tells only from which load on the next one may come)"
        }
        Some(_) => "moved the break as its formula says",
    }
}

fn untested(who: &str, c: &Cause) -> String {
    let shown = |of: fn(&Evidence) -> bool| c.evidence.iter().any(of);
    match c.confidence {
        Confidence::Likely if shown(|e| matches!(e, Evidence::Alone { .. })) => {
            format!(
                "{who} needs no test: what takes too long alone takes too long behind whatever asks it for each request."
            )
        }
        Confidence::Likely if shown(|e| matches!(e, Evidence::Directly { failures: Some(_), .. })) => format!(
            "{who} was put to the test: without anything before it, it fails about as often. Which of its limits it is, is not seen from \
             outside."
        ),
        Confidence::Likely if shown(|e| matches!(e, Evidence::Directly { .. })) => format!(
            "{who} was put to the test: without anything before it, it breaks in the same way, at about the same load or less. Which of its limits it is, \
             is not seen from outside."
        ),
        Confidence::Likely if c.limit.id == BACKEND_ANSWERS => {
            format!("{who} needs no test: it failed each time before there was a load.")
        }
        Confidence::Likely => format!("{who} is likely: the evidence speaks for it, but it was not put to the test."),
        _ => format!("{who} is only possible: it fits, and nothing more speaks for it."),
    }
}

/// What the pairs decide, by which rule, and with which chance of being wrong. `apart`: how the objective sets both sides apart.
fn decided(context: Context<'_>, p: &Proof, apart: &str) -> String {
    let d = &p.decided;
    let pairs = figure::plural(u64::from(p.pairs), "interleaved pair", "interleaved pairs");
    let call = comparison::called(d.call, ["pair", "pairs"]);
    let why = match (d.by, d.chance) {
        (Rule::Separation, Some(of)) => format!(
            " The objective {apart}: if the change did nothing, and trials \
             do not influence each other, that would be seen in at most {} of proofs.",
            figure::percent(of)
        ),
        _ if matches!(d.call, Call::Better | Call::Worse) => {
            format!(
                " All looks counted, a change that does nothing is called so in at most {} of proofs.",
                figure::percent(d.alpha)
            )
        }
        _ => String::new(),
    };
    let (judged, size) = match agrees(p) {
        true => (judged(context, p), size(p)),
        false => ("the objective".to_owned(), String::new()),
    };
    format!("Over {pairs} ({}), {judged}: {call}{size}.{why}", clean::line(&p.order))
}

/// What was measured of pairs that decide nothing, because nothing was answered in some of them.
fn partly(context: Context<'_>, p: &Proof, [unanswered, of]: [u32; 2]) -> String {
    let size = if agrees(p) { size(p) } else { String::new() };
    let size = size.strip_prefix(", ").map_or_else(String::new, |size| format!("; with those counted, {size}"));
    format!(
        "Over {} ({}), {}: not decided, because in {unanswered} of {} with the proposal {}{size}.",
        figure::plural(u64::from(p.pairs), "interleaved pair", "interleaved pairs"),
        clean::line(&p.order),
        judged(context, p),
        figure::plural(u64::from(of), "trial", "trials"),
        context.silence(),
    )
}

/// Whether the figure of the violated condition itself certainly became what the pairs are called: where the objective as a whole decides, it
/// need not have.
fn agrees(p: &Proof) -> bool {
    let condition = p.judged.as_ref().and_then(|j| condition(&j.condition));
    let (same, more_is_better) = match condition {
        Some(Condition::RateAbove(_)) => (1.0, true),
        Some(Condition::LatencyBelow(..)) => (1.0, false),
        _ => (0.0, false),
    };
    // The end of its interval that is nearest to no effect.
    let nearest = |effect: Estimate| if more_is_better { effect.interval.low } else { effect.interval.high };
    let better = |end: f64| if more_is_better { end > same } else { end < same };
    p.decided.by == Rule::Interval || p.decided.effect.is_none_or(|effect| better(nearest(effect)))
}

/// What the figure of the violated condition is called.
fn judged(context: Context<'_>, p: &Proof) -> String {
    match p.judged.as_ref().and_then(|j| condition(&j.condition)) {
        Some(Condition::LatencyBelow(q, _)) => format!("{} latency", figure::quantile(q)),
        Some(Condition::RateAbove(_)) => format!("successful {}", context.counted()),
        _ => failing(context, p).0,
    }
}

/// `, -12.1 points (interval -12.8 to -11.4 percentage points)`, `, x0.94 (interval 0.91-0.96)`; nothing where there is no effect to tell.
fn size(p: &Proof) -> String {
    let Some(effect) = p.decided.effect else { return String::new() };
    let ratio = p.judged.as_ref().and_then(|j| condition(&j.condition)).is_some_and(is_ratio);
    if ratio {
        return format!(
            ", x{} (interval {})",
            figure::number(effect.value),
            figure::range(effect.interval, figure::number)
        );
    }
    format!(", {} points (interval {})", comparison::points(effect.value), percentage_points(effect))
}

/// `-12.8 to -11.4 percentage points`.
pub(crate) fn percentage_points(e: Estimate) -> String {
    let show = |x: f64| figure::signed(x * 100.0, figure::number);
    format!("{} to {} percentage points", show(e.interval.low), show(e.interval.high))
}
