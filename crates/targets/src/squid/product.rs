//! Squid as a product: what is installed, how its configuration is read, copied, tested and started.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::Limit;
use genkai_model::load::Request;

use super::access::client;
use super::by_port::by_port;
use super::config::Config;
use super::explain::explain;
use super::lifecycle::copied;
use super::limits;
use super::peers;
use super::private::Private;
use super::replies;
use crate::cache::{Cache, Start, Tested};
use crate::error::TargetError;
use crate::files::Requests;
use crate::limits::backend::nobody_listens;
use crate::product::{
    Answer, ByPort, Deployment, Entry, Lookup, OwnAnswer, Prepare, Product, Program, Role, Variant, after, tested,
};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::machine;

/// How its program is found.
pub(crate) const LOOKUP: Lookup = Lookup {
    product: "Squid",
    flag: "squid",
    names: &["squid"],
    built: &[],
    ask: &["-v"],
    package: "squid",
    version: |said| after(said, "Version "),
};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "squid",
    called: "Squid",
    program: ("squid", &["-v"]),
    role: Role::Cache,
    prepare: Some(Deployment::<Squid>::boxed),
    explain: Some(explain),
    ask: Some((asked, "`squid -k parse`")),
    looks: super::looks::LOOKS,
    clamps: &[],
    unknown: "unrecognized: ",
    leaves_out: false,
};

/// Has the Squid that is installed parse the user's own files: that writes nothing and listens nowhere.
fn asked(main: &Path, _: &Requests, dir: &Path) -> Result<Answer, TargetError> {
    let program = Program::find(&LOOKUP, None, dir)?;
    let main =
        main.canonicalize().map_err(|e| TargetError::usage(CALLED, format!("cannot read {}: {e}", main.display())))?;
    let mut command = Command::new(program.path());
    command.args(["-k", "parse", "-f"]).arg(&main).current_dir(dir);
    let finished = tested(command, "squid -k parse", dir)?;
    let said: Vec<String> = told(&finished.text).into_iter().map(str::to_owned).collect();
    let version = program.version().to_owned();
    let verdict = match finished.status.code() {
        Some(0) => Ok(said),
        Some(_) if !said.is_empty() => Err(TargetError::rejected(CALLED, said.join("\n"))),
        _ => Err(TargetError::rejected(CALLED, finished.text)),
    };
    Ok(Answer { version, verdict })
}

/// As people call it.
const CALLED: &str = "Squid";

/// The Squid that is installed.
#[derive(Debug)]
pub(crate) struct Squid(Program);

impl Product for Squid {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Tested<Private>;
    type Running = Cache;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Squid, TargetError> {
        Program::find(&LOOKUP, what.program, dir).map(Squid)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, main: &Path) -> Result<Config, TargetError> {
        Ok(Config::read(main)?)
    }

    fn copy(of: &Variant<Self>) -> Result<Tested<Private>, TargetError> {
        Tested::of(&Start::of(of, &of.product().0, None), |at| copied(at, of.config()))
    }

    fn by_port(of: &Variant<Self>) -> Option<ByPort> {
        by_port(of.config())
    }

    fn rewrites(tested: &Tested<Private>) -> Vec<Rewrite> {
        tested.copy.rewrites.clone()
    }

    fn translate(tested: &Tested<Private>, message: &str) -> String {
        tested.copy.translate(message)
    }

    fn check(
        _: &Variant<Self>,
        tested: &Tested<Private>,
        _: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        tested.verdict(ENTRY.called, told, translate)
    }

    fn limits(of: &Variant<Self>, _: &Tested<Private>, machine: &Machine, _: &Environment) -> Vec<Limit> {
        // The copy sends everything to its peers.
        let client = client(of.conditions().listen.into());
        // What stands in for a peer may not have begun.
        let is_replaced = |address: SocketAddr| {
            let from = Endpoint::Tcp(address);
            of.conditions().backend.is_some() || of.moves().iter().any(|one| one.from == from)
        };
        let nobody = |address: SocketAddr| !is_replaced(address) && nobody_listens(address);
        let all = limits::of(of.config(), machine::hard_descriptors(), machine, false, client, &nobody);
        let answering = match of.conditions().backend {
            Some(_) => Vec::new(),
            None => peers::answering(of.config()),
        };
        let upgrade = limits::upgrade(of.config()).filter(|_| of.requests().websocket);
        let all = all.into_iter().filter(|limit| !replies::is_own(limit));
        all.chain(upgrade).chain(answering).collect()
    }

    fn answers(of: &Variant<Self>, _: &Tested<Private>, _: &Request) -> Vec<OwnAnswer> {
        replies::own(of.config(), client(of.conditions().listen.into())).into_iter().collect()
    }

    fn behind(of: &Variant<Self>, _: &Tested<Private>) -> Vec<Endpoint> {
        match of.conditions().backend {
            Some(backend) => vec![Endpoint::Tcp(backend)],
            None => peers::places(of.config()),
        }
    }

    fn start(of: &Variant<Self>, _: &Tested<Private>, cpus: Option<&[usize]>) -> Result<Cache, TargetError> {
        Cache::start(&Start::of(of, &of.product().0, cpus), &|at| Ok(copied(at, of.config())?.1))
    }
}

/// Lines of `squid -k parse` that are more than what it does, without the time before them (`2026/11/22 00:20:47| `).
fn told(printed: &str) -> Vec<&str> {
    let words = ["ERROR", "FATAL", "WARNING", "unrecognized", "Bungled", "obsolete"];
    let told = printed.lines().filter(|line| words.iter().any(|word| line.contains(word)));
    let is_time = |time: &str| time.starts_with(|c: char| c.is_ascii_digit());
    let without_time =
        |line| str::split_once(line, "| ").filter(|(time, _)| is_time(time)).map_or(line, |(_, rest)| rest);
    told.take(20).map(without_time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_message_is_left_out() {
        let printed =
            "2026/11/22 00:20:47| ERROR a | b\nFATAL: a | b\nProcessing: acl x\nt.conf(3): unrecognized: 'foo_bar'";
        assert_eq!(told(printed), ["ERROR a | b", "FATAL: a | b", "t.conf(3): unrecognized: 'foo_bar'"]);
    }
}
