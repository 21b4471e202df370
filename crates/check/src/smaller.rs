//! Smaller values than the proposed one once more: the smallest that held the load asked for, and the largest that did not.

use genkai_model::limit::{Law, RemedyUnit};
use serde_json::{Value as Json, json};

use crate::broken::Judged;
use crate::expected::Expected;
use crate::search::{End, Search, Step, Test};

impl<'e> Search<'_, 'e> {
    /// What the verdict must say of smaller values.
    pub(crate) fn smaller(&self, expected: &mut Expected) {
        let tried: Vec<&Judged<'e>> = self.tried("smaller").collect();
        // What held without any change needs no larger value; where larger ones failed, no smaller one is known to hold.
        let contradicts = |one: &Judged<'_>| match one.trial.start.text("/purpose") {
            "baseline" => one.held(),
            _ => one.onset.is_some(),
        };
        let told = self.end == End::Prove && !self.proof().any(contradicts);
        let all = if told { self.all_smaller(&tried) } else { Vec::new() };
        if all.is_empty() {
            return expected.there("/smaller", false, "no smaller value was tried", None);
        }
        let line = tried.last().map(|one| one.trial.start.number);
        expected.same("/smaller", &all.into(), "what held and what failed at the load asked for, trial by trial", line);
    }

    /// Of each setting that was changed, the last one first.
    fn all_smaller(&self, tried: &[&Judged<'e>]) -> Vec<Json> {
        let lifted: Vec<(&Step<'e>, &Test<'e>)> =
            self.steps.iter().filter_map(|step| Some((step, step.proved()?))).collect();
        let mut told: Vec<String> = Vec::new();
        let mut all = Vec::new();
        for (_, test) in lifted.iter().rev() {
            let Some(setting) = of(test).filter(|setting| !told.contains(setting)) else { continue };
            all.extend(self.between(&setting, &lifted, tried));
            told.push(setting);
        }
        all
    }

    fn between(&self, setting: &str, lifted: &[(&Step<'e>, &Test<'e>)], tried: &[&Judged<'e>]) -> Option<Json> {
        let mine: Vec<_> = lifted.iter().filter(|(_, test)| of(test).as_deref() == Some(setting)).collect();
        let (_, end) = lifted.last()?;
        let unit = mine.last().and_then(|(_, test)| unit(test))?;
        let number = |judged: &Judged<'_>| value(judged, setting, unit);
        let mut holds = (
            number(&end.after).filter(|_| mine.last().is_some_and(|(_, test)| is_number(test)))?,
            end.after.trial.number,
        );
        let early = |at: &Judged<'_>| at.level().is_some_and(|level| level <= self.load_asked());
        let failed = mine.iter().filter(|(step, _)| early(&step.at));
        let failed = failed.filter_map(|(step, test)| Some((had(&step.at, test, setting)?, step.at.trial.number)));
        let mut fails = failed.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|fails| fails.0 < holds.0)?;
        let proposed = holds.0;
        let beside = |judged: &Judged<'_>| -> Vec<String> {
            let all = judged.trial.start.items("/changes").iter();
            let others = all.filter(|one| one.get("setting").and_then(Json::as_str) != Some(setting));
            let mut others: Vec<String> = others.map(Json::to_string).collect();
            others.sort();
            others
        };
        let differs = |one: &Judged<'_>| number(one).is_some_and(|value| value.total_cmp(&proposed).is_ne());
        let mut seen = false;
        for one in tried.iter().filter(|one| differs(one) && beside(one) == beside(&end.after)) {
            seen = true;
            let Some(value) = number(one).filter(|_| one.generator.is_valid() && one.is_whole()) else { continue };
            if one.onset.is_none() && one.is_silent() {
                continue;
            }
            let at = (value, one.trial.number);
            if one.onset.is_some() && value > fails.0 {
                fails = at;
            } else if one.onset.is_none() && fails.0 < value && value < holds.0 {
                holds = at;
            }
        }
        let told = |(value, trial): (f64, u32)| json!({ "value": words(value, unit), "trial": trial });
        seen.then(|| json!({ "setting": setting, "holds": told(holds), "fails": told(fails) }))
    }
}

/// The setting that a test changed.
fn of(test: &Test<'_>) -> Option<String> {
    test.candidate.limit.remedy.as_ref().map(|remedy| remedy.setting.clone())
}

/// How its setting is written.
fn unit(test: &Test<'_>) -> Option<RemedyUnit> {
    test.candidate.limit.remedy.as_ref().map(|remedy| remedy.unit)
}

/// A number in the words of its setting: bytes in the largest unit that is whole, seconds with their letter.
fn words(value: f64, unit: RemedyUnit) -> String {
    let bytes = value as u64;
    let whole = |size: u64| bytes >= size && bytes.is_multiple_of(size);
    match unit {
        RemedyUnit::Time => format!("{value}s"),
        RemedyUnit::Bytes if whole(1 << 30) => format!("{}g", bytes >> 30),
        RemedyUnit::Bytes if whole(1 << 20) => format!("{}m", bytes >> 20),
        RemedyUnit::Bytes if whole(1 << 10) => format!("{}k", bytes >> 10),
        RemedyUnit::Bytes => bytes.to_string(),
        _ => value.to_string(),
    }
}

/// The number in such words.
fn number_in(text: &str, unit: RemedyUnit) -> Option<f64> {
    let plain = |text: &str| text.parse::<f64>().ok();
    match (unit, text.chars().last()?) {
        (RemedyUnit::Time, 's') => plain(&text[..text.len() - 1]),
        (RemedyUnit::Time, _) => None,
        (RemedyUnit::Bytes, 'k') => Some(plain(&text[..text.len() - 1])? * 1024.0),
        (RemedyUnit::Bytes, 'm') => Some(plain(&text[..text.len() - 1])? * 1_048_576.0),
        (RemedyUnit::Bytes, 'g') => Some(plain(&text[..text.len() - 1])? * 1_073_741_824.0),
        _ => plain(text),
    }
}

/// Whether it changes a number, a size or a time that counts what the limit does.
fn is_number(test: &Test<'_>) -> bool {
    let limit = &test.candidate.limit;
    let wanted = [RemedyUnit::Count, RemedyUnit::Seconds, RemedyUnit::Bytes, RemedyUnit::Time];
    unit(test).is_some_and(|unit| wanted.contains(&unit))
        && !matches!(
            limit.law,
            Law::Tried { word: Some(_), .. }
                | Law::Rate { .. }
                | Law::Cpu { .. }
                | Law::Handshakes { .. }
                | Law::Delay { .. }
                | Law::Unknown
        )
}

/// The number of a setting where it failed: what that trial gave it, else what the limit says that it was.
fn had(at: &Judged<'_>, test: &Test<'_>, setting: &str) -> Option<f64> {
    let limit = &test.candidate.limit;
    if !is_number(test) {
        return None;
    }
    let all = at.trial.start.items("/changes").iter();
    let given = all
        .filter(|one| one.get("setting").and_then(Json::as_str) == Some(setting))
        .find_map(|one| one.get("to")?.as_str());
    let unit = unit(test)?;
    match (given, &limit.law) {
        (Some(text), _) => number_in(text, unit),
        (None, _) if limit.setting != setting => None,
        (None, Law::BodySize { value } | Law::MessageSize { value } | Law::Idle { after: value }) => Some(*value),
        (None, _) => number_in(&limit.value, unit),
    }
}

/// The number that a trial gave a setting.
fn value(judged: &Judged<'_>, setting: &str, unit: RemedyUnit) -> Option<f64> {
    let mut all = judged.trial.start.items("/changes").iter();
    let mine = all.find(|one| one.get("setting").and_then(Json::as_str) == Some(setting))?;
    number_in(mine.get("to").and_then(Json::as_str)?, unit)
}
