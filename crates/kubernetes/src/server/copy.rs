//! What is created of a private copy: ConfigMaps, and a Deployment of one pod. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::core::v1::{
    Affinity, ConfigMap, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, EphemeralContainer, PodDNSConfig,
    PodSpec, PodTemplateSpec, Probe, TCPSocketAction, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Original, Unlike};
use crate::manifest::LABEL;

/// The folder of a copy in which its log is: genkai's own, empty at first.
pub(super) const FOLDER: &str = "/run/genkai";
/// What it is called among the volumes.
const VOLUME: &str = "genkai";
/// What files of the image with another text are called among the volumes.
const IMAGES: &str = "genkai-files";
/// What the container that looks into a copy is called.
pub(super) const LOOKER: &str = "genkai-looks";
/// How long a copy has between the word to end and its end: nobody waits for its answers any more.
const ENDS_WITHIN: i64 = 2;
/// How often it is asked whether it takes connections, seconds.
const PROBED_EVERY: i32 = 1;

/// One copy.
#[derive(Clone, Debug)]
pub(super) struct CopyPlan<'a> {
    /// Its name.
    pub(super) name: String,
    /// The namespace it is made in.
    pub(super) namespace: &'a str,
    /// That of the original.
    pub(super) of: &'a str,
    /// Files with another text than the user's, by their paths in the container.
    pub(super) files: &'a BTreeMap<PathBuf, String>,
    /// Where it is asked whether it takes connections, unless the original says so; none: it is not known yet.
    pub(super) port: Option<u16>,
}

/// Labels of everything that belongs to a copy. None is the user's: no Service of the user's leads to it.
pub(super) fn labels(name: &str) -> BTreeMap<String, String> {
    [("app.kubernetes.io/name", "genkai"), ("app.kubernetes.io/managed-by", "genkai"), (LABEL, name)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The objects of a copy, in the order in which they are created.
pub(super) fn objects(original: &Original, plan: &CopyPlan<'_>) -> (Vec<ConfigMap>, Deployment) {
    let metadata = |name: String| ObjectMeta {
        name: Some(name),
        namespace: Some(plan.namespace.to_owned()),
        labels: Some(labels(&plan.name)),
        ..ObjectMeta::default()
    };
    let names: BTreeMap<&str, String> =
        (1..).zip(original.maps.keys()).map(|(n, map)| (map.as_str(), format!("{}-{n}", plan.name))).collect();
    let maps = original.maps.iter().map(|(map, of)| {
        let mut data = of.data.clone();
        let mounted = plan.files.iter().filter_map(|(path, text)| Some((original.at(path)?, text)));
        for (at, text) in mounted.filter(|(at, _)| at.map == *map) {
            data.get_or_insert_default().insert(at.key.clone(), text.clone());
        }
        ConfigMap { metadata: metadata(names[map.as_str()].clone()), data, immutable: None, ..of.clone() }
    });
    let images = images(original, plan.files);
    let data: BTreeMap<String, String> = images.iter().map(|(key, (_, text))| (key.clone(), (*text).clone())).collect();
    let more = (!data.is_empty()).then(|| ConfigMap {
        metadata: metadata(format!("{}-{IMAGES}", plan.name)),
        data: Some(data),
        ..ConfigMap::default()
    });
    let spec = DeploymentSpec {
        replicas: Some(1),
        revision_history_limit: Some(0),
        selector: LabelSelector {
            match_labels: Some([(LABEL.to_owned(), plan.name.clone())].into()),
            ..LabelSelector::default()
        },
        strategy: Some(DeploymentStrategy { type_: Some("Recreate".to_owned()), rolling_update: None }),
        template: PodTemplateSpec {
            metadata: Some(ObjectMeta { labels: Some(labels(&plan.name)), ..ObjectMeta::default() }),
            spec: Some(pod(original, plan, &names)),
        },
        ..DeploymentSpec::default()
    };
    let deployment = Deployment { metadata: metadata(plan.name.clone()), spec: Some(spec), status: None };
    (maps.chain(more).collect(), deployment)
}

/// Files of the image that a copy has with another text, by their keys in a ConfigMap of genkai's.
fn images<'f>(original: &Original, files: &'f BTreeMap<PathBuf, String>) -> BTreeMap<String, (&'f Path, &'f String)> {
    let own = files.iter().filter(|(path, _)| original.at(path).is_none());
    (1..).zip(own).map(|(n, (path, text))| (format!("file-{n}"), (path.as_path(), text))).collect()
}

fn pod(original: &Original, plan: &CopyPlan<'_>, names: &BTreeMap<&str, String>) -> PodSpec {
    let renamed = |name: &mut String| {
        if let Some(new) = names.get(name.as_str()) {
            name.clone_from(new);
        }
    };
    let mut spec = PodSpec {
        service_account: None,
        service_account_name: None,
        automount_service_account_token: Some(false),
        image_pull_secrets: None,
        hostname: None,
        subdomain: None,
        node_name: None,
        topology_spread_constraints: None,
        termination_grace_period_seconds: Some(ENDS_WITHIN),
        affinity: original
            .spec
            .affinity
            .as_ref()
            .map(|all| Affinity { node_affinity: all.node_affinity.clone(), ..Affinity::default() }),
        ..original.spec.clone()
    };
    let dns: &mut PodDNSConfig = spec.dns_config.get_or_insert_default();
    dns.searches.get_or_insert_default().push(format!("{}.svc.cluster.local", plan.of));
    for map in spec.volumes.iter_mut().flatten().filter_map(|volume| volume.config_map.as_mut()) {
        renamed(&mut map.name);
    }
    spec.volumes.get_or_insert_default().push(Volume {
        name: VOLUME.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    });
    for container in &mut spec.containers {
        for from in container.env_from.iter_mut().flatten().filter_map(|from| from.config_map_ref.as_mut()) {
            renamed(&mut from.name);
        }
        let values = container.env.iter_mut().flatten().filter_map(|one| one.value_from.as_mut());
        values.filter_map(|from| from.config_map_key_ref.as_mut()).for_each(|key| renamed(&mut key.name));
        for port in container.ports.iter_mut().flatten() {
            port.host_port = None;
        }
        if container.name == original.container {
            serving(container, plan.port);
            for (key, (path, _)) in images(original, plan.files) {
                container.volume_mounts.get_or_insert_default().push(VolumeMount {
                    name: IMAGES.to_owned(),
                    mount_path: path.to_string_lossy().into_owned(),
                    sub_path: Some(key),
                    ..VolumeMount::default()
                });
            }
        }
    }
    if !images(original, plan.files).is_empty() {
        spec.volumes.get_or_insert_default().push(Volume {
            name: IMAGES.to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: format!("{}-{IMAGES}", plan.name),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        });
    }
    spec
}

/// The container that serves: with a folder for its log, and asked whether it takes connections.
fn serving(container: &mut Container, port: Option<u16>) {
    container.volume_mounts.get_or_insert_default().push(VolumeMount {
        name: VOLUME.to_owned(),
        mount_path: FOLDER.to_owned(),
        ..VolumeMount::default()
    });
    if let Some(port) = port.filter(|_| container.readiness_probe.is_none()) {
        container.readiness_probe = Some(Probe {
            tcp_socket: Some(TCPSocketAction { port: IntOrString::Int(port.into()), host: None }),
            period_seconds: Some(PROBED_EVERY),
            ..Probe::default()
        });
    }
}

/// The container that looks into a copy whose own image has no shell: it sees the processes of the one that serves (`targetContainerName`), as the same
/// user, and waits until its input ends.
pub(super) fn looker(original: &Original, image: &str) -> EphemeralContainer {
    EphemeralContainer {
        name: LOOKER.to_owned(),
        image: Some(image.to_owned()),
        command: Some(vec!["sh".to_owned()]),
        stdin: Some(true),
        target_container_name: Some(original.container.clone()),
        security_context: original.served().and_then(|one| one.security_context.clone()),
        ..EphemeralContainer::default()
    }
}

/// Where a copy is not like the original, but for names.
pub(super) fn unlike(original: &Original, of: &str, look: Option<&str>) -> Vec<Unlike> {
    let mut all = Vec::new();
    let mut take = |from: String, to: &str| all.push(Unlike { from, to: to.to_owned() });
    let spec = &original.spec;
    if let Some(account) = &spec.service_account_name {
        take(format!("serviceAccountName: {account}"), "(the namespace's own, without a token)");
    }
    if spec.image_pull_secrets.as_ref().is_some_and(|all| !all.is_empty()) {
        take("imagePullSecrets".to_owned(), "(none: the image is one that the node has, or that anybody can pull)");
    }
    if !original.marks.is_empty() {
        take(format!("annotations and labels of its pods: {}", original.marks.join(", ")), "(none)");
    }
    let affinity = spec.affinity.as_ref();
    if affinity.is_some_and(|all| all.pod_affinity.is_some() || all.pod_anti_affinity.is_some()) {
        take("affinity to other pods".to_owned(), "(none)");
    }
    if spec.topology_spread_constraints.is_some() {
        take("topologySpreadConstraints".to_owned(), "(none)");
    }
    if spec.hostname.is_some() || spec.subdomain.is_some() {
        take("hostname, subdomain".to_owned(), "(none)");
    }
    if spec.containers.iter().flat_map(|one| one.ports.iter().flatten()).any(|port| port.host_port.is_some()) {
        take("hostPort".to_owned(), "(none: the load goes to the pod itself)");
    }
    let grace = spec.termination_grace_period_seconds.unwrap_or(30);
    take(format!("terminationGracePeriodSeconds: {grace}"), &ENDS_WITHIN.to_string());
    take("dnsConfig.searches".to_owned(), &format!("with {of}.svc.cluster.local, as names were of that namespace"));
    take(String::new(), &format!("an empty folder {FOLDER} for the error log"));
    if let Some(image) = look {
        take(String::new(), &format!("an ephemeral container {LOOKER} (image {image}) that sees its processes"));
    }
    if original.served().is_some_and(|one| one.readiness_probe.is_none()) {
        take("no readinessProbe".to_owned(), "readinessProbe: tcpSocket, where the load goes");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_its_own_names_files_and_folder_and_nothing_of_its_user_s() {
        let spec: PodSpec = serde_json::from_value(serde_json::json!({
            "serviceAccountName": "shop", "imagePullSecrets": [{"name": "s"}], "nodeSelector": {"disk": "ssd"},
            "affinity": {"podAntiAffinity": {}},
            "containers": [
                {"name": "nginx", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}],
                    "resources": {"limits": {"cpu": "500m"}},
                    "volumeMounts": [{"name": "main", "mountPath": "/etc/nginx/nginx.conf", "subPath": "nginx.conf"}]},
                {"name": "side", "image": "j", "envFrom": [{"configMapRef": {"name": "a"}}]}
            ],
            "volumes": [{"name": "main", "configMap": {"name": "a"}}]
        }))
        .unwrap();
        let map: ConfigMap =
            serde_saphyr::from_str("metadata: {name: a}\nimmutable: true\ndata: {nginx.conf: one}").unwrap();
        let original = Original::of(spec, "nginx".to_owned(), [("a".to_owned(), map)].into());
        let files = [("/etc/nginx/nginx.conf", "two"), ("/etc/nginx/mime.types", "three")];
        let files = files.map(|(path, text)| (PathBuf::from(path), text.to_owned())).into();
        let plan = CopyPlan { name: "genkai-1".to_owned(), namespace: "n", of: "web", files: &files, port: Some(8080) };
        let (maps, deployment) = objects(&original, &plan);
        let told: Vec<_> =
            maps.iter().map(|map| (map.metadata.name.as_deref().unwrap(), map.data.clone().unwrap())).collect();
        let data = |key: &str, text: &str| BTreeMap::from([(key.to_owned(), text.to_owned())]);
        assert_eq!(
            told,
            [("genkai-1-1", data("nginx.conf", "two")), ("genkai-1-genkai-files", data("file-1", "three"))]
        );
        assert_eq!(maps[0].immutable, None);
        let pod = deployment.spec.unwrap().template.spec.unwrap();
        assert_eq!(
            (pod.service_account_name, pod.image_pull_secrets, pod.automount_service_account_token),
            (None, None, Some(false))
        );
        assert_eq!(pod.node_selector.unwrap()["disk"], "ssd", "it goes where the original may go");
        assert_eq!(pod.dns_config.unwrap().searches.unwrap(), ["web.svc.cluster.local"]);
        let volumes = pod.volumes.unwrap();
        let names: Vec<_> = volumes.iter().filter_map(|one| Some(&*one.config_map.as_ref()?.name)).collect();
        assert_eq!(names, ["genkai-1-1", "genkai-1-genkai-files"]);
        let [serves, side] = &pod.containers[..] else { panic!("both") };
        assert_eq!(serves.resources.as_ref().unwrap().limits.as_ref().unwrap()["cpu"].0, "500m");
        assert_eq!(serves.ports.as_ref().unwrap()[0].host_port, None);
        let mounts: Vec<_> = serves.volume_mounts.iter().flatten().map(|mount| mount.mount_path.as_str()).collect();
        assert_eq!(mounts, ["/etc/nginx/nginx.conf", FOLDER, "/etc/nginx/mime.types"]);
        assert!(serves.readiness_probe.is_some() && side.readiness_probe.is_none() && side.volume_mounts.is_none());
        assert_eq!(side.env_from.as_ref().unwrap()[0].config_map_ref.as_ref().unwrap().name, "genkai-1-1");
        let told: Vec<String> = unlike(&original, "web", None).into_iter().map(|one| one.from).collect();
        for what in
            ["serviceAccountName: shop", "imagePullSecrets", "affinity to other pods", "hostPort", "no readinessProbe"]
        {
            assert!(told.iter().any(|one| one == what), "{what}: {told:?}");
        }
    }
}
