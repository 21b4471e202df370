//! `genkai kubernetes`.

use clap::{Args, Subcommand};
use genkai_model::exit::Exit;
use genkai_model::units::Span;

use super::help;
use crate::cluster::AnyServer;
use crate::workplace::OnFlag;

const EXAMPLES: &str = "\
Examples:
  genkai kubernetes manifest
  genkai kubernetes manifest --on kubernetes:8,namespace=load,cpu=2 --duration 5m --user jane
  genkai kubernetes manifest --server kubernetes:web/deployment/shop,copies=load --user jane
  genkai kubernetes manifest --server kubernetes --full --user jane";

const EXIT_CODES: &[(Exit, &str)] = &[(Exit::Holds, "it is printed"), (Exit::Usage, "wrong flags")];

#[derive(Debug, Args)]
pub(crate) struct Kubernetes {
    #[command(subcommand)]
    pub(crate) action: KubernetesAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KubernetesAction {
    /// Print what --on kubernetes:PODS and an experiment's --server kubernetes create, and the roles that --on and --server need; nothing is sent to a cluster
    #[command(after_help = EXAMPLES, after_long_help = help::below(EXAMPLES, "", EXIT_CODES))]
    Manifest(Manifest),
}

#[derive(Debug, Args)]
pub(crate) struct Manifest {
    /// The pods, as --on of `genkai load` takes them [default without --server: kubernetes:1]
    #[arg(long, value_name = "PLACE")]
    pub(crate) on: Option<OnFlag>,
    /// A server in a cluster, as --server of `genkai tune` takes it, or kubernetes[,...] as `genkai experiment run` takes it
    #[arg(long, value_name = "PLACE")]
    pub(crate) server: Option<AnyServer>,
    /// With --server kubernetes: the site of the experiment's full size
    #[arg(long, requires = "server")]
    pub(crate) full: bool,
    /// How long the load lasts: the Job's deadline follows from it
    #[arg(long, short, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: Span,
    /// The user that the roles are bound to
    #[arg(long, value_name = "NAME", default_value = "USER")]
    pub(crate) user: String,
}
