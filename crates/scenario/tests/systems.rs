//! Files of systems and of claims: what they become, what is wrong with them and where.

use std::path::{Path, PathBuf};

use genkai_model::claim::{Promise, Promised, Test};
use genkai_model::figure::Figure;
use genkai_model::load::{Arrivals, Body, Reuse};
use genkai_model::plan::{Backend, ConfigSource};
use genkai_model::units::{Bytes, Span};
use genkai_scenario::{What, claim, schema, systems};
use proptest::prelude::*;

/// Some that a caller may know.
const PRODUCTS: &[&str] = &["nginx", "apache", "haproxy", "caddy"];

const PAIR: &str = "\
title: two proxies
backend: {body: 1k, time: 5ms, workers: 3}
systems:
  - name: small
    product: nginx
    set: {worker_connections: 64}
  - {name: mine, config: conf/httpd.conf}
  - {name: there, url: 'http://127.0.0.1:8080/'}
";

#[test]
fn systems_are_products_files_and_addresses() {
    let all = systems("s.yaml", PAIR, Path::new("/where"), PRODUCTS).unwrap();
    assert_eq!(all.title, "two proxies");
    let Some(Backend::Embedded(origin)) = all.backend else { panic!("{:?}", all.backend) };
    assert_eq!((origin.body, origin.workers, origin.queue), (Bytes(1024), Some(3), None));
    assert_eq!(all.systems[0].what, What::Product("nginx".to_owned()));
    assert_eq!(all.systems[0].settings["worker_connections"], "64");
    assert_eq!(all.systems[1].what, What::File(PathBuf::from("/where/conf/httpd.conf"), None));
    assert_eq!(all.systems[2].what, What::Url("http://127.0.0.1:8080".to_owned()));
}

#[test]
fn mistakes_in_systems_are_told_with_their_place() {
    for (text, place, part) in [
        ("systems: []", "1:1", "there is no system"),
        ("systems:\n  - {product: nginx}", "2:5", "a system needs `name`"),
        ("systems:\n  - {name: a}", "2:5", "needs `product`, `config` or `url`"),
        ("systems:\n  - {name: a, product: squib}", "2:24", "must be one of nginx, apache, haproxy"),
        ("systems:\n  - {name: a, url: 'http://x', config: b}", "2:5", "both `url`"),
        ("systems:\n  - {name: a, url: 'http://x', set: {a: 1}}", "2:5", "`set` on what already runs"),
        ("systems:\n  - {name: a, prodct: nginx}", "2:15", "did you mean `product`?"),
        ("backend: nowhere\nsystems:\n  - {name: a, product: nginx}", "1:10", "must be a backend"),
    ] {
        let fault = systems("s.yaml", text, Path::new(""), PRODUCTS).unwrap_err().to_string();
        assert!(fault.starts_with(&format!("s.yaml:{place}: ")) && fault.contains(part), "{text}\n{fault}");
    }
}

const CLAIM: &str = "\
advice: more is better
product: apache
set: {mpm: worker}
change: [MaxRequestWorkers 150 -> 400, KeepAlive -> Off]
load: {users: 300, think: 10ms, path: /x, body: 2k, new-connections: true, timeout: 5s, hold: 3s}
promises: {throughput: better, failures: same}
";

#[test]
fn a_claim_is_a_system_a_change_a_load_and_promises() {
    let claim = claim("dir/more.yaml", CLAIM, Path::new("dir"), PRODUCTS).unwrap();
    assert_eq!((claim.name.as_str(), claim.advice.as_str()), ("more", "more is better"));
    assert_eq!((claim.system.product.as_str(), &claim.system.config), ("apache", &ConfigSource::Generated));
    let Test::Load(test) = claim.test else { panic!("{:?}", claim.test) };
    assert_eq!(test.changes, ["MaxRequestWorkers 150 -> 400", "KeepAlive -> Off"]);
    assert_eq!(test.hold, Some(Span::from_secs(3)));
    let load = test.load;
    assert!(matches!(load.arrivals, Arrivals::Users { count: 300, .. }), "{:?}", load.arrivals);
    assert_eq!(
        (load.request.method.as_str(), load.request.path.as_str(), &load.request.body),
        ("POST", "/x", &Body::Size(2048))
    );
    assert_eq!((load.reuse, load.timeout), (Reuse::PerRequest, Span::from_secs(5)));
    let promise = |figure, becomes| Promise { figure, becomes };
    assert_eq!(
        test.promises,
        [promise(Figure::Throughput, Promised::Better), promise(Figure::Failures, Promised::Same)]
    );
}

#[test]
fn mistakes_in_claims_are_told_with_their_place() {
    let with = |rest: &str| format!("advice: a\nproduct: nginx\n{rest}\n");
    for (rest, part) in [
        ("", "a claim needs `change` or `line`"),
        ("change: gzip", ":3:9: `change` must be a change"),
        ("change: gzip -> on", "promises nothing"),
        ("change: gzip -> on\nline: x y\npromises: {cpu: worse}", "both `line` and `change`"),
        ("change: gzip -> on\npromises: {cpu: wose}", "must be one of better, worse, same, or a factor"),
        ("change: gzip -> on\npromises: {cpu: x1}", "must be one of better, worse, same, or a factor"),
        ("change: gzip -> on\npromises: {failures: x0.5}", "must be one of better, worse, same"),
        ("change: gzip -> on\npromises: {speed: better}", "unknown key `speed`"),
        ("change: gzip -> on\npromises: {cpu: worse}\nload: {users: 3, rate: 5}", "both `rate` and users"),
        ("change: gzip -> on\npromises: {cpu: worse}\nload: {rate: 0}", "must be above 0"),
        ("change: gzip -> on\npromises: {cpu: worse}\nload: {users: 3, connections: 5}", "belongs to `rate`"),
        ("line: \"a\\nb\"", "several lines"),
    ] {
        let fault = claim("c.yaml", &with(rest), Path::new(""), PRODUCTS).unwrap_err().to_string();
        assert!(fault.contains(part), "{rest}\n{fault}");
    }
}

#[test]
fn the_claims_that_ship_are_understood_and_valid() {
    let validator = jsonschema::draft202012::new(&serde_json::from_str(&schema::claim(PRODUCTS)).unwrap()).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let claim = claim(&path.display().to_string(), &text, &folder, PRODUCTS).unwrap_or_else(|e| panic!("{e}"));
        assert!(!claim.read.is_empty(), "{}: where was it read?", path.display());
        names.push(claim.name);
        let value = genkai_scenario_json(&text);
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
    assert!(names.len() >= 10, "{names:?}");
    assert!(!validator.is_valid(&serde_json::json!({ "advice": "a", "product": "squib" })));
}

/// A document as JSON, by a reader that is not ours.
fn genkai_scenario_json(text: &str) -> serde_json::Value {
    use saphyr_parser::{Event, Parser, ScalarStyle};
    enum Open {
        List(Vec<serde_json::Value>),
        Map(serde_json::Map<String, serde_json::Value>, Option<String>),
    }
    fn put(stack: &mut [Open], root: &mut serde_json::Value, value: serde_json::Value) {
        match stack.last_mut() {
            None => *root = value,
            Some(Open::List(list)) => list.push(value),
            Some(Open::Map(map, key)) => match key.take() {
                None => *key = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
                Some(key) => drop(map.insert(key, value)),
            },
        }
    }
    let (mut stack, mut root) = (Vec::new(), serde_json::Value::Null);
    for event in Parser::new_from_str(text) {
        match event.unwrap().0 {
            Event::SequenceStart(..) => stack.push(Open::List(Vec::new())),
            Event::MappingStart(..) => stack.push(Open::Map(serde_json::Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => {
                let value = match stack.pop().unwrap() {
                    Open::List(list) => list.into(),
                    Open::Map(map, _) => map.into(),
                };
                put(&mut stack, &mut root, value);
            }
            Event::Scalar(text, style, ..) => {
                let plain = style == ScalarStyle::Plain;
                let value = serde_json::from_str(&text).ok().filter(|_| plain);
                put(&mut stack, &mut root, value.unwrap_or_else(|| text.into_owned().into()));
            }
            _ => {}
        }
    }
    root
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-z:{}\\[\\]\\-, \n\"'0-9>=#&*]{0,120}") {
        let _ = systems("s.yaml", &text, Path::new(""), PRODUCTS);
        let _ = claim("c.yaml", &text, Path::new(""), PRODUCTS);
    }

    #[test]
    fn a_claim_with_one_line_changed_is_read_or_refused_with_a_place(line in 0usize..6, with in "\\PC{0,40}") {
        let lines: Vec<&str> = CLAIM.lines().enumerate().map(|(n, old)| if n == line { with.as_str() } else { old }).collect();
        if let Err(fault) = claim("c.yaml", &lines.join("\n"), Path::new(""), PRODUCTS) {
            prop_assert!(fault.to_string().starts_with("c.yaml:"), "{}", fault);
        }
    }
}
