//! A server in a cluster, put to the test by private copies there, against a stand-in for a cluster that runs them as containers.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::Because;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::cluster::{Behaviour, Cluster, Served};
use crate::harness::loads::{Shown, show};
use crate::harness::servers::{Guard, free};
use crate::harness::{checked, genkai, machine, run, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(60);
/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

/// Somebody's nginx: a Deployment with its configuration in a ConfigMap.
struct Shop {
    cluster: Cluster,
    map: String,
}

/// What a shop's nginx is like.
struct Config {
    /// Of `events`.
    connections: u32,
    /// Directives of its `http`.
    http: &'static str,
    /// What stands beside `containers`.
    more: &'static str,
    /// What stands in the container.
    container: &'static str,
}

const PLAIN: Config = Config { connections: 24, http: "", more: "", container: "" };

impl Shop {
    fn start(behaviour: Behaviour, config: &Config) -> Shop {
        let cluster = Cluster::start(behaviour);
        let [port] = free();
        let Config { connections, http, more, container } = config;
        let map = format!(
            "apiVersion: v1
kind: ConfigMap
metadata:
  name: shop-config
  namespace: web
  labels: {{team: shop}}
data:
  nginx.conf: |
    worker_processes 1;
    error_log /var/log/nginx/error.log crit;
    events {{
      worker_connections {connections};
    }}
    http {{
      include /etc/nginx/mime.types;
      access_log off;
      {http}
      server {{
        listen {port};
        location / {{ return 200 hello; }}
      }}
    }}
"
        );
        let deployment = format!(
            "apiVersion: apps/v1
kind: Deployment
metadata: {{name: shop, namespace: web}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec:
      serviceAccountName: shop
      {more}
      containers:
      - name: nginx
        image: registry.example/nginx:1
        {container}
        volumeMounts:
        - {{name: config, mountPath: /etc/nginx/nginx.conf, subPath: nginx.conf}}
      volumes:
      - {{name: config, configMap: {{name: shop-config}}}}
"
        );
        cluster.seed(&deployment, &[&map]);
        Shop { cluster, map }
    }

    /// `genkai tune nginx` of it, with these words.
    fn tune(&self, options: &str, words: &str) -> Command {
        let server = format!("--server kubernetes:web/deployment/shop{options}");
        let mut command = genkai(&format!("tune nginx {server} {words}"));
        command.env("KUBECONFIG", self.cluster.config());
        command
    }

    fn is_empty(&self) {
        until("all that was made to be removed", PROMISED, || self.cluster.list().is_empty().then_some(()));
        assert!(self.cluster.containers().is_empty());
    }
}

#[test]
fn a_limit_of_a_server_in_a_cluster_is_found_and_its_lifting_proved() {
    let _machine = machine();
    let shop = Shop::start(Behaviour::default(), &PLAIN);
    let run = run(&shop.tune("", "--users 60 --spawn-rate 20 --hold 2s --quick"));
    let (story, verdict) = (run.story(), run.verdict());
    // The objective does not hold as it is, and does with the proposal.
    assert_eq!(run.code, Some(1), "{story}");
    let [proposed] = &verdict.proposal[..] else { panic!("one change: {story}") };
    assert_eq!(
        (proposed.change.setting.as_str(), proposed.change.from.as_str()),
        ("worker_connections", "24"),
        "{story}"
    );
    assert!(verdict.because() == Because::ProvedAndHolds, "{story}");
    // It stands in the ConfigMap, at the line that nginx counts.
    assert!(run.stdout.contains("worker_connections = 24 (/etc/nginx/nginx.conf:4)"), "{story}");
    assert!(run.stdout.contains("-      worker_connections 24;\n+      worker_connections "), "{story}");

    // What is proposed is the user's ConfigMap with this one value changed, to be applied as it is.
    let proposal = std::fs::read_to_string(run.out.join("proposal/web/configmap/shop-config.yaml")).unwrap();
    let read = |text: &str| serde_saphyr::from_str::<ConfigMap>(text).unwrap();
    let (before, after) = (read(&shop.map), read(&proposal));
    assert_eq!(before.metadata, after.metadata);
    let changed = format!("worker_connections {};", proposed.change.to);
    let text = before.data.unwrap()["nginx.conf"].replace("worker_connections 24;", &changed);
    assert_eq!(after.data.unwrap()["nginx.conf"], text);

    // Nothing was created beside the user's server, nothing of it has its labels or account, and each copy was asked whether it is ready.
    let sent = shop.cluster.sent();
    assert!(sent.len() > 8 && sent.iter().all(|one| one["metadata"]["namespace"] != "web"), "{sent:?}");
    let deployments = sent.iter().filter(|one| one["kind"] == "Deployment");
    for (n, one) in deployments.enumerate() {
        let pod = &one["spec"]["template"];
        assert!(pod["metadata"]["labels"]["app"].is_null() && pod["spec"]["serviceAccountName"].is_null(), "{pod}");
        let container = &pod["spec"]["containers"][0];
        assert_eq!((&container["image"], &one["spec"]["replicas"]), (&"registry.example/nginx:1".into(), &1.into()));
        // Where the first listens is not known before it is read.
        assert_eq!(container["readinessProbe"]["tcpSocket"]["port"].is_number(), n > 0, "{container}");
    }
    let record = run.record();
    let rewrites = &record.head.as_ref().unwrap().rewrites;
    assert!(rewrites.iter().any(|one| one.from == "serviceAccountName: shop"), "{rewrites:?}");
    assert!(rewrites.iter().any(|one| one.to.contains("error_log /run/genkai/error.log warn")), "{rewrites:?}");
    shop.is_empty();
}

#[test]
fn a_file_of_the_image_is_changed_in_copies_and_told_as_such() {
    let _machine = machine();
    // Debian's own nginx.conf, with one site of a ConfigMap.
    let [port] = free();
    let cluster = Cluster::start(Behaviour::default());
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: sites, namespace: web}}\ndata:\n  shop.conf: |\n    \
         server {{ listen {port}; access_log off; location / {{ return 200 hello; }} }}\n"
    );
    let deployment = "apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: web}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: nginx
        image: registry.example/nginx:1
        volumeMounts: [{name: sites, mountPath: /etc/nginx/conf.d}, {name: none, mountPath: /etc/nginx/sites-enabled}]
      volumes: [{name: sites, configMap: {name: sites}}, {name: none, emptyDir: {}}]
";
    cluster.seed(deployment, &[&map]);
    let shop = Shop { cluster, map };
    let words = format!("--set worker_connections=24 --set worker_processes=1 --header Host:localhost:{port}");
    let run = run(&shop.tune("", &format!("{words} --users 60 --spawn-rate 20 --hold 2s --quick --pairs 0")));
    let story = run.story();
    assert_eq!(run.code, Some(1), "{story}");
    assert!(run.stdout.contains("/etc/nginx/nginx.conf is a file of the image, not of a ConfigMap"), "{story}");
    let proposed =
        run.verdict().proposal.iter().find(|one| one.change.setting == "worker_connections").cloned().unwrap();
    let finished = std::fs::read_to_string(run.out.join("proposal/etc/nginx/nginx.conf")).unwrap();
    assert!(finished.contains(&format!("worker_connections {};", proposed.change.to)), "{finished}");
    assert!(!run.out.join("proposal/web").exists(), "the ConfigMap stays as it is");
    shop.is_empty();
}

#[test]
fn a_quota_of_processor_time_is_named_by_its_throttling() {
    let _machine = machine();
    let container = "resources: {limits: {cpu: 100m}}";
    let shop = Shop::start(Behaviour::default(), &Config { connections: 1024, container, ..PLAIN });
    let words = "--rate 20000 --connections 50 --ramp 8s --hold 2s --objective p99<200ms --pairs 0";
    // Where others have the processors, the pod does not come to its quota.
    let named = (0..6).find_map(|_| {
        let run = run(&shop.tune("", words));
        let (story, verdict) = (run.story(), run.verdict());
        assert!(run.stderr.contains("0.1 cores' worth of processor time"), "{story}");
        let record = run.record();
        let limits = &record.trials[0].limits.limits;
        let limit = limits.iter().find(|limit| limit.id == "machine.pod_cpu").unwrap_or_else(|| panic!("{story}"));
        assert_eq!((limit.value.as_str(), limit.setting.as_str()), ("0.1", "CPU quota of the pod"));
        assert!(!limits.iter().any(|limit| limit.id == "machine.cpu"), "this machine's cores are not the pod's");
        assert!(
            verdict.causes.iter().all(|cause| cause.limit.id == "machine.pod_cpu"),
            "nothing else is named: {story}"
        );
        (verdict.because() == Because::CpuIsLimit).then_some((story, record))
    });
    let (story, record) = named.expect("the quota is named");
    println!("{story}");
    let samples = record.trials[0].samples.iter();
    let throttled = samples.filter_map(|(_, sample)| sample.metrics.get("nginx.throttled")).copied();
    assert!(throttled.fold(0.0, f64::max) > 0.5, "{story}");
    shop.is_empty();
}

#[test]
fn pods_load_a_server_in_a_namespace_that_is_named() {
    let _machine = machine();
    // Whoever may make no namespace names one.
    let behaviour = Behaviour { denied: &["create namespaces", "delete namespaces"], ..Behaviour::default() };
    let shop = Shop::start(behaviour, &PLAIN);
    let words = "--users 60 --spawn-rate 20 --hold 2s --quick --pairs 0 --on kubernetes:2,namespace=load";
    let run = run(&shop.tune(",copies=load", words));
    let (story, verdict) = (run.story(), run.verdict());
    assert_eq!(run.code, Some(1), "{story}");
    assert!(verdict.proposal.iter().any(|one| one.change.setting == "worker_connections"), "{story}");
    assert!(run.stdout.contains("in the namespace load"), "{story}");
    assert!(shop.cluster.sent().iter().all(|one| one["metadata"]["namespace"] == "load"));
    shop.is_empty();
}

#[test]
fn an_image_without_a_shell_is_looked_into_and_who_stands_before_it_is_told() {
    let _machine = machine();
    let behaviour = Behaviour { served: Served { no_shell: true, ..Served::default() }, ..Behaviour::default() };
    let shop = Shop::start(behaviour, &Config { container: "resources: {limits: {cpu: 900m}}", ..PLAIN });
    shop.cluster.front(
        &[
            "metadata: {name: shop, namespace: web}\nspec: {selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}",
            "metadata: {name: other, namespace: web}\nspec: {selector: {app: other}, ports: [{port: 80}]}",
        ],
        &["metadata: {name: shop-in, namespace: web}\nspec: {ingressClassName: nginx, defaultBackend: {service: {name: shop}}}"],
    );
    let words = "--users 60 --spawn-rate 20 --hold 2s --quick --pairs 0";
    let run = run(&shop.tune(",look=registry.example/tools:1", words));
    let (story, verdict) = (run.story(), run.verdict());
    assert_eq!(run.code, Some(1), "{story}");
    assert!(verdict.proposal.iter().any(|one| one.change.setting == "worker_connections"), "{story}");
    // What was seen of it is its own: its quota, its processes, its log.
    assert!(run.stderr.contains("0.9 cores' worth of processor time"), "{story}");
    assert!(run.stderr.contains("worker_connections are not enough"), "{story}");
    let record = run.record();
    let samples = record.trials[0].samples.iter();
    let cpu = samples.filter_map(|(_, sample)| sample.metrics.get("nginx.cpu")).copied().fold(0.0, f64::max);
    assert!(cpu > 0.0 && cpu < 2.0, "{cpu}: {story}");
    let added = shop.cluster.added();
    assert!(added.len() > 1 && added.iter().all(|one| one.target_container_name.as_deref() == Some("nginx")));
    let front = "not in the way of this load: the Service shop (ClusterIP: 80 -> 8080) leads to its pods; the Ingress shop-in (class nginx) \
                 leads everything else to shop";
    assert!(run.stderr.contains(front) && !run.stderr.contains("the Service other"), "{story}");
    shop.is_empty();
}

#[test]
fn what_an_ingress_controller_has_is_read_from_its_pod() {
    let _machine = machine();
    // Whoever may not list Services is told that they were not seen, and the rest goes on.
    let behaviour = Behaviour { denied: &["list services"], ..Behaviour::default() };
    let shop = Shop::start(behaviour, &PLAIN);
    let [port] = free();
    let map = format!(
        "metadata: {{name: rendered, namespace: ingress-nginx}}\ndata:\n  nginx.conf: |\n    \
         worker_processes 1;\n    events {{ worker_connections 4096; }}\n    http {{\n      \
         upstream upstream_balancer {{ server 0.0.0.1; keepalive 320; }}\n      \
         server {{ listen {port}; server_name _; location / {{ proxy_pass http://upstream_balancer; }} }}\n    }}\n"
    );
    let controller = "metadata: {name: controller, namespace: ingress-nginx}
spec:
  replicas: 1
  selector: {matchLabels: {app.kubernetes.io/name: ingress-nginx}}
  template:
    metadata: {labels: {app.kubernetes.io/name: ingress-nginx, app.kubernetes.io/component: controller}}
    spec:
      containers:
      - name: controller
        image: registry.example/ingress-nginx:1
        volumeMounts: [{name: rendered, mountPath: /etc/nginx/nginx.conf, subPath: nginx.conf}]
      volumes: [{name: rendered, configMap: {name: rendered}}]
";
    shop.cluster.run(controller, &[&map]);
    let run = run(&shop.tune(",ingress=ingress-nginx", "--users 60 --spawn-rate 20 --hold 2s --quick --pairs 0"));
    let story = run.story();
    assert_eq!(run.code, Some(1), "{story}");
    let told = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("the ingress controller in the pod ingress-nginx/controller-x (nginx)"), "{story}");
    assert!(told.contains("worker_connections 4096 (/etc/nginx/nginx.conf:2)"), "{story}");
    assert!(told.contains("was not seen: you are not allowed to list services in the namespace `web`"), "{story}");
    // It is read, and no limit of the server under test.
    let record = run.record();
    let limits = &record.trials[0].limits.limits;
    assert!(limits.iter().all(|limit| limit.value != "4096" || limit.setting != "worker_connections"), "{story}");
    shop.is_empty();
}

/// A server that is not put to the test: what was said, once nothing is left.
fn refused(shop: &Shop, options: &str, words: &str, code: i32) -> String {
    let out = tempfile::tempdir().unwrap();
    let shown =
        show(shop.tune(options, &format!("--users 4 --hold 1s {words}")).arg("--out").arg(out.path().join("run")));
    let story = shown.story();
    assert_eq!(shown.code, Some(code), "{story}");
    assert!(story.contains("hint: ") || story.contains("does not accept the configuration:"), "{story}");
    shop.is_empty();
    story
}

#[test]
fn copies_that_do_not_come_are_told_with_their_reasons() {
    let _machine = machine();
    let of = |served: Served| Behaviour { served, ..Behaviour::default() };
    for (behaviour, options, expected) in [
        (
            of(Served { no_image: true, ..Served::default() }),
            "",
            "does not come: ImagePullBackOff: Back-off pulling image \"registry.example/nginx:1\" (node node-1)",
        ),
        (of(Served { quota: true, ..Served::default() }), "", "is forbidden: exceeded quota: small, requested: pods=1"),
        (
            of(Served { no_node: true, ..Served::default() }),
            ",wait=1s",
            "was not ready within 1 s: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.",
        ),
        (of(Served { no_shell: true, ..Served::default() }), "", "cannot look into the pod genkai-"),
        (
            of(Served { no_shell: true, no_look: true, ..Served::default() }),
            ",look=registry.example/tools:1",
            "(image registry.example/tools:1) does not come: ImagePullBackOff: Back-off pulling image \"registry.example/tools:1\"",
        ),
        (
            Behaviour { denied: &["patch pods/ephemeralcontainers"], ..Behaviour::default() },
            ",look=registry.example/tools:1",
            "you are not allowed to do this: in a namespace of genkai's own: patch pods/ephemeralcontainers",
        ),
        (
            Behaviour { denied: &["create namespaces", "create pods/exec", "get configmaps"], ..Behaviour::default() },
            "",
            "you are not allowed to do this: in the namespace `web`: get configmaps; in the cluster: create namespaces; \
             in a namespace of genkai's own: create pods/exec",
        ),
    ] {
        let shop = Shop::start(behaviour, &PLAIN);
        let story = refused(&shop, options, "", 3);
        assert!(story.contains("error: kubernetes: ") && story.contains(expected), "{expected}: {story}");
    }
}

#[test]
fn servers_that_cannot_be_copied_are_told_before_anything_is_made() {
    for (more, options, expected) in [
        ("initContainers: [{name: once, image: a}]", "", "its init container `once` would run a second time"),
        ("hostNetwork: true", "", "it has `hostNetwork`"),
        ("", ",container=php", "has no container `php`; it has: nginx"),
        ("shareProcessNamespace: true", ",look=registry.example/tools:1", "it has `shareProcessNamespace`"),
        ("", ",ingress=web", "component=controller runs in the namespace `web`"),
    ] {
        let shop = Shop::start(Behaviour::default(), &Config { more, ..PLAIN });
        let story = refused(&shop, options, "", 2);
        assert!(story.contains(expected) && shop.cluster.sent().is_empty(), "{expected}: {story}");
    }
    let shop = Shop::start(Behaviour::default(), &PLAIN);
    for (server, code, expected) in [
        ("kubernetes:web/deployment/other", 2, "there is no Deployment `other` in the namespace `web`"),
        ("kubernetes:nowhere/deployment/shop", 2, "there is no Deployment `shop` in the namespace `nowhere`"),
        ("kubernetes:web/statefulset/shop", 2, "only a deployment can be put to the test"),
        ("kubernetes:web/deployment/shop,context=other", 2, "the kubeconfig has no context `other`"),
        ("kubernetes:web/deployment/shop,context=stranger", 3, "Unauthorized (HTTP 401)"),
        ("kubernetes:web/deployment/shop,copies=nowhere", 3, "namespaces \"nowhere\" not found"),
    ] {
        let mut command = genkai(&format!("tune nginx --users 4 --server {server}"));
        let shown = show(command.env("KUBECONFIG", shop.cluster.config()));
        assert!(shown.code == Some(code) && shown.story().contains(expected), "{server}: {}", shown.story());
        shop.is_empty();
    }
    let dry = show(&mut shop.tune("", "--users 4 --dry-run"));
    assert!(dry.code == Some(2) && shop.cluster.sent().is_empty(), "{}", dry.story());
    let other = show(&mut genkai("tune apache --users 4 --server kubernetes:web/deployment/shop"));
    assert!(other.code == Some(2) && other.story().contains("--server"), "{}", other.story());
}

#[test]
fn an_nginx_that_does_not_start_is_told_in_its_own_words() {
    let _machine = machine();
    let shop = Shop::start(Behaviour::default(), &Config { http: "no_such_directive on;", ..PLAIN });
    let story = refused(&shop, "", "", 3);
    assert!(story.contains("ended as soon as it was started, as it is: Error (exit code 1): "), "{story}");
    assert!(story.contains("unknown directive \"no_such_directive\" in /etc/nginx/nginx.conf:"), "{story}");
    // A value that it refuses is refused, however successful the roll-out is said to be.
    let shop = Shop::start(Behaviour::default(), &PLAIN);
    let story = refused(&shop, "", "--set proxy_buffer_size=1m", 2);
    assert!(story.contains("Error (exit code 1): ") && story.contains("\"proxy_busy_buffers_size\""), "{story}");
    // So is one with which the first process runs, and no worker.
    let story = refused(&shop, "", "--set worker_rlimit_nofile=4", 3);
    assert!(story.contains("nginx does not serve in the pod genkai-"), "{story}");
    // One that leads elsewhere is not loaded.
    let elsewhere = "upstream shop { server 192.0.2.1:80; }";
    let shop = Shop::start(Behaviour::default(), &Config { http: elsewhere, ..PLAIN });
    let story = refused(&shop, "", "", 2);
    assert!(story.contains("192.0.2.1") && story.contains("--allow-remote"), "{story}");
}

/// A tune whose load would last long, once it is made.
fn long(shop: &Shop, out: &std::path::Path) -> Guard {
    let mut command = shop.tune("", "--users 4 --spawn-rate 4 --hold 60s");
    command.arg("--out").arg(out).stdout(Stdio::piped()).stderr(Stdio::piped());
    let tune = Guard(command.spawn().unwrap());
    let record = out.join("run.jsonl");
    until("the load", LONGEST, || {
        std::fs::read_to_string(&record).is_ok_and(|text| text.contains("\"event\":\"tick\"")).then_some(())
    });
    tune
}

fn ended(mut guard: Guard) -> Shown {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    guard.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    guard.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Shown { code: wait(&mut guard.0, LONGEST).code(), stdout, stderr }
}

#[test]
fn nothing_is_left_after_an_interrupt_a_cut_or_a_death() {
    let _machine = machine();
    type Way = fn(&Shop, &Guard);
    let ways: [(&str, i32, Way); 5] = [
        ("nothing is seen of the server: the connection to the shell in the pod was cut", 3, |shop, _| {
            shop.cluster.restart(Duration::from_secs(2));
        }),
        ("nothing is seen of the server: the shell in the pod said nothing for 5 s", 3, |shop, _| shop.cluster.mute()),
        ("", 130, |_, tune| signal(tune.0.id(), "INT")),
        ("nothing is seen of the server: the connection to the shell in the pod was cut", 3, |shop, _| {
            shop.cluster.cut()
        }),
        ("the container ended: Error (exit code ", 1, |shop, _| {
            let [first] = shop.cluster.containers()[..] else { panic!("one container") };
            signal(first, "KILL");
        }),
    ];
    for (expected, code, way) in ways {
        let (shop, out) = (Shop::start(Behaviour::default(), &PLAIN), tempfile::tempdir().unwrap());
        let tune = long(&shop, &out.path().join("run"));
        way(&shop, &tune);
        let shown = ended(tune);
        let record = std::fs::read_to_string(out.path().join("run/run.jsonl")).unwrap();
        checked::folder(&out.path().join("run"));
        assert_eq!(shown.code, Some(code), "{expected}: {}", shown.story());
        assert!(
            shown.story().contains(expected) || record.contains(expected),
            "{expected}: {}\n{record}",
            shown.story()
        );
        shop.is_empty();
    }
    // While it waits for a copy, too.
    let no_node = Behaviour { served: Served { no_node: true, ..Served::default() }, ..Behaviour::default() };
    let shop = Shop::start(no_node, &PLAIN);
    let mut command = shop.tune("", "--users 4");
    let mut tune = Guard(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("a copy to be waited for", LONGEST, || (!shop.cluster.sent().is_empty()).then_some(()));
    signal(tune.0.id(), "INT");
    assert_eq!(wait(&mut tune.0, LONGEST).code(), Some(130));
    shop.is_empty();
}
