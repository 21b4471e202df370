//! The comparison of WebSocket servers as a plan.

use std::collections::BTreeMap;

use genkai_model::latencies::{Contender, LatencyComparison};
use genkai_model::objective::Objective;
use genkai_model::plan::{Plan, Study, System};
use genkai_model::units::{Bytes, Span};
use genkai_targets::application::REFERENCE;

use super::{Size, procedure, users};

/// How many, how often, how large: a comparison without contenders.
pub fn shape(size: Size) -> LatencyComparison {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    let (clients, sizes, rounds, warm_up, starts) = match size {
        Size::Quick => (200, vec![16 * KIB, MIB, 4 * MIB], 10, 10, 1),
        Size::Full => (1000, vec![KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB], 10, 30, 5),
    };
    LatencyComparison {
        contenders: Vec::new(),
        clients,
        message: Bytes(128),
        sizes: sizes.into_iter().map(Bytes).collect(),
        rounds,
        warm_up,
        starts,
        timeout: Span::from_secs(10),
        seed: 1,
    }
}

/// One setting of one server, and the values that are swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The server.
    pub server: String,
    /// The setting.
    pub setting: String,
    /// Its values, in the user's words.
    pub values: Vec<String>,
}

/// Contenders: each server with its settings, and for every value that is swept a variant of its own.
pub fn contenders(
    servers: &[String],
    settings: &BTreeMap<String, BTreeMap<String, String>>,
    sweeps: &[Sweep],
) -> Vec<Contender> {
    let of = |server: &String| settings.get(server).cloned().unwrap_or_default();
    let plain = servers.iter().map(|server| Contender {
        name: server.clone(),
        server: server.clone(),
        settings: of(server),
        variant: false,
        reference: server == REFERENCE && servers.len() > 1,
    });
    let swept = sweeps.iter().flat_map(|sweep| {
        sweep.values.iter().map(move |value| {
            let mut settings = of(&sweep.server);
            settings.insert(sweep.setting.clone(), value.clone());
            let name = format!("{} {}={value}", sweep.server, sweep.setting);
            Contender { name, server: sweep.server.clone(), settings, variant: true, reference: false }
        })
    });
    plain.chain(swept).collect()
}

/// The plan of a comparison.
pub fn plan(size: Size, comparison: LatencyComparison) -> Plan {
    let mut load = users(comparison.clients, f64::from(comparison.clients));
    load.request.path = "/app".to_owned();
    let title = format!("websocket-servers ({})", size.word());
    let system = System::generated("websocket-servers");
    Plan { study: Study::Latencies(comparison), ..Plan::of(title, system, load, Objective::default(), procedure(size)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_swept_are_variants_beside_their_server() {
        let settings = BTreeMap::from([("b".to_owned(), BTreeMap::from([("heap".to_owned(), "1g".to_owned())]))]);
        let sweep = Sweep {
            server: "b".to_owned(),
            setting: "buffer".to_owned(),
            values: vec!["64k".to_owned(), "2m".to_owned()],
        };
        let all = contenders(&["a".to_owned(), "b".to_owned()], &settings, &[sweep]);
        let names: Vec<(&str, bool)> = all.iter().map(|c| (c.name.as_str(), c.variant)).collect();
        assert_eq!(names, [("a", false), ("b", false), ("b buffer=64k", true), ("b buffer=2m", true)]);
        assert_eq!(all[3].settings.len(), 2, "the server's other settings stay");
    }
}
