//! Namespaces, ConfigMaps and Deployments: what there is, and the calls about it; commands in containers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, EphemeralContainer, Namespace, Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::unbounded_channel;

use super::api::{Answer, answered, plain, refused, strict, upgraded};
use super::guard::Guard;
use super::pods::{Output, Pipes};
use super::served::{Served, inside};
use super::{Behaviour, NAMESPACE, Shared};

/// What there is.
#[derive(Default)]
pub(super) struct Objects {
    /// Namespaces that were made, beside those that were there.
    made: BTreeSet<String>,
    /// Namespaces that were there.
    own: BTreeSet<String>,
    maps: BTreeMap<(String, String), ConfigMap>,
    secrets: BTreeMap<(String, String), Secret>,
    deployments: BTreeMap<(String, String), (Deployment, Option<String>)>,
    pods: Vec<Served>,
    pub(super) services: Vec<Service>,
    pub(super) ingresses: Vec<Ingress>,
    /// All containers that were ever added to pods, as they were sent.
    pub(super) added: Vec<EphemeralContainer>,
    /// All Deployments and ConfigMaps that were ever created through the API server, as they were sent.
    pub(super) created: Vec<Value>,
    dir: PathBuf,
    /// Ends what is left of a test that was killed.
    guard: Option<Arc<Mutex<Guard>>>,
}

impl Objects {
    pub(super) fn new(dir: PathBuf) -> Objects {
        let guard = Some(Arc::new(Mutex::new(Guard::start())));
        Objects { dir, guard, own: [NAMESPACE.to_owned()].into(), ..Objects::default() }
    }

    /// Somebody's server, which is there before genkai is, and does not run here.
    pub(super) fn seed(&mut self, deployment: Deployment, maps: Vec<ConfigMap>) {
        let name = |metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
            (metadata.namespace.clone().unwrap(), metadata.name.clone().unwrap())
        };
        self.own.insert(name(&deployment.metadata).0);
        self.maps.extend(maps.into_iter().map(|map| (name(&map.metadata), map)));
        self.deployments.insert(name(&deployment.metadata), (deployment, None));
    }

    /// The same of one that runs here.
    pub(super) fn start(&mut self, deployment: Deployment, maps: Vec<ConfigMap>, behaviour: &Behaviour) {
        self.seed(deployment.clone(), maps);
        let key = (deployment.metadata.namespace.clone().unwrap(), deployment.metadata.name.clone().unwrap());
        self.deployments.remove(&key);
        assert!(self.deploy(deployment, behaviour));
    }

    /// Everything that genkai made: namespaces, and what is in any.
    pub(super) fn left(&self, seeded: &BTreeSet<String>) -> Vec<String> {
        let maps = self.maps.keys().map(|(namespace, name)| format!("configmap {namespace}/{name}"));
        let secrets = self.secrets.keys().map(|(namespace, name)| format!("secret {namespace}/{name}"));
        let maps = maps.chain(secrets);
        let deployments = self.deployments.keys().map(|(namespace, name)| format!("deployment {namespace}/{name}"));
        let pods = self.pods.iter().map(|pod| format!("pod {}/{}", pod.namespace, pod.name));
        let namespaces = self.made.iter().map(|name| format!("namespace {name}"));
        maps.chain(deployments).chain(pods).chain(namespaces).filter(|one| !seeded.contains(one)).collect()
    }

    pub(super) fn has(&self, namespace: &str) -> bool {
        self.own.contains(namespace) || self.made.contains(namespace)
    }

    pub(super) fn clear(&mut self) {
        self.pods.clear();
    }

    pub(super) fn control(&mut self) {
        self.pods.iter_mut().for_each(Served::look);
        self.pods.retain(|pod| !pod.is_gone());
    }

    /// The pods with these labels.
    pub(super) fn pods(&self, labels: &[(&str, &str)]) -> Vec<Value> {
        self.pods.iter().filter(|pod| pod.has(labels)).map(Served::told).collect()
    }

    /// First processes of the containers that run, but for those that were there.
    pub(super) fn firsts(&self) -> Vec<u32> {
        let own = |pod: &&Served| !self.own.contains(&pod.namespace) || pod.deployment.starts_with("genkai-");
        self.pods.iter().filter(own).filter_map(Served::first).collect()
    }

    pub(super) fn first(&self, deployment: &str) -> Option<u32> {
        self.pods.iter().find(|pod| pod.deployment == deployment)?.first()
    }

    /// Adds a container to a pod.
    fn join(&mut self, name: &str, one: EphemeralContainer, behaviour: &Behaviour) -> Option<Value> {
        self.added.push(one.clone());
        let pod = self.pods.iter_mut().find(|pod| pod.name == name)?;
        pod.join(&one, behaviour);
        Some(pod.told())
    }

    /// Makes a deployment; false: there is one of that name.
    fn deploy(&mut self, deployment: Deployment, behaviour: &Behaviour) -> bool {
        let key = (deployment.metadata.namespace.clone().unwrap(), deployment.metadata.name.clone().unwrap());
        if self.deployments.contains_key(&key) {
            return false;
        }
        if deployment.spec.as_ref().unwrap().replicas == Some(0) {
            self.deployments.insert(key, (deployment, None));
            return true;
        }
        let map = |name: &str| self.maps.get(&(key.0.clone(), name.to_owned())).cloned();
        let secret = |name: &str| self.secrets.get(&(key.0.clone(), name.to_owned())).cloned();
        let made = Served::start(&deployment, map, secret, (&self.dir, self.guard.as_ref().unwrap()), behaviour);
        let failed = made.as_ref().err().cloned();
        self.pods.extend(made);
        self.deployments.insert(key, (deployment, failed));
        true
    }

    fn delete(&mut self, (namespace, name): (&str, &str)) -> bool {
        let found = self.deployments.remove(&(namespace.to_owned(), name.to_owned())).is_some();
        let own = |pod: &&mut Served| pod.namespace == namespace && pod.deployment == name;
        self.pods.iter_mut().filter(own).for_each(Served::delete);
        found
    }

    fn delete_namespace(&mut self, namespace: &str) -> bool {
        self.maps.retain(|(of, _), _| of != namespace);
        self.secrets.retain(|(of, _), _| of != namespace);
        self.deployments.retain(|(of, _), _| of != namespace);
        self.pods.iter_mut().filter(|pod| pod.namespace == namespace).for_each(Served::delete);
        self.made.remove(namespace)
    }
}

fn missing(what: &str, name: &str) -> Answer {
    refused(StatusCode::NOT_FOUND, "NotFound", &format!("{what} \"{name}\" not found"))
}

fn done() -> Answer {
    answered(StatusCode::OK, &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}))
}

/// Answers a call about these; none: it is about something else.
pub(super) async fn answer(request: Request<Incoming>, shared: &Arc<Shared>, parts: &[&str]) -> Result<Answer, Answer> {
    match (request.method().clone(), parts) {
        (Method::POST, ["api", "v1", "namespaces"]) => {
            let namespace: Namespace = strict(request).await?;
            let name = namespace.metadata.name.clone().unwrap();
            assert!(shared.objects().made.insert(name), "a name twice");
            Ok(answered(StatusCode::CREATED, &serde_json::to_value(&namespace).unwrap()))
        }
        (Method::DELETE, ["api", "v1", "namespaces", name]) => {
            let _: DeleteOptions = strict(request).await?;
            if shared.objects().delete_namespace(name) { Ok(done()) } else { Err(missing("namespaces", name)) }
        }
        (Method::GET, ["api", "v1", "namespaces", namespace, "configmaps", name]) => {
            let objects = shared.objects();
            let map = objects.maps.get(&((*namespace).to_owned(), (*name).to_owned()));
            let map = map.ok_or_else(|| missing("configmaps", name))?;
            Ok(answered(StatusCode::OK, &serde_json::to_value(map).unwrap()))
        }
        (Method::POST, ["api", "v1", "namespaces", namespace, "configmaps"]) => {
            let map: ConfigMap = strict(request).await?;
            assert_eq!(map.metadata.namespace.as_deref(), Some(*namespace));
            let told = serde_json::to_value(&map).unwrap();
            let mut objects = shared.objects();
            objects.created.push(told.clone());
            objects.maps.insert(((*namespace).to_owned(), map.metadata.name.clone().unwrap()), map);
            Ok(answered(StatusCode::CREATED, &told))
        }
        (Method::POST, ["api", "v1", "namespaces", namespace, "secrets"]) => {
            make_secret(request, shared, namespace).await
        }
        (Method::DELETE, ["api", "v1", "namespaces", namespace, "configmaps", name]) => {
            let _: DeleteOptions = strict(request).await?;
            let gone = shared.objects().maps.remove(&((*namespace).to_owned(), (*name).to_owned()));
            gone.map(|_| done()).ok_or_else(|| missing("configmaps", name))
        }
        (Method::GET, ["apis", "apps", "v1", "namespaces", namespace, "deployments", name]) => {
            let objects = shared.objects();
            let found = objects.deployments.get(&((*namespace).to_owned(), (*name).to_owned()));
            let (deployment, failed) = found.ok_or_else(|| missing("deployments.apps", name))?;
            let mut told = serde_json::to_value(deployment).unwrap();
            if let Some(why) = failed {
                told["status"] = json!({"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
                    "message": why}]});
            }
            Ok(answered(StatusCode::OK, &told))
        }
        (Method::POST, ["apis", "apps", "v1", "namespaces", namespace, "deployments"]) => {
            let deployment: Deployment = strict(request).await?;
            assert_eq!(deployment.metadata.namespace.as_deref(), Some(*namespace));
            let told = serde_json::to_value(&deployment).unwrap();
            let mut objects = shared.objects();
            objects.created.push(told.clone());
            if !objects.deploy(deployment, &shared.behaviour) {
                return Err(refused(StatusCode::CONFLICT, "AlreadyExists", "deployments.apps already exists"));
            }
            Ok(answered(StatusCode::CREATED, &told))
        }
        (Method::DELETE, ["apis", "apps", "v1", "namespaces", namespace, "deployments", name]) => {
            let how: DeleteOptions = strict(request).await?;
            assert_eq!(how.propagation_policy.as_deref(), Some("Background"));
            if shared.objects().delete((namespace, name)) { Ok(done()) } else { Err(missing("deployments.apps", name)) }
        }
        (Method::GET, ["api", "v1", "namespaces", namespace, "services"]) => {
            let of = |one: &&Service| one.metadata.namespace.as_deref() == Some(*namespace);
            let items: Vec<Service> = shared.objects().services.iter().filter(of).cloned().collect();
            let list = json!({"kind": "ServiceList", "apiVersion": "v1", "metadata": {}, "items": items});
            Ok(answered(StatusCode::OK, &list))
        }
        (Method::GET, ["apis", "networking.k8s.io", "v1", "namespaces", namespace, "ingresses"]) => {
            let of = |one: &&Ingress| one.metadata.namespace.as_deref() == Some(*namespace);
            let items: Vec<Ingress> = shared.objects().ingresses.iter().filter(of).cloned().collect();
            let kind =
                json!({"kind": "IngressList", "apiVersion": "networking.k8s.io/v1", "metadata": {}, "items": items});
            Ok(answered(StatusCode::OK, &kind))
        }
        (Method::PATCH, ["api", "v1", "namespaces", _, "pods", name, "ephemeralcontainers"]) => {
            assert_eq!(request.headers()["content-type"], "application/strategic-merge-patch+json");
            let mut patch: Value = strict(request).await?;
            let all = patch["spec"]["ephemeralContainers"].take();
            assert_eq!(patch, json!({"spec": {"ephemeralContainers": null}}), "nothing else of a pod is changed");
            let [one] = &all.as_array().unwrap()[..] else { panic!("one container") };
            let read: EphemeralContainer = serde_json::from_value(one.clone()).unwrap();
            assert_eq!(&serde_json::to_value(&read).unwrap(), one, "unknown fields");
            let told = shared.objects().join(name, read, &shared.behaviour);
            told.map(|pod| answered(StatusCode::OK, &pod)).ok_or_else(|| missing("pods", name))
        }
        (Method::GET, ["api", "v1", "namespaces", _, "pods", name, "log"]) => {
            let previous = request.uri().query().unwrap_or_default().split('&').any(|part| part == "previous=true");
            let objects = shared.objects();
            let pod = objects.pods.iter().find(|pod| pod.name == *name).ok_or_else(|| missing("pods", name))?;
            let printed = pod.printed(previous).ok_or_else(|| missing("previous terminated container of", name))?;
            let lines: Vec<&str> = printed.lines().collect();
            Ok(plain(lines[lines.len().saturating_sub(10)..].join("\n")))
        }
        (Method::GET, ["api", "v1", "namespaces", _, "pods", name, "exec"]) => Ok(exec(request, shared, name)),
        (method, _) => panic!("the stand-in does not know {method} {}", request.uri()),
    }
}

async fn make_secret(request: Request<Incoming>, shared: &Arc<Shared>, namespace: &str) -> Result<Answer, Answer> {
    let secret: Secret = strict(request).await?;
    assert_eq!(secret.metadata.namespace.as_deref(), Some(namespace));
    let told = serde_json::to_value(&secret).unwrap();
    let mut objects = shared.objects();
    objects.created.push(told.clone());
    objects.secrets.insert((namespace.to_owned(), secret.metadata.name.clone().unwrap()), secret);
    Ok(answered(StatusCode::CREATED, &told))
}

/// A value of a query as it was before it was put there.
pub(super) fn decoded(value: &str) -> String {
    let (bytes, mut text, mut at) = (value.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let hex = || u8::from_str_radix(value.get(at + 1..at + 3)?, 16).ok();
        let (byte, length) = match bytes[at] {
            b'%' => (hex().unwrap(), 3),
            b'+' => (b' ', 1),
            other => (other, 1),
        };
        text.push(byte);
        at += length;
    }
    String::from_utf8(text).unwrap()
}

/// Runs a command in a container, on WebSocket channels.
fn exec(request: Request<Incoming>, shared: &Arc<Shared>, name: &str) -> Answer {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let fields: Vec<(String, String)> = pairs.map(|(key, value)| (key.to_owned(), decoded(value))).collect();
    let words: Vec<String> = fields.iter().filter(|(key, _)| key == "command").map(|(_, word)| word.clone()).collect();
    let wants = |key: &str| fields.iter().any(|(name, value)| name == key && value == "true");
    let container = fields.iter().find_map(|(key, name)| (key == "container").then(|| name.clone()));
    let container = container.unwrap_or_else(|| panic!("{query}"));
    assert!(wants("stdout") && wants("stderr"), "{query}");
    let objects = shared.objects();
    let pod = objects.pods.iter().find(|pod| pod.name == name);
    let serves = pod.is_none_or(|pod| pod.serves(&container));
    let command = pod.and_then(|pod| inside(pod, serves, &words));
    drop(objects);
    let Some(command) = command else { return missing("pods", name) };
    let (stdin, mut input) = unbounded_channel::<Vec<u8>>();
    let (say, output) = unbounded_channel();
    if shared.behaviour.served.no_shell && serves && words[0] == "sh" {
        // containerd, by way of the kubelet.
        let message = format!(
            "error executing command in container: failed to exec in container: OCI runtime exec failed: exec failed: exec: \
             \"{}\": executable file not found in $PATH",
            words[0]
        );
        say.send(Output::Over(json!({"metadata": {}, "status": "Failure", "message": message, "code": 500}))).unwrap();
    } else {
        let mut command = tokio::process::Command::from(command);
        command.stdin(if wants("stdin") { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (to, out, errors) = (child.stdin.take(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
        if let Some(mut to) = to {
            tokio::spawn(async move {
                while let Some(bytes) = input.recv().await {
                    let _ = to.write_all(&bytes).await;
                }
            });
        }
        let shared = shared.clone();
        tokio::spawn(async move {
            let carry = async |mut from: Box<dyn tokio::io::AsyncRead + Unpin + Send>, kind: fn(Vec<u8>) -> Output| {
                let mut bytes = vec![0; 1 << 14];
                while let Ok(read @ 1..) = from.read(&mut bytes).await {
                    let _ = say.send(kind(bytes[..read].to_vec()));
                }
            };
            tokio::join!(carry(Box::new(out), Output::Out), carry(Box::new(errors), Output::Err));
            let status = child.wait().await.unwrap();
            let over = match status.code() {
                Some(0) => json!({"metadata": {}, "status": "Success"}),
                code => json!({"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
                    "message": format!("command terminated with exit code {}", code.unwrap_or(137))}),
            };
            // Of a container that ends, the connection is cut more often than not.
            if status.code().is_some() || !shared.cut.load(Ordering::Relaxed) {
                let _ = say.send(Output::Over(over));
            }
        });
    }
    upgraded(request, Pipes { stdin, output, lost: Arc::default() }, shared)
}
