//! Predicted limits in words.

use genkai_model::finding::{Break, Cause, Caveat, Confidence, Predicted, Verdict};
use genkai_model::units::Range;

use crate::context::{self, Context};
use crate::{clean, figure, words};

/// Longest name of a setting in a list of names, characters.
const NAME: usize = 40;

/// What breaks next (or first, where nothing broke), and where.
pub(super) fn next(context: Context<'_>, v: &Verdict) -> Option<String> {
    let p = v.next.as_ref()?;
    let at_work = is_at_work(p, &v.caveats);
    let reach = match met_in(v) {
        _ if at_work => "It had been reached, but the objective still held.".to_owned(),
        Some(broke) => {
            let beyond = context.asked().is_some_and(|asked| broke.level > asked);
            format!(
                "It was reached {}, {} the load asked for.",
                context.when(broke),
                if beyond { "beyond" } else { "within" }
            )
        }
        None if p.within_load => "That is within the load asked for.".to_owned(),
        // Of what bites at no load that is known nobody knows whether this load is beyond it.
        None if !is_placed(p) => String::new(),
        None => "That is beyond the load asked for.".to_owned(),
    };
    let reach = if reach.is_empty() { reach } else { format!(" {reach}") };
    Some(format!(
        "{} {}, predicted {}.{reach}{}",
        words::whose(&p.subject),
        words::setting(&p.setting, &p.value),
        where_(p, context.unit()),
        or(v, context.unit())
    ))
}

/// As many limits that may come first are named.
const NAMED: usize = 2;

/// Which others may come before what is told as the next limit, as a sentence; empty for none.
fn or(v: &Verdict, unit: &str) -> String {
    let named = v.next_or.iter().take(NAMED).map(|p| {
        let place = match is_placed(p) {
            true => format!("predicted {}", where_(p, unit)),
            false => "no formula tells where".to_owned(),
        };
        format!("{} {} ({place})", words::whose(&p.subject), words::setting(&p.setting, &p.value))
    });
    let more = v.next_or.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| figure::plural(more as u64, "other limit", "other limits"));
    let all: Vec<String> = named.chain(more).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(" It cannot be told whether {} may be met before it.", all.join(" or ")),
    }
}

/// Whether anything says at which load, or of which requests, it should bite.
fn is_placed(p: &Predicted) -> bool {
    p.clients.or(p.users).or(p.rate).is_some() || p.bytes.is_some()
}

/// The break at which what comes next was met.
fn met_in(v: &Verdict) -> Option<&Break> {
    let met = v.next_met?;
    v.trials.iter().find(|trial| trial.trial == met.trial)?.broke.as_ref()
}

/// Whether `caveats` say that the limit was at work, at this value, although the objective held. (Older records tell no value.)
pub(crate) fn is_at_work(p: &Predicted, caveats: &[Caveat]) -> bool {
    let is = |limit: &str, value: &str| limit == p.limit && (value.is_empty() || value == p.value);
    caveats.iter().any(|c| matches!(c, Caveat::AtWorkButHeld { limit, value, .. } if is(limit, value)))
}

/// Whether a cause is this limit, at any value: one that was met once others were lifted need not be as it was predicted.
pub(crate) fn is_named(p: &Predicted, causes: &[Cause]) -> bool {
    causes.iter().any(|cause| cause.limit.id == p.limit && cause.confidence != Confidence::Refuted)
}

/// Whether the limit does not matter for the load, and left no sign.
pub(crate) fn is_far(p: &Predicted, caveats: &[Caveat], causes: &[Cause]) -> bool {
    p.far && p.observed.is_none() && !is_at_work(p, caveats) && !is_named(p, causes)
}

/// Those that may matter for the load, and the names of the others in one clause: a table of what cannot bite is noise.
pub(crate) fn near<'p>(
    all: &'p [Predicted],
    caveats: &[Caveat],
    causes: &[Cause],
) -> (Vec<&'p Predicted>, Option<String>) {
    let (near, far): (Vec<_>, Vec<_>) = all.iter().partition(|p| !is_far(p, caveats, causes));
    let mut owners: Vec<(&str, Vec<String>)> = Vec::new();
    for p in &far {
        let name = clean::cut(&p.setting, NAME);
        match owners.iter_mut().find(|(owner, _)| *owner == p.subject) {
            Some((_, names)) => names.push(name),
            None => owners.push((&p.subject, vec![name])),
        }
    }
    let clause = |(owner, names): &(&str, Vec<String>)| format!("{} {}", words::subject(owner), names.join(", "));
    (near, (!far.is_empty()).then(|| owners.iter().map(clause).collect::<Vec<_>>().join("; ")))
}

/// What was measured that a prediction rests on; none where the configuration alone tells it.
pub(crate) fn told_from(p: &Predicted) -> Option<String> {
    let used = p.told_from?;
    let (cores, rate) = (figure::number(used.cores), figure::number(used.rate));
    Some(format!("told from what was measured: {cores} cores in use at {rate} requests/s"))
}

fn where_(p: &Predicted, unit: &str) -> String {
    if let Some(bytes) = p.bytes {
        return format!("for request bodies above {}", figure::bytes(bytes));
    }
    // How many requests a second so many clients make depends on how long each waits by then.
    let counts_clients = p.clients.is_some() && p.users.is_some();
    let rate = p.rate.filter(|_| !counts_clients).map(|r| format!("{} requests/s", figure::range(r, figure::number)));
    let users = p.users.map(|r| context::levels(r, unit) + &latest(r));
    if p.users.or(p.rate).is_some_and(|r| r.high == 0.0) {
        return "from the first request on".to_owned();
    }
    let also: Vec<String> = users.into_iter().chain(rate.clone()).collect();
    match (p.clients, also.is_empty()) {
        (Some(c), true) => format!("at {} at once{}", context::clients(c), latest(c)),
        (Some(c), false) => format!("at {} at once{} ({})", context::clients(c), latest(c), also.join("; ")),
        (None, true) => "at no load that can be told beforehand".to_owned(),
        (None, false) => format!("at {}", also.join("; ")),
    }
}

/// The end of a range that only says where it may begin.
fn latest(range: Range) -> String {
    match context::is_wide(range) {
        true => format!(", {} at the latest", figure::whole(range.high)),
        false => String::new(),
    }
}

/// Where a limit should bite, as short as it can be said: `239-255 clients`, `bodies above 1 MiB`, `100 requests/s`.
pub(crate) fn short_place(p: &Predicted, closed: bool) -> String {
    let unit = if closed { "users" } else { "planned requests/s" };
    match (p.bytes, p.clients, p.rate, p.users) {
        (None, None, rate, users) if users.or(rate).is_some_and(|r| r.high == 0.0) => "the first request".to_owned(),
        (Some(bytes), ..) => format!("bodies above {}", figure::bytes(bytes)),
        // So many at one instant (an accept queue): of which load these are is not told, as the ladder says.
        (_, Some(c), None, None) if p.observed.is_some() => {
            format!("{} at once; no load can be told", context::clients(c))
        }
        // More users than clients: those who think, and those who wait for their turn and are not late yet. The ladder tells users.
        (_, Some(c), _, Some(u)) if closed && u.high > c.high => {
            format!("{} ({})", context::clients(c), context::levels(u, unit))
        }
        (_, Some(c), ..) => context::clients(c),
        (_, _, Some(r), _) => format!("{} requests/s", figure::range(r, figure::number)),
        (_, _, _, Some(u)) => context::levels(u, unit),
        _ => "not predictable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_a_limit_without_a_load_it_is_not_said_that_it_is_beyond_the_load_asked_for() {
        let placed = |users: serde_json::Value, bytes: serde_json::Value| {
            let p = json!({"limit": "a", "subject": "backend", "setting": "server", "value": "s", "formula": "", "observed": null,
                           "clients": null, "users": users, "rate": null, "bytes": bytes, "within_load": false});
            is_placed(&serde_json::from_value(p).unwrap())
        };
        assert!(!placed(json!(null), json!(null)));
        assert!(placed(json!({"low": 7.0, "high": 9.0}), json!(null)) && placed(json!(null), json!(5.0)));
    }

    /// An accept queue counts who waits at one instant: its length is no load, and the load at which it was full is not its length.
    #[test]
    fn a_limit_of_which_no_load_can_be_told_has_none_in_the_table() {
        let told = |users: serde_json::Value| {
            let p = json!({"limit": "a", "subject": "php-fpm", "setting": "listen.backlog", "value": "6", "formula": "7", "observed": 12.0,
                           "clients": {"low": 7.0, "high": 7.0}, "users": users, "rate": null, "bytes": null, "within_load": false});
            short_place(&serde_json::from_value(p).unwrap(), true)
        };
        assert_eq!(told(json!(null)), "7 clients at once; no load can be told");
        assert_eq!(told(json!({"low": 7.0, "high": 7.0})), "7 clients");
        assert_eq!(told(json!({"low": 7.0, "high": 60.0})), "7 clients (7-60 users)");
    }

    /// Where requests wait in a queue that nothing bounds, or try again by chance, the end of the range is no place where something is to be expected.
    #[test]
    fn a_range_of_users_that_says_only_where_it_may_begin_is_told_as_that() {
        let told = |high: f64| {
            let range = |high: f64| json!({"low": 10.0, "high": high});
            let p = json!({"limit": "a", "subject": "caddy", "setting": "max_conns_per_host", "value": "10", "formula": "10", "observed": null,
                           "clients": range(10.0), "users": range(high), "rate": null, "bytes": null, "within_load": true});
            where_(&serde_json::from_value(p).unwrap(), "users")
        };
        assert_eq!(told(11_814.0), "at 10 clients at once (10 users and more, 11,814 at the latest)");
        assert_eq!(told(90.0), "at 10 clients at once (10-90 users)");
    }
}
