//! Commands and flags. The words of `--help` are here; what they mean is elsewhere.

mod claims;
mod compare;
mod experiment;
mod flags;
mod help;
mod kubernetes;
mod load;
mod serve;
mod tune;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use genkai_model::exit::Exit;
use genkai_model::units::Span;
use genkai_targets::catalog;

use crate::workplace::OnFlag;

pub(crate) use claims::Claims;
pub(crate) use compare::Compare;
pub(crate) use experiment::{
    BackplaneFlag, CacheFlags, Experiment, ExperimentAction, ExperimentName, HeldFlags, NginxWorkerConnections,
    PlaceFlags, RoomsFlags, RouterFlag, RouterFlags, RunFlags, ServersFlags,
};
pub(crate) use flags::{
    BackendFlags, Colour, DeflateFlag, Http2Flags, LoadFlags, OriginFlags, OutputFlags, ScenarioFlags, SessionFlags,
    StreamFlags, Switch, TableFlags, TlsFlags, WebSocketFlags,
};
pub(crate) use kubernetes::{Kubernetes, KubernetesAction, Manifest};
pub(crate) use load::Load;
pub(crate) use serve::{Echo, Link, Origin, Rooms, Serve, Server};
pub(crate) use tune::{CommandFlags, LocustFlags, Product, SearchFlags, Tune, TuneFlags, UpgradeFlag, What};

/// Finds the load at which a web server breaks, names the setting that is the limit, changes it and proves it.
#[derive(Debug, Parser)]
#[command(name = "genkai", version, after_help = help::exit_codes(Exit::ALL), max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find, name and prove the limit of a server's configuration
    Tune(Tune),
    /// Compare systems under the same load in randomised blocks; report differences with confidence intervals
    #[command(after_help = compare::EXAMPLES, after_long_help = help::below(compare::EXAMPLES, compare::NOTES, compare::EXIT_CODES))]
    Compare(Box<Compare>),
    /// Test advice: compare each claim's change with the same server without it
    #[command(after_help = claims::EXAMPLES, after_long_help = help::below(claims::EXAMPLES, claims::NOTES, claims::EXIT_CODES))]
    Claims(Box<Claims>),
    /// Explain a configuration without starting anything: its limits, the tightest first, and its mistakes
    #[command(after_help = EXPLAIN_EXAMPLES, after_long_help = help::below(EXPLAIN_EXAMPLES, "", EXPLAIN_EXIT_CODES))]
    Explain(Explain),
    /// Run one of the experiments that genkai was made for
    Experiment(Experiment),
    /// Make load on a URL, or as a scenario file describes, and measure
    #[command(
        after_help = load::EXAMPLES,
        after_long_help = help::below(load::EXAMPLES, load::NOTES, load::EXIT_CODES),
        mut_arg("header", |arg| arg.hide_short_help(false)),
        mut_arg("body", |arg| arg.hide_short_help(false))
    )]
    Load(Box<Load>),
    /// Make every output of a run again from its record
    #[command(after_help = REPORT_EXAMPLES, after_long_help = help::below(REPORT_EXAMPLES, REPORT_NOTES, Exit::ALL))]
    Report(Report),
    /// Run an embedded server
    Serve(Serve),
    /// Show what this machine can hold, and how to raise it
    #[command(after_help = DOCTOR_EXAMPLES, after_long_help = help::below(DOCTOR_EXAMPLES, "", DOCTOR_EXIT_CODES))]
    Doctor(Doctor),
    /// Show what --on kubernetes:PODS creates in a cluster, and what --on and --server must be allowed there
    Kubernetes(Kubernetes),
    /// Start the workers of a pod, as standard input says: what pods of --on kubernetes:PODS run
    #[command(hide = true)]
    Pod {
        /// It ends when it has heard nothing for so long
        #[arg(value_name = "TIME", default_value = "90s")]
        patience: Span,
    },
    /// Make a part of a load for another genkai, as standard input says; or with --locust, what `genkai load` makes
    #[command(hide = true, disable_help_flag = true)]
    Worker(Worker),
    /// Write the manual pages of all commands
    #[command(hide = true)]
    Man(Man),
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions(Completions),
}

/// What a worker is told on its command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Worker {
    /// The flags of `genkai load`; none: standard input says what to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) load: Vec<std::ffi::OsString>,
}

impl Worker {
    /// The same as a command, where the command line says what to do.
    pub(crate) fn command(&self) -> Option<Cli> {
        let flags = (!self.load.is_empty()).then_some(&self.load)?;
        let words = ["genkai", "load"].map(std::ffi::OsString::from);
        Some(<Cli as clap::Parser>::parse_from(words.iter().chain(flags)))
    }
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  genkai explain /etc/nginx/nginx.conf
  genkai explain /etc/haproxy/haproxy.cfg --host shop.example --path /api --websocket
  genkai explain my.conf --product squid --json";

const EXPLAIN_EXIT_CODES: &[(Exit, &str)] = &[
    (Exit::Holds, "genkai knows of no mistake in it"),
    (Exit::Fails, "something is wrong or does not mean what it seems to; it is printed"),
    (Exit::Usage, "wrong flags, a file that cannot be read or understood, or one that the installed server refuses"),
];

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Main files of configurations, e.g. /etc/nginx/nginx.conf or /etc/squid/squid.conf; includes are followed
    #[arg(required = true, value_name = "CONFIG")]
    pub(crate) configs: Vec<PathBuf>,
    /// Product that the files belong to [default: recognised by the text]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(catalog::explained()))]
    pub(crate) product: Option<String>,
    /// Path of the requests to consider
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) path: String,
    /// Host header of these requests; it decides which virtual server answers, and with a port (NAME:PORT) which listener is asked
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    pub(crate) host: String,
    /// Consider requests that open WebSocket connections
    #[arg(long)]
    pub(crate) websocket: bool,
    /// Do not have the installed server test a private copy of the file (`nginx -t` and the like), which loads the modules and Lua that the
    /// file names, with your rights
    #[arg(long)]
    pub(crate) no_ask: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  genkai report genkai-runs/demo
  genkai report genkai-runs/demo --svg --csv demo.csv
  genkai report genkai-runs/demo --markdown > demo.md
  genkai report genkai-runs/demo --check";

const REPORT_NOTES: &str = "The exit code is that of the run, judged again from its record. With --check it is 0 when every statement \
follows, every event fits and the files beside the record are what it gives, else 1.";

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folder of a run (or its run.jsonl)
    pub(crate) dir: PathBuf,
    /// Compute every statement of the verdict a second time, from the raw events, and print what does not follow
    #[arg(long, conflicts_with_all = ["svg", "csv", "jtl"])]
    pub(crate) check: bool,
    /// Also write the figures as figure.svg, figure-2.svg and so on, the numbers of charts as .csv beside them
    #[arg(long)]
    pub(crate) svg: bool,
    #[command(flatten)]
    pub(crate) tables: TableFlags,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown instead of text: tables for a paper or an issue
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  genkai doctor
  genkai doctor --connections 10000
  genkai doctor --on ssh:load1,load2:4 --connections 100000";

const DOCTOR_EXIT_CODES: &[(Exit, &str)] =
    &[(Exit::Holds, "the machine holds it"), (Exit::Environment, "the machine does not hold it")];

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Check whether this many idle connections fit, both ends on this machine; with --on, the clients' ends on those
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) connections: Option<u64>,
    /// Look at the machines that are to make a load: here:PROCESSES, ssh:HOST,HOST:PROCESSES, kubernetes:PODS, podman:IMAGE (repeatable)
    ///
    /// As for `genkai load`; pods are created to look, and removed. Says of each what it holds of connections to one destination; with --connections, whether its share fits.
    #[arg(long, value_name = "PLACE")]
    pub(crate) on: Vec<OnFlag>,
    /// The program that --on ssh: uses, with options of its own: "ssh -F FILE"
    #[arg(long, value_name = "COMMAND", default_value = "ssh", requires = "on")]
    pub(crate) ssh: String,
    /// The program that --on podman: uses, with options of its own
    #[arg(long, value_name = "COMMAND", default_value = "podman", requires = "on")]
    pub(crate) podman: String,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Folder to write into
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Most flags that `-h` shows, `--help` among them.
    const MOST: usize = 15;

    /// Calls `each` for every command, with its words.
    fn commands(command: &clap::Command, words: &str, each: &mut dyn FnMut(&str, &clap::Command)) {
        let words = format!("{words}{} ", command.get_name());
        each(words.trim_end(), command);
        command.get_subcommands().for_each(|one| commands(one, &words, each));
    }

    fn built() -> clap::Command {
        let mut command = Cli::command();
        command.build();
        command
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn short_help_shows_at_most_fifteen_flags_and_long_help_all_of_them() {
        commands(&built(), "", &mut |words, command| {
            let flags = || command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
            let short: Vec<_> = flags().filter(|arg| !arg.is_hide_short_help_set()).map(|arg| arg.get_id()).collect();
            assert!(short.len() <= MOST, "{words} -h shows {}: {short:?}", short.len());
            let long = command.clone().render_long_help().to_string();
            for flag in flags() {
                let name = format!("--{}", flag.get_long().unwrap_or_default());
                assert!(long.contains(&name), "{words} --help does not show {name}");
            }
        });
    }

    #[test]
    fn help_has_no_backslashes_and_fits_its_width() {
        commands(&built(), "", &mut |words, command| {
            let mut command = command.clone();
            for help in [command.render_help().to_string(), command.render_long_help().to_string()] {
                assert!(!help.contains('\\'), "{words}: {help}");
                let longest = help.lines().map(str::len).max().unwrap_or_default();
                assert!(longest <= 100, "{words}: a line of {longest}\n{help}");
            }
            let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let wrapped = below.lines().find(|line| line.starts_with("  genkai") && line.len() > 100);
            assert_eq!(wrapped, None, "{words}: an example that does not fit a line");
        });
    }

    #[test]
    fn every_command_with_flags_shows_examples_and_in_long_help_the_exit_codes() {
        commands(&built(), "", &mut |words, command| {
            let mut command = command.clone();
            let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
            let is_leaf = command.get_subcommands().next().is_none();
            let expected = is_leaf && !command.is_hide_set() && command.get_arguments().count() > 1;
            assert_eq!((short.contains("Examples:"), long.contains("Examples:")), (expected, expected), "{words}");
            assert!(!expected || long.contains("Exit codes:"), "{words}");
        });
    }

    /// The words of an example, as a shell would split them.
    fn words_of(line: &str) -> Vec<String> {
        let pieces = line.trim().split('"').enumerate();
        let quoted = pieces.flat_map(|(i, piece)| match i % 2 {
            0 => piece.split_whitespace().map(str::to_owned).collect(),
            _ => vec![piece.to_owned()],
        });
        quoted.take_while(|word| word != ">").collect()
    }

    #[test]
    fn every_example_of_help_is_a_command_line_that_is_understood() {
        let mut seen = 0;
        commands(&built(), "", &mut |words, command| {
            let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in below.lines().filter(|line| line.starts_with("  genkai ")) {
                let parsed = Cli::try_parse_from(words_of(line));
                assert!(parsed.is_ok(), "{words}: {line}\n{}", parsed.unwrap_err());
                seen += 1;
            }
        });
        assert!(seen > 40, "{seen}");
    }

    #[test]
    fn every_command_line_in_the_documents_is_understood() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let mut seen = 0;
        for file in docs.filter(|path| path.extension().is_some_and(|it| it == "md")).chain([root.join("README.md")]) {
            let text = std::fs::read_to_string(&file).unwrap().replace("\\\n", " ");
            let shell = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
            let in_tables = text.lines().filter_map(|line| line.split_once("| `genkai ")?.1.split_once("` |"));
            let of_tables: Vec<String> = in_tables.map(|(line, _)| format!("genkai {line}")).collect();
            let lines = shell.flat_map(str::lines).chain(of_tables.iter().map(String::as_str));
            for line in lines.filter(|line| line.starts_with("genkai ")) {
                let parsed = Cli::try_parse_from(words_of(line.split("  # ").next().unwrap_or(line)));
                assert!(parsed.is_ok(), "{}: {line}\n{}", file.display(), parsed.unwrap_err());
                seen += 1;
            }
        }
        assert!(seen > 30, "{seen}");
    }

    #[test]
    fn the_readme_has_the_exit_codes_of_the_program() {
        let readme = include_str!("../../../README.md");
        let table = readme.split("| exit code | meaning |\n|---|---|\n").nth(1).unwrap();
        let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
        let all = Exit::ALL.iter().map(|(exit, meaning)| format!("| {} | {meaning} |", exit.code()));
        assert_eq!(rows, all.collect::<Vec<_>>());
    }
}
