//! A server of the user's in a cluster, and private copies of it.
//!
//! The user's Deployment and ConfigMaps are read and nothing else is done to them. A copy is a Deployment of one pod with ConfigMaps of its
//! own, in a namespace that is made for the run (or in one that is named). Reading order: [`original`] (what is read, and what is refused),
//! [`copy`] (what is created), [`ready`] (when it is ready, and why it never will be), [`home`] (where copies are, from the beginning to the
//! end), [`running`] (one copy, spoken to), [`roles`] (what must be allowed), [`front`] (who stands before it), [`site`] (a server of genkai's own, for an experiment), [`calls`] (the calls).

mod calls;
mod copy;
mod front;
mod home;
mod original;
mod ready;
mod roles;
mod running;
mod site;

pub use calls::CommandOutput;
pub use home::{Beside, Home};
pub use original::{Mounted, Original, Unlike};
pub use roles::{Roles, roles, site_roles};
pub use running::Copy;
pub use site::{ContainerPlan, FILES, PodPlan, ServerPlan, Site, WORK, embedded, namespace, password, pod, server};

use crate::ClusterError;

/// Why there is no copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCopy {
    /// Nobody wants it any more.
    Asked,
    /// The cluster does not let it be, or what was asked for cannot be.
    Failed(ClusterError),
    /// Its program ended as soon as it was started: the cluster's words, and what it printed last.
    Ended(String),
}

impl From<ClusterError> for NoCopy {
    fn from(e: ClusterError) -> NoCopy {
        NoCopy::Failed(e)
    }
}
