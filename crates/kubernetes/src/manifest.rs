//! What is created: one Indexed Job, and the role that whoever creates it needs. Pure.
//!
//! The pods meet the "restricted" Pod Security Standard. Their standard input stays open until somebody who attached is gone again
//! (`stdinOnce`), which ends the worker in it: so a Job whose genkai was killed is over at once, and the cluster removes it then
//! (`ttlSecondsAfterFinished`). Should that word not get there, the pods end when they have heard nothing for a while, and the deadline ends
//! what is left.

use std::collections::BTreeMap;
use std::time::Duration;

use genkai_model::load::PodPlace;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements, SeccompProfile,
    SecurityContext, TopologySpreadConstraint,
};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Serialize;

/// The container of a pod.
pub(crate) const CONTAINER: &str = "worker";
/// What a Job's objects are known by: its value is the name of the Job.
pub(crate) const LABEL: &str = "app.kubernetes.io/instance";
/// The annotation in which the Job controller tells a pod's number (Indexed Jobs).
pub(crate) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Where the image has genkai; the `Containerfile` puts it there.
pub(crate) const PROGRAM: &str = "/genkai";
/// Any but root: "nonroot" of distroless images.
pub(crate) const USER: i64 = 65_532;
/// How long a pod has between the word to end and its end. Its worker ends when its input does.
const ENDS_WITHIN: i64 = 2;
/// How much longer than until the last pod runs it may take until the first word.
const ATTACHED_WITHIN: Duration = Duration::from_secs(30);
/// How long a Job that is over stays, should nobody delete it.
const STAYS: i32 = 5;

/// A Job that is to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPlan {
    /// Its name.
    pub name: String,
    /// Pods.
    pub pods: u16,
    /// Seconds after which the cluster ends it, whatever has become of genkai.
    pub deadline: u32,
}

/// Seconds after which the cluster ends a Job whose pods are needed for so long once they are there.
pub fn deadline(cluster: &PodPlace, lasts: Duration) -> u32 {
    u32::try_from((lasts + Duration::from_nanos(cluster.wait.0)).as_secs().saturating_add(1)).unwrap_or(u32::MAX)
}

/// The Job of a plan.
pub fn job(cluster: &PodPlace, plan: &JobPlan) -> Job {
    let labels = BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), "genkai".to_owned()),
        (LABEL.to_owned(), plan.name.clone()),
    ]);
    let metadata = ObjectMeta {
        name: Some(plan.name.clone()),
        namespace: cluster.namespace.clone(),
        labels: Some(labels.clone()),
        ..ObjectMeta::default()
    };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
        spec: Some(pod(cluster, plan)),
    };
    let spec = JobSpec {
        completion_mode: Some("Indexed".to_owned()),
        completions: Some(plan.pods.into()),
        parallelism: Some(plan.pods.into()),
        backoff_limit: Some(0),
        active_deadline_seconds: Some(plan.deadline.into()),
        ttl_seconds_after_finished: Some(STAYS),
        template,
        ..JobSpec::default()
    };
    Job { metadata, spec: Some(spec), status: None }
}

/// How long a pod waits for a word of genkai's: the first comes when all pods are there.
fn patience(cluster: &PodPlace) -> Duration {
    Duration::from_nanos(cluster.wait.0) + ATTACHED_WITHIN
}

fn pod(cluster: &PodPlace, plan: &JobPlan) -> PodSpec {
    let same = LabelSelector {
        match_labels: Some([(LABEL.to_owned(), plan.name.clone())].into()),
        ..LabelSelector::default()
    };
    let seccomp = SeccompProfile { type_: "RuntimeDefault".to_owned(), ..SeccompProfile::default() };
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        termination_grace_period_seconds: Some(ENDS_WITHIN),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        node_selector: Some([("kubernetes.io/os".to_owned(), "linux".to_owned())].into()),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            seccomp_profile: Some(seccomp),
            ..PodSecurityContext::default()
        }),
        topology_spread_constraints: Some(vec![TopologySpreadConstraint {
            max_skew: 1,
            topology_key: "kubernetes.io/hostname".to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            label_selector: Some(same),
            ..TopologySpreadConstraint::default()
        }]),
        containers: vec![container(cluster)],
        ..PodSpec::default()
    }
}

fn container(cluster: &PodPlace) -> Container {
    let amounts = BTreeMap::from([
        ("cpu".to_owned(), Quantity(cluster.cpu.clone())),
        ("memory".to_owned(), Quantity(cluster.memory.clone())),
    ]);
    Container {
        name: CONTAINER.to_owned(),
        image: Some(cluster.image.clone()),
        command: Some(vec![PROGRAM.to_owned()]),
        args: Some(vec!["pod".to_owned(), format!("{}s", patience(cluster).as_secs())]),
        stdin: Some(true),
        stdin_once: Some(true),
        // What is said of one that cannot be run (of another kind of processor) stands in its log alone.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        resources: Some(ResourceRequirements {
            requests: Some(amounts.clone()),
            limits: Some(amounts),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

/// Something that is done in a namespace, and must be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) verb: &'static str,
    pub(crate) group: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) subresource: Option<&'static str>,
}

impl Permission {
    pub(crate) const fn new(verb: &'static str, group: &'static str, resource: &'static str) -> Permission {
        Permission { verb, group, resource, subresource: None }
    }

    const fn attach(verb: &'static str) -> Permission {
        Permission::pods(verb, "attach")
    }

    /// Something that is done with a part of pods.
    pub(crate) const fn pods(verb: &'static str, part: &'static str) -> Permission {
        Permission { verb, group: "", resource: "pods", subresource: Some(part) }
    }

    /// The resource as a role names it: `pods/attach`.
    pub(crate) fn name(&self) -> String {
        self.subresource.map_or_else(|| self.resource.to_owned(), |part| format!("{}/{part}", self.resource))
    }
}

/// All that is done. Attaching over WebSocket is a GET, and was checked as such alone until Kubernetes 1.35, which asks for `create` too.
pub(crate) const PERMISSIONS: [Permission; 6] = [
    Permission::new("create", "batch", "jobs"),
    Permission::new("delete", "batch", "jobs"),
    Permission::new("list", "", "pods"),
    Permission::attach("create"),
    Permission::attach("get"),
    Permission::new("list", "", "events"),
];

/// The role that allows it, and its binding to a user of this name.
pub fn access(namespace: Option<&str>, user: &str) -> (Role, RoleBinding) {
    let metadata = || ObjectMeta {
        name: Some("genkai".to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ObjectMeta::default()
    };
    let role_ref = RoleRef { api_group: RBAC.to_owned(), kind: "Role".to_owned(), name: "genkai".to_owned() };
    let binding = RoleBinding { metadata: metadata(), role_ref, subjects: Some(vec![self::user(user)]) };
    (Role { metadata: metadata(), rules: Some(rules(&PERMISSIONS)) }, binding)
}

/// The group of roles.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// A user, as whom a role is bound to.
pub(crate) fn user(name: &str) -> Subject {
    Subject { api_group: Some(RBAC.to_owned()), kind: "User".to_owned(), name: name.to_owned(), namespace: None }
}

/// The rules of a role that allows this.
pub(crate) fn rules(permissions: &[Permission]) -> Vec<PolicyRule> {
    let mut rules: Vec<PolicyRule> = Vec::new();
    for one in permissions {
        let resources = Some(vec![one.name()]);
        let groups = Some(vec![one.group.to_owned()]);
        match rules.iter_mut().find(|rule| rule.resources == resources && rule.api_groups == groups) {
            Some(rule) => rule.verbs.push(one.verb.to_owned()),
            None => rules.push(PolicyRule {
                api_groups: groups,
                resources,
                verbs: vec![one.verb.to_owned()],
                ..PolicyRule::default()
            }),
        }
    }
    rules
}

/// An object as YAML.
///
/// # Errors
/// Never of the objects of this module.
pub fn yaml(object: &impl Serialize) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> PodPlace {
        PodPlace {
            namespace: Some("load".to_owned()),
            image: "genkai:1".to_owned(),
            cpu: "1".to_owned(),
            memory: "512Mi".to_owned(),
            ..PodPlace::default()
        }
    }

    #[test]
    fn the_yaml_says_the_same() {
        let job = job(&cluster(), &JobPlan { name: "genkai-1".to_owned(), pods: 3, deadline: 90 });
        let text = yaml(&job).unwrap();
        assert_eq!(serde_saphyr::from_str::<Job>(&text).unwrap(), job, "{text}");
        let (role, binding) = access(Some("load"), "me");
        assert_eq!(serde_saphyr::from_str::<Role>(&yaml(&role).unwrap()).unwrap(), role);
        assert_eq!(serde_saphyr::from_str::<RoleBinding>(&yaml(&binding).unwrap()).unwrap(), binding);
    }

    #[test]
    fn the_role_allows_all_that_is_done_and_no_more() {
        let (role, _) = access(None, "me");
        let allowed: Vec<(String, String, String)> = role
            .rules
            .unwrap()
            .into_iter()
            .flat_map(|rule| {
                let (group, resource) = (rule.api_groups.unwrap()[0].clone(), rule.resources.unwrap()[0].clone());
                rule.verbs.into_iter().map(move |verb| (group.clone(), resource.clone(), verb))
            })
            .collect();
        assert_eq!(allowed.len(), PERMISSIONS.len());
        for one in PERMISSIONS {
            assert!(allowed.contains(&(one.group.to_owned(), one.name(), one.verb.to_owned())), "{one:?}");
        }
    }
}
