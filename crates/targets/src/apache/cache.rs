//! httpd as a cache before one origin (mod_cache with mod_proxy).

use std::path::Path;
use std::process::Command;

use super::lifecycle;
use crate::cache::counters::{Counters, Lines};
use crate::cache::{Ground, Setup, largest, listed};
use crate::error::TargetError;
use crate::product::Program;

/// Modules of a server that logs and lets everybody in, by the names of their files.
pub(crate) const MODULES: [&str; 2] = ["mpm_event", "authz_core"];
/// Those of a cache beside them.
const CACHE: [&str; 3] = ["proxy", "proxy_http", "cache"];

/// Objects in files.
pub(crate) fn disk(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    let store = ground.folder("store")?;
    let words = format!("CacheRoot {}\nCacheEnable disk /\n", store.display());
    let setup = setup(ground, &["cache_disk"], &words)?;
    let source = "httpd modules/cache/mod_cache_disk.h: DEFAULT_MAX_FILE_SIZE";
    let limits = vec![largest("apache.cache.max_file_size", "CacheMaxFileSize", 1_000_000, source)];
    Ok(Setup { store: Some(store), limits, ..setup })
}

/// Objects in shared memory. Its size is not a default that anybody could use: 512 KB.
pub(crate) fn socache(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    let memory = ground.budget.memory.0;
    let words = format!("CacheSocache shmcb:{}/objects({memory})\nCacheEnable socache /\n", ground.dir.display());
    let setup = setup(ground, &["cache_socache", "socache_shmcb"], &words)?;
    let source = "httpd modules/cache/mod_cache_socache.c: DEFAULT_MAX_FILE_SIZE";
    let limits = vec![largest("apache.cache.socache_max_size", "CacheSocacheMaxSize", 102_400, source)];
    Ok(Setup { limits, ..setup })
}

fn setup(ground: &Ground<'_>, modules: &[&str], words: &str) -> Result<Setup, TargetError> {
    let binary = super::find(Some(ground.program), ground.dir)?;
    let all: Vec<&str> = MODULES.into_iter().chain(CACHE).chain(modules.iter().copied()).collect();
    let mut text = frame(&binary, &all, ground.listen.to_string().as_str(), ground.dir);
    text.push_str("LogFormat \"%{cache-status}e\" cache\n");
    text.push_str(&format!("CustomLog {}/access.log cache\n", ground.dir.display()));
    text.push_str(words);
    text.push_str(&format!("ProxyPass / http://{}/\n", ground.origin));
    let file = ground.write("httpd.conf", &text)?;
    Ok(Setup {
        version: binary.version().to_owned(),
        before: vec![httpd(binary.path(), &file, &["-t"])],
        serve: httpd(binary.path(), &file, &["-D", "FOREGROUND"]),
        settings: listed(&text, ground.dir),
        limits: Vec::new(),
        store: None,
        counters: Counters::Lines(Lines::of(ground.dir.join("access.log"), is_hit)),
        ready: None,
        shared: None,
    })
}

/// httpd with the configuration `file`.
pub(crate) fn httpd(program: &Path, file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg("-f").arg(file).args(arguments);
    command
}

/// What every private httpd needs: modules, a listener, places. The rest is httpd's default.
pub(crate) fn frame(binary: &Program, modules: &[&str], listen: &str, dir: &Path) -> String {
    let at = dir.display();
    let mut text = format!(
        "# Written by genkai.\nServerRoot {at}\nServerName localhost\nListen {listen}\nPidFile {at}/httpd.pid\n"
    );
    text.push_str(&format!("ErrorLog {at}/error.log\nDefaultRuntimeDir {at}\n"));
    let folder = lifecycle::modules(binary).unwrap_or_else(|| "modules".into());
    for name in modules {
        text.push_str(&format!("LoadModule {name}_module {}/mod_{name}.so\n", folder.display()));
    }
    text
}

/// What mod_cache leaves in `cache-status` (modules/cache/mod_cache.c). A conditional hit was asked for again, but not fetched.
fn is_hit(line: &str) -> Option<bool> {
    match line {
        "-" => None,
        line => Some(line.starts_with("cache hit") || line.starts_with("conditional cache hit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_the_cache_tells() {
        let lines = ["cache hit", "cache miss: attempting entity save", "conditional cache hit: entity refreshed", "-"];
        assert_eq!(lines.map(is_hit), [Some(true), Some(false), Some(true), None]);
    }
}
