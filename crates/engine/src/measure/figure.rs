//! Figures: what is counted in an interval, how two of them become one, and how a record tells them.

use std::ops::{Deref, DerefMut};

use genkai_model::content::WrongBody;
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Deliveries, Refusal, StatusCount};
use genkai_model::histogram::{DIGITS, HIGHEST_NS, LOWEST_NS, Payload, PayloadError};
use genkai_model::http2::GoAways;
use genkai_model::websocket::Messages;
use hdrhistogram::Histogram;

use crate::clock::Moment;

/// A figure of an interval.
pub(crate) trait Figure: Default {
    /// As a record tells it.
    type Told;

    /// Adds what another thread, or another interval, saw.
    fn add(&mut self, other: &Self);

    /// As new, keeping its memory.
    fn clear(&mut self) {
        *self = Self::default();
    }

    /// In the words of a record.
    fn tell(&self) -> Self::Told;

    /// From the words of a record.
    ///
    /// # Errors
    /// When a distribution is damaged.
    fn read(told: &Self::Told) -> Result<Self, PayloadError>;
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
            type Told = $told;

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

impl Figure for u64 {
    type Told = u64;

    fn add(&mut self, other: &u64) {
        *self += other;
    }

    fn tell(&self) -> u64 {
        *self
    }

    fn read(told: &u64) -> Result<u64, PayloadError> {
        Ok(*told)
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

impl<F: Figure<Told: Default + PartialEq>> Figure for Seldom<F> {
    type Told = Option<F::Told>;

    fn add(&mut self, other: &Self) {
        self.0.add(&other.0);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn tell(&self) -> Option<F::Told> {
        Some(self.0.tell()).filter(|told| *told != F::Told::default())
    }

    fn read(told: &Option<F::Told>) -> Result<Self, PayloadError> {
        told.as_ref().map(F::read).transpose().map(|figure| Seldom(figure.unwrap_or_default()))
    }
}

/// A figure that has memory, and is told, only once it was needed.
#[derive(Clone, Debug)]
pub(crate) struct Lazy<F>(Option<Box<F>>);

impl<F> Default for Lazy<F> {
    fn default() -> Lazy<F> {
        Lazy(None)
    }
}

impl<F: Default> Lazy<F> {
    /// The figure, which is needed now.
    pub(crate) fn get(&mut self) -> &mut F {
        self.0.get_or_insert_default()
    }
}

impl<F: Figure> Figure for Lazy<F> {
    type Told = Option<Box<F::Told>>;

    fn add(&mut self, other: &Self) {
        if let Some(theirs) = &other.0 {
            self.get().add(theirs);
        }
    }

    fn clear(&mut self) {
        if let Some(figure) = &mut self.0 {
            figure.clear();
        }
    }

    fn tell(&self) -> Self::Told {
        self.0.as_ref().map(|figure| Box::new(figure.tell()))
    }

    fn read(told: &Self::Told) -> Result<Self, PayloadError> {
        told.as_deref().map(F::read).transpose().map(|figure| Lazy(figure.map(Box::new)))
    }
}

/// A distribution of times, nanoseconds, with the bounds that all genkai histograms have. 32-bit counters: half the memory, and no
/// interval has four thousand million requests.
#[derive(Clone, Debug)]
pub(crate) struct Distribution(Histogram<u32>);

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution(Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("constant bounds are valid"))
    }
}

impl Distribution {
    /// Counts a time.
    #[inline]
    pub(crate) fn record(&mut self, time: Moment) {
        self.0.saturating_record(time);
    }
}

impl Figure for Distribution {
    type Told = Payload;

    fn add(&mut self, other: &Distribution) {
        if !other.0.is_empty() {
            self.0.add(&other.0).expect("the same bounds");
        }
    }

    fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    fn tell(&self) -> Payload {
        Payload::encode(&self.0)
    }

    fn read(told: &Payload) -> Result<Distribution, PayloadError> {
        let mut distribution = Distribution::default();
        told.add_to(&mut distribution.0)?;
        Ok(distribution)
    }
}

/// A distribution that has memory only once it was needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct LazyDistribution(Lazy<Distribution>);

impl LazyDistribution {
    /// Counts a time.
    pub(crate) fn record(&mut self, time: Moment) {
        self.0.get().record(time);
    }
}

impl Figure for LazyDistribution {
    type Told = Payload;

    fn add(&mut self, other: &LazyDistribution) {
        self.0.add(&other.0);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn tell(&self) -> Payload {
        self.0.tell().map(|payload| *payload).unwrap_or_default()
    }

    fn read(told: &Payload) -> Result<LazyDistribution, PayloadError> {
        let told = Some(told).filter(|told| !told.is_empty());
        told.map(Distribution::read).transpose().map(|read| LazyDistribution(Lazy(read.map(Box::new))))
    }
}

/// A distribution whose number of values is told beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivered(Distribution);

impl Delivered {
    /// Counts a time.
    #[inline]
    pub(crate) fn record(&mut self, time: Moment) {
        self.0.record(time);
    }
}

impl Figure for Delivered {
    type Told = Deliveries;

    fn add(&mut self, other: &Delivered) {
        self.0.add(&other.0);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn tell(&self) -> Deliveries {
        Deliveries { count: self.0.0.len(), latency: self.0.tell() }
    }

    fn read(told: &Deliveries) -> Result<Delivered, PayloadError> {
        Distribution::read(&told.latency).map(Delivered)
    }
}

/// Failures by kind.
#[derive(Clone, Debug)]
pub(crate) struct Errors([u64; ErrorKind::COUNT]);

impl Default for Errors {
    fn default() -> Errors {
        Errors([0; ErrorKind::COUNT])
    }
}

impl Errors {
    /// Counts one.
    pub(crate) fn count(&mut self, kind: ErrorKind) {
        self.0[kind.index()] += 1;
    }
}

impl Figure for Errors {
    type Told = Vec<ErrorCount>;

    fn add(&mut self, other: &Errors) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn tell(&self) -> Vec<ErrorCount> {
        let count = |kind: &ErrorKind| ErrorCount { kind: *kind, count: self.0[kind.index()] };
        ErrorKind::ALL.iter().map(count).filter(|e| e.count > 0).collect()
    }

    fn read(told: &Vec<ErrorCount>) -> Result<Errors, PayloadError> {
        let mut errors = Errors::default();
        told.iter().for_each(|error| errors.0[error.kind.index()] += error.count);
        Ok(errors)
    }
}

/// Smallest status (RFC 9110 section 15).
const FIRST_STATUS: u16 = 100;
/// Statuses told apart; those above 599 are no statuses and counted as the largest.
const STATUSES: usize = 500;

/// Responses by status, from [`FIRST_STATUS`].
#[derive(Clone, Debug)]
pub(crate) struct Statuses([u32; STATUSES]);

impl Default for Statuses {
    fn default() -> Statuses {
        Statuses([0; STATUSES])
    }
}

impl Statuses {
    /// Counts one.
    #[inline]
    pub(crate) fn count(&mut self, status: u16) {
        *self.counter(status) += 1;
    }

    fn counter(&mut self, status: u16) -> &mut u32 {
        &mut self.0[usize::from(status.saturating_sub(FIRST_STATUS)).min(STATUSES - 1)]
    }
}

impl Figure for Statuses {
    type Told = Vec<StatusCount>;

    fn add(&mut self, other: &Statuses) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn tell(&self) -> Vec<StatusCount> {
        let counts = (FIRST_STATUS..).zip(self.0).filter(|(_, count)| *count > 0);
        counts.map(|(status, count)| StatusCount { status, count: count.into() }).collect()
    }

    fn read(told: &Vec<StatusCount>) -> Result<Statuses, PayloadError> {
        let mut statuses = Statuses::default();
        for StatusCount { status, count } in told {
            let counter = statuses.counter(*status);
            *counter = counter.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
        }
        Ok(statuses)
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
    type Told = Option<u64>;

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
            type Told = $figure;

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
    Messages: Messages::add;
    GoAways: GoAways::add;
    // The first of an interval is kept.
    Option<Refusal>: |mine, theirs| if mine.is_none() { mine.clone_from(theirs) };
    Option<WrongBody>: |mine, theirs| *mine = mine.or(*theirs);
}
