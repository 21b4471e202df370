//! What a site answers every error with (`handle_errors`), as far as that is plain.

use super::config::{Line, Site};

/// The `respond` that answers every error of a site with a status of its own, and that status: where there is one `handle_errors`, for all statuses, with
/// nothing but it inside. What else such routes do is not evaluated; a `respond` that names no status has the error's.
pub(super) fn answer(site: &Site) -> Option<(&Line, u16)> {
    let mut all = site.lines.iter().filter(|line| line.is("handle_errors"));
    let (first, more) = (all.next()?, all.next());
    let [line] = first.inside() else { return None };
    let is_all = more.is_none() && first.args().is_empty();
    is_all.then(|| Some((line, status(line)?))).flatten()
}

/// `respond TEXT STATUS` or `respond STATUS` alone (modules/caddyhttp/staticresp.go: UnmarshalCaddyfile).
fn status(line: &Line) -> Option<u16> {
    let matched = line.arg(0).is_some_and(|word| word.value.starts_with(['/', '@', '*']));
    let plain = line.is("respond") && line.block.is_none() && !matched && line.args().len() <= 2;
    let last = &line.args().last()?.value;
    let is_status = last.len() == 3 && last.bytes().all(|b| b.is_ascii_digit());
    last.parse().ok().filter(|status| plain && is_status && (200..600).contains(status))
}
