//! Reading and changing a setting where it takes effect: in the innermost block that has it, else in the outermost that
//! may have it. All other requests keep theirs.

use std::path::PathBuf;

use genkai_model::limit::Origin;

use super::place::{places, upstream, zone};
use super::{
    ACCESS_LOG, Context, ERROR_LOG, LIMIT_CONN, LIMIT_REQ_ZONE, Named, SettingError, UPSTREAM_MAX_CONNS,
    WORKER_CONNECTIONS, check, lookup, value,
};
use crate::error::TargetError;
use crate::files::{Configuration, Pair, Removable, Requests, pairs};
use crate::nginx::config::lexer::quote;
use crate::nginx::config::{Config, Edit, Found, Route, sockets};
use crate::nginx::removable;

/// What is written of a setting, and where it is.
///
/// # Errors
/// When it has no place (an `upstream.` setting without an upstream block).
pub(in crate::nginx) fn in_force<'a>(
    config: &'a Config,
    named: &Named<'_>,
    route: Option<&Route<'a>>,
) -> Result<Option<(Found<'a>, String)>, SettingError> {
    let setting = named.setting;
    let places = places(config, named, route)?;
    let Some(found) = places.into_iter().next() else { return Ok(None) };
    Ok(match setting.context {
        Context::Listen | Context::UpstreamServer => param(&found, setting.directive).map(|(_, value)| (found, value)),
        Context::Zone if setting.name == LIMIT_CONN.name => found.arg(1).map(|number| (found, number)),
        Context::Zone => declaration(config, &found).and_then(|f| param(&f, "rate").map(|(_, value)| (f, value))),
        _ => Some((found.clone(), found.args().join(" "))),
    })
}

impl Configuration for Config {
    fn set(&self, setting: &str, value: &str, requests: &Requests) -> Result<Self, TargetError> {
        Ok(apply(self, setting, value, requests)?)
    }

    fn value_of(&self, setting: &str, requests: &Requests) -> Result<(String, Origin), TargetError> {
        let named = lookup(setting)?;
        let route = self.route_of(requests);
        let Some((found, written)) = in_force(self, &named, route.as_ref())? else {
            return Ok(named.setting.default_value().in_words());
        };
        let path = self.file(found.file).path.clone();
        Ok((written, Origin::File { path, line: found.line() }))
    }

    fn removable(&self, requests: &Requests) -> Vec<Removable> {
        removable::all(self, requests)
    }

    fn path_of(&self, of: &Removable) -> PathBuf {
        self.file(of.file).path.clone()
    }

    fn without(&self, edits: &[Edit]) -> Result<Self, TargetError> {
        Ok(self.apply(edits)?)
    }

    fn is_same(one: &str, other: &str) -> bool {
        let (Ok(one), Ok(other)) = (lookup(one), lookup(other)) else { return false };
        let zones = one.zone.is_none() || other.zone.is_none() || one.zone == other.zone;
        one.setting.name == other.setting.name && zones
    }

    fn pairs<'a>(&'a self, edited: &'a Self) -> impl Iterator<Item = Pair<'a>> {
        pairs(&self.files, &edited.files)
    }
}

/// Nothing else changes, byte for byte.
fn apply(config: &Config, name: &str, text: &str, requests: &Requests) -> Result<Config, SettingError> {
    let named = lookup(name)?;
    let words = check(name, text)?;
    if named.setting.name == WORKER_CONNECTIONS.name {
        enough(config, text)?;
    }
    let route = config.route_of(requests);
    let route = route.as_ref();
    let edits = match named.setting.context {
        Context::Main | Context::Events | Context::Http | Context::HttpZone => {
            directive(config, &named, &words, route)?
        }
        Context::Zone => zoned(config, &named, &words, route)?,
        Context::Listen | Context::UpstreamServer => {
            let mut found = places(config, &named, route)?;
            // Where some servers have a cap, those without one are meant to have none.
            let capped = |f: &Found<'_>| param(f, named.setting.directive).is_some();
            if named.setting.name == UPSTREAM_MAX_CONNS.name && found.iter().any(capped) {
                found.retain(capped);
            }
            found.iter().map(|f| set_param(f, named.setting.directive, &words[0])).collect::<Result<_, _>>()?
        }
        Context::Upstream => match places(config, &named, route)?.first() {
            Some(found) => set(found, &words),
            None => vec![config.insert(&upstream(config, name, route)?.found, &line(&named, &words))?],
        },
    };
    Ok(config.apply(&edits)?)
}

/// nginx starts only with more connections than listening sockets (`ngx_event_init_conf`).
fn enough(config: &Config, text: &str) -> Result<(), SettingError> {
    let listeners = sockets(&config.listens()) as u64;
    let value = value::count(text).unwrap_or(0);
    if value > listeners {
        return Ok(());
    }
    let rule = format!(
        "must be at least {}, as this configuration has {listeners} listening socket(s) and nginx needs one more for itself",
        listeners + 1
    );
    Err(SettingError::Rule { name: WORKER_CONNECTIONS.name.to_owned(), value: value.to_string(), rule })
}

/// `name=value` among the arguments: its index and value.
fn param(found: &Found<'_>, name: &str) -> Option<(usize, String)> {
    let value = |arg: &String| arg.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    found.args().iter().enumerate().find_map(|(i, arg)| Some((i, value(arg)?)))
}

fn set_param(found: &Found<'_>, name: &str, value: &str) -> Result<Edit, SettingError> {
    let text = format!("{name}={value}");
    Ok(match param(found, name) {
        Some((index, _)) => found.set_arg(index, text.as_bytes())?,
        None => found.add_arg(text.as_bytes()),
    })
}

fn set(found: &Found<'_>, words: &[String]) -> Vec<Edit> {
    found.set_args(&words.iter().map(String::as_bytes).collect::<Vec<_>>())
}

/// The setting as a directive.
fn line(named: &Named<'_>, words: &[String]) -> String {
    let quoted = words.iter().map(|w| String::from_utf8_lossy(&quote(w.as_bytes())).into_owned());
    format!("{} {};", named.setting.directive, quoted.collect::<Vec<_>>().join(" "))
}

fn directive<'a>(
    config: &'a Config,
    named: &Named<'_>,
    words: &[String],
    route: Option<&Route<'a>>,
) -> Result<Vec<Edit>, SettingError> {
    let wanted = words.iter().find_map(|w| w.strip_prefix("zone=")?.split(':').next()).map(str::to_owned);
    let mut found = places(config, named, route)?;
    if named.setting.context == Context::HttpZone {
        found.retain(|f| zone(f) == wanted);
    }
    let Some((first, others)) = found.split_first() else { return insert(config, named, words) };
    let mut edits = set(first, words);
    if [ACCESS_LOG.name, ERROR_LOG.name].contains(&named.setting.name) {
        // Several add up, so the others must go.
        let block = first.blocks.last().map(|b| (b.file, &b.directive.span));
        let beside = |f: &&Found<'_>| f.blocks.last().map(|b| (b.file, &b.directive.span)) == block;
        edits.extend(others.iter().filter(beside).map(Found::remove));
    }
    Ok(edits)
}

/// Writes a setting that is not there yet.
fn insert(config: &Config, named: &Named<'_>, words: &[String]) -> Result<Vec<Edit>, SettingError> {
    let text = line(named, words);
    let block = match named.setting.context {
        Context::Main => return Ok(vec![config.insert_top(&text)]),
        Context::Events => "events",
        _ => "http",
    };
    let found = config.find(&[], block).into_iter().find(|f| f.directive.is_block());
    match found {
        Some(found) => Ok(vec![config.insert(&found, &text)?]),
        None if block == "events" => Ok(vec![config.insert_top(&format!("events {{\n\t{text}\n}}"))]),
        None => Err(SettingError::no_place(named.setting.name, "there is no http block")),
    }
}

fn zoned<'a>(
    config: &'a Config,
    named: &Named<'_>,
    words: &[String],
    route: Option<&Route<'a>>,
) -> Result<Vec<Edit>, SettingError> {
    let number = value::rate(&words[0]).is_some() && !words.iter().any(|w| w.starts_with("zone="));
    let wanted = words.iter().find_map(|w| w.strip_prefix("zone=")).or(words.first().map(String::as_str));
    let named = match named.zone {
        None if !number => Named { zone: wanted, ..*named },
        _ => *named,
    };
    let found = places(config, &named, route)?;
    let none = || SettingError::no_place(named.setting.name, "none is in force for this path; give its zone too");
    match (found.first(), named.setting.name == LIMIT_CONN.name, number) {
        (Some(found), true, _) => Ok(vec![found.set_arg(1, words[words.len() - 1].as_bytes())?]),
        (Some(found), _, false) => Ok(set(found, words)),
        (Some(found), _, true) => {
            let zone = declaration(config, found).ok_or_else(none)?;
            let rate = if value::count(&words[0]).is_some() { format!("{}r/s", words[0]) } else { words[0].clone() };
            let mut edits = vec![set_param(&zone, "rate", &rate)?];
            if let Some(burst) = words.iter().find_map(|w| w.strip_prefix("burst=")) {
                edits.push(set_param(found, "burst", burst)?);
            }
            Ok(edits)
        }
        (None, _, true) => Err(none()),
        (None, _, false) => {
            // Directives of an inner block replace those of the outer ones, so it goes beside those in force.
            let beside = route.and_then(|r| r.inherited(named.setting.directive).first()?.parent());
            match beside {
                Some(block) => Ok(vec![config.insert(&block, &line(&named, words))?]),
                None => insert(config, &named, words),
            }
        }
    }
}

/// The `limit_req_zone` of a `limit_req`.
fn declaration<'a>(config: &'a Config, user: &Found<'a>) -> Option<Found<'a>> {
    let wanted = zone(user)?;
    config.find(&["http"], LIMIT_REQ_ZONE.directive).into_iter().find(|f| zone(f).as_ref() == Some(&wanted))
}
