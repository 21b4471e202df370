//! Steps of a search among directives, as they are made.

use genkai_model::event::{Bisection, Page, Removal};

use crate::{clean, figure};

/// That such a search begins.
pub(super) fn begins(began: &Bisection) -> String {
    let many = figure::plural(began.directives.len() as u64, "directive", "directives");
    format!("nothing is named: {many} may be left out, some at a time, for at most {}", began.budget)
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
        (None, _) => format!("{left}: no answer to a request"),
    }
}
