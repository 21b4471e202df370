//! Servers that genkai does not know, which fail at moments of their own: what one of their parameters is tried for.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law};
use genkai_model::record::Record;
use proptest::prelude::*;

use crate::world::parts::*;
use crate::world::{Seen, World};

/// When a burst begins in each trial, and how long it lasts, seconds; and how many users the parameter lets in.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    begins: Vec<f64>,
    lasts: f64,
    lets: Option<f64>,
}

pub(crate) fn drawn() -> impl Strategy<Value = Moments> {
    // Some come as often as not in the order of the parameter.
    let at = |without: f64, with: f64| {
        let shift = move |begins: Vec<f64>| {
            let moved = |(i, by): (usize, f64)| by + if matches!(i % 4, 1 | 2) { with } else { without };
            begins.into_iter().enumerate().map(moved).collect::<Vec<f64>>()
        };
        proptest::collection::vec(0.0..4.0f64, 12).prop_map(shift)
    };
    let begins = prop_oneof![at(1.0, 1.0), at(1.0, 4.0), at(1.0, 8.0)];
    let drawn = (begins, 1.0..6.0f64, proptest::option::of(6.0..20.0f64));
    drawn.prop_map(|(begins, lasts, lets)| Moments { begins, lasts, lets })
}

impl Moments {
    pub(crate) fn record(self) -> Record {
        let world = World {
            plan: plan(users(60, 4.0), "errors < 0.1%"),
            settings: settings(&[("first", 7.0)]),
            limits: Box::new(|s| {
                let law = Law::Tried { value: s["first"], word: None };
                let mut first = limit("first", s["first"], law, Vec::new(), ErrorKind::ALL, true);
                first.remedy.as_mut().unwrap().ceiling = Some(Ceiling { value: 28.0, by: "the range".into() });
                vec![first]
            }),
            behaviour: Box::new(move |m| {
                let at = self.begins.get(m.trial as usize - 1).copied().unwrap_or(f64::INFINITY);
                let mut seen = Seen { waiting: Some((m.t, 0)), ..Seen::closed(m.level, 0.1) };
                let full = self.lets.is_some_and(|lets| m.level > lets * m.value("first") / 7.0);
                if m.t > at && m.t <= at + self.lasts || full {
                    seen.errors = vec![(ErrorKind::Status503, seen.ok * 0.5)];
                    seen.ok *= 0.5;
                }
                seen
            }),
        };
        world.run().record
    }
}
