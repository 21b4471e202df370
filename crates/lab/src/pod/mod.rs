//! The product under test in a pod of a Kubernetes cluster: a private copy of a server of the user's, made, looked into and removed through
//! the API server. The cluster's objects are [`genkai_kubernetes::server`]'s, the product's files [`Contained`]'s; here they meet.

mod controller;
mod running;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use genkai_engine::StopFlag;
use genkai_kubernetes::ClusterError;
use genkai_kubernetes::server::{CommandOutput, Copy, Home, Mounted, NoCopy};
use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::Load;
use genkai_model::plan::{ClusterServer, ConfigSource, System};
use genkai_place::group::Quota;
use genkai_place::inside::{self, Facts};
use genkai_targets::error::{ErrorKind, TargetError};
use genkai_targets::files::{Finished, Pair, diff};
use genkai_targets::product::{Contained, Inside, Prepared, Printed, Rejection, Running};
use genkai_targets::{catalog, cores};

use crate::error::LabError;

/// How long the first process of a server may take to be there once its container runs.
const THERE_WITHIN: Duration = Duration::from_secs(15);
/// Between two looks until then.
const AGAIN: Duration = Duration::from_millis(200);

/// What all variants share.
#[derive(Debug)]
struct Shared {
    home: Arc<Home>,
    of: ClusterServer,
    inside: &'static Inside,
    /// Where the first copy ran, as it is told.
    node: String,
    /// What it found there.
    facts: Facts,
    /// Who stands before the user's pods, a sentence each.
    front: Vec<String>,
    stop: StopFlag,
    /// Whether other machines make the load: then this one need not reach a pod.
    spread: bool,
}

/// A private copy of a server in the cluster, ready to be started, any number of times.
#[derive(Debug)]
struct Pod {
    shared: Arc<Shared>,
    contained: Box<dyn Contained>,
    rewrites: Vec<Rewrite>,
}

/// Reads the user's server and runs one copy of it as it is, to see what it is made of. Nothing of the user's is changed.
///
/// # Errors
/// When the cluster does not let it be, or no copy can be made. Nothing is left then.
pub(crate) fn prepare(system: &System, load: &Load, stop: &StopFlag) -> Result<Box<dyn Prepared>, LabError> {
    let ConfigSource::Cluster(of) = &system.config else {
        return Err(LabError::Plan("the server is in no cluster".to_owned()));
    };
    let inside = catalog::inside(&system.product)?;
    let stopped = || stop.is_stopped();
    let ended = |e| match e {
        NoCopy::Asked => LabError::Interrupted,
        NoCopy::Failed(e) => told(e).into(),
        NoCopy::Ended(words) => {
            let text = format!("a copy of {of} ended as soon as it was started, as it is: {words}");
            LabError::Environment(format!(
                "{text}\n  hint: look whether its own pods run: `kubectl get pods -n {}`",
                of.namespace
            ))
        }
    };
    let home = Arc::new(Home::open(of, inside.controller, &stopped).map_err(ended)?);
    let copy = home.copy(&BTreeMap::new(), None, &stopped).map_err(ended)?;
    let (facts, title) = met(&copy, inside).map_err(ended)?;
    let answers = asked(&copy, &(inside.asks)(&title))?;
    let contained = (inside.read)(Printed {
        answers: &answers,
        source: system.config.clone(),
        machine: facts.machine.clone(),
        folder: Home::folder(),
        settings: &system.settings,
        path: &load.request.path,
        host: &load.request.host,
        websocket: !load.protocol.is_http1() || load.scenario.as_ref().is_some_and(|scenario| scenario.talks()),
        allow_remote: Some(&system.allow_remote),
    })?;
    let node = copy.pod().1.to_owned();
    let front = controller::told(&home, inside, &system.config, load);
    drop(copy);
    let (stop, spread) = (stop.clone(), load.scale.is_spread());
    let shared = Shared { home, of: of.clone(), inside, node, facts, front, stop, spread };
    Ok(Box::new(Pod::of(Arc::new(shared), contained)))
}

/// An error of the cluster's as one of a server.
pub(crate) fn told(e: ClusterError) -> TargetError {
    let kind = if e.usage { ErrorKind::Usage(e.why) } else { ErrorKind::Machine(e.why) };
    TargetError { product: "", kind, hint: Some(e.hint) }
}

/// The cluster does not let it be, and why.
fn no(text: String, hint: &str) -> TargetError {
    TargetError { product: "", kind: ErrorKind::Machine(text), hint: Some(hint.to_owned()) }
}

/// How a command has failed that was killed (kubelet: `command terminated with exit code`).
const KILLED: &str = "exit code 137";

/// What a copy has, once the first process of its server is there, and what that calls itself.
fn met(copy: &Copy, inside: &Inside) -> Result<(Facts, String), NoCopy> {
    let latest = Instant::now() + THERE_WITHIN;
    let command = ["sh".to_owned(), "-c".to_owned(), inside::facts(copy.root())];
    let failed = |why, hint: &str| NoCopy::Failed(ClusterError { why, hint: hint.to_owned(), usage: false });
    loop {
        let said = copy.look(&command);
        // One that ends at once may have been met before.
        if let Some(words) = copy.fate(true)? {
            return Err(NoCopy::Ended(words));
        }
        let late = Instant::now() >= latest;
        match said {
            Err(e) if late => return Err(e.into()),
            // What runs in a container that ends is killed with it (128 and SIGKILL); that it has ended the cluster tells a moment later.
            Ok(CommandOutput { failed: Some(why), .. }) if why.contains(KILLED) && !late => {}
            Ok(CommandOutput { failed: Some(why), .. }) => {
                let text = format!("kubernetes: genkai cannot look into the pod {}: {}", copy.pod().0, one_line(&why));
                return Err(failed(
                    text,
                    "it needs `sh`, `head` and `dd` in the image; of one without name another that has them, for an ephemeral container in the \
                     copies: look=IMAGE",
                ));
            }
            Ok(said) => match first(&said.output, inside) {
                Ok(found) => return Ok(found),
                Err(why) if late => {
                    let text =
                        format!("kubernetes: {} does not serve in the pod {}: {why}", inside.product, copy.pod().0);
                    return Err(failed(text, "look at its log; or name the container that serves: container=NAME"));
                }
                Err(_) => {}
            },
            Err(_) => {}
        }
        thread::sleep(AGAIN);
    }
}

/// What a container has, and what the first process of the server in it calls itself.
fn first(printed: &[u8], inside: &Inside) -> Result<(Facts, String), String> {
    let is_first = |one: &inside::Process| (inside.is_first)(&one.title);
    let facts = inside::read(printed, is_first)?;
    if !facts.processes.iter().any(|one| (inside.serves)(&one.title)) {
        return Err("its first process runs, and none that serves".to_owned());
    }
    let title = facts.processes.iter().find(|one| is_first(one)).map(|one| one.title.clone());
    Ok((facts, title.unwrap_or_default()))
}

/// What a container is let have, in words.
fn has(facts: &Facts) -> String {
    let processor = facts
        .quota
        .map_or("no quota of processor time".to_owned(), |cores| format!("{cores} cores' worth of processor time"));
    let memory = facts.memory.map_or("no limit on memory".to_owned(), |bytes| format!("{} MiB of memory", bytes >> 20));
    let (soft, hard) = (facts.machine.descriptors, facts.machine.descriptors_hard);
    let most = if hard > soft { format!(", {hard} at most") } else { String::new() };
    format!("{processor}, {memory}, {soft} descriptors a process{most}")
}

/// What commands print in a copy.
fn asked(copy: &Copy, commands: &[Vec<String>]) -> Result<Vec<(Vec<u8>, String)>, TargetError> {
    let one = |command: &Vec<String>| {
        let said = copy.run(command).map_err(told)?;
        // How it failed says more than nothing does.
        let errors = if said.errors.trim().is_empty() { said.failed.unwrap_or_default() } else { said.errors };
        Ok((said.output, errors))
    };
    commands.iter().map(one).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Pod {
    fn of(shared: Arc<Shared>, contained: Box<dyn Contained>) -> Pod {
        let place = shared.of.to_string();
        let unlike = shared.home.unlike().into_iter();
        let unlike = unlike.map(|one| Rewrite { place: place.clone(), from: one.from, to: one.to });
        let rewrites = contained.rewrites().iter().cloned().chain(unlike).collect();
        Pod { shared, contained, rewrites }
    }

    /// The ConfigMap's file that a path in the container is.
    fn mounted(&self, path: &Path) -> Option<&Mounted> {
        self.shared.home.original().at(path)
    }

    /// The user's ConfigMaps that changes make another: name, as it is, with the changes.
    fn maps(&self, changes: &[Change]) -> Vec<(PathBuf, String, String)> {
        let mut texts: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        let finished = self.contained.finished(changes);
        for Finished { path, bytes } in &finished {
            if let Some(at) = self.mounted(path) {
                let text = String::from_utf8_lossy(bytes).into_owned();
                texts.entry(&at.map).or_default().insert(at.key.clone(), text);
            }
        }
        let name = |map: &str| PathBuf::from(format!("{}/configmap/{map}.yaml", self.shared.of.namespace));
        let manifest = |(map, texts)| {
            let (before, after) = self.shared.home.original().manifest(map, &texts).ok()?;
            Some((name(map), before, after))
        };
        texts.into_iter().filter_map(manifest).collect()
    }
}

impl Prepared for Pod {
    fn product(&self) -> &'static str {
        self.shared.inside.product
    }

    fn version(&self) -> &str {
        self.contained.version()
    }

    fn with(&self, changes: &[Change], _: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        Ok(Box::new(Pod::of(Arc::clone(&self.shared), self.contained.with(changes)?)))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        self.contained.value_of(setting)
    }

    fn limits(&self, _: &Environment) -> Vec<Limit> {
        let mut all = self.contained.limits();
        let group = format!("{}.memory_group", self.shared.inside.product);
        if let (Some(bytes), Some(limit)) = (self.shared.facts.memory, all.iter_mut().find(|limit| limit.id == group)) {
            limit.value = format!("{} MiB", bytes >> 20);
            limit.origin = Origin::Machine("memory.max, or memory.limit_in_bytes, in its container".to_owned());
        }
        if let Some(cores) = self.shared.facts.quota {
            let quota = Quota { cores, folder: PathBuf::from("/sys/fs/cgroup") };
            cores::within(&mut all, &quota, "the quota of its container");
        }
        all
    }

    fn elsewhere(&self) -> Option<Vec<Limit>> {
        let Facts { quota, machine, .. } = &self.shared.facts;
        let cores = f64::from(machine.cores);
        Some(vec![cores::pod(self.shared.inside.product, quota.unwrap_or(cores), quota.is_some())])
    }

    fn told(&self) -> Vec<String> {
        let Shared { home, of, node, facts, front, .. } = &*self.shared;
        let has = has(facts);
        let mut all = vec![format!(
            "the server under test is a private copy of {of} in the namespace {} (image {}, first on node {node}; {has}); \
             the load goes to its pod: no Service and no Ingress is in the way, and none of their limits is met",
            home.namespace(),
            home.original().image(),
        )];
        all.extend(front.iter().cloned());
        let given = self.contained.finished(&[]).into_iter().map(|one| one.path);
        let files: BTreeSet<PathBuf> = given.chain([self.contained.main()]).collect();
        for path in files.iter().filter(|path| self.mounted(path).is_none()) {
            let path = path.display();
            all.push(format!("{path} is a file of the image, not of a ConfigMap: what is proposed of it is the file itself, to be mounted"));
        }
        all
    }

    fn rejects(&self, _: &str) -> Result<Option<Rejection>, TargetError> {
        Err(no(format!("{} is not asked about single lines", self.shared.of), "give the whole configuration"))
    }

    fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    fn diff(&self, changes: &[Change]) -> String {
        let maps = self.maps(changes);
        let pair = |(path, before, after): &(PathBuf, String, String)| {
            diff([Pair { path, real: path, before: before.as_bytes(), after: after.as_bytes() }])
        };
        let of_maps: String = maps.iter().map(pair).collect();
        of_maps + &self.contained.diff(changes, &|path| self.mounted(path).is_some())
    }

    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        let maps = self.maps(changes).into_iter().map(|(path, _, after)| Finished { path, bytes: after.into_bytes() });
        let others = self.contained.finished(changes).into_iter().filter(|one| self.mounted(&one.path).is_none());
        maps.chain(others).collect()
    }

    fn end(&self) -> Result<(), TargetError> {
        self.shared.home.end().map_err(told)
    }

    fn start(&self, _: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        Ok(Box::new(running::start(&self.shared, &*self.contained)?))
    }
}
