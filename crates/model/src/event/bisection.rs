//! A search among the directives of a configuration: which of them, left out together, make a failure go away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit::Origin;
use crate::units::Span;

/// Such a search begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bisection {
    /// Time that it may take.
    pub budget: Span,
    /// Directives in force for the requests that may be left out, in the order in which they are written.
    pub directives: Vec<Directive>,
    /// Which are left out first, by position: those of a kind of which there are few. Empty: in the order in which they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<u32>,
    /// How each configuration is tried.
    pub tried_by: Trying,
    /// Answers that are as they should be: of what stands behind the product, asked directly, and, where it answers at all, of the product with
    /// every directive in place. Empty: nobody could be asked.
    pub normal: Vec<Page>,
}

/// A directive of the user's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Directive {
    /// As it is written, secrets replaced, on one line; of a block its head.
    pub text: String,
    /// Where.
    pub origin: Origin,
    /// Whether it decides who may ask for what (an access control): it is left out of a private copy to see what requests meet, and never
    /// proposed to be taken out. Of one that is named so does whatever lets requests pass that were answered 401, 403, 407 or another such status.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protects: bool,
}

/// How a configuration is tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Trying {
    /// By one request: the first fails, or takes longer by itself than the objective allows.
    Request {
        /// How long its answer is waited for; none by then is a failure.
        within: Span,
    },
    /// By a short load.
    Load {
        /// Users, or requests a second.
        level: f64,
        /// Time to get there.
        ramp: Span,
        /// How long it is held.
        hold: Span,
        /// How long an answer is waited for in it; none: as long as in any other load of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Span>,
    },
}

/// What one request was answered, or several that were asked one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// The status; none: there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Its content as a short digest, that of a normal one where it is the same page: of one that varies, where all of it that stays is there. None: not
    /// compared (next to nothing of it stays, or it did not come whole, or it has none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Where several requests were asked: the status of each, in their order; the one above is the highest of them. Empty: one was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<u16>,
}

/// Some of the directives were left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Removal {
    /// Which: positions among [`Bisection::directives`]; none: all are in place.
    pub removed: Vec<u32>,
    /// What the product says against such a configuration; none: it starts with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What it answers to one request; none where it did not start. The trial that follows, if one does, is with the same configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
}
