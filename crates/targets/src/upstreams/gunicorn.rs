//! gunicorn: how many workers and threads it has, by its command line, `GUNICORN_CMD_ARGS`, and its configuration as far as that can be read
//! without running it (gunicorn/config.py; a command line comes before the variable, and that before the file).

use std::path::PathBuf;
use std::time::Duration;

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::known::{Caps, Known, Part};
use super::{Started, python};
use crate::files::entry::Entries;
use crate::files::number::count;
use crate::product::Served;
use crate::settings::SourcedValue;

const PRODUCT: &str = "gunicorn";
/// What it is read from when nothing else is said.
const FILE: &str = "gunicorn.conf.py";
const SOURCE: &str = "docs.gunicorn.org/en/stable/settings.html; gunicorn/config.py";
/// How long a worker may be missing that has just ended and is started anew.
const BACK: Duration = Duration::from_millis(300);

/// A setting: its name in the file, its flags, its default.
struct Setting(&'static str, &'static [&'static str], &'static str);

const WORKERS: Setting = Setting("workers", &["-w", "--workers"], "1");
const THREADS: Setting = Setting("threads", &["--threads"], "1");
const CLASS: Setting = Setting("worker_class", &["-k", "--worker-class"], "sync");
const CONNECTIONS: Setting = Setting("worker_connections", &["--worker-connections"], "1000");
const BACKLOG: Setting = Setting("backlog", &["--backlog"], "2048");

/// Process `pid` as gunicorn's first.
pub(super) fn serves(pid: u32, at: &Endpoint, machine: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    if started.words.first().is_some_and(|title| title.starts_with("gunicorn: ")) {
        return Some(Err("its title hides its command line (setproctitle)".to_owned()));
    }
    (started.name() == PRODUCT)
        .then(|| of(&started, at).map(|known| Box::new(known.under(machine.somaxconn)) as Box<dyn Served>))
}

fn of(started: &Started, at: &Endpoint) -> Result<Known, String> {
    let given = Given::read(started)?;
    let workers = workers(started, &given)?;
    let threads = given.number(&THREADS)?;
    let class = given.value(&CLASS)?;
    let short = class.value.rsplit('.').next().unwrap_or_default().to_lowercase();
    let part = |setting, held, caps, made| Part { setting, held, caps, made, source: SOURCE };
    let backlog = given.number(&BACKLOG)?;
    let (own, keeps) = match short.as_str() {
        "sync" if threads.value <= 1 => {
            (vec![part("workers", workers.clone(), Caps::Requests(Some(backlog.value)), String::new())], false)
        }
        "sync" | "gthread" | "threadworker" => {
            (with_threads(&workers, &threads, given.number(&CONNECTIONS).ok()), true)
        }
        "gevent" | "eventlet" | "geventworker" | "eventletworker" => {
            let each = given.number(&CONNECTIONS)?;
            let at_once = connections(&workers, each);
            (vec![part("workers", workers.clone(), Caps::Loops(None), String::new()), at_once], true)
        }
        _ => (vec![part("workers", workers.clone(), Caps::Loops(None), String::new())], true),
    };
    let mut parts = own;
    parts.push(part("backlog", backlog, Caps::Queue(None), String::new()));
    let told = format!("{PRODUCT} ({} workers)", serving(&class.value, &threads));
    Ok(Known {
        product: PRODUCT,
        told,
        parts,
        keeps,
        threads: None,
        socket: at.socket(),
        cost: None,
        says: &[],
        says_of: None,
    })
}

/// The class of the workers that serve: a sync worker with several threads is a gthread one (gunicorn/config.py, `worker_class_str`).
fn serving<'c>(class: &'c str, threads: &SourcedValue<u64>) -> &'c str {
    if class.rsplit('.').next().is_some_and(|short| short.eq_ignore_ascii_case("sync")) && threads.value > 1 {
        return "gthread";
    }
    class
}

/// Connections that all workers have at once.
fn connections(workers: &SourcedValue<u64>, each: SourcedValue<u64>) -> Part {
    let made = format!("{} x {}", workers.written, each.written);
    let value = workers.value.saturating_mul(each.value);
    let held = SourcedValue { value, written: made.clone(), origin: each.origin };
    Part { setting: "worker_connections of all workers", held, caps: Caps::Connections, made, source: SOURCE }
}

/// Workers with several threads: one that has as many connections as it may accepts none, whether or not a thread is free (gunicorn/workers/gthread.py:
/// run).
fn with_threads(
    workers: &SourcedValue<u64>,
    threads: &SourcedValue<u64>,
    each: Option<SourcedValue<u64>>,
) -> Vec<Part> {
    let fewer = each.filter(|each| each.value < threads.value).map(|each| connections(workers, each));
    [threaded(workers, threads)].into_iter().chain(fewer).collect()
}

fn threaded(workers: &SourcedValue<u64>, threads: &SourcedValue<u64>) -> Part {
    let made = format!("{} workers x {} threads", workers.written, threads.written);
    let held = SourcedValue {
        value: workers.value.saturating_mul(threads.value),
        written: format!("{} x {}", workers.written, threads.written),
        origin: workers.origin.clone(),
    };
    Part { setting: "workers x threads", held, caps: Caps::Requests(None), made, source: SOURCE }
}

/// How many workers there are: what is written, unless there are others, as after a signal (TTIN, TTOU) or before a reload.
fn workers(started: &Started, given: &Given) -> Result<SourcedValue<u64>, String> {
    let written = match given.number(&WORKERS) {
        Ok(held) if matches!(held.origin, Origin::Default(_)) => match started.variable("WEB_CONCURRENCY") {
            Some(text) => count(&text).map(|n| SourcedValue::plain(n, started.variable_of("WEB_CONCURRENCY"))),
            None => Some(held),
        },
        other => other.ok(),
    };
    if let Some(written) = written {
        if started.children() == written.value {
            return Ok(written);
        }
        std::thread::sleep(BACK);
        if started.children() == written.value {
            return Ok(written);
        }
    }
    match started.children() {
        0 => Err("it has no workers".to_owned()),
        n => Ok(SourcedValue::plain(n, started.counted())),
    }
}

/// What it was given.
struct Given<'s> {
    started: &'s Started,
    variable: Started,
    file: Option<Entries>,
}

impl Given<'_> {
    fn read(started: &Started) -> Result<Given<'_>, String> {
        let words = started.variable("GUNICORN_CMD_ARGS").unwrap_or_default();
        let variable = Started::of_line(&words);
        let named = [started, &variable].into_iter().find_map(|from| from.value(&["-c", "--config"]));
        let path: PathBuf = match named {
            Some(module) if module.starts_with("python:") => {
                return Err(format!("its configuration is a Python module ({module})"));
            }
            Some(path) => started.path(path.strip_prefix("file:").unwrap_or(path)),
            None => started.path(FILE),
        };
        let file = (named.is_some() || path.exists()).then(|| python::read(&path).map_err(|e| e.to_string()));
        let file = file.transpose()?;
        started.has_read(file.iter().flat_map(Entries::paths))?;
        Ok(Given { started, variable, file })
    }

    /// A value in force, as it is written.
    fn value(&self, Setting(name, flags, default): &Setting) -> Result<SourcedValue<String>, String> {
        let held = |text: &str, origin| SourcedValue { value: text.to_owned(), written: text.to_owned(), origin };
        if let Some(text) = self.started.value(flags) {
            return Ok(held(text, self.started.given()));
        }
        if let Some(text) = self.variable.value(flags) {
            return Ok(held(text, self.started.variable_of("GUNICORN_CMD_ARGS")));
        }
        let written = self.file.as_ref().and_then(|file| Some((file, python::assigned(file, name)?)));
        match written {
            Some((file, Ok(entry))) => Ok(held(&entry.value(), file.origin(entry))),
            Some((_, Err(place))) => Err(format!("{name} is computed at {place}")),
            None => Ok(held(default, Origin::Default(SOURCE.to_owned()))),
        }
    }

    fn number(&self, setting: &Setting) -> Result<SourcedValue<u64>, String> {
        let held = self.value(setting)?;
        let no = format!("{} is `{}`", setting.0, held.written);
        held.parsed(count).ok_or(no)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_comes_before_the_file_and_what_is_computed_is_not_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("g.py");
        std::fs::write(&file, "workers = 3\nthreads = 2\nbacklog = min(64, 65)\n").unwrap();
        let started = Started::of_line(&format!("gunicorn -w 4 -c {} a:b", file.display()));
        let given = Given::read(&started).unwrap();
        let number = |setting| given.number(setting).map(|held| (held.value, held.origin));
        assert_eq!(number(&WORKERS).unwrap(), (4, started.given()));
        assert_eq!(number(&THREADS).unwrap(), (2, Origin::File { path: file.clone(), line: 2 }));
        assert_eq!(number(&BACKLOG), Err(format!("backlog is computed at {}:3", file.display())));
        assert_eq!(number(&CONNECTIONS).map(|held| held.0), Ok(1000));
        let gone = Started::of_line("gunicorn -c /nowhere/g.py a:b");
        assert!(Given::read(&gone).is_err_and(|why| why.contains("/nowhere/g.py")));
        let module = Started::of_line("gunicorn --config=python:a.b a:b");
        assert!(Given::read(&module).is_err_and(|why| why.contains("Python module")));
    }

    #[test]
    fn a_sync_worker_with_threads_is_a_gthread_one() {
        let told = |line: &str| {
            let started = Started::of_line(line);
            let given = Given::read(&started).unwrap();
            serving(&given.value(&CLASS).unwrap().value, &given.number(&THREADS).unwrap()).to_owned()
        };
        assert_eq!(told("gunicorn --threads 4 a:b"), "gthread");
        assert_eq!(told("gunicorn a:b"), "sync");
        assert_eq!(told("gunicorn -k gevent --threads 4 a:b"), "gevent");
    }

    #[test]
    fn threads_beyond_the_connections_of_a_worker_are_told_with_these() {
        let held = |n: u64| SourcedValue::plain(n, Origin::Given);
        let parts = |each: u64| {
            let all = with_threads(&held(2), &held(8), Some(held(each)));
            all.into_iter().map(|part| (part.caps, part.held.value)).collect::<Vec<_>>()
        };
        assert_eq!(parts(1000), [(Caps::Requests(None), 16)]);
        assert_eq!(parts(3), [(Caps::Requests(None), 16), (Caps::Connections, 6)]);
    }
}
