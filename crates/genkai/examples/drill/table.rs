//! The drill's table: for a terminal, and as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cases::{self, Case, Expect};
use crate::judge::{Mark, Place};
use crate::matrix;
use crate::run::{Done, Unjudged};

/// What a case should be called.
fn expected(case: &Case) -> String {
    match &case.expect {
        Expect::Cause { ids, .. } if ids.is_empty() => "no cause".to_owned(),
        Expect::Cause { ids, .. } => ids.join(" or "),
        Expect::Ladder { ids } => ids.join(", then "),
        Expect::Holds => "holds".to_owned(),
        Expect::Client => "the client was the limit".to_owned(),
        Expect::Crowded => "other programs used the machine".to_owned(),
    }
}

fn mark(done: &Done<'_>) -> &'static str {
    match &done.judged {
        Err(Unjudged::Failed(_)) => "no answer",
        Err(Unjudged::Skipped(_)) => "skipped",
        Ok(judged) => word(judged.mark),
    }
}

fn word(mark: Mark) -> &'static str {
    match mark {
        Mark::Right => "right",
        Mark::CannotTell => "cannot tell",
        Mark::Wrong => "WRONG",
    }
}

fn named(done: &Done<'_>) -> String {
    match &done.judged {
        Ok(judged) => {
            let again =
                done.again.as_ref().map(|again| format!("; asked again: {} ({})", again.named(), word(again.mark)));
            judged.named() + &again.unwrap_or_default()
        }
        Err(Unjudged::Failed(why) | Unjudged::Skipped(why)) => why.lines().next().unwrap_or_default().to_owned(),
    }
}

/// Predictions and breaks of what was named right: of a ladder, of each rung.
fn right_places<'d>(done: &'d Done<'_>) -> &'d [Place] {
    let right = done.judged.as_ref().ok().filter(|j| j.mark == Mark::Right);
    match done.case.expect {
        Expect::Cause { .. } | Expect::Ladder { .. } => right.map_or(&[], |judged| &judged.places),
        Expect::Holds | Expect::Client | Expect::Crowded => &[],
    }
}

/// Predictions, breaks, and whether they agree, or why they need not.
fn place(done: &Done<'_>) -> String {
    let places = right_places(done);
    if places.is_empty() {
        return done.case.off.to_owned();
    }
    let one = |place: &Place| {
        let (low, high) = (place.predicted.low, place.predicted.high);
        let predicted = if low == high { format!("{high:.0}") } else { format!("{low:.0}-{high:.0}") };
        format!("{predicted} predicted, {:.0} seen ({:.2})", place.observed, place.ratio())
    };
    let all = places.iter().map(one).collect::<Vec<_>>().join(", then ");
    match (places.iter().all(Place::is_near), done.case.off) {
        (true, _) => all,
        (false, "") => format!("{all}; NOT WITHIN 10 %"),
        (false, why) => format!("{all}; {why}"),
    }
}

/// Why a case could not be made here.
fn skipped<'d>(done: &'d Done<'_>) -> Option<&'d str> {
    match &done.judged {
        Err(Unjudged::Skipped(why)) => Some(why),
        _ => None,
    }
}

/// One case in a line.
pub(crate) fn line(done: &Done<'_>) -> String {
    let seconds = done.took.as_secs_f64();
    if skipped(done).is_some() {
        return format!("{:<24} {:<11}          {}", done.case.name, mark(done), named(done));
    }
    format!("{:<24} {:<11} {seconds:>5.1} s  {}; {}", done.case.name, mark(done), named(done), place(done))
}

/// Counts that decide.
pub(crate) struct Sum {
    /// Cases that were run.
    pub(crate) all: usize,
    /// Cases that could not be made here.
    pub(crate) skipped: usize,
    /// Named right.
    pub(crate) right: usize,
    /// Named wrong.
    pub(crate) wrong: usize,
    /// Without an answer at all.
    pub(crate) failed: usize,
    /// Formulas that were checked.
    pub(crate) places: Places,
    /// Mean and longest time to an answer, seconds.
    pub(crate) times: (f64, f64),
}

/// Formulas of causes named right that count clients or requests, by where the break came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Within a tenth of where the formula puts it.
    pub(crate) near: usize,
    /// Elsewhere, for a reason that the case gives.
    pub(crate) excused: usize,
    /// Elsewhere, for no reason that is known.
    pub(crate) off: usize,
}

impl Places {
    fn add(&mut self, done: &Done<'_>) {
        for place in right_places(done) {
            match (place.is_near(), done.case.off.is_empty()) {
                (true, _) => self.near += 1,
                (false, false) => self.excused += 1,
                (false, true) => self.off += 1,
            }
        }
    }

    /// In words.
    fn said(&self) -> String {
        let all = self.near + self.excused + self.off;
        format!(
            "{all} causes (of a ladder each rung) have a formula that counts clients or requests: {} broke within 10 % of it, {} elsewhere for the reason \
             given, {} elsewhere without one",
            self.near, self.excused, self.off
        )
    }
}

/// Adds cases up.
pub(crate) fn sum(all: &[Done<'_>]) -> Sum {
    let marked = |mark: Mark| all.iter().filter(|d| d.judged.as_ref().is_ok_and(|j| j.mark == mark)).count();
    let run = || all.iter().filter(|d| skipped(d).is_none());
    let seconds = || run().map(|d| d.took.as_secs_f64());
    let mut places = Places::default();
    all.iter().for_each(|done| places.add(done));
    Sum {
        all: run().count(),
        skipped: all.len() - run().count(),
        right: marked(Mark::Right),
        wrong: marked(Mark::Wrong),
        failed: run().filter(|d| d.judged.is_err()).count(),
        places,
        times: (seconds().sum::<f64>() / run().count().max(1) as f64, seconds().fold(0.0, f64::max)),
    }
}

/// The last lines.
pub(crate) fn conclusion(sum: &Sum) -> String {
    let share = |n: usize| 100.0 * n as f64 / sum.all.max(1) as f64;
    format!(
        "{} of {} cases right ({:.1} %), {} wrong, {} could not tell, {} without an answer; {} skipped\n{}\ntime to an \
         answer: {:.0} s on average, {:.0} s at most",
        sum.right,
        sum.all,
        share(sum.right),
        sum.wrong,
        sum.all - sum.right - sum.wrong - sum.failed,
        sum.failed,
        sum.skipped,
        sum.places.said(),
        sum.times.0,
        sum.times.1,
    )
}

/// All of it as Markdown.
pub(crate) fn markdown(all: &[Done<'_>], machine: &str) -> String {
    let mut text = format!(
        "# The drill\n\nFaults put into real systems on purpose, and innocent look-alikes, each diagnosed by `genkai tune` (chat \
         rooms: by `genkai experiment run rooms`) as a user would run it (`make drill`; short trials, one limit). The list of cases is \
         [crates/genkai/examples/drill/cases/](../crates/genkai/examples/drill/cases/).\n\nMeasured on {machine}. {}\n\n{}\n\n{}\n\
         | case | fault | named | mark | formula and break | time | day |\n|---|---|---|---|---|---|---|\n",
        days(all),
        conclusion(&sum(all)).lines().map(|l| format!("* {l}")).collect::<Vec<_>>().join("\n"),
        matrix::markdown(all)
    );
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    for done in all.iter().filter(|done| skipped(done).is_none()) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.0} s | {} |",
            done.case.name,
            cell(&done.case.fault),
            cell(&named(done)),
            mark(done),
            cell(&place(done)),
            done.took.as_secs_f64(),
            done.day
        );
    }
    let several = all.iter().filter_map(|done| match &done.case.expect {
        Expect::Cause { why, .. } if !why.is_empty() => Some((*why, done.case.name.as_str())),
        _ => None,
    });
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (why, name) in several {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    for (i, (why, names)) in reasons.into_iter().enumerate() {
        let head = if i == 0 { "\nCases in which more than one name is right:\n\n" } else { "" };
        let _ = writeln!(text, "{head}* {why}: {}.", names.join(", "));
    }
    let left_out = all.iter().filter_map(|done| Some((done.case, skipped(done)?)));
    for (i, (case, why)) in left_out.enumerate() {
        let head = if i == 0 { "\nSkipped, because the fault could not be made here:\n\n" } else { "" };
        let _ = writeln!(text, "{head}* {}: {}. {why}.", case.name, case.fault);
    }
    text.push_str(&left(all));
    text.push_str(
        "\n\"Right\" is that the fault put in is what the verdict claims first, by its own name, and that whatever else it claims is true \
         too. What it calls possible, or tried in vain, it does not claim: that is \"cannot tell\", and so is an answer that names \
         nothing; such a case is asked once more, which is shown and does not count. Wrong is a claim that is not so, a fault that was \
         overlooked, and a failure that did not happen. Settings of the kernel are changed in places of the drill's own only (network namespaces, control groups).\n",
    );
    text
}

/// On which days they were run: a part of the cases may be run again alone.
fn days(all: &[Done<'_>]) -> String {
    let mut days: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|done| *days.entry(&done.day).or_default() += 1);
    let one = |(day, n): (&&str, &usize)| format!("{n} on {day}");
    let all: Vec<String> = days.iter().map(one).collect();
    let builds = if all.len() > 1 { " (so not all by one build; each row has its day)" } else { "" };
    format!("Cases run: {}{builds}.", all.join(", "))
}

/// Cases of today without a result.
fn left(all: &[Done<'_>]) -> String {
    let is_missing = |case: &&Case| all.iter().all(|done| done.case.name != case.name);
    let missing: Vec<&str> = cases::all().iter().filter(is_missing).map(|case| case.name.as_str()).collect();
    match missing.is_empty() {
        true => String::new(),
        false => format!("\nNot run yet as they stand now ({}): {}.\n", missing.len(), missing.join(", ")),
    }
}

/// What was expected of the cases that were not named right.
pub(crate) fn misses(all: &[Done<'_>]) -> Vec<String> {
    let missed = all.iter().filter(|d| !matches!(mark(d), "right" | "skipped"));
    missed.map(|d| format!("{}: expected {}, {}: {}", d.case.name, expected(d.case), mark(d), named(d))).collect()
}
