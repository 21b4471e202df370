//! A setting written into a configuration, at the place where it is in force for the requests under test.

use std::path::PathBuf;

use genkai_model::limit::Origin;

use super::{Context, Setting, SettingError, TABLE};
use crate::error::TargetError;
use crate::files::{Configuration, Pair, Removable, Requests, pairs};
use crate::haproxy::config::{Config, Edit, FileId, Found, Section, quote};
use crate::haproxy::proxy::{self, Server, first_parameter};
use crate::haproxy::removable;
use crate::haproxy::route::Route;
use crate::settings::SourcedValue;

impl Configuration for Config {
    fn set(&self, setting: &str, value: &str, requests: &Requests) -> Result<Self, TargetError> {
        let (setting, value) = TABLE.value(setting, value)?;
        Ok(self.apply(&edits(self, setting, &value, requests)?)?)
    }

    fn value_of(&self, setting: &str, requests: &Requests) -> Result<(String, Origin), TargetError> {
        Ok(in_force(self, TABLE.lookup(setting)?, requests).in_words())
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
        TABLE.is_same(one, other)
    }

    fn pairs<'a>(&'a self, edited: &'a Self) -> impl Iterator<Item = Pair<'a>> {
        pairs(&self.files, &edited.files)
    }
}

fn edits(config: &Config, setting: &Setting, value: &str, requests: &Requests) -> Result<Vec<Edit>, SettingError> {
    if setting.context == Context::Server {
        return parameter(config, setting, value, requests);
    }
    if let Some(found) = held_by(config, setting, requests) {
        let (first, last) = (setting.directive.split(' ').count(), &found.words[found.words.len() - 1]);
        let from = found.words.get(first).unwrap_or(last).span.start;
        return Ok(vec![Edit::new(found.file, &(from..last.span.end), value)]);
    }
    let line = format!("{} {value}", setting.directive);
    match section(config, setting.context, requests) {
        Some(section) => Ok(vec![added(config, section, &line)]),
        None if setting.context == Context::Global => {
            // At the top, unless there are lines that would then be in it.
            let orphans = config.sections().first().map_or(config.found().len(), |s| s.lines.start) > 0;
            let end = config.file(FileId::MAIN).text.len();
            Ok(vec![match orphans {
                true => Edit::new(FileId::MAIN, &(end..end), format!("\nglobal\n    {line}\n")),
                false => Edit::new(FileId::MAIN, &(0..0), format!("global\n    {line}\n\n")),
            }])
        }
        None => Err(SettingError::no_place(
            setting.name,
            "no frontend with a backend serves these requests; give a configuration that has one",
        )),
    }
}

/// The section in which a setting belongs.
fn section<'c>(config: &'c Config, place: Context, requests: &Requests) -> Option<&'c Section> {
    match place {
        Context::Global => config.sections().iter().rfind(|s| s.kind == "global"),
        Context::Front => Route::find(config, requests).map(|route| route.front),
        Context::Back | Context::Server => Route::find(config, requests).and_then(|route| route.back),
    }
}

/// The line that holds a setting for the requests under test.
fn held_by<'c>(config: &'c Config, setting: &Setting, requests: &Requests) -> Option<&'c Found> {
    match setting.context {
        Context::Global => config.global(setting.directive),
        Context::Server => None,
        place => config.value(section(config, place, requests)?, setting.directive),
    }
}

/// A new line at the end of a section, indented like the line before it.
fn added(config: &Config, section: &Section, text: &str) -> Edit {
    let last = &config.found()[section.lines.end - 1];
    let alone = section.lines.len() == 1;
    let text = if alone { format!("    {text}") } else { text.to_owned() };
    config.file(last.file).line_after(last.file, last.span.start, last.span.end, &text)
}

/// The servers that a parameter is of: those that requests go to, and the backups that have it of their own. Where only such backups have it, it is
/// theirs alone: the others have no such bound, and shall not get one.
fn holders<'c>(config: &'c Config, route: &Route<'c>, setting: &Setting) -> Vec<Server<'c>> {
    let Some(back) = route.back else { return Vec::new() };
    let mut used = route.servers(config);
    if route.chosen.is_some() {
        return used;
    }
    let has = |server: &Server<'c>| proxy::giving(config, back, server, setting.directive).is_some();
    let stands_in = |server: &Server<'c>| server.backup && !server.disabled && server.weight > 0 && has(server);
    let others: Vec<Server<'c>> = proxy::servers(config, back).into_iter().filter(stands_in).collect();
    if !others.is_empty() && !used.iter().any(has) {
        return others;
    }
    let is_new = |one: &Server<'c>| !used.iter().any(|known| std::ptr::eq(known.found, one.found));
    let new: Vec<Server<'c>> = others.into_iter().filter(is_new).collect();
    used.extend(new);
    used
}

/// A parameter of every server, where it is written; else added to each.
fn parameter(config: &Config, setting: &Setting, value: &str, requests: &Requests) -> Result<Vec<Edit>, SettingError> {
    let missing = || {
        SettingError::no_place(
            setting.name,
            "no `server` stands behind these requests; give a configuration that has one",
        )
    };
    let route = Route::find(config, requests).ok_or_else(missing)?;
    let servers = holders(config, &route, setting);
    let back = route.back.filter(|_| !servers.is_empty()).ok_or_else(missing)?;
    let mut edits: Vec<Edit> = Vec::new();
    let number = |text: &str| text.parse::<u64>().ok();
    for server in &servers {
        let line = proxy::giving(config, back, server, setting.directive);
        // What a backup has more of than is asked for stays; 0 is any number.
        let own = line.and_then(|line| number(proxy::parameter(line, setting.directive)?));
        let has_more = own.zip(number(value)).is_some_and(|(own, asked)| own == 0 || own > asked);
        if server.backup && servers.len() > 1 && has_more {
            continue;
        }
        for edit in
            line.map_or_else(|| vec![added_to(server.found, setting, value)], |line| replaced(line, setting, value))
        {
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    Ok(edits)
}

fn added_to(found: &Found, setting: &Setting, value: &str) -> Edit {
    let end = found.words[found.words.len() - 1].span.end;
    Edit::new(found.file, &(end..end), format!(" {} {value}", setting.directive))
}

/// Every word of a line that says the parameter, as the last one counts.
fn replaced(found: &Found, setting: &Setting, value: &str) -> Vec<Edit> {
    let words = found.words.windows(2).skip(first_parameter(found) + 1);
    let said = words.filter(|pair| pair[0].value == setting.directive);
    let mut edits: Vec<Edit> =
        said.map(|pair| Edit::new(found.file, &pair[1].span, quote(value).into_owned())).collect();
    if found.words.last().is_some_and(|word| word.value == setting.directive) {
        let end = found.words[found.words.len() - 1].span.end;
        edits.push(Edit::new(found.file, &(end..end), format!(" {value}")));
    }
    edits
}

/// The value of a setting in force for the requests under test, and where it is written. Of a parameter of servers: those of all,
/// different ones one after the other.
pub(crate) fn in_force(config: &Config, setting: &Setting, requests: &Requests) -> SourcedValue<()> {
    written(config, setting, requests).unwrap_or_else(|| setting.default_value())
}

/// The same where it is written.
pub(crate) fn written(config: &Config, setting: &Setting, requests: &Requests) -> Option<SourcedValue<()>> {
    if setting.context == Context::Server {
        let route = Route::find(config, requests)?;
        let told = |all: &[Server<'_>]| proxy::written(config, route.back?, all, setting.directive);
        let (written, origin) = told(&route.servers(config)).or_else(|| told(&holders(config, &route, setting)))?;
        return Some(SourcedValue { value: (), written, origin });
    }
    Some(said(config, held_by(config, setting, requests)?, setting))
}

/// The value of a setting that is a line of its own in force in a section, where it is written.
pub(crate) fn written_in(config: &Config, section: &Section, setting: &Setting) -> Option<SourcedValue<()>> {
    Some(said(config, config.value(section, setting.directive)?, setting))
}

/// What a line says of it.
fn said(config: &Config, found: &Found, setting: &Setting) -> SourcedValue<()> {
    let first = setting.directive.split(' ').count();
    let words: Vec<&str> = found.words.iter().skip(first).map(|w| w.value.as_str()).collect();
    SourcedValue { value: (), written: words.join(" "), origin: proxy::origin(config, found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    const TEXT: &str = "# mine\ndefaults\n  mode http\n  timeout client  50s # idle\n\nfrontend f\n  bind :80\n  default_backend b\n\n\
        backend b\n  server s1 127.0.0.1:1 check\n  server s2 127.0.0.1:2 maxconn 5 check\n";

    fn changed(name: &str, value: &str) -> Result<String, TargetError> {
        let config = Config::of_texts(vec![("/x".into(), TEXT.into())], Reading::default()).unwrap();
        let after = config.set(name, value, &Requests::default())?;
        Ok(String::from_utf8(after.file(FileId::MAIN).text.clone()).unwrap())
    }

    #[test]
    fn a_setting_changes_where_it_is_and_nothing_else_does() {
        assert_eq!(changed("timeout.client", "9s").unwrap(), TEXT.replace("50s", "9s"));
        assert_eq!(changed("maxconn", "100").unwrap(), format!("global\n    maxconn 100\n\n{TEXT}"));
        assert_eq!(
            changed("frontend.maxconn", "7").unwrap(),
            TEXT.replace("default_backend b\n", "default_backend b\n  maxconn 7\n")
        );
        let servers = TEXT.replace(":1 check", ":1 check maxconn 9").replace("maxconn 5", "maxconn 9");
        assert_eq!(changed("server.maxconn", "9").unwrap(), servers);
        let given = TEXT.replace(
            "\nbackend b\n",
            "\nbackend b\n  default-server maxconn 3 maxconn 4\n  default-server maxconn 5\n",
        );
        let config = Config::of_texts(vec![("/x".into(), given.clone().into())], Reading::default()).unwrap();
        let after = config.set("server.maxconn", "9", &Requests::default()).unwrap();
        let changed_text = String::from_utf8(after.file(FileId::MAIN).text.clone()).unwrap();
        let expected = given
            .replace("default-server maxconn 5", "default-server maxconn 9")
            .replace(":2 maxconn 5", ":2 maxconn 9");
        assert_eq!(changed_text, expected, "the line that counts for each server");
        assert_eq!(config.value_of("server.maxconn", &Requests::default()).unwrap().0, "5");
        // A backup's bound is its own; it is raised with that of those that it stands in for, where these have one.
        for (main, after) in [("", ""), (" maxconn 5", " maxconn 9")] {
            let text = |main: &str, backup: &str| {
                format!(
                    "frontend f\n  bind :80\n  default_backend b\nbackend b\n  server m 127.0.0.1:1{main}\n  server s 127.0.0.1:2 maxconn {backup} backup\n"
                )
            };
            let config = Config::of_texts(vec![("/x".into(), text(main, "5").into())], Reading::default()).unwrap();
            let changed = config.set("server.maxconn", "9", &Requests::default()).unwrap();
            assert_eq!(String::from_utf8_lossy(&changed.file(FileId::MAIN).text), text(after, "9"));
            assert_eq!(config.value_of("server.maxconn", &Requests::default()).unwrap().0, "5");
        }
        for larger in ["50", "0"] {
            let text = |main: &str| {
                format!(
                    "frontend f\n  bind :80\n  default_backend b\nbackend b\n  server m 127.0.0.1:1 maxconn {main}\n  server s 127.0.0.1:2 maxconn {larger} backup\n"
                )
            };
            let config = Config::of_texts(vec![("/x".into(), text("5").into())], Reading::default()).unwrap();
            let changed = config.set("server.maxconn", "9", &Requests::default()).unwrap();
            assert_eq!(String::from_utf8_lossy(&changed.file(FileId::MAIN).text), text("9"), "it has more");
        }
        assert!(changed("timeout.client", "soon").unwrap_err().to_string().contains("500ms"));
    }
}
