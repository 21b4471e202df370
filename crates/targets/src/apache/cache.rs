//! httpd as a cache before one origin (mod_cache with mod_proxy).

use std::process::Command;

use super::lifecycle::modules;
use crate::cache::counters::Lines;
use crate::cache::{Sandbox, Setup, largest, listed};
use crate::error::TargetError;

/// Modules of a cache, by the names of their files.
const CACHE: [&str; 3] = ["proxy", "proxy_http", "cache"];

/// Objects in files.
pub(crate) fn disk(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    let store = at.folder("store")?;
    let words = format!("CacheRoot {}\nCacheEnable disk /\n", store.display());
    let setup = setup(at, &["cache_disk"], &words)?;
    let source = "httpd modules/cache/mod_cache_disk.h: DEFAULT_MAX_FILE_SIZE";
    let limits = vec![largest("apache.cache.max_file_size", "CacheMaxFileSize", 1_000_000, source)];
    Ok(Setup { store: Some(store), limits, ..setup })
}

/// Objects in shared memory. Its size is not a default that anybody could use: 512 KB.
pub(crate) fn socache(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    let memory = at.budget.memory.0;
    let words = format!("CacheSocache shmcb:{}/objects({memory})\nCacheEnable socache /\n", at.dir.display());
    let setup = setup(at, &["cache_socache", "socache_shmcb"], &words)?;
    let source = "httpd modules/cache/mod_cache_socache.c: DEFAULT_MAX_FILE_SIZE";
    let limits = vec![largest("apache.cache.socache_max_size", "CacheSocacheMaxSize", 102_400, source)];
    Ok(Setup { limits, ..setup })
}

fn setup(at: &Sandbox<'_>, modules: &[&str], words: &str) -> Result<Setup, TargetError> {
    let all: Vec<&str> = CACHE.into_iter().chain(modules.iter().copied()).collect();
    let log = format!("LogFormat \"%{{cache-status}}e\" cache\nCustomLog {}/access.log cache\n", at.dir.display());
    let text = format!("{log}{words}ProxyPass / http://{}/\n", at.origin());
    httpd(at, &all, &text, is_hit)
}

/// A private httpd with these modules (by the names of their files) and words beside what each needs: a server that lets everybody in,
/// with one log. The rest is httpd's default.
pub(super) fn httpd(
    at: &Sandbox<'_>,
    more: &[&str],
    words: &str,
    is_hit: fn(&str) -> Option<bool>,
) -> Result<Setup, TargetError> {
    let (dir, folder) = (at.dir.display(), modules(at.program).unwrap_or_else(|| "modules".into()));
    let mut text = format!(
        "# Written by genkai.\nServerRoot {dir}\nServerName localhost\nListen {}\nPidFile {dir}/httpd.pid\n\
         ErrorLog {dir}/error.log\nDefaultRuntimeDir {dir}\n",
        at.listen
    );
    for name in ["mpm_event", "authz_core"].iter().chain(more) {
        text.push_str(&format!("LoadModule {name}_module {}/mod_{name}.so\n", folder.display()));
    }
    text.push_str(words);
    let file = at.write("httpd.conf", &text)?;
    let httpd = |arguments: &[&str]| {
        let mut command = Command::new(at.program.path());
        command.arg("-f").arg(&file).args(arguments);
        command
    };
    let counters = Lines::counters(at.dir.join("access.log"), is_hit);
    let setup = Setup::new(httpd(&["-t"]), httpd(&["-D", "FOREGROUND"]), counters);
    Ok(Setup { settings: listed(&text, at.dir), ..setup })
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
