//! Plain sentences: the verdict as one would tell it to a colleague, every figure with its unit and count.

mod answer;
pub(crate) mod cache;
mod cause;
pub(crate) mod claim;
mod client;
pub(crate) mod compare;
pub(crate) mod contest;
pub(crate) mod held;
mod limits;
mod proof;
pub(crate) mod rooms;
pub(crate) mod suite;
pub(crate) mod way;

pub(crate) use client::used;
use genkai_model::finding::{Because, Cause, Confidence, Findings, Outcome};
use genkai_model::record::Record;
use serde::Serialize;

use crate::scene::Scene;

pub use cause::evidence;
pub use limits::prediction;
pub(crate) use limits::{is_at_work, near, short_place};
pub(crate) use proof::{Side, condition, failing, names, percentage_points, quantile};

/// What a sentence is about, for reports that label or sort them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The answer itself; always first, always one.
    Answer,
    /// What broke, where, and what the server showed.
    Broke,
    /// What happened when one setting was changed alone.
    Test,
    /// Before against after.
    Proof,
    /// The figures of a load that held.
    Held,
    /// What breaks next, and where.
    Next,
    /// How sure the answer is.
    Sure,
    /// What contradicts or limits it.
    Caveat,
}

impl About {
    /// A label of one or two words.
    pub fn label(self) -> &'static str {
        match self {
            About::Answer => "Answer",
            About::Broke => "What broke",
            About::Test => "Tested by",
            About::Proof => "Proof",
            About::Held => "Measured",
            About::Next => "Next limit",
            About::Sure => "How sure",
            About::Caveat => "Note",
        }
    }
}

/// One or a few sentences about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// What about.
    pub about: About,
    /// The words; text taken from servers is already [clean](crate::clean).
    pub text: String,
}

/// A cause in words, for reports that show each with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseSaid {
    /// `nginx: worker_connections = 512`.
    pub title: String,
    /// What the limit caps, and its formula with numbers.
    pub formula: String,
    /// What broke.
    pub broke: String,
    /// How sure.
    pub confidence: String,
    /// What speaks for it.
    pub evidence: Vec<String>,
    /// What happened when only its setting was changed.
    pub counterfactual: Option<String>,
    /// The other candidates with why each is not the cause.
    pub others: Vec<Other>,
}

/// A candidate that is not the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// `nginx: worker_rlimit_nofile`.
    pub name: String,
    /// Why it is not the cause.
    pub why: String,
    /// What spoke for it all the same.
    pub evidence: Vec<String>,
}

/// What a load counts, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountedWords {
    /// `requests`, `messages`, `openings`.
    pub all: &'static str,
    /// What failed in the proof, `lost messages`; without a proof `failed requests`.
    pub failed: String,
}

/// What the load of a record counts, and what failed of it.
pub fn counted(findings: &Findings, record: &Record) -> CountedWords {
    let scene = Scene::of(record);
    let failed = match &findings.verdict.proof {
        Some(proof) => proof::failing(scene, proof).0,
        None => format!("failed {}", scene.counted()),
    };
    CountedWords { all: scene.counted(), failed }
}

/// The verdict in sentences, the answer first.
pub fn sentences(findings: &Findings, record: &Record) -> Vec<String> {
    said(findings, record).into_iter().map(|s| s.text).collect()
}

/// The verdict in sentences, each with what it is about.
pub fn said(findings: &Findings, record: &Record) -> Vec<Sentence> {
    let (scene, v) = (Scene::of(record), &findings.verdict);
    let mut all = vec![Sentence { about: About::Answer, text: answer::headline(scene, v) }];
    let mut say = |about, text: Option<String>| {
        if let Some(text) = text {
            all.push(Sentence { about, text });
        }
    };
    let met: Vec<_> = v.causes.iter().filter(|c| c.confidence != Confidence::Refuted).collect();
    // An invalid measurement says nothing about the server, so nothing is said of it.
    for (i, c) in met.iter().enumerate().filter(|_| v.outcome != Outcome::Invalid) {
        say(About::Broke, Some(cause::broke(scene, c, i > 0)));
        say(About::Test, cause::counterfactual(scene, c));
    }
    if met.is_empty() && v.outcome != Outcome::Invalid {
        let broken = v.trials.iter().find_map(|t| t.broke.as_ref());
        let died = v.because == Because::ServerDied;
        say(
            About::Broke,
            broken.map(|b| match died {
                true => cause::death(scene, b, &answer::died(scene, v)),
                false => cause::plain_break(scene, b),
            }),
        );
    }
    for c in v.causes.iter().filter(|c| c.confidence == Confidence::Refuted) {
        say(About::Test, cause::counterfactual(scene, c));
    }
    for text in proof::proof(scene, v) {
        say(About::Proof, Some(text));
    }
    say(About::Held, proof::held(scene, v));
    say(About::Next, limits::next(scene, v));
    say(About::Sure, proof::sure(scene, v));
    say(About::Sure, client::check(v));
    let proposed = |c: &&&Cause| v.proposal.iter().any(|p| p.limit == c.limit.id);
    for c in met.iter().filter(proposed) {
        let note = c.limit.remedy.as_ref().and_then(|r| r.note.as_deref());
        say(About::Caveat, note.map(|note| format!("{}: {}.", c.limit.setting, crate::clean::line(note))));
    }
    for c in &v.caveats {
        say(About::Caveat, Some(client::caveat(scene, c)));
    }
    all
}

/// Each cause of the verdict in words, in order.
pub fn causes(findings: &Findings, record: &Record) -> Vec<CauseSaid> {
    let scene = Scene::of(record);
    findings.verdict.causes.iter().map(|c| cause::said(scene, c)).collect()
}
