//! Lines in force for a request that may be left out: those of its site, of the blocks in which something answers, and of what passes requests on; the
//! options of its server; but for what makes it a server before these upstreams.

use super::config::{Config, Line, Site, Word};
use super::route::{Route, is_own, matcher};
use crate::files::{Removable, Requests, removable};

/// Directives that stay: where it listens, certificates, logs, files that it serves.
const KEPT: [&str; 13] = [
    "acme_server",
    "bind",
    "file_server",
    "fs",
    "log",
    "log_append",
    "log_name",
    "log_skip",
    "metrics",
    "root",
    "skip_log",
    "tls",
    "tracing",
];
/// What stays of those that pass requests on: whom to, what files, how upstreams and certificates are spoken of.
const PROXY: [&str; 9] =
    ["dynamic", "env", "index", "resolve_root_symlink", "resolvers", "root", "split", "to", "try_files"];
/// What stays of how they do it.
const TRANSPORT: [&str; 9] = [
    "env",
    "forward_proxy_url",
    "network_proxy",
    "resolve_root_symlink",
    "resolvers",
    "root",
    "split",
    "tls",
    "tls_insecure_skip_verify",
];
/// What stays of the options of a server.
const SERVER: [&str; 4] = ["listener_wrappers", "logs", "name", "protocols"];
/// Blocks that stay where something in them answers.
const AROUND: [&str; 3] = ["handle", "handle_path", "route"];
/// What answers there.
const ANSWERS: [&str; 4] = ["file_server", "invoke", "php_fastcgi", "reverse_proxy"];

/// Directives, parameters and options that decide who may ask for what, whose word is taken for who asks, or whom it takes for what stands behind.
const PROTECTS: [&str; 12] = [
    "basic_auth",
    "basicauth",
    "client_ip_headers",
    "forward_auth",
    "handle_response",
    "strict_sni_host",
    "tls_client_auth",
    "tls_server_name",
    "tls_trust_pool",
    "tls_trusted_ca_certs",
    "trusted_proxies",
    "trusted_proxies_strict",
];

/// The lines that may be left out for these requests, in the order in which they are written.
pub(super) fn all(config: &Config, requests: &Requests) -> Vec<Removable> {
    let Some(route) = Route::find(config, requests) else { return Vec::new() };
    let mut free = Free { config, route: &route, matchers: Vec::new(), invoked: Vec::new(), found: Vec::new() };
    free.options();
    free.lines(&route.site.lines, false);
    route.again(config).into_iter().for_each(|site| free.lines(&site.lines, false));
    let spans = config.spans();
    let of = |(line, protects): &(&Line, bool)| {
        let file = line.words.first()?.file;
        let one = Removable::of(file, config.file(file), spans.of(line)?, &config.written(line));
        Some(one.protecting(*protects))
    };
    let mut all = removable::once(free.found.iter().filter_map(of));
    all.sort_by_key(|one| (one.file, one.line));
    all
}

/// What is found on the way.
struct Free<'c, 'r> {
    config: &'c Config,
    route: &'r Route<'c>,
    /// Where named matchers are defined.
    matchers: Vec<&'c Line>,
    /// Routes with a name that were gone through.
    invoked: Vec<&'c Site>,
    /// Lines that may be left out, each with whether it protects.
    found: Vec<(&'c Line, bool)>,
}

impl<'c> Free<'c, '_> {
    /// Options of the server of this listener.
    fn options(&mut self) {
        let port = format!(":{}", self.route.address.port);
        let is_own = |line: &&Line| line.is("servers") && line.arg(0).is_none_or(|word| word.value.ends_with(&port));
        let servers = self.config.global().into_iter().flat_map(Line::inside).filter(is_own);
        for line in servers.flat_map(Line::inside).filter(|line| !SERVER.contains(&line.name())) {
            match line.is("timeouts") {
                true => line.inside().iter().for_each(|one| self.take(one, false)),
                false => self.take(line, false),
            }
        }
    }

    /// Directives of a block; `asks`: it is for some only, by more than an address.
    fn lines(&mut self, lines: &'c [Line], asks: bool) {
        self.matchers.extend(lines.iter().filter(|line| line.name().starts_with('@')));
        let skipped = &self.route.skipped;
        for line in lines.iter().filter(|line| !skipped.iter().any(|one| std::ptr::eq(*one, *line))) {
            match line.name() {
                name if name.starts_with('@') || KEPT.contains(&name) => {}
                "reverse_proxy" | "php_fastcgi" => self.proxy(line),
                "invoke" => self.invoke(line, asks),
                name if AROUND.contains(&name) && holds_answer(line) => {
                    let asks = asks || self.asks(line);
                    self.lines(line.inside(), asks);
                }
                // What a plug-in's is for is not known: it may be an access control.
                name if !is_own(name) => self.found.push((line, true)),
                _ => self.take(line, asks),
            }
        }
    }

    /// What passes requests on stays; its parameters may be left out.
    fn proxy(&mut self, line: &'c Line) {
        for inner in line.inside().iter().filter(|inner| !PROXY.contains(&inner.name())) {
            match inner.name() {
                name if name.starts_with('@') => {}
                "transport" => {
                    let free = inner.inside().iter().filter(|one| !TRANSPORT.contains(&one.name()));
                    free.for_each(|one| self.take(one, false));
                }
                _ => self.take(inner, false),
            }
        }
    }

    /// A route with a name, once.
    fn invoke(&mut self, line: &Line, asks: bool) {
        let name = line.args().get(usize::from(matcher(line).is_some())).map(|word| format!("&({})", word.value));
        let config = self.config;
        let route = config.sites().iter().find(|site| Some(site.head.name()) == name.as_deref());
        let Some(route) = route.filter(|one| !self.invoked.iter().any(|other| std::ptr::eq(*other, *one))) else {
            return;
        };
        self.invoked.push(route);
        let asks = asks || self.asks(line);
        self.lines(&route.lines, asks);
    }

    fn take(&mut self, line: &'c Line, asks: bool) {
        let protects = self.protects(line, asks);
        self.found.push((line, protects));
    }

    /// Whether it decides who may ask for what: by its name, by what it answers (a block: by what stands in it), or as what may lead some to a login.
    fn protects(&self, line: &Line, asks: bool) -> bool {
        let asks = asks || self.asks(line);
        match line.name() {
            "abort" => true,
            "respond" | "error" => status(line).is_some_and(|of| (400..500).contains(&of) || of == 503 && asks),
            "redir" => asks,
            name if AROUND.contains(&name) => line.inside().iter().any(|inner| self.protects(inner, asks)),
            // What a field that clients may send stands for is known to who takes it away, but for those of the connection.
            "request_header" | "header_up" => line.args().iter().any(|word| {
                let field = word.value.strip_prefix('-').map(str::to_ascii_lowercase);
                field.is_some_and(|field| !["upgrade", "connection"].contains(&field.as_str()))
            }),
            name => PROTECTS.contains(&name),
        }
    }

    /// Whether its matcher asks for more than an address: what is asked for, of whom, and by which scheme.
    fn asks(&self, line: &Line) -> bool {
        let Some(name) = matcher(line).filter(|name| name.starts_with('@')) else { return false };
        let Some(defined) = self.matchers.iter().rev().find(|one| one.name() == name) else { return true };
        match defined.args() {
            [] => defined.inside().iter().any(|line| asks_for(&line.words, line.inside())),
            words => asks_for(words, defined.inside()),
        }
    }
}

/// Whether these words of a matcher do.
fn asks_for(words: &[Word], inside: &[Line]) -> bool {
    match words.first().map(|word| word.value.as_str()) {
        Some("host" | "path" | "path_regexp" | "protocol") => false,
        Some("not") if words.len() > 1 => asks_for(&words[1..], inside),
        Some("not") => inside.iter().any(|line| asks_for(&line.words, line.inside())),
        _ => true,
    }
}

/// Whether something in a block answers that stays.
fn holds_answer(line: &Line) -> bool {
    line.inside().iter().any(|inner| ANSWERS.contains(&inner.name()) || holds_answer(inner))
}

/// The status that `respond` and `error` name (modules/caddyhttp/staticresp.go, staticerror.go: UnmarshalCaddyfile).
fn status(line: &Line) -> Option<u16> {
    let word = line.args().iter().skip(usize::from(matcher(line).is_some())).next_back()?;
    word.value.parse().ok().filter(|_| word.value.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::super::config::Variables;
    use super::*;

    fn config(text: &str) -> Config {
        Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap()
    }

    /// What may be left out for requests of `/`.
    fn told(text: &str) -> Vec<(usize, String, bool)> {
        let all = all(&config(text), &Requests::to("localhost", "/"));
        all.into_iter().map(|one| (one.line, one.written, one.protects)).collect()
    }

    const TEXT: &str = "{\n\temail a@b.c\n\tservers :80 {\n\t\ttimeouts {\n\t\t\tread_body 1s\n\t\t}\n\t\tmax_header_size 1\n\t\tprotocols \
                        h1\n\t}\n\tservers :81 {\n\t\tmax_header_size 2\n\t}\n}\n(app) {\n\treverse_proxy {args[0]} {\n\t\theader_up X {args[1]}\n\t\tlb_policy \
                        first\n\t\ttransport http {\n\t\t\tversions h2c\n\t\t\ttls\n\t\t}\n\t}\n}\n:80 {\n\tlog\n\t@bad header X-Bad *\n\thandle @bad \
                        {\n\t\trespond 500\n\t}\n\thandle /other {\n\t\tencode gzip\n\t\treverse_proxy b:1\n\t}\n\thandle {\n\t\troot * /srv\n\t\tencode \
                        zstd\n\t\timport app a:1 y\n\t}\n}\n:81 {\n\tencode gzip\n}\n";

    #[test]
    fn what_is_on_the_way_may_be_left_out() {
        let told: Vec<(usize, String)> = told(TEXT).into_iter().map(|(line, text, _)| (line, text)).collect();
        let expected = [
            (5, "read_body 1s"),
            (7, "max_header_size 1"),
            (16, "header_up X y"),
            (17, "lb_policy first"),
            (19, "versions h2c"),
            (27, "handle @bad"),
            (36, "encode zstd"),
        ];
        assert_eq!(told, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn what_is_left_out_is_gone_and_lines_keep_their_numbers() {
        let (config, requests) = (config(TEXT), Requests::to("localhost", "/"));
        let edits: Vec<_> = all(&config, &requests).into_iter().take(6).map(|one| one.edit).collect();
        let left = config.apply(&edits).unwrap();
        let told: Vec<(usize, String)> = all(&left, &requests).into_iter().map(|one| (one.line, one.written)).collect();
        assert_eq!(told, [(36, "encode zstd".to_owned())]);
        assert_eq!(
            left.file(super::super::config::FileId::MAIN).text.iter().filter(|byte| **byte == b'\n').count(),
            TEXT.lines().count()
        );
    }

    #[test]
    fn sites_that_it_leads_to_itself_and_routes_with_a_name_are_on_the_way() {
        let text = "&(r) {\n\tencode gzip\n\tinvoke r\n\treverse_proxy localhost:81\n}\n:80 {\n\tinvoke r\n\theader X y\n}\n:81 {\n\theader Z \
                    z\n\treverse_proxy h:1\n}\n:82 {\n\theader W w\n}\n";
        let told: Vec<String> = told(text).into_iter().map(|(_, text, _)| text).collect();
        assert_eq!(told, ["encode gzip", "header X y", "header Z z"]);
    }

    #[test]
    fn what_keeps_somebody_out_protects() {
        let guards = [
            "basicauth {\n\t\ta b\n\t}",
            "forward_auth a:1 {\n\t\turi /x\n\t}",
            "respond 403",
            "respond @h 503",
            "respond \"slow down\" 429",
            "error @h \"no\" 401",
            "abort @h",
            "redir @h /login",
            "handle @h {\n\t\trespond \"later\" 503\n\t}",
            "route {\n\t\terror 403\n\t}",
        ];
        let others = [
            "respond 503",
            "respond @p 503",
            "error 500",
            "redir @p /new",
            "header X 403",
            "handle @h {\n\t\trespond 500\n\t}",
            "request_header X y",
            "encode gzip",
        ];
        let protects = |line: &str| {
            let matchers = "@h header X y\n\t@p {\n\t\tpath /*\n\t\tnot path /q /r\n\t}";
            let told = told(&format!(":80 {{\n\t{matchers}\n\t{line}\n\treverse_proxy a:1\n}}\n"));
            let [(7, _, protects)] = told[..] else { panic!("{line}: {told:?}") };
            protects
        };
        for line in guards {
            assert!(protects(line), "{line}");
        }
        for line in others {
            assert!(!protects(line), "{line}");
        }
        let inside = "reverse_proxy a:1 {\n\t\t@ok status 2xx\n\t\thandle_response @ok {\n\t\t\trespond hi\n\t\t}\n\t\theader_up X y\n\t}";
        let told: Vec<_> =
            told(&format!(":80 {{\n\t{inside}\n}}\n")).into_iter().map(|(line, _, p)| (line, p)).collect();
        assert_eq!(told, [(4, true), (7, false)]);
    }
}
