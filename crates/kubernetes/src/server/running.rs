//! One copy, from its beginning to its end.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::copy::{CopyPlan, LOOKER, looker, objects};
use super::home::{AGAIN, DELETED_WITHIN};
use super::ready::{Comes, Place, added, comes, ended, restarts};
use super::{CommandOutput, Home, NoCopy};
use crate::ClusterError;
use crate::api::clean;
use crate::attached::Attached;
use crate::manifest::LABEL;
use crate::standing::Standing;

/// How often it is looked whether it is ready.
const LOOK: Duration = Duration::from_millis(250);
/// How often the wish to stop is looked at meanwhile.
const POLL: Duration = Duration::from_millis(20);
/// How long a program that ends is waited for to say why: a node tells of its end before of its log.
const SAID_WITHIN: Duration = Duration::from_secs(3);
/// How long its pod may take to be gone once its Deployment is.
const GONE_WITHIN: Duration = Duration::from_secs(15);

/// A copy that runs. Dropping it deletes it, and waits until its pod is gone.
#[derive(Debug)]
pub struct Copy {
    home: Arc<Home>,
    name: String,
    /// ConfigMaps that may be there.
    maps: Vec<String>,
    deployed: bool,
    place: Option<Place>,
}

impl Home {
    /// Makes a copy with these files in the place of the container's, and waits until it takes connections at `port` (none: it is not
    /// known where), or `stopped`.
    ///
    /// # Errors
    /// When it does not come in time: why. Nothing of it is left then.
    pub fn copy(
        self: &Arc<Self>,
        files: &BTreeMap<PathBuf, String>,
        port: Option<u16>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Copy, NoCopy> {
        Copy::start(Arc::clone(self), self.next(), files, port, stopped)
    }
}

impl Copy {
    fn start(
        home: Arc<Home>,
        name: String,
        files: &BTreeMap<PathBuf, String>,
        port: Option<u16>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Copy, NoCopy> {
        let plan = CopyPlan { name: name.clone(), namespace: &home.namespace, of: &home.of.namespace, files, port };
        let (maps, deployment) = objects(&home.original, &plan);
        let mut copy = Copy { home: Arc::clone(&home), name, maps: Vec::new(), deployed: false, place: None };
        for map in &maps {
            copy.maps.extend(map.metadata.name.clone());
            home.server.made(&home.server.config_maps(&home.namespace), "ConfigMap of a copy", map, &mut false)?;
        }
        copy.deployed = true;
        let deployments = home.server.deployments(&home.namespace);
        home.server.made(&deployments, "Deployment of a copy", &deployment, &mut false)?;
        copy.place = Some(copy.comes(stopped)?);
        if let Some(image) = &home.of.look {
            copy.looked(image, stopped)?;
        }
        Ok(copy)
    }

    /// Waits until it takes connections, or `stopped`.
    fn comes(&self, stopped: &dyn Fn() -> bool) -> Result<Place, NoCopy> {
        let Home { server, namespace, original, of, .. } = &*self.home;
        let wait = Duration::from_nanos(of.wait.0);
        let latest = Instant::now() + wait;
        let deployments = server.deployments(namespace);
        loop {
            let deployment = server.object(&deployments, "Deployment", &self.name)?.unwrap_or_default();
            let why = match comes(&deployment, &server.pods_of(namespace, &self.name)?, &original.container) {
                Comes::Ready(place) => return Ok(place),
                Comes::Waiting(why) => why,
                Comes::Never(why) => return Err(self.absent(&format!("a copy of {of} does not come: {why}")).into()),
                Comes::Ended { pod, previous, why } => return Err(NoCopy::Ended(self.words(&pod, previous, why))),
            };
            if Instant::now() >= latest {
                let why = format!("a copy of {of} was not ready within {} s: {why}", wait.as_secs());
                return Err(self.absent(&why).into());
            }
            let next = Instant::now() + LOOK;
            while Instant::now() < next {
                if stopped() {
                    return Err(NoCopy::Asked);
                }
                thread::sleep(POLL);
            }
        }
    }

    /// Adds the container by which it is looked into, and waits until that runs, or `stopped`.
    fn looked(&self, image: &str, stopped: &dyn Fn() -> bool) -> Result<(), NoCopy> {
        let Home { server, namespace, original, of, .. } = &*self.home;
        server.joined(namespace, self.pod().0, &looker(original, image))?;
        let wait = Duration::from_nanos(of.wait.0);
        let latest = Instant::now() + wait;
        let failed = |why: &str| {
            let hint = "look=IMAGE must hold `sh`, `head` and `dd`, and the nodes must have it or be able to pull it";
            NoCopy::Failed(
                server.error(&format!("the container that looks into a copy of {of} (image {image}) {why}"), hint),
            )
        };
        loop {
            let pods = server.pods_of(namespace, &self.name)?;
            let pod = pods.iter().find(|pod| pod.metadata.name.as_deref() == Some(self.pod().0));
            let why = match pod.map(|pod| added(pod, LOOKER)) {
                Some(Standing::Running) => return Ok(()),
                Some(Standing::Over(why)) => return Err(failed(&format!("does not come: {why}"))),
                Some(Standing::Waiting(why)) => why,
                None => return Err(failed("does not come: the pod is gone")),
            };
            if Instant::now() >= latest {
                return Err(failed(&format!("did not run within {} s: {why}", wait.as_secs())));
            }
            if stopped() {
                return Err(NoCopy::Asked);
            }
            thread::sleep(LOOK);
        }
    }

    fn absent(&self, why: &str) -> ClusterError {
        const KNOWN: [(&str, &str); 4] = [
            ("Image", "the nodes must be able to pull its image without a secret, which a copy does not have"),
            (
                "exceeded quota",
                "copies have the resources of the original: name a namespace with room for one: copies=NAME",
            ),
            ("Unschedulable", "a copy needs the room of one more pod; wait longer with wait=300s"),
            ("is forbidden", "the namespace does not allow such pods; its administrator can say what it allows"),
        ];
        let known = KNOWN.iter().find(|(sign, _)| why.contains(sign));
        self.home
            .server
            .error(why, known.map_or("`kubectl describe pod` says more; wait longer with wait=300s", |(_, hint)| hint))
    }

    /// How its program ended, with what it printed last.
    fn words(&self, pod: &str, previous: bool, why: String) -> String {
        let (home, latest) = (&self.home, Instant::now() + SAID_WITHIN);
        loop {
            let said = home.server.printed(&home.namespace, pod, &home.original.container, previous);
            let said: Vec<String> = said.lines().map(clean).filter(|line| !line.is_empty()).collect();
            match said.last() {
                Some(_) => return format!("{why}: {}", said.join("\n")),
                None if Instant::now() >= latest => return why,
                None => thread::sleep(LOOK),
            }
        }
    }

    /// Its pod's address.
    pub fn address(&self) -> Option<IpAddr> {
        self.place.as_ref().map(|place| place.address)
    }

    /// Its pod, and the node that it is on.
    pub fn pod(&self) -> (&str, &str) {
        self.place.as_ref().map_or(("?", "?"), |place| (&place.pod, &place.node))
    }

    /// The container that serves.
    fn container(&self) -> (&str, &str, &str) {
        (&self.home.namespace, self.pod().0, &self.home.original.container)
    }

    /// The container by which it is looked into: that which serves, unless another was added.
    fn looks(&self) -> (&str, &str, &str) {
        let (namespace, pod, serves) = self.container();
        (namespace, pod, if self.home.of.look.is_some() { LOOKER } else { serves })
    }

    /// Where the container by which it is looked into has the files of the one that serves.
    pub fn root(&self) -> &'static str {
        // The first process of the one that serves is the first that it sees.
        if self.home.of.look.is_some() { "/proc/1/root" } else { "" }
    }

    /// Runs a command in the container that serves, to its end.
    ///
    /// # Errors
    /// When it cannot be started, or the connection to it is cut.
    pub fn run(&self, command: &[String]) -> Result<CommandOutput, ClusterError> {
        self.home.server.output(self.container(), command)
    }

    /// The same in the container by which it is looked into.
    ///
    /// # Errors
    /// As [`Copy::run`].
    pub fn look(&self, command: &[String]) -> Result<CommandOutput, ClusterError> {
        self.home.server.output(self.looks(), command)
    }

    /// Starts a command in the container by which it is looked into, that is spoken to; its end is the end of what is returned.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn speak(&self, command: &[String]) -> Result<Attached, ClusterError> {
        let process = self.home.server.spoken(self.looks(), command)?;
        let own = |e: std::io::Error| {
            ClusterError::new(format!("cannot speak to the pod {}: {e}", self.pod().0), "free some descriptors")
        };
        Attached::new(process, &self.home.server.runtime).map_err(own)
    }

    /// What became of its program, as the cluster says; none: it runs as it did. With `words`, what it printed last stands behind it.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub fn fate(&self, words: bool) -> Result<Option<String>, ClusterError> {
        let home = &self.home;
        let pods = home.server.pods_of(&home.namespace, &self.name)?;
        let Some(pod) = pods.iter().find(|pod| pod.metadata.name.as_deref() == Some(self.pod().0)) else {
            return Ok(Some("the pod is gone: deleted, evicted, or its node was lost".to_owned()));
        };
        if let Some((previous, why)) = ended(pod, &home.original.container) {
            return Ok(Some(if words { self.words(self.pod().0, previous, why) } else { why }));
        }
        Ok((restarts(pod, &home.original.container) > 0).then(|| "it was started anew".to_owned()))
    }

    /// Deletes it, and waits until its pod is gone.
    ///
    /// # Errors
    /// What may be left.
    pub fn end(&mut self) -> Result<(), ClusterError> {
        let Home { server, namespace, .. } = &*self.home;
        let (deployments, maps) = (server.deployments(namespace), server.config_maps(namespace));
        let mut first = Ok(());
        if std::mem::take(&mut self.deployed) {
            first = until_done(|| server.removed(&deployments, "Deployment", &self.name));
            let latest = Instant::now() + GONE_WITHIN;
            let stays = || server.pods_of(namespace, &self.name).is_ok_and(|pods| !pods.is_empty());
            while first.is_ok() && Instant::now() < latest && stays() {
                thread::sleep(LOOK);
            }
        }
        for map in std::mem::take(&mut self.maps) {
            // One that cannot be deleted keeps the others from nothing.
            first = first.and(until_done(|| server.removed(&maps, "ConfigMap", &map)));
        }
        let hint = format!("delete it: `kubectl delete deployment,configmap -n {namespace} -l {LABEL}={}`", self.name);
        first.map_err(|e| {
            ClusterError::new(format!("the copy {} in {namespace} may be left: {}", self.name, e.why), hint)
        })
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            self.home.leaves(error);
        }
    }
}

/// Tries a deletion until it is done.
fn until_done(delete: impl Fn() -> Result<bool, ClusterError>) -> Result<(), ClusterError> {
    let latest = Instant::now() + DELETED_WITHIN;
    loop {
        match delete() {
            Ok(_) => return Ok(()),
            Err(e) if Instant::now() >= latest => return Err(e),
            Err(_) => thread::sleep(AGAIN),
        }
    }
}
