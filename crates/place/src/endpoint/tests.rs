use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;

use super::*;

#[test]
fn a_process_tells_where_it_has_connections_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sock");
    let (tcp, unix) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
    let places = [Endpoint::Tcp(tcp.local_addr().unwrap()), Endpoint::Unix(path.clone())];
    let mine = || reached(&[std::process::id()]);
    assert!(places.iter().all(|place| !mine().contains(place)), "nobody is connected yet");
    let clients = (TcpStream::connect(tcp.local_addr().unwrap()).unwrap(), UnixStream::connect(&path).unwrap());
    let accepted = (tcp.accept().unwrap(), unix.accept().unwrap());
    assert!(places.iter().all(|place| mine().contains(place)), "{:?}", mine());
    let more = (UnixStream::connect(&path).unwrap(), unix.accept().unwrap());
    let counted = held(&[std::process::id()]);
    assert_eq!(places.clone().map(|place| counted.get(&place).copied()), [Some(1), Some(2)]);
    drop(more);
    drop((clients, accepted));
    assert!(!mine().contains(&places[1]));
}

#[test]
fn whose_other_end_is_closed_is_not_connected_to_whoever_waits_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    // Nobody accepts it, and it is not this process's.
    let code = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(flush=True); sys.stdin.read()";
    let mut command = std::process::Command::new("python3");
    command.args(["-c", code]).arg(&path).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut other = command.spawn().unwrap();
    std::io::Read::read_exact(&mut other.stdout.take().unwrap(), &mut [0]).unwrap();
    let (mine, closed) = UnixStream::pair().unwrap();
    drop(closed);
    assert!(!reached(&[std::process::id()]).contains(&Endpoint::Unix(path)));
    drop((mine, other.stdin.take()));
    other.wait().unwrap();
}

#[test]
fn an_address_of_ones_own_stands_in_the_table_of_routes() {
    let table = "Main:\n  +-- 0.0.0.0/0 3 0 5\n        |-- 10.9.0.0\n           /24 link UNICAST\n        |-- 10.9.0.2\n           /32 host LOCAL\n        \
                 |-- 10.9.0.255\n           /32 link BROADCAST\n";
    let has = |ip: [u8; 4]| has_address(table, ip.into());
    assert!(has([10, 9, 0, 2]) && !has([10, 9, 0, 255]) && !has([10, 9, 0, 0]) && !has([10, 9, 0, 20]));
}

#[test]
fn who_listens_in_another_network_of_this_machine_is_found() {
    if crate::isolated::possible().is_err() {
        return genkai_tidy::noted::skipped("no namespaces can be made here");
    }
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let script = "ip link set lo up && ip address add 10.213.57.2/32 dev lo && exec python3 -c \"import \
                  socket,sys,time; s=socket.socket(); s.bind(('10.213.57.2', 8099)); s.listen(3); open(sys.argv[1], 'w').close(); \
                  time.sleep(60)\" \"$1\"";
    let mut command = std::process::Command::new("unshare");
    let mut other = command.args(["--net", "--", "sh", "-c", script, "sh"]).arg(&ready).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !ready.exists() && other.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    let found = |port: u16| Endpoint::Tcp(SocketAddr::from(([10, 213, 57, 2], port))).listener();
    let (there, not_there) = (found(8099), found(8098));
    let is_ready = ready.exists();
    let _ = other.kill();
    let _ = other.wait();
    assert!(is_ready);
    assert_eq!((there, not_there), (Listener::Process(other.id()), Listener::Nobody));
}

#[test]
fn places_are_read_as_products_write_them() {
    let tcp = |text: &str| Some(Endpoint::Tcp(text.parse().unwrap()));
    assert_eq!(Endpoint::parse("10.0.0.1:80"), tcp("10.0.0.1:80"));
    assert_eq!(Endpoint::parse("localhost:80"), tcp("127.0.0.1:80"));
    assert_eq!(Endpoint::parse("[::1]:80"), tcp("[::1]:80"));
    for text in ["/run/a.sock", "unix:/run/a.sock", "unix@/run/a.sock", "unix//run/a.sock"] {
        assert_eq!(Endpoint::parse(text), Some(Endpoint::Unix("/run/a.sock".into())), "{text}");
    }
    for text in ["a.example:80", "127.0.0.1", "", ":80", "unix:run/a.sock"] {
        assert_eq!(Endpoint::parse(text), None, "{text}");
    }
}

#[test]
fn a_unix_socket_tells_who_listens_and_who_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sock");
    let endpoint = Endpoint::Unix(path.clone());
    assert_eq!(endpoint.listener(), Listener::Nobody);
    let listener = UnixListener::bind(&path).unwrap();
    assert_eq!(endpoint.listener(), Listener::Process(std::process::id()));
    let clients: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let accepted = listener.accept().unwrap();
    assert_eq!(endpoint.connections(), Some(Connections { accepted: 1, waiting: 2 }));
    drop((accepted, clients));
}

#[test]
fn a_listener_at_the_ipv6_form_of_an_address_is_found() {
    let Ok(listener) = TcpListener::bind("[::ffff:127.57.0.4]:0") else { return };
    let address = std::net::SocketAddr::new([127, 57, 0, 4].into(), listener.local_addr().unwrap().port());
    let endpoint = Endpoint::Tcp(address);
    assert_eq!(endpoint.listener(), Listener::Process(std::process::id()));
    let client = TcpStream::connect(address).unwrap();
    assert_eq!(endpoint.connections(), Some(Connections { accepted: 0, waiting: 1 }));
    let accepted = listener.accept().unwrap();
    assert_eq!(endpoint.connections(), Some(Connections { accepted: 1, waiting: 0 }));
    drop((client, accepted));
}

#[test]
fn connections_that_wait_for_an_answer_are_told_from_those_that_are_kept() {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.57.0.3:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let least = Duration::from_millis(40);
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut byte = [0];
    for round in 0..2 {
        client.write_all(b"?").unwrap();
        server.read_exact(&mut byte).unwrap();
        assert_eq!(endpoint.asked(least), Some(1), "asked, round {round}");
        // As long as an answer takes here.
        std::thread::sleep(least);
        server.write_all(b"!").unwrap();
        client.read_exact(&mut byte).unwrap();
        assert_eq!(endpoint.asked(least), Some(0), "answered, round {round}");
    }
    assert_eq!(endpoint.asked(Duration::from_millis(1)), None);
    assert_eq!(Endpoint::Unix("/nowhere".into()).asked(least), None);
}

#[test]
fn a_socket_of_version_6_that_serves_version_4_is_found() {
    let Ok(listener) = TcpListener::bind("[::ffff:127.57.0.3]:0") else { return };
    let address = SocketAddr::from(([127, 57, 0, 3], listener.local_addr().unwrap().port()));
    assert_eq!(Endpoint::Tcp(address).listener(), Listener::Process(std::process::id()));
    assert!(listening(&[std::process::id()]).contains(&address));
}

#[test]
fn a_tcp_socket_tells_who_listens_and_who_waits() {
    let listener = TcpListener::bind("127.57.0.2:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    assert_eq!(endpoint.listener(), Listener::Process(std::process::id()));
    assert!(listening(&[std::process::id()]).contains(&listener.local_addr().unwrap()));
    let clients: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
    let accepted = listener.accept().unwrap();
    assert_eq!(endpoint.connections(), Some(Connections { accepted: 1, waiting: 2 }));
    drop((accepted, clients));
}

#[test]
fn a_parent_that_keeps_the_socket_for_another_program_is_not_told() {
    let Some(_) = crate::program::find("perl") else {
        return genkai_tidy::noted::skipped("perl is not there");
    };
    // As supervisors of FastCGI programs do it.
    let code = "import os,socket,subprocess,sys,time; s=socket.create_server(('127.0.0.1', 0)); fd=s.fileno(); os.set_inheritable(fd, True); \
                p=subprocess.Popen(['perl', '-e', 'open(my $s, q(+<&=).$ARGV[0]); accept(my $c, $s); sleep 60', str(fd)], pass_fds=[fd]); \
                print(s.getsockname()[1], p.pid, flush=True); sys.stdin.read(); p.kill()";
    let mut command = std::process::Command::new("python3");
    command.args(["-c", code]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut parent = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(parent.stdout.take().unwrap()), &mut line).unwrap();
    let told: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let at = Endpoint::Tcp(([127, 0, 0, 1], told[0] as u16).into());
    let is_child = || at.listener() == Listener::Process(told[1]);
    let deadline = Instant::now() + Duration::from_secs(10);
    let shows = fs::read_to_string("/proc/self/syscall").is_ok();
    while shows && !is_child() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let child = is_child();
    drop(parent.stdin.take());
    parent.wait().unwrap();
    assert!(child || !shows, "the parent is told");
}

#[test]
fn a_socket_is_the_same_by_every_path_that_leads_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::create_dir(root.join("run")).unwrap();
    symlink(root.join("run"), root.join("var-run")).unwrap();
    symlink(root.join("run/php8.2.sock"), root.join("run/php.sock")).unwrap();
    // As /var/run is a link to /run, and Debian's php-fpm.sock one to that of a version.
    for (name, asked) in [
        ("run/php8.2.sock", "var-run/php8.2.sock"),
        ("run/php8.2.sock", "run/php.sock"),
        ("var-run/php8.2.sock", "run/php8.2.sock"),
        ("var-run/php8.2.sock", "run/php.sock"),
    ] {
        let listener = UnixListener::bind(root.join(name)).unwrap();
        let endpoint = Endpoint::Unix(root.join(asked));
        assert_eq!(endpoint.listener(), Listener::Process(std::process::id()), "{name} by {asked}");
        assert!(endpoint.is_same(&Endpoint::Unix(root.join(name))));
        let clients: Vec<_> = (0..2).map(|_| UnixStream::connect(root.join(asked)).unwrap()).collect();
        let accepted = listener.accept().unwrap();
        let counted = Some(Connections { accepted: 1, waiting: 1 });
        assert_eq!((endpoint.connections(), endpoint.queue().map(|queue| queue.waiting)), (counted, Some(1)));
        drop((listener, accepted, clients));
        assert_eq!(endpoint.listener(), Listener::Nobody, "its file is left");
        fs::remove_file(root.join("run/php8.2.sock")).unwrap();
    }
}

/// Some servers bind their socket by another name, and put it in the place of the old one then.
#[test]
fn a_socket_that_was_put_in_its_place_is_found_by_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = ["a.sock", "a.sock.7.tmp"].map(|name| dir.path().join(name));
    let _listener = UnixListener::bind(&new).unwrap();
    fs::rename(&new, &old).unwrap();
    let found = Endpoint::Unix(old).listener();
    assert_eq!(found, Listener::Process(std::process::id()));
}

#[test]
fn who_listens_at_a_path_in_another_network_of_this_machine_is_found() {
    if crate::isolated::possible().is_err() {
        return genkai_tidy::noted::skipped("no namespaces can be made here");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sock");
    let code =
        "import socket,sys,time; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(3); time.sleep(60)";
    let mut command = std::process::Command::new("unshare");
    let mut other = command.args(["--net", "--", "python3", "-c", code]).arg(&path).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while UnixStream::connect(&path).is_err() {
        assert!(Instant::now() < deadline, "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    let endpoint = Endpoint::Unix(path);
    let (found, counted) = (endpoint.listener(), endpoint.connections());
    let theirs = endpoint.connections_of(other.id());
    let _ = other.kill();
    let _ = other.wait();
    assert_eq!((found, counted), (Listener::Process(other.id()), None));
    assert!(theirs.is_some());
}

#[test]
fn of_some_processes_those_that_hold_the_listener_are_told() {
    let listener = TcpListener::bind("127.57.0.9:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    // It does not inherit the socket.
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let (me, all) = (std::process::id(), [other.id(), std::process::id()]);
    let found = endpoint.holders(all.into_iter());
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(found, Some(vec![me]));
    drop(listener);
    assert_eq!(endpoint.holders([me].into_iter()), None, "nobody listens");
}
