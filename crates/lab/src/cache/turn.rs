//! One contender: started, asked, counted.

use std::net::SocketAddr;

use genkai_model::cache::{Aim, CacheEntry, CachePass, Warmth};
use genkai_model::event::{EndReason, TrialEnded, TrialStarted, What};
use genkai_model::load::Load;
use genkai_model::units::Span;
use genkai_place::image::Image;
use genkai_targets::apache::origin::Origin;
use genkai_targets::cache::{Budget, Cache};
use genkai_targets::catalog::caches;

use super::Run;
use super::account::{Account, Counters};
use crate::error::LabError;
use crate::generator::{Generator, Recorded};
use crate::redact;

/// A contender that runs.
pub(super) struct Subject {
    pub(super) name: String,
    /// None: the origin alone.
    cache: Option<Cache>,
    /// Its counters when its last load had ended: nothing has asked it since. Everything else is looked at again before each load, for
    /// what goes on between two is no load's.
    last: Option<Counters>,
}

/// A load to make on it.
pub(super) struct Ask<'a> {
    pub(super) load: Load,
    pub(super) aim: Aim,
    pub(super) warmth: Warmth,
    /// What is to be written to disk before its end is accounted; none: as the system likes.
    pub(super) flush: Option<&'a Image>,
}

impl Subject {
    /// The origin by itself.
    pub(super) fn alone(name: &str) -> Subject {
        Subject { name: name.to_owned(), cache: None, last: None }
    }

    /// Where it is asked.
    pub(super) fn address(&self, origin: &Origin) -> SocketAddr {
        self.cache.as_ref().map_or(origin.address(), Cache::address)
    }

    /// Whether it is a cache, and not the origin alone.
    pub(super) fn is_cache(&self) -> bool {
        self.cache.is_some()
    }
}

impl Run<'_, '_, '_> {
    /// Starts a contender, empty, and has the kernel forget the origin's files.
    pub(super) fn start(&mut self, place: usize) -> Result<Subject, LabError> {
        let one = self.plan.contenders[place].clone();
        let budget = Budget { memory: self.plan.memory, disk: self.plan.disk };
        let dir = self.dir.join(format!("{}-{}", place + 1, self.trials + 1));
        let cpus = self.cpus.as_ref().map(|pinning| &*pinning.servers);
        let listen = self.job.plan.system.front.address();
        let cache = match caches::find(&one.server)? {
            Some(preset) => Some(preset.start(&one.name, self.origin.address(), listen, budget, cpus, &dir)?),
            None => None,
        };
        let entry = cache.as_ref().map_or_else(|| alone(&one.name, &self.origin), |cache| cache.entry().clone());
        self.recorder.now(None, What::CacheEntry(Box::new(entry)))?;
        self.origin.forget();
        Ok(Subject { name: one.name, cache, last: None })
    }

    /// Makes a load on it, and writes down what it came to.
    pub(super) fn ask(&mut self, subject: &mut Subject, ask: Ask<'_>) -> Result<(), LabError> {
        self.trials += 1;
        let number = Some(self.trials);
        // In passes counters are compared with each other, and all files are looked at, which takes a while.
        let rest = !matches!(ask.aim, Aim::Search { .. });
        let load = Load { addresses: vec![subject.address(&self.origin)], ..ask.load };
        let content_before = rest.then(|| self.origin.files().resident).flatten();
        let counters = if rest { Counters::AtRest } else { Counters::Glance };
        let known = subject.last.take().unwrap_or(counters);
        let before = Account::of(subject.cache.as_mut(), &mut self.origin, self.device.as_ref(), known)?;
        let (ended, failure) = self.make(&load)?;
        self.recorder.now(number, What::TrialEnded(ended))?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        ask.flush.iter().for_each(|image| image.flush());
        let after = Account::of(subject.cache.as_mut(), &mut self.origin, self.device.as_ref(), counters)?;
        let store = subject.cache.as_ref().filter(|_| rest).and_then(Cache::store);
        let ticks = self.recorder.record().trials.last().map(|trial| &trial.ticks);
        let pass = CachePass {
            contender: subject.name.clone(),
            aim: ask.aim,
            warmth: ask.warmth,
            own: after.own.zip(before.own).map(|(after, before)| after.since(before)),
            origin: after.origin.saturating_sub(before.origin),
            spent: after.spent(&before),
            store_resident: store.and_then(|files| files.resident),
            store_bytes: store.map(|files| files.bytes),
            content_before,
            content_after: rest.then(|| self.origin.files().resident).flatten(),
            device: after.device(&before),
            wrong: ticks.into_iter().flatten().find_map(|tick| tick.wrong),
        };
        subject.last = Some(Counters::Known(after.own, after.origin));
        self.recorder.now(number, What::CachePass(Box::new(pass)))
    }

    /// Makes the load and writes down its intervals; with what cut it short, if anything did.
    fn make(&mut self, load: &Load) -> Result<(TrialEnded, Option<LabError>), LabError> {
        // The plan says what is asked for; lists of it would fill the record.
        let started = TrialStarted::measure(Load { pages: None, ..redact::load(load) });
        let cpus = self.cpus.as_ref().map(|pinning| &*pinning.client);
        let generator = Generator { places: self.places, cpus };
        let interrupt = self.job.interrupt;
        let made = Recorded { number: self.trials, load, started, generator, interrupt };
        let made = made.make(self.recorder, |_, _| Ok(()))?;
        let stopped = interrupt.is_stopped();
        let reason = if stopped { EndReason::Interrupted } else { EndReason::Completed };
        Ok((made.ended(reason), made.failure))
    }
}

/// How the origin is, as a contender.
fn alone(name: &str, origin: &Origin) -> CacheEntry {
    CacheEntry {
        contender: name.to_owned(),
        version: origin.version().to_owned(),
        store: "none: the origin alone, with its files".to_owned(),
        settings: origin.settings().to_vec(),
        limits: Vec::new(),
        started: Span(0),
    }
}
