//! Values and places that httpd refuses: it does not start (each asked of `apache2 -t`, httpd 2.4.71).

use std::collections::BTreeSet;

use genkai_model::explain::{Remark, RemarkKind};

use crate::apache::config::{Config, Found};
use crate::apache::route::{Pass, address};
use crate::apache::settings::value::{atoi, factor, interval};
use crate::apache::settings::{Context, Setting, TABLE};
use crate::explain::remark;
use crate::files::number::count;
use crate::settings::Kind;

/// What a value must be: the test, and it in words.
type Rule = (fn(&str) -> bool, &'static str);

/// Directives with one argument that is checked when it is read.
const RULES: &[(&str, Rule)] = &[
    ("asyncrequestworkerfactor", (|v| factor(v).is_some(), "a number above 0")),
    ("listenbacklog", (|v| atoi(v) > 0, "a number above 0")),
    ("keepalivetimeout", (|v| interval(v, 1_000).is_some(), "a time such as 5, 500ms or 1min")),
    ("proxytimeout", (|v| atoi(v) > 0, "whole seconds, at least 1")),
    ("limitrequestbody", (|v| count(v).is_some_and(|n| i64::try_from(n).is_ok()), "a number of bytes")),
    ("sendbuffersize", (|v| matches!(atoi(v), 0 | 512..), "0, or at least 512")),
];

/// Parameters of `ProxyPass` that are checked when they are read.
const PARAMETERS: &[(&str, Rule)] = &[
    ("max", (|v| atoi(v) >= 0, "a number")),
    ("timeout", (|v| atoi(v) > 0, "whole seconds, at least 1")),
    ("acquire", (|v| interval(v, 1).is_some_and(|ms| ms > 0), "milliseconds, at least 1")),
    ("connectiontimeout", (|v| interval(v, 1_000).is_some_and(|ms| ms > 0), "a time of at least 1ms")),
    ("disablereuse", (is_flag, "On or Off")),
];

fn is_flag(value: &str) -> bool {
    ["on", "off"].iter().any(|flag| value.eq_ignore_ascii_case(flag))
}

pub(super) fn of(config: &Config) -> Vec<Remark> {
    let mut all = Vec::new();
    for found in config.found() {
        let why = placed(found).or_else(|| valued(found)).or_else(|| passed(found));
        all.extend(why.map(|why| say(config, found, &why)));
    }
    all.extend(twice(config));
    all.extend(several_mpms(config));
    all
}

fn say(config: &Config, found: &Found, why: &str) -> Remark {
    let (kind, name) = (RemarkKind::Unknown, &found.words[0].value);
    remark(kind, Some(config.place(found)), name, format!("{why}: Apache does not start"), None)
}

/// Directives of the whole server in a virtual host, those of a host in a `Location` and its like.
fn placed(found: &Found) -> Option<String> {
    let setting = TABLE.find(&found.name)?;
    // It is of a `<Proxy>` too (modules/ssl/mod_ssl.c: SSL_CMD_PXY).
    let proxied = |section: &str| found.name == "sslproxyengine" && ["proxy", "proxymatch"].contains(&section);
    let outside = |section: &&str| match setting.context {
        _ if proxied(section) => false,
        Context::Server => true,
        Context::Host => *section != "virtualhost",
        _ => false,
    };
    let section = found.context.iter().map(|s| s.name.as_str()).find(outside)?;
    Some(format!("cannot stand within <{section}>"))
}

fn valued(found: &Found) -> Option<String> {
    if let Some((_, (is, form))) = RULES.iter().find(|(name, _)| *name == found.name) {
        return argument(found, *is, form);
    }
    let setting = TABLE.find(&found.name)?;
    match setting.kind {
        // A flag has one argument too, but what follows it is not read.
        Kind::Word(words) if words.contains(&"On") => {
            (!found.arg(0).is_some_and(is_flag)).then(|| "must be On or Off".to_owned())
        }
        _ if takes_one(setting) => argument(found, |_| true, ""),
        _ => None,
    }
}

fn takes_one(setting: &Setting) -> bool {
    matches!(setting.context, Context::Server | Context::Host | Context::Path) && !matches!(setting.kind, Kind::Line)
}

fn argument(found: &Found, is: fn(&str) -> bool, form: &str) -> Option<String> {
    match &found.args[..] {
        [one] if is(one) => None,
        [one] => Some(format!("`{one}` is not {form}")),
        all => Some(format!("has {} arguments, and takes one", all.len())),
    }
}

fn passed(found: &Found) -> Option<String> {
    let pass = Pass::read(found).filter(|pass| !pass.url.starts_with("balancer:") && pass.url != "!")?;
    PARAMETERS.iter().find_map(|(key, (is, form))| {
        let value = pass.parameter(key).filter(|value| !is(value))?;
        Some(format!("{key}={value}: it is not {form}"))
    })
}

/// The same listener twice.
fn twice(config: &Config) -> Vec<Remark> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for found in config.named("listen") {
        let listener = found.arg(0).unwrap_or_default();
        let text = match address(listener) {
            Some((_, 1..)) if seen.insert(listener.to_owned()) => continue,
            Some((_, 1..)) => format!("{listener} is listened to twice"),
            _ => format!("`{listener}` has no port"),
        };
        all.push(say(config, found, &text));
    }
    all
}

fn several_mpms(config: &Config) -> Option<Remark> {
    let name = |found: &'_ Found| found.arg(0).is_some_and(|module| module.starts_with("mpm_"));
    let loaded: Vec<&Found> = config.named("loadmodule").filter(|found| name(found)).collect();
    let different: BTreeSet<_> = loaded.iter().filter_map(|found| found.arg(0)).collect();
    let last = loaded.last().filter(|_| different.len() > 1)?;
    Some(say(config, last, &format!("{} multi-processing modules are loaded, and there can be one", different.len())))
}
