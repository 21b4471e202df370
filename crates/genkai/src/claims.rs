//! `genkai claims`: files to claims, their tests one after the other, the table of what came of them.

use std::fs;
use std::path::{Path, PathBuf};

use genkai_analysis::compare::findings;
use genkai_engine::StopFlag;
use genkai_lab::claims::{self, Effort};
use genkai_lab::compare::{self, Usual};
use genkai_lab::experiment::Size;
use genkai_lab::system::Pin;
use genkai_model::claim::{Claim, ClaimFinding, ClaimVerdict};
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_report::{json, markdown, text};

use crate::cli::Claims;
use crate::view::{self, View};
use crate::{Failure, flags, found, interrupt, made};

/// `genkai claims`.
pub(crate) fn run(flags: &Claims) -> Result<Exit, Failure> {
    if let Some(dir) = &flags.from {
        return Ok(show(flags, &again(dir)?));
    }
    let pin = flags::pin(&flags.pin)?;
    let effort = effort(flags, &pin);
    let all = files(flags)?.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) =
        all.iter().enumerate().find_map(|(n, one)| all[..n].iter().find(|other| other.name == one.name))
    {
        return Err(Failure::usage(format!(
            "two claims are called `{}`\n  hint: give one of them another `name`",
            twice.name
        )));
    }
    let plan = |claim: &Claim| claims::plan(claim, &effort).map_err(|e| named(claim, e.into()));
    if flags.dry_run {
        for claim in &all {
            claims::preview(&plan(claim)?, &pin).map_err(|e| named(claim, e.into()))?;
            if !flags.quiet {
                view::print(&format!("{}: {}", claim.name, claim.advice));
            }
        }
        return Ok(Exit::Holds);
    }
    let out = flags.out.clone().unwrap_or_else(|| made::default_folder("claims"));
    let interrupt = interrupt::flag();
    let (mut tested, mut failed) = (Vec::new(), false);
    for claim in &all {
        if interrupt.is_stopped() {
            break;
        }
        match plan(claim).and_then(|plan| test(flags, plan, pin.clone(), &out.join(slug(&claim.name)), &interrupt)) {
            Ok(record) => tested.extend(finding(&record)),
            Err(failure) => {
                failed = true;
                view::say(&view::error(&format!("{}: {}", claim.name, failure.message)));
            }
        }
    }
    let exit = show(flags, &tested);
    if !flags.quiet {
        view::say(&format!("records: {}", out.display()));
    }
    Ok(match () {
        () if interrupt.is_stopped() => Exit::Interrupted,
        () if failed => Exit::Environment,
        () => exit,
    })
}

fn named(claim: &Claim, failure: Failure) -> Failure {
    Failure { message: format!("{}: {}", claim.name, failure.message), ..failure }
}

fn effort(flags: &Claims, pin: &Pin) -> Effort {
    let usual = match (flags.quick, flags.full) {
        (true, _) => compare::usual(Size::Quick),
        (_, true) => compare::usual(Size::Full),
        _ => Usual::default(),
    };
    let looks = flags.blocks.map_or_else(|| usual.looks.clone(), compare::looks);
    let cores = pin.resolve().map_or_else(|| genkai_lab::pinning::cores().len(), |p| p.client.len());
    Effort { usual: Usual { looks, ..usual }, threads: cores.clamp(1, 64) as u16, seed: flags.seed }
}

/// The files asked for; else those of the folder `claims` here, or around a folder in which the program lies.
fn files(flags: &Claims) -> Result<Vec<PathBuf>, Failure> {
    if !flags.files.is_empty() {
        return Ok(flags.files.clone());
    }
    let program = crate::program()?;
    let near = std::env::current_dir().into_iter().chain(program.ancestors().skip(1).map(Path::to_owned));
    let found = near.map(|folder| yaml(&folder.join("claims"))).find(|all| !all.is_empty());
    found.ok_or_else(|| {
        Failure::usage("there is no folder `claims` with YAML files here\n  hint: name the files of the claims")
    })
}

/// YAML files of a folder, in order of their names.
fn yaml(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml" || end == "yml")).collect();
    all.sort();
    all
}

fn read(file: &Path) -> Result<Claim, Failure> {
    let shown = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|e| Failure::usage(format!("cannot read {shown}: {e}")))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    genkai_scenario::claim(&shown, &text, folder).map_err(|fault| Failure::usage(fault.to_string()))
}

/// One test with its outputs.
fn test(flags: &Claims, plan: Plan, pin: Pin, out: &Path, interrupt: &StopFlag) -> Result<Record, Failure> {
    let mut view = View::plain(flags.quiet);
    let job = made::job(plan, made::place(None)?, pin, false, interrupt);
    let outcome = claims::run(&job, out, &mut |event| view.event(event));
    view.finish();
    let outcome = outcome?;
    if let Some(found) = found::found(&outcome.record) {
        found.write(&outcome.record, out)?;
    }
    outcome.failure.map_or(Ok(outcome.record), |failure| Err(failure.into()))
}

fn finding(record: &Record) -> Option<ClaimFinding> {
    findings(record)?.claim.map(|claim| *claim)
}

/// What the records of an earlier run say.
fn again(dir: &Path) -> Result<Vec<ClaimFinding>, Failure> {
    let entries = fs::read_dir(dir).map_err(|e| Failure::usage(format!("cannot read {}: {e}", dir.display())))?;
    let mut records: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path().join("run.jsonl")).filter(|path| path.is_file()).collect();
    records.sort();
    let one = |path: &PathBuf| {
        let text =
            fs::read_to_string(path).map_err(|e| Failure::usage(format!("cannot read {}: {e}", path.display())))?;
        let record = Record::read(text.lines()).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
        Ok(finding(&record))
    };
    let all = records.iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
    let all: Vec<ClaimFinding> = all.into_iter().flatten().collect();
    if all.is_empty() {
        return Err(Failure::usage(format!("{}: no record of a claim in its folders", dir.display())));
    }
    Ok(all)
}

fn show(flags: &Claims, all: &[ClaimFinding]) -> Exit {
    if !flags.quiet && !all.is_empty() {
        view::print(&match (flags.json, flags.markdown) {
            (true, _) => json::claims(all),
            (_, true) => markdown::claims(all),
            _ => text::claims(all, view::stdout_style(flags.color)),
        });
    }
    if all.iter().any(|one| one.verdict == ClaimVerdict::CannotTell) { Exit::Fails } else { Exit::Holds }
}

/// A name as a folder's.
fn slug(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}
