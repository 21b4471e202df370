//! Everything that is decided before anything starts.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::cache::Caching;
use crate::comparison::Comparison;
use crate::idle_requests::IdleSearch;
use crate::latencies::LatencyComparison;
use crate::load::Load;
use crate::objective::Objective;
use crate::units::Span;

pub use crate::cluster::{Backplane, Cluster, Fault, Router};
pub use crate::system::{
    Answers, Backend, ClusterServer, ConfigSource, Front, OriginSpec, Site, System, Upgrade, WebSocketServer,
};

/// A whole run: the system, the load to withstand, what must hold, and what is to be found out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    /// What people call this run, e.g. `nginx-worker-connections (quick)`.
    pub title: String,
    /// The part of an experiment of several runs that this one is, e.g. `apache-websocket/idle/quick`: the same whatever the title says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The servers. A study with servers of its own names the experiment here, and a comparison its first contender.
    pub system: System,
    /// The load asked for. Addresses are empty until the servers are up.
    pub load: Load,
    /// What must hold under it.
    pub objective: Objective,
    /// How long trials are and how a proof is made.
    pub procedure: Procedure,
    /// What is to be found out.
    pub study: Study,
}

/// What is to be found out, with what only this kind of study needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Study {
    /// How a server that runs already bears a load.
    Load,
    /// Which limit the system meets, and what lifts it.
    #[default]
    Tune,
    /// Which messages of chat rooms are lost, on how many nodes.
    Rooms(Cluster),
    /// How many requests that are held open servers bear at once.
    IdleRequests {
        /// The servers.
        cluster: Cluster,
        /// The numbers of requests to be tried.
        search: IdleSearch,
    },
    /// How fast WebSocket servers answer beside each other.
    #[serde(rename = "contest")]
    Latencies(LatencyComparison),
    /// How systems differ under the load.
    Compare(Comparison),
    /// How caches differ in front of an origin.
    Cache(Box<Caching>),
}

impl Plan {
    /// A plan to find the limit of one system.
    pub fn of(title: String, system: System, load: Load, objective: Objective, procedure: Procedure) -> Plan {
        Plan { title, part: None, system, load, objective, procedure, study: Study::Tune }
    }

    /// Nodes with what stands before and between them, where the study has such.
    pub fn cluster(&self) -> Option<&Cluster> {
        match &self.study {
            Study::Rooms(cluster) | Study::IdleRequests { cluster, .. } => Some(cluster),
            _ => None,
        }
    }

    /// The search for how many requests are borne at once, if that is the study.
    pub fn idle_requests(&self) -> Option<IdleSearch> {
        if let Study::IdleRequests { search, .. } = self.study { Some(search) } else { None }
    }

    /// The comparison of WebSocket servers, if that is the study.
    pub fn latencies(&self) -> Option<&LatencyComparison> {
        if let Study::Latencies(comparison) = &self.study { Some(comparison) } else { None }
    }

    /// The comparison of systems, if that is the study.
    pub fn comparison(&self) -> Option<&Comparison> {
        if let Study::Compare(comparison) = &self.study { Some(comparison) } else { None }
    }

    /// The comparison of caches, if that is the study.
    pub fn caching(&self) -> Option<&Caching> {
        if let Study::Cache(caching) = &self.study { Some(caching) } else { None }
    }
}

impl<'de> Deserialize<'de> for Plan {
    /// Reads plans of every version: those of `genkai.run/1` have no study, but a field for each kind of it.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Plan, D::Error> {
        Stored::deserialize(from).map(Stored::plan)
    }
}

/// A plan as any version wrote it.
#[derive(Deserialize)]
struct Stored {
    title: String,
    part: Option<String>,
    system: System,
    load: Load,
    objective: Objective,
    procedure: Procedure,
    study: Option<Study>,
    cluster: Option<StoredCluster>,
    contest: Option<LatencyComparison>,
    comparison: Option<Comparison>,
    caching: Option<Box<Caching>>,
}

/// A cluster of `genkai.run/1`, which had the search for requests held open in it.
#[derive(Deserialize)]
struct StoredCluster {
    #[serde(flatten)]
    cluster: Cluster,
    held: Option<IdleSearch>,
}

impl Stored {
    fn plan(self) -> Plan {
        let Stored { title, part, system, load, objective, procedure, study, .. } = self;
        let cluster = self.cluster.map(|StoredCluster { cluster, held }| match held {
            Some(search) => Study::IdleRequests { cluster, search },
            None => Study::Rooms(cluster),
        });
        let study = study
            .or(cluster)
            .or(self.contest.map(Study::Latencies))
            .or(self.comparison.map(Study::Compare))
            .or(self.caching.map(Study::Cache));
        // `genkai load` called its server so, and nothing else did.
        let usual = if system.product == System::STANDING { Study::Load } else { Study::Tune };
        Plan { title, part, system, load, objective, procedure, study: study.unwrap_or(usual) }
    }
}

/// How many times the load asked for the test of a cause may send, to see the next limit; or the headroom, if that is more.
pub const FARTHEST: f64 = 2.0;

/// How the answer is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Procedure {
    /// At most so many limits are lifted one after another.
    pub max_limits: u32,
    /// Smallest number of baseline/proposal pairs in the proof.
    pub min_pairs: u32,
    /// Largest number of pairs.
    pub max_pairs: u32,
    /// How long the full load is held after the ramp when a break is looked for.
    pub hold: Span,
    /// Ramp of a proof trial.
    pub proof_ramp: Span,
    /// How long the full load is held in a proof trial.
    pub proof_hold: Span,
    /// The proposal must hold for so many times the load asked for (1.2: a fifth more).
    pub headroom: f64,
    /// How long a violation must last to be a break.
    pub sustained: Span,
    /// Seed of every random choice.
    pub seed: u64,
    /// How long directives of the user's file may be left out, to see which make it fail where nothing else is named; 0: not at all.
    #[serde(default)]
    pub bisect: Span,
    /// At most so many values below the proposed ones are tried; 0: none.
    #[serde(default)]
    pub smaller: u32,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::units::Bytes;

    /// A plan as `genkai.run/1` wrote it, with `more` of its fields.
    fn old(product: &str, more: Value) -> Plan {
        let procedure = json!({ "max_limits": 4, "min_pairs": 3, "max_pairs": 3, "hold": "3s", "proof_ramp": "2s", "proof_hold": "3s",
            "headroom": 1.2, "sustained": "1s", "seed": 3 });
        let mut plan = json!({ "title": "t", "system": System::generated(product), "load": Load::users(1, 1.0),
            "objective": "errors < 0.1%", "procedure": procedure });
        plan.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(plan).unwrap()
    }

    #[test]
    fn old_plans_have_the_study_that_their_fields_say() {
        assert_eq!(old("nginx", json!({})).study, Study::Tune);
        assert_eq!(old("server", json!({})).study, Study::Load);
        let cluster = json!({ "nodes": [1, 2], "backplane": "redis", "member_queue": "1m", "trace": 9 });
        let rooms = old("rooms", json!({ "cluster": cluster }));
        assert!(
            matches!(&rooms.study, Study::Rooms(cluster) if cluster.nodes == [1, 2] && cluster.server == "embedded")
        );
        let mut held = cluster;
        held["held"] = json!({ "time": "25s", "first": 4, "most": 64 });
        let held = old("rooms", json!({ "cluster": held }));
        assert_eq!(held.idle_requests().map(|search| search.most), Some(64));
        assert_eq!(held.cluster().map(|cluster| cluster.nodes.len()), Some(2));
        let comparison = json!({ "contenders": [], "clients": 2, "message": "128", "sizes": [], "rounds": 1, "warm_up": 0, "starts": 1,
            "timeout": "10s", "seed": 1 });
        assert_eq!(
            old("websocket-servers", json!({ "contest": comparison })).latencies().map(|one| one.clients),
            Some(2)
        );
        let comparison = json!({ "contenders": [], "control": true, "ramp": "1s", "hold": "1s", "looks": [2], "margin": 0.05,
            "deciding": ["throughput"], "seed": 1 });
        assert_eq!(old("nginx", json!({ "comparison": comparison })).comparison().map(|one| one.looks[0]), Some(2));
    }

    #[test]
    fn plans_are_read_as_they_are_written() {
        let cluster = Cluster {
            nodes: vec![1],
            server: "embedded".to_owned(),
            router: None,
            backplane: Backplane::None,
            redis: Vec::new(),
            member_queue: Bytes(0),
            trace: 0,
            faults: vec![Fault::LoseEvery(3)],
        };
        let search = IdleSearch { time: Span::from_secs(1), first: 1, most: 2 };
        for study in [Study::Tune, Study::Load, Study::Rooms(cluster.clone()), Study::IdleRequests { cluster, search }]
        {
            let plan = Plan { study, part: Some("a/b/quick".to_owned()), ..old("nginx", json!({})) };
            let written = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&written).unwrap(), plan, "{written}");
        }
    }
}
