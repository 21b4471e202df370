//! The ladder once more: of every break the limit that was named, where its law puts it, where it came, and what was changed then.

use genkai_model::limit::{Law, Limit};
use serde_json::{Value as Json, json};

use crate::answer::{self, Pairs};
use crate::asked::TOLERANCE;
use crate::broken::{self, Judged};
use crate::expected::Expected;
use crate::generator::STEEP;
use crate::laws::of_limit;
use crate::met::Met;
use crate::moved::size;
use crate::predictions::met;
use crate::price::{self, Priced};
use crate::search::{Search, Step, Test};
use crate::weigh::{self, Weighed};

const WHY: &str = "the breaks in the order met, and the laws of what lies beyond";

/// A limit as a rung names it.
fn named(limit: &Limit, met: &Met) -> Json {
    let ends = of_limit(limit, met).levels(met);
    let predicted = ends.map(|(low, high)| json!({ "low": low, "high": high }));
    let Limit { id, subject, setting, value, origin, .. } = limit;
    json!({ "limit": id, "subject": subject, "setting": setting, "value": value, "origin": origin, "predicted": predicted })
}

fn stands(at: &Judged<'_>, named_by: Option<&Weighed>, confidence: Option<&str>) -> Json {
    let limit = named_by.map(|one| named(&one.limit, &met(at)));
    json!({ "rung": "measured", "limit": limit, "confidence": confidence, "met": broken::came(at) })
}

impl<'e> Search<'_, 'e> {
    /// What the verdict must say of the ladder, where this was decided.
    pub(crate) fn ladder(&self, decision: &Json, pairs: &Pairs<'_, 'e>, expected: &mut Expected) {
        let line = self.first.map(|first| first.trial.start.number);
        if !self.is_tuning() || self.steps.is_empty() {
            return expected.there("/ladder", false, "nothing was searched for, or nothing was met", line);
        }
        let others = decision.pointer("/by/stop") == Some(&"other_programs".into());
        let says = |word: &str| decision.get("decided") == Some(&word.into());
        if says("invalid") || says("unanswered") || says("unmoved") && others {
            return expected.there("/ladder", false, "the trials say nothing of the servers", line);
        }
        let confirmed = answer::is_confirmed(decision);
        let carried = says("carried");
        let mut rungs: Vec<Json> = Vec::new();
        for step in &self.steps {
            let Some(test) = step.proved() else { continue };
            if confirmed {
                self.proved(&format!("/ladder/rungs/{}", rungs.len()), step, test, expected);
                rungs.push(self.lifted(step, test));
            } else {
                rungs.push(stands(&step.at, Some(&test.candidate), Some("possible")));
            }
        }
        if carried {
            rungs.extend(self.broken_proposal().map(|at| {
                let all = weigh::all(at, &met(at), &[]);
                let found = all.iter().find(|one| one.left_a_sign());
                stands(at, found, found.map(Weighed::confidence))
            }));
        } else if let Some(last) = self.steps.last().filter(|last| last.proved().is_none() && last.at.onset.is_some()) {
            rungs.push(stands(&last.at, last.untested(), last.untested().map(Weighed::confidence)));
            rungs.extend(self.beyond(last));
        }
        let any = rungs.iter().any(|rung| rung.get("rung") == Some(&"proved".into()));
        let together = if any { self.together(pairs) } else { Json::Null };
        let all = json!({ "asked": self.load_asked(), "rungs": rungs, "together": together });
        expected.same("/ladder", &all, WHY, line);
    }

    fn lifted(&self, step: &Step<'e>, test: &Test<'e>) -> Json {
        let limit = &test.candidate.limit;
        let setting = limit.remedy.as_ref().map_or("", |remedy| remedy.setting.as_str());
        let own = self.first.iter().flat_map(|first| &first.limits).chain([limit]);
        let place = own.into_iter().find(|one| one.setting == setting).map(|one| one.origin.clone());
        json!({
            "rung": "proved",
            "limit": named(limit, &met(&step.at)),
            "met": broken::came(&step.at),
            "place": place,
            "tested": test.after.trial.number,
        })
    }

    /// The change of a rung, and its price.
    fn proved(&self, address: &str, step: &Step<'e>, test: &Test<'e>, expected: &mut Expected) {
        let limit = &test.candidate.limit;
        crate::answer::changed(&format!("{address}/change"), step, test, expected);
        let seen = matches!(limit.law, Law::Tried { .. }).then_some((&step.at, &test.after));
        let itself = price::counted_by(limit, &met(&step.at));
        price::measured(&format!("{address}/measured"), (&limit.subject, itself), seen, expected);
        let to = test.after.trial.start.items("/changes").iter().find(|change| {
            change.get("setting").and_then(Json::as_str) == limit.remedy.as_ref().map(|remedy| remedy.setting.as_str())
        });
        let number = to.and_then(|change| change.get("to")?.as_str()?.parse::<f64>().ok());
        let address = format!("{address}/price");
        let Some(number) = number else {
            return expected.there(address, false, "its value is no number", Some(test.after.trial.start.number));
        };
        let product = self.events.head().text("/plan/system/product");
        Priced { limit, at: &step.at, met: met(&step.at), number, after: Some(&test.after), product }
            .expect(&address, expected);
    }

    /// What was not met although it should be, between what stands and the load asked for: or of which nothing tells when.
    fn beyond(&self, last: &Step<'e>) -> Vec<Json> {
        let asked = self.load_asked();
        let mut met = met(&last.at);
        met.level = asked;
        let reached = if last.at.asked.ramp < STEEP { 0.0 } else { size(&last.at).unwrap_or(0.0) };
        let known: Vec<&str> = (last.untested().map(|one| one.limit.id.as_str()).into_iter())
            .chain(last.tests.iter().map(|test| test.candidate.limit.id.as_str()))
            .collect();
        let mut all: Vec<(f64, &Limit)> = Vec::new();
        for limit in last.at.limits.iter().filter(|limit| !known.contains(&limit.id.as_str())) {
            let told = of_limit(limit, &met);
            let at = told.bites(&limit.law, &met);
            let ends = told.levels(&met).map(|(_, high)| high);
            let by_time = matches!(
                limit.law,
                Law::Rate { .. }
                    | Law::NewConnections { .. }
                    | Law::Handshakes { .. }
                    | Law::Workers { .. }
                    | Law::Growing { .. }
            );
            match at {
                Some(at) if ends > Some(reached * (1.0 + TOLERANCE)) && at < asked => all.push((at, limit)),
                None if by_time => all.push((f64::INFINITY, limit)),
                _ => {}
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rung = |(_, limit): (f64, &Limit)| {
            let remedy = limit.remedy.as_ref().map(|remedy| remedy.setting.clone());
            json!({ "rung": "predicted", "limit": named(limit, &met), "remedy": remedy })
        };
        all.into_iter().map(rung).collect()
    }

    /// What all changes did at once.
    fn together(&self, pairs: &Pairs<'_, 'e>) -> Json {
        let Some(last) = self.steps.iter().rev().find_map(Step::proved) else { return Json::Null };
        let changes = last.after.trial.start.items("/changes");
        let mine: Vec<_> = pairs.iter().filter(|(_, b)| b.trial.start.items("/changes") == changes).collect();
        let failed = mine.iter().filter(|(_, b)| b.onset.is_some()).count();
        json!({
            "trial": last.after.trial.number,
            "held_to": last.after.held_to(),
            "pairs": mine.len(),
            "failed": failed,
        })
    }
}
