//! A comparison of systems before anything starts, on a terminal.

use genkai_model::event::Environment;
use genkai_model::latencies::ContenderRecord;
use genkai_model::plan::Plan;

use super::Style;
use super::page::Page;
use super::plan as before;
use crate::document::Tone;
use crate::study::compare::copy;
use crate::study::comparison::title;
use crate::{clean, figure};

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
        if let Some(copy) = copy(&entry.rewrites) {
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
        let deciding: Vec<&str> = comparison.deciding.iter().map(|figure| title(*figure)).collect();
        page.labelled("Decides", &format!("{}; margin {}", deciding.join(", "), figure::percent(comparison.margin)));
    }
    page.labelled("Machine", &before::machine(environment));
    page.finish()
}
