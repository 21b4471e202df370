//! What one turn came to.

use genkai_model::comparison::Turn;
use genkai_model::error::ErrorCount;
use genkai_model::event::{EndReason, Environment, ServerState, Tick};
use genkai_model::evidence::Sample;
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::TurnFinding;
use genkai_model::finding::{ClientCheck, OneSided};
use genkai_model::load::Arrivals;
use genkai_model::objective::{Condition, Objective};
use genkai_model::plan::Plan;
use genkai_model::record::{Record, Trial};

use super::left::Left;
use crate::capacity::demand;
use crate::steady::{self, Steady};
use crate::window::{self, Tally, US};
use crate::{client, diagnosis, proof, sockets, stress, summary};

/// Subjects of samples that are no servers.
const OTHERS: [&str; 3] = ["kernel", "machine", "client"];
/// What stands behind a contender; its processor time and memory are not the contender's.
const BACKEND: &str = "backend";
/// Part of the looks at an accept queue in which somebody waits there.
const WAITING: f64 = 0.25;
/// Failures that are a sign of stress where the objective names none.
const FAILURES: f64 = 0.001;

/// A turn with the trial it was.
pub(crate) struct Seen<'r> {
    pub(crate) trial: &'r Trial,
    pub(super) finding: TurnFinding,
    pub(super) client: ClientCheck,
    /// Whether the objective held.
    pub(super) held: bool,
    /// Whether the contender noticed the load.
    pub(super) stressed: bool,
    /// Whether a server ended although nobody asked it to.
    pub(super) died: bool,
    /// Requests without an answer at its end.
    pub(super) left: Left,
}

impl Seen<'_> {
    /// Whether it is this contender's turn (its control's, if asked for), and counts.
    pub(crate) fn is(&self, name: &str, control: bool) -> bool {
        self.finding.counts && self.finding.contender == name && self.finding.control == control
    }

    pub(super) fn value(&self, figure: Figure) -> Option<f64> {
        self.finding.values.get(place(figure)?).copied().flatten()
    }

    /// What the figure is more than, where it is a bound.
    pub(super) fn bound(&self, figure: Figure) -> Option<f64> {
        match self.finding.bounds.get(place(figure)?).copied().flatten()? {
            OneSided::MoreThan(bound) => Some(bound),
            OneSided::LessThan(_) => None,
        }
    }

    /// Whether anything was answered: a request, or the opening of a WebSocket.
    pub(super) fn answered(&self) -> bool {
        self.trial.ticks.iter().any(|t| t.ok > 0 || t.handshakes.as_ref().is_some_and(|h| h.upgraded > 0))
    }

    /// Failed and finished requests.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.finding.failed, self.finding.finished)
    }
}

fn place(figure: Figure) -> Option<usize> {
    Figure::ALL.iter().position(|(one, _)| *one == figure)
}

/// Every turn of a record by itself, in order.
pub(super) fn all<'r>(record: &'r Record) -> Vec<Seen<'r>> {
    let Some(head) = &record.head else { return Vec::new() };
    let turn = |trial: &'r Trial| Some(Seen::of(trial, trial.turn.as_ref()?, &head.plan, &head.environment));
    record.trials.iter().filter_map(turn).collect()
}

impl<'r> Seen<'r> {
    fn of(trial: &'r Trial, turn: &Turn, plan: &Plan, environment: &Environment) -> Seen<'r> {
        let part = Part::of(trial);
        let client = client::check_timed(trial, &plan.objective).finding;
        let (failed, finished) = counted(trial);
        let opened = trial.ticks.iter().any(|tick| tick.handshakes.as_ref().is_some_and(|made| made.upgraded > 0));
        let busy = part.busy(environment);
        let left = Left::of(trial);
        let (values, bounds) = part.values(failed, finished, &left);
        let ended = trial.ended.as_ref().map(|ended| ended.reason);
        let died =
            ended == Some(EndReason::ServerDied) || trial.states.iter().any(|(_, s)| s.state == ServerState::Died);
        Seen {
            finding: TurnFinding {
                trial: trial.number,
                contender: turn.contender.clone(),
                block: turn.block,
                place: turn.place,
                control: turn.control,
                counts: proof::is_whole(trial) && client.valid && !trial.ticks.is_empty(),
                finished,
                failed,
                paced: summary::pauses(trial).unwrap_or(0),
                steady_after: part.steady_after,
                busy,
                due: None,
                values,
                bounds,
            },
            // Where nothing came to an end, and no WebSocket was opened, there is nothing by which it could have held.
            held: (finished > 0 || opened) && diagnosis::broke(trial, &plan.objective, &plan.procedure).is_none(),
            stressed: part.stressed(busy, failed, finished, &plan.objective),
            client,
            died,
            left,
            trial,
        }
    }
}

/// Failed and finished requests; of WebSockets, those that ended unasked with nothing under way are failures too, and so are messages whose echo
/// was waited for in vain after the end.
fn counted(trial: &Trial) -> (u64, u64) {
    let (failed, finished) = proof::count(trial, None);
    let mut errors = Tally::of(&trial.ticks).errors;
    let all = |errors: &[ErrorCount]| errors.iter().map(|error| error.count).sum::<u64>();
    let asked = all(&errors);
    sockets::disconnected(&trial.ticks, &mut errors);
    let idle = all(&errors) - asked;
    let never: u64 = trial.ticks.iter().filter_map(|tick| tick.messages.as_ref()).map(|one| one.unanswered).sum();
    (failed + idle + never, finished + idle + never)
}

/// What one server used of its cores over the time in which it was looked at.
struct Used<'r> {
    subject: &'r str,
    last: i64,
    used: f64,
    seen: f64,
}

/// The part of a trial that is steady.
struct Part<'r> {
    trial: &'r Trial,
    ticks: &'r [Tick],
    steady_after: Option<f64>,
}

impl<'r> Part<'r> {
    fn of(trial: &'r Trial) -> Part<'r> {
        let ramp_us = (demand::ramp(&trial.started.load) * US) as u64;
        let held = &trial.ticks[trial.ticks.partition_point(|tick| tick.from_us < ramp_us)..];
        let cut = match steady::of(held) {
            Steady::From(at) => Some(at),
            Steady::Never | Steady::TooShort => None,
        };
        let ticks = &held[cut.unwrap_or(0)..];
        let after = |cut: usize| held.get(cut).map(|tick| tick.from_us.saturating_sub(ramp_us) as f64 / US);
        Part { trial, ticks, steady_after: cut.and_then(after) }
    }

    fn span(&self) -> (i64, i64) {
        let end = |at: Option<u64>| at.and_then(|us| i64::try_from(us).ok()).unwrap_or(0);
        (end(self.ticks.first().map(|t| t.from_us)), end(self.ticks.last().map(|t| t.to_us)))
    }

    /// The values of all figures, and the bounds of those that requests without an answer decide.
    fn values(&self, failed: u64, finished: u64, left: &Left) -> (Vec<Option<f64>>, Vec<Option<OneSided>>) {
        let tally = Tally::of(self.ticks);
        let latency = window::merge(self.ticks, |tick| &tick.latency);
        let cpu = || Some(self.cores(|subject| subject != BACKEND)? * tally.seconds / tally.finished().max(1) as f64);
        let at = |q: f64| match left.quantile(&latency, q, tally.seconds) {
            Some((bound, true)) => (None, Some(OneSided::MoreThan(bound))),
            seen => (seen.map(|(seen, _)| seen), None),
        };
        let value = |figure: Figure| match figure {
            Figure::Failures => ((finished > 0).then(|| failed as f64 / finished as f64), None),
            Figure::Throughput => (self.throughput(), None),
            Figure::P50 => at(0.5),
            Figure::P95 => at(0.95),
            Figure::P99 => at(0.99),
            Figure::Max => at(1.0),
            Figure::Cpu => (cpu().filter(|cpu| *cpu > 0.0 && tally.finished() > 0), None),
            Figure::Memory => (self.memory(), None),
        };
        let (values, bounds): (Vec<_>, Vec<Option<OneSided>>) =
            Figure::ALL.iter().map(|(figure, _)| value(*figure)).unzip();
        let known = bounds.iter().any(Option::is_some);
        (values, if known { bounds } else { Vec::new() })
    }

    fn throughput(&self) -> Option<f64> {
        let tally = Tally::of(self.answering());
        (tally.seconds > 0.0).then(|| tally.rate())
    }

    /// Where a rate is asked for: the intervals after as long as any answer took, at most the later half. Before, those that take long could
    /// not yet have come, and nothing at the end makes up for them. Users ask again only once they were answered: theirs are all.
    fn answering(&self) -> &'r [Tick] {
        let (from, to) = self.span();
        let is_open = matches!(self.trial.started.load.arrivals, Arrivals::Rate { .. });
        let took = window::merge(self.ticks, |tick| &tick.latency).max() / 1_000;
        let after = from + i64::try_from(took).unwrap_or(i64::MAX).min((to - from) / 2);
        let late = |tick: &Tick| is_open && i64::try_from(tick.to_us).is_ok_and(|end| end <= after);
        &self.ticks[self.ticks.partition_point(late)..]
    }

    /// Samples of servers.
    fn servers(&self) -> impl Iterator<Item = &'r (i64, Sample)> {
        self.trial.samples.iter().filter(|(_, sample)| !OTHERS.contains(&sample.subject.as_str()))
    }

    /// Cores that the servers used, the mean: each sample tells of the time since the one before. None where nobody tells.
    fn cores(&self, whose: impl Fn(&str) -> bool) -> Option<f64> {
        let (from, to) = self.span();
        let mut all: Vec<Used<'_>> = Vec::new();
        for (at, sample) in self.servers().filter(|(_, sample)| whose(&sample.subject)) {
            let Some(cpu) = sample.metrics.get(&format!("{}.cpu", sample.subject)) else { continue };
            match all.iter_mut().find(|one| one.subject == sample.subject) {
                None => all.push(Used { subject: &sample.subject, last: *at, used: 0.0, seen: 0.0 }),
                Some(one) => {
                    let overlap = ((*at).min(to) - one.last.max(from)).max(0) as f64;
                    one.used += cpu * overlap;
                    one.seen += overlap;
                    one.last = *at;
                }
            }
        }
        let each = all.iter().filter(|one| one.seen > 0.0).map(|one| one.used / one.seen);
        each.reduce(|a, b| a + b)
    }

    fn memory(&self) -> Option<f64> {
        let of = |(_, sample): &(i64, Sample)| sample.metrics.get(&format!("{}.rss", sample.subject)).copied();
        let own = self.servers().filter(|(_, sample)| sample.subject != BACKEND);
        own.filter_map(of).reduce(f64::max).filter(|bytes| *bytes > 0.0)
    }

    /// Part of the servers' cores in use, what stands behind the contender included; or of one core by its busiest worker,
    /// where that is more.
    fn busy(&self, environment: &Environment) -> Option<f64> {
        let all = self.cores(|_| true)? / environment.server_time();
        let (from, to) = self.span();
        let within = self.servers().filter(|(at, _)| (from..=to).contains(at));
        let worker =
            |(_, sample): &(i64, Sample)| sample.metrics.get(&format!("{}.worker_cpu_max", sample.subject)).copied();
        let workers: Vec<f64> = within.filter_map(worker).collect();
        let mean = workers.iter().sum::<f64>() / workers.len().max(1) as f64;
        Some(all.max(mean))
    }

    fn stressed(&self, busy: Option<f64>, failed: u64, finished: u64, objective: &Objective) -> bool {
        let bound = objective.0.iter().find_map(|condition| match condition {
            Condition::ErrorsBelow(bound) => Some(bound.at),
            _ => None,
        });
        let fails = failed as f64 > bound.unwrap_or(FAILURES) * finished.max(1) as f64;
        let load = &self.trial.started.load;
        let open = matches!(load.arrivals, Arrivals::Rate { .. });
        let tally = Tally::of(self.answering());
        let short = open && stress::falls_short(demand::asked(load) * tally.seconds, tally.ok as f64);
        fails || short || busy.is_some_and(stress::is_busy) || self.waits()
    }

    /// Whether connections waited to be accepted.
    fn waits(&self) -> bool {
        let (from, to) = self.span();
        let within = self.trial.samples.iter().filter(|(at, _)| (from..=to).contains(at));
        let queue = |metrics: &std::collections::BTreeMap<String, f64>| {
            metrics
                .iter()
                .find(|(name, _)| name.ends_with(genkai_model::evidence::metric::ACCEPT_QUEUE))
                .map(|(_, n)| *n)
        };
        let looks: Vec<f64> = within.filter_map(|(_, sample)| queue(&sample.metrics)).collect();
        let full = looks.iter().filter(|n| **n > 0.0).count();
        !looks.is_empty() && full as f64 >= WAITING * looks.len() as f64
    }
}
