//! Servers beside genkai, as the user's own would be; each ends with its test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{genkai, signal, until, wait};

/// How long one may take to listen, and to end.
const LONGEST: Duration = Duration::from_secs(90);

/// A process that ends with the test.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.try_wait().unwrap().is_none() {
            signal(self.0.id(), "TERM");
            wait(&mut self.0, LONGEST);
        }
    }
}

/// Starts `genkai serve` with these words; where it listens.
pub fn serve(words: &str) -> (Guard, String) {
    let mut command = genkai(&format!("serve {words}"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    (Guard(child), said["listening"].as_str().unwrap().to_owned())
}

/// Starts a backend that behaves as told, in words of `scripts/examine/backend.py`; where it listens.
pub fn scripted(words: &str) -> (Guard, String) {
    let mut command = Command::new("python3");
    command
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/examine/backend.py"))
        .args(words.split_whitespace());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    (Guard(child), said["address"].as_str().unwrap().trim_start_matches("http://").to_owned())
}

/// Ports that nobody listens on, each another.
pub fn free<const N: usize>() -> [u16; N] {
    let taken = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    taken.map(|one| one.local_addr().unwrap().port())
}

/// Writes a certificate of localhost that signs itself, `ca.pem`, and its key, `key.pem`.
pub fn certificate(dir: &Path) {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out ca.pem -days 30 \
                     -subj /CN=localhost -addext subjectAltName=DNS:localhost";
    let output = Command::new("openssl").args(arguments.split_whitespace()).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Starts nginx with `http` as its block of that name and its files in `dir`, and waits until it listens on `port`.
pub fn nginx(dir: &Path, http: &str, port: u16) -> Guard {
    let root = dir.display();
    let config = format!(
        "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log; events {{ worker_connections 512; }}\n\
         http {{ client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c; \
         uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;\n{http}\n}}\n"
    );
    let file = dir.join("nginx.conf");
    std::fs::write(&file, config).unwrap();
    let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap());
    let guard = Guard(Command::new("nginx").env("PATH", path).arg("-c").arg(&file).spawn().unwrap());
    until("nginx to listen", LONGEST, || TcpStream::connect(("127.0.0.1", port)).ok());
    guard
}

/// nginx that counts its requests.
pub struct Counting {
    _guard: Guard,
    _dir: tempfile::TempDir,
    /// Where it listens.
    pub port: u16,
}

impl Counting {
    /// Starts it.
    pub fn start() -> Counting {
        let dir = tempfile::tempdir().unwrap();
        let [port] = free();
        let http = format!(
            "access_log off; server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000; location / {{ return 200 hello; }} \
             location /status {{ stub_status; }} }}"
        );
        Counting { _guard: nginx(dir.path(), &http, port), _dir: dir, port }
    }

    /// Requests that it has had, this one not counted.
    pub fn requests(&self) -> u64 {
        requests(&format!("127.0.0.1:{}", self.port))
    }

    /// Its top page.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

/// Requests that an nginx with a status page has had, this one not counted (ngx_http_stub_status_module: the third number of the third line).
pub fn requests(address: &str) -> u64 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let counts = answer.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1).unwrap();
    counts.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap() - 1
}
