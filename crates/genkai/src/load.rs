//! `genkai load URL`: load on something that already runs.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::SystemTime;

use genkai_analysis::findings;
use genkai_lab::experiment;
use genkai_lab::measure::{self, Job};
use genkai_model::exit::Exit;
use genkai_model::load::Stop;
use genkai_model::plan::{Backend, ConfigSource, Plan, System};
use genkai_model::units::Span;
use genkai_report::{json, text};

use crate::cli::Load;
use crate::outputs::Outputs;
use crate::view::{self, View};
use crate::{Failure, flags, interrupt, tune};

/// All users at once: a rate so high that the ramp is over in the first millisecond.
const AT_ONCE: f64 = 1_000_000.0;

/// `genkai load`.
pub(crate) fn run(flags: &Load) -> Result<Exit, Failure> {
    let plan = plan(flags)?;
    let interrupt = interrupt::flag();
    let job = Job {
        plan,
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        interrupt: &interrupt,
    };
    let mut view = View::choose(flags.quiet, flags.color);
    let record = measure::run(&job, &mut |event| view.event(event));
    view.finish();
    let record = record?;
    let findings = findings(&record);
    if !flags.quiet {
        let shown = if flags.json {
            json::verdict(&record, &findings)
        } else {
            text::measure(&record, &findings, view::stdout_style(flags.color))
        };
        view::print(&shown);
    }
    Ok(Outputs { record: &record, findings: &findings }.exit())
}

fn plan(flags: &Load) -> Result<Plan, Failure> {
    let target = Target::read(&flags.url)?;
    tune::local_only(&flags.url, &flags.allow_remote)?;
    let mut load = flags.load.load(AT_ONCE, 1)?;
    load.addresses = vec![target.address];
    if flags.load.path.is_none() {
        load.request.path = target.path;
    }
    if !flags.load.header.iter().any(|h| h.to_ascii_lowercase().starts_with("host:")) {
        load.request.host = target.host;
    }
    let after = match (flags.duration, flags.requests) {
        (Some(span), _) => span,
        (None, Some(_)) => Span::from_secs(3600),
        (None, None) => Span::from_secs(10),
    };
    load.stop = Stop { after, requests: flags.requests };
    Ok(Plan {
        title: format!("load {}", flags.url),
        system: System {
            product: "server".to_owned(),
            program: None,
            config: ConfigSource::Generated,
            settings: std::collections::BTreeMap::new(),
            backend: Backend::Url(flags.url.clone()),
            allow_remote: flags.allow_remote.clone(),
        },
        load,
        objective: flags.objective.clone().unwrap_or_default(),
        procedure: experiment::procedure(experiment::Size::Quick),
    })
}

/// The parts of a URL that matter here.
struct Target {
    address: SocketAddr,
    host: String,
    path: String,
}

impl Target {
    fn read(url: &str) -> Result<Target, Failure> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            Failure::usage(format!(
                "`{url}`: write the whole address, like http://127.0.0.1:8080/ (only http:// so far)"
            ))
        })?;
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, tail) = rest.split_at(split);
        let path = if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") };
        let with_port =
            if host.rsplit(']').next().unwrap_or(host).contains(':') { host.to_owned() } else { format!("{host}:80") };
        let address = with_port
            .to_socket_addrs()
            .ok()
            .and_then(|mut all| all.next())
            .ok_or_else(|| Failure::environment(format!("{url}: `{host}` does not resolve")))?;
        let path = path.split('#').next().unwrap_or("/").to_owned();
        Ok(Target { address, host: host.to_owned(), path: flags::path(&path)? })
    }
}
