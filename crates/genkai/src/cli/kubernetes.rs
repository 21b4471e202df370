//! `genkai kubernetes`.

use clap::{Args, Subcommand};
use genkai_model::exit::Exit;
use genkai_model::units::Span;

use super::help;
use crate::workplace::OnFlag;

const EXAMPLES: &str = "\
Examples:
  genkai kubernetes manifest
  genkai kubernetes manifest --on kubernetes:8,namespace=load,cpu=2 --duration 5m --user jane";

const EXIT_CODES: &[(Exit, &str)] = &[(Exit::Holds, "it is printed"), (Exit::Usage, "wrong flags")];

#[derive(Debug, Args)]
pub(crate) struct Kubernetes {
    #[command(subcommand)]
    pub(crate) action: KubernetesAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KubernetesAction {
    /// Print what a load of --on kubernetes:PODS creates, and the role that it needs; nothing is sent to a cluster
    #[command(after_help = EXAMPLES, after_long_help = help::below(EXAMPLES, "", EXIT_CODES))]
    Manifest(Manifest),
}

#[derive(Debug, Args)]
pub(crate) struct Manifest {
    /// The pods, as --on of `genkai load` takes them
    #[arg(long, value_name = "PLACE", default_value = "kubernetes:1")]
    pub(crate) on: OnFlag,
    /// How long the load lasts: the Job's deadline follows from it
    #[arg(long, short, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: Span,
    /// The user that the role is bound to
    #[arg(long, value_name = "NAME", default_value = "USER")]
    pub(crate) user: String,
}
