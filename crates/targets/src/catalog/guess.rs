//! Whose configuration a file is: the product that knows every statement of it. Where two do, or none knows most of it, nobody is guessed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::TargetError;
use crate::files::names::table;
use crate::{apache, caddy, haproxy, nginx, phpfpm, redis, squid, trafficserver, varnish};

/// A product of which fewer statements are known than this share of a file's lines is not considered.
const LEAST: f64 = 0.5;
/// Blocks of nginx whose entries are data.
const DATA: &[&str] = &["types", "map", "geo", "split_clients", "charset_map"];

/// A piece of text that a product reads at once.
struct Statement {
    /// How it begins; none: it is nothing that the product could read.
    name: Option<String>,
    /// The lines it has.
    lines: usize,
}

impl Statement {
    fn of(name: &str) -> Statement {
        Statement { name: Some(name.to_owned()), lines: 1 }
    }

    fn foreign(lines: usize) -> Statement {
        Statement { name: None, lines }
    }
}

/// How the files of a product are written.
struct Grammar {
    product: &'static str,
    /// Table of the names with which its statements begin.
    names: &'static str,
    /// Names that are not in the table.
    more: &'static [&'static str],
    /// Its statements in a text.
    statements: fn(&str) -> Vec<Statement>,
}

const GRAMMARS: &[Grammar] = &[
    Grammar {
        product: nginx::ENTRY.name,
        names: include_str!("../nginx/explain/directives.txt"),
        more: &[],
        statements: of_nginx,
    },
    Grammar {
        product: apache::ENTRY.name,
        names: include_str!("../apache/explain/directives.txt"),
        more: &[],
        statements: of_apache,
    },
    Grammar {
        product: haproxy::ENTRY.name,
        names: include_str!("../haproxy/explain/directives.txt"),
        more: haproxy::config::SECTIONS,
        statements: of_haproxy,
    },
    Grammar {
        product: caddy::ENTRY.name,
        names: include_str!("../caddy/explain/directives.txt"),
        more: &["{"],
        statements: of_caddy,
    },
    Grammar {
        product: squid::ENTRY.name,
        names: include_str!("../squid/directives.txt"),
        more: &[],
        statements: plain,
    },
    Grammar {
        product: phpfpm::ENTRY.name,
        names: include_str!("../phpfpm/keys.txt"),
        more: &["["],
        statements: of_php_fpm,
    },
    Grammar {
        product: redis::ENTRY.name,
        names: include_str!("../redis/explain/directives.txt"),
        more: &[],
        statements: of_redis,
    },
];

/// Whose configuration a file or folder is.
///
/// # Errors
/// When it cannot be read, no product knows most of it, or several know all of it.
pub fn guess(main: &Path) -> Result<&'static str, TargetError> {
    if let Some(product) = by_name(main) {
        return Ok(product);
    }
    let bytes =
        std::fs::read(main).map_err(|e| TargetError::usage("", format!("cannot read {}: {e}", main.display())))?;
    let text = String::from_utf8_lossy(&bytes);
    if is_vcl(&text) {
        return Ok(varnish::ENTRY.name);
    }
    match &of_text(&text)[..] {
        [one] => Ok(*one),
        several => Err(undecided(main, several)),
    }
}

/// By what a file or folder is called.
fn by_name(main: &Path) -> Option<&'static str> {
    let name = main.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if trafficserver::is_named(main) {
        return Some(trafficserver::ENTRY.name);
    }
    match name {
        _ if main.is_dir() => Some(haproxy::ENTRY.name),
        "Caddyfile" => Some(caddy::ENTRY.name),
        name if name.ends_with(".caddyfile") || name.starts_with("Caddyfile.") => Some(caddy::ENTRY.name),
        name if name.ends_with(".vcl") => Some(varnish::ENTRY.name),
        _ => None,
    }
}

/// The products that a text may be of: the only one that knows all of it, else each that knows most of it.
fn of_text(text: &str) -> Vec<&'static str> {
    let shares = GRAMMARS.iter().map(|grammar| (grammar.product, grammar.share(text)));
    let likely: Vec<(&'static str, f64)> = shares.filter(|(_, share)| *share >= LEAST).collect();
    let whole: Vec<_> = likely.iter().filter(|(_, share)| *share == 1.0).map(|(product, _)| *product).collect();
    if whole.is_empty() { likely.into_iter().map(|(product, _)| product).collect() } else { whole }
}

fn undecided(main: &Path, several: &[&str]) -> TargetError {
    let hint = "name the product: --product, or `product:` in a file of systems";
    let why = match several {
        [] => "no product that genkai knows has most of the names in it".to_owned(),
        _ => format!("it can be one of {}", several.join(", ")),
    };
    TargetError::usage("", format!("cannot tell whose configuration {} is: {why}\n  hint: {hint}", main.display()))
}

impl Grammar {
    /// Part of a text's lines that stand in statements the product knows; 0 for a text without any.
    fn share(&self, text: &str) -> f64 {
        let known: BTreeSet<String> =
            table(self.names).map(|(name, _)| name).chain(self.more.iter().copied()).map(str::to_lowercase).collect();
        let statements = (self.statements)(text);
        let lines = |all: &mut dyn Iterator<Item = &Statement>| all.map(|s| s.lines).sum::<usize>() as f64;
        let mine = |s: &&Statement| s.name.as_ref().is_some_and(|name| known.contains(name));
        let all = lines(&mut statements.iter());
        if all > 0.0 { lines(&mut statements.iter().filter(mine)) / all } else { 0.0 }
    }
}

/// The lines of a text without comments behind `#`, space around, and empty ones.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let bare = |line: &'_ str| line.split(" #").next().unwrap_or_default().trim().len();
    let text = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    text.map(move |line| &line[..bare(line)]).filter(|line| !line.is_empty())
}

fn first(line: &str) -> &str {
    line.split_ascii_whitespace().next().unwrap_or_default()
}

/// Statements end with `;` or a brace, on whichever line.
fn of_nginx(text: &str) -> Vec<Statement> {
    let mut all = Vec::new();
    let (mut open, mut count, mut data) = (String::new(), 0, 0_usize);
    for line in lines(text) {
        if data > 0 {
            data = (data + line.matches('{').count()).saturating_sub(line.matches('}').count());
            continue;
        }
        open = if count == 0 { first(line).trim_end_matches([';', '{']).to_owned() } else { open };
        count += 1;
        if !line.ends_with([';', '{', '}']) {
            continue;
        }
        if line.ends_with('{') && (DATA.contains(&open.as_str()) || open.ends_with("_by_lua_block")) {
            data = 1;
        }
        let statement = Statement { name: Some(open.to_owned()), lines: count };
        all.extend((!open.starts_with('}')).then_some(statement));
        count = 0;
    }
    all.extend((count > 0).then(|| Statement::foreign(count)));
    all
}

/// A name and its arguments a line.
fn plain(text: &str) -> Vec<Statement> {
    lines(text).map(|line| Statement::of(first(line))).collect()
}

/// A directive a line, or what opens or closes a section; names have no case.
fn of_apache(text: &str) -> Vec<Statement> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let name = |line: &str| first(line).trim_start_matches(['<', '/']).trim_end_matches('>').to_lowercase();
    lines(&joined).map(|line| Statement::of(&name(line))).collect()
}

/// Sections, and keywords in them.
fn of_haproxy(text: &str) -> Vec<Statement> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [_, "=", ..] => Statement::foreign(1),
            ["no" | "default", name, ..] | [name, ..] => Statement::of(name),
            [] => Statement::foreign(1),
        }
    };
    let mut before = true;
    let outside = |line: &&str| {
        before &= !haproxy::config::SECTIONS.contains(&first(line)) || line.contains('=') || line.ends_with(['{', ';']);
        before
    };
    let (outside, rest): (Vec<&str>, Vec<&str>) = lines(text).partition(outside);
    outside.iter().map(|_| Statement::foreign(1)).chain(rest.into_iter().map(one)).collect()
}

/// Sites and the options in braces, directives in them.
fn of_caddy(text: &str) -> Vec<Statement> {
    let mut depth = 0_usize;
    let mut all = Vec::new();
    for line in lines(text) {
        depth = depth.saturating_sub(usize::from(line.starts_with('}')));
        all.extend(match line {
            _ if line.starts_with('}') => None,
            _ if line.ends_with(';') => Some(Statement::foreign(1)),
            _ if depth == 0 && line.ends_with('{') || line.starts_with('@') => Some(Statement::of("{")),
            _ if depth == 0 && first(line) != "import" => Some(Statement::foreign(1)),
            _ => Some(Statement::of(first(line))),
        });
        depth += usize::from(line.ends_with('{'));
    }
    all
}

/// Pools in brackets, keys with a value.
fn of_php_fpm(text: &str) -> Vec<Statement> {
    let one = |line: &str| match line.split_once('=') {
        _ if line.starts_with('[') && line.ends_with(']') => Statement::of("["),
        Some((name, _)) => Statement::of(name.split('[').next().unwrap_or(name).trim()),
        None => Statement::foreign(1),
    };
    let plain = |line: &&str| !line.starts_with(';');
    lines(text).filter(plain).map(|line| one(line.split(" ;").next().unwrap_or(line).trim())).collect()
}

/// A name without case and at least one argument a line.
fn of_redis(text: &str) -> Vec<Statement> {
    let one = |line: &str| match line.split_ascii_whitespace().count() {
        0 | 1 => Statement::foreign(1),
        _ => Statement::of(&first(line).to_lowercase()),
    };
    lines(text).map(one).collect()
}

/// Whether it begins as VCL must: `vcl 4.1;`.
fn is_vcl(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        rest = match rest {
            _ if rest.starts_with('#') || rest.starts_with("//") => rest.split_once('\n').map_or("", |(_, r)| r),
            _ if rest.starts_with("/*") => rest.split_once("*/").map_or("", |(_, r)| r),
            _ => break,
        };
        rest = rest.trim_start();
    }
    first(rest) == "vcl" && rest.split('\n').next().is_some_and(|line| line.contains(';'))
}
