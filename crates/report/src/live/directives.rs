//! Steps of a search among directives, as they are made.

use genkai_model::event::{Bisection, Page, Removal};

use crate::{clean, figure};

/// That such a search begins.
pub(super) fn begins(began: &Bisection) -> String {
    let many = figure::plural(began.directives.len() as u64, "directive", "directives");
    format!("nothing is named: {many} may be left out, some at a time, for about {}", began.budget)
}

/// What is left out, and what came of one request.
pub(super) fn without(step: &Removal) -> String {
    let left = match step.removed.len() {
        0 => "all directives in place".to_owned(),
        many => format!("without {} of them", figure::count(many as u64)),
    };
    match (&step.refused, &step.page) {
        (Some(why), _) => format!("{left}: not accepted ({})", clean::cut(why, 120)),
        (None, Some(Page { status: Some(status), .. })) => format!("{left}: a request is answered {status}"),
        (None, _) => format!("{left}: no answer in time"),
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::event::Trying;
    use genkai_model::units::Span;

    use super::*;

    #[test]
    fn the_search_and_each_step_of_it_are_told() {
        let tried_by = Trying::Request { within: Span::from_secs(2) };
        let (directives, first, normal) = (Vec::new(), Vec::new(), Vec::new());
        let began = Bisection { budget: Span::from_secs(60), directives, first, tried_by, normal };
        assert!(begins(&began).contains("0 directives may be left out") && begins(&began).ends_with("for about 1m"));
        let step = |removed: &[u32], refused: Option<&str>, status| {
            let page = refused.is_none().then_some(Page { status, ..Page::default() });
            without(&Removal { removed: removed.to_vec(), refused: refused.map(str::to_owned), page })
        };
        assert_eq!(step(&[], None, Some(503)), "all directives in place: a request is answered 503");
        assert_eq!(step(&[1, 4], None, None), "without 2 of them: no answer in time");
        assert_eq!(step(&[1], Some("no such ACL"), None), "without 1 of them: not accepted (no such ACL)");
    }
}
