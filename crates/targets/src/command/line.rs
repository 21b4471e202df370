//! The command with values for its parameters, ready to be started.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use genkai_model::command::{CommandLine, OWN, Parameter, ParameterKind, fill, names};
use genkai_model::event::{Change, Environment};
use genkai_model::limit::{Limit, Origin};
use genkai_place::caps;
use genkai_place::program;
use genkai_place::scratch::Scratch;

use super::secrets::{self, HIDDEN};
use super::{SUBJECT, lifecycle, limits};
use crate::error::TargetError;
use crate::files::{Finished, Pair, diff};
use crate::product::{self, Rejection, Running};

/// A command that can be started, any number of times, one at a time.
#[derive(Debug)]
pub struct Prepared {
    line: CommandLine,
    /// Values of its parameters, and those that it was prepared with.
    values: BTreeMap<String, String>,
    first: BTreeMap<String, String>,
    /// The text of its template; none: it has none.
    template: Option<String>,
    program: String,
    /// What is secret of its words.
    hidden: Vec<String>,
    scratch: Scratch,
}

/// The command with the values of a system's settings, its private files in `dir`; `hidden` is what nobody is to see of its words. Nothing is
/// started.
///
/// # Errors
/// A name in braces that is no parameter, a parameter that nothing uses, a value out of its range, a template that cannot be read, a command
/// that is not told where to listen, or a program that is not there.
pub fn prepare(
    line: &CommandLine,
    values: &BTreeMap<String, String>,
    hidden: Vec<String>,
    dir: &Path,
) -> Result<Box<dyn product::Prepared>, TargetError> {
    let template = line.template.as_deref().map(read).transpose()?;
    check(line, template.as_deref(), values)?;
    let scratch = Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-command-")?;
    let (values, first) = (values.clone(), values.clone());
    let mut prepared =
        Prepared { line: line.clone(), values, first, template, program: String::new(), hidden, scratch };
    prepared.program = found(&prepared.word(line.words.first().map_or("", String::as_str), None))?;
    Ok(Box::new(prepared))
}

fn read(path: &Path) -> Result<String, TargetError> {
    fs::read_to_string(path).map_err(|e| TargetError::usage("", format!("--template {}: {e}", path.display())))
}

/// The program as it will be started.
fn found(word: &str) -> Result<String, TargetError> {
    let missing = |what: String| TargetError::missing("", format!("`{word}`: {what}"));
    if word.contains('/') {
        let there = program::is_executable(Path::new(word));
        return there.then(|| word.to_owned()).ok_or_else(|| missing("there is no such program".to_owned()));
    }
    let path = program::find(word).ok_or_else(|| missing("there is no such program in PATH".to_owned()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// Whether names in braces and parameters are each other's, and the command is told where to listen.
fn check(line: &CommandLine, template: Option<&str>, values: &BTreeMap<String, String>) -> Result<(), TargetError> {
    let in_words: BTreeSet<String> = line.words.iter().flat_map(|word| names(word)).collect();
    let in_template = template.map(names).unwrap_or_default();
    let file = line.template.as_deref().map_or(String::new(), |path| path.display().to_string());
    let known = |name: &String| OWN.contains(&name.as_str()) || line.parameters.iter().any(|p| p.name == *name);
    let unknown = |all: &BTreeSet<String>, place: &str| {
        all.iter().find(|name| !known(name)).map(|name| {
            let hint = format!("--set {name}=VALUE, or write {{{{{name}}}}} where the braces are meant");
            usage(format!("{{{name}}} in {place} is no parameter\n  hint: {hint}"))
        })
    };
    if let Some(wrong) = unknown(&in_words, "the command").or_else(|| unknown(&in_template, &file)) {
        return Err(wrong);
    }
    let used = |name: &str| in_words.contains(name) || in_template.contains(name);
    for Parameter { name, .. } in &line.parameters {
        if !used(name) {
            let hint = format!("put {{{name}}} into the command or the template, or leave --set {name} out");
            return Err(usage(format!("--set {name}: nothing uses this parameter\n  hint: {hint}")));
        }
    }
    values.iter().try_for_each(|(name, value)| accepted(line, name, value))?;
    if line.template.is_some() != used("template") {
        return Err(usage(match line.template {
            Some(_) => "nothing reads the filled template\n  hint: put {template} where the command takes its path",
            None => "{template} needs a file\n  hint: --template FILE",
        }));
    }
    if !used("listen") && !used("port") {
        let hint = "put {listen} (or {host} and {port}) where it takes its address, e.g. -b {listen}";
        return Err(usage(format!("nothing tells the command where to listen\n  hint: {hint}")));
    }
    Ok(())
}

fn usage(text: impl std::fmt::Display) -> TargetError {
    TargetError::usage("", text)
}

/// Whether a parameter accepts a value.
fn accepted(line: &CommandLine, name: &str, value: &str) -> Result<(), TargetError> {
    let Some(parameter) = line.parameters.iter().find(|parameter| parameter.name == name) else {
        return Err(usage(format!("`{name}` is no parameter of the command")));
    };
    let allowed = match &parameter.kind {
        ParameterKind::Number { least, most: Some(most) } => format!("a whole number from {least} to {most}"),
        ParameterKind::Number { least, most: None } => format!("a whole number from {least} on"),
        ParameterKind::Words(words) => format!("one of {}", words.join(", ")),
        ParameterKind::Text | ParameterKind::Secret => "text".to_owned(),
    };
    if parameter.accepts(value) { Ok(()) } else { Err(usage(format!("{name} = {value}: must be {allowed}"))) }
}

impl Prepared {
    /// Where the filled template goes; none: there is none.
    fn filled(&self) -> Option<PathBuf> {
        Some(self.scratch.path().join(self.line.template.as_deref()?.file_name()?))
    }

    /// A text with its names filled, for a server at `address`; none: the names of the address stay.
    fn word(&self, text: &str, address: Option<SocketAddr>) -> String {
        let own = self.own(address);
        fill(text, |name| self.values.get(name).or_else(|| own.get(name)).map(String::as_str))
    }

    /// Values of the names that are genkai's.
    fn own(&self, address: Option<SocketAddr>) -> BTreeMap<&'static str, String> {
        let at = address
            .map(|at| [("listen", at.to_string()), ("host", at.ip().to_string()), ("port", at.port().to_string())]);
        let path = |path: &Path| path.display().to_string();
        let template = address.and_then(|_| self.filled()).map(|file| ("template", path(&file)));
        let dir = address.map(|_| ("dir", path(self.scratch.path())));
        at.into_iter().flatten().chain(template).chain(dir).collect()
    }

    /// Values of the parameters that are secrets, which nothing that is written may have.
    fn secrets(&self) -> Vec<String> {
        let secret = |one: &&Parameter| one.kind == ParameterKind::Secret;
        let given = self.line.parameters.iter().filter(secret).filter_map(|one| self.values.get(&one.name));
        given.chain(&self.hidden).cloned().collect()
    }

    /// Values as people may read them.
    fn readable(&self, mut values: BTreeMap<String, String>) -> BTreeMap<String, String> {
        for one in self.line.parameters.iter().filter(|one| one.kind == ParameterKind::Secret) {
            values.insert(one.name.clone(), HIDDEN.to_owned());
        }
        values
    }

    /// What messages call it: the program, and what was changed of it.
    fn called(&self) -> String {
        let name = Path::new(&self.program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let changed = self.values.iter().filter(|(name, value)| self.first.get(*name) != Some(value));
        let changed: Vec<String> = changed.map(|(name, value)| format!("{name}={value}")).collect();
        if changed.is_empty() { name } else { format!("{name} with {}", changed.join(", ")) }
    }

    /// The command for a server at `address`, its template written.
    fn site(&self, address: SocketAddr) -> Result<lifecycle::Site, TargetError> {
        if let (Some(file), Some(text)) = (self.filled(), &self.template) {
            fs::write(&file, self.word(text, Some(address))).map_err(TargetError::files(&file))?;
        }
        Ok(lifecycle::Site {
            name: self.called(),
            program: self.program.clone(),
            arguments: self.line.words.iter().skip(1).map(|word| self.word(word, Some(address))).collect(),
            log: self.scratch.path().join("command.log"),
            address,
            nofile: caps::descriptors(),
            secrets: self.secrets(),
        })
    }
}

impl product::Prepared for Prepared {
    fn product(&self) -> &'static str {
        SUBJECT
    }

    /// Where its program is: what it is called there is all that is known.
    fn version(&self) -> &str {
        &self.program
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn product::Prepared>, TargetError> {
        let mut values = self.values.clone();
        for change in changes {
            accepted(&self.line, &change.setting, &change.to)?;
            values.insert(change.setting.clone(), change.to.clone());
        }
        let scratch = Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-command-")?;
        let (line, template, program) = (self.line.clone(), self.template.clone(), self.program.clone());
        let (first, hidden) = (self.first.clone(), self.hidden.clone());
        Ok(Box::new(Prepared { line, values, first, template, program, hidden, scratch }))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        let value =
            self.values.get(setting).ok_or_else(|| usage(format!("`{setting}` is no parameter of the command")))?;
        Ok((value.clone(), Origin::Given))
    }

    fn limits(&self, _: &Environment) -> Vec<Limit> {
        limits::of(&self.line.parameters, &self.values)
    }

    /// Nothing can be asked of it.
    fn rejects(&self, _: &str) -> Result<Option<Rejection>, TargetError> {
        Ok(None)
    }

    fn diff(&self, changes: &[Change]) -> String {
        let present = self.readable(self.values.clone());
        let mut after = present.clone();
        after.extend(changes.iter().map(|change| (change.setting.clone(), change.to.clone())));
        let with = |values: &BTreeMap<String, String>| {
            let words = self.line.words.iter().map(|word| fill(word, |name| values.get(name).map(String::as_str)));
            words.collect::<Vec<_>>().join(" ") + "\n"
        };
        let (before, after_words) = (with(&present), with(&after));
        let path = Path::new("command");
        let words = Pair { path, real: path, before: before.as_bytes(), after: after_words.as_bytes() };
        let text = self.template.as_deref().unwrap_or_default();
        let filled = |values: &BTreeMap<String, String>| fill(text, |name| values.get(name).map(String::as_str));
        let (old, new) = (filled(&present), filled(&after));
        let file = self.line.template.as_deref().unwrap_or(path);
        let template = Pair { path: file, real: file, before: old.as_bytes(), after: new.as_bytes() };
        secrets::hidden(&diff([words, template]), &self.hidden)
    }

    /// The template with the values in it; the address and the like stay what they are, as they are others each time.
    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        let (Some(text), Some(path)) = (&self.template, &self.line.template) else { return Vec::new() };
        // A secret is not written a second time.
        if self.line.parameters.iter().any(|one| one.kind == ParameterKind::Secret) {
            return Vec::new();
        }
        let mut values = self.values.clone();
        values.extend(changes.iter().map(|change| (change.setting.clone(), change.to.clone())));
        let filled = fill(text, |name| values.get(name).map(String::as_str));
        vec![Finished { path: path.clone(), bytes: filled.into_bytes() }]
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        Ok(Box::new(lifecycle::start(|address| self.site(address), cpus)?))
    }
}
