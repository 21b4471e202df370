//! Values that httpd changes when it starts (event.c: event_check_config and its kin).

use genkai_model::explain::{Remark, RemarkKind};
use genkai_model::units::Span;

use crate::apache::limits::{Facts, most_servers, most_threads};
use crate::apache::settings::Mpm;
use crate::explain::{place, remark};
use crate::settings::SourcedValue;

pub(super) fn of(facts: &Facts) -> Vec<Remark> {
    let most = most_servers(facts.mpm);
    let limit = facts.thread_limit.value.clamp(1, most_threads());
    let threads = facts.mpm != Mpm::Prefork;
    let all = [
        within("ServerLimit", &facts.server_limit, most, "the most there can be"),
        within("ThreadLimit", &facts.thread_limit, most_threads(), "the most there can be").filter(|_| threads),
        within("ThreadsPerChild", &facts.threads_per_child, limit, &format!("ThreadLimit is {limit}"))
            .filter(|_| threads),
        workers(facts),
        backlog(facts),
    ];
    let (name, backend) = &facts.proxy_timeout;
    let times = [whole_seconds("Timeout", &facts.timeout), whole_seconds(name, backend)];
    all.into_iter().chain(times).flatten().collect()
}

/// A time of which the unit is not read.
fn whole_seconds(setting: &str, held: &SourcedValue<Span>) -> Option<Remark> {
    let written = &held.written;
    let is_plain = written.bytes().all(|b| b.is_ascii_digit());
    let seconds = held.value.0 / 1_000_000_000;
    let text = format!("{written} is taken as {seconds} s: it counts whole seconds, and a unit is not read");
    (!is_plain && place(&held.origin).is_some())
        .then(|| say(setting, held, text, "write the number of seconds alone".to_owned()))
        .flatten()
}

fn say<T>(setting: &str, held: &SourcedValue<T>, text: String, hint: String) -> Option<Remark> {
    Some(remark(RemarkKind::Clamped, place(&held.origin), setting, text, Some(hint)))
}

/// A number that is at least one and at most `most`, for the reason `why`.
fn within(setting: &str, held: &SourcedValue<u64>, most: u64, why: &str) -> Option<Remark> {
    let written = &held.written;
    match held.value {
        0 => say(
            setting,
            held,
            format!("{written} is taken as 1, the least there can be"),
            "write at least 1".to_owned(),
        ),
        n if n > most && setting == "ThreadsPerChild" => {
            say(setting, held, format!("{written} is taken as {most}: {why}"), format!("ThreadLimit {n}"))
        }
        n if n > most => {
            say(setting, held, format!("{written} is taken as {most}, {why}"), format!("write at most {most}"))
        }
        _ => None,
    }
}

fn workers(facts: &Facts) -> Option<Remark> {
    let (held, threads) = (&facts.max_request_workers, facts.threads());
    let (asked, taken) = (held.value, facts.workers());
    let (text, hint) = if asked < threads {
        let why = if facts.mpm == Mpm::Prefork { "the least there can be" } else { "one child has so many threads" };
        (why.to_owned(), format!("write {threads}, or lower ThreadsPerChild"))
    } else if facts.is_clamped() {
        let sum = if facts.mpm == Mpm::Prefork { String::new() } else { format!(" x ThreadsPerChild {threads}") };
        (format!("ServerLimit {}{sum}", facts.servers()), format!("ServerLimit {}", asked / threads))
    } else if asked % threads != 0 {
        let more = facts.children() < facts.servers();
        let next = if more { format!(" or {}", taken + threads) } else { String::new() };
        (format!("it is no multiple of ThreadsPerChild {threads}"), format!("write {taken}{next}"))
    } else {
        return None;
    };
    say("MaxRequestWorkers", held, format!("{} is taken as {taken}: {text}", held.written), hint)
}

fn backlog(facts: &Facts) -> Option<Remark> {
    let (held, most) = (&facts.backlog, facts.somaxconn);
    if held.value <= most {
        return None;
    }
    let text = format!("{} is taken as {most}: net.core.somaxconn of this machine", held.value);
    say("ListenBacklog", held, text, format!("sysctl net.core.somaxconn={}", held.value))
}
