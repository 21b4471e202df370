//! HAProxy with `strict-sni`: which names are refused follows from the user's certificates, in whose place the private copy shows another.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::{Event, What};
use genkai_model::finding::Because;
use genkai_model::limit::Origin;
use genkai_place::authority::{self, Key};

use crate::harness::judged::only_cause;
use crate::harness::servers::{Guard, free};
use crate::harness::{genkai, machine, run, until};

/// Whether the server at a port takes a handshake under a name.
fn takes(port: u16, name: &str) -> bool {
    let at = format!("127.0.0.1:{port}");
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &at, "-servername", name]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

/// The user's HAProxy, with this certificate, on a port; it ends with the test.
fn haproxy(dir: &Path, shown: &str, port: u16) -> (std::path::PathBuf, Guard) {
    let file = dir.join("haproxy.cfg");
    let text = format!(
        "defaults\n mode http\n timeout connect 1s\n timeout client 9s\n timeout server 9s\nfrontend f\n bind 127.0.0.1:{port} ssl {shown} strict-sni\n \
         default_backend b\nbackend b\n server s 127.0.0.1:9\n"
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new("haproxy");
    command.arg("-db").arg("-f").arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("HAProxy to listen", Duration::from_secs(30), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    (file, guard)
}

#[test]
fn a_name_that_the_server_refuses_is_refused_by_its_copy() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let names = ["a.example", "*.b.example"].map(str::to_owned);
    let papers = authority::make_for(dir.path(), &names, Key::default()).unwrap();
    let list = dir.path().join("list");
    std::fs::write(&list, format!("{} [alpn http/1.1] *.b.example !x.b.example\n", papers.both.display())).unwrap();
    for (shown, name, taken) in [
        (format!("crt {}", papers.both.display()), "a.example", true),
        (format!("crt {}", papers.both.display()), "other.example", false),
        (format!("crt-list {}", list.display()), "y.b.example", true),
        (format!("crt-list {}", list.display()), "x.b.example", false),
    ] {
        let [port] = free();
        let (file, _server) = haproxy(dir.path(), &shown, port);
        assert_eq!(takes(port, name), taken, "the server itself: {shown} {name}");
        let flags = "--users 4 --spawn-rate 4 --hold 1s --quick --quiet --pairs 0 --bisect 0 --backend embedded";
        let mut command = genkai(&format!("tune haproxy {flags}"));
        let run = run(command.args(["-H", &format!("Host: {name}"), "--config"]).arg(&file));
        let verdict = run.verdict();
        if taken {
            assert_eq!((run.code, verdict.because()), (Some(0), Because::ObjectiveHolds), "{name}: {}", run.story());
            continue;
        }
        let verdict = only_cause(&run, "haproxy.answers.strict-sni.7");
        assert_eq!(verdict.causes[0].limit.origin, Origin::File { path: file, line: 7 }, "{}", run.story());
        let record = run.record();
        let said =
            format!("`strict-sni` ({}:7) (with strict-sni a handshake", dir.path().join("haproxy.cfg").display());
        let told = |event: &Event| matches!(&event.what, What::Note(note) if note.text.contains(&said));
        assert!(record.remarks.iter().any(told), "{said} {}", run.story());
    }
}
