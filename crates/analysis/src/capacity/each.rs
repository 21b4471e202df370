//! What one more of a setting takes of memory where no formula tells of it: by two trials with different values.

use genkai_model::limit::{Ceiling, Limit, Remedy, RemedyUnit};
use genkai_model::record::Trial;

use super::price::{self, Short, USABLE, full_look};
use super::{law, served};

/// What was measured of one more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Each {
    /// The value of the later trial.
    value: f64,
    /// Bytes of one more.
    bytes: f64,
    left: f64,
    group: Option<f64>,
}

impl Each {
    /// Of the setting of `limit`, which was met in `after`, and had another value in `before`; none where memory did not grow with it, or may
    /// have grown with the requests served.
    pub(crate) fn of(limit: &Limit, before: &Trial, after: &Trial) -> Option<Each> {
        // The looks at memory are read only where they are needed.
        if !limit.law.is_tried() {
            return None;
        }
        let earlier = before.limits.limits.iter().find(|one| one.id == limit.id)?;
        let more = law::setting(&limit.law) - law::setting(&earlier.law);
        let (least, most) = (full_look(&limit.subject, before, None)?, full_look(&limit.subject, after, None)?);
        let bytes = (most.taken() - least.taken()) / more;
        let each = Each { value: law::setting(&limit.law), bytes, left: most.left, group: most.group };
        // What comes of the requests served says nothing of the setting.
        let price = price::measured(&limit.subject, None, before, after)?;
        let served = || served::explains(&price, &limit.subject, after, std::iter::once(before));
        (more > 0.0 && bytes > 0.0 && served().is_none()).then_some(each)
    }

    /// `limit` with the memory as a ceiling of its remedy, where that is the tightest.
    pub(crate) fn bound(&self, limit: &Limit) -> Option<Limit> {
        let remedy = limit.remedy.as_ref().filter(|remedy| remedy.unit == RemedyUnit::Count)?;
        let most = (self.value + self.left * USABLE / self.bytes).floor();
        let tighter = remedy.ceiling.as_ref().is_none_or(|ceiling| most < ceiling.value);
        let ceiling = Some(Ceiling { value: most, by: "the memory that is left".to_owned() });
        tighter.then(|| Limit { remedy: Some(Remedy { ceiling, ..remedy.clone() }), ..limit.clone() })
    }

    /// What is missing for `needed`, where `most` is all that the memory holds.
    pub(crate) fn short(&self, needed: f64, most: f64) -> Short {
        Short { most, needed, bytes: (needed - self.value) * self.bytes, left: self.left, group: self.group }
    }
}
