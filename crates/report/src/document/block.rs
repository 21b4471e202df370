//! Paragraphs, lists, tables and what holds others.

use schemars::JsonSchema;
use serde::Serialize;

use super::Tone;
use super::chart::{Chart, Drawing};
use super::table::{Style, Table};

/// A piece of a section.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// A paragraph.
    Text {
        /// The words; what stands between backticks is code.
        text: String,
        /// How it looks.
        style: Style,
        /// Weight and colour on a terminal.
        #[serde(skip)]
        tone: Tone,
    },
    /// The way to the report of a part of this experiment, in a folder beside this page.
    Link {
        /// What it is called.
        text: String,
        /// Where it is, from this page.
        href: String,
    },
    /// A list of sentences.
    Notes {
        /// One sentence or two each.
        items: Vec<String>,
        /// How they look.
        style: Style,
    },
    /// A heading within a section, of level 3 or 4.
    Heading {
        /// The words.
        text: String,
        /// 3, or 4 beneath it.
        level: u8,
    },
    /// A table.
    Table(Table),
    /// Labels with a text beside each.
    Facts {
        /// Label and text.
        facts: Vec<(String, String)>,
    },
    /// Small drawings beside each other.
    Cards {
        /// The cards.
        cards: Vec<Card>,
        /// Whether each has as much room as a list of servers needs.
        wide: bool,
    },
    /// A drawing.
    Drawing(Drawing),
    /// A chart with a button that shows its numbers.
    Chart(Chart),
    /// What each contender is drawn with in the charts that follow.
    Legend {
        /// The contenders, in order.
        names: Vec<String>,
    },
    /// Content that a reader unfolds.
    Details {
        /// What it holds.
        summary: String,
        /// The content.
        blocks: Vec<Block>,
    },
    /// Blocks side by side.
    Multiples {
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// Views of which one is shown.
    Tabs {
        /// What they are of.
        name: String,
        /// The views.
        tabs: Vec<Tab>,
    },
    /// An article: a cause with all that belongs to it.
    Article {
        /// The content.
        blocks: Vec<Block>,
    },
    /// The figures that carry an answer.
    Tiles {
        /// At most four or five.
        tiles: Vec<Tile>,
    },
    /// Paragraphs in columns, each column with a title.
    Columns {
        /// Title and paragraphs.
        columns: Vec<(String, Vec<String>)>,
    },
    /// Lines of code.
    Code {
        /// What it is.
        label: String,
        /// The lines.
        lines: Vec<Line>,
    },
}

impl Block {
    /// A paragraph.
    pub fn text(text: impl Into<String>) -> Block {
        Block::styled(Style::Plain, text)
    }

    /// A quiet paragraph.
    pub fn aside(text: impl Into<String>) -> Block {
        Block::styled(Style::Aside, text)
    }

    /// A paragraph that looks like `style` on the page.
    pub fn styled(style: Style, text: impl Into<String>) -> Block {
        Block::Text { text: text.into(), style, tone: Tone::Plain }
    }

    /// A paragraph that looks like `tone` on a terminal.
    pub fn toned(tone: Tone, text: impl Into<String>) -> Block {
        Block::Text { text: text.into(), style: Style::Plain, tone }
    }

    /// A heading under that of the section.
    pub fn heading(text: impl Into<String>) -> Block {
        Block::Heading { text: text.into(), level: 3 }
    }

    /// A label with a text.
    pub fn fact(label: impl Into<String>, text: impl Into<String>) -> Block {
        Block::facts([(label, text.into())])
    }

    /// Labels with a text beside each.
    pub fn facts<L: Into<String>>(facts: impl IntoIterator<Item = (L, String)>) -> Block {
        Block::Facts { facts: facts.into_iter().map(|(label, text)| (label.into(), text)).collect() }
    }

    /// A list of sentences; none for none.
    pub fn notes(items: Vec<String>) -> Option<Block> {
        (!items.is_empty()).then_some(Block::Notes { items, style: Style::Plain })
    }

    /// The way to the report of a part.
    pub fn link(folder: &str) -> Block {
        Block::Link { text: folder.to_owned(), href: format!("{folder}/report.html") }
    }

    /// Folded content.
    pub fn details(summary: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Block {
        Block::Details { summary: summary.into(), blocks: blocks.into_iter().collect() }
    }
}

impl Table {
    /// The block, if there is any row.
    pub fn block(self) -> Option<Block> {
        (!self.rows.is_empty()).then_some(Block::Table(self))
    }
}

/// A small drawing with its title.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Card {
    /// The title.
    pub title: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

impl Card {
    /// A card.
    pub fn new(title: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Card {
        Card { title: title.into(), blocks: blocks.into_iter().collect() }
    }
}

/// One of several views.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tab {
    /// Its name.
    pub label: String,
    /// A short remark after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The content.
    pub blocks: Vec<Block>,
}

/// A figure with its name, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// The figure.
    pub value: String,
    /// Shown small beneath.
    pub note: String,
}

impl Tile {
    /// A tile.
    pub fn new(name: &str, value: impl Into<String>, note: impl Into<String>) -> Tile {
        Tile { name: name.to_owned(), value: value.into(), note: note.into() }
    }
}

/// A line of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// What it is of a diff.
    pub mark: Mark,
    /// The text.
    pub text: String,
}

/// What a line is of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// No diff.
    None,
    /// Where it applies.
    Place,
    /// Added.
    Added,
    /// Removed.
    Removed,
    /// On both sides.
    Same,
}
