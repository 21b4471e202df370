//! The database: system tables, server, readiness.

use std::thread;
use std::time::Instant;

use super::{PAUSE, READY_WITHIN, Setup, failed};
use crate::error::TargetError;
use crate::wordpress::places::Identity;
use crate::wordpress::settings;
use crate::wordpress::statistics::Statistics;
use genkai_place::process::Child;

/// Name in messages.
const NAME: &str = "the WordPress backend's MariaDB";

/// Makes the system tables: accounts without passwords (`normal` authentication), no test database.
///
/// The tool is a shell script that quotes the data folder but not its other arguments, so paths go nowhere else.
pub(super) fn install(setup: &Setup) -> Result<(), TargetError> {
    setup.places.write("accounts.sql", settings::ACCOUNTS)?;
    setup.places.write("mariadb.cnf", &settings::mariadb(setup.settings, setup.places))?;
    setup.places.hand_over()?;
    let mut command = setup.programs.command(&setup.programs.mariadb_install_db);
    command.arg("--no-defaults").arg(format!("--datadir={}", setup.places.data().display()));
    command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]).args(settings::MARIADB_FILES);
    if setup.places.identity() == Identity::Root {
        command.arg("--user=root");
    }
    command.env("TMPDIR", setup.places.temporary()).current_dir(setup.places.root());
    setup.run(command, "mariadb-install-db", "mariadb-install-db.log")
}

/// Starts the server and connects to it as the observer, which only works once it accepts connections and has run the
/// statements of [`settings::ACCOUNTS`].
pub(super) fn start(setup: &Setup) -> Result<(Child, Statistics), TargetError> {
    let mut command = setup.programs.command(&setup.programs.mariadbd);
    command.arg(format!("--defaults-file={}", setup.places.file("mariadb.cnf").display()));
    command.current_dir(setup.places.root());
    let mut child = Child::spawn(command, setup.spawn(NAME, setup.places.file("mariadb.log")))?;
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        if child.try_exited().is_some() {
            return Err(child.exited().into());
        }
        match Statistics::connect(setup.places.socket()) {
            Ok(statistics) => return Ok((child, statistics)),
            Err(why) if Instant::now() >= deadline => {
                let how = format!("did not get ready within {} s ({why})", READY_WITHIN.as_secs());
                return Err(failed(NAME, &how, &child.last_words()));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
