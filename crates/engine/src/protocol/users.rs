//! The loop of a user or a pooled connection: make a request, find the next one. Where requests come from is the only
//! difference between the closed and the open model.

use std::rc::Rc;

use genkai_model::load::FAILURE_PACE;
use genkai_model::units::Spread;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Pcg64Mcg;

use super::core::Core;
use super::dispatch::Protocol;
use super::queue::{Due, Queue};
use super::request::{Channel, Done, RequestClient, ScheduledRequest};
use crate::clock::Moment;
use crate::schedule::pacer::Arrival;
use crate::schedule::share::{Model, Share};
use crate::transport::reactor::spawn;

/// Where the requests of a client come from.
enum RequestSource {
    /// A user who thinks between requests.
    User(Thinker),
    /// The queue of the thread.
    Pool(Rc<Queue>),
}

/// What a user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    /// When the next request is planned.
    pub(crate) planned: Moment,
    /// Whether it would be sooner, had the last one not failed.
    pub(crate) paced: bool,
}

/// How a user pauses.
pub(crate) struct Thinker {
    think: Spread,
    random: Pcg64Mcg,
    /// When the user leaves: no request is planned from then on.
    pub(crate) until: Moment,
}

/// Makes requests until there are no more: from `first`, which has been claimed.
async fn repeat(mut client: impl RequestClient, mut source: RequestSource, first: ScheduledRequest) {
    let mut request = first;
    while let Some(done) = client.make(request).await {
        match source.next(&mut client, request, done).await {
            Some(next) => request = next,
            None => return,
        }
    }
}

impl RequestSource {
    async fn next(
        &mut self,
        client: &mut impl RequestClient,
        request: ScheduledRequest,
        done: Done,
    ) -> Option<ScheduledRequest> {
        match self {
            RequestSource::User(thinker) => {
                let Next { planned, paced } = thinker.next(request.planned, done);
                if planned >= thinker.until {
                    client.channel().rest(thinker.until).await;
                    return None;
                }
                if planned > done.at {
                    client.channel().rest(planned).await;
                }
                let claimed = client.channel().core().claim_after(planned.max(done.at), paced);
                claimed.then_some(ScheduledRequest { planned, prompt: true })
            }
            RequestSource::Pool(queue) => queue.next(client.channel()).await,
        }
    }
}

/// Requests and responses: users that have a client each (closed model), or planned requests on the clients of a pool (open
/// model).
pub(crate) struct Requests<F> {
    core: Rc<Core>,
    thread: u32,
    model: Model,
    queue: Rc<Queue>,
    client: F,
}

impl<F> Requests<F> {
    /// `share` of a load, of which a connection makes `streams` requests at once; `client` gives a new client.
    pub(crate) fn new(core: &Rc<Core>, share: &Share, streams: u32, client: F) -> Requests<F> {
        let queue = Rc::new(Queue::new(share.connections().saturating_mul(streams)));
        Requests { core: Rc::clone(core), thread: share.thread, model: share.model, queue, client }
    }
}

impl<C: RequestClient + 'static, F: Fn() -> C> Protocol for Requests<F> {
    fn arrive(&self, n: usize, arrival: Arrival) -> bool {
        let Requests { core, thread, model, queue, client } = self;
        if !core.claim() {
            return false;
        }
        let first = ScheduledRequest::first(core, arrival.at);
        match *model {
            Model::Closed { think } => {
                let thinker = Thinker::new(think, core.seed, *thread, n, arrival.until);
                spawn(repeat(client(), RequestSource::User(thinker), first));
            }
            Model::Open { .. } => match queue.place(arrival.at) {
                Due::Placed => {}
                Due::Queued => core.ledger.borrow_mut().queued(),
                Due::Open => spawn(repeat(client(), RequestSource::Pool(Rc::clone(queue)), first)),
                Due::Dropped => core.dropped(arrival.at),
            },
        }
        true
    }
}

impl Thinker {
    /// For the `n`-th user of a thread, who leaves at `until`.
    pub(crate) fn new(think: Spread, seed: u64, thread: u32, n: usize, until: Moment) -> Thinker {
        let user = u64::from(thread) << 32 | n as u64;
        // Golden-ratio steps keep the seeds of neighbours apart.
        let random = Pcg64Mcg::seed_from_u64(seed ^ user.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Thinker { think, random, until }
    }

    /// When the next request is planned.
    pub(crate) fn next(&mut self, planned: Moment, done: Done) -> Next {
        let next = done.at.saturating_add(sample(self.think, &mut self.random));
        let pace = planned.saturating_add(FAILURE_PACE.0);
        let paced = done.failed && pace > next;
        Next { planned: if paced { pace } else { next }, paced }
    }
}

/// A value of `spread`, nanoseconds.
pub(crate) fn sample(spread: Spread, random: &mut impl Rng) -> Moment {
    match spread {
        Spread::Constant(span) => span.0,
        Spread::Uniform(low, high) => random.random_range(low.0..=high.0.max(low.0)),
        Spread::Exponential(mean) => {
            let unit: f64 = Exp1.sample(random);
            (mean.0 as f64 * unit) as Moment
        }
        Spread::LogNormal(median, sigma) => {
            let unit: f64 = StandardNormal.sample(random);
            (median.0 as f64 * (sigma * unit).exp()) as Moment
        }
        Spread::Bimodal(usual, other, share) => {
            if random.random_bool(share.clamp(0.0, 1.0)) {
                other.0
            } else {
                usual.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Moment = 1_000_000;

    fn mean_ms(spread: &str) -> f64 {
        let mut thinker = Thinker::new(spread.parse().unwrap(), 1, 0, 2, Moment::MAX);
        let sum: u64 = (0..20_000).map(|_| thinker.next(0, Done { at: 0, failed: false }).planned).sum();
        sum as f64 / 20_000.0 / MS as f64
    }

    #[test]
    fn pauses_have_the_mean_asked_for() {
        assert_eq!(mean_ms("50ms"), 50.0);
        // Standard errors of 20,000 draws: 0.12, 0.35 and 0.27 ms.
        assert!((mean_ms("uniform(20ms,80ms)") - 50.0).abs() < 0.6);
        assert!((mean_ms("exp(50ms)") - 50.0).abs() < 1.8);
        assert!((mean_ms("bimodal(40ms,90ms,0.2)") - 50.0).abs() < 0.8);
        assert!((mean_ms("lognormal(50ms,0.5)") - 50.0 * 0.125f64.exp()).abs() < 1.4);
    }

    #[test]
    fn a_failed_user_does_not_hammer() {
        let mut thinker = Thinker::new(Spread::default(), 1, 0, 2, Moment::MAX);
        let mut next = |at, failed| thinker.next(1_000 * MS, Done { at, failed });
        assert_eq!(next(1_001 * MS, true), Next { planned: 1_100 * MS, paced: true }, "failed at once");
        assert_eq!(next(3_000 * MS, true), Next { planned: 3_000 * MS, paced: false }, "failed slowly");
        assert_eq!(next(1_001 * MS, false), Next { planned: 1_001 * MS, paced: false });
    }
}
