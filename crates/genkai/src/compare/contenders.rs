//! Who is compared: words of the command line to contenders.

use std::path::{Path, PathBuf};

use genkai_lab::compare;
use genkai_lab::experiment::{self, Size};
use genkai_model::comparison::{Contender, Runs, Wish};
use genkai_model::event::Change;
use genkai_model::load::Load;
use genkai_model::objective::Objective;
use genkai_model::plan::{Backend, ConfigSource, Plan, System};
use genkai_targets::product::PRODUCTS;

use crate::cli::Compare;
use crate::{Failure, tune};

/// Who is compared.
pub(super) struct Who {
    pub(super) title: String,
    pub(super) base: Option<String>,
    pub(super) contenders: Vec<Contender>,
}

/// What the baseline of changes is called.
pub(super) const BASELINE: &str = "baseline";

/// Those that flags name.
pub(super) fn read(flags: &Compare, load: &Load) -> Result<Who, Failure> {
    match &flags.base {
        Some(base) => changes(flags, base, load),
        None => rivals(flags),
    }
}

/// What a word of the command line names.
enum Named {
    Url(String),
    Product(&'static str),
    File(PathBuf),
}

fn named(text: &str) -> Result<Named, Failure> {
    if text.contains("://") {
        if !text.starts_with("http://") || text.contains('@') {
            return Err(Failure::usage(format!("`{text}`: a contender's address is http://127.0.0.1:PORT")));
        }
        return Ok(Named::Url(text.trim_end_matches('/').to_owned()));
    }
    let path = Path::new(text);
    if path.is_file() {
        return Ok(Named::File(path.to_owned()));
    }
    if let Some(product) = PRODUCTS.iter().find(|product| **product == text) {
        return Ok(Named::Product(product));
    }
    Err(Failure::usage(format!(
        "`{text}`: no such file, and not one of {}, http://127.0.0.1:PORT\n  hint: name a configuration file, a product, or an address",
        PRODUCTS.join(", ")
    )))
}

fn rivals(flags: &Compare) -> Result<Who, Failure> {
    let all = flags.contenders.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
    let generated = all.iter().any(|one| matches!(one, Named::Product(_)));
    let files = all.iter().any(|one| matches!(one, Named::File(_)));
    let backend = match (generated, files) {
        (false, false) if flags.backend.is_none() => Backend::Kept,
        _ => backend(flags, generated)?,
    };
    let mut contenders: Vec<Contender> = Vec::new();
    for (text, one) in flags.contenders.iter().zip(all) {
        let same = contenders.iter().filter(|c| c.name == *text || c.name.starts_with(&format!("{text} ("))).count();
        let name = if same > 0 { format!("{text} ({})", same + 1) } else { text.clone() };
        contenders.push(Contender { name, runs: runs(flags, one, &backend)? });
    }
    Ok(Who { title: format!("compare {}", flags.contenders.join(" ")), base: None, contenders })
}

fn runs(flags: &Compare, named: Named, backend: &Backend) -> Result<Runs, Failure> {
    let (product, config) = match named {
        Named::Url(url) => {
            tune::local_only(&url, &flags.origin.allow_remote)?;
            tune::no_path(&url)?;
            return Ok(Runs::Url(url));
        }
        Named::Product(product) => (product, ConfigSource::Generated),
        Named::File(path) => (genkai_targets::explain::guess(&path), ConfigSource::File(path)),
    };
    let system = System {
        product: product.to_owned(),
        program: None,
        config,
        settings: tune::settings(&flags.set)?,
        backend: backend.clone(),
        allow_remote: flags.origin.allow_remote.clone(),
    };
    Ok(Runs::Server { system: Box::new(system), changes: Vec::new() })
}

/// What stands behind all of them.
fn backend(flags: &Compare, generated: bool) -> Result<Backend, Failure> {
    let source = if generated { ConfigSource::Generated } else { ConfigSource::File(PathBuf::new()) };
    tune::backend(flags.backend.as_deref(), &flags.origin, &source)
}

/// A system, and the same with one change each.
fn changes(flags: &Compare, base: &str, load: &Load) -> Result<Who, Failure> {
    let named = named(base)?;
    let backend = backend(flags, matches!(named, Named::Product(_)))?;
    let Runs::Server { mut system, .. } = runs(flags, named, &backend)? else {
        return Err(Failure::usage(format!("--base {base}: what already runs cannot be changed; name its configuration file")));
    };
    let mut all = Vec::new();
    for wish in &flags.change {
        all.push(change(&mut system, wish, load)?);
    }
    let contender = |name: String, changes: Vec<Change>| Contender { name, runs: Runs::Server { system: system.clone(), changes } };
    let mut contenders = vec![contender(BASELINE.to_owned(), Vec::new())];
    contenders.extend(all.iter().map(|one| {
        contender(format!("{} {} -> {}", one.setting, one.from, one.to), vec![one.clone()])
    }));
    if flags.all_together && all.len() > 1 {
        contenders.push(contender("all together".to_owned(), all.clone()));
    }
    Ok(Who { title: format!("compare changes of {base}"), base: Some(BASELINE.to_owned()), contenders })
}

/// A change with the value that is in force before. Where that is said and a configuration of genkai's own has another one, it
/// is set; a user's file is believed.
fn change(system: &mut System, wish: &Wish, load: &Load) -> Result<Change, Failure> {
    let value = |system: &System| Ok::<_, Failure>(compare::value_of(&plan(system, load), &wish.setting)?);
    let mut from = value(system)?;
    if let Some(said) = wish.from.as_ref().filter(|said| **said != from) {
        match &system.config {
            ConfigSource::Generated if !system.settings.contains_key(&wish.setting) => {
                system.settings.insert(wish.setting.clone(), said.clone());
                from = value(system)?;
            }
            _ => {
                return Err(Failure::usage(format!(
                    "--change \"{wish}\": {} is {from} there, not {said}\n  hint: write \"{} -> {}\", or change it first with --set \
                     {}={said}",
                    wish.setting, wish.setting, wish.to, wish.setting
                )));
            }
        }
    }
    if from == wish.to {
        return Err(Failure::usage(format!("--change \"{wish}\": it is {from} already, so nothing would change")));
    }
    Ok(Change { product: system.product.clone(), setting: wish.setting.clone(), from, to: wish.to.clone() })
}

/// A plan with nothing but a system, to be asked for its values.
fn plan(system: &System, load: &Load) -> Plan {
    Plan {
        title: String::new(),
        system: system.clone(),
        load: load.clone(),
        objective: Objective::default(),
        procedure: experiment::procedure(Size::Quick),
        cluster: None,
        contest: None,
        comparison: None,
    }
}
