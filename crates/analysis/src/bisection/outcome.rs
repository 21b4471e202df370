//! What came of leaving some directives out.

use genkai_model::event::{Bisection, Page, Removal, Trying};
use genkai_model::plan::Plan;
use genkai_model::record::Trial;

use crate::proof;
use crate::tuning::judged_trial::JudgedTrial;

/// What came of leaving some directives out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It answers as it should, and the objective holds.
    Heals,
    /// It fails.
    Fails,
    /// A request alone is not answered as it should be: with another status or content, or, where it fails under a load only, with a failure.
    Altered,
    /// The product does not take such a configuration, or does not start with it.
    Refused,
    /// It cannot be told: the load was cut off, or nothing in it came to an end, the generator was the limit, or other programs used the machine when it failed.
    Untold,
}

/// Of one configuration, with the load that was sent to it where one was.
pub(super) fn of(removal: &Removal, trial: Option<&Trial>, search: &Bisection, plan: &Plan) -> Outcome {
    if removal.refused.is_some() {
        return Outcome::Refused;
    }
    let Some(page) = &removal.page else { return Outcome::Untold };
    match (search.tried_by, is_normal(page, &search.normal)) {
        (Trying::Request { .. }, Some(true)) => Outcome::Heals,
        (Trying::Request { .. }, Some(false)) => Outcome::Altered,
        (Trying::Request { .. }, None) => Outcome::Fails,
        (Trying::Load { .. }, Some(true)) => trial.map_or(Outcome::Untold, |trial| under_load(trial, plan)),
        (Trying::Load { .. }, _) => Outcome::Altered,
    }
}

/// Whether an answer (of several requests: that to each of them) is one of the normal ones, or, where nobody could be asked for these, a page at all; none: it is a failure.
pub fn is_normal(page: &Page, normal: &[Page]) -> Option<bool> {
    let status = page.status.filter(|status| *status < 400)?;
    let same = |one: &Page| {
        let digests = one.digest.as_ref().zip(page.digest.as_ref());
        one.status.is_some_and(|one| one / 100 == status / 100)
            && one.statuses.iter().map(|one| one / 100).eq(page.statuses.iter().map(|one| one / 100))
            && digests.is_none_or(|(a, b)| a == b)
    };
    Some(if normal.is_empty() { status < 300 } else { normal.iter().any(same) })
}

fn under_load(trial: &Trial, plan: &Plan) -> Outcome {
    if !proof::is_whole(trial) {
        return Outcome::Untold;
    }
    let judged = JudgedTrial::of(trial, plan);
    match judged.broke {
        _ if !judged.client.finding.valid => Outcome::Untold,
        // It may have failed because of these.
        Some(_) if judged.crowded().is_some() => Outcome::Untold,
        Some(_) => Outcome::Fails,
        // Nothing came by which it could hold.
        None if judged.is_silent() => Outcome::Untold,
        None => Outcome::Heals,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(status: u16, digest: Option<&str>) -> Page {
        Page { status: Some(status), digest: digest.map(str::to_owned), statuses: Vec::new() }
    }

    #[test]
    fn another_page_is_no_healing() {
        let normal = [page(200, Some("a")), page(200, Some("b"))];
        assert_eq!(is_normal(&page(200, Some("b")), &normal), Some(true));
        assert_eq!(is_normal(&page(200, Some("c")), &normal), Some(false), "a file instead of the backend's page");
        assert_eq!(is_normal(&page(302, Some("a")), &normal), Some(false));
        assert_eq!(is_normal(&page(403, None), &normal), None);
        assert_eq!(is_normal(&Page::default(), &normal), None);
    }

    #[test]
    fn a_content_that_varies_is_not_compared() {
        assert_eq!(is_normal(&page(200, Some("c")), &[page(200, None)]), Some(true));
        assert_eq!(is_normal(&page(200, None), &[page(200, Some("a"))]), Some(true));
    }

    /// Of two requests one is redirected always: the other must not be, where it was answered a page.
    #[test]
    fn the_answer_to_each_of_several_requests_is_its_own() {
        let both =
            |first: u16, second: u16, digest| Page { statuses: vec![first, second], ..page(first.max(second), digest) };
        let normal = [both(200, 301, Some("old"))];
        assert_eq!(is_normal(&both(200, 302, Some("old")), &normal), Some(true));
        assert_eq!(is_normal(&both(302, 301, Some("old")), &normal), Some(false), "the way to a login for the page");
        assert_eq!(is_normal(&both(302, 200, None), &normal), Some(false));
        assert_eq!(is_normal(&both(503, 301, None), &normal), None);
    }

    #[test]
    fn where_nobody_could_be_asked_a_page_is_a_page() {
        assert_eq!(is_normal(&page(200, Some("c")), &[]), Some(true));
        assert_eq!(is_normal(&page(301, None), &[]), Some(false));
    }
}
