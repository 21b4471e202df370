//! From the number that a law needs to a value that can be written into a configuration.

use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit};
use genkai_model::units::{Bytes, Range};

use super::{demand::Demand, law, never_full};

/// A value that should lift a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Lift {
    /// The setting to change.
    pub setting: String,
    /// The value, as written.
    pub value: String,
    /// The smallest value that holds for the load asked for without headroom, as written.
    pub minimum: String,
    /// The law with the value in place; none where the limit is gone.
    pub law: Option<Law>,
    /// Clients the value holds for, by the formula; none where clients are not what it counts.
    pub holds_for: Option<Range>,
    /// The ceiling, when it kept the value below what is needed.
    pub capped: Option<Ceiling>,
}

/// The value that lifts `limit` for `headroom` times the load asked for, rounded up to the remedy's step. Where the
/// formula cannot tell, or says that the present value should do (it evidently does not), the present value is doubled.
/// `stretch`: see [`law::needed`].
///
/// None when the limit has no remedy, or the present value is the largest that works here.
pub fn lift(limit: &Limit, demand: &Demand, headroom: f64, stretch: f64) -> Option<Lift> {
    let remedy = limit.remedy.as_ref()?;
    if let Some(word) = &remedy.word {
        return Some(gone(remedy, word.clone()));
    }
    if matches!(remedy.unit, RemedyUnit::Off | RemedyUnit::Zero) {
        return Some(off(remedy));
    }
    if let Law::Tried { word: Some(word), .. } = &limit.law {
        return Some(gone(remedy, word.clone()));
    }
    if matches!(limit.law, Law::Rate { .. }) {
        return bucket(limit, remedy, demand, headroom);
    }
    if at_ceiling(limit) {
        return None;
    }
    let present = present(limit)?;
    // More than come have no use for it, but that one who comes again is let in before he is seen to have left (Redis refused 3 of 16 that came and
    // went with room for 16).
    let twice = limit.comes.map(|comes| comes * 2.0);
    let most = twice.and_then(|most| law::needed_slots(&limit.law, demand, most)).unwrap_or(f64::INFINITY);
    let needed = |level: f64| law::needed(&limit.law, demand, level, stretch).map(|needed| needed.min(most));
    let asked = |level: f64| needed(level).filter(|n| *n > present);
    let minimum = asked(demand.asked).unwrap_or(present + 1.0);
    // What does not grow with the level of the load.
    let alike = matches!(limit.law, Law::BodySize { .. } | Law::MessageSize { .. } | Law::Idle { .. });
    let body = if alike { headroom } else { 1.0 };
    let wanted = asked(demand.asked * headroom).map_or(present * 2.0, |n| n * body).max(present + 1.0);
    // The setting stands for one of so many parts of the law's number.
    let parts = remedy.parts.max(1.0);
    let (number, capped) = fit(remedy, wanted / parts, present / parts);
    if number <= present / parts {
        return None;
    }
    let lifted = law::with_setting(&limit.law, number * parts);
    let text = |number: f64| match limit.law {
        // It holds no number.
        Law::Unknown | Law::Delay { .. } => plain(remedy.unit, number),
        _ => written(remedy.unit, &law::with_setting(&limit.law, number)),
    };
    // No formula says which smaller value would do.
    let untold = limit.law.is_tried() || matches!(limit.law, Law::Unknown | Law::Delay { .. });
    let minimum = if untold { number } else { (minimum / parts).min(number) };
    Some(Lift {
        setting: remedy.setting.clone(),
        value: text(number),
        minimum: text(minimum),
        holds_for: law::clients(&lifted, demand).filter(|_| !never_full(&with(limit, &lifted), demand)),
        law: Some(lifted),
        capped: capped.then(|| remedy.ceiling.clone()).flatten(),
    })
}

/// A limit with another law.
fn with(limit: &Limit, law: &Law) -> Limit {
    Limit { law: law.clone(), ..limit.clone() }
}

/// Whether the remedy's ceiling is reached already, so that nothing can be gained.
pub fn at_ceiling(limit: &Limit) -> bool {
    let ceiling = limit.remedy.as_ref().and_then(|r| r.ceiling.as_ref());
    let parts = limit.remedy.as_ref().map_or(1.0, |r| r.parts.max(1.0));
    ceiling.is_some_and(|c| present(limit).is_some_and(|present| c.value <= present / parts))
}

/// The number of the law that its setting stands for now; of a law without one the setting's own. None: that is no number.
fn present(limit: &Limit) -> Option<f64> {
    match limit.law {
        Law::Unknown | Law::Delay { .. } => {
            let parts = limit.remedy.as_ref().map_or(1.0, |remedy| remedy.parts.max(1.0));
            limit.value.parse::<f64>().ok().map(|value| value * parts)
        }
        _ => Some(law::setting(&limit.law)),
    }
}

/// A leaky bucket's rate, left as it is where the load is below it, and the burst that its load needs.
fn bucket(limit: &Limit, remedy: &Remedy, demand: &Demand, headroom: f64) -> Option<Lift> {
    let lifted = |level: f64| {
        let needed = law::needed(&limit.law, demand, level, 1.0);
        let rate = needed.unwrap_or(law::setting(&limit.law) * 2.0).max(law::setting(&limit.law));
        law::with_room(law::with_setting(&limit.law, rate), &limit.law, demand, level)
    };
    let law = lifted(demand.asked * headroom);
    Some(Lift {
        setting: remedy.setting.clone(),
        value: written(remedy.unit, &law),
        minimum: written(remedy.unit, &lifted(demand.asked)),
        law: Some(law),
        holds_for: None,
        capped: None,
    })
}

fn off(remedy: &Remedy) -> Lift {
    gone(remedy, written(remedy.unit, &Law::Unknown))
}

/// With this value, which stands for no number, in place the limit is gone.
fn gone(remedy: &Remedy, value: String) -> Lift {
    Lift { setting: remedy.setting.clone(), minimum: value.clone(), value, law: None, holds_for: None, capped: None }
}

/// The next multiple of the remedy's step, or the largest multiple (or, failing that, number) under its ceiling; and
/// whether the ceiling cut it.
fn fit(remedy: &Remedy, wanted: f64, present: f64) -> (f64, bool) {
    let step = if remedy.step > 0.0 { remedy.step } else { 1.0 };
    let rounded = (wanted / step - 1e-9).ceil() * step;
    match &remedy.ceiling {
        Some(c) if rounded > c.value => {
            let below = (c.value / step).floor() * step;
            let number = if below > present { below.max(wanted.ceil().min(c.value)) } else { c.value };
            (number, number < wanted)
        }
        _ => (rounded, false),
    }
}

/// The setting of `law`, as its product wants it written.
fn written(unit: RemedyUnit, law: &Law) -> String {
    let number = law::setting(law);
    match (unit, law) {
        (RemedyUnit::Rate, Law::Rate { burst, .. }) if *burst > 0.0 => {
            format!("{}r/s burst={}", number.ceil(), burst.ceil())
        }
        _ => plain(unit, number),
    }
}

/// A number, as its product wants it written.
fn plain(unit: RemedyUnit, number: f64) -> String {
    match unit {
        RemedyUnit::Rate => format!("{}r/s", number.ceil()),
        RemedyUnit::Count | RemedyUnit::Seconds => format!("{}", number.ceil()),
        RemedyUnit::Time => format!("{}s", number.ceil()),
        RemedyUnit::Bytes => Bytes(number.ceil().max(0.0) as u64).to_string(),
        RemedyUnit::Off => "off".to_owned(),
        RemedyUnit::Zero => "0".to_owned(),
    }
}
