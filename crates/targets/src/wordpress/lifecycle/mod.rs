//! From nothing to a site that answers, and back: the database, the site's files, php-fpm, the web server, in this order;
//! stopped in the reverse of it.

mod fronts;
mod mariadb;
mod site;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

pub use site::TITLE;
pub(super) use site::{Cost, POSTS, warm};

use super::LAST_WORDS;
use super::places::{PHP_FPM_LOG, Places};
use super::programs::Programs;
use super::settings::Settings;
use super::statistics::Statistics;
use crate::error::TargetError;
use fronts::Pool;
use genkai_place::oneshot::finish;
use genkai_place::process::{Child, Spawn};
use genkai_place::tail;

/// How long a server may take until it answers; on a small host it is about a second.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a tool (making the system tables, installing the site) may take; about a second each.
const TOOL_WITHIN: Duration = Duration::from_secs(120);

/// Between two looks at something that is awaited.
const PAUSE: Duration = Duration::from_millis(5);

/// The servers of one instance, running. Dropped, they end (in the order of the fields).
#[derive(Debug)]
pub(super) struct Servers {
    /// The web server.
    pub(super) web: Child,
    /// php-fpm's master with its children.
    pub(super) php_fpm: Child,
    /// A connection to the database that can ask for its statistics even when all others are in use.
    pub(super) statistics: Statistics,
    /// The database.
    pub(super) mariadb: Child,
    /// Where the site answers.
    pub(super) address: SocketAddr,
    /// php-fpm's pool.
    pub(super) pool: SocketAddr,
    /// php-fpm's status page.
    pub(super) status: SocketAddr,
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
    pub(super) fn start(setup: &Setup) -> Result<Servers, TargetError> {
        mariadb::install(setup)?;
        site::write(setup)?;
        // php-fpm opens its log itself, as the user it runs as.
        setup.places.write(PHP_FPM_LOG, "")?;
        setup.places.hand_over()?;
        let (mariadb, statistics) = mariadb::start(setup)?;
        // The installer needs the database only, so php-fpm and the web server start beside it.
        let (installed, fronts) = thread::scope(|scope| {
            let installer = scope.spawn(|| site::install(setup));
            let fronts = fronts::php_fpm(setup).and_then(|pool| Ok((fronts::web(setup, pool.pool)?, pool)));
            (installer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), fronts)
        });
        installed?;
        let ((web, address), Pool { child: php_fpm, pool, status }) = fronts?;
        Ok(Servers { web, php_fpm, mariadb, address, pool, status, statistics })
    }

    /// Process ids: the web server's master, php-fpm's, the database.
    pub(super) fn pids(&self) -> [u32; 3] {
        [self.web.pid(), self.php_fpm.pid(), self.mariadb.pid()]
    }
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
    fn run(&self, command: std::process::Command, name: &str, log: &str) -> Result<(), TargetError> {
        let (log, begun) = (self.places.file(log), Instant::now());
        let status = finish(command, self.spawn(name, log.clone()), TOOL_WITHIN)?.status;
        let how = match status.success() {
            true => return Ok(()),
            false if begun.elapsed() >= TOOL_WITHIN => format!("did not end within {} s", TOOL_WITHIN.as_secs()),
            false => format!("failed ({status})"),
        };
        Err(failed(name, &how, &tail::last(&log, LAST_WORDS)))
    }
}

/// A server or a tool failed; its last words are attached.
fn failed(name: &str, how: &str, tail: &str) -> TargetError {
    TargetError::machine(super::CALLED, format!("{name} {how}; its last words:\n{tail}"))
}
