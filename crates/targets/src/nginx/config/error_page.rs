//! `error_page`: what clients get instead of an error.

use super::Found;

/// What clients get where nginx refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This status.
    Status(u16),
    /// What something else answers: what it is.
    Elsewhere(String),
}

impl Refusal {
    /// What is to be added where it is said that nginx answers `status`: what clients get in its place; nothing where they get that.
    pub fn in_place_of(&self, status: u16) -> String {
        match self {
            Refusal::Status(same) if *same == status => String::new(),
            Refusal::Status(other) => format!(", in whose place clients get {other}"),
            Refusal::Elsewhere(to) => format!(", in whose place clients get what {to} answers"),
        }
    }
}

/// An `error_page` that holds for a status.
pub(super) struct Page {
    /// Where it leads.
    pub(super) to: String,
    /// The status that `=` gives; 0: that of what answers. None: the status stays.
    pub(super) answer: Option<u16>,
    pub(super) place: String,
}

/// The `error_page` of a status where this chain of blocks answers.
pub(super) fn error_page(chain: &[Found<'_>], server: &Found<'_>, status: u16) -> Option<Page> {
    let scopes = chain.iter().rev().cloned().chain([server.clone()]).chain(server.parent());
    let own = |block: Found<'_>| {
        let all = block.inside().into_iter().filter(|f| f.directive.is("error_page"));
        all.map(|f| (f.place(), f.args())).collect::<Vec<_>>()
    };
    let pages = scopes.map(own).find(|own| !own.is_empty())?;
    pages.into_iter().find_map(|(place, mut args)| {
        let to = args.pop()?;
        let answer = args.last().and_then(|a| a.strip_prefix('=').map(|code| code.parse().unwrap_or(0)));
        args.iter().any(|code| code.parse() == Ok(status)).then_some(Page { to, answer, place })
    })
}
