//! What everybody used during a load: read before and after it.

use genkai_model::cache::{DeviceUse, OwnCounts, Side, Spent};
use genkai_place::disk::{Device, Done};
use genkai_place::footprint::Footprint;
use genkai_targets::apache::origin::Origin;
use genkai_targets::cache::{self, Cache};
use genkai_targets::error::TargetError;

/// Where counters of requests come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counters {
    /// One look.
    Glance,
    /// Looks until they have come to rest: exact.
    AtRest,
    /// Nothing was asked since this: the cache's own, and the origin's.
    Known(Option<OwnCounts>, u64),
}

/// The state of everything at one moment.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) own: Option<OwnCounts>,
    pub(super) origin: u64,
    sides: Vec<(Side, Footprint)>,
    device: Option<(String, Done)>,
}

impl Account {
    /// Looks at everything; none for `cache`: the origin alone.
    pub(super) fn of(
        mut cache: Option<&mut Cache>,
        origin: &mut Origin,
        device: Option<&Device>,
        counters: Counters,
    ) -> Result<Account, TargetError> {
        let (own, served) = match counters {
            Counters::Known(own, served) => (own, served),
            Counters::Glance => cache::counts(cache.as_deref_mut(), &mut || origin.served(), false)?,
            Counters::AtRest => cache::counts(cache.as_deref_mut(), &mut || origin.served(), true)?,
        };
        let mut sides: Vec<(Side, Footprint)> =
            cache.map(|cache| (Side::Cache, cache.footprint())).into_iter().collect();
        sides.push((Side::Origin, origin.footprint()));
        let device = device.and_then(|device| Some((device.name().to_owned(), device.done()?)));
        Ok(Account { own, origin: served, sides, device })
    }

    /// What each side used since `before`, and has now.
    pub(super) fn spent(&self, before: &Account) -> Vec<Spent> {
        let one = |((side, now), (_, was)): (&(Side, Footprint), &(Side, Footprint))| Spent {
            side: *side,
            cpu_us: ((now.cpu - was.cpu).max(0.0) * 1e6) as u64,
            rss: now.rss,
            pss: now.pss,
            read: now.read.zip(was.read).map(|(now, was)| now.saturating_sub(was)),
            written: now.written.zip(was.written).map(|(now, was)| now.saturating_sub(was)),
        };
        self.sides.iter().zip(&before.sides).map(one).collect()
    }

    /// What the disk did since `before`.
    pub(super) fn device(&self, before: &Account) -> Option<DeviceUse> {
        let ((name, now), (_, was)) = self.device.as_ref().zip(before.device.as_ref())?;
        Some(DeviceUse {
            name: name.clone(),
            read: now.read.saturating_sub(was.read),
            written: now.written.saturating_sub(was.written),
            busy_us: now.busy_ms.saturating_sub(was.busy_ms) * 1000,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use genkai_targets::apache::origin::Files;

    use super::*;

    /// What goes on between two loads is no load's: processor time is read anew, and counters are not.
    #[test]
    fn what_happens_between_loads_is_charged_to_none() {
        let dir = tempfile::tempdir().unwrap();
        let fill = |_: u32, out: &mut Vec<u8>| {
            out.extend_from_slice(b"page");
            true
        };
        let files = Files::write(&dir.path().join("origin"), genkai_engine::content::FOLDER, 1, fill).unwrap().unwrap();
        let mut origin = Origin::start(files, std::net::Ipv4Addr::LOCALHOST, None).unwrap();
        let last = Account::of(None, &mut origin, None, Counters::AtRest).unwrap();
        let (from, deadline) = (origin.footprint().cpu, Instant::now() + Duration::from_secs(30));
        while origin.footprint().cpu < from + 0.02 && Instant::now() < deadline {
            genkai_engine::fetch(origin.address(), "/o/0", &[], Duration::from_secs(5)).unwrap();
        }
        let next = Account::of(None, &mut origin, None, Counters::Known(last.own, last.origin)).unwrap();
        assert_eq!(next.origin, last.origin);
        assert!(next.spent(&last)[0].cpu_us >= 20_000, "{next:?} after {last:?}");
    }
}
