//! `genkai man` and `genkai completions`: what is installed beside the program, made from the same definition as `--help`.

use std::io;

use clap::CommandFactory;
use genkai_model::exit::Exit;

use crate::cli::{Cli, Completions, Man};
use crate::{Failure, view};

/// `genkai man`: a page for each command.
pub(crate) fn man(flags: &Man) -> Result<Exit, Failure> {
    let failed = |e: io::Error| Failure::environment(format!("cannot write to {}: {e}", flags.out.display()));
    std::fs::create_dir_all(&flags.out).map_err(failed)?;
    clap_mangen::generate_to(all_shown(Cli::command()), &flags.out).map_err(failed)?;
    Ok(Exit::Holds)
}

/// Every flag shown in short help, too: a manual page has no text of those that are not.
fn all_shown(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(all_shown)
}

/// `genkai completions SHELL`.
pub(crate) fn completions(flags: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "genkai", &mut script);
    view::print(&String::from_utf8_lossy(&script));
    Ok(Exit::Holds)
}
