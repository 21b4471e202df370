//! Private copies of every configuration of the corpus, judged by the real nginx.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use genkai_targets::files::{Configuration, CopyOptions, Requests};
use genkai_targets::nginx::config::{Address, Config, Host, sockets};
use genkai_targets::nginx::private;
use genkai_targets::nginx::settings::render;

use crate::nginx_configs::CASES;
use crate::nginx_configs::place::{
    Place, built, check, contents, copied, free_port, needs_modules, nginx_configure, reread, root,
};

#[test]
fn nginx_accepts_every_private_copy() {
    for case in &CASES {
        needs_modules(case);
        for backend in [None, Some(SocketAddr::from(([127, 0, 0, 1], 9)))] {
            let place = Place::new(case);
            let before = contents(&place.dir.path().join("etc"));
            // Names that only a real network could resolve are replaced with the backend.
            if case.name == "balance" && backend.is_none() {
                continue;
            }
            let private = place.build(backend, root());
            let out = check(&private);
            let said = private.translate(&String::from_utf8_lossy(&out.stderr));
            assert!(out.status.success(), "{} with backend {backend:?}:\n{said}", case.name);
            assert_eq!(contents(&place.dir.path().join("etc")), before, "{}: the user's files changed", case.name);
        }
    }
}

fn writes(name: &str) -> bool {
    matches!(name, "pid" | "lock_file" | "error_log" | "access_log")
        || name.ends_with("_temp_path")
        || name.ends_with("_cache_path")
}

#[test]
fn nginx_accepts_what_is_rendered() {
    let settings = [
        ("limit_conn_zone", "$binary_remote_addr zone=ip:1m"),
        ("limit_conn", "ip 10"),
        ("worker_connections", "1024"),
        ("listen.backlog", "64"),
        ("upstream.max_conns", "10"),
        ("open_file_cache", "max=10 inactive=5s"),
        ("keepalive_timeout", "5s 4s"),
        ("error_log", "logs/x.log info"),
    ];
    let plain = render(("127.0.0.1:9".parse().unwrap(), None), false, None, None);
    let requests = Requests::to("", "/");
    let config = settings.iter().fold(plain, |config, (name, value)| config.set(name, value, &requests).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let configure = nginx_configure();
    let mut ports = free_port;
    let options = copied(dir.path(), &mut ports);
    let private = private::build(&config, None, options, built(&configure), true).unwrap();
    let out = check(&private);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn nothing_is_opened_or_written_outside() {
    for case in &CASES {
        let place = Place::new(case);
        let private = place.build(None, false);
        let copy = reread(&private);
        let own = |path: &str| path == "off" || Path::new(path).starts_with(&private.dir);
        for found in copy.walk().into_iter().filter(|f| !f.is_entry()) {
            let name = String::from_utf8_lossy(found.directive.name()).into_owned();
            let first = found.arg(0).unwrap_or_default();
            assert!(!writes(&name) || own(&first), "{}: {}: {name} {first}", case.name, found.place());
            assert!(!matches!(&*name, "user" | "daemon" | "master_process"), "{}: {name}", case.name);
            assert!(name != "include" || own(&first), "{}: include {first}", case.name);
            assert!(!name.ends_with("_store") || first == "off", "{}: {name}", case.name);
        }
        for listen in copy.listens() {
            match listen.address {
                Address::Inet { host: Host::V4(ip), .. } => assert!(ip.is_loopback(), "{}", listen.found.place()),
                Address::Unix(path) => assert!(own(&path)),
                other => panic!("{other:?}"),
            }
        }
        let logs = copy.find(&[], "error_log");
        assert_eq!(logs[0].arg(0).unwrap(), private.error_log.to_str().unwrap());
        assert!(
            copy.walk()
                .iter()
                .filter(|f| f.directive.is("error_log"))
                .all(|f| { ["warn", "notice", "info", "debug"].contains(&&*f.arg(1).unwrap()) })
        );
    }
}

#[test]
fn lines_keep_their_numbers_and_messages_name_the_users_files() {
    for case in &CASES {
        let place = Place::new(case);
        let private = place.build(Some(([127, 0, 0, 1], 9).into()), false);
        let lines = |text: &[u8]| text.iter().filter(|b| **b == b'\n').count();
        let copies = reread(&private);
        for (_, copy) in copies.files() {
            let original = private.translate(copy.path.to_str().unwrap());
            let original = fs::read(&original).unwrap_or_else(|e| panic!("{}: {original}: {e}", case.name));
            assert_eq!(lines(&copy.text), lines(&original), "{}: {}", case.name, copy.path.display());
        }
    }
}

#[test]
fn sockets_are_counted_as_nginx_counts_them() {
    for case in &CASES {
        needs_modules(case);
        let place = Place::new(case);
        let private = place.build(Some(([127, 0, 0, 1], 9).into()), root());
        let copy = reread(&private);
        let count = sockets(&copy.listens());
        // nginx names the number of its sockets when it has too few connections for them.
        let events = &copy.find(&[], "events")[0];
        let text = format!("events {{ worker_connections {count}; }}");
        let edited = copy.apply(&[events.replace(text.into_bytes())]).unwrap();
        copy.write_back(&edited).unwrap();
        let said = String::from_utf8_lossy(&check(&private).stderr).into_owned();
        let expected = format!("{count} worker_connections are not enough for {count} listening sockets");
        assert!(said.contains(&expected), "{}: {said}", case.name);
    }
}

#[test]
fn an_ordinary_user_can_run_it() {
    let nobody = 65534;
    for case in CASES.iter().filter(|c| c.name != "balance") {
        needs_modules(case);
        let place = Place::new(case);
        let private = place.build(None, false);
        if !root() {
            assert!(check(&private).status.success());
            continue;
        }
        let chown = Command::new("chown").arg("-R").arg(nobody.to_string()).arg(place.dir.path()).status().unwrap();
        assert!(chown.success());
        let out = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/sbin/nginx", "-t", "-e", "stderr", "-p"])
            .arg(&private.dir)
            .arg("-c")
            .arg(&private.main)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn listeners_show_a_certificate_of_the_runs_and_nobody_reads_the_users_keys() {
    let dir = tempfile::tempdir().unwrap();
    let papers = genkai_place::authority::make(dir.path()).unwrap();
    let text = "events { }\nhttp {\n ssl_certificate /none/rsa.pem; ssl_certificate_key /none/rsa.key;\n ssl_certificate /none/ec.pem; \
                ssl_certificate_key /none/ec.key;\n ssl_password_file /none/words;\n server { listen 443 ssl; proxy_ssl_name b; }\n \
                server { listen 444 ssl; ssl_certificate data:$there; ssl_certificate_key data:$key; }\n}\n";
    let main = dir.path().join("main.conf");
    std::fs::write(&main, text).unwrap();
    let config = Config::read(&main, Path::new("/usr/share/nginx")).unwrap();
    let run = dir.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let mut ports = free_port;
    let options = CopyOptions { papers: Some(&papers), ..copied(&run, &mut ports) };
    let private = private::build(&config, None, options, built(""), false).unwrap();
    let copy = std::fs::read_to_string(&private.main).unwrap();
    assert!(!copy.contains("/none/") && !copy.contains("data:"), "{copy}");
    assert_eq!(copy.matches("certificate.pem").count(), 2, "one for each block: {copy}");
    assert_eq!(copy.matches("key.pem").count(), 2, "{copy}");
}
