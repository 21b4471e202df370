//! A pool of the user's a second time: the same files on a socket of genkai's own, while the user's goes on untouched.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::Limit;
use genkai_model::plan::ConfigSource;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::process::{Child, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::usage::alone;
use genkai_place::{isolated, port};

use super::config;
use super::given::{self, Given};
use super::ini::{self, Ini};
use super::limits::{Pool, process_max};
use super::serving::{self, Serving};
use super::settings::{PoolFiles, is_setting};
use crate::error::TargetError;
use crate::files::{Applied, Edited, Move, Requests, save};
use crate::product::{Cost, READY_WITHIN, Served, Twin, alike, is_own, led_by, program_of, tested};

/// Longest path of a Unix socket (`sun_path` less its final zero, unix(7)).
const SUN_PATH: usize = 107;
/// The copy's slow log, where the user's has one.
const SLOW_LOG: &str = "slow.log";
/// Where PHP tells in the copy what fails, whatever the user's does with it.
const PHP_LOG: &str = "php.log";
/// Between two attempts to reach it.
const PAUSE: Duration = Duration::from_millis(5);
/// Keys of a configuration that only one master can have, or that say who may connect: the copy's are its own.
const OWN: [&str; 13] = [
    "pid",
    "error_log",
    "log_level",
    "daemonize",
    "systemd_interval",
    "syslog.facility",
    "syslog.ident",
    "listen.owner",
    "listen.group",
    "listen.mode",
    "listen.acl_users",
    "listen.acl_groups",
    "pm.status_listen",
];

/// The same of a pool: where PHP writes what fails.
const OWN_PHP: [&str; 6] = [
    "php_admin_value[error_log]",
    "php_value[error_log]",
    "php_admin_flag[log_errors]",
    "php_flag[log_errors]",
    "php_admin_value[log_errors]",
    "php_value[log_errors]",
];

/// One pool of a master that somebody else started, as genkai runs it again.
#[derive(Debug)]
struct PrivatePool {
    program: PathBuf,
    /// Variables of the user's by which PHP finds its files.
    variables: Vec<(&'static str, String)>,
    /// Words of the user's by which PHP has settings.
    given: Given,
    applied: Applied<PoolFiles>,
    /// Where the user's listens.
    from: Endpoint,
    /// Where this one does.
    at: Endpoint,
    /// Folder of the socket, which all variants share.
    sockets: Scratch,
    /// Folder of this variant.
    scratch: Scratch,
    /// Descriptors of the user's master.
    nofile: Option<u64>,
    /// Whom its scripts find where they look for others.
    moves: Vec<Move>,
    cost: Option<Cost>,
    /// What PHP has besides the pool.
    ini: Ini,
}

/// The pool that listens at `endpoint`, of the master `pid`, to be run from `dir`.
pub(super) fn twin(pid: u32, endpoint: &Endpoint, dir: &Path, _: bool) -> Option<Result<Box<dyn Twin>, String>> {
    let main = serving::main(pid)?;
    let pool = PrivatePool::of(pid, &main, endpoint, dir);
    Some(pool.map(|pool| Box::new(pool) as Box<dyn Twin>))
}

impl PrivatePool {
    fn of(pid: u32, main: &Path, endpoint: &Endpoint, dir: &Path) -> Result<PrivatePool, String> {
        let config = config::read(main).map_err(|e| e.to_string())?;
        serving::has_read(pid, &config)?;
        let name = config::pool_at(&config, endpoint)
            .ok_or_else(|| format!("{} has no pool that listens there", main.display()))?;
        let pools = config::pools(&config).len();
        if pools > 1 && config.value_in("global", "process.max").is_some() {
            return Err(format!("process.max is shared by {pools} pools, and a copy would have it alone"));
        }
        alike(pid)?;
        is_own(pid)?;
        let program = program_of(pid)?;
        let variables = ini::variables(pid);
        let given = serving::titled_path(pid).map_or_else(|| Ok(Given::default()), |main| given::given(pid, &main));
        // A copy without them would have other settings than the user's.
        let given = given?;
        let ini = Ini::asked(&program, &variables, &given);
        let files = PoolFiles { config, name };
        let applied = Applied::new(ConfigSource::File(main.to_owned()), files, Requests::default(), &BTreeMap::new())
            .map_err(|e| e.to_string())?;
        let sockets = scratch(dir).map_err(|e| e.to_string())?;
        let at = place(endpoint, sockets.path())?;
        let nofile = alone(pid).and_then(|one| one.fd_limit);
        let (scratch, from) = (sockets.clone(), endpoint.clone());
        let (moves, cost) = (Vec::new(), None);
        let pool =
            PrivatePool { program, variables, given, applied, from, at, sockets, scratch, nofile, moves, cost, ini };
        pool.written().map_err(|e| e.to_string())?;
        Ok(pool)
    }

    /// It with other files, whose scripts find others where they look for some.
    fn variant(&self, applied: Applied<PoolFiles>, moves: Vec<Move>, dir: &Path) -> Result<PrivatePool, TargetError> {
        let pool = PrivatePool {
            program: self.program.clone(),
            variables: self.variables.clone(),
            given: self.given.clone(),
            applied,
            from: self.from.clone(),
            at: self.at.clone(),
            sockets: self.sockets.clone(),
            scratch: scratch(dir)?,
            nofile: self.nofile,
            moves,
            cost: self.cost,
            ini: self.ini.clone(),
        };
        pool.written()?;
        Ok(pool)
    }

    /// The command of one that runs where whom its scripts look for are others.
    fn among_others(&self) -> Result<Command, TargetError> {
        let mut command = self.command();
        let mut sockets = Vec::new();
        for Move { from, to } in &self.moves {
            match (from, to) {
                (Endpoint::Unix(from), Endpoint::Unix(to)) => sockets.push((from.clone(), to.clone())),
                (Endpoint::Tcp(_), Endpoint::Unix(to)) => {
                    let file = led_by(to);
                    command = isolated::beside(&command, &file).map_err(TargetError::files(&file))?;
                }
                (_, Endpoint::Tcp(_)) => {
                    return Err(TargetError::usage("php-fpm", format!("its copy is not led from {from} to {to}")));
                }
            }
        }
        Ok(if sockets.is_empty() { command } else { isolated::with_sockets(&command, &sockets) })
    }

    fn machine(&self, environment: &Environment) -> Machine {
        match self.nofile {
            Some(descriptors) => Machine::inheriting(environment, descriptors),
            None => Machine::of(environment),
        }
    }

    fn serving(&self, machine: &Machine) -> Serving {
        let PoolFiles { config, name } = self.applied.config();
        let pool = Pool::of(config, name, machine).with(&self.ini);
        let mut served = Serving::of(config, pool, &self.at, machine).ours(self.log(), self.said());
        if let Some(cost) = self.cost {
            served.costs(cost);
        }
        served
    }

    /// Whom its scripts find elsewhere than the user's, in words.
    fn led_to(&self) -> String {
        self.moves.iter().map(|Move { from, to }| format!(", which finds {to} at {from}")).collect()
    }

    /// Where the copy's status page is asked for, where it has a socket of its own.
    fn page(&self) -> Option<Endpoint> {
        let PoolFiles { config, name } = self.applied.config();
        let own = config.value_in(name, "pm.status_listen").and_then(|_| status_socket(self.scratch.path()));
        own.map(Endpoint::Unix)
    }

    fn log(&self) -> PathBuf {
        self.scratch.path().join("php-fpm.log")
    }

    /// PHP's own log, which its children write.
    fn said(&self) -> PathBuf {
        self.scratch.path().join(PHP_LOG)
    }

    fn file(&self) -> PathBuf {
        self.scratch.path().join("php-fpm.conf")
    }

    /// Writes the copy and has php-fpm test it.
    fn written(&self) -> Result<(), TargetError> {
        save(&self.file(), text(self.applied.config(), &self.at, self.scratch.path()).as_bytes())?;
        let mut command = self.command();
        command.arg("-t");
        let finished = tested(command, "php-fpm -t", self.scratch.path())?;
        if finished.status.success() { Ok(()) } else { Err(TargetError::rejected("php-fpm", finished.text)) }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        ini::given(&mut command, &self.variables);
        command.args(&self.given.words).arg("--nodaemonize").arg("--fpm-config").arg(self.file()).current_dir("/");
        if nix::unistd::geteuid().is_root() {
            command.arg("--allow-to-run-as-root");
        }
        command
    }
}

impl Twin for PrivatePool {
    fn product(&self) -> &'static str {
        "php-fpm"
    }

    fn is_setting(&self, setting: &str) -> bool {
        is_setting(setting)
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Twin>, TargetError> {
        Ok(Box::new(self.variant(self.applied.with(changes)?, self.moves.clone(), dir)?))
    }

    fn led(&self, moves: &[Move], dir: &Path) -> Result<Box<dyn Twin>, TargetError> {
        let over_tcp = moves.iter().any(|one| matches!(one.from, Endpoint::Tcp(_)));
        if over_tcp && matches!(self.at, Endpoint::Tcp(_)) {
            let why = "its pool listens on a TCP port, which is not reached in a network of its own: a pool on a Unix socket is";
            return Err(TargetError::usage("php-fpm", why));
        }
        Ok(Box::new(self.variant(self.applied.clone(), moves.to_vec(), dir)?))
    }

    fn places(&self) -> (&Endpoint, &Endpoint) {
        (&self.from, &self.at)
    }

    fn told(&self, machine: &Machine, _: u64) -> String {
        self.serving(machine).told()
    }

    fn rewrite(&self) -> Rewrite {
        let PoolFiles { config, name } = self.applied.config();
        let listen = config.value_in(name, "listen");
        Rewrite {
            from: format!("listen = {}", listen.map(|entry| entry.value()).unwrap_or_default()),
            to: format!(
                "listen = {} (a php-fpm of its own with the pool [{name}] alone{})",
                bare(&self.at),
                self.led_to()
            ),
            place: listen.map(|entry| config.place(entry)).unwrap_or_default(),
        }
    }

    fn workers(&self) -> Option<u64> {
        let PoolFiles { config, name } = self.applied.config();
        let own = Pool::of(config, name, &Machine::of(&Environment::default())).children?.value;
        Some(process_max(config).map_or(own, |most| most.min(own)))
    }

    fn costs(&mut self, cost: Cost) {
        self.cost = Some(cost);
    }

    fn files(&self) -> &dyn Edited {
        &self.applied
    }

    fn limits(&self, subject: &str, environment: &Environment) -> Vec<Limit> {
        let machine = self.machine(environment);
        let mut all = self.serving(&machine).limits(subject);
        for limit in &mut all {
            limit.origin = self.applied.origin_of(&limit.setting, limit.origin.clone());
        }
        all
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<(Child, Box<dyn Served>), TargetError> {
        let spawn = Spawn {
            name: "the copy of php-fpm".to_owned(),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(self.log()),
            nofile: self.nofile,
            user: None,
        };
        // What an earlier start logged is none of this one's.
        let _ = fs::remove_file(self.log());
        // Its children write it as their user.
        let made =
            fs::write(self.said(), "").and_then(|()| fs::set_permissions(self.said(), Permissions::from_mode(0o666)));
        made.map_err(TargetError::files(&self.said()))?;
        let mut child = Child::spawn(self.among_others()?, spawn)?;
        let environment = genkai_place::machine::environment(BTreeMap::new());
        reached(&mut child, &self.at)?;
        let served = self.serving(&self.machine(&environment));
        let served = served.watched(self.page(), Some(self.scratch.path().join(SLOW_LOG)));
        Ok((child, Box::new(served)))
    }
}

fn scratch(dir: &Path) -> Result<Scratch, TargetError> {
    Ok(Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-php-fpm-")?)
}

/// Where the copy listens: a socket of the same kind.
fn place(endpoint: &Endpoint, dir: &Path) -> Result<Endpoint, String> {
    match endpoint {
        Endpoint::Unix(_) => {
            let path = dir.join("pool.sock");
            if path.as_os_str().len() > SUN_PATH {
                return Err(format!("{} is too long for a Unix socket: choose a shorter --out", path.display()));
            }
            Ok(Endpoint::Unix(path))
        }
        Endpoint::Tcp(_) => {
            let port = port::free().map_err(|e| format!("no free port on 127.0.0.1: {e}"))?;
            Ok(Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
        }
    }
}

/// A place as php-fpm writes it.
fn bare(at: &Endpoint) -> String {
    match at {
        Endpoint::Tcp(address) => address.to_string(),
        Endpoint::Unix(path) => path.display().to_string(),
    }
}

/// A configuration with this pool alone, each line as the user wrote it, but for what only one master can have.
fn text(files: &PoolFiles, at: &Endpoint, dir: &Path) -> String {
    let PoolFiles { config, name } = files;
    let path = |file: &str| dir.join(file).display().to_string();
    let lines = |section: &str, own: &str| {
        let own_keys = |key: &str| {
            OWN.contains(&key)
                || OWN_PHP.contains(&key)
                || own.lines().any(|line| line.starts_with(&format!("{key} =")))
        };
        let entries = config.all().iter().filter(|entry| entry.section == section && !own_keys(&entry.name));
        let kept: String = entries.map(|entry| config.written(entry) + "\n").collect();
        format!("[{section}]\n{own}{kept}")
    };
    let global = format!(
        "pid = {}\nerror_log = {}\nlog_level = notice\ndaemonize = no\n",
        path("php-fpm.pid"),
        path("php-fpm.log")
    );
    let has = |key: &str| config.value_in(name, key).is_some();
    let moved = |(key, file): (&str, &str)| if has(key) { format!("{key} = {}\n", path(file)) } else { String::new() };
    let logs: String = [("access.log", "access.log"), ("slowlog", SLOW_LOG)].into_iter().map(moved).collect();
    let page = has("pm.status_listen").then(|| status_socket(dir)).flatten();
    let page = page.map(|at| format!("pm.status_listen = {}\n", at.display())).unwrap_or_default();
    let php = format!("php_admin_flag[log_errors] = on\nphp_admin_value[error_log] = {}\n", path(PHP_LOG));
    let pool = format!("listen = {}\nlisten.mode = 0666\n{logs}{page}{php}", bare(at));
    format!("{}{}", lines("global", &global), lines(name, &pool))
}

/// Where the copy's status page is asked for, where the user's has a socket of its own; none where its path would be too long.
fn status_socket(dir: &Path) -> Option<PathBuf> {
    Some(dir.join("status.sock")).filter(|path| path.as_os_str().len() <= SUN_PATH)
}

/// Waits until it accepts connections.
fn reached(child: &mut Child, at: &Endpoint) -> Result<(), TargetError> {
    let deadline = Instant::now() + READY_WITHIN;
    let accepts = || match at {
        Endpoint::Tcp(address) => TcpStream::connect(address).is_ok(),
        Endpoint::Unix(path) => UnixStream::connect(path).is_ok(),
    };
    while !accepts() {
        if child.try_exited().is_some() {
            return Err(child.exited().into());
        }
        if Instant::now() > deadline {
            let words = child.last_words();
            return Err(TargetError::machine("php-fpm", format!("it does not listen at {at}\n{words}")));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_what_the_pool_includes_and_not_what_another_does() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        fs::write(dir.path().join("more.conf"), "pm.max_children = 9\n").unwrap();
        fs::write(dir.path().join("other.conf"), "pm.max_requests = 5\n").unwrap();
        let text = "[www]\nlisten = 9000\npm.max_children = 4\ninclude = more.conf\npm = static\n[other]\ninclude = other.conf\n";
        fs::write(&main, text).unwrap();
        let files = PoolFiles { config: config::read(&main).unwrap(), name: "www".to_owned() };
        let copy = super::text(&files, &Endpoint::Unix("/x/pool.sock".into()), Path::new("/x"));
        assert!(copy.ends_with("pm.max_children = 4\npm.max_children = 9\npm = static\n"), "{copy}");
        assert!(!copy.contains("max_requests"), "{copy}");
    }

    #[test]
    fn a_copy_has_the_pools_lines_and_no_others_and_a_place_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        let text = "[global]\npid = /run/php.pid\nerror_log = /var/log/php.log\nlog_level = error\nemergency_restart_threshold = 3\n\
                    [other]\nlisten = 9001\npm = static\npm.max_children = 2\n\
                    [www]\nuser = nobody\nlisten = /run/$pool.sock\nlisten.owner = www-data\nlisten.mode = 0600\nslowlog = /var/log/slow.log\n\
                    php_value[error_log] = /var/log/php-errors.log\nphp_flag[log_errors] = off\nphp_admin_value[log_errors] = 0\nphp_value[log_errors] = 0\nphp_admin_value[memory_limit] = \"64M\" ; small\npm = static\npm.max_children = 4\n";
        fs::write(&main, text).unwrap();
        let files = PoolFiles { config: config::read(&main).unwrap(), name: "www".to_owned() };
        let at = Endpoint::Unix("/x/pool.sock".into());
        let copy = super::text(&files, &at, Path::new("/x"));
        let expected = "[global]\npid = /x/php-fpm.pid\nerror_log = /x/php-fpm.log\nlog_level = notice\ndaemonize = no\n\
                        emergency_restart_threshold = 3\n[www]\nlisten = /x/pool.sock\nlisten.mode = 0666\nslowlog = /x/slow.log\n\
                        php_admin_flag[log_errors] = on\nphp_admin_value[error_log] = /x/php.log\nuser = nobody\nphp_admin_value[memory_limit] = \"64M\" ; small\npm = static\npm.max_children = 4\n";
        assert_eq!(copy, expected);
    }
}
