//! `genkai report`: every output again, from the record alone.

mod check;

use std::path::Path;

use genkai_model::exit::Exit;

use crate::cli::Report;
use crate::{Failure, found, outputs, platforms, suite, view};

/// `genkai report DIR`.
pub(crate) fn run(flags: &Report) -> Result<Exit, Failure> {
    let (dir, file) = if flags.dir.is_file() {
        (flags.dir.parent().map(Into::into).unwrap_or_default(), flags.dir.clone())
    } else {
        (flags.dir.clone(), flags.dir.join("run.jsonl"))
    };
    if flags.check {
        return check::run(&dir, &file, flags);
    }
    if !file.exists()
        && let Some(joined) = suite::again(&dir)
    {
        one_run_only(flags, &dir)?;
        return joined.show(&dir, flags.quiet, flags.json, flags.color);
    }
    if !file.exists()
        && let Some(both) = platforms::again(&dir)
    {
        return both.show(&dir, flags.quiet, flags.json, flags.markdown, flags.color);
    }
    let record = outputs::record(&file)?;
    let found = found::any(&record);
    let tables = flags.tables.open()?;
    let page = found.write(&record, &dir, flags.svg)?;
    let said = tables.write(&record)?;
    if !flags.quiet {
        found.print(flags.json, flags.markdown, flags.color);
        view::say(&format!("report: {}", page.display()));
        said.iter().for_each(|line| view::say(line));
    }
    Ok(found.exit(&record))
}

/// Refuses the forms that an experiment of several runs does not have.
///
/// # Errors
/// When one was asked for.
fn one_run_only(flags: &Report, dir: &Path) -> Result<(), Failure> {
    let forms = [
        ("--markdown", flags.markdown),
        ("--svg", flags.svg),
        ("--csv", flags.tables.csv.is_some()),
        ("--jtl", flags.tables.jtl.is_some()),
    ];
    let asked: Vec<&str> = forms.iter().filter(|(_, asked)| *asked).map(|(name, _)| *name).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let (dir, asked) = (dir.display(), asked.join(", "));
    Err(Failure::usage(format!(
        "{asked}: {dir} holds several runs; this output exists for a single run only\n  hint: give a part's folder: {dir}/PART"
    )))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn refused(words: &str) -> Option<String> {
        let cli = Cli::try_parse_from(format!("genkai report out {words}").split_whitespace()).unwrap();
        let Command::Report(flags) = cli.command else { unreachable!("{words}") };
        one_run_only(&flags, Path::new("out")).err().map(|failure| failure.message)
    }

    #[test]
    fn forms_of_a_single_run_are_refused_for_several() {
        assert_eq!(refused("--json"), None);
        for form in ["--markdown", "--svg", "--csv x.csv", "--jtl x.jtl"] {
            let name = form.split(' ').next().unwrap();
            let said = refused(form).unwrap_or_else(|| panic!("{form} was ignored"));
            assert!(said.starts_with(&format!("{name}: out holds several runs")), "{said}");
            assert!(said.contains("out/PART"), "{said}");
        }
        assert!(refused("--svg --csv x.csv").unwrap().starts_with("--svg, --csv: "));
    }
}
