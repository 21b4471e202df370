//! Every configuration of the corpus, run for real: it starts, answers, is watched, and its worker has exactly the
//! descriptors that the formula says.

use std::collections::BTreeMap;

use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use genkai_targets::error::TargetError;
use genkai_targets::nginx::evidence::metrics;
use genkai_targets::nginx::limits::Machine;
use genkai_targets::product::{Prepare, Prepared as _};

use crate::nginx_configs::place::{certificate, needs_modules};
use crate::nginx_configs::{CASES, Case, lay_out};
use crate::stage::{Backend, Nginx, Stage, Watched, environment, eventually, facts, get};

fn prepare(stage: &Stage, case: &Case, backend: &Backend) -> Result<Nginx, TargetError> {
    needs_modules(case);
    let etc = stage.folder().join("etc");
    let main = lay_out(case.name, &etc);
    if case.name == "tls" {
        certificate(&etc.join("tls"));
    }
    let settings = BTreeMap::new();
    Nginx::prepare(Prepare {
        backend: Some(backend.address()),
        ..Prepare::plain(ConfigSource::File(main), &settings, stage.folder())
    })
}

#[test]
fn every_configuration_runs_and_is_understood() {
    for case in &CASES {
        let (stage, backend) = (Stage::new(), Backend::start());
        let nginx = prepare(&stage, case, &backend).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(!nginx.rewrites().is_empty(), "{}", case.name);
        let limits = nginx.limits(&environment());
        assert!(limits.iter().any(|l| l.id == "nginx.worker_connections"), "{}", case.name);
        limits.iter().for_each(|l| placed(case, l));
        let mut server = Watched::start(&nginx);
        let answered = get(server.running.address(), "/");
        assert!(answered.is_some(), "{}: no answer", case.name);
        let facts = facts(&nginx, &Machine::of(&environment()));
        let (name, base) = (case.name, facts.base_descriptors() as f64);
        eventually(&format!("{name}: {base} descriptors of an idle worker"), || {
            server.metric(metrics::WORKER_FDS_MAX) == Some(base)
        });
        assert_eq!(server.metric(metrics::WORKERS), Some(f64::from(facts.workers.value)), "{name}");
        assert!(server.seen.states.is_empty(), "{name}: {:?}", server.seen.states);
    }
}

/// A value that is written somewhere is written on a line of the user's that exists.
fn placed(case: &Case, limit: &Limit) {
    let Origin::File { path, line } = &limit.origin else { return };
    let text = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {}: {e}", case.name, path.display()));
    let lines: Vec<_> = text.split(|&b| b == b'\n').collect();
    let text = String::from_utf8_lossy(lines[line - 1]).into_owned();
    let directive = limit.setting.split('.').next().unwrap_or_default();
    let named = match limit.id.as_str() {
        "nginx.upstream" => text.contains("_pass"),
        // The server of a group that has no other.
        "nginx.upstream.address" => text.contains("_pass") || text.contains("server"),
        "nginx.upstream.max_conns" => text.contains("max_conns"),
        // Also where it is the default.
        "nginx.upstream.max_fails" => text.contains("server"),
        // The rate stands in the zone; of one that may not count, the line that uses it is told.
        id if id.starts_with("nginx.limit_req") => text.contains("limit_req"),
        "nginx.proxy_timeouts" => text.contains("_read_timeout"),
        id if id.starts_with("nginx.server.") => text.contains("server"),
        _ => text.contains(directive),
    };
    assert!(named, "{}: {} is not on {}:{line}: {text}", case.name, limit.id, path.display());
}
