//! Of several servers behind a cache the one that fails is named; and what a cache sends as a good answer in the place of an error.

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
