//! `make drill`: is the diagnosis right? Faults that are put in on purpose, and look-alikes that are none, go through the whole
//! pipeline; what it names is compared with what was done.
//!
//! `drill GENKAI [--list] [--jobs N] [--results FILE] [--markdown FILE] [--keep DIR] [NAME...]`: with this program, all cases or those whose name
//! contains one of the words; `--list` only says which there are, `--keep` leaves what each case wrote in folders of DIR. So many cases as there
//! are jobs run beside each other (one a core without `--jobs`); those that are judged by processor time run alone, after the others. With
//! `--results` each case's result takes the place of its earlier one in FILE when the case has ended, and the Markdown is of all that are there.
//! Exit code 1 when something was named wrong in this run.

mod cases;
mod inside;
mod jobs;
mod judge;
mod matrix;
mod results;
mod run;
mod table;
mod world;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(genkai) = words.next().map(PathBuf::from).filter(|program| program.is_file()) else {
        eprintln!(
            "usage: drill GENKAI [--list] [--jobs N] [--results FILE] [--markdown FILE] [--keep DIR] [NAME...]: the first is the program genkai, and it is missing"
        );
        return ExitCode::from(2);
    };
    let mut words: Vec<String> = words.collect();
    let mut flag = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.drain(at..(at + 2).min(words.len())).nth(1)
    };
    let [markdown, keep, results, jobs] = ["--markdown", "--keep", "--results", "--jobs"].map(&mut flag);
    let [keep, results] = [keep, results].map(|path| path.map(PathBuf::from));
    if let Some(folder) = &keep
        && let Err(e) = std::fs::create_dir_all(folder)
    {
        eprintln!("error: --keep: {}: {e}", folder.display());
        return ExitCode::from(2);
    }
    let Some(jobs) = jobs.map_or(Some(cores()), |jobs| jobs.parse().ok().filter(|jobs| *jobs > 0)) else {
        eprintln!("error: --jobs: not a number of cases");
        return ExitCode::from(2);
    };
    if words.iter().any(|word| word == "--list") {
        cases::all().iter().for_each(|case| println!("{:<32} {}", case.name, case.fault));
        return ExitCode::SUCCESS;
    }
    let wanted = |case: &&cases::Case| words.is_empty() || words.iter().any(|w| case.name.contains(w.as_str()));
    let all = match jobs::run(
        &cases::all().iter().filter(wanted).collect::<Vec<_>>(),
        jobs,
        |case| {
            let done = one(case, &genkai, keep.as_deref())?;
            println!("{}", table::line(&done));
            Ok(done)
        },
        |done| results.as_ref().map_or(Ok(()), |file| results::keep(file, done, &machine())),
    ) {
        Ok(all) => all,
        Err(e) => {
            eprintln!("error: the files of a case: {e}");
            return ExitCode::from(3);
        }
    };
    let sum = table::sum(&all);
    println!("\n{}", table::conclusion(&sum));
    table::misses(&all).iter().for_each(|miss| println!("  {miss}"));
    let told = |file: &String| match &results {
        Some(kept) => {
            let (all, machines) = results::read(kept)?;
            std::fs::write(Path::new(file), table::markdown(&all, &machines))
        }
        None => std::fs::write(Path::new(file), table::markdown(&all, &machine())),
    };
    if let Some(file) = &markdown
        && let Err(e) = told(file)
    {
        eprintln!("error: cannot write {file}: {e}");
        return ExitCode::from(3);
    }
    ExitCode::from(u8::from(sum.wrong + sum.failed > 0))
}

/// A case, and once more where it could not tell, each in a folder of its own.
fn one(case: &'static cases::Case, genkai: &Path, keep: Option<&Path>) -> io::Result<run::Done<'static>> {
    let folder = |name: String| match keep {
        Some(keep) => tempfile::Builder::new().prefix(&name).disable_cleanup(true).tempdir_in(keep),
        None => tempfile::tempdir(),
    };
    let (dir, other) = (folder(format!("{}.", case.name))?, folder(format!("{}.again.", case.name))?);
    Ok(run::run(case, genkai, dir.path()).repeated(genkai, other.path()))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Kernel and cores, in a few words.
fn machine() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.split('-').next().unwrap_or_default().trim().to_owned();
    format!("Linux {kernel}, {} cores", cores())
}
