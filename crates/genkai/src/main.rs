//! `genkai`: makes the load, finds the limit, names the setting, proves the change. Here are flags, printers and exit
//! codes only.

mod caches;
mod claims;
mod cli;
mod cluster;
mod compare;
mod container;
mod doctor;
mod experiment;
mod explain;
mod flags;
mod found;
mod generate;
mod http2;
mod interrupt;
mod keys;
mod kubernetes;
mod load;
mod locust;
mod outputs;
mod placement;
mod platforms;
mod report;
mod rooms;
mod scenario;
mod serve;
mod servers;
mod site;
mod source;
mod study;
mod suite;
mod target;
mod tune;
mod view;
mod websocket;
mod workplace;

use std::process::ExitCode;

use clap::Parser;
use genkai_model::exit::Exit;

/// A command that did not come to a verdict: its message, and the code that says whose fault it is.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// Wrong flags, files or settings.
    fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, message: message.into() }
    }

    /// The machine cannot do it.
    fn environment(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Environment, message: message.into() }
    }
}

impl From<genkai_lab::LabError> for Failure {
    fn from(e: genkai_lab::LabError) -> Failure {
        Failure { exit: e.exit(), message: e.to_string() }
    }
}

fn main() -> ExitCode {
    interrupt::survive_full_files();
    let cli = cli::Cli::parse();
    let exit = run(cli.command).unwrap_or_else(|failure| {
        view::say(&view::error(&failure.message));
        failure.exit
    });
    let exit = if view::lost() { Exit::Environment } else { exit };
    ExitCode::from(exit.code())
}

fn run(command: cli::Command) -> Result<Exit, Failure> {
    match command {
        cli::Command::Tune(command) => tune::any(&command.what),
        cli::Command::Claims(flags) => claims::run(&flags),
        cli::Command::Compare(flags) => compare::run(&flags),
        cli::Command::Explain(command) => explain::run(&command),
        cli::Command::Experiment(command) => experiment::run(&command),
        cli::Command::Load(flags) => load::run(&flags),
        cli::Command::Doctor(flags) => doctor::run(&flags),
        cli::Command::Worker(flags) => match flags.command() {
            Some(load) => run(load.command),
            None => worker(),
        },
        cli::Command::Kubernetes(command) => kubernetes::run(&command),
        cli::Command::Pod { patience } => pod(patience.duration()),
        cli::Command::Man(flags) => generate::man(&flags),
        cli::Command::Completions(flags) => generate::completions(&flags),
        cli::Command::Report(flags) => report::run(&flags),
        cli::Command::Serve(cli::Serve { server: cli::Server::Origin(flags) }) => serve::origin(&flags),
        cli::Command::Serve(cli::Serve { server: cli::Server::Echo(flags) }) => serve::echo(&flags),
        cli::Command::Serve(cli::Serve { server: cli::Server::Rooms(flags) }) => serve::rooms(&flags),
        cli::Command::Serve(cli::Serve { server: cli::Server::Link(flags) }) => serve::link(&flags),
    }
}

/// `genkai worker`: what `--processes` and `--on` start.
fn worker() -> Result<Exit, Failure> {
    genkai_lab::generator::serve(std::io::BufReader::new(std::io::stdin()), std::io::stdout())?;
    Ok(Exit::Holds)
}

/// `genkai pod`: what pods of `--on kubernetes:` run.
fn pod(patience: std::time::Duration) -> Result<Exit, Failure> {
    genkai_lab::generator::keep(&program()?, std::io::BufReader::new(std::io::stdin()), patience)?;
    Ok(Exit::Holds)
}

/// Our own executable, for processes of ours.
pub(crate) fn program() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|e| Failure::environment(format!("cannot find my own program: {e}")))
}
