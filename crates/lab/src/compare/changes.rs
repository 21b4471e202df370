//! A system and the same with changes, as contenders.

use std::net::SocketAddr;

use genkai_model::comparison::{Contender, Runs};
use genkai_model::event::Change;
use genkai_model::limit::Origin;
use genkai_model::load::Load;
use genkai_model::plan::{ConfigSource, System};
use genkai_model::setting::RequestedChange;

use crate::error::LabError;
use crate::system;

/// What the system without changes is called.
pub const BASELINE: &str = "baseline";
/// What the system with all changes is called.
const TOGETHER: &str = "all together";

/// `system` as it is, then with each change alone, then (if asked for, and if there are several) with all of them. Where a
/// request says what the value is before, and a configuration of genkai's own has another one, it is set; a user's file is believed.
///
/// # Errors
/// When there is no such setting, or a file has another value than a request says, or nothing would change.
pub fn with_changes(
    mut system: System,
    requested: &[RequestedChange],
    load: &Load,
    together: bool,
) -> Result<Vec<Contender>, LabError> {
    let mut all = Vec::new();
    for one in requested {
        all.push(change(&mut system, one, load)?);
    }
    let contender = |name: String, changes: Vec<Change>| {
        let runs = Runs::Server { system: Box::new(system.clone()), changes };
        Contender { name, runs }
    };
    let mut contenders = vec![contender(BASELINE.to_owned(), Vec::new())];
    let name = |one: &Change| format!("{} {} -> {}", one.setting, one.from, one.to);
    contenders.extend(all.iter().map(|one| contender(name(one), vec![one.clone()])));
    if together && all.len() > 1 {
        contenders.push(contender(TOGETHER.to_owned(), all));
    }
    Ok(contenders)
}

fn change(system: &mut System, asked: &RequestedChange, load: &Load) -> Result<Change, LabError> {
    let (mut from, origin) = value_of(system, &asked.setting, load)?;
    if let Some(said) = asked.from.as_ref().filter(|said| **said != from) {
        let ours = system.config == ConfigSource::Generated;
        // Given under whatever name it has.
        if !ours || origin == Origin::Given {
            return Err(LabError::Plan(format!(
                "change \"{asked}\": {} is {from} there, not {said}\n  hint: write \"{} -> {}\", or set it first",
                asked.setting, asked.setting, asked.to
            )));
        }
        system.settings.insert(asked.setting.clone(), said.clone());
        from.clone_from(said);
    }
    if from == asked.to {
        return Err(LabError::Plan(format!("change \"{asked}\": it is {from} already, so nothing would change")));
    }
    Ok(Change { product: system.product.clone(), setting: asked.setting.clone(), from, to: asked.to.clone() })
}

/// The value that a setting has in `system`, for the requests of `load`, and where it comes from.
fn value_of(system: &System, setting: &str, load: &Load) -> Result<(String, Origin), LabError> {
    let dir =
        tempfile::Builder::new().prefix("genkai-check-").tempdir().map_err(LabError::folder(std::env::temp_dir()))?;
    let behind: Option<SocketAddr> = system::placeholder(&system.backend)?;
    let prepared = system::prepare(system, load, behind, dir.path().to_owned())?;
    Ok(prepared.value_of(setting)?)
}
