//! What must be allowed of whoever puts a server in a cluster to the test, and the roles that allow it. Pure.

use genkai_model::plan::ClusterServer;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::manifest::{Permission, RBAC, rules, user};

/// What is read of the user's.
const READ: [Permission; 2] = [Permission::new("get", "apps", "deployments"), Permission::new("get", "", "configmaps")];
/// What is read of what stands before it, where that is allowed.
pub(super) const SERVICES: Permission = Permission::new("list", "", "services");
/// The same of Ingresses.
pub(super) const INGRESSES: Permission = Permission::new("list", "networking.k8s.io", "ingresses");
/// What is done in the whole cluster, where the namespace for copies is genkai's own.
const WHOLE: [Permission; 2] =
    [Permission::new("create", "", "namespaces"), Permission::new("delete", "", "namespaces")];
/// What is done in the namespace for copies.
const OWN: [Permission; 9] = [
    Permission::new("create", "apps", "deployments"),
    Permission::new("get", "apps", "deployments"),
    Permission::new("delete", "apps", "deployments"),
    Permission::new("create", "", "configmaps"),
    Permission::new("delete", "", "configmaps"),
    Permission::new("list", "", "pods"),
    Permission::pods("create", "exec"),
    Permission::pods("get", "exec"),
    Permission::pods("get", "log"),
];
/// What is done beside it where a site has a secret.
const SECRET: Permission = Permission::new("create", "", "secrets");
/// What is done beside it where an image without a shell is looked into.
const LOOK: Permission = Permission::pods("patch", "ephemeralcontainers");
/// What is done where ingress-nginx runs.
const INGRESS: [Permission; 3] =
    [Permission::new("list", "", "pods"), Permission::pods("create", "exec"), Permission::pods("get", "exec")];

/// Where something must be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a namespace that is known.
    Of(String),
    /// In the namespace for copies, which genkai makes.
    Copies,
    /// In the whole cluster.
    Cluster,
}

/// What is needed somewhere.
pub(super) struct Need {
    pub(super) place: Place,
    /// Without these nothing is done.
    pub(super) must: Vec<Permission>,
    /// Without these less is told.
    may: Vec<Permission>,
}

/// All that is needed.
pub(super) fn needs(of: &ClusterServer) -> Vec<Need> {
    let need = |place: Place, must: &[Permission]| Need { place, must: must.to_vec(), may: Vec::new() };
    let mut all = vec![Need { may: vec![SERVICES, INGRESSES], ..need(Place::Of(of.namespace.clone()), &READ) }];
    if of.copies.is_none() {
        all.push(need(Place::Cluster, &WHOLE));
    }
    let mut copies = need(of.copies.clone().map_or(Place::Copies, Place::Of), &OWN);
    copies.must.extend(of.look.as_ref().map(|_| LOOK));
    all.push(copies);
    all.extend(of.ingress.as_ref().map(|name| need(Place::Of(name.clone()), &INGRESS)));
    all
}

/// All that is needed to make a site, and copies of the server in it: it is read there as anybody's, and what of it is made is made there too.
pub(super) fn site_needs(secrets: bool) -> Vec<Need> {
    let mut own = OWN.to_vec();
    own.extend(READ.iter().filter(|one| !OWN.contains(one)));
    own.extend(secrets.then_some(SECRET));
    vec![
        Need { place: Place::Cluster, must: WHOLE.to_vec(), may: Vec::new() },
        Need { place: Place::Copies, must: own, may: vec![SERVICES, INGRESSES] },
    ]
}

/// The role that whoever runs an experiment on a site needs, bound to a user of this name; with `secrets`, where the site has a secret.
pub fn site_roles(secrets: bool, name: &str) -> Roles {
    allow(site_needs(secrets), name)
}

/// The roles that allow all that is done to a server, each with its binding.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    /// In namespaces that are known.
    pub local: Vec<(Role, RoleBinding)>,
    /// In the whole cluster: the namespace for copies has a name that nobody knows before.
    pub whole: Option<(ClusterRole, ClusterRoleBinding)>,
}

/// The roles that whoever runs `tune --server` of this needs, bound to a user of this name.
pub fn roles(of: &ClusterServer, name: &str) -> Roles {
    allow(needs(of), name)
}

fn allow(needs: Vec<Need>, name: &str) -> Roles {
    let mut all = Roles { local: Vec::new(), whole: None };
    let mut whole = Vec::new();
    // Who copies into the server's own namespace, or has its ingress-nginx there, gets one role for both.
    let mut local: Vec<(String, Vec<Permission>)> = Vec::new();
    for need in needs {
        let permissions = need.must.into_iter().chain(need.may);
        match need.place {
            Place::Of(namespace) => match local.iter_mut().find(|(name, _)| *name == namespace) {
                Some((_, known)) => {
                    let new: Vec<Permission> = permissions.filter(|one| !known.contains(one)).collect();
                    known.extend(new);
                }
                None => local.push((namespace, permissions.collect())),
            },
            Place::Copies | Place::Cluster => whole.extend(permissions),
        }
    }
    let role_ref =
        |kind: &str| RoleRef { api_group: RBAC.to_owned(), kind: kind.to_owned(), name: "genkai-server".to_owned() };
    let metadata = |namespace: Option<String>| ObjectMeta {
        name: Some("genkai-server".to_owned()),
        namespace,
        ..ObjectMeta::default()
    };
    for (namespace, permissions) in local {
        let metadata = || metadata(Some(namespace.clone()));
        let role = Role { metadata: metadata(), rules: Some(rules(&permissions)) };
        let binding =
            RoleBinding { metadata: metadata(), role_ref: role_ref("Role"), subjects: Some(vec![user(name)]) };
        all.local.push((role, binding));
    }
    if !whole.is_empty() {
        let role = ClusterRole { metadata: metadata(None), rules: Some(rules(&whole)), ..ClusterRole::default() };
        let binding = ClusterRoleBinding {
            metadata: metadata(None),
            role_ref: role_ref("ClusterRole"),
            subjects: Some(vec![user(name)]),
        };
        all.whole = Some((role, binding));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verbs(rules: &[k8s_openapi::api::rbac::v1::PolicyRule]) -> Vec<String> {
        let one = |rule: &k8s_openapi::api::rbac::v1::PolicyRule| {
            let of = rule.resources.clone().unwrap().join(",");
            rule.verbs.iter().map(move |verb| format!("{verb} {of}")).collect::<Vec<_>>()
        };
        rules.iter().flat_map(one).collect()
    }

    #[test]
    fn roles_allow_what_is_needed_where_it_is_needed() {
        let plain = ClusterServer { namespace: "web".to_owned(), ..ClusterServer::default() };
        let of = roles(&plain, "me");
        let [(reads, binding)] = &of.local[..] else { panic!("one namespace is known") };
        assert_eq!(reads.metadata.namespace.as_deref(), Some("web"));
        assert_eq!(binding.role_ref.kind, "Role");
        assert_eq!(
            verbs(reads.rules.as_ref().unwrap()),
            ["get deployments", "get configmaps", "list services", "list ingresses"]
        );
        let whole = verbs(of.whole.unwrap().0.rules.as_ref().unwrap());
        for wanted in ["create namespaces", "delete namespaces", "create deployments", "create pods/exec"] {
            assert!(whole.iter().any(|one| one == wanted), "{wanted}: {whole:?}");
        }
        assert!(!whole.iter().any(|one| one.contains("ephemeral")), "{whole:?}");

        // A site is read in the namespace in which it is made, and only one with a secret makes any.
        let site = |secrets| verbs(site_roles(secrets, "me").whole.unwrap().0.rules.as_ref().unwrap());
        for wanted in ["create namespaces", "get configmaps", "get deployments", "create pods/exec"] {
            assert_eq!(site(false).iter().filter(|one| *one == wanted).count(), 1, "{wanted}");
        }
        assert!(!site(false).contains(&"create secrets".to_owned()));
        assert!(site(true).contains(&"create secrets".to_owned()));

        // With names for everything, nothing is needed in the whole cluster.
        let named = ClusterServer {
            copies: Some("load".to_owned()),
            ingress: Some("web".to_owned()),
            look: Some("busybox".to_owned()),
            ..plain
        };
        let of = roles(&named, "me");
        assert_eq!(of.whole, None);
        let places: Vec<_> = of.local.iter().map(|(role, _)| role.metadata.namespace.clone().unwrap()).collect();
        assert_eq!(places, ["web", "load"]);
        let copies = verbs(of.local[1].0.rules.as_ref().unwrap());
        assert!(copies.iter().any(|one| one == "patch pods/ephemeralcontainers"), "{copies:?}");
        let own = verbs(of.local[0].0.rules.as_ref().unwrap());
        assert!(own.iter().any(|one| one == "create pods/exec"), "{own:?}");
    }
}
