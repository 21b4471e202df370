//! What can run here, and whether a plan can.

use std::path::{Path, PathBuf};

use genkai_model::event::Environment;
use genkai_model::latencies::LatencyComparison;
use genkai_model::load::{Scale, Way};
use genkai_model::plan::Plan;
use genkai_place::machine;
use genkai_targets::application::{self, Most, Place, Product};

use crate::compare::distinct;
use crate::error::LabError;
use crate::generator::{largest_share, range};
use crate::system::{self, Pin};

/// Descriptors of a process of clients that are none.
const OTHERS: u64 = 100;
/// Descriptors of a server that are no clients: listeners, logs, pollers, the archives of a JVM.
const SERVER_OWN: u64 = 200;

/// Where the applications are: the folder given, else `apps` in the current folder or beside a folder in which genkai's own
/// program lies (it is built into `target/` of its source).
pub fn place(program: &Path, apps: Option<&Path>) -> Place {
    let is_apps = |path: &PathBuf| path.join("protocol").is_dir();
    let near = std::env::current_dir().into_iter().chain(program.ancestors().skip(1).map(Path::to_owned));
    let found = apps.map(Path::to_owned).or_else(|| near.map(|folder| folder.join("apps")).find(is_apps));
    Place { program: program.to_owned(), apps: found }
}

/// Servers that can run here, and why each of the others cannot.
pub fn available(place: &Place) -> (Vec<&'static str>, Vec<String>) {
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    for product in application::PRODUCTS {
        match product.check(place) {
            Ok(()) => can.push(product.name),
            Err(e) => cannot.push(e.to_string()),
        }
    }
    (can, cannot)
}

/// Checks a plan before anything is started.
///
/// # Errors
/// When it contradicts itself, or something that it needs is missing.
pub(crate) fn check(
    plan: &Plan,
    comparison: &LatencyComparison,
    place: &Place,
    pin: &Pin,
) -> Result<Environment, LabError> {
    if comparison.contenders.len() < 2 {
        return Err(LabError::Plan("there must be at least two servers to compare".to_owned()));
    }
    distinct(comparison.contenders.iter().map(|one| &one.name))?;
    for contender in &comparison.contenders {
        let product = application::find(&contender.server)?;
        let settings = application::settings::Settings::read(&contender.settings, product.knobs);
        settings.map_err(|why| LabError::Plan(format!("{}: {why}", contender.server)))?;
        runs(product, place)?;
    }
    let environment = system::environment(pin, None);
    let scale = &plan.load.scale;
    if comparison.clients < scale.processes.into() {
        return Err(LabError::Plan(format!(
            "{} clients cannot be spread over {} processes\n  hint: at least one for each",
            comparison.clients, scale.processes
        )));
    }
    let descriptors = environment.descriptors.max(machine::hard_descriptors());
    held(comparison, descriptors).map_err(LabError::Environment)?;
    if scale.here() > 0 {
        fits(comparison, scale, (&Way::Here, descriptors, environment.ports)).map_err(LabError::Environment)?;
    }
    Ok(environment)
}

/// Whether each server, which is one process that may have so many descriptors, can hold all clients.
///
/// # Errors
/// When one cannot, with the most that it can.
fn held(comparison: &LatencyComparison, limit: u64) -> Result<(), String> {
    let clients = u64::from(comparison.clients);
    for contender in &comparison.contenders {
        let Ok(Product { most: Some(Most { connections, by }), .. }) = application::find(&contender.server) else {
            continue;
        };
        if comparison.clients > *connections {
            return Err(format!(
                "{} takes {connections} connections at most ({by}), and {clients} clients are asked for\n  hint: --clients {connections}, or \
                 --servers without it",
                contender.name
            ));
        }
    }
    let needed = clients + SERVER_OWN;
    if needed > limit {
        return Err(format!(
            "{clients} clients need {needed} descriptors in the process of each server, which may have {limit}\n  hint: --clients {}, or \
             raise the limit (`ulimit -Hn`); more processes of clients do not help",
            limit.saturating_sub(SERVER_OWN)
        ));
    }
    Ok(())
}

/// Whether each process on a machine, which is reached by this way, may have as many descriptors as its clients need, and whether the machine has
/// local ports for them. The limit is that of a process; each server is a destination of its own, to which every port can be used.
///
/// # Errors
/// When not, with the most clients that fit.
pub(super) fn fits(
    comparison: &LatencyComparison,
    scale: &Scale,
    (way, limit, ports): (&Way, u64, (u16, u16)),
) -> Result<(), String> {
    let servers = comparison.contenders.len() as u64;
    let share = u64::from(largest_share(comparison.clients, scale.processes));
    let needed = share * servers + OTHERS;
    let (all, each) = (u64::from(scale.processes), comparison.clients);
    if needed > limit {
        return Err(format!(
            "{each} clients of {servers} servers need {needed} descriptors in one process, which may have {limit}\n  hint: --clients {}, more \
             --processes (or machines: --on), or raise the limit (`ulimit -Hn`)",
            limit.saturating_sub(OTHERS) / servers * all
        ));
    }
    let (there, range) = (u64::from(scale.at(way)), u64::from(range(ports)));
    if there > 0 && share * there > range {
        return Err(format!(
            "{each} clients of each server need {} local ports on one machine, which has {range} for each destination\n  hint: --clients {}, \
             more machines (--on), or more of net.ipv4.ip_local_port_range",
            share * there,
            range / there * all
        ));
    }
    Ok(())
}

/// Whether a server can run here.
///
/// # Errors
/// What is missing, and which others can.
pub(crate) fn runs(product: &Product, place: &Place) -> Result<(), LabError> {
    product.check(place).map_err(|why| {
        let (can, _) = available(place);
        LabError::Environment(format!("{why}\n  hint: these can run: {}", can.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use genkai_model::latencies::Contender;
    use genkai_model::load::Workplace;

    use super::*;
    use crate::experiment::{Size, servers};

    const PORTS: (u16, u16) = (32_768, 60_999);

    fn comparison(clients: u32, names: &[&str]) -> LatencyComparison {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let contenders: Vec<Contender> = servers::contenders(&names, &Default::default(), &[]);
        LatencyComparison { clients, contenders, ..servers::shape(Size::Quick) }
    }

    #[test]
    fn a_server_holds_as_many_clients_as_it_has_descriptors_for() {
        let two = |clients| held(&comparison(clients, &["embedded", "jetty"]), 20_000);
        assert!(two(19_800).is_ok());
        let text = two(19_801).unwrap_err();
        assert!(
            text.starts_with(
                "19801 clients need 20001 descriptors in the process of each server, which may have 20000"
            ),
            "{text}"
        );
        assert!(text.contains("--clients 19800"), "{text}");
        assert!(held(&comparison(60_000, &["embedded", "jetty"]), 1 << 20).is_ok(), "where a process may have more");
        let tomcat = |clients| held(&comparison(clients, &["jetty", "tomcat"]), 20_000);
        assert!(tomcat(8_192).is_ok());
        assert!(tomcat(8_193).unwrap_err().starts_with("tomcat takes 8192 connections at most"));
    }

    #[test]
    fn clients_are_bounded_by_the_processes_and_machines_that_make_them() {
        let spread = |processes, workplaces: Vec<Workplace>| Scale { processes, workplaces, ..Scale::default() };
        let far = || Way::Ssh { command: vec!["ssh".to_owned()], host: "m1".to_owned() };
        let at = |by, processes| Workplace { by, processes };
        let fit = |clients, scale: &Scale, way: &Way| {
            fits(&comparison(clients, &["embedded", "jetty"]), scale, (way, 20_000, PORTS))
        };
        let two = spread(2, vec![]);
        assert!(fit(9_950, &Scale::default(), &Way::Here).is_ok() && fit(19_900, &two, &Way::Here).is_ok());
        let text = fit(19_901, &two, &Way::Here).unwrap_err();
        assert!(text.contains("need 20002 descriptors in one process") && text.contains("--clients 19900"), "{text}");
        // Ports end before descriptors where there are many processes on a machine.
        let four = spread(4, vec![]);
        assert!(fit(28_232, &four, &Way::Here).is_ok());
        let text = fit(28_233, &four, &Way::Here).unwrap_err();
        assert!(text.contains("28236 local ports") && text.contains("--clients 28232"), "{text}");
        let more = spread(4, vec![at(Way::Here, 2), at(far(), 2)]);
        assert!(fit(39_800, &more, &Way::Here).is_ok() && fit(39_800, &more, &far()).is_ok());
    }
}
