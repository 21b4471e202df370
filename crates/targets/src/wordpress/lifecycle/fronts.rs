//! What stands before the database: php-fpm, and the web server that is the backend host as the product under test sees it.

use std::net::{Ipv4Addr, SocketAddr};

use super::{READY_WITHIN, Setup};
use crate::error::TargetError;
use crate::wordpress::places::{Identity, unwritten};
use crate::wordpress::settings;
use genkai_place::process::Child;
use genkai_place::{PlaceError, port, process_tree, ready};

/// php-fpm's master with its children; where its pool and its status page listen.
pub(super) struct Pool {
    pub(super) child: Child,
    pub(super) pool: SocketAddr,
    pub(super) status: SocketAddr,
}

/// Starts the pool. Ready when it and its status page accept connections.
pub(super) fn php_fpm(setup: &Setup) -> Result<Pool, TargetError> {
    let site = || {
        let (pool, status) = (free_address()?, free_address()?);
        setup.places.write("php-fpm.conf", &settings::php_fpm(setup.settings, setup.places, pool, status))?;
        Ok((pool, status))
    };
    let start = |&(pool, status): &(SocketAddr, SocketAddr)| {
        let mut command = setup.programs.command(&setup.programs.php_fpm);
        command.arg("--nodaemonize").arg("--fpm-config").arg(setup.places.file("php-fpm.conf"));
        command.arg("-c").arg(setup.places.file("php.ini")).current_dir(setup.places.root());
        if setup.places.identity() == Identity::Root {
            command.arg("--allow-to-run-as-root");
        }
        // The same file as `error_log`, so that what it says before it has read its configuration is there too.
        let spawn = setup.spawn("the WordPress backend's php-fpm", setup.places.php_fpm_log());
        let mut child = Child::spawn(command, spawn)?;
        ready::connectable(pool, READY_WITHIN, &mut child)?;
        ready::connectable(status, READY_WITHIN, &mut child)?;
        Ok(Pool { child, pool, status })
    };
    started("php-fpm", site, start)
}

/// Starts the web server before the pool. Ready when it accepts connections.
pub(super) fn web(setup: &Setup, pool: SocketAddr) -> Result<(Child, SocketAddr), TargetError> {
    let site = || {
        let listen = free_address()?;
        setup.places.write("web.conf", &settings::web(setup.settings, setup.places, listen, pool))?;
        Ok(listen)
    };
    let start = |listen: &SocketAddr| {
        let mut command = setup.programs.command(&setup.programs.nginx);
        command.arg("-p").arg(setup.places.root()).arg("-c").arg(setup.places.file("web.conf")).args(["-e", "stderr"]);
        command.current_dir(setup.places.root());
        let mut spawn = setup.spawn("the WordPress backend's nginx", setup.places.file("web.log"));
        spawn.nofile = Some(setup.settings.web_descriptors);
        let mut child = Child::spawn(command, spawn)?;
        ready::connectable(*listen, READY_WITHIN, &mut child)?;
        Ok((child, *listen))
    };
    started("nginx", site, start)
}

/// Starts one of them with a configuration that `site` writes; with other ports where one was taken meanwhile.
fn started<Site, Running>(
    name: &str,
    site: impl Fn() -> Result<Site, TargetError>,
    start: impl Fn(&Site) -> Result<Running, PlaceError>,
) -> Result<Running, TargetError> {
    process_tree::started(name, site()?, start, port_taken, |_| site()).map(|(running, _)| running)
}

/// EADDRINUSE in the words of strerror(3) (nginx, and php-fpm: "unable to bind listening socket ... (98)").
fn port_taken(line: &str) -> bool {
    line.to_ascii_lowercase().contains("address already in use")
}

fn free_address() -> Result<SocketAddr, TargetError> {
    let port = port::free().map_err(unwritten("127.0.0.1:0"))?;
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}
