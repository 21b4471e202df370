//! A process that listens for a container and passes connections on to it: it serves nothing itself.

use std::collections::BTreeMap;
use std::net::IpAddr;

use genkai_model::evidence::LogLine;
use genkai_model::limit::Limit;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::usage::Usage;

use super::Started;
use crate::product::{Cost, Served};

/// One that says on its command line where it passes connections on to (moby: cmd/docker-proxy).
const PROXY: &str = "docker-proxy";
/// Those that do not: what serves for containers of users other than root, and who only holds the port that the kernel leads to a container.
const OTHERS: [&str; 6] = ["rootlessport", "rootlesskit", "slirp4netns", "pasta", "pasta.avx2", "conmon"];

/// It.
#[derive(Debug)]
struct Forwarder {
    product: &'static str,
    /// Where to; none where it does not say.
    to: Option<Endpoint>,
}

/// Process `pid` as one that listens for a container.
pub(super) fn serves(pid: u32, _: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let found = of(&Started::of(pid))?;
    Some(Ok(Box::new(found)))
}

fn of(started: &Started) -> Option<Forwarder> {
    if started.program != PROXY {
        let product = OTHERS.into_iter().find(|name| started.program == *name)?;
        return Some(Forwarder { product, to: None });
    }
    let value = |names: &[&str]| started.value(names);
    let ip = value(&["-container-ip", "--container-ip"]).and_then(|text| text.parse::<IpAddr>().ok());
    let port = value(&["-container-port", "--container-port"]).and_then(|text| text.parse::<u16>().ok());
    Some(Forwarder { product: PROXY, to: ip.zip(port).map(|(ip, port)| Endpoint::Tcp((ip, port).into())) })
}

impl Served for Forwarder {
    fn product(&self) -> &'static str {
        self.product
    }

    fn told(&self) -> String {
        match &self.to {
            Some(to) => format!("{}, which passes connections on to {to} in a container", self.product),
            None => format!(
                "{}, which passes connections on to a container, whose processes are not looked at: what they take of processors counts as other \
                 programs', and nothing that limits them is known",
                self.product
            ),
        }
    }

    fn is_pool(&self) -> bool {
        false
    }

    fn forwards(&self) -> Option<Endpoint> {
        self.to.clone()
    }

    fn limits(&self, _: &str) -> Vec<Limit> {
        Vec::new()
    }

    fn costs(&mut self, _: Cost) {}

    fn look(&self, _: &Endpoint, _: &Usage) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    fn logs(&mut self, _: &str) -> Vec<LogLine> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_for_a_container_says_so() {
        let started = |program: &str, line: &str| {
            let mut started = Started::of_line(line);
            program.clone_into(&mut started.program);
            started
        };
        let proxy = of(&started(
            "docker-proxy",
            "/usr/bin/docker-proxy -proto tcp -host-ip 0.0.0.0 -host-port 8080 -container-ip 172.17.0.2 -container-port 80 -use-listen-fd",
        ))
        .unwrap();
        assert_eq!(proxy.forwards(), Endpoint::parse("172.17.0.2:80"));
        assert_eq!(proxy.told(), "docker-proxy, which passes connections on to 172.17.0.2:80 in a container");
        let other = of(&started("rootlessport", "rootlessport")).unwrap();
        assert!(other.forwards().is_none() && other.told().contains("counts as other programs'"), "{}", other.told());
        assert!(of(&started("node", "node -container-ip 172.17.0.2 -container-port 80")).is_none());
    }
}
