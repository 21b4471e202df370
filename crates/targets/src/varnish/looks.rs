//! What VCL looks like.

use std::path::Path;

use crate::product::looks::{Grammar, Looks, Statement, first};

/// How its files are called and written.
pub(super) const LOOKS: Looks =
    Looks { named: is_called_vcl, grammar: Some(Grammar { names: "", more: &["vcl"], statements }) };

/// `NAME.vcl`.
fn is_called_vcl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "vcl")
}

/// The whole text is one: its language has a version that must come first.
fn statements(text: &str) -> Vec<Statement> {
    vec![if is_vcl(text) { Statement::of("vcl") } else { Statement::foreign(1) }]
}

/// Whether it begins as VCL must: `vcl 4.1;`.
fn is_vcl(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        rest = match rest {
            _ if rest.starts_with('#') || rest.starts_with("//") => rest.split_once('\n').map_or("", |(_, r)| r),
            _ if rest.starts_with("/*") => rest.split_once("*/").map_or("", |(_, r)| r),
            _ => break,
        };
        rest = rest.trim_start();
    }
    first(rest) == "vcl" && rest.split('\n').next().is_some_and(|line| line.contains(';'))
}
