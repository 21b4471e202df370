//! uWSGI, from its command line and its `.ini` file (core/uwsgi.c: `uwsgi_base_options`; core/ini.c). Files of other kinds are not read.

use std::path::{Path, PathBuf};

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::Started;
use super::known::{Caps, Known, Part};
use crate::files::entry::{Entries, Entry, Line, Syntax};
use crate::files::number::count;
use crate::product::Served;
use crate::settings::SourcedValue;

const PRODUCT: &str = "uwsgi";
const SOURCE: &str = "uwsgi-docs.readthedocs.io/en/latest/Options.html; core/uwsgi.c";

/// The syntax of its `.ini` files.
struct Ini;

impl Syntax for Ini {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() || text.starts_with([';', '#']) {
            return Ok(Line::Nothing);
        }
        if let Some(rest) = text.strip_prefix('[') {
            return Ok(Line::Section(rest.split(']').next().unwrap_or_default().to_owned()));
        }
        let (name, value) = text.split_once('=').unwrap_or((text, "true"));
        Ok(Line::Entry(name.trim().to_lowercase(), vec![value.trim().to_owned()]))
    }

    fn include(&self, entry: &Entry) -> Option<PathBuf> {
        (entry.name == "ini" || entry.name == "include").then(|| PathBuf::from(entry.value()))
    }
}

/// Process `pid` as uWSGI's first.
pub(super) fn serves(pid: u32, at: &Endpoint, machine: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    let own = started.program == PRODUCT || started.program.starts_with("uwsgi-core");
    own.then(|| {
        let known = of(&started, at)?.under(machine.somaxconn);
        Given::read(&started)?.agrees_with(1 + started.children())?;
        Ok(Box::new(known) as Box<dyn Served>)
    })
}

/// What makes uWSGI run more processes than its workers and their master.
const OTHERS: [&str; 12] = [
    "http",
    "https",
    "http-router",
    "https-router",
    "mule",
    "mules",
    "farm",
    "spooler",
    "spoolers",
    "attach-daemon",
    "fastrouter",
    "emperor",
];

fn of(started: &Started, at: &Endpoint) -> Result<Known, String> {
    let given = Given::read(started)?;
    let workers = given.number(&["processes", "workers"], "-p", "1")?;
    let threads = given.number(&["threads"], "", "1")?;
    let tasks = given.number(&["gevent", "async", "asyncio"], "", "0")?;
    let each = threads.value.max(1).max(tasks.value);
    let listen = given.number(&["listen"], "-l", "100")?;
    let by = if tasks.value > threads.value { "tasks" } else { "threads" };
    let (setting, written, made) = if each == 1 {
        ("processes", workers.written.clone(), String::new())
    } else {
        let made = format!("{} processes x {each} {by}", workers.written);
        (
            if by == "tasks" { "processes x tasks" } else { "processes x threads" },
            format!("{} x {each}", workers.written),
            made,
        )
    };
    let held = SourcedValue { value: workers.value.saturating_mul(each), written, origin: workers.origin };
    // cheaper: so few workers at first, and when little is asked (uwsgi-docs: Cheaper).
    let least = given.number(&["cheaper"], "", "0")?.value.saturating_mul(each);
    let grows = (1..held.value).contains(&least);
    let made = match grows {
        true if made.is_empty() => format!("at first {least}, up to {} processes", held.value),
        true => format!("at first {least}, up to {made}"),
        false => made,
    };
    let part = |setting, held, caps, made| Part { setting, held, caps, made, source: SOURCE };
    // A router of its own (`http = :8080`) takes all connections at once: they wait for its workers elsewhere.
    let router = given.is_router(at);
    let queue = (!router).then_some(listen.value);
    let mut parts = vec![part(setting, held, if grows { Caps::Growing(least) } else { Caps::Requests(queue) }, made)];
    let unix = matches!(at, Endpoint::Unix(_));
    // core/socket.c: bind_to_tcp sets TCP_DEFER_ACCEPT, but for `no-defer-accept`.
    let queued = if unix { Caps::Queue(None) } else { Caps::DeferredQueue(None) };
    parts.extend((!router).then(|| part("listen", listen, queued, String::new())));
    Ok(Known {
        product: PRODUCT,
        told: "uWSGI".to_owned(),
        parts,
        keeps: router,
        threads: None,
        socket: at.socket(),
        cost: None,
        says: &[],
        says_of: None,
    })
}

/// What it was given.
struct Given<'s> {
    started: &'s Started,
    file: Option<Entries>,
}

impl Given<'_> {
    fn read(started: &Started) -> Result<Given<'_>, String> {
        // core/utils.c: uwsgi_set_processname; its command line is no more what it was started with.
        if started.words.first().is_some_and(|word| word.starts_with("uWSGI")) {
            return Err("its processes have names (procname) in place of their command line".to_owned());
        }
        let other = ["--yaml", "--yml", "--json", "--xml", "-y", "-j", "-x"];
        if started.value(&other).is_some() {
            return Err("its configuration is no .ini file".to_owned());
        }
        let is_ini = |word: &&String| Path::new(word.as_str()).extension().is_some_and(|extension| extension == "ini");
        let bare = started.words.iter().skip(1).find(is_ini).map(String::as_str);
        let path = started.value(&["--ini"]).or(bare).map(|text| started.path(text));
        let file = path.map(|path| Entries::read(&path, &Ini).map_err(|e| e.to_string())).transpose()?;
        started.has_read(file.iter().flat_map(Entries::paths))?;
        Ok(Given { started, file })
    }

    /// Whether as many processes run as what was read of it says: a file that was put together in another way than it was read has other
    /// numbers.
    fn agrees_with(&self, running: u64) -> Result<(), String> {
        let workers = self.number(&["processes", "workers"], "-p", "1")?.value;
        let given = |name: &str| self.flag(&[name], "").is_some() || self.entry(&[name]).is_some();
        let least = match self.number(&["cheaper"], "", "0")?.value {
            0 => workers,
            cheaper => cheaper.min(workers),
        };
        let most = if OTHERS.iter().any(|name| given(name)) { u64::MAX } else { workers.saturating_add(1) };
        if (least..=most).contains(&running) {
            return Ok(());
        }
        Err(format!("what was read of it says {workers} processes, and {running} run, the master included"))
    }

    /// The last entry of one of these names.
    fn entry(&self, names: &[&str]) -> Option<(&Entries, &Entry)> {
        let file = self.file.as_ref()?;
        Some((file, file.all().iter().rev().find(|entry| names.contains(&entry.name.as_str()))?))
    }

    fn flag(&self, names: &[&str], short: &str) -> Option<String> {
        let long: Vec<String> = names.iter().map(|name| format!("--{name}")).collect();
        let mut all: Vec<&str> = long.iter().map(String::as_str).collect();
        all.extend((!short.is_empty()).then_some(short));
        self.started.value(&all).map(str::to_owned)
    }

    fn number(&self, names: &[&'static str], short: &str, default: &str) -> Result<SourcedValue<u64>, String> {
        let (written, origin) = match (self.flag(names, short), self.entry(names)) {
            (Some(text), _) => (text, self.started.given()),
            (None, Some((file, entry))) => (entry.value(), file.origin(entry)),
            (None, None) => (default.to_owned(), Origin::Default(SOURCE.to_owned())),
        };
        let value = count(&written).ok_or_else(|| format!("{} is `{written}`", names[0]))?;
        Ok(SourcedValue { value, written, origin })
    }

    /// Whether it is reached by a router of its own there.
    fn is_router(&self, at: &Endpoint) -> bool {
        let Endpoint::Tcp(address) = at else { return false };
        let http = self.flag(&["http"], "").or_else(|| self.entry(&["http"]).map(|(_, entry)| entry.value()));
        http.is_some_and(|text| text.rsplit(':').next().is_some_and(|port| port.parse() == Ok(address.port())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(line: &str, at: &str) -> Result<Known, String> {
        of(&Started::of_line(line), &Endpoint::parse(at).unwrap())
    }

    #[test]
    fn workers_come_from_the_command_line_or_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("app.ini");
        std::fs::write(&file, "; c\n[uwsgi]\nprocesses = 3\nthreads=2\nlisten = 64\nmaster\n").unwrap();
        let first = |line: &str| known(line, "127.0.0.1:80").map(|k| (k.parts[0].held.clone(), k.parts.len()));
        let (held, parts) = first(&format!("uwsgi {}", file.display())).unwrap();
        let origin = Origin::File { path: file.clone(), line: 3 };
        assert_eq!((held.value, held.written.as_str(), held.origin, parts), (6, "3 x 2", origin, 2));
        let (held, _) = first(&format!("uwsgi --ini {} -p 5", file.display())).unwrap();
        assert_eq!((held.value, held.written.as_str()), (10, "5 x 2"));
        let (held, parts) = first("uwsgi --http :80 --processes 2 --gevent 100").unwrap();
        assert_eq!((held.value, held.written.as_str(), parts), (200, "2 x 100", 1));
        assert_eq!(first("uwsgi --processes auto"), Err("processes is `auto`".to_owned()));
        let started = Started::of_line(&format!("uwsgi --ini {}", file.display()));
        let agrees = |running| Given::read(&started).unwrap().agrees_with(running).is_ok();
        assert_eq!([2, 3, 4, 5].map(agrees), [false, true, true, false]);
        let cheap = known(&format!("uwsgi --ini {} --cheaper 1", file.display()), "127.0.0.1:80").unwrap();
        let law = cheap.limits("x")[0].law.clone();
        let expected = genkai_model::limit::Law::Growing { least: 2.0, most: 6.0, full: None, wait: None };
        assert_eq!((law, cheap.parts[0].made.as_str()), (expected, "at first 2, up to 3 processes x 2 threads"));
        let signs = |line: &str| {
            let limits = known(line, "127.0.0.1:80").unwrap().limits("x");
            limits
                .iter()
                .find(|l| l.setting == "listen")
                .unwrap()
                .signatures
                .iter()
                .map(|s| s.sign.clone())
                .collect::<Vec<_>>()
        };
        let full = genkai_model::limit::Sign::Reached { metric: "x.queued".to_owned(), value: 100.0 };
        assert_eq!(
            signs("uwsgi --socket :80"),
            [full],
            "what the kernel counts as dropped says nothing of its listener"
        );
        let listen = known("uwsgi --socket :80 --listen 8", "127.0.0.1:80").unwrap().under(4096).limits("x");
        let listen = listen.iter().find(|limit| limit.setting == "listen").unwrap();
        assert_eq!(listen.law, genkai_model::limit::Law::Backlog { value: 9.0 });
        assert!(first("uWSGI master").is_err(), "a name in place of its command line");
        assert_eq!(first("uwsgi --yaml x.yml"), Err("its configuration is no .ini file".to_owned()));
    }
}
