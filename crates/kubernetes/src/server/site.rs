//! A site of genkai's own in a cluster, for an experiment: a namespace with an application in a pod, and the Deployment of a server before it, of
//! which copies are made as of anybody's.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, Namespace, PodSpec, PodTemplateSpec, Probe, TCPSocketAction, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::NoCopy;
use super::copy::labels;
use super::home::{AGAIN, DELETED_WITHIN};
use super::ready::{Comes, comes};
use crate::ClusterError;
use crate::api::Server;
use crate::manifest::{LABEL, PROGRAM};

/// What the application's Deployment and its container are called.
const APPLICATION: &str = "application";
/// How often it is looked whether it is ready, and whether it is still wanted.
const LOOK: Duration = Duration::from_millis(250);

/// An application in a pod: genkai itself, as one of its embedded servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationPlan {
    /// A context of the kubeconfig; none: the current one.
    pub context: Option<String>,
    /// The image that holds genkai.
    pub image: String,
    /// What it is started with.
    pub arguments: Vec<String>,
    /// Where it listens.
    pub port: u16,
    /// How long it may take to be ready.
    pub wait: Duration,
}

/// A server before it, as one file of configuration describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPlan {
    /// What its Deployment and its container are called.
    pub name: String,
    /// Its image, whose own command starts it.
    pub image: String,
    /// Where it has its file.
    pub file: String,
    /// That file.
    pub text: String,
}

/// A site that runs. Dropping it deletes its namespace.
pub struct Site {
    server: Server,
    namespace: String,
    /// The namespace may be there.
    there: AtomicBool,
    address: IpAddr,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Site {
    /// Makes a namespace, starts the application in it, and waits until that takes connections, or `stopped`.
    ///
    /// # Errors
    /// When the cluster does not let it be, or the application does not come in time. Nothing is left then.
    pub fn open(plan: &ApplicationPlan, stopped: &dyn Fn() -> bool) -> Result<Site, NoCopy> {
        let name = format!("genkai-{:08x}", rand::random::<u32>());
        let server = Server::at(plan.context.as_deref(), Some(&name))?;
        let unknown = IpAddr::from([0, 0, 0, 0]);
        let mut site = Site { server, namespace: name, there: AtomicBool::new(true), address: unknown };
        let metadata = ObjectMeta {
            name: Some(site.namespace.clone()),
            labels: Some(labels(&site.namespace)),
            ..ObjectMeta::default()
        };
        let mut refused = false;
        let namespace = Namespace { metadata, ..Namespace::default() };
        let made = site.server.made(&site.server.namespaces(), "namespace of the site", &namespace, &mut refused);
        site.there.store(!refused, Ordering::Relaxed);
        made?;
        let container = Container {
            name: APPLICATION.to_owned(),
            image: Some(plan.image.clone()),
            command: Some(vec![PROGRAM.to_owned()]),
            args: Some(plan.arguments.clone()),
            readiness_probe: Some(Probe {
                tcp_socket: Some(TCPSocketAction { port: IntOrString::Int(plan.port.into()), host: None }),
                period_seconds: Some(1),
                ..Probe::default()
            }),
            ..Container::default()
        };
        let deployment = site.deployment(APPLICATION, 1, container, None);
        site.server.made(
            &site.server.deployments(&site.namespace),
            "Deployment of the application",
            &deployment,
            &mut false,
        )?;
        site.address = site.ready(plan, stopped)?;
        Ok(site)
    }

    /// Puts a server before the application: its Deployment, of no pod, and its ConfigMap. Copies of it are what runs.
    ///
    /// # Errors
    /// When the cluster does not let it be.
    pub fn serve(&self, plan: &ServerPlan) -> Result<(), ClusterError> {
        let map = ConfigMap {
            metadata: self.metadata(&plan.name),
            data: Some([("file".to_owned(), plan.text.clone())].into()),
            ..ConfigMap::default()
        };
        self.server.made(&self.server.config_maps(&self.namespace), "ConfigMap of the server", &map, &mut false)?;
        let container = Container {
            name: plan.name.clone(),
            image: Some(plan.image.clone()),
            volume_mounts: Some(vec![VolumeMount {
                name: plan.name.clone(),
                mount_path: plan.file.clone(),
                sub_path: Some("file".to_owned()),
                ..VolumeMount::default()
            }]),
            ..Container::default()
        };
        let volume = Volume {
            name: plan.name.clone(),
            config_map: Some(ConfigMapVolumeSource { name: plan.name.clone(), ..ConfigMapVolumeSource::default() }),
            ..Volume::default()
        };
        let deployment = self.deployment(&plan.name, 0, container, Some(volume));
        let deployments = self.server.deployments(&self.namespace);
        self.server.made(&deployments, "Deployment of the server", &deployment, &mut false)
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The address of the application's pod.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    fn metadata(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            labels: Some(labels(name)),
            ..ObjectMeta::default()
        }
    }

    fn deployment(&self, name: &str, replicas: i32, container: Container, volume: Option<Volume>) -> Deployment {
        let pods = PodSpec {
            containers: vec![container],
            volumes: volume.map(|one| vec![one]),
            automount_service_account_token: Some(false),
            termination_grace_period_seconds: Some(2),
            ..PodSpec::default()
        };
        let selector = LabelSelector {
            match_labels: Some([(LABEL.to_owned(), name.to_owned())].into()),
            ..LabelSelector::default()
        };
        let template = PodTemplateSpec {
            metadata: Some(ObjectMeta { labels: Some(labels(name)), ..ObjectMeta::default() }),
            spec: Some(pods),
        };
        let spec = DeploymentSpec { replicas: Some(replicas), selector, template, ..DeploymentSpec::default() };
        Deployment { metadata: self.metadata(name), spec: Some(spec), status: None }
    }

    /// Waits until the application takes connections: its pod's address.
    fn ready(&self, plan: &ApplicationPlan, stopped: &dyn Fn() -> bool) -> Result<IpAddr, NoCopy> {
        let latest = Instant::now() + plan.wait;
        let failed = |why: &str| {
            let hint = format!("the image {} must hold genkai as {PROGRAM} (docs/kubernetes.md)", plan.image);
            NoCopy::Failed(self.server.error(&format!("the application {why}"), &hint))
        };
        let deployments = self.server.deployments(&self.namespace);
        loop {
            let deployment = self.server.object(&deployments, "Deployment", APPLICATION)?.unwrap_or_default();
            let pods = self.server.pods_of(&self.namespace, APPLICATION)?;
            let why = match comes(&deployment, &pods, APPLICATION) {
                Comes::Ready(place) => return Ok(place.address),
                Comes::Waiting(why) => why,
                Comes::Never(why) => return Err(failed(&format!("does not come: {why}"))),
                Comes::Ended { pod, previous, why } => {
                    let said = self.server.printed(&self.namespace, &pod, APPLICATION, previous);
                    return Err(failed(&format!("ended: {why}: {said}")));
                }
            };
            if Instant::now() >= latest {
                return Err(failed(&format!("was not ready within {} s: {why}", plan.wait.as_secs())));
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
