//! Private copies of every configuration of the corpus, judged by the real nginx.

mod nginx_configs;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use genkai_targets::nginx::config::{Address, Config, Host};
use genkai_targets::nginx::private::{self, At, Options, Private};
use genkai_targets::nginx::settings::{Rendering, render};

use nginx_configs::{CASES, Case, lay_out};

fn root() -> bool {
    nix::unistd::geteuid().is_root()
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A folder that nginx's workers may enter, with the user's files in `etc` and the private copy in `run`.
struct Place {
    dir: tempfile::TempDir,
    config: Config,
}

impl Place {
    fn new(case: &Case) -> Place {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let main = lay_out(case.name, &dir.path().join("etc"));
        if case.name == "tls" {
            certificate(&dir.path().join("etc/tls"));
        }
        fs::create_dir(dir.path().join("run")).unwrap();
        let config = Config::read(&main, Path::new(&nginx_prefix())).unwrap();
        Place { dir, config }
    }

    fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn build(&self, backend: Option<SocketAddr>, root: bool) -> Private {
        let dir = self.run_dir();
        let options =
            Options { dir: &dir, ports: &mut free_port, backend, root, configure: &nginx_configure(), status: true };
        private::build(&self.config, options).unwrap()
    }
}

/// A key and certificate for nobody, of this test only.
fn certificate(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=secure.example.com", "-keyout", "site.key", "-out", "site.pem"])
        .current_dir(dir)
        .output()
        .expect("openssl is installed (make test installs it)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn nginx() -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("nginx");
    command.env("PATH", format!("{path}:/usr/sbin"));
    command
}

fn nginx_configure() -> String {
    let out = nginx().arg("-V").output().expect("nginx is installed (make test installs it)");
    String::from_utf8_lossy(&out.stderr).lines().find(|l| l.starts_with("configure")).unwrap().to_owned()
}

fn nginx_prefix() -> String {
    let configure = nginx_configure();
    let prefix = configure.split(' ').find_map(|a| a.strip_prefix("--prefix=")).unwrap();
    prefix.to_owned()
}

fn check(private: &Private) -> Output {
    nginx().args(["-t", "-e", "stderr", "-p"]).arg(&private.dir).arg("-c").arg(&private.main).output().unwrap()
}

fn has_modules(case: &Case) -> bool {
    let dir = Path::new(&nginx_prefix()).join("modules");
    let missing: Vec<_> = case.modules.iter().filter(|m| !dir.join(m).exists()).collect();
    assert!(
        missing.is_empty() || std::env::var_os("CI").is_none(),
        "{}: {missing:?} not installed (make test installs them)",
        case.name
    );
    missing.is_empty()
}

/// Content of every file under a folder.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    all
}

#[test]
fn nginx_accepts_every_private_copy() {
    for case in CASES.iter().filter(|c| has_modules(c)) {
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

/// The private copy, read again.
fn reread(private: &Private) -> Config {
    Config::read(&private.main, Path::new(&nginx_prefix())).unwrap()
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
    let settings = settings.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
    let config = render(&Rendering { backend: "127.0.0.1:9", port: 80, settings: &settings }).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let configure = nginx_configure();
    let options = Options {
        dir: dir.path(),
        ports: &mut free_port,
        backend: None,
        root: root(),
        configure: &configure,
        status: true,
    };
    let private = private::build(&config, options).unwrap();
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
    for case in CASES.iter().filter(|c| has_modules(c)) {
        let place = Place::new(case);
        let private = place.build(Some(([127, 0, 0, 1], 9).into()), root());
        let copy = reread(&private);
        let sockets = genkai_targets::nginx::config::sockets(&copy.listens());
        // nginx names the number of its sockets when it has too few connections for them.
        let events = &copy.find(&[], "events")[0];
        let text = format!("events {{ worker_connections {sockets}; }}");
        let edited = copy.apply(&[events.replace(text.into_bytes())]).unwrap();
        copy.write_back(&edited).unwrap();
        let said = String::from_utf8_lossy(&check(&private).stderr).into_owned();
        let expected = format!("{sockets} worker_connections are not enough for {sockets} listening sockets");
        assert!(said.contains(&expected), "{}: {said}", case.name);
    }
}

#[test]
fn an_ordinary_user_can_run_it() {
    let nobody = 65534;
    for case in CASES.iter().filter(|c| has_modules(c) && c.name != "balance") {
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

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|c| c.name == name).unwrap()
}

#[test]
fn an_ipv6_twin_is_left_out_and_virtual_hosts_stay_together() {
    let place = Place::new(case("tls"));
    let private = place.build(None, false);
    let seen: Vec<_> = private.moved.iter().map(|m| (m.from.as_str(), m.merged, m.ssl)).collect();
    let expected = [
        ("80", false, false),
        ("[::]:80", true, false),
        ("443", false, true),
        ("[::]:443", true, true),
        ("443", false, true),
        ("[2001:db8::1]:443", false, true),
    ];
    assert_eq!(seen, expected);
    let to: Vec<_> = private.moved.iter().map(|m| m.to.clone()).collect();
    assert_eq!((&to[0], &to[2], &to[2]), (&to[1], &to[3], &to[4]));
    let copy = reread(&private);
    let params: Vec<_> = copy.listens().iter().map(|l| l.found.args()[1..].join(" ")).collect();
    let expected = ["default_server", "ssl http2 default_server backlog=2048", "ssl http2", "ssl", ""];
    assert_eq!(params, expected);
}

#[test]
fn what_is_given_once_for_an_address_is_kept_once() {
    let dir = tempfile::tempdir().unwrap();
    let text = "events {} http {
        server { listen 80 default_server backlog=100; }
        server { listen [::]:80 default_server reuseport ipv6only=on; }
        server { listen 81 reuseport; listen *:81; }
    }";
    let main = dir.path().join("n.conf");
    fs::write(&main, text).unwrap();
    let config = Config::read(&main, Path::new("/")).unwrap();
    let run = dir.path().join("run");
    let configure = nginx_configure();
    let options =
        Options { dir: &run, ports: &mut free_port, backend: None, root: root(), configure: &configure, status: false };
    let private = private::build(&config, options).unwrap();
    let copy = reread(&private);
    let params: Vec<_> = copy.listens().iter().map(|l| l.found.args()[1..].join(" ")).collect();
    assert_eq!(params, ["default_server backlog=100", "", "reuseport"]);
    let out = check(&private);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_backend_replaces_what_is_behind_but_not_nginx_itself() {
    let backend = SocketAddr::from(([127, 0, 0, 1], 4711));
    let place = Place::new(case("wordpress"));
    let copy = reread(&place.build(Some(backend), false));
    let upstream = &copy.upstreams()[0];
    let servers: Vec<_> = upstream.servers.iter().map(|s| s.found.args().join(" ")).collect();
    assert_eq!(servers, ["127.0.0.1:4711", "127.0.0.1:4711 backup"]);
    assert_eq!(copy.passes()[0].found.written(), "proxy_pass http://php");

    let place = Place::new(case("balance"));
    let copy = reread(&place.build(Some(backend), false));
    let passes: Vec<_> = copy.passes().iter().map(|p| p.found.args()[0].clone()).collect();
    let expected =
        ["http://$pool", "http://stable/v2/", "http://ad min", "http://canary/users/$id", "http://127.0.0.1:4711"];
    assert_eq!(passes, expected);

    let place = Place::new(case("chain"));
    let private = place.build(Some(backend), false);
    let copy = reread(&private);
    let inner = private.moved.iter().find(|m| m.from == "localhost:8080").unwrap().to.to_string();
    let socket = private.moved.iter().find(|m| m.from.starts_with("unix:")).unwrap().to.to_string();
    let passes: Vec<_> = copy.passes().iter().map(|p| p.found.args()[0].clone()).collect();
    assert_eq!(passes, [format!("http://{inner}"), format!("http://{socket}:/"), "http://inner".to_owned()]);
    let servers: Vec<_> = copy.upstreams()[0].servers.iter().map(|s| s.found.args()[0].clone()).collect();
    assert_eq!(servers, [inner, socket, backend.to_string()]);
}

#[test]
fn keys_are_named_not_copied() {
    let place = Place::new(case("tls"));
    let private = place.build(None, false);
    let etc = place.dir.path().join("etc");
    let copy = reread(&private);
    let files: Vec<_> = ["ssl_certificate_key", "auth_basic_user_file"]
        .iter()
        .flat_map(|name| {
            copy.walk().into_iter().filter(|f| f.directive.is(name)).map(|f| f.arg(0).unwrap()).collect::<Vec<_>>()
        })
        .collect();
    let expected = ["tls/site.key", "tls/site.key", "htpasswd"].map(|f| etc.join(f).to_str().unwrap().to_owned());
    assert_eq!(files, expected);
    let key = fs::read(etc.join("tls/site.key")).unwrap();
    for (path, content) in contents(&private.dir) {
        assert!(content != key && !String::from_utf8_lossy(&content).contains("not-a-secret"), "{}", path.display());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn every_change_is_listed_with_its_place() {
    let place = Place::new(case("windows"));
    let private = place.build(None, false);
    let etc = place.dir.path().join("etc/nginx.conf");
    let listed: Vec<_> = private
        .rewrites
        .iter()
        .map(|r| {
            let line = r.place.strip_prefix(&format!("{}:", etc.display())).unwrap();
            format!(
                "{line}|{}|{}",
                r.from.split_whitespace().collect::<Vec<_>>().join(" "),
                r.to.split_whitespace().next().unwrap_or("")
            )
        })
        .collect();
    let expected = [
        "15|listen 80|listen",
        // Port 80 of this machine is this nginx.
        "26|proxy_pass http://127.0.0.1|proxy_pass",
        "18|root html|root",
        "23|root html|root",
        "1||pid",
        "1||lock_file",
        "1||error_log",
        "8||access_log",
        "8||root",
        "8||client_body_temp_path",
        "8||proxy_temp_path",
        "8||fastcgi_temp_path",
        "8||uwsgi_temp_path",
        "8||scgi_temp_path",
        "8||server",
    ];
    assert_eq!(listed, expected);
    let root = format!("root {}/html", nginx_prefix());
    assert_eq!(private.rewrites[2].to, root);
    assert!(
        matches!(private.moved[0].to, At::Inet(address) if Some(address) == private.address_of(&private.moved[0].place))
    );
}

#[test]
fn folders_that_cannot_be_used_are_refused() {
    let place = Place::new(case("chain"));
    let configure = nginx_configure();
    let mut build = |dir: &Path, ports: &mut dyn FnMut() -> io::Result<u16>| {
        let options = Options { dir, ports, backend: None, root: false, configure: &configure, status: true };
        private::build(&place.config, options).unwrap_err().to_string()
    };
    assert!(build(Path::new("relative"), &mut free_port).contains("must be absolute"));
    assert!(build(Path::new("/tmp/a$b"), &mut free_port).contains("without $"));
    let long = place.dir.path().join("x".repeat(100));
    assert!(build(&long, &mut free_port).contains("shorter name"));
    assert!(build(&place.run_dir(), &mut || Err(io::Error::other("none left"))).contains("no free port"));
    let file = place.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = build(&file.join("sub"), &mut free_port);
    assert!(error.starts_with("cannot write"), "{error}");
}
