//! Files that distributions and the products themselves ship are sound: nothing is said to be wrong in them, to contradict, or to have no effect.

use std::path::{Path, PathBuf};

use genkai_model::explain::{Remark, RemarkKind};
use genkai_targets::catalog;
use genkai_targets::explain::Requests;

/// What is said of a file; none where it is not installed here.
fn told(product: &str, path: &Path) -> Option<Vec<Remark>> {
    if !path.is_file() {
        genkai_tidy::noted::skipped(&format!("{} is not installed", path.display()));
        return None;
    }
    let explained = catalog::explain(Some(product), path, &Requests::to("localhost", "/"));
    let mut remarks = explained.unwrap_or_else(|e| panic!("{}: {e}", path.display())).remarks;
    // What this machine does not give is no fault of the file, and what it alone does not tell is none.
    remarks.retain(|remark| !matches!(remark.kind, RemarkKind::Clamped | RemarkKind::Unsure));
    Some(remarks)
}

#[test]
fn what_debian_ships_of_proxies_is_sound() {
    let shipped = [
        ("nginx", "/etc/nginx/nginx.conf"),
        ("squid", "/etc/squid/squid.conf"),
        ("haproxy", "/etc/haproxy/haproxy.cfg"),
        ("varnish", "/etc/varnish/default.vcl"),
    ];
    for (product, path) in shipped {
        let told = told(product, Path::new(path)).unwrap_or_default();
        assert!(told.is_empty(), "{path}: {told:#?}");
    }
}

/// More files, named in `GENKAI_STOCK` as `PRODUCT:PATH`, with spaces between.
#[test]
fn what_the_products_ship_is_sound() {
    let named = std::env::var("GENKAI_STOCK").unwrap_or_default();
    for (product, path) in named.split_ascii_whitespace().filter_map(|one| one.split_once(':')) {
        let told = told(product, &PathBuf::from(path)).unwrap_or_default();
        assert!(told.is_empty(), "{path}: {told:#?}");
    }
}

/// nginx's own conf/nginx.conf (1.31), without its comments.
const NGINX: &str = "\
worker_processes  1;
events {
    worker_connections  1024;
}
http {
    include       mime.types;
    default_type  application/octet-stream;
    sendfile        on;
    keepalive_timeout  65;
    server {
        listen       80;
        server_name  localhost;
        location / {
            root   html;
            index  index.html index.htm;
        }
        error_page   500 502 503 504  /50x.html;
        location = /50x.html {
            root   html;
        }
    }
}
";

#[test]
fn what_nginx_ships_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nginx.conf");
    std::fs::write(&path, NGINX).unwrap();
    std::fs::write(dir.path().join("mime.types"), "types { text/html html; }\n").unwrap();
    assert_eq!(told("nginx", &path), Some(Vec::new()));
}
