//! A real Apache in a private copy: with every MPM, on configurations like those in the field, and nothing left afterwards.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use genkai_model::event::Change;
use genkai_model::plan::ConfigSource;
use genkai_targets::apache;
use genkai_targets::error::TargetError;
use genkai_targets::product::{Deployment, Prepare, Prepared as _};

use crate::{gone, texts};

type Apache = Deployment<apache::Apache>;

const MODULES: &str = "/usr/lib/apache2/modules";

fn prepare(
    dir: &Path,
    source: ConfigSource,
    backend: Option<SocketAddr>,
    set: &[(&str, &str)],
) -> Result<Apache, TargetError> {
    let settings: BTreeMap<String, String> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Apache::prepare(Prepare { backend, host: "two.example", ..Prepare::plain(source, &settings, dir.join("private")) })
}

/// A backend that answers every request with its own name, until the test ends.
fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut head = [0; 2048];
                while stream.read(&mut head).is_ok_and(|n| n > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nbackend");
                }
            });
        }
    });
    address
}

fn get(address: SocketAddr, host: &str) -> String {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn write(path: PathBuf, text: &str) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// A configuration in several files, as distributions have them.
fn field(dir: &Path) -> PathBuf {
    let root = dir.display();
    let load: String = ["mpm_worker", "authz_core", "proxy", "proxy_http", "setenvif"]
        .map(|m| format!("LoadModule {m}_module {MODULES}/mod_{m}.so\n"))
        .concat();
    write(dir.join("mods-enabled/a.load"), &load);
    write(
        dir.join("mods-enabled/b.conf"),
        "<IfModule !prefork.c>\r\n  StartServers 1\r\n  MaxRequestWorkers 50\r\n</IfModule>\r\n",
    );
    write(dir.join("ports.conf"), "Listen 80\nListen [::]:80\n<IfModule ssl_module>\n\tListen 443\n</IfModule>\n");
    let host = |name: &str, to: &str| {
        format!(
            "<VirtualHost *:80>\n  ServerName {name}\n  ErrorLog ${{APACHE_LOG_DIR}}/{name}.log\n  CustomLog \"|/usr/bin/tee {root}/leak\" combined\n  \
                 ProxyPass / {to} \\\n    retry=0\n</VirtualHost>\n"
        )
    };
    write(dir.join("sites-enabled/1.conf"), &host("one.example", "http://127.0.0.1:9/"));
    write(dir.join("sites-enabled/2.conf"), &host("two.example", "http://127.0.0.1:9/"));
    write(
        dir.join("apache2.conf"),
        &format!(
            "# The main file\nServerRoot \"{root}\"\nPidFile ${{APACHE_PID_FILE}}\nMutex file:{root}/locks default\nDefine SITES sites-enabled\n\
             User ${{APACHE_RUN_USER}}\nGroup ${{APACHE_RUN_GROUP}}\nTimeout 300\nLogLevel error\nLogFormat \"%h \\\"%r\\\"\" combined\nIncludeOptional mods-enabled/*.load\nIncludeOptional mods-enabled/*.conf\n\
             Include ports.conf\nIncludeOptional nothing/*.conf\nIncludeOptional ${{SITES}}/*.conf\n"
        ),
    )
}

#[test]
fn every_mpm_serves_is_watched_and_ends() {
    for mpm in ["event", "worker", "prefork"] {
        let dir = tempfile::tempdir().unwrap();
        let apache = prepare(dir.path(), ConfigSource::Generated, Some(backend()), &[("mpm", mpm)]).unwrap();
        let mut running = apache.start(None).unwrap();
        assert!(get(running.address(), "x").ends_with("backend"), "{mpm}");
        let deadline = Instant::now() + Duration::from_secs(20);
        let metrics = loop {
            let seen = running.observe();
            let metrics = seen.samples[0].metrics.clone();
            if metrics.contains_key("apache.requests_total") {
                break metrics;
            }
            assert!(Instant::now() < deadline, "{mpm}: no status page: {metrics:?}");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(metrics["apache.requests_total"] >= 1.0, "{mpm}: {metrics:?}");
        assert!(metrics["apache.processes"] >= 1.0 && metrics["apache.worker_fds_max"] > 5.0, "{mpm}: {metrics:?}");
        let pid = running.pid();
        running.stop();
        gone(pid);
    }
}

/// As in a server that has run for a while, whatever it started with.
#[test]
fn children_that_are_to_be_spare_are_there_before_the_load() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("mpm", "prefork"),
        ("MaxRequestWorkers", "30"),
        ("StartServers", "1"),
        ("MinSpareServers", "12"),
        ("MaxSpareServers", "20"),
    ];
    let apache = prepare(dir.path(), ConfigSource::Generated, Some(backend()), &settings).unwrap();
    let mut running = apache.start(None).unwrap();
    let processes = running.observe().samples[0].metrics["apache.processes"];
    running.stop();
    assert!(processes >= 12.0, "{processes}");
}

#[test]
fn a_configuration_of_several_files_runs_in_private() {
    let dir = tempfile::tempdir().unwrap();
    let main = field(dir.path());
    let before = texts(dir.path());
    let apache = prepare(dir.path(), ConfigSource::File(main.clone()), Some(backend()), &[("Timeout", "30")]).unwrap();
    let running = apache.start(None).unwrap();
    assert!(running.address().ip().is_loopback());
    for host in ["one.example", "two.example"] {
        assert!(get(running.address(), host).ends_with("backend"), "{host}");
    }
    running.stop();
    assert_eq!(texts(dir.path()), before, "nothing of the user's changed, no log was written beside it");
    let rewritten: Vec<&str> = apache.rewrites().iter().map(|r| r.place.rsplit('/').next().unwrap()).collect();
    for place in ["ports.conf:1", "ports.conf:2", "1.conf:1", "2.conf:5", "apache2.conf:3"] {
        assert!(rewritten.contains(&place), "{place} is not among {rewritten:?}");
    }
    let (value, origin) = apache.value_of("MaxRequestWorkers").unwrap();
    assert_eq!(value, "50");
    assert!(matches!(origin, genkai_model::limit::Origin::File { path, line: 3 } if path.ends_with("b.conf")));
}

/// A virtual host with a plain `LogLevel` of its own takes none of the server's levels of modules.
#[test]
fn a_virtual_host_with_a_level_of_its_own_tells_that_a_request_came_too_late() {
    let dir = tempfile::tempdir().unwrap();
    let load: String = ["mpm_event", "authz_core", "reqtimeout"]
        .map(|m| format!("LoadModule {m}_module {MODULES}/mod_{m}.so\n"))
        .concat();
    let main = write(
        dir.path().join("apache2.conf"),
        &format!(
            "ServerRoot {}\nUser www-data\nGroup www-data\n{load}Listen 80\n<VirtualHost *:80>\nServerName x\nRequestReadTimeout header=1\nLogLevel \
             warn\n</VirtualHost>\n",
            dir.path().display()
        ),
    );
    let apache = prepare(dir.path(), ConfigSource::File(main), None, &[]).unwrap();
    let mut running = apache.start(None).unwrap();
    let mut stream = TcpStream::connect(running.address()).unwrap();
    stream.write_all(b"GET / HT").unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut told = Vec::new();
    while !told.contains(&Some("apache.request_slow".to_owned())) {
        assert!(Instant::now() < deadline, "{told:?}");
        std::thread::sleep(Duration::from_millis(50));
        told.extend(running.observe().logs.into_iter().map(|line| line.signature));
    }
    running.stop();
}

#[test]
fn changes_become_a_diff_and_are_written_back() {
    let dir = tempfile::tempdir().unwrap();
    let main = field(dir.path());
    let apache = prepare(dir.path(), ConfigSource::File(main), Some(backend()), &[]).unwrap();
    let change = |setting: &str, from: &str, to: &str| Change {
        product: "apache".to_owned(),
        setting: setting.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let changes = [change("MaxRequestWorkers", "50", "500"), change("ProxyPass.max", "", "7")];
    let diff = apache.diff(&changes);
    for line in
        ["-  MaxRequestWorkers 50\r\n", "+  MaxRequestWorkers 500\r\n", "+  ServerLimit 20\r\n", "+    retry=0 max=7\n"]
    {
        assert!(diff.contains(line), "{line:?}\n{diff}");
    }
    let variant = apache.with(&changes, &dir.path().join("private/2")).unwrap();
    assert_eq!(variant.value_of("ServerLimit").unwrap().0, "20");
    let backups = apache.write_back(&changes).unwrap();
    assert_eq!(backups.len(), 2, "{backups:?}");
    let text = std::fs::read_to_string(dir.path().join("mods-enabled/b.conf")).unwrap();
    assert_eq!(
        text,
        "<IfModule !prefork.c>\r\n  StartServers 1\r\n  MaxRequestWorkers 500\r\n  ServerLimit 20\r\n</IfModule>\r\n"
    );
}

#[test]
fn what_is_wrong_is_told_with_the_users_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let main = field(dir.path());
    let wrong = |file: &str, text: &str| {
        let path = dir.path().join(file);
        let good = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{good}{text}")).unwrap();
        let error = prepare(dir.path(), ConfigSource::File(main.clone()), None, &[]).unwrap_err();
        std::fs::write(&path, good).unwrap();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    let said = wrong("ports.conf", "KeepAliveTimeot 5\n");
    assert!(said.contains("ports.conf:6") && said.contains("Invalid command 'KeepAliveTimeot'"), "{said}");
    assert!(!said.contains("private"), "{said}");
    let said = wrong("sites-enabled/2.conf", "<Location /a>\n");
    assert!(said.contains("2.conf:8") && said.contains("</Location>"), "{said}");
    let said = wrong("apache2.conf", "ProxyPass /far http://192.0.2.1/\n");
    assert!(said.contains("192.0.2.1") && said.contains("--allow-remote"), "{said}");
    let said = wrong("apache2.conf", "Include gone.conf\n");
    assert!(said.contains("gone.conf") && said.contains("IncludeOptional"), "{said}");
}

/// Apache says on its output that a file is sound, and in its log why it ends all the same.
#[test]
fn why_apache_does_not_start_is_told_from_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("httpd.conf");
    let modules =
        ["mpm_event", "authz_core", "mime"].map(|name| format!("LoadModule {name}_module modules/mod_{name}.so\n"));
    let text = format!("ServerRoot /usr/lib/apache2\nServerName localhost\nListen 80\n{}", modules.concat());
    std::fs::write(&file, text).unwrap();
    let work = dir.path().join("work");
    let apache = prepare(&work, ConfigSource::File(file), None, &[]).unwrap();
    let error = apache.start(None).err().unwrap().to_string();
    assert!(error.contains("AH01597") && error.contains("mime types"), "{error}");
}
