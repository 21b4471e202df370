//! Set up: a run root with a configuration of its own, checked, served in the foreground.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::private::{self, Private};
use super::records::Records;
use super::{evidence, limits, render};
use crate::cache::counters::Counters;
use crate::cache::{Messages, Sandbox, Setup, listed};
use crate::error::TargetError;
use genkai_place::machine;

/// Where distributions put its plug-ins.
const MODULES: [&str; 3] =
    ["/usr/lib/trafficserver/modules", "/usr/libexec/trafficserver", "/usr/local/libexec/trafficserver"];

/// Objects on disk.
pub(crate) fn setup(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    let setup = served(at)?;
    let mut all = String::new();
    for (name, text) in render::render(at) {
        at.write(&format!("etc/{name}"), &text)?;
        all.push_str(&text.replace("CONFIG ", ""));
    }
    Ok(Setup {
        settings: listed(&all, at.dir),
        limits: limits::with(None, machine::hard_descriptors()),
        store: Some(at.dir.join("store")),
        ..setup
    })
}

/// A private copy of the user's configuration.
pub(super) fn copied(at: &Sandbox<'_>, records: &Records) -> Result<(Private, Setup), TargetError> {
    let setup = served(at)?;
    let private = private::build(records, at)?;
    Ok((private, Setup { messages: vec![Messages::of("log/diags.log", limits::signature)], ..setup }))
}

/// A run root whose configuration is in its `etc`: how it is checked and served.
fn served(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    for folder in ["etc", "data", "run", "log", "store"] {
        at.folder(folder)?;
    }
    let bin = at.program.path().parent().unwrap_or(Path::new("/usr/bin"));
    let modules = MODULES.iter().map(PathBuf::from).find(|folder| folder.is_dir()).unwrap_or_else(|| MODULES[0].into());
    let root = at.write("runroot.yaml", &render::root(at.dir, bin, &modules))?;
    let traffic_server = |arguments: &[&str]| {
        let mut command = Command::new(at.program.path());
        command.arg(format!("--run-root={}", root.display())).args(arguments);
        command
    };
    let counters =
        Counters::Page { path: evidence::PAGE, read: evidence::counts, lag: 3 * render::SYNC, gauges: Vec::new() };
    let check = traffic_server(&["-C", "verify_config"]);
    let setup = Setup::new(check, traffic_server(&[]), counters);
    Ok(Setup { ready: Some((at.dir.join("log/diags.log"), "fully initialized")), ..setup })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_statistics_is_where_the_plug_in_puts_it() {
        assert_eq!(evidence::PAGE.strip_prefix('/'), Some(render::STATISTICS));
    }
}
