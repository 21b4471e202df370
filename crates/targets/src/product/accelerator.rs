//! A cache under any load, as the other products are: prepared once, started empty any number of times.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::evidence::metric;
use genkai_model::limit::{Limit, Origin};
use genkai_model::setting::Setting;
use genkai_model::transport::Transport;
use tempfile::TempDir;

use super::{Prepare, Prepared, Rejection};
use crate::cache::lifecycle::{self, Cache, Start};
use crate::cache::recipe::Recipe;
use crate::cache::{Budget, Ground, located};
use crate::error::{ErrorKind, TargetError};
use crate::files::Backup;
use genkai_place::log_lines::{ParsedLine, aggregate};
use genkai_place::observation::Observation;
use genkai_place::scratch::Scratch;
use genkai_place::tail::Tail;
use genkai_place::usage::Tree;
use genkai_place::{account, listener, port, process_tree};

/// A cache that can be started, any number of times, one at a time.
#[derive(Debug)]
pub(crate) struct Accelerator {
    recipe: Arc<dyn Recipe>,
    program: PathBuf,
    origin: Option<SocketAddr>,
    scratch: Scratch,
    version: String,
    written: Vec<Setting>,
    rewrites: Vec<Rewrite>,
    warnings: Vec<String>,
}

impl Accelerator {
    /// Makes a private copy of the configuration that `recipe` has and has the product test it. Nothing is started, nothing of the
    /// user's is touched.
    ///
    /// # Errors
    /// When it is missing, or the product refuses it.
    pub(crate) fn prepare(recipe: Arc<dyn Recipe>, what: &Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError> {
        if what.tls.is_some() {
            let name = recipe.product();
            let text = format!("{name}: genkai speaks plain HTTP to caches\n  hint: leave --tls out");
            return Err(TargetError::usage(name, text));
        }
        let program = match what.program {
            Some(program) => program.to_owned(),
            None => located(recipe.program())?,
        };
        Ok(Box::new(Accelerator::made(recipe, program, what.backend, &what.dir)?))
    }

    fn made(
        recipe: Arc<dyn Recipe>,
        program: PathBuf,
        origin: Option<SocketAddr>,
        dir: &Path,
    ) -> Result<Accelerator, TargetError> {
        let scratch = Scratch::make(dir, account::unprivileged().is_some(), "genkai-cache-")?;
        let check = tempdir(&scratch)?;
        let port = port::free().map_err(TargetError::files(dir))?;
        let listen = SocketAddr::from(([127, 0, 0, 1], port));
        let ground = Ground {
            program: &program,
            dir: check.path(),
            listen,
            origin: origin.unwrap_or(listen),
            budget: Budget::USUAL,
        };
        let copied = recipe.set_up(&ground)?;
        let (mut setup, said) = (copied.setup, copied.said);
        let warnings = match lifecycle::check(recipe.product(), &ground, &mut setup) {
            Ok(printed) => said(&printed),
            Err(TargetError { kind: ErrorKind::Command { said: printed, .. }, .. }) => {
                let reasons = said(&printed);
                let reasons = if reasons.is_empty() { printed } else { reasons.join("\n") };
                return Err(TargetError::usage(
                    recipe.product(),
                    format!("{} does not accept it:\n{reasons}", recipe.product()),
                ));
            }
            Err(e) => return Err(e),
        };
        let (version, written) = (setup.version, setup.settings);
        // Configurations of genkai's own making are checked, but what their checks print is nothing to tell.
        let warnings = if written.is_empty() { warnings } else { Vec::new() };
        Ok(Accelerator { recipe, program, origin, scratch, version, written, rewrites: copied.rewrites, warnings })
    }
}

/// A folder of a scratch for one use, through which everybody may pass.
fn tempdir(scratch: &Scratch) -> Result<TempDir, TargetError> {
    let made =
        tempfile::Builder::new().prefix("turn-").permissions(Permissions::from_mode(0o711)).tempdir_in(scratch.path());
    made.map_err(TargetError::files(scratch.path()))
}

impl Prepared for Accelerator {
    fn product(&self) -> &'static str {
        self.recipe.product()
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        let recipe = self.recipe.with(changes)?.into();
        Ok(Box::new(Accelerator::made(recipe, self.program.clone(), self.origin, dir)?))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        self.recipe.value_of(setting)
    }

    fn limits(&self, environment: &Environment) -> Vec<Limit> {
        self.recipe.limits(environment)
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn written(&self) -> &[Setting] {
        &self.written
    }

    fn rejects(&self, _: &str) -> Result<Option<Rejection>, TargetError> {
        let what = format!("{}: genkai cannot show it a single line", self.recipe.product());
        Err(TargetError::usage(self.recipe.product(), what))
    }

    fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    fn diff(&self, changes: &[Change]) -> String {
        self.recipe.diff(changes)
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        self.recipe.write_back(changes)
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn super::Running>, TargetError> {
        let dir = tempdir(&self.scratch)?;
        let subject = self.recipe.product();
        let start = Start {
            name: subject,
            store: "",
            program: &self.program,
            origin: self.origin,
            budget: Budget::USUAL,
            cpus,
            dir: dir.path(),
        };
        let cache = Cache::set_up(&start, &|ground: &Ground<'_>| Ok(self.recipe.set_up(ground)?.setup))?;
        let log = cache.folder().join(self.recipe.log().unwrap_or(lifecycle::OUTPUT));
        let (tree, tail) = (Tree::new(cache.pid()), Tail::open(log));
        Ok(Box::new(Running { cache, subject, recipe: Arc::clone(&self.recipe), tree, tail, dead: false, _dir: dir }))
    }
}

/// A running cache. Dropping it ends it; its files go with it.
struct Running {
    cache: Cache,
    subject: &'static str,
    recipe: Arc<dyn Recipe>,
    tree: Tree,
    tail: Tail,
    /// Its death was told.
    dead: bool,
    _dir: TempDir,
}

impl Running {
    /// What was logged since the last look.
    fn words(&mut self) -> Observation {
        let lines = self.tail.lines();
        let told = |line| ParsedLine { level: "", gist: line, signature: self.recipe.signature(line).map(Into::into) };
        Observation { logs: aggregate(self.subject, lines.iter().map(String::as_str), told), ..Observation::default() }
    }
}

impl super::Running for Running {
    fn address(&self) -> SocketAddr {
        self.cache.address()
    }

    fn observe(&mut self) -> Observation {
        if self.dead {
            return self.words();
        }
        let mut sample = self.tree.sample().sample(self.subject);
        if let Some(queue) = listener::queue(self.cache.address()) {
            let waiting = format!("{}.{}", self.subject, metric::ACCEPT_QUEUE);
            sample.metrics.insert(waiting, f64::from(queue.waiting));
        }
        let mut seen = Observation { samples: vec![sample], ..self.words() };
        if let Some(death) = process_tree::death(self.cache.child(), self.subject, "first") {
            self.dead = true;
            seen.states = vec![death];
        }
        seen
    }

    fn stop(self: Box<Self>) -> ExitStatus {
        self.cache.end()
    }
}
