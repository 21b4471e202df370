//! Whether a process that somebody else started is a product with a certain configuration.

use std::path::{Path, PathBuf};

use genkai_place::isolated::has_other_files;

use crate::upstreams::Started;

/// Flags by which products are told where their configuration is.
const FLAGS: [&str; 3] = ["-c", "-f", "--config"];

/// Whether process `pid` is the product called `name`, started with the configuration `file`: its command line names it, or names none where the
/// file is the one of its package (`/etc/NAME/NAME.conf`). Of one that sees other files, as in a container, the same path is another's.
pub fn runs(pid: u32, name: &str, file: &Path) -> bool {
    if has_other_files(pid) {
        return false;
    }
    let known = || matches!(super::standing(pid), Some((entry, Ok(of))) if entry.name == name && same(&of, file));
    let started = Started::of(pid);
    started.program.starts_with(name) && is_named(&started, file) || known()
}

fn is_named(started: &Started, file: &Path) -> bool {
    // Some put what they were started with into one word, behind a title.
    let words: Vec<&str> = started.words.iter().flat_map(|word| word.split_whitespace()).collect();
    let names = |word: &str| same(&started.path(word), file);
    if words.iter().any(|word| names(word) || FLAGS.iter().filter_map(|flag| word.strip_prefix(flag)).any(names)) {
        return true;
    }
    let program = &started.program;
    let packaged = ["conf", "cfg"].map(|end| PathBuf::from(format!("/etc/{program}/{program}.{end}")));
    let says = words.iter().any(|word| FLAGS.iter().any(|flag| word.starts_with(flag)));
    !says && packaged.iter().any(|path| same(path, file))
}

/// Whether two paths are of one file.
fn same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    whole(one).is_some_and(|one| whole(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_names_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let [file, other] = ["a.conf", "b.conf"].map(|name| dir.path().join(name));
        for path in [&file, &other] {
            std::fs::write(path, "").unwrap();
        }
        let of = |line: &str| is_named(&Started::of_line(line), &file);
        assert!(of(&format!("web: master process /usr/sbin/web -c {} -g x", file.display())));
        assert!(of(&format!("web -f{}", file.display())));
        assert!(!of(&format!("web -c {}", other.display())));
        assert!(!of("web"), "its own file is another");
        assert!(!of("web -c gone.conf"));
    }
}
