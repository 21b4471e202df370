//! An httpd that somebody else started: the configuration that it was started with.

use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_place::{caps, usage};

use super::lifecycle::{LOOKUP, root};
use crate::product::{alike, program_of};
use crate::upstreams::Started;

/// Flags whose value changes what is read.
const OTHERS: [&str; 3] = ["-d", "-C", "-c"];

/// Process `pid` as httpd's first.
pub(super) fn started(pid: u32) -> Option<Result<PathBuf, String>> {
    let started = Started::of(pid);
    LOOKUP.names.contains(&started.program.as_str()).then(|| same(pid).and_then(|()| main(&started, || said(pid))))
}

/// Whether what it has of the machine is what a copy would have, descriptors among it: httpd leaves its limit on them as it is.
fn same(pid: u32) -> Result<(), String> {
    alike(pid)?;
    let has = usage::alone(pid).and_then(|one| one.fd_limit).ok_or("its limit on descriptors cannot be read")?;
    let would = caps::descriptors();
    if has == would { Ok(()) } else { Err(format!("it may have {has} descriptors, and a copy {would} (ulimit -n)")) }
}

/// Its main file; `said` is what its program says of how it was built (`-V`).
fn main(started: &Started, said: impl FnOnce() -> Option<String>) -> Result<PathBuf, String> {
    let words = &started.words;
    let apart = words.windows(2).filter(|two| two[0] == "-D").map(|two| two[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("-D")).filter(|define| !define.is_empty());
    let defines = apart.chain(joined).any(|define| define != "FOREGROUND");
    let other = OTHERS.iter().find(|flag| started.value(&[flag]).is_some()).or(defines.then_some(&"-D"));
    if let Some(flag) = other {
        return Err(format!("it was started with {flag}, which a copy would not have"));
    }
    if let Some(path) = started.value(&["-f"]).map(Path::new) {
        let said = if path.is_absolute() { None } else { said() };
        return Ok(said.map_or_else(|| path.to_owned(), |said| root(&said).join(path)));
    }
    let said = said().ok_or("its program does not say where its configuration is (-V)")?;
    let file = said.split_once("SERVER_CONFIG_FILE=\"").and_then(|(_, rest)| rest.split_once('"'));
    let (file, _) = file.ok_or("its program does not say where its configuration is (-V)")?;
    Ok(root(&said).join(file))
}

/// What its program says of how it was built.
fn said(pid: u32) -> Option<String> {
    let output = Command::new(program_of(pid).ok()?).arg("-V").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_file_is_given_or_built_in_and_other_flags_are_told() {
        let built = " -D HTTPD_ROOT=\"/etc/apache2\"\n -D SERVER_CONFIG_FILE=\"apache2.conf\"\n";
        let main = |line: &str| main(&Started::of_line(line), || Some(built.to_owned()));
        assert_eq!(main("/usr/sbin/apache2 -k start"), Ok("/etc/apache2/apache2.conf".into()));
        assert_eq!(main("apache2 -D FOREGROUND -f /x/httpd.conf"), Ok("/x/httpd.conf".into()));
        assert_eq!(main("apache2 -f conf/httpd.conf"), Ok("/etc/apache2/conf/httpd.conf".into()));
        for line in [
            "apache2 -d /srv -f a.conf",
            "apache2 -D SSL -D FOREGROUND",
            "apache2 -D FOREGROUND -DSSL",
            "apache2 -c Listen",
        ] {
            assert!(main(line).unwrap_err().starts_with("it was started with -"), "{line}");
        }
        assert!(super::main(&Started::of_line("apache2"), || None).is_err());
    }
}
