//! A locustfile, read by Locust itself before any load: whether it can be loaded, and what users are in it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genkai_model::locust::{Locust, UserClass};
use genkai_model::units::Span;
use genkai_place::process::Spawn;
use genkai_place::scratch::Scratch;
use genkai_place::{oneshot, program};
use serde::Deserialize;

use super::super::protocol::harmless;
use crate::error::LabError;

/// How long Locust may take to tell its version, and to load a file.
const WITHIN: Duration = Duration::from_secs(60);
/// The version of Locust whose workers genkai can be the master of.
const MAJOR: u32 = 2;
/// What the probe's line begins with.
const MARK: &str = "genkai-classes ";
/// Before the list of user classes that Locust prints.
const LIST: &str = "Available Users:";
/// Loaded by Locust after the user's file, as if it were part of it: tells of each user class what the list does not.
const PROBE: &str = include_str!("probe.py");

/// What the probe tells of a class.
#[derive(Deserialize)]
struct Probed {
    name: String,
    weight: f64,
    fixed: u32,
    /// Seconds.
    pause: Option<f64>,
    /// Its base address.
    #[serde(default)]
    host: Option<String>,
}

/// What Locust and the probe tell of a file.
#[derive(Debug, PartialEq)]
struct Contents {
    classes: Vec<UserClass>,
    /// Hosts that its classes name, each once.
    sites: BTreeSet<String>,
    /// Whether it has a `LoadTestShape`.
    shape: bool,
}

/// What is in a locustfile, and what else a load needs to know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Locustfile {
    /// The load's part that Locust makes.
    pub locust: Locust,
    /// What has no effect here or must be known: a sentence each.
    pub remarks: Vec<String>,
}

/// Reads `file` with the Locust that `program` names (none: the first on the PATH), for so many workers, which are started here, or waited for
/// at `bind`.
///
/// # Errors
/// When there is no Locust, or one of another protocol; when the file is not there, cannot be loaded, or has no users.
pub fn read(file: &Path, program: Option<&Path>, workers: u16, bind: Option<&str>) -> Result<Locustfile, LabError> {
    let shown = file.display();
    fs::File::open(file).map_err(|e| LabError::Plan(format!("--load locust:{shown}: cannot be read: {e}")))?;
    if shown.to_string().contains(',') {
        return Err(LabError::Plan(format!(
            "--load locust:{shown}: Locust takes a comma for several files\n  hint: rename it"
        )));
    }
    let program = installed(program)?;
    let scratch = Scratch::short("genkai-locust-").map_err(LabError::folder(std::env::temp_dir()))?;
    let version = version(&program, scratch.path())?;
    let probe = scratch.path().join("genkai_probe.py");
    fs::write(&probe, PROBE).map_err(LabError::folder(&probe))?;
    let mut files = OsString::from(file);
    files.push(",");
    files.push(&probe);
    let arguments = [OsString::from("-f"), files, OsString::from("--list")];
    let text = asked(&program, &arguments, scratch.path())?;
    let text = text.map_err(|why| {
        LabError::Plan(format!("--load locust:{shown}: Locust cannot load it: {why}\n  hint: locust -f {shown} --list"))
    })?;
    let Contents { classes, sites, shape } = contents(&text).ok_or_else(|| {
        LabError::Plan(format!(
            "--load locust:{shown}: Locust finds no user class in it\n  hint: locust -f {shown} --list"
        ))
    })?;
    if classes.iter().all(|class| class.fixed > 0 || class.weight <= 0.0) {
        return Err(LabError::Plan(format!(
            "--load locust:{shown}: each of its user classes has a fixed_count, so there is no load to raise\n  hint: give one a weight instead"
        )));
    }
    let mut remarks = Vec::new();
    if shape {
        remarks.push(format!("{shown}: its LoadTestShape has no effect: genkai says how many users there are"));
    }
    let bind = bind.map(str::to_owned);
    let site = one_site(&shown.to_string(), sites, bind.is_some(), &mut remarks);
    let locust = Locust { file: file.to_owned(), program, version, workers, bind, site, classes };
    Ok(Locustfile { locust, remarks })
}

/// The site that users ask for; `elsewhere` where others start the workers, who then ask for the address that they are given.
fn one_site(file: &str, sites: BTreeSet<String>, elsewhere: bool, remarks: &mut Vec<String>) -> Option<String> {
    let names: Vec<String> = sites.into_iter().collect();
    match &names[..] {
        [] => return None,
        [one] if !elsewhere => return Some(one.clone()),
        [one] => remarks.push(format!(
            "{file}: its users name the host {one}: workers that others start ask for the address of the server under test instead, so it is the \
             site that answers to that which is tested"
        )),
        several => remarks.push(format!(
            "{file}: its users name several hosts ({}), of which one run can test one: users ask for none of them, so it is the site that answers \
             to any which is tested; a file for each makes a run for each",
            several.join(", ")
        )),
    }
    None
}

/// The name, and the port where there is one, that a base address leads to: none where that is an address, or this machine.
fn site(host: &str) -> Option<String> {
    let (_, rest) = host.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?.to_ascii_lowercase();
    let name = authority.split(':').next()?;
    let named = !name.is_empty() && name != "localhost" && !name.starts_with('[') && name.parse::<IpAddr>().is_err();
    let plain = authority.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':'));
    (named && plain).then_some(authority)
}

/// The program that is meant.
fn installed(program: Option<&Path>) -> Result<PathBuf, LabError> {
    const HINT: &str = "hint: install it (pipx install locust, or pip install locust), or name it with --locust PATH";
    match program {
        Some(path) if program::is_executable(path) => Ok(path.to_owned()),
        Some(path) => {
            Err(LabError::Environment(format!("--locust {}: there is no such program\n  {HINT}", path.display())))
        }
        None => program::find("locust")
            .ok_or_else(|| LabError::Environment(format!("there is no `locust` on the PATH\n  {HINT}"))),
    }
}

/// The version of a Locust, if it is one of the right protocol.
fn version(program: &Path, dir: &Path) -> Result<String, LabError> {
    let shown = program.display();
    let text = asked(program, &[OsString::from("--version")], dir)?;
    let text = text.map_err(|why| LabError::Environment(format!("{shown} --version failed: {why}")))?;
    let word = text.lines().find_map(|line| line.strip_prefix("locust ")?.split_whitespace().next());
    match word {
        Some(version) if program::numbers(version).0 == MAJOR => Ok(harmless(version)),
        Some(version) => Err(LabError::Environment(format!(
            "{shown} is Locust {}, whose workers speak another protocol; genkai is a master of Locust {MAJOR}\n  hint: pip install --upgrade locust",
            harmless(version)
        ))),
        None => Err(LabError::Environment(format!(
            "{shown} is no Locust: `--version` says `{}`",
            harmless(text.lines().next().unwrap_or_default())
        ))),
    }
}

/// What a Locust prints that ends well; else the last thing it says.
fn asked(program: &Path, arguments: &[OsString], dir: &Path) -> Result<Result<String, String>, LabError> {
    let mut command = Command::new(program);
    command.args(arguments);
    let spawn = Spawn { name: "locust".to_owned(), log: Some(dir.join("locust.log")), ..Spawn::default() };
    let finished = oneshot::finish(command, spawn, WITHIN)?;
    if finished.status.success() {
        return Ok(Ok(finished.text));
    }
    let last = finished.text.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with(MARK));
    Ok(Err(last.map_or_else(|| finished.status.to_string(), harmless)))
}

/// The classes that Locust lists, with what the probe tells of them; none where it lists none.
fn contents(text: &str) -> Option<Contents> {
    let listed = text.lines().skip_while(|line| line.trim() != LIST).skip(1);
    let names: Vec<&str> = listed.take_while(|line| line.starts_with("    ")).map(str::trim).collect();
    let told = text.lines().find_map(|line| line.strip_prefix(MARK))?;
    let (probed, shape): (Vec<Probed>, bool) = serde_json::from_str(told).ok()?;
    let listed: Vec<Probed> = probed.into_iter().filter(|one| names.contains(&one.name.as_str())).collect();
    let sites = listed.iter().filter_map(|one| site(one.host.as_deref()?)).collect();
    let classes: Vec<UserClass> = listed
        .into_iter()
        .map(|one| UserClass {
            name: one.name,
            weight: one.weight,
            fixed: one.fixed,
            pause: one.pause.map(|seconds| Span::from_secs_f64(seconds.max(0.0))),
        })
        .collect();
    (!classes.is_empty()).then_some(Contents { classes, sites, shape })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_classes_that_locust_lists_are_taken() {
        let text = "[2026-11-25 16:15:21,579] vm/INFO/locust.main: Starting Locust 2.47.0\nAvailable Users:\n    Front\n    Other\ngenkai-classes \
                    [[{\"name\":\"Base\",\"weight\":1,\"fixed\":0,\"pause\":0},{\"name\":\"Front\",\"weight\":3,\"fixed\":0,\"pause\":0.25},\
                    {\"name\":\"Other\",\"weight\":1,\"fixed\":2,\"pause\":null}],true]\n";
        let Contents { classes: found, sites, shape } = contents(text).unwrap();
        assert!(shape && sites.is_empty());
        let [front, other] = &found[..] else { panic!("{found:?}") };
        assert_eq!((front.name.as_str(), front.weight, front.pause), ("Front", 3.0, Some(Span::from_millis(250))));
        assert_eq!((other.fixed, other.pause), (2, None));
        assert_eq!(contents("Available Users:\ngenkai-classes [[],false]\n"), None);
        assert_eq!(contents(""), None);
    }

    #[test]
    fn a_site_is_a_name_that_is_no_machine_of_the_user_s() {
        for (host, expected) in [
            ("https://Shop.example", Some("shop.example")),
            ("http://me:secret@shop.example:8080/base?a", Some("shop.example:8080")),
            ("http://localhost:8000", None),
            ("http://127.0.0.1", None),
            ("http://[::1]:80", None),
            ("shop.example", None),
            ("http://a b", None),
        ] {
            assert_eq!(site(host).as_deref(), expected, "{host}");
        }
        let told = |names: &[&str], elsewhere: bool| {
            let mut remarks = Vec::new();
            let one = one_site("a.py", names.iter().map(|name| (*name).to_owned()).collect(), elsewhere, &mut remarks);
            (one, remarks.len())
        };
        assert_eq!(told(&["a.example"], false), (Some("a.example".to_owned()), 0));
        assert_eq!(told(&["a.example"], true), (None, 1));
        assert_eq!(told(&["a.example", "b.example"], false), (None, 1));
        assert_eq!(told(&[], true), (None, 0));
    }
}
