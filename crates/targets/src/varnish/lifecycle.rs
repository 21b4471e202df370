//! Set up: check, serve in the foreground.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::private::{self, Private};
use super::settings::Config;
use super::vcl::Backend;
use super::{evidence, limits};
use crate::cache::answers::AnswerLog;
use crate::cache::counters::{Counters, Gauges};
use crate::cache::{Sandbox, Setup, listed};
use crate::error::TargetError;

/// Objects in memory of the process.
pub(crate) fn malloc(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    setup(at, &format!("malloc,{}", at.budget.memory.0))
}

/// Objects in a file that is mapped into memory; the kernel decides what stays there.
pub(crate) fn file(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    let store = at.folder("store")?;
    let setup = setup(at, &format!("file,{},{}", store.join("objects").display(), at.budget.disk.0))?;
    Ok(Setup { store: Some(store), ..setup })
}

/// With this storage (`-s`).
fn setup(at: &Sandbox<'_>, storage: &str) -> Result<Setup, TargetError> {
    let text = render(at.origin());
    let vcl = at.write("default.vcl", &text)?;
    let line = format!("-s {storage}\n-a {}\n-j none\n{text}", at.listen);
    let served = served(at, &vcl, &["-s".to_owned(), storage.to_owned()], None)?;
    Ok(Setup { settings: listed(&line, at.dir), limits: limits::of(), ..served })
}

/// The built-in VCL before `origin`.
fn render(origin: SocketAddr) -> String {
    let (host, port) = (origin.ip(), origin.port());
    format!(
        "\
# A cache, written by genkai.
vcl 4.1;

backend origin {{
    .host = \"{host}\";
    .port = \"{port}\";
}}
"
    )
}

/// A private copy of the user's VCL.
pub(super) fn copied(at: &Sandbox<'_>, config: &Config) -> Result<(Private, Setup), TargetError> {
    let private = private::build(&config.vcl, at)?;
    for (path, text, _) in &private.files {
        std::fs::write(path, text).map_err(TargetError::files(path))?;
    }
    let main = private.files.first().map_or(at.dir, |(path, ..)| path);
    let mut setup = served(at, main, &config.arguments(), Some(evidence::gauges))?;
    let asking = |program: PathBuf, words: &[&str]| {
        let all = [program.display().to_string(), "-n".to_owned(), work(at).display().to_string()];
        all.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect()
    };
    let is_probed = has_probes(config);
    if let (Counters::Program { beside: asked, .. }, Some(program)) =
        (&mut setup.counters, beside(at, "varnishadm").filter(|_| is_probed && are_several(config)))
    {
        *asked = Some((asking(program, &evidence::BACKENDS), evidence::down));
    }
    let program = beside(at, "varnishlog").filter(|_| config.vcl.backends().any(|(.., backend)| has_probe(backend)));
    setup.settled =
        program.map(|program| (asking(program, &evidence::PROBES), evidence::are_probed as fn(&str) -> bool));
    if let Some(program) = at.backend.is_none().then(|| beside(at, "varnishncsa")).flatten().filter(|_| is_told(config))
    {
        let log = at.dir.join("answers.log");
        let mut command = Command::new(program);
        command.args(["-b", "-c", "-q", evidence::FAILED, "-F", evidence::ANSWER, "-w"]).arg(&log);
        command.arg("-n").arg(work(at));
        let names = config.vcl.backends().map(|(.., backend)| backend.name.clone()).collect();
        setup.answers = Some(AnswerLog::of(evidence::SUBJECT, log, evidence::answer, names));
        setup.beside = Some(command);
    }
    Ok((private, setup))
}

/// Whether there is anything to be told of who answered what: several backends, or a VCL that sets statuses or gives old copies.
fn is_told(config: &Config) -> bool {
    let names = ["beresp.status", "resp.status", "beresp.grace"];
    are_several(config) || names.iter().any(|name| config.vcl.mentions(name) > 0)
}

/// Whether there are several backends.
fn are_several(config: &Config) -> bool {
    config.vcl.backends().filter(|(.., backend)| !backend.is_none).count() > 1
}

/// Whether a backend may be held to be sick: by a probe of its own, or by one called `default`.
fn has_probes(config: &Config) -> bool {
    config.vcl.backends().any(|(.., backend)| has_probe(backend)) || config.vcl.mentions("probe") > 0
}

fn has_probe(backend: &Backend) -> bool {
    backend.attributes.iter().any(|one| one.name == "probe")
}

/// Its working folder.
fn work(at: &Sandbox<'_>) -> PathBuf {
    at.dir.join("work")
}

/// A program of Varnish's: beside the server, else where systems have it.
fn beside(at: &Sandbox<'_>, name: &str) -> Option<PathBuf> {
    let near = at.program.path().with_file_name(name);
    [near, Path::new("/usr/bin").join(name)].into_iter().find(|path| path.is_file())
}

/// How a VCL is checked and served, with more arguments. A comparison of caches asks for no `gauges`: that takes time of the machine's.
fn served(at: &Sandbox<'_>, vcl: &Path, more: &[String], gauges: Option<Gauges>) -> Result<Setup, TargetError> {
    let work = work(at);
    let mut serve = Command::new(at.program.path());
    // -j none: it runs as nobody of importance already.
    serve.args(["-F", "-j", "none", "-a", &at.listen.to_string()]).args(more);
    serve.arg("-n").arg(&work).arg("-f").arg(vcl);
    let mut check = Command::new(at.program.path());
    check.arg("-C").arg("-n").arg(at.dir.join("check")).arg("-f").arg(vcl);
    let statistics = beside(at, "varnishstat").unwrap_or_else(|| "/usr/bin/varnishstat".into());
    let mut command = vec![statistics.display().to_string(), "-1".to_owned(), "-j".to_owned()];
    command.extend(["-n".to_owned(), work.display().to_string()]);
    command.extend(evidence::ASKED.iter().flat_map(|name| ["-f".to_owned(), (*name).to_owned()]));
    if gauges.is_some() {
        command.extend(evidence::OF_BACKENDS.iter().flat_map(|name| ["-f".to_owned(), (*name).to_owned()]));
    }
    let (read, output) = (evidence::counts, at.dir.join("statistics.json"));
    let counters = Counters::Program { command, read, gauges, beside: None, output };
    Ok(Setup::new(check, serve, counters))
}
