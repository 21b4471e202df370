//! `--load locust:FILE` of `genkai tune`: users who do what a locustfile says, made by Locust, at a server that genkai starts.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use genkai_lab::generator::locust::{self, Locustfile};
use genkai_model::load::{Arrivals, Load};
use genkai_model::locust::Locust;
use genkai_model::plan::Procedure;
use genkai_model::units::{Span, Spread};

use crate::cli::{LoadFlags, LocustFlags, ScenarioFlags};
use crate::scenario::ScenarioLoad;
use crate::{Failure, view};

/// What a value of `--load` begins with.
const BY: &str = "locust:";

/// The locustfile that flags name, if they name one, as Locust reads it.
///
/// # Errors
/// When the value names none, other flags say what users do, or Locust cannot load it.
pub(crate) fn read(
    flags: &LocustFlags,
    load: &LoadFlags,
    scenario: &ScenarioFlags,
    quiet: bool,
) -> Result<Option<Locustfile>, Failure> {
    let Some(text) = &flags.load else { return Ok(None) };
    let Some(file) = text.strip_prefix(BY).filter(|file| !file.is_empty()) else {
        return Err(Failure::usage(format!("--load `{text}`: write it like locust:FILE.py")));
    };
    contradicts(load, scenario)?;
    if let Some(bind) = &flags.locust_bind {
        let port = bind.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        if port.is_none_or(|(host, port)| host.is_empty() || port == 0) {
            return Err(Failure::usage(format!(
                "--locust-bind {bind}: is not HOST:PORT\n  hint: --locust-bind 0.0.0.0:5557"
            )));
        }
    }
    let bind = flags.locust_bind.as_deref();
    let mut found = locust::read(Path::new(file), flags.locust.as_deref(), flags.locust_workers, bind)?;
    if found.locust.classes.iter().any(|class| class.pause.is_none()) && load.think.is_none() {
        let unknown = found.locust.classes.iter().find(|class| class.pause.is_none());
        let name = unknown.map_or("", |class| class.name.as_str());
        return Err(Failure::usage(format!(
            "--load {text}: how long users of {name} pause cannot be told from its wait_time, so no limit can be foretold\n  hint: --think TIME \
             says what they pause in the mean; the file stays as it is"
        )));
    }
    if !quiet {
        found.remarks.drain(..).for_each(|remark| view::say(&format!("note: {remark}")));
    }
    Ok(Some(found))
}

/// Refuses flags that say what users do, or who makes the load.
fn contradicts(load: &LoadFlags, scenario: &ScenarioFlags) -> Result<(), Failure> {
    let given = [
        ("--scenario", scenario.scenario.is_some()),
        ("--rate", load.rate.is_some()),
        ("--ramp", load.ramp.is_some()),
        ("--poisson", load.poisson),
        ("--connections", load.connections.is_some()),
        ("--header", !load.header.is_empty()),
        ("--body", load.body.is_some()),
        ("--body-size", load.body_size.is_some()),
        ("--new-connections", load.new_connections),
        ("--no-retry", load.no_retry),
        ("--timeout", load.timeout.is_some()),
        ("--threads", load.threads.is_some()),
        ("--processes", load.processes != 1),
        ("--on", !load.on.is_empty()),
        ("--source", !load.source.is_empty()),
        ("--kernel-timestamps", load.kernel_timestamps.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag}: has no effect on users of a locustfile\n  hint: leave it out; --users and --spawn-rate say how many there are"
        ))),
        None => Ok(()),
    }
}

/// The load of a locustfile.
///
/// # Errors
/// When a value of the flags makes no sense.
pub(crate) fn load(found: &Locustfile, flags: &LoadFlags, spawn_rate: f64) -> Result<Load, Failure> {
    let mut load = flags.load(spawn_rate, 1)?;
    if let (Arrivals::Users { think, count, .. }, None) = (&mut load.arrivals, flags.think)
        && let Some(pause) = found.locust.pause(*count)
    {
        *think = Spread::Constant(pause);
    }
    load.locust = Some(Box::new(found.locust.clone()));
    load.tick = Locust::WINDOW;
    // What becomes of a connection that ends is the users' own business.
    load.retry = false;
    Ok(at(load, None))
}

/// Refuses workers that join from elsewhere where the server under test listens on 127.0.0.1, as each would load its own machine.
///
/// # Errors
/// When the address at which they join is not of this machine alone, and that of the server (`listen`; none: 127.0.0.1) is.
pub(crate) fn reaches(found: &Option<Locustfile>, listen: Option<Ipv4Addr>) -> Result<(), Failure> {
    let bind = found.as_ref().and_then(|found| found.locust.bind.as_deref());
    let host = bind.and_then(|bind| bind.rsplit_once(':')).map(|(host, _)| host.trim_matches(['[', ']']));
    let own = |host: &str| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let stays = listen.is_none_or(|ip| ip.is_loopback());
    match host.filter(|host| !own(host) && stays) {
        Some(host) => Err(Failure::usage(format!(
            "--locust-bind {host}: workers of other machines would load 127.0.0.1, each its own\n  hint: --listen ADDRESS says where the server \
             is to listen (`tune command` has none: its workers must be of this machine)"
        ))),
        None => Ok(()),
    }
}

/// The same with the host that users ask for: the site that their file names, else where the server under test listens (none: at 127.0.0.1).
pub(crate) fn at(mut load: Load, listen: Option<Ipv4Addr>) -> Load {
    if let Some(locust) = &load.locust {
        let address = || listen.unwrap_or(Ipv4Addr::LOCALHOST).to_string();
        load.request.host = locust.site.clone().unwrap_or_else(address);
    }
    load
}

/// A procedure whose trials are long enough for a load that is seen in windows, and for users of whom nothing is heard to be missed.
///
/// # Errors
/// When `hold`, which was asked for, is not.
pub(crate) fn procedure(procedure: Procedure, load: &Load, hold: Option<Span>) -> Result<Procedure, Failure> {
    let (Some(_), Arrivals::Users { think, .. }) = (&load.locust, load.arrivals) else { return Ok(procedure) };
    let pause = genkai_analysis::capacity::demand::mean(&think);
    let least =
        Span::from_secs_f64((load.patience().as_secs_f64() + 2.0 * pause + Locust::WINDOW.as_secs_f64()).ceil());
    if let Some(hold) = hold.filter(|hold| *hold < least) {
        return Err(Failure::usage(format!(
            "--hold {hold}: too short for what Locust tells every {}\n  hint: at least {least}, so that users of whom nothing is heard are missed",
            Locust::WINDOW
        )));
    }
    Ok(Procedure {
        hold: procedure.hold.max(least),
        proof_hold: procedure.proof_hold.max(least),
        sustained: procedure.sustained.max(Locust::WINDOW),
        ..procedure
    })
}

/// A title with the file's name in it.
pub(crate) fn title(title: String, found: &Option<Locustfile>, told: &Option<ScenarioLoad>) -> String {
    match found {
        Some(found) => format!("{title}: {} (Locust)", found.locust.file.display()),
        None => crate::scenario::title(title, told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_from_elsewhere_need_a_server_that_they_reach() {
        let joined = |bind: &str| {
            let file = std::path::PathBuf::from("users.py");
            let (program, version, bind) = (file.clone(), "2.47.0".to_owned(), Some(bind.to_owned()));
            let locust = Locust { file, program, version, workers: 1, bind, site: None, classes: Vec::new() };
            Some(Locustfile { locust, remarks: Vec::new() })
        };
        let there = Some(Ipv4Addr::new(192, 0, 2, 1));
        for (bind, listen, fits) in [
            ("127.0.0.1:5557", None, true),
            ("[::1]:5557", None, true),
            ("localhost:5557", None, true),
            ("0.0.0.0:5557", None, false),
            ("192.0.2.1:5557", Some(Ipv4Addr::LOCALHOST), false),
            ("192.0.2.1:5557", there, true),
        ] {
            assert_eq!(reaches(&joined(bind), listen).is_ok(), fits, "{bind} {listen:?}");
        }
        assert!(reaches(&None, None).is_ok());
    }
}
