//! The user's own server, where it runs beside its private copy: what a copy answers otherwise is not told of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::servers::{Guard, free, nginx, scripted};
use crate::harness::{Run, genkai, machine, run as run_of};

fn tuned(file: &Path) -> Run {
    run_of(genkai("tune nginx --users 6 --spawn-rate 6 --hold 2s --quick --pairs 0 --quiet --config").arg(file))
}

#[test]
fn a_copy_that_fails_where_the_server_itself_does_not_is_not_loaded() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.005");
    let [port, second] = free();
    let of = |port: u16, kept: &str| {
        format!(
            "server {{ listen [::1]:{port}; if ($server_addr != {kept}) {{ return 403; }} location / {{ proxy_pass http://{server}; }} }}\n\
             server {{ listen 127.0.0.1:{second}; server_name other.example; }}"
        )
    };
    let dir = tempfile::tempdir().unwrap();
    let (here, other) = ("::1", "192.0.2.1");
    let file = dir.path().join("nginx.conf");
    let running = nginx(dir.path(), &of(port, here), second);
    let run = tuned(&file);
    assert_eq!(run.code, Some(3), "{}", run.story());
    let said = format!("answers GET / at [::1]:{port} with 200, and its private copy answers 403");
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    // A copy that is meant to be unlike it.
    for unlike in [["--set", "worker_connections=100"], ["--backend", "embedded"]] {
        let mut tune = genkai("tune nginx --users 6 --spawn-rate 6 --hold 2s --quick --pairs 0 --quiet");
        let run = run_of(tune.args(unlike).arg("--config").arg(&file));
        assert_eq!(run.code, Some(1), "{unlike:?}: {}", run.story());
    }
    drop(running);
    // Nobody runs with that file: it is told that a copy has another address.
    let run = tuned(&file);
    assert_eq!(run.code, Some(1), "{}", run.story());
    let said =
        format!("nginx decides by its own port or address what comes of a request: `if ($server_addr != {here})");
    assert!(doubts(&run).contains(&said), "{}", run.story());
    // Both fail.
    let running = nginx(dir.path(), &of(port, other), second);
    let run = tuned(&file);
    assert_eq!(run.code, Some(1), "{}", run.story());
    // It is another configuration that runs there.
    let apart = tempfile::tempdir().unwrap();
    let copied = apart.path().join("nginx.conf");
    std::fs::write(&copied, std::fs::read_to_string(&file).unwrap()).unwrap();
    drop(running);
    let _running = nginx(dir.path(), &of(port, here), second);
    let run = tuned(&copied);
    assert_eq!(run.code, Some(1), "{}", run.story());
}

/// Answers after asking this place itself, in threads of its own; where it listens.
fn asking(place: &str) -> (Guard, String) {
    let code = "import http.server,sys,time,urllib.request\n\
                class H(http.server.BaseHTTPRequestHandler):\n \
                protocol_version='HTTP/1.1'\n \
                def log_message(self,*a): pass\n \
                def do_GET(self):\n  \
                if self.path=='/': urllib.request.urlopen(sys.argv[1]+'/inner').read()\n  \
                else: time.sleep(0.05)\n  \
                self.send_response(200); self.send_header('Content-Length','2'); self.end_headers(); self.wfile.write(b'ok')\n\
                s=http.server.ThreadingHTTPServer(('127.0.0.1',0),H)\n\
                print('%s:%d' % s.server_address[:2],flush=True)\n\
                s.serve_forever()\n";
    let mut command = Command::new("python3");
    let mut child = command.args(["-c", code, place]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Guard(child), line.trim().to_owned())
}

#[test]
fn a_site_that_asks_itself_is_told_before_all_else() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let (_server, server) = asking(&format!("http://127.0.0.1:{port}"));
    let pages = format!("server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://{server}; }} }}");
    let _running = nginx(dir.path(), &pages, port);
    let run = tuned(&dir.path().join("nginx.conf"));
    let said = format!("asks 127.0.0.1:{port}, which is nginx itself, started with this very file");
    assert!(doubts(&run).contains(&said), "{}", run.story());
}

/// What a report says before all else.
fn doubts(run: &Run) -> String {
    let verdict = std::fs::read_to_string(run.out.join("verdict.json")).unwrap();
    let verdict: serde_json::Value = serde_json::from_str(&verdict).unwrap();
    verdict["doubts"].as_array().cloned().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// A server that answers from what it stored among the user's files: the copy is not to write there, and that it does not is told before all else.
#[test]
fn what_only_the_server_itself_stores_is_told() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.005");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let stored = dir.path().join("stored");
    std::fs::create_dir(&stored).unwrap();
    let text = format!(
        "events {{}}\nhttp {{\nserver {{\nlisten 80;\nroot {};\nlocation / {{\ntry_files $uri/page @app;\n}}\nlocation @app {{\n\
         proxy_pass http://{server};\nproxy_store on;\n}}\n}}\n}}\n",
        stored.display()
    );
    std::fs::write(&file, text).unwrap();
    let run = tuned(&file);
    assert!(doubts(&run).contains("stores nothing among your files, as `proxy_store on`"), "{}", run.story());
    assert_eq!(std::fs::read_dir(&stored).unwrap().count(), 0, "the user's files stay as they are");
}

/// Files of servers that are not started, with what they decide by their own port: at any other nobody gets an answer. Another listener before it
/// has that port, too.
fn by_port(product: &str, port: u16, server: &str) -> String {
    match product {
        "nginx" => format!(
            "events {{ worker_connections 64; }}\nhttp {{\nmap $server_port $to {{ {port} {server}; default 127.0.0.1:9; }}\nserver {{ listen \
             127.0.0.2:{port}; server_name other.example; }}\nserver {{\nserver_name localhost;\nlisten 127.0.0.1:{port};\nlocation / {{ proxy_pass http://$to; }}\n}}\n}}\n"
        ),
        "apache" => {
            let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
            let modules: String =
                ["mpm_event", "authz_core", "proxy", "proxy_http", "rewrite"].into_iter().map(load).collect();
            format!(
                "{modules}Listen 127.0.0.2:{port}\nListen 127.0.0.1:{port}\nServerName a.example\n<VirtualHost \
                 127.0.0.2:{port}>\nServerName other.example\n</VirtualHost>\n<VirtualHost 127.0.0.1:{port}>\nRewriteEngine On\nRewriteCond %{{SERVER_PORT}} \
                 !={port}\nRewriteRule ^ - [F]\nProxyPass / http://{server}/\n</VirtualHost>\n"
            )
        }
        _ => format!(
            "defaults\n mode http\n timeout connect 5s\n timeout client 9s\n timeout server 9s\nfrontend e\n bind 127.0.0.2:{port}\nfrontend \
             f\n bind 127.0.0.1:{port}\n http-request set-var(txn.p) dst_port\n http-request set-header X-Port %[dst_port]\n http-request deny \
             unless {{ var(txn.p) -m int {port} }} {{ req.hdr(x-port) {port} }}\n default_backend b\nbackend b\n server s {server}\n"
        ),
    }
}

#[test]
fn a_copy_keeps_the_port_by_which_its_server_decides() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.005");
    for product in ["nginx", "apache", "haproxy"] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("server.conf");
        let tuned = || {
            let load = format!(
                "tune {product} --users 6 --spawn-rate 6 --hold 2s --quick --pairs 0 --bisect 1s --quiet --config"
            );
            run_of(genkai(&load).arg(&file))
        };
        let [port] = free();
        std::fs::write(&file, by_port(product, port, &server)).unwrap();
        let run = tuned();
        assert_eq!(run.code, Some(0), "{product}: {}", run.story());
        assert_eq!(doubts(&run), "", "{product}");
        // Somebody has it at every address.
        let _taken = std::net::TcpListener::bind(("0.0.0.0", port)).unwrap();
        let run = tuned();
        let said = format!("{product} decides by its own port or address");
        assert!(doubts(&run).contains(&said), "{product}: {}", run.story());
    }
}
