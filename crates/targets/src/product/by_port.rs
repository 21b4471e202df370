//! What a configuration decides by the server's own port or address: a private copy of it listens elsewhere.

use crate::files::masked;

/// A line that decides by the server's own port or address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByPort {
    /// Where it is written, `path:line`.
    pub place: String,
    /// Its text.
    pub written: String,
    /// The ports of the listener that the load goes to, as the user wrote them: a copy gets them where it can. None: copies of this product have ports of
    /// their own.
    pub ports: Option<Vec<u16>>,
    /// Why it is not known whether the line decides so, as a clause; none: it does.
    pub unsure: Option<String>,
}

impl ByPort {
    /// Whether the listener has that port in the copy, too.
    pub(super) fn has(&self, port: u16) -> bool {
        self.ports.as_ref().is_some_and(|ports| ports.contains(&port))
    }

    /// What is to be said of a copy whose listener has another.
    pub(super) fn told(&self, product: &str) -> String {
        let written = masked(&self.written);
        let (written, place) = (written.trim_end_matches([';', '{', ' ']), &self.place);
        let what = match &self.unsure {
            None => {
                format!("{product} decides by its own port or address what comes of a request: `{written}` ({place})")
            }
            Some(why) => format!(
                "it is not known whether {product} decides by its own port or address what comes of a request: {why}, which `{written}` ({place}) loads"
            ),
        };
        format!(
            "{what}. The private copy that was loaded has others, \
             because those of the configuration are taken, or are not a copy's to have: what is told of it may not be so of the server."
        )
    }
}
