//! `genkai explain`.

use genkai_lab::explain;
use genkai_model::exit::Exit;
use genkai_model::explain::Explanation;
use genkai_report::{json, study};

use crate::cli::Explain;
use crate::{Failure, flags, view};

/// Explains each configuration in turn. One that cannot be read ends the command.
pub(crate) fn run(command: &Explain) -> Result<Exit, Failure> {
    let requests = explain::Requests {
        host: command.host.clone(),
        path: flags::path(&command.path)?,
        websocket: command.websocket,
        streams: None,
        headers: None,
        body: (0, 0),
        also: Vec::new(),
    };
    let mut exit = Exit::Holds;
    for (i, config) in command.configs.iter().enumerate() {
        let explanation = explain::explain(command.product.as_deref(), config, &requests, !command.no_ask)?;
        exit = worse(exit, &explanation);
        if i > 0 && !command.json {
            view::print("\n");
        }
        let json = command.json.then(|| json::value(&explanation));
        view::show(json, &study::explain(&explanation), command.color);
    }
    Ok(exit)
}

/// What a configuration makes of the exit code of those before it.
fn worse(before: Exit, explanation: &Explanation) -> Exit {
    match before {
        Exit::Usage => Exit::Usage,
        _ if explanation.is_refused() => Exit::Usage,
        _ if explanation.mistakes().next().is_some() => Exit::Fails,
        before => before,
    }
}
