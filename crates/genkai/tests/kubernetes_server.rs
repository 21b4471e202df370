//! A server in a cluster, put to the test by private copies there, against a stand-in for a cluster that runs them as containers.

#[path = "harness/cluster/mod.rs"]
mod cluster;
mod harness;

use std::process::Command;
use std::time::Duration;

use cluster::{Behaviour, Cluster, Served};
use harness::loads::{Shown, show};
use harness::servers::free;
use harness::{genkai, machine, until};

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
    /// What stands beside `containers`, or in the container.
    more: &'static str,
}

const PLAIN: Config = Config { connections: 24, http: "", more: "" };

impl Shop {
    fn start(behaviour: Behaviour, config: &Config) -> Shop {
        let cluster = Cluster::start(behaviour);
        let [port] = free();
        let Config { connections, http, more } = config;
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
    let out = tempfile::tempdir().unwrap();
    let words = "--users 60 --spawn-rate 20 --hold 2s --quick";
    let shown = show(shop.tune("", words).arg("--out").arg(out.path().join("run")));
    let story = shown.story();
    println!("{story}");
    assert_eq!(shown.code, Some(1), "{story}");
    shop.is_empty();
}
