//! What a report says, as blocks that every form renders: terminal, page, Markdown.
//!
//! A study makes one [`Document`] of its finding. Every sentence and figure in it is final text: a renderer lays it out and
//! words nothing. Drawings carry their data and the words around them.

mod block;
mod chart;
mod table;

pub use block::{Block, Card, Line, Mark, Tab, Tile};
pub use chart::{
    Axis, Chart, Dash, Drawing, Entry, Factor, Interval, Lane, LaneMark, LimitRow, Pane, Plot, Room, Series, Spark,
    Station, StepPoint, Steps, Time, Trace, Tracks, TracksKey, Trend, When,
};
pub use table::{Cell, Column, Kind, Style, Table};

use genkai_model::finding::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

/// A report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Document {
    /// How it turned out.
    pub outcome: Outcome,
    /// The same in a few words.
    pub turned: String,
    /// The sentence to quote.
    pub headline: String,
    /// The build of genkai that writes it; empty: not said.
    #[serde(skip)]
    pub build: String,
    /// Why the record may not be the whole of what was seen: said before anything else, in every form.
    #[serde(skip)]
    pub doubts: Vec<String>,
    /// The answer in plain sentences, the headline first: for terminals, Markdown and scripts.
    #[serde(skip)]
    pub sentences: Vec<String>,
    /// Where `run.jsonl` is, seen from the page.
    #[serde(skip)]
    pub record: &'static str,
    /// Weight and colour of these on a terminal.
    #[serde(skip)]
    pub tone: Tone,
    /// Whether sections say these on a terminal, each beside its label.
    #[serde(skip)]
    pub labelled: bool,
    /// What stands beside the headline on the page.
    pub answer: Vec<Block>,
    /// The sections.
    pub sections: Vec<Section>,
}

impl Document {
    /// A document of `sentences`, of which the first is the headline, and nothing else.
    pub fn of(outcome: Outcome, turned: &str, sentences: Vec<String>) -> Document {
        let headline = sentences.first().cloned().unwrap_or_default();
        let tone = if outcome == Outcome::Holds { Tone::Plain } else { Tone::Doubtful };
        Document {
            outcome,
            turned: turned.to_owned(),
            headline,
            build: String::new(),
            doubts: Vec::new(),
            sentences,
            record: "beside it",
            tone,
            labelled: false,
            answer: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// What its sentences say beyond the headline, for the page to say beside it.
    pub(crate) fn beyond_headline(&self, style: Style) -> Vec<Block> {
        self.sentences.iter().skip(1).map(|text| Block::styled(style, text)).collect()
    }

    /// A document that judges nothing: sections, under a title where that is not empty.
    pub fn plain(title: String, sections: Vec<Section>) -> Document {
        let title = Some(title).filter(|title| !title.is_empty());
        let tone = Tone::Strong;
        Document { tone, sections, ..Document::of(Outcome::Holds, "", title.into_iter().collect()) }
    }

    /// The sections that `medium` shows. The page has its parts in one order, the others as they were given.
    pub fn on(&self, medium: Medium) -> Vec<&Section> {
        let mut all: Vec<&Section> = self.sections.iter().filter(|section| section.on.contains(&medium)).collect();
        if medium == Medium::Page {
            all.sort_by_key(|section| section.part);
        }
        all
    }
}

/// Weight and colour of a piece of text on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// Bold.
    Strong,
    /// Dimmed.
    Quiet,
    /// Bold and green.
    Good,
    /// Bold and red.
    Bad,
    /// Bold and yellow.
    Doubtful,
}

impl Tone {
    /// The tone of an answer that is good or bad news.
    pub fn of(outcome: Outcome) -> Tone {
        match outcome {
            Outcome::Holds => Tone::Good,
            Outcome::Fails => Tone::Bad,
            Outcome::Invalid | Outcome::Unfinished => Tone::Doubtful,
        }
    }
}

/// Where a section is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// The HTML page.
    Page,
    /// A terminal.
    Terminal,
    /// Markdown for an issue or a paper.
    Markdown,
}

/// What a section is for. Every page has its parts in this order, after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The figures that carry the answer.
    Figure,
    /// What it rests on.
    Evidence,
    /// What to change, and what a change did.
    Change,
    /// How sure it is.
    Sure,
    /// Where and how it ran.
    Environment,
}

/// A section with its title.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Section {
    #[serde(skip)]
    on: Vec<Medium>,
    #[serde(skip)]
    part: Part,
    /// Its address within the page.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What a reader needs before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<String>,
    /// Its content.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section of the page.
    pub fn page(part: Part, id: &str, title: &str, lead: &str) -> Section {
        let lead = (!lead.is_empty()).then(|| lead.to_owned());
        Section { on: vec![Medium::Page], part, id: id.to_owned(), title: title.to_owned(), lead, blocks: Vec::new() }
    }

    /// A section of the terminal; without a title its content follows at once.
    pub fn terminal(title: &str) -> Section {
        Section { on: vec![Medium::Terminal], ..Section::page(Part::Figure, "", title, "") }
    }

    /// A section of Markdown alone.
    pub fn markdown(title: &str) -> Section {
        Section { on: vec![Medium::Markdown], ..Section::terminal(title) }
    }

    /// Shown in Markdown too.
    #[must_use]
    pub fn and_markdown(self) -> Section {
        self.and(Medium::Markdown)
    }

    /// Shown on `medium` too.
    #[must_use]
    pub fn and(mut self, medium: Medium) -> Section {
        self.on.push(medium);
        self
    }

    /// With more content.
    #[must_use]
    pub fn with(mut self, blocks: impl IntoIterator<Item = Block>) -> Section {
        self.blocks.extend(blocks);
        self
    }

    /// The section, if it has any content.
    pub fn filled(self) -> Option<Section> {
        (!self.blocks.is_empty()).then_some(self)
    }
}

/// How sure an answer is: a list of what limits it; none without.
pub fn sure(items: Vec<String>) -> Option<Section> {
    Section::page(Part::Sure, "caveats", "How sure that is", "").with(Block::notes(items)).filled()
}
