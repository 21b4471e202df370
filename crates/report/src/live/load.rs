//! What a viewer of a plain load knows: all of it in sum, the time scales, what failed and how.

use std::collections::BTreeMap;

use genkai_model::error::ErrorKind;
use genkai_model::event::{Tick, TrialStarted};
use genkai_model::load::Stop;
use genkai_model::websocket::Messages;

use super::scale::Scales;
use super::slice::Slice;
use crate::unit::Unit;

/// A plain load so far.
pub(super) struct Load {
    pub(super) unit: Unit,
    pub(super) stop: Stop,
    pub(super) scales: Scales,
    pub(super) whole: Slice,
    errors: [u64; ErrorKind::COUNT],
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) messages: Messages,
    /// Connections opened, full TLS handshakes, resumed ones.
    pub(super) opened: u64,
    pub(super) tls: (u64, u64),
}

impl Load {
    pub(super) fn new(started: &TrialStarted) -> Load {
        Load {
            unit: Unit::of(&started.load.protocol),
            stop: started.load.stop,
            scales: Scales::default(),
            whole: Slice::default(),
            errors: [0; ErrorKind::COUNT],
            statuses: BTreeMap::new(),
            messages: Messages::default(),
            opened: 0,
            tls: (0, 0),
        }
    }

    pub(super) fn tick(&mut self, tick: &Tick, slice: &Slice) {
        self.scales.push(slice);
        self.whole.add(slice);
        for error in &tick.errors {
            self.errors[error.kind.index()] += error.count;
        }
        for status in &tick.statuses {
            *self.statuses.entry(status.status).or_default() += status.count;
        }
        if let Some(messages) = &tick.messages {
            self.messages.add(messages);
        }
        if let Some(made) = &tick.handshakes {
            self.tls = (self.tls.0 + made.full, self.tls.1 + made.resumed);
        }
        self.opened += tick.opened;
    }

    /// Kinds of failures with their numbers, most frequent first.
    pub(super) fn errors(&self) -> Vec<(ErrorKind, u64)> {
        let mut all: Vec<(ErrorKind, u64)> = ErrorKind::ALL.iter().map(|k| (*k, self.errors[k.index()])).collect();
        all.retain(|e| e.1 > 0);
        all.sort_by_key(|e| std::cmp::Reverse(e.1));
        all
    }

    /// How much of the load is over, 0 to 1: by its time or its number, whichever is further.
    pub(super) fn done(&self) -> f64 {
        let time = self.whole.to_us as f64 / 1e3 / (self.stop.after.0 as f64 / 1e6).max(1e-9);
        let number = self.stop.requests.map_or(0.0, |n| (self.whole.ok + self.whole.failed) as f64 / n.max(1) as f64);
        time.max(number).clamp(0.0, 1.0)
    }

    /// Changes what is looked at; whether the key means something.
    pub(super) fn key(&mut self, key: char) -> bool {
        match key {
            '-' | '_' => self.scales.shorter(),
            '+' | '=' => self.scales.longer(),
            'a' => self.scales.follow(),
            _ => return false,
        }
        true
    }
}
