//! Each figure of each two contenders.

use genkai_model::comparison::Comparison;
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::ComparedPair;
use genkai_model::finding::{Call, Effect, OneSided};
use genkai_model::units::Range;

use super::Seen;
use crate::effect::{self, Paired, is_decided};
use crate::spending;
use crate::statistics::ALPHA;

/// The margin of failures, as a part of that of ratios.
const FAILURES: f64 = 0.1;

/// Judges pairs after so many blocks.
pub(super) struct Judge<'a> {
    comparison: &'a Comparison,
    /// Contenders that were not dropped.
    playing: Vec<&'a str>,
    turns: &'a [Seen<'a>],
    /// What this look, and the last one, may leave out.
    parts: (f64, f64),
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        comparison: &'a Comparison,
        playing: Vec<&'a str>,
        turns: &'a [Seen<'a>],
        blocks: u32,
    ) -> Judge<'a> {
        let part = |blocks| spending::part(&comparison.looks, blocks, ALPHA).unwrap_or(ALPHA);
        let last = comparison.looks.last().copied().unwrap_or(1);
        Judge { comparison, playing, turns, parts: (part(blocks.max(1)), part(last)) }
    }

    /// The names that are compared; none where too few are left.
    pub(super) fn names(&self) -> Vec<(&'a str, &'a str)> {
        let all = &self.playing;
        match &self.comparison.base {
            Some(base) if !all.contains(&base.as_str()) => Vec::new(),
            Some(base) => all.iter().filter(|name| *name != base).map(|name| (base.as_str(), *name)).collect(),
            None => {
                let after = |n: usize| all[n + 1..].iter().copied();
                all.iter().enumerate().flat_map(|(n, base)| after(n).map(|other| (*base, other))).collect()
            }
        }
    }

    /// Statements of the comparison.
    fn count(&self) -> f64 {
        (self.names().len() * Figure::ALL.len()).max(1) as f64
    }

    /// What each interval leaves out.
    pub(super) fn each(&self) -> f64 {
        self.parts.0 / self.count()
    }

    pub(super) fn pairs(&self) -> Vec<ComparedPair> {
        self.names().into_iter().map(|(base, other)| self.pair((base, false), (other, false), self.count())).collect()
    }

    /// The first contender against itself: a family of its own.
    pub(super) fn control(&self) -> Option<ComparedPair> {
        let first = self.comparison.contenders.first().filter(|_| self.comparison.control)?;
        let name = *self.playing.iter().find(|name| **name == first.name)?;
        Some(self.pair((name, false), (name, true), Figure::ALL.len() as f64))
    }

    fn pair(&self, base: (&str, bool), other: (&str, bool), count: f64) -> ComparedPair {
        let silent = self.is_silent(base, other);
        let aged = [base.0, other.0].iter().any(|name| !self.is_restarted(name));
        let effects = Figure::ALL.iter().map(|(figure, _)| {
            if silent {
                return Effect { figure: *figure, effect: None, bound: None, call: Call::Missing };
            }
            if aged && figure.ages() {
                return Effect { figure: *figure, effect: None, bound: None, call: Call::NotJudged };
            }
            let parts = (self.parts.0 / count, self.parts.1 / count);
            let both = self.both(base, other);
            if let Some((bound, call)) = bounded(&both, *figure, parts.0) {
                return Effect { figure: *figure, effect: None, bound, call };
            }
            let (seen, call) = paired(&both, *figure).judge(self.margin(*figure), figure.more_is_better(), parts);
            Effect { figure: *figure, effect: seen, bound: None, call }
        });
        ComparedPair { base: base.0.to_owned(), other: other.0.to_owned(), effects: effects.collect() }
    }

    /// Whether neither of two was ever answered, so that nothing they have in common tells of them.
    fn is_silent(&self, base: (&str, bool), other: (&str, bool)) -> bool {
        let mut own =
            self.turns.iter().filter(|seen| [base, other].iter().any(|(name, control)| seen.is(name, *control)));
        own.next().is_some_and(|first| !first.answered() && own.all(|seen| !seen.answered()))
    }

    /// Whether a contender is started anew for each turn: else it is older with every turn, by as much as it has served.
    fn is_restarted(&self, name: &str) -> bool {
        self.comparison.contenders.iter().any(|one| one.name == name && one.runs.is_restarted())
    }

    /// The pairs of which neither was ever answered, by name.
    pub(super) fn silent(&self) -> Vec<(&'a str, &'a str)> {
        self.names().into_iter().filter(|(base, other)| self.is_silent((base, false), (other, false))).collect()
    }

    fn margin(&self, figure: Figure) -> Range {
        match figure.is_fraction() {
            true => effect::difference_margin(self.comparison.margin * FAILURES),
            false => effect::ratio_margin(self.comparison.margin),
        }
    }

    /// The turns of both in the same block.
    fn both(&self, base: (&str, bool), other: (&str, bool)) -> Vec<Both<'a>> {
        let of = |(name, control): (&str, bool), block: u32| {
            self.turns.iter().find(|seen| seen.is(name, control) && seen.finding.block == block)
        };
        let blocks = self.turns.iter().filter(|seen| seen.is(base.0, base.1)).map(|seen| seen.finding.block);
        blocks.filter_map(|block| Some((of(base, block)?, of(other, block)?))).collect()
    }

    /// Whether everything that decides is decided.
    pub(super) fn decided(&self, pairs: &[ComparedPair]) -> bool {
        let decides = |effect: &&Effect| self.comparison.deciding.contains(&effect.figure);
        pairs.iter().all(|pair| pair.effects.iter().filter(decides).all(|effect| is_decided(effect.call)))
    }

    /// Best and worst rank of a contender, where each was compared with each; else all places.
    pub(super) fn rank(&self, name: &str, figure: Figure, pairs: &[ComparedPair]) -> (u32, u32) {
        let call = |pair: &ComparedPair| pair.effects.iter().find(|e| e.figure == figure).map(|e| e.call);
        let certain = pairs.iter().filter_map(|pair| match call(pair)? {
            Call::Better => Some((pair.other.as_str(), pair.base.as_str())),
            Call::Worse => Some((pair.base.as_str(), pair.other.as_str())),
            _ => None,
        });
        let ranks = effect::ranks(&self.playing, &certain.collect::<Vec<_>>());
        ranks.get(name).copied().unwrap_or((1, self.comparison.contenders.len() as u32))
    }
}

/// Turns of two in the same block.
type Both<'a> = (&'a Seen<'a>, &'a Seen<'a>);

/// What is compared of a figure. Where one of two answered nothing well there is no ratio, and without these blocks it would be another.
fn paired(both: &[Both<'_>], figure: Figure) -> Paired {
    if figure.is_fraction() {
        let counts = both.iter().map(|(a, b)| (a.counts(), b.counts()));
        return Paired::Failures(counts.filter(|(a, b)| a.1 > 0 && b.1 > 0).collect());
    }
    let ratios: Vec<(f64, f64)> = both.iter().filter_map(|(a, b)| Some((a.value(figure)?, b.value(figure)?))).collect();
    let none = ratios.iter().any(|(a, b)| *a <= 0.0 || *b <= 0.0);
    Paired::Ratios(if none { Vec::new() } else { ratios })
}

/// What is known of a latency that is a bound in some turns: with what is more than the bounds the ratio is more (or less, where that is
/// the base) than the end of the interval which the bounds have. Nothing is known of two bounds.
fn bounded(both: &[Both<'_>], figure: Figure, alpha: f64) -> Option<(Option<OneSided>, Call)> {
    let of = |seen: &Seen<'_>| seen.value(figure).or(seen.bound(figure));
    let (base, other) =
        (both.iter().any(|(a, _)| a.bound(figure).is_some()), both.iter().any(|(_, b)| b.bound(figure).is_some()));
    if !base && !other {
        return None;
    }
    let least = Paired::Ratios(both.iter().filter_map(|(a, b)| Some((of(a)?, of(b)?))).collect()).told(alpha);
    let open = Call::CannotTell { more: None };
    Some(match (least.map(|ratio| ratio.interval), base, other) {
        (Some(ends), false, true) => {
            (Some(OneSided::MoreThan(ends.low)), if ends.low > 1.0 { Call::Worse } else { open })
        }
        (Some(ends), true, false) => {
            (Some(OneSided::LessThan(ends.high)), if ends.high < 1.0 { Call::Better } else { open })
        }
        _ => (None, open),
    })
}

/// Figures in which the first contender differs from itself.
#[derive(Debug, Default)]
pub(super) struct Differing {
    /// Of those that decide: then nothing is to be trusted.
    pub(super) deciding: Vec<Figure>,
    /// Of the others: one of them does by chance now and then, as there are several. Nothing is said of it then.
    pub(super) other: Vec<Figure>,
}

impl Differing {
    pub(super) fn of(control: Option<&ComparedPair>, deciding: &[Figure]) -> Differing {
        let all = control.into_iter().flat_map(|pair| &pair.effects).filter(|effect| differs(effect.call));
        let (deciding, other) = all.map(|effect| effect.figure).partition(|figure| deciding.contains(figure));
        Differing { deciding, other }
    }

    /// Takes back what was said of figures that differ though they must not, and decide nothing.
    pub(super) fn unsay(&self, pairs: &mut [ComparedPair]) {
        let strays = |effect: &&mut Effect| self.other.contains(&effect.figure) && differs(effect.call);
        for effect in pairs.iter_mut().flat_map(|pair| &mut pair.effects).filter(strays) {
            effect.call = Call::NotJudged;
        }
    }
}

/// Whether an effect is one.
pub(super) fn differs(call: Call) -> bool {
    matches!(call, Call::Better | Call::Worse)
}
