//! Where copies are, from the beginning to the end: what is allowed is asked first, what was made is removed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::plan::ClusterServer;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::copy::{FOLDER, labels, unlike};
use super::front::{Front, told};
use super::original::{Original, referenced, template};
use super::roles::{INGRESSES, Need, Place, SERVICES, needs};
use super::{CommandOutput, NoCopy, Unlike};
use crate::ClusterError;
use crate::api::Server;

/// How long a deletion is tried: the API server may be slow, or back after some seconds.
pub(super) const DELETED_WITHIN: Duration = Duration::from_secs(8);
/// Between two tries.
pub(super) const AGAIN: Duration = Duration::from_millis(250);

/// A server of the user's and the namespace for copies of it, for as long as this is kept; then what genkai made is deleted.
pub struct Home {
    pub(super) server: Server,
    pub(super) of: ClusterServer,
    pub(super) original: Original,
    /// What of its own stands before it.
    front: Front,
    /// The pod of an ingress controller before it, where one was asked for.
    beside: Option<(String, String)>,
    /// What everything of this run is called.
    name: String,
    /// The namespace for copies.
    pub(super) namespace: String,
    /// That namespace is genkai's own, and may be there.
    own: AtomicBool,
    copies: AtomicU32,
    /// What copies may have left, where the namespace is not genkai's own.
    left: Mutex<Vec<ClusterError>>,
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home").field("of", &self.of).field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Home {
    /// Reads the user's server, and makes the namespace for copies of it, unless one is named. `controller` selects the pods of an ingress
    /// controller by their labels, where `of` names a namespace for it.
    ///
    /// # Errors
    /// When the cluster cannot be reached, something is not allowed (all that is missing is told), there is no such server, or no copy can be made
    /// of it. Nothing is left then.
    pub fn open(of: &ClusterServer, controller: &str, stopped: &dyn Fn() -> bool) -> Result<Home, NoCopy> {
        let server = Server::at(of.context.as_deref(), Some(&of.namespace))?;
        let name = format!("genkai-{:08x}", rand::random::<u32>());
        let namespace = of.copies.clone().unwrap_or_else(|| name.clone());
        let hint = if of.copies.is_none() {
            "name a namespace that is there and in which you may do this: copies=NAME; "
        } else {
            ""
        };
        allowed(&server, &needs(of), &namespace, hint)?;
        let original = read(&server, of)?;
        let front = seen(&server, &of.namespace)?;
        let beside = of.ingress.as_deref().map(|namespace| beside(&server, namespace, controller)).transpose()?;
        if stopped() {
            return Err(NoCopy::Asked);
        }
        // From here on its end deletes the namespace: a call that was not answered may have made one.
        let own = AtomicBool::new(of.copies.is_none());
        let home = Home {
            server,
            of: of.clone(),
            original,
            front,
            beside,
            name,
            namespace,
            own,
            copies: AtomicU32::new(0),
            left: Mutex::default(),
        };
        if of.copies.is_none() {
            home.made()?;
        }
        Ok(home)
    }

    fn made(&self) -> Result<(), NoCopy> {
        let metadata = ObjectMeta {
            name: Some(self.namespace.clone()),
            labels: Some(labels(&self.name)),
            ..ObjectMeta::default()
        };
        let mut refused = false;
        let namespace = Namespace { metadata, ..Namespace::default() };
        let made = self.server.made(&self.server.namespaces(), "namespace for copies", &namespace, &mut refused);
        if refused {
            self.own.store(false, Ordering::Relaxed);
        }
        made.map_err(NoCopy::Failed)
    }

    /// The user's server as it was read.
    pub fn original(&self) -> &Original {
        &self.original
    }

    /// Who stands before the user's pods, as sentences.
    pub fn front(&self) -> Vec<String> {
        told(&self.front, &self.of.namespace, &self.original.labels)
    }

    /// The pod of an ingress controller before it, where one was asked for.
    pub fn beside(&self) -> Option<Beside<'_>> {
        let (namespace, (pod, container)) = (self.of.ingress.as_deref()?, self.beside.as_ref()?);
        Some(Beside { server: &self.server, at: (namespace, pod, container) })
    }

    /// The namespace for copies.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The folder in which a copy can write its log.
    pub fn folder() -> &'static Path {
        Path::new(FOLDER)
    }

    /// A word that nobody else knows, to stand between what is printed and what follows it.
    pub fn word() -> String {
        format!("genkai-{:032x}", rand::random::<u128>())
    }

    /// Where copies are not like the original, but for names.
    pub fn unlike(&self) -> Vec<Unlike> {
        unlike(&self.original, &self.of.namespace, self.of.look.as_deref())
    }

    /// A name for one more copy.
    pub(super) fn next(&self) -> String {
        format!("{}-{}", self.name, self.copies.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Deletes the namespace, where it is genkai's own; what was in it is deleted with it.
    ///
    /// # Errors
    /// When that could not be done: what may be left.
    pub fn end(&self) -> Result<(), ClusterError> {
        let latest = Instant::now() + DELETED_WITHIN;
        while self.own.load(Ordering::Relaxed) {
            match self.server.removed(&self.server.namespaces(), "namespace", &self.namespace) {
                Ok(_) => self.own.store(false, Ordering::Relaxed),
                Err(e) if Instant::now() >= latest => {
                    self.own.store(false, Ordering::Relaxed);
                    let why = format!("the namespace {} may be left: {}", self.namespace, e.why);
                    let hint = format!("delete it: `kubectl delete namespace {}`", self.namespace);
                    return Err(ClusterError::new(why, hint));
                }
                Err(_) => thread::sleep(AGAIN),
            }
        }
        let left = self.left.lock().ok().and_then(|mut left| left.pop());
        // What was in a namespace of genkai's own is deleted with it.
        left.filter(|_| self.of.copies.is_some()).map_or(Ok(()), Err)
    }

    /// Notes what a copy may have left.
    pub(super) fn leaves(&self, error: ClusterError) {
        if let Ok(mut left) = self.left.lock() {
            left.push(error);
        }
    }
}

/// A pod of the user's that is asked what it has. Nothing of it is changed.
pub struct Beside<'a> {
    server: &'a Server,
    /// Namespace, pod, container.
    at: (&'a str, &'a str, &'a str),
}

impl Beside<'_> {
    /// Its pod, with the namespace before it.
    pub fn name(&self) -> String {
        format!("{}/{}", self.at.0, self.at.1)
    }

    /// Runs a command in it, to its end.
    ///
    /// # Errors
    /// When it cannot be started, or the connection to it is cut.
    pub fn run(&self, command: &[String]) -> Result<CommandOutput, ClusterError> {
        self.server.output(self.at, command)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Who wants to know whether that failed has asked.
        let _ = self.end();
    }
}

/// Whether all of `needs` is allowed, where `copies` is the namespace that genkai makes. `elsewhere` is how to do without one, where that is possible.
pub(super) fn allowed(server: &Server, needs: &[Need], copies: &str, elsewhere: &str) -> Result<(), ClusterError> {
    let mut missing = Vec::new();
    for need in needs {
        let namespace = match &need.place {
            Place::Of(name) => Some(name.as_str()),
            Place::Copies => Some(copies),
            Place::Cluster => None,
        };
        let mut denied = Vec::new();
        for one in &need.must {
            if !server.may(namespace, one)? {
                denied.push(format!("{} {}", one.verb, one.name()));
            }
        }
        if !denied.is_empty() {
            let place = match &need.place {
                Place::Of(name) => format!("in the namespace `{name}`"),
                Place::Copies => "in a namespace of genkai's own".to_owned(),
                Place::Cluster => "in the cluster".to_owned(),
            };
            missing.push(format!("{place}: {}", denied.join(", ")));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let other = if missing.iter().any(|one| one.contains("namespaces")) { elsewhere } else { "" };
    let hint = format!("{other}`genkai kubernetes manifest --server PLACE` prints the role that is needed");
    Err(server.error(&format!("you are not allowed to do this: {}", missing.join("; ")), &hint))
}

/// The user's server.
fn read(server: &Server, of: &ClusterServer) -> Result<Original, ClusterError> {
    let deployments = server.deployments(&of.namespace);
    let Some(deployment) = server.object(&deployments, "Deployment", &of.deployment)? else {
        let why = format!("kubernetes: there is no Deployment `{}` in the namespace `{}`", of.deployment, of.namespace);
        let hint = format!("`kubectl get deployments -n {}` lists what there is", of.namespace);
        return Err(ClusterError::usage(why, hint));
    };
    let (spec, container) = template(of, &deployment)?;
    let (mut maps, api) = (BTreeMap::new(), server.config_maps(&of.namespace));
    for (name, may_be_missing) in referenced(&spec) {
        match server.object(&api, "ConfigMap", &name)? {
            Some(map) => {
                maps.insert(name, map);
            }
            None if may_be_missing => {}
            None => {
                let why = format!("kubernetes: {of} has the ConfigMap `{name}`, which is not there");
                return Err(ClusterError::usage(why, "create it: its own pods do not start without it, either"));
            }
        }
    }
    let mut original = Original::of(spec, container, maps);
    original.marks = marks(&deployment);
    let pods = deployment.spec.and_then(|spec| spec.template.metadata);
    original.labels = pods.and_then(|metadata| metadata.labels).unwrap_or_default();
    Ok(original)
}

/// What stands before pods of a namespace. What may not be read is told as that.
fn seen(server: &Server, namespace: &str) -> Result<Front, ClusterError> {
    let denied = |what: &str| format!("you are not allowed to list {what} in the namespace `{namespace}`");
    let services = if server.may(Some(namespace), &SERVICES)? {
        server.services(namespace).map_err(|e| e.why)
    } else {
        Err(denied("services"))
    };
    let ingresses = if server.may(Some(namespace), &INGRESSES)? {
        server.ingresses(namespace).map_err(|e| e.why)
    } else {
        Err(denied("ingresses"))
    };
    Ok(Front { services, ingresses })
}

/// A pod with these labels that runs, and its first container.
fn beside(server: &Server, namespace: &str, labels: &str) -> Result<(String, String), ClusterError> {
    let runs = |pod: &Pod| pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
    let pods = server.pods_labelled(namespace, labels)?;
    let found = pods.into_iter().filter(runs).find_map(|pod| {
        let container = pod.spec?.containers.into_iter().next()?.name;
        Some((pod.metadata.name?, container))
    });
    found.ok_or_else(|| {
        let why = format!("kubernetes: no pod with the labels {labels} runs in the namespace `{namespace}`");
        let hint =
            format!("`kubectl get pods -n {namespace} --show-labels` lists what there is; or leave out ingress=");
        ClusterError::usage(why, hint)
    })
}

/// Annotations of the pods of a Deployment, and labels by which it does not find them: both may change what a pod is given.
fn marks(deployment: &Deployment) -> Vec<String> {
    let Some(spec) = &deployment.spec else { return Vec::new() };
    let of = spec.template.metadata.clone().unwrap_or_default();
    let finds = spec.selector.match_labels.clone().unwrap_or_default();
    let labels = of.labels.into_iter().flatten().filter(|(name, _)| !finds.contains_key(name));
    of.annotations.into_iter().flatten().chain(labels).map(|(name, value)| format!("{name}: {value}")).collect()
}
