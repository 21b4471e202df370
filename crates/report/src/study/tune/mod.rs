//! A run that tunes or measures: the verdict in plain sentences, every figure with its unit and count.

mod again;
mod answer;
mod asked;
pub(super) mod cause;
mod charts;
pub(super) mod client;
mod condition;
mod counted;
mod counterfactual;
mod directives;
mod document;
mod early;
mod flows;
mod foretold;
mod held;
mod ladder;
mod limits;
mod load;
mod measures;
mod price;
mod proof;
mod smaller;
mod spoilt;
mod terminal;
mod thresholds;
mod tracks;

use genkai_model::event::ServerState;
use genkai_model::finding::{Because, Break, Cause, Caveat, Confidence, Findings, Outcome, Verdict};
use genkai_model::limit::Law;
use genkai_model::record::Record;

use crate::context::Context;
use crate::study::over_time;

pub(crate) use cause::evidence;
use condition::condition;
pub use document::tune;
use limits::{is_at_work, is_far, is_named, short_place, told_from};
use measures::{Measure, measures};
pub(crate) use proof::estimate;
use proof::{Side, failing, names, percentage_points};
pub(crate) use terminal::{Tense, predicted};

/// What a sentence is about, for reports that label or sort them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The answer itself; always first, always one.
    Answer,
    /// What broke, where, and what the server showed.
    Broke,
    /// What happened when one setting was changed alone.
    Test,
    /// Before against after.
    Proof,
    /// What the change takes.
    Price,
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
            About::Price => "It takes",
            About::Held => "Measured",
            About::Next => "Next limit",
            About::Sure => "How sure",
            About::Caveat => "Note",
        }
    }
}

/// One or a few sentences about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// What about.
    pub about: About,
    /// The words; text taken from servers is already [clean](crate::clean).
    pub text: String,
}

/// The verdict in sentences, the answer first.
pub fn sentences(findings: &Findings, record: &Record) -> Vec<String> {
    said(findings, record).into_iter().map(|s| s.text).collect()
}

/// The verdict in sentences, each with what it is about.
pub fn said(findings: &Findings, record: &Record) -> Vec<Sentence> {
    let (context, v) = (Context::judged(record, &findings.verdict), &findings.verdict);
    let mut all = vec![Sentence { about: About::Answer, text: with_its_end(record, v, answer::headline(context, v)) }];
    let mut say = |about, text: Option<String>| {
        // A setting that was changed twice has its note once.
        let new = |text: &String| about != About::Caveat || !all.iter().any(|one: &Sentence| one.text == *text);
        if let Some(text) = text.filter(new) {
            all.push(Sentence { about, text });
        }
    };
    let met: Vec<_> = v.causes.iter().filter(|c| c.confidence != Confidence::Refuted).collect();
    // An invalid measurement says nothing about the server, so nothing is said of it.
    for (i, c) in met.iter().enumerate().filter(|_| v.outcome() != Outcome::Invalid) {
        say(About::Broke, Some(cause::broke(context, c, i > 0)));
        say(About::Test, counterfactual::told(context, v, c));
    }
    if met.is_empty() && v.outcome() != Outcome::Invalid {
        let broken = v.trials.iter().find_map(|t| t.broke.as_ref());
        say(About::Broke, broken.map(|b| plainly(context, v, b)));
        say(About::Broke, unexplained(record, v));
    }
    for c in v.causes.iter().filter(|c| c.confidence == Confidence::Refuted) {
        say(About::Test, counterfactual::told(context, v, c));
    }
    say(About::Test, directives::told(context, v));
    for text in smaller::told(context, v) {
        say(About::Test, Some(text));
    }
    for text in proof::proof(context, v) {
        say(About::Proof, Some(text));
    }
    for text in price::said(v) {
        say(About::Price, Some(text));
    }
    say(About::Held, proof::held(context, v));
    say(About::Next, limits::next(context, v));
    say(About::Sure, proof::sure(context, v));
    say(About::Sure, client::check(context, v));
    let proposed = |c: &&&Cause| v.proposal.iter().any(|p| p.limit == c.limit.id);
    for c in met.iter().filter(proposed) {
        let note = c.limit.remedy.as_ref().and_then(|r| r.note.as_deref());
        say(About::Caveat, note.map(|note| format!("{}: {}.", c.limit.setting, crate::clean::line(note))));
    }
    // Of what no number of clients can be told, and nothing lifts, when it happens.
    let happens = |c: &&&Cause| {
        let limit = &c.limit;
        matches!(limit.law, Law::Unknown) && limit.remedy.is_none() && !limit.fault && !limit.formula.is_empty()
    };
    for c in met.iter().filter(happens) {
        let (setting, formula) = (crate::clean::line(&c.limit.setting), crate::clean::line(&c.limit.formula));
        say(About::Caveat, Some(format!("{setting}: {formula}.")));
    }
    if v.load.is_none() {
        say(About::Caveat, client::retried(v));
    }
    for c in &v.caveats {
        let text = client::caveat(context, v, c);
        say(
            About::Caveat,
            Some(match ended(record, c) {
                Some(how) => format!("{}: {}.", text.trim_end_matches('.'), crate::clean::line(how)),
                None => text,
            }),
        );
    }
    all
}

/// An answer that a server died under load, with how it ended, where that was seen.
fn with_its_end(record: &Record, v: &Verdict, text: String) -> String {
    let how = v.caveats.iter().find_map(|c| ended(record, c)).filter(|_| v.because() == Because::ServerDied);
    match how.zip(text.strip_suffix("died under load.")) {
        Some((how, before)) => format!("{before}died under load: {}.", crate::clean::line(how)),
        None => text,
    }
}

/// How a server ended, where that was seen: by which signal, or that the kernel ended it because memory was used up.
fn ended<'r>(record: &'r Record, caveat: &Caveat) -> Option<&'r str> {
    let Caveat::ServerDied { subject, trial } = caveat else { return None };
    let trial = record.trials.iter().find(|one| one.number == *trial)?;
    let died = trial.states.iter().find(|(_, one)| one.state == ServerState::Died && one.subject == *subject);
    died.and_then(|(_, one)| one.detail.as_deref())
}

/// What was logged most often in the trial that broke, where it is of no limit that is known.
fn unexplained(record: &Record, v: &Verdict) -> Option<String> {
    let broken = v.trials.iter().find(|trial| trial.broke.is_some())?;
    let trial = record.trials.iter().find(|trial| trial.number == broken.trial)?;
    let text = over_time::unexplained(trial, broken.failed)?;
    Some(format!("Of what was logged then and belongs to no limit that is known, the most frequent was: `{text}`."))
}

/// A break that no limit explains.
fn plainly(context: Context<'_>, v: &Verdict, broke: &Break) -> String {
    match v.because() {
        Because::ServerDied => {
            let died = format!("{} died, {} into the load", answer::died(context, v), crate::figure::seconds(broke.at));
            cause::death(context, broke, &died)
        }
        Because::ServerRefused => cause::death(context, broke, &answer::refused(v).unwrap_or_default()),
        _ => cause::plain_break(context, broke),
    }
}
