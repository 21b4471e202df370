//! php-fpm: configuration, server, readiness.

use std::net::SocketAddr;

use super::{READY_WITHIN, Setup};
use crate::wordpress::error::WordPressError;
use crate::wordpress::places::Identity;
use crate::wordpress::settings;
use genkai_place::process::Child;
use genkai_place::ready;

/// Starts the pool on `pool` with its status page on `status`. Ready when both accept connections.
pub(super) fn start(
    setup: &Setup,
    pool: SocketAddr,
    status: SocketAddr,
) -> Result<(Child, (SocketAddr, SocketAddr)), WordPressError> {
    let config = setup.places.write("php-fpm.conf", &settings::php_fpm(setup.settings, setup.places, pool, status))?;
    let mut command = setup.programs.command(&setup.programs.php_fpm);
    command.arg("--nodaemonize").arg("--fpm-config").arg(config);
    command.arg("-c").arg(setup.places.file("php.ini")).current_dir(setup.places.root());
    if setup.places.identity() == Identity::Root {
        command.arg("--allow-to-run-as-root");
    }
    // The same file as `error_log`, so that what it says before it has read its configuration is there too.
    let spawn = setup.spawn("the WordPress backend's php-fpm", setup.places.php_fpm_log());
    let mut child = Child::spawn(command, spawn)?;
    ready::connectable(pool, READY_WITHIN, &mut child)?;
    ready::connectable(status, READY_WITHIN, &mut child)?;
    Ok((child, (pool, status)))
}
