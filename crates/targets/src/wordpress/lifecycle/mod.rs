//! From nothing to a site that answers, and back: the database, the site's files, php-fpm, the web server, in this order;
//! stopped in the reverse of it.

mod mariadb;
mod php_fpm;
mod site;
mod web;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

pub use site::TITLE;
pub(super) use site::{Cost, warm};

use super::error::WordPressError;
use super::evidence::statistics::Statistics;
use super::places::{PHP_FPM_LOG, Places};
use super::programs::Programs;
use super::settings::Settings;
use genkai_place::port;
use genkai_place::process::{Child, Signal, Spawn};

/// How long a server may take until it answers; on a small host it is about a second.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a tool (making the system tables, installing the site) may take; about a second each.
const TOOL_WITHIN: Duration = Duration::from_secs(120);

/// Between two looks at something that is awaited.
const PAUSE: Duration = Duration::from_millis(5);

/// How often a start is tried again when a port was taken in the instant between finding it and binding it.
const ATTEMPTS: usize = 3;

/// How long the web server and php-fpm have to end; both drop what they do.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// How long the database has to end; it writes its buffers first.
const DATABASE_GRACE: Duration = Duration::from_secs(15);

/// The servers of one instance, running. Dropped, they end (in the order of the fields).
#[derive(Debug)]
pub(super) struct Servers {
    /// The web server.
    pub(super) web: Child,
    /// php-fpm's master with its children.
    pub(super) php_fpm: Child,
    /// The database.
    pub(super) mariadb: Child,
    /// Where the site answers.
    pub(super) address: SocketAddr,
    /// php-fpm's pool.
    pub(super) pool: SocketAddr,
    /// php-fpm's status page.
    pub(super) status: SocketAddr,
    /// A connection to the database that can ask for its statistics even when all others are in use.
    pub(super) statistics: Statistics,
}

/// Everything a step of the start needs.
pub(super) struct Setup<'a> {
    /// What is installed.
    pub(super) programs: &'a Programs,
    /// Where everything lies.
    pub(super) places: &'a Places,
    /// The values.
    pub(super) settings: &'a Settings,
    /// Cores the servers may use.
    pub(super) cpus: Option<&'a [usize]>,
}

impl Servers {
    /// Starts everything and installs the site. When a step fails, what had started is stopped.
    ///
    /// # Errors
    /// The first step that failed, with the end of its log.
    pub(super) fn start(setup: &Setup) -> Result<Servers, WordPressError> {
        mariadb::install(setup)?;
        site::write(setup)?;
        // php-fpm opens its log itself, as the user it runs as.
        setup.places.write(PHP_FPM_LOG, "")?;
        setup.places.hand_over()?;
        let (mariadb, statistics) = mariadb::start(setup)?;
        // The installer needs the database only, so php-fpm and the web server start beside it.
        let (installed, fronts) = thread::scope(|scope| {
            let installer = scope.spawn(|| site::install(setup));
            let fronts = fronts(setup);
            (installer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), fronts)
        });
        installed?;
        let (php_fpm, pool, status, web, address) = fronts?;
        Ok(Servers { web, php_fpm, mariadb, address, pool, status, statistics })
    }

    /// Process ids: the web server's master, php-fpm's, the database.
    pub(super) fn pids(&self) -> [u32; 3] {
        [self.web.pid(), self.php_fpm.pid(), self.mariadb.pid()]
    }

    /// Stops everything, the web server first, the database last.
    pub(super) fn stop(mut self) {
        self.web.stop(Signal::SIGTERM, STOP_GRACE);
        self.php_fpm.stop(Signal::SIGTERM, STOP_GRACE);
        drop(self.statistics);
        self.mariadb.stop(Signal::SIGTERM, DATABASE_GRACE);
    }
}

type Fronts = (Child, SocketAddr, SocketAddr, Child, SocketAddr);

/// php-fpm and the web server.
fn fronts(setup: &Setup) -> Result<Fronts, WordPressError> {
    let (php_fpm, (pool, status)) = on_free_ports(|| php_fpm::start(setup, free_address()?, free_address()?))?;
    let (web, address) = on_free_ports(|| web::start(setup, free_address()?, pool))?;
    Ok((php_fpm, pool, status, web, address))
}

impl Setup<'_> {
    /// How a server or tool is started: on the cores, as the user, in the log of the instance.
    fn spawn(&self, name: &str, log: PathBuf) -> Spawn {
        Spawn {
            name: name.to_owned(),
            cpus: self.cpus.map(<[usize]>::to_vec),
            log: Some(log),
            nofile: None,
            user: self.places.user(),
        }
    }

    /// Runs a tool to its end.
    fn run(&self, command: std::process::Command, name: &str, log: &str) -> Result<(), WordPressError> {
        let mut tool = Child::spawn(command, self.spawn(name, self.places.file(log)))?;
        let failed = |tool: &Child, failed: String| {
            Err(WordPressError::Server { name: name.to_owned(), failed, tail: tool.last_words() })
        };
        match ended(&mut tool, TOOL_WITHIN) {
            Some(status) if status.success() => Ok(()),
            Some(status) => failed(&tool, format!("failed ({status})")),
            None => failed(&tool, format!("did not end within {} s", TOOL_WITHIN.as_secs())),
        }
    }
}

/// Waits for the end of a child.
fn ended(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + within;
    loop {
        let status = child.try_exited();
        if status.is_some() || Instant::now() >= deadline {
            return status;
        }
        thread::sleep(PAUSE);
    }
}

/// Tries again with other ports when one was taken meanwhile.
fn on_free_ports<T>(mut start: impl FnMut() -> Result<T, WordPressError>) -> Result<T, WordPressError> {
    let mut attempts = 1;
    loop {
        match start() {
            Err(error) if attempts < ATTEMPTS && error.is_collision() => attempts += 1,
            result => return result,
        }
    }
}

fn free_address() -> Result<SocketAddr, WordPressError> {
    let port = port::free().map_err(WordPressError::file("127.0.0.1:0"))?;
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collision() -> WordPressError {
        let tail = "bind() to 127.0.0.1:1 failed (98: Address already in use)".to_owned();
        WordPressError::Server { name: "nginx".to_owned(), failed: "ended".to_owned(), tail }
    }

    #[test]
    fn a_taken_port_is_tried_again_but_not_for_ever() {
        let mut tries = 0;
        let third = on_free_ports(|| {
            tries += 1;
            if tries < 3 { Err(collision()) } else { Ok(tries) }
        });
        assert_eq!(third.unwrap(), 3);
        let mut tries = 0;
        let never: Result<(), _> = on_free_ports(|| {
            tries += 1;
            Err(collision())
        });
        assert!(never.unwrap_err().is_collision());
        assert_eq!(tries, ATTEMPTS);
    }
}
