//! nginx as a cache before one origin (ngx_http_proxy_module, `proxy_cache`).

use std::process::Command;

use crate::cache::counters::Lines;
use crate::cache::{Sandbox, Setup, listed};
use crate::error::TargetError;

/// Memory for keys: about 8,000 a megabyte (ngx_http_proxy_module, `proxy_cache_path`).
const KEYS: &str = "16m";

/// Objects in files. Everything that `proxy_cache` needs to work, and paths; the rest is nginx's default.
pub(crate) fn setup(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    let store = at.folder("store")?;
    let text = render(at, &store.display().to_string());
    let file = at.write("nginx.conf", &text)?;
    let nginx = |arguments: &[&str]| {
        let mut command = Command::new(at.program.path());
        command.arg("-p").arg(at.dir).arg("-e").arg(at.dir.join("error.log"));
        command.arg("-c").arg(&file).args(arguments);
        command
    };
    let counters = Lines::counters(at.dir.join("access.log"), is_hit);
    let setup = Setup::new(nginx(&["-t"]), nginx(&["-g", "daemon off;"]), counters);
    Ok(Setup { settings: listed(&text, at.dir), store: Some(store), ..setup })
}

fn render(at: &Sandbox<'_>, store: &str) -> String {
    let (listen, origin, disk, at) = (at.listen, at.origin(), at.budget.disk.0, at.dir.display());
    format!(
        "\
# A cache, written by genkai.
pid {at}/nginx.pid;
error_log {at}/error.log;
events {{
}}
http {{
    log_format cache '$upstream_cache_status $status';
    access_log {at}/access.log cache;
    client_body_temp_path {at}/body;
    proxy_temp_path {at}/proxy;
    fastcgi_temp_path {at}/fastcgi;
    uwsgi_temp_path {at}/uwsgi;
    scgi_temp_path {at}/scgi;
    proxy_cache_path {store} levels=1:2 keys_zone=objects:{KEYS} max_size={disk} inactive=1h use_temp_path=off;
    server {{
        listen {listen};
        location / {{
            proxy_pass http://{origin};
            proxy_cache objects;
        }}
    }}
}}
"
    )
}

/// `$upstream_cache_status` (ngx_http_upstream_module). Revalidated is a hit: the origin gave no object.
fn is_hit(line: &str) -> Option<bool> {
    match line.split(' ').next()? {
        "HIT" | "STALE" | "UPDATING" | "REVALIDATED" => Some(true),
        "MISS" | "EXPIRED" | "BYPASS" | "SCARCE" => Some(false),
        // A request that never got so far as to look: a bad one.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_the_cache_tells() {
        let lines = ["HIT 200", "MISS 200", "REVALIDATED 200", "EXPIRED 200", "- 400", ""];
        assert_eq!(lines.map(is_hit), [Some(true), Some(false), Some(true), Some(false), None, None]);
    }
}
