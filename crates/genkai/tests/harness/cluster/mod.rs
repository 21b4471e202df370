//! A stand-in for a Kubernetes cluster: an API server (TLS, a bearer token) that knows the calls that genkai makes and no other, a Job
//! controller and a kubelet that runs the pods' commands as processes of this machine. What is sent must be of the published types, to the
//! last field.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

mod api;
mod asked;
mod guard;
mod objects;
mod pods;
mod served;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{EphemeralContainer, Service};
use k8s_openapi::api::networking::v1::Ingress;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use objects::Objects;
use pods::State;

/// The token that lets somebody in.
const TOKEN: &str = "a-token-of-the-test";
/// The namespace that there is.
pub const NAMESPACE: &str = "load";

/// What a cluster does with pods.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behaviour {
    /// What the user may not do: `create pods/attach`.
    pub denied: &'static [&'static str],
    /// How many pods the namespace's quota allows.
    pub quota: Option<usize>,
    /// The image of pods of this number and above cannot be pulled.
    pub no_image_from: Option<usize>,
    /// No node takes pods of this number and above.
    pub no_node_from: Option<usize>,
    /// Pods have a network of their own.
    pub own_network: bool,
    /// The API server speaks the older protocol of attaching only, which cannot end standard input alone.
    pub old: bool,
    /// The API server gives up waiting for its store when a Job is to be created, which is there a moment later.
    pub slow_store: bool,
    /// The API server is too busy for the first deletion.
    pub busy: bool,
    /// How many nodes there are; none: one.
    pub nodes: usize,
    /// A node of this number, from 1, has another kind of processor than the image is for.
    pub other_kind: Option<usize>,
    /// Its pods seem to run until somebody attaches to them, as the kubelet tells of what ended at once a moment later.
    pub seems: bool,
    /// Pods have IPv6 addresses.
    pub ipv6: bool,
    /// What it does with pods of Deployments.
    pub served: Served,
}

impl Behaviour {
    /// The node of a pod of this number: a scheduler that spreads them over nodes that are alike takes each in turn.
    fn node(&self, index: usize) -> usize {
        index % self.nodes.max(1) + 1
    }
}

/// What a cluster does with pods of Deployments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    /// The namespace's quota allows no pod more.
    pub quota: bool,
    /// The image cannot be pulled.
    pub no_image: bool,
    /// No node takes the pod.
    pub no_node: bool,
    /// The image has no shell.
    pub no_shell: bool,
    /// Images of containers that are added to pods cannot be pulled.
    pub no_look: bool,
}

/// The cluster.
pub struct Cluster {
    shared: Arc<Shared>,
    runtime: Option<tokio::runtime::Runtime>,
    dir: tempfile::TempDir,
    port: u16,
    tls: TlsAcceptor,
}

/// What its parts know.
struct Shared {
    behaviour: Behaviour,
    state: Mutex<State>,
    objects: Mutex<Objects>,
    /// What was there before genkai.
    seeded: Mutex<BTreeSet<String>>,
    /// Connections to pods are cut.
    cut: AtomicBool,
    /// Connections to pods carry nothing any more, and do not end.
    mute: AtomicBool,
    /// A deletion was asked for.
    asked_to_delete: AtomicBool,
    /// The API server is down: nobody listens, and all connections are gone.
    down: AtomicBool,
    /// How long it takes for each call, milliseconds.
    slow: AtomicU64,
}

impl Shared {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    pub fn start(behaviour: Behaviour) -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let shared = Arc::new(Shared {
            behaviour,
            state: Mutex::default(),
            objects: Mutex::new(Objects::new(dir.path().to_owned())),
            seeded: Mutex::default(),
            cut: AtomicBool::new(false),
            mute: AtomicBool::new(false),
            asked_to_delete: AtomicBool::new(false),
            down: AtomicBool::new(false),
            slow: AtomicU64::new(0),
        });
        let private = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
        let tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![key.cert.der().clone()], private)
            .unwrap();
        let tls = TlsAcceptor::from(Arc::new(tls));
        runtime.spawn(api::serve(listener, tls.clone(), shared.clone()));
        let kept = shared.clone();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                kept.state().control();
                kept.objects().control();
            }
        });
        let authority = STANDARD.encode(key.cert.pem());
        let config = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
             clusters: [{{name: stand-in, cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority-data: {authority}}}}}]\n\
             users: [{{name: me, user: {{token: {TOKEN}}}}}, {{name: nobody, user: {{token: another}}}}]\n\
             contexts:\n- {{name: here, context: {{cluster: stand-in, user: me, namespace: {NAMESPACE}}}}}\n\
             - {{name: stranger, context: {{cluster: stand-in, user: nobody, namespace: {NAMESPACE}}}}}\n"
        );
        std::fs::write(dir.path().join("config"), config).unwrap();
        Cluster { shared, runtime: Some(runtime), dir, port, tls }
    }

    /// The kubeconfig that leads to it.
    pub fn config(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    /// What there is that was not there before genkai: Jobs and pods, namespaces, Deployments and ConfigMaps.
    pub fn list(&self) -> Vec<String> {
        let seeded = self.shared.seeded.lock().unwrap();
        let mut all = self.shared.state().list();
        all.extend(self.shared.objects().left(&seeded));
        all
    }

    /// Somebody's Deployment with its ConfigMaps, as YAML documents. It does not run here.
    pub fn seed(&self, deployment: &str, maps: &[&str]) {
        let read = |text: &&str| serde_saphyr::from_str(text).unwrap();
        let deployment = serde_saphyr::from_str(deployment).unwrap();
        let mut objects = self.shared.objects();
        objects.seed(deployment, maps.iter().map(read).collect());
        self.shared.seeded.lock().unwrap().extend(objects.left(&BTreeSet::new()));
    }

    /// Somebody's Services and Ingresses, as YAML documents.
    pub fn front(&self, services: &[&str], ingresses: &[&str]) {
        let mut objects = self.shared.objects();
        objects.services.extend(services.iter().map(|text| serde_saphyr::from_str::<Service>(text).unwrap()));
        objects.ingresses.extend(ingresses.iter().map(|text| serde_saphyr::from_str::<Ingress>(text).unwrap()));
    }

    /// Somebody's Deployment with its ConfigMaps, which runs here.
    pub fn run(&self, deployment: &str, maps: &[&str]) {
        let read = |text: &&str| serde_saphyr::from_str(text).unwrap();
        let mut objects = self.shared.objects();
        objects.start(
            serde_saphyr::from_str(deployment).unwrap(),
            maps.iter().map(read).collect(),
            &self.shared.behaviour,
        );
        self.shared.seeded.lock().unwrap().extend(objects.left(&BTreeSet::new()));
    }

    /// All containers that were ever added to pods, as they were sent.
    pub fn added(&self) -> Vec<EphemeralContainer> {
        self.shared.objects().added.clone()
    }

    /// All Deployments and ConfigMaps that were ever created through the API server, as they were sent.
    pub fn sent(&self) -> Vec<serde_json::Value> {
        self.shared.objects().created.clone()
    }

    /// The first processes of the containers of Deployments.
    pub fn containers(&self) -> Vec<u32> {
        self.shared.objects().firsts()
    }

    /// The first process of the container of somebody's Deployment.
    pub fn first(&self, deployment: &str) -> Option<u32> {
        self.shared.objects().first(deployment)
    }

    /// Connections to pods are cut, and nobody knows why.
    pub fn cut(&self) {
        self.shared.cut.store(true, Ordering::Relaxed);
    }

    /// All Jobs that were ever created, as they were sent.
    pub fn created(&self) -> Vec<Job> {
        self.shared.state().created.clone()
    }

    /// The first processes of the pods that there are, by their numbers.
    pub fn pods(&self) -> Vec<u32> {
        self.shared.state().processes()
    }

    /// Takes pods away as an eviction does: they end, and say why.
    pub fn evict(&self, pod: usize) {
        self.shared.state().evict(pod);
    }

    /// From now on nothing gets to a pod or from it.
    pub fn mute(&self) {
        self.shared.mute.store(true, Ordering::Relaxed);
    }

    /// The API server is restarted: it is gone, with all connections through it, and there again after so long. Pods run on.
    pub fn restart(&self, down: Duration) {
        self.shared.down.store(true, Ordering::Relaxed);
        let (shared, tls, port) = (self.shared.clone(), self.tls.clone(), self.port);
        self.runtime.as_ref().unwrap().spawn(async move {
            tokio::time::sleep(down).await;
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("its port is free again");
            shared.down.store(false, Ordering::Relaxed);
            api::serve(listener, tls, shared).await;
        });
    }

    /// From now on the API server takes so long for each call. What is attached goes on as it was.
    pub fn slow(&self, by: Duration) {
        self.shared.slow.store(by.as_millis() as u64, Ordering::Relaxed);
    }

    /// A node's machine is switched off. Its pods are told as running for as long as nobody knows: 40 s by default (kube-controller-manager(8):
    /// --node-monitor-grace-period). Nothing deletes them for good until the node itself is deleted.
    pub fn lose_node(&self, number: usize) {
        self.shared.state().lose_node(number);
    }

    /// The cluster knows that a node is lost, and taints it: its pods are to be deleted.
    pub fn taint_node(&self, number: usize) {
        self.shared.state().taint_node(number);
    }

    /// A node that is lost is deleted, and with it what was on it.
    pub fn delete_node(&self, number: usize) {
        self.shared.state().delete_node(number);
    }

    /// The API server is gone, and with it all that is attached through it.
    pub fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.shared.state().clear();
        self.shared.objects().clear();
        self.stop();
    }
}
