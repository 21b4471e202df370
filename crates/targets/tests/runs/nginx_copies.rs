//! What genkai reads out of a configuration, against what a running nginx does with it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use genkai_targets::nginx::config::{Config, parse};
use genkai_targets::nginx::private::{self, At, Private, STATUS_PATH};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::nginx_configs::lay_out;
use crate::nginx_configs::place::{copied, free_port};

const PATIENCE: Duration = Duration::from_secs(20);

/// A running nginx, ended with the test.
struct Nginx {
    child: Child,
    private: Private,
    _dir: tempfile::TempDir,
}

impl Nginx {
    fn start(make: impl FnOnce(&Path)) -> Nginx {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        make(&dir.path().join("etc"));
        let config = Config::read(&dir.path().join("etc/nginx.conf"), Path::new("/usr/share/nginx")).unwrap();
        let run = dir.path().join("run");
        fs::create_dir(&run).unwrap();
        let mut ports = free_port;
        let options = copied(&run, &mut ports);
        let private =
            private::build(&config, None, options, private::Built { configure: "", version: (1, 22, 1) }, true)
                .unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let child = Command::new("nginx")
            .env("PATH", format!("{path}:/usr/sbin"))
            .args(["-g", "daemon off;", "-e", "stderr", "-p"])
            .arg(&run)
            .arg("-c")
            .arg(&private.main)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx is installed (make test installs it)");
        let nginx = Nginx { child, private, _dir: dir };
        nginx.wait();
        nginx
    }

    fn of_text(text: &str) -> Nginx {
        Nginx::start(|etc| {
            fs::create_dir(etc).unwrap();
            fs::write(etc.join("nginx.conf"), text).unwrap();
        })
    }

    fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(self.private.status.unwrap()).is_err() {
            assert!(
                Instant::now() < deadline,
                "nginx did not start: {:?}",
                fs::read_to_string(&self.private.error_log)
            );
            std::thread::yield_now();
        }
    }

    /// Where the first `listen` is.
    fn address(&self) -> SocketAddr {
        match self.private.moved[0].to {
            At::Inet(address) => address,
            At::Unix(_) => panic!("the first listener is a Unix socket"),
        }
    }

    /// Status and body of a GET.
    fn get(&self, address: SocketAddr, host: &str, path: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let head = memchr::memmem::find(&response, b"\r\n\r\n").expect("a response has a head");
        let status = String::from_utf8_lossy(&response[9..12]).parse().unwrap();
        (status, response[head + 4..].to_vec())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM: the master ends its workers.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.child.id() as i32), nix::sys::signal::SIGTERM);
        let _ = self.child.wait();
    }
}

#[test]
fn locations_are_those_that_nginx_chooses() {
    let text = r#"
        events { worker_connections 64; }
        http {
            server {
                listen 80 default_server;
                server_name _;
                location / { return 200 "root"; }
                location /a { return 200 "a"; }
                location ^~ /a/b/ { return 200 "ab"; }
                location = /a { return 200 "exact"; }
                location ~ \.php$ { return 200 "php"; }
                location ~* \.(JPG|png)$ { return 200 "image"; }
                location ~ ^/x[0-9]{2}$ { return 200 "x"; }
                location /n {
                    location /n/m { return 200 "nm"; }
                    location ~ \.php$ { return 200 "nested php"; }
                    location = /n/x { return 200 "nested exact"; }
                    return 200 "n";
                }
                location /a/long/prefix { return 200 "long"; }
            }
            server { listen 80; server_name a.example.com; location / { return 200 "named"; } }
            server { listen 80; server_name *.example.com .dot.org; location / { return 200 "star"; } }
            server { listen 80; server_name www.* mail.example.*; location / { return 200 "prefix"; } }
            server { listen 80; server_name ~^r\d+\.net$; location / { return 200 "regex"; } }
        }"#;
    // nginx reads `{` in an unquoted regular expression as a block's.
    let text = text.replace("~ ^/x[0-9]{2}$", "~ \"^/x[0-9]{2}$\"");
    let nginx = Nginx::of_text(&text);
    let config = Config::of_text(Path::new("/c"), text.into_bytes(), Path::new("/")).unwrap();
    let paths = "/ /a /a/ /ab /a/b /a/b/ /a/b/c.php /x.php /x.PHP /x.jpg /d/x.png /x12 /x123 /n /n/m /n/m/x.php /n/1.php \
                 /n/x /n/x/ /n/x.jpg /a/long/prefix/y /a/long /nope/x.php/y";
    let hosts = "other a.example.com A.Example.Com b.example.com dot.org x.dot.org www.else.net mail.example.net r12.net \
                 r.net www.example.com";
    let answer = |host: &str, path: &str| {
        let route = config.route(Some(host), path).unwrap();
        let block = route.entry().last().unwrap();
        block.inside().iter().find(|f| f.directive.is("return")).and_then(|f| f.arg(1)).unwrap()
    };
    for path in paths.split_whitespace() {
        let body = nginx.get(nginx.address(), "other", path).1;
        assert_eq!(String::from_utf8_lossy(&body), answer("other", path), "{path}");
    }
    for host in hosts.split_whitespace() {
        let body = nginx.get(nginx.address(), host, "/").1;
        assert_eq!(String::from_utf8_lossy(&body), answer(host, "/"), "{host}");
    }
}

/// Words with everything that the syntax treats specially, but for `$` (nginx would put variables in).
fn words(count: usize) -> Vec<String> {
    let bare = "[a-z}\"'#=]{0,3}(\\\\[;{}#\"' \\\\trnx]|[a-z}\"'#]){1,6}";
    let double = "\"([a-z ;{}#'\n\t]|\\\\[;{}#\"' \\\\trnx]){0,8}\"";
    let single = "'([a-z ;{}#\"\n\t]|\\\\[;{}#\"' \\\\trnx]){0,8}'";
    let any = proptest::prop_oneof![bare, double, single];
    let mut runner = TestRunner::deterministic();
    let mut all = Vec::new();
    while all.len() < count {
        let word = any.new_tree(&mut runner).unwrap().current();
        // Only words that both can read; that both refuse the same is asked in another test.
        if parse(format!("return 200 {word};").as_bytes()).is_ok_and(|t| t.len() == 1 && t[0].args().len() == 2) {
            all.push(word);
        }
    }
    all
}

#[test]
fn words_mean_what_nginx_makes_of_them() {
    let words = words(300);
    let locations: String =
        words.iter().enumerate().map(|(i, w)| format!("location = /{i} {{ return 200 {w}; }}\n")).collect();
    let nginx = Nginx::of_text(&format!("events {{}} http {{ server {{ listen 80; {locations} }} }}"));
    for (i, word) in words.iter().enumerate() {
        let expected = parse(format!("return 200 {word};").as_bytes()).unwrap()[0].args()[1].value.clone();
        let (status, body) = nginx.get(nginx.address(), "x", &format!("/{i}"));
        assert_eq!((status, String::from_utf8_lossy(&body)), (200, String::from_utf8_lossy(&expected)), "{word:?}");
    }
}

#[test]
fn what_nginx_cannot_read_is_refused_and_the_rest_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let texts = [
        "events {} x",
        "events {} }",
        "events {",
        "events {};",
        "\"events\"{}",
        "events\"{}",
        "events {}{}",
        "events {} 'a",
        "events {} \"a\"b;",
        "events { use epoll }",
        "events { use 'epoll'; }",
        "events { use 'epoll'}",
        "events { use epoll;;}",
        "events {} #}",
        "#\nevents {} # {",
        "events {}\\",
        "events {} \\;",
        "events { use e\\poll; }",
        "events {} http { server { if (\"$uri\" = \"x\"){ return 400; } } }",
        "events {} http { server { location /x{return 200 a}; } }",
        "events {} http { server { location /x{return 200 a;} } }",
        "events {} http { map $uri $x { \"a\"\"b\"; } }",
        "events {} http { map $uri ${x} { a b; } }",
        "events {} http { map $uri ${x { a b; } }",
        ";",
        "{}",
        "",
        "events {} http { server { return 200 a#b; } }",
        "events {} http { server { return 200 #a;\n; } }",
    ];
    for text in texts {
        let conf = dir.path().join("nginx.conf");
        let pid = dir.path().join("pid");
        fs::write(&conf, text).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let out = Command::new("nginx")
            .env("PATH", format!("{path}:/usr/sbin"))
            .args(["-t", "-e", "stderr", "-g", &format!("pid {};", pid.display()), "-c"])
            .arg(&conf)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        // Only complaints about the syntax count: that a directive is unknown or misused is nginx's own business.
        let syntax =
            ["unexpected", "not terminated"].iter().any(|w| said.contains(w)) && !said.contains("is not allowed");
        assert_eq!(parse(text.as_bytes()).is_err(), syntax, "{text:?}: {said}");
    }
}

#[test]
fn a_chain_through_nginx_itself_stays_within_the_private_copy() {
    let nginx = Nginx::start(|etc| {
        lay_out("chain", etc);
    });
    let front = nginx.address();
    // Front, inner server, Unix socket: there is no such folder at its end. A broken link would be 502.
    assert_eq!(nginx.get(front, "x", "/").0, 404);
    assert_eq!(nginx.get(front, "x", "/ping"), (200, b"pong\n".to_vec()));
    let last = nginx.private.moved.iter().rfind(|m| m.from == "*:80" || m.from == "*:8000").unwrap();
    assert_eq!(
        (&last.from[..], last.merged),
        (if nix::unistd::geteuid().is_root() { "*:80" } else { "*:8000" }, false)
    );
    let (status, page) = nginx.get(nginx.private.status.unwrap(), "x", STATUS_PATH);
    assert_eq!(status, 200);
    assert!(String::from_utf8_lossy(&page).starts_with("Active connections:"));
    let log = fs::read_to_string(nginx.private.dir.join("logs/access.log")).unwrap();
    assert!(log.lines().filter(|l| l.contains("\"GET / HTTP/1.")).count() >= 3, "each hop is logged:\n{log}");
}
