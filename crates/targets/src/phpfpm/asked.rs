//! php-fpm asked whether it takes a configuration: `php-fpm -t` of a private copy. It opens the logs that are named, and listens nowhere.

use std::path::Path;
use std::process::Command;

use super::config;
use crate::error::TargetError;
use crate::files::entry::Entries;
use crate::files::{Requests, save};
use crate::product::{Answer, after, tested};
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;
use genkai_place::program::{search_path, versioned};

/// What it would write to, and what decides to whom it speaks.
const MOVED: [&str; 6] = ["pid", "error_log", "access.log", "slowlog", "daemonize", "log_level"];
/// Name of the copy.
const COPY: &str = "php-fpm.conf";

/// Has the php-fpm that is installed test a copy of `main` in `dir`.
///
/// # Errors
/// It is not installed, or cannot be started.
pub(super) fn asked(main: &Path, _: &Requests, dir: &Path) -> Result<Answer, TargetError> {
    let path = search_path();
    let program = versioned(&path, "php-fpm").ok_or_else(|| {
        TargetError::missing("php-fpm", "php-fpm is not installed: there is no php-fpm in PATH or in /usr/sbin")
    })?;
    let mut ask = Command::new(&program);
    ask.arg("-v");
    let spawn = Spawn { name: "php-fpm -v".to_owned(), log: Some(dir.join("version.txt")), ..Spawn::default() };
    let said = finish(ask, spawn, crate::product::LONGEST)?.text;
    let version = after(&said, "PHP ").unwrap_or_default().to_owned();
    let verdict = verdict(&program, main, dir);
    Ok(Answer { version, verdict })
}

fn verdict(program: &Path, main: &Path, dir: &Path) -> Result<Vec<String>, TargetError> {
    let config = config::read(main)?;
    let (text, places) = text(&config, dir);
    let copy = dir.join(COPY);
    save(&copy, text.as_bytes())?;
    let mut command = Command::new(program);
    command.arg("-t").arg("--fpm-config").arg(&copy).current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.arg("--allow-to-run-as-root");
    }
    let finished = tested(command, "php-fpm -t", dir)?;
    let lines = |level: &str| {
        let mark = format!("] {level}: ");
        let all = finished.text.lines().filter_map(|line| Some(line.split_once(&mark)?.1));
        all.map(|line| placed(line, &copy, &places)).collect::<Vec<_>>()
    };
    if finished.status.success() {
        return Ok(lines("WARNING"));
    }
    let reasons: Vec<String> = ["ALERT", "ERROR"].iter().flat_map(|level| lines(level)).collect();
    let reasons = if reasons.is_empty() { finished.text.trim().to_owned() } else { reasons.join("\n") };
    Err(TargetError::rejected("php-fpm", reasons.replace(&copy.display().to_string(), &main.display().to_string())))
}

/// All sections as they are written, but for what it would write; where each line comes from.
fn text(config: &Entries, dir: &Path) -> (String, Vec<String>) {
    let mut lines: Vec<(String, String)> = vec![
        ("[global]".to_owned(), String::new()),
        (format!("error_log = {}", dir.join("php-fpm.log").display()), String::new()),
        ("log_level = notice".to_owned(), String::new()),
    ];
    let mut section = "global";
    for entry in config.all() {
        if entry.section != section {
            section = &entry.section;
            lines.push((format!("[{section}]"), config.place(entry)));
        }
        let own = |file: &str| format!("{} = {}", entry.name, dir.join(file).display());
        let line = match entry.name.as_str() {
            "access.log" | "slowlog" => own(&entry.name),
            name if MOVED.contains(&name) => continue,
            _ => config.written(entry),
        };
        lines.push((line, config.place(entry)));
    }
    let (text, places): (Vec<String>, Vec<String>) = lines.into_iter().unzip();
    (text.join("\n") + "\n", places)
}

/// A message with the user's place instead of the copy's (`[FILE:LINE] `).
fn placed(line: &str, copy: &Path, places: &[String]) -> String {
    let before = format!("[{}:", copy.display());
    let Some((start, rest)) = line.split_once(&before) else { return line.to_owned() };
    let Some((number, rest)) = rest.split_once(']') else { return line.to_owned() };
    let place = number.parse::<usize>().ok().and_then(|number| places.get(number.checked_sub(1)?));
    format!("{start}[{}]{rest}", place.map_or("", |place| place))
}
