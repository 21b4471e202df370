//! `--scenario FILE` of `genkai tune` and `genkai compare`: users who do what a file says, at a server that genkai starts.

use genkai_lab::scenario;
use genkai_model::load::{Arrivals, Load};
use genkai_model::objective::Objective;
use genkai_model::units::{Span, Spread};
use genkai_scenario::Script;

use crate::cli::{LoadFlags, ScenarioFlags};
use crate::load::script;
use crate::target::Target;
use crate::{Failure, view};

/// What flags of single requests have against a scenario.
pub(crate) const DEFINES: &str = "cannot be used with a scenario file, which defines it";

/// A scenario file, read.
pub(crate) struct ScenarioLoad {
    file: String,
    script: Script,
    pause: Span,
}

/// The scenario that flags name, if they name one. Its users may open WebSockets where `talks`.
///
/// # Errors
/// The first mistake in the file, with its place; or what it has that cannot be done at a server under test.
pub(crate) fn read(flags: &ScenarioFlags, quiet: bool, talks: bool) -> Result<Option<ScenarioLoad>, Failure> {
    let Some(file) = &flags.scenario else { return Ok(None) };
    let asked = script::Asked { targets: &flags.target, environment: flags.environment.as_deref(), quiet };
    let mut script = script::read(file, &asked)?;
    let bad = |why: &str| Failure::usage(format!("{file}: {why}"));
    match (script.scenario.talks(), script.scenario.requests()) {
        (true, true) if talks => {
            return Err(bad(
                "it opens WebSockets and makes requests beside them, and of both together no limit can be told\n  hint: put them into \
                 files of their own",
            ));
        }
        (true, _) if !talks => {
            return Err(bad(
                "it opens WebSockets, of which no limit can be told here\n  hint: `genkai tune PRODUCT` takes it, or --websocket instead of it",
            ));
        }
        _ => {}
    }
    let mut hosts = Vec::new();
    for target in &mut script.scenario.targets {
        let (host, path) = Target::site(&target.url)?;
        target.base = path.trim_end_matches('/').to_owned();
        target.host.clone_from(&host);
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if hosts.len() > 1 {
        let hosts = hosts.join(", ");
        return Err(bad(&format!(
            "its targets are several ({hosts}), and one server is under test\n  hint: --target NAME=URL gives a target another address"
        )));
    }
    if hosts.len() == 1
        && script.scenario.targets.len() > 1
        && script.scenario.targets.iter().any(|target| target.http2.is_some())
    {
        return Err(bad(
            "`http2: true` with several targets: users share connections to each of them, and of all together no limit can be told\n  hint: \
             write one target, and paths that begin where it does",
        ));
    }
    // An open WebSocket is there whether or not something is said on it.
    let pause = match script.scenario.talks() {
        true => Span(0),
        false => scenario::pause(&script.scenario).map_err(|why| bad(&why))?,
    };
    if !quiet && script.requests.is_some() {
        view::say(&format!("note: {file}: `requests` has no effect: each trial lasts as long as it must"));
    }
    Ok(Some(ScenarioLoad { file: file.clone(), script, pause }))
}

/// A title with the scenario's name in it.
pub(crate) fn title(title: String, told: &Option<ScenarioLoad>) -> String {
    match told {
        Some(told) if told.script.title != told.file => format!("{title}: {} ({})", told.script.title, told.file),
        Some(told) => format!("{title}: {}", told.file),
        None => title,
    }
}

/// What the file says must hold.
pub(crate) fn objective(told: &Option<ScenarioLoad>) -> Option<Objective> {
    told.as_ref()?.script.objective.clone()
}

impl ScenarioLoad {
    /// Whether its users open WebSockets, and nothing else.
    pub(crate) fn talks(&self) -> bool {
        self.script.scenario.talks()
    }

    /// Whether its users share connections, by HTTP/2.
    pub(crate) fn shares(&self) -> bool {
        self.script.scenario.targets.iter().any(|target| target.http2.is_some())
    }

    /// The load: users who do what the file says, over and over.
    ///
    /// # Errors
    /// When the file says no number of users and the flags neither.
    pub(crate) fn load(&self, flags: &LoadFlags, spawn_rate: f64, cores: usize) -> Result<Load, Failure> {
        let users = match (flags.users, self.script.arrivals) {
            (Some(users), _) => users,
            (None, Arrivals::Users { count, .. }) => count,
            (None, Arrivals::Rate { .. }) => {
                return Err(Failure::usage(format!(
                    "{}: its phases are a rate of new users, each of whom does a flow once; here users stay, and do one flow after \
                     the other\n  hint: --users N says how many",
                    self.file
                )));
            }
        };
        let mut load = LoadFlags { users: Some(users), ..flags.clone() }.load(spawn_rate, cores)?;
        if let Arrivals::Users { think, .. } = &mut load.arrivals {
            // What users of a scenario pause is said by its flows: this is the mean of it, by which laws reckon.
            *think = Spread::Constant(self.pause);
        }
        load.timeout = flags.timeout.unwrap_or(self.script.timeout);
        load.request = scenario::first(&self.script.scenario, load.request);
        load.scenario = Some(Box::new(self.script.scenario.clone()));
        Ok(load)
    }
}
