//! Tables, and how words look in them and elsewhere.

use schemars::JsonSchema;
use serde::Serialize;

/// How a paragraph or a list looks on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// As it is.
    Plain,
    /// Larger, under the headline.
    Lead,
    /// Quiet.
    Aside,
    /// Figures in a sentence.
    Facts,
    /// A formula.
    Formula,
    /// Evidence.
    Evidence,
    /// Certain.
    Proved,
    /// Nearly certain.
    Likely,
    /// Open.
    Possible,
    /// Certain that not.
    Refuted,
    /// In bold.
    Strong,
    /// Code.
    Code,
}

/// A table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// A cell a column.
    pub rows: Vec<Vec<Cell>>,
    /// Whether it scrolls within itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long: bool,
    /// Whether it stands in the headline's part of the page, in larger figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub matrix: bool,
}

impl Table {
    /// A table of words.
    pub fn new<R: IntoIterator<Item = C>, C: Into<Cell>>(
        caption: &str,
        head: &[impl AsRef<str>],
        rows: impl IntoIterator<Item = R>,
    ) -> Table {
        let column = |name: &_| Column { name: AsRef::<str>::as_ref(name).to_owned(), kind: Kind::Plain };
        Table {
            caption: caption.to_owned(),
            columns: head.iter().map(column).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect(),
            long: false,
            matrix: false,
        }
    }

    /// The same where these columns hold `kind`.
    #[must_use]
    pub fn kinds(mut self, kind: Kind, columns: impl IntoIterator<Item = usize>) -> Table {
        for column in columns {
            self.columns[column].kind = kind;
        }
        self
    }

    /// The same where all columns but the first are figures.
    #[must_use]
    pub fn figures(self) -> Table {
        let columns = 1..self.columns.len();
        self.kinds(Kind::Figure, columns)
    }
}

/// A column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Column {
    /// Its head.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Names, versions, settings: shown as they are.
    Plain,
    /// Words with figures in them.
    Prose,
    /// Figures.
    Figure,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Plain text.
    Plain(String),
    /// Text with a look or a target.
    Styled {
        /// The words.
        text: String,
        /// How it looks.
        style: Style,
        /// The report that it leads to, from this page.
        #[serde(skip_serializing_if = "Option::is_none")]
        href: Option<String>,
    },
}

impl Cell {
    /// Text that looks like `style`.
    pub fn styled(style: Style, text: impl Into<String>) -> Cell {
        Cell::Styled { text: text.into(), style, href: None }
    }

    /// A link to the report of a part of this experiment, in a folder beside this page.
    pub fn link(folder: &str) -> Cell {
        let href = Some(format!("{folder}/report.html"));
        Cell::Styled { text: folder.to_owned(), style: Style::Plain, href }
    }

    /// The words.
    pub fn text(&self) -> &str {
        match self {
            Cell::Plain(text) | Cell::Styled { text, .. } => text,
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Plain(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Plain(text.to_owned())
    }
}
