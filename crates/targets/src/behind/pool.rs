//! A pool of php-fpm's that somebody else started: its configuration, its children, its accept queue, its log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genkai_model::evidence::LogLine;
use genkai_model::limit::{Law, Limit, Origin, Strength};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::log_lines::{self, ParsedLine};
use genkai_place::tail::Tail;
use genkai_place::usage::Usage;

use super::peer::titled;
use crate::files::entry::Entries;
use crate::limits::{log, reached};
use crate::phpfpm::config;
use crate::phpfpm::limits::{self, Pool};
use crate::settings::SourcedValue;

/// Children of the pool that there are; after its subject.
const CHILDREN: &str = "children";
/// Children that have a connection; after its subject.
const BUSY: &str = "busy";
/// Connections that wait for a child; after its subject.
const QUEUED: &str = "queued";

/// A pool as it runs.
#[derive(Debug)]
pub(super) struct Served {
    pool: Pool,
    /// Where the pool begins, `path:line`.
    place: String,
    limits: Vec<Limit>,
    log: Option<Tail>,
    /// How long a request takes when nothing else is asked, where that was tried.
    service: Option<Duration>,
}

impl Served {
    /// The pool that listens at `endpoint`, of the master `pid`.
    ///
    /// # Errors
    /// Why its configuration cannot be read, in words.
    pub(super) fn find(pid: u32, endpoint: &Endpoint, machine: &Machine, memory: u64) -> Result<Served, String> {
        let main = main(pid).ok_or("its title does not name its configuration")?;
        let config = config::read(&main).map_err(|e| e.to_string())?;
        let names = config::pools(&config);
        let name = names.iter().find(|name| listens(&config, name, endpoint));
        let name = name.ok_or_else(|| format!("{} has no pool that listens there", main.display()))?;
        let pool = Pool::of(&config, name, machine);
        let first = config.all().iter().find(|entry| entry.section == **name).map(|entry| config.place(entry));
        let log = config.value_in("global", "error_log").map(|entry| PathBuf::from(entry.value()));
        Ok(Served {
            place: first.unwrap_or_else(|| main.display().to_string()),
            limits: limits::of(&config, std::slice::from_ref(&pool), machine, memory),
            log: log.filter(|path| path.is_absolute()).map(Tail::open),
            pool,
            service: None,
        })
    }

    /// It in words.
    pub(super) fn told(&self) -> String {
        let Pool { name, children, .. } = &self.pool;
        let most = |most: &SourcedValue<u64>| format!(", pm.max_children {}{}", most.written, placed(&most.origin));
        let most = children.as_ref().map(most);
        format!("php-fpm's pool {name} ({}){}", self.place, most.unwrap_or_default())
    }

    /// Takes over how long a request takes when nothing else is asked.
    pub(super) fn takes(&mut self, service: Duration) {
        self.service = Some(service);
    }

    /// What caps it, with the signs that can be seen from outside.
    pub(super) fn limits(&self, subject: &str) -> Vec<Limit> {
        let busy = |of: f64| reached(&format!("{subject}.{BUSY}"), of, Strength::Consistent);
        let queued = |n: f64, strength| reached(&format!("{subject}.{QUEUED}"), n, strength);
        let signed = |limit: &Limit| {
            // It is somebody else's: genkai changes nothing of it.
            let mut limit = Limit { remedy: None, ..limit.clone() };
            let id = limit.id.rsplit('.').next().unwrap_or_default().to_owned();
            match (id.as_str(), &self.pool.children) {
                ("max_children", Some(children)) => {
                    let workers = children.value as f64;
                    if let (Law::Workers { service, .. }, Some(took)) = (&mut limit.law, self.service) {
                        let seconds = took.as_secs_f64().max(1e-6);
                        *service = Some(seconds);
                        limit.formula = format!(
                            "{} children / {:.0} ms a request (asked alone, before any load) = {:.0} requests/s at most",
                            children.value,
                            seconds * 1e3,
                            workers / seconds
                        );
                    }
                    limit.caps += &format!(
                        "; to lift it, raise pm.max_children{}, as far as processors and memory reach",
                        placed(&children.origin)
                    );
                    limit.signatures = vec![
                        log(&self.signature(), Strength::Decisive),
                        busy(workers),
                        queued(1.0, Strength::Supports),
                    ];
                }
                ("backlog", _) => {
                    let Law::Backlog { value } = limit.law else { return limit };
                    limit.signatures = vec![queued(value - 1.0, Strength::Decisive)];
                }
                _ => {}
            }
            limit
        };
        // What else the pool has shows itself to nobody outside.
        let seen = |limit: &&Limit| [".max_children", ".backlog"].iter().any(|end| limit.id.ends_with(end));
        self.limits.iter().filter(seen).map(signed).collect()
    }

    /// What the pool's own message is called.
    fn signature(&self) -> String {
        format!("php-fpm.{}.max_children.reached", self.pool.name)
    }

    /// Its children, those that work, and who waits for one.
    pub(super) fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64> {
        let children = titled(usage, &format!("php-fpm: pool {}", self.pool.name));
        let mut seen = BTreeMap::from([(CHILDREN.to_owned(), children as f64)]);
        if let Some(connections) = endpoint.connections() {
            seen.insert(BUSY.to_owned(), connections.accepted.min(children) as f64);
            seen.insert(QUEUED.to_owned(), connections.waiting as f64);
        }
        seen
    }

    /// New lines of its log that tell of trouble.
    pub(super) fn logs(&mut self, subject: &str) -> Vec<LogLine> {
        let lines = self.log.as_mut().map(Tail::lines).unwrap_or_default();
        let (of, signature) = (format!("[pool {}] server reached", self.pool.name), self.signature());
        let bad = |line: &&str| ["WARNING", "ERROR", "ALERT"].contains(&level(line));
        log_lines::aggregate(subject, lines.iter().map(String::as_str).filter(bad), |line| ParsedLine {
            level: level(line),
            gist: line,
            signature: (line.contains(&of) && line.contains("max_children setting")).then(|| signature.clone().into()),
        })
    }
}

/// Where a value stands: ` (path:line)`; empty where it stands in no file.
fn placed(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line } => format!(" ({}:{line})", path.display()),
        _ => String::new(),
    }
}

/// The severity of a line as php-fpm writes it (zlog.c); empty where it has none.
fn level(line: &str) -> &str {
    line.split_once("] ").and_then(|(_, rest)| rest.split_once(": ")).map_or("", |(level, _)| level)
}

/// The configuration that a master was started with, as its title tells (sapi/fpm/fpm/fpm_env.c: `master process (PATH)`).
fn main(pid: u32) -> Option<PathBuf> {
    let title = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let title = String::from_utf8_lossy(&title).into_owned();
    let path = title.split_once("master process (")?.1.split_once(')')?.0;
    // As it was given on the command line; an absolute one replaces the folder.
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    Some(folder.join(path))
}

/// Whether the pool's `listen` is this place: `/path`, `port`, `address:port`; `$pool` stands for its name (fpm_conf.c).
fn listens(config: &Entries, name: &str, endpoint: &Endpoint) -> bool {
    let Some(entry) = config.value_in(name, "listen") else { return false };
    let listen = entry.value().replace("$pool", name);
    match endpoint {
        Endpoint::Unix(path) => Path::new(&listen) == path,
        Endpoint::Tcp(address) => {
            let port = |text: &str| text.parse() == Ok(address.port());
            match listen.rsplit_once(':') {
                None => port(&listen),
                Some((host, number)) => {
                    let host = host.trim_matches(['[', ']']);
                    let every = ["", "*", "0.0.0.0", "::"].contains(&host);
                    port(number) && (every || host.parse() == Ok(address.ip()) || host == "localhost")
                }
            }
        }
    }
}
