//! What can be wrong with the syntax of a file.

/// A place that is not nginx's syntax. Its message has no file name: the reader of the file adds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SyntaxError {
    /// Offset of the byte.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
}

impl SyntaxError {
    pub(super) fn new(text: &[u8], offset: usize, problem: Problem) -> Self {
        SyntaxError { offset, line: line_at(text, offset), problem }
    }
}

/// Line (from 1) of an offset.
pub(super) fn line_at(text: &[u8], offset: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &text[..offset.min(text.len())]).count()
}

/// What is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// `;`, `{` or `}` where no directive could end, begin or be closed.
    #[error("unexpected \"{}\"{}", *byte as char, hint(*byte, after))]
    Unexpected {
        /// What was seen.
        byte: u8,
        /// Name and line of the directive that was not ended before it.
        after: Option<(String, usize)>,
    },
    /// A string that never ends.
    #[error("the string that begins here has no closing {quote}; close it, or escape a quote inside as \\{quote}", quote = *.0 as char)]
    OpenQuote(u8),
    /// A word glued to a string.
    #[error("unexpected \"{}\" right after a closing quote; put a space or \";\" there", .0.escape_ascii())]
    AfterQuote(u8),
    /// A Lua block that never ends.
    #[error("the Lua block that begins here has no closing \"}}\"; count the braces of the Lua code")]
    OpenLua,
    /// The file ends within a directive.
    #[error("the file ends within \"{0}\"; end the directive with \";\"")]
    OpenDirective(String),
    /// The file ends within a block.
    #[error("the block \"{0}\" that begins here has no closing \"}}\"")]
    OpenBlock(String),
    /// Blocks within blocks beyond any use.
    #[error("blocks are nested more than {0} deep")]
    TooDeep(usize),
}

fn hint(byte: u8, after: &Option<(String, usize)>) -> String {
    match (byte, after) {
        (_, Some((name, line))) => format!("; \"{name}\" (line {line}) is not ended with \";\""),
        (b'}', None) => "; it closes nothing, remove it".to_owned(),
        _ => "; a directive's name must come before it".to_owned(),
    }
}
