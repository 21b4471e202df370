//! The flags of `genkai claims`.

use std::path::PathBuf;

use clap::Args;
use genkai_model::exit::Exit;

use super::Colour;

pub(super) const EXAMPLES: &str = "\
Examples:
  genkai claims claims/*.yaml --quick
  genkai claims my-advice.yaml --out runs/advice
  genkai claims --from runs/advice --markdown > claims.md
  genkai claims --from runs/monday runs/tuesday";

pub(super) const NOTES: &str = "\
A claim is a small YAML file (schemas/claim.schema.json): the advice, its source, the system, the change, a load, and what the \
advice promises. A change is compared with the same server without it; a line is checked by the server itself. Each claim has its \
own folder in the run folder, with its record and report.";

pub(super) const EXIT_CODES: &[(Exit, &str)] = &[
    (Exit::Holds, "every claim has a verdict other than \"cannot tell\""),
    (Exit::Fails, "the verdict on at least one claim is \"cannot tell\""),
    (Exit::Usage, "wrong flags or files; nothing was started"),
    (Exit::Environment, "at least one claim could not be tested here"),
    (Exit::Interrupted, "interrupted; what was measured is kept"),
];

#[derive(Debug, Args)]
pub(crate) struct Claims {
    /// Files of claims [default: those that genkai ships, the folder `claims` of its source]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Test nothing; report again from the records in these folders and the folders below them
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["files", "out", "dry_run", "quick", "full", "blocks"])]
    pub(crate) from: Vec<PathBuf>,
    /// Short turns and few blocks, for a first look
    #[arg(long, conflicts_with = "full", help_heading = "Comparison")]
    pub(crate) quick: bool,
    /// Long turns and many blocks
    #[arg(long, help_heading = "Comparison")]
    pub(crate) full: bool,
    /// Most blocks to measure [default: 16, --quick 6, --full 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000), help_heading = "Comparison")]
    pub(crate) blocks: Option<u32>,
    /// Cores: apart (a quarter of them makes the load), none, or servers=0-2,client=3
    #[arg(long, value_name = "HOW", default_value = "apart", help_heading = "Comparison")]
    pub(crate) pin: String,
    /// Seed of the order of turns
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Comparison")]
    pub(crate) seed: u64,
    /// Print a Markdown table instead of text
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) markdown: bool,
    /// Folder of the run [default: genkai-runs/TIME-claims]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Check every claim; start nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Output")]
    pub(crate) color: Colour,
}
