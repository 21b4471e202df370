use std::path::Path;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Sign, Signature, Strength};

use super::*;
use crate::apache::config::{Config, Reading};
use crate::apache::evidence::signature;
use crate::files::Requests;
use genkai_place::caps::Machine;

fn facts(text: &str) -> Facts {
    let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
    let text = format!("Listen 80\nProxyPass / http://127.0.0.1:9/ {text}");
    let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
    Facts::of(&config, &Requests::to("x", "/"), &machine())
}

fn machine() -> Machine {
    Machine {
        descriptors: 1024,
        descriptors_hard: 20_000,
        descriptors_ceiling: Ceiling { value: 4096.0, by: "hard".into() },
        online: 2,
        cores: 2,
        somaxconn: 4096,
        ports: (32768, 60999),
    }
}

fn limit(facts: &Facts, id: &str) -> Limit {
    let all = of(facts);
    let ids: Vec<_> = all.iter().map(|l| l.id.clone()).collect();
    all.into_iter().find(|l| l.id == id).unwrap_or_else(|| panic!("{id} is not among {ids:?}"))
}

/// The table of limits.md section 3 b: what httpd's `-t` says it makes of these values.
#[test]
fn workers_are_fitted_as_httpd_does() {
    for (text, workers) in [
        ("", 400),
        ("\nMaxRequestWorkers 300", 300),
        ("\nMaxRequestWorkers 500", 400),
        ("\nMaxRequestWorkers 500\nServerLimit 20", 500),
        ("\nMaxRequestWorkers 500\nThreadsPerChild 64\nServerLimit 20", 448),
        ("\nMaxRequestWorkers 10", 25),
        ("\nThreadsPerChild 100\nMaxRequestWorkers 640", 640),
        ("\nLoadModule mpm_prefork_module x\nMaxRequestWorkers 500", 256),
        ("\nLoadModule mpm_prefork_module x", 256),
        ("\nLoadModule mpm_worker_module x\nMaxClients 50", 50),
    ] {
        assert_eq!(facts(text).workers(), workers, "{text}");
    }
}

#[test]
fn the_setting_that_decides_is_named() {
    let free = limit(&facts("\nMaxRequestWorkers 300"), "apache.MaxRequestWorkers");
    assert!(matches!(free.origin, Origin::File { line: 3, .. }));
    let remedy = free.remedy.unwrap();
    assert_eq!((remedy.step, remedy.ceiling.unwrap().value), (25.0, 500_000.0));
    let clamped = limit(&facts("\nMaxRequestWorkers 500"), "apache.ServerLimit");
    assert!(matches!(clamped.law, Law::Slots { value: 16.0, busy_cost, .. } if (busy_cost - 0.04).abs() < 1e-9));
    assert_eq!(clamped.remedy.unwrap().ceiling.unwrap().value, 20.0);
}

#[test]
fn idle_clients_cost_event_a_third_and_the_others_a_whole_worker() {
    let idle = |text: &str| facts(text).idle_cost();
    assert!((idle("") - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(idle("\nLoadModule mpm_worker_module x"), 1.0);
    assert_eq!(idle("\nKeepAlive Off"), 0.0);
    assert_eq!(Facts { websocket: true, ..facts("") }.idle_cost(), 1.0);
}

#[test]
fn a_pool_counts_only_below_the_threads() {
    assert!(of(&facts("max=30")).iter().all(|l| l.id != "apache.ProxyPass.max"));
    let pool = limit(&facts("max=3 acquire=500"), "apache.ProxyPass.max");
    // From 3, all with one child, to 16 children x 3.
    assert_eq!(pool.law, Law::Growing { least: 3.0, most: 48.0, full: None, wait: Some(0.5) });
    assert!(!pool.symptom.slow, "acquire refuses");
}

#[test]
fn the_longest_of_the_timeouts_is_named_for_tunnels() {
    let tunnels = |text: &str| limit(&Facts { websocket: true, ..facts(text) }, "apache.idle");
    let longer = tunnels("\nTimeout 5\nProxyTimeout 30");
    assert_eq!((longer.setting.as_str(), &longer.law), ("ProxyTimeout", &Law::Idle { after: 30.0 }));
    assert!(longer.formula.contains("max(Timeout 5s, ProxyTimeout 30s)"), "{}", longer.formula);
    let shorter = tunnels("\nTimeout 50\nProxyTimeout 30");
    assert_eq!((shorter.setting.as_str(), &shorter.law), ("Timeout", &Law::Idle { after: 50.0 }), "it cannot shorten");
    assert_eq!(
        limit(&facts("timeout=7\nProxyTimeout 30"), "apache.ProxyTimeout").setting,
        "slower than ProxyPass.timeout"
    );
    assert!(of(&facts("")).iter().all(|l| l.id != "apache.idle"), "no tunnels, no time for them");
}

#[test]
fn a_tunnel_costs_a_worker_and_event_may_hold_one_of_each_child_back() {
    let event = "\nMaxRequestWorkers 100\nThreadsPerChild 25";
    let law = limit(&Facts { websocket: true, ..facts(event) }, "apache.MaxRequestWorkers").law;
    let Law::Slots { value, idle_cost, soft, .. } = law else { panic!("{law:?}") };
    assert_eq!((value, idle_cost, soft), (100.0, 1.0, 0.96), "96 to 100 tunnels");
}

#[test]
fn a_balancer_has_the_pools_and_timeouts_of_its_members() {
    let text = "\nProxyTimeout 30\n<Proxy balancer://b>\nBalancerMember http://127.0.0.1:1 max=5 timeout=7\nBalancerMember \
                http://127.0.0.1:2 max=9\nBalancerMember http://127.0.0.1:3 max=1 status=+H\n</Proxy>\n";
    let balanced = |text: &str| {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!("Listen 80\nProxyPass / balancer://b/ timeout=2 max=3{text}");
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
        Facts::of(&config, &Requests::to("x", "/"), &machine())
    };
    let facts = balanced(text);
    assert_eq!(
        (facts.proxy_timeout.0.as_str(), facts.proxy_timeout.1.value.as_secs_f64()),
        ("BalancerMember.timeout", 7.0)
    );
    assert_eq!(facts.upstream.as_ref().unwrap().addresses.len(), 2);
    let pool = limit(&facts, "apache.BalancerMember.max");
    assert_eq!(pool.law, Law::Growing { least: 5.0, most: 14.0 * 16.0, full: None, wait: None });
    assert!(pool.formula.contains("16 children x (5 + 9) = 224"), "{}", pool.formula);
    assert_eq!(pool.remedy.map(|remedy| remedy.setting).as_deref(), Some("BalancerMember.max"));
    let wait = |text: &str| limit(&balanced(text), "apache.BalancerMember.max").law;
    let both = text.replace("max=5", "max=5 acquire=300").replace("max=9", "max=9 acquire=1s");
    assert!(matches!(wait(&both), Law::Growing { wait: None, .. }), "for ever: {:?}", wait(&both));
    let all = both.replace("max=1 status", "max=20 acquire=200 status");
    let passed_on = Law::Growing { least: 20.0, most: 34.0 * 16.0, full: None, wait: Some(1.5) };
    assert_eq!(wait(&all), passed_on, "who finds no room at the others finds it at the standby");
    let kept = Law::Growing { least: 5.0, most: 14.0 * 16.0, full: None, wait: Some(1.3) };
    assert_eq!(wait(&all.replace("timeout=7", "status=+I")), kept, "a member that ignores errors passes nobody on");
    assert_eq!(wait(&format!("{all}<Proxy balancer://b>\nProxySet maxattempts=1\n</Proxy>\n")), kept);
    assert_eq!(
        wait(&all.replace("+H", "+D")),
        Law::Growing { least: 9.0, most: 14.0 * 16.0, full: None, wait: Some(1.3) },
        "nobody else takes requests"
    );
    let room = balanced(&format!("{all}ThreadsPerChild 16\n"));
    assert!(of(&room).iter().all(|l| l.id != "apache.BalancerMember.max"), "as many connections as threads");
    let one = text.replace("max=5", "max=5 acquire=300");
    assert!(matches!(wait(&one), Law::Growing { wait: None, .. }), "for ever at the other one");
    // Measured on 2.4.71: AH00941 of the first after its time, and the request was served by the second.
    let told = |text: &str| limit(&balanced(text), "apache.BalancerMember.max").formula;
    let ends = "at http://127.0.0.1:1 a further request waits for 300ms at most (acquire), then";
    let (passed, kept) = (told(&one), told(&one.replace("timeout=7", "status=+I")));
    assert!(passed.contains(&format!("{ends} the request goes to the next member")), "{passed}");
    assert!(passed.contains("; at http://127.0.0.1:2 it waits for ever (no acquire)"), "{passed}");
    assert!(!passed.contains("whether or not another one is free"), "{passed}");
    assert!(kept.contains(&format!("{ends} 503")), "{kept}");
    assert!(told(text).contains("further requests wait for one, for ever (no acquire)"), "{}", told(text));
    let none = balanced(&text.replace("max=", "min="));
    assert!(of(&none).iter().all(|l| l.id != "apache.BalancerMember.max"));
    assert_eq!(none.proxy_timeout.1.value.as_secs_f64(), 7.0);
    assert_eq!(balanced(&text.replace(" timeout=7", "")).proxy_timeout.1.value.as_secs_f64(), 30.0);
}

#[test]
fn every_message_that_is_recognised_belongs_to_a_limit() {
    use genkai_model::limit::Sign;
    let all =
        ["", "max=3 acquire=500\nServerLimit 20", "\nLoadModule mpm_prefork_module x"].map(|text| of(&facts(text)));
    let file = of(&Facts { upstream: None, ..facts("") });
    let encrypted = [of(&encrypted("")), of(&encrypted("SSLProxyEngine on"))].concat();
    let known: Vec<Limit> =
        all.into_iter().flatten().chain(file).chain(encrypted).chain(accidents(&facts(""))).collect();
    // What answers a request itself is told apart from limits (answers.rs).
    use crate::apache::evidence::signature::{
        DENIED, DENIED_COMPAT, FILE_DENIED, FOLDER, OVERRIDE_REFUSED, REQUEST_SLOW, RULES_FORBIDDEN,
    };
    let files = [FILE_DENIED, FOLDER, OVERRIDE_REFUSED, RULES_FORBIDDEN];
    let answers = [DENIED, DENIED_COMPAT, REQUEST_SLOW].into_iter().chain(files).collect::<Vec<_>>();
    for name in crate::apache::evidence::known().filter(|name| !answers.contains(name)) {
        let signs = [Sign::Log, Sign::LoggedOnce, Sign::LoggedUnserved].map(|sign| sign(name.to_owned()));
        assert!(
            known.iter().any(|limit| limit.signatures.iter().any(|s| signs.contains(&s.sign))),
            "{name} belongs to no limit"
        );
    }
}

/// Facts of a backend that takes TLS.
fn encrypted(text: &str) -> Facts {
    let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
    let text = format!("Listen 80\nProxyPass / https://127.0.0.1:9/\n{text}");
    let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
    Facts::of(&config, &Requests::to("x", "/"), &machine())
}

#[test]
fn a_backend_that_takes_tls_is_not_reached_without_it() {
    let told = |facts: &Facts| of(facts).into_iter().find(|limit| limit.id == "apache.SSLProxyEngine");
    let off = told(&encrypted("")).unwrap();
    assert_eq!(
        (off.value.as_str(), off.symptom.errors.as_slice()),
        ("127.0.0.1:9", &[genkai_model::error::ErrorKind::Status500][..])
    );
    assert!(off.fault && matches!(off.origin, Origin::File { line: 2, .. }), "{off:?}");
    assert!(off.caps.contains("SSLProxyEngine is Off in this virtual host, "), "{}", off.caps);
    let said = told(&encrypted("SSLProxyEngine off")).unwrap().caps;
    assert!(said.contains("SSLProxyEngine is off in this virtual host (/x/httpd.conf:3), "), "{said}");
    assert!(told(&encrypted("SSLProxyEngine on")).is_none() && told(&facts("")).is_none());
    // Another virtual host's is none of this one's; one of a `<Proxy>` may be.
    let other = "<VirtualHost *:80>\nServerName x\n</VirtualHost>\n<VirtualHost *:80>\nServerName y\nSSLProxyEngine on\n</VirtualHost>\n";
    assert!(told(&encrypted(other)).is_some());
    assert!(told(&encrypted("<Proxy \"https://127.0.0.1:9\">\nSSLProxyEngine on\n</Proxy>\n")).is_none());
}

#[test]
fn places_of_children_that_end_gracefully_are_counted() {
    let places = limit(&facts("\nServerLimit 4\nMaxRequestWorkers 75"), "apache.ServerLimit");
    assert!(places.formula.starts_with("4 places, 3 children at full load: 1 to spare"), "{}", places.formula);
    assert!(of(&facts("\nLoadModule mpm_prefork_module x")).iter().all(|limit| limit.id != "apache.ServerLimit"));
}

#[test]
fn what_ends_children_is_the_share_that_each_serves_else_how_many_may_be_spare() {
    let named = |text: &str| {
        let all = of(&facts(text));
        all.into_iter().find(|limit| limit.caps.starts_with("children are ended")).map(|limit| (limit.id, limit.value))
    };
    let pair = |id: &str, value: &str| Some((id.to_owned(), value.to_owned()));
    assert_eq!(named(""), pair("apache.MaxSpareThreads", "250"));
    assert_eq!(named("\nMaxConnectionsPerChild 20\nMaxSpareThreads 75"), pair("apache.MaxConnectionsPerChild", "20"));
    assert_eq!(named("\nLoadModule mpm_prefork_module x"), None, "a child of prefork ends once its client has left");
    assert_eq!(named("\nKeepAlive Off"), None, "nobody keeps a connection");
}

/// httpd 2.4.71 (mod_info): a virtual host whose time is 0 has the server's.
#[test]
fn a_time_of_zero_in_a_virtual_host_is_none() {
    let times = |own: &str| {
        let facts =
            facts(&format!("\nTimeout 7\nKeepAliveTimeout 3\n<VirtualHost *:80>\nServerName x\n{own}\n</VirtualHost>"));
        (facts.timeout.value.as_secs_f64(), facts.keep_alive_timeout.value.as_secs_f64())
    };
    assert_eq!(times("Timeout 9\nKeepAliveTimeout 500ms"), (9.0, 0.5));
    assert_eq!(times("Timeout 0\nKeepAliveTimeout 0"), (7.0, 3.0));
}

#[test]
fn how_fast_prefork_forks_is_a_limit_of_its_own() {
    let prefork = |text: &str| facts(&format!("\nLoadModule mpm_prefork_module x{text}"));
    let limit = limit(&prefork("\nMaxRequestWorkers 60\nMinSpareServers 7"), "apache.StartServers");
    assert_eq!((limit.value.as_str(), &limit.law), ("5", &Law::Unknown));
    assert!(limit.formula.contains("MinSpareServers 7") && limit.formula.contains("up to 60"), "{}", limit.formula);
    let all = of(&prefork("\nMaxRequestWorkers 60\nMinSpareServers 60"));
    assert!(all.iter().all(|limit| limit.id != "apache.StartServers"), "they are there before anybody comes");
    let remedy = limit.remedy.unwrap();
    assert_eq!((remedy.setting.as_str(), remedy.step, remedy.ceiling.unwrap().value), ("StartServers", 60.0, 60.0));
    let note = remedy.note.unwrap();
    assert!(
        note.contains("MaxSpareServers is raised along from 10 to 60") && note.contains("only 10 would be left"),
        "{note}"
    );
    for all_there in ["\nMaxRequestWorkers 60\nStartServers 60", "\nMaxRequestWorkers 3"] {
        assert!(of(&prefork(all_there)).iter().all(|l| l.id != "apache.StartServers"), "{all_there}");
    }
    assert!(of(&facts("")).iter().all(|l| l.id != "apache.StartServers"), "other MPMs have threads");
}

#[test]
fn requests_that_come_in_again_hold_a_worker_each_time() {
    let twice = |more: &str, to: &str| {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!(
            "Listen 80\nListen 81\n{more}\n<VirtualHost *:80>\nProxyPass / http://127.0.0.1:{to}/\n</VirtualHost>\n<VirtualHost *:81>\n\
             ProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n"
        );
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
        Facts::of(&config, &Requests::to("x", "/"), &machine())
    };
    for mpm in ["event", "worker", "prefork"] {
        let more = format!("LoadModule mpm_{mpm}_module x\nMaxRequestWorkers 100");
        let busy = |to: &str| match limit(&twice(&more, to), "apache.MaxRequestWorkers").law {
            Law::Slots { value: 100.0, busy_cost, .. } => Some(busy_cost),
            Law::Unknown => None,
            law => panic!("{law:?}"),
        };
        assert_eq!((busy("9"), busy("81"), busy("80")), (Some(1.0), Some(2.0), None), "{mpm}");
    }
    let facts = twice("", "81");
    let said = limit(&facts, "apache.MaxRequestWorkers").formula;
    assert!(said.ends_with("httpd passes requests to itself: one in flight holds 2 of its workers"), "{said}");
    assert_eq!(facts.busy_descriptors(), 4);
    let Law::Slots { busy_cost, .. } = limit(&facts, "apache.ThreadsPerChild").law else { panic!("children") };
    assert_eq!(busy_cost, 2.0 / 16.0);
}

#[test]
fn a_pool_behind_itself_is_told_and_not_changed() {
    let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
    let text = "Listen 80\nListen 127.0.0.1:81\n<VirtualHost *:80>\nProxyPass / http://127.0.0.1:81/\n</VirtualHost>\n\
                <VirtualHost *:81>\nProxyPass / balancer://b/\n</VirtualHost>\n<Proxy balancer://b>\nBalancerMember http://127.0.0.1:1 \
                max=5\n</Proxy>\n";
    let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
    let pool = limit(&Facts::of(&config, &Requests::to("x", "/"), &machine()), "apache.BalancerMember.max");
    assert_eq!((&*pool.value, pool.remedy), ("5", None));
}

/// httpd 2.4.71 served as many at once as told, of two members of which one was absent, and none of its requests failed (with `status=+I` some did).
#[test]
fn a_member_at_whose_address_nobody_listens_has_no_pool() {
    let of = |members: &str, absent: &[u16]| {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!(
            "Listen 80\nListen 127.0.0.1:81\nProxyPass / balancer://b/\n<Proxy balancer://b>\n{members}</Proxy>\nThreadsPerChild 25\n\
             ServerLimit 2\nMaxRequestWorkers 50\n"
        );
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
        let nobody = |address: std::net::SocketAddr| absent.contains(&address.port());
        let facts = Facts::without(&config, &Requests::to("x", "/"), &machine(), &nobody);
        let pool = super::of(&facts).into_iter().find(|limit| limit.id == "apache.BalancerMember.max")?;
        assert_eq!(pool.remedy.is_some(), pool.law != Law::Unknown);
        let Law::Growing { least, most, .. } = pool.law else { return Some((None, pool.formula)) };
        Some((Some((least, most)), pool.formula))
    };
    let told = |members: &str, absent: &[u16]| of(members, absent).and_then(|(law, _)| law);
    let two = "BalancerMember http://127.0.0.1:1 max=5\nBalancerMember http://localhost:2 max=3\n";
    assert_eq!(told(two, &[]), Some((3.0, 16.0)));
    assert_eq!((told(two, &[1]), told(two, &[2])), (Some((3.0, 6.0)), Some((5.0, 10.0))));
    let (_, formula) = of(two, &[2]).unwrap();
    assert!(
        formula.contains("2 children x (5) = 10") && formula.ends_with("; nobody listens at http://localhost:2"),
        "{formula}"
    );
    assert_eq!(told(two, &[1, 2]), Some((3.0, 16.0)), "then it is not that which stops a load");
    assert_eq!(of(&two.replace(" max=5", ""), &[2]), None, "the one that is there has as many as threads");
    let all =
        "BalancerMember http://127.0.0.1:1 max=3 acquire=100\nBalancerMember http://127.0.0.1:2 max=9 acquire=100\n";
    assert_eq!(
        (told(all, &[]), told(all, &[2])),
        (Some((9.0, 24.0)), Some((3.0, 6.0))),
        "the largest pool is not there"
    );
    for (more, then) in [("status=+R", (4.0, 18.0)), ("status=+H", (5.0, 10.0)), ("lbset=1", (5.0, 10.0))] {
        let spare = format!("{two}BalancerMember http://127.0.0.1:3 max=4 {more}\n");
        assert_eq!((told(&spare, &[]), told(&spare, &[2])), (Some((3.0, 16.0)), Some(then)), "{more}");
        assert_eq!(told(&spare, &[1, 2]), Some((4.0, 8.0)), "{more}: it takes their place");
    }
    let asked = two.replace("max=3", "max=3 status=+I");
    let (law, formula) = of(&asked, &[2]).unwrap();
    assert!(law.is_none() && formula.contains("http://localhost:2, which is asked all the same"), "{formula}");
    assert_eq!(told(&asked, &[1]), Some((3.0, 6.0)));
}

/// httpd 2.4.71 with two members that give a request up after 300 ms and a third that refused: AH00941 preceded each failure, and only then the third
/// was asked. With room at the first two no request failed.
#[test]
fn a_member_that_is_not_there_is_not_what_breaks_the_others() {
    let of = |third: &str, absent: bool| {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!(
            "Listen 80\nProxyPass / balancer://b/\n<Proxy balancer://b>\nBalancerMember http://127.0.0.1:1 max=4 acquire=300\n\
             BalancerMember http://127.0.0.1:2 max=8 acquire=300\nBalancerMember http://127.0.0.1:3 {third}\n</Proxy>\n\
             ThreadsPerChild 40\nServerLimit 2\nMaxRequestWorkers 80\n"
        );
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
        let nobody = |address: std::net::SocketAddr| absent && address.port() == 3;
        let all = super::of(&Facts::without(&config, &Requests::to("x", "/"), &machine(), &nobody));
        let find = |id: &str| all.iter().find(|limit| limit.id == id).cloned().unwrap();
        let refused = find("apache.backend").signatures.into_iter();
        let mut refused = refused.filter(|one| one.sign == Sign::Log(signature::BACKEND_UNREACHABLE.to_owned()));
        (find("apache.BalancerMember.max"), refused.next().unwrap().strength)
    };
    let (pool, refused) = of("retry=5", true);
    assert_eq!(pool.law, Law::Growing { least: 8.0, most: 24.0, full: None, wait: Some(0.6) });
    assert!(pool.symptom.errors.contains(&ErrorKind::Status503), "{:?}", pool.symptom);
    let pools = vec![Signature { sign: Sign::Log(signature::POOL_EXHAUSTED.to_owned()), strength: Strength::Decisive }];
    assert_eq!((pool.signatures, refused), (pools, Strength::Consistent), "AH00941 says more than AH00957");
    let (pool, refused) = of("retry=5", false);
    assert!(pool.symptom.errors.contains(&ErrorKind::Status503), "the third may be in error: {:?}", pool.symptom);
    assert_eq!(refused, Strength::Decisive);
    assert_eq!(of("status=+I", true).1, Strength::Decisive, "it is asked all the same");
}

#[test]
fn what_is_less_than_a_childs_threads_is_told_as_one_child() {
    let formula = limit(&facts("\nMaxRequestWorkers 10"), "apache.MaxRequestWorkers").formula.clone();
    assert!(
        formula.starts_with("1 child (MaxRequestWorkers 10 is less than its threads) x 25 threads = 25 workers"),
        "{formula}"
    );
}

/// 299,790 clients at once were told of thirty processes that take one each.
#[test]
fn a_process_that_cannot_use_up_its_descriptors_has_no_number_of_them() {
    for module in ["prefork", "worker"] {
        let text = format!("\nLoadModule mpm_{module}_module x\nMaxRequestWorkers 50");
        let limit = limit(&facts(&text), "apache.nofile");
        assert_eq!(limit.law, Law::Unknown, "{module}: {}", limit.formula);
        assert!(limit.formula.starts_with("a process takes at most "), "{module}: {}", limit.formula);
    }
    let text = "\nLoadModule mpm_worker_module x\nThreadLimit 1024\nThreadsPerChild 1024\nMaxRequestWorkers 1024";
    let few = limit(&facts(text), "apache.nofile");
    assert!(matches!(few.law, Law::Slots { .. }) && few.formula.contains("1 process x floor((1024"), "{}", few.formula);
}
