//! The global options of a copy: of the user's those that are known to reach nobody, and our own.

use std::path::Path;

use super::text::Text;
use super::{Copy, allowed, texts};
use crate::caddy::config::{Line, quote};
use crate::caddy::evidence::LOGGER;

/// A log of errors of our own, without what clients sent.
fn errors(name: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("\t{line}\n")).collect();
    format!(
        "log{name} {{\n\toutput stderr\n{lines}\tformat filter {{\n\t\twrap json\n\t\tfields {{\n\t\t\trequest delete\n\t\t\terr_id delete\n\t\t\t\
         err_trace delete\n\t\t}}\n\t}}\n}}\n"
    )
}

/// What Go's HTTP server says: that it cannot accept, for example.
const STDLIB: &str = "log stdlib {\n\toutput stderr\n\tinclude http.stdlib\n\tlevel DEBUG\n\tformat json\n}\n";

/// What Caddy's own checks of upstreams say: no errors, to Caddy.
fn checks() -> String {
    format!("log checks {{\n\toutput stderr\n\tinclude {LOGGER}\n\tlevel INFO\n\tformat json\n}}\n")
}

/// The logs of a copy. Where a route of the user's answers errors (`handled`), Caddy 2.6 writes those for debugging only: they are in a log of
/// their own, so that each is written once.
fn logs(handled: bool) -> String {
    let errors = match handled {
        true => {
            errors("", &["level ERROR", "exclude http.log.error"])
                + STDLIB
                + &errors(" handled", &["include http.log.error", "level DEBUG"])
        }
        false => errors("", &["level ERROR"]) + STDLIB,
    };
    errors + &checks()
}

impl Copy<'_> {
    /// Writes the block; `handled`: with the errors that routes of the user's answer. `ocsp_stapling off`: with certificates of the user's Caddy would ask who issued them.
    pub(super) fn options(&mut self, out: &mut Text, socket: &Path, storage: &Path, handled: bool) {
        let path = |path: &Path| quote(&path.to_string_lossy());
        out.own(0, "{");
        out.own(1, &format!("admin unix/{}", path(socket)));
        out.own(1, &format!("storage file_system {}", path(storage)));
        out.own(1, &format!("default_bind {}", self.moved.ip));
        out.own(1, if self.moved.ports.automatic { "auto_https disable_redirects" } else { "auto_https off" });
        let own = ["local_certs", "skip_install_trust", "ocsp_stapling off"];
        let logs = logs(handled);
        own.into_iter().chain(logs.lines()).for_each(|line| out.own(1, line));
        for line in self.config.global().map(Line::inside).unwrap_or_default() {
            match line.name() {
                "servers" => {
                    if let Some(line) = self.servers(line) {
                        out.line(1, &line);
                    }
                }
                "auto_https" if !self.moved.ports.automatic => {}
                name if allowed::OPTIONS.contains(&name) => out.line(1, line),
                _ => self.drop(line),
            }
        }
        out.own(0, "}");
    }

    /// `servers` for the listener that stands for the one it names.
    fn servers(&mut self, line: &Line) -> Option<Line> {
        let fixed = |line: &Line| line.is("trusted_proxies static");
        let kept = self.keeping(line, |inner| allowed::SERVERS.contains(&inner.name()) || fixed(inner));
        let Some(address) = line.arg(0) else { return Some(kept) };
        let port = address.value.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        match port.and_then(|port| self.moved.any(port)) {
            Some(port) => {
                let mut words = texts(line);
                words[1] = format!("{}:{port}", self.moved.ip);
                let head = self.with(line, &words);
                Some(Line { block: kept.block, ..head })
            }
            None => {
                self.drop(line);
                None
            }
        }
    }
}
