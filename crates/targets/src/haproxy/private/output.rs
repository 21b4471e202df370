//! What HAProxy writes, and whom it tells: into the private copy's own log and socket, or nobody.

use std::path::Path;

use super::changes::{Changes, without};
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::evidence::{BACKEND, LINE};

/// Sections that talk to the outside and serve no request.
const SECTIONS: &[&str] = &["peers", "mailers", "log-forward", "log-profile", "ring", "program", "traces"];
/// Lines of `global` that change the process, write files or pin it.
const GLOBAL: &[&str] = &[
    "chroot",
    "daemon",
    "pidfile",
    "stats socket",
    "log",
    "log-send-hostname",
    "log-tag",
    "master-worker",
    "mworker-max-reloads",
    "cpu-map",
    "cpu-policy",
    "cpu-set",
    "numa-cpu-mapping",
    "unix-bind",
    "setcap",
    "server-state-file",
    "server-state-base",
    "stats-file",
    "zero-warning",
    "quiet",
    "debug",
    "tune.ssl.keylog",
    "set-dumpable",
];
/// Whom it runs as: kept where HAProxy starts as root.
const USER: &[&str] = &["user", "group", "uid", "gid"];
/// Lines of proxies about logs and mail.
const PROXY: &[&str] = &[
    "log",
    "log-format",
    "log-format-sd",
    "log-tag",
    "log-steps",
    "error-log-format",
    "email-alert",
    "load-server-state-from-file",
    "server-state-file-name",
    "option httplog",
    "option tcplog",
    "option httpslog",
    "option dontlognull",
    "option dontlog-normal",
    "option logasap",
    "option log-separate-errors",
];

/// Redirects all output. Sessions that ended as they should are not logged: their number has no bound.
pub(super) fn redirect(config: &Config, changes: &mut Changes<'_>, root: bool, socket: &Path) {
    for section in config.sections() {
        let inside = config.inside(section);
        match section.kind.as_str() {
            kind if SECTIONS.contains(&kind) => {
                changes.drop(&config.found()[section.lines.start]);
                inside.iter().for_each(|found| changes.drop(found));
            }
            "global" => {
                let gone = |f: &Found| GLOBAL.iter().any(|key| f.is(key)) || !root && USER.iter().any(|key| f.is(key));
                inside.iter().filter(|f| gone(f)).for_each(|found| changes.drop(found));
                inside.iter().filter(|f| f.is("default-path")).for_each(|found| default_path(config, changes, found));
            }
            "defaults" | "frontend" | "listen" | "backend" => proxy(config, changes, section),
            _ => {}
        }
    }
    changes.prepend(&format!(
        "global\n    stats socket {} mode 600 level admin\n    log stdout format raw local0 info\n\n",
        socket.display()
    ));
}

/// A log of our own, of what went wrong; no stick tables shared with others.
fn proxy(config: &Config, changes: &mut Changes<'_>, section: &Section) {
    let about_logs = |f: &&Found| {
        let plain = Found { prefix: None, ..(*f).clone() };
        PROXY.iter().any(|key| plain.is(key))
    };
    for found in config.inside(section) {
        if about_logs(&found) {
            changes.drop(found);
        } else if found.is("stick-table") {
            let words: Vec<String> = found.words.iter().map(|w| w.value.clone()).collect();
            changes.set(found, &without(&words, 1, &[("peers", 1)]));
        }
    }
    if section.kind == "defaults" {
        return;
    }
    let http = config.value(section, "mode").is_some_and(|f| f.arg(0) == Some("http"));
    let (status, target) = if http { ("%ST", "%HU") } else { ("-", "-") };
    // Which rule ended it, by its file's name and line (configuration manual 7.3.2, `last_rule_file`).
    // What went wrong with the connection to the server (7.3.3, `bc_err_str`).
    let rule = match config.reading().tells() {
        true => "rule=%[last_rule_file,field(-1,/)]:%[last_rule_line] error=%[bc_err_str,url_enc] ",
        false => "",
    };
    let format =
        format!("log-format \"{LINE} %ts status={status} queue=%bq node=%s {BACKEND}%b {rule}target={target}\"");
    match section.is_front() {
        true => changes.add(section, &["log global", &format, "option dontlog-normal"]),
        false => changes.add(section, &["log global"]),
    }
}

/// Relative paths start where they did: `default-path config` and `parent` mean the user's file, not the copy.
fn default_path(config: &Config, changes: &mut Changes<'_>, found: &Found) {
    let folder = config.file(found.file).path.parent().map(Path::to_owned).unwrap_or_default();
    let origin = match found.arg(0) {
        Some("config") => folder,
        Some("parent") => folder.join(".."),
        _ => return,
    };
    let words = ["default-path", "origin", &origin.to_string_lossy()].map(str::to_owned);
    changes.set(found, &words);
}
