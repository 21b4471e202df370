//! What nginx answers itself: the directives that refuse or answer a request before anything behind nginx gets it, in the order in which
//! nginx comes to them (src/http/ngx_http_request.c, ngx_http_core_module.h: phases).

mod foreign;
mod served;

use std::net::Ipv4Addr;

use genkai_model::limit::Origin;
use genkai_model::load::Request;

use super::config::{Found, Route, Stage, Way};
use super::evidence::signature;
use super::settings::value::size;
use crate::product::{OwnAnswer, carries, head, on_line};
use foreign::foreign;
use served::served;

/// `large_client_header_buffers` where nobody says anything (src/http/ngx_http_core_module.c).
const HEADER_BUFFERS: &str = "4 8k";
/// Directives of a client's address that take it from somewhere else than the connection.
const OTHER_ADDRESS: [&str; 2] = ["set_real_ip_from", "real_ip_header"];

/// What may answer this request.
pub(super) fn own(route: &Route<'_>, request: &Request) -> Vec<OwnAnswer> {
    let mut all = head_too_large(route, request);
    all.extend(certificate(route));
    let sure = route.ways.len() == 1;
    for way in &route.ways {
        let answers = of_way(route, way, request);
        all.extend(answers.into_iter().map(|one| OwnAnswer { certain: one.certain && sure, ..one }));
    }
    let mut seen: Vec<OwnAnswer> = Vec::new();
    all.retain(|one| {
        let new = !seen.iter().any(|other| other.is(one));
        seen.extend(new.then(|| one.clone()));
        new
    });
    all
}

fn of(found: &Found<'_>, statuses: &[u16]) -> OwnAnswer {
    let setting = String::from_utf8_lossy(found.directive.name()).into_owned();
    let value = found.written()[setting.len()..].trim().to_owned();
    let origin = on_line(&found.config.file(found.file).path, found.line());
    OwnAnswer { statuses: statuses.to_vec(), ..OwnAnswer::of(&setting, value, origin) }
}

/// A head that does not fit: a line longer than a buffer, or all of it longer than all buffers (ngx_http_alloc_large_header_buffer).
fn head_too_large(route: &Route<'_>, request: &Request) -> Vec<OwnAnswer> {
    let found = route.inherited("large_client_header_buffers").pop();
    let written = found.as_ref().map_or_else(|| HEADER_BUFFERS.to_owned(), |found| found.args().join(" "));
    let Some((number, each)) = written.split_once(' ') else { return Vec::new() };
    let (Ok(number), Some(each)) = (number.parse::<u64>(), size(each)) else { return Vec::new() };
    let (line, fields) = head(request);
    let longest = fields.iter().copied().max().unwrap_or(0);
    let all = fields.iter().sum::<u64>() + line;
    let (status, what) = match () {
        () if line > each => (414, format!("the request line has {line} bytes, a buffer {each}")),
        () if longest > each => (400, format!("a header field has {longest} bytes, a buffer {each}")),
        () if all > number.saturating_mul(each) => {
            (400, format!("the head has {all} bytes, {number} buffers of {each} fewer"))
        }
        () => return Vec::new(),
    };
    let default = || Origin::Default("src/http/ngx_http_core_module.c".to_owned());
    let origin = found.map_or_else(default, |found| of(&found, &[]).origin);
    let answer = OwnAnswer::of("large_client_header_buffers", written, origin);
    vec![OwnAnswer { statuses: vec![status], certain: true, when: what, ..answer }]
}

/// A listener that wants a certificate of the client's (ngx_http_process_request: 496, which is told as 400).
fn certificate(route: &Route<'_>) -> Option<OwnAnswer> {
    route.listen.as_ref().filter(|listen| listen.ssl)?;
    let found = route.inherited("ssl_verify_client").pop().filter(|found| found.arg(0).as_deref() == Some("on"))?;
    let when = "the client shows no certificate".to_owned();
    Some(OwnAnswer { certain: true, when, ..of(&found, &[400]) })
}

fn of_way(route: &Route<'_>, way: &Way<'_>, request: &Request) -> Vec<OwnAnswer> {
    let first = way.looked.first();
    let refused = first.into_iter().flat_map(|stage| access(route, stage, request)).collect::<Vec<_>>();
    // Only requests that rewriting has answered do not come to what may answer anything.
    let others: Vec<OwnAnswer> =
        first.into_iter().flat_map(|stage| foreign(route, stage)).map(|found| any(&found)).collect();
    let refused = refused.into_iter().map(|one| OwnAnswer { certain: one.certain && others.is_empty(), ..one });
    let refused: Vec<OwnAnswer> = refused.collect();
    // What is refused before does not come to what answers later.
    let last = way.by.as_ref().map(|(found, status)| answered(route, way, found, *status));
    let mut all = match refused.iter().any(|one| one.certain) {
        true => refused,
        false => refused.into_iter().chain(last).collect(),
    };
    if way.status.is_none() {
        let (own, page) = files(route, way, !others.is_empty());
        all.extend(own);
        all.extend(pages(route, way, page.as_ref()));
        all.extend(others);
    }
    all
}

/// What may answer in any way that is told as a redirect or a failure.
fn any(found: &Found<'_>) -> OwnAnswer {
    let when = "it may answer so; what it does is not known".to_owned();
    OwnAnswer { guess: true, when, ..of(found, &(300..600).collect::<Vec<_>>()) }
}

/// `return`, `rewrite`, `internal`, a location's slash.
fn answered(route: &Route<'_>, way: &Way<'_>, found: &Found<'_>, status: u16) -> OwnAnswer {
    let (statuses, page) = paged(route, &way.handler, status);
    // `return` with a text is not paged.
    let plain = found.args().len() < 2 || found.directive.is("try_files");
    let paged = page.filter(|_| plain && status >= 300);
    let statuses = if paged.is_some() { statuses } else { vec![status] };
    let when = paged.map_or_else(
        || "every such request".to_owned(),
        |page| format!("every such request, and `{}` ({}) says with what", page.written(), page.place()),
    );
    OwnAnswer { certain: true, when, ..of(found, &statuses) }
}

/// The statuses that clients get where nginx refuses with `status`, and the `error_page` that may make another of it.
fn paged<'a>(route: &Route<'a>, chain: &[Found<'a>], status: u16) -> (Vec<u16>, Option<Found<'a>>) {
    let pages = route.inherited_at(chain, "error_page");
    let is_of = |found: &Found<'_>| found.args().iter().any(|code| code.parse() == Ok(status));
    let page = pages.into_iter().find(is_of);
    let new = page.as_ref().and_then(|page| {
        let args = page.args();
        let code = args.iter().rev().nth(1)?.strip_prefix('=')?;
        Some(code.parse::<u16>().ok())
    });
    // A page that is a URL is a redirect, 302 where nothing else is said (ngx_http_send_special_response, ngx_http_send_error_page).
    let elsewhere = page
        .as_ref()
        .and_then(|page| page.args().pop())
        .is_some_and(|to| ["http://", "https://", "$scheme"].iter().any(|scheme| to.starts_with(scheme)));
    let redirects = |code: u16| matches!(code, 301 | 302 | 303 | 307 | 308);
    match new {
        _ if elsewhere => match new.flatten() {
            Some(code) if redirects(code) => (vec![code], page),
            _ => (vec![302], page),
        },
        None => (vec![status], page),
        Some(Some(code)) => (vec![code], page),
        Some(None) => ((200..600).collect(), page),
    }
}

/// The phase in which access is checked: `allow` and `deny`, then what asks who it is.
fn access(route: &Route<'_>, stage: &Stage<'_>, request: &Request) -> Vec<OwnAnswer> {
    let excepted = excepted(stage, request);
    let scopes = scopes(route, stage, excepted.as_ref());
    let any = first(&scopes, &["satisfy"]).first().is_some_and(|found| found.arg(0).as_deref() == Some("any"));
    let mut all = Vec::new();
    let add = |all: &mut Vec<OwnAnswer>, one: OwnAnswer, found: &Found<'_>| {
        let (statuses, page) = match &one.statuses[..] {
            [status] => paged(route, &stage.chain, *status),
            _ => (one.statuses.clone(), None),
        };
        let by = page.map(|page| format!(", and `{}` ({}) says with what", page.written(), page.place()));
        let within =
            excepted.as_ref().filter(|block| found.blocks.iter().any(|b| b.directive.span == block.directive.span));
        let within = within.map(|block| format!(", within `{}` ({})", block.written(), block.place()));
        let when = one.when.clone() + &within.unwrap_or_default() + &by.unwrap_or_default();
        all.push(OwnAnswer { statuses, when, ..one });
    };
    if let Some((found, sure)) = denied(&scopes) {
        let certain = sure && !any && OTHER_ADDRESS.iter().all(|name| first(&scopes, &[name]).is_empty());
        let (signature, when) = (Some(signature::FORBIDDEN.to_owned()), "its client's address is refused".to_owned());
        add(&mut all, OwnAnswer { certain, signature, of_path: true, when, ..of(&found, &[403]) }, &found);
    }
    if let Some(found) = on(&scopes, "auth_basic") {
        let certain = !carries(request, "authorization") && !found.written().contains('$');
        let when = if certain { "it carries no user and password" } else { "its user and password are not taken" };
        add(&mut all, OwnAnswer { certain: certain && !any, when: when.to_owned(), ..of(&found, &[401]) }, &found);
    }
    if let Some(found) = on(&scopes, "auth_request") {
        let when = "what it asks says no".to_owned();
        all.push(OwnAnswer { when, ..of(&found, &[401, 403, 500]) });
    }
    all
}

/// The `limit_except` whose methods the request's is not among; GET allows HEAD (ngx_http_core_limit_except).
fn excepted<'a>(stage: &Stage<'a>, request: &Request) -> Option<Found<'a>> {
    let block = stage.chain.last()?;
    let found = block.inside().into_iter().find(|found| found.directive.is("limit_except"))?;
    let method = request.method.to_ascii_uppercase();
    let allowed = |arg: &String| {
        let arg = arg.to_ascii_uppercase();
        arg == method || arg == "GET" && method == "HEAD"
    };
    (!found.args().iter().any(allowed)).then_some(found)
}

/// Blocks in which a directive takes effect, innermost first.
fn scopes<'a>(route: &Route<'a>, stage: &Stage<'a>, excepted: Option<&Found<'a>>) -> Vec<Found<'a>> {
    let around = stage.chain.iter().rev().cloned();
    excepted.cloned().into_iter().chain(around).chain([route.server.clone()]).chain(route.server.parent()).collect()
}

/// The directives of these names in the first of these blocks that has any: they are inherited together.
fn first<'a>(scopes: &[Found<'a>], names: &[&str]) -> Vec<Found<'a>> {
    let own = |block: &Found<'a>| {
        let inside = block.inside().into_iter();
        inside.filter(|found| names.iter().any(|name| found.directive.is(name))).collect::<Vec<_>>()
    };
    scopes.iter().map(own).find(|own| !own.is_empty()).unwrap_or_default()
}

/// A directive that is in force and not `off`.
fn on<'a>(scopes: &[Found<'a>], name: &str) -> Option<Found<'a>> {
    first(scopes, &[name]).pop().filter(|found| found.arg(0).as_deref() != Some("off"))
}

/// The `deny` that is the first rule for this machine's address, and whether that is sure (a rule before it may be for a name or a variable).
fn denied<'a>(scopes: &[Found<'a>]) -> Option<(Found<'a>, bool)> {
    let mut sure = true;
    for rule in first(scopes, &["allow", "deny"]) {
        match rule.arg(0).and_then(|of| holds(&of)) {
            Some(false) => {}
            Some(true) => return rule.directive.is("deny").then_some((rule, sure)),
            None => sure = false,
        }
    }
    None
}

/// Whether an address of a rule holds for clients of this machine (ngx_http_access_rule); none: not known.
fn holds(of: &str) -> Option<bool> {
    if of == "all" {
        return Some(true);
    }
    if of == "unix:" || of.contains(':') {
        return Some(false);
    }
    let (address, bits) = of.split_once('/').unwrap_or((of, "32"));
    let (address, bits) = (address.parse::<Ipv4Addr>().ok()?, bits.parse::<u32>().ok().filter(|bits| *bits <= 32)?);
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    Some(u32::from(address) & mask == u32::from(Ipv4Addr::LOCALHOST) & mask)
}

/// `try_files ... =CODE`, and files that nginx serves itself; and the `error_page` that says what that is answered with. `others`: whether something
/// that is not known may answer so, too.
fn files<'a>(route: &Route<'a>, way: &Way<'a>, others: bool) -> (Vec<OwnAnswer>, Option<Found<'a>>) {
    let block = way.handler.last().cloned().unwrap_or_else(|| route.server.clone());
    let inside = block.inside();
    let tried = inside.iter().find(|found| found.directive.is("try_files"));
    let Some(found) = tried else { return (served(route, way, others || way.guessed), None) };
    let code = found.args().last().and_then(|last| last.strip_prefix('=')?.parse().ok());
    let Some(code) = code else { return (Vec::new(), None) };
    let (statuses, page) = paged(route, &way.handler, code);
    let by = page.as_ref().map(|page| format!(", and `{}` ({}) says with what", page.written(), page.place()));
    let when = "no file that it names is there".to_owned() + &by.unwrap_or_default();
    let certain = way.pass().is_none() && !others && !way.guessed;
    (vec![OwnAnswer { certain, when, ..of(found, &statuses) }], page)
}

/// `error_page CODE =NEW`, by which what stands behind is told as something else; without the one that is `told` of already.
fn pages(route: &Route<'_>, way: &Way<'_>, told: Option<&Found<'_>>) -> Vec<OwnAnswer> {
    let all = route.inherited_at(&way.handler, "error_page").into_iter();
    let all = all.filter(|found| told.is_none_or(|told| told.place() != found.place()));
    let new = |found: &Found<'_>| found.args().iter().find_map(|arg| arg.strip_prefix('=')?.parse::<u16>().ok());
    let page = |found: Found<'_>| {
        let new = new(&found)?;
        let codes: Vec<String> = found.args().into_iter().filter(|arg| arg.parse::<u16>().is_ok()).collect();
        let when = format!("what it passes a request to, or nginx itself, answers {}", codes.join(" or "));
        Some(OwnAnswer { when, ..of(&found, &[new]) })
    };
    all.filter_map(page).collect()
}
