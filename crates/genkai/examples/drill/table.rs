//! The drill's table: for a terminal, and as Markdown.

use std::fmt::Write as _;

use crate::cases::{Case, Expect};
use crate::judge::{Mark, Place};
use crate::run::Done;

/// What a case should be called.
fn expected(case: &Case) -> String {
    match case.expect {
        Expect::Cause([]) => "no cause".to_owned(),
        Expect::Cause(ids) => ids.join(" or "),
        Expect::Holds => "holds".to_owned(),
        Expect::Client => "the client was the limit".to_owned(),
        Expect::Crowded(ids) => format!("{} or the client was the limit", ids.join(" or ")),
    }
}

fn mark(done: &Done<'_>) -> &'static str {
    match &done.judged {
        Err(_) => "no answer",
        Ok(judged) => match judged.mark {
            Mark::Right => "right",
            Mark::CannotTell => "cannot tell",
            Mark::Wrong => "WRONG",
        },
    }
}

fn named(done: &Done<'_>) -> String {
    match &done.judged {
        Ok(judged) => judged.named.clone(),
        Err(why) => why.lines().next().unwrap_or_default().to_owned(),
    }
}

fn right_place(done: &Done<'_>) -> Option<Place> {
    done.judged.as_ref().ok().filter(|j| j.mark == Mark::Right)?.place
}

/// Prediction, break, and whether they agree, or why they need not.
fn place(done: &Done<'_>) -> String {
    let (Some(place), true) = (right_place(done), matches!(done.case.expect, Expect::Cause(_))) else {
        return done.case.off.to_owned();
    };
    let (low, high) = (place.predicted.low, place.predicted.high);
    let predicted = if low == high { format!("{high:.0}") } else { format!("{low:.0}-{high:.0}") };
    let why = match (place.is_near(), done.case.off) {
        (true, _) => String::new(),
        (false, "") => "; NOT WITHIN 10 %".to_owned(),
        (false, why) => format!("; {why}"),
    };
    format!("{predicted} predicted, {:.0} seen ({:.2}){why}", place.observed, place.ratio())
}

/// One case in a line.
pub(crate) fn line(done: &Done<'_>) -> String {
    let seconds = done.took.as_secs_f64();
    format!("{:<24} {:<11} {seconds:>5.1} s  {}; {}", done.case.name, mark(done), named(done), place(done))
}

/// Counts that decide.
pub(crate) struct Sum {
    /// Cases.
    pub(crate) all: usize,
    /// Named right.
    pub(crate) right: usize,
    /// Named wrong.
    pub(crate) wrong: usize,
    /// Without an answer at all.
    pub(crate) failed: usize,
    /// Formulas that were checked, and those that were within a tenth or had a reason not to be.
    pub(crate) places: (usize, usize),
    /// Mean and longest time to an answer, seconds.
    pub(crate) times: (f64, f64),
}

/// Adds cases up.
pub(crate) fn sum(all: &[Done<'_>]) -> Sum {
    let marked = |mark: Mark| all.iter().filter(|d| d.judged.as_ref().is_ok_and(|j| j.mark == mark)).count();
    let checked: Vec<bool> =
        all.iter().filter(|d| d.case.off.is_empty()).filter_map(|d| Some(right_place(d)?.is_near())).collect();
    let seconds = || all.iter().map(|d| d.took.as_secs_f64());
    Sum {
        all: all.len(),
        right: marked(Mark::Right),
        wrong: marked(Mark::Wrong),
        failed: all.iter().filter(|d| d.judged.is_err()).count(),
        places: (checked.len(), checked.iter().filter(|near| **near).count()),
        times: (seconds().sum::<f64>() / all.len().max(1) as f64, seconds().fold(0.0, f64::max)),
    }
}

/// The last lines.
pub(crate) fn conclusion(sum: &Sum) -> String {
    let share = |n: usize| 100.0 * n as f64 / sum.all.max(1) as f64;
    format!(
        "{} of {} named right ({:.0} %), {} named wrong, {} could not tell, {} without an answer\n{} of {} formulas that count \
         clients or requests within 10 % of the break; the others say why they need not be\ntime to an answer: {:.0} s on average, {:.0} s at most",
        sum.right,
        sum.all,
        share(sum.right),
        sum.wrong,
        sum.all - sum.right - sum.wrong - sum.failed,
        sum.failed,
        sum.places.1,
        sum.places.0,
        sum.times.0,
        sum.times.1,
    )
}

/// All of it as Markdown.
pub(crate) fn markdown(all: &[Done<'_>], machine: &str) -> String {
    let mut text = format!(
        "# The drill\n\nFaults put into real systems on purpose, and innocent look-alikes, each diagnosed by `genkai tune` as a user \
         would run it (`make drill`; short trials, one limit). The list of cases is \
         [crates/genkai/examples/drill/cases.rs](../crates/genkai/examples/drill/cases.rs).\n\nMeasured on {machine}.\n\n{}\n\n\
         | case | fault | named | mark | formula and break | time |\n|---|---|---|---|---|---|\n",
        conclusion(&sum(all)).lines().map(|l| format!("* {l}")).collect::<Vec<_>>().join("\n")
    );
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    for done in all {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.0} s |",
            done.case.name,
            cell(done.case.fault),
            cell(&named(done)),
            mark(done),
            cell(&place(done)),
            done.took.as_secs_f64()
        );
    }
    text.push_str(
        "\n\"Right\" is that the fault put in is what the verdict names first, by its own name; \"(possible)\" where it claims no more \
         than that. \"Cannot tell\" is an answer, and so is a name that is only possible; a wrong name is a fault of genkai's. Left out: what needs other kernel settings than \
         this machine's (somaxconn, port range, conntrack, memory cgroups).\n",
    );
    text
}

/// What was expected of the cases that were not named right.
pub(crate) fn misses(all: &[Done<'_>]) -> Vec<String> {
    let missed = all.iter().filter(|d| mark(d) != "right");
    missed.map(|d| format!("{}: expected {}, {}: {}", d.case.name, expected(d.case), mark(d), named(d))).collect()
}
