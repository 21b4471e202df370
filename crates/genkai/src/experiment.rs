//! `genkai experiment`.

use genkai_lab::experiment::{EXPERIMENTS, Size, find};
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;

use crate::cli::{Experiment, ExperimentAction};
use crate::{Failure, tune, view};

/// `genkai experiment list` and `run`.
pub(crate) fn run(command: &Experiment) -> Result<Exit, Failure> {
    let flags = match &command.action {
        ExperimentAction::List => {
            let lines: Vec<String> = EXPERIMENTS.iter().map(|e| format!("{}\n    {}", e.name, e.question)).collect();
            view::print(&lines.join("\n"));
            return Ok(Exit::Holds);
        }
        ExperimentAction::Run(flags) => flags,
    };
    let experiment = find(&flags.name).ok_or_else(|| unknown(&flags.name))?;
    let size = if flags.full { Size::Full } else { Size::Quick };
    tune::run((experiment.plan)(size, &flags.worker_connections), Pin::Apart, &flags.output, false)
}

fn unknown(name: &str) -> Failure {
    let nearest = EXPERIMENTS
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(a.name, name).total_cmp(&strsim::jaro_winkler(b.name, name)))
        .map_or("", |e| e.name);
    Failure::usage(format!(
        "there is no experiment `{name}`\n  hint: did you mean `{nearest}`? `genkai experiment list` shows all"
    ))
}
