//! Smaller values than the proposed one once more: the smallest that held the load asked for, and the largest that did not.

use genkai_model::limit::Law;
use serde_json::{Value as Json, json};

use crate::broken::Judged;
use crate::expected::Expected;
use crate::search::{End, Search, Step, Test};

impl<'e> Search<'_, 'e> {
    /// What the verdict must say of smaller values.
    pub(crate) fn smaller(&self, expected: &mut Expected) {
        let tried: Vec<&Judged<'e>> = self.tried("smaller").collect();
        match self.between(&tried).filter(|_| !tried.is_empty() && self.end == End::Prove) {
            None => expected.there("/smaller", false, "no smaller value was tried", None),
            Some(all) => {
                let line = tried.last().map(|one| one.trial.start.number);
                expected.same(
                    "/smaller",
                    &all,
                    "what held and what failed at the load asked for, trial by trial",
                    line,
                );
            }
        }
    }

    fn between(&self, tried: &[&Judged<'e>]) -> Option<Json> {
        let lifted: Vec<(&Step<'e>, &Test<'e>)> =
            self.steps.iter().filter_map(|step| Some((step, step.proved()?))).collect();
        let (_, last) = lifted.last()?;
        let setting = of(last)?;
        let number = |judged: &Judged<'_>| value(judged, &setting);
        let mut holds = (number(&last.after).filter(|_| present(last).is_some())?, last.after.trial.number);
        let early = |at: &Judged<'_>| at.level().is_some_and(|level| level <= self.load_asked());
        let failed = lifted.iter().filter(|(step, test)| of(test).as_ref() == Some(&setting) && early(&step.at));
        let failed = failed.filter_map(|(step, test)| Some((present(test)?, step.at.trial.number)));
        let mut fails = failed.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let beside = |judged: &Judged<'_>| -> Vec<Json> {
            let all = judged.trial.start.items("/changes").iter();
            all.filter(|one| one.get("setting").and_then(Json::as_str) != Some(&setting)).cloned().collect()
        };
        for one in tried.iter().filter(|one| one.generator.is_valid() && one.is_whole()) {
            let Some(value) = number(one).filter(|_| beside(one) == beside(&last.after)) else { continue };
            let at = (value, one.trial.number);
            if one.onset.is_some() && value > fails.0 {
                fails = at;
            } else if one.onset.is_none() && fails.0 < value && value < holds.0 {
                holds = at;
            }
        }
        let told = |(value, trial): (f64, u32)| json!({ "value": value.to_string(), "trial": trial });
        Some(json!({ "setting": setting, "holds": told(holds), "fails": told(fails) }))
    }
}

/// The setting that a test changed.
fn of(test: &Test<'_>) -> Option<String> {
    test.candidate.limit.remedy.as_ref().map(|remedy| remedy.setting.clone())
}

/// The number before it was changed, where only trials tell of it.
fn present(test: &Test<'_>) -> Option<f64> {
    match test.candidate.limit.law {
        Law::Tried { value, word: None } => Some(value),
        _ => None,
    }
}

/// The number that a trial gave a setting.
fn value(judged: &Judged<'_>, setting: &str) -> Option<f64> {
    let mut all = judged.trial.start.items("/changes").iter();
    let mine = all.find(|one| one.get("setting").and_then(Json::as_str) == Some(setting))?;
    mine.get("to").and_then(Json::as_str)?.parse().ok()
}
