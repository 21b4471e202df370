//! The way of a request through nginx's phases (ngx_http_core_module.c): what rewrites it, at which locations limits are looked at, and
//! what answers in the end. Where something decides that is not in the configuration, both ways are followed.

use super::error_page::{Page, Refusal, error_page};
use super::location::{Rule, expression, locate, rule, slash};
use super::variables::{Value, Variables};
use super::{Found, Pass};

/// Changes of location followed; nginx gives up after 10 (NGX_HTTP_MAX_URI_CHANGES).
const HOPS: usize = 10;
/// Ways followed where something is not decided.
const WAYS: usize = 16;

/// A location at which `limit_conn` and `limit_req` are looked at (the phase before access is checked).
#[derive(Clone, Debug)]
pub struct Stage<'a> {
    /// The location with those around it, outermost first, an `if` that holds last; empty: none, the server itself.
    pub chain: Vec<Found<'a>>,
    /// Values there.
    pub variables: Variables<'a>,
    /// Whether an `error_page` has led here: a second one does not (`recursive_error_pages`).
    paged: bool,
}

/// One way that a request may take.
#[derive(Clone, Debug)]
pub struct Way<'a> {
    /// The `location` chosen first, with those around it, outermost first; none where the server's own rewriting answers.
    pub entry: Vec<Found<'a>>,
    /// Where limits are looked at, in order. A request that one of them has counted is not counted again.
    pub looked: Vec<Stage<'a>>,
    /// The location that answers.
    pub handler: Vec<Found<'a>>,
    /// The status of `return`, of `try_files` and the like; none: what the handler has answers.
    pub status: Option<u16>,
    /// Where it cannot be followed further, and why.
    pub lost: Option<String>,
    /// Values where it ends.
    pub variables: Variables<'a>,
    /// Whether an `error_page` has led here.
    paged: bool,
    /// Whether `return` has given a text to its status.
    text: bool,
    /// Whether a file was taken to be there for which nobody could look.
    pub guessed: bool,
    /// The directive by which nginx answered itself first, with the status that it gave; an `error_page` may have led on from there.
    pub by: Option<(Found<'a>, u16)>,
}

impl<'a> Way<'a> {
    /// One that ends at a location, however it came there.
    pub(super) fn at(chain: Vec<Found<'a>>, variables: Variables<'a>) -> Way<'a> {
        let looked = vec![Stage { chain: chain.clone(), variables: variables.clone(), paged: false }];
        let (entry, handler) = (chain.clone(), chain);
        let (status, lost, paged, text, guessed, by) = (None, None, false, false, false, None);
        Way { entry, looked, handler, status, lost, variables, paged, text, guessed, by }
    }

    /// The `*_pass` that answers; none for files and `return`. That of a location holds in its `if`.
    pub fn pass(&self) -> Option<Pass<'a>> {
        pass(&self.handler).filter(|_| self.status.is_none())
    }

    /// What becomes of a request that is refused with `status` where it is answered.
    pub fn refused(&self, status: u16) -> Refusal {
        let stage = Stage { chain: self.handler.clone(), variables: self.variables.clone(), paged: self.paged };
        stage.refused(status)
    }
}

impl Stage<'_> {
    /// What becomes of a request that is refused with `status` here.
    pub fn refused(&self, status: u16) -> Refusal {
        let Some(page) = error_page(&self.chain, &self.variables.server, status).filter(|_| !self.paged) else {
            return Refusal::Status(status);
        };
        let led = || Refusal::Elsewhere(format!("{} (error_page at {})", page.to, page.place));
        if page.to.contains("://") {
            return led();
        }
        let mut oracle = Oracle::default();
        let mut walk = Walk::new(self.variables.clone(), &mut oracle, false);
        let next = walk.page(&page, status);
        let way = walk.run(next);
        // A page that cannot be followed may answer with any status.
        if way.lost.is_some() {
            return led();
        }
        // The text of `return` has the status of the page, an error or a redirect of its own.
        match (way.status.filter(|_| !way.text), page.answer) {
            (Some(made), _) if made < 400 => led(),
            (Some(made), _) => Refusal::Status(made),
            (None, None) => Refusal::Status(status),
            (None, Some(0)) => way.status.filter(|made| *made >= 400).map_or_else(led, Refusal::Status),
            (None, Some(code)) if code < 400 => led(),
            (None, Some(code)) => Refusal::Status(code),
        }
    }
}

fn pass<'a>(chain: &[Found<'a>]) -> Option<Pass<'a>> {
    let mut inner = chain.iter().rev();
    let last = inner.next()?;
    let around = inner.next().filter(|_| last.directive.is("if"));
    [Some(last), around].into_iter().flatten().find_map(|block| block.config.pass_in(block))
}

/// Decides what the configuration does not: as given, else no. What it was asked is kept.
#[derive(Default)]
pub(super) struct Oracle {
    given: Vec<bool>,
    asked: Vec<(bool, String)>,
}

impl Oracle {
    pub(super) fn ask(&mut self, what: String) -> bool {
        let answer = self.given.get(self.asked.len()).copied().unwrap_or(false);
        self.asked.push((answer, what));
        answer
    }
}

/// Every way of a request, the one of what is not decided taken not to hold first, and what is not decided; `internal`: of one that nginx makes
/// itself.
pub(super) fn ways<'a>(variables: &Variables<'a>, internal: bool) -> (Vec<Way<'a>>, Vec<String>) {
    let (mut all, mut doubts, mut open) = (Vec::<Way<'a>>::new(), Vec::new(), vec![Vec::new()]);
    while let Some(given) = open.pop() {
        if all.len() == WAYS {
            all[0].lost = Some(format!("more than {WAYS} ways: too many conditions"));
            break;
        }
        let known = given.len();
        let mut oracle = Oracle { given, asked: Vec::new() };
        all.push(Walk::new(variables.clone(), &mut oracle, internal).run(Next::Server));
        for at in known..oracle.asked.len() {
            let before = oracle.asked[..at].iter().map(|(answer, _)| *answer);
            open.push(before.chain([true]).collect());
        }
        doubts.extend(oracle.asked.into_iter().map(|(_, what)| what));
    }
    doubts.sort();
    doubts.dedup();
    (all, doubts)
}

/// What comes next.
pub(super) enum Next<'a> {
    /// The server's own rewriting, then the location of the path.
    Server,
    /// The location of the path.
    Locate,
    /// Its rewriting.
    At(Vec<Found<'a>>),
    /// What answers there: a status, or the handler.
    End(Option<u16>),
    /// Something that is not known.
    Lost(String),
}

/// How a block's rewriting ends.
enum Rewritten<'a> {
    /// It stays where it is.
    Here,
    /// The path is another one.
    Again,
    /// It is answered, by a directive; whether an `error_page` may take its place.
    Answered(u16, bool, Found<'a>),
    /// Not known where it leads.
    Lost(String),
}

pub(super) struct Walk<'a, 'o> {
    pub(super) variables: Variables<'a>,
    pub(super) oracle: &'o mut Oracle,
    entry: Option<Vec<Found<'a>>>,
    looked: Vec<Stage<'a>>,
    pub(super) chain: Vec<Found<'a>>,
    /// Whether the path was given by nginx itself, so that `internal` lets it in.
    internal: bool,
    pub(super) paged: bool,
    /// Whether the rewriting of a block has changed the path.
    changed: bool,
    /// Changes of location so far.
    changes: usize,
    text: bool,
    /// Whether a file was taken to be there for which nobody could look.
    pub(super) guessed: bool,
    by: Option<(Found<'a>, u16)>,
}

impl<'a, 'o> Walk<'a, 'o> {
    fn new(variables: Variables<'a>, oracle: &'o mut Oracle, internal: bool) -> Self {
        let (entry, looked, chain) = (None, Vec::new(), Vec::new());
        let (paged, changed, changes, text, guessed, by) = (false, false, 0, false, false, None);
        Walk { variables, oracle, entry, looked, chain, internal, paged, changed, changes, text, guessed, by }
    }

    fn run(mut self, mut next: Next<'a>) -> Way<'a> {
        let (status, lost) = loop {
            next = match next {
                Next::End(status) => break (status, None),
                Next::Lost(why) => break (None, Some(why)),
                _ if self.changes > HOPS => break (Some(500), None),
                Next::Server => self.server(),
                Next::Locate => self.locate(),
                Next::At(chain) => self.location(chain),
            };
        };
        Way {
            entry: self.entry.unwrap_or_default(),
            looked: self.looked,
            handler: self.chain,
            status,
            lost,
            variables: self.variables,
            paged: self.paged,
            text: self.text,
            guessed: self.guessed,
            by: self.by,
        }
    }

    fn server(&mut self) -> Next<'a> {
        let server = self.variables.server.clone();
        match self.rewrite(&server) {
            Rewritten::Here | Rewritten::Again => Next::Locate,
            Rewritten::Answered(status, may, found) => self.answered(status, may, &found),
            Rewritten::Lost(why) => Next::Lost(why),
        }
    }

    fn locate(&mut self) -> Next<'a> {
        let Some(path) = self.variables.uri.clone() else {
            return Next::Lost("the path after a rewrite is not known".to_owned());
        };
        let oracle = &mut *self.oracle;
        let mut blind = |found: &Found<'a>| oracle.ask(format!("the regular expression at {}", found.place()));
        let chain = locate(&self.variables.server, &path, &mut blind);
        for pattern in chain.iter().filter_map(expression) {
            self.variables.matched(&pattern, Vec::new());
        }
        let mut within = [self.variables.server.clone()].into_iter().chain(chain.clone());
        if let Some(found) = within.find_map(|block| slash(&block, &path)) {
            self.chain = vec![found.clone()];
            return self.answered(301, false, &found);
        }
        Next::At(chain)
    }

    fn location(&mut self, chain: Vec<Found<'a>>) -> Next<'a> {
        self.entry.get_or_insert_with(|| chain.clone());
        self.chain.clone_from(&chain);
        let inner = chain.last().cloned();
        let internal = inner.as_ref().and_then(|l| l.inside().into_iter().find(|f| f.directive.is("internal")));
        if let Some(found) = internal.filter(|_| !self.internal) {
            return self.answered(404, true, &found);
        }
        let rewritten = inner.as_ref().map_or(Rewritten::Here, |block| self.rewrite(block));
        match rewritten {
            Rewritten::Here => self.content(),
            Rewritten::Again => {
                self.changes += 1;
                Next::Locate
            }
            Rewritten::Answered(status, may, found) => self.answered(status, may, &found),
            Rewritten::Lost(why) => Next::Lost(why),
        }
    }

    /// After rewriting: limits are looked at, then files are tried, then the location answers.
    fn content(&mut self) -> Next<'a> {
        self.looked.push(Stage { chain: self.chain.clone(), variables: self.variables.clone(), paged: self.paged });
        let block = self.chain.last().cloned().unwrap_or_else(|| self.variables.server.clone());
        let inside = block.inside();
        let tried = inside.iter().find(|f| f.directive.is("try_files"));
        if let Some(next) = tried.and_then(|tried| self.tried(tried)) {
            return next;
        }
        let answers =
            pass(&self.chain).is_some() || ITSELF.iter().any(|name| inside.iter().any(|f| f.directive.is(name)));
        if answers {
            return Next::End(None);
        }
        match (self.index(), tried) {
            (Some(next), _) => next,
            (None, Some(_)) => Next::End(None),
            (None, None) => self.missing(),
        }
    }

    /// An internal redirect: to a named location, or another path.
    pub(super) fn inner(&mut self, to: &str, place: &str) -> Next<'a> {
        self.internal = true;
        self.changes += 1;
        if to.starts_with('@') {
            let named =
                |f: &Found<'a>| matches!(rule(f), Some((Rule::Named, _))) && f.arg(0).is_some_and(|name| name == to);
            let found = self.variables.server.inside().into_iter().find(named);
            return found.map_or(Next::End(Some(500)), |location| Next::At(vec![location]));
        }
        let target = self.variables.value(to);
        let Some(path) = target.constant().filter(|path| path.starts_with('/')) else {
            return Next::Lost(format!("where `{to}` at {place} leads is not known"));
        };
        let (uri, args) = path.split_once('?').unwrap_or((path, ""));
        (self.variables.uri, self.variables.args) = (Some(uri.to_owned()), Some(args.to_owned()));
        Next::Server
    }

    /// A file that nginx has to serve. Where it is not there another location may answer instead.
    fn missing(&mut self) -> Next<'a> {
        let page = error_page(&self.chain, &self.variables.server, 404).filter(|_| !self.paged);
        match page.filter(|page| self.is_served(page)) {
            Some(page)
                if self.oracle.ask(format!("whether the file is there, which error_page at {} asks", page.place)) =>
            {
                self.page(&page, 404)
            }
            _ => Next::End(None),
        }
    }

    /// Whether an `error_page` leads to more than a file without limits of its own.
    fn is_served(&self, page: &Page) -> bool {
        if page.to.contains("://") || page.to.starts_with('@') {
            return page.to.starts_with('@');
        }
        let mut oracle = Oracle::default();
        let mut walk = Walk::new(self.variables.clone(), &mut oracle, false);
        let next = walk.page(page, 404);
        let way = walk.run(next);
        let limits = |block: &Found<'_>| {
            block.inside().iter().any(|f| f.directive.is("limit_conn") || f.directive.is("limit_req"))
        };
        way.pass().is_some() || way.looked.iter().any(|stage| stage.chain.iter().any(limits))
    }

    /// A status that nginx makes itself; an `error_page` may send the request on.
    pub(super) fn answered(&mut self, status: u16, may: bool, by: &Found<'a>) -> Next<'a> {
        self.by.get_or_insert_with(|| (by.clone(), status));
        let page = error_page(&self.chain, &self.variables.server, status);
        match page.filter(|_| may && !self.paged) {
            Some(page) if !page.to.contains("://") => self.page(&page, status),
            _ => {
                self.text = !may && !(300..400).contains(&status);
                Next::End(Some(status))
            }
        }
    }

    fn page(&mut self, page: &Page, status: u16) -> Next<'a> {
        self.paged = true;
        match self.inner(&page.to, &page.place) {
            // What cannot be followed is the text of an error.
            Next::Lost(_) | Next::End(_) => Next::End(Some(status)),
            next => next,
        }
    }

    /// Runs the rewriting of a block.
    fn rewrite(&mut self, block: &Found<'a>) -> Rewritten<'a> {
        self.changed = false;
        match self.directives(block) {
            Some(ended) => ended,
            None if self.changed => Rewritten::Again,
            None => Rewritten::Here,
        }
    }

    /// The directives of a block in order; none: none of them ends it.
    fn directives(&mut self, block: &Found<'a>) -> Option<Rewritten<'a>> {
        block.inside().iter().find_map(|found| match found.directive.name() {
            b"set" => self.set(found),
            b"break" => Some(Rewritten::Here),
            b"return" => Some(returned(found)),
            b"rewrite" => self.replaced(found),
            b"if" => self.condition(found),
            _ => None,
        })
    }

    fn set(&mut self, found: &Found<'a>) -> Option<Rewritten<'a>> {
        let value = self.variables.value(&found.arg(1).unwrap_or_default());
        self.variables.assign(&found.arg(0)?, value);
        None
    }

    fn condition(&mut self, found: &Found<'a>) -> Option<Rewritten<'a>> {
        let inside = found.inside();
        let idle = |f: &Found<'_>| f.directive.name().starts_with(b"add_header") || f.directive.is("access_log");
        let holds = self
            .variables
            .holds(found)
            .unwrap_or_else(|| !inside.iter().all(idle) && self.oracle.ask(format!("`if` at {}", found.place())));
        self.variables.looked_at(found);
        if !holds {
            return None;
        }
        // In a location its content is in force from here on.
        if found.parent().is_some_and(|parent| parent.directive.is("location")) {
            self.chain.retain(|block| !block.directive.is("if"));
            self.chain.push(found.clone());
        }
        self.directives(found)
    }

    /// `rewrite PATTERN REPLACEMENT [last|break|redirect|permanent]`.
    fn replaced(&mut self, found: &Found<'a>) -> Option<Rewritten<'a>> {
        let args = found.args();
        let [pattern, to, flag @ ..] = &args[..] else { return None };
        let lost = |what: &str| Some(Rewritten::Lost(format!("{what} `rewrite` at {}", found.place())));
        let Some(uri) = self.variables.uri.clone() else { return lost("the path is not known of") };
        let Some(matched) = super::variables::captures(pattern, &uri, false) else {
            return lost("this cannot evaluate the pattern of");
        };
        self.variables.matched(pattern, matched?);
        let flag = flag.first().map(String::as_str);
        let away = ["http://", "https://", "$scheme"].iter().any(|start| to.starts_with(start));
        match flag {
            Some("permanent") => return Some(Rewritten::Answered(301, false, found.clone())),
            Some("redirect") => return Some(Rewritten::Answered(302, false, found.clone())),
            _ if away => return Some(Rewritten::Answered(302, false, found.clone())),
            _ => {}
        }
        self.go(to);
        match flag {
            Some("last") => Some(Rewritten::Again),
            Some("break") => Some(Rewritten::Here),
            _ => None,
        }
    }

    /// Makes `to` the path; the old query follows a new one unless it ends with `?`.
    fn go(&mut self, to: &str) {
        let (to, alone) = to.strip_suffix('?').map_or((to, false), |to| (to, true));
        let (uri, args) = to.split_once('?').map_or((to, None), |(uri, args)| (uri, Some(args)));
        let constant = |value: Value| value.constant().map(str::to_owned);
        let (uri, args) = (constant(self.variables.value(uri)), args.map(|args| constant(self.variables.value(args))));
        let old = self.variables.args.take().filter(|_| !alone || args.is_some());
        self.variables.args = match (args, old) {
            (None, _) if alone => Some(String::new()),
            (None, old) => old,
            (Some(new), _) if alone => new,
            (Some(new), Some(old)) if !old.is_empty() => new.map(|new| format!("{new}&{old}")),
            (Some(new), _) => new,
        };
        self.variables.uri = uri;
        (self.changed, self.internal) = (true, true);
    }
}

/// Directives by which nginx answers itself.
pub(in crate::nginx) const ITSELF: [&str; 5] =
    ["stub_status", "empty_gif", "content_by_lua_block", "content_by_lua_file", "js_content"];

/// `return CODE [TEXT]`, `return URL`: without a text an `error_page` may take its place.
fn returned<'a>(found: &Found<'a>) -> Rewritten<'a> {
    let args = found.args();
    match args.first().and_then(|code| code.parse().ok()) {
        Some(code) => Rewritten::Answered(code, args.len() == 1 && code >= 300, found.clone()),
        None => Rewritten::Answered(302, false, found.clone()),
    }
}
