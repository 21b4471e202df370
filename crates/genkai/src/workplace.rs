//! `--on`: the machines that make a load.

use std::net::IpAddr;
use std::str::FromStr;

use genkai_model::load::{ContainerPlace, PodPlace, Scale, Way, Workplace};

use crate::{Failure, cluster, container};

/// Most processes in all.
const MOST: u16 = 256;

/// Machines of one kind, with processes on each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnFlag {
    machines: Machines,
    /// Processes on each; pods.
    processes: u16,
}

/// Which machines.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Machines {
    Here,
    /// Hosts for ssh.
    Hosts(Vec<String>),
    Pods(PodPlace),
    Containers(ContainerPlace),
}

/// The programs that lead to machines, each with options of its own, as they were typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Programs<'a> {
    pub(crate) ssh: &'a str,
    pub(crate) podman: &'a str,
}

impl FromStr for OnFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<OnFlag, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let number = |text: Option<&str>| text.map_or(Ok(1), processes);
        match (kind, rest) {
            ("here", rest) => Ok(OnFlag { machines: Machines::Here, processes: number(rest)? }),
            ("ssh", Some(rest)) => {
                let (hosts, many) = split(rest);
                let hosts = hosts.split(',').map(host).collect::<Result<_, _>>()?;
                Ok(OnFlag { machines: Machines::Hosts(hosts), processes: number(many)? })
            }
            ("kubernetes", Some(rest)) => {
                let (many, options) = rest.split_once(',').map_or((rest, None), |(many, rest)| (many, Some(rest)));
                let cluster = cluster::read(options)?;
                Ok(OnFlag { machines: Machines::Pods(cluster), processes: processes(many)? })
            }
            ("podman", Some(rest)) => {
                let (place, many) = container::read(rest)?;
                Ok(OnFlag { machines: Machines::Containers(place), processes: number(many)? })
            }
            ("podman", None) => {
                Err("write the image: podman:localhost/genkai or podman:localhost/genkai,containers=4".to_owned())
            }
            ("ssh", None) => Err("write the hosts: ssh:load1,load2 or ssh:load1,load2:4".to_owned()),
            ("kubernetes", None) => Err("write the number of pods: kubernetes:4".to_owned()),
            _ => Err("write here:PROCESSES, ssh:HOST,HOST:PROCESSES, kubernetes:PODS or podman:IMAGE".to_owned()),
        }
    }
}

/// Hosts, and what stands behind the last colon where that is no part of an address.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((hosts, number)) if !number.contains(']') && (!hosts.contains(':') || hosts.ends_with(']')) => {
            (hosts, Some(number))
        }
        _ => (text, None),
    }
}

fn host(text: &str) -> Result<String, String> {
    // Brackets only part an address from the number behind it.
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let odd = text.is_empty() || text.starts_with('-') || text.chars().any(|c| c.is_whitespace() || c.is_control());
    if odd { Err(format!("`{text}` is not the name of a host")) } else { Ok(text.to_owned()) }
}

fn processes(text: &str) -> Result<u16, String> {
    let wanted = || format!("`{text}`: a number of processes from 1 to {MOST} is wanted");
    text.parse().ok().filter(|n| (1..=MOST).contains(n)).ok_or_else(wanted)
}

impl OnFlag {
    /// The machines it names.
    fn workplaces(&self, programs: Programs<'_>) -> Vec<Workplace> {
        let processes = self.processes;
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let far = |host: &String| Way::Ssh { command: words(programs.ssh), host: host.clone() };
        match &self.machines {
            Machines::Here => vec![Workplace { by: Way::Here, processes }],
            Machines::Hosts(hosts) => hosts.iter().map(|host| Workplace { by: far(host), processes }).collect(),
            Machines::Pods(cluster) => {
                (0..processes).map(|n| Workplace { by: cluster::pod(cluster, n), processes: 1 }).collect()
            }
            Machines::Containers(place) => {
                let place = ContainerPlace { command: words(programs.podman), ..place.clone() };
                (0..processes).map(|n| Workplace { by: container::one(&place, n), processes: 1 }).collect()
            }
        }
    }

    /// The cluster and the pods in it, where it names those.
    pub(crate) fn pods(&self) -> Option<(&PodPlace, u16)> {
        match &self.machines {
            Machines::Pods(cluster) => Some((cluster, self.processes)),
            Machines::Here | Machines::Hosts(_) | Machines::Containers(_) => None,
        }
    }
}

/// How a load is spread: over the machines of `--on`, or so many processes here, with the sources named.
///
/// # Errors
/// When there are too many processes, or a machine is named twice.
pub(crate) fn scale(
    on: &[OnFlag],
    programs: Programs<'_>,
    processes: u16,
    sources: Vec<IpAddr>,
) -> Result<Scale, Failure> {
    for (flag, program) in [("--ssh", programs.ssh), ("--podman", programs.podman)] {
        if program.trim().is_empty() {
            return Err(Failure::usage(format!("{flag}: no program is named")));
        }
    }
    let workplaces: Vec<Workplace> = on.iter().flat_map(|flag| flag.workplaces(programs)).collect();
    let all: u32 = workplaces.iter().map(|one| u32::from(one.processes)).sum();
    if all > u32::from(MOST) {
        return Err(Failure::usage(format!("--on: {all} processes in all; at most {MOST} are possible")));
    }
    let same = |one: &Way, other: &Way| one == other || one.is_numbered() && one.name() == other.name();
    let twice = (1..workplaces.len()).find(|&n| workplaces[..n].iter().any(|one| same(&workplaces[n].by, &one.by)));
    if let Some(n) = twice {
        let name = workplaces[n].by.name();
        return Err(Failure::usage(format!("--on: `{name}` is named twice; give the number of processes instead")));
    }
    let processes = if workplaces.is_empty() { processes } else { all as u16 };
    let scale = Scale { processes, sources, workplaces };
    if scale.is_spread() && !scale.sources.is_empty() {
        return Err(Failure::usage(
            "--source: names addresses of this machine; it cannot be used with places of --on other than here",
        ));
    }
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Vec<String>, u16), String> {
        let hosts = |machines| match machines {
            Machines::Here => Vec::new(),
            Machines::Hosts(hosts) => hosts,
            Machines::Pods(cluster) => vec![format!("{}|{}", cluster.namespace.unwrap_or_default(), cluster.image)],
            Machines::Containers(of) => {
                vec![format!("{} {} {}", of.image, of.network.unwrap_or_default(), of.memory.unwrap_or_default())]
            }
        };
        text.parse::<OnFlag>().map(|flag| (hosts(flag.machines), flag.processes))
    }

    #[test]
    fn a_program_without_a_name_is_no_program() {
        let on = ["ssh:load1".parse::<OnFlag>().unwrap()];
        for programs in [Programs { ssh: " ", podman: "podman" }, Programs { ssh: "ssh", podman: "" }] {
            let refused = scale(&on, programs, 1, Vec::new()).unwrap_err();
            assert!(refused.message.contains("no program is named"), "{}", refused.message);
        }
        assert!(scale(&on, Programs { ssh: "ssh", podman: "podman" }, 1, Vec::new()).is_ok());
    }

    #[test]
    fn places_are_read() {
        let hosts = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        for (text, expected) in [
            ("here", (vec![], 1)),
            ("here:4", (vec![], 4)),
            ("ssh:load1", (hosts(&["load1"]), 1)),
            ("ssh:me@load1,load2:3", (hosts(&["me@load1", "load2"]), 3)),
            ("ssh:[fe80::1]:2", (hosts(&["fe80::1"]), 2)),
            ("ssh:10.0.0.1:2", (hosts(&["10.0.0.1"]), 2)),
            ("kubernetes:3,image=r/genkai:1,namespace=load", (hosts(&["load|r/genkai:1"]), 3)),
            ("podman:r:5000/genkai:1,containers=2,network=host,memory=64m", (hosts(&["r:5000/genkai:1 host 64m"]), 2)),
        ] {
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
        for (text, words) in [
            ("there", "here:PROCESSES"),
            ("here:0", "from 1 to 256"),
            ("here:x", "from 1 to 256"),
            ("ssh", "write the hosts"),
            ("ssh:", "not the name of a host"),
            ("ssh:a,,b", "not the name of a host"),
            ("ssh:-oProxyCommand=x", "not the name of a host"),
            ("ssh:a:999", "from 1 to 256"),
            ("docker:x", "here:PROCESSES"),
            ("podman", "write the image"),
            ("podman:", "not the name of an image"),
            ("podman:-v", "not the name of an image"),
            ("podman:x,containers=0", "from 1 to 256"),
            ("podman:x,network=", "a value is wanted"),
            ("podman:x,network=--privileged", "a value is wanted"),
            ("podman:x,image=y", "containers=, network=, cpus= and memory="),
            ("podman:x,cpus=1,cpus=2", "stands twice"),
            ("kubernetes", "write the number of pods"),
            ("kubernetes:0", "from 1 to 256"),
            ("kubernetes:2,pods=3", "namespace=, image=, context="),
            ("kubernetes:2,namespace=Not_one", "not the name of a namespace"),
            ("kubernetes:2,image=", "not the name of an image"),
            ("kubernetes:2,memory=lots", "an amount"),
            ("kubernetes:2,wait=soon", "wait="),
            ("kubernetes:2,cpu=1,cpu=2", "stands twice"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
