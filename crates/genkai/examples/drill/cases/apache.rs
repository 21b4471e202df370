//! Faults of Apache.

use super::Behind::{Nobody, Pair, Scripted, Two};
use super::{AT_ONCE, Case, HANGS, KEPT, NO_NUMBER, SLOW, TWO_ENDS};

fn case(name: impl Into<String>, fault: impl Into<String>) -> Case {
    Case::of("apache", name, fault)
}

/// A configuration with a proxy and these lines.
fn conf(lines: &str) -> String {
    let modules = "/usr/lib/apache2/modules";
    format!(
        "LoadModule mpm_worker_module {modules}/mod_mpm_worker.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n\
         LoadModule status_module {modules}/mod_status.so\n\
         LoadModule proxy_module {modules}/mod_proxy.so\nLoadModule proxy_http_module {modules}/mod_proxy_http.so\n\
         User www-data\nGroup www-data\nListen 80\n{lines}\n"
    )
}

pub(super) fn cases() -> Vec<Case> {
    [workers(), clamped(), queues(), pools(), members(), times(), others()].into_iter().flatten().collect()
}

/// As many clients as workers, and some more.
const FULL: &str = "--users 120 --spawn-rate 15 --backend-time 200ms --timeout 8s";

fn workers() -> Vec<Case> {
    let one = |name: &str, fault: &str, flags: &str| {
        case(name, fault).flags(FULL).flags(flags).cause("apache.MaxRequestWorkers").off(HANGS)
    };
    vec![
        one("apache-workers", "MaxRequestWorkers 75 of the worker MPM", "--set mpm=worker --set MaxRequestWorkers=75"),
        one(
            "apache-workers-50",
            "MaxRequestWorkers 50 of the worker MPM",
            "--set mpm=worker --set MaxRequestWorkers=50",
        ),
        one(
            "apache-event-50",
            "MaxRequestWorkers 50 of the event MPM",
            "--set mpm=event --set MaxRequestWorkers=50 --set StartServers=2",
        )
        // An idle client of event holds no thread: all take turns, and nothing fails while nobody minds the wait.
        .objective("errors < 0.1%, p99 < 350ms")
        .either(
            &["apache.MaxRequestWorkers", "apache.ThreadsPerChild"],
            "kept connections spread unevenly over event's children: the first of them that is full makes clients wait",
        ),
        one(
            "apache-prefork",
            "MaxRequestWorkers 60 of prefork",
            "--set mpm=prefork --set MaxRequestWorkers=60 --set StartServers=60",
        ),
        one(
            "apache-prefork-40",
            "MaxRequestWorkers 40 of prefork",
            "--set mpm=prefork --set MaxRequestWorkers=40 --set StartServers=40",
        ),
        one(
            "apache-one-child",
            "MaxRequestWorkers 40 in one child of 40 threads",
            "--set mpm=worker --set ThreadsPerChild=40 --set MaxRequestWorkers=40 --set StartServers=1",
        ),
    ]
}

/// Two members of a balancer that answer with errors; what clients get says nothing of whose they are. (One of two: tests/products/apache.rs.)
fn members() -> Vec<Case> {
    let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let modules = ["proxy_balancer", "slotmem_shm", "lbmethod_byrequests"].map(load).concat();
    // The logs of a virtual host are its own.
    let host = "<VirtualHost *:80>\nCustomLog /dev/null \"%>s\"\n<Proxy balancer://app>\nBalancerMember http://{backend} retry=0\nBalancerMember \
                http://{second} retry=0\n</Proxy>\nProxyPass / balancer://app/\n</VirtualHost>";
    vec![
        case("apache-failing-members", "both members of a balancer answer 500 to 30 % of requests at random")
            .flags("--users 30 --spawn-rate 10")
            .config(conf(&(modules + host)))
            .behind(Pair(
                "errors --share 0.3 --status 500 --time 0.02 --seed 3",
                "errors --share 0.3 --status 500 --time 0.02 --seed 5",
            ))
            .cause("apache.server.answers")
            .off(NO_NUMBER),
    ]
}

/// Values that Apache does not take as they are: it says so when it starts, and goes on with less.
fn clamped() -> Vec<Case> {
    let one = |name: &str, fault: &str, lines: &str| {
        case(name, fault)
            .flags(FULL)
            .flags("--backend embedded")
            .config(conf(&format!("{lines}\nProxyPass / http://127.0.0.1:9/ retry=0")))
            .off(HANGS)
    };
    vec![
        one(
            "apache-clamped",
            "MaxRequestWorkers 400 that ServerLimit 3 clamps to 75",
            "ServerLimit 3\nStartServers 3\nThreadsPerChild 25\nMaxRequestWorkers 400",
        )
        .cause("apache.ServerLimit"),
        one(
            "apache-no-multiple",
            "MaxRequestWorkers 90 with 50 threads a child: 50 are in force",
            "ServerLimit 16\nStartServers 1\nThreadsPerChild 50\nMaxRequestWorkers 90",
        )
        .cause("apache.MaxRequestWorkers")
        .then(&["apache.ThreadsPerChild"]),
    ]
}

fn queues() -> Vec<Case> {
    let name = |n: u32| if n == 4 { "apache-backlog".to_owned() } else { format!("apache-backlog-{n}") };
    let one = |n: u32| {
        case(name(n), format!("ListenBacklog {n}, 250 clients at once"))
            .flags("--set MaxRequestWorkers=400 --set StartServers=12 --users 250 --spawn-rate 100000")
            .flags("--backend-time 20ms --new-connections")
            .flags(format!("--set ListenBacklog={n}"))
            .objective("errors < 0.1%, p99 < 700ms")
            .cause("apache.ListenBacklog")
            .off(AT_ONCE)
    };
    [4, 8].map(one).into()
}

fn pools() -> Vec<Case> {
    let spread = "connections spread unevenly over the children, so the first pool is full before all are";
    vec![
        case("apache-pool", "ProxyPass max=10 acquire=200 of each of Apache's 4 children")
            .flags(
                "--set ProxyPass.max=10 --set ProxyPass.acquire=200 --set MaxRequestWorkers=100 --set StartServers=4",
            )
            .flags("--users 120 --spawn-rate 15 --backend-time 300ms")
            .cause("apache.ProxyPass.max")
            .then(&["apache.MaxRequestWorkers"])
            .off(spread),
        case(
            "apache-handler-pool",
            "<Proxy> with max=8 acquire=200 beside SetHandler \"proxy:URL\", of Apache's only child",
        )
        .flags("--users 40 --spawn-rate 5")
        .config(conf(
            "ServerLimit 1\nStartServers 1\nThreadsPerChild 60\nMaxRequestWorkers 60\n<Proxy \"http://{backend}\">\nProxySet max=8 acquire=200\n\
             </Proxy>\n<Location />\nSetHandler \"proxy:http://{backend}\"\n</Location>",
        ))
        .behind(Two("--service-time 300ms", None))
        .cause("apache.ProxyPass.max")
        .off("a request waits up to acquire for a free connection, so that more than the pool holds get one in time"),
        case("apache-balancer-pool", "two members of a balancer, each with max=4 acquire=300 in each of two children")
            .flags("--users 60 --spawn-rate 6")
            .config(
                conf(
                    "LoadModule proxy_balancer_module /usr/lib/apache2/modules/mod_proxy_balancer.so\nLoadModule slotmem_shm_module \
                     /usr/lib/apache2/modules/mod_slotmem_shm.so\nLoadModule lbmethod_byrequests_module \
                     /usr/lib/apache2/modules/mod_lbmethod_byrequests.so\nStartServers 2\nServerLimit 2\nThreadsPerChild 25\n\
                     MaxRequestWorkers 50\nMinSpareThreads 25\nMaxSpareThreads 50\n<Proxy balancer://app>\nBalancerMember \
                     http://{backend} max=4 acquire=300 retry=0\nBalancerMember http://{second} max=4 acquire=300 retry=0\n</Proxy>\n\
                     ProxyPass / balancer://app/",
                )
                .replace("worker", "event"),
            )
            .behind(Two("--service-time 300ms", Some("--service-time 500ms")))
            .cause("apache.BalancerMember.max")
            .then(&["apache.MaxRequestWorkers", "apache.ThreadsPerChild"])
            .off(spread),
        case("apache-pool-one", "ProxyPass max=15 acquire=200 of Apache's only child")
            .flags("--set mpm=worker --set ProxyPass.max=15 --set ProxyPass.acquire=200 --set ThreadsPerChild=60")
            .flags("--set MaxRequestWorkers=60 --set StartServers=1 --users 50 --spawn-rate 10 --backend-time 300ms")
            .cause("apache.ProxyPass.max")
            .off(
                "a request waits up to acquire for a free connection, so that more than the pool holds get one in time",
            ),
    ]
}

fn times() -> Vec<Case> {
    let one = |name: &str, allowed: &str, takes: &str| {
        case(name, format!("a backend of {takes} behind ProxyTimeout {allowed}"))
            .flags("--users 20 --spawn-rate 20")
            .flags(format!("--set ProxyTimeout={allowed} --backend-time {takes}"))
            .either(&["apache.ProxyTimeout", "backend.service_time"], TWO_ENDS)
            .off(SLOW)
    };
    let kept = |name: &str, fault: &str, lines: &str| {
        case(name, fault).flags(KEPT).config(conf(&format!(
            "ServerLimit 4\nStartServers 4\nThreadsPerChild 25\nMaxRequestWorkers 100\nMinSpareThreads 25\nMaxSpareThreads \
             100\n{lines}\nProxyPass / http://127.0.0.1:9/ retry=0"
        )))
    };
    vec![
        one("apache-timeout", "1", "2500ms"),
        one("apache-timeout-2", "2", "3s"),
        kept(
            "apache-keepalive-timeout",
            "KeepAliveTimeout 500ms, and users who come back after 500 ms and ask once",
            "KeepAliveTimeout 500ms",
        )
        .flags("--think 500ms")
        .cause("apache.KeepAliveTimeout")
        .off(SLOW),
        kept(
            "apache-keepalive-requests",
            "nothing: MaxKeepAliveRequests 7, and users who ask once: the seventh answer says that it is the last",
            "MaxKeepAliveRequests 7",
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case("apache-refused", "nobody listens where the backend should be")
            .flags("--users 20 --spawn-rate 20")
            .config(conf("ProxyPass / http://{backend}/ retry=0"))
            .behind(Nobody)
            .cause("apache.backend.address")
            .off(NO_NUMBER),
        case(
            "apache-body",
            "nothing: LimitRequestBody 8192, which is not in force for what is passed on, and bodies of 20k",
        )
        .flags("--users 10 --spawn-rate 10 --body-size 20k --backend embedded --backend-time 20ms")
        .config(conf("LimitRequestBody 8192\nProxyPass / http://127.0.0.1:9/ retry=0")),
        case("apache-spare", "nothing: MaxSpareThreads 50 under 8 children of 25 threads, which ends children with idle kept connections")
            .flags("--users 30 --spawn-rate 30 --think 300ms --backend-time 20ms --hold 6s")
            .flags("--set mpm=event --set StartServers=8 --set MinSpareThreads=25 --set MaxSpareThreads=50"),
        case("apache-spare-lost", "the same, with users who ask once")
            .flags("--users 150 --spawn-rate 150 --think 20ms --backend-time 2ms --hold 9s --no-retry")
            .flags("--set mpm=event --set StartServers=16 --set MaxRequestWorkers=400 --set MinSpareThreads=25 --set MaxSpareThreads=50")
            .objective("errors <= 0%")
            .cause("apache.MaxSpareThreads")
            .off(NO_NUMBER),
        case("apache-no-ssl-module", "an https backend without mod_ssl")
            .flags("--users 10 --spawn-rate 10")
            .config(conf("ProxyPass / https://{backend}/ retry=0"))
            .behind(Scripted("fixed --time 0.01"))
            .cause("apache.proxy_module")
            .off(NO_NUMBER),
        case("apache-scoreboard", "children that end after 20 connections each keep their tunnels and their places: ServerLimit 3")
            .flags("--websocket --connections 70 --spawn-rate 10 --timeout 8s --backend embedded")
            .objective("connects > 99.9%, disconnects < 0.1%")
            .config(
                conf("ServerLimit 3\nStartServers 1\nMinSpareThreads 25\nMaxSpareThreads 75\nThreadsPerChild 25\nMaxRequestWorkers 75\n\
                      MaxConnectionsPerChild 20\nProxyPass / http://127.0.0.1:9/ upgrade=websocket")
                .replace("worker", "event"),
            )
            .cause("apache.ServerLimit")
            .off(NO_NUMBER),
        case("apache-no-ssl", "an https backend without SSLProxyEngine")
            .flags("--users 10 --spawn-rate 10")
            .config(conf(
                "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\nProxyPass / https://{backend}/ retry=0",
            ))
            .behind(Scripted("fixed --time 0.01"))
            .cause("apache.SSLProxyEngine")
            .off(NO_NUMBER),
    ]
}
