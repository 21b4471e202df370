//! What may be left out of a VCL: statements of subroutines (an `if` with all that belongs to it) and attributes of backends; but for what chooses a backend.

use std::ops::Range;

use super::lexer::{Token, closing, tokens};
use super::vcl::{Item, Vcl};
use crate::files::{File, FileId, Removable, removable};

/// Attributes that stay: where a backend is.
const PLACE: [&str; 4] = ["host", "host_header", "path", "port"];
/// Subroutines that stay: what others use is made there.
const MAKES: [&str; 2] = ["vcl_fini", "vcl_init"];
/// Words of statements that stay: what they bring is used by others, or they choose a backend.
const KEPT: [&str; 7] = ["bereq.backend", "bereq.backend_hint", "import", "include", "new", "req.backend_hint", "vcl"];

/// Words of statements that decide who may ask for what, or whose page may be given to somebody else: what is kept for others, and under which key.
const PROTECTS: [&str; 17] = [
    "beresp.grace",
    "beresp.http.Set-Cookie",
    "beresp.http.Vary",
    "beresp.keep",
    "beresp.ttl",
    "beresp.uncacheable",
    "client.identity",
    "client.ip",
    "hash_data",
    "pass",
    "pipe",
    "purge",
    "remote.ip",
    "req.hash_always_miss",
    "req.hash_ignore_vary",
    "req.http.Authorization",
    "req.http.Cookie",
];

/// What may be left out, in the order in which it is written.
pub(super) fn all(vcl: &Vcl) -> Vec<Removable> {
    let attributes = vcl.backends().flat_map(|(id, file, backend)| {
        let free = backend.attributes.iter().filter(|one| !PLACE.contains(&one.name.as_str()));
        free.map(move |one| of(id, file, &one.span, one.span.end))
    });
    let statements = vcl.files().flat_map(|(id, file)| {
        let all = tokens(&file.text);
        bodies(&all)
            .into_iter()
            .flat_map(statements)
            .filter(|one| !has(one, &KEPT))
            .map(|one| statement(id, file, one))
            .collect::<Vec<_>>()
    });
    let mut all = removable::once(attributes.chain(statements));
    all.sort_by_key(|one| (one.file, one.edit.from));
    all
}

/// The text up to `head`, of all that stands at `span`.
fn of(id: FileId, file: &File<Item>, span: &Range<usize>, head: usize) -> Removable {
    Removable::of(id, file, span, &String::from_utf8_lossy(&file.text[span.start..head]))
}

fn statement(id: FileId, file: &File<Item>, words: &[Token]) -> Removable {
    let span = words.first().map_or(0, |one| one.span.start)..words.last().map_or(0, |one| one.span.end);
    let brace = words.iter().find(|one| one.is(b'{'));
    of(id, file, &span, brace.map_or(span.end, |brace| brace.span.start)).protecting(protects(words))
}

/// What stands in subroutines.
fn bodies(all: &[Token]) -> Vec<&[Token]> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) {
        let body = match rest {
            [first, name, brace, ..] if first.word() == Some("sub") && brace.is(b'{') => {
                closing(&rest[2..]).map(|close| (name.word().unwrap_or_default(), &rest[3..close + 2]))
            }
            _ => None,
        };
        at += body.map_or(1, |(_, body)| body.len() + 4);
        found.extend(body.filter(|(name, _)| !MAKES.contains(name)).map(|(_, body)| body));
    }
    found
}

/// The statements of a body, each up to its semicolon, or to the end of its last block.
fn statements(body: &[Token]) -> Vec<&[Token]> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < body.len() {
        let end = if body[at].word() == Some("if") {
            of_condition(body, at)
        } else {
            body[at..].iter().position(|token| token.is(b';')).map(|end| at + end + 1)
        };
        // What is never ended is no statement.
        let Some(end) = end else { break };
        all.push(&body[at..end]);
        at = end;
    }
    all
}

/// Where an `if` ends, with what is done else.
fn of_condition(body: &[Token], at: usize) -> Option<usize> {
    let open = body[at..].iter().position(|token| token.is(b'{'))? + at;
    let end = closing(&body[open..])? + open + 1;
    let further = body.get(end).and_then(Token::word).is_some_and(|word| word.starts_with("els") || word == "elif");
    if further { of_condition(body, end) } else { Some(end) }
}

fn has(words: &[Token], names: &[&str]) -> bool {
    words.iter().filter_map(Token::word).any(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)))
}

/// Whether a statement decides who may ask for what: by one of its words, or as an answer that keeps somebody out.
fn protects(words: &[Token]) -> bool {
    let some = words.first().and_then(Token::word) == Some("if");
    let is = |status: u16| (400..500).contains(&status) || status == 503 && some;
    let answers = has(words, &["synth", "fail", "error", "resp.status", "beresp.status"]);
    let mut statuses = words.iter().filter_map(Token::word).filter_map(|word| word.parse().ok());
    has(words, &PROTECTS) || answers && statuses.any(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "vcl 4.1;\nimport std;\nbackend a { .host = \"h\"; .first_byte_timeout = 1s; .probe = { .url = \"/\"; } }\nsub vcl_init {\n  new d = \
                        directors.round_robin();\n}\nsub vcl_recv {\n  set req.backend_hint = a;\n  if (req.http.X ~ \"{;\") {\n    return (synth(500));\n  } \
                        elseif (req.url == \"/\") {\n    set req.http.Y = \"y\";\n  } else {\n    unset req.http.Z;\n  }\n  set req.http.A = {\"a;\n  \
                        b\"};\n  if (req.http.Cookie) { return (pass); }\n  if (req.http.B) { return (synth(429)); }\n}\nsub vcl_deliver {\n  set resp.status = \
                        503;\n}\n";

    fn read() -> (tempfile::TempDir, Vcl) {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        std::fs::write(&main, TEXT).unwrap();
        let vcl = Vcl::read(&main).unwrap();
        (dir, vcl)
    }

    #[test]
    fn statements_and_attributes_may_be_left_out() {
        let (_dir, vcl) = read();
        let all = all(&vcl);
        let told: Vec<(usize, &str, bool)> =
            all.iter().map(|one| (one.line, one.written.as_str(), one.protects)).collect();
        let expected = [
            (3, ".first_byte_timeout = 1s;", false),
            (3, ".probe = { .url = \"/\"; }", false),
            (9, "if (req.http.X ~ \"{;\")", false),
            (16, "set req.http.A = {\"a; b\"};", false),
            (18, "if (req.http.Cookie)", true),
            (19, "if (req.http.B)", true),
            (22, "set resp.status = 503;", false),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_left_out_is_gone_and_lines_keep_their_numbers() {
        let (_dir, vcl) = read();
        let edits: Vec<_> = all(&vcl).into_iter().take(6).map(|one| one.edit).collect();
        let left = vcl.edited(&edits).unwrap();
        let told: Vec<(usize, String)> = all(&left).into_iter().map(|one| (one.line, one.written)).collect();
        assert_eq!(told, [(22, "set resp.status = 503;".to_owned())]);
        assert!(
            vcl.edited(&[edits[0].clone(), crate::files::Edit { to: edits[0].to + 1, ..edits[0].clone() }]).is_none()
        );
    }
}
