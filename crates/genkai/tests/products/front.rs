//! What is in front, or behind, and cannot be used: one clear sentence each.

use genkai_model::finding::{Cause, Confidence};
use genkai_model::limit::Origin;

use crate::harness::judged::only_cause;
use crate::harness::servers::scripted;
use crate::harness::{genkai, machine, run};

/// The one message of a command that is refused before anything is started.
fn refused(arguments: &str) -> (Option<i32>, String) {
    let output = genkai(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_certificate_that_is_not_there_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("gone.pem");
    let file = dir.path().join("nginx.conf");
    let text = format!(
        "events {{}}\nhttp {{\n  server {{\n    listen 443 ssl;\n    ssl_certificate {0};\n    ssl_certificate_key {0};\n    location / {{ \
         proxy_pass http://127.0.0.1:9; }}\n  }}\n}}\n",
        gone.display()
    );
    std::fs::write(&file, text).unwrap();
    let (code, said) = refused(&format!("tune nginx --users 2 --backend embedded --config {}", file.display()));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains(&format!("{}:5", file.display())) && said.contains("gone.pem"), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
}

/// An address of this machine at which nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// That a product told once that it cannot reach what its file names on `line`, as a fault and as nothing else.
fn cannot_reach(product: &str, name: &str, text: &str, line: &str, (id, says): (&str, &str)) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    std::fs::write(&file, text).unwrap();
    let run =
        run(genkai(&format!("tune {product} --users 4 --spawn-rate 4 --quick --quiet --bisect 0 --config")).arg(&file));
    let told = run.says();
    let number = text.lines().position(|one| one.contains(line)).unwrap() + 1;
    let sentence =
        format!("{product} cannot reach its {says}").replacen("PLACE", &format!("({}:{number})", file.display()), 1);
    assert!(told[0].contains(&sentence), "{sentence}: {told:?}\n{}", run.story());
    assert!(!told[0].contains("limit") && run.verdict().proposal.is_empty(), "{told:?}");
    let causes: Vec<_> = run.verdict().causes.iter().map(|cause| (cause.limit.id.clone(), cause.limit.fault)).collect();
    assert_eq!(causes, [(id.to_owned(), true)], "{}", run.story());
}

/// HAProxy's file with this server.
fn haproxy(server: &str) -> String {
    format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\n\nfrontend www\n  bind :80\n  \
         default_backend app\n\nbackend app\n  server one {server}\n"
    )
}

#[test]
fn a_server_of_haproxy_at_which_nobody_listens_is_a_fault_and_no_limit() {
    let _machine = machine();
    let address = nobody();
    let says = format!("server one PLACE: nobody listens at {address}");
    for checked in ["", " check inter 500ms"] {
        let text = haproxy(&format!("{address}{checked}"));
        cannot_reach("haproxy", "haproxy.cfg", &text, "server one", ("haproxy.server.address", &says));
    }
}

#[test]
fn a_socket_of_haproxys_server_that_is_not_there_is_a_fault_and_no_limit() {
    let _machine = machine();
    let text = haproxy("unix@/nonexistent/gone.sock");
    let says = "server one PLACE: nobody listens on the socket";
    cannot_reach("haproxy", "haproxy.cfg", &text, "server one", ("haproxy.server.address", says));
}

/// nginx's file that passes to `target`.
fn nginx(groups: &str, target: &str) -> String {
    format!(
        "events {{}}\nhttp {{\n{groups}server {{\nlisten 80;\nlocation / {{\nproxy_pass http://{target};\n}}\n}}\n}}\n"
    )
}

#[test]
fn an_upstream_of_nginx_at_which_nobody_listens_is_a_fault_and_no_limit() {
    let _machine = machine();
    let address = nobody();
    let says = format!("upstream {address} PLACE: nobody listens at {address}");
    let told = ("nginx.upstream.address", says.as_str());
    cannot_reach("nginx", "nginx.conf", &nginx("", &address), "proxy_pass", told);
    let group = format!("upstream app {{\nserver {address};\n}}\n");
    cannot_reach("nginx", "nginx.conf", &nginx(&group, "app"), "server 127", told);
}

#[test]
fn a_socket_of_nginxs_upstream_that_is_not_there_is_a_fault_and_no_limit() {
    let _machine = machine();
    let group = "upstream app {\nserver unix:/nonexistent/gone.sock;\n}\n";
    let says = "upstream unix:/nonexistent/gone.sock PLACE: nobody listens on the socket /nonexistent/gone.sock";
    cannot_reach("nginx", "nginx.conf", &nginx(group, "app"), "server unix", ("nginx.upstream.address", says));
}

#[test]
fn of_two_upstreams_that_refuse_it_is_not_said_which_is_meant() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let group = format!("upstream app {{\nserver {};\nserver {};\n}}\n", nobody(), nobody());
    std::fs::write(&file, nginx(&group, "app")).unwrap();
    let run = run(genkai("tune nginx --users 4 --spawn-rate 4 --quick --quiet --bisect 0 --config").arg(&file));
    // That servers which failed are left alone is put to the test, and changes nothing.
    let named = |cause: &&Cause| cause.confidence != Confidence::Refuted;
    let causes: Vec<_> =
        run.verdict().causes.iter().filter(named).map(|cause| (cause.limit.id.clone(), cause.limit.fault)).collect();
    assert_eq!(causes, [("nginx.upstream".to_owned(), false)], "{}", run.story());
    assert!(run.verdict().proposal.is_empty(), "{}", run.story());
}

/// Apache's file with these lines.
fn apache(lines: &str) -> String {
    let modules = "/usr/lib/apache2/modules";
    format!(
        "LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n\
         LoadModule proxy_module {modules}/mod_proxy.so\nLoadModule proxy_http_module {modules}/mod_proxy_http.so\n\
         LoadModule slotmem_shm_module {modules}/mod_slotmem_shm.so\nLoadModule proxy_balancer_module {modules}/mod_proxy_balancer.so\n\
         LoadModule lbmethod_byrequests_module {modules}/mod_lbmethod_byrequests.so\nListen 8080\n{lines}\n"
    )
}

#[test]
fn a_backend_of_apache_at_which_nobody_listens_is_a_fault_and_no_limit() {
    let _machine = machine();
    let address = nobody();
    let says = format!("backend {address} PLACE: nobody listens at {address}");
    let told = ("apache.backend.address", says.as_str());
    cannot_reach("apache", "httpd.conf", &apache(&format!("ProxyPass / http://{address}/")), "ProxyPass", told);
    let members =
        format!("<Proxy balancer://app>\n  BalancerMember http://{address}\n</Proxy>\nProxyPass / balancer://app/");
    cannot_reach("apache", "httpd.conf", &apache(&members), "BalancerMember", told);
}

#[test]
fn a_socket_of_apaches_backend_that_is_not_there_is_a_fault_and_no_limit() {
    let _machine = machine();
    let text = apache("ProxyPass / unix:/nonexistent/gone.sock|http://localhost/");
    let says = "backend /nonexistent/gone.sock PLACE: nobody listens on the socket /nonexistent/gone.sock";
    cannot_reach("apache", "httpd.conf", &text, "ProxyPass", ("apache.backend.address", says));
}

#[test]
fn an_upstream_of_caddy_at_which_nobody_listens_is_a_fault_and_no_limit() {
    let _machine = machine();
    let address = nobody();
    let sites = |upstream: &str| format!("http://:80 {{\n\treverse_proxy {upstream}\n}}\n");
    let says = format!("upstream {address} PLACE: nobody listens at {address}");
    cannot_reach("caddy", "Caddyfile", &sites(&address), "reverse_proxy", ("caddy.upstream.address", &says));
    let says = "upstream unix//nonexistent/gone.sock PLACE: nobody listens on the socket /nonexistent/gone.sock";
    let text = sites("unix//nonexistent/gone.sock");
    cannot_reach("caddy", "Caddyfile", &text, "reverse_proxy", ("caddy.upstream.address", says));
}

/// One of two that refuses, and is asked all the same.
#[test]
fn the_upstream_of_several_that_refuses_is_named_with_its_line() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.005");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let gone = nobody();
    let group = format!(
        "upstream app {{\nserver {server} max_fails=0;\nserver {gone} max_fails=0;\n}}\nproxy_next_upstream off;\n"
    );
    let text = nginx(&group, "app");
    std::fs::write(&file, &text).unwrap();
    let run =
        run(genkai("tune nginx --users 20 --spawn-rate 20 --quick --quiet --pairs 0 --bisect 0 --config").arg(&file));
    let verdict = only_cause(&run, &format!("nginx.server.refuses.{gone}"));
    let line = text.lines().position(|line| line.contains(&gone)).unwrap() + 1;
    assert_eq!(verdict.causes[0].limit.origin, Origin::File { path: file, line }, "{}", run.story());
    let said = format!("the backend is: server {gone}, one of 2, refuses connections");
    assert!(run.says()[0].contains(&said), "{said}: {:?}", run.says());
}
