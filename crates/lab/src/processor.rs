//! What servers and generator have of processor time together: cores, and the quota of their control group.

use genkai_model::event::Environment;
use genkai_model::limit::Limit;
use genkai_place::caps::online;
use genkai_place::group::{self, Quota};
use genkai_targets::cores;

/// Cores the servers have.
pub(crate) fn server_cores(environment: &Environment) -> u32 {
    environment.pinning.as_ref().map_or(environment.cores, |p| p.servers.len() as u32)
}

/// Limits of processor time that everything shares: the cores of the servers, or the quota of their control group where that is shorter.
pub(crate) fn limits(environment: &Environment) -> impl Iterator<Item = Limit> {
    let (cores, quota) = (server_cores(environment), quota(environment));
    let shorter = quota.as_ref().is_some_and(|quota| quota.cores <= f64::from(cores));
    let servers = (!shorter).then(|| cores::limit(cores));
    servers.into_iter().chain([cores::machine(online())]).chain(quota.as_ref().map(cores::quota))
}

/// The quota of the control group of this process, and so of what it starts.
fn quota(environment: &Environment) -> Option<Quota> {
    let cores = environment.cpu_quota?;
    Some(Quota { cores, folder: group::cpu_quota().map(|quota| quota.folder).unwrap_or_default() })
}

/// Limits of servers that this process starts, in its control group.
pub(crate) fn within_quota(all: &mut [Limit], environment: &Environment) {
    if let Some(quota) = quota(environment) {
        cores::within(all, &quota, &cores::shared(&quota));
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::event::Pinning;
    use genkai_model::limit::Law;

    use super::*;

    #[test]
    fn a_quota_that_is_no_longer_than_the_cores_of_the_servers_is_told_in_their_place() {
        let of = |cpu_quota: Option<f64>| {
            let pinning = Some(Pinning { servers: vec![0, 1], client: vec![2] });
            let environment = Environment { cores: 3, pinning, cpu_quota, ..Environment::default() };
            limits(&environment).map(|limit| (limit.id, limit.law)).collect::<Vec<_>>()
        };
        let one = |id: &str, cores: f64| (id.to_owned(), Law::Cpu { cores });
        let all = one("machine.cpu", f64::from(online()));
        assert_eq!(of(None), [one("machine.servers_cpu", 2.0), all.clone()]);
        assert_eq!(of(Some(2.5)), [one("machine.servers_cpu", 2.0), all.clone(), one(cores::QUOTA, 2.5)]);
        assert_eq!(of(Some(0.5)), [all, one(cores::QUOTA, 0.5)]);
        let mut servers = [Limit { law: Law::Cpu { cores: 1.0 }, ..Limit::named("x.cpu", "x", "cores") }];
        within_quota(&mut servers, &Environment { cpu_quota: Some(0.5), ..Environment::default() });
        assert_eq!(servers[0].law, Law::Cpu { cores: 0.5 });
        assert!(servers[0].formula.contains("which the generator shares"), "{}", servers[0].formula);
    }
}
