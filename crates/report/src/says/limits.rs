//! Predicted limits in words.

use genkai_model::finding::{Caveat, Predicted, Verdict};

use crate::scene::{self, Scene};
use crate::{figure, words};

/// What breaks next (or first, where nothing broke), and where.
pub(super) fn next(scene: Scene<'_>, v: &Verdict) -> Option<String> {
    let p = v.next.as_ref()?;
    let at_work = is_at_work(p, &v.caveats);
    let reach = if at_work {
        "It was at work already, although the objective held."
    } else if p.within_load {
        "That is within the load asked for."
    } else {
        "That is beyond the load asked for."
    };
    Some(format!(
        "{} {}, predicted {}. {reach}",
        words::whose(&p.subject),
        words::setting(&p.setting, &p.value),
        where_(p, scene.unit())
    ))
}

/// Whether `caveats` say that the limit was at work although the objective held.
pub(crate) fn is_at_work(p: &Predicted, caveats: &[Caveat]) -> bool {
    caveats.iter().any(|c| matches!(c, Caveat::AtWorkButHeld { limit, .. } if *limit == p.limit))
}

/// A prediction in one line: `nginx worker_connections = 512: 239-255 clients at once (239-255 users)`.
pub fn prediction(p: &Predicted, closed: bool) -> String {
    let unit = if closed { "users" } else { "planned requests/s" };
    format!("{} {}: {}", words::subject(&p.subject), words::setting(&p.setting, &p.value), where_(p, unit))
}

fn where_(p: &Predicted, unit: &str) -> String {
    if let Some(bytes) = p.bytes {
        return format!("for request bodies above {}", figure::bytes(bytes));
    }
    let rate = p.rate.map(|r| format!("{} requests/s", figure::range(r, figure::number)));
    let users = p.users.map(|r| format!("{} {unit}", figure::range(r, figure::whole)));
    let also: Vec<String> = users.into_iter().chain(rate.clone()).collect();
    match (p.clients, also.is_empty()) {
        (Some(c), true) => format!("at {} at once", scene::clients(c)),
        (Some(c), false) => format!("at {} at once ({})", scene::clients(c), also.join("; ")),
        (None, true) => "at no load that can be told beforehand".to_owned(),
        (None, false) => format!("at {}", also.join("; ")),
    }
}

/// Where a limit should bite, as short as it can be said: `239-255 clients`, `bodies above 1 MiB`, `100 requests/s`.
pub(crate) fn short_place(p: &Predicted, closed: bool) -> String {
    let unit = if closed { "users" } else { "planned requests/s" };
    match (p.bytes, p.clients, p.rate, p.users) {
        (Some(bytes), ..) => format!("bodies above {}", figure::bytes(bytes)),
        (_, Some(c), ..) => scene::clients(c),
        (_, _, Some(r), _) => format!("{} requests/s", figure::range(r, figure::number)),
        (_, _, _, Some(u)) => format!("{} {unit}", figure::range(u, figure::whole)),
        _ => "not predictable".to_owned(),
    }
}
