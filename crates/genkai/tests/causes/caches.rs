//! Of several servers behind a cache the one that fails is named; and what a cache sends as a good answer in the place of an error.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

const TWO_OF_SQUID: &str = "http_port 80 accel defaultsite=localhost no-vhost\naccess_log none\ncache deny all\ncache_peer {one} 0 no-query no-digest \
                            originserver round-robin name=one\ncache_peer {two} 0 no-query no-digest originserver round-robin \
                            name=two\nhttp_access allow all\n";

#[test]
fn the_peer_of_squid_that_answers_with_errors_is_named() {
    let _machine = machine();
    let ((_well, well), (_ill, ill)) = (scripted(WELL), scripted(ILL));
    let peer = |address: &str| address.replace(':', " parent ");
    let (run, file) = two_servers("squid", TWO_OF_SQUID, [&peer(&well), &peer(&ill)]);
    answered_by(&run, "squid.server.answers.two", (&file, 5));
    assert_eq!(run.verdict().causes[0].limit.value, ill);
    assert!(run.says().iter().any(|says| says.contains("server two gave")), "{}", run.story());
}

const TWO_OF_VARNISH: &str = "vcl 4.1;\nimport directors;\nbackend one { .host = \"127.0.0.1\"; .port = \"{one}\"; }\nbackend two { .host = \"127.0.0.1\"; \
                              .port = \"{two}\"; }\nsub vcl_init { new d = directors.round_robin(); d.add_backend(one); d.add_backend(two); }\nsub vcl_recv { \
                              set req.backend_hint = d.backend(); return (pass); }\n";

fn port(address: &str) -> &str {
    address.rsplit(':').next().unwrap()
}

#[test]
fn the_backend_of_varnish_that_answers_with_errors_is_named() {
    let _machine = machine();
    let ((_well, well), (_ill, ill)) = (scripted(WELL), scripted(ILL));
    let (run, file) = two_servers("varnish", TWO_OF_VARNISH, [port(&well), port(&ill)]);
    answered_by(&run, "varnish.server.answers.two", (&file, 4));
    assert_eq!(run.verdict().causes[0].limit.value, ill);
    assert!(run.says().iter().any(|says| says.contains("server two gave")), "{}", run.story());
}

/// How many good answers stood for errors, of how many.
fn hidden(run: &harness::Run) -> (u64, u64) {
    let told = run.verdict().caveats.iter().find_map(|caveat| match caveat {
        Caveat::HiddenErrors { responses, hidden, .. } => Some((*hidden, *responses)),
        _ => None,
    });
    told.unwrap_or_else(|| panic!("{}", run.story()))
}

#[test]
fn errors_of_caddy_that_a_route_answers_well_are_told() {
    let _machine = machine();
    // Below the ports that listeners of other tests get.
    let closed = "127.0.0.1:9";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Caddyfile");
    let text = format!(":80 {{\n\treverse_proxy {closed}\n\thandle_errors {{\n\t\trespond \"sorry\" 200\n\t}}\n}}\n");
    std::fs::write(&file, text).unwrap();
    let run = told(genkai("tune caddy --spawn-rate 20 --quick --quiet --users 20 --config").arg(&file));
    let (hidden, responses) = hidden(&run);
    assert!(hidden > responses / 2 && hidden <= responses, "all of them: {}", run.story());
}

#[test]
fn errors_that_a_vcl_makes_good_answers_of_are_told() {
    let _machine = machine();
    let (_ill, ill) = scripted(ILL);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("default.vcl");
    let text = format!(
        "vcl 4.1;\nbackend b {{ .host = \"127.0.0.1\"; .port = \"{}\"; }}\nsub vcl_recv {{ return (pass); }}\nsub vcl_backend_response {{ \
         if (beresp.status == 500) {{ set beresp.status = 200; }} }}\n",
        port(&ill)
    );
    std::fs::write(&file, text).unwrap();
    let run = told(genkai("tune varnish --spawn-rate 20 --quick --quiet --users 20 --config").arg(&file));
    let (hidden, responses) = hidden(&run);
    assert!(hidden > responses / 5 && hidden < responses / 2, "3 in 10: {}", run.story());
}

/// What a VCL makes fetched one after another: `beresp.uncacheable` without a time for which that is remembered.
#[test]
fn requests_that_varnish_fetches_one_after_another_are_told() {
    let _machine = machine();
    let (_well, well) = scripted(WELL);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("default.vcl");
    let run_with = |ttl: &str, objective: &str| {
        let text = format!(
            "vcl 4.1;\nbackend b {{ .host = \"127.0.0.1\"; .port = \"{}\"; }}\nsub vcl_backend_response {{ set beresp.ttl = {ttl}; set \
             beresp.uncacheable = true; return (deliver); }}\n",
            port(&well)
        );
        std::fs::write(&file, text).unwrap();
        let tune = format!(
            "tune varnish --spawn-rate 20 --hold 3s --pairs 0 --quick --quiet --users 40 --objective {objective} --config"
        );
        told(genkai(&tune).arg(&file))
    };
    let id = "varnish.requests_for_one_object";
    let run = run_with("0s", "errors<0.1%");
    assert_eq!(run.verdict().next.map(|next| next.limit), Some(id.to_owned()), "{}", run.story());
    assert!(run.says()[0].contains(&format!("requests wait at {id}")), "{}", run.story());
    let run = run_with("0s", "p99<500ms");
    only_cause(&run, id);
    let run = run_with("60s", "errors<0.1%");
    assert_ne!(run.verdict().next.map(|next| next.limit), Some(id.to_owned()), "{}", run.story());
}

/// Apache that keeps what the backend sends on disk: a private copy does, too, as the user of its children, in a folder like the user's.
#[test]
fn a_private_copy_of_apache_caches_on_disk_as_the_users_server_does() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("cache");
    std::fs::create_dir(&root).unwrap();
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o777)).unwrap();
    let modules = "/usr/lib/apache2/modules";
    let names = ["mpm_event", "authz_core", "proxy", "proxy_http", "cache", "cache_disk"];
    let loads: String = names.map(|name| format!("LoadModule {name}_module {modules}/mod_{name}.so\n")).concat();
    let file = dir.path().join("httpd.conf");
    let answered = |root: &Path| {
        let text = format!(
            "{loads}User www-data\nGroup www-data\nServerName localhost\nListen 8080\nCacheRoot {}\nCacheEnable disk /\n\
             CacheIgnoreNoLastMod On\nCacheDefaultExpire 60\nCacheIgnoreCacheControl On\nProxyPass / http://127.0.0.1:9/\n",
            root.display()
        );
        std::fs::write(&file, text).unwrap();
        let flags = "tune apache --backend embedded --backend-time 5ms --spawn-rate 20 --users 10 --hold 2s --quick --quiet --config";
        let run = told(genkai(flags).arg(&file));
        run.verdict().caveats.iter().any(|caveat| matches!(caveat, Caveat::AnsweredBefore { .. }))
    };
    assert!(answered(&root), "most is answered by the cache");
    assert!(!answered(&dir.path().join("none")), "where the user's server finds no folder, neither does the copy");
}
