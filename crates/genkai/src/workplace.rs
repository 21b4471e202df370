//! `--on`: the machines that make a load.

use std::net::IpAddr;
use std::str::FromStr;

use genkai_model::load::{Scale, Way, Workplace};

use crate::Failure;

/// Most processes in all.
const MOST: u16 = 256;

/// Machines of one kind, with processes on each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnFlag {
    /// Hosts for ssh; none: this machine.
    hosts: Vec<String>,
    /// Processes on each.
    processes: u16,
}

impl FromStr for OnFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<OnFlag, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, rest) {
            ("here", rest) => Ok(OnFlag { hosts: Vec::new(), processes: rest.map_or(Ok(1), processes)? }),
            ("ssh", Some(rest)) => {
                let (hosts, number) = split(rest);
                let hosts = hosts.split(',').map(host).collect::<Result<_, _>>()?;
                Ok(OnFlag { hosts, processes: number.map_or(Ok(1), processes)? })
            }
            ("ssh", None) => Err("write the hosts: ssh:load1,load2 or ssh:load1,load2:4".to_owned()),
            _ => Err("write here:PROCESSES or ssh:HOST,HOST:PROCESSES".to_owned()),
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
    /// The machines it names; `ssh` is the program that leads to them.
    fn workplaces(&self, ssh: &[String]) -> Vec<Workplace> {
        let far = |host: &String| Way::Ssh { command: ssh.to_vec(), host: host.clone() };
        let ways = if self.hosts.is_empty() { vec![Way::Here] } else { self.hosts.iter().map(far).collect() };
        ways.into_iter().map(|by| Workplace { by, processes: self.processes }).collect()
    }
}

/// How a load is spread: over the machines of `--on`, or so many processes here, with the sources named.
///
/// # Errors
/// When there are too many processes, or a machine is named twice.
pub(crate) fn scale(on: &[OnFlag], ssh: &str, processes: u16, sources: Vec<IpAddr>) -> Result<Scale, Failure> {
    let ssh: Vec<String> = ssh.split_whitespace().map(str::to_owned).collect();
    let workplaces: Vec<Workplace> = on.iter().flat_map(|flag| flag.workplaces(&ssh)).collect();
    let all: u32 = workplaces.iter().map(|one| u32::from(one.processes)).sum();
    if all > u32::from(MOST) {
        return Err(Failure::usage(format!("--on: {all} processes in all; at most {MOST} are possible")));
    }
    let twice = (1..workplaces.len()).find(|&n| workplaces[..n].iter().any(|other| other.by == workplaces[n].by));
    if let Some(n) = twice {
        let name = workplaces[n].by.name();
        return Err(Failure::usage(format!("--on: `{name}` is named twice; give the number of processes instead")));
    }
    let processes = if workplaces.is_empty() { processes } else { all as u16 };
    let scale = Scale { processes, sources, workplaces };
    if scale.is_spread() && !scale.sources.is_empty() {
        return Err(Failure::usage("--source: names addresses of this machine; it cannot be used with --on ssh:..."));
    }
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Vec<String>, u16), String> {
        text.parse::<OnFlag>().map(|flag| (flag.hosts, flag.processes))
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
            ("podman:x", "here:PROCESSES"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
