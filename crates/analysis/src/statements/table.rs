//! What each figure of a finding counts, and the events that it is made of, by the names on the way to it.

use genkai_model::statement::{Source, Unit};

/// Everything below these is quoted from the plan or the configuration.
const GIVEN: [&str; 10] =
    ["law", "remedy", "signatures", "comparison", "contest", "pinning", "change", "changes", "system", "test"];

/// What the figure at `names` counts; none where nobody said.
pub(super) fn unit(names: &[&str]) -> Option<Unit> {
    let (key, above) = names.split_last()?;
    if names.iter().any(|name| GIVEN.contains(name)) {
        return Some(Unit::Named);
    }
    let within = |name: &str| above.contains(&name);
    let parent = above.last().copied().unwrap_or_default();
    special(key, parent, &within).or_else(|| usual(key))
}

/// Names that mean something else in some places.
fn special(key: &str, parent: &str, within: &dyn Fn(&str) -> bool) -> Option<Unit> {
    Some(match (key, parent) {
        ("min" | "mean" | "stdev" | "max", "seconds") => Unit::PerSecond,
        ("sent" | "heard" | "lost", "over") => Unit::PerSecond,
        ("sent" | "received", "flow") => Unit::BytesPerSecond,
        ("seen", "broke" | "observed" | "thresholds") => Unit::Named,
        ("waiting", "thresholds") => Unit::Number,
        ("until", "broke" | "observed") => Unit::Level,
        ("from" | "until", "caveats") => Unit::Seconds,
        ("rate", "effect") | ("mark" | "from" | "to" | "values" | "bounds" | "effect", _) => Unit::Named,
        ("bound", "effects" | "effect" | "figures") => Unit::Named,
        ("value", "evidence" | "sign" | "figures") | ("figures", "judged") => Unit::Named,
        ("few", "evidence") | ("with" | "without", "more") => Unit::Number,
        ("full", "evidence") => Unit::PerSecond,
        ("best" | "worst", "figures") => Unit::Name,
        ("cpu", "cost" | "usage") => Unit::Seconds,
        ("client", _) if within("passes") => Unit::Fraction,
        ("after", "settling") => Unit::Seconds,
        ("rate", "mounts") | ("holds" | "fails", "repeats") => Unit::PerSecond,
        ("planned" | "carries", "connections") if within("reasons") => Unit::PerSecond,
        ("connections", "connections") if within("reasons") => Unit::Number,
        ("carries" | "wanted", "users") if within("reasons") => Unit::PerSecond,
        ("users" | "needed", "users") if within("reasons") => Unit::Number,
        ("alone", "users") if within("reasons") => Unit::Seconds,
        ("service", "connections") if within("reasons") => Unit::Seconds,
        ("p99", "late") if within("reasons") => Unit::Seconds,
        ("used", "cpu") => Unit::Fraction,
        ("clock_uncertainty" | "clock_drift" | "began" | "late_p99", "workers")
        | ("clock_uncertainty", "standings" | "pairs" | "processes")
        | ("clock_drift" | "began" | "late_p99", "processes")
        | ("uncertainty", "caveats") => Unit::Seconds,
        ("cores", "told_from") | ("busy" | "of", "caveats") => Unit::Cores,
        ("connects", "loads") => Unit::Fraction,
        ("score", "runs") | ("refused", _) if within("runs") => Unit::Number,
        ("taken" | "client" | "process" | "more" | "left" | "group", "memory") if within("price") => Unit::Bytes,
        ("taken" | "predicted", "tested") => Unit::Bytes,
        ("behind", "price") | ("needed" | "most" | "responses" | "served" | "hidden" | "down" | "looks", "caveats") => {
            Unit::Number
        }
        ("bytes_in" | "bytes_out" | "left_bytes" | "group_bytes", _) => Unit::Bytes,
        ("refused" | "taken", "limits") => Unit::Bytes,
        ("failed_after", "proof") => Unit::Fraction,
        ("directives" | "tried" | "refused" | "altered", "bisection") => Unit::Number,
        ("tested", "rungs") => Unit::Name,
        ("ratio", _) => Unit::Ratio,
        _ => return None,
    })
}

fn usual(key: &str) -> Option<Unit> {
    Some(match key {
        "min" | "mean" | "stdev" | "p50" | "p75" | "p90" | "p95" | "p99" | "p999" | "p9999" | "max" | "lasted"
        | "at" | "takes" | "allowed" | "bound" | "seconds" | "started" | "total" | "longest" | "paused" | "median"
        | "patience" | "due" | "warm_up" | "steady_after" | "seen" | "figure" | "origin_cpu" | "service" => {
            Unit::Seconds
        }
        "rate" | "ok_rate" | "offered" | "throughput" => Unit::PerSecond,
        "fraction" | "quantile" | "failed_before" | "failed_difference" | "cpu_max" | "used" | "chance" | "alpha"
        | "each" | "busy" | "busiest" | "margin" => Unit::Fraction,
        "score" => Unit::Ratio,
        "cpu" | "cpu_busiest" => Unit::Cores,
        "cpu_us" | "from_us" | "to_us" => Unit::Microseconds,
        "memory" | "rss" | "rss_max" | "heap" | "bytes" | "page_cache" | "store" | "read" | "written"
        | "device_read" | "device_written" => Unit::Bytes,
        "trial" | "block" | "place" | "round" | "start" | "status" | "code" | "position" | "node" | "best"
        | "worst" => Unit::Name,
        "level" | "asked" | "held_to" | "through" | "reached" | "users" | "observed" | "predicted" | "holds_for"
        | "clients" | "value" => Unit::Level,
        _ if NUMBERS.contains(&key) => Unit::Number,
        _ => return None,
    })
}

/// What is counted one by one.
const NUMBERS: [&str; 116] = [
    "abandoned",
    "answered",
    "at_once",
    "away",
    "backplane_lost",
    "blocks",
    "broken",
    "came",
    "changed",
    "client_limited",
    "closed",
    "closed_idle",
    "completed",
    "concurrent",
    "connect_errors",
    "connections",
    "connects",
    "cores",
    "count",
    "cut",
    "delivered",
    "descriptors",
    "descriptors_limit",
    "dropped",
    "dropped_gone",
    "dropped_slow",
    "duplicated",
    "entered",
    "entered_after",
    "failed",
    "failures",
    "finished",
    "foreign",
    "full",
    "held",
    "hits",
    "in_flight",
    "joined",
    "judged",
    "largest",
    "late",
    "launched",
    "left",
    "loads",
    "looks",
    "lost",
    "lost_inside",
    "messages",
    "misses",
    "missed",
    "more",
    "most",
    "n",
    "never",
    "never_entered",
    "nodes",
    "objects",
    "of",
    "ok",
    "opened",
    "origin",
    "overdue",
    "paced",
    "pairs",
    "passed",
    "peak",
    "pinged",
    "pings",
    "planned",
    "pongs",
    "ports",
    "processes",
    "published",
    "queue_peak",
    "queued",
    "received",
    "redirected",
    "refused_from",
    "reordered",
    "requests",
    "resumed",
    "retried",
    "returned",
    "rooms",
    "rounds",
    "saturated",
    "sent",
    "settled",
    "short",
    "skipped",
    "slow",
    "smallest_full",
    "sources",
    "started_flows",
    "surplus",
    "threads",
    "turns",
    "outpaced",
    "unanswered",
    "undecided",
    "unpublished",
    "unread",
    "unsent",
    "unsettled",
    "upgraded",
    "within_clocks",
    "within_second",
    "written_messages",
    "streams",
    "last",
    "graceful",
    "refused_streams",
    "waiting",
    "dead",
    "ended",
    "kept",
];

/// The events that the figure at `names` is made of.
pub(super) fn source(names: &[&str]) -> Source {
    let within = |name: &str| names.contains(&name);
    let first = names.first().copied().unwrap_or_default();
    match first {
        _ if names.iter().any(|name| GIVEN.contains(name)) => Source::Plan,
        _ if within("used") || within("workers") => Source::TrialEnd,
        _ if within("told_from") => Source::TicksAndSamples,
        _ if names.last() == Some(&"trial") => Source::Trial,
        "proposal" | "ladder" if within("price") || within("measured") || within("descriptors") => {
            Source::TicksAndSamples
        }
        "proposal" if within("onward") && !within("known") => Source::TicksAndSamples,
        "predictions" | "next" | "next_or" | "proposal" => Source::Limits,
        "ladder" if within("predicted") || names.last() == Some(&"asked") => Source::Limits,
        "ladder" if within("met") => Source::Ticks,
        "next_met" => Source::Ticks,
        "causes" | "caveats" | "limits" if within("predicted") && !within("evidence") => Source::Limits,
        "causes" if within("broke") || within("observed") || within("held_to") => Source::Ticks,
        "caveats" if matches!(names.last(), Some(&("responses" | "served" | "hidden" | "down" | "looks"))) => {
            Source::TicksAndSamples
        }
        "caveats"
            if matches!(
                names.last(),
                Some(&("answered" | "lasted" | "rate" | "unanswered" | "judged" | "longest" | "patience"))
            ) =>
        {
            Source::Ticks
        }
        "causes" | "caveats" | "limits" => Source::Evidence,
        "load" | "trials" | "client" => Source::Ticks,
        "proof" | "subjects" | "pairs" | "control" | "turns" | "stress" | "blocks" => Source::Trials,
        "passes" | "held" | "participants" | "mounts" | "troubles" => Source::Passes,
        "cases" | "entrants" | "processes" => Source::Rounds,
        "runs" => Source::Attendance,
        _ => Source::Trials,
    }
}
