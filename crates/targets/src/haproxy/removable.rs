//! Lines in force for a request that may be left out: those of `global`, of its frontend and the backends it may come to, and of the `defaults`
//! that these inherit from, but for what makes it a proxy before these servers.

use super::config::{Config, Found, Section};
use super::route::Route;
use crate::files::{Removable, Requests, removable};

/// Keywords that stay: where it listens, whom it passes requests to, processes, logs, accounts.
const KEPT: [&str; 35] = [
    "bind",
    "ca-base",
    "chroot",
    "cluster-secret",
    "crt-base",
    "daemon",
    "default_backend",
    "description",
    "expose-fd",
    "gid",
    "group",
    "hard-stop-after",
    "localpeer",
    "log",
    "log-format",
    "log-tag",
    "lua-load",
    "lua-load-per-thread",
    "master-worker",
    "maxconn",
    "mode",
    "nbproc",
    "nbthread",
    "node",
    "pidfile",
    "presetenv",
    "resolvers",
    "server",
    "server-template",
    "set-dumpable",
    "setenv",
    "stats",
    "timeout",
    "uid",
    "user",
];

/// Actions of rules that keep somebody out, or count who is to be kept out.
const KEEPS_OUT: [&str; 7] = ["auth", "deny", "reject", "return", "silent-drop", "tarpit", "track-sc"];
/// Keywords that begin a rule: the action is the word after it, or after what it is about.
const RULES: [&str; 6] =
    ["http-after-response", "http-request", "http-response", "quic-initial", "tcp-request", "tcp-response"];
/// Keywords that decide who may ask for what by themselves, or are what such rules count in.
const PROTECTS: [&str; 3] = ["block", "ssl-server-verify", "stick-table"];

/// Whether a redirect leads some to another page: it may be the way to a login.
fn leads_away(words: &[&str]) -> bool {
    let asks = words.iter().any(|word| matches!(*word, "if" | "unless"));
    matches!(words, ["redirect", "location", ..]) && asks
}

/// Whether a line, of which these are the words, decides who may ask for what.
fn protects(words: &[&str]) -> bool {
    let keeps_out = |word: &&str| KEEPS_OUT.iter().any(|action| word.starts_with(action));
    match words {
        [keyword, rest @ ..] if RULES.contains(keyword) => rest.iter().take(2).any(keeps_out) || leads_away(rest),
        ["redirect", ..] => leads_away(words),
        // Whoever is asked by it may say who gets on.
        ["filter", what, ..] => *what == "spoe",
        [keyword, ..] => PROTECTS.contains(keyword),
        [] => false,
    }
}

/// The lines that may be left out for these requests, in the order in which they are written.
pub(super) fn all(config: &Config, requests: &Requests) -> Vec<Removable> {
    let Some(route) = Route::find(config, requests) else { return Vec::new() };
    let proxies = [Some(route.front), route.back].into_iter().flatten().chain(route.others.iter().copied());
    let mut sections: Vec<&Section> = config.sections().iter().filter(|section| section.kind == "global").collect();
    sections.extend(proxies.flat_map(|section| config.lineage(section)));
    let lines = sections.into_iter().flat_map(|section| config.inside(section));
    // Where it depends on more than the request which backend takes it, the others may get it anyhow.
    let doubted =
        |found: &Found| route.doubts.iter().any(|doubt| (doubt.file, &doubt.span) == (found.file, &found.span));
    let chooses = |found: &Found| found.is("use_backend") && !doubted(found);
    let free = lines.filter(|found| !KEPT.contains(&found.name()) && !chooses(found));
    let written = |found: &Found| config.text(found, &found.span);
    let mut all = removable::once(free.map(|found| {
        let one = Removable::of(found.file, config.file(found.file), &found.span, &written(found));
        let words: Vec<&str> = one.written.split(' ').collect();
        let protects = protects(&words);
        one.protecting(protects)
    }));
    all.sort_by_key(|one| (one.file, one.line));
    all
}

#[cfg(test)]
mod tests {
    use super::super::config::Reading;
    use super::*;

    #[test]
    fn what_keeps_somebody_out_protects() {
        let protects = |line: &str| super::protects(&line.split(' ').collect::<Vec<_>>());
        let guards = [
            "http-request deny if { src 127.0.0.1 }",
            "http-request auth unless { http_auth(users) }",
            "http-request tarpit deny_status 429",
            "http-request track-sc0 src",
            "tcp-request connection reject if bad",
            "tcp-request content silent-drop",
            "http-response return status 403",
            "stick-table type ip size 1m",
            "filter spoe engine x",
            "http-request redirect location /login unless { req.cook(session) -m found }",
            "redirect location /login if guest",
        ];
        assert!(guards.iter().all(|line| protects(line)));
        let others = [
            "http-request set-header X y",
            "balance leastconn",
            "filter compression",
            "option forwardfor",
            "acl a src 1.1.1.1",
            "http-request redirect scheme https unless { ssl_fc }",
            "redirect location /new",
        ];
        assert!(!others.iter().any(|line| protects(line)));
    }

    #[test]
    fn a_backend_that_is_chosen_by_the_load_may_be_left_out() {
        let text = "defaults\n mode http\nfrontend f\n bind :80\n acl many be_conn(b) gt 10\n use_backend c if many\n use_backend d if TRUE\n \
                    default_backend b\nbackend b\n server s 127.0.0.1:1\nbackend c\nbackend d\n";
        let reading = Reading { version: (2, 6, 12), ..Reading::default() };
        let config = Config::of_texts(vec![("/h".into(), text.as_bytes().to_vec())], reading).unwrap();
        let all = all(&config, &Requests::to("a", "/"));
        let told: Vec<&str> = all.iter().map(|one| one.written.as_str()).collect();
        assert_eq!(told, ["acl many be_conn(b) gt 10", "use_backend c if many"]);
    }

    #[test]
    fn what_is_on_the_way_may_be_left_out() {
        let text = "global\n maxconn 9\n tune.bufsize 16384\ndefaults\n mode http\n timeout client 1s\n option httplog\nfrontend f\n bind :80\n \
                    http-request deny if { src 127.0.0.1 }\n default_backend b\nbackend b\n balance leastconn\n server s 127.0.0.1:1\nbackend \
                    c\n balance first\n";
        let reading = Reading { version: (2, 6, 12), ..Reading::default() };
        let config = Config::of_texts(vec![("/h".into(), text.as_bytes().to_vec())], reading).unwrap();
        let all = all(&config, &Requests::to("a", "/"));
        let told: Vec<(usize, &str)> = all.iter().map(|one| (one.line, one.written.as_str())).collect();
        let expected = [
            (3, "tune.bufsize 16384"),
            (7, "option httplog"),
            (10, "http-request deny if { src 127.0.0.1 }"),
            (13, "balance leastconn"),
        ];
        assert_eq!(told, expected);
        let left = config.apply(&all.into_iter().map(|one| one.edit).collect::<Vec<_>>()).unwrap();
        assert_eq!(super::all(&left, &Requests::to("a", "/")), []);
    }
}
