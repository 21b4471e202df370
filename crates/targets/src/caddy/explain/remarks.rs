//! What is wrong in a Caddyfile, or is not what it seems. Each was seen on Caddy 2.6.2.

use std::collections::BTreeMap;

use genkai_model::explain::{Remark, RemarkKind};

use crate::caddy::config::{Config, Line};
use crate::caddy::limits::Facts;
use crate::caddy::route::Route;
use crate::caddy::settings::{
    FAIL_DURATION, KEEPALIVE, KEEPALIVE_IDLE_CONNS_PER_HOST, LB_TRY_DURATION, MAX_FAILS, TABLE, UNHEALTHY_REQUEST_COUNT,
};
use crate::explain::remark;
use crate::files::Requests;
use crate::files::names::{nearest, table};

use super::values;

/// Keywords with the blocks that take them (Caddy's standard modules, 2.6 to 2.11).
static KEYWORDS: &str = include_str!("directives.txt");

/// Blocks in which any directive may stand.
const AROUND: [&str; 5] = ["handle", "handle_path", "route", "handle_errors", "handle_response"];

pub(super) fn of(config: &Config, facts: &Facts, requests: &Requests) -> Vec<Remark> {
    let mut all = names(config);
    all.extend(nobody(config, requests));
    if let Some(proxy) = Route::find(config, requests).and_then(|route| route.proxy) {
        let mut tell = Tell { config, all: &mut all };
        health(&mut tell, proxy, facts);
        idle_connections(&mut tell, proxy);
        again(&mut tell, proxy);
    }
    all.sort();
    all.dedup();
    all
}

/// Remarks on lines, while they are collected.
struct Tell<'a> {
    config: &'a Config,
    all: &'a mut Vec<Remark>,
}

impl Tell<'_> {
    fn tell(&mut self, kind: RemarkKind, line: &Line, text: &str, hint: Option<&str>) {
        let place = Some(self.config.place(line));
        self.all.push(remark(kind, place, line.name(), text.to_owned(), hint.map(str::to_owned)));
    }
}

/// Keywords and values that Caddy does not have: it does not start.
fn names(config: &Config) -> Vec<Remark> {
    let known: BTreeMap<&str, &str> = table(KEYWORDS).collect();
    let mut lines: Vec<(&str, &Line)> = Vec::new();
    config.global().into_iter().flat_map(Line::inside).for_each(|line| below("options", line, &mut lines));
    config.sites().iter().flat_map(|site| &site.lines).for_each(|line| below("site", line, &mut lines));
    let unknown = |(block, line): &(&str, &Line)| {
        let blocks = known.get(line.name()).copied().unwrap_or_default();
        !line.name().starts_with('@') && !blocks.split(',').any(|one| one == *block)
    };
    let tell = |(block, line): &(&str, &Line)| {
        let fitting = table(KEYWORDS).filter(|(_, blocks)| blocks.split(',').any(|one| one == *block));
        let near = nearest(line.name(), fitting.map(|(name, _)| name));
        let text = match known.get(line.name()) {
            None => "there is no such keyword: Caddy does not start".to_owned(),
            Some(blocks) => {
                format!("is not allowed here (it belongs into: {}): Caddy does not start", blocks.replace(',', ", "))
            }
        };
        let hint = near.filter(|near| *near != line.name()).map(|near| format!("did you mean {near}?"));
        remark(RemarkKind::Unknown, Some(config.place(line)), line.name(), text, hint)
    };
    let wrong = lines.iter().flat_map(|(block, line)| values::of(config, block, line));
    lines.iter().filter(|each| unknown(each)).map(tell).chain(wrong).chain(values::twice(config)).collect()
}

/// A line with the kind of its block, and those inside of it whose keywords are known.
fn below<'c>(block: &'static str, line: &'c Line, all: &mut Vec<(&'static str, &'c Line)>) {
    all.push((block, line));
    let inside = match (block, line.name()) {
        ("site" | "reverse_proxy", name) if AROUND.contains(&name) => "site",
        ("site", "reverse_proxy") => "reverse_proxy",
        ("reverse_proxy", "transport") if line.is("transport http") => "transport",
        ("options", "servers") => "servers",
        ("servers", "timeouts") => "timeouts",
        _ => return,
    };
    line.inside().iter().for_each(|line| below(inside, line, all));
}

/// Requests that no site takes.
fn nobody(config: &Config, requests: &Requests) -> Option<Remark> {
    if config.sites().is_empty() || Route::find(config, requests).is_some() {
        return None;
    }
    let sites: Vec<String> = config.sites().iter().map(|site| site.title()).collect();
    let text = format!("no site takes requests to {}: Caddy answers them with an empty 200", requests.host);
    let hint = format!("ask for one of these with --host: {}", sites.join(", "));
    Some(remark(RemarkKind::Ignored, None, "(sites)", text, Some(hint)))
}

/// Health that is judged by what requests come to.
fn health(tell: &mut Tell<'_>, proxy: &Line, facts: &Facts) {
    let option = |key| proxy.option(key);
    if let Some(line) = facts.no_fails_allowed.as_ref().and_then(|(name, _)| option(name)) {
        let text = "makes every upstream count as down: Caddy up to 2.7.4 answers all requests with 503, because the failures allowed \
                    (max_fails) are 0";
        tell.tell(RemarkKind::Contradiction, line, text, Some("add max_fails 1, or fail_duration 10s"));
    }
    // Where upstreams are judged by something else, too, it is what lets them be up.
    let alone = ![FAIL_DURATION.name, UNHEALTHY_REQUEST_COUNT.name, "unhealthy_status", "unhealthy_latency"]
        .iter()
        .any(|name| option(name).is_some());
    if let Some(line) = option(MAX_FAILS.name).filter(|_| alone && facts.no_fails_allowed.is_none()) {
        let text = "has no effect: without fail_duration no failure is remembered";
        tell.tell(RemarkKind::Ignored, line, text, Some("fail_duration 10s"));
    }
    let tried = option(LB_TRY_DURATION.name).or_else(|| option("lb_retries"));
    if let Some(line) = option("lb_try_interval").filter(|_| tried.is_none()) {
        let text = "has no effect: without lb_try_duration or lb_retries nothing is tried again";
        tell.tell(RemarkKind::Ignored, line, text, Some("lb_try_duration 5s"));
    }
}

/// Idle connections to upstreams: any setting of theirs takes the defaults of the others away.
fn idle_connections(tell: &mut Tell<'_>, proxy: &Line) {
    let Some(transport) = proxy.option("transport http") else { return };
    let off = |line: &Line| line.arg(0).is_some_and(|word| word.value == "off");
    let one = transport.inside().iter().find(|line| line.name().starts_with(KEEPALIVE.name) && !off(line));
    if let Some(line) = one.filter(|_| transport.option(KEEPALIVE_IDLE_CONNS_PER_HOST.name).is_none()) {
        let text = "leaves 2 idle connections to each upstream instead of 32: any keepalive setting takes the other defaults away";
        tell.tell(RemarkKind::Clamped, line, text, Some("add keepalive_idle_conns_per_host 32"));
    }
}

/// A parameter that is set twice: the later one counts.
fn again(tell: &mut Tell<'_>, proxy: &Line) {
    let mut blocks = vec![proxy];
    blocks.extend(proxy.option("transport http"));
    for block in blocks {
        let single = |line: &&Line| TABLE.find(line.name()).is_some();
        for line in block.inside().iter().filter(single) {
            if let Some(last) = block.option(line.name()).filter(|last| *last != line) {
                let text = format!("is set again at {}: the later one counts", tell.config.place(last));
                tell.tell(RemarkKind::Ignored, line, &text, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::Variables;
    use genkai_place::caps::Machine;

    fn told(text: &str) -> Vec<String> {
        let config = Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap();
        let requests = Requests::to("localhost", "/");
        let facts =
            Facts::of(&config, None, &requests, &Machine::of(&genkai_place::machine::environment(BTreeMap::new())));
        let each = |r: Remark| format!("{:?} {} {}: {}", r.kind, r.place.unwrap_or_default(), r.setting, r.text);
        of(&config, &facts, &requests).into_iter().map(each).collect()
    }

    #[test]
    fn traps_are_told() {
        let text = ":80 {\n\treverse_proxy h:1 {\n\t\tunhealthy_request_count 5\n\t\tlb_try_interval 1s\n\t\ttransport http \
                    {\n\t\t\tkeepalive 30s\n\t\t\tdial_timeout 1s\n\t\t\tdial_timeout 2s\n\t\t}\n\t}\n}\n";
        let all = told(text);
        let begins: Vec<&str> = all.iter().map(|line| line.split(':').next().unwrap_or_default()).collect();
        assert_eq!(begins, ["Contradiction /x", "Clamped /x", "Ignored /x", "Ignored /x"], "{all:#?}");
        assert!(all[0].contains("/x:3 unhealthy_request_count") && all[1].contains("/x:6 keepalive"), "{all:#?}");
    }

    #[test]
    fn unknown_names_and_hosts_are_told() {
        let all = told("{\n\tadmn off\n}\na.example {\n\treverse_prxy h:1\n\thandle {\n\t\tmax_fails 1\n\t}\n}\n");
        let expected =
            ["/x:2 admn: there is no such", "/x:5 reverse_prxy: there is no such", "/x:7 max_fails: is not allowed"];
        for (line, expected) in all.iter().zip(expected) {
            assert!(line.contains(expected), "{line}");
        }
        assert!(all[3].contains("no site takes requests to localhost"), "{all:#?}");
        assert!(told(":80 {\n\treverse_proxy h:1 {\n\t\tmax_fails 2\n\t\tfail_duration 1s\n\t}\n}\n").is_empty());
    }
}
