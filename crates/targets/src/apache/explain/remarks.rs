//! What is wrong with a configuration, or is not what it seems: names that do not exist, values that httpd silently changes,
//! settings without effect, settings that contradict one another.

use std::collections::{BTreeMap, BTreeSet};

use genkai_model::explain::{Remark, RemarkKind};

use super::{clamped, refused};
use crate::apache::config::modules::{any_loaded, directives};
use crate::apache::config::{Config, Found};
use crate::apache::limits::Facts;
use crate::apache::route::{self, Pass};
use crate::apache::settings::{Context, Setting, TABLE};
use crate::explain::{place, remark};
use crate::files::names::nearest;
use crate::settings::Kind;

pub(super) fn of(config: &Config, facts: &Facts) -> Vec<Remark> {
    let mut all = names(config);
    all.extend(clamped::of(facts));
    all.extend(contradictions(config, facts));
    all.extend(without_effect(config, facts));
    all.extend(undefined(config));
    all.extend(shared(config));
    all.extend(refused::of(config));
    all.sort();
    all.dedup();
    all
}

/// Directives that no module brings, and those of modules that are not loaded. Either keeps httpd from starting.
fn names(config: &Config) -> Vec<Remark> {
    let known: BTreeMap<String, &str> = directives().map(|(n, modules)| (n.to_ascii_lowercase(), modules)).collect();
    let macros = config.has_module("macro_module");
    let mut all = Vec::new();
    for found in config.found() {
        let name = &found.words[0].value;
        let say = |text: String, hint| remark(RemarkKind::Unknown, Some(config.place(found)), name, text, hint);
        match known.get(&found.name) {
            None if macros || name.starts_with(['$', '@', '%']) => {}
            None => {
                let near = nearest(name, directives().map(|(n, _)| n));
                let text = "there is no such directive in httpd or its own modules: Apache does not start, unless a module \
                            from elsewhere brings it";
                all.push(say(text.to_owned(), near.map(|n| format!("did you mean {n}?"))));
            }
            Some(modules) => {
                if !tells_no_modules(config) && !any_loaded(modules, config.modules()) {
                    let text = format!(
                        "belongs to {}, which is not loaded: Apache does not start",
                        modules.replace(',', " or ")
                    );
                    all.push(say(text, Some("load the module, or take the directive out".to_owned())));
                }
            }
        }
    }
    all
}

/// Whether nothing is loaded: the file is a part of a configuration, or all modules are compiled in. Which there are cannot be told then.
fn tells_no_modules(config: &Config) -> bool {
    !config.found().iter().any(|found| found.name == "loadmodule")
}

fn contradictions(config: &Config, facts: &Facts) -> Vec<Remark> {
    let mut all = Vec::new();
    let number = |name: &str| {
        let found = config.found().iter().rev().find(|f| f.name == name && f.is_global())?;
        Some((found.arg(0)?.parse::<u64>().ok()?, found))
    };
    let mut say = |found: &Found, text: String, hint: String| {
        all.push(remark(RemarkKind::Contradiction, Some(config.place(found)), &found.words[0].value, text, Some(hint)));
    };
    for (least, most, unit) in
        [("minsparethreads", "maxsparethreads", facts.threads()), ("minspareservers", "maxspareservers", 1)]
    {
        if let (Some((min, _)), Some((max, found))) = (number(least), number(most))
            && max < min + unit
        {
            let text = format!("{max} is below what must be spare ({min}) and one child: httpd takes {}", min + unit);
            say(found, text, format!("write at least {}", min + unit));
        }
    }
    let start = number("startservers").filter(|(n, _)| n * facts.threads() > facts.workers());
    if let Some((n, found)) = start {
        let text = format!(
            "{n} children of {} at the start are more than MaxRequestWorkers allows ({})",
            facts.threads(),
            facts.workers()
        );
        say(found, text, format!("write at most {}", facts.children()));
    }
    if let Some((min, found)) = number("minsparethreads").filter(|(n, _)| *n > facts.workers()) {
        let text = format!("{min} threads can never be spare: there are {} in all", facts.workers());
        say(found, text, format!("write at most {}", facts.workers()));
    }
    let needed = facts.base_descriptors() + facts.threads() * facts.busy_descriptors();
    if needed > facts.nofile.value {
        let text = format!(
            "{} threads of a child may need {needed} descriptors, and it has {} here (ulimit -n)",
            facts.threads(),
            facts.nofile.value
        );
        all.push(remark(
            RemarkKind::Contradiction,
            place(&facts.threads_per_child.origin),
            "ThreadsPerChild",
            text,
            Some(format!("ulimit -n {needed}")),
        ));
    }
    all
}

/// Parameters of a `ProxyPass` whose worker is another's.
fn shared(config: &Config) -> Vec<Remark> {
    let said = |pass: &Pass<'_>| pass.found.args.iter().skip(pass.index + 1).any(|word| word.contains('='));
    let all = route::shared(config).into_iter().filter(|(pass, _)| said(pass));
    let remarked = |(pass, by): (Pass<'_>, &Found)| {
        let text = format!(
            "its parameters are passed over: a worker of its address was there before, by {}, and what that has counts (AH01146)",
            config.place(by)
        );
        let hint = "write them there, or give this one an address that begins otherwise".to_owned();
        remark(RemarkKind::Ignored, Some(config.place(pass.found)), &pass.found.words[0].value, text, Some(hint))
    };
    all.map(remarked).collect()
}

fn without_effect(config: &Config, facts: &Facts) -> Vec<Remark> {
    let mut all = Vec::new();
    let mut say = |place: String, setting: &str, text: String| {
        all.push(remark(RemarkKind::Ignored, Some(place), setting, text, None))
    };
    let limits_of = |name: &str| TABLE.find(name).filter(|s| s.context != Context::Mpm);
    for (place, setting, condition) in missed(config).into_iter().filter(|_| !tells_no_modules(config)) {
        say(place, setting, format!("does not count: {condition} is not so, and nothing else sets it"));
    }
    let mut last: BTreeMap<&'static str, &Found> = BTreeMap::new();
    for found in config.found().iter().filter(|f| f.is_global() && !f.section) {
        // What has several arguments may be given part by part.
        if let Some(setting) = limits_of(&found.name).filter(|s| !matches!(s.kind, Kind::Line))
            && let Some(before) = last.insert(setting.name, found)
        {
            say(
                config.place(before),
                setting.name,
                format!("is set again at {}: the later one counts", config.place(found)),
            );
        }
    }
    if !facts.keep_alive {
        for found in
            config.found().iter().filter(|f| matches!(f.name.as_str(), "keepalivetimeout" | "maxkeepaliverequests"))
        {
            say(config.place(found), &found.words[0].value, "has no effect: KeepAlive is Off".to_owned());
        }
    }
    if facts.upstream.is_some()
        && let Some(place) = place(&facts.body.origin)
    {
        say(
            place,
            "LimitRequestBody",
            "has no effect on this path: requests that are passed to a backend are not limited".to_owned(),
        );
    }
    let (setting, held) = &facts.proxy_timeout;
    if facts.websocket && setting != "Timeout" && held.value.0 < facts.timeout.value.0 {
        let text = format!("cannot shorten a tunnel's silence: Timeout {} is longer", facts.timeout.value);
        say(place(&held.origin).unwrap_or_default(), setting, text);
    }
    let pools = facts.upstream.iter().flat_map(|u| u.max.iter().flatten().map(|max| (u.balanced, max)));
    for (balanced, max) in pools.filter(|(_, max)| max.value > facts.threads()) {
        let text = format!("{} is more than a child can use: it has {} threads", max.value, facts.threads());
        let setting = if balanced { "BalancerMember.max" } else { "ProxyPass.max" };
        say(place(&max.origin).unwrap_or_default(), setting, text);
    }
    all
}

/// Numbers of workers that are only written for another multi-processing module than the one that is loaded: place, setting, condition.
/// Blocks for each module beside one another are what httpd's own files have; what counts elsewhere is not missed.
fn missed(config: &Config) -> Vec<(String, &'static str, &str)> {
    let mut all = Vec::new();
    let here =
        |name: &str| directives().any(|(n, by)| n.eq_ignore_ascii_case(name) && any_loaded(by, config.modules()));
    let set =
        |setting: &Setting| config.found().iter().any(|f| TABLE.find(&f.name).is_some_and(|s| s.name == setting.name));
    for skipped in config.skipped().iter().filter(|skipped| is_of_mpm(&skipped.condition)) {
        let path = config.file(skipped.file).path.display();
        for (name, line) in &skipped.directives {
            let setting = TABLE.find(name).filter(|s| s.context == Context::Server && here(name) && !set(s));
            all.extend(setting.map(|s| (format!("{path}:{line}"), s.name, skipped.condition.as_str())));
        }
    }
    all
}

fn is_of_mpm(condition: &str) -> bool {
    ["event", "worker", "prefork"].iter().any(|mpm| {
        condition.eq_ignore_ascii_case(&format!("<IfModule {mpm}.c>"))
            || condition.eq_ignore_ascii_case(&format!("<IfModule mpm_{mpm}_module>"))
    })
}

/// Variables that nothing defines stay as they are written.
fn undefined(config: &Config) -> Vec<Remark> {
    let all: BTreeSet<&(String, String)> = config.undefined().iter().collect();
    let say = |(name, place): &&(String, String)| {
        let text = "nothing defines it: the text stays as it is written".to_owned();
        let hint = Some(format!("Define {name} ..., or export it where Apache is started"));
        remark(RemarkKind::Contradiction, Some(place.clone()), &format!("${{{name}}}"), text, hint)
    };
    all.iter().map(say).collect()
}
