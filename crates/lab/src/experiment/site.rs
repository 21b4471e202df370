//! An experiment on a server in a Kubernetes cluster: the same plan as on one machine, on a site that is made for it there.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use genkai_engine::StopFlag;
use genkai_kubernetes::server::{ContainerPlan, FILES, NoCopy, PodPlan, ServerPlan, Site, embedded, password};
use genkai_model::plan::{Backend, ClusterServer, ConfigSource, Plan, System};
use genkai_model::units::Span;
use genkai_targets::wordpress::pods::{self, DATABASE_IMAGE, Image, Pod, SITE_IMAGE};
use genkai_targets::{catalog, embedded as origin};

use crate::error::LabError;
use crate::pod::told;

/// Where the application listens.
const PORT: u16 = pods::PORT;
/// An address that is nobody's (RFC 5737): it stands for those that pods are given when they run.
const NOBODY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

/// Where a site is made, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// A context of the kubeconfig; none: the current one.
    pub context: Option<String>,
    /// The image of the product under test, whose own command starts it; none: that of its name.
    pub product: Option<String>,
    /// The image that holds this genkai, which is the embedded application.
    pub application: String,
    /// The image of php-fpm with WordPress; none: [`SITE_IMAGE`].
    pub wordpress: Option<String>,
    /// The image of its database; none: [`DATABASE_IMAGE`].
    pub database: Option<String>,
    /// How long a pod may take to be ready.
    pub wait: Span,
}

impl Images {
    /// Whether an image of WordPress's or of its database is named.
    pub fn names_site(&self) -> bool {
        self.wordpress.is_some() || self.database.is_some()
    }

    fn of(&self, product: &str, image: Image) -> String {
        let known = |named: &Option<String>, usual: &str| named.clone().unwrap_or_else(|| usual.to_owned());
        match image {
            Image::Database => known(&self.database, DATABASE_IMAGE),
            Image::Site => known(&self.wordpress, SITE_IMAGE),
            Image::Web => known(&self.product, product),
        }
    }

    fn pod(&self, product: &str, pod: Pod) -> PodPlan {
        let containers = pod.containers.into_iter().map(|one| ContainerPlan {
            name: one.name.to_owned(),
            image: self.of(product, one.image),
            command: vec!["sh".to_owned(), format!("{FILES}/{}", one.script)],
            port: one.port,
        });
        PodPlan { name: pod.name.to_owned(), containers: containers.collect(), files: pod.files, secret: pod.secret }
    }
}

/// Whether the application of a plan has a secret: a password of its database.
pub fn has_secret(plan: &Plan) -> bool {
    matches!(plan.system.backend, Backend::WordPress(_))
}

/// What stands behind the server: each pod may be known only when the one before it has an address.
struct Application<'a> {
    images: &'a Images,
    plan: &'a Plan,
    password: String,
}

impl Application<'_> {
    /// The first pod.
    fn first(&self) -> Result<PodPlan, LabError> {
        match &self.plan.system.backend {
            Backend::WordPress(_) => Ok(self.images.pod(&self.plan.system.product, pods::database(&self.password))),
            Backend::Embedded(spec) => {
                let any = SocketAddr::from((IpAddr::from([0, 0, 0, 0]), PORT)).to_string();
                Ok(embedded("application", &self.images.application, origin::arguments(spec, &any), PORT))
            }
            other => Err(LabError::Plan(format!("{other:?} cannot be made in a cluster"))),
        }
    }

    /// The one before it, where there is one.
    fn second(&self, first: IpAddr) -> Option<PodPlan> {
        let Backend::WordPress(site) = &self.plan.system.backend else { return None };
        Some(self.images.pod(&self.plan.system.product, pods::application(first, &self.password, site)))
    }

    /// The server before both.
    fn server(&self, address: IpAddr) -> Result<ServerPlan, LabError> {
        let inside = catalog::inside(&self.plan.system.product)?;
        Ok(ServerPlan {
            name: inside.product.to_owned(),
            image: self.images.of(inside.product, Image::Web),
            file: inside.main.to_owned(),
            text: (inside.plain)(SocketAddr::from((address, PORT)), &self.plan.system.settings)?,
        })
    }
}

/// The pods of a site for `plan`, in the order in which they are made, and the server before them; with an address of nobody's in the place of those
/// that pods are given, and a password that says that it is drawn anew.
///
/// # Errors
/// When the plan's product or application cannot be made in a cluster.
pub fn preview(plan: &Plan, images: &Images) -> Result<(Vec<PodPlan>, ServerPlan), LabError> {
    let application = Application { images, plan, password: "drawn-anew-for-each-run".to_owned() };
    let first = application.first()?;
    let all = std::iter::once(first).chain(application.second(NOBODY)).collect();
    Ok((all, application.server(NOBODY)?))
}

/// Asks a cluster whether a site for `plan` could be made there.
///
/// # Errors
/// When the cluster cannot be reached, or does not let it be.
pub fn check(plan: &Plan, images: &Images) -> Result<(), LabError> {
    Site::check(images.context.as_deref(), has_secret(plan)).map_err(|e| LabError::from(told(e)))
}

/// Makes a site for `plan` in a cluster, and the plan of the same experiment there. The site is gone once it is dropped.
///
/// # Errors
/// When the cluster does not let it be, or a pod does not come in time. Nothing is left then.
pub fn open(plan: Plan, images: &Images, stop: &StopFlag) -> Result<(Site, Plan), LabError> {
    let none = |e| match e {
        NoCopy::Asked => LabError::Interrupted,
        NoCopy::Failed(e) => told(e).into(),
        NoCopy::Ended(words) => LabError::Environment(words),
    };
    let application = Application { images, plan: &plan, password: password() };
    let (first, secret) = (application.first()?, has_secret(&plan));
    let wait = Duration::from_nanos(images.wait.0);
    let site = Site::open(images.context.as_deref(), secret, wait).map_err(|e| LabError::from(told(e)))?;
    let start = |pod: &PodPlan| {
        let hint = if secret {
            format!(
                "name images that the nodes have or can pull: database=, wordpress= and product= (of this pod: {}); wait longer with wait=300s",
                pod.containers.iter().map(|one| one.image.as_str()).collect::<Vec<_>>().join(", ")
            )
        } else {
            format!("the image {} must hold genkai as /genkai (docs/kubernetes.md)", images.application)
        };
        site.start(pod, &hint, &|| stop.is_stopped()).map_err(none)
    };
    let mut address = start(&first)?;
    if let Some(second) = application.second(address) {
        address = start(&second)?;
    }
    let server = application.server(address)?;
    site.serve(&server).map_err(|e| LabError::from(told(e)))?;
    let config = ConfigSource::Cluster(ClusterServer {
        context: images.context.clone(),
        namespace: site.namespace().to_owned(),
        deployment: server.name,
        copies: Some(site.namespace().to_owned()),
        wait: images.wait,
        made: true,
        ..ClusterServer::default()
    });
    // Which application it is decides what the figures can be compared with.
    let behind = if secret { "WordPress" } else { "genkai's embedded application" };
    let title = format!("{} in a cluster, before {behind}", plan.title);
    let system =
        System { config, backend: Backend::Kept, allow_remote: vec![address.to_string()], ..plan.system.clone() };
    Ok((site, Plan { title, system, ..plan }))
}
