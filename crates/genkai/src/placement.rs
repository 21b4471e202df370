//! Where an experiment's load is made, and where its servers listen: from its flags.

use std::net::Ipv4Addr;

use genkai_lab::placement::Placement;

use crate::Failure;
use crate::cli::PlaceFlags;
use crate::tune::listen;
use crate::workplace::{Programs, scale};

/// What flags say; `address` is that of `--listen`.
///
/// # Errors
/// When there are too many processes, a machine is named twice, or nothing can listen there.
pub(crate) fn placement(flags: &PlaceFlags, address: Option<Ipv4Addr>) -> Result<Placement, Failure> {
    let programs = Programs { ssh: &flags.ssh, podman: "podman" };
    Ok(Placement { scale: scale(&flags.on, programs, flags.processes, Vec::new())?, listen: listen(address)? })
}
