//! A site of genkai's own in a cluster, for an experiment: a namespace with an application in pods, and the Deployment of a server before it, of
//! which copies are made as of anybody's. [`objects`] says what is created.

mod objects;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::NoCopy;
use super::home::{AGAIN, DELETED_WITHIN, allowed};
use super::ready::{Comes, address, comes};
use super::roles;
use crate::ClusterError;
use crate::api::Server;
use crate::manifest::PROGRAM;

pub use objects::{ContainerPlan, FILES, PodPlan, ServerPlan, WORK, namespace, pod, server};

/// How often it is looked whether a pod is ready, and whether it is still wanted.
const LOOK: Duration = Duration::from_millis(250);

/// A site that runs. Dropping it deletes its namespace.
pub struct Site {
    server: Server,
    namespace: String,
    /// The namespace may be there.
    there: AtomicBool,
    /// How long a pod may take to be ready.
    wait: Duration,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// A container that holds genkai, started with these arguments.
pub fn embedded(name: &str, image: &str, arguments: Vec<String>, port: u16) -> PodPlan {
    let container = ContainerPlan {
        name: name.to_owned(),
        image: image.to_owned(),
        command: std::iter::once(PROGRAM.to_owned()).chain(arguments).collect(),
        port: Some(port),
    };
    PodPlan {
        name: name.to_owned(),
        containers: vec![container],
        files: std::collections::BTreeMap::default(),
        secret: std::collections::BTreeMap::default(),
    }
}

/// A password that nobody knows, of letters and digits.
pub fn password() -> String {
    format!("{:032x}", rand::random::<u128>())
}

impl Site {
    /// Asks whether a site could be made: nothing is.
    ///
    /// # Errors
    /// As [`Site::open`].
    pub fn check(context: Option<&str>, secrets: bool) -> Result<(), ClusterError> {
        let name = format!("genkai-{:08x}", rand::random::<u32>());
        let server = Server::at(context, Some(&name))?;
        allowed(&server, &roles::site_needs(secrets), &name, "")
    }

    /// Asks whether all that will be done is allowed (with `secrets`, to make Secrets too), and makes a namespace.
    ///
    /// # Errors
    /// When the cluster cannot be reached or does not let it be. Nothing is left then.
    pub fn open(context: Option<&str>, secrets: bool, wait: Duration) -> Result<Site, ClusterError> {
        let name = format!("genkai-{:08x}", rand::random::<u32>());
        let server = Server::at(context, Some(&name))?;
        allowed(&server, &roles::site_needs(secrets), &name, "")?;
        let site = Site { server, namespace: name, there: AtomicBool::new(true), wait };
        let mut refused = false;
        let object = namespace(&site.namespace);
        let made = site.server.made(&site.server.namespaces(), "namespace of the site", &object, &mut refused);
        site.there.store(!refused, Ordering::Relaxed);
        made.map(|()| site)
    }

    /// Starts a pod, and waits until it takes connections, or `stopped`: its address. `hint` is what to do where it does not come.
    ///
    /// # Errors
    /// When the cluster does not let it be, or it does not come in time.
    pub fn start(&self, plan: &PodPlan, hint: &str, stopped: &dyn Fn() -> bool) -> Result<IpAddr, NoCopy> {
        let (secret, files, deployment) = pod(&self.namespace, plan);
        let (server, of) = (&self.server, &self.namespace);
        if let Some(secret) = secret {
            server.made(&server.secrets(of), &format!("Secret of the {}", plan.name), &secret, &mut false)?;
        }
        if let Some(files) = files {
            server.made(&server.config_maps(of), &format!("ConfigMap of the {}", plan.name), &files, &mut false)?;
        }
        let what = format!("Deployment of the {}", plan.name);
        server.made(&server.deployments(of), &what, &deployment, &mut false)?;
        self.ready(plan, hint, stopped)
    }

    /// Puts a server before the application: its Deployment, of no pod, and its ConfigMap. Copies of it are what runs.
    ///
    /// # Errors
    /// When the cluster does not let it be.
    pub fn serve(&self, plan: &ServerPlan) -> Result<(), ClusterError> {
        let (file, deployment) = server(&self.namespace, plan);
        self.server.made(&self.server.config_maps(&self.namespace), "ConfigMap of the server", &file, &mut false)?;
        let deployments = self.server.deployments(&self.namespace);
        self.server.made(&deployments, "Deployment of the server", &deployment, &mut false)
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Waits until a pod takes connections: its address.
    fn ready(&self, plan: &PodPlan, hint: &str, stopped: &dyn Fn() -> bool) -> Result<IpAddr, NoCopy> {
        let latest = Instant::now() + self.wait;
        let name = &plan.name;
        let failed = |why: &str| NoCopy::Failed(self.server.error(&format!("the {name} {why}"), hint));
        let deployments = self.server.deployments(&self.namespace);
        loop {
            let deployment = self.server.object(&deployments, "Deployment", name)?.unwrap_or_default();
            let pods = self.server.pods_of(&self.namespace, name)?;
            if let Some(at) = pods.iter().filter_map(address).find(IpAddr::is_ipv6) {
                let why = format!(
                    "the {name} was given the address {at}: what this experiment starts in pods listens by IPv4 alone"
                );
                let hint = "use a cluster whose pods have IPv4 addresses first (dual-stack: name the IPv4 range first)";
                return Err(NoCopy::Failed(self.server.error(&why, hint)));
            }
            let (mut place, mut waits) = (None, None);
            for one in &plan.containers {
                match comes(&deployment, &pods, &one.name) {
                    Comes::Ready(at) => place = Some(at.address),
                    Comes::Waiting(why) => waits = Some(why),
                    Comes::Never(why) => return Err(failed(&format!("does not come: {why}"))),
                    Comes::Ended { pod, previous, why } => {
                        let said = self.server.printed(&self.namespace, &pod, &one.name, previous);
                        return Err(failed(&format!("ended: {why}: {said}")));
                    }
                }
            }
            let why = match (place, waits) {
                (Some(address), None) => return Ok(address),
                (_, waits) => waits.unwrap_or_default(),
            };
            if Instant::now() >= latest {
                return Err(failed(&format!("was not ready within {} s: {why}", self.wait.as_secs())));
            }
            if stopped() {
                return Err(NoCopy::Asked);
            }
            thread::sleep(LOOK);
        }
    }

    /// Deletes the namespace with all that is in it.
    ///
    /// # Errors
    /// When that could not be done: what may be left.
    pub fn end(&self) -> Result<(), ClusterError> {
        let latest = Instant::now() + DELETED_WITHIN;
        while self.there.load(Ordering::Relaxed) {
            match self.server.removed(&self.server.namespaces(), "namespace", &self.namespace) {
                Ok(_) => self.there.store(false, Ordering::Relaxed),
                Err(e) if Instant::now() >= latest => {
                    self.there.store(false, Ordering::Relaxed);
                    let why = format!("the namespace {} may be left: {}", self.namespace, e.why);
                    return Err(ClusterError::new(
                        why,
                        format!("delete it: `kubectl delete namespace {}`", self.namespace),
                    ));
                }
                Err(_) => thread::sleep(AGAIN),
            }
        }
        Ok(())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Who wants to know whether that failed has asked.
        let _ = self.end();
    }
}
