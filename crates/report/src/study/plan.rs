//! What would be done, before anything starts.

use genkai_model::comparison::Comparison;
use genkai_model::event::Environment;
use genkai_model::finding::Predicted;
use genkai_model::latencies::ContenderRecord;
use genkai_model::load::{Arrivals, Body, Load, Reuse, Spacing};
use genkai_model::locust::Locust;
use genkai_model::plan::{Answers, Backend, ConfigSource, FARTHEST, Plan, System};
use genkai_model::units::Range;

use super::compare::copy;
use super::comparison::title;
use super::tune::{self, Tense};
use crate::document::{Block, Document, Section, Tone};
use crate::{clean, figure, words};

/// The plan: the servers, the load, what must hold, how it will be found out, the limits predicted, the machine.
pub fn plan(plan: &Plan, predicted: &[Predicted], environment: &Environment) -> Document {
    let facts = [
        ("Server", system(&plan.system)),
        ("Backend", backend(&plan.system.backend)),
        ("Load", load(&plan.load)),
        ("Request", request(&plan.load)),
        ("Must hold", plan.objective.to_string()),
        ("Procedure", procedure(plan)),
        ("Machine", machine(environment)),
    ];
    let closed = matches!(plan.load.arrivals, Arrivals::Users { .. });
    let limits = tune::predicted(closed, predicted, Tense::Before, (&[], &[]));
    titled(plan, [Section::terminal("").with([Block::facts(facts)])].into_iter().chain(limits))
}

/// What would be compared.
pub fn compare_plan(plan: &Plan, entries: &[ContenderRecord], environment: &Environment) -> Document {
    let facts =
        [("Backend", backend(&plan.system.backend)), ("Load", load(&plan.load)), ("Request", request(&plan.load))];
    let facts = facts.into_iter().chain(plan.comparison().into_iter().flat_map(blocks));
    let facts = Block::facts(facts.chain([("Machine", machine(environment))]));
    let systems = Section::terminal("").with(entries.iter().flat_map(contender));
    titled(plan, [systems, Section::terminal("").with([facts])])
}

fn titled(plan: &Plan, sections: impl IntoIterator<Item = Section>) -> Document {
    Document::plain(format!("Plan: {}", clean::line(&plan.title)), sections.into_iter().collect())
}

fn contender(entry: &ContenderRecord) -> [Block; 2] {
    let set: Vec<String> =
        entry.settings.iter().filter(|s| !s.default).map(|s| format!("{} {}", s.name, s.value)).collect();
    let set = if set.is_empty() { "all as by default".to_owned() } else { clean::line(&set.join(", ")) };
    let server = ("Server", format!("{}; {set}", clean::line(&entry.version)));
    let facts = [server].into_iter().chain(copy(&entry.rewrites).map(|copy| ("Copy", copy)));
    [Block::toned(Tone::Strong, clean::line(&entry.contender)), Block::facts(facts)]
}

fn blocks(comparison: &Comparison) -> [(&'static str, String); 2] {
    let turns = comparison.contenders.len() + usize::from(comparison.control);
    let looks: Vec<String> = comparison.looks.iter().map(u32::to_string).collect();
    let seconds = comparison.ramp.as_secs_f64() + comparison.hold.as_secs_f64();
    let most = comparison.looks.last().copied().unwrap_or(0);
    let blocks = format!(
        "{} each ({} of load), in an order drawn for each; looked at after {}; at most {} of load",
        figure::plural(turns as u64, "turn", "turns"),
        figure::seconds(seconds),
        looks.join(", "),
        figure::seconds(seconds * turns as f64 * f64::from(most))
    );
    let deciding: Vec<&str> = comparison.deciding.iter().map(|figure| title(*figure)).collect();
    let decides = format!("{}; margin {}", deciding.join(", "), figure::percent(comparison.margin));
    [("Blocks", blocks), ("Decides", decides)]
}

fn system(system: &System) -> String {
    let source = match &system.config {
        ConfigSource::Generated => "a plain reverse proxy written by genkai".to_owned(),
        ConfigSource::File(path) => {
            format!("a private copy of {} (the original is only read)", clean::line(&path.display().to_string()))
        }
        ConfigSource::Cluster(server) => {
            format!("a private copy, in the cluster, of {} (which is only read)", clean::line(&server.to_string()))
        }
    };
    let settings: Vec<String> =
        system.settings.iter().map(|(name, value)| format!("{}={}", clean::line(name), clean::line(value))).collect();
    let with = if settings.is_empty() { String::new() } else { format!(", with {}", settings.join(", ")) };
    format!("{}: {source}{with}", clean::line(&system.product))
}

fn backend(backend: &Backend) -> String {
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

fn load(load: &Load) -> String {
    if let Some(locust) = &load.locust {
        return of_locust(locust, &load.arrivals);
    }
    let stages: Vec<String> = load.stages.iter().map(|stage| clean::line(&stage.to_string())).collect();
    let arrivals = match load.arrivals {
        Arrivals::Users { count, .. } if load.asked_by.is_some() => format!(
            "as many users as were asked for by {}, at first {}",
            clean::line(load.asked_by.as_deref().unwrap_or_default()),
            figure::count(count.into())
        ),
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

/// Users of a locustfile.
fn of_locust(locust: &Locust, arrivals: &Arrivals) -> String {
    let users = match *arrivals {
        Arrivals::Users { count, spawn_rate, .. } => {
            format!("{}, {} more a second", figure::plural(count.into(), "user", "users"), figure::number(spawn_rate))
        }
        Arrivals::Rate { .. } => "users".to_owned(),
    };
    let classes: Vec<String> = locust.classes.iter().map(|class| clean::line(&class.name)).collect();
    format!(
        "{users}, of {} in {}; made by Locust {} ({})",
        classes.join(", "),
        clean::line(&locust.file.display().to_string()),
        clean::line(&locust.version),
        figure::plural(locust.workers.into(), "worker", "workers")
    )
}

fn spaced(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Uniform => "evenly spaced",
        Spacing::Poisson => "Poisson",
    }
}

fn request(load: &Load) -> String {
    let r = &load.request;
    let body = match &r.body {
        Body::Empty => String::new(),
        body => format!(", body of {}", figure::bytes(body.len() as f64)),
    };
    let headers = match r.headers.len() {
        0 => String::new(),
        n => format!(", {} more", figure::plural(n as u64, "header", "headers")),
    };
    let of_all =
        if load.locust.is_some() { ": limits are looked up by it; users ask for what their file says" } else { "" };
    format!(
        "{} {} (Host: {}{headers}){body}{of_all}",
        clean::line(&r.method),
        clean::line(&r.path),
        clean::line(&r.host)
    )
}

fn procedure(plan: &Plan) -> String {
    let p = &plan.procedure;
    let smaller = match p.smaller {
        0 => String::new(),
        most => {
            format!("try at most {} than proposed; ", figure::plural(most.into(), "smaller value", "smaller values"))
        }
    };
    format!(
        "raise the load until the objective is violated for {} (then held for {}); name the limit; change only that setting and \
         look again, with up to {} times the load, so that the next limit can be seen, for at most {}; {}then {}-{} pairs of baseline and proposal in an order drawn for each, until they decide ({} ramp, {} hold each); the \
         proposal must hold for {} times the load",
        p.sustained,
        p.hold,
        figure::number(p.headroom.max(FARTHEST)),
        figure::plural(p.max_limits.into(), "limit", "limits"),
        smaller,
        p.min_pairs,
        p.max_pairs,
        p.proof_ramp,
        p.proof_hold,
        figure::number(p.headroom)
    )
}

fn machine(e: &Environment) -> String {
    let pinning = words::pinning(e.pinning.as_ref());
    let versions: Vec<String> =
        e.versions.iter().map(|(name, version)| format!("{} {}", clean::line(name), clean::line(version))).collect();
    format!(
        "{}, {}, {} ({}), {} memory, {} descriptors, local ports {}-{}; {pinning}{}{}",
        clean::line(&e.os),
        clean::line(&e.kernel),
        words::cores(e),
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
pub fn suite_length(parts: usize, seconds: Range) -> Document {
    let (parts, all) = (figure::plural(parts as u64, "part", "parts"), figure::range(seconds, figure::seconds));
    let text = format!("{parts}: {all} of load in all, and a second or two to start and stop each server.");
    Document::plain(text, Vec::new())
}
