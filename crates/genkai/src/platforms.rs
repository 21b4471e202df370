//! Experiment 1 on this machine and in a cluster, one after the other, and what both showed in one report.

use std::fs;
use std::path::{Path, PathBuf};

use genkai_analysis::statements;
use genkai_engine::StopFlag;
use genkai_lab::experiment::site::{Images, check};
use genkai_lab::folder::OUTPUTS;
use genkai_lab::job::{Job, Outcome as Made};
use genkai_lab::system::Pin;
use genkai_model::event::RunStarted;
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;
use genkai_model::platforms::{PlatformFinding, PlatformsFinding, SCHEMA};
use genkai_model::record::Record;
use genkai_model::statement::Statement;
use genkai_report::document::Document;
use genkai_report::{html, json, study as report};

use crate::cli::{Colour, NginxWorkerConnections, OutputFlags};
use crate::placement::placement;
use crate::view::{self, View};
use crate::{Failure, found, interrupt, outputs, site, study};

/// The platforms: names of their folders, in the order in which they run.
const PLATFORMS: [&str; 2] = ["machine", "cluster"];
/// What the experiment is called.
const TITLE: &str = "nginx-worker-connections";

/// Runs the experiment on both; `beside` is the folder of a run that was made on this machine, which is taken as it is.
///
/// # Errors
/// When a run could not be made, or that folder holds another experiment.
pub(crate) fn run(flags: &NginxWorkerConnections, images: &Images, beside: Option<&Path>) -> Result<Exit, Failure> {
    let output = &flags.run.output;
    let plan = site::plan(flags.run.full, Some(&flags.worker_connections), images);
    let out = output.out.clone().unwrap_or_else(|| study::default_folder(TITLE));
    // What the cluster does not let be is said before minutes are spent here.
    check(&plan, images)?;
    let given = beside.filter(|dir| !dir.as_os_str().is_empty());
    let taken = given.map(|dir| taken(&plan, dir, &out).map(|record| (dir, record))).transpose()?;
    set_aside(&out, given)?;
    let interrupt = interrupt::flag();
    let [machine, cluster] = PLATFORMS.map(|name| out.join(name));
    let made = here(&plan, taken, &machine, output, &interrupt).and_then(|()| {
        if interrupt.is_stopped() {
            return Ok(());
        }
        let scale = placement(&flags.places, None)?.scale;
        site::made(plan, images, &scale, &interrupt, |plan| one(plan, &cluster, Pin::Free, output, &interrupt))
    });
    // What was seen until then is told whatever came between.
    let shown = again(&out).map(|both| both.show(&out, output.quiet, output.json, false, output.color)).transpose()?;
    match made {
        Err(failure) => Err(failure),
        Ok(()) if interrupt.is_stopped() => Ok(Exit::Interrupted),
        Ok(()) => Ok(shown.unwrap_or(Exit::Environment)),
    }
}

/// Moves the runs of an earlier call in `out` to `previous-N/`, so that nothing is lost and no run is shown beside one of another call; but for the
/// run that is to be taken as it is.
fn set_aside(out: &Path, beside: Option<&Path>) -> Result<(), Failure> {
    let taken = beside.and_then(|dir| fs::canonicalize(dir).ok());
    let names = PLATFORMS.iter().copied().chain([OUTPUTS[1], OUTPUTS[2]]);
    let is_taken = |name: &str| taken.is_some() && fs::canonicalize(out.join(name)).ok() == taken;
    let old: Vec<&str> = names.filter(|name| out.join(name).exists() && !is_taken(name)).collect();
    let mut numbers = (1..).map(|n| out.join(format!("previous-{n}"))).filter(|path| !path.exists());
    let Some(aside) = numbers.next().filter(|_| !old.is_empty()) else { return Ok(()) };
    let failed =
        |e: std::io::Error| Failure::environment(format!("cannot move earlier runs to {}: {e}", aside.display()));
    fs::create_dir(&aside).map_err(failed)?;
    old.into_iter().try_for_each(|name| fs::rename(out.join(name), aside.join(name))).map_err(failed)
}

/// The record of the run in `dir`, which is to be taken as it is into `out`.
///
/// # Errors
/// When there is none, it is of another plan, or new runs go to where it is.
fn taken(plan: &Plan, dir: &Path, out: &Path) -> Result<Record, Failure> {
    let own = fs::canonicalize(dir).ok();
    if own.is_some() && [out.to_owned(), out.join(PLATFORMS[1])].iter().any(|to| fs::canonicalize(to).ok() == own) {
        return Err(Failure::usage(format!(
            "--beside {}: that is where --out {} has new outputs\n  hint: another --out",
            dir.display(),
            out.display()
        )));
    }
    let record = outputs::record(&dir.join("run.jsonl"))?;
    let head = record.head.as_ref().map(|head| &head.plan);
    if head.is_some_and(|of| same(of, plan)) {
        return Ok(record);
    }
    let name = head.map_or("nothing", |of| of.title.as_str());
    Err(Failure::usage(format!(
        "--beside {}: this is a run of {name} with other values than {} is to have in the cluster\n  hint: leave out =DIR, and it is \
         run here first",
        dir.display(),
        plan.title
    )))
}

/// The run on this machine, or that which was made, with its folder.
fn here(
    plan: &Plan,
    taken: Option<(&Path, Record)>,
    out: &Path,
    output: &OutputFlags,
    interrupt: &StopFlag,
) -> Result<(), Failure> {
    let Some((dir, record)) = taken else { return one(plan.clone(), out, Pin::Apart, output, interrupt) };
    copied(dir, out)?;
    found::tuned(&record).write(&record, out, output.svg).map(drop)
}

/// Whether a run was of the same plan: the size, the application, the settings, the load and what must hold.
fn same(of: &Plan, plan: &Plan) -> bool {
    of.title == plan.title
        && of.system.product == plan.system.product
        && of.system.config == plan.system.config
        && of.system.backend == plan.system.backend
        && of.system.settings == plan.system.settings
        && of.load == plan.load
        && of.objective == plan.objective
        && of.study == plan.study
}

/// Copies a record with the files of its proposal.
fn copied(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed =
        |e: std::io::Error| Failure::environment(format!("cannot copy {} to {}: {e}", from.display(), to.display()));
    fs::create_dir_all(to).map_err(failed)?;
    // A copy of a file over itself empties it (std::fs::copy).
    if fs::canonicalize(from).map_err(failed)? == fs::canonicalize(to).map_err(failed)? {
        return Ok(());
    }
    fs::copy(from.join("run.jsonl"), to.join("run.jsonl")).map_err(failed)?;
    let mut folders = vec![PathBuf::from("proposal")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(from.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            match entry.file_type().map_err(failed)? {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => {
                    fs::create_dir_all(to.join(&folder)).map_err(failed)?;
                    fs::copy(from.join(&path), to.join(&path)).map_err(failed)?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Makes one of the runs with its outputs, shown while it goes on.
fn one(plan: Plan, dir: &Path, pin: Pin, output: &OutputFlags, interrupt: &StopFlag) -> Result<(), Failure> {
    if !output.quiet {
        view::say(&plan.title);
    }
    let job = study::job(plan, study::place(None)?, pin, Some(dir.to_owned()), interrupt);
    let job = Job { keep: output.keep, ..job };
    let view = View::of(&job.plan.study, output.quiet, output.color, interrupt);
    let Made { record, failure, .. } = study::make(&job, view)?;
    found::tuned(&record).write(&record, dir, output.svg)?;
    failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// What both showed.
pub(crate) struct Both {
    head: RunStarted,
    finding: PlatformsFinding,
    stated: Vec<Statement>,
}

/// What the runs in `dir` showed, from their records; none where it does not hold such runs.
pub(crate) fn again(dir: &Path) -> Option<Both> {
    let mut both: Option<Both> = None;
    for name in PLATFORMS {
        let file = dir.join(name).join("run.jsonl");
        let Some(record) = file.is_file().then(|| outputs::record(&file).ok()).flatten() else { continue };
        let Some(head) = record.head.clone().filter(|head| head.plan.title.starts_with(TITLE)) else { continue };
        let both = both.get_or_insert_with(|| Both::new(head.clone()));
        both.take(name, &head, &record);
    }
    both.map(|mut both| {
        both.finding.interrupted |= both.finding.platforms.len() < PLATFORMS.len();
        both
    })
}

/// Where the verdict of the platform of this number stands.
pub(crate) fn address(number: usize) -> String {
    format!("/platforms/{number}/verdict")
}

impl Both {
    fn new(mut head: RunStarted) -> Both {
        let finding = PlatformsFinding {
            schema: SCHEMA.to_owned(),
            title: head.plan.title.clone(),
            platforms: Vec::new(),
            interrupted: false,
        };
        head.plan.title.clone_from(&finding.title);
        Both { head, finding, stated: Vec::new() }
    }

    fn take(&mut self, name: &str, head: &RunStarted, record: &Record) {
        let findings = genkai_analysis::findings(record);
        let before = address(self.finding.platforms.len());
        let stated = statements::of(&findings.verdict, Some(record)).into_iter();
        self.stated.extend(stated.map(|one| Statement { address: format!("{before}{}", one.address), ..one }));
        self.finding.interrupted |= record.end.as_ref().is_none_or(|end| end.interrupted || end.failure.is_some());
        self.finding.platforms.push(PlatformFinding {
            name: name.to_owned(),
            title: head.plan.title.clone(),
            started: head.started.clone(),
            answer: report::sentences(&findings, record).into_iter().next().unwrap_or_default(),
            verdict: findings.verdict,
        });
    }

    /// What it showed.
    pub(crate) fn finding(&self) -> &PlatformsFinding {
        &self.finding
    }

    fn document(&self) -> Document {
        Document { build: found::BUILD.to_owned(), ..report::platforms(&self.finding) }
    }

    /// `verdict.json`.
    pub(crate) fn json(&self) -> String {
        json::verdict(&self.finding, &self.document(), &self.stated)
    }

    /// `report.html`.
    pub(crate) fn page(&self) -> String {
        html::page(Some(&self.head), &self.document())
    }

    /// Writes `verdict.json` and `report.html` into `out`, and prints. Gives the code that tells a script the answer.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn show(
        &self,
        out: &Path,
        quiet: bool,
        as_json: bool,
        as_markdown: bool,
        color: Colour,
    ) -> Result<Exit, Failure> {
        let (page, json, document) = (out.join("report.html"), self.json(), self.document());
        outputs::whole(&out.join("verdict.json"), &json)?;
        outputs::whole(&page, &self.page())?;
        if !quiet {
            let markdown = as_markdown.then(|| genkai_report::markdown(&document));
            view::show(markdown.or_else(|| as_json.then(|| json.clone())), &document, color);
            let names = self.finding.platforms.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(",");
            view::say(&format!(
                "report: {}; each platform's: {}/{{{names}}}/report.html",
                page.display(),
                out.display()
            ));
        }
        Ok(outputs::exit(self.finding.outcome(), self.finding.interrupted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_the_same_values_is_taken_and_no_other() {
        let images = "kubernetes".parse::<crate::cluster::SiteFlag>().unwrap().0;
        let of = |full: bool, connections: &str| site::plan(full, Some(connections), &images);
        for full in [false, true] {
            // As it stands in a record.
            let run = serde_json::to_string(&of(full, "64")).unwrap();
            let run: Plan = serde_json::from_str(&run).unwrap();
            assert!(same(&run, &of(full, "64")));
            assert!(!same(&run, &of(full, "128")) && !same(&run, &of(!full, "64")));
        }
        let out = tempfile::tempdir().unwrap();
        for dir in [out.path().to_owned(), out.path().join("cluster")] {
            fs::create_dir_all(&dir).unwrap();
            let refused = taken(&of(false, "64"), &dir, out.path()).err().unwrap();
            assert!(format!("{refused:?}").contains("that is where --out"), "{refused:?}");
        }
    }

    #[test]
    fn earlier_runs_are_moved_aside_but_for_the_one_that_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path();
        for name in PLATFORMS {
            fs::create_dir(out.join(name)).unwrap();
        }
        fs::write(out.join("verdict.json"), "{}").unwrap();
        set_aside(out, Some(&out.join("machine"))).unwrap();
        assert!(out.join("machine").exists() && !out.join("cluster").exists() && !out.join("verdict.json").exists());
        assert!(out.join("previous-1/cluster").exists() && out.join("previous-1/verdict.json").exists());
        set_aside(out, None).unwrap();
        assert!(out.join("previous-2/machine").exists() && !out.join("machine").exists());
        set_aside(out, None).unwrap();
        assert!(!out.join("previous-3").exists(), "there is nothing to move");
    }

    #[test]
    fn a_run_that_is_where_it_is_wanted_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("machine"), dir.path().join("other"));
        fs::create_dir_all(from.join("proposal")).unwrap();
        fs::write(from.join("run.jsonl"), "measured").unwrap();
        fs::write(from.join("proposal/nginx.conf"), "proposed").unwrap();
        for to in [&from, &to] {
            copied(&from.join("../machine"), to).unwrap();
            assert_eq!(fs::read_to_string(to.join("run.jsonl")).unwrap(), "measured");
            assert_eq!(fs::read_to_string(to.join("proposal/nginx.conf")).unwrap(), "proposed");
        }
    }
}
