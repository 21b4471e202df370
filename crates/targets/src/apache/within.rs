//! Which directives of sections are in force for a request (httpd.apache.org/docs/2.4/sections.html): of the sections that hold it, in the
//! order in which they are merged.

use genkai_model::load::{Body, Request};

use super::config::{Config, Found, Section};
use super::located::{Located, located};
use super::route::{Route, expression, is_in, under};
use crate::files::Requests;

/// A request, and what is known of its way.
pub(super) struct Within<'w> {
    pub(super) config: &'w Config,
    pub(super) route: &'w Route<'w>,
    pub(super) request: &'w Request,
    /// Without its query.
    pub(super) path: &'w str,
    /// Whether it is passed to a backend: what is said of files does not hold then.
    pub(super) passed: bool,
    /// The file that it is for.
    pub(super) located: Option<Located>,
}

/// The `SetEnv` that gives these requests a variable, of those that hold for them the one that is merged last.
pub(super) fn variable<'c>(
    config: &'c Config,
    route: &Route<'_>,
    requests: &Requests,
    name: &str,
) -> Option<&'c Found> {
    let all = config.named("setenv").filter(|found| found.arg(0) == Some(name));
    last(config, route, requests, all)
}

/// Whether responses to these requests go through an output filter.
pub(super) fn filters(config: &Config, route: &Route<'_>, requests: &Requests, name: &str) -> bool {
    let last = last(config, route, requests, config.named("setoutputfilter"));
    let named =
        |found: &Found| found.arg(0).is_some_and(|all| all.split(';').any(|one| one.eq_ignore_ascii_case(name)));
    last.is_some_and(named)
}

/// The `ErrorDocument` of a status for these requests.
pub(super) fn document<'c>(
    config: &'c Config,
    route: &Route<'_>,
    requests: &Requests,
    status: u16,
) -> Option<&'c Found> {
    let of = |found: &&Found| found.arg(0).and_then(|text| text.parse().ok()) == Some(status);
    last(config, route, requests, config.named("errordocument").filter(of))
}

/// The directives of a name that may be in force for such requests, down to the first that surely is, with whether it is.
pub(super) fn candidates<'c>(
    config: &'c Config,
    route: &Route<'_>,
    requests: &Requests,
    name: &'static str,
) -> Vec<(&'c Found, bool)> {
    let mut all = ranked(config, route, requests, config.named(name));
    all.sort_by_key(|((rank, _), _)| *rank);
    let mut down: Vec<(&Found, bool)> = all.into_iter().rev().map(|((_, sure), found)| (found, sure)).collect();
    let first = down.iter().position(|(_, sure)| *sure).map_or(down.len(), |at| at + 1);
    down.truncate(first);
    down
}

/// Of these directives the one that is merged last for such requests.
fn last<'c>(
    config: &'c Config,
    route: &Route<'_>,
    requests: &Requests,
    all: impl Iterator<Item = &'c Found>,
) -> Option<&'c Found> {
    ranked(config, route, requests, all).into_iter().max_by_key(|((rank, _), _)| *rank).map(|(_, found)| found)
}

/// Those that may hold, each with when it is merged, and whether it surely holds.
fn ranked<'c>(
    config: &'c Config,
    route: &Route<'_>,
    requests: &Requests,
    all: impl Iterator<Item = &'c Found>,
) -> Vec<((Rank, bool), &'c Found)> {
    let path = requests.path.split('?').next().unwrap_or_default();
    let request = Request {
        method: "GET".to_owned(),
        path: requests.path.clone(),
        host: requests.host.clone(),
        headers: Vec::new(),
        body: Body::Empty,
    };
    let passed = route.pass(config, path).is_some() || route.rewritten(config, requests).is_some();
    let located = located(config, route, requests);
    let within = Within { config, route, request: &request, path, passed, located };
    all.filter_map(|found| Some((within.rank(found)?, found))).collect()
}

/// When a directive is merged, later ones with more: sections of a kind after those of another, folders from the shortest on (those of files within
/// them, too), what a virtual host says after what the server does.
type Rank = (u8, usize, bool);

/// A directive that holds for a request, and whether that is sure.
pub(super) struct Held<'w> {
    pub(super) found: &'w Found,
    pub(super) sure: bool,
}

/// Sections that say how demands are joined, not where they hold.
const JOINING: [&str; 3] = ["requireall", "requireany", "requirenone"];

impl<'w> Within<'w> {
    /// The directives of these names of the section that is merged last of those that have any.
    pub(super) fn in_force(&self, names: &[&str]) -> Vec<Held<'w>> {
        let mut best: (Rank, Vec<Held<'w>>) = ((0, 0, false), Vec::new());
        let mut section = None;
        for found in self.config.found().iter().filter(|found| names.contains(&found.name.as_str())) {
            let Some((rank, sure)) = self.rank(found) else { continue };
            let own = found.context.iter().rev().find(|s| !JOINING.contains(&s.name.as_str())).map(|s| s.index);
            if rank > best.0 || rank == best.0 && section != Some(own) {
                (best, section) = ((rank, Vec::new()), Some(own));
            }
            if rank == best.0 {
                best.1.push(Held { found, sure });
            }
        }
        best.1
    }

    /// When a directive is merged; none: it does not hold. And whether it surely does.
    fn rank(&self, found: &Found) -> Option<(Rank, bool)> {
        let host = found.host();
        if host.is_some() && host != self.route.host {
            return None;
        }
        let (mut kind, mut sure) = (1, true);
        for section in found.context.iter().filter(|section| section.name != "virtualhost") {
            let (its, holds) = self.holds(section)?;
            kind = kind.max(its);
            sure &= holds;
        }
        let folder = found.context.iter().rev().find(|section| section.name == "directory");
        let length = folder.and_then(|section| section.args.first()).map_or(0, |path| path.trim_end_matches('/').len());
        Some(((kind, if matches!(kind, 2 | 3) { length } else { 0 }, host.is_some()), sure))
    }

    /// Whether a section holds the request: when it is merged, and whether it surely does. None: it does not.
    fn holds(&self, section: &Section) -> Option<(u8, bool)> {
        let first = section.args.first().map_or("", String::as_str);
        let (pattern, of) = expression(section).map_or((false, first), |pattern| (true, pattern));
        let matched = |text: &str, kind: u8| match is_in(of, text) {
            Some(false) => None,
            is => Some((kind, is.is_some())),
        };
        match section.name.as_str() {
            "location" | "locationmatch" if pattern => matched(self.path, 4),
            "location" => under(self.path, of).then_some((4, true)),
            "proxy" if !pattern && of == "*" => self.passed.then_some((2, true)),
            "proxy" | "proxymatch" => self.passed.then_some((2, false)),
            "directory" if !pattern && !self.passed => match self.file() {
                Some(file) => under(file, of).then_some((2, true)),
                None => Some((2, under("/", of))),
            },
            "files" | "filesmatch" if !self.passed => match self.name() {
                Some("") => (pattern && is_in(of, "") != Some(false)).then_some((3, false)),
                Some(name) if pattern => matched(name, 3),
                Some(name) if !of.contains(['*', '?', '[']) => (name == of).then_some((3, true)),
                _ => Some((3, false)),
            },
            "directory" | "directorymatch" | "files" | "filesmatch" => (!self.passed).then_some((3, false)),
            "limit" => self.is_among(&section.args).then_some((1, true)),
            "limitexcept" => (!self.is_among(&section.args)).then_some((1, true)),
            name if JOINING.contains(&name) => Some((1, true)),
            _ => Some((5, false)),
        }
    }

    /// The file that a request is for.
    fn file(&self) -> Option<&str> {
        self.located.as_ref().map(|located| located.file.as_str())
    }

    /// The name of that file, where it is sure.
    fn name(&self) -> Option<&str> {
        self.located.as_ref()?.name()
    }

    /// GET stands for HEAD, too.
    fn is_among(&self, methods: &[String]) -> bool {
        let own = self.request.method.to_ascii_uppercase();
        methods.iter().any(|method| *method == own || method == "GET" && own == "HEAD")
    }
}
