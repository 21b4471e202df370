//! The difference between two states of a configuration, for people and for patch(1).

use similar::TextDiff;

use super::Config;

impl Config {
    /// Unified diff from `self` to `edited` (made from it by edits) with three lines of context; empty when nothing
    /// differs. Bytes that are not UTF-8 are shown replaced.
    pub fn diff(&self, edited: &Config) -> String {
        let mut out = String::new();
        for ((_, before), (_, after)) in self.files().zip(edited.files()) {
            if before.text == after.text {
                continue;
            }
            let path = before.path.to_string_lossy();
            let path = path.trim_start_matches('/');
            let diff = TextDiff::from_lines(&before.text[..], &after.text[..]);
            let mut bytes = Vec::new();
            // Writing to memory cannot fail.
            let _ = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_writer(&mut bytes);
            out.push_str(&String::from_utf8_lossy(&bytes));
        }
        out
    }
}
