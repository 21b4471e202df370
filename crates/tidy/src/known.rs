//! What is known to be out of order: a list that may only shrink.

use std::collections::BTreeSet;

/// A list of `known/`: a line each, `#` starts a comment.
pub struct Known {
    name: &'static str,
    lines: BTreeSet<String>,
}

impl Known {
    /// Reads `known/NAME.txt`.
    pub fn read(name: &'static str) -> Known {
        let text = crate::read(&format!("crates/tidy/known/{name}.txt"));
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Known { name, lines: lines.map(str::to_owned).collect() }
    }

    /// [`Known::check`] for the lines that start with `part:`.
    pub fn check_part(&self, part: &str, found: &BTreeSet<String>) {
        let head = format!("{part}: ");
        let rest = self.lines.iter().filter(|line| !line.starts_with(&head)).cloned();
        self.check(&found.iter().map(|line| format!("{head}{line}")).chain(rest).collect());
    }

    /// Asserts that what was found is what is known.
    ///
    /// # Panics
    /// With what is new, and with what is known and no longer there: the list is to be shortened then. `GENKAI_UPDATE_KNOWN=1` writes
    /// it anew; what is longer after that was made worse.
    pub fn check(&self, found: &BTreeSet<String>) {
        if std::env::var_os("GENKAI_UPDATE_KNOWN").is_some() {
            return self.write(found);
        }
        let new: Vec<&String> = found.difference(&self.lines).collect();
        let gone: Vec<&String> = self.lines.difference(found).collect();
        assert!(
            new.is_empty() && gone.is_empty(),
            "\nnew, to be mended:\n{}\nno longer so, to be taken out of crates/tidy/known/{}.txt:\n{}\n",
            list(&new),
            self.name,
            list(&gone)
        );
    }

    fn write(&self, found: &BTreeSet<String>) {
        let path = format!("crates/tidy/known/{}.txt", self.name);
        let head: String =
            crate::read(&path).lines().filter(|l| l.starts_with('#')).map(|l| format!("{l}\n")).collect();
        let lines: String = found.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(crate::root().join(path), head + &lines).expect("the list is written");
    }
}

fn list(lines: &[&String]) -> String {
    lines.iter().map(|line| format!("  {line}\n")).collect()
}
