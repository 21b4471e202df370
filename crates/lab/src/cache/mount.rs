//! Does it matter whether a file system writes down that files were read? The origin alone, on one that is mounted in one way after the
//! other.

use genkai_engine::content;
use genkai_model::cache::{AccessTime, Aim, Warmth};
use genkai_place::disk::Device;
use genkai_place::image::Image;
use genkai_targets::apache::origin::Origin;
use genkai_targets::catalog::caches::ALONE;

use super::turn::{Ask, Subject};
use super::{Run, files, load};
use crate::error::LabError;
use genkai_analysis::order;

/// Bytes of a file system beside its files.
const OWN: u64 = 64 << 20;
/// Bytes that a small file takes more than it has: blocks and its inode.
const FILE: u64 = 8 << 10;

impl Run<'_, '_, '_> {
    /// Round after round, every option in an order drawn for the round. Says why not, where it cannot be done.
    pub(super) fn mounts(&mut self) -> Result<(), LabError> {
        if !self.plan.access_times || self.is_stopped() {
            return Ok(());
        }
        let bytes: u64 =
            (0..self.plan.content.objects).map(|n| u64::from(content::size(&self.plan.content, n)) + FILE).sum();
        let image = match Image::mount(&self.dir, bytes + OWN) {
            Ok(image) => image,
            Err(why) => return self.none(&why),
        };
        let Some(files) = files(image.path(), &self.plan, self.job.interrupt)? else { return Ok(()) };
        if !files.root().starts_with(image.path()) {
            // Behind a folder that lets nobody through they went where the origin's account gets at them.
            return self.none("the run's folder does not let the origin's account through");
        }
        let device = Device::under(files.root());
        let listen = self.job.plan.system.front.address();
        let origin = Origin::start(files, listen, self.cpus.as_ref().map(|pinning| &*pinning.servers))?;
        let (origin, device) =
            (std::mem::replace(&mut self.origin, origin), std::mem::replace(&mut self.device, device));
        let done = self.mounted(&image);
        self.device = device;
        self.origin = origin;
        done
    }

    /// Says why it cannot be compared.
    fn none(&mut self, why: &str) -> Result<(), LabError> {
        let text = format!("times of reading (noatime, relatime) were not compared: {why}");
        self.recorder.note(None, "no-mount", text)
    }

    fn mounted(&mut self, image: &Image) -> Result<(), LabError> {
        for round in 1..=self.plan.rounds {
            for place in order::round(AccessTime::ALL.len(), self.plan.seed, round) {
                if self.is_stopped() {
                    return Ok(());
                }
                let option = AccessTime::ALL[place];
                image.remount(option.option()).map_err(LabError::Environment)?;
                image.flush();
                let load = load::pass(&self.plan, &self.job.plan.load);
                let mut subject = Subject::alone(ALONE);
                let flush = Some(image);
                self.ask(&mut subject, Ask { load, aim: Aim::Mount { round, option }, warmth: Warmth::Warm, flush })?;
            }
        }
        Ok(())
    }
}
