//! Good answers that are none of the backend's: an error's document, a changed status, an answer of the product's own; servers that are down.

use super::*;
use crate::harness::Run;

/// Good answers that stood for errors, and all good answers, of a run of Apache with these lines before a server that fails at 3 of 10 requests, and one that does not.
fn hidden(lines: &str) -> Option<(u64, u64)> {
    let ((_ill, ill), (_well, well)) = (scripted(ILL), scripted(WELL));
    let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let modules: String = ["mpm_event", "authz_core", "proxy", "proxy_http"].iter().map(|name| load(name)).collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("httpd.conf");
    let text = format!(
        "{modules}Listen 80\nProxyPass /sorry http://{well}/\nProxyPass /closed http://127.0.0.1:9/\nProxyPass / http://{ill}/\n{lines}\n"
    );
    std::fs::write(&file, text).unwrap();
    let path = if lines.contains("503") { "/closed" } else { "/app/" };
    let mut tune = genkai("tune apache --spawn-rate 20 --quick --quiet --users 20");
    let run = told(tune.args(["--path", path]).arg("--config").arg(&file));
    let told = run.verdict().caveats.iter().find_map(|caveat| match caveat {
        Caveat::HiddenErrors { responses, hidden, .. } => Some((*hidden, *responses)),
        _ => None,
    });
    let said = run.says()[0].contains("good answers were sent in the place of an error");
    assert_eq!(said, told.is_some(), "{}", run.story());
    told
}

#[test]
fn errors_that_apache_sends_as_another_servers_good_answers_are_told() {
    let _machine = machine();
    // Where the page's own path has it too, httpd keeps the error's status.
    let (hidden, responses) =
        hidden("<Location /app>\nProxyErrorOverride On\n</Location>\nErrorDocument 500 /sorry").unwrap();
    assert!(hidden > responses / 5 && hidden < responses / 2, "3 in 10: {hidden} of {responses}");
}

#[test]
fn clients_that_apache_leads_elsewhere_instead_of_an_error_are_told_of() {
    let _machine = machine();
    let (hidden, responses) = hidden("ErrorDocument 503 https://else.example/sorry").unwrap();
    assert!(hidden > responses / 2 && hidden <= responses, "all of them: {hidden} of {responses}");
}

/// That the server `gone` was down, of a run in which everything held.
fn is_told_as_down(product: &str, text: &str, written: fn(&str) -> String, server: impl Fn(&str) -> String) {
    // Nobody listens there, and no other test gets that port.
    let gone = "127.0.0.1:9";
    let (_well, well) = scripted(WELL);
    let (run, _) = two_servers(product, text, [&written(&well), &written(gone)]);
    let verdict = run.verdict();
    assert_eq!((run.code, verdict.because()), (Some(0), Because::ObjectiveHolds), "{}", run.story());
    let down: Vec<_> = verdict
        .caveats
        .iter()
        .filter_map(|caveat| match caveat {
            Caveat::MemberDown { server, down, looks, .. } => Some((server.clone(), *down, *looks)),
            _ => None,
        })
        .collect();
    let [(name, down, looks)] = &down[..] else { panic!("{}", run.story()) };
    assert!(*name == server(gone) && *down > looks / 2 && down <= looks, "{}", run.story());
    assert!(run.says().iter().any(|says| says.contains("out of use")), "{}", run.story());
}

#[test]
fn a_server_of_haproxy_that_is_down_while_everything_holds_is_told() {
    let _machine = machine();
    let text = TWO_OF_HAPROXY.replace(
        "server one {one}\n  server two {two}",
        "option redispatch 1\n  server one {one} check\n  server two {two} check inter 200ms",
    );
    is_told_as_down("haproxy", &text, str::to_owned, |_| "two".to_owned());
}

#[test]
fn a_server_of_nginx_that_is_down_while_everything_holds_is_told() {
    let _machine = machine();
    is_told_as_down("nginx", TWO_OF_NGINX, str::to_owned, str::to_owned);
}

#[test]
fn a_member_of_apache_that_is_down_while_everything_holds_is_told() {
    let _machine = machine();
    let text = TWO_OF_APACHE.replace("{modules}", "/usr/lib/apache2/modules");
    is_told_as_down("apache", &text, str::to_owned, |address| format!("http://{address}"));
}

/// Without a probe Varnish asks a dead backend each time.
#[test]
fn a_backend_of_varnish_that_is_sick_while_everything_holds_is_told() {
    let _machine = machine();
    let probed =
        "probe p { .url = \"/\"; .interval = 300ms; .timeout = 200ms; .window = 3; .threshold = 2; .initial = 1; }\n";
    let backend =
        |name: &str| format!("backend {name} {{ .host = \"127.0.0.1\"; .port = \"{{{name}}}\"; .probe = p; }}\n");
    let text = format!(
        "vcl 4.1;\nimport directors;\n{probed}{}{}sub vcl_init {{ new d = directors.round_robin(); d.add_backend(one); d.add_backend(two); }}\n\
         sub vcl_recv {{ set req.backend_hint = d.backend(); return (pass); }}\n",
        backend("one"),
        backend("two")
    );
    is_told_as_down("varnish", &text, |address| address.rsplit(':').next().unwrap().to_owned(), |_| "two".to_owned());
}

/// A run of HAProxy with these lines in its frontend and in its backend, where everything holds.
fn held_by_haproxy(front: &str, back: &str, server: &str, users: u32) -> Run {
    let (_server, server) = scripted(server);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haproxy.cfg");
    let text = format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  timeout server 9s\nfrontend f\n  bind 127.0.0.1:80\n{front}  \
         default_backend b\nbackend b\n{back}  server s {server}\n"
    );
    std::fs::write(&file, text).unwrap();
    let flags = format!("tune haproxy --spawn-rate 20 --quick --quiet --users {users} --config");
    let run = told(genkai(&flags).arg(&file));
    assert_eq!((run.code, run.verdict().because()), (Some(0), Because::ObjectiveHolds), "{}", run.story());
    run
}

#[test]
fn errors_whose_status_haproxy_changes_are_told() {
    let _machine = machine();
    let run = held_by_haproxy("", "  http-response set-status 200 if { status 500 }\n", ILL, 20);
    let hidden = run.verdict().caveats.iter().find_map(|caveat| match caveat {
        Caveat::HiddenErrors { responses, hidden, .. } => Some((*responses, *hidden)),
        _ => None,
    });
    let (responses, hidden) = hidden.unwrap_or_else(|| panic!("{}", run.story()));
    assert!(hidden > responses / 5 && hidden < responses / 2, "3 in 10: {hidden} of {responses}");
    assert!(run.says()[0].contains("good answers were sent in the place of an error"), "{}", run.story());
}

#[test]
fn answers_that_haproxy_gives_itself_when_it_is_busy_are_told() {
    let _machine = machine();
    let busy = "  http-request return status 200 content-type text/plain string busy if { fe_conn gt 10 }\n";
    let run = held_by_haproxy(busy, "", "fixed --time 0.05", 30);
    let few = run.verdict().caveats.iter().find_map(|caveat| match caveat {
        Caveat::AnsweredBefore { responses, served, .. } => Some((*responses, *served)),
        _ => None,
    });
    let (responses, served) = few.unwrap_or_else(|| panic!("{}", run.story()));
    assert!(served > 0 && served < responses / 2, "{}", run.story());
    assert!(run.says()[0].contains("requests answered by the backend"), "{}", run.story());
}

/// nginx that serves a page of 3,000 bytes until it has some connections, and another answer from there on.
fn page_until_busy(listen: &str) -> String {
    let page = "x".repeat(3_000);
    format!(
        "map $connections_active $busy {{ default 1; ~^[1-9]$ 0; ~^1[0-9]$ 0; }}\n  server {{\n    listen {listen};\n    location / {{\n      \
         if ($busy) {{ return 200 busy; }}\n      return 200 {page};\n    }}\n  }}"
    )
}

/// What a run told of answers that became others: bytes at first and in the end.
fn changed(run: &Run) -> Option<(f64, f64)> {
    run.verdict().caveats.iter().find_map(|caveat| match caveat {
        Caveat::AnswersChanged { first, last, .. } => Some((first.bytes, last.bytes)),
        _ => None,
    })
}

#[test]
fn answers_that_become_shorter_when_the_server_is_busy_are_told() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let text = format!("events {{ worker_connections 512; }}\nhttp {{\n  {}\n}}\n", page_until_busy("8080"));
    std::fs::write(&file, text).unwrap();
    let tune = |users: u32| {
        let flags = format!("tune nginx --spawn-rate 20 --quick --quiet --users {users} --config");
        told(genkai(&flags).arg(&file))
    };
    let run = tune(40);
    assert_eq!((run.code, run.verdict().because()), (Some(0), Because::ObjectiveHolds), "{}", run.story());
    let (first, last) = changed(&run).unwrap_or_else(|| panic!("{}", run.story()));
    assert!(first > 3_000.0 && last < 1_000.0, "{first} {last}");
    let says = run.says();
    assert!(says[0].contains("at first are of") && !says[0].contains("No change needed"), "{says:?}");
    let few = tune(10);
    assert_eq!(changed(&few), None, "{}", few.story());

    let [port] = harness::servers::free();
    let own = tempfile::tempdir().unwrap();
    let http = format!("access_log off; {}", page_until_busy(&format!("127.0.0.1:{port}")));
    let _nginx = harness::servers::nginx(own.path(), &http, port);
    let load = told(&genkai(&format!("load http://127.0.0.1:{port} --users 40 --spawn-rate 20 --duration 4s --quiet")));
    let (first, last) = changed(&load).unwrap_or_else(|| panic!("{}", load.story()));
    assert!(first > 3_000.0 && last < 1_000.0, "{first} {last}");
    assert!(load.says().iter().any(|said| said.contains("answers became shorter")), "{}", load.story());
}
