//! The Job controller and the kubelet: pods are processes.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PodSpec;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Behaviour;

/// What a pod said.
pub(super) enum Output {
    Out(Vec<u8>),
    Err(Vec<u8>),
    /// The end of a command, and how it ended.
    Over(Value),
}

/// The streams of a pod as somebody who attached has them. The end of `stdin` is the end of the pod's (`stdinOnce`).
pub(super) struct Pipes {
    pub(super) stdin: UnboundedSender<Vec<u8>>,
    pub(super) output: UnboundedReceiver<Output>,
    /// The node of the pod is gone: nothing gets there, nothing comes from it, and nobody says so.
    pub(super) lost: Arc<AtomicBool>,
}

/// Whoever is attached; what is said while nobody is, is lost.
type Attached = Arc<Mutex<Option<UnboundedSender<Output>>>>;

struct Pod {
    name: String,
    job: String,
    index: usize,
    /// Its process.
    child: Option<Child>,
    stdin: Option<UnboundedSender<Vec<u8>>>,
    attached: Attached,
    /// Why it has none, as its status says.
    waits: Option<Value>,
    /// How it ended.
    ended: Option<Value>,
    evicted: bool,
    /// The number of its node, and whether that is lost.
    node: usize,
    lost: Arc<AtomicBool>,
    /// Why the cluster takes it away.
    disrupted: Option<Value>,
    /// When it is killed.
    killed: Option<Instant>,
    /// Its end is not known yet.
    seems: bool,
}

struct Standing {
    job: Job,
    began: Instant,
    finished: Option<Instant>,
    events: Vec<String>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) created: Vec<Job>,
    jobs: BTreeMap<String, Standing>,
    pods: Vec<Pod>,
}

impl State {
    pub(super) fn create(&mut self, job: &Job, behaviour: &Behaviour) {
        self.created.push(job.clone());
        let name = job.metadata.name.clone().unwrap();
        let spec = job.spec.as_ref().unwrap();
        let (many, pod) = (spec.parallelism.unwrap() as usize, spec.template.spec.as_ref().unwrap());
        // By this a scheduler spreads them over the nodes.
        let [spread] = pod.topology_spread_constraints.as_deref().unwrap() else { panic!("one constraint") };
        assert_eq!((spread.topology_key.as_str(), spread.max_skew), ("kubernetes.io/hostname", 1));
        let labels = spec.template.metadata.as_ref().unwrap().labels.as_ref().unwrap();
        let spread_over = spread.label_selector.as_ref().unwrap().match_labels.as_ref().unwrap();
        assert!(spread_over.iter().all(|(key, value)| labels.get(key) == Some(value)), "it counts its own pods");
        assert_eq!((spec.completion_mode.as_deref(), spec.completions), (Some("Indexed"), spec.parallelism));
        let mut events = Vec::new();
        for index in 0..many {
            if behaviour.quota.is_some_and(|quota| index >= quota) {
                let name = format!("{name}-{index}");
                events.push(format!(
                    "Error creating: pods \"{name}\" is forbidden: exceeded quota: small, requested: pods=1"
                ));
                continue;
            }
            self.pods.push(Pod::start(&name, index, pod, behaviour));
        }
        self.jobs.insert(name, Standing { job: job.clone(), began: Instant::now(), finished: None, events });
    }

    /// Deletes a Job with its pods, in the background; false where there is none.
    pub(super) fn delete(&mut self, name: &str) -> bool {
        let found = self.jobs.remove(name).is_some();
        self.end_pods(name);
        found
    }

    fn end_pods(&mut self, job: &str) {
        for pod in self.pods.iter_mut().filter(|pod| pod.job == job) {
            // After the grace period that its Job gives it: SIGTERM, to the first process of a container that has no handler, is nothing.
            pod.killed.get_or_insert(Instant::now() + Duration::from_secs(2));
        }
    }

    /// What controllers do again and again.
    pub(super) fn control(&mut self) {
        self.pods.iter_mut().for_each(Pod::look);
        let (jobs, pods) = (&mut self.jobs, &mut self.pods);
        let mut over = Vec::new();
        for (name, standing) in jobs.iter_mut() {
            let spec = standing.job.spec.as_ref().unwrap();
            let own: Vec<&Pod> = pods.iter().filter(|pod| pod.job == *name).collect();
            let late = spec
                .active_deadline_seconds
                .is_some_and(|most| standing.began.elapsed() > Duration::from_secs(most as u64));
            let failed = own.iter().any(|pod| pod.failed());
            let done = !own.is_empty() && own.iter().all(|pod| pod.ended.is_some());
            if late || failed || done {
                let finished = *standing.finished.get_or_insert(Instant::now());
                let stays = spec.ttl_seconds_after_finished.map(|most| Duration::from_secs(most as u64));
                over.push((name.clone(), stays.is_some_and(|stays| finished.elapsed() > stays)));
            }
        }
        for (name, gone) in over {
            // backoffLimit 0: with one pod all end.
            self.end_pods(&name);
            if gone {
                self.jobs.remove(&name);
            }
        }
        let jobs = &self.jobs;
        // The garbage collector takes pods whose Job is gone.
        // The kubelet of a lost node confirms nothing: of pods that are to be deleted there, the objects stay.
        self.pods
            .retain(|pod| pod.is_lost() || pod.ended.is_none() && pod.child.is_some() || jobs.contains_key(&pod.job));
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.jobs.keys().cloned().chain(self.pods.iter().map(|pod| pod.name.clone())).collect()
    }

    pub(super) fn processes(&self) -> Vec<u32> {
        self.pods.iter().filter_map(|pod| pod.child.as_ref()?.id()).collect()
    }

    pub(super) fn evict(&mut self, index: usize) {
        let pod = self.pods.iter_mut().find(|pod| pod.index == index).unwrap();
        pod.evicted = true;
        pod.kill();
    }

    pub(super) fn clear(&mut self) {
        self.pods.iter_mut().for_each(Pod::kill);
    }

    pub(super) fn pods_of(&self, job: &str) -> Vec<Value> {
        self.pods.iter().filter(|pod| pod.job == job).map(Pod::told).collect()
    }

    pub(super) fn events(&self, job: &str) -> Value {
        let told = self.jobs.get(job).into_iter().flat_map(|standing| &standing.events);
        let items: Vec<Value> = told
            .map(|message| {
                json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Job", "name": job}, "reason": "FailedCreate", "message": message})
            })
            .collect();
        json!({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": items})
    }

    /// Whether a container is not there, whatever is said of its pod; from then on it is known.
    pub(super) fn has_ended(&mut self, name: &str) -> bool {
        let pod = self.pods.iter_mut().find(|pod| pod.name == name && pod.ended.is_some());
        pod.map(|pod| pod.seems = false).is_some()
    }

    pub(super) fn attach(&mut self, name: &str) -> Option<Pipes> {
        let pod = self.pods.iter_mut().find(|pod| pod.name == name)?;
        let (sender, output) = unbounded_channel();
        *pod.attached.lock().unwrap() = Some(sender);
        Some(Pipes {
            stdin: pod.stdin.take().expect("one who attached has the input for good"),
            output,
            lost: pod.lost.clone(),
        })
    }

    fn on(&mut self, node: usize) -> impl Iterator<Item = &mut Pod> {
        self.pods.iter_mut().filter(move |pod| pod.node == node)
    }

    pub(super) fn lose_node(&mut self, node: usize) {
        for pod in self.on(node) {
            pod.lost.store(true, Ordering::Relaxed);
            pod.kill();
        }
    }

    pub(super) fn taint_node(&mut self, node: usize) {
        for pod in self.on(node) {
            // Kubernetes, pkg/controller/tainteviction: addConditionAndDeletePod.
            pod.disrupted =
                Some(json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
                "message": "Taint manager: deleting due to NoExecute taint"}));
        }
    }

    pub(super) fn delete_node(&mut self, node: usize) {
        self.pods.retain(|pod| pod.node != node);
    }
}

impl Pod {
    fn start(job: &str, index: usize, spec: &PodSpec, behaviour: &Behaviour) -> Pod {
        let container = &spec.containers[0];
        let image = container.image.as_deref().unwrap();
        let mut pod = Pod {
            name: format!("{job}-{index}-x"),
            job: job.to_owned(),
            index,
            child: None,
            stdin: None,
            attached: Attached::default(),
            waits: None,
            ended: None,
            evicted: false,
            node: behaviour.node(index),
            lost: Arc::default(),
            disrupted: None,
            killed: None,
            seems: false,
        };
        let from = |first: Option<usize>| first.is_some_and(|first| index >= first);
        if from(behaviour.no_node_from) {
            let message = "0/3 nodes are available: 3 Insufficient cpu.";
            let unmet =
                json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
            pod.waits = Some(json!({"phase": "Pending", "conditions": [unmet]}));
            return pod;
        }
        if from(behaviour.no_image_from) {
            let message = format!("Back-off pulling image \"{image}\"");
            let state = json!({"waiting": {"reason": "ImagePullBackOff", "message": message}});
            pod.waits = Some(pod.status("Pending", &state));
            return pod;
        }
        if behaviour.other_kind == Some(pod.node) {
            // runc (1.1.5) starts the container, cannot run its program, says so in its log, and ends with 1; the kubelet takes the log for the
            // message where the pod says so.
            assert_eq!(container.termination_message_policy.as_deref(), Some("FallbackToLogsOnError"));
            pod.ended = Some(json!({"exitCode": 1, "reason": "Error", "message": "exec /genkai: exec format error\n"}));
            pod.seems = behaviour.seems;
            return pod;
        }
        assert_eq!(container.command.as_deref(), Some(&["/genkai".to_owned()][..]), "the image has no other program");
        let program = env!("CARGO_BIN_EXE_genkai");
        let mut command = if behaviour.own_network { Command::new("unshare") } else { Command::new(program) };
        if behaviour.own_network {
            command.args(["--net", "--"]).arg(program);
        }
        command.args(container.args.iter().flatten()).env_clear().env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (mut input, output, errors) =
            (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, mut lines) = unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            while let Some(bytes) = lines.recv().await {
                let _ = input.write_all(&bytes).await;
            }
        });
        let attached = pod.attached.clone();
        tokio::spawn(async move {
            tokio::join!(carry(output, &attached, Output::Out), carry(errors, &attached, Output::Err));
            // Whoever is attached sees the end.
            attached.lock().unwrap().take();
        });
        pod.stdin = Some(sender);
        pod.child = Some(child);
        pod
    }

    fn kill(&mut self) {
        if let Some(pid) = self.child.as_ref().and_then(Child::id) {
            // The whole container.
            let _ = std::process::Command::new("kill").args(["-KILL", "--", &format!("-{pid}")]).status();
        }
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn look(&mut self) {
        if self.is_lost() {
            // Nobody tells of it.
            let _ = self.child.as_mut().map(Child::try_wait);
            return;
        }
        if self.killed.is_some_and(|at| Instant::now() >= at) {
            self.kill();
            // One that never ran is gone at once.
            self.ended.get_or_insert_with(|| json!({"exitCode": 137, "reason": "Error"}));
            self.killed = None;
        }
        if let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) {
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
            let reason = if code == 0 { "Completed" } else { "Error" };
            self.ended.get_or_insert_with(|| json!({"exitCode": code, "reason": reason}));
        }
    }

    fn failed(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended["exitCode"] != 0)
    }

    fn status(&self, phase: &str, state: &Value) -> Value {
        let container =
            json!({"name": "worker", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state});
        json!({"phase": phase, "containerStatuses": [container]})
    }

    fn told(&self) -> Value {
        let mut status = match (&self.ended, &self.waits) {
            _ if self.seems => self.status("Running", &json!({"running": {}})),
            (Some(ended), _) => {
                self.status(if self.failed() { "Failed" } else { "Succeeded" }, &json!({"terminated": ended}))
            }
            (None, Some(waits)) => waits.clone(),
            (None, None) => self.status("Running", &json!({"running": {}})),
        };
        if self.evicted && self.ended.is_some() {
            status =
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
        }
        let mut told = json!({
            "metadata": {
                "name": self.name,
                "labels": {"app.kubernetes.io/instance": self.job},
                "annotations": {"batch.kubernetes.io/job-completion-index": self.index.to_string()}
            },
            "spec": {"containers": [], "nodeName": format!("node-{}", self.node)},
            "status": status
        });
        if let Some(why) = &self.disrupted {
            told["metadata"]["deletionTimestamp"] = json!("2026-11-26T12:00:00Z");
            told["status"]["conditions"] = json!([why]);
        }
        told
    }
}

async fn carry(mut from: impl AsyncRead + Unpin, to: &Attached, kind: fn(Vec<u8>) -> Output) {
    let mut bytes = vec![0; 1 << 14];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if let Some(to) = to.lock().unwrap().as_ref() {
            let _ = to.send(kind(bytes[..read].to_vec()));
        }
    }
}
