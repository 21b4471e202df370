//! What pods say of themselves. Pure.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

use crate::api::clean;
use crate::manifest::INDEX;

/// Reasons for which a container waits that time does not mend (kubelet). A pull that failed once is tried again before it is "backed off".
const HOPELESS: [&str; 7] = [
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// How a pod stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its worker runs.
    Running,
    /// It may come yet: why it has not.
    Waiting(String),
    /// It will not come, or is over: why.
    Over(String),
}

/// The number of a pod in its Job.
pub(crate) fn index(pod: &Pod) -> Option<u16> {
    pod.metadata.annotations.as_ref()?.get(INDEX)?.parse().ok()
}

/// How a pod with one container stands.
pub(crate) fn standing(pod: &Pod) -> Standing {
    standing_of(pod, None)
}

/// How a container of a pod stands; none: its first.
pub(crate) fn standing_of(pod: &Pod, name: Option<&str>) -> Standing {
    let status = pod.status.clone().unwrap_or_default();
    let mut all = status.container_statuses.iter().flatten();
    let container = all.find(|one| name.is_none_or(|name| one.name == name));
    let phase = status.phase.as_deref().unwrap_or("Pending");
    if let Some(why) = ended(container) {
        return Standing::Over(on(pod, status.reason.as_deref(), why));
    }
    if phase == "Failed" || phase == "Succeeded" {
        let why = disrupted(&status).filter(|_| status.reason.is_none());
        if let Some(why) = why {
            return Standing::Over(on(pod, None, why));
        }
        let why = said(status.reason.as_deref().unwrap_or(phase), status.message.as_deref());
        return Standing::Over(on(pod, None, why));
    }
    if pod.metadata.deletion_timestamp.is_some() {
        let why = disrupted(&status).unwrap_or_else(|| "it is being deleted".to_owned());
        return Standing::Over(on(pod, status.reason.as_deref(), why));
    }
    let state = container.and_then(|one| one.state.as_ref());
    if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
        let reason = waiting.reason.as_deref().unwrap_or("waiting");
        let why = on(pod, None, said(reason, waiting.message.as_deref()));
        return if HOPELESS.contains(&reason) { Standing::Over(why) } else { Standing::Waiting(why) };
    }
    if state.is_some_and(|state| state.running.is_some()) {
        return Standing::Running;
    }
    let unmet = status.conditions.iter().flatten().find(|one| one.status == "False" && one.reason.is_some());
    let why = unmet.map_or_else(
        || phase.to_owned(),
        |one| said(one.reason.as_deref().unwrap_or_default(), one.message.as_deref()),
    );
    Standing::Waiting(on(pod, None, why))
}

/// How one container stands, by its own status alone.
pub(crate) fn state_of(pod: &Pod, container: &ContainerStatus) -> Standing {
    if let Some(why) = ended(Some(container)) {
        return Standing::Over(on(pod, None, why));
    }
    let state = container.state.as_ref();
    if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
        let reason = waiting.reason.as_deref().unwrap_or("waiting");
        let why = on(pod, None, said(reason, waiting.message.as_deref()));
        return if HOPELESS.contains(&reason) { Standing::Over(why) } else { Standing::Waiting(why) };
    }
    match state.is_some_and(|state| state.running.is_some()) {
        true => Standing::Running,
        false => Standing::Waiting(on(pod, None, "it was not started yet".to_owned())),
    }
}

/// Why the cluster takes a pod away: its node is gone or tainted, it is evicted or preempted (the pod condition DisruptionTarget).
fn disrupted(status: &PodStatus) -> Option<String> {
    let of = status.conditions.iter().flatten().find(|one| one.type_ == "DisruptionTarget" && one.status == "True")?;
    Some(said(of.reason.as_deref().unwrap_or("DisruptionTarget"), of.message.as_deref()))
}

/// The node that a pod is on.
pub(crate) fn node(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.node_name.as_deref().map(clean)
}

/// The last line that a program printed before it failed (`terminationMessagePolicy`), where it is none of a worker's own, which are JSON.
fn last_line(message: &str) -> Option<&str> {
    message.lines().map(str::trim).rfind(|line| !line.is_empty()).filter(|line| !line.starts_with('{'))
}

/// How a container ended, if it has.
fn ended(container: Option<&ContainerStatus>) -> Option<String> {
    let ended = container?.state.as_ref()?.terminated.as_ref()?;
    let how = match ended.signal {
        Some(signal) if signal != 0 => format!("killed by signal {signal}"),
        // A shell's way to tell a signal, which container runtimes follow.
        _ if (129..=159).contains(&ended.exit_code) => {
            format!("exit code {}: killed by signal {}", ended.exit_code, ended.exit_code - 128)
        }
        _ => format!("exit code {}", ended.exit_code),
    };
    let reason = ended.reason.as_deref().unwrap_or("ended");
    Some(said(&format!("{reason} ({how})"), ended.message.as_deref().and_then(last_line)))
}

fn said(reason: &str, message: Option<&str>) -> String {
    match message.map(clean) {
        Some(message) if !message.is_empty() => format!("{}: {message}", clean(reason)),
        _ => clean(reason),
    }
}

/// With the reason of the whole pod, and its node.
fn on(pod: &Pod, reason: Option<&str>, why: String) -> String {
    let why = reason.map_or_else(|| why.clone(), |reason| format!("{}: {why}", clean(reason)));
    match node(pod) {
        Some(node) => format!("{why} (node {node})"),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(status: serde_json::Value) -> Standing {
        let pod = json!({
            "metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": "7"}},
            "spec": {"nodeName": "n1", "containers": []},
            "status": status
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        assert_eq!(index(&pod), Some(7));
        standing(&pod)
    }

    fn state(state: serde_json::Value) -> Standing {
        let container =
            json!({"name": "worker", "image": "a", "imageID": "", "ready": false, "restartCount": 0, "state": state});
        of(json!({"phase": "Pending", "containerStatuses": [container]}))
    }

    #[test]
    fn pods_that_can_come_yet_are_waited_for() {
        let unschedulable = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available: 3 had untolerated taint"}
        ]});
        let why = "Unschedulable: 0/3 nodes are available: 3 had untolerated taint (node n1)";
        assert_eq!(of(unschedulable), Standing::Waiting(why.to_owned()));
        assert_eq!(of(json!({"phase": "Pending"})), Standing::Waiting("Pending (node n1)".to_owned()));
        for reason in ["ContainerCreating", "ErrImagePull", "PodInitializing"] {
            let standing = state(json!({"waiting": {"reason": reason}}));
            assert_eq!(standing, Standing::Waiting(format!("{reason} (node n1)")));
        }
        assert_eq!(state(json!({"running": {}})), Standing::Running);
    }

    #[test]
    fn a_pod_that_its_node_loses_is_told_with_the_reason() {
        let running = json!([{"name": "worker", "image": "a", "imageID": "", "ready": false, "restartCount": 0, "state": {"running": {}}}]);
        let pod = json!({
            "metadata": {"deletionTimestamp": "2026-11-26T04:00:00Z"},
            "spec": {"nodeName": "n2", "containers": []},
            "status": {"phase": "Running", "containerStatuses": running, "conditions": [{"type": "DisruptionTarget", "status": "True",
                "reason": "DeletionByTaintManager", "message": "Taint manager: deleting due to NoExecute taint"}]}
        });
        let why = "DeletionByTaintManager: Taint manager: deleting due to NoExecute taint (node n2)";
        assert_eq!(standing(&serde_json::from_value(pod).unwrap()), Standing::Over(why.to_owned()));
    }

    #[test]
    fn pods_that_will_not_come_are_told_with_their_reason() {
        let pull =
            state(json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"a\"\n"}}));
        assert_eq!(pull, Standing::Over("ImagePullBackOff: Back-off pulling image \"a\" (node n1)".to_owned()));
        let killed = state(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}));
        assert_eq!(killed, Standing::Over("OOMKilled (exit code 137: killed by signal 9) (node n1)".to_owned()));
        let other = state(
            json!({"terminated": {"exitCode": 1, "reason": "StartError", "message": "exec format\u{1b}[2J error"}}),
        );
        let words = "StartError (exit code 1): exec format\u{fffd}[2J error (node n1)";
        assert_eq!(other, Standing::Over(words.to_owned()));
        // What a worker of the wrong kind of processor leaves is its log (so runc 1.1.5), what a killed one does is its last interval.
        let kind = state(
            json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "exec /genkai: exec format error\n"}}),
        );
        assert_eq!(kind, Standing::Over("Error (exit code 1): exec /genkai: exec format error (node n1)".to_owned()));
        let lines = "{\"said\":\"tick\"}\n{\"said\":\"tick\"}";
        let killed = state(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": lines}}));
        assert_eq!(killed, Standing::Over("OOMKilled (exit code 137: killed by signal 9) (node n1)".to_owned()));
        let evicted =
            of(json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}));
        assert_eq!(evicted, Standing::Over("Evicted: The node was low on resource: memory. (node n1)".to_owned()));
        let gone = json!({"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists"}]});
        assert_eq!(of(gone), Standing::Over("DeletionByPodGC: PodGC: node no longer exists (node n1)".to_owned()));
    }
}
