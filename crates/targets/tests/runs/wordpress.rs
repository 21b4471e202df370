//! A private WordPress on the real MariaDB, php-fpm and nginx: it answers, shows what it does, and leaves nothing behind.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::ServerState;
use genkai_model::evidence::metric;
use genkai_model::limit::Law;
use genkai_model::plan::Site;
use genkai_place::machine;
use genkai_place::observation::Observation;
use genkai_place::program::search_path;
use genkai_targets::wordpress::{Programs, TITLE, WORDPRESS, WordPress};

/// How long anything may take that should take an instant.
const SOON: Duration = Duration::from_secs(30);

/// One GET with a Host of choice; the status, the head and the body.
fn get(address: SocketAddr, host: &str, path: &str) -> io::Result<(u16, String, String)> {
    let mut stream = TcpStream::connect_timeout(&address, SOON)?;
    stream.set_read_timeout(Some(SOON))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no head"))?;
    let status = head.get(9..12).and_then(|code| code.parse().ok()).ok_or_else(|| io::Error::other("no status"))?;
    Ok((status, head.to_owned(), body.to_owned()))
}

fn metrics(seen: &Observation) -> BTreeMap<String, f64> {
    assert_eq!(seen.samples.len(), 1);
    assert_eq!(seen.samples[0].subject, "backend");
    seen.samples[0].metrics.clone()
}

/// Looks until `enough` or the deadline; everything seen on the way.
fn observe_until(site: &mut WordPress, enough: impl Fn(&[Observation]) -> bool) -> Vec<Observation> {
    let deadline = Instant::now() + SOON;
    let mut seen = Vec::new();
    while !enough(&seen) {
        assert!(Instant::now() < deadline, "not seen in time; last: {:?}", seen.last());
        seen.push(site.observe());
        thread::sleep(Duration::from_millis(20));
    }
    seen
}

fn largest(seen: &[Observation], name: &str) -> f64 {
    seen.iter().filter_map(|o| metrics(o).get(name).copied()).fold(0.0, f64::max)
}

fn alive(pid: u32) -> bool {
    // A zombie still has a /proc entry, but no command line.
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Every process of the sessions led by `leaders`.
fn members(leaders: &[u32]) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // After the command in brackets: state, parent, group, session (proc(5)).
            let session = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(3)?.parse().ok());
            session.is_some_and(|session| leaders.contains(&session))
        })
        .collect()
}

#[test]
fn it_answers_shows_saturation_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    open_to_all(dir.path());
    let children = 3;
    let mut site = WordPress::start(dir.path(), &Site::new(children), None).unwrap_or_else(|e| panic!("{e}"));
    let address = site.address();
    let pids = site.pids();
    let processes = members(&pids);
    assert!(processes.len() >= 3 + children as usize, "masters, a web worker and children: {processes:?}");

    the_site_is_whole(address);
    one_at_a_time_is_no_saturation(&mut site);
    more_than_children_saturate(&mut site, children);
    // php-fpm warns once, and again only after the pool has been idle: every trial must see it.
    observe_until(&mut site, |seen| {
        seen.last().is_some_and(|o| metrics(o)["backend.php_fpm.processes"] < f64::from(children))
    });
    more_than_children_saturate(&mut site, children);
    let limits = site.limits();
    let ids: Vec<&str> = limits.iter().map(|l| l.id.as_str()).collect();
    assert_eq!(
        ids,
        ["backend.php_fpm.max_children", "backend.php_fpm.backlog", "backend.mariadb.max_connections", "backend.cpu"]
    );
    let Law::Workers { workers, queue, service, .. } = limits[0].law else { panic!("{:?}", limits[0].law) };
    assert_eq!((workers, queue), (3.0, Some(512.0)));
    assert!(service.is_some_and(|s| s > 0.001 && s < 10.0), "{service:?}");
    assert_eq!(service, Some(site.service().as_secs_f64()));
    let versions: BTreeMap<String, String> = site.versions().into_iter().collect();
    for name in ["mariadb", "php-fpm", "wordpress"] {
        assert!(versions.get(name).is_some_and(|v| v.contains('.')), "{name} in {versions:?}");
    }

    drop(site);
    for pid in processes {
        assert!(!alive(pid), "process {pid} survived");
    }
    assert!(members(&pids).is_empty(), "{:?}", members(&pids));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "files were left");
    assert!(get(address, "localhost", "/").is_err(), "somebody still answers");
}

/// Pages, links and assets as a proxy in front would ask for them.
fn the_site_is_whole(address: SocketAddr) {
    let (status, head, body) = get(address, "www.example.test:8080", "/").unwrap();
    assert_eq!(status, 200, "{head}");
    assert!(body.contains(&format!("<title>{TITLE}</title>")), "no title in {} bytes", body.len());
    assert!(body.contains("Post number 10"), "the posts are on the front page");
    assert!(body.contains("http://www.example.test:8080/"), "links are to the name it was asked by");
    assert!(!body.contains("localhost"), "no link to the name it was installed by");
    let (status, _, body) = get(address, "a.test", "/post-number-7/").unwrap();
    assert_eq!(status, 200);
    assert!(body.contains("Post number 7"));
    assert_eq!(get(address, "a.test", "/no-such-page/").unwrap().0, 404);
    assert_eq!(get(address, "a.test", "/wp-login.php").unwrap().0, 200);
    // Scripts in wp-admin find their own way to the configuration: it must be ours, not the package's.
    let (status, head, _) = get(address, "a.test", "/wp-admin/").unwrap();
    assert_eq!(status, 302, "{head}");
    assert!(head.contains("Location: http://a.test/wp-login.php"), "{head}");
    let (status, head, body) = get(address, "a.test", "/wp-includes/css/dashicons.min.css").unwrap();
    assert_eq!(status, 200);
    assert!(head.contains("text/css") && body.len() > 1000, "{head}");
}

fn one_at_a_time_is_no_saturation(site: &mut WordPress) {
    let idle = observe_until(site, |seen| seen.last().is_some_and(|o| metrics(o)[metric::BACKEND_BUSY] == 0.0));
    let before = metrics(idle.last().unwrap());
    for _ in 0..10 {
        assert_eq!(get(site.address(), "a.test", "/").unwrap().0, 200);
    }
    // A child is done an instant after its client has the last byte.
    let seen = observe_until(site, |seen| {
        seen.last().map(metrics).is_some_and(|m| {
            m[metric::BACKEND_DONE] - before[metric::BACKEND_DONE] >= 10.0 && m["backend.mariadb.connections"] == 0.0
        })
    });
    let after = metrics(seen.last().unwrap());
    assert_eq!(after[metric::BACKEND_DONE] - before[metric::BACKEND_DONE], 10.0);
    assert_eq!(after[metric::BACKEND_WORKERS], 3.0);
    assert_eq!(after[metric::BACKEND_QUEUED], 0.0);
    assert_eq!(after[metric::BACKEND_REFUSED], 0.0);
    assert!(largest(&seen, "backend.cpu") > 0.05, "{seen:?}");
    assert!(after[&format!("backend.{}", metric::RSS)] > 50e6, "{after:?}");
    assert_eq!(after["backend.mariadb.connections_refused_total"], 0.0, "{after:?}");
    assert!(
        seen.iter().all(|o| o.states.is_empty() && o.logs.is_empty()),
        "a healthy site has nothing to say: {seen:?}"
    );
}

/// Twenty clients in a loop on three children: all busy, some waiting, php-fpm says so, and nobody fails.
fn more_than_children_saturate(site: &mut WordPress, children: u32) {
    let address = site.address();
    let done = AtomicBool::new(false);
    let limit = f64::from(children);
    let seen = thread::scope(|scope| {
        let clients: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let mut asked = 0;
                    while !done.load(Ordering::Relaxed) {
                        let (status, head, body) = get(address, "a.test", "/").unwrap();
                        assert_eq!(status, 200, "{head}");
                        assert!(body.contains(TITLE));
                        asked += 1;
                    }
                    asked
                })
            })
            .collect();
        let seen = observe_until(site, |seen| {
            let logged = seen.iter().flat_map(|o| &o.logs);
            let signatures: Vec<_> = logged.filter_map(|l| l.signature.as_deref()).collect();
            clients.iter().any(thread::ScopedJoinHandle::is_finished)
                || signatures.contains(&"backend.php_fpm.max_children.reached")
                    && largest(seen, metric::BACKEND_BUSY) == limit
                    && largest(seen, metric::BACKEND_QUEUED) >= 1.0
                    && largest(seen, "backend.mariadb.connections") >= 1.0
                    && largest(seen, "backend.php_fpm.max_children_reached_total") >= 1.0
        });
        done.store(true, Ordering::Relaxed);
        let asked: u32 = clients.into_iter().map(|c| c.join().unwrap()).sum();
        assert!(asked >= 20, "{asked}");
        seen
    });
    assert!(largest(&seen, metric::BACKEND_BUSY) <= limit, "the status page's own process does not count");
    assert!(seen.iter().all(|o| o.states.is_empty()));
    let foreign: Vec<_> = seen
        .iter()
        .flat_map(|o| &o.logs)
        .filter(|l| l.signature.as_deref() != Some("backend.php_fpm.max_children.reached"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    observe_until(site, |seen| {
        seen.last().is_some_and(|o| metrics(o)[metric::BACKEND_BUSY] + metrics(o)[metric::BACKEND_QUEUED] == 0.0)
    });
}

#[test]
fn a_server_that_dies_is_told_once_and_the_rest_still_goes() {
    let dir = tempfile::tempdir().unwrap();
    open_to_all(dir.path());
    let core = machine::cores()[0];
    let mut site = WordPress::start(dir.path(), &Site::new(1), Some(&[core])).unwrap_or_else(|e| panic!("{e}"));
    let pids = site.pids();
    assert_eq!(site.limits()[3].law, Law::Cpu { cores: 1.0 });
    for pid in members(&pids) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains(&format!("Cpus_allowed_list:\t{core}\n")), "process {pid} may run elsewhere: {status}");
    }
    let status = std::process::Command::new("kill").args(["-KILL", &pids[2].to_string()]).status().unwrap();
    assert!(status.success());
    let seen = observe_until(&mut site, |seen| seen.iter().any(|o| !o.states.is_empty()));
    let states: Vec<_> = seen.into_iter().flat_map(|o| o.states).collect();
    assert_eq!(states.len(), 1, "{states:?}");
    assert_eq!((states[0].subject.as_str(), states[0].state), ("backend", ServerState::Died));
    assert!(
        states[0].detail.as_deref().is_some_and(|d| d.contains("MariaDB") && d.contains("signal: 9")),
        "{states:?}"
    );
    assert!(site.observe().states.is_empty(), "told once");
    assert_eq!(get(site.address(), "a.test", "/").unwrap().0, 500, "WordPress without its database");
    assert!(site.warm().unwrap_err().to_string().contains("does not answer as it should"));
    drop(site);
    assert!(members(&pids).is_empty(), "dropping stops as well");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_is_not_installed_is_one_error_and_nothing_starts() {
    let dir = tempfile::tempdir().unwrap();
    let error = Programs::find(dir.path().to_str().unwrap(), Path::new(WORDPRESS)).unwrap_err();
    let said = error.to_string();
    let (_, missing) = said.lines().next().unwrap().split_once(": ").unwrap();
    let missing: Vec<&str> = missing.split(", ").collect();
    assert_eq!(missing.len(), 5, "all programs, not WordPress: {missing:?}");
    assert!(error.to_string().contains("apt-get install"), "{error}");
    assert!(Programs::find(&search_path(), Path::new("/nonexistent")).is_err());
}

#[test]
fn a_failing_step_names_itself_with_its_last_words_and_what_had_started_goes() {
    let dir = tempfile::tempdir().unwrap();
    open_to_all(dir.path());
    let found = Programs::find(&search_path(), Path::new(WORDPRESS)).unwrap();
    let broken = dir.path().join("php-fpm");
    std::fs::write(&broken, "#!/bin/sh\necho no pool today >&2\nexit 78\n").unwrap();
    std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let programs = Programs { php_fpm: broken.clone(), ..found };
    let error = WordPress::start_with(programs.clone(), dir.path(), &Site::new(2), None).unwrap_err().to_string();
    assert!(error.contains("php-fpm") && error.contains("no pool today"), "{error}");
    std::fs::remove_file(&broken).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "files were left");
    let socket = dir.path().join("wp/db.sock").to_string_lossy().into_owned();
    let open = std::fs::read_to_string("/proc/net/unix").unwrap();
    assert!(!open.contains(&socket), "the database still listens");
    for children in [0, 1_000_000] {
        let error = WordPress::start_with(programs.clone(), dir.path(), &Site::new(children), None).unwrap_err();
        assert!(error.to_string().contains("choose 1 to"), "{error}");
    }
}

/// Temporary folders are for their owner alone, run folders usually are not: servers that drop root must get in.
fn open_to_all(dir: &Path) {
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}
