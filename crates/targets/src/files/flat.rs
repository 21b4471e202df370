//! Names for what a private copy writes, made from what the user calls it.

use std::collections::BTreeMap;

/// Longest name made from another (NAME_MAX is 255).
const LONGEST: usize = 100;

/// A name without slashes and without anything that means something to a server's configuration or a shell.
pub(crate) fn flat(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    let all: String = name.trim_start_matches('/').chars().map(safe).collect();
    let end = &all[all.len().saturating_sub(LONGEST)..];
    let end = end.trim_start_matches('.');
    if end.is_empty() { "_".to_owned() } else { end.to_owned() }
}

/// Names given in a folder, with what they stand for.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// A relative path below `folder` for what the user calls `name`: the same for the same name, another for another.
    pub(crate) fn path(&mut self, folder: &str, name: &str) -> String {
        let flat = flat(name);
        let mut unique = format!("{folder}/{flat}");
        let mut count = 1;
        while self.0.get(&unique).is_some_and(|taken| taken != name) {
            count += 1;
            unique = format!("{folder}/{count}-{flat}");
        }
        self.0.insert(unique.clone(), name.to_owned());
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_flat_safe_and_unique() {
        assert_eq!(flat("/var/log/nginx/access.log"), "var_log_nginx_access.log");
        assert_eq!(flat("../../etc/passwd"), "_.._etc_passwd");
        assert_eq!(flat("logs/$host.log"), "logs__host.log");
        assert_eq!(flat("/"), "_");
        assert!(flat(&"ä".repeat(300)).len() <= LONGEST);
        let mut names = Names::default();
        let [a, b, again] = ["/a/b", "/a_b", "/a/b"].map(|name| names.path("logs", name));
        assert_ne!(a, b);
        assert_eq!(a, again);
    }
}
