//! In which conditions a product runs.

use std::net::SocketAddr;

use genkai_model::event::Rewrite;
use genkai_place::authority::TlsMaterial;

/// In which conditions a product runs, whatever its configuration says.
#[derive(Debug)]
pub struct Conditions {
    /// What to pass requests to; none: where the configuration says.
    pub backend: Option<SocketAddr>,
    /// Hosts that the load may reach though they are not this machine.
    pub allowed: Vec<String>,
    /// What its TLS was made with: that of a generated configuration, or what stands in for the user's certificates.
    pub tls: Option<TlsMaterial>,
    /// What of the user's certificate could not be had for that.
    pub(super) unlike: Option<Rewrite>,
    /// Soft limit on descriptors that it inherits.
    pub nofile: u64,
}
