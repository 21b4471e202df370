//! Who is compared: words of the command line to contenders.

use std::path::{Path, PathBuf};

use genkai_lab::{LabError, compare};
use genkai_model::comparison::{Contender, Runs};
use genkai_model::load::Load;
use genkai_model::plan::{Backend, ConfigSource, Front, System};
use genkai_scenario::{NamedSystem, Systems, What};
use genkai_targets::catalog;

use crate::cli::Compare;
use crate::{Failure, target, tune};

/// Who is compared.
pub(super) struct Who {
    pub(super) title: String,
    pub(super) base: Option<String>,
    pub(super) contenders: Vec<Contender>,
}

/// Those that flags name.
pub(super) fn read(flags: &Compare, load: &Load) -> Result<Who, Failure> {
    match &flags.base {
        Some(base) => changes(flags, base, load),
        None => rivals(flags, load),
    }
}

/// What a word of the command line names.
enum Named {
    Url(String),
    Product(String),
    /// A configuration: a file, or a folder of files.
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
    if is_systems(text) {
        return Err(Failure::usage(format!("`{text}`: a file of systems stands alone; put all contenders into it")));
    }
    if path.is_file() {
        return Ok(Named::File(path.to_owned()));
    }
    let names = catalog::names();
    if names.iter().any(|name| name == text) {
        return Ok(Named::Product(text.to_owned()));
    }
    if path.is_dir() {
        return Ok(Named::File(path.to_owned()));
    }
    Err(Failure::usage(format!(
        "`{text}`: no such file, and not one of {}, http://127.0.0.1:PORT\n  hint: name a configuration (a file, or its folder where a product has one), a product, or an address",
        names.join(", ")
    )))
}

/// Whether a word names a file of systems.
fn is_systems(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|end| end == "yaml" || end == "yml")
}

/// The systems of a file.
fn listed(flags: &Compare, file: &str, load: &Load) -> Result<(Systems, Vec<Contender>), Failure> {
    let path = Path::new(file);
    let text = std::fs::read_to_string(path).map_err(|e| Failure::usage(format!("cannot read {file}: {e}")))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let products = catalog::systems();
    let products: Vec<&str> = products.iter().map(String::as_str).collect();
    let all =
        genkai_scenario::systems(file, &text, folder, &products).map_err(|fault| Failure::usage(fault.to_string()))?;
    let generated = all.systems.iter().any(|one| matches!(one.what, What::Product(_)));
    let stand = all.systems.iter().all(|one| matches!(one.what, What::Url(_)));
    let backend = match (&flags.backend, &all.backend) {
        (None, Some(said)) => said.clone(),
        (None, None) if stand => Backend::Kept,
        _ => backend(flags, generated, load)?,
    };
    let contenders = all.systems.iter().map(|one| listed_one(flags, one, &backend)).collect::<Result<Vec<_>, _>>()?;
    Ok((all, contenders))
}

fn listed_one(flags: &Compare, one: &NamedSystem, backend: &Backend) -> Result<Contender, Failure> {
    let named = match &one.what {
        What::Url(url) => named(url)?,
        What::File(path, _) if !path.exists() => {
            return Err(Failure::usage(format!("{}: there is no file {}", one.name, path.display())));
        }
        What::File(path, _) => Named::File(path.clone()),
        What::Product(product) => named(product)?,
    };
    let mut runs = runs(flags, named, backend)?;
    if let Runs::Server { system, .. } = &mut runs {
        if let What::File(_, Some(product)) = &one.what {
            system.product.clone_from(product);
        }
        system.settings.extend(one.settings.clone());
    }
    Ok(Contender { name: one.name.clone(), runs })
}

fn rivals(flags: &Compare, load: &Load) -> Result<Who, Failure> {
    if let [one] = &flags.contenders[..]
        && is_systems(one)
    {
        let (all, contenders) = listed(flags, one, load)?;
        let title = if all.title.is_empty() { format!("compare {one}") } else { all.title };
        return Ok(Who { title, base: None, contenders });
    }
    let all = flags.contenders.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
    let generated = all.iter().any(|one| matches!(one, Named::Product(_)));
    let files = all.iter().any(|one| matches!(one, Named::File(_)));
    let backend = match (generated, files) {
        (false, false) if flags.backend.is_none() => Backend::Kept,
        _ => backend(flags, generated, load)?,
    };
    let mut contenders: Vec<Contender> = Vec::new();
    for (text, one) in flags.contenders.iter().zip(all) {
        let same = contenders.iter().filter(|c| c.name == *text || c.name.starts_with(&format!("{text} ("))).count();
        let name = if same > 0 { format!("{text} ({})", same + 1) } else { text.clone() };
        contenders.push(Contender { name, runs: runs(flags, one, &backend)? });
    }
    Ok(Who { title: format!("compare {}", flags.contenders.join(" ")), base: None, contenders })
}

/// Refuses a path in the URL of a contender: what is compared gets the same requests.
fn no_path(url: &str) -> Result<(), Failure> {
    match tune::beyond_address(url) {
        Some(path) => Err(Failure::usage(format!(
            "{url}: `{path}` would have no effect; servers are compared, each by its host and port, and all get the same requests\n  \
             hint: give the path to request with --path; two paths of one server are two loads, each a run of `genkai load`"
        ))),
        None => Ok(()),
    }
}

fn runs(flags: &Compare, named: Named, backend: &Backend) -> Result<Runs, Failure> {
    let (product, config) = match named {
        Named::Url(url) => {
            target::local_only(&url, &flags.origin.allow_remote)?;
            no_path(&url)?;
            return Ok(Runs::Url(url));
        }
        Named::Product(product) => (product, ConfigSource::Generated),
        Named::File(path) => (catalog::guess(&path).map_err(LabError::from)?.to_owned(), ConfigSource::File(path)),
    };
    let system = System {
        product,
        program: None,
        command: None,
        config,
        settings: tune::settings("--set", tune::SETTING, &flags.set)?,
        backend: backend.clone(),
        front: Front { tls: flags.tls, listen: tune::listen(flags.origin.listen)?, ..Front::default() },
        allow_remote: flags.origin.allow_remote.clone(),
        start_applications: false,
    };
    Ok(Runs::Server { system: Box::new(system), changes: Vec::new() })
}

/// What stands behind all of them.
fn backend(flags: &Compare, generated: bool, load: &Load) -> Result<Backend, Failure> {
    let source = if generated { ConfigSource::Generated } else { ConfigSource::File(PathBuf::new()) };
    tune::backend(flags.backend.as_deref(), &flags.origin, &load.protocol, &source)
}

/// A system, and the same with one change each.
fn changes(flags: &Compare, base: &str, load: &Load) -> Result<Who, Failure> {
    let runs = if is_systems(base) {
        let (_, contenders) = listed(flags, base, load)?;
        let [one] = <[Contender; 1]>::try_from(contenders).map_err(|all| {
            Failure::usage(format!("--base {base}: there are {} systems in it; changes need one", all.len()))
        })?;
        one.runs
    } else {
        let named = named(base)?;
        let backend = backend(flags, matches!(named, Named::Product(_)), load)?;
        runs(flags, named, &backend)?
    };
    let Runs::Server { system, .. } = runs else {
        return Err(Failure::usage(format!(
            "--base {base}: what already runs cannot be changed; name its configuration file"
        )));
    };
    let contenders = compare::with_changes(*system, &flags.change, load, flags.all_together)?;
    Ok(Who { title: format!("compare changes of {base}"), base: Some(compare::BASELINE.to_owned()), contenders })
}

#[cfg(test)]
mod tests {
    use genkai_scenario::{schema, systems};

    use super::*;

    #[test]
    fn the_committed_schemas_name_the_products_that_there_are() {
        let names = catalog::systems();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (name, made) in
            [("systems", schema::systems(&names)), ("claim", schema::claim(&catalog::proxies().collect::<Vec<_>>()))]
        {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.schema.json"));
            if std::env::var_os("GENKAI_UPDATE_SCHEMAS").is_some() {
                std::fs::write(&file, &made).unwrap();
            }
            let committed = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(committed == made, "{} is out of date: run `make schemas`", file.display());
        }
    }

    #[test]
    fn a_file_of_systems_takes_every_name_and_refuses_others() {
        let names = catalog::systems();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let read = |name: &str| {
            systems("s.yaml", &format!("systems:\n  - {{name: a, product: {name}}}\n"), Path::new("/"), &names)
        };
        assert!(
            names.len() >= catalog::proxies().count() + catalog::caches::CACHES.len()
                && names.iter().all(|name| read(name).is_ok()),
            "{names:?}"
        );
        assert!(read("squib").is_err());
    }
}
