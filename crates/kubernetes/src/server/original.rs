//! What is read of the user's server, and what of it a copy cannot have. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use genkai_model::plan::ClusterServer;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::ClusterError;
use crate::manifest::yaml;

/// What `kubectl apply` keeps of itself in an object.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What to do where there is no copy in the cluster.
const ELSEWHERE: &str =
    "copy its configuration here and name it with --config: then a private copy runs on this machine";

/// The user's server as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Original {
    pub(super) spec: PodSpec,
    pub(super) container: String,
    pub(super) maps: BTreeMap<String, ConfigMap>,
    mounted: Vec<Mounted>,
    /// Annotations and labels of its pods, of which a copy has none.
    pub(super) marks: Vec<String>,
    /// All labels of its pods.
    pub(super) labels: BTreeMap<String, String>,
}

/// A file that the container has from a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Where the container has it.
    pub path: PathBuf,
    /// The ConfigMap.
    pub map: String,
    /// Its key there.
    pub key: String,
    /// Its text.
    pub text: String,
}

/// Where a copy is not like the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// Of the original.
    pub from: String,
    /// Of the copy.
    pub to: String,
}

/// The pods of a Deployment, as it describes them, and the container in them that serves.
///
/// # Errors
/// What of it a private copy cannot have, or which container is meant is not known.
pub(super) fn template(of: &ClusterServer, deployment: &Deployment) -> Result<(PodSpec, String), ClusterError> {
    let spec = deployment.spec.as_ref().and_then(|spec| spec.template.spec.clone()).unwrap_or_default();
    let names: Vec<&str> = spec.containers.iter().map(|one| one.name.as_str()).collect();
    let container = match (&of.container, &names[..]) {
        (None, [only]) => (*only).to_owned(),
        (None, _) => {
            let why = format!("kubernetes: {of} has several containers: {}", names.join(", "));
            return Err(ClusterError::usage(why, "name the one that serves: container=NAME"));
        }
        (Some(name), all) if all.contains(&name.as_str()) => name.clone(),
        (Some(name), all) => {
            let why = format!("kubernetes: {of} has no container `{name}`; it has: {}", all.join(", "));
            return Err(ClusterError::usage(why, "name the one that serves: container=NAME"));
        }
    };
    let own = || "it has `shareProcessNamespace`: its first process is not that of the container".to_owned();
    let unseen = (of.look.is_some() && spec.share_process_namespace == Some(true)).then(own);
    match lacking(&spec).or(unseen) {
        None => Ok((spec, container)),
        Some(what) => {
            let why = format!("kubernetes: no private copy can be made of {of}: {what}");
            Err(ClusterError::usage(why, ELSEWHERE))
        }
    }
}

/// What a copy in another namespace would not have, or must not do a second time.
fn lacking(spec: &PodSpec) -> Option<String> {
    if let Some(one) = spec.init_containers.iter().flatten().next() {
        return Some(format!("its init container `{}` would run a second time, whatever it does", one.name));
    }
    for (name, of) in [("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc)] {
        if of == Some(true) {
            return Some(format!("it has `{name}`: a copy would share the node with it"));
        }
    }
    spec.volumes.iter().flatten().find_map(volume).or_else(|| spec.containers.iter().find_map(environment))
}

fn volume(one: &Volume) -> Option<String> {
    let kind = match one {
        Volume { config_map: Some(_), .. }
        | Volume { empty_dir: Some(_), .. }
        | Volume { downward_api: Some(_), .. } => {
            return None;
        }
        Volume { secret: Some(_), .. } => "a Secret, which genkai does not read",
        Volume { persistent_volume_claim: Some(_), .. } => "a persistent volume, which a copy must not share",
        Volume { host_path: Some(_), .. } => "a folder of the node, which a copy must not share",
        Volume { projected: Some(_), .. } => "a projected volume, which genkai does not know to copy",
        _ => "of a kind that genkai does not know to copy",
    };
    Some(format!("its volume `{}` is {kind}", one.name))
}

fn environment(container: &Container) -> Option<String> {
    let of =
        |what: &str| format!("container `{}` has {what} from a Secret, which genkai does not read", container.name);
    let secret = |one: &&k8s_openapi::api::core::v1::EnvVar| {
        one.value_from.as_ref().is_some_and(|from| from.secret_key_ref.is_some())
    };
    if let Some(one) = container.env.iter().flatten().find(secret) {
        return Some(of(&format!("the variable `{}`", one.name)));
    }
    container.env_from.iter().flatten().any(|from| from.secret_ref.is_some()).then(|| of("variables"))
}

/// Names of the ConfigMaps that pods have, each with whether it may be missing.
pub(super) fn referenced(spec: &PodSpec) -> BTreeMap<String, bool> {
    let mut all: BTreeMap<String, bool> = BTreeMap::new();
    let mut take = |name: &str, optional: Option<bool>| {
        let optional = optional == Some(true);
        all.entry(name.to_owned()).and_modify(|may| *may &= optional).or_insert(optional);
    };
    for map in spec.volumes.iter().flatten().filter_map(|volume| volume.config_map.as_ref()) {
        take(&map.name, map.optional);
    }
    for container in &spec.containers {
        for from in container.env_from.iter().flatten().filter_map(|from| from.config_map_ref.as_ref()) {
            take(&from.name, from.optional);
        }
        let values = container.env.iter().flatten().filter_map(|one| one.value_from.as_ref());
        for key in values.filter_map(|from| from.config_map_key_ref.as_ref()) {
            take(&key.name, key.optional);
        }
    }
    all
}

impl Original {
    /// Of pods like these, with their ConfigMaps.
    pub(super) fn of(spec: PodSpec, container: String, maps: BTreeMap<String, ConfigMap>) -> Original {
        let mounted = mounted(&spec, &container, &maps);
        Original { spec, container, maps, mounted, marks: Vec::new(), labels: BTreeMap::new() }
    }

    /// The image of the container that serves.
    pub fn image(&self) -> &str {
        self.served().and_then(|one| one.image.as_deref()).unwrap_or_default()
    }

    /// The files that the container that serves has from ConfigMaps.
    pub fn mounted(&self) -> &[Mounted] {
        &self.mounted
    }

    /// The container that serves.
    pub(super) fn served(&self) -> Option<&Container> {
        self.spec.containers.iter().find(|one| one.name == self.container)
    }

    /// The file of a ConfigMap at a path in the container; none: it is the image's, or nobody's.
    pub fn at(&self, path: &Path) -> Option<&Mounted> {
        self.mounted.iter().find(|one| one.path == path)
    }

    /// A ConfigMap of the user's with these texts in the place of its own, by key, as `kubectl apply -f` takes it; and as it is.
    ///
    /// # Errors
    /// When there is no such ConfigMap.
    pub fn manifest(&self, map: &str, texts: &BTreeMap<String, String>) -> Result<(String, String), ClusterError> {
        let Some(before) = self.maps.get(map).map(bare) else {
            return Err(ClusterError::new(
                format!("kubernetes: there is no ConfigMap {map}"),
                "this is a bug in genkai",
            ));
        };
        let mut after = before.clone();
        let data = after.data.get_or_insert_default();
        data.extend(texts.iter().map(|(key, text)| (key.clone(), text.clone())));
        let told = |map: &ConfigMap| yaml(map).map_err(|e| ClusterError::new(e.to_string(), "this is a bug in genkai"));
        Ok((told(&before)?, told(&after)?))
    }
}

/// What of a ConfigMap is its user's: without what the cluster keeps of it.
fn bare(map: &ConfigMap) -> ConfigMap {
    let ObjectMeta { name, namespace, labels, annotations, .. } = map.metadata.clone();
    let annotations = annotations.map(|mut all| {
        all.remove(APPLIED);
        all
    });
    let annotations = annotations.filter(|all| !all.is_empty());
    ConfigMap { metadata: ObjectMeta { name, namespace, labels, annotations, ..ObjectMeta::default() }, ..map.clone() }
}

/// The files that a container has from ConfigMaps.
fn mounted(spec: &PodSpec, container: &str, maps: &BTreeMap<String, ConfigMap>) -> Vec<Mounted> {
    let Some(container) = spec.containers.iter().find(|one| one.name == container) else { return Vec::new() };
    let mut all = Vec::new();
    for mount in container.volume_mounts.iter().flatten() {
        let volume = spec.volumes.iter().flatten().find(|volume| volume.name == mount.name);
        let Some(source) = volume.and_then(|volume| volume.config_map.as_ref()) else { continue };
        let Some(data) = maps.get(&source.name).and_then(|map| map.data.as_ref()) else { continue };
        // Without a list of items each key is a file of its name.
        let files: BTreeSet<(String, String)> = match &source.items {
            Some(items) => items.iter().map(|item| (item.path.clone(), item.key.clone())).collect(),
            None => data.keys().map(|key| (key.clone(), key.clone())).collect(),
        };
        for (file, key) in files {
            let path = match mount.sub_path.as_deref() {
                None | Some("") => Path::new(&mount.mount_path).join(&file),
                Some(one) if one == file => PathBuf::from(&mount.mount_path),
                Some(_) => continue,
            };
            let Some(text) = data.get(&key) else { continue };
            all.push(Mounted { path, map: source.name.clone(), key, text: text.clone() });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn deployment(pod: Value) -> Deployment {
        serde_json::from_value(json!({"metadata": {}, "spec": {"selector": {}, "template": {"spec": pod}}})).unwrap()
    }

    fn of(pod: Value) -> Result<(PodSpec, String), String> {
        let server =
            ClusterServer { namespace: "web".to_owned(), deployment: "shop".to_owned(), ..ClusterServer::default() };
        template(&server, &deployment(pod)).map_err(|e| {
            assert!(e.usage, "{e}");
            e.why
        })
    }

    #[test]
    fn what_a_copy_cannot_have_is_refused_by_name() {
        let container = json!({"name": "nginx"});
        assert_eq!(of(json!({"containers": [container]})).unwrap().1, "nginx");
        let env = |value: Value| json!([{"name": "KEY", "valueFrom": value}]);
        for (pod, words) in [
            (json!({"containers": [container, {"name": "php"}]}), "several containers: nginx, php"),
            (json!({"containers": [container], "volumes": [{"name": "tls", "secret": {}}]}), "`tls` is a Secret"),
            (
                json!({"containers": [container], "volumes": [{"name": "d", "hostPath": {"path": "/"}}]}),
                "a folder of the node",
            ),
            (
                json!({"containers": [container], "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "a"}}]}),
                "a persistent volume",
            ),
            (
                json!({"containers": [container], "volumes": [{"name": "d", "nfs": {"path": "/", "server": "a"}}]}),
                "does not know",
            ),
            (json!({"containers": [container], "hostPID": true}), "`hostPID`"),
            (
                json!({"containers": [{"name": "nginx", "env": env(json!({"secretKeyRef": {"key": "k", "name": "s"}}))}]}),
                "the variable `KEY` from a Secret",
            ),
            (
                json!({"containers": [{"name": "nginx", "envFrom": [{"secretRef": {"name": "s"}}]}]}),
                "variables from a Secret",
            ),
        ] {
            let why = of(pod.clone()).unwrap_err();
            assert!(why.contains(words) && why.contains("kubernetes:web/deployment/shop"), "{pod}: {why}");
        }
    }

    #[test]
    fn files_of_config_maps_are_known_by_their_paths() {
        let pod = json!({
            "containers": [{"name": "nginx", "volumeMounts": [
                {"name": "main", "mountPath": "/etc/nginx/nginx.conf", "subPath": "nginx.conf"},
                {"name": "sites", "mountPath": "/etc/nginx/conf.d"},
                {"name": "empty", "mountPath": "/cache"}
            ], "envFrom": [{"configMapRef": {"name": "words", "optional": true}}]}],
            "volumes": [
                {"name": "main", "configMap": {"name": "a"}},
                {"name": "sites", "configMap": {"name": "b", "items": [{"key": "shop", "path": "shop.conf"}]}},
                {"name": "empty", "emptyDir": {}}
            ]
        });
        let (spec, container) = of(pod).unwrap();
        let expected = [("a", false), ("b", false), ("words", true)].map(|(name, may)| (name.to_owned(), may));
        assert_eq!(referenced(&spec), expected.into());
        let map = |text: &str| serde_saphyr::from_str::<ConfigMap>(text).unwrap();
        let kept = "metadata: {name: a, namespace: web, uid: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: y}}\n\
                    data: {nginx.conf: \"one\\n\", other: two}";
        let maps = [("a", kept), ("b", "metadata: {name: b}\ndata: {shop: three, unused: four}")];
        let original = Original::of(spec, container, maps.map(|(name, text)| (name.to_owned(), map(text))).into());
        let paths: Vec<_> =
            original.mounted().iter().map(|one| (one.path.to_str().unwrap(), &*one.map, &*one.key)).collect();
        assert_eq!(paths, [("/etc/nginx/nginx.conf", "a", "nginx.conf"), ("/etc/nginx/conf.d/shop.conf", "b", "shop")]);
        assert!(original.at(Path::new("/etc/nginx/mime.types")).is_none());

        let changed = [("nginx.conf".to_owned(), "five\n".to_owned())].into();
        let (before, after) = original.manifest("a", &changed).unwrap();
        assert_eq!(before.replace("one", "five"), after);
        let applied = map(&after);
        assert_eq!(
            (applied.metadata.uid, applied.metadata.annotations),
            (None, None),
            "what the cluster keeps is not applied"
        );
        assert_eq!(applied.data.unwrap()["other"], "two");
    }
}
