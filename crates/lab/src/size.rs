//! How much time a study may take.

use genkai_model::plan::Procedure;
use genkai_model::units::Span;

/// How much time an experiment may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Under a minute of load, embedded backend.
    Quick,
    /// As the original was done.
    Full,
}

impl Size {
    /// Its name, in titles.
    pub(crate) fn word(self) -> &'static str {
        if self == Size::Quick { "quick" } else { "full" }
    }
}

/// The search and the proof in a size.
pub fn procedure(size: Size) -> Procedure {
    let (hold, proof_ramp, proof_hold, sustained) = match size {
        Size::Quick => (Span::from_secs(3), Span::from_secs(2), Span::from_secs(3), Span::from_secs(1)),
        Size::Full => (Span::from_secs(30), Span::from_secs(30), Span::from_secs(30), Span::from_secs(10)),
    };
    Procedure {
        max_limits: 4,
        min_pairs: 3,
        max_pairs: if size == Size::Quick { 3 } else { 6 },
        hold,
        proof_ramp,
        proof_hold,
        headroom: 1.2,
        sustained,
        // Fixed, so that a run can be made again. It was chosen because it draws A B, B A, A B for the first three pairs of a proof:
        // whatever drifts meets both. The chance of a separation rests on independent trials, not on this order.
        seed: 3,
        bisect: Span(0),
        smaller: 0,
    }
}
