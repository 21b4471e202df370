//! Why a server cannot be prepared, changed or started: one error, whichever product it is.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use genkai_model::text::shortened;
use genkai_place::PlaceError;
use genkai_place::remote::Remote;

/// So many lines are the last words of a server.
const LAST: usize = 3;

/// One clear message: what was seen, and what to do.
#[derive(Debug)]
pub struct TargetError {
    /// The product, as people call it; empty where it is not about one.
    pub product: &'static str,
    /// What is wrong.
    pub kind: ErrorKind,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What is wrong, and so whose fault it is.
#[derive(Debug)]
pub enum ErrorKind {
    /// What the user gave is wrong: a name, a file, a setting, requests that would leave this machine.
    Usage(String),
    /// The product's own check says no. The words are its own, with the places in the user's files.
    Rejected(String),
    /// A command of the product failed.
    Command {
        /// What was tried: whose command, as reports call it, and the command.
        tried: String,
        /// What it printed.
        said: String,
    },
    /// A program or a package is not installed.
    Missing(String),
    /// The machine does not let it: a folder, a port, a server that does not answer.
    Machine(String),
    /// A process.
    Place(Box<PlaceError>),
}

/// An error of a product's files or settings, in words of its own, which becomes a [`TargetError`].
pub trait Cause: Display {
    /// The product, as people call it; empty where several have it.
    const PRODUCT: &'static str;

    /// Whether what the user gave is at fault, not the machine.
    fn is_usage(&self) -> bool {
        true
    }
}

impl TargetError {
    /// An error of this kind. A hint in `text` (after `hint: ` on a line of its own) is taken out of it.
    fn new(product: &'static str, kind: fn(String) -> ErrorKind, text: impl Display) -> TargetError {
        let text = text.to_string();
        let (text, hint) = match text.split_once("\n  hint: ") {
            Some((text, hint)) => (text.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        TargetError { product, kind: kind(text), hint }
    }

    /// What the user gave is wrong.
    pub(crate) fn usage(product: &'static str, text: impl Display) -> TargetError {
        TargetError::new(product, ErrorKind::Usage, text)
    }

    /// A program or a package is not installed.
    pub(crate) fn missing(product: &'static str, text: impl Display) -> TargetError {
        TargetError::new(product, ErrorKind::Missing, text)
    }

    /// The machine does not let it.
    pub(crate) fn machine(product: &'static str, text: impl Display) -> TargetError {
        TargetError::new(product, ErrorKind::Machine, text)
    }

    /// The product's own check says no, in these words.
    pub(crate) fn rejected(product: &'static str, words: String) -> TargetError {
        TargetError { product, kind: ErrorKind::Rejected(words), hint: None }
    }

    /// A program given by the user, or asked for its version, is not the product.
    pub(crate) fn not_it(product: &'static str, path: &Path, command: &str, said: &str) -> TargetError {
        let said = shortened(said.lines().next().unwrap_or_default(), 200);
        let path = path.display();
        TargetError::missing(
            product,
            format!("{path} does not say that it is {product} (`{command}` printed `{said}`)"),
        )
    }

    /// A command of a product failed: whose, as reports call it, what was tried, what it printed.
    pub(crate) fn command(name: &str, command: impl Display, said: impl Into<String>) -> TargetError {
        let kind = ErrorKind::Command { tried: format!("{name}: `{command}`"), said: said.into() };
        TargetError { product: "", kind, hint: None }
    }

    /// A generated reverse proxy has nothing behind it.
    pub(crate) fn no_backend(product: &'static str) -> TargetError {
        let text = "a reverse proxy needs a backend\n  hint: --backend embedded, or --config FILE to use your own";
        TargetError::usage(product, text)
    }

    /// A server in a cluster, where one on this machine is meant.
    pub(crate) fn elsewhere(product: &'static str) -> TargetError {
        TargetError::usage(product, "a server in a cluster is put under load by `genkai tune --server` only")
    }

    /// For an I/O error on `path`, which was to be written.
    pub(crate) fn files(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> TargetError {
        let path = path.into();
        move |source| TargetError::machine("", format!("cannot prepare {}: {source}", path.display()))
    }

    /// Whether a process of it ended while it was to start.
    pub fn is_exit(&self) -> bool {
        matches!(&self.kind, ErrorKind::Place(error) if matches!(**error, PlaceError::Exited { .. }))
    }

    /// Why a server does not start as it is set, where that is its own doing: what it printed last, or how it ended, on one line, with
    /// whatever secrets are in it. None where the machine is at fault.
    pub fn own_end(&self) -> Option<String> {
        let (how, tail) = match &self.kind {
            ErrorKind::Usage(text) => (text.clone(), ""),
            ErrorKind::Place(error) => match &**error {
                PlaceError::Exited { status, tail, .. } => {
                    (format!("it ended ({status}) and printed nothing"), &**tail)
                }
                PlaceError::Silent { within, tail, .. } => {
                    (format!("it did not listen within {within:?} and printed nothing"), &**tail)
                }
                _ => return None,
            },
            _ => return None,
        };
        let lines: Vec<&str> = tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LAST)..].join(" | ");
        Some(if last.is_empty() { how } else { last })
    }

    /// It without what is to be done about it.
    pub(crate) fn without_hint(self) -> String {
        TargetError { hint: None, ..self }.to_string()
    }

    /// Whether what the user gave is at fault (a name, files, settings), not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(self.kind, ErrorKind::Usage(_) | ErrorKind::Rejected(_))
    }
}

impl Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Usage(text) | ErrorKind::Missing(text) | ErrorKind::Machine(text) => f.write_str(text)?,
            ErrorKind::Rejected(words) => write!(f, "{} does not accept the configuration:\n{words}", self.product)?,
            ErrorKind::Command { tried, said } => write!(f, "{tried} failed: {said}")?,
            ErrorKind::Place(error) => error.fmt(f)?,
        }
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}"))
    }
}

impl std::error::Error for TargetError {}

impl From<PlaceError> for TargetError {
    fn from(error: PlaceError) -> TargetError {
        TargetError { product: "", kind: ErrorKind::Place(Box::new(error)), hint: None }
    }
}

impl<E: Cause> From<E> for TargetError {
    fn from(error: E) -> TargetError {
        match error.is_usage() {
            true => TargetError::usage(E::PRODUCT, error),
            false => TargetError::machine(E::PRODUCT, error),
        }
    }
}

impl From<Remote> for TargetError {
    fn from(error: Remote) -> TargetError {
        TargetError::usage("", error)
    }
}
