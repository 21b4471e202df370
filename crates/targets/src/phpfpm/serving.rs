//! A pool of php-fpm's that somebody else started: its configuration, its children, its accept queue, its log.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genkai_model::evidence::LogLine;
use genkai_model::limit::{Law, Limit, Strength};
use genkai_place::began::{began, changed_since};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::log_lines::{self, ParsedLine};
use genkai_place::tail::{self, Tail};
use genkai_place::usage::Usage;

use super::forked::{self, Forked};
use super::given::{self, Given};
use super::ini::{self, Ini};
use super::limits::{self, Pool};
use super::share::{self, Share};
use super::slow::SlowLog;
use super::watched::Watched;
use super::{config, ended};
use crate::files::entry::Entries;
use crate::limits::{backend, grew, log, reached};
use crate::product::{Cost, NOTICE, Served, behind, is_own, program_of, same_files};
use crate::settings::SourcedValue;
use crate::upstreams::{newer, placed};

/// Children of the pool that there are; after its subject.
const CHILDREN: &str = "children";
/// Children that have a connection; after its subject.
const BUSY: &str = "busy";
/// Connections that wait for a child; after its subject.
const QUEUED: &str = "queued";
/// Those of them that wait while the pool has as many children as it may have; while it has fewer, more are being made.
const QUEUED_AT_MOST: &str = "queued_at_max_children";

/// How often it wanted a child more than it may have, as its status page says, cumulative; after its subject.
const EXHAUSTED: &str = "max_children_reached_total";
/// Requests that lasted longer than `request_slowlog_timeout`, as its status page says, cumulative; after its subject.
const SLOW: &str = "slow_requests_total";
/// Connections that wait for a child, as its status page says, up to a second ago; after its subject.
const LISTEN_QUEUE: &str = "status_listen_queue";

/// A pool as it runs.
#[derive(Debug)]
pub(super) struct Serving {
    pool: Pool,
    /// Where the pool begins, `path:line`.
    place: String,
    /// Its Unix socket, where it listens on one.
    socket: Option<String>,
    limits: Vec<Limit>,
    /// What `process.max` leaves it of its children.
    share: Option<Share>,
    /// What it has of children before anybody comes, where more are made meanwhile.
    forked: Option<Forked>,
    log: Option<Tail>,
    /// PHP's own log, where that is a file.
    said: Option<Tail>,
    /// Whether only scripts of this pool write there.
    own_log: bool,
    /// Its status page, where that is on.
    status: Option<Watched>,
    /// Its slow log, where that is on.
    slow: Option<SlowLog>,
    /// Whether genkai runs it, so that its settings can be tried.
    ours: bool,
    /// What a request costs when nothing else is asked, where that was tried.
    cost: Option<Cost>,
    /// What its configuration includes and is not there.
    missing: Vec<config::Missing>,
    /// Why it may have been started with other settings of PHP than its files have.
    hidden: Option<String>,
}

/// Process `pid` as php-fpm's master, whose title names its configuration.
pub(super) fn serves(
    pid: u32,
    endpoint: &Endpoint,
    machine: &Machine,
    _: u64,
) -> Option<Result<Box<dyn Served>, String>> {
    let found = Serving::find(pid, &main(pid)?, endpoint, machine);
    Some(found.map(|serving| Box::new(serving) as Box<dyn Served>))
}

impl Serving {
    /// The pool that listens at `endpoint`, of a master that was started with `main`.
    fn find(pid: u32, main: &Path, endpoint: &Endpoint, machine: &Machine) -> Result<Serving, String> {
        let config = config::read(main).map_err(|e| e.to_string())?;
        let read = read_at(pid, &config);
        as_read(read, &config)?;
        let name = config::pool_at(&config, endpoint);
        let name = name.ok_or_else(|| {
            let missing: String =
                config::missing(&config).iter().map(|include| format!("; {include} names no file")).collect();
            format!("{} has no pool that listens there{missing}", main.display())
        })?;
        // Its title anybody can have written: what another user has chosen is not executed.
        let program = same_files(pid).and_then(|()| is_own(pid)).and_then(|()| program_of(pid));
        let given = titled_path(pid).map_or_else(|| Ok(Given::default()), |main| given::given(pid, &main));
        let known = given.as_ref().cloned().unwrap_or_default();
        let ini = program.map(|program| Ini::asked(&program, &ini::variables(pid), &known)).unwrap_or_default();
        // What was changed after it was read is not what is in force.
        let changed = |path: &Path| read.is_some_and(|read| changed_since(path, read));
        let ini = if ini.files().any(changed) { Ini::default() } else { ini };
        let pool = Pool::of(&config, &name, machine).with(&ini);
        let own_log = pool.error_log.as_ref().is_some_and(|path| limits::logs_alone(&config, &name, &ini, path));
        let said = pool.error_log.clone();
        let log = config.value_in("global", "error_log").map(|entry| PathBuf::from(entry.value()));
        let page = pool.page().and_then(|(_, listen)| placed_at(listen));
        let slow = pool.slow.as_ref().map(|(path, _)| path.clone()).filter(|path| path.is_absolute());
        let serving = Serving::of(&config, pool, endpoint, machine).watched(page, slow);
        let log = log.filter(|path| path.is_absolute()).map(Tail::open);
        let hidden = given.err();
        Ok(Serving { log, said: said.map(Tail::open), own_log, hidden, ..serving })
    }

    /// A pool of a configuration, which listens there; its log is not read.
    pub(super) fn of(config: &Entries, pool: Pool, endpoint: &Endpoint, machine: &Machine) -> Serving {
        let first = config.all().iter().find(|entry| entry.section == pool.name).map(|entry| config.place(entry));
        Serving {
            place: first.unwrap_or_else(|| config.main().display().to_string()),
            // What else the pool has shows itself to nobody outside, or is PHP's own.
            limits: limits::own(&pool, machine).into_iter().chain([limits::backlog(&pool, machine)]).collect(),
            share: Share::of(config, &pool.name, machine),
            forked: Forked::of(config, &pool.name),
            log: None,
            said: None,
            own_log: false,
            status: None,
            slow: None,
            socket: endpoint.socket(),
            pool,
            ours: false,
            cost: None,
            missing: config::missing(config),
            hidden: None,
        }
    }

    /// The same with its status page, which is asked for there, and its slow log, as far as it has them.
    pub(super) fn watched(self, page: Option<Endpoint>, slow: Option<PathBuf>) -> Serving {
        let status = self.pool.page().zip(page).map(|((path, _), at)| Watched::of(at, path));
        let slow = self.pool.slow.as_ref().and(slow).map(|path| SlowLog::open(path, &self.pool.name));
        Serving { status, slow, ..self }
    }

    /// The same as genkai runs it: its settings can be tried, and it logs there, and PHP there.
    pub(super) fn ours(self, log: PathBuf, said: PathBuf) -> Serving {
        Serving { ours: true, log: Some(Tail::open(log)), said: Some(Tail::open(said)), own_log: true, ..self }
    }

    /// Its children as a limit, with the signs that can be seen from outside. It is somebody else's: genkai changes nothing of it.
    fn children(&self, limit: &Limit, subject: &str) -> Limit {
        let metric = |name: &str| format!("{subject}.{name}");
        let mut own = self.offered(limit);
        let Law::Workers { workers, service, .. } = &mut own.law else { return own };
        let workers = *workers;
        // Where processors cannot feed all children, the pool fills because each child waits for its processor: the same signs, another
        // cause, and more children would not help.
        let said = if self.pool.says_when_all_are_busy() { Strength::Decisive } else { Strength::Supports };
        // Who waits may wait for what `process.max` does not give.
        let waits = if self.share.is_some() { Strength::Consistent } else { Strength::Supports };
        let (mut exhausted, mut waiting) = (said, waits);
        if let Some(cost) = self.cost {
            *service = Some(cost.service.as_secs_f64().max(1e-6));
            own.formula = cost.in_words(workers, &format!("{workers} children"));
            if !cost.feeds(workers) {
                (exhausted, waiting) = (Strength::Consistent, Strength::Consistent);
            }
        }
        own.signatures = vec![
            log(&self.signature(), exhausted),
            reached(&metric(BUSY), workers, Strength::Consistent),
            reached(&metric(QUEUED_AT_MOST), 1.0, waiting),
            reached(&metric(behind::DISK), (workers / 2.0).ceil(), Strength::Consistent),
        ];
        // Where its log cannot be read, or is the system's.
        own.signatures.extend(self.pool.page().map(|_| grew(&metric(EXHAUSTED), exhausted)));
        // What its children are busy with.
        own.signatures.extend(self.pool.slow.as_ref().map(|_| log(&self.slow_signature(), Strength::Consistent)));
        if self.share.is_some() {
            own.law = Law::Unknown;
            own.formula = format!("{workers} children, where process.max leaves it as many");
        }
        own
    }

    /// Its children as limits: by its own `pm.max_children`, and by `process.max` where that may leave it fewer.
    fn by_children(&self, limit: &Limit, subject: &str) -> Vec<Limit> {
        let own = self.share.as_ref().is_none_or(Share::reaches_its_own).then(|| self.children(limit, subject));
        let shared = self.share.as_ref().map(|share| {
            let mut limit = share.limit(&self.pool, limit, self.cost, subject);
            limit.signatures.extend(self.pool.slow.as_ref().map(|_| log(&self.slow_signature(), Strength::Consistent)));
            limit
        });
        own.into_iter().chain(shared).collect()
    }

    /// A limit with what lifts it: a remedy where it can be tried, else in words.
    fn offered(&self, limit: &Limit) -> Limit {
        if self.ours {
            return limit.clone();
        }
        let place = placed(&limit.origin);
        let caps =
            format!("{}; to lift it, raise pm.max_children{place}, as far as processors and memory reach", limit.caps);
        Limit { remedy: None, caps, ..limit.clone() }
    }

    /// That its children are made while clients wait; none where `process.max` may be what keeps it from making them. Where processors cannot feed
    /// all of them, more would not help.
    fn forked(&self, subject: &str) -> Option<Limit> {
        let most = self.pool.children.as_ref()?.value as f64;
        let is_fed = self.cost.is_none_or(|cost| cost.feeds(most));
        let held = self.forked.as_ref().filter(|_| self.share.is_none())?;
        held.limit(&self.pool, subject, self.ours, is_fed)
    }

    /// What an entry of its slow log is called.
    fn slow_signature(&self) -> String {
        format!("php-fpm.{}.slow", self.pool.name)
    }

    /// What of it is read besides, and what cannot be.
    fn read_besides(&self) -> String {
        let page = self.pool.status.as_ref().map(|(path, own)| match own {
            Some(_) => format!(", status page {path}"),
            None => format!(", status page {path} (not asked, as that would take a child: no pm.status_listen)"),
        });
        let slow = self.pool.slow.as_ref().map(|(path, after)| match tail::open(path) {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                format!(", slow log {} (cannot be read: {why})", path.display())
            }
            _ => format!(", slow log {} (requests of {after} and more)", path.display()),
        });
        let missing = self.missing.iter().map(|include| format!(", without {include}, which names no file"));
        let hidden = self.hidden.iter().map(|why| format!("; {why}"));
        page.into_iter().chain(slow).chain(missing).chain(hidden).collect()
    }

    /// What the pool's own message is called.
    fn signature(&self) -> String {
        format!("php-fpm.{}.max_children.reached", self.pool.name)
    }
}

impl Served for Serving {
    fn product(&self) -> &'static str {
        "php-fpm"
    }

    fn told(&self) -> String {
        let Pool { name, children, .. } = &self.pool;
        let most = |most: &SourcedValue<u64>| format!(", pm.max_children {}{}", most.written, placed(&most.origin));
        let most = children.as_ref().map(most).unwrap_or_default();
        let shared = self.share.as_ref().map(Share::told).unwrap_or_default();
        format!("php-fpm's pool {name} ({}){most}{shared}{}", self.place, self.read_besides())
    }

    fn costs(&mut self, cost: Cost) {
        self.cost = Some(cost);
    }

    fn limits(&self, subject: &str) -> Vec<Limit> {
        let seen = |limit: &Limit| match limit.law {
            Law::Workers { .. } => self.by_children(limit, subject),
            Law::Backlog { value } => vec![Limit {
                remedy: limit.remedy.clone().filter(|_| self.ours),
                // Whoever connects to a full one may say so; one that is full for moments only is not seen so in between.
                signatures: [reached(&format!("{subject}.{QUEUED}"), value - 1.0, Strength::Decisive)]
                    .into_iter()
                    .chain(self.socket.iter().map(|at| log(&backend::queue_full(at), Strength::Decisive)))
                    .collect(),
                ..limit.clone()
            }],
            _ => Vec::new(),
        };
        self.limits.iter().flat_map(seen).chain(self.forked(subject)).chain(ended::limits(&self.pool)).collect()
    }

    fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64> {
        let own = format!("php-fpm: pool {}", self.pool.name);
        let titles = titles(usage);
        let children = titles.iter().filter(|title| **title == own).count() as u64;
        let mut seen = BTreeMap::from([(CHILDREN.to_owned(), children as f64)]);
        let of = usage.processes.first().map_or_else(std::process::id, |one| one.pid);
        if let Some(connections) = endpoint.connections_of(of) {
            let (busy, waiting) = (connections.accepted.min(children), connections.waiting);
            seen.insert(BUSY.to_owned(), busy as f64);
            seen.insert(QUEUED.to_owned(), waiting as f64);
            let all_there = self.pool.children.as_ref().is_none_or(|most| children >= most.value);
            seen.insert(QUEUED_AT_MOST.to_owned(), if all_there { waiting } else { 0 } as f64);
            if self.forked.is_some() {
                let forking = !all_there && busy >= children;
                seen.insert(forked::QUEUED.to_owned(), if forking { waiting } else { 0 } as f64);
            }
            if let Some(share) = &self.share {
                let all = titles.iter().filter(|title| title.starts_with("php-fpm: pool ")).count() as u64;
                seen.insert(share::HELD.to_owned(), share.held(waiting, busy, children, all) as f64);
            }
        }
        if let Some(status) = self.status.as_ref().and_then(Watched::status) {
            seen.insert(EXHAUSTED.to_owned(), status.exhausted as f64);
            seen.insert(LISTEN_QUEUE.to_owned(), status.queued as f64);
            seen.extend(status.slow.map(|slow| (SLOW.to_owned(), slow as f64)));
        }
        seen
    }

    fn logs(&mut self, subject: &str) -> Vec<LogLine> {
        let lines = self.log.as_mut().map(Tail::lines).unwrap_or_default();
        let (of, signature) = (format!("[pool {}] server reached", self.pool.name), self.signature());
        let bad = |line: &&str| ["WARNING", "ERROR", "ALERT"].contains(&level(line));
        let mut all = log_lines::aggregate(subject, lines.iter().map(String::as_str).filter(bad), |line| ParsedLine {
            level: level(line),
            gist: line,
            signature: (line.contains(&of) && line.contains("max_children setting"))
                .then(|| signature.clone())
                .or_else(|| forked::is_told(&self.pool, line).then(|| forked::signature(&self.pool)))
                .or_else(|| share::is_reached(line).then(|| share::SIGNATURE.to_owned()))
                .or_else(|| ended::told(&self.pool, line))
                .map(Into::into),
        });
        let said = self.said.as_mut().map(Tail::lines).unwrap_or_default();
        let fatal = |line: &&str| line.contains("] PHP Fatal error:  ");
        all.extend(log_lines::aggregate(subject, said.iter().map(String::as_str).filter(fatal), |line| ParsedLine {
            level: "error",
            gist: line,
            signature: ended::logged(line, self.own_log).map(Into::into),
        }));
        let slow = self.slow.as_mut().map(SlowLog::places).unwrap_or_default();
        let signature = self.slow_signature();
        all.extend(log_lines::aggregate(subject, slow.iter().map(String::as_str), |line| ParsedLine {
            level: NOTICE,
            gist: line,
            signature: Some(signature.clone().into()),
        }));
        all
    }
}

/// A place as php-fpm's configuration has it, as it is reached from here; none for one that must be resolved.
fn placed_at(listen: &str) -> Option<Endpoint> {
    let here = |port: &str| Endpoint::parse(&format!("127.0.0.1:{port}"));
    match listen.rsplit_once(':') {
        Some(("*" | "0.0.0.0" | "[::]", port)) => here(port),
        Some(_) => Endpoint::parse(listen),
        None => Endpoint::parse(listen).or_else(|| here(listen)),
    }
}

/// The titles of the processes of a tree.
fn titles(usage: &Usage) -> Vec<String> {
    let title = |pid: u32| {
        let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&text).trim_end_matches(['\0', ' ']).to_owned()
    };
    usage.processes.iter().map(|one| title(one.pid)).collect()
}

/// The severity of a line as php-fpm writes it (zlog.c); empty where it has none.
fn level(line: &str) -> &str {
    line.split_once("] ").and_then(|(_, rest)| rest.split_once(": ")).map_or("", |(level, _)| level)
}

/// The configuration that a master was started with, as its title tells (sapi/fpm/fpm/fpm_env.c: `master process (PATH)`).
pub(super) fn main(pid: u32) -> Option<PathBuf> {
    let path = titled_path(pid)?;
    // As it was given on the command line; an absolute one replaces the folder.
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    Some(folder.join(path))
}

/// The same as its title has it.
pub(super) fn titled_path(pid: u32) -> Option<String> {
    let title = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let title = String::from_utf8_lossy(&title).into_owned();
    Some(title.split_once("master process (")?.1.split_once(')')?.0.to_owned())
}

/// When master `pid` read its files. A reload replaces the master by itself (execve(2)), as old as it was, which then writes its number anew
/// (sapi/fpm/fpm/fpm_conf.c: `fpm_conf_write_pid`).
fn read_at(pid: u32, config: &Entries) -> Option<SystemTime> {
    let began = began(pid)?;
    let file = config.value_in("global", "pid").map(|entry| PathBuf::from(entry.value()));
    let written = |path: PathBuf| {
        let own = std::fs::read_to_string(&path).ok()?.trim().parse() == Ok(pid);
        own.then(|| path.metadata().ok()?.modified().ok()).flatten()
    };
    Some(file.filter(|path| path.is_absolute()).and_then(written).map_or(began, |written| began.max(written)))
}

/// That the files are as they were when master `pid` read them.
///
/// # Errors
/// Which was changed since, in words.
pub(super) fn has_read(pid: u32, config: &Entries) -> Result<(), String> {
    as_read(read_at(pid, config), config)
}

/// That the files are as they were at this moment.
fn as_read(read: Option<SystemTime>, config: &Entries) -> Result<(), String> {
    let Some(read) = read else { return Ok(()) };
    match config.paths().find(|path| changed_since(path, read)) {
        None => Ok(()),
        Some(path) => Err(newer(path, read)),
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::Sign;

    use super::*;

    #[test]
    fn that_all_children_are_there_is_certain_to_mean_that_all_are_busy_only_where_one_is_to_be_spare() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        let (at, machine) = (Endpoint::parse("127.0.0.1:9000").unwrap(), Machine::of(&Default::default()));
        let strengths = |manager: &str| {
            let text = format!(
                "[www]\nlisten = 127.0.0.1:9000\npm = {manager}\npm.max_children = 10\npm.status_path = /s\npm.status_listen = 127.0.0.1:1\n"
            );
            std::fs::write(&main, text).unwrap();
            let all = Serving::find(u32::MAX, &main, &at, &machine).unwrap().limits("backend");
            let children = all.into_iter().find(|limit| limit.id.ends_with("pm.max_children")).unwrap();
            let said = |sign: &Sign| match sign {
                Sign::Log(name) => name.ends_with("max_children.reached"),
                Sign::Grew(name) => name.ends_with(EXHAUSTED),
                _ => false,
            };
            children.signatures.into_iter().filter(|one| said(&one.sign)).map(|one| one.strength).collect::<Vec<_>>()
        };
        assert_eq!(strengths("dynamic\npm.min_spare_servers = 1"), [Strength::Decisive; 2]);
        for pool in ["dynamic\npm.min_spare_servers = 5", "ondemand"] {
            assert_eq!(strengths(pool), [Strength::Supports; 2], "{pool}");
        }
    }

    #[test]
    fn a_master_that_was_reloaded_read_its_files_when_it_wrote_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let (main, number) = (dir.path().join("php-fpm.conf"), dir.path().join("pid"));
        let pid = std::process::id();
        std::fs::write(&main, format!("[global]\npid = {}\n", number.display())).unwrap();
        let config = config::read(&main).unwrap();
        let near = |read: Option<SystemTime>, wanted: SystemTime| {
            let (read, most) = (read.unwrap(), std::time::Duration::from_millis(100));
            read.max(wanted).duration_since(read.min(wanted)).unwrap() < most
        };
        assert!(near(read_at(pid, &config), began(pid).unwrap()), "it was not reloaded");
        let later = began(pid).unwrap() + std::time::Duration::from_secs(3_600);
        std::fs::write(&number, pid.to_string()).unwrap();
        std::fs::File::options().write(true).open(&number).unwrap().set_modified(later).unwrap();
        assert!(near(read_at(pid, &config), later));
        std::fs::write(&number, "1").unwrap();
        assert!(near(read_at(pid, &config), began(pid).unwrap()), "the number is another's");
    }

    #[test]
    fn a_pool_file_that_cannot_be_read_whole_or_was_changed_since_is_told_in_a_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        let at = Endpoint::parse("127.0.0.1:9000").unwrap();
        let machine = Machine::of(&Default::default());
        let told = |pid: u32, text: &str| {
            std::fs::write(&main, text).unwrap();
            Serving::find(pid, &main, &at, &machine).map(|serving| serving.told())
        };
        let pool = "[www]\nlisten = 127.0.0.1:9000\npm = static\npm.max_children = 4\n";
        assert!(told(u32::MAX, pool).unwrap().contains("pm.max_children 4"));
        // It may have been there when php-fpm began.
        let included = told(u32::MAX, &format!("include = {}/gone/*.conf\n{pool}", dir.path().display())).unwrap();
        let without = format!(
            "without include = {}/gone/*.conf ({}:1), which names no file",
            dir.path().display(),
            main.display()
        );
        assert!(included.contains("pm.max_children 4") && included.ends_with(&without), "{included}");
        let gone = Serving::find(u32::MAX, &dir.path().join("gone.conf"), &at, &machine).unwrap_err();
        assert!(gone.contains("gone.conf") && !gone.contains('\n'), "{gone}");
        let other = told(u32::MAX, &pool.replace("9000", "9001")).unwrap_err();
        assert!(other.ends_with("has no pool that listens there"), "{other}");
        // Only a page with a socket of its own takes no child of the pool's.
        let page = |own: &str| told(u32::MAX, &format!("{pool}pm.status_path = /s\n{own}")).unwrap();
        assert!(page("").contains("status page /s (not asked"), "{}", page(""));
        let asked = page("pm.status_listen = 127.0.0.1:1\n");
        assert!(asked.ends_with("status page /s"), "{asked}");
        // The first process of all began before this file was written.
        let changed = told(1, pool).unwrap_err();
        assert!(changed.contains("has a date after it began"), "{changed}");
    }
}
