//! Values of parameters that nobody is to see, in what a command prints.

use genkai_place::PlaceError;

/// What stands for such a value, as for those of headers and URLs.
pub(super) const HIDDEN: &str = "(hidden)";
/// So many bytes of a value are enough to find it in a text: less stands in any.
const SHORTEST: usize = 3;

/// The text with every such value replaced.
pub(super) fn hidden(text: &str, secrets: &[String]) -> String {
    // One may be the beginning of another.
    let mut long: Vec<&String> = secrets.iter().filter(|secret| secret.len() >= SHORTEST).collect();
    long.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    long.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
}

/// The error without them: what was printed last may have some.
pub(super) fn without(error: PlaceError, secrets: &[String]) -> PlaceError {
    match error {
        PlaceError::Exited { name, status, tail } => PlaceError::Exited { name, status, tail: hidden(&tail, secrets) },
        PlaceError::Silent { name, address, within, tail } => {
            PlaceError::Silent { name, address, within, tail: hidden(&tail, secrets) }
        }
        other => other,
    }
}
