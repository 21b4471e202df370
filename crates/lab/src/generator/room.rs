//! What a machine that makes a load has, as a process of ours on it tells before any load.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;

use genkai_engine::{Headroom, TooLarge, preflight_at};
use genkai_model::load::{Load, Way};
use genkai_model::machine::Machine;
use genkai_model::transport::Transport;
use genkai_place::ports_in_use::ports_in_use;
use genkai_place::survey::survey;
use serde::{Deserialize, Serialize};

use super::range;
use crate::error::LabError;
use crate::headroom;

/// What a machine has for connections to certain addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Room {
    /// The machine.
    pub(super) machine: Machine,
    /// Ports that are taken already, of each source address.
    taken: BTreeMap<IpAddr, u64>,
    /// The source address that the system chooses.
    usual: IpAddr,
    /// Which machine it is.
    home: Home,
}

/// Which machine something runs on, as far as addresses that mean another thing on each are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Home {
    /// The start of its kernel; empty: not known.
    boot: String,
    /// Its network: what 127.0.0.1 is.
    network: u64,
    /// Its tree of files: what the path of a socket is.
    files: u64,
}

impl Home {
    fn ours() -> Home {
        let namespace = |name: &str| fs::metadata(format!("/proc/self/ns/{name}")).map_or(0, |of| of.ino());
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Home { boot: boot.trim().to_owned(), network: namespace("net"), files: namespace("mnt") }
    }
}

impl Home {
    /// One for each network, where that is known.
    fn network_name(&self) -> String {
        format!("{} {}", self.boot, self.network)
    }
}

impl Room {
    /// What this machine has for connections to these addresses.
    pub(super) fn look(to: &[SocketAddr]) -> Room {
        let taken = ports_in_use(to).by_source;
        Room { machine: survey(&[]), taken, usual: headroom::usual(to), home: Home::ours() }
    }

    /// The network that connections come from, and the local ports it has.
    pub(super) fn address(&self) -> (String, u32) {
        (self.home.network_name(), range(self.machine.ports))
    }

    /// The same name of this process's network.
    pub(super) fn our_network() -> String {
        Home::ours().network_name()
    }

    /// Whether the part of `load` that the machine reached by `way`, which is this one, makes fits it.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn fit(&self, load: &Load, way: &Way) -> Result<(), TooLarge> {
        let machine = &self.machine;
        let room = Headroom {
            descriptors: machine.descriptors_hard,
            ports: machine.ports,
            listeners: machine.ports_listening,
            taken: self.taken.clone(),
            usual: self.usual,
        };
        preflight_at(load, way, &room)
    }

    /// Whether `load` goes to the same server from there as from here: an address that each machine has for itself leads to another one
    /// on each, which nobody asked to be loaded.
    ///
    /// # Errors
    /// When it does not; `who` is what the machine is called.
    pub(super) fn reach(&self, load: &Load, who: &str) -> Result<(), LabError> {
        let ours = Home::ours();
        let same = |which: fn(&Home) -> u64| {
            !ours.boot.is_empty() && ours.boot == self.home.boot && which(&ours) == which(&self.home)
        };
        let elsewhere = |what: String| {
            Err(LabError::Plan(format!(
                "--on {who}: {what} leads to another server there than here: {who} is another machine\n  hint: load an address that all of the \
                 machines reach (--listen ADDRESS for a server that genkai starts)"
            )))
        };
        if let Transport::Unix { path } = &load.transport {
            return if same(|home| home.files) { Ok(()) } else { elsewhere(format!("the socket {}", path.display())) };
        }
        match destinations(load).find(|to| is_own(to.ip())) {
            Some(to) if !same(|home| home.network) => elsewhere(to.to_string()),
            _ => Ok(()),
        }
    }
}

/// Wherever `load` goes.
fn destinations(load: &Load) -> impl Iterator<Item = &SocketAddr> {
    let targets = load.scenario.iter().flat_map(|scenario| &scenario.targets);
    load.addresses.iter().chain(targets.flat_map(|target| &target.addresses))
}

/// Whether each machine has this address for itself.
fn is_own(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_loopback() || ip.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(to: &str) -> Load {
        Load { addresses: vec![to.parse().unwrap()], ..Load::users(2, 1.0) }
    }

    #[test]
    fn loopback_is_reached_from_this_machine_only() {
        let here = Room::look(&[]);
        let another = |change: fn(&mut Home)| {
            let mut room = here.clone();
            change(&mut room.home);
            room
        };
        let far = another(|home| home.boot = "another".to_owned());
        let apart = another(|home| home.network += 1);
        let unknown = another(|home| home.boot = String::new());
        for own in ["127.0.0.1:80", "127.9.9.9:1", "[::1]:80", "[::ffff:127.0.0.1]:80", "0.0.0.0:80"] {
            assert!(here.reach(&load(own), "load1").is_ok(), "{own}");
            for room in [&far, &apart, &unknown] {
                let error = room.reach(&load(own), "load1").unwrap_err();
                assert!(matches!(&error, LabError::Plan(text) if text.contains("--on load1: ")), "{own}: {error}");
            }
        }
        assert!(far.reach(&load("192.0.2.1:80"), "load1").is_ok());
        let path = Load { transport: Transport::Unix { path: "/run/a".into() }, ..load("127.0.0.1:80") };
        assert!(here.reach(&path, "load1").is_ok() && far.reach(&path, "load1").is_err());
        assert!(another(|home| home.files += 1).reach(&path, "load1").is_err());
    }

    #[test]
    fn what_a_machine_has_is_told_and_read() {
        let mut room = Room::look(&["127.0.0.1:80".parse().unwrap()]);
        room.taken = [("127.0.0.1".parse().unwrap(), 3)].into();
        let text = serde_json::to_string(&room).unwrap();
        assert_eq!(serde_json::from_str::<Room>(&text).unwrap(), room);
        assert!(room.machine.cores > 0 && room.machine.descriptors_hard > 0 && room.machine.servers.is_empty());
    }
}
