//! The global options of a copy: of the user's those that are known to reach nobody, and our own.

use std::path::Path;

use super::text::Text;
use super::{Copy, allowed, texts};
use crate::caddy::config::{Line, quote};

/// Logs of our own: errors without what clients sent, and what Go's HTTP server says (that it cannot accept, for example).
const LOGS: &str = "\
log {
	output stderr
	level ERROR
	format filter {
		wrap json
		fields {
			request delete
			err_id delete
			err_trace delete
		}
	}
}
log stdlib {
	output stderr
	include http.stdlib
	level DEBUG
	format json
}";

/// The errors that routes of the user's answer, which Caddy 2.6 writes for debugging only: in a log of their own, so that each is written once.
const HANDLED: &str = "\
log handled {
	output stderr
	include http.log.error
	level DEBUG
	format filter {
		wrap json
		fields {
			request delete
			err_id delete
			err_trace delete
		}
	}
}";

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
        let logs = match handled {
            true => LOGS.replacen("\tlevel ERROR", "\tlevel ERROR\n\texclude http.log.error", 1) + "\n" + HANDLED,
            false => LOGS.to_owned(),
        };
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
