//! Words for every enumeration of the model, in one place.

mod error;

use genkai_model::event::{Change, EndReason, Environment, Pinning, Purpose, Refusal, ServerState};
use genkai_model::finding::{Against, Break, Confidence, Outcome};
use genkai_model::limit::Strength;
use genkai_model::load::FAILURE_PACE;
use genkai_model::websocket::{Fate, Incident};

pub use error::{did, error, errors, side};

use crate::{clean, figure};

/// The cores of a machine, and what its control group leaves of them.
pub fn cores(environment: &Environment) -> String {
    let quota = environment.cpu_quota.map(|quota| format!(" (control group {quota})")).unwrap_or_default();
    format!("{}{quota}", figure::plural(environment.cores.into(), "core", "cores"))
}

/// Who has a limit or wrote a line.
pub fn subject(name: &str) -> String {
    match name {
        "backend" => "the backend".to_owned(),
        "kernel" => "the kernel".to_owned(),
        "machine" => "the machine".to_owned(),
        "client" => "the generator".to_owned(),
        name => name.to_owned(),
    }
}

/// A setting with its value: `worker_connections = 512`; just its name where it has none.
pub fn setting(name: &str, value: &str) -> String {
    let (name, value) = (clean::cut(name, 60), clean::cut(value, 40));
    if value.is_empty() { name } else { format!("{name} = {value}") }
}

/// Whose a limit is, before its name: `nginx's`, `the backend's`.
pub fn whose(name: &str) -> String {
    let subject = subject(&clean::line(name));
    if subject.ends_with('s') { format!("{subject}'") } else { format!("{subject}'s") }
}

/// What a trial is for, short enough for a tab.
pub fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Break => "find the break",
        Purpose::Counterfactual => "change one setting",
        Purpose::Repeat => "try it again",
        Purpose::Direct => "the backend by itself",
        Purpose::Baseline => "proof: as it was",
        Purpose::Proposal => "proof: as proposed",
        Purpose::Measure => "measure",
        Purpose::Bisect => "leave out directives",
        Purpose::Smaller => "try a smaller value",
    }
}

/// How sure a cause is.
pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Possible => "possible: it fits, and nothing more",
        Confidence::Likely => "likely: the evidence speaks for it, but it was not put to the test",
        Confidence::Proved => "confirmed: a test that changed it alone",
        Confidence::Refuted => "refuted: changing it alone did not move the break",
    }
}

/// Why a candidate is not the cause.
pub fn against(against: Against) -> &'static str {
    match against {
        Against::NoSign => "none of its signs were seen",
        Against::WrongSymptom => "clients did not see what it causes",
        Against::WrongPlace => "the break came far from where its formula puts it",
        Against::Explained => "a limit with stronger signs explains its signs too",
        Against::Refuted => "lifting it did not move the break",
        Against::OtherPrograms => "programs that are no part of this run used most of it",
    }
}

/// How much a sign says.
pub fn strength(strength: Strength) -> &'static str {
    match strength {
        Strength::Consistent => "fits",
        Strength::Supports => "hardly anything else shows it",
        Strength::Decisive => "nothing else shows it",
    }
}

/// Whether the objective holds.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "the objective holds",
        Outcome::Fails => "the objective fails",
        Outcome::Invalid => "invalid: this says nothing of the server",
        Outcome::Unfinished => "unfinished",
    }
}

/// Why a load ended; its end was planned, or said by who asked for its users.
pub fn ended(reason: EndReason, planned: bool) -> &'static str {
    match reason {
        EndReason::Completed if !planned => "ran until it was told to end",
        EndReason::Completed => "ran as long as planned",
        EndReason::BreakSeen => "stopped early: the break was certain",
        EndReason::ServerDied => "stopped: a server died",
        EndReason::Interrupted => "interrupted",
        EndReason::EngineFailed => "stopped: the generator failed",
    }
}

/// What happened to a server.
pub fn state(state: ServerState) -> &'static str {
    match state {
        ServerState::Started => "started",
        ServerState::Ready => "ready",
        ServerState::WorkerDied => "lost a worker process",
        ServerState::Died => "died",
        ServerState::Refuses => "refuses connections",
        ServerState::Stopped => "stopped",
    }
}

/// A metric's name for people: `worker_fds_max` of `nginx.worker_fds_max` is `open descriptors of the busiest worker`.
pub fn metric(name: &str) -> String {
    let (owner, rest) = name.split_once('.').unwrap_or(("", name));
    let plain = match rest {
        "worker_cpu_max" => "processor use of the busiest worker",
        "cpu" if owner == "kernel" => "processor use of this whole machine",
        "cpu" => "processor use in cores",
        "genkai_cpu" => "processor use of genkai itself",
        "group_cpu" => "processor use of its control group",
        "throttled" => "periods in which the CPU quota was used up",
        "servers_cpu" => "processor use of all servers together",
        "worker_fds_max" => "open descriptors of the busiest worker",
        "worker_fd_limit" => "descriptors a worker may have",
        "worker_demand_max" => "processor time wanted by the busiest worker",
        "stub_active" => "client connections",
        "stub_accepts_total" => "connections accepted",
        "stub_handled_total" => "connections handled",
        "stub_dropped_total" => "connections accepted and dropped",
        "stub_requests_total" => "requests read",
        "stub_reading" => "connections reading a request",
        "stub_writing" => "connections writing a response",
        "stub_waiting" => "idle connections",
        "stub_unreachable_total" => "status page not answered",
        "peer_connections" => "open connections of the busiest worker to peers",
        "live_peer_connections" => "open connections of the busiest worker to peers that it takes for alive",
        "live_peer_most" => "connections that these peers may have (max-conn)",
        "rss" => "resident memory",
        "waited_for_children_total" => "looks at which clients waited while fewer children ran than may",
        "accept_queue" => "connections waiting to be accepted",
        "listen_overflows_total" => "connections dropped at a full accept queue",
        "listen_drops_total" => "connection attempts dropped at listeners",
        "busy" => "requests in service",
        "workers" => "workers",
        "queued" => "requests waiting for a worker",
        "queued_while_forking" => {
            "requests waiting while all of the pool's children were busy and more were being made"
        }
        "queued_at_max_children" => "requests waiting while all of the pool's children were there",
        "queued_at_process_max" => "requests waiting while process.max allowed no further child",
        "asked" => "requests in service or waiting",
        "asked_within" => "requests on accepted connections, in service or waiting for a worker",
        "unadmitted" => "connections waiting for one of those open to end",
        "threads_serving" => "threads that serve",
        "event_loop_cpu_max" => "processor use of the busiest event loop",
        "thread_cpu_max" => "processor use of the busiest thread",
        "max_children_reached_total" => "times that more children were wanted than there may be",
        "slow_requests_total" => "requests in the slow log",
        "disk_waiting" => "threads that waited for a disk",
        "disk_waiting_max" => "time for which one thread waited for a disk",
        "voluntary_waits" => "waits of its own accord",
        "refused_total" => "requests refused at a full queue",
        "done_total" => "requests answered",
        "rejected_connections" => "clients refused",
        "refused_connections_total" => "connections refused",
        "connections_refusals_unknown" => "open connections, and nobody tells whether more were refused,",
        "waited_in_vain_total" => {
            "times that a request waited for another one of the same object and had no use of its answer"
        }
        other => {
            let plain = |name: &str| name.trim_end_matches("_total").replace(['_', '.'], " ");
            // The name of one of several servers may be an address.
            let named = other.strip_prefix("server.").and_then(|rest| rest.rsplit_once('.'));
            return match named {
                Some((server, what)) => format!("{owner} server {server} {}", plain(what)),
                None => format!("{owner} {}", plain(other)).trim().to_owned(),
            };
        }
    };
    plain.to_owned()
}

/// A WebSocket close code with its name (RFC 6455 section 7.4.1).
pub fn close(code: u16) -> String {
    let name = match code {
        1000 => "normal",
        1001 => "going away",
        1002 => "protocol error",
        1003 => "unsupported data",
        1005 => "no code",
        1006 => "no close frame",
        1007 => "invalid data",
        1008 => "against policy",
        1009 => "message too big",
        1011 => "server error",
        1012 => "service restart",
        1013 => "try again later",
        1014 => "bad gateway",
        _ => return code.to_string(),
    };
    format!("{code} ({name})")
}

/// A WebSocket handshake that was refused: the status, where it leads, how the answer's body begins.
pub fn refusal(refusal: &Refusal) -> String {
    let to = refusal.location.as_deref().map(|to| format!(", to {}", clean::line(to))).unwrap_or_default();
    let body = clean::line(&refusal.body.split_whitespace().collect::<Vec<_>>().join(" "));
    let body = if body.is_empty() { String::new() } else { format!(": `{body}`") };
    format!("The first handshake that was refused was answered {}{to}{body}", refusal.status)
}

/// What happened to one message.
pub fn incident(incident: &Incident) -> String {
    let what = match incident.what {
        Fate::Lost => "was lost",
        Fate::Duplicated => "came twice",
        Fate::Reordered => "came after a later one",
        Fate::Late => "came after the timeout",
        Fate::Changed => "came back as something else",
        Fate::Foreign => "is not an echo of this connection",
    };
    let when = incident.planned_us.map(|us| format!(", planned at {}", figure::seconds(us as f64 / 1e6)));
    format!("message {} of connection {}{} {what}", incident.sequence, incident.connection, when.unwrap_or_default())
}

/// What a break says of requests without an answer, and of those that were not sent; none where it does not rest on them.
pub(crate) fn unanswered(broke: &Break, counted: &str) -> Option<String> {
    let count = crate::figure::count;
    let seconds = crate::figure::seconds;
    if broke.unsent > 0 {
        return Some(format!(
            "{} {counted} waited for a connection of the generator's and were not sent",
            count(broke.unsent)
        ));
    }
    let waiting = broke.waiting?;
    Some(match waiting.patience {
        Some(patience) => format!("{} {counted} had no answer after {}", count(waiting.count), seconds(patience)),
        // How long each of them had waited is not in the record.
        None => format!("{} {counted} waited, for up to {} so far", count(waiting.count), seconds(waiting.longest)),
    })
}

/// Failures that came so soon that their users waited before they asked again.
pub(crate) fn paced(count: u64) -> String {
    let pace = pace();
    let failures = crate::figure::plural(count, "failure", "failures");
    format!(
        "after {failures} the user waited until {pace} after the request was planned: without these pauses users ask more often"
    )
}

/// How long after its planned instant a request that failed at once is followed by another, at the soonest.
pub(crate) fn pace() -> String {
    crate::figure::seconds(FAILURE_PACE.as_secs_f64())
}

/// Requests that met the end of a kept connection.
pub(crate) fn retried(count: u64) -> String {
    let requests = crate::figure::plural(count, "request", "requests");
    format!(
        "{requests} made again on a new connection: the server closed a kept one before a byte of the response (--no-retry counts them as failed)"
    )
}

/// That some good answers stood for errors.
pub(crate) fn hidden_errors(looks: &str, product: &str, responses: u64, hidden: u64) -> String {
    format!(
        "Of {} requests that had been answered well at {looks}, {product} sent {} another answer in the place of an error of what it asks, by its own log or \
         statistics: none of these failed for clients, and what they got is not judged.",
        crate::figure::count(responses),
        crate::figure::count(hidden)
    )
}

/// What a change does: `worker_connections from 512 to 768`.
pub(crate) fn change(change: &Change) -> String {
    let [setting, from, to] = [&change.setting, &change.from, &change.to].map(|text| clean::line(text));
    format!("{setting} from {from} to {to}")
}

/// `servers that genkai starts on core 0, generator on core 1`: others run where they do.
pub(crate) fn pinning(pinning: Option<&Pinning>) -> String {
    let cores = |list: &[usize]| {
        let names: Vec<String> = list.iter().map(usize::to_string).collect();
        format!("{} {}", if list.len() == 1 { "core" } else { "cores" }, names.join(","))
    };
    pinning.map_or_else(
        || "servers and generator share all cores".to_owned(),
        |p| format!("servers that genkai starts on {}, generator on {}", cores(&p.servers), cores(&p.client)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::error::ErrorKind;

    #[test]
    fn every_error_has_words_of_its_own() {
        let mut seen: Vec<&str> = ErrorKind::ALL.iter().map(|k| error(*k)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), ErrorKind::COUNT);
    }

    #[test]
    fn the_words_of_a_failure_blame_nobody_but_whose_side_it_is_on() {
        use genkai_model::error::Side;
        for kind in ErrorKind::ALL {
            let words = format!("{} {}", error(*kind), did(*kind));
            let blames =
                |who: &str| ["error", "fault", "failure"].iter().any(|what| words.contains(&format!("{who} {what}")));
            assert!(kind.side() == Side::Client || !blames("client"), "{words}");
            assert!(kind.side() == Side::Server || !blames("server"), "{words}");
        }
    }

    #[test]
    fn unknown_metrics_are_still_readable() {
        assert_eq!(metric("nginx.frobs_lost_total"), "nginx frobs lost");
        assert_eq!(metric("nginx.worker_fds_max"), "open descriptors of the busiest worker");
    }
}
