//! The difference between two states of a configuration, for people and for patch(1).

use similar::TextDiff;

use super::Pair;

/// Unified diff of all files with three lines of context; empty when nothing differs. Bytes that are not UTF-8 are shown
/// replaced.
pub fn diff<'a>(pairs: impl IntoIterator<Item = Pair<'a>>) -> String {
    let mut out = String::new();
    for pair in pairs {
        if pair.before == pair.after {
            continue;
        }
        let path = pair.path.to_string_lossy();
        let path = path.trim_start_matches('/');
        let diff = TextDiff::from_lines(pair.before, pair.after);
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_writer(&mut bytes);
        out.push_str(&String::from_utf8_lossy(&bytes));
    }
    out
}
