//! The sites of a copy, directive by directive.

use super::text::Text;
use super::{Copy, allowed, texts};
use crate::caddy::config::{Block, ConfigError, Line, Site, Word};
use crate::caddy::route::Address;
use crate::caddy::secured;
use crate::files::CopyError;
use crate::files::names::nearest;

impl Copy<'_> {
    /// Writes every site.
    pub(super) fn sites(&mut self, out: &mut Text, own: &[String]) -> Result<(), CopyError> {
        let config = self.config;
        for site in config.sites() {
            let mut line = self.head(site);
            let lines = self.directives(&site.lines)?;
            line.block = Some(Block { lines, file: line.file, open: 0..0, close: 0..0 });
            // A route that sites name is none itself.
            out.site(&line, if site.is_route() { &[] } else { own });
        }
        Ok(())
    }

    /// The addresses of a site, each with its scheme and the port that stands for the user's.
    fn head(&mut self, site: &Site) -> Line {
        let has_tls = site.lines.iter().any(|line| line.is("tls"));
        let ports = self.moved.ports;
        let address = |word: &Word| {
            let address = Address::parse(&word.value, ports)?;
            let scheme = if address.is_tls(ports, has_tls) { "https" } else { "http" };
            let host = if address.host.contains(':') { format!("[{}]", address.host) } else { address.host.clone() };
            let port = self.moved.port(site, &address)?;
            Some(format!("{scheme}://{host}:{port}{}", address.path))
        };
        let mut words: Vec<String> = Vec::new();
        let own = site.addresses.iter().map(|word| address(word).unwrap_or_else(|| word.value.clone()));
        let own: Vec<String> = if site.is_route() { texts(&site.head) } else { own.collect() };
        // Two of the user's may become one.
        own.into_iter().for_each(|word| {
            if !words.contains(&word) {
                words.push(word)
            }
        });
        self.with(&site.head, &words)
    }

    /// Directives, those inside of others among them.
    pub(super) fn directives(&mut self, lines: &[Line]) -> Result<Vec<Line>, CopyError> {
        let mut all = Vec::new();
        for line in lines {
            match line.name() {
                name if name.starts_with('@') || allowed::DIRECTIVES.contains(&name) => all.push(line.clone()),
                name if allowed::AROUND.contains(&name) => {
                    let mut around = line.clone();
                    if let Some(block) = &mut around.block {
                        block.lines = self.directives(&block.lines)?;
                    }
                    all.push(around);
                }
                name if allowed::DROPPED.contains(&name) => self.drop(line),
                "tls" => all.extend(self.tls(line)),
                "reverse_proxy" => all.push(self.proxy(line)?),
                "forward_auth" if self.backend.is_some() => self.drop(line),
                "php_fastcgi" | "forward_auth" => all.push(self.other_proxy(line)?),
                name => return Err(self.unknown(line, name)),
            }
        }
        Ok(all)
    }

    /// A directive of which nobody can say what it reaches.
    fn unknown(&self, line: &Line, name: &str) -> CopyError {
        let known = allowed::DIRECTIVES.iter().chain(allowed::AROUND).chain(&["reverse_proxy", "php_fastcgi", "tls"]);
        let hint = nearest(name, known.copied()).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let what = format!("genkai does not know the directive `{name}`, so it cannot know what it reaches{hint}");
        CopyError::Config(ConfigError::at(self.config.place(line), what))
    }

    /// For a certificate from a file another one stands in, and those of a folder are read where they are; all others Caddy makes itself.
    fn tls(&mut self, line: &Line) -> Option<Line> {
        let kept = self.keeping(line, |inner| allowed::TLS.contains(&inner.name()));
        if let (Some(_), Some(papers)) = (secured::files(line), self.papers) {
            let paths = [&papers.certificate, &papers.key].map(|path| path.to_string_lossy().into_owned());
            let head = self.with(line, &["tls".to_owned()].into_iter().chain(paths).collect::<Vec<_>>());
            return Some(Line { block: kept.block, ..head });
        }
        let from_files = line.args().len() == 2 || line.option("load").is_some();
        if from_files || line.is("tls internal") {
            return Some(kept);
        }
        let head = self.with(line, &["tls".to_owned(), "internal".to_owned()]);
        Some(Line { block: kept.block, ..head })
    }
}
