//! Names, dead code, unsafe code and the size of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use genkai_tidy::{Known, Source, crates, root, sources};
use regex::Regex;

/// Modules that call the kernel in ways that no safe crate offers.
const UNSAFE: [&str; 10] = [
    "crates/engine/src/transport/dial.rs",
    "crates/origin/src/clock.rs",
    "crates/place/src/caps.rs",
    "crates/place/src/diag.rs",
    "crates/place/src/machine.rs",
    "crates/place/src/pagecache.rs",
    "crates/place/src/process.rs",
    "crates/place/src/reaper.rs",
    "crates/place/src/usage.rs",
    "crates/targets/src/files/read.rs",
];

/// The longest a file may be.
const LONGEST: usize = 500;

fn all() -> Vec<Source> {
    crates().iter().flat_map(|room| sources(&root(), room)).collect()
}

#[test]
fn unsafe_code_stays_where_it_may_be() {
    let word = Regex::new(r"\bunsafe\b").expect("a pattern");
    let found: Vec<String> =
        all().into_iter().filter(|source| word.is_match(&source.code)).map(|source| source.path).collect();
    assert_eq!(found, UNSAFE);
}

#[test]
fn no_file_is_too_long_to_read() {
    let root = root();
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files);
    let long = |file: &&String| fs::read_to_string(file).expect("a file").lines().count() > LONGEST;
    let name = |file: &String| file.trim_start_matches(&format!("{}/", root.display())).to_owned();
    Known::read("long").check(&files.iter().filter(long).map(name).collect());
}

fn rust_files(dir: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path.display().to_string());
        }
    }
}

/// Names of products, and the folder of each.
const PRODUCTS: [(&str, &str); 14] = [
    ("nginx", "nginx"),
    ("apache", "apache"),
    ("httpd", "apache"),
    ("haproxy", "haproxy"),
    ("caddy", "caddy"),
    ("squid", "squid"),
    ("varnish", "varnish"),
    ("trafficserver", "trafficserver"),
    ("traffic_server", "trafficserver"),
    ("redis", "redis"),
    ("tomcat", "tomcat"),
    ("jetty", "jetty"),
    ("wordpress", "wordpress"),
    ("fpm", "phpfpm"),
];

/// Files that may name any product: lists of them, and examples in help.
const MAY_NAME: [&str; 13] = [
    // The list of products, the caches among them, and their modules.
    "crates/targets/src/catalog/mod.rs",
    "crates/targets/src/catalog/caches.rs",
    "crates/targets/src/lib.rs",
    "crates/targets/src/upstreams/mod.rs",
    // The lists of application servers, of servers of rooms, and of routers before them.
    "crates/targets/src/application/mod.rs",
    "crates/targets/src/rooms/mod.rs",
    "crates/targets/src/router.rs",
    // Flags and the names of experiments, with examples in their help.
    "crates/genkai/src/cli.rs",
    "crates/genkai/src/cli/compare.rs",
    "crates/genkai/src/cli/experiment.rs",
    "crates/genkai/src/cli/experiment/examples.rs",
    "crates/genkai/src/cli/serve.rs",
    "crates/genkai/src/experiment.rs",
];

/// What is about some products by its purpose: a path's beginning, the folders of those that it may name, and why.
const ABOUT: [(&str, &[&str], &str); 26] = [
    (
        "crates/targets/src/limits/closed.rs",
        &["nginx", "apache", "haproxy", "caddy"],
        "what each says of a server that closed a connection",
    ),
    ("crates/targets/src/wordpress/", &["nginx", "phpfpm"], "the site is made of them"),
    ("crates/targets/src/application/rooms.rs", &["redis"], "rooms of several nodes share a backplane"),
    ("crates/origin/src/rooms/", &["redis"], "rooms of several nodes share a backplane"),
    ("crates/genkai/src/serve.rs", &["redis"], "rooms of several nodes share a backplane"),
    ("crates/model/src/cluster.rs", &["redis"], "rooms of several nodes share a backplane"),
    ("crates/lab/src/rooms/", &["redis", "haproxy"], "the study of rooms: backplane and router"),
    ("crates/lab/src/experiment/rooms.rs", &["redis"], "the study of rooms: backplane"),
    ("crates/lab/src/experiment/idle_requests.rs", &["redis"], "the study of rooms: backplane"),
    ("crates/genkai/src/rooms.rs", &["redis", "haproxy", "nginx"], "the study of rooms: backplane and routers"),
    ("crates/genkai/src/servers.rs", &["tomcat"], "the example of a flag"),
    ("crates/lab/src/cache/", &["apache"], "the study of caches: what they stand before"),
    ("crates/lab/src/experiment/cache.rs", &["apache", "haproxy", "nginx", "squid", "varnish"], "the list it compares"),
    ("crates/lab/src/experiment/mod.rs", &["apache", "nginx", "wordpress"], "what the experiments run"),
    ("crates/lab/src/experiment/site.rs", &["wordpress"], "the application of the experiment in a cluster"),
    ("crates/genkai/src/cluster.rs", &["wordpress"], "the flag of that application's images"),
    ("crates/genkai/src/platforms.rs", &["nginx"], "the name of the experiment"),
    ("crates/genkai/src/site.rs", &["nginx", "wordpress"], "the experiment in a cluster"),
    ("crates/genkai/src/suite/", &["apache"], "the experiment on it"),
    ("crates/report/src/schema.rs", &["apache"], "the name of the experiment on it"),
    ("crates/model/src/system.rs", &["wordpress"], "a kind of backend"),
    ("crates/lab/src/backend.rs", &["wordpress"], "a kind of backend"),
    ("crates/genkai/src/cli/flags.rs", &["phpfpm"], "the flags of that kind of backend"),
    ("crates/genkai/src/tune.rs", &["wordpress", "phpfpm"], "the flags of that kind of backend"),
    ("crates/report/src/study/plan.rs", &["wordpress", "phpfpm"], "the words for that kind of backend"),
    ("crates/scenario/src/backend.rs", &["wordpress", "phpfpm"], "that kind of backend in a file"),
];

/// Words that only hold a product's name: of another's language, a library's, a standard's.
const WORDS: [&str; 7] =
    ["lighttpd", "httpdate", "http_date", "org.apache.", "tomcat.apache.org", "redis-check", "redispatch"];

/// Whether a file is of this product's folder.
fn at_home(path: &str, folder: &str) -> bool {
    path.split(['/', '.']).any(|part| part == folder)
}

#[test]
fn whatever_may_name_a_product_does() {
    let all = all();
    let names = |of: &[&str]| PRODUCTS.into_iter().filter(|(_, folder)| of.contains(folder)).collect::<Vec<_>>();
    for (at, of, why) in ABOUT {
        for folder in of {
            let named = |source: &&Source| {
                let text = source.kept.to_ascii_lowercase();
                source.path.starts_with(at) && names(&[folder]).iter().any(|(name, _)| text.contains(name))
            };
            assert!(all.iter().any(|source| named(&source)), "{at} ({why}) names no {folder} any more: take it out");
        }
    }
    for path in MAY_NAME {
        assert!(all.iter().any(|source| source.path == path), "{path} is gone: take it out");
    }
}

#[test]
fn products_are_named_in_their_folders_only() {
    let mut found = BTreeSet::new();
    for source in all().into_iter().filter(|source| !MAY_NAME.contains(&source.path.as_str())) {
        let text = WORDS.iter().fold(source.kept.to_ascii_lowercase(), |text, word| text.replace(word, ""));
        let about = |folder: &str| ABOUT.iter().any(|(at, of, _)| source.path.starts_with(at) && of.contains(&folder));
        let named: BTreeSet<&str> = PRODUCTS
            .into_iter()
            .filter(|(name, folder)| text.contains(name) && !at_home(&source.path, folder) && !about(folder))
            .map(|(_, folder)| folder)
            .collect();
        if !named.is_empty() {
            found.insert(format!("{}: {}", source.path, Vec::from_iter(named).join(" ")));
        }
    }
    Known::read("products").check(&found);
}

/// Every word of the program's code with how often it is used: not where it is defined, and not where it is only passed on.
fn uses() -> BTreeMap<String, usize> {
    let mut texts: Vec<String> = all().into_iter().map(|source| source.code).collect();
    let mut files = Vec::new();
    let root = root();
    let examples =
        crates().into_iter().flat_map(|room| ["examples", "benches"].map(|dir| format!("crates/{room}/{dir}")));
    examples.chain(["fuzz".to_owned()]).for_each(|dir| rust_files(&root.join(dir), &mut files));
    texts.extend(files.iter().map(|file| fs::read_to_string(file).expect("a file")));
    let passed = Regex::new(r"(?s)\bpub use\b.*?;|\b(?:fn|struct|enum|trait|type|union|const|static|mut|mod)\s+\w+")
        .expect("a pattern");
    let word = Regex::new(r"\w+").expect("a pattern");
    let mut uses = BTreeMap::new();
    for text in texts {
        let code = passed.replace_all(&text, " ");
        for found in word.find_iter(&code) {
            *uses.entry(found.as_str().to_owned()).or_default() += 1;
        }
    }
    uses
}

#[test]
fn what_is_public_is_used_by_the_program() {
    let uses = uses();
    let item =
        Regex::new(r"\bpub\s+(?:(?:(?:const|async|unsafe)\s+)*fn|struct|enum|trait|type|union|static|const)\s+(\w+)")
            .expect("a pattern");
    // Named in an attribute, which is text.
    let by_serde = Regex::new(r#"serde\([^)]*"(?:\w+::)*(\w+)""#).expect("a pattern");
    let all = all();
    let named: BTreeSet<String> = all
        .iter()
        .flat_map(|source| by_serde.captures_iter(&source.kept).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .chain(["serialize".to_owned(), "deserialize".to_owned()])
        .collect();
    let mut found = BTreeSet::new();
    for source in &all {
        for name in item.captures_iter(&source.code).map(|found| found[1].to_owned()) {
            if !uses.contains_key(&name) && !named.contains(&name) {
                found.insert(format!("{}: {name}", source.path));
            }
        }
    }
    Known::read("unused").check(&found);
}
