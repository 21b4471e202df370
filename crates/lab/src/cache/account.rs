//! What everybody used during a load: read before and after it.

use genkai_model::cache::{DeviceUse, OwnCounts, Side, Spent};
use genkai_targets::cache::{Cache, CacheError, Origin};
use genkai_targets::local::disk::{Device, Done};
use genkai_targets::local::footprint::Footprint;

/// The state of everything at one moment.
pub(super) struct Account {
    pub(super) own: Option<OwnCounts>,
    pub(super) origin: u64,
    sides: Vec<(Side, Footprint)>,
    device: Option<(String, Done)>,
}

impl Account {
    /// Looks at everything; none for `cache`: the origin alone.
    pub(super) fn of(
        cache: Option<&mut Cache>,
        origin: &mut Origin,
        device: Option<&Device>,
    ) -> Result<Account, CacheError> {
        let mut sides = Vec::new();
        let mut own = None;
        if let Some(cache) = cache {
            own = Some(cache.counts()?);
            sides.push((Side::Cache, cache.footprint(true)));
        }
        let served = origin.served();
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
