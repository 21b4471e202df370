//! One Job, from its beginning to its end.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::load::PodPlace;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;

use crate::ClusterError;
use crate::api::Server;
use crate::attached::Attached;
use crate::manifest::{JobPlan, deadline, job};
use crate::standing::{Standing, index, node, standing};

/// How often it is looked whether the pods run.
const LOOK: Duration = Duration::from_millis(250);
/// How often the wish to stop is looked at meanwhile.
const POLL: Duration = Duration::from_millis(20);
/// How long after a pod's end the cluster may take to know of it.
const KNOWN_WITHIN: Duration = Duration::from_secs(1);
/// How long the deletion of a Job is tried: the API server may be slow, or back after some seconds.
const DELETED_WITHIN: Duration = Duration::from_secs(8);
/// How many failures of pods are told one by one.
const TOLD: usize = 5;

/// Why a run did not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Nobody wants it any more.
    Asked,
    /// There are not all of its pods.
    Failed(ClusterError),
}

impl From<ClusterError> for Stopped {
    fn from(e: ClusterError) -> Stopped {
        Stopped::Failed(e)
    }
}

/// What may be there of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Nothing.
    Nothing,
    /// Perhaps the Job, perhaps a moment later: the call that makes it was not answered.
    Unknown,
    /// The Job.
    Job,
}

/// The pods of a Job, all running, for as long as this is kept; then the Job is deleted.
pub struct Run {
    server: Server,
    name: String,
    left: Left,
    /// The pods' names by their numbers.
    pods: BTreeMap<u16, String>,
    /// The nodes that they are on.
    nodes: BTreeMap<u16, String>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("name", &self.name).field("pods", &self.pods).finish_non_exhaustive()
    }
}

impl Run {
    /// Creates a Job of so many pods and waits until all of them run, or `stopped`. The cluster ends it after `lasts` and the time that its
    /// pods may take to come, whatever becomes of us.
    ///
    /// # Errors
    /// When the cluster cannot be reached, something is not allowed, or not all pods come: each with its reason. Nothing is left then.
    pub fn start(cluster: &PodPlace, pods: u16, lasts: Duration, stopped: &dyn Fn() -> bool) -> Result<Run, Stopped> {
        let server = Server::find(cluster)?;
        server.check()?;
        let wait = Duration::from_nanos(cluster.wait.0);
        let name = format!("genkai-{:08x}", rand::random::<u32>());
        let plan = JobPlan { name: name.clone(), pods, deadline: deadline(cluster, lasts) };
        if stopped() {
            return Err(Stopped::Asked);
        }
        // From here on its end deletes the Job: a call that was not answered may have made one.
        let mut run = Run { server, name, left: Left::Unknown, pods: BTreeMap::new(), nodes: BTreeMap::new() };
        let all = run.come(&job(cluster, &plan), pods, wait, stopped);
        match all {
            Ok(()) => Ok(run),
            Err(Stopped::Failed(e)) => {
                Err(Stopped::Failed(run.deleted().map_or_else(|left| e.and(&left), |()| e.clone())))
            }
            Err(Stopped::Asked) => Err(Stopped::Asked),
        }
    }

    /// Creates the Job and waits until all of its pods run, or `stopped`.
    fn come(&mut self, job: &Job, pods: u16, wait: Duration, stopped: &dyn Fn() -> bool) -> Result<(), Stopped> {
        let mut refused = false;
        let created = self.server.create(job, &mut refused);
        self.left = match &created {
            Ok(()) => Left::Job,
            Err(_) if refused => Left::Nothing,
            Err(_) => Left::Unknown,
        };
        created?;
        let latest = Instant::now() + wait;
        let mut next = Instant::now();
        loop {
            if stopped() {
                return Err(Stopped::Asked);
            }
            if Instant::now() < next {
                thread::sleep(POLL);
                continue;
            }
            next = Instant::now() + LOOK;
            if self.look(pods, Instant::now() >= latest, wait)? {
                return Ok(());
            }
        }
    }

    /// Deletes the Job, if there is one.
    fn deleted(&mut self) -> Result<(), ClusterError> {
        let latest = Instant::now() + DELETED_WITHIN;
        while self.left != Left::Nothing {
            let deleted = self.server.delete(&self.name);
            let late = Instant::now() >= latest;
            match deleted {
                // One that is gone was there.
                Ok(there) if there || self.left == Left::Job => self.left = Left::Nothing,
                Ok(_) if late => {
                    self.left = Left::Nothing;
                    let why = format!(
                        "the Job {} is not there, and may come yet: then its pods end by themselves",
                        self.name
                    );
                    return Err(ClusterError::new(why, "`kubectl get jobs` shows what is there"));
                }
                Err(e) if late => {
                    self.left = Left::Nothing;
                    let why = format!("the Job {} may be left until the cluster removes it: {}", self.name, e.why);
                    return Err(ClusterError::new(why, "`kubectl get jobs` shows what is there"));
                }
                Ok(_) | Err(_) => thread::sleep(LOOK),
            }
        }
        Ok(())
    }

    /// Whether all pods run now; `last` where nobody waits any longer.
    fn look(&mut self, many: u16, last: bool, wait: Duration) -> Result<bool, ClusterError> {
        let all = self.server.list(&self.name)?;
        let standings: BTreeMap<u16, (Standing, &Pod)> =
            all.iter().filter_map(|pod| Some((index(pod)?, (standing(pod), pod)))).collect();
        let running = standings.iter().filter(|(_, (standing, _))| *standing == Standing::Running);
        self.nodes = standings.iter().filter_map(|(n, (_, pod))| Some((*n, node(pod)?))).collect();
        self.pods = running.filter_map(|(n, (_, pod))| Some((*n, pod.metadata.name.clone()?))).collect();
        if self.pods.len() == usize::from(many) {
            return Ok(true);
        }
        let over = standings.values().any(|(standing, _)| matches!(standing, Standing::Over(_)));
        let refused = if standings.len() < usize::from(many) { self.server.failures(&self.name)? } else { Vec::new() };
        let hopeless = refused.iter().any(|why| why.contains("exceeded quota") || why.contains("is forbidden"));
        if !over && !hopeless && !last {
            return Ok(false);
        }
        // What ended it comes first, then what was still to come.
        let (mut reasons, mut waiting) = (Vec::new(), Vec::new());
        for n in 0..many {
            match standings.get(&n) {
                Some((Standing::Running, _)) => {}
                Some((Standing::Over(why), _)) => reasons.push(format!("pod {n}: {why}")),
                Some((Standing::Waiting(why), _)) => waiting.push(format!("pod {n}: {why}")),
                None if refused.is_empty() => {
                    waiting.push(format!("pod {n}: the Job controller has not created it"));
                }
                None => {
                    let why = refused.last().map_or("", String::as_str);
                    reasons.push(format!("pod {n}: {}", crate::api::clean(why)));
                }
            }
        }
        reasons.extend(waiting);
        let when = if over || hopeless { String::new() } else { format!(" within {} s", wait.as_secs()) };
        Err(missing(reasons, many.into(), &when))
    }

    /// Attaches to a pod.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn attach(&self, n: u16) -> Result<Attached, ClusterError> {
        let Some(pod) = self.pods.get(&n) else {
            return Err(ClusterError::new(format!("kubernetes: there is no pod {n}"), "this is a bug in genkai"));
        };
        let process = self.server.attach(pod).map_err(|e| self.over().unwrap_or(e))?;
        let own = |e: std::io::Error| {
            ClusterError::new(format!("cannot speak to the pod {pod}: {e}"), "free some descriptors")
        };
        Attached::new(process, &self.server.runtime).map_err(own)
    }

    /// Which pods that were seen to run have ended. One whose program cannot be executed runs for a moment, and the cluster knows of its end a moment
    /// after that.
    fn over(&self) -> Option<ClusterError> {
        let latest = Instant::now() + KNOWN_WITHIN;
        loop {
            let all = self.server.list_within(&self.name, KNOWN_WITHIN).ok()?;
            let ended = all.iter().filter_map(|pod| match standing(pod) {
                Standing::Over(why) => Some(format!("pod {}: {why}", index(pod)?)),
                Standing::Running | Standing::Waiting(_) => None,
            });
            let ended: Vec<String> = ended.collect();
            if !ended.is_empty() {
                return Some(missing(ended, self.pods.len(), ""));
            }
            if Instant::now() >= latest {
                return None;
            }
            thread::sleep(LOOK);
        }
    }

    /// The node that a pod is on.
    pub fn node(&self, n: u16) -> Option<&str> {
        self.nodes.get(&n).map(String::as_str)
    }

    /// What the cluster says of a pod that is not heard any more. It knows it a moment later than we do: so long it is asked again.
    pub fn why(&self, n: u16) -> String {
        let name = self.pods.get(&n).map_or("?", String::as_str);
        let latest = Instant::now() + KNOWN_WITHIN;
        loop {
            let all = match self.server.list_within(&self.name, KNOWN_WITHIN) {
                Ok(all) => all,
                Err(e) => return format!("the connection to the pod {name} ended; {}", e.why),
            };
            let pod = all.iter().find(|pod| pod.metadata.name.as_deref() == Some(name));
            match pod.map(standing) {
                None => return format!("the pod {name} is gone: deleted, or its node was lost"),
                Some(Standing::Over(why)) => return format!("the pod {name}: {why}"),
                Some(_) if Instant::now() < latest => thread::sleep(LOOK),
                Some(_) => {
                    return format!("the connection to the pod {name} ended, and the cluster says that it runs");
                }
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Where that fails, the end of their input ends the pods, and the cluster removes a Job that is over; or its deadline does.
        let _ = self.deleted();
    }
}

/// Which of all pods are not there, with the reason of each; `when`: ` within 60 s`.
fn missing(mut reasons: Vec<String>, all: usize, when: &str) -> ClusterError {
    let missing = reasons.len();
    let more = missing.saturating_sub(TOLD);
    reasons.truncate(TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let why = format!("kubernetes: {missing} of {all} pods did not come{when}: {}{more}", reasons.join("; "));
    ClusterError::new(why, hint(&reasons))
}

/// What to do about a pod that was lost for this reason.
pub fn advice(why: &str) -> &'static str {
    known(&[why.to_owned()]).unwrap_or("`kubectl get events` and the node it ran on may say more; then start again")
}

/// What to do where the image cannot run on a node.
const KIND: &str = "the image is for another kind of processor than the node's: name one that is for all of the cluster's \
                    (`kubectl get nodes -L kubernetes.io/arch` lists them)";

/// What to do about pods that did not come, by the first of these.
fn hint(reasons: &[String]) -> &'static str {
    known(reasons).unwrap_or("`kubectl describe pod` says more; wait longer with wait=300s")
}

/// What to do about the first of these that is known.
fn known(reasons: &[String]) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 9] = [
        ("no match for platform", KIND),
        ("Image", "name an image that the nodes can pull: image=REGISTRY/genkai:TAG (docs/kubernetes.md)"),
        ("exceeded quota", "ask for fewer pods, or less of each: cpu=500m,memory=256Mi"),
        ("Unschedulable", "ask for fewer pods, or less of each (cpu=500m,memory=256Mi), or wait longer: wait=300s"),
        ("exec format", KIND),
        ("OOMKilled", "give the pods more memory: memory=1Gi"),
        ("Evicted", "give the pods what they use: memory=1Gi"),
        ("is forbidden", "the namespace does not allow such pods; its administrator can say what it allows"),
        ("StartError", "the image must hold genkai as /genkai (docs/kubernetes.md)"),
    ];
    let known = KNOWN.iter().find(|(sign, _)| reasons.iter().any(|reason| reason.contains(sign)));
    known.map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gone_is_not_waited_for() {
        let gone = advice("the pod is gone: its node is lost");
        assert!(gone.contains("start again") && !gone.contains("wait"), "{gone}");
        assert!(advice("OOMKilled").contains("memory=1Gi"));
        assert!(hint(&["ContainerCreating".to_owned()]).contains("wait=300s"));
    }
}
