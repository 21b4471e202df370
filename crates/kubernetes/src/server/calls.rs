//! The calls that a server and its copies need.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, EphemeralContainer, Namespace, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;

use crate::ClusterError;
use crate::api::{BUFFER, Server};
use crate::manifest::LABEL;

/// How long a command in a pod may take.
const COMMAND: Duration = Duration::from_secs(20);
/// Most bytes of what a command prints, and of what a program printed before it ended.
const PRINTED: u64 = 64 << 20;
/// Longest word of a command that is told.
const WORD: usize = 40;
/// How many lines of what a program printed last are asked for.
const LAST_LINES: i64 = 10;

/// What a command in a container printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// On its standard output.
    pub output: Vec<u8>,
    /// On its standard error.
    pub errors: String,
    /// How it failed; none: it did not.
    pub failed: Option<String>,
}

/// A command as it is told: of a script, its first word.
fn shown(command: &[String]) -> String {
    let words = command.iter().take_while(|word| word.len() <= WORD);
    let shown: Vec<&str> = words.map(String::as_str).collect();
    shown.join(" ") + if shown.len() < command.len() { " ..." } else { "" }
}

/// What is changed of a pod that gets one more container.
#[derive(Debug, Serialize)]
struct Joins<'a> {
    spec: JoinsSpec<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JoinsSpec<'a> {
    ephemeral_containers: [&'a EphemeralContainer; 1],
}

impl Server {
    pub(super) fn deployments(&self, namespace: &str) -> Api<Deployment> {
        Api::namespaced(self.client(), namespace)
    }

    pub(super) fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client(), namespace)
    }

    pub(super) fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client(), namespace)
    }

    pub(super) fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client())
    }

    fn pods_in(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client(), namespace)
    }

    /// An object of this name, if there is one.
    pub(super) fn object<K>(&self, of: &Api<K>, what: &str, name: &str) -> Result<Option<K>, ClusterError>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        self.call(&format!("cannot read the {what} {name}"), of.get_opt(name))
    }

    /// Creates an object. `refused` is set where the server says that there is none: any other failure may have made one.
    pub(super) fn made<K>(&self, of: &Api<K>, what: &str, object: &K, refused: &mut bool) -> Result<(), ClusterError>
    where
        K: Clone + DeserializeOwned + Serialize + Debug,
    {
        let parameters = PostParams::default();
        let made = async {
            let made = of.create(&parameters, object).await;
            *refused = matches!(&made, Err(kube::Error::Api(status)) if (400..500).contains(&status.code));
            made
        };
        self.call(&format!("cannot create the {what}"), made).map(drop)
    }

    /// Deletes an object and what belongs to it; whether there was one.
    pub(super) fn removed<K>(&self, of: &Api<K>, what: &str, name: &str) -> Result<bool, ClusterError>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        let how = DeleteParams::background();
        let gone = async {
            match of.delete(name, &how).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
                other => other.map(|_| true),
            }
        };
        self.call(&format!("cannot delete the {what} {name}"), gone)
    }

    /// The pods of a copy.
    pub(super) fn pods_of(&self, namespace: &str, name: &str) -> Result<Vec<Pod>, ClusterError> {
        let (pods, of) = (self.pods_in(namespace), ListParams::default().labels(&format!("{LABEL}={name}")));
        self.call("cannot list the pods", pods.list(&of)).map(|list| list.items)
    }

    /// Pods with these labels.
    pub(super) fn pods_labelled(&self, namespace: &str, labels: &str) -> Result<Vec<Pod>, ClusterError> {
        let (pods, of) = (self.pods_in(namespace), ListParams::default().labels(labels));
        self.call("cannot list the pods", pods.list(&of)).map(|list| list.items)
    }

    /// The Services of a namespace.
    pub(super) fn services(&self, namespace: &str) -> Result<Vec<Service>, ClusterError> {
        let services: Api<Service> = Api::namespaced(self.client(), namespace);
        self.call("cannot list the Services", services.list(&ListParams::default())).map(|list| list.items)
    }

    /// The Ingresses of a namespace.
    pub(super) fn ingresses(&self, namespace: &str) -> Result<Vec<Ingress>, ClusterError> {
        let ingresses: Api<Ingress> = Api::namespaced(self.client(), namespace);
        self.call("cannot list the Ingresses", ingresses.list(&ListParams::default())).map(|list| list.items)
    }

    /// Adds a container to a pod that runs.
    pub(super) fn joined(&self, namespace: &str, pod: &str, one: &EphemeralContainer) -> Result<(), ClusterError> {
        let (pods, how) = (self.pods_in(namespace), PatchParams::default());
        let patch = Patch::Strategic(Joins { spec: JoinsSpec { ephemeral_containers: [one] } });
        let what = format!("cannot add a container to the pod {pod}");
        self.call(&what, pods.patch_ephemeral_containers(pod, &how, &patch)).map(drop)
    }

    /// What a program of a pod printed last; of the start before this one with `previous`. Nothing where that cannot be had.
    pub(super) fn printed(&self, namespace: &str, pod: &str, container: &str, previous: bool) -> String {
        let how = LogParams {
            container: Some(container.to_owned()),
            previous,
            tail_lines: Some(LAST_LINES),
            ..LogParams::default()
        };
        let pods = self.pods_in(namespace);
        self.call("cannot read a log", pods.logs(pod, &how)).unwrap_or_default()
    }

    /// Runs a command in a pod, to its end.
    pub(super) fn output(
        &self,
        (namespace, pod, container): (&str, &str, &str),
        command: &[String],
    ) -> Result<CommandOutput, ClusterError> {
        let how = AttachParams { container: Some(container.to_owned()), stdin: false, ..AttachParams::default() };
        let pods = self.pods_in(namespace);
        let whole = async {
            let mut process = pods.exec(pod, command.to_vec(), &how).await?;
            let (stdout, stderr, status) = (process.stdout(), process.stderr(), process.take_status());
            let read = async |from: Option<_>| {
                let mut bytes = Vec::new();
                if let Some(from) = from {
                    // What was read until an error is what there is.
                    let _ = AsyncReadExt::take(from, PRINTED).read_to_end(&mut bytes).await;
                }
                bytes
            };
            let read = async { tokio::join!(read(stdout), read(stderr)) };
            let ended = async {
                match status {
                    Some(status) => status.await,
                    None => None,
                }
            };
            tokio::pin!(read, ended);
            // (Of a connection that is cut kube 5.0 leaves the streams open: only its word on the end tells.)
            let (output, errors, ended) = tokio::select! {
                (output, errors) = &mut read => (output, errors, ended.await),
                ended = &mut ended => match ended {
                    None => (Vec::new(), Vec::new(), None),
                    ended => { let (output, errors) = read.await; (output, errors, ended) }
                },
            };
            Ok((output, errors, ended))
        };
        let what = format!("cannot run `{}` in the pod {pod}", shown(command));
        let (output, errors, ended) = self.within(COMMAND, &what, whole)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let Some(ended) = ended else {
            return Err(
                self.error(&format!("{what}: the connection to it was cut"), "look whether `kubectl exec` answers")
            );
        };
        let failed = (ended.status.as_deref() != Some("Success")).then(|| ended.message.unwrap_or_default());
        Ok(CommandOutput { output, errors: text(errors), failed })
    }

    /// Starts a command in a pod that is spoken to.
    pub(super) fn spoken(
        &self,
        (namespace, pod, container): (&str, &str, &str),
        command: &[String],
    ) -> Result<AttachedProcess, ClusterError> {
        let how = AttachParams {
            container: Some(container.to_owned()),
            stdin: true,
            max_stdin_buf_size: Some(BUFFER),
            max_stdout_buf_size: Some(BUFFER),
            ..AttachParams::default()
        };
        let pods = self.pods_in(namespace);
        let first = command.first().map_or("", String::as_str);
        self.call(&format!("cannot run `{first}` in the pod {pod}"), pods.exec(pod, command.to_vec(), &how))
    }
}
