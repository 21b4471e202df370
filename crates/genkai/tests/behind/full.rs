//! A store that has as many connections as it takes, and refuses nobody.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::Confidence;

use crate::harness::judged::told;
use crate::harness::servers::Guard;
use crate::harness::{genkai, machine, until};

/// An application that keeps a connection to Redis for each request that it works on, and answers more than `most` at once with 503.
fn application(dir: &Path, port: u16, most: u32) -> Guard {
    let text = format!(
        "import http.server, socket, socketserver, threading, time\n\
         class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):\n    request_queue_size = 512\n    daemon_threads = True\n\
         kept, lock, busy = [], threading.Lock(), [0]\n\
         class Asked(http.server.BaseHTTPRequestHandler):\n    def log_message(self, *_): pass\n    def do_GET(self):\n        \
         with lock:\n            taken = busy[0] < {most}\n            busy[0] += taken\n        \
         if not taken: time.sleep(0.02)\n        status = 200 if taken and self.ask() else 503 if not taken else 500\n        \
         if taken:\n            with lock: busy[0] -= 1\n        self.send_response(status)\n        \
         self.send_header('Content-Length', '0')\n        self.end_headers()\n    def ask(self):\n        try:\n            \
         with lock: db = kept.pop() if kept else socket.create_connection(('127.0.0.1', {port}))\n            \
         db.sendall(b'PING\\r\\n')\n            ok = db.recv(100)[:1] == b'+'\n            time.sleep(0.1)\n            \
         with lock: kept.append(db)\n            return ok\n        except OSError: return False\n\
         Server('{}/app.sock', Asked).serve_forever()\n",
        dir.display()
    );
    std::fs::write(dir.join("app.py"), text).unwrap();
    let guard = Guard(Command::new("python3").arg(dir.join("app.py")).stderr(Stdio::null()).spawn().unwrap());
    let socket = dir.join("app.sock");
    until("the application to listen", Duration::from_secs(30), || {
        std::os::unix::net::UnixStream::connect(&socket).ok()
    });
    guard
}

#[test]
fn a_redis_that_is_full_and_refuses_nobody_is_not_the_cause() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--maxclients", "8", "--save", "", "--dir"]);
    let _redis = Guard(command.arg(dir.path()).stdout(Stdio::null()).spawn().unwrap());
    until("Redis to listen", Duration::from_secs(30), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    let application = application(dir.path(), port, 8);
    let anybody = || std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(dir.path(), anybody()).unwrap();
    std::fs::set_permissions(dir.path().join("app.sock"), anybody()).unwrap();
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://unix:{}/app.sock; }} }} }}\n",
        dir.path().display()
    );
    std::fs::write(dir.path().join("nginx.conf"), text).unwrap();
    let mut tune = genkai("tune nginx --users 24 --spawn-rate 4 --quick --pairs 0 --bisect 0");
    let run = told(tune.args(["--objective", "errors < 5%", "--config"]).arg(dir.path().join("nginx.conf")));
    let causes = run.verdict().causes;
    let named = |confidence| causes.iter().any(|one| one.limit.subject == "Redis" && one.confidence >= confidence);
    assert!(!named(Confidence::Likely), "{}", run.story());
    assert!(!run.stdout.contains("are refused"), "{}", run.story());
    // It was full, and has refused nobody: not because of genkai's own questions either.
    let record = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
    assert!(record.contains("\"beyond.connections\":8.0"), "{}", run.story());
    drop(application);
    let asked = || {
        let told = Command::new("redis-cli").args(["-p", &port.to_string(), "INFO", "stats"]).output().unwrap();
        String::from_utf8_lossy(&told.stdout).into_owned()
    };
    let told = until("Redis to answer", Duration::from_secs(10), || {
        Some(asked()).filter(|text| text.contains("rejected_connections:"))
    });
    assert!(told.contains("rejected_connections:0"), "{told}");
}
