//! Set up: a run root with a configuration of its own, checked, served in the foreground.

use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::units::Bytes;

use super::settings::Settings;
use super::{evidence, limits, render};
use crate::cache::counters::Counters;
use crate::cache::{Ground, Setup, listed};
use crate::error::TargetError;
use genkai_place::machine;

/// Where distributions put its plug-ins.
const MODULES: [&str; 3] =
    ["/usr/lib/trafficserver/modules", "/usr/libexec/trafficserver", "/usr/local/libexec/trafficserver"];

/// Objects on disk.
pub(crate) fn setup(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    let settings = Settings { listen: ground.listen, disk: ground.budget.disk, memory: Bytes(0) };
    let setup = served(ground)?;
    let mut all = String::new();
    for (name, text) in render::render(&settings, ground.origin, ground.dir) {
        ground.write(&format!("etc/{name}"), &text)?;
        all.push_str(&text.replace("CONFIG ", ""));
    }
    Ok(Setup {
        settings: listed(&all, ground.dir),
        limits: limits::of(machine::hard_descriptors()),
        store: Some(ground.dir.join("store")),
        ..setup
    })
}

/// A run root whose configuration is in its `etc`: how it is checked and served.
pub(super) fn served(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    for folder in ["etc", "data", "run", "log", "store"] {
        ground.folder(folder)?;
    }
    let bin = ground.program.parent().unwrap_or(Path::new("/usr/bin"));
    let modules = MODULES.iter().map(PathBuf::from).find(|folder| folder.is_dir()).unwrap_or_else(|| MODULES[0].into());
    let root = ground.write("runroot.yaml", &render::root(ground.dir, bin, &modules))?;
    let traffic_server = |arguments: &[&str]| {
        let mut command = Command::new(ground.program);
        command.arg(format!("--run-root={}", root.display())).args(arguments);
        command
    };
    Ok(Setup {
        version: ground.version("-V", "Traffic Server ")?,
        before: vec![traffic_server(&["-C", "verify_config"])],
        serve: traffic_server(&[]),
        settings: Vec::new(),
        limits: Vec::new(),
        store: None,
        counters: Counters::Page { path: evidence::PAGE, read: evidence::counts, lag: 3 * render::SYNC },
        ready: Some((ground.dir.join("log/diags.log"), "fully initialized")),
        shared: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_statistics_is_where_the_plug_in_puts_it() {
        assert_eq!(evidence::PAGE.strip_prefix('/'), Some(render::STATISTICS));
    }
}
