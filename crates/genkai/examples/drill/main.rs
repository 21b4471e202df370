//! `make drill`: is the diagnosis right? Faults that are put in on purpose, and look-alikes that are none, go through the whole
//! pipeline; what it names is compared with what was done.
//!
//! `drill GENKAI [--list] [--results FILE] [--markdown FILE] [--keep DIR] [NAME...]`: with this program, all cases or those whose name contains
//! one of the words; `--list` only says which there are, `--keep` leaves what each case wrote in folders of DIR. With `--results` each case's
//! result takes the place of its earlier one in FILE when the case has ended, and the Markdown is of all that are there. Exit code 1 when
//! something was named wrong in this run.

mod cases;
mod inside;
mod judge;
mod matrix;
mod results;
mod run;
mod table;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(genkai) = words.next().map(PathBuf::from).filter(|program| program.is_file()) else {
        eprintln!(
            "usage: drill GENKAI [--list] [--results FILE] [--markdown FILE] [--keep DIR] [NAME...]: the first is the program genkai, and it is missing"
        );
        return ExitCode::from(2);
    };
    let mut words: Vec<String> = words.collect();
    let mut flag = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.drain(at..(at + 2).min(words.len())).nth(1)
    };
    let [markdown, keep, results] = ["--markdown", "--keep", "--results"].map(&mut flag);
    let [keep, results] = [keep, results].map(|path| path.map(PathBuf::from));
    if words.iter().any(|word| word == "--list") {
        cases::all().iter().for_each(|case| println!("{:<32} {}", case.name, case.fault));
        return ExitCode::SUCCESS;
    }
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    let mut all = Vec::new();
    for case in cases::all().iter().filter(|case| wanted(&case.name)) {
        let folder = |name: String| match &keep {
            Some(keep) => tempfile::Builder::new().prefix(&name).disable_cleanup(true).tempdir_in(keep),
            None => tempfile::tempdir(),
        };
        let (Ok(dir), Ok(other)) = (folder(format!("{}.", case.name)), folder(format!("{}.again.", case.name))) else {
            eprintln!("error: no folder for files of a case");
            return ExitCode::from(3);
        };
        let done = run::run(case, &genkai, dir.path()).repeated(&genkai, other.path());
        println!("{}", table::line(&done));
        if let Some(file) = &results
            && let Err(e) = results::keep(file, &done, &machine())
        {
            eprintln!("error: {}: {e}", file.display());
            return ExitCode::from(3);
        }
        all.push(done);
    }
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

/// Kernel and cores, in a few words.
fn machine() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.split('-').next().unwrap_or_default().trim().to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Linux {kernel}, {cores} cores")
}
