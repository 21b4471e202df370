//! Scripts of Lua and njs, in the configuration, in files that it names, and in those that these load: which variables they ask for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::config::{Config, End, Found};

/// Files of more bytes are not read.
const LARGEST: u64 = 1 << 20;
/// Files that a script loads, and those that these load, are looked into up to so many.
const MOST: usize = 64;
/// Where Lua looks for what is loaded where nothing else is said (luaconf.h: LUA_PATH_DEFAULT, with what packages of nginx and OpenResty have).
const USUAL: [&str; 7] = [
    "/usr/share/lua/5.1/?.lua",
    "/usr/share/lua/5.1/?/init.lua",
    "/usr/local/share/lua/5.1/?.lua",
    "/usr/local/share/lua/5.1/?/init.lua",
    "/usr/local/openresty/lualib/?.lua",
    "/usr/local/openresty/site/lualib/?.lua",
    "/usr/local/openresty/lualib/?/init.lua",
];
/// Libraries that are part of Lua, of its modules for nginx, or of njs: they decide nothing of themselves. With a dot: all that are below.
const LIBRARIES: [&str; 26] = [
    "bit",
    "buffer",
    "cjson",
    "cjson.",
    "coroutine",
    "crypto",
    "debug",
    "ffi",
    "fs",
    "io",
    "jit",
    "jit.",
    "lfs",
    "math",
    "ngx.",
    "os",
    "package",
    "querystring",
    "resty.",
    "string",
    "string.",
    "table",
    "table.",
    "thread.",
    "xml",
    "zlib",
];

/// The scripts of a configuration.
pub(super) struct Scripts<'c> {
    config: &'c Config,
    /// Where Lua's are looked for, with `?` for the name.
    lua: Vec<String>,
    /// Where those of njs are.
    js: Vec<PathBuf>,
}

/// What a script is written in.
#[derive(Clone, Copy, PartialEq)]
enum Language {
    Lua,
    Js,
}

impl<'c> Scripts<'c> {
    /// Those of this configuration.
    pub(super) fn of(config: &'c Config) -> Scripts<'c> {
        let all = config.walk();
        let paths = |name: &str| -> Vec<String> {
            all.iter()
                .filter(|found| found.directive.is(name))
                .filter_map(|found| found.args().into_iter().next())
                .collect()
        };
        let prefix = config.prefix().to_string_lossy().into_owned();
        let mut lua: Vec<String> = Vec::new();
        for written in paths("lua_package_path") {
            let named = written.replace("${prefix}", &format!("{prefix}/")).replace("$prefix", &format!("{prefix}/"));
            lua.extend(named.split(';').filter(|one| !one.is_empty()).map(str::to_owned));
        }
        lua.extend(USUAL.map(str::to_owned));
        let folders = |path: String| [config.prefix(), config.conf_prefix()].map(|folder| folder.join(&path));
        let js = paths("js_path").into_iter().flat_map(folders).collect();
        Scripts { config, lua, js }
    }

    /// Whether a directive runs a script in whose text, or in that of a file that it loads, the variable is named: `ngx.var.NAME`, `r.variables.NAME`,
    /// or in brackets and quotes.
    pub(super) fn ask(&self, found: &Found<'_>, variable: &str) -> bool {
        self.read(found).0.iter().any(|text| names(text, variable))
    }

    /// What a directive's script loads that is not found, and is no library: a clause that says what of it is not known.
    pub(super) fn lost(&self, found: &Found<'_>) -> Option<String> {
        self.read(found).1
    }

    /// The texts that a directive runs, and the first of them that is not found.
    fn read(&self, found: &Found<'_>) -> (Vec<String>, Option<String>) {
        let Some((language, first, folder)) = self.first(found) else { return Default::default() };
        let mut open = vec![(first, folder)];
        let (mut seen, mut texts, mut lost) = (BTreeSet::new(), Vec::new(), None);
        while let Some((text, folder)) = open.pop() {
            for loaded in loads(language, &text) {
                let name = match loaded {
                    Some(name)
                        if LIBRARIES.iter().any(|one| name == *one || one.ends_with('.') && name.starts_with(one)) =>
                    {
                        continue;
                    }
                    Some(name) => name,
                    None => {
                        lost.get_or_insert_with(|| {
                            "a file whose name a script makes itself was not looked for".to_owned()
                        });
                        continue;
                    }
                };
                let places = self.places(language, &name, &folder);
                let Some(path) = places.into_iter().find(|path| is_read(path)) else {
                    lost.get_or_insert_with(|| format!("`{name}` was not found"));
                    continue;
                };
                if !seen.insert(path.clone()) {
                    continue;
                }
                if seen.len() > MOST {
                    lost.get_or_insert_with(|| format!("more than {MOST} files"));
                    return (texts, lost);
                }
                if let Ok(text) = fs::read_to_string(&path) {
                    open.push((text, path.parent().map(Path::to_owned).unwrap_or_default()));
                }
            }
            texts.push(text);
        }
        (texts, lost)
    }

    /// The script of a directive, and the folder that it is in.
    fn first(&self, found: &Found<'_>) -> Option<(Language, String, PathBuf)> {
        let (config, name) = (self.config, String::from_utf8_lossy(found.directive.name()).into_owned());
        if name.starts_with("log_by_lua") {
            return None;
        }
        let here = || config.prefix().to_owned();
        if let End::Lua { inner } = &found.directive.end {
            let text = String::from_utf8_lossy(&config.file(found.file).text[inner.clone()]).into_owned();
            return Some((Language::Lua, text, here()));
        }
        if name.ends_with("_by_lua") {
            return Some((Language::Lua, found.args().join("\n"), here()));
        }
        let language = match &*name {
            "js_import" | "js_include" => Language::Js,
            name if name.ends_with("_by_lua_file") => Language::Lua,
            _ => return None,
        };
        // `js_import NAME from FILE`, or the file alone.
        let path = found.args().pop().filter(|path| !path.contains('$'))?;
        // Lua's files are named from the prefix, those of njs from the folder of the main file, or where `js_path` says.
        let js = self.js.iter().filter(|_| language == Language::Js).map(PathBuf::as_path);
        let mut folders = [config.prefix(), config.conf_prefix()].into_iter().chain(js);
        let path = folders.find_map(|folder| Some(folder.join(&path)).filter(|path| is_read(path)))?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Some((language, fs::read_to_string(&path).ok()?, folder))
    }

    /// Where a file of this name may be that is loaded by one in `folder`.
    fn places(&self, language: Language, name: &str, folder: &Path) -> Vec<PathBuf> {
        match language {
            Language::Lua if name.contains('/') => vec![self.config.prefix().join(name)],
            Language::Lua => {
                let name = name.replace('.', "/");
                self.lua.iter().map(|pattern| self.config.prefix().join(pattern.replace('?', &name))).collect()
            }
            Language::Js => {
                let own = [folder, self.config.conf_prefix()].into_iter().chain(self.js.iter().map(PathBuf::as_path));
                own.map(|folder| folder.join(name)).collect()
            }
        }
    }
}

/// Whether a file is there that is read.
fn is_read(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LARGEST)
}

/// The names of what a script loads: `require "a.b"`, `dofile("a.lua")`, `import x from 'a.js'`; none of one that it makes itself.
fn loads(language: Language, text: &str) -> Vec<Option<String>> {
    let (words, comment): (&[&str], &str) = match language {
        Language::Lua => (&["require", "dofile", "loadfile"], "--"),
        Language::Js => (&["from", "import", "require"], "//"),
    };
    let mut all = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with(comment)) {
        for word in words {
            for (at, _) in line.match_indices(word) {
                let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '$';
                let rest = &line[at + word.len()..];
                if line[..at].ends_with(part) || rest.starts_with(part) {
                    continue;
                }
                // `pcall(require, "a")` loads, too.
                let called = rest.trim_start_matches([' ', '\t', ',']);
                let inner = called.strip_prefix('(').map_or(called, str::trim_start);
                match quoted(inner) {
                    Some(name) => all.push(Some(name.to_owned())),
                    None if called.starts_with('(') => all.push(None),
                    None => {}
                }
            }
        }
    }
    all
}

/// The text in the quotes, or the long brackets, that a text begins with; none where something is put behind it.
fn quoted(text: &str) -> Option<&str> {
    let (open, close) =
        [("\"", "\""), ("'", "'"), ("[[", "]]")].into_iter().find(|(open, _)| text.starts_with(open))?;
    let (name, rest) = text[open.len()..].split_once(close)?;
    // `"a" .. b` is another name.
    let goes_on = rest.trim_start().starts_with('+') || rest.trim_start().starts_with("..");
    (!goes_on).then_some(name)
}

/// Whether a text asks for it: its name as a word of its own behind a dot or a quote.
fn names(text: &str, variable: &str) -> bool {
    text.match_indices(variable).any(|(at, _)| {
        let before = text[..at].ends_with(['.', '"', '\'']);
        before && !text[at + variable.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(dir: &Path, lines: &str, of: impl Fn(&Scripts<'_>, &Found<'_>) -> T) -> Vec<T> {
        let text = format!("events {{}} http {{ {lines} }}");
        let config = Config::of_text(Path::new("/n.conf"), text.into(), dir).unwrap();
        let scripts = Scripts::of(&config);
        config.walk().iter().map(|found| of(&scripts, found)).collect()
    }

    fn asks(dir: &Path, lines: &str) -> bool {
        with(dir, lines, |scripts, found| scripts.ask(found, "server_port")).contains(&true)
    }

    fn lost(dir: &Path, lines: &str) -> Option<String> {
        with(dir, lines, |scripts, found| scripts.lost(found)).into_iter().flatten().next()
    }

    #[test]
    fn a_file_of_a_script_is_looked_into() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.js"), "function a(r) { return r.variables.server_port == 80; }").unwrap();
        std::fs::write(dir.path().join("b.lua"), "if ngx.var[\"server_port\"] == '80' then ngx.exit(403) end").unwrap();
        std::fs::write(dir.path().join("c.lua"), "ngx.say(ngx.var.server_port_of, ngx.var.host)").unwrap();
        let asks = |line: &str| asks(dir.path(), line);
        assert!(asks("js_import a.js;") && asks("js_import x from a.js;") && asks("access_by_lua_file b.lua;"));
        assert!(!asks("access_by_lua_file c.lua;") && !asks("access_by_lua_file missing.lua;"));
        assert!(!asks("log_format x $server_port;"));
    }

    #[test]
    fn what_a_script_loads_is_looked_into_as_well() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "lib/own/first.lua",
            "local cjson = require 'cjson.safe'\n-- require 'gone'\nreturn require(\"own.second\")",
        );
        write("lib/own/second.lua", "require 'own.first'\nreturn ngx.var.server_port == '80'");
        write("lib/own/plain.lua", "return ngx.var.host");
        write("js/a.js", "import b from 'b.js';\nimport fs from 'fs';\nexport default {b}");
        write("js/b.js", "export default function (r) { return r.variables.server_port; }");
        write("js/lost.js", "import q from './gone.js';");
        let (asks, lost) = (|line: &str| asks(dir.path(), line), |line: &str| lost(dir.path(), line));
        let path = "lua_package_path \"$prefix/lib/?.lua;;\";";
        let block = |code: &str| format!("{path} server {{ access_by_lua_block {{ {code} }} }}");
        for code in [
            "require 'own.first'",
            "local m = require(\"own.second\")",
            "pcall(require, [[own.first]])",
            "require('own.first').go()",
        ] {
            assert!(asks(&block(code)) && lost(&block(code)).is_none(), "{code}");
        }
        assert!(
            !asks(&block("require 'own.plain'"))
                && lost(&block("require 'own.plain'; require 'resty.redis'")).is_none()
        );
        assert_eq!(lost(&block("require 'own.gone'")).as_deref(), Some("`own.gone` was not found"));
        assert!(lost(&block("require(ngx.var.arg_x)")).unwrap().contains("makes itself"));
        assert!(lost(&block("require('own.' .. x)")).is_none_or(|why| !why.contains("`own.`")), "half a name");
        assert!(asks("js_path js; js_import a.js;") && asks("js_import js/a.js;"));
        assert_eq!(lost("js_import js/lost.js;").as_deref(), Some("`./gone.js` was not found"));
    }
}
