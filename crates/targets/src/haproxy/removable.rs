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
    let mut all = removable::once(
        free.map(|found| Removable::of(found.file, config.file(found.file), &found.span, &written(found))),
    );
    all.sort_by_key(|one| (one.file, one.line));
    all
}

#[cfg(test)]
mod tests {
    use super::super::config::Reading;
    use super::*;

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
