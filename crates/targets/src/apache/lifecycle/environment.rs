//! Variables of httpd's environment. Debian's configuration takes its paths and its user from `envvars`, a shell file beside
//! the main one, which `apache2ctl` reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What Debian's `envvars` exports, for configurations that use the names and have no such file beside them.
const DEBIAN: &[(&str, &str)] = &[
    ("APACHE_RUN_USER", "www-data"),
    ("APACHE_RUN_GROUP", "www-data"),
    ("APACHE_PID_FILE", "/var/run/apache2/apache2.pid"),
    ("APACHE_RUN_DIR", "/var/run/apache2"),
    ("APACHE_LOCK_DIR", "/var/lock/apache2"),
    ("APACHE_LOG_DIR", "/var/log/apache2"),
];

/// The variables for the configuration `main`: those of `envvars` beside it, else Debian's; those of this process that
/// begin with `APACHE_` win.
pub fn environment(main: Option<&Path>) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = DEBIAN.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let beside = main.and_then(Path::parent).map(|folder| folder.join("envvars"));
    let text = beside.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    for (name, value) in text.lines().filter_map(assignment) {
        let value = replaced(&value, &all);
        all.insert(name, value);
    }
    all.extend(std::env::vars().filter(|(name, _)| name.starts_with("APACHE_")));
    all
}

/// `export NAME=VALUE` or `NAME=VALUE`. Anything else that a shell could do is not followed.
fn assignment(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).trim().split_once('=')?;
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let value = value.trim().trim_matches(['"', '\'']);
    (plain && !value.contains(['`', ';']) && !value.contains("$(")).then(|| (name.to_owned(), value.to_owned()))
}

/// `$NAME` and `${NAME}` replaced; unknown ones are empty, as in a shell.
fn replaced(value: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let braced = rest[at..].starts_with("${");
        let start = at + if braced { 2 } else { 1 };
        let length = rest[start..].bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        out.push_str(known.get(&rest[start..start + length]).map_or("", String::as_str));
        let after = start + length;
        rest = rest[after..].strip_prefix('}').filter(|_| braced).unwrap_or(&rest[after..]);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_file_beside_the_configuration_counts() {
        let dir = tempfile::tempdir().unwrap();
        let text = "# a comment\nunset HOME\nSUFFIX=\nexport APACHE_RUN_USER=web\nexport APACHE_LOG_DIR=/logs$SUFFIX/${APACHE_RUN_USER}\n\
                    export LANG=C\nexport EVIL=`id`\n";
        fs::write(dir.path().join("envvars"), text).unwrap();
        let all = environment(Some(&dir.path().join("apache2.conf")));
        assert_eq!((all["APACHE_RUN_USER"].as_str(), all["APACHE_LOG_DIR"].as_str()), ("web", "/logs/web"));
        assert_eq!(all["APACHE_RUN_DIR"], "/var/run/apache2", "Debian's where the file is silent");
        assert!(!all.contains_key("EVIL"));
    }
}
