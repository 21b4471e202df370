//! Groups of two servers of which one is not there: as many requests at once are served as the limit of the copy says, which leaves that one out.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use genkai_model::limit::Law;
use genkai_model::plan::ConfigSource;
use genkai_place::machine;
use genkai_targets::catalog::prepare;
use genkai_targets::product::Prepare;
use socket2::{Domain, Socket, Type};

use crate::stage::{Backend, Client, held};

/// How long requests come before it counts: until checks and failures have told who is there.
const BEFORE: Duration = Duration::from_millis(1500);

/// An address where nobody listens, and nobody else can: bound, and no listener.
fn nobodys() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// From how many on the first waits or fails by a law, and how many fit at best; none: it tells no number.
fn told(law: &Law) -> Option<(usize, usize)> {
    match *law {
        Law::Slots { value, soft, .. } => Some(((value * soft).round() as usize, value as usize)),
        Law::Workers { workers, .. } => Some((workers as usize, workers as usize)),
        Law::Growing { least, most, .. } => Some((least as usize, most as usize)),
        _ => None,
    }
}

/// What the limit `id` says of a configuration in which `HERE` and `GONE` stand for two servers, and how many requests at once were served, after some that
/// came before; of those, how many failed.
fn seen(product: &str, text: &str, id: &str) -> (Option<(usize, usize)>, usize, usize) {
    let (backend, (_held, gone)) = (Backend::start(), nobodys());
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = dir.path().join("main.conf");
    let port = |address: SocketAddr| address.port().to_string();
    let text = text.replace("HERE", &port(backend.address())).replace("GONE", &port(gone));
    std::fs::write(&file, &text).unwrap();
    let none = BTreeMap::new();
    let source = ConfigSource::File(file);
    let copy = prepare(product, Prepare::plain(source, &none, dir.path().join("private"))).unwrap();
    let limits = copy.limits(&machine::environment(BTreeMap::new()));
    let limit = limits.iter().find(|limit| limit.id == id).unwrap_or_else(|| panic!("{product}: no {id}\n{text}"));
    assert!(limit.formula.contains("nobody listens at "), "{}", limit.formula);
    let running = copy.start(None).unwrap();
    let (begun, mut failed) = (Instant::now(), 0);
    while begun.elapsed() < BEFORE {
        let answer = Client::ask(running.address(), "/").map(Client::text).unwrap_or_default();
        failed += usize::from(!answer.ends_with("hello"));
        std::thread::sleep(Duration::from_millis(20));
    }
    let law = told(&limit.law);
    let most = law.map_or(12, |(_, high)| high + high / 10 + 2);
    let here = held(std::slice::from_ref(&backend), running.address(), most).len();
    backend.hold(false);
    running.stop();
    (law, here, failed)
}

fn is_here(program: &str) -> bool {
    let here = ["/usr/sbin", "/usr/bin"].iter().any(|folder| std::path::Path::new(folder).join(program).is_file());
    if !here {
        genkai_tidy::noted::skipped(&format!("{program} is not installed"));
    }
    here
}

#[test]
fn haproxy_serves_as_many_as_those_that_its_check_finds() {
    if !is_here("haproxy") {
        return;
    }
    let with = |of_all: &str, more: &str| {
        format!(
            "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  timeout queue 20s\n{of_all}frontend f\n  bind 127.0.0.1:80\n  \
             default_backend b\nbackend b\n{more}  server a 127.0.0.1:HERE maxconn 4 check\n  server z localhost:GONE maxconn 9 check\n"
        )
    };
    // One failure is enough at the beginning, whatever `fall` says, and comes within `fastinter`.
    for (of_all, more) in
        [("", "  default-server inter 200ms fall 9\n"), ("  default-server inter 9s fastinter 300ms\n", "")]
    {
        let (law, here, failed) = seen("haproxy", &with(of_all, more), "haproxy.server.maxconn");
        assert_eq!(failed, 0, "{of_all}{more}: no request came before the check had taken it out");
        assert_eq!((law, here), (Some((4, 4)), 4), "{of_all}{more}");
    }
}

#[test]
fn haproxy_serves_as_many_as_those_to_which_goes_what_another_refuses() {
    if !is_here("haproxy") {
        return;
    }
    for balance in ["", "  balance static-rr\n"] {
        let text = format!(
            "defaults\n  mode http\n  option redispatch\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\nfrontend f\n  bind 127.0.0.1:80\n  \
             default_backend b\nbackend b\n{balance}  server a 127.0.0.1:HERE maxconn 4\n  server z localhost:GONE maxconn 9\n"
        );
        let (law, here, failed) = seen("haproxy", &text, "haproxy.server.maxconn");
        assert_eq!((law, here, failed), (Some((4, 4)), 4, 0), "{balance}");
    }
}

#[test]
fn caddy_serves_as_many_as_those_that_it_does_not_hold_for_down() {
    if !is_here("caddy") {
        return;
    }
    let with =
        |inside: &str| format!("http://:80 {{\n\treverse_proxy 127.0.0.1:HERE localhost:GONE {{\n{inside}\t}}\n}}\n");
    let transport = "\t\ttransport http {\n\t\t\tmax_conns_per_host 5\n\t\t}\n";
    let (count, connections) = ("caddy.unhealthy_request_count", "caddy.max_conns_per_host");
    for (inside, id, most) in [
        ("\t\tunhealthy_request_count 4\n\t\tfail_duration 30s\n", count, 4),
        (
            "\t\tunhealthy_request_count 4\n\t\tfail_duration 30s\n\t\tmax_fails 3\n\t\tlb_policy round_robin\n",
            count,
            4,
        ),
        ("\t\tunhealthy_request_count 4\n\t\tmax_fails 1\n\t\thealth_uri /up\n\t\tlb_policy least_conn\n", count, 4),
        (&format!("\t\tfail_duration 30s\n{transport}"), connections, 5),
        (&format!("\t\thealth_uri /up\n{transport}"), connections, 5),
    ] {
        let (law, here, _) = seen("caddy", &with(inside), id);
        assert_eq!((law, here), (Some((most, most)), most), "{inside}");
    }
    // Nothing keeps requests from there: a part of them fails at any load, and no number is told.
    let (law, _, failed) =
        seen("caddy", &with("\t\tunhealthy_request_count 4\n\t\tmax_fails 1\n\t\tlb_policy round_robin\n"), count);
    assert!(law.is_none() && failed > 5, "{law:?} {failed}");
}

#[test]
fn squid_serves_as_many_as_its_peers_that_are_there() {
    if !is_here("squid") {
        return;
    }
    for way in ["round-robin", "", "carp"] {
        let text = format!(
            "http_port 80 accel defaultsite=localhost no-vhost\nhttp_access allow all\ncache deny all\nserver_persistent_connections off\n\
             cache_peer 127.0.0.1 parent HERE 0 no-query no-digest originserver {way} name=a max-conn=5\n\
             cache_peer localhost parent GONE 0 no-query no-digest originserver {way} name=b max-conn=7\n"
        );
        let (law, here, failed) = seen("squid", &text, "squid.max_conn");
        assert_eq!((law, here, failed), (Some((5, 5)), 5, 0), "{way}");
    }
}

#[test]
fn apache_serves_as_many_as_members_that_are_there_have_connections() {
    if !is_here("apache2") {
        return;
    }
    let modules =
        ["mpm_event", "authz_core", "proxy", "proxy_http", "slotmem_shm", "proxy_balancer", "lbmethod_byrequests"];
    let load =
        modules.map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")).concat();
    let with = |here: &str, gone: &str| {
        format!(
            "ServerName main\nListen 80\n{load}User www-data\nGroup www-data\nStartServers 1\nServerLimit 1\nThreadsPerChild 30\nMaxRequestWorkers 30\n\
             <Proxy balancer://b>\nBalancerMember http://127.0.0.1:HERE max=5 {here}\nBalancerMember http://localhost:GONE max=7 {gone}\n</Proxy>\n\
             ProxyPass / balancer://b/\n"
        )
    };
    for (here, gone) in [("", ""), ("", "retry=0"), ("acquire=300", "acquire=300"), ("", "loadfactor=9")] {
        let (law, seen, failed) = seen("apache", &with(here, gone), "apache.BalancerMember.max");
        assert_eq!((law, seen, failed), (Some((5, 5)), 5, 0), "{here} {gone}");
    }
    // It is asked all the same: a part of the requests fails at any load, and no number is told.
    let (law, _, failed) = seen("apache", &with("", "status=+I"), "apache.BalancerMember.max");
    assert!(law.is_none() && failed > 5, "{law:?} {failed}");
}
