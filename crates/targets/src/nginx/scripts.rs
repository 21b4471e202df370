//! Scripts of Lua and njs, in the configuration or in files that it names: which variables they ask for.

use super::config::{Config, End, Found};

/// Files of more bytes are not read.
const LARGEST: u64 = 1 << 20;

/// Whether a directive runs a script in whose text the variable is named: `ngx.var.NAME`, `r.variables.NAME`, or in brackets and quotes.
pub(super) fn ask(config: &Config, found: &Found<'_>, variable: &str) -> bool {
    let name = String::from_utf8_lossy(found.directive.name()).into_owned();
    if name.starts_with("log_by_lua") {
        return false;
    }
    if let End::Lua { inner } = &found.directive.end {
        return names(&String::from_utf8_lossy(&config.file(found.file).text[inner.clone()]), variable);
    }
    if name.ends_with("_by_lua") {
        return found.args().iter().any(|text| names(text, variable));
    }
    if !name.ends_with("_by_lua_file") && !matches!(&*name, "js_import" | "js_include") {
        return false;
    }
    // `js_import NAME from FILE`, or the file alone.
    let Some(path) = found.args().pop().filter(|path| !path.contains('$')) else { return false };
    // Lua's files are named from the prefix, those of njs from the folder of the main file.
    [config.prefix(), config.conf_prefix()].into_iter().any(|folder| {
        let path = folder.join(&path);
        let is_small = std::fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
        is_small && std::fs::read_to_string(&path).is_ok_and(|text| names(&text, variable))
    })
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
    use std::path::Path;

    use super::*;

    #[test]
    fn a_file_of_a_script_is_looked_into() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.js"), "function a(r) { return r.variables.server_port == 80; }").unwrap();
        std::fs::write(dir.path().join("b.lua"), "if ngx.var[\"server_port\"] == '80' then ngx.exit(403) end").unwrap();
        std::fs::write(dir.path().join("c.lua"), "ngx.say(ngx.var.server_port_of, ngx.var.host)").unwrap();
        let asks = |line: &str| {
            let text = format!("events {{}} http {{ {line} }}");
            let config = Config::of_text(Path::new("/n.conf"), text.into(), dir.path()).unwrap();
            config.walk().iter().any(|found| ask(&config, found, "server_port"))
        };
        assert!(asks("js_import a.js;") && asks("js_import x from a.js;") && asks("access_by_lua_file b.lua;"));
        assert!(!asks("access_by_lua_file c.lua;") && !asks("access_by_lua_file missing.lua;"));
        assert!(!asks("log_format x $server_port;"));
    }
}
