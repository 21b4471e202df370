//! The web server before php-fpm: the backend host as the product under test sees it.

use std::net::SocketAddr;

use super::{READY_WITHIN, Setup};
use crate::wordpress::error::WordPressError;
use crate::wordpress::settings;
use genkai_place::process::Child;
use genkai_place::ready;

/// Starts it on `listen`, before the pool on `pool`. Ready when it accepts connections.
pub(super) fn start(
    setup: &Setup,
    listen: SocketAddr,
    pool: SocketAddr,
) -> Result<(Child, SocketAddr), WordPressError> {
    let config = setup.places.write("web.conf", &settings::web(setup.settings, setup.places, listen, pool))?;
    let mut command = setup.programs.command(&setup.programs.nginx);
    command.arg("-p").arg(setup.places.root()).arg("-c").arg(config).args(["-e", "stderr"]);
    command.current_dir(setup.places.root());
    let mut spawn = setup.spawn("the WordPress backend's nginx", setup.places.file("web.log"));
    spawn.nofile = Some(setup.settings.web_descriptors);
    let mut child = Child::spawn(command, spawn)?;
    ready::connectable(listen, READY_WITHIN, &mut child)?;
    Ok((child, listen))
}
