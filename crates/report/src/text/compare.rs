//! Systems compared, on a terminal.

use genkai_model::contest::ContenderRecord;
use genkai_model::event::Environment;
use genkai_model::figure::Figure;
use genkai_model::finding::Outcome;
use genkai_model::finding::comparison::{ComparedContender, ComparedPair, ComparisonFinding};
use genkai_model::plan::Plan;

use super::Style;
use super::page::{Page, Tone};
use super::plan as before;
use crate::says::compare as says;
use crate::{clean, figure};

/// The answer, the figures of every contender, each pair, and the systems as they ran.
pub fn compare(finding: &ComparisonFinding, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = if finding.outcome == Outcome::Holds { Tone::Plain } else { Tone::Doubtful };
    for sentence in says::sentences(finding) {
        page.paragraph(tone, &sentence);
    }
    if finding.blocks >= 2 {
        page.heading("Figures");
        let (head, rows) = figures(finding);
        page.table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
        for pair in &finding.pairs {
            page.heading(&format!("{} beside {}", clean::line(&pair.other), clean::line(&pair.base)));
            page.table(&PAIR, &effects(pair));
        }
    }
    page.heading("Systems");
    for subject in &finding.subjects {
        page.gap();
        page.paragraph(Tone::Strong, &clean::line(&subject.name));
        page.labelled("server", &clean::line(&subject.version));
        for (label, text) in details(subject) {
            page.labelled(label, &text);
        }
    }
    page.finish()
}

/// Heads of the table of a pair.
pub(crate) const PAIR: [&str; 4] = ["figure", "effect", "interval", "says"];

/// A row a figure, a column a contender.
pub(crate) fn figures(finding: &ComparisonFinding) -> (Vec<String>, Vec<Vec<String>>) {
    let ranked = finding.comparison.base.is_none() && finding.subjects.len() > 2;
    let names = finding.subjects.iter().map(|subject| clean::line(&subject.name));
    let head = std::iter::once("figure".to_owned()).chain(names).collect();
    let row = |(n, (figure, _)): (usize, &(Figure, &str))| {
        let cell = |subject: &ComparedContender| {
            let one = &subject.figures[n];
            let rank = if ranked { format!(" ({})", says::place(subject, one)) } else { String::new() };
            format!("{}{rank}", says::shown(*figure, one))
        };
        std::iter::once(says::title(*figure).to_owned()).chain(finding.subjects.iter().map(cell)).collect()
    };
    (head, Figure::ALL.iter().enumerate().map(row).collect())
}

/// A row a figure of a pair.
pub(crate) fn effects(pair: &ComparedPair) -> Vec<Vec<String>> {
    let row = |effect| vec![says::size(effect), says::interval(effect), says::call(effect.call)];
    pair.effects
        .iter()
        .map(|effect| std::iter::once(says::title(effect.figure).to_owned()).chain(row(effect)).collect())
        .collect()
}

fn details(subject: &ComparedContender) -> Vec<(&'static str, String)> {
    let mut all = vec![("settings", says::settings(subject))];
    all.extend(says::copy(&subject.rewrites).map(|copy| ("copy", format!("{copy}: see the report"))));
    if !subject.errors.is_empty() {
        all.push(("failures", crate::words::errors(&subject.errors)));
    }
    if let Some(warm_up) = subject.warm_up {
        all.push(("steady", format!("{} after the ramp (median)", figure::seconds(warm_up))));
    }
    all.push((
        "objective",
        format!("held in {} of {}", subject.held, figure::plural(subject.turns.into(), "turn", "turns")),
    ));
    all
}

/// What would be compared, before anything starts.
pub fn compare_plan(plan: &Plan, entries: &[ContenderRecord], environment: &Environment, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Tone::Strong, &format!("Plan: {}", clean::line(&plan.title)));
    page.gap();
    for entry in entries {
        let set: Vec<String> =
            entry.settings.iter().filter(|s| !s.default).map(|s| format!("{} {}", s.name, s.value)).collect();
        let set = if set.is_empty() { "all as by default".to_owned() } else { clean::line(&set.join(", ")) };
        page.paragraph(Tone::Strong, &clean::line(&entry.contender));
        page.labelled("Server", &format!("{}; {set}", clean::line(&entry.version)));
        if let Some(copy) = says::copy(&entry.rewrites) {
            page.labelled("Copy", &copy);
        }
    }
    page.gap();
    page.labelled("Backend", &before::backend(&plan.system.backend));
    page.labelled("Load", &before::load(&plan.load));
    page.labelled("Request", &before::request(&plan.load));
    if let Some(comparison) = plan.comparison() {
        let turns = comparison.contenders.len() + usize::from(comparison.control);
        let looks: Vec<String> = comparison.looks.iter().map(u32::to_string).collect();
        let seconds = comparison.ramp.as_secs_f64() + comparison.hold.as_secs_f64();
        let most = comparison.looks.last().copied().unwrap_or(0);
        page.labelled(
            "Blocks",
            &format!(
                "{} each ({} of load), in an order drawn for each; looked at after {}; at most {} of load",
                figure::plural(turns as u64, "turn", "turns"),
                figure::seconds(seconds),
                looks.join(", "),
                figure::seconds(seconds * turns as f64 * f64::from(most))
            ),
        );
        let deciding: Vec<&str> = comparison.deciding.iter().map(|figure| says::title(*figure)).collect();
        page.labelled("Decides", &format!("{}; margin {}", deciding.join(", "), figure::percent(comparison.margin)));
    }
    page.labelled("Machine", &before::machine(environment));
    page.finish()
}
