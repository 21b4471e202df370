//! Local ports from which HAProxy connects to a server (`source ADDRESS:LOW-HIGH`): one is one connection at once.

use crate::haproxy::config::{Config, Section};
use crate::haproxy::proxy::{Server, giving, origin, parameter};
use crate::settings::SourcedValue;

/// How many ports each server in use is connected to from; none where one of them takes any.
pub(super) fn ports(config: &Config, back: &Section, used: &[Server<'_>]) -> Option<SourcedValue<Vec<u64>>> {
    let mut first = None;
    let mut value = Vec::new();
    for server in used {
        let line = giving(config, back, server, "source")?;
        let written = parameter(line, "source")?;
        let ports = range(written)?;
        value.extend(std::iter::repeat_n(ports, usize::try_from(server.count).ok()?.min(1_000)));
        first.get_or_insert_with(|| (written.to_owned(), origin(config, line)));
    }
    let (written, origin) = first?;
    Some(SourcedValue { value, written, origin })
}

/// The ports of `ADDRESS:LOW-HIGH`; none where it names none.
fn range(written: &str) -> Option<u64> {
    let ports = written.rsplit_once(':')?.1;
    let (low, high) = ports.split_once('-').unwrap_or((ports, ports));
    let (low, high): (u16, u16) = (low.parse().ok()?, high.parse().ok()?);
    (low > 0 && low <= high).then(|| u64::from(high - low) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_as_many_ports_as_its_range() {
        assert_eq!(range("127.0.0.1:41000-41005"), Some(6));
        assert_eq!(range("127.0.0.1:41000"), Some(1));
        assert_eq!((range("127.0.0.1"), range("127.0.0.1:0"), range("0.0.0.0:9-8")), (None, None, None));
    }
}
