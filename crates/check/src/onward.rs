//! Connections to what stands behind a server once more: the most that any look at it counted, before a change and with it.

use genkai_model::limit::{Law, Limit};
use serde_json::{Value as Json, json};

use crate::broken::Judged;
use crate::expected::Expected;
use crate::instants::gauge;
use crate::looked::{of_clients, surely_over};

/// A change of a server's, and the two trials that tell of it.
pub(crate) struct Between<'a, 'e> {
    /// Whose connections count.
    pub(crate) subject: &'a str,
    /// The server under test.
    pub(crate) product: &'a str,
    /// Where the first value of the setting failed, and where the last was tested.
    pub(crate) trials: Option<(&'a Judged<'e>, &'a Judged<'e>)>,
}

impl Between<'_, '_> {
    /// What must stand at `address`.
    pub(crate) fn expect(&self, address: &str, expected: &mut Expected) {
        let told = self.trials.and_then(|(before, after)| Some((self.most(before)?, self.most(after)?, after)));
        let Some((before, with, after)) = told else {
            return expected.there(address, false, "nobody counted connections to what stands behind it", None);
        };
        let told =
            json!({ "subject": self.subject, "before": before, "after": with, "known": self.known(&after.limits) });
        expected.same(address, &told, "what the looks at its sockets counted", Some(after.trial.start.number));
    }

    fn most(&self, judged: &Judged<'_>) -> Option<Json> {
        let ticks = judged.trial.ticks();
        let began = judged.trial.start.number("/at_us");
        let name = format!("{}.onward_connections", self.subject);
        let mut looks = Vec::new();
        for line in surely_over(judged, self.subject) {
            let (at, held) = (line.number("/at_us") - began, line.json.get("metrics").and_then(|all| all.get(&name)));
            if let Some(held) = held.and_then(Json::as_f64).filter(|_| at > 0.0) {
                looks.push((at, held));
            }
        }
        let most = looks.iter().map(|look| look.1).fold(f64::NEG_INFINITY, f64::max);
        let (at, held) = looks.iter().find(|look| look.1 >= most)?;
        Some(json!({
            "trial": judged.trial.number,
            "looks": looks.len(),
            "clients": gauge(&ticks, *at, of_clients(judged)),
            "connections": held,
        }))
    }

    /// The tightest number of each other server, where all others stand behind: it is the one under test.
    fn known(&self, limits: &[Limit]) -> Vec<Json> {
        if self.subject != self.product {
            return Vec::new();
        }
        let others = [self.subject, self.product, "kernel", "machine"];
        let numbered: Vec<(&Limit, f64)> =
            limits.iter().filter(|one| !others.contains(&one.subject.as_str())).filter_map(served).collect();
        let mut subjects: Vec<&str> = Vec::new();
        for (limit, _) in &numbered {
            if !subjects.contains(&limit.subject.as_str()) {
                subjects.push(&limit.subject);
            }
        }
        let tightest = |subject: &&str| {
            let theirs = numbered.iter().filter(|(limit, _)| limit.subject == **subject);
            theirs.reduce(|least, one| if one.1 < least.1 { one } else { least })
        };
        let told = |(limit, most): &(&Limit, f64)| json!({ "subject": limit.subject, "setting": limit.setting, "value": limit.value, "at_once": most });
        subjects.iter().filter_map(tightest).map(told).collect()
    }
}

/// A limit with the number of clients that it serves at once, whatever they do.
fn served(limit: &Limit) -> Option<(&Limit, f64)> {
    let most = match limit.law {
        Law::Workers { workers: most, .. } | Law::Growing { most, .. } => most,
        Law::Slots { value, reserved, idle_cost, busy_cost, pools, .. } => {
            let dear = if busy_cost > idle_cost { busy_cost } else { idle_cost };
            let pool = ((value - reserved) / dear).floor();
            if pool > 0.0 { pool * pools } else { 0.0 }
        }
        _ => return None,
    };
    Some((limit, most))
}
