//! `--on kubernetes:...`: what stands behind the number of pods; `--server kubernetes:...`: a server in a cluster.

use std::str::FromStr;

use genkai_lab::experiment::site::Images;
use genkai_model::load::{PodPlace, Way};
use genkai_model::plan::ClusterServer;
use genkai_model::units::Span;

/// How long pods may take to come, unless it is said.
const WAIT: Span = Span::from_secs(60);

/// What stands behind the number of pods.
///
/// # Errors
/// When that cannot be.
pub(crate) fn read(options: Option<&str>) -> Result<PodPlace, String> {
    let mut cluster = PodPlace {
        image: format!("genkai:{}", env!("CARGO_PKG_VERSION")),
        cpu: "1".to_owned(),
        memory: "512Mi".to_owned(),
        wait: WAIT,
        ..PodPlace::default()
    };
    for (key, value) in pairs(options)? {
        let value = value.to_owned();
        match key {
            "namespace" => cluster.namespace = Some(namespace(value)?),
            "context" if !value.is_empty() => cluster.context = Some(value),
            "image" => cluster.image = image(value)?,
            "cpu" => cluster.cpu = amount(value)?,
            "memory" => cluster.memory = amount(value)?,
            "wait" => cluster.wait = value.parse().map_err(|e| format!("wait={value}: {e}"))?,
            _ => {
                let known = "namespace=, image=, context=, cpu=, memory= and wait=";
                return Err(format!("`{key}`: behind the number of pods, {known} are known"));
            }
        }
    }
    Ok(cluster)
}

/// Options `KEY=VALUE` with commas between, each once.
fn pairs(options: Option<&str>) -> Result<Vec<(&str, &str)>, String> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for option in options.into_iter().flat_map(|options| options.split(',')) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        if all.iter().any(|(seen, _)| *seen == key) {
            return Err(format!("`{key}=` stands twice"));
        }
        all.push((key, value));
    }
    Ok(all)
}

/// A server in a cluster, as `--server` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerFlag(pub(crate) ClusterServer);

impl FromStr for ServerFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerFlag, String> {
        let wanted = || "write kubernetes:NAMESPACE/deployment/NAME".to_owned();
        let (place, options) = text.split_once(',').map_or((text, None), |(place, rest)| (place, Some(rest)));
        let place = place.strip_prefix("kubernetes:").ok_or_else(wanted)?;
        let [namespace_of, kind, name] = place.split('/').collect::<Vec<_>>()[..] else { return Err(wanted()) };
        if kind != "deployment" {
            return Err(format!("`{kind}`: only a deployment can be put to the test; {}", wanted()));
        }
        let mut server = ClusterServer {
            namespace: namespace(namespace_of.to_owned())?,
            deployment: object(name)?,
            wait: WAIT,
            ..ClusterServer::default()
        };
        for (key, value) in pairs(options)? {
            match key {
                "container" => server.container = Some(object(value)?),
                "copies" => server.copies = Some(namespace(value.to_owned())?),
                "context" if !value.is_empty() => server.context = Some(value.to_owned()),
                "ingress" => server.ingress = Some(namespace(value.to_owned())?),
                "look" => server.look = Some(image(value.to_owned())?),
                "wait" => server.wait = value.parse().map_err(|e| format!("wait={value}: {e}"))?,
                _ => {
                    let known = "container=, copies=, context=, ingress=, look= and wait=";
                    return Err(format!("`{key}`: behind the name, {known} are known"));
                }
            }
        }
        Ok(ServerFlag(server))
    }
}

/// Where an experiment makes its servers in a cluster, as its `--server` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteFlag(pub(crate) Images);

impl FromStr for SiteFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<SiteFlag, String> {
        let (place, options) = text.split_once(',').map_or((text, None), |(place, rest)| (place, Some(rest)));
        if place != "kubernetes" {
            return Err("write kubernetes, or kubernetes,product=IMAGE,image=IMAGE".to_owned());
        }
        let mut images = Images {
            context: None,
            product: None,
            application: format!("genkai:{}", env!("CARGO_PKG_VERSION")),
            wordpress: None,
            database: None,
            wait: WAIT,
        };
        for (key, value) in pairs(options)? {
            match key {
                "product" => images.product = Some(image(value.to_owned())?),
                "image" => images.application = image(value.to_owned())?,
                "wordpress" => images.wordpress = Some(image(value.to_owned())?),
                "database" => images.database = Some(image(value.to_owned())?),
                "context" if !value.is_empty() => images.context = Some(value.to_owned()),
                "wait" => images.wait = value.parse().map_err(|e| format!("wait={value}: {e}"))?,
                _ => {
                    let known = "product=, image=, wordpress=, database=, context= and wait=";
                    return Err(format!("`{key}`: behind kubernetes, {known} are known"));
                }
            }
        }
        Ok(SiteFlag(images))
    }
}

/// What `kubernetes manifest` takes: a server, or the site of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnyServer {
    /// A server of the user's.
    Named(Box<ClusterServer>),
    /// Servers that an experiment makes.
    Site(Box<Images>),
}

impl FromStr for AnyServer {
    type Err = String;

    fn from_str(text: &str) -> Result<AnyServer, String> {
        if text == "kubernetes" || text.starts_with("kubernetes,") {
            return text.parse::<SiteFlag>().map(|flag| AnyServer::Site(Box::new(flag.0)));
        }
        text.parse::<ServerFlag>().map(|flag| AnyServer::Named(Box::new(flag.0)))
    }
}

/// A name of an object or a container, as in RFC 1123.
fn object(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let good = (1..=253).contains(&text.len()) && text.chars().all(inner) && !text.starts_with(['-', '.']);
    if good { Ok(text.to_owned()) } else { Err(format!("`{text}` is not the name of an object in a cluster")) }
}

/// A label as in RFC 1123, which names of namespaces are.
fn namespace(text: String) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good =
        (1..=63).contains(&text.len()) && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-');
    if good { Ok(text) } else { Err(format!("`{text}` is not the name of a namespace")) }
}

/// The name of an image, as far as its letters tell.
pub(crate) fn image(text: String) -> Result<String, String> {
    let good = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/:@+".contains(c));
    if good { Ok(text) } else { Err(format!("`{text}` is not the name of an image")) }
}

/// An amount as Kubernetes writes it, more than none.
fn amount(text: String) -> Result<String, String> {
    const SUFFIXES: [&str; 10] = ["m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", ""];
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let good = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.parse::<f64>().is_ok_and(|amount| amount.is_finite() && amount > 0.0)
        && SUFFIXES.contains(&&text[digits.len()..]);
    if good { Ok(text) } else { Err(format!("`{text}`: an amount is wanted, e.g. 500m, 2 or 512Mi")) }
}

/// The way to a pod.
pub(crate) fn pod(cluster: &PodPlace, index: u16) -> Way {
    let parts = [cluster.context.as_deref(), cluster.namespace.as_deref()];
    let of: String = parts.into_iter().flatten().map(|part| format!("{part}/")).collect();
    Way::Pod { cluster: cluster.clone(), index, name: format!("pod {of}{index}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_experiments_are_read() {
        let read = |text: &str| text.parse::<SiteFlag>().map(|flag| flag.0);
        let plain = read("kubernetes").unwrap();
        assert!(!plain.names_site() && read("kubernetes,database=r/db:1").unwrap().names_site());
        assert_eq!((plain.product, plain.context, plain.wait), (None, None, WAIT));
        let full = read("kubernetes,product=r/web:1,image=r/genkai:1,context=c,wait=5s").unwrap();
        assert_eq!((full.product.as_deref(), full.application.as_str()), (Some("r/web:1"), "r/genkai:1"));
        for (text, words) in [
            ("kubernetes:web/deployment/shop", "write kubernetes"),
            ("kubernetes,pods=2", "product=, image=, wordpress=, database=, context= and wait="),
            ("kubernetes,product=a,product=b", "stands twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn servers_are_read() {
        let read = |text: &str| text.parse::<ServerFlag>().map(|flag| flag.0);
        let plain = read("kubernetes:web/deployment/shop").unwrap();
        assert_eq!(plain.to_string(), "kubernetes:web/deployment/shop");
        assert_eq!((plain.container, plain.copies, plain.wait), (None, None, WAIT));
        let full = read("kubernetes:web/deployment/shop,container=nginx,copies=load,context=c,wait=5s").unwrap();
        assert_eq!((full.container.as_deref(), full.copies.as_deref()), (Some("nginx"), Some("load")));
        let seen =
            read("kubernetes:web/deployment/shop,ingress=ingress-nginx,look=registry.example/busybox:1").unwrap();
        assert_eq!(
            (seen.ingress.as_deref(), seen.look.as_deref()),
            (Some("ingress-nginx"), Some("registry.example/busybox:1"))
        );
        for (text, words) in [
            ("web/deployment/shop", "write kubernetes:NAMESPACE/deployment/NAME"),
            ("kubernetes:web/shop", "write kubernetes:NAMESPACE/deployment/NAME"),
            ("kubernetes:web/statefulset/shop", "only a deployment"),
            ("kubernetes:Web/deployment/shop", "not the name of a namespace"),
            ("kubernetes:web/deployment/", "not the name of an object"),
            ("kubernetes:web/deployment/a,pods=2", "container=, copies=, context=, ingress=, look= and wait="),
            ("kubernetes:web/deployment/a,wait=1s,wait=2s", "stands twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
