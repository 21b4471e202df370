//! An origin that has run out of descriptors: a process of its own, with few of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use genkai_model::plan::OriginSpec;
use genkai_model::units::Bytes;

const DESCRIPTORS: u64 = 24;
const CLIENTS: usize = 60;

/// Not a test: the server, in a process of its own.
#[test]
#[ignore = "started by another test"]
fn server() {
    let listener = genkai_origin::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    println!("\nlistening {}", listener.local_addr().unwrap());
    let spec = OriginSpec { body: Bytes(1), service_time: Default::default(), workers: None, queue: None, seed: 1 };
    genkai_origin::http::serve(listener, spec, &Default::default(), Arc::new(AtomicBool::new(false))).unwrap();
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start() -> (Server, SocketAddr) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "server", "--ignored", "--nocapture"]).stdout(Stdio::piped());
    // SAFETY: system calls only.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let limit = libc::rlimit { rlim_cur: DESCRIPTORS, rlim_max: DESCRIPTORS };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let mut server = Server(command.spawn().unwrap());
    let lines = BufReader::new(server.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.filter_map(|line| line.strip_prefix("listening ")?.parse().ok()).next().unwrap();
    (server, address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream
}

fn answered(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    let mut buffer = [0; 512];
    matches!(stream.read(&mut buffer), Ok(n) if n > 0)
}

/// CPU time of a process, nanoseconds.
fn cpu(pid: u32) -> i64 {
    // SAFETY: both calls write only to the variables given.
    unsafe {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        assert_eq!(libc::clock_getcpuclockid(pid as i32, &raw mut clock), 0);
        assert_eq!(libc::clock_gettime(clock, &raw mut time), 0);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

#[test]
fn without_descriptors_it_waits_without_spinning_and_recovers() {
    let (server, address) = start();
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(address)).collect();
    assert!(answered(&mut clients[0], Duration::from_secs(20)));
    // The last one waits in the accept queue: there is no descriptor for it.
    let before = cpu(server.0.id());
    assert!(!answered(&mut clients[CLIENTS - 1], Duration::from_millis(500)));
    let used = cpu(server.0.id()) - before;
    assert!(used < 250_000_000, "{used} ns of CPU in half a second of waiting");
    // As connections end, those waiting get their turn, down to the last.
    for mut client in clients.into_iter().skip(1) {
        assert!(answered(&mut client, Duration::from_secs(20)));
    }
}
