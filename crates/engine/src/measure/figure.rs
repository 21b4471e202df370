//! Figures: what is counted in an interval, how two of them become one, and how a record tells them.

use std::ops::{Deref, DerefMut};

use genkai_model::content::WrongBody;
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Refusal, StatusCount};
use genkai_model::histogram::{DIGITS, HIGHEST_NS, LOWEST_NS, Payload, PayloadError};
use genkai_model::http2::GoAways;
use genkai_model::websocket::Messages;
use hdrhistogram::Histogram;

use crate::clock::Moment;

/// A figure of an interval.
pub(crate) trait Figure: Default {
    /// As a record tells it.
    type Recorded;

    /// Adds what another thread, or another interval, saw.
    fn add(&mut self, other: &Self);

    /// As new, keeping its memory.
    fn clear(&mut self) {
        *self = Self::default();
    }

    /// In the words of a record.
    fn tell(&self) -> Self::Recorded;

    /// From the words of a record.
    ///
    /// # Errors
    /// When a distribution is damaged.
    fn read(told: &Self::Recorded) -> Result<Self, PayloadError>;
}

/// Several figures that a record tells in one structure. Each is named once, by the name that the record has for it; what stands after
/// `besides` is not counted, but the reader's. A field of the record's structure that is neither does not compile.
macro_rules! figures {
    (
        $(#[$about:meta])*
        $name:ident tells $told:ident {
            $($(#[$what:meta])* $field:ident: $figure:ty,)*
        }
        besides { $($other:ident),* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $name {
            $($(#[$what])* pub(crate) $field: $figure,)*
        }

        impl Figure for $name {
            type Recorded = $told;

            fn add(&mut self, other: &$name) {
                $(Figure::add(&mut self.$field, &other.$field);)*
            }

            fn clear(&mut self) {
                $(Figure::clear(&mut self.$field);)*
            }

            fn tell(&self) -> $told {
                $told { $($field: self.$field.tell(),)* $($other: Default::default(),)* }
            }

            fn read(told: &$told) -> Result<$name, PayloadError> {
                let $told { $($field,)* $($other: _,)* } = told;
                Ok($name { $($field: Figure::read($field)?,)* })
            }
        }
    };
}
pub(crate) use figures;

/// A count that is told also where it is 0: records of versions that did not count have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Always(pub(crate) u64);

impl Figure for Always {
    type Recorded = Option<u64>;

    fn add(&mut self, other: &Always) {
        self.0 += other.0;
    }

    fn tell(&self) -> Option<u64> {
        Some(self.0)
    }

    fn read(told: &Option<u64>) -> Result<Always, PayloadError> {
        Ok(Always(told.unwrap_or(0)))
    }
}

/// A figure that is told only where there is something to tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seldom<F>(F);

impl<F> Deref for Seldom<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.0
    }
}

impl<F> DerefMut for Seldom<F> {
    fn deref_mut(&mut self) -> &mut F {
        &mut self.0
    }
}

impl<F: Figure<Recorded: Default + PartialEq>> Figure for Seldom<F> {
    type Recorded = Option<F::Recorded>;

    fn add(&mut self, other: &Self) {
        self.0.add(&other.0);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn tell(&self) -> Option<F::Recorded> {
        Some(self.0.tell()).filter(|told| *told != F::Recorded::default())
    }

    fn read(told: &Option<F::Recorded>) -> Result<Self, PayloadError> {
        told.as_ref().map(F::read).transpose().map(|figure| Seldom(figure.unwrap_or_default()))
    }
}

/// A distribution of times, nanoseconds, with the bounds that all genkai histograms have; it has memory once it was needed. 32-bit
/// counters: half the memory, and no interval has four thousand million requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution(Option<Histogram<u32>>);

impl Distribution {
    /// Counts a time.
    #[inline]
    pub(crate) fn record(&mut self, time: Moment) {
        self.get().saturating_record(time);
    }

    /// Counts a time of several.
    pub(crate) fn record_n(&mut self, time: Moment, n: u64) {
        self.get().saturating_record_n(time, u32::try_from(n).unwrap_or(u32::MAX));
    }

    #[inline]
    fn get(&mut self) -> &mut Histogram<u32> {
        let new = || Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("constant bounds are valid");
        self.0.get_or_insert_with(new)
    }
}

impl Figure for Distribution {
    type Recorded = Payload;

    fn add(&mut self, other: &Distribution) {
        if let Some(theirs) = other.0.as_ref().filter(|theirs| !theirs.is_empty()) {
            self.get().add(theirs).expect("the same bounds");
        }
    }

    fn clear(&mut self) {
        if let Some(histogram) = self.0.as_mut().filter(|histogram| !histogram.is_empty()) {
            histogram.reset();
        }
    }

    fn tell(&self) -> Payload {
        self.0.as_ref().map_or_else(Payload::default, Payload::encode)
    }

    fn read(told: &Payload) -> Result<Distribution, PayloadError> {
        let mut distribution = Distribution::default();
        if !told.is_empty() {
            told.add_to(distribution.get())?;
        }
        Ok(distribution)
    }
}

/// Planned instant of the request that was planned first of those that failed. A request that times out does so long after
/// the load that it met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FirstError(Option<Moment>);

impl FirstError {
    /// A request that was planned at that instant has failed.
    pub(crate) fn failed(&mut self, planned: Moment) {
        self.add(&FirstError(Some(planned)));
    }

    /// When, if any failed.
    pub(crate) fn planned(self) -> Option<Moment> {
        self.0
    }
}

impl Figure for FirstError {
    type Recorded = Option<u64>;

    fn add(&mut self, other: &FirstError) {
        self.0 = [self.0, other.0].into_iter().flatten().min();
    }

    fn tell(&self) -> Option<u64> {
        self.0.map(|at| at / 1_000)
    }

    fn read(told: &Option<u64>) -> Result<FirstError, PayloadError> {
        // To the end of its microsecond: whoever was planned in it may have been the one.
        Ok(FirstError(told.map(|us| us * 1_000 + 999)))
    }
}

/// Implements [`Figure`] for what a record tells as it is counted.
macro_rules! told_as_counted {
    ($($figure:ty: $add:expr;)*) => {
        $(impl Figure for $figure {
            type Recorded = $figure;

            fn add(&mut self, other: &$figure) {
                let add: fn(&mut $figure, &$figure) = $add;
                add(self, other);
            }

            fn tell(&self) -> $figure {
                self.clone()
            }

            fn read(told: &$figure) -> Result<$figure, PayloadError> {
                Ok(told.clone())
            }
        })*
    };
}

told_as_counted! {
    u64: |mine, theirs| *mine += theirs;
    Messages: Messages::add;
    GoAways: GoAways::add;
    Vec<ErrorCount>: |mine, theirs| theirs.iter().for_each(|error| count_error(mine, error.kind, error.count));
    Vec<StatusCount>: |mine, theirs| theirs.iter().for_each(|status| count_status(mine, status.status, status.count));
    // The first of an interval is kept.
    Option<Refusal>: |mine, theirs| if mine.is_none() { mine.clone_from(theirs) };
    Option<WrongBody>: |mine, theirs| *mine = mine.or(*theirs);
}

/// Counts failures of one kind; kinds are kept in their order.
pub(super) fn count_error(all: &mut Vec<ErrorCount>, kind: ErrorKind, count: u64) {
    match all.binary_search_by_key(&kind.index(), |error| error.kind.index()) {
        Ok(at) => all[at].count += count,
        Err(at) => all.insert(at, ErrorCount { kind, count }),
    }
}

/// Counts responses of one status, as it came: what is above 599 is none of RFC 9110 (section 15), but that is what the server sent.
#[inline]
pub(super) fn count_status(all: &mut Vec<StatusCount>, status: u16, count: u64) {
    let status = status.clamp(100, 999);
    match all.binary_search_by_key(&status, |counted| counted.status) {
        Ok(at) => all[at].count += count,
        Err(at) => all.insert(at, StatusCount { status, count }),
    }
}
