//! Conditions of rules, as far as host and path of a request decide them (configuration manual 7).

use crate::files::Requests;
use crate::haproxy::config::{Config, Found, Section};

/// Whether a rule applies to requests of `requests`; none where something else decides.
pub(super) fn applies(config: &Config, section: &Section, rule: &Found, requests: &Requests) -> Option<bool> {
    let words: Vec<&str> = rule.words.iter().map(|w| w.value.as_str()).collect();
    let Some(at) = words.iter().position(|w| matches!(*w, "if" | "unless")) else { return Some(true) };
    let alternatives = words[at + 1..].split(|w| matches!(*w, "or" | "||"));
    let mut any = Some(false);
    for terms in alternatives {
        let all =
            terms.iter().try_fold(true, |so_far, term| Some(so_far && self::term(config, section, term, requests)?));
        any = match (any, all) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
    }
    any.map(|holds| holds == (words[at] == "if"))
}

/// One name of a condition, maybe with `!`. Lines of the same name are alternatives.
fn term(config: &Config, section: &Section, term: &str, requests: &Requests) -> Option<bool> {
    let (negated, name) = term.strip_prefix('!').map_or((false, term), |rest| (true, rest));
    let holds = match name {
        "TRUE" => true,
        "FALSE" => false,
        _ => {
            let mut lines = config.inside(section).iter().filter(|f| f.is("acl") && f.arg(0) == Some(name)).peekable();
            lines.peek()?;
            let all: Vec<Option<bool>> = lines.map(|line| matches(line, requests)).collect();
            if all.contains(&Some(true)) {
                true
            } else if all.contains(&None) {
                return None;
            } else {
                false
            }
        }
    };
    Some(holds != negated)
}

/// `acl NAME CRITERION [-i] [--] PATTERN...`
fn matches(line: &Found, requests: &Requests) -> Option<bool> {
    let criterion = line.arg(1)?;
    let host = requests.host.split(':').next().unwrap_or_default();
    let path = requests.path.split(['?', '#']).next().unwrap_or_default();
    let (subject, how) = match criterion {
        "path" | "path_beg" | "path_end" | "path_sub" | "path_dir" => (path, criterion.trim_start_matches("path")),
        _ => {
            let rest = criterion.strip_prefix("req.").unwrap_or(criterion).strip_prefix("hdr")?;
            let (how, name) = rest.split_once('(')?;
            name.to_ascii_lowercase().starts_with("host)").then_some((host, how))?
        }
    };
    let mut patterns = line.words[3..].iter().map(|w| w.value.as_str()).peekable();
    let mut folded = subject == host;
    let mut how = how;
    while let Some(flag) = patterns.peek().filter(|p| p.starts_with('-')) {
        match *flag {
            "-i" => folded = true,
            "--" => {}
            "-m" => {
                patterns.next();
                how = match *patterns.peek()? {
                    "str" => "",
                    "beg" => "_beg",
                    "end" => "_end",
                    "sub" => "_sub",
                    _ => return None,
                };
            }
            _ => return None,
        }
        patterns.next();
    }
    let fold = |text: &str| if folded { text.to_ascii_lowercase() } else { text.to_owned() };
    let subject = fold(subject);
    let mut any = false;
    for pattern in patterns.map(fold) {
        any |= match how {
            "" => subject == pattern,
            "_beg" => subject.starts_with(&pattern),
            "_end" => subject.ends_with(&pattern),
            "_sub" => subject.contains(&pattern),
            "_dir" => subject.split('/').any(|part| part == pattern.trim_matches('/')),
            "_dom" => subject == pattern || subject.ends_with(&format!(".{pattern}")),
            _ => return None,
        };
    }
    Some(any)
}
