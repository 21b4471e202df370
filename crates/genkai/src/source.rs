//! `--source`: addresses of this machine that connections come from.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::Failure;

/// Most addresses in all.
const MOST: usize = 4096;

/// An address, or a network of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceFlag {
    address: IpAddr,
    /// Bits of the network.
    bits: u32,
}

impl FromStr for SourceFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<SourceFlag, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| "write an IP address, or a network like 127.0.0.0/26")?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(all), str::parse).ok().filter(|bits| *bits <= all);
        let bits = bits.ok_or_else(|| format!("a network has at most {all} bits"))?;
        if address.is_unspecified() || address.is_multicast() {
            return Err("is not the address of a host".to_owned());
        }
        Ok(SourceFlag { address, bits })
    }
}

impl SourceFlag {
    /// Its addresses, without those of a network of IPv4 that stand for the network and for everybody in it (RFC 1122
    /// section 3.2.1.3).
    fn addresses(self) -> Vec<IpAddr> {
        let all = if self.address.is_ipv4() { 32 } else { 128 };
        let size = 1u128.checked_shl(all - self.bits).unwrap_or(u128::MAX);
        let (skip, count) = if self.address.is_ipv4() && size > 2 { (1, size - 2) } else { (0, size) };
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MOST + 1);
        let number = match self.address {
            IpAddr::V4(v4) => u128::from(u32::from(v4)),
            IpAddr::V6(v6) => u128::from(v6),
        };
        let first = (number & !(size - 1)) + skip;
        let at = |n: u128| match self.address {
            IpAddr::V4(_) => IpAddr::from(Ipv4Addr::from(n as u32)),
            IpAddr::V6(_) => IpAddr::from(Ipv6Addr::from(n)),
        };
        (first..).take(count).map(at).collect()
    }
}

/// All addresses named, each once, in order.
///
/// # Errors
/// When they are too many.
pub(crate) fn all(flags: &[SourceFlag]) -> Result<Vec<IpAddr>, Failure> {
    let mut seen = BTreeSet::new();
    let mut all: Vec<IpAddr> = flags.iter().flat_map(|flag| flag.addresses()).collect();
    all.retain(|address| seen.insert(*address));
    if all.len() > MOST {
        return Err(Failure::usage(format!("--source: more than {MOST} addresses; use a smaller network")));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let flags: Vec<SourceFlag> = text.split(',').map(|one| one.parse().unwrap()).collect();
        all(&flags).unwrap_or_else(|e| panic!("{}", e.message)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn addresses_and_networks() {
        assert_eq!(read("127.0.0.2,127.0.0.3,127.0.0.2"), ["127.0.0.2", "127.0.0.3"]);
        let net = read("127.0.0.77/26");
        assert_eq!((net.len(), net[0].as_str(), net[61].as_str()), (62, "127.0.0.65", "127.0.0.126"));
        assert_eq!(read("10.0.0.4/31"), ["10.0.0.4", "10.0.0.5"]);
        assert_eq!(read("10.0.0.4/32"), ["10.0.0.4"]);
        assert_eq!(read("::1"), ["::1"]);
        assert_eq!(read("fd00::/126"), ["fd00::", "fd00::1", "fd00::2", "fd00::3"]);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in
            ["", "x", "127.0.0.1/33", "127.0.0.1/", "127.0.0.1/-1", "0.0.0.0", "::/0", "224.0.0.1", "127.0.0.1:80"]
        {
            assert!(bad.parse::<SourceFlag>().is_err(), "{bad}");
        }
        assert!(all(&["127.0.0.0/8".parse().unwrap()]).is_err());
        assert!(all(&["fd00::/1".parse().unwrap()]).is_err());
    }
}
