//! A load that Locust makes: genkai is the master of its workers, which run the user's locustfile, and takes what they report for intervals.
//! Who asks for such a load gets what any load gives.

mod failures;
mod file;
mod ramp;
mod router;
mod team;
mod window;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use genkai_engine::{End, StopFlag};
use genkai_model::event::Tick;
use genkai_model::load::{Arrivals, Load};
use genkai_model::locust::Locust;
use genkai_model::transport::Transport;
use genkai_model::units::Span;

pub use file::{Locustfile, read};

use super::{LoadEnd, nothing};
use crate::error::LabError;
use ramp::Crowd;
use team::Team;
use window::{Used, Windows};

/// Longest wait for anything before the wish to stop is looked at again.
const POLL: Duration = Duration::from_millis(20);

/// The master of a run's workers, for all of its loads.
#[derive(Debug)]
pub(super) struct Master {
    locust: Locust,
    team: Mutex<Team>,
}

impl Master {
    /// Starts the workers, or waits for those that others start.
    ///
    /// # Errors
    /// When they do not come, or have other users; when `stop` is set before all have come.
    pub(super) fn open(locust: &Locust, cpus: Option<&[usize]>, stop: &StopFlag) -> Result<Master, LabError> {
        let team = Team::gather(locust, cpus, stop)?;
        Ok(Master { locust: locust.clone(), team: Mutex::new(team) })
    }

    /// Makes `load` and blocks until it is over or `stop` is set.
    ///
    /// # Errors
    /// When it could not begin. A worker that is lost later is the end's failure.
    pub(super) fn run(
        &self,
        load: &Load,
        stop: &StopFlag,
        started: impl FnOnce(Instant),
        mut tick: impl FnMut(Tick),
    ) -> Result<LoadEnd, LabError> {
        let mut team = self.team.lock().unwrap_or_else(PoisonError::into_inner);
        team.ready()?;
        team.trust(match &load.transport {
            Transport::Tls(tls) => tls.ca.as_deref(),
            _ => None,
        })?;
        let began = Instant::now();
        let ours = self.locust.bind.is_none().then(now);
        started(began);
        let mut made = Made {
            locust: &self.locust,
            load,
            team: &mut team,
            windows: Windows::new(load.patience(), self.pause(load), ours),
            began,
            finished: 0,
        };
        let failure = made.drive(stop, &mut tick).err();
        let lasted = began.elapsed();
        let (level, used) = (made.team.users(), made.team.used(made.since(lasted)));
        let failure = failure.or_else(|| made.collect().err());
        made.last(lasted, level, used, &mut tick);
        let failure = failure.or_else(|| made.idle());
        let stopped = lasted < load.stop.after.duration();
        let end = End { lasted: Span::from_secs_f64(lasted.as_secs_f64()), stopped, ..nothing() };
        Ok(LoadEnd { end, workers: Vec::new(), failure })
    }

    /// What a user pauses in the mean: as the load has it.
    fn pause(&self, load: &Load) -> Span {
        match load.arrivals {
            Arrivals::Users { think, .. } => Span::from_secs_f64(genkai_analysis::capacity::demand::mean(&think)),
            Arrivals::Rate { .. } => Span(0),
        }
    }
}

/// A load in the making.
struct Made<'a> {
    locust: &'a Locust,
    load: &'a Load,
    team: &'a mut Team,
    windows: Windows,
    began: Instant,
    /// Requests that ended so far.
    finished: u64,
}

impl Made<'_> {
    /// Adds users as the load says and takes reports, until it is over.
    fn drive(&mut self, stop: &StopFlag, tick: &mut impl FnMut(Tick)) -> Result<(), LabError> {
        let Arrivals::Users { count, spawn_rate, .. } = self.load.arrivals else {
            return Err(LabError::Plan("Locust makes users, not a rate of requests".to_owned()));
        };
        let address =
            self.load.addresses.first().ok_or_else(|| LabError::Plan("a load without an address".to_owned()))?;
        let scheme = if matches!(self.load.transport, Transport::Tls(_)) { "https" } else { "http" };
        let host = format!("{scheme}://{address}");
        let mut crowd = Crowd::new(&self.locust.classes, self.team.size());
        while !stop.is_stopped() && self.began.elapsed() < self.load.stop.after.duration() {
            let due = ramp::due(self.began.elapsed().as_secs_f64(), spawn_rate, count);
            if due > crowd.total() {
                crowd.grow(due);
                self.windows.ask(self.began.elapsed().as_micros() as u64, crowd.total());
                self.team.spawn(crowd.workers(), &host, now());
            }
            if let Some((worker, stats)) = self.team.hear(POLL)?
                && self.windows.add(&worker, &stats, self.team.size())
            {
                let at = self.began.elapsed();
                let used = self.team.used(self.since(at));
                let one = self.windows.end(at.as_micros() as u64, self.team.users(), used);
                self.pass(one, tick);
            }
        }
        Ok(())
    }

    /// Ends the users, and takes what is reported of them until then.
    fn collect(&mut self) -> Result<(), LabError> {
        self.team.rest();
        while !self.team.is_settled()? {
            if let Some((worker, stats)) = self.team.hear(POLL)? {
                self.windows.add(&worker, &stats, self.team.size());
            }
        }
        Ok(())
    }

    /// The interval at whose end the load ended.
    fn last(&mut self, lasted: Duration, level: f64, used: Used, tick: &mut impl FnMut(Tick)) {
        let to_us = (lasted.as_micros() as u64).max(self.windows.since_us() + 1);
        let one = self.windows.end(to_us, level, used);
        self.pass(one, tick);
    }

    fn pass(&mut self, one: Tick, tick: &mut impl FnMut(Tick)) {
        self.finished += one.sent;
        tick(one);
    }

    /// How long the present interval lasts.
    fn since(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_micros(self.windows.since_us()))
    }

    /// Why nothing was measured, where the file's own mistakes are the reason.
    fn idle(&self) -> Option<LabError> {
        let raised = self.team.exception().filter(|_| self.finished == 0)?;
        let file = self.locust.file.display();
        Some(LabError::Lost(format!(
            "the users of {file} made no request: its tasks raised `{raised}`\n  hint: try it alone: locust -f {file} --headless -u 1 -t 5s"
        )))
    }
}

/// Seconds of the epoch.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
