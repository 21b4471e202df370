//! Pods of Deployments: the Deployment controller, and a kubelet that runs containers as processes in mount and PID namespaces of their own,
//! with their ConfigMaps and empty folders mounted. They share this machine's network: their address is 127.0.0.1.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container, EphemeralContainer, PodSpec, Probe, Secret, Volume};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use super::Behaviour;
use super::guard::Guard;

/// Where control groups of processor time are.
const CPU: &str = "/sys/fs/cgroup/cpu";
/// How long a container that ended stays down before it is started anew.
const BACK_OFF: Duration = Duration::from_millis(700);

/// A pod of a Deployment.
pub(super) struct Served {
    pub(super) namespace: String,
    pub(super) deployment: String,
    pub(super) name: String,
    spec: PodSpec,
    dir: PathBuf,
    child: Option<Child>,
    began: Instant,
    restarts: u32,
    /// How it ended last, and when.
    ended: Option<(Value, Instant)>,
    /// Why it never runs, as its status says.
    waits: Option<Value>,
    ready: bool,
    probed: Option<Instant>,
    /// Its control group of processor time, where it has a quota.
    group: Option<PathBuf>,
    /// Its deletion was asked for; when it is killed.
    deleted: Option<Instant>,
    labels: BTreeMap<String, String>,
    address: &'static str,
    /// The container that was added to it, as its status says.
    added: Option<Value>,
    /// Its containers behind the first, each with how it ended. They are not started anew.
    others: Vec<(Child, Option<Value>)>,
    /// Variables from Secrets, of all its containers.
    variables: Vec<(String, String)>,
    guard: Arc<Mutex<Guard>>,
}

impl Served {
    /// The pod of a Deployment; an error is why the controller could not make it.
    pub(super) fn start(
        deployment: &Deployment,
        map: impl Fn(&str) -> Option<ConfigMap>,
        secret: impl Fn(&str) -> Option<Secret>,
        (dir, guard): (&Path, &Arc<Mutex<Guard>>),
        behaviour: &Behaviour,
    ) -> Result<Served, String> {
        let metadata = &deployment.metadata;
        let (namespace, deployment_name) = (metadata.namespace.clone().unwrap(), metadata.name.clone().unwrap());
        let of = deployment.spec.as_ref().unwrap();
        assert_eq!(of.replicas, Some(1));
        let labels = of.template.metadata.as_ref().and_then(|metadata| metadata.labels.clone()).unwrap();
        let selected = of.selector.match_labels.clone().unwrap();
        assert!(selected.iter().all(|(key, value)| labels.get(key) == Some(value)), "the API server refuses such ones");
        let name = format!("{deployment_name}-x");
        if behaviour.served.quota {
            return Err(format!("pods \"{name}\" is forbidden: exceeded quota: small, requested: pods=1"));
        }
        let spec = of.template.spec.clone().unwrap();
        let dir = dir.join(format!("{namespace}-{name}"));
        std::fs::create_dir(&dir).unwrap();
        for volume in spec.volumes.iter().flatten() {
            fill(volume, &map, &dir);
        }
        let of = spec.containers.iter().flat_map(|one| one.env_from.iter().flatten());
        let secrets =
            of.filter_map(|from| from.secret_ref.as_ref()).map(|from| secret(&from.name).expect("such a Secret"));
        let variables = secrets.flat_map(|one| one.string_data.unwrap_or_default()).collect();
        let mut pod = Served {
            others: Vec::new(),
            variables,
            guard: guard.clone(),
            namespace,
            deployment: deployment_name,
            name,
            spec,
            dir,
            child: None,
            began: Instant::now(),
            restarts: 0,
            ended: None,
            waits: None,
            ready: false,
            probed: None,
            group: None,
            deleted: None,
            labels,
            address: if behaviour.ipv6 { "fd00::5" } else { "127.0.0.1" },
            added: None,
        };
        pod.group = pod.quota();
        pod.waits = pod.hindered(behaviour);
        if pod.waits.is_none() {
            pod.run();
            for number in 1..pod.spec.containers.len() {
                let log = pod.dir.join(format!("log-of-{number}"));
                let child = pod.spawn(&pod.spec.containers[number], &log);
                pod.others.push((child, None));
            }
        }
        Ok(pod)
    }

    pub(super) fn has(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(key, value)| self.labels.get(*key).is_some_and(|has| has == value))
    }

    /// Whether a container of this name is the one that serves; else it is one that was added.
    pub(super) fn serves(&self, name: &str) -> bool {
        let added = self.added.as_ref().is_some_and(|added| added["name"] == name);
        assert!(added || self.spec.containers.iter().any(|one| one.name == name), "no container {name}");
        !added
    }

    /// Adds a container, which sees the processes of the one that serves.
    pub(super) fn join(&mut self, one: &EphemeralContainer, behaviour: &Behaviour) {
        assert_eq!(one.target_container_name.as_ref(), Some(&self.container().name));
        assert!(one.stdin == Some(true) && one.command == Some(vec!["sh".to_owned()]), "it would end at once");
        let state = if behaviour.served.no_look {
            let message = format!("Back-off pulling image {:?}", one.image.as_ref().unwrap());
            json!({"waiting": {"reason": "ImagePullBackOff", "message": message}})
        } else {
            json!({"running": {}})
        };
        let told = json!({"name": one.name, "image": one.image, "imageID": "", "ready": false, "restartCount": 0,
            "state": state});
        self.added = Some(told);
    }

    fn container(&self) -> &Container {
        &self.spec.containers[0]
    }

    fn hindered(&self, behaviour: &Behaviour) -> Option<Value> {
        let image = self.container().image.as_deref().unwrap();
        if behaviour.served.no_node {
            let unmet = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "0/3 nodes are available: 3 Insufficient cpu."});
            return Some(json!({"phase": "Pending", "conditions": [unmet]}));
        }
        if behaviour.served.no_image {
            let state = json!({"waiting": {"reason": "ImagePullBackOff",
                "message": format!("Back-off pulling image \"{image}\"")}});
            return Some(json!({"phase": "Pending", "containerStatuses": [self.status(&state)]}));
        }
        None
    }

    /// Makes a control group (version 1, as this machine has) with the quota of its container, where it has one.
    fn quota(&self) -> Option<PathBuf> {
        const PERIOD_US: u64 = 100_000;
        let limit = &self.container().resources.as_ref()?.limits.as_ref()?.get("cpu")?.0;
        let thousandths: u64 = match limit.strip_suffix('m') {
            Some(number) => number.parse().unwrap(),
            None => limit.parse::<u64>().unwrap() * 1000,
        };
        let group = PathBuf::from(format!("{CPU}/genkai-test-{}-{}", std::process::id(), self.name));
        std::fs::create_dir(&group).unwrap();
        self.guard.lock().unwrap().group(&group);
        std::fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string()).unwrap();
        std::fs::write(group.join("cpu.cfs_quota_us"), (thousandths * PERIOD_US / 1000).to_string()).unwrap();
        Some(group)
    }

    /// Starts the first container.
    fn run(&mut self) {
        let child = self.spawn(self.container(), &self.log(self.restarts));
        (self.child, self.began, self.ready, self.probed) = (Some(child), Instant::now(), false, None);
    }

    /// Starts a container: namespaces, mounts, then its program, as the user that its pod says.
    fn spawn(&self, container: &Container, log: &Path) -> Child {
        let mut script = String::from(
            "set -e; mount --make-rprivate /; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /var/log/nginx; ",
        );
        if let Some(group) = &self.group {
            // In a namespace of control groups a container sees its own at the root.
            script += &format!("echo 0 > {0}/cgroup.procs; mount --bind {0} {CPU}; ", group.display());
        }
        for mount in container.volume_mounts.iter().flatten() {
            let (from, to) = (self.dir.join(&mount.name), Path::new(&mount.mount_path));
            let from = mount.sub_path.as_ref().map_or(from.clone(), |sub| from.join(sub));
            if to.starts_with("/run") {
                script += &format!("mkdir -p '{0}'; ", to.display());
            } else {
                assert!(to.exists(), "{} is not in the image", to.display());
            }
            script += &format!("mount --bind '{}' '{}'; ", from.display(), to.display());
        }
        // The image's own entry point is that of nginx's.
        let own = ["nginx".to_owned(), "-g".to_owned(), "daemon off;".to_owned()];
        let command: Vec<String> = container.command.iter().chain(&container.args).flatten().cloned().collect();
        let mut command = if command.is_empty() { own.to_vec() } else { command };
        if command[0] == "/genkai" {
            // As the image of the `Containerfile` has it: where every user may run it, whoever may look into the folder of this build.
            const GENKAI: &str = "/run/image/genkai";
            let built = env!("CARGO_BIN_EXE_genkai");
            script += &format!("mkdir /run/image; touch {GENKAI}; mount --bind '{built}' {GENKAI}; ");
            GENKAI.clone_into(&mut command[0]);
        }
        let user = self.spec.security_context.as_ref().and_then(|context| context.run_as_user);
        script += &user.map_or_else(
            || "exec \"$@\"".to_owned(),
            |user| format!("exec setpriv --reuid {user} --regid {user} --clear-groups --inh-caps=-all --bounding-set=-all -- \"$@\""),
        );
        let log = std::fs::File::create(log).unwrap();
        // As a container's streams are its user's.
        std::os::unix::fs::fchown(&log, user.map(|user| user as u32), None).unwrap();
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script, "sh"]);
        unshare.args(command).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
        unshare.envs(self.variables.iter().cloned());
        unshare.stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        let child = unshare.spawn().unwrap();
        self.guard.lock().unwrap().process(child.id());
        child
    }

    fn log(&self, start: u32) -> PathBuf {
        self.dir.join(format!("log-{start}"))
    }

    /// What its container printed, of this start or of the one before.
    pub(super) fn printed(&self, previous: bool) -> Option<String> {
        let start = if previous { self.restarts.checked_sub(1)? } else { self.restarts };
        std::fs::read_to_string(self.log(start)).ok()
    }

    /// The first process of its container, as this machine knows it.
    pub(super) fn first(&self) -> Option<u32> {
        self.child.as_ref().and_then(first_of)
    }

    /// What a kubelet does again and again.
    pub(super) fn look(&mut self) {
        if let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) {
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
            let reason = if code == 0 { "Completed" } else { "Error" };
            self.ended = Some((json!({"exitCode": code, "reason": reason}), Instant::now()));
            (self.child, self.ready) = (None, false);
        }
        for (child, ended) in &mut self.others {
            if ended.is_none()
                && let Ok(Some(status)) = child.try_wait()
            {
                let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
                *ended = Some(json!({"terminated": {"exitCode": code, "reason": "Error"}}));
            }
        }
        match self.deleted {
            Some(at) if Instant::now() >= at => self.kill(),
            Some(_) => {}
            None if self.child.is_none() && self.ended.as_ref().is_some_and(|(_, at)| at.elapsed() > BACK_OFF) => {
                self.restarts += 1;
                self.run();
            }
            None => self.probe(),
        }
    }

    fn probe(&mut self) {
        let runs = self.child.is_some() && self.others.iter().all(|(_, ended)| ended.is_none());
        let probes: Vec<&Probe> = self.spec.containers.iter().filter_map(|one| one.readiness_probe.as_ref()).collect();
        let Some(every) = probes.iter().map(|probe| probe.period_seconds.unwrap_or(10) as u64).min() else {
            self.ready = runs;
            return;
        };
        if runs && self.probed.is_none_or(|at| at.elapsed() >= Duration::from_secs(every)) {
            self.ready = probes.into_iter().all(answers);
            self.probed = Some(Instant::now());
        }
    }

    /// Asks it to end, and kills it when its grace is over.
    pub(super) fn delete(&mut self) {
        if self.deleted.is_none() {
            let grace = self.spec.termination_grace_period_seconds.unwrap_or(30) as u64;
            self.deleted = Some(Instant::now() + Duration::from_secs(grace));
            let others = self.others.iter().filter(|(_, ended)| ended.is_none());
            let others: Vec<u32> = others.filter_map(|(child, _)| first_of(child)).collect();
            for first in self.first().into_iter().chain(others) {
                let _ = Command::new("kill").args(["-TERM", &first.to_string()]).status();
            }
        }
    }

    pub(super) fn kill(&mut self) {
        for child in self.child.iter_mut().chain(self.others.iter_mut().map(|(child, _)| child)) {
            // A program that became another user does not end with the one that started it.
            if let Some(first) = first_of(child) {
                let _ = Command::new("kill").args(["-KILL", &first.to_string()]).status();
            }
            let _ = child.kill();
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.deleted.is_some() && self.child.is_none() && self.others.iter().all(|(_, ended)| ended.is_some())
    }

    fn status(&self, state: &Value) -> Value {
        let last = match &self.ended {
            Some((ended, _)) if self.child.is_some() || state["waiting"].is_object() => json!({"terminated": ended}),
            _ => json!({}),
        };
        json!({"name": self.container().name, "image": self.container().image, "imageID": "", "ready": self.ready,
            "restartCount": self.restarts, "state": state, "lastState": last})
    }

    pub(super) fn told(&self) -> Value {
        let state = match (&self.child, &self.ended) {
            (Some(_), _) => json!({"running": {}}),
            (None, Some((ended, at))) if at.elapsed() < BACK_OFF / 2 => json!({"terminated": ended}),
            (None, _) => {
                json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}})
            }
        };
        let ready = json!({"type": "Ready", "status": if self.ready { "True" } else { "False" }});
        let others = self.spec.containers.iter().skip(1).zip(&self.others).map(|(one, (_, ended))| {
            let state = ended.clone().unwrap_or_else(|| json!({"running": {}}));
            json!({"name": one.name, "image": one.image, "imageID": "", "ready": ended.is_none(), "restartCount": 0, "state": state})
        });
        let statuses: Vec<Value> = std::iter::once(self.status(&state)).chain(others).collect();
        let mut running = json!({"phase": "Running", "podIP": self.address, "conditions": [ready],
            "containerStatuses": statuses});
        if let Some(added) = &self.added {
            running["ephemeralContainerStatuses"] = json!([added]);
        }
        let mut metadata = json!({"name": self.name, "namespace": self.namespace, "labels": self.labels});
        if self.deleted.is_some() {
            metadata["deletionTimestamp"] = json!("2026-11-25T12:00:00Z");
        }
        let containers = json!([{"name": self.container().name}]);
        json!({"metadata": metadata, "spec": {"containers": containers, "nodeName": "node-1"},
            "status": self.waits.clone().unwrap_or(running)})
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
        for child in self.child.iter_mut().chain(self.others.iter_mut().map(|(child, _)| child)) {
            let _ = child.wait();
        }
        let latest = Instant::now() + Duration::from_secs(5);
        while let Some(group) = &self.group
            && std::fs::remove_dir(group).is_err()
            && Instant::now() < latest
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The first process of a container.
fn first_of(unshare: &Child) -> Option<u32> {
    let unshare = unshare.id();
    let children = std::fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

fn answers(probe: &Probe) -> bool {
    let socket = probe.tcp_socket.as_ref().expect("the stand-in knows probes by TCP");
    let IntOrString::Int(port) = socket.port else { panic!("a number is wanted") };
    let address = ([127, 0, 0, 1], u16::try_from(port).unwrap()).into();
    TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
}

/// Puts the files of a volume where its mounts find them.
fn fill(volume: &Volume, map: &impl Fn(&str) -> Option<ConfigMap>, dir: &Path) {
    let folder = dir.join(&volume.name);
    std::fs::create_dir(&folder).unwrap();
    let Some(source) = &volume.config_map else {
        assert!(volume.empty_dir.is_some(), "the stand-in does not know the volume {volume:?}");
        // As a kubelet makes them: for every user of the container.
        let _ = Command::new("chmod").arg("0777").arg(&folder).status();
        return;
    };
    let data = map(&source.name).unwrap_or_else(|| panic!("no ConfigMap {}", source.name)).data.unwrap_or_default();
    match &source.items {
        None => data.iter().for_each(|(key, text)| std::fs::write(folder.join(key), text).unwrap()),
        Some(items) => items.iter().for_each(|item| std::fs::write(folder.join(&item.path), &data[&item.key]).unwrap()),
    }
}

/// A command in the container that serves, or in one beside it that has its processes and other files.
pub(super) fn inside(pod: &Served, serves: bool, words: &[String]) -> Option<Command> {
    let first = pod.first()?.to_string();
    let join = pod.group.as_ref().filter(|_| serves);
    let join = join.map(|group| format!("echo 0 > {}/cgroup.procs && ", group.display())).unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{join}exec \"$@\""), "sh", "nsenter", "--target", &first, "--pid"]);
    if serves {
        command.args(["--mount", "--"]);
    } else {
        command.args(["--", "unshare", "--mount", "--mount-proc", "--"]);
    }
    command.args(words).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    Some(command)
}
