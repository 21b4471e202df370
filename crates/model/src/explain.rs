//! What a configuration says before anything runs: its limits, its timers, and what is wrong with it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Predicted;
use crate::limit::{Limit, Origin};
use crate::units::Span;

/// A configuration explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Product, e.g. `apache`.
    pub product: String,
    /// Every file that was read, the main one first.
    pub files: Vec<PathBuf>,
    /// Every limit, in no order.
    pub limits: Vec<Limit>,
    /// How many clients, bytes or requests a second each limit lets through, what bites first first. Filled in by the
    /// analysis.
    pub predictions: Vec<Predicted>,
    /// Settings that count time.
    pub timers: Vec<Timer>,
    /// What is wrong, or is not what it seems; and what the configuration alone does not tell.
    pub remarks: Vec<Remark>,
    /// What the server that is installed here says of it; none: it was not asked, or has no check of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Asked>,
    /// The listener that was asked for only redirects, and all this is of the one to which it leads; none: it is of the one that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led: Option<Led>,
}

/// A plain listener that does nothing but redirect requests to another one, by TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Led {
    /// The directive by which it redirects them, as written.
    pub by: String,
    /// `path:line` of that.
    pub place: String,
    /// The listener to which it leads, as written.
    pub to: String,
    /// `path:line` of that.
    pub at: String,
}

/// What the server that is installed says of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Asked {
    /// It takes it.
    Taken {
        /// Who was asked, with the version, and how.
        by: String,
        /// What it warns of.
        warnings: Vec<String>,
    },
    /// It does not start with it.
    Refused {
        /// Who was asked, with the version, and how.
        by: String,
        /// Its own sentences, with the places in the user's files.
        words: Vec<String>,
    },
    /// It could not be asked, or what it said is of this machine and not of the configuration.
    Open {
        /// Why.
        why: Vec<String>,
    },
}

impl Explanation {
    /// What is wrong, or is not what it seems.
    pub fn mistakes(&self) -> impl Iterator<Item = &Remark> {
        self.remarks.iter().filter(|remark| remark.kind != RemarkKind::Unsure)
    }

    /// Whether the server that is installed does not start with it.
    pub fn is_refused(&self) -> bool {
        matches!(self.server, Some(Asked::Refused { .. }))
    }

    /// What the configuration alone does not tell.
    pub fn open(&self) -> impl Iterator<Item = &Remark> {
        self.remarks.iter().filter(|remark| remark.kind == RemarkKind::Unsure)
    }
}

/// A setting that ends something after a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timer {
    /// The setting.
    pub setting: String,
    /// Its value as written.
    pub value: String,
    /// Where it is written.
    pub origin: Origin,
    /// How long it is; none where it is not a single time.
    pub span: Option<Span>,
    /// What it ends.
    pub ends: String,
}

/// Something that is wrong, or is not what it seems.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// What kind of thing.
    pub kind: RemarkKind,
    /// `path:line`; none for what is written nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The setting.
    pub setting: String,
    /// What is so, with numbers.
    pub text: String,
    /// What to do, or the nearest name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Kinds of remarks, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// There is no such setting: the server does not start.
    Unknown,
    /// Two settings want what cannot both be.
    Contradiction,
    /// The server silently takes another value than the one written.
    Clamped,
    /// It has no effect here.
    Ignored,
    /// Nothing is wrong: what it does to requests is decided by more than the configuration, so that limits count only those that it
    /// lets through.
    Unsure,
}
