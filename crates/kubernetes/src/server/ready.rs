//! When a copy is ready, and why it never will be. Pure.

use std::net::IpAddr;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use crate::api::clean;
use crate::standing::{Standing, standing_of, state_of};

/// How a copy stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Comes {
    /// It takes connections: the pod, its address, its node.
    Ready(Place),
    /// It may come yet: why it has not.
    Waiting(String),
    /// It will not come: why.
    Never(String),
    /// Its program ended: the pod, whether what it printed is that of the start before, and how.
    Ended { pod: String, previous: bool, why: String },
}

/// Where a copy runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pod: String,
    pub(super) address: IpAddr,
    pub(super) node: String,
}

/// How a copy stands, by its Deployment and its pods.
pub(super) fn comes(deployment: &Deployment, pods: &[Pod], container: &str) -> Comes {
    let Some(pod) = pods.iter().find(|pod| pod.metadata.deletion_timestamp.is_none()) else {
        let conditions = deployment.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let failed = conditions.into_iter().find(|one| one.type_ == "ReplicaFailure" && one.status == "True");
        let why = |text: Option<&str>| clean(text.unwrap_or("no pod was made"));
        return failed.map_or_else(
            || Comes::Waiting("no pod was made yet".to_owned()),
            |one| Comes::Never(why(one.message.as_deref().or(one.reason.as_deref()))),
        );
    };
    let name = pod.metadata.name.clone().unwrap_or_default();
    if let Some((previous, why)) = ended(pod, container) {
        return Comes::Ended { pod: name, previous, why };
    }
    match standing_of(pod, Some(container)) {
        Standing::Over(why) => Comes::Never(why),
        Standing::Waiting(why) => Comes::Waiting(why),
        Standing::Running => place(pod, name).map_or_else(
            || {
                let at = address(pod).filter(IpAddr::is_ipv6).map(|at| format!(" at {at}")).unwrap_or_default();
                Comes::Waiting(format!("it runs and takes no connections{at} (its readiness probe fails)"))
            },
            Comes::Ready,
        ),
    }
}

/// The address that a pod's readiness is asked at, and at which others reach it: the first of its family.
pub(super) fn address(pod: &Pod) -> Option<IpAddr> {
    pod.status.as_ref()?.pod_ip.as_deref()?.parse().ok()
}

/// Where a pod is, once it is ready.
fn place(pod: &Pod, name: String) -> Option<Place> {
    let status = pod.status.as_ref()?;
    let ready = status.conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    let address = address(pod).filter(|_| ready)?;
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or("?");
    Some(Place { pod: name, address, node: clean(node) })
}

/// How a container that was added to a pod stands.
pub(super) fn added(pod: &Pod, name: &str) -> Standing {
    let mut all = pod.status.iter().flat_map(|status| status.ephemeral_container_statuses.iter().flatten());
    all.find(|one| one.name == name)
        .map_or_else(|| Standing::Waiting("its node has not taken it up".to_owned()), |one| state_of(pod, one))
}

/// The state of a container of a pod.
fn container<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    pod.status.as_ref()?.container_statuses.iter().flatten().find(|one| one.name == name)
}

/// How often a container was started anew.
pub(super) fn restarts(pod: &Pod, name: &str) -> i32 {
    container(pod, name).map_or(0, |one| one.restart_count)
}

/// How the program of a container ended, if it has; and whether that was at an earlier start than the one that it is at.
pub(super) fn ended(pod: &Pod, name: &str) -> Option<(bool, String)> {
    let of = container(pod, name)?;
    let now = of.state.as_ref().and_then(|state| state.terminated.as_ref());
    let before = of.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let ended = now.or(before)?;
    let reason = ended.reason.as_deref().unwrap_or("ended");
    let message = ended.message.as_deref().map(|text| format!(": {}", clean(text))).unwrap_or_default();
    Some((now.is_none(), format!("{} (exit code {}){message}", clean(reason), ended.exit_code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(status: Value) -> Pod {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": []}, "status": status});
        serde_json::from_value(pod).unwrap()
    }

    fn of(state: Value, ready: &str) -> Comes {
        let mut container = json!({"name": "web", "image": "i", "imageID": "", "ready": false, "restartCount": 0});
        container.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
        let side = json!({"name": "side", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
            "state": {"running": {}}});
        let conditions = json!([{"type": "Ready", "status": ready}]);
        let status = json!({"phase": "Running", "podIP": "10.1.2.3", "conditions": conditions,
            "containerStatuses": [side, container]});
        comes(&Deployment::default(), &[pod(status)], "web")
    }

    #[test]
    fn a_copy_is_ready_when_its_probe_says_so() {
        let running = json!({"state": {"running": {}}});
        let place = Place { pod: "p".to_owned(), address: "10.1.2.3".parse().unwrap(), node: "n".to_owned() };
        assert_eq!(of(running.clone(), "True"), Comes::Ready(place));
        assert!(matches!(of(running, "False"), Comes::Waiting(why) if why.contains("connections (its readiness")));
        // What listens by IPv4 alone is not ready where pods have IPv6 addresses.
        let container = json!({"name": "web", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": {"running": {}}});
        let status = json!({"phase": "Running", "podIP": "fd00::5", "containerStatuses": [container]});
        let comes = comes(&Deployment::default(), &[pod(status)], "web");
        assert!(
            matches!(&comes, Comes::Waiting(why) if why.contains("takes no connections at fd00::5 (")),
            "{comes:?}"
        );
    }

    #[test]
    fn a_program_that_ends_is_told_whether_or_not_it_was_started_anew() {
        let terminated = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
        for (state, previous) in [
            (json!({"state": terminated}), false),
            (json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": terminated}), true),
            (json!({"state": {"running": {}}, "lastState": terminated}), true),
        ] {
            let why = "Error (exit code 1)".to_owned();
            assert_eq!(of(state, "True"), Comes::Ended { pod: "p".to_owned(), previous, why });
        }
    }

    #[test]
    fn a_container_that_was_added_is_known_by_its_own_status() {
        let of = |state: Value| {
            let one = json!({"name": "looks", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state});
            added(&pod(json!({"phase": "Running", "ephemeralContainerStatuses": [one]})), "looks")
        };
        assert_eq!(of(json!({"running": {}})), Standing::Running);
        assert!(matches!(of(json!({"waiting": {"reason": "ContainerCreating"}})), Standing::Waiting(_)));
        let backed = json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}});
        assert!(matches!(of(backed), Standing::Over(why) if why.contains("no such image")));
        let ended = json!({"terminated": {"exitCode": 127, "reason": "Error"}});
        assert!(matches!(of(ended), Standing::Over(why) if why.contains("127")));
        assert!(matches!(added(&pod(json!({"phase": "Running"})), "looks"), Standing::Waiting(_)));
    }

    #[test]
    fn pods_that_are_not_made_are_told_in_the_controller_s_words() {
        let status = json!({"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
            "message": "pods \"a\" is forbidden: exceeded quota: small"}]});
        let deployment: Deployment = serde_json::from_value(json!({"metadata": {}, "status": status})).unwrap();
        assert!(matches!(comes(&deployment, &[], "web"), Comes::Never(why) if why.contains("exceeded quota")));
        assert!(matches!(comes(&Deployment::default(), &[], "web"), Comes::Waiting(_)));
    }
}
