//! Everything nginx writes goes into the folder, and nothing may depend on who runs it.

use genkai_model::event::Rewrite;

use super::changes::Changes;
use super::http;
use super::path::joined;
use crate::files::CopyError;
use crate::nginx::config::{Config, Found, lexer};

/// The one error log, in the folder.
pub(super) const ERROR_LOG: &str = "error.log";
/// The pid file, in the folder.
pub(super) const PID: &str = "nginx.pid";
const LOCK: &str = "nginx.lock";

/// Levels that show less than `warn` does.
const QUIETER: [&str; 4] = ["error", "crit", "alert", "emerg"];

/// Modules of `http` that write temporary files, each switched off by `--without-http_NAME_module`; `client_body` is
/// always there.
const TEMPORARY: [&str; 5] = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

pub(super) fn redirect(
    config: &Config,
    changes: &mut Changes<'_>,
    root: bool,
    configure: &str,
) -> Result<(), CopyError> {
    for found in config.walk().into_iter().filter(|f| !f.is_entry()) {
        one(changes, &found, root);
    }
    defaults(config, changes, configure)
}

fn one(changes: &mut Changes<'_>, found: &Found<'_>, root: bool) {
    let name = String::from_utf8_lossy(found.directive.name()).into_owned();
    let args = found.args();
    match (&*name, &args[..]) {
        ("pid", _) => folder(changes, found, PID),
        ("lock_file", _) => folder(changes, found, LOCK),
        ("error_log", [_, ..]) => error_log(changes, found, &args),
        ("access_log", [path, ..]) if path != "off" => access_log(changes, found, &args),
        ("user", _) if !root => changes.drop(found),
        ("daemon" | "master_process", _) => changes.drop(found),
        ("working_directory", _) => changes.drop(found),
        ("google_perftools_profiles", _) => changes.drop(found),
        (n, [path, ..]) if n.ends_with("_temp_path") => moved(changes, found, "temp", path),
        (n, [path, ..]) if n.ends_with("_cache_path") => moved(changes, found, "cache", path),
        (n, [to]) if is_store(n) && to != "off" => {
            changes.set(found, &["off".to_owned()]);
        }
        _ => {}
    }
}

fn is_store(name: &str) -> bool {
    name.strip_suffix("_store").is_some_and(|user| TEMPORARY.contains(&user))
}

fn folder(changes: &mut Changes<'_>, found: &Found<'_>, name: &str) {
    let path = joined(&changes.dir, name);
    changes.set(found, &[path]);
}

/// The first argument moves into a subfolder, the others stay.
fn moved(changes: &mut Changes<'_>, found: &Found<'_>, subfolder: &str, path: &str) {
    let mut args = found.args();
    args[0] = changes.path(subfolder, path).to_string_lossy().into_owned();
    changes.set(found, &args);
}

/// All errors go to one file, from `warn` on: below it nginx is silent on the first signs of running out of connections.
pub(super) fn error_log(changes: &mut Changes<'_>, found: &Found<'_>, args: &[String]) {
    let level = args.get(1).map_or("error", String::as_str);
    let level = if QUIETER.contains(&level) { "warn" } else { level };
    let path = joined(&changes.dir, ERROR_LOG);
    changes.set(found, &[path, level.to_owned()]);
}

/// Logs keep their format and conditions. Variables in the name are taken literally.
fn access_log(changes: &mut Changes<'_>, found: &Found<'_>, args: &[String]) {
    let name = if args[0].starts_with("syslog:") { "syslog.log" } else { &args[0] };
    let mut new = args.to_vec();
    new[0] = changes.path("logs", name).to_string_lossy().into_owned();
    changes.set(found, &new);
}

/// What is not in the user's files gets compiled-in defaults, which point outside the folder: it is written out.
fn defaults(config: &Config, changes: &mut Changes<'_>, configure: &str) -> Result<(), CopyError> {
    let quoted = |path: &str| String::from_utf8_lossy(&lexer::quote(path.as_bytes())).into_owned();
    let dir = changes.dir.clone();
    for (name, file, more) in [("pid", PID, ""), ("lock_file", LOCK, ""), ("error_log", ERROR_LOG, " warn")] {
        if config.find(&[], name).is_empty() {
            changes.at_top(&format!("{name} {}{more};", quoted(&joined(&dir, file))));
        }
    }
    let Some(http) = http(config) else { return Ok(()) };
    let inside = http.inside();
    let has = |name: &str| inside.iter().any(|f| f.directive.is(name));
    let mut texts = Vec::new();
    if !has("access_log") {
        texts.push(format!("access_log {};", quoted(&joined(&dir, "logs/access.log"))));
    }
    if !has("root") {
        texts.push(format!("root {};", quoted(&joined(config.prefix(), "html"))));
    }
    for module in TEMPORARY {
        let name = format!("{module}_temp_path");
        if !has(&name) && !configure.contains(&format!("--without-http_{module}_module")) {
            texts.push(format!("{name} {};", quoted(&joined(&dir, &format!("temp/{module}")))));
        }
    }
    for text in texts {
        let edit = config.insert_at_start(&http, &text)?;
        changes.list(Rewrite { from: String::new(), to: text.clone(), place: http.place() });
        changes.keep(edit);
    }
    Ok(())
}
