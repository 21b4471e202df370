//! A private WordPress as the backend of an experiment: MariaDB, php-fpm and a web server before it, from Debian's
//! packages, in one folder, on free loopback ports, with the site installed and warm.
//!
//! No system service is touched, nothing of /etc or /usr is changed, and nothing outside the folder is written (only a
//! socket in a temporary folder when the path is too long for one). Works as root, where everything runs as `www-data`
//! if that account can enter the folder, and as an ordinary user.
//!
//! Reading order: [`WordPress`], `lifecycle` (how it comes up and goes), `settings` (what it is made of and where each
//! value comes from), `evidence` (what it shows), `limits` (what caps it).

mod evidence;
mod lifecycle;
mod limits;
mod places;
pub mod pods;
mod programs;
mod settings;
mod statistics;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use genkai_model::limit::Limit;
use genkai_model::plan::Site;
use nix::sys::resource::{Resource, getrlimit};

pub use self::lifecycle::TITLE;
pub use self::programs::{Programs, WORDPRESS};
pub use self::settings::{INSTALL, MAX_CHILDREN};

use self::evidence::Observer;
use self::lifecycle::{Cost, Servers, Setup};
use self::places::Places;
use self::settings::Settings;
use crate::error::TargetError;
use genkai_place::observation::Observation;
use genkai_place::program::search_path;
use genkai_place::{group, machine, tail};

/// What people call it.
const CALLED: &str = "WordPress";

/// How much of a log's end a message carries, bytes.
const LAST_WORDS: u64 = 2048;

/// net.core.somaxconn where it cannot be read: the kernel's default since 5.4.
const SOMAXCONN: u32 = 4096;

/// A running private WordPress. Dropping it ends it and removes its files.
#[derive(Debug)]
pub struct WordPress {
    // In the order in which they must go.
    servers: Servers,
    places: Places,
    programs: Programs,
    settings: Settings,
    observer: Observer,
    cost: Cost,
}

impl WordPress {
    /// Starts MariaDB, php-fpm with the children of `site` and the web server in `dir` (which must exist), on the cores `cpus` (all that
    /// genkai has, when none are given), installs the site and warms it. Takes about five seconds on two cores.
    ///
    /// # Errors
    /// What is not installed, all of it at once, with the command that installs it; or the first step that failed with
    /// the end of its log. Then nothing is left running or lying about.
    pub fn start(dir: &Path, site: &Site, cpus: Option<&[usize]>) -> Result<WordPress, TargetError> {
        let programs = Programs::find(&search_path(), Path::new(WORDPRESS))?;
        Self::start_with(programs, dir, site, cpus)
    }

    /// As [`WordPress::start`], with programs found elsewhere.
    ///
    /// # Errors
    /// As [`WordPress::start`].
    pub fn start_with(
        programs: Programs,
        dir: &Path,
        site: &Site,
        cpus: Option<&[usize]>,
    ) -> Result<WordPress, TargetError> {
        if !(1..=MAX_CHILDREN).contains(&site.children) {
            let asked = site.children;
            let text = format!("a php-fpm pool of {asked} children cannot be made here: choose 1 to {MAX_CHILDREN}");
            return Err(TargetError::machine(CALLED, text));
        }
        let cores = cpus.map_or_else(|| machine::cores().len(), <[usize]>::len);
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(_, hard)| hard);
        let quota = group::cpu_quota().map(|quota| quota.cores);
        let settings = Settings { quota, ..Settings::new(site, cores, descriptors) };
        let places = Places::make(dir)?;
        let servers = Servers::start(&Setup { programs: &programs, places: &places, settings: &settings, cpus })?;
        let pids = servers.pids();
        let warmed =
            lifecycle::warm(servers.address, settings.at_once()).and_then(|()| Cost::measure(servers.address, pids));
        let cost = warmed.map_err(|seen| wrong(&servers, &places, seen))?;
        let observer = Observer::new(&servers, &places);
        Ok(WordPress { servers, places, programs, settings, observer, cost })
    }

    /// Where the site answers over HTTP.
    pub fn address(&self) -> SocketAddr {
        self.servers.address
    }

    /// How long the front page takes on an otherwise idle host, as measured when it started.
    pub fn service(&self) -> Duration {
        self.cost.service
    }

    /// Asks for the front page a few times, so that caches are filled; checks the answers.
    ///
    /// # Errors
    /// An answer that is not the site's.
    pub fn warm(&self) -> Result<(), TargetError> {
        let seen = lifecycle::warm(self.servers.address, self.settings.at_once());
        seen.map_err(|seen| wrong(&self.servers, &self.places, seen))
    }

    /// Looks at it: a sample of subject `backend`, new log lines that tell of trouble, servers and workers that died.
    pub fn observe(&mut self) -> Observation {
        self.observer.look(&mut self.servers, &self.settings)
    }

    /// Its limits: `backend.php_fpm.max_children`, `backend.php_fpm.backlog`, `backend.mariadb.max_connections` and
    /// `backend.cpu`.
    pub fn limits(&self) -> Vec<Limit> {
        let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
        limits::all(&self.settings, self.cost, text.trim().parse().unwrap_or(SOMAXCONN))
    }

    /// Names and versions of its programs.
    pub fn versions(&self) -> Vec<(String, String)> {
        self.programs.versions()
    }

    /// Process ids of its servers' masters: the web server, php-fpm, the database. Each leads a session of its own.
    pub fn pids(&self) -> [u32; 3] {
        self.servers.pids()
    }
}

/// An answer that is not the site's, with the end of the web server's log.
fn wrong(servers: &Servers, places: &Places, seen: String) -> TargetError {
    let tail = tail::last(&places.file("web.log"), LAST_WORDS);
    let what = format!("the WordPress site at http://{}/ does not answer as it should", servers.address);
    TargetError::machine(CALLED, format!("{what}: {seen}\n{tail}"))
}
