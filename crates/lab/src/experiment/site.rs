//! An experiment on a server in a Kubernetes cluster: the same plan as on one machine, on a site that is made for it there.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use genkai_engine::StopFlag;
use genkai_kubernetes::server::{ApplicationPlan, NoCopy, ServerPlan, Site};
use genkai_model::plan::{Backend, ClusterServer, ConfigSource, Plan, System};
use genkai_model::units::Span;
use genkai_targets::{catalog, embedded};

use super::slow_application;
use crate::error::LabError;
use crate::pod::told;

/// Where the application listens.
const PORT: u16 = 8080;

/// Where a site is made, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// A context of the kubeconfig; none: the current one.
    pub context: Option<String>,
    /// The image of the product under test, whose own command starts it; none: that of its name.
    pub product: Option<String>,
    /// The image that holds this genkai, which is the application.
    pub application: String,
    /// How long a pod may take to be ready.
    pub wait: Span,
}

/// Makes a site for `plan` in a cluster, and the plan of the same experiment there. The site is gone once it is dropped.
///
/// # Errors
/// When the cluster does not let it be, or the application does not come in time. Nothing is left then.
pub fn open(plan: Plan, images: &Images, stop: &StopFlag) -> Result<(Site, Plan), LabError> {
    let none = |e| match e {
        NoCopy::Asked => LabError::Interrupted,
        NoCopy::Failed(e) => told(e).into(),
        NoCopy::Ended(words) => LabError::Environment(words),
    };
    let inside = catalog::inside(&plan.system.product)?;
    let any = SocketAddr::from((IpAddr::from([0, 0, 0, 0]), PORT)).to_string();
    let application = ApplicationPlan {
        context: images.context.clone(),
        image: images.application.clone(),
        arguments: embedded::arguments(&slow_application(), &any),
        port: PORT,
        wait: Duration::from_nanos(images.wait.0),
    };
    let site = Site::open(&application, &|| stop.is_stopped()).map_err(none)?;
    let address = SocketAddr::from((site.address(), PORT));
    let server = ServerPlan {
        name: inside.product.to_owned(),
        image: images.product.clone().unwrap_or_else(|| inside.product.to_owned()),
        file: inside.main.to_owned(),
        text: (inside.plain)(address),
    };
    site.serve(&server).map_err(|e| LabError::from(told(e)))?;
    let config = ConfigSource::Cluster(ClusterServer {
        context: images.context.clone(),
        namespace: site.namespace().to_owned(),
        deployment: server.name,
        copies: Some(site.namespace().to_owned()),
        wait: images.wait,
        ..ClusterServer::default()
    });
    let system =
        System { config, backend: Backend::Kept, allow_remote: vec![address.ip().to_string()], ..plan.system.clone() };
    // Which application it is decides what the figures can be compared with.
    let title = format!("{} in a cluster, before genkai's embedded application", plan.title);
    Ok((site, Plan { title, system, ..plan }))
}
