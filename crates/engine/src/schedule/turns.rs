//! How threads go through one order together: each takes some of every so many, in turn, so that all of them are taken once.

/// Which of an order's requests are a thread's: of every `of`, the `size` that begin with number `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    /// Requests that all threads together take in a turn.
    pub(crate) of: u32,
    /// The first of them that is this thread's.
    pub(crate) from: u32,
    /// How many are, one after the other.
    pub(crate) size: u32,
}

impl Turns {
    /// How many of the first `all` are its own.
    pub(crate) fn below(self, all: u64) -> u64 {
        let (of, from, size) = (u64::from(self.of.max(1)), u64::from(self.from), u64::from(self.size));
        all / of * size + (all % of).saturating_sub(from).min(size)
    }

    /// The number of its `n`-th request, from 0.
    pub(crate) fn number(self, n: u64) -> u64 {
        let size = u64::from(self.size.max(1));
        n / size * u64::from(self.of) + u64::from(self.from) + n % size
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::content::{Content, Mix, Pages, Sizes};
    use genkai_model::load::{Arrivals, Load, Spacing, Stop};
    use genkai_model::units::{Bytes, Span, Spread};
    use proptest::prelude::*;

    use super::super::share::Part;

    fn load(arrivals: Arrivals, requests: u32, threads: u16) -> Load {
        let content = Content { objects: requests, sizes: Sizes::LogNormal { median: Bytes(9), sigma: 0.1 }, seed: 1 };
        let pages = Pages { content, mix: Mix::Sweep, distinct: requests, requests, seed: 1 };
        let stop = Stop { after: Span::from_secs(9), requests: Some(requests.into()) };
        let addresses = vec!["127.0.0.1:1".parse().unwrap()];
        Load { arrivals, stop, threads, addresses, pages: Some(Box::new(pages)), ..Load::users(1, 1.0) }
    }

    proptest! {
        #[test]
        fn each_request_of_an_order_is_one_threads(
            closed: bool, count in 1u32..60, requests in 1u32..500, threads in 1u16..4, of in 1u16..9
        ) {
            let arrivals = match closed {
                true => Arrivals::Users { count, spawn_rate: 1e4, think: Spread::default() },
                false => {
                    Arrivals::Rate { per_second: 100.0, ramp: Span(0), spacing: Spacing::Uniform, connections: count }
                }
            };
            let load = load(arrivals, requests, threads);
            let mut all = Vec::new();
            for process in 0..of {
                for share in (Part { process, of }).shares(&load).unwrap() {
                    all.extend((0..share.quota.unwrap()).map(|n| share.turns.number(n)));
                }
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..u64::from(requests)).collect::<Vec<_>>());
        }
    }
}
