//! A setting written into a Caddyfile, at the place where it is in force for the requests under test.

use std::path::PathBuf;

use genkai_model::limit::Origin;

use super::{Place, Setting, SettingError, TABLE, value};
use crate::caddy::config::{Block, Config, Edit, File, FileId, Line};
use crate::caddy::removable;
use crate::caddy::route::Route;
use crate::error::TargetError;
use crate::files::{Configuration, Pair, Removable, Requests, pairs};
use crate::settings::SourcedValue;

impl Configuration for Config {
    fn set(&self, setting: &str, value: &str, requests: &Requests) -> Result<Self, TargetError> {
        let (setting, value) = TABLE.value(setting, value)?;
        Ok(self.apply(&[edit(self, setting, &value, requests)?])?)
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

fn edit(config: &Config, setting: &Setting, value: &str, requests: &Requests) -> Result<Edit, SettingError> {
    let no_proxy = || {
        let missing = "no `reverse_proxy` or `php_fastcgi` passes these requests on; give a configuration that has one, or another host";
        SettingError::no_place(setting.name, missing)
    };
    let route = Route::find(config, requests).filter(|route| route.proxy.is_some());
    let path = path(setting);
    match setting.context {
        Place::Options => Ok(match (options(config, &path, route.as_ref()), config.global()) {
            (Some((line, path)), _) => inside(config, line, path, value),
            (None, Some(global)) => at_end(config, global, &path, value),
            (None, None) => {
                let text = nested(&path, value, "\t");
                Edit::new(FileId::MAIN, &(0..0), format!("{{\n\t{text}\n}}\n\n"))
            }
        }),
        Place::Site => {
            let route = route.ok_or_else(no_proxy)?;
            Ok(match beside(&route, &path) {
                Some(line) => inside(config, line, &path[1..], value),
                None => at_beginning(config, route.around.last().unwrap_or(&&route.site.head), &path, value),
            })
        }
        Place::Proxy => {
            let proxy = route.and_then(|route| route.proxy).ok_or_else(no_proxy)?;
            let missing = "the `reverse_proxy` has another transport than http";
            let path = path_in(setting, proxy).ok_or_else(|| SettingError::no_place(setting.name, missing))?;
            Ok(inside(config, proxy, &path, value))
        }
    }
}

/// The lines that lead to a setting, the blocks around it first.
fn path(setting: &Setting) -> Vec<&'static str> {
    setting.directive.split('/').collect()
}

/// What both transports have (modules/caddyhttp/reverseproxy/fastcgi/caddyfile.go).
const OF_BOTH: [&str; 3] = ["dial_timeout", "read_timeout", "write_timeout"];

/// The lines that lead to a setting in this proxy; none where it speaks another language than the setting is of.
fn path_in(setting: &Setting, proxy: &Line) -> Option<Vec<&'static str>> {
    let path = path(setting);
    let ["transport http", name] = path[..] else { return Some(path) };
    let other = |line: &&Line| line.is("transport") && !line.is("transport http");
    match proxy.inside().iter().find(other) {
        _ if proxy.is("php_fastcgi") => OF_BOTH.contains(&name).then(|| vec![name]),
        Some(line) if line.is("transport fastcgi") => OF_BOTH.contains(&name).then(|| vec!["transport fastcgi", name]),
        Some(_) => None,
        None => Some(path),
    }
}

/// Whether what passes these requests on, if anything does, may have a setting.
pub(crate) fn is_had(config: &Config, setting: &Setting, requests: &Requests) -> bool {
    let proxy = Route::find(config, requests).and_then(|route| route.proxy);
    setting.context != Place::Proxy || proxy.is_some_and(|proxy| path_in(setting, proxy).is_some())
}

/// The line in the global options from which a path leads on, with the rest of the path. Of several `servers`, that of the listener; none
/// where there is none for it.
fn options<'c, 'p>(
    config: &'c Config,
    path: &'p [&'static str],
    route: Option<&Route<'_>>,
) -> Option<(&'c Line, &'p [&'static str])> {
    let global = config.global()?;
    if path[0] != "servers" {
        return Some((global, path));
    }
    let all = || global.inside().iter().filter(|line| line.is("servers"));
    let port = route.map(|route| format!(":{}", route.address.port));
    let named = |line: &&Line| line.arg(0).is_some_and(|word| port.as_ref().is_some_and(|p| word.value.ends_with(p)));
    let line = all().find(named).or_else(|| all().find(|line| line.args().is_empty()))?;
    Some((line, &path[1..]))
}

/// The directive that these requests meet on their way, the strictest of several.
fn beside<'c>(route: &Route<'c>, path: &[&str]) -> Option<&'c Line> {
    let size = |line: &Line| {
        let held = path[1..].iter().try_fold(line, |line, key| line.option(key))?;
        value::size(&held.arg(0)?.value).filter(|size| *size > 0)
    };
    route.bodies.iter().copied().filter(|line| line.is(path[0])).min_by_key(|line| size(line).unwrap_or(u64::MAX))
}

/// A value at the end of a path of lines inside of `line`; what is missing of the path is added.
fn inside(config: &Config, line: &Line, path: &[&str], value: &str) -> Edit {
    let Some(found) = line.option(path[0]) else { return at_end(config, line, path, value) };
    if path.len() > 1 {
        return inside(config, found, &path[1..], value);
    }
    match (found.args().first(), found.args().last()) {
        (Some(first), Some(last)) if first.file == last.file => {
            Edit::new(first.file, &(first.span.start..last.span.end), value)
        }
        _ => {
            let word = &found.words[0];
            Edit::new(word.file, &(word.span.end..word.span.end), format!(" {value}"))
        }
    }
}

/// `a {`, `b value`, `}` on lines of their own, after the first indented by `indent`.
fn nested(path: &[&str], value: &str, indent: &str) -> String {
    match path {
        [] => value.to_owned(),
        [last] => format!("{last} {value}"),
        [first, rest @ ..] => {
            let deeper = format!("{indent}\t");
            format!("{first} {{\n{deeper}{}\n{indent}}}", nested(rest, value, &deeper))
        }
    }
}

/// New lines at the end of a line's block, which it gets where it has none.
fn at_end(config: &Config, line: &Line, path: &[&str], value: &str) -> Edit {
    match &line.block {
        None => opened(config, line, path, value),
        Some(block) => {
            let file = config.file(block.file);
            let indent = indent(file, block.close.start);
            let text = nested(path, value, &format!("{indent}\t"));
            let from = block.close.start - indent.len();
            let alone = file.text[..from].ends_with(b"\n");
            let (at, before) =
                if alone { (from, format!("{indent}\t")) } else { (block.close.start, format!("\n{indent}\t")) };
            let after = if alone { "\n".to_owned() } else { format!("\n{indent}") };
            Edit::new(block.file, &(at..at), format!("{before}{text}{after}"))
        }
    }
}

/// New lines at the beginning of a block; after a head without braces.
fn at_beginning(config: &Config, line: &Line, path: &[&str], value: &str) -> Edit {
    match &line.block {
        None => {
            let end = line.words.last().map_or(0, |word| word.span.end);
            Edit::new(line.file, &(end..end), format!("\n\n{}", nested(path, value, "")))
        }
        Some(Block { file, open, .. }) => {
            let indent = format!("{}\t", indent(config.file(*file), open.start));
            Edit::new(*file, &(open.end..open.end), format!("\n{indent}{}", nested(path, value, &indent)))
        }
    }
}

/// A block of its own for a line that has none.
fn opened(config: &Config, line: &Line, path: &[&str], value: &str) -> Edit {
    // Where its last words are an argument of an import, the line itself ends before them.
    let own = line.words.iter().rev().find(|word| word.file == line.file);
    let at = own.map_or(0, |word| word.span.end);
    let indent = indent(config.file(line.file), at);
    let text = nested(path, value, &format!("{indent}\t"));
    Edit::new(line.file, &(at..at), format!(" {{\n{indent}\t{text}\n{indent}}}"))
}

/// The white space at the beginning of the line of an offset.
fn indent(file: &File, at: usize) -> String {
    let start = file.text[..at].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let blank = file.text[start..at].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    String::from_utf8_lossy(&file.text[start..start + blank]).into_owned()
}

/// The value of a setting in force for the requests under test, and where it is written.
pub(crate) fn in_force(config: &Config, setting: &Setting, requests: &Requests) -> SourcedValue<()> {
    let Some(line) = written(config, setting, requests) else { return setting.default_value() };
    let words: Vec<&str> = line.args().iter().map(|word| word.value.as_str()).collect();
    let origin = Origin::File { path: config.file(line.file).path.clone(), line: line.number };
    SourcedValue { value: (), written: words.join(" "), origin }
}

/// The line that holds a setting.
fn written<'c>(config: &'c Config, setting: &Setting, requests: &Requests) -> Option<&'c Line> {
    let route = Route::find(config, requests);
    let mut path = path(setting);
    let (line, path) = match setting.context {
        Place::Options => options(config, &path, route.as_ref())?,
        Place::Site => (beside(route.as_ref()?, &path)?, &path[1..]),
        Place::Proxy => {
            let proxy = route.as_ref()?.proxy?;
            path = path_in(setting, proxy)?;
            (proxy, path.as_slice())
        }
    };
    path.iter().try_fold(line, |line, key| line.option(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::Variables;

    const TEXT: &str = "# mine\n:80 {\n    handle /a/* {\n        reverse_proxy 127.0.0.1:1 127.0.0.1:2\n    }\n    \
        reverse_proxy 127.0.0.1:3 {\n        max_fails   2 # two\n        transport http {\n            dial_timeout 1s\n        \
        }\n    }\n}\n";

    fn changed(text: &str, path: &str, name: &str, value: &str) -> Result<String, TargetError> {
        let config = Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap();
        let after = config.set(name, value, &Requests::to("localhost", path))?;
        Ok(String::from_utf8(after.file(FileId::MAIN).text.clone()).unwrap())
    }

    #[test]
    fn a_setting_changes_where_it_is_and_nothing_else_does() {
        let root = |name: &str, value: &str| changed(TEXT, "/", name, value).unwrap();
        assert_eq!(root("max_fails", "3"), TEXT.replace("max_fails   2", "max_fails   3"));
        assert_eq!(root("dial_timeout", "9s"), TEXT.replace("1s", "9s"));
        let added = "dial_timeout 1s\n        \tmax_conns_per_host 7\n        }";
        assert_eq!(root("max_conns_per_host", "7"), TEXT.replace("dial_timeout 1s\n        }", added));
        let body = ":80 {\n\trequest_body {\n\t\tmax_size 1MB\n\t}\n";
        assert_eq!(root("request_body.max_size", "1MB"), TEXT.replace(":80 {\n", body));
        let options = "{\n\tservers {\n\t\ttimeouts {\n\t\t\tidle 1m\n\t\t}\n\t}\n}\n\n";
        assert_eq!(root("timeouts.idle", "1m"), format!("{options}{TEXT}"));
        assert!(changed(TEXT, "/", "timeouts.idle", "soon").unwrap_err().to_string().contains("500ms"));
    }

    #[test]
    fn a_block_is_opened_where_there_is_none() {
        let to = "127.0.0.1:2";
        let block =
            format!("{to} {{\n        \ttransport http {{\n        \t\tdial_timeout 2s\n        \t}}\n        }}");
        assert_eq!(changed(TEXT, "/a/b", "dial_timeout", "2s").unwrap(), TEXT.replace(to, &block));
        let alone = "localhost\nreverse_proxy h:1\n";
        let with = "localhost\n\nrequest_body {\n\tmax_size 1\n}\nreverse_proxy h:1\n";
        assert_eq!(changed(alone, "/", "request_body.max_size", "1").unwrap(), with);
        let none = changed(":80 {\n\trespond hi\n}\n", "/", "dial_timeout", "1s").unwrap_err();
        assert!(none.to_string().contains("no `reverse_proxy`"), "{none}");
    }

    #[test]
    fn an_argument_of_an_import_is_changed_where_it_is_given() {
        let text = "(p) {\n\treverse_proxy h:1 {\n\t\tmax_fails {args.0}\n\t}\n}\n:80 {\n\timport p 2\n}\n";
        assert_eq!(changed(text, "/", "max_fails", "5").unwrap(), text.replace("import p 2", "import p 5"));
    }

    #[test]
    fn values_are_told_with_their_places() {
        let config = Config::of_texts(vec![("/x".into(), TEXT.into())], Variables::new()).unwrap();
        let requests = Requests::to("localhost", "/");
        let told = |name: &str| config.value_of(name, &requests).unwrap();
        assert_eq!(told("dial_timeout"), ("1s".to_owned(), Origin::File { path: "/x".into(), line: 9 }));
        assert!(matches!(told("timeouts.idle"), (value, Origin::Default(_)) if value == "5m"));
        assert_eq!(told("read_timeout").0, "(not set)");
    }
}
