//! The plan for a terminal: everything that is decided before anything starts.

use genkai_model::event::Environment;
use genkai_model::finding::Predicted;
use genkai_model::load::{Arrivals, Body, Load, Reuse, Spacing};
use genkai_model::plan::{Answers, Backend, ConfigSource, Plan, System};
use genkai_model::units::Range;

use super::Style;
use super::page::Page;
use super::verdict::{Tense, limits};
use crate::document::Tone;
use crate::{clean, figure, words};

/// The plan: the servers, the load, what must hold, how it will be found out, the limits predicted, the machine.
pub fn plan(plan: &Plan, predicted: &[Predicted], environment: &Environment, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Tone::Strong, &format!("Plan: {}", clean::line(&plan.title)));
    page.gap();
    page.labelled("Server", &system(&plan.system));
    page.labelled("Backend", &backend(&plan.system.backend));
    page.labelled("Load", &load(&plan.load));
    page.labelled("Request", &request(&plan.load));
    page.labelled("Must hold", &plan.objective.to_string());
    page.labelled("Procedure", &procedure(plan));
    page.labelled("Machine", &machine(environment));
    let closed = matches!(plan.load.arrivals, Arrivals::Users { .. });
    limits(&mut page, closed, predicted, Tense::Before, &[]);
    page.finish()
}

fn system(system: &System) -> String {
    let source = match &system.config {
        ConfigSource::Generated => "a plain reverse proxy written by genkai".to_owned(),
        ConfigSource::File(path) => {
            format!("a private copy of {} (the original is only read)", clean::line(&path.display().to_string()))
        }
    };
    let settings: Vec<String> =
        system.settings.iter().map(|(name, value)| format!("{}={}", clean::line(name), clean::line(value))).collect();
    let with = if settings.is_empty() { String::new() } else { format!(", with {}", settings.join(", ")) };
    format!("{}: {source}{with}", clean::line(&system.product))
}

pub(super) fn backend(backend: &Backend) -> String {
    match backend {
        Backend::Embedded(spec) => {
            let workers = spec.workers.map_or_else(
                || "any number of requests at once".to_owned(),
                |n| format!("{} at once", figure::plural(n.into(), "request", "requests")),
            );
            let queue = match (spec.workers, spec.queue) {
                (Some(_), Some(q)) => format!(", at most {} waiting", figure::count(q.into())),
                _ => String::new(),
            };
            format!("embedded: {} in {}, {workers}{queue}", figure::bytes(spec.body.0 as f64), spec.service_time)
        }
        Backend::WebSocket(spec) => {
            let answers = match spec.answers {
                Answers::Echo => "sends every message back",
                Answers::Rooms => "sends every message to its room",
            };
            let largest = figure::bytes(spec.max_message.0 as f64);
            let after = if spec.delay.0 > 0 { format!(" after {}", spec.delay) } else { String::new() };
            format!("embedded: {answers}{after}, messages up to {largest}")
        }
        Backend::WordPress(site) => {
            let waits = if site.waits.is_zero() { String::new() } else { format!(", pages that wait {}", site.waits) };
            let children = figure::count(site.children.into());
            format!("WordPress on php-fpm ({children} children{waits}) and MariaDB, private to this run")
        }
        Backend::Url(url) => clean::line(url),
        Backend::Kept => "whatever the configuration names, as it is".to_owned(),
    }
}

pub(super) fn load(load: &Load) -> String {
    let stages: Vec<String> = load.stages.iter().map(|stage| clean::line(&stage.to_string())).collect();
    let arrivals = match load.arrivals {
        Arrivals::Users { think, .. } if !stages.is_empty() => {
            format!("users in stages: {}; think time {think}", stages.join(", "))
        }
        Arrivals::Rate { spacing, connections, .. } if !stages.is_empty() => format!(
            "requests/s in stages: {} ({}), over at most {}",
            stages.join(", "),
            spaced(spacing),
            figure::plural(connections.into(), "connection", "connections")
        ),
        Arrivals::Users { count, spawn_rate, think } => format!(
            "{}, {} more a second, think time {think}",
            figure::plural(count.into(), "user", "users"),
            figure::number(spawn_rate)
        ),
        Arrivals::Rate { per_second, ramp, spacing, connections } => format!(
            "{} requests/s ({}), reached in {ramp}, over at most {}",
            figure::number(per_second),
            spaced(spacing),
            figure::plural(connections.into(), "connection", "connections")
        ),
    };
    let reuse = match load.reuse {
        Reuse::KeepAlive => "connections kept alive",
        Reuse::PerRequest => "a new connection for each request",
    };
    format!(
        "{arrivals}; {reuse}; timeout {}; {}",
        load.timeout,
        figure::plural(load.threads.into(), "thread", "threads")
    )
}

fn spaced(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Uniform => "evenly spaced",
        Spacing::Poisson => "Poisson",
    }
}

pub(super) fn request(load: &Load) -> String {
    let r = &load.request;
    let body = match &r.body {
        Body::Empty => String::new(),
        body => format!(", body of {}", figure::bytes(body.len() as f64)),
    };
    let headers = match r.headers.len() {
        0 => String::new(),
        n => format!(", {} more", figure::plural(n as u64, "header", "headers")),
    };
    format!("{} {} (Host: {}{headers}){body}", clean::line(&r.method), clean::line(&r.path), clean::line(&r.host))
}

fn procedure(plan: &Plan) -> String {
    let p = &plan.procedure;
    format!(
        "raise the load until the objective is violated for {} (then held for {}); name the limit; change only that setting and \
         look again, for at most {}; then {}-{} pairs of baseline and proposal in an order drawn for each, until they decide ({} ramp, {} hold each); the \
         proposal must hold for {} times the load",
        p.sustained,
        p.hold,
        figure::plural(p.max_limits.into(), "limit", "limits"),
        p.min_pairs,
        p.max_pairs,
        p.proof_ramp,
        p.proof_hold,
        figure::number(p.headroom)
    )
}

pub(super) fn machine(e: &Environment) -> String {
    let pinning = words::pinning(e.pinning.as_ref());
    let versions: Vec<String> =
        e.versions.iter().map(|(name, version)| format!("{} {}", clean::line(name), clean::line(version))).collect();
    format!(
        "{}, {}, {} ({}), {} memory, {} descriptors, local ports {}-{}; {pinning}{}{}",
        clean::line(&e.os),
        clean::line(&e.kernel),
        figure::plural(e.cores.into(), "core", "cores"),
        clean::line(&e.cpu),
        figure::bytes(e.memory as f64),
        figure::count(e.descriptors),
        e.ports.0,
        e.ports.1,
        if versions.is_empty() { "" } else { "; " },
        versions.join(", ")
    )
}

/// How many parts an experiment has, and how long its load takes, `seconds`.
pub fn suite_length(parts: usize, seconds: Range, style: Style) -> String {
    let mut page = Page::new(style);
    let parts = figure::plural(parts as u64, "part", "parts");
    let all = figure::range(seconds, figure::seconds);
    page.paragraph(
        Tone::Strong,
        &format!("{parts}: {all} of load in all, and a second or two to start and stop each server."),
    );
    page.finish()
}
