//! The calls: each bounded in time, each error one clause.

use std::error::Error as _;
use std::future::Future;
use std::thread;
use std::time::Duration;

use genkai_model::load::PodPlace;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{AttachParams, AttachedProcess, DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::ClusterError;
use crate::manifest::{CONTAINER, LABEL, PERMISSIONS, Permission};

/// How long one call may take. (An API server that restarts is back after some seconds; nobody waits for it.)
const CALL: Duration = Duration::from_secs(10);
/// How long until there is a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Bytes on their way to and from a pod, of each stream.
pub(crate) const BUFFER: usize = 1 << 16;

/// A cluster's API server, and the namespace that everything is in.
pub(crate) struct Server {
    client: Client,
    /// The namespace.
    pub(crate) namespace: String,
    /// Where the API server is, as the kubeconfig has it.
    address: String,
    pub(crate) runtime: Handle,
    /// Ends the runtime when this is dropped.
    _end: oneshot::Sender<()>,
}

/// A runtime on a thread of its own, until the other end is dropped.
fn runtime() -> Result<(Handle, oneshot::Sender<()>), ClusterError> {
    let own = |e: std::io::Error| ClusterError::new(format!("cannot start a thread: {e}"), "free some processes");
    let runtime = Builder::new_current_thread().enable_all().build().map_err(own)?;
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    let drive = move || {
        // An error is the end, too.
        let _ = runtime.block_on(ended);
        runtime.shutdown_background();
    };
    thread::Builder::new().name("kubernetes".into()).spawn(drive).map_err(own)?;
    Ok((handle, end))
}

impl Server {
    /// The API server of a cluster; nothing is sent to it yet.
    ///
    /// # Errors
    /// When no kubeconfig can be read, or it has no such context.
    pub(crate) fn find(cluster: &PodPlace) -> Result<Server, ClusterError> {
        Server::at(cluster.context.as_deref(), cluster.namespace.as_deref())
    }

    /// The API server of a context, for a namespace; nothing is sent to it yet.
    ///
    /// # Errors
    /// As [`Server::find`].
    pub(crate) fn at(context: Option<&str>, namespace: Option<&str>) -> Result<Server, ClusterError> {
        let (runtime, end) = runtime()?;
        let mut config = runtime.block_on(config(context))?;
        config.connect_timeout = Some(CONNECT);
        // What is told of an answer of "try again later" is that; a load does not wait for it.
        config.default_retry = false;
        let namespace = namespace.map_or_else(|| config.default_namespace.clone(), str::to_owned);
        let address = config.cluster_url.to_string();
        let client = runtime.block_on(async { Client::try_from(config) });
        let client = client.map_err(|e| ClusterError::usage(last(&e), "`kubectl config view` shows what is used"))?;
        Ok(Server { client, namespace, address, runtime, _end: end })
    }

    /// What sends the calls.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Waits for one call.
    pub(crate) fn call<T>(
        &self,
        what: &str,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ClusterError> {
        self.within(CALL, what, future)
    }

    pub(crate) fn within<T>(
        &self,
        limit: Duration,
        what: &str,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ClusterError> {
        match self.runtime.block_on(async { timeout(limit, future).await }) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(e)) => Err(self.told(what, &e)),
            Err(_) => Err(self.error(
                &format!("{what}: the API server {} did not answer within {limit:?}", self.address),
                "look whether `kubectl get pods` answers",
            )),
        }
    }

    pub(crate) fn error(&self, why: &str, hint: &str) -> ClusterError {
        ClusterError::new(format!("kubernetes: {}", clean(why)), hint)
    }

    /// The error for a call that the server refused, or that did not get there.
    fn told(&self, what: &str, e: &kube::Error) -> ClusterError {
        let kube::Error::Api(status) = e else {
            let (how, hint) = without_answer(e);
            return self.error(&format!("{what}: the API server {} {how}: {}", self.address, last(e)), hint);
        };
        let hint = match status.code {
            401 => "log in to the cluster again: `kubectl auth whoami` must answer",
            403 if status.message.contains("exceeded quota") => "ask for fewer pods, or less of each",
            403 => "`genkai kubernetes manifest` prints the role that is needed",
            404 => "create the namespace, or name another one: namespace=NAME",
            500 if status.message.contains("error dialing backend") => {
                "the API server does not reach the node that the pod is on: look whether `kubectl exec` answers"
            }
            422 | 400 => "correct the amounts or the image that were asked for",
            _ => "look at the API server",
        };
        self.error(&format!("{what}: {} (HTTP {})", status.message, status.code), hint)
    }

    fn jobs(&self) -> Api<Job> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Whether all that is to be done is allowed.
    ///
    /// # Errors
    /// When it is not, with all that is missing.
    pub(crate) fn check(&self) -> Result<(), ClusterError> {
        let mut missing = Vec::new();
        for one in &PERMISSIONS {
            if !self.may(Some(&self.namespace), one)? {
                missing.push(format!("{} {}", one.verb, one.name()));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let why = format!("in the namespace `{}` you are not allowed to {}", self.namespace, missing.join(", "));
        Err(self.error(&why, "`genkai kubernetes manifest` prints the role that is needed"))
    }

    /// Whether something may be done in a namespace; none: in the whole cluster.
    pub(crate) fn may(&self, namespace: Option<&str>, one: &Permission) -> Result<bool, ClusterError> {
        let attributes = ResourceAttributes {
            group: Some(one.group.to_owned()),
            namespace: namespace.map(str::to_owned),
            resource: Some(one.resource.to_owned()),
            subresource: one.subresource.map(str::to_owned),
            verb: Some(one.verb.to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let api: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let parameters = PostParams::default();
        let answer = self.call("cannot ask what is allowed", api.create(&parameters, &review))?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }

    /// Creates a Job. `refused` is set where the server says that there is none: any other failure may have made one.
    pub(crate) fn create(&self, job: &Job, refused: &mut bool) -> Result<(), ClusterError> {
        let (jobs, parameters) = (self.jobs(), PostParams::default());
        let made = async {
            let made = jobs.create(&parameters, job).await;
            *refused = matches!(&made, Err(kube::Error::Api(status)) if (400..500).contains(&status.code));
            made
        };
        self.call("cannot create the Job", made).map(drop)
    }

    /// Deletes a Job and its pods; whether there was one.
    pub(crate) fn delete(&self, name: &str) -> Result<bool, ClusterError> {
        let (jobs, how) = (self.jobs(), DeleteParams::background());
        let gone = async {
            match jobs.delete(name, &how).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
                other => other.map(|_| true),
            }
        };
        self.call("cannot delete the Job", gone)
    }

    /// The pods of a Job.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Pod>, ClusterError> {
        self.list_within(name, CALL)
    }

    /// The same, of which nobody waits for longer.
    pub(crate) fn list_within(&self, name: &str, limit: Duration) -> Result<Vec<Pod>, ClusterError> {
        let (pods, of) = (self.pods(), ListParams::default().labels(&format!("{LABEL}={name}")));
        self.within(limit, "cannot list the pods", pods.list(&of)).map(|list| list.items)
    }

    /// What the Job controller could not do, in its words.
    pub(crate) fn failures(&self, name: &str) -> Result<Vec<String>, ClusterError> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let of = ListParams::default().fields(&format!("involvedObject.kind=Job,involvedObject.name={name}"));
        let all = self.call("cannot list the events", events.list(&of))?.items;
        let failed = all.into_iter().filter(|event| event.reason.as_deref() == Some("FailedCreate"));
        Ok(failed.filter_map(|event| event.message).collect())
    }

    /// Attaches to the standard streams of a pod.
    pub(crate) fn attach(&self, pod: &str) -> Result<AttachedProcess, ClusterError> {
        let how = AttachParams {
            container: Some(CONTAINER.to_owned()),
            stdin: true,
            max_stdin_buf_size: Some(BUFFER),
            max_stdout_buf_size: Some(BUFFER),
            ..AttachParams::default()
        };
        let pods = self.pods();
        self.call(&format!("cannot attach to the pod {pod}"), pods.attach(pod, &how))
    }
}

/// The configuration of a context; without one, of the kubeconfig's current one, or of the cluster that this runs in.
async fn config(context: Option<&str>) -> Result<Config, ClusterError> {
    const HINT: &str = "`kubectl config get-contexts` lists what there is";
    let wrong = |e: kube::config::KubeconfigError| ClusterError::usage(format!("kubernetes: {e}"), HINT);
    let Some(context) = context else {
        let inferred = Config::infer().await;
        return inferred.map_err(|e| {
            let why = format!("kubernetes: no cluster is known: {e}");
            ClusterError::usage(clean(&why), "name a kubeconfig: KUBECONFIG=FILE, or ~/.kube/config")
        });
    };
    let known = Kubeconfig::read().map_err(wrong)?;
    if !known.contexts.iter().any(|one| one.name == context) {
        let names: Vec<&str> = known.contexts.iter().map(|one| one.name.as_str()).collect();
        let why = format!("kubernetes: the kubeconfig has no context `{context}`; it has: {}", names.join(", "));
        return Err(ClusterError::usage(clean(&why), HINT));
    }
    let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(known, &options).await.map_err(wrong)
}

/// What an error without an answer of the server's own means, and what to do about it.
fn without_answer(e: &kube::Error) -> (&'static str, &'static str) {
    match e {
        kube::Error::Auth(_) => {
            ("gets no proof of who asks", "log in to the cluster again: `kubectl auth whoami` must answer")
        }
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
            ("answers what no API server does", "look at its address: `kubectl config view` shows it")
        }
        kube::Error::UpgradeConnection(_) => (
            "does not switch to WebSocket",
            "it may forbid to attach to pods, or a proxy on the way there lets no WebSocket through",
        ),
        kube::Error::RustlsTls(_) | kube::Error::TlsRequired => {
            ("cannot be spoken to over TLS", "`kubectl config view` shows the certificates that are used")
        }
        _ => ("cannot be reached", "look whether `kubectl get pods` answers"),
    }
}

/// The innermost reason of an error, which is the one that says something.
fn last(e: &kube::Error) -> String {
    let mut last: &dyn std::error::Error = e;
    while let Some(inner) = last.source() {
        last = inner;
    }
    let (whole, inner) = (e.to_string(), last.to_string());
    if whole.ends_with(&inner) || e.source().is_none() { whole } else { inner }
}

/// Text of others without what a terminal obeys, in one line.
pub(crate) fn clean(text: &str) -> String {
    let text = text.trim().replace(['\n', '\r', '\t'], " ");
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
