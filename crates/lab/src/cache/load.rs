//! Loads of passes and of searches.

use genkai_model::cache::Caching;
use genkai_model::content::{Mix, Pages};
use genkai_model::load::{Arrivals, Load, Spacing, Stop};
use genkai_model::units::{Span, Spread};

/// Longest pass.
const LONGEST: Span = Span::from_secs(600);
/// Connections of a search at most: what waits for one of them is late, and counted so.
const CONNECTIONS: u32 = 256;

/// Shortest interval that is told.
const TICK: Span = Span::from_millis(10);
/// Intervals of a load of a search: what settles is seen in twenty or more of them.
const TICKS: u64 = 30;

/// A pass: so many requests, by closed clients or at a rate.
pub(super) fn pass(plan: &Caching, base: &Load) -> Load {
    let arrivals = match plan.rate {
        Some(per_second) => rate(per_second, plan.clients),
        // All within a few milliseconds.
        None => Arrivals::Users { count: plan.clients, spawn_rate: 1e4, think: Spread::default() },
    };
    let stop = Stop { after: LONGEST, requests: Some(plan.requests.into()) };
    Load { arrivals, stop, pages: Some(Box::new(pages(plan, plan.requests))), tick: TICK, ..base.clone() }
}

/// The loads that need most of whoever makes them: a pass, and a step of a search where there is one.
pub(super) fn largest(plan: &Caching, base: &Load) -> Vec<Load> {
    let step = plan.search.map(|search| warm(plan, base, 1.0, search.hold));
    std::iter::once(pass(plan, base)).chain(step).collect()
}

/// A warm step of a search: the objects of a pass again and again, at a rate.
pub(super) fn warm(plan: &Caching, base: &Load, per_second: f64, hold: Span) -> Load {
    let stop = Stop { after: hold, requests: None };
    let pages = Some(Box::new(pages(plan, plan.requests)));
    Load { arrivals: rate(per_second, CONNECTIONS), stop, pages, tick: tick(hold), ..base.clone() }
}

/// A cold step: every object of the origin once, at a rate, for as long as they last.
pub(super) fn cold(plan: &Caching, base: &Load, per_second: f64, hold: Span) -> Load {
    let sweep = Pages { mix: Mix::Sweep, distinct: plan.content.objects, ..pages(plan, plan.content.objects) };
    let stop = Stop { after: hold, requests: Some(plan.content.objects.into()) };
    Load {
        arrivals: rate(per_second, CONNECTIONS),
        stop,
        pages: Some(Box::new(sweep)),
        tick: tick(hold),
        ..base.clone()
    }
}

fn tick(hold: Span) -> Span {
    Span((hold.0 / TICKS).max(TICK.0))
}

fn rate(per_second: f64, connections: u32) -> Arrivals {
    Arrivals::Rate { per_second, ramp: Span(0), spacing: Spacing::Uniform, connections }
}

fn pages(plan: &Caching, requests: u32) -> Pages {
    let distinct = match plan.mix {
        Mix::Sweep => requests.min(plan.content.objects),
        Mix::Zipf { .. } | Mix::Recorded(_) => plan.content.objects,
    };
    Pages { content: plan.content.clone(), mix: plan.mix.clone(), distinct, requests, seed: plan.seed }
}
