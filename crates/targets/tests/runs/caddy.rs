//! A real Caddy in a private copy, on configurations like those in the field, and nothing left afterwards.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::Change;
use genkai_model::limit::Law;
use genkai_model::plan::ConfigSource;
use genkai_place::authority;
use genkai_place::machine;
use genkai_targets::caddy;
use genkai_targets::error::TargetError;
use genkai_targets::product::{Deployment, Prepare, Prepared as _};

use crate::{gone, texts};

type Caddy = Deployment<caddy::Caddy>;

fn prepare(
    dir: &Path,
    source: ConfigSource,
    backend: Option<SocketAddr>,
    set: &[(&str, &str)],
) -> Result<Caddy, TargetError> {
    let settings: BTreeMap<String, String> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Caddy::prepare(Prepare { backend, host: "two.example", ..Prepare::plain(source, &settings, dir.join("private")) })
}

/// A backend that answers every request after a while with its own name, until the test ends.
fn backend(after: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut head = [0; 2048];
                while stream.read(&mut head).is_ok_and(|n| n > 0) {
                    std::thread::sleep(after);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nbackend");
                }
            });
        }
    });
    address
}

fn ask(address: SocketAddr, host: &str) -> TcpStream {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

fn get(address: SocketAddr, host: &str) -> String {
    let mut answer = String::new();
    ask(address, host).read_to_string(&mut answer).unwrap();
    answer
}

fn get_by_tls(address: SocketAddr, name: &str, more: &[&str]) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-quiet", "-servername", name, "-connect", &address.to_string()]).args(more);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
    child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn write(path: PathBuf, text: &str) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// A configuration in several files, with everything that must not be reached.
fn field(dir: &Path) -> PathBuf {
    let root = dir.display();
    write(
        dir.join("snippets/common"),
        "(proxy) {\n\tencode gzip\n\treverse_proxy {args.0} {\n\t\theader_up X-Via {args.1}\n\t}\n}\n",
    );
    write(
        dir.join("sites/1.caddy"),
        &format!(
            "one.example {{\n\ttls ops@example.com\n\tlog {{\n\t\toutput file {root}/leak.log\n\t}}\n\timport proxy 192.0.2.1:80 one\n}}\n"
        ),
    );
    write(
        dir.join("sites/2.caddy"),
        "http://two.example:8080 {\n\tbind 192.0.2.7\n\t# few, on purpose\n\timport proxy 127.0.0.1:9 \"a b\"\n}\n",
    );
    write(
        dir.join("Caddyfile"),
        &format!(
            "# The main file\n{{\n\tadmin 192.0.2.7:2019\n\temail ops@example.com\n\tacme_ca https://acme.invalid/directory\n\tlog {{\n\t\toutput \
             net 192.0.2.1:514\n\t}}\n\tstorage file_system {root}/leak\n\tservers :8080 {{\n\t\ttimeouts {{\n\t\t\tidle 1m\n\t\t}}\n\t}}\n}}\n\nimport \
             snippets/*\nimport sites/*.caddy\n"
        ),
    )
}

#[test]
fn a_configuration_of_many_files_runs_beside_its_original() {
    let dir = tempfile::tempdir().unwrap();
    let main = field(dir.path());
    let before = texts(dir.path());
    let to = Some(backend(Duration::ZERO));
    let caddy = prepare(dir.path(), ConfigSource::File(main), to, &[("dial_timeout", "2s")]).unwrap();
    assert_eq!(caddy.warnings(), &[] as &[String]);
    let rewritten: Vec<&str> = caddy.rewrites().iter().map(|r| r.from.as_str()).collect();
    for gone in [
        "admin 192.0.2.7:2019",
        "email ops@example.com",
        "bind 192.0.2.7",
        "tls ops@example.com",
        "log",
        "servers :8080",
    ] {
        assert!(rewritten.contains(&gone), "{gone}: {rewritten:?}");
    }
    let running = caddy.start(None).unwrap();
    assert!(running.address().ip().is_loopback());
    assert!(get(running.address(), "two.example").ends_with("backend"));
    let diff = caddy.diff(&[Change {
        product: "caddy".into(),
        setting: "timeouts.idle".into(),
        from: "1m".into(),
        to: "9s".into(),
    }]);
    assert!(diff.contains("-\t\t\tidle 1m\n+\t\t\tidle 9s\n") && diff.contains("+\t\t\tdial_timeout 2s\n"), "{diff}");
    let pid = running.pid();
    running.stop();
    gone(pid);
    assert_eq!(texts(dir.path()), before, "the user's files are as they were, and nothing is beside them");
}

#[test]
fn a_site_with_tls_answers_with_a_certificate_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let main = write(dir.path().join("Caddyfile"), "two.example {\n\treverse_proxy app.invalid:80\n}\n");
    let caddy = prepare(dir.path(), ConfigSource::File(main), Some(backend(Duration::ZERO)), &[]).unwrap();
    assert!(matches!(caddy.transport(), genkai_model::transport::Transport::Tls(_)));
    let running = caddy.start(None).unwrap();
    let said = get_by_tls(running.address(), "two.example", &[]);
    assert!(said.ends_with("backend"), "{said}");
    running.stop();
}

#[test]
fn a_generated_proxy_listens_with_and_without_tls() {
    let dir = tempfile::tempdir().unwrap();
    let to = Some(backend(Duration::ZERO));
    let caddy = prepare(dir.path(), ConfigSource::Generated, to, &[("max_conns_per_host", "9")]).unwrap();
    assert_eq!(caddy.rewrites(), &[]);
    let running = caddy.start(None).unwrap();
    assert!(get(running.address(), "localhost").ends_with("backend"));
    running.stop();
    let tls = authority::make(dir.path()).unwrap();
    let authority = tls.authority.clone();
    let caddy = Caddy::prepare(Prepare {
        backend: to,
        tls: Some(tls),
        ..Prepare::plain(ConfigSource::Generated, &BTreeMap::new(), dir.path().join("tls"))
    })
    .unwrap();
    let running = caddy.start(None).unwrap();
    let trusted = ["-verify_return_error", "-CAfile", &authority.to_string_lossy()];
    let said = get_by_tls(running.address(), "localhost", &trusted);
    assert!(said.ends_with("backend"), "{said}");
    running.stop();
}

#[test]
fn its_own_descriptors_are_as_many_as_its_limit_says() {
    let dir = tempfile::tempdir().unwrap();
    let caddy = prepare(dir.path(), ConfigSource::Generated, Some(backend(Duration::ZERO)), &[]).unwrap();
    let limits = caddy.limits(&machine::environment(BTreeMap::new()));
    let descriptors = limits.iter().find(|limit| limit.id == "caddy.nofile").unwrap();
    let Law::Slots { value, reserved, .. } = descriptors.law else { panic!("{descriptors:?}") };
    let running = caddy.start(None).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let open = std::fs::read_dir(format!("/proc/{}/fd", running.pid())).unwrap().count();
    assert!((open as f64 - reserved).abs() <= 2.0, "{open} are open, {reserved} are told");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", running.pid())).unwrap();
    let soft = limits.lines().find_map(|l| l.strip_prefix("Max open files")?.split_whitespace().next()).unwrap();
    assert_eq!(soft.parse::<f64>().unwrap(), value, "Go raises the soft limit to the hard one");
    running.stop();
}

#[test]
fn a_full_upstream_shows_in_metrics_and_log() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [("unhealthy_request_count", "3"), ("max_fails", "1")];
    let to = Some(backend(Duration::from_millis(700)));
    let caddy = prepare(dir.path(), ConfigSource::Generated, to, &settings).unwrap();
    let mut running = caddy.start(None).unwrap();
    let mut streams: Vec<TcpStream> = (0..9).map(|_| ask(running.address(), "localhost")).collect();
    std::thread::sleep(Duration::from_millis(250));
    let seen = running.observe();
    assert_eq!(seen.samples[0].metrics.get("caddy.upstream_requests_max"), Some(&3.0), "{:?}", seen.samples);
    assert!(seen.samples[0].metrics.contains_key("caddy.goroutines"), "{:?}", seen.samples);
    let full = |text: &String| text.starts_with("HTTP/1.1 503");
    let answers: Vec<String> = streams
        .iter_mut()
        .map(|stream| {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        })
        .collect();
    assert_eq!(answers.iter().filter(|text| full(text)).count(), 6, "{answers:?}");
    let mut logs = seen.logs;
    logs.extend(running.observe().logs);
    let told: u64 = logs.iter().filter(|l| l.signature.as_deref() == Some("caddy.no_upstream")).map(|l| l.count).sum();
    assert_eq!(told, 6, "{logs:?}");
    running.stop();
}

#[test]
fn what_cannot_run_is_told_with_the_users_places() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Caddyfile");
    let told = |text: &str, backend: Option<SocketAddr>| {
        std::fs::write(&file, text).unwrap();
        let error = prepare(dir.path(), ConfigSource::File(file.clone()), backend, &[]).unwrap_err();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    let at = |line: usize| format!("{}:{line}", file.display());
    let here = Some(([127, 0, 0, 1], 9).into());
    let site = |line: &str| format!("# c\nhttp://two.example {{\n\t{line}\n}}\n");
    let remote = told(&site("reverse_proxy 192.0.2.1:80"), None);
    assert!(remote.contains(&at(3)) && remote.contains("not this machine (192.0.2.1)"), "{remote}");
    let dynamic = told(&site("reverse_proxy {\n\t\tdynamic a app 80\n\t}"), None);
    assert!(dynamic.contains("cannot be known"), "{dynamic}");
    let unknown = told(&site("reverse_prxy h:1"), here);
    assert!(unknown.contains(&at(3)) && unknown.contains("did you mean reverse_proxy?"), "{unknown}");
    let refused = told(&site("reverse_proxy h:1 {\n\t\tmax_fails many\n\t}"), here);
    assert!(refused.contains("Caddy does not accept") && refused.contains(&format!("in {}", at(4))), "{refused}");
    let nobody = told("other.example {\n\trespond x\n}\n", here);
    assert!(nobody.contains("Host: NAME\": other.example"), "{nobody}");
}
