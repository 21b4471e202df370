//! In which conditions a product runs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use genkai_model::event::Rewrite;
use genkai_place::authority::TlsMaterial;
use genkai_place::caps;
use genkai_place::remote::ANYWHERE;
use genkai_place::scratch::Scratch;

use crate::files::{CopyOptions, Move};

/// In which conditions a product runs, whatever its configuration says.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// What to pass requests to; none: where the configuration says.
    pub backend: Option<SocketAddr>,
    /// That takes TLS: the name that it is told in the handshake, empty where it is told none. None: it is spoken to in clear.
    pub secured: Option<String>,
    /// Hosts that the load may reach though they are not this machine.
    pub allowed: Vec<String>,
    /// What its TLS was made with: that of a generated configuration, or what stands in for the user's certificates.
    pub tls: Option<TlsMaterial>,
    /// Where that is: it lasts as long as whoever runs with it.
    pub(super) _folder: Option<Scratch>,
    /// What of the user's certificate could not be had for that.
    pub(super) unlike: Option<Rewrite>,
    /// Soft limit on descriptors that it inherits.
    pub nofile: u64,
    /// This machine's address at which it listens.
    pub listen: Ipv4Addr,
    /// Whether clients offer TLS sessions to be resumed.
    pub resumes: bool,
}

impl Conditions {
    /// Those of a copy that its product tests and that is never started.
    pub(super) fn of_question(tls: Option<TlsMaterial>) -> Conditions {
        let (allowed, nofile, listen) = (vec![ANYWHERE.to_owned()], caps::descriptors(), Ipv4Addr::LOCALHOST);
        Conditions {
            backend: None,
            secured: None,
            allowed,
            tls,
            _folder: None,
            unlike: None,
            nofile,
            listen,
            resumes: true,
        }
    }

    /// Whether its product is asked for its opinion, and nothing is started.
    pub(crate) fn is_question(&self) -> bool {
        self.allowed.iter().any(|host| host == ANYWHERE)
    }

    /// The name told in the handshake with what stands behind: what was put in place of the user's servers takes what it is said to take; those,
    /// what the configuration says. None: no TLS.
    pub(super) fn name(&self, configured: impl FnOnce() -> Option<String>) -> Option<String> {
        if self.backend.is_some() { self.secured.clone() } else { configured() }
    }

    /// What a private copy in `dir` should be like, which leads elsewhere as `moves` say.
    pub(super) fn copy_options<'a>(
        &'a self,
        dir: &'a Path,
        moves: &'a [Move],
        ports: &'a mut dyn FnMut() -> io::Result<u16>,
    ) -> CopyOptions<'a> {
        let Conditions { backend, secured, allowed, tls, listen, .. } = self;
        let root = nix::unistd::geteuid().is_root();
        let (backend, secured) = (*backend, secured.as_deref());
        CopyOptions {
            dir,
            ports,
            backend,
            secured,
            moves,
            allowed,
            papers: tls.as_ref(),
            root,
            listen: *listen,
            kept: false,
        }
    }
}
