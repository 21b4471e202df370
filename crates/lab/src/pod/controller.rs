//! Who stands before a server in a cluster: Services and Ingresses, and the product under test where it is the ingress controller. What they have
//! is told; the load does not go through them.

use std::collections::{BTreeMap, BTreeSet};

use genkai_kubernetes::ClusterError;
use genkai_kubernetes::server::{Beside, CommandOutput, Home};
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::Load;
use genkai_model::plan::ConfigSource;
use genkai_place::inside;
use genkai_targets::product::{Inside, Printed};

use super::{first, has, one_line};

/// Who stands before the user's pods, a sentence each.
pub(super) fn told(home: &Home, inside: &Inside, source: &ConfigSource, load: &Load) -> Vec<String> {
    let mut all = vec![format!("before its own pods, and not in the way of this load: {}", home.front().join("; "))];
    if let Some(beside) = home.beside() {
        let what =
            format!("the ingress controller in the pod {} ({}), not in the way either,", beside.name(), inside.product);
        all.push(match read(&beside, inside, source, load) {
            Ok(has) => format!("{what} has {has}"),
            Err(why) => format!("what {what} has was not seen: {why}"),
        });
    }
    all
}

/// What an ingress controller has, read by its own commands.
fn read(beside: &Beside<'_>, inside: &Inside, source: &ConfigSource, load: &Load) -> Result<String, String> {
    let run = |command: &[String]| {
        let failed = |e: ClusterError| e.why;
        let said = beside.run(command).map_err(failed)?;
        match said {
            CommandOutput { failed: Some(why), errors, .. } => Err(format!("{} {}", one_line(&why), one_line(&errors))),
            said => Ok(said),
        }
    };
    let looked = run(&["sh".to_owned(), "-c".to_owned(), inside::facts("")])?;
    let (facts, title) = first(&looked.output, inside)?;
    let answers = (inside.asks)(&title).into_iter().map(|command| run(&command).map(|said| (said.output, said.errors)));
    let answers = answers.collect::<Result<Vec<_>, _>>()?;
    let none = BTreeMap::new();
    let contained = (inside.read)(Printed {
        answers: &answers,
        source: source.clone(),
        machine: facts.machine.clone(),
        folder: Home::folder(),
        settings: &none,
        path: &load.request.path,
        host: &load.request.host,
        websocket: false,
        allow_remote: None,
    })
    .map_err(|e| one_line(&e.to_string()))?;
    let limits = contained.limits();
    let mut seen = BTreeSet::new();
    let values: Vec<String> = limits
        .iter()
        .filter(|limit| {
            !limit.value.is_empty() && limit.subject == inside.product && seen.insert(limit.setting.clone())
        })
        .map(value)
        .collect();
    Ok(format!("{}; {}", has(&facts), values.join(", ")))
}

/// A value, and where it is written.
fn value(limit: &Limit) -> String {
    let at = match &limit.origin {
        Origin::File { path, line } => format!(" ({}:{line})", path.display()),
        _ => String::new(),
    };
    format!("{} {}{at}", limit.setting, limit.value)
}
