//! What a setting of which no formula tells counts, from what was answered before and while requests failed, told once more.

use genkai_model::limit::{Law, Limit};
use genkai_model::objective::Condition;
use serde_json::{Value as Json, json};

use crate::broken::Judged;
use crate::events::{Line, all_failed, failed, sum};

/// A trial whose requests failed from some interval on.
struct Failing {
    trial: u32,
    value: f64,
    /// Answered by the end of that interval, at which second that was, and how many a second then.
    answered: f64,
    at: f64,
    rate: f64,
    /// Whether that is the end of answers.
    ends: bool,
    level: f64,
    waiting: f64,
    /// Seconds of an interval, and of all after it.
    tick: f64,
    seconds: f64,
}

impl Failing {
    fn of(lifted: &Limit, judged: &Judged<'_>) -> Option<Failing> {
        judged.onset.filter(|onset| matches!(onset.condition, Some(Condition::ErrorsBelow(_))))?;
        let own = judged.limits.iter().find(|one| one.id == lifted.id).map(|one| one.law.clone());
        let Some(Law::Tried { value, word: None }) = own else { return None };
        let ticks: Vec<&Line> = judged.trial.ticks();
        let first = ticks.iter().position(|tick| failed(tick) > 0.0)?;
        let (until, then) = (&ticks[..=first], &ticks[first + 1..]);
        let at = ticks[first].number("/to_us") / 1e6;
        let lasted = then.last()?.number("/to_us") / 1e6 - at;
        let (answered, more) = (sum(until, "/ok"), sum(then, "/ok"));
        let tells = !judged.asked.tunnels && lasted >= 0.6 && all_failed(then) >= 20.0;
        tells.then(|| Failing {
            trial: judged.trial.number,
            value,
            answered,
            at,
            rate: more / lasted,
            ends: more <= 2.0 + 0.005 * answered,
            tick: judged.asked.load.tick.as_secs_f64(),
            seconds: lasted,
            level: judged.level().unwrap_or(0.0),
            waiting: sum(then, "/in_flight") / then.len() as f64,
        })
    }

    fn told(&self) -> Json {
        json!({ "trial": self.trial, "value": self.value, "answered": self.answered, "lasted": self.at, "rate": self.rate })
    }

    /// Whether it goes on answering so many a second, but for a tenth and what chance makes of their number.
    fn answers(&self, rate: f64) -> bool {
        let [seen, wanted] = [self.rate, rate].map(|rate| rate * self.seconds);
        wanted >= 10.0 && (seen - wanted).abs() <= 0.1 * wanted + wanted.sqrt()
    }

    /// Whether as many are answered a second as the value says, which is not because so many are in flight.
    fn is_rate(&self) -> bool {
        self.answers(self.value) && !within(self.waiting / self.value, 0.5)
    }
}

/// Whether a ratio is one, but for a part.
fn within(ratio: f64, part: f64) -> bool {
    (1.0 - part..=1.0 + part).contains(&ratio)
}

/// What is counted by the setting of `lifted`, which has a larger value in the second trial, as a verdict tells it.
fn told(lifted: &Limit, before: &Judged<'_>, after: &Judged<'_>) -> Option<Json> {
    let (a, b) = (Failing::of(lifted, before)?, Failing::of(lifted, after));
    let counts = match &b {
        None => {
            let more = sum(&after.trial.ticks(), "/ok") > a.value && after.onset.is_none();
            (more && a.ends && a.value >= 50.0 && within(a.answered / a.value, 0.01)).then_some("requests")?
        }
        Some(b) => both(&a, b)?,
    };
    let setting = &lifted.remedy.as_ref()?.setting;
    Some(
        json!({ "caveat": "counts", "setting": setting, "counts": counts, "before": a.told(), "after": b.map(|b| b.told()) }),
    )
}

fn both(a: &Failing, b: &Failing) -> Option<&'static str> {
    let times = b.value / a.value;
    if a.value <= 0.0 || times <= 1.1 {
        return None;
    }
    if a.ends && b.ends {
        let near = |grew: f64, part: f64| within(grew / times, part);
        let (requests, seconds) = (near(b.answered / a.answered, 0.05), near(b.at / a.at, 0.1));
        let same_load = b.level <= 1.1 * a.level;
        return match () {
            () if requests && !seconds && !near(b.level / a.level, 0.1) => Some("requests"),
            () if seconds && !requests && same_load => Some("seconds"),
            () if same_load && b.answered > 1.1 * a.answered => Some("either"),
            () => None,
        };
    }
    if a.is_rate() && b.is_rate() {
        // It must have changed with the value: by half of it, and beyond what counting so many is out by.
        let (more, out) = (b.rate - a.rate, (a.rate / a.seconds).sqrt() + (b.rate / b.seconds).sqrt());
        return (more > out && more >= 0.5 * (b.value - a.value)).then_some("rate");
    }
    let early = b.answered - a.answered - a.rate * (b.at - a.at);
    let (more, interval) = (b.value - a.value, a.rate * a.tick);
    let burst = a.rate > 0.0 && b.answers(a.rate) && b.value >= 50.0;
    let beyond = 2.0 * interval <= more && (early - more).abs() <= 0.2 * more + interval;
    (burst && beyond).then_some("burst")
}

/// Whether a change moved a break by what its setting counts, whatever the load was.
pub(crate) fn moves(lifted: &Limit, before: &Judged<'_>, after: &Judged<'_>) -> bool {
    told(lifted, before, after).is_some_and(|told| told["counts"] == "requests" || told["counts"] == "seconds")
}

/// What is told of all settings that were changed, of each once: limits that were lifted, with the trials before and after.
pub(crate) fn of<'a, 'e: 'a>(
    tests: impl Iterator<Item = (&'a Limit, &'a Judged<'e>, &'a Judged<'e>)>,
) -> Vec<(Json, Option<usize>)> {
    let mut all: Vec<(Json, Option<usize>)> = Vec::new();
    for (lifted, before, after) in tests {
        let Some(found) = told(lifted, before, after) else { continue };
        if all.iter().all(|(other, _)| other["setting"] != found["setting"]) {
            all.push((found, after.trial.first()));
        }
    }
    all
}
