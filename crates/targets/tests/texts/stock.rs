//! Files that distributions and the products themselves ship are sound: nothing is said to be wrong in them, to contradict, or to have no effect.

use std::path::{Path, PathBuf};
use std::process::Command;

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
    // What this machine does not give is no fault of the file, and what the file alone does not tell is none.
    remarks.retain(|remark| !matches!(remark.kind, RemarkKind::Clamped | RemarkKind::Unsure));
    remarks.retain(|remark| !remark.text.contains("RLIMIT_NOFILE"));
    Some(remarks)
}

fn is_sound(product: &str, path: &Path) {
    let told = told(product, path).unwrap_or_default();
    assert!(told.is_empty(), "{}: {told:#?}", path.display());
}

#[test]
fn what_debian_ships_is_sound() {
    for (product, path) in [
        ("nginx", "/etc/nginx/nginx.conf"),
        ("squid", "/etc/squid/squid.conf"),
        ("haproxy", "/etc/haproxy/haproxy.cfg"),
        ("varnish", "/etc/varnish/default.vcl"),
        ("varnish", "/usr/share/doc/varnish/examples/example.vcl"),
        ("caddy", "/etc/caddy/Caddyfile"),
        ("redis", "/etc/redis/redis.conf"),
        ("php-fpm", "/etc/php/8.2/fpm/php-fpm.conf"),
        ("php-fpm", "/etc/php/8.2/fpm/pool.d/www.conf"),
    ] {
        is_sound(product, Path::new(path));
    }
}

/// With every directive of Squid's in a comment beside its documentation.
#[test]
fn the_documented_file_of_squid_is_sound() {
    let packed = Path::new("/usr/share/doc/squid-common/squid.conf.documented.gz");
    if !packed.is_file() {
        return genkai_tidy::noted::skipped("squid.conf.documented is not installed");
    }
    let text = Command::new("gzip").arg("-dc").arg(packed).output().unwrap().stdout;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("squid.conf");
    std::fs::write(&path, text).unwrap();
    is_sound("squid", &path);
}

#[test]
fn examples_that_haproxy_ships_are_sound() {
    let Ok(folder) = std::fs::read_dir("/usr/share/doc/haproxy/examples") else {
        return genkai_tidy::noted::skipped("the examples of HAProxy are not installed");
    };
    let files = folder.flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "cfg")).for_each(|path| is_sound("haproxy", &path));
}

/// More files, named in `GENKAI_STOCK` as `PRODUCT:PATH`, with spaces between.
#[test]
fn what_the_products_ship_is_sound() {
    let named = std::env::var("GENKAI_STOCK").unwrap_or_default();
    for (product, path) in named.split_ascii_whitespace().filter_map(|one| one.split_once(':')) {
        is_sound(product, &PathBuf::from(path));
    }
}

/// Files as their packages have them, without comments: a folder each, with the main file that is explained.
#[test]
fn trees_of_debian_and_of_the_sources_are_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stock_files");
    for (product, main) in [
        ("apache", "debian-apache2/apache2.conf"),
        ("haproxy", "debian-haproxy.cfg"),
        ("nginx", "nginx/nginx.conf"),
        ("php-fpm", "php-fpm/www.conf.default"),
        ("php-fpm", "php-fpm/php-fpm.conf"),
    ] {
        let path = folder.join(main);
        assert!(path.is_file(), "{main}");
        is_sound(product, &path);
    }
}

/// Debian's file has no frontend, and HAProxy starts with it: the socket of its statistics is a listener. Without it nothing is.
#[test]
fn haproxy_without_a_bind_starts_when_something_else_listens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haproxy.cfg");
    for (line, starts) in [
        ("stats socket /run/x.sock", true),
        ("master-worker", true),
        ("stats timeout 30s", false),
        ("no master-worker", false),
    ] {
        std::fs::write(&path, format!("global\n {line}\ndefaults\n mode http\n")).unwrap();
        let told = told("haproxy", &path).unwrap();
        let says = told.iter().any(|remark| remark.text.contains("HAProxy does not start"));
        assert_eq!(says, !starts, "{line}: {told:#?}");
    }
}
