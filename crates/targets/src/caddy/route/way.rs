//! The way of a request through directives, in the order in which Caddy asks them (caddyconfig/httpcaddyfile/directives.go: `sortRoutes`,
//! httptype.go: `buildSubroute`).

use super::matcher::{self, Lets, matcher};
use super::php::{self, Php};
use crate::caddy::config::{Config, Line, Site};
use crate::files::Requests;

/// The order of directives that deal with requests. Those that are not named below let requests through.
const ORDER: [&str; 39] = [
    "tracing",
    "map",
    "vars",
    "fs",
    "root",
    "log_append",
    "skip_log",
    "log_skip",
    "log_name",
    "header",
    "copy_response_headers",
    "request_body",
    "timeouts",
    "redir",
    "method",
    "rewrite",
    "uri",
    "try_files",
    "basicauth",
    "basic_auth",
    "forward_auth",
    "request_header",
    "encode",
    "push",
    "intercept",
    "templates",
    "invoke",
    "handle",
    "route",
    "abort",
    "error",
    "copy_response",
    "respond",
    "metrics",
    "reverse_proxy",
    "php_fastcgi",
    "file_server",
    "acme_server",
    "handle_errors",
];
/// Whether a directive is one of Caddy's own, and no plug-in's.
pub(in crate::caddy) fn is_own(name: &str) -> bool {
    ORDER.contains(&name) || name == "handle_path"
}

/// Those that answer, so that nothing behind them is asked.
const ANSWERS: [&str; 8] =
    ["redir", "abort", "error", "copy_response", "respond", "metrics", "file_server", "acme_server"];
/// Those whose part depends on what is on the disk, or on who asks.
const DEPENDS: [&str; 3] = ["try_files", "basic_auth", "basicauth"];

/// Those that change what is asked for, so that what stands behind is asked for something else.
const REWRITES: [&str; 7] = ["handle_path", "invoke", "method", "php_fastcgi", "rewrite", "try_files", "uri"];

/// Routes with a name that one request is followed through, at most so many, and so many within each other: they may invoke themselves.
const MAX_INVOKED: (usize, usize) = (1000, 30);

/// Where a request ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End<'c> {
    /// The blocks around it, the innermost first.
    pub(super) around: Vec<&'c Line>,
    /// What passes it on; none where something else answers.
    pub(super) proxy: Option<&'c Line>,
    /// Whether a file answers.
    pub(super) file: bool,
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Walk<'c, 'r> {
    config: &'c Config,
    requests: &'r Requests,
    order: Vec<&'c str>,
    /// Its path by now.
    pub(super) path: String,
    /// Whether that is what is passed on, with the query as it came.
    pub(super) plain: bool,
    /// The folder of its files; none: not known.
    root: Option<&'c str>,
    /// Where named matchers are defined that it can meet.
    matchers: Vec<&'c Line>,
    /// `request_body` directives that it has met.
    pub(super) bodies: Vec<&'c Line>,
    /// `forward_auth` directives that it has met: each is a request of Caddy's own before it.
    pub(super) authorities: Vec<&'c Line>,
    /// Directives that it may have met: their matchers, or the disk, decide.
    pub(super) unsure: Vec<&'c Line>,
    /// Directives that it certainly did not meet: their matchers let others through.
    pub(super) skipped: Vec<&'c Line>,
    /// Routes with a name that it is in.
    invoked: Vec<&'c Site>,
    /// How many it has been in.
    invocations: usize,
}

impl<'c, 'r> Walk<'c, 'r> {
    pub(super) fn of(config: &'c Config, requests: &'r Requests) -> Walk<'c, 'r> {
        let path = requests.path.split('?').next().unwrap_or_default().to_owned();
        let (matchers, bodies, unsure, skipped) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (invoked, invocations, plain) = (Vec::new(), 0, true);
        let (order, authorities) = (order(config), Vec::new());
        Walk {
            config,
            requests,
            order,
            path,
            plain,
            root: None,
            matchers,
            bodies,
            authorities,
            unsure,
            skipped,
            invoked,
            invocations,
        }
    }

    /// Where it ends among the directives of a site, a `handle` or a route with a name. None: nothing in them answers.
    pub(super) fn sorted(&mut self, lines: &'c [Line]) -> Option<End<'c>> {
        self.define(lines);
        let mut all: Vec<&Line> = lines.iter().filter(|line| self.position(line).is_some()).collect();
        insertion_sort(&mut all, |one, other| self.comes_before(one, other));
        let mut taken: Vec<(&str, &Line)> = Vec::new();
        for line in all {
            // Of several `handle`, and of several `rewrite`, the first that fits is the only one, with those right behind it that have the same
            // matcher: they become one route (httptype.go: `consolidateRoutes`).
            let before = taken.iter().rposition(|(of, _)| *of == kind(line));
            if before.is_some_and(|at| !is_same_matcher(taken[at].1, line) || at + 1 != taken.len()) {
                taken.push(("", line));
                continue;
            }
            let mut only = "";
            let end = self.meet(line, &mut |kind| only = kind);
            if end.is_some() {
                return end;
            }
            taken.push((only, line));
        }
        None
    }

    /// The same of a `route`: its directives are asked as they are written, each.
    fn written(&mut self, lines: &'c [Line]) -> Option<End<'c>> {
        self.define(lines);
        lines.iter().find_map(|line| self.meet(line, &mut |_| ()))
    }

    fn define(&mut self, lines: &'c [Line]) {
        self.matchers.extend(lines.iter().filter(|line| line.name().starts_with('@')));
    }

    /// A directive. `only`: called with its kind, where the first of these is the only one.
    fn meet(&mut self, line: &'c Line, only: &mut dyn FnMut(&'static str)) -> Option<End<'c>> {
        self.position(line)?;
        // A single word is the folder, and no matcher (modules/caddyhttp/fileserver, since 2.8).
        if let ("root", [folder]) = (line.name(), line.args()) {
            self.root = Some(&folder.value);
            return None;
        }
        match self.lets(line) {
            Some(true) => {}
            Some(false) => {
                // Where it may have been changed its path may be another.
                self.skipped.extend(self.plain.then_some(line));
                return None;
            }
            None => {
                self.unsure.push(line);
                self.plain &= !has(line, &REWRITES);
                return None;
            }
        }
        match line.name() {
            "handle" | "handle_path" => {
                only("handle");
                self.strip(line);
                around(line, self.sorted(line.inside()))
            }
            "route" => around(line, self.written(line.inside())),
            "invoke" => self.invoke(line),
            "root" => {
                self.root = line.args().last().map(|folder| folder.value.as_str());
                None
            }
            "php_fastcgi" => match php::asked(line, &self.path, self.root) {
                Php::Asked => Some(End { around: Vec::new(), proxy: Some(line), file: false }),
                Php::Not => None,
                Php::Unsure => {
                    self.unsure.push(line);
                    None
                }
            },
            "reverse_proxy" => Some(End { around: Vec::new(), proxy: Some(line), file: false }),
            name if ANSWERS.contains(&name) => {
                Some(End { around: Vec::new(), proxy: None, file: name == "file_server" })
            }
            "rewrite" => {
                only("rewrite");
                self.rewrite(line)
            }
            "uri" => self.uri(line),
            "request_body" => {
                self.bodies.push(line);
                None
            }
            "forward_auth" => {
                self.authorities.push(line);
                None
            }
            name => {
                self.unsure.extend(DEPENDS.contains(&name).then_some(line));
                self.plain &= !REWRITES.contains(&name);
                None
            }
        }
    }

    /// Whether its matcher lets the request through.
    fn lets(&self, line: &Line) -> Lets {
        match matcher(line) {
            None | Some("*") => Some(true),
            Some(name) if name.starts_with('@') => {
                let defined = self.matchers.iter().rev().find(|matcher| matcher.name() == name)?;
                matcher::named(defined, self.requests, &self.path)
            }
            Some(path) => matcher::is_path(path, &self.path),
        }
    }

    /// `handle_path` takes its prefix away.
    fn strip(&mut self, line: &Line) {
        let prefix = matcher(line).filter(|_| line.is("handle_path")).unwrap_or_default().trim_end_matches('*');
        self.strip_prefix(prefix.trim_end_matches('/'));
    }

    /// In any case of letters (modules/caddyhttp/rewrite/rewrite.go: `trimPathPrefix`).
    fn strip_prefix(&mut self, prefix: &str) {
        if self.path.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix)) {
            self.path = format!("/{}", self.path[prefix.len()..].trim_start_matches('/'));
        }
    }

    /// `rewrite [MATCHER] TO`.
    fn rewrite(&mut self, line: &'c Line) -> Option<End<'c>> {
        let to = line.args().get(usize::from(matcher(line).is_some()))?.value.as_str();
        self.plain &= !to.contains('?');
        let to = to.split('?').next().unwrap_or_default().replace("{uri}", &self.path).replace("{path}", &self.path);
        match to.contains('{') {
            true => {
                self.unsure.push(line);
                self.plain = false;
            }
            false if !to.is_empty() => self.path = to,
            false => {}
        }
        None
    }

    /// `uri [MATCHER] strip_prefix|strip_suffix|replace|path_regexp WHAT...`.
    fn uri(&mut self, line: &'c Line) -> Option<End<'c>> {
        let words: Vec<&str> =
            line.args().iter().skip(usize::from(matcher(line).is_some())).map(|w| w.value.as_str()).collect();
        match words[..] {
            ["strip_prefix", what] => self.strip_prefix(what),
            ["strip_suffix", what] => {
                self.path = self.path.strip_suffix(what).unwrap_or(&self.path).to_owned();
            }
            ["replace", what, with] => {
                // In the query, too.
                self.plain = false;
                self.path = self.path.replace(what, with);
            }
            _ => {
                self.plain = false;
                self.unsure.push(line);
            }
        }
        None
    }

    /// `invoke [MATCHER] NAME`: a route with a name (since 2.7). One that invokes itself answers nothing that could be told.
    fn invoke(&mut self, line: &'c Line) -> Option<End<'c>> {
        let name = line.args().get(usize::from(matcher(line).is_some())).map(|word| format!("&({})", word.value));
        let route = self.config.sites().iter().find(|site| Some(site.head.name()) == name.as_deref());
        let Some(route) = route.filter(|route| self.may_invoke(route)) else {
            let known = self.unsure.iter().any(|one| std::ptr::eq(*one, line));
            self.unsure.extend((!known).then_some(line));
            self.plain = false;
            return None;
        };
        self.invocations += 1;
        self.invoked.push(route);
        let end = self.sorted(&route.lines);
        self.invoked.pop();
        end
    }

    fn may_invoke(&self, route: &Site) -> bool {
        let (most, within) = MAX_INVOKED;
        let again = self.invoked.iter().any(|one| std::ptr::eq(*one, route));
        !again && self.invoked.len() < within && self.invocations < most
    }

    /// Where a directive stands in the order; none where it is none that counts here.
    fn position(&self, line: &Line) -> Option<usize> {
        self.order.iter().position(|name| *name == kind(line))
    }

    /// Whether a directive is asked before another: by its kind, then the longer path, then one that has a matcher.
    fn comes_before(&self, one: &Line, other: &Line) -> bool {
        let (first, second) = (self.position(one), self.position(other));
        if first != second {
            return first < second;
        }
        match (self.path_length(one), self.path_length(other)) {
            (one, other) if one > 0 && other > 0 => one > other,
            _ => has_matcher(one) && !has_matcher(other),
        }
    }

    /// Length of the only path of its matcher; 0 where there is none, or more.
    fn path_length(&self, line: &Line) -> usize {
        let paths = match matcher(line) {
            Some(path) if path.starts_with('/') => vec![path],
            Some(name) => {
                let defined = self.matchers.iter().rev().find(|matcher| matcher.name() == name);
                defined.map(|line| matcher::paths(line)).unwrap_or_default()
            }
            None => Vec::new(),
        };
        if let [path] = paths[..] { path.len() } else { 0 }
    }
}

/// Whether a line, or one inside of it, is one of these.
fn has(line: &Line, names: &[&str]) -> bool {
    names.contains(&line.name()) || line.inside().iter().any(|inner| has(inner, names))
}

/// Whether a directive answers, or may: it passes requests on, or does so itself, or one inside of it.
pub(super) fn may_answer(line: &Line) -> bool {
    has(line, &ANSWERS) || has(line, &["invoke", "php_fastcgi", "reverse_proxy"])
}

/// The directive by which it is ordered.
fn kind(line: &Line) -> &str {
    if line.is("handle_path") { "handle" } else { line.name() }
}

fn is_same_matcher(one: &Line, other: &Line) -> bool {
    let of = |line| matcher(line).filter(|matcher| *matcher != "*").map(str::to_owned);
    of(one) == of(other)
}

fn has_matcher(line: &Line) -> bool {
    matcher(line).is_some_and(|matcher| matcher != "*")
}

fn around<'c>(line: &'c Line, end: Option<End<'c>>) -> Option<End<'c>> {
    let mut end = end?;
    end.around.push(line);
    Some(end)
}

/// [`ORDER`], changed by the global options `order NAME first|last|before OTHER|after OTHER`.
fn order(config: &Config) -> Vec<&str> {
    let mut all: Vec<&str> = ORDER.to_vec();
    let given = config.global().into_iter().flat_map(|global| global.inside()).filter(|line| line.is("order"));
    for line in given {
        let words: Vec<&str> = line.args().iter().map(|word| word.value.as_str()).collect();
        let [name, place, ..] = words[..] else { continue };
        all.retain(|one| *one != name);
        let other = words.get(2).and_then(|other| all.iter().position(|one| one == other));
        let at = match place {
            "first" => Some(0),
            "last" => Some(all.len()),
            "before" => other,
            _ => other.map(|at| at + 1),
        };
        all.insert(at.unwrap_or(all.len()), name);
    }
    all
}

/// Sorts as Go's `sort.SliceStable` does up to twenty values: by insertion. The comparisons are no strict order, so the way counts.
pub(super) fn insertion_sort<T>(all: &mut [T], before: impl Fn(&T, &T) -> bool) {
    for i in 1..all.len() {
        let mut j = i;
        while j > 0 && before(&all[j], &all[j - 1]) {
            all.swap(j, j - 1);
            j -= 1;
        }
    }
}
