//! Set up: check, serve in the foreground.

use std::path::Path;
use std::process::Command;

use super::private::Private;
use super::settings::Storage;
use super::{evidence, limits, render};
use crate::cache::counters::Counters;
use crate::cache::{Ground, Setup, listed};
use crate::error::TargetError;

/// Objects in memory.
pub(crate) fn malloc(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    setup(ground, &Storage::Malloc(ground.budget.memory))
}

/// Objects in a file.
pub(crate) fn file(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    let store = ground.folder("store")?;
    let setup = setup(ground, &Storage::File(store.join("objects"), ground.budget.disk))?;
    Ok(Setup { store: Some(store), ..setup })
}

fn setup(ground: &Ground<'_>, storage: &Storage) -> Result<Setup, TargetError> {
    let text = render::render(ground.origin);
    let vcl = ground.write("default.vcl", &text)?;
    let line = format!("-s {}\n-a {}\n-j none\n{text}", storage.argument(), ground.listen);
    let served = served(ground, &vcl, &["-s".to_owned(), storage.argument()])?;
    Ok(Setup { settings: listed(&line, ground.dir), limits: limits::of(), ..served })
}

/// Of a user's VCL, with more arguments.
pub(super) fn copied(ground: &Ground<'_>, private: &Private, more: &[String]) -> Result<Setup, TargetError> {
    for (path, text, _) in &private.files {
        std::fs::write(path, text).map_err(TargetError::files(path))?;
    }
    let main = private.files.first().map_or(ground.dir, |(path, ..)| path);
    served(ground, main, more)
}

/// How a VCL is checked and served.
fn served(ground: &Ground<'_>, vcl: &Path, more: &[String]) -> Result<Setup, TargetError> {
    let work = ground.dir.join("work");
    let mut serve = Command::new(ground.program);
    // -j none: it runs as nobody of importance already.
    serve.args(["-F", "-j", "none", "-a", &ground.listen.to_string()]).args(more);
    serve.arg("-n").arg(&work).arg("-f").arg(vcl);
    let mut check = Command::new(ground.program);
    check.arg("-C").arg("-n").arg(ground.dir.join("check")).arg("-f").arg(vcl);
    let statistics = ground.program.with_file_name("varnishstat");
    let statistics = if statistics.is_file() { statistics } else { "/usr/bin/varnishstat".into() };
    let mut command = vec![statistics.display().to_string(), "-1".to_owned(), "-j".to_owned()];
    command.extend(["-n".to_owned(), work.display().to_string()]);
    command.extend(evidence::ASKED.iter().flat_map(|name| ["-f".to_owned(), (*name).to_owned()]));
    Ok(Setup {
        version: ground.version("-V", "varnish-")?,
        before: vec![check],
        serve,
        settings: Vec::new(),
        limits: Vec::new(),
        store: None,
        counters: Counters::Program { command, read: evidence::counts, output: ground.dir.join("statistics.json") },
        ready: None,
        shared: None,
    })
}
