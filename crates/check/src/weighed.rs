//! A limit as a candidate, and where it was to be met, put down plainly once more.

use genkai_model::limit::{Law, Limit, Strength};
use serde_json::{Value as Json, json};

use crate::asked::TOLERANCE;
use crate::broken::Judged;
use crate::instants;
use crate::laws::of_limit;
use crate::met::{Ends, Met};
use crate::score::confidence;

/// A limit as a candidate.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    /// The limit.
    pub(crate) limit: Limit,
    /// What speaks for it.
    pub(crate) evidence: Vec<Json>,
    /// What speaks against it.
    pub(crate) against: Vec<&'static str>,
    /// From 0 to 1.
    pub(crate) score: f64,
    /// Its strongest sign.
    pub(crate) strongest: Option<Strength>,
    pub(crate) out_of_reach: bool,
}

impl Weighed {
    /// Whether it can be the cause.
    pub(crate) fn is_possible(&self) -> bool {
        !self.out_of_reach && self.against.iter().all(|one| *one == "wrong_place")
    }

    /// Whether it is one of them and left a sign that does more than fit.
    pub(crate) fn left_a_sign(&self) -> bool {
        self.is_possible() && matches!(self.strongest, Some(Strength::Supports | Strength::Decisive))
    }

    /// How sure it is without a test.
    pub(crate) fn confidence(&self) -> &'static str {
        confidence(self.strongest, &self.evidence, self.against.is_empty())
    }

    /// As a verdict lists it among others.
    pub(crate) fn told(&self) -> Json {
        let Limit { id, subject, setting, .. } = &self.limit;
        json!({ "limit": id, "subject": subject, "setting": setting, "score": self.score, "evidence": self.evidence, "against": self.against })
    }

    /// The names of its signs.
    pub(crate) fn names(&self) -> Vec<String> {
        let text = |one: &Json, name: &str| one.get(name).and_then(Json::as_str).map(str::to_owned);
        let name = |one: &Json| match one.get("evidence")?.as_str()? {
            "log" => text(one, "signature"),
            "grew" | "reached" | "answered" | "handshakes" => text(one, "metric"),
            "closed" => Some(format!("close code {}", one.get("code")?)),
            _ => None,
        };
        self.evidence.iter().filter_map(name).collect()
    }
}

/// Whether a place lies in a range, give or take a tenth and one.
pub(crate) fn is_near((low, high): Ends, at: f64) -> bool {
    at >= low * (1.0 - TOLERANCE) - 1.0 && at <= high * (1.0 + TOLERANCE) + 1.0
}

/// Whether users keep their connections while they think, and for which part of their time is known.
pub(crate) fn thinks(judged: &Judged<'_>, met: &Met) -> bool {
    let keeps = met.keeps && met.think > 0.0 && met.spawn.is_some();
    keeps && met.service.is_some() && !met.tunnels && !judged.asked.shares()
}

/// What a limit counts, when a trial broke, with what its law predicts in the same unit.
pub(crate) fn place(limit: &Limit, judged: &Judged<'_>, met: &Met) -> Option<(Ends, f64)> {
    let predicted = of_limit(limit, met);
    let onset = judged.onset?;
    match limit.law {
        Law::Slots { idle_cost, .. } => {
            let shares = judged.asked.shares();
            let each = met.think == 0.0 || !met.counted || shares && met.keeps;
            let users = each && !met.tunnels && met.spawn.is_some();
            let connected = !met.tunnels && !shares && met.keeps && idle_cost > 0.0;
            let seen = match () {
                () if users || thinks(judged, met) && idle_cost == 0.0 => judged.level()?,
                () if connected => instants::counted_at(&judged.trial.ticks(), onset.at_us as f64, "/connections"),
                () => judged.in_flight()?,
            };
            Some((predicted.clients?, seen))
        }
        Law::Workers { .. }
        | Law::Growing { .. }
        | Law::Rate { .. }
        | Law::NewConnections { .. }
        | Law::Handshakes { .. } => Some((predicted.levels(met)?, judged.level()?)),
        _ => None,
    }
}
