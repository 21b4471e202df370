//! What a site is made of: for each of its pods a ConfigMap, a Secret and a Deployment; the Deployment of the server before them. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMap, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, EnvFromSource, Namespace,
    PodSecurityContext, PodSpec, PodTemplateSpec, Probe, SeccompProfile, Secret, SecretEnvSource, SecurityContext,
    TCPSocketAction, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::copy::labels;
use crate::manifest::{LABEL, USER};

/// Where the containers of a pod have its files.
pub const FILES: &str = "/run/genkai/files";
/// A folder, empty at first, that the containers of a pod share.
pub const WORK: &str = "/run/genkai/work";
/// How long a pod has between the word to end and its end.
const ENDS_WITHIN: i64 = 2;

/// A pod of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodPlan {
    /// What its Deployment, ConfigMap and Secret are called.
    pub name: String,
    /// Its containers. It is ready when all of them are.
    pub containers: Vec<ContainerPlan>,
    /// Files in [`FILES`], by name; with none there is no such folder, nor [`WORK`].
    pub files: BTreeMap<String, String>,
    /// Variables of its containers that nobody else is to read.
    pub secret: BTreeMap<String, String>,
}

/// A container of such a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerPlan {
    /// Its name.
    pub name: String,
    /// Its image.
    pub image: String,
    /// What is started in it.
    pub command: Vec<String>,
    /// Where it takes connections once it is ready; none: it is ready when it runs.
    pub port: Option<u16>,
}

/// A server before an application, as one file of configuration describes it.
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

/// The namespace of a site.
pub fn namespace(name: &str) -> Namespace {
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels(name)), ..ObjectMeta::default() };
    Namespace { metadata, ..Namespace::default() }
}

fn metadata(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels(name)),
        ..ObjectMeta::default()
    }
}

/// The objects of a pod, in the order in which they are created.
pub fn pod(namespace: &str, plan: &PodPlan) -> (Option<Secret>, Option<ConfigMap>, Deployment) {
    let secret = (!plan.secret.is_empty()).then(|| Secret {
        metadata: metadata(namespace, &plan.name),
        string_data: Some(plan.secret.clone()),
        ..Secret::default()
    });
    let files = (!plan.files.is_empty()).then(|| ConfigMap {
        metadata: metadata(namespace, &plan.name),
        data: Some(plan.files.clone()),
        ..ConfigMap::default()
    });
    let folders = files.is_some();
    let containers = plan.containers.iter().map(|one| container(plan, one, folders)).collect();
    let volumes = folders.then(|| {
        vec![
            map("files", &plan.name),
            Volume { name: "work".to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() },
        ]
    });
    (secret, files, deployment(namespace, &plan.name, 1, containers, volumes))
}

fn container(plan: &PodPlan, one: &ContainerPlan, folders: bool) -> Container {
    let mount = |name: &str, path: &str| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    };
    let variables = SecretEnvSource { name: plan.name.clone(), ..SecretEnvSource::default() };
    Container {
        name: one.name.clone(),
        image: Some(one.image.clone()),
        command: Some(one.command.clone()),
        env_from: (!plan.secret.is_empty())
            .then(|| vec![EnvFromSource { secret_ref: Some(variables), ..EnvFromSource::default() }]),
        volume_mounts: folders.then(|| vec![mount("files", FILES), mount("work", WORK)]),
        readiness_probe: one.port.map(|port| Probe {
            tcp_socket: Some(TCPSocketAction { port: IntOrString::Int(port.into()), host: None }),
            period_seconds: Some(1),
            ..Probe::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

fn map(name: &str, of: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        config_map: Some(ConfigMapVolumeSource { name: of.to_owned(), ..ConfigMapVolumeSource::default() }),
        ..Volume::default()
    }
}

/// The objects of the server: its ConfigMap, and its Deployment of no pod, of which copies are made.
pub fn server(namespace: &str, plan: &ServerPlan) -> (ConfigMap, Deployment) {
    let file = ConfigMap {
        metadata: metadata(namespace, &plan.name),
        data: Some([("file".to_owned(), plan.text.clone())].into()),
        ..ConfigMap::default()
    };
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
    let volumes = Some(vec![map(&plan.name, &plan.name)]);
    let mut deployment = deployment(namespace, &plan.name, 0, vec![container], volumes);
    // Its image is anybody's, and may want to be root.
    if let Some(spec) = deployment.spec.as_mut().and_then(|spec| spec.template.spec.as_mut()) {
        spec.security_context = None;
    }
    (file, deployment)
}

fn deployment(
    namespace: &str,
    name: &str,
    replicas: i32,
    containers: Vec<Container>,
    volumes: Option<Vec<Volume>>,
) -> Deployment {
    let pods = PodSpec {
        containers,
        volumes,
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(ENDS_WITHIN),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), ..SeccompProfile::default() }),
            ..PodSecurityContext::default()
        }),
        ..PodSpec::default()
    };
    let selector =
        LabelSelector { match_labels: Some([(LABEL.to_owned(), name.to_owned())].into()), ..LabelSelector::default() };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels(name)), ..ObjectMeta::default() }),
        spec: Some(pods),
    };
    let spec = DeploymentSpec { replicas: Some(replicas), selector, template, ..DeploymentSpec::default() };
    Deployment { metadata: metadata(namespace, name), spec: Some(spec), status: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_its_files_and_its_secret_and_no_more_rights_than_it_needs() {
        let container = ContainerPlan {
            name: "one".to_owned(),
            image: "i".to_owned(),
            command: vec!["sh".to_owned()],
            port: Some(8080),
        };
        let plan = PodPlan {
            name: "database".to_owned(),
            containers: vec![container],
            files: [("a".to_owned(), "b".to_owned())].into(),
            secret: [("PASSWORD".to_owned(), "x".to_owned())].into(),
        };
        let (secret, files, deployment) = pod("n", &plan);
        assert_eq!(secret.unwrap().string_data.unwrap()["PASSWORD"], "x");
        assert_eq!(files.unwrap().data.unwrap()["a"], "b");
        let spec = deployment.spec.unwrap().template.spec.unwrap();
        assert_eq!(spec.security_context.unwrap().run_as_non_root, Some(true));
        let one = &spec.containers[0];
        assert!(one.env_from.is_some() && one.readiness_probe.is_some());
        // The password stands in the Secret alone.
        assert!(!serde_json::to_string(one).unwrap().contains("\"x\""));
        let paths: Vec<_> = one.volume_mounts.iter().flatten().map(|mount| mount.mount_path.as_str()).collect();
        assert_eq!(paths, [FILES, WORK]);
        let bare = PodPlan { files: BTreeMap::new(), secret: BTreeMap::new(), ..plan };
        let (secret, files, deployment) = pod("n", &bare);
        assert_eq!((secret, files), (None, None));
        assert_eq!(deployment.spec.unwrap().template.spec.unwrap().volumes, None);
    }
}
