//! What a configuration of Squid looks like.

use crate::product::looks::{Grammar, Looks, plain, unnamed};

/// How its files are called and written.
pub(super) const LOOKS: Looks = Looks {
    named: unnamed,
    grammar: Some(Grammar { names: include_str!("directives.txt"), more: &[], statements: plain }),
};
