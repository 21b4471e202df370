//! A configuration explained.

use genkai_model::explain::{Asked, Explanation, Led, Remark, RemarkKind, Timer};
use genkai_model::finding::Predicted;
use genkai_model::limit::{Law, Limit, Origin};

use crate::document::{Block, Document, Section, Tone};
use crate::{clean, figure, words};

/// The explanation: of which listener it is where that is not the one asked for, what is wrong, what is not told, the limits (the tightest first), the timers.
pub fn explain(explanation: &Explanation) -> Document {
    let main = explanation.files.first().map(|f| clean::line(&f.display().to_string())).unwrap_or_default();
    let files = figure::plural(explanation.files.len() as u64, "file", "files");
    let title = format!("{}: {main} ({files} read, no server started)", clean::line(&explanation.product));
    let sections = [
        explanation.led.as_ref().map(led),
        asked(explanation),
        mistakes(explanation),
        open(explanation),
        Some(limits(explanation)),
        besides(explanation),
        timers(explanation),
    ];
    Document::plain(title, sections.into_iter().flatten().collect())
}

/// That what was asked for only redirects, and where to.
fn led(led: &Led) -> Section {
    let [by, place, to, at] = [&led.by, &led.place, &led.to, &led.at].map(|text| clean::line(text));
    let text = format!(
        "The listener that was asked for only redirects these requests (`{by}`, {place}). What is told below is of the one to which that leads: `{to}` \
         ({at})."
    );
    Section::terminal("").with([Block::toned(Tone::Strong, text)])
}

/// What the server that is installed says of it.
fn asked(explanation: &Explanation) -> Option<Section> {
    let said = |key: &'static str, lines: &[String]| Block::facts(sentences(key, lines));
    match explanation.server.as_ref()? {
        Asked::Refused { by, words } => {
            let text = format!("{} refuses it: a server does not start with this.", clean::line(by));
            Some(Section::terminal("").with([Block::toned(Tone::Bad, text), said("says", words)]))
        }
        Asked::Taken { by, warnings } => {
            let text = taken(by);
            let warnings = (!warnings.is_empty()).then(|| said("warns", warnings));
            Some(Section::terminal("").with([Block::toned(Tone::Good, text)].into_iter().chain(warnings)))
        }
        Asked::Open { why } => {
            let title = "Whether the installed server takes it could not be asked";
            Some(Section::terminal(title).with([said("", why)]))
        }
    }
}

/// That it is taken; what is taken of a copy says nothing of what the copy has elsewhere.
fn taken(by: &str) -> String {
    let by = clean::line(by);
    match by.contains("private copy") {
        false => format!("{by} takes it."),
        true => format!(
            "{by} takes it. The copy listens and writes (logs, temporary files, its own process number) elsewhere: whether that can be done where the \
             configuration says was not tested."
        ),
    }
}

/// Of a server's own sentences no more are shown.
const MOST_WORDS: usize = 8;

/// A server's own sentences, and how many are left out.
fn sentences(key: &'static str, lines: &[String]) -> Vec<(&'static str, String)> {
    let left = lines.len().saturating_sub(MOST_WORDS);
    let more = (left > 0).then(|| format!("({} more)", figure::count(left as u64)));
    lines.iter().take(MOST_WORDS).map(|line| clean::line(line)).chain(more).map(|line| (key, line)).collect()
}

fn mistakes(explanation: &Explanation) -> Option<Section> {
    let facts: Vec<_> = explanation.mistakes().map(fact).collect();
    match facts.is_empty() {
        true if explanation.is_refused() => None,
        true => Some(Section::terminal("").with([Block::toned(Tone::Good, "genkai knows of no mistake in it.")])),
        false => Some(Section::terminal("What is not as it seems").with([Block::facts(facts)])),
    }
}

fn open(explanation: &Explanation) -> Option<Section> {
    let facts: Vec<_> = explanation.open().map(fact).collect();
    (!facts.is_empty()).then(|| Section::terminal("What the file alone does not tell").with([Block::facts(facts)]))
}

fn fact(remark: &Remark) -> (&'static str, String) {
    let place = remark.place.as_deref().map(|p| format!(" ({})", clean::line(p))).unwrap_or_default();
    let hint = remark.hint.as_deref().map(|h| format!("; {}", clean::line(h))).unwrap_or_default();
    (kind(remark.kind), format!("{} {}{place}{hint}", clean::line(&remark.setting), clean::line(&remark.text)))
}

/// A kind of remark in a word.
fn kind(kind: RemarkKind) -> &'static str {
    match kind {
        RemarkKind::Unknown => "wrong",
        RemarkKind::Contradiction => "contradicts",
        RemarkKind::Clamped => "clamped",
        RemarkKind::Ignored => "no effect",
        RemarkKind::Unsure => "cannot tell",
    }
}

/// Limits that the configuration gives a number.
fn limits(explanation: &Explanation) -> Section {
    let title = match explanation.is_refused() {
        true => "Limits as they would be if the server took it, tightest first",
        false => "Limits, tightest first",
    };
    Section::terminal(title).with(blocks(explanation, true))
}

/// What has none: that it is so is not said, since nothing was looked at.
fn besides(explanation: &Explanation) -> Option<Section> {
    let mut all = blocks(explanation, false).peekable();
    all.peek()?;
    Some(Section::terminal("What could break besides, if it is so: nothing of this was looked at").with(all))
}

fn blocks(explanation: &Explanation, with_number: bool) -> impl Iterator<Item = Block> {
    let blocks = explanation.predictions.iter().filter_map(move |predicted| {
        let limit = explanation.limits.iter().find(|l| l.id == predicted.limit)?;
        let reach = reach(limit, predicted);
        if reach.is_some() != with_number {
            return None;
        }
        let reach = reach.unwrap_or_else(|| "no number from the configuration alone".to_owned());
        let name = format!("{} {}", words::whose(&limit.subject), words::setting(&limit.setting, &limit.value));
        let name = format!("{}: {reach}", clean::line(&name));
        let caps = clean::line(&limit.caps);
        let caps = if limit.fault { format!("if {caps}") } else { caps };
        let facts = [format!("{caps}; {}", place(&limit.origin)), clean::line(&formula(limit))];
        Some([Block::toned(Tone::Strong, name), Block::facts(facts.map(|text| ("", text)))])
    });
    blocks.flatten()
}

fn formula(limit: &Limit) -> String {
    let ceiling = limit.remedy.as_ref().and_then(|remedy| remedy.ceiling.as_ref());
    let most = ceiling.map(|ceiling| format!("; at most {} ({})", figure::whole(ceiling.value), ceiling.by));
    format!("{}{}", limit.formula, most.unwrap_or_default())
}

/// A number as it is written, of one or of many.
fn counted(number: &str, one: &str, many: &str) -> String {
    format!("{number} {}", if number == "1" { one } else { many })
}

/// What a limit means for clients; none: no number says.
fn reach(limit: &Limit, predicted: &Predicted) -> Option<String> {
    let at_once =
        |value: f64| counted(&figure::whole(value), "new connection in one moment", "new connections in one moment");
    match limit.law {
        Law::Backlog { value } => return Some(at_once(value)),
        Law::NewConnections { value } => {
            return Some(counted(&figure::number(value), "new connection/s", "new connections/s"));
        }
        _ => {}
    }
    let clients = |clients| counted(&figure::range(clients, figure::whole), "client at once", "clients at once");
    let bytes = || predicted.bytes.map(|bytes| format!("bodies of up to {}", figure::bytes(bytes)));
    let rate = |rate| counted(&figure::range(rate, figure::number), "request/s", "requests/s");
    predicted.clients.map(clients).or_else(bytes).or_else(|| predicted.rate.map(rate))
}

/// Where a value comes from.
fn place(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line } => format!("{}:{line}", clean::line(&path.display().to_string())),
        Origin::Default(source) => format!("default ({})", clean::line(source)),
        Origin::Given => "as given".to_owned(),
        Origin::Machine(what) => format!("this machine: {}", clean::line(what)),
    }
}

fn timers(explanation: &Explanation) -> Option<Section> {
    let all = &explanation.timers;
    let fact = |timer: &Timer| {
        let span = timer.span.map_or_else(|| clean::line(&timer.value), |s| s.to_string());
        let (setting, ends) = (clean::line(&timer.setting), clean::line(&timer.ends));
        (span, format!("{setting} ends {ends}; {}", place(&timer.origin)))
    };
    let title = match explanation.is_refused() {
        true => "Timers as they would be: what ends, and after how long",
        false => "Timers: what ends, and after how long",
    };
    (!all.is_empty()).then(|| Section::terminal(title).with([Block::facts(all.iter().map(fact))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let told = |number: &str| counted(number, "client at once", "clients at once");
        assert_eq!(
            [told("1"), told("1-2"), told("11")],
            ["1 client at once", "1-2 clients at once", "11 clients at once"]
        );
    }

    #[test]
    fn what_a_copy_has_elsewhere_was_not_tested() {
        let copied = taken("nginx 1.22.1 (`nginx -t` of a private copy)");
        assert!(
            copied.contains("takes it. The copy listens and writes (logs") && copied.ends_with("was not tested."),
            "{copied}"
        );
        assert_eq!(taken("Caddy 2.6.2 (`caddy adapt`)"), "Caddy 2.6.2 (`caddy adapt`) takes it.");
    }

    #[test]
    fn how_many_sentences_of_a_server_are_left_out_is_said() {
        let said = |count: usize| sentences("warns", &vec!["a\u{1b}".to_owned(); count]);
        assert_eq!((said(8).len(), said(0).len()), (8, 0));
        let many = said(20);
        assert_eq!((many.len(), &many[0].1[..], &many[8].1[..]), (9, "a·", "(12 more)"));
    }
}
