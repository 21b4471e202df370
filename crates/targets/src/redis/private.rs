//! A Redis of the user's a second time, from its own file, for a copy of what asks it: it is found at the same place, in namespaces of its own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::evidence::metric;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Strength, Symptom};
use genkai_model::plan::ConfigSource;
use genkai_place::began::{began, changed_since};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::process::{Child, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::usage::{Usage, alone};
use genkai_place::{account, isolated, machine, memory};

use super::asked::{Asked, ClientCounts};
use super::info::{connected, field, told_by};
use super::limits::{RESERVED, number};
use super::line::Line;
use super::serving::{SETTING, SOURCE, is_redis};
use super::settings::RedisFiles;
use super::{CALLED, config};
use crate::error::TargetError;
use crate::files::entry::Entries;
use crate::files::{Applied, Edited, Requests, save};
use crate::limits::{connections, grew, raised, reached};
use crate::product::{Cost, READY_WITHIN, Served, Twin, alike, led_by};
use crate::upstreams::{ANSWERED, newer, placed};

/// Directives that only one server can have, that say where it listens and writes, or who it follows: the copy's are its own.
const OWN: [&str; 24] = [
    "port",
    "bind",
    "bind-source-addr",
    "tls-port",
    "unixsocket",
    "unixsocketperm",
    "pidfile",
    "logfile",
    "loglevel",
    "daemonize",
    "supervised",
    "syslog-enabled",
    "syslog-ident",
    "syslog-facility",
    "save",
    "appendonly",
    "dir",
    "dbfilename",
    "maxclients",
    "replicaof",
    "slaveof",
    "include",
    "protected-mode",
    "crash-log-enabled",
];
/// Longest path of a Unix socket (`sun_path` less its final zero, unix(7)).
const SUN_PATH: usize = 107;
/// Its own socket, by which genkai asks it.
const SOCKET: &str = "redis.sock";
/// Connections that genkai itself has to the copy, which is given as many places more.
const OURS: u64 = 1;
/// Part of the memory that could be had which the data may take a second time.
const SPARED: f64 = 0.5;
/// Between two attempts to reach it.
const PAUSE: Duration = Duration::from_millis(5);
/// Metric, after its subject: how often a client was refused, cumulative.
const REJECTED: &str = "rejected_connections_total";

/// The user's, as it is.
#[derive(Debug)]
struct Theirs {
    /// Its program.
    program: PathBuf,
    /// What it keeps, as a file that the copy begins with; none: nothing.
    data: Option<PathBuf>,
    /// The same in words.
    kept: String,
    version: String,
    /// Descriptors of its process.
    nofile: Option<u64>,
    /// User and group of its process.
    user: (u32, u32),
}

/// It, as genkai runs it again.
#[derive(Debug)]
struct PrivateRedis {
    theirs: Arc<Theirs>,
    applied: Applied<RedisFiles>,
    from: Endpoint,
    at: Endpoint,
    /// Folder of its socket, which all variants share.
    sockets: Scratch,
    /// Folder of this variant.
    scratch: Scratch,
    /// Most connections that there were at once while requests came one after the other, and how many there were in all.
    held: Arc<OnceLock<(u64, u64)>>,
    /// What the copy that runs has told.
    asked: Arc<OnceLock<Arc<Asked>>>,
}

/// The Redis that process `pid` is, to be run from `dir`.
pub(super) fn twin(pid: u32, from: &Endpoint, dir: &Path, _: bool) -> Option<Result<Box<dyn Twin>, String>> {
    is_redis(pid).then(|| PrivateRedis::of(pid, from, dir).map(|redis| Box::new(redis) as Box<dyn Twin>))
}

impl Theirs {
    /// What process `pid` tells at `from`, and the file that it was started with.
    fn of(pid: u32, from: &Endpoint) -> Result<(Theirs, Entries), String> {
        alike(pid)?;
        let program =
            fs::read_link(format!("/proc/{pid}/exe")).map_err(|e| format!("its program is not known: {e}"))?;
        let told =
            told_by(from, &["server", "clients", "replication", "persistence", "keyspace", "memory", "cluster"])?;
        let said = |name: &str| field(&told, name).unwrap_or_default();
        let file = Some(said("config_file")).filter(|file| file.starts_with('/'));
        let file =
            PathBuf::from(file.ok_or("it tells no file that it was started with, so a copy would not be the same")?);
        let config = config::read(&file).map_err(|e| e.to_string())?;
        let changed = |began| Some(newer(config.paths().find(|path| changed_since(path, began))?, began));
        if let Some(why) = began(pid).and_then(changed) {
            return Err(why);
        }
        if said("role") != "master" || said("cluster_enabled") == "1" {
            return Err("it is one of several that follow each other, and a copy would be alone".to_owned());
        }
        let in_force = said(SETTING);
        let written = config.last(SETTING).map_or_else(|| "10000".to_owned(), |entry| entry.value());
        if number(in_force) != number(&written) {
            return Err(format!("its {SETTING} is {in_force}, and its file says {written}"));
        }
        fits(said("used_memory").parse().unwrap_or(u64::MAX), memory::of_children().1)?;
        let (data, kept) = kept(pid, &config, &told)?;
        let nofile = alone(pid).and_then(|one| one.fd_limit);
        let user = account::of(pid).ok_or("its user is not known")?;
        Ok((Theirs { program, data, kept, version: said("redis_version").to_owned(), nofile, user }, config))
    }
}

impl PrivateRedis {
    fn of(pid: u32, from: &Endpoint, dir: &Path) -> Result<PrivateRedis, String> {
        isolated::possible()?;
        if let Endpoint::Tcp(address) = from
            && !isolated::is_inner(address.ip())
        {
            return Err("it is asked at an address that is no loopback's".to_owned());
        }
        let (theirs, config) = Theirs::of(pid, from)?;
        let main = config.main().to_owned();
        let applied = Applied::new(ConfigSource::File(main), RedisFiles(config), Requests::default(), &BTreeMap::new())
            .map_err(|e| e.to_string())?;
        // Only root and its own user get in: whoever is led to it comes by the user's path.
        let sockets = Scratch::short("genkai-redis-").map_err(|e| e.to_string())?;
        let socket = sockets.path().join(SOCKET);
        if socket.as_os_str().len() > SUN_PATH {
            return Err(format!("{} is too long for a Unix socket: choose a shorter TMPDIR", socket.display()));
        }
        let at = Endpoint::Unix(socket);
        let scratch = scratch(dir).map_err(|e| e.to_string())?;
        let (held, asked) = (Arc::default(), Arc::default());
        let redis =
            PrivateRedis { theirs: Arc::new(theirs), applied, from: from.clone(), at, sockets, scratch, held, asked };
        redis.written().map_err(|e| e.to_string())?;
        Ok(redis)
    }

    /// Clients that it takes.
    fn clients(&self) -> u64 {
        self.value_of(SETTING).ok().and_then(|(value, _)| number(&value)).unwrap_or_default()
    }

    fn file(&self) -> PathBuf {
        self.scratch.path().join("redis.conf")
    }

    fn log(&self) -> PathBuf {
        self.scratch.path().join("redis.log")
    }

    /// The name by which its program knows what it is: of some distributions all its programs are one file.
    fn program(&self) -> PathBuf {
        self.scratch.path().join("redis-server")
    }

    fn written(&self) -> Result<(), TargetError> {
        let text =
            text(&self.applied.config().0, self.clients() + OURS, &self.from, self.sockets.path(), self.scratch.path());
        save(&self.file(), text.as_bytes())?;
        if fs::symlink_metadata(self.program()).is_err() {
            symlink(&self.theirs.program, self.program()).map_err(TargetError::files(&self.program()))?;
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program());
        command.arg(self.file()).current_dir(self.scratch.path());
        let command = isolated::as_user(&command, self.theirs.user);
        match self.from {
            Endpoint::Tcp(_) => isolated::alone(&command),
            Endpoint::Unix(_) => command,
        }
    }

    /// The law, and how it comes about.
    fn law(&self) -> (Law, String) {
        let clients = self.clients();
        let Some((most, all)) = self.held.get().copied().filter(|(most, _)| *most > 0) else {
            let law = Law::Tried { value: clients as f64, word: None };
            return (law, format!("{clients} clients; how many a request takes was not seen"));
        };
        // As many as were opened were open: none was closed when its request was over.
        if all <= most {
            let law = Law::Tried { value: clients as f64, word: None };
            return (
                law,
                format!("{clients} clients; connections are kept when requests are over ({most} before any load)"),
            );
        }
        let mut law = connections(clients as f64, 1.0);
        if let Law::Slots { idle_cost, busy_cost, .. } = &mut law {
            (*idle_cost, *busy_cost) = (0.0, most as f64);
        }
        let each = if most == 1 { "1 connection".to_owned() } else { format!("{most} connections") };
        (
            law,
            format!(
                "{clients} clients / {each} of a request while it is served (seen before any load, one request at a time)"
            ),
        )
    }
}

impl Twin for PrivateRedis {
    fn product(&self) -> &'static str {
        CALLED
    }

    fn subject(&self) -> &'static str {
        "store"
    }

    fn is_setting(&self, setting: &str) -> bool {
        setting == SETTING
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Twin>, TargetError> {
        let redis = PrivateRedis {
            theirs: Arc::clone(&self.theirs),
            applied: self.applied.with(changes)?,
            from: self.from.clone(),
            at: self.at.clone(),
            sockets: self.sockets.clone(),
            scratch: scratch(dir)?,
            held: Arc::clone(&self.held),
            asked: Arc::default(),
        };
        redis.written()?;
        Ok(Box::new(redis))
    }

    fn places(&self) -> (&Endpoint, &Endpoint) {
        (&self.from, &self.at)
    }

    fn told(&self, _: &Machine, _: u64) -> String {
        let place = self.value_of(SETTING).map(|(_, origin)| placed(&origin)).unwrap_or_default();
        format!(
            "Redis {}, {SETTING} {}{place}, run a second time {}",
            self.theirs.version,
            self.clients(),
            self.theirs.kept
        )
    }

    fn rewrite(&self) -> Rewrite {
        let config = &self.applied.config().0;
        let to = match &self.from {
            Endpoint::Tcp(address) => {
                format!("the same {address} in a network of its own, which the copy before it shares")
            }
            Endpoint::Unix(path) => {
                format!("a socket of its own in the place of {} for the copy before it", path.display())
            }
        };
        Rewrite {
            from: format!("Redis at {}", self.from),
            to: format!("{to} (with one client more, genkai, at {})", self.at),
            place: config.main().display().to_string(),
        }
    }

    fn costs(&mut self, _: Cost) {
        if let Some(asked) = self.asked.get() {
            let ClientCounts { most, received, .. } = asked.take();
            let _ = self.held.set((most, received));
        }
    }

    fn files(&self) -> &dyn Edited {
        &self.applied
    }

    fn limits(&self, subject: &str, environment: &Environment) -> Vec<Limit> {
        let Ok((value, origin)) = self.value_of(SETTING) else { return Vec::new() };
        let (law, formula) = self.law();
        let machine = Machine::of(environment);
        let most = machine.descriptors_ceiling.value - (RESERVED + OURS) as f64;
        vec![Limit {
            value,
            origin: self.applied.origin_of(SETTING, origin),
            caps: "clients that it has at once; further ones are refused".to_owned(),
            law,
            formula,
            source: SOURCE.to_owned(),
            signatures: vec![
                grew(&format!("{subject}.{REJECTED}"), Strength::Decisive),
                reached(&format!("{subject}.{}", metric::CLIENTS), self.clients() as f64, Strength::Supports),
            ],
            symptom: Symptom { errors: ANSWERED.to_vec(), slow: false },
            remedy: Some(Remedy {
                ceiling: Some(Ceiling { value: most, by: machine.descriptors_ceiling.by.clone() }),
                ..raised(SETTING, RemedyUnit::Count, 1.0)
            }),
            ..Limit::named("redis.maxclients", CALLED, SETTING)
        }]
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<(Child, Box<dyn Served>), TargetError> {
        let spawn = Spawn {
            name: "the copy of Redis".to_owned(),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(self.log()),
            nofile: Some(self.theirs.nofile.unwrap_or(0).max(machine::hard_descriptors())),
            user: None,
        };
        let _ = fs::remove_file(self.log());
        let dump = self.scratch.path().join("dump.rdb");
        match &self.theirs.data {
            Some(data) => fs::copy(data, &dump).map(drop).map_err(TargetError::files(data))?,
            None => drop(fs::remove_file(&dump)),
        }
        for folder in [self.sockets.path(), self.scratch.path()] {
            account::give(folder, self.theirs.user.0, self.theirs.user.1).map_err(TargetError::files(folder))?;
        }
        let mut child = Child::spawn(self.command(), spawn)?;
        let asked = Arc::new(Asked::on(ready(&mut child, &self.at)?));
        let served = Stored { asked: Arc::clone(&asked), told: self.told(&Machine::of(&Environment::default()), 0) };
        let _ = self.asked.set(asked);
        Ok((child, Box::new(served)))
    }
}

/// The copy as it runs.
#[derive(Debug)]
struct Stored {
    asked: Arc<Asked>,
    told: String,
}

impl Served for Stored {
    fn product(&self) -> &'static str {
        CALLED
    }

    fn told(&self) -> String {
        self.told.clone()
    }

    fn limits(&self, _: &str) -> Vec<Limit> {
        Vec::new()
    }

    fn costs(&mut self, _: Cost) {}

    fn look(&self, _: &Endpoint, _: &Usage) -> BTreeMap<String, f64> {
        let ClientCounts { peak, rejected, .. } = self.asked.take();
        BTreeMap::from([(metric::CLIENTS.to_owned(), peak as f64), (REJECTED.to_owned(), rejected as f64)])
    }

    fn logs(&mut self, _: &str) -> Vec<genkai_model::evidence::LogLine> {
        Vec::new()
    }
}

/// What the user's keeps: the file that it saved last, where it has any keys.
fn kept(pid: u32, config: &Entries, told: &str) -> Result<(Option<PathBuf>, String), String> {
    if !told.lines().any(|line| line.starts_with("db") && line.contains("keys=")) {
        return Ok((None, "without keys, as it has none".to_owned()));
    }
    if field(told, "aof_enabled") == Some("1") {
        return Err("it keeps its keys in an append-only file, of which genkai makes no copy".to_owned());
    }
    let name = config.last("dbfilename").map_or_else(|| "dump.rdb".to_owned(), |entry| entry.value());
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).map_err(|e| format!("its folder is not known: {e}"))?;
    let path = folder.join(name);
    if fs::File::open(&path).is_err() {
        let why = "it has keys, and without them a copy would answer otherwise";
        return Err(format!("{why}; they are in no file that can be read ({})", path.display()));
    }
    let since = field(told, "rdb_changes_since_last_save").unwrap_or("an unknown number of");
    let said = format!("with what {} has of its keys ({since} changes since it was saved)", path.display());
    Ok((Some(path), said))
}

/// That the data has room a second time.
fn fits(used: u64, available: u64) -> Result<(), String> {
    if used as f64 <= available as f64 * SPARED {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    Err(format!("its data take {} MiB, and {} MiB of memory could be had", mebibytes(used), mebibytes(available)))
}

/// The copy's file: every line as the user wrote it, but for what only one server can have.
fn text(config: &Entries, clients: u64, from: &Endpoint, sockets: &Path, dir: &Path) -> String {
    let kept = config.all().iter().filter(|entry| !OWN.contains(&entry.name.as_str()));
    let kept: String = kept.map(|entry| config.written(entry) + "\n").collect();
    // Its socket is the users' way to it where theirs is one, and genkai's alone where it is not.
    let (listen, mode) = match from {
        Endpoint::Tcp(address) => (format!("port {}\nbind {}\n", address.port(), address.ip()), 700),
        Endpoint::Unix(_) => ("port 0\n".to_owned(), 777),
    };
    let pid = led_by(&sockets.join(SOCKET));
    let (pid, sockets, dir) = (pid.display(), sockets.display(), dir.display());
    format!(
        "{kept}{listen}protected-mode no\nunixsocket {sockets}/{SOCKET}\nunixsocketperm {mode}\npidfile {pid}\ndir {dir}\n\
         dbfilename dump.rdb\nsave \"\"\nappendonly no\nmaxclients {clients}\n"
    )
}

fn scratch(dir: &Path) -> Result<Scratch, TargetError> {
    Ok(Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-redis-")?)
}

/// Waits until it answers that it has loaded what it keeps: a connection to it.
fn ready(child: &mut Child, at: &Endpoint) -> Result<Line<std::os::unix::net::UnixStream>, TargetError> {
    let deadline = Instant::now() + READY_WITHIN;
    let Endpoint::Unix(path) = at else {
        return Err(TargetError::machine(CALLED, "its copy has no socket".to_owned()));
    };
    loop {
        let line = connected(path).ok().map(Line::on);
        if let Some(mut line) = line
            && line.is_taken()
        {
            return Ok(line);
        }
        if child.try_exited().is_some() {
            return Err(child.exited().into());
        }
        if Instant::now() > deadline {
            let words = child.last_words();
            return Err(TargetError::machine(CALLED, format!("its copy does not answer at {at}\n{words}")));
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_users_lines_but_for_what_only_one_can_have() {
        let text_of = |from: &Endpoint| {
            let lines = b"maxmemory 64mb\nport 6379\nbind 127.0.0.1 ::1\nmaxclients 8\nsave 60 1\nappendonly yes\nrequirepass x\n".to_vec();
            let config = config::of_text(Path::new("/etc/redis/redis.conf"), lines).unwrap();
            text(&config, 9, from, Path::new("/s"), Path::new("/v"))
        };
        let unix = text_of(&Endpoint::Unix("/run/redis.sock".into()));
        assert!(unix.starts_with("maxmemory 64mb\nrequirepass x\nport 0\n"), "{unix}");
        assert!(
            unix.contains("unixsocket /s/redis.sock\n") && unix.ends_with("save \"\"\nappendonly no\nmaxclients 9\n"),
            "{unix}"
        );
        let tcp = text_of(&Endpoint::Tcp("127.0.0.1:6379".parse().unwrap()));
        assert!(tcp.contains("port 6379\nbind 127.0.0.1\n") && !tcp.contains("save 60"), "{tcp}");
    }

    #[test]
    fn data_that_have_no_room_twice_and_keys_that_are_in_no_file_are_no_copy() {
        assert!(fits(1 << 20, 4 << 20).is_ok() && fits(3 << 20, 4 << 20).unwrap_err().contains("3 MiB"));
        let config = config::of_text(Path::new("/x"), b"dbfilename none.rdb\n".to_vec()).unwrap();
        let me = std::process::id();
        assert_eq!(kept(me, &config, "# Keyspace\r\n").unwrap().0, None);
        assert!(kept(me, &config, "# Keyspace\r\ndb0:keys=1,expires=0\r\n").unwrap_err().contains("none.rdb"));
    }
}
