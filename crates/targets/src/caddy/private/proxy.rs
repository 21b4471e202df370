//! What is behind: kept, or replaced by one backend. What leads back into the same Caddy follows its listeners in any case.

use super::{Copy, allowed, head, texts};
use crate::caddy::config::{Block, Line, Word, quote};
use crate::caddy::limits::is_encrypted;
use crate::caddy::route::{Upstream, matcher, upstreams};
use crate::caddy::settings::secured_by;
use crate::files::{CopyError, Move, masked};
use genkai_place::remote::Remote;

impl Copy<'_> {
    /// A `reverse_proxy` to where requests go now, without parameters that reach others.
    pub(super) fn proxy(&mut self, line: &Line) -> Result<Line, CopyError> {
        let mut words = texts(line);
        words.truncate(1 + usize::from(matcher(line).is_some()));
        for word in upstreams(line) {
            words.push(self.upstream(line, word)?);
        }
        let mut lines = Vec::new();
        for inner in line.inside() {
            match inner.name() {
                // Its upstreams stand on the line itself.
                "to" => self.tell(inner, String::new()),
                "dynamic" => match self.backend {
                    Some(backend) => {
                        words.push(backend.to_string());
                        self.drop(inner);
                    }
                    None => {
                        return Err(self.remote(
                            inner,
                            "(dynamic)",
                            "is decided for each request, so it cannot be known",
                        ));
                    }
                },
                "transport" => lines.extend(self.transport(inner)),
                "handle_response" => {
                    let mut around = inner.clone();
                    if let Some(block) = &mut around.block {
                        block.lines = self.directives(&block.lines)?;
                    }
                    lines.push(around);
                }
                // Checks of the user's own: another backend answers otherwise and would be taken for dead.
                name if name.starts_with("health_") && name != "health_upstream" && self.backend.is_none() => {
                    lines.push(inner.clone());
                }
                name if name.starts_with('@') || allowed::PROXY.contains(&name) => lines.push(inner.clone()),
                _ => self.drop(inner),
            }
        }
        let is_named = line.option("transport http").is_some_and(|way| way.option("tls_server_name").is_some());
        match self.secured {
            Some(name) if !is_encrypted(line) => self.encrypt(line, secured_by(name).collect(), &mut lines),
            // Its certificate is that of a name, and what is told is else the address.
            Some(name) if !name.is_empty() && !is_named => {
                self.encrypt(line, vec![format!("tls_server_name {}", quote(name))], &mut lines);
            }
            _ => {}
        }
        let mut copy = if texts(line) == words { line.clone() } else { self.with(line, &words) };
        match &mut copy.block {
            Some(block) => block.lines = lines,
            None if lines.is_empty() => {}
            None => copy.block = Some(Block { lines, file: line.file, open: 0..0, close: 0..0 }),
        }
        Ok(copy)
    }

    /// What it takes to speak TLS to what stands behind, where the line says nothing of it.
    fn encrypt(&mut self, line: &Line, told: Vec<String>, lines: &mut Vec<Line>) {
        let word = |value: &str| Word { value: value.to_owned(), quoted: false, file: line.file, span: 0..0 };
        let of = |text: String| {
            let words = text.splitn(2, ' ').map(|text| word(text.trim_matches('"'))).collect();
            Line { words, block: None, ..head(line) }
        };
        self.tell(line, format!("transport http {{ {} }}", told.join("; ")));
        let inner: Vec<Line> = told.into_iter().map(of).collect();
        let transport = lines.iter_mut().find(|line| line.is("transport http"));
        match transport.and_then(|line| line.block.as_mut()) {
            Some(block) => block.lines.extend(inner),
            None => {
                lines.retain(|line| !line.is("transport http"));
                let block = Block { lines: inner, file: line.file, open: 0..0, close: 0..0 };
                lines.push(Line { words: ["transport", "http"].map(word).to_vec(), block: Some(block), ..head(line) });
            }
        }
    }

    /// `php_fastcgi` and `forward_auth`: what they pass requests to must be this machine.
    pub(super) fn other_proxy(&mut self, line: &Line) -> Result<Line, CopyError> {
        let mut words = texts(line);
        words.truncate(1 + usize::from(matcher(line).is_some()));
        for word in upstreams(line) {
            match self.elsewhere(line, word).filter(|_| line.is("php_fastcgi")) {
                Some(new) => words.push(new),
                None => {
                    self.local(line, word)?;
                    words.push(word.value.clone());
                }
            }
        }
        let may_lead = |inner: &Line| {
            matches!(inner.name(), "dynamic" | "transport" | "to")
                && !(line.is("forward_auth") && inner.is("transport http"))
        };
        if let Some(inner) = line.inside().iter().find(|inner| may_lead(inner)) {
            return Err(self.remote(inner, inner.name(), "may lead elsewhere"));
        }
        // That of HTTP is kept as that of a `reverse_proxy` is: nothing of it leads elsewhere.
        let mut copy = if texts(line) == words { line.clone() } else { self.with(line, &words) };
        if let Some(block) = &mut copy.block {
            let inside = std::mem::take(&mut block.lines);
            let keep = |inner: Line| if inner.is("transport http") { self.transport(&inner) } else { Some(inner) };
            block.lines = inside.into_iter().filter_map(keep).collect();
        }
        Ok(copy)
    }

    /// Where requests for an upstream go.
    fn upstream(&mut self, line: &Line, word: &Word) -> Result<String, CopyError> {
        match (self.moved.own(&Upstream::parse(&word.value)), self.backend) {
            (Some(own), _) => Ok(own),
            (None, Some(backend)) if self.secured.is_some() && word.value.starts_with("https://") => {
                Ok(format!("https://{backend}"))
            }
            (None, Some(backend)) => Ok(backend.to_string()),
            (None, None) => match self.elsewhere(line, word) {
                Some(new) => Ok(new),
                None => self.local(line, word).map(|()| word.value.clone()),
            },
        }
    }

    /// An upstream that has another in its place; none: it stays. (A copy of what stands there does not expect the header of the PROXY protocol.)
    fn elsewhere(&self, line: &Line, word: &Word) -> Option<String> {
        let tells = line.option("transport http").is_some_and(|way| way.option("proxy_protocol").is_some());
        let to = Move::to(self.moves, &Upstream::parse(&word.value).dial()).filter(|_| !tells)?;
        let place = to.socket().map_or_else(|| to.to_string(), |path| format!("unix/{path}"));
        Some(match word.value.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://{place}"),
            None => place,
        })
    }

    fn local(&self, line: &Line, word: &Word) -> Result<(), CopyError> {
        match Upstream::parse(&word.value).is_remote(self.allowed) {
            Some((host, why)) => Err(self.remote(line, &host, &why)),
            None => Ok(()),
        }
    }

    fn remote(&self, line: &Line, host: &str, why: &str) -> CopyError {
        let place = format!("{}: `{}`", self.config.place(line), masked(&self.config.written(line)));
        CopyError::Remote(Remote { place, host: host.to_owned(), why: why.to_owned(), replaceable: true })
    }

    /// `transport http`, without what another backend does not speak; any other only as long as the upstreams are the user's.
    fn transport(&mut self, line: &Line) -> Option<Line> {
        if !line.is("transport http") && self.backend.is_some() {
            self.drop(line);
            return None;
        }
        let is_http = line.is("transport http");
        let own = self.backend.is_none() || self.secured.is_some();
        let keep = |inner: &Line| {
            let name = inner.name();
            !is_http || allowed::TRANSPORT.contains(&name) || own && allowed::SPEECH.contains(&name)
        };
        Some(self.keeping(line, keep))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use genkai_place::endpoint::Endpoint;

    use super::super::listen;
    use super::*;
    use crate::caddy::config::{Config, Variables};

    /// The words of the `reverse_proxy` of this site in a copy that leads elsewhere.
    fn led(proxy: &str) -> Vec<String> {
        let at = |text: &str| Endpoint::parse(text).unwrap();
        let moves = [
            Move { from: at("127.0.0.1:9000"), to: at("127.0.0.1:40000") },
            Move { from: at("127.0.0.1:80"), to: at("127.0.0.1:40001") },
            Move { from: at("unix:/run/a.sock"), to: at("unix:/x/pool.sock") },
        ];
        let text = format!("http://:8080 {{\n\t{proxy}\n}}\n");
        let config = Config::of_texts(vec![("/x".into(), text.into_bytes())], Variables::new()).unwrap();
        let moved = listen::moved(&config, (Ipv4Addr::LOCALHOST, &mut || Ok(40_002))).unwrap();
        let (moves, rewrites) = (&moves[..], Vec::new());
        let mut copy = Copy {
            config: &config,
            moved: &moved,
            backend: None,
            secured: None,
            moves,
            allowed: &[],
            papers: None,
            rewrites,
        };
        let line = config.sites()[0].lines.iter().find(|line| line.name() == "reverse_proxy").unwrap();
        let new = copy.proxy(line).unwrap();
        assert_eq!(copy.rewrites.is_empty(), texts(&new) == texts(line), "what is led elsewhere is told");
        texts(&new)
    }

    #[test]
    fn only_what_is_moved_goes_elsewhere() {
        let two = led("reverse_proxy localhost:9000 127.0.0.1:9001");
        assert_eq!(two, ["reverse_proxy", "127.0.0.1:40000", "127.0.0.1:9001"]);
        assert_eq!(led("reverse_proxy /a/* http://127.0.0.1:9000")[2], "http://127.0.0.1:40000");
        assert_eq!(led("reverse_proxy http://localhost")[1], "http://127.0.0.1:40001", "the port of its scheme");
        assert_eq!(led("reverse_proxy unix//run/a.sock")[1], "unix//x/pool.sock");
        let header = "reverse_proxy 127.0.0.1:9000 {\n\t\ttransport http {\n\t\t\tproxy_protocol v2\n\t\t}\n\t}";
        assert_eq!(led(header)[1], "127.0.0.1:9000", "a copy of what is there does not expect the header");
    }
}
