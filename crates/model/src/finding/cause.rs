//! Limits that were met: what speaks for each, and what changing its setting alone did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Predicted;
use crate::error::{ErrorCount, ErrorKind, Side};
use crate::event::Change;
use crate::limit::{Limit, Strength};
use crate::units::Range;

/// A limit that was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The limit as configured when it was met.
    pub limit: Limit,
    /// What was predicted for it before any load.
    pub predicted: Predicted,
    /// The break that it explains.
    pub broke: Break,
    /// Trial in which it was met.
    pub trial: u32,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// How sure.
    pub confidence: Confidence,
    /// What happened when only its setting was changed.
    pub counterfactual: Option<Counterfactual>,
    /// The other candidates, best first, and why each is not the cause.
    pub others: Vec<Candidate>,
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Fits, not more.
    Possible,
    /// Decisive evidence, not (yet) put to the test.
    Likely,
    /// Changing it alone moved the break; the test says whether to where the formula puts it.
    Proved,
    /// Changing it alone did not move the break.
    Refuted,
}

/// A possible cause with its score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The limit.
    pub limit: String,
    /// Whose.
    pub subject: String,
    /// Its setting.
    pub setting: String,
    /// 0 (nothing speaks for it) to 1.
    pub score: f64,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// What speaks against it.
    pub against: Vec<Against>,
}

/// Why a candidate is not the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// None of its signs were seen.
    NoSign,
    /// Clients did not see what it causes.
    WrongSymptom,
    /// The break came far from where its formula puts it.
    WrongPlace,
    /// A limit with stronger signs explains its signs too.
    Explained,
    /// Lifting it did not move the break.
    Refuted,
    /// It lacked processor time, most of which programs used that are no part of the run.
    OtherPrograms,
}

/// One fact that speaks for a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "evidence")]
pub enum Evidence {
    /// A server's log said so.
    Log {
        /// Who wrote it; empty in records that do not say: the limit's subject.
        #[serde(default)]
        subject: String,
        /// Signature recognised.
        signature: String,
        /// Lines seen.
        count: u64,
        /// The first line's text.
        text: String,
        /// Seconds since the load began of the first line.
        at: f64,
        /// How much it says.
        strength: Strength,
    },
    /// A cumulative metric grew.
    Grew {
        /// The metric.
        metric: String,
        /// Before the break.
        from: f64,
        /// After.
        to: f64,
        /// How much it says.
        strength: Strength,
    },
    /// A server behind gave answers with the status of an error itself.
    Answered {
        /// The cumulative metric that counts them.
        metric: String,
        /// How many.
        failed: u64,
        /// Of so many that it and those beside it gave.
        of: u64,
        /// Of all that it answered, and the same of those beside it, where that is counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rates: Option<[Failures; 2]>,
        /// Whether `rates` are of a share of the requests only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        share: bool,
        /// How much it says.
        strength: Strength,
    },
    /// A gauge reached a mark.
    Reached {
        /// The gauge.
        metric: String,
        /// Its largest value around the break.
        value: f64,
        /// The mark.
        mark: f64,
        /// What the mark is, e.g. another metric's name.
        of: String,
        /// How much it says.
        strength: Strength,
    },
    /// What it takes alone, without any load, is more than is allowed.
    Alone {
        /// Seconds it takes alone (at the quantile that the objective judges).
        takes: f64,
        /// Seconds allowed.
        allowed: f64,
        /// At which quantile of requests that is; none where all take the same, or a mean is meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quantile: Option<f64>,
    },
    /// Under the same load, sent to it directly, it broke no later.
    Directly {
        /// The trial in which it was asked.
        trial: u32,
        /// Level of its break.
        level: f64,
        /// Level of the break through the product.
        through: f64,
        /// Failures, directly and through the product, where failures are what is judged: those at random have no level.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failures: Option<[Failures; 2]>,
    },
    /// Connections ended after just the silence that this limit allows.
    Silence {
        /// Connections that ended so.
        count: u64,
        /// Of so many that ended.
        of: u64,
        /// How long nothing had been said on them, seconds (median).
        seen: f64,
        /// Seconds allowed.
        allowed: f64,
    },
    /// Responses took about as long as it takes to send them at the pace that this limit sets.
    Paced {
        /// Bytes of a response on average, its head included.
        bytes: f64,
        /// What requests took, seconds (median).
        seen: f64,
        /// What so many bytes take at that pace, seconds.
        takes: f64,
    },
    /// Processor time was used up, most of it by full TLS handshakes.
    Handshakes {
        /// The gauge of processor time.
        metric: String,
        /// Its largest value around the break.
        value: f64,
        /// Full handshakes a second.
        rate: f64,
        /// Processor time of one alone, as measured, seconds.
        each: f64,
        /// Cores that there are for it.
        cores: f64,
        /// How much it says.
        strength: Strength,
    },
    /// WebSockets were closed with the code by which this limit tells itself.
    Closed {
        /// The code (RFC 6455 section 7.4.1).
        code: u16,
        /// Connections.
        count: u64,
    },
    /// Clients saw the errors that this limit causes.
    Errors {
        /// The kinds and counts seen from the break on.
        errors: Vec<ErrorCount>,
    },
    /// Responses became slow, as this limit makes them.
    Slow {
        /// Latency at the objective's quantile around the break, seconds.
        seen: Seen,
    },
    /// A pool of workers answered no more a second when all of it was busy than when less than half of it was: more of it is not likely to help.
    NoFaster {
        /// Requests at once on average, while they were less than half of the pool.
        few: f64,
        /// Answers a second then.
        rate: f64,
        /// Workers of the pool.
        most: f64,
        /// Answers a second with as many requests at once, or more.
        full: f64,
    },
    /// The break came where the formula puts it.
    Place {
        /// Predicted.
        predicted: Range,
        /// Observed.
        observed: f64,
    },
}

/// The first sustained violation of the objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Break {
    /// Seconds since the load began.
    pub at: f64,
    /// Users started by then (closed), or planned requests a second (open).
    pub level: f64,
    /// Whether fewer may have been too many: all users came at once, so that no smaller number was tried; or what broke is a latency, and no
    /// request had been answered before the interval that `level` is of; or messages got lost, and when is not known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub or_fewer: bool,
    /// Clients at once by then: users who do not think, or requests in flight (in the first interval: at its end); of WebSockets that are
    /// kept, the most that were open. In the open model at most as many as it has connections; requests that wait for one are not counted. Of
    /// Locust's users who pause: the mean over an interval.
    pub in_flight: f64,
    /// Open client connections by then (in the first interval: at its end); none where the generator does not tell (Locust).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<f64>,
    /// What there was when the first failure was seen, where that was later than `at`: a request that gets no answer fails when its time is
    /// over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<Later>,
    /// Completed requests a second around it.
    pub rate: f64,
    /// The condition violated, as the objective words it.
    pub condition: String,
    /// The level when it was certain, where the load rose until then: `seen` is of all that was seen from the break on to that moment. None where
    /// it did not rise, and in findings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// What was seen instead (fraction of requests that failed, seconds, requests a second; of openings, messages and WebSockets the
    /// fraction that went well, or ended).
    pub seen: Seen,
    /// Errors from the break to the end of the trial, of a plain load to when it was certain: requests that failed, and no others.
    pub errors: Vec<ErrorCount>,
    /// Requests that had not failed but had no answer, where the break rests on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Unanswered>,
    /// Requests that waited for a connection of the generator's and were never sent, where the break rests on them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: u64,
    /// Whose side the errors are on, most frequent first.
    pub sides: Vec<Side>,
}

fn is_false(is: &bool) -> bool {
    !is
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What there was when a break was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Later {
    /// Seconds since the load began.
    pub at: f64,
    /// As [`Break::level`].
    pub level: f64,
    /// As [`Break::in_flight`].
    pub in_flight: f64,
    /// As [`Break::connections`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<f64>,
}

impl Cause {
    /// Whether its test broke at no larger load than before: what tells the two breaks apart are the signs of another limit.
    pub fn stays(&self) -> bool {
        let after = self.counterfactual.as_ref().and_then(|test| test.observed.as_ref());
        after.is_some_and(|after| after.level <= self.broke.level && after.in_flight <= self.broke.in_flight)
    }
}

impl Break {
    /// What the break rests on, in the terms of failures: those that were, requests without an answer as what they would have become
    /// (timeouts), requests that were not sent as dropped. For weighing causes; never to be told as failures.
    pub fn troubles(&self) -> Vec<ErrorCount> {
        let mut all = self.errors.clone();
        let waiting = self.waiting.map_or(0, |waiting| waiting.count);
        for (kind, count) in [(ErrorKind::Timeout, waiting), (ErrorKind::Dropped, self.unsent)] {
            match all.iter_mut().find(|error| error.kind == kind) {
                // Those that timed out in the end had waited before.
                Some(error) if kind == ErrorKind::Timeout => error.count = error.count.max(count),
                Some(error) => error.count += count,
                None if count > 0 => all.push(ErrorCount { kind, count }),
                None => {}
            }
        }
        all.sort_by_key(|error| std::cmp::Reverse(error.count));
        all
    }
}

/// Requests (or openings of WebSockets) that had no answer when a break became certain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unanswered {
    /// How many.
    pub count: u64,
    /// How long the one had waited that had waited longest, seconds.
    pub longest: f64,
    /// Every one of them had waited for longer than this, seconds; none where the record does not tell (those of older versions).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<f64>,
}

/// A figure that was measured, or all that is known of one that could not be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Seen {
    /// Measured.
    Measured(f64),
    /// Nothing had come to be measured: it is more than this.
    Bound {
        /// Which it is certainly more than.
        more_than: f64,
    },
}

impl Seen {
    /// What it is at least.
    pub fn least(self) -> f64 {
        match self {
            Seen::Measured(value) | Seen::Bound { more_than: value } => value,
        }
    }
}

/// How many failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// Failed.
    pub failed: u64,
    /// Of so many that finished.
    pub of: u64,
}

/// Changing one setting alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counterfactual {
    /// The change.
    pub change: Change,
    /// The trial.
    pub trial: u32,
    /// Where the next break was predicted, in `scale`; none: beyond the load sent.
    pub predicted: Option<Range>,
    /// What `predicted` counts.
    #[serde(default)]
    pub scale: Scale,
    /// Where it came; none: it did not come.
    pub observed: Option<Break>,
    /// The largest level reached without a violation.
    pub held_to: f64,
    /// Whether the break moved as predicted.
    pub moved: Moved,
    /// What came of making it again, where no formula says what comes of the change and the objective did not hold with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

/// A change and the system without it, each tried once more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Again {
    /// The trial with the change.
    pub trial: u32,
    /// The one without it; none where the first broke no later than the system without the change had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Unchanged>,
    /// Whether all trials with the change broke clearly later than all without.
    pub later: bool,
    /// Failures with the change at no larger load than broke the system without it, and those without; none where they do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<[Failures; 2]>,
    /// Why two trials of each do not tell, and how many there were in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<MoreTries>,
}

/// That breaks may be at moments of their own, at whatever load, so that each trial is one draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoreTries {
    /// Whether failures ended by themselves in a trial, while no less load was there.
    pub ended: bool,
    /// Whether one and the same configuration broke at loads as far apart as those that are to be told apart.
    pub apart: bool,
    /// Trials with the change, the first included.
    pub with: u32,
    /// Trials without it, the first included.
    pub without: u32,
}

/// A trial without a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unchanged {
    /// The trial.
    pub trial: u32,
}

impl Counterfactual {
    /// Where a break came, in what `predicted` counts.
    pub fn place_of(&self, broke: &Break) -> f64 {
        match self.scale {
            Scale::Clients => broke.in_flight,
            Scale::Level => broke.level,
        }
    }
}

/// What a figure about load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Clients at once.
    #[default]
    Clients,
    /// The unit of the load: users, or planned requests a second.
    Level,
}

impl Scale {
    /// What caveats counted before they said so.
    pub(super) fn level() -> Scale {
        Scale::Level
    }
}

/// What became of the break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// To where the formula puts the next limit (or away, beyond the load sent).
    AsPredicted,
    /// It moved, but to somewhere else: another limit stands between.
    Elsewhere,
    /// It did not move.
    Not,
}
