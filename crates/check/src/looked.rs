//! Looks at a server that were over before its load was, and what counts the clients then.

use genkai_model::load::Arrivals;

use crate::broken::Judged;
use crate::events::Line;

/// What counts the clients of an interval: where they share connections, the users, or the requests of a rate.
pub(crate) fn of_clients(judged: &Judged<'_>) -> &'static str {
    match judged.asked.load.arrivals {
        _ if !judged.asked.shares() => "/connections",
        Arrivals::Users { .. } => "/level",
        Arrivals::Rate { .. } => "/in_flight",
    }
}

/// The looks at a server after which something else was looked at, later, before the load's last interval ended.
pub(crate) fn surely_over<'e>(judged: &Judged<'e>, subject: &str) -> Vec<&'e Line> {
    let until = judged.trial.ticks().last().map_or(0.0, |last| last.number("/to_us"));
    let began = judged.trial.start.number("/at_us");
    let mut looks: Vec<&Line> = judged.trial.of("sample").collect();
    looks.retain(|line| line.number("/at_us") - began <= until);
    let Some(last) = looks.iter().map(|line| line.number("/at_us")).reduce(f64::max) else { return looks };
    looks.retain(|line| line.number("/at_us") < last && line.text("/subject") == subject);
    looks
}
