//! Who stands before a server of the user's: Services that select its pods, Ingresses that lead to these. Nobody of them is in the way of the
//! load, which goes to the pod of a copy: what they have is told, not judged. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressBackend};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::api::clean;

/// What `kubectl` keeps of itself in annotations begins so.
const KUBECTL: &str = "kubectl.kubernetes.io/";
/// Characters of an annotation that are told.
const TOLD: usize = 80;
/// The annotation that named the class before `ingressClassName` did.
const CLASS: &str = "kubernetes.io/ingress.class";

/// What was seen of what stands before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Front {
    /// The Services of its namespace; the error is why they were not seen.
    pub(super) services: Seen<Service>,
    /// The Ingresses of its namespace.
    pub(super) ingresses: Seen<Ingress>,
}

/// Objects, or why they were not seen.
type Seen<T> = Result<Vec<T>, String>;

/// Who is in the path of its users, as sentences; `labels` are those of its pods, `namespace` is theirs.
pub(super) fn told(front: &Front, namespace: &str, labels: &BTreeMap<String, String>) -> Vec<String> {
    let services = match &front.services {
        Ok(all) => all,
        Err(why) => {
            return vec![format!("which Services and Ingresses lead to its pods was not seen: {}", clean(why))];
        }
    };
    let own: Vec<&Service> = services.iter().filter(|one| selects(one, labels)).collect();
    if own.is_empty() {
        return vec![format!(
            "no Service in the namespace {namespace} selects its pods; no Ingress leads to them by one"
        )];
    }
    let names: Vec<&str> = own.iter().filter_map(|one| one.metadata.name.as_deref()).collect();
    let mut all: Vec<String> = own.iter().map(|one| service(one)).collect();
    match &front.ingresses {
        Err(why) => all.push(format!("which Ingresses lead to them was not seen: {}", clean(why))),
        Ok(ingresses) => {
            let leads = |one: &&Ingress| backends(one).iter().any(|(_, backend)| names.contains(&&**backend));
            let of: Vec<String> = ingresses.iter().filter(leads).map(|one| ingress(one, &names)).collect();
            if of.is_empty() {
                all.push(format!("no Ingress in the namespace {namespace} leads to them"));
            }
            all.extend(of);
        }
    }
    all
}

/// Whether a Service leads to pods with these labels. One without a selector leads where somebody else says.
fn selects(service: &Service, labels: &BTreeMap<String, String>) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|all| !all.is_empty() && all.iter().all(|(key, value)| labels.get(key) == Some(value)))
}

fn service(one: &Service) -> String {
    let name = clean(one.metadata.name.as_deref().unwrap_or("?"));
    let spec = one.spec.clone().unwrap_or_default();
    let headless = spec.cluster_ip.as_deref() == Some("None");
    let kind = if headless { "headless" } else { spec.type_.as_deref().unwrap_or("ClusterIP") };
    let ports: Vec<String> = spec.ports.iter().flatten().map(port).collect();
    let mut text = format!("the Service {name} ({}: {}) leads to its pods", clean(kind), ports.join(", "));
    if spec.session_affinity.as_deref() == Some("ClientIP") {
        text += ", and always leads one client's address to the same one (sessionAffinity: ClientIP)";
    }
    if spec.external_traffic_policy.as_deref() == Some("Local") {
        text += "; from outside only those on the node that was asked (externalTrafficPolicy: Local)";
    }
    text
}

fn port(one: &ServicePort) -> String {
    let to = match &one.target_port {
        Some(IntOrString::Int(port)) => port.to_string(),
        Some(IntOrString::String(name)) => clean(name),
        None => one.port.to_string(),
    };
    let node = one.node_port.map(|port| format!(", node port {port}")).unwrap_or_default();
    format!("{} -> {to}{node}", one.port)
}

/// The Services that an Ingress leads to, each with what is asked of it.
fn backends(one: &Ingress) -> Vec<(String, String)> {
    let spec = one.spec.clone().unwrap_or_default();
    let name = |backend: &IngressBackend| backend.service.as_ref().map(|service| service.name.clone());
    let default = spec.default_backend.as_ref().and_then(name).map(|name| ("everything else".to_owned(), name));
    let of_rules = spec.rules.into_iter().flatten().flat_map(|rule| {
        let host = rule.host.unwrap_or_else(|| "*".to_owned());
        let paths = rule.http.map(|http| http.paths).unwrap_or_default();
        let asked = move |path: HTTPIngressPath| {
            let at = format!("{host}{}", path.path.as_deref().unwrap_or("/"));
            name(&path.backend).map(|name| (at, name))
        };
        paths.into_iter().filter_map(asked).collect::<Vec<_>>()
    });
    of_rules.chain(default).collect()
}

/// An annotation with its value, where that is one word and no secret by its name: pieces of configurations may hold anything.
fn annotation(key: &str, value: &str) -> String {
    let secret =
        ["snippet", "auth", "secret", "token", "password", "header", "cookie"].iter().any(|word| key.contains(word));
    let value = value.trim();
    if secret || value.contains(char::is_whitespace) || value.chars().count() > TOLD {
        return format!("{key} (not shown)");
    }
    format!("{key}: {}", clean(value))
}

fn ingress(one: &Ingress, services: &[&str]) -> String {
    let name = clean(one.metadata.name.as_deref().unwrap_or("?"));
    let annotations = one.metadata.annotations.clone().unwrap_or_default();
    let class = one.spec.as_ref().and_then(|spec| spec.ingress_class_name.clone());
    let class = class.or_else(|| annotations.get(CLASS).cloned());
    let class = class.map_or("without a class".to_owned(), |class| format!("class {}", clean(&class)));
    let led: Vec<String> = backends(one)
        .into_iter()
        .filter(|(_, service)| services.contains(&service.as_str()))
        .map(|(at, service)| format!("{} to {}", clean(&at), clean(&service)))
        .collect();
    let tls = if one.spec.as_ref().is_some_and(|spec| spec.tls.iter().flatten().next().is_some()) {
        ", with TLS"
    } else {
        ""
    };
    let set: Vec<String> = annotations
        .iter()
        .filter(|(key, _)| !key.starts_with(KUBECTL) && *key != CLASS)
        .map(|(key, value)| annotation(&clean(key), value))
        .collect();
    let set = if set.is_empty() { String::new() } else { format!("; its annotations: {}", set.join(", ")) };
    format!("the Ingress {name} ({class}{tls}) leads {}{set}", led.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
        serde_saphyr::from_str(text).unwrap()
    }

    fn labels() -> BTreeMap<String, String> {
        [("app", "shop"), ("tier", "web")].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn services_that_select_its_pods_and_ingresses_to_them_are_told_and_no_others() {
        let services = [
            "metadata: {name: shop}\nspec: {selector: {app: shop}, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: web}]}",
            "metadata: {name: node}\nspec: {type: NodePort, selector: {app: shop, tier: web}, ports: [{port: 81, nodePort: 30080}]}",
            "metadata: {name: other}\nspec: {selector: {app: shop, tier: db}, ports: [{port: 82}]}",
            "metadata: {name: bare}\nspec: {ports: [{port: 83}]}",
        ];
        let ingresses = [
            "metadata: {name: shop-in, annotations: {proxy.example/limit-connections: '20', kubectl.kubernetes.io/x: y}}\n\
             spec:\n  ingressClassName: nginx\n  rules:\n  - host: shop.example\n    http:\n      paths:\n      \
             - {path: /, pathType: Prefix, backend: {service: {name: shop}}}\n      \
             - {path: /db, pathType: Prefix, backend: {service: {name: other}}}",
            "metadata: {name: other-in}\nspec: {defaultBackend: {service: {name: other}}}",
            "metadata: {name: all-in}\nspec: {defaultBackend: {service: {name: node}}, tls: [{}]}",
        ];
        let front = Front {
            services: Ok(services.iter().map(|text| read(text)).collect()),
            ingresses: Ok(ingresses.iter().map(|text| read(text)).collect()),
        };
        assert_eq!(
            told(&front, "web", &labels()),
            [
                "the Service shop (ClusterIP: 80 -> web) leads to its pods, and always leads one client's address to the same one \
                 (sessionAffinity: ClientIP)",
                "the Service node (NodePort: 81 -> 81, node port 30080) leads to its pods",
                "the Ingress shop-in (class nginx) leads shop.example/ to shop; its annotations: proxy.example/limit-connections: 20",
                "the Ingress all-in (without a class, with TLS) leads everything else to node",
            ]
        );
    }

    #[test]
    fn what_was_not_seen_is_told_as_that() {
        let no = || Err("you may not list services".to_owned());
        let front = Front { services: no(), ingresses: Ok(Vec::new()) };
        assert_eq!(
            told(&front, "web", &labels()),
            ["which Services and Ingresses lead to its pods was not seen: you may not list services"]
        );
        let shop = "metadata: {name: shop}\nspec: {selector: {app: shop}, clusterIP: None, ports: [{port: 80}]}";
        let ingresses = Err("you may not list ingresses".to_owned());
        let told = |front: &Front| told(front, "web", &labels()).join("; ");
        assert_eq!(
            told(&Front { services: Ok(vec![read(shop)]), ingresses }),
            "the Service shop (headless: 80 -> 80) leads to its pods; which Ingresses lead to them was not seen: you may not list ingresses"
        );
        assert!(
            told(&Front { services: Ok(Vec::new()), ingresses: Ok(Vec::new()) })
                .starts_with("no Service in the namespace web selects its pods")
        );
    }
}
