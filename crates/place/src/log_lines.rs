//! Log lines of one interval, put together: a storm of alike lines is one with a count, whatever product wrote it.

use std::borrow::Cow;
use std::collections::HashMap;

use genkai_model::evidence::LogLine;
use genkai_model::text::shortened;

use crate::tail::Tail;

/// Longest text kept of a line, in characters.
pub const TEXT_MAX: usize = 400;
/// Kinds of unknown lines kept apart in one interval; further kinds are counted together.
pub const UNKNOWN_MAX: usize = 16;

/// Lines of a plain log that are told a look.
const PLAIN_MAX: usize = 20;

/// What a product reads from a line.
pub struct ParsedLine<'a> {
    /// Severity in the product's words; empty for a line that is not in its format.
    pub level: &'a str,
    /// What makes an unknown line alike another, but for its numbers.
    pub gist: &'a str,
    /// The known message it is.
    pub signature: Option<Cow<'static, str>>,
}

/// New lines of a log that has errors only and says each once: at most twenty, each as it is.
pub fn plain(subject: &str, log: &mut Tail) -> Vec<LogLine> {
    let line = |text: String| LogLine {
        subject: subject.to_owned(),
        level: "error".to_owned(),
        text: shortened(&text, TEXT_MAX - 1),
        signature: None,
        count: 1,
    };
    log.lines().into_iter().take(PLAIN_MAX).map(line).collect()
}

/// One [`LogLine`] of `subject` for each signature (or, of unknown lines, each gist without its numbers), in the order of
/// their first, with how many there were. At most [`UNKNOWN_MAX`] kinds of unknown lines are kept apart.
pub fn aggregate<'a>(
    subject: &str,
    lines: impl IntoIterator<Item = &'a str>,
    read: impl Fn(&'a str) -> ParsedLine<'a>,
) -> Vec<LogLine> {
    let mut aggregated: Vec<LogLine> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut unknown = 0;
    for line in lines.into_iter().filter(|line| !line.trim().is_empty()) {
        let parsed = read(line);
        let mut key = match &parsed.signature {
            Some(signature) => signature.clone().into_owned(),
            None => format!("{} {}", parsed.level, without_numbers(parsed.gist)),
        };
        if parsed.signature.is_none() && !places.contains_key(&key) {
            unknown += 1;
            if unknown > UNKNOWN_MAX {
                "further kinds".clone_into(&mut key);
            }
        }
        let place = *places.entry(key).or_insert_with(|| {
            aggregated.push(log_line(subject, &parsed, line));
            aggregated.len() - 1
        });
        aggregated[place].count += 1;
    }
    aggregated
}

fn log_line(subject: &str, parsed: &ParsedLine<'_>, line: &str) -> LogLine {
    LogLine {
        subject: subject.to_owned(),
        level: parsed.level.to_owned(),
        text: shortened(line, TEXT_MAX - 1).chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        signature: parsed.signature.clone().map(Cow::into_owned),
        count: 0,
    }
}

/// The text, runs of digits as one `#`.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(TEXT_MAX));
    let mut in_number = false;
    for c in text.chars().take(TEXT_MAX) {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !in_number {
            out.push('#');
        }
        in_number = c.is_ascii_digit();
    }
    out
}
