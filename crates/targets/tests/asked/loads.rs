//! What genkai predicts from a configuration against a load on the server: as many as predicted are served at once, and of a tenth more the
//! rest waits or is refused. What is at once is counted where it is held, so no clock is involved.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use genkai_model::limit::Law;

use super::held::{Backend, Clients, at_rest, fast_cgi, queued_tcp, queued_unix};
use super::random::Random;
use super::{explained, is_installed, limit, loads as how_many, seed};

const MODULES: &str = "/usr/lib/apache2/modules";

/// A server in a process group of its own, ended with this.
pub(crate) struct Server(Child);

impl Server {
    pub(crate) fn start(program: &str, arguments: &[&str]) -> Server {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Server(command.spawn().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let _ = nix::sys::signal::killpg(pid, nix::sys::signal::Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

fn until(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// How many a limit of the configuration lets through: from which on the first suffers, to which all fit at best.
fn predicted(product: &str, main: &Path, ids: &[&str]) -> (usize, usize) {
    let explanation = explained(product, main, "main").unwrap();
    let found = ids.iter().find_map(|id| limit(&explanation, id)).unwrap_or_else(|| panic!("{ids:?}"));
    let whole = |n: f64| (n + 1e-9).floor() as usize;
    match found.law {
        Law::Slots { value, reserved, busy_cost, pools, soft, .. } => {
            let fit = |share: f64| whole(pools * ((share * value - reserved) / busy_cost + 1e-9).floor());
            (fit(soft), fit(1.0))
        }
        Law::Workers { workers, .. } => (whole(workers), whole(workers)),
        Law::Growing { least, most, .. } => (whole(least), whole(most)),
        Law::Backlog { value } => (whole(value), whole(value)),
        ref other => panic!("{other:?}"),
    }
}

/// Predictions that were held against loads, and those that did not hold.
#[derive(Default)]
struct Tally {
    held: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, what: String, (low, high): (usize, usize), offered: usize, seen: usize) {
        let (low, high) = (low.min(offered), high.min(offered));
        if (low..=high).contains(&seen) {
            self.held += 1;
        } else {
            self.wrong.push(format!("{what}: {offered} came, {low}-{high} were predicted at once, {seen} were"));
        }
    }

    fn done(self, product: &str) {
        eprintln!("{product}: {} predictions held, {} did not", self.held, self.wrong.len());
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        assert!(self.held > 0, "{product}: nothing was held against a load");
    }
}

/// The level itself, and a tenth above it.
fn levels(predicted: (usize, usize)) -> [usize; 2] {
    [predicted.0, predicted.1 + predicted.1.div_ceil(10)]
}

fn apache(dir: &Path, mpm: &str, more: &str) -> (std::path::PathBuf, SocketAddr) {
    let (main, address) = (dir.join("httpd.conf"), free());
    let load = |name: &str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let modules = [&format!("mpm_{mpm}")[..], "authz_core", "status", "proxy", "proxy_http"].map(load).concat();
    let user = if nix::unistd::geteuid().is_root() { "User www-data\nGroup www-data\n" } else { "" };
    let root = dir.display();
    let text = format!(
        "ServerRoot {root}\nPidFile {root}/pid\nErrorLog {root}/log\nDefaultRuntimeDir {root}\nServerName main\n{modules}{user}\
         Listen {address}\n<Location /server-status>\nSetHandler server-status\n</Location>\n{more}"
    );
    std::fs::write(&main, text).unwrap();
    (main, address)
}

fn started(main: &Path, address: SocketAddr, workers: usize) -> Server {
    let server = Server::start("apache2", &["-f", main.to_str().unwrap(), "-D", "FOREGROUND"]);
    until("Apache does not have its workers", || idle(address).is_some_and(|n| n + 1 >= workers));
    server
}

/// Workers that mod_status calls idle.
fn idle(address: SocketAddr) -> Option<usize> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    stream.write_all(b"GET /server-status?auto HTTP/1.0\r\nHost: main\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    text.split_once("IdleWorkers: ")?.1.lines().next()?.parse().ok()
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    dir
}

/// A balancer of two members, of which each has so many connections at least; with one that takes no requests.
fn balancer(random: &mut Random, backend: SocketAddr, most: usize) -> String {
    let more = most + random.below(3);
    let load = |name: &str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let modules = ["slotmem_shm", "proxy_balancer", "lbmethod_byrequests"].map(load).concat();
    let standby = random.pick(&["status=+H", "status=D", "max=9 status=H"]);
    format!(
        "{modules}<Proxy balancer://pool>\nBalancerMember http://{backend} max={most}\nBalancerMember http://localhost:{0} \
         max={more}\nBalancerMember http://127.0.0.2:{0} {standby}\n</Proxy>\nProxyPass /app balancer://pool/\n",
        backend.port()
    )
}

#[test]
fn apache_serves_as_many_at_once_as_predicted() {
    if !is_installed("apache2") {
        return;
    }
    let mut tally = Tally::default();
    let backend = Backend::start();
    for number in 0..how_many(3) {
        let mut random = Random::of(seed() + 3, number);
        let mpm = ["prefork", "worker", "event"][number as usize % 3];
        let children = 1 + random.below(5);
        let threads = if mpm == "prefork" { 1 } else { 2 + random.below(9) };
        let asked = children * threads + random.below(threads);
        let limit = children + random.below(3);
        let mut text = format!("StartServers {limit}\nServerLimit {limit}\nMaxRequestWorkers {asked}\n");
        if mpm != "prefork" {
            text += &format!("ThreadsPerChild {threads}\nMinSpareThreads 1\nMaxSpareThreads 1000\n");
        }
        let pool = random.one_in(3) && mpm != "prefork";
        let most = 1 + random.below(threads);
        let max = if pool { format!("max={most}") } else { String::new() };
        let balanced = pool && random.one_in(2);
        text += &match balanced {
            true => balancer(&mut random, backend.address, most),
            false => format!("ProxyPass /app http://{}/ {max}\n", backend.address),
        };
        let dir = folder();
        let (main, address) = apache(dir.path(), mpm, &text);
        let workers = predicted("apache", &main, &["apache.MaxRequestWorkers", "apache.ServerLimit"]);
        let smaller = pool && most < threads;
        let pool_limit = if balanced { "apache.BalancerMember.max" } else { "apache.ProxyPass.max" };
        let mut expected = if smaller { predicted("apache", &main, &[pool_limit]) } else { workers };
        // The pools of all members may be more than there are workers.
        expected.1 = expected.1.min(workers.1);
        let server = started(&main, address, workers.0);
        for level in levels(expected) {
            backend.let_go(false);
            let clients = Clients::send(level, address);
            let seen = at_rest(expected.1.min(level), || backend.present());
            tally.add(format!("{mpm} {text}"), expected, level, seen);
            backend.let_go(true);
            at_rest(usize::MAX, || usize::from(backend.present() > 0));
            drop(clients);
        }
        drop(server);
    }
    tally.done("Apache");
}

#[test]
fn a_queue_takes_as_many_connections_as_predicted() {
    let mut tally = Tally::default();
    for number in 0..how_many(1).div_ceil(3) {
        let mut random = Random::of(seed() + 4, number);
        let length = 1 + random.below(40);
        let backend = Backend::start();
        if is_installed("apache2") {
            let dir = folder();
            let text = format!(
                "StartServers 1\nServerLimit 1\nMaxRequestWorkers 1\nListenBacklog {length}\nProxyPass /app http://{}/\n",
                backend.address
            );
            let (main, address) = apache(dir.path(), "prefork", &text);
            let _server = started(&main, address, 1);
            let _one = Clients::send(1, address);
            until("nobody came to the backend", || backend.present() == 1);
            let expected = predicted("apache", &main, &["apache.ListenBacklog"]);
            let level = levels(expected)[1];
            tally.add(text, expected, level, queued_tcp(address, level));
            backend.let_go(true);
        }
        if is_installed("php-fpm8.2") {
            let dir = folder();
            let (main, socket) =
                pool(dir.path(), &format!("pm = static\npm.max_children = 1\nlisten.backlog = {length}\n"), "");
            let _server = fpm(&main, &socket);
            let _one = fast_cgi(&socket, &dir.path().join("held.php")).unwrap();
            until("nobody came to the script", || held(dir.path()) == 1);
            let expected = predicted("php-fpm", &main, &["php-fpm.www.listen.backlog"]);
            let level = levels(expected)[1];
            tally.add(format!("php-fpm, listen.backlog {length}"), expected, level, queued_unix(&socket, level));
        }
        if is_installed("redis-server") {
            let (dir, address) = (folder(), free());
            let main = dir.path().join("redis.conf");
            let text = format!(
                "port {}\nbind 127.0.0.1\ntcp-backlog {length}\nenable-debug-command yes\nsave \"\"\ndir {}\n",
                address.port(),
                dir.path().display()
            );
            std::fs::write(&main, &text).unwrap();
            let _server = Server::start("redis-server", &[main.to_str().unwrap()]);
            until("Redis does not answer", || pings(address).is_some());
            let mut sleeper = TcpStream::connect(address).unwrap();
            sleeper.write_all(b"DEBUG SLEEP 12\r\n").unwrap();
            std::thread::sleep(Duration::from_millis(200));
            let expected = predicted("redis", &main, &["redis.tcp-backlog"]);
            let level = levels(expected)[1];
            tally.add(text, expected, level, queued_tcp(address, level));
        }
    }
    tally.done("queues");
}

/// A pool whose script is held: it leaves a file for each request that it works on, until it may go on.
fn pool(dir: &Path, text: &str, global: &str) -> (std::path::PathBuf, std::path::PathBuf) {
    let (main, socket) = (dir.join("php-fpm.conf"), dir.join("socket"));
    let root = dir.display();
    std::fs::create_dir_all(dir.join("held")).unwrap();
    std::fs::set_permissions(dir.join("held"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let script = format!(
        "<?php $f = '{root}/held/' . getmypid(); touch($f); for ($i = 0; $i < 4000 && !file_exists('{root}/go'); $i++) \
         {{ usleep(10000); clearstatcache(); }} unlink($f); echo 'ok';"
    );
    std::fs::write(dir.join("held.php"), script).unwrap();
    let text = format!(
        "[global]\nerror_log = {root}/log\ndaemonize = no\n{global}[www]\nuser = www-data\ngroup = www-data\nlisten = {}\n{text}",
        socket.display()
    );
    std::fs::write(&main, text).unwrap();
    (main, socket)
}

fn fpm(main: &Path, socket: &Path) -> Server {
    let server = Server::start("php-fpm8.2", &["-F", "-y", main.to_str().unwrap()]);
    until("php-fpm does not listen", || socket.exists());
    server
}

fn held(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("held")).map_or(0, Iterator::count)
}

#[test]
fn php_fpm_works_on_as_many_at_once_as_predicted() {
    if !is_installed("php-fpm8.2") {
        return;
    }
    let mut tally = Tally::default();
    for number in 0..how_many(2).div_ceil(2) {
        let mut random = Random::of(seed() + 5, number);
        let children = 1 + random.below(25);
        let manager = random.pick(&["static", "ondemand"]);
        let most = random.below(3) * children / 2;
        let global = if most > 0 { format!("process.max = {most}\n") } else { String::new() };
        let text = format!("pm = {manager}\npm.max_children = {children}\n");
        let dir = folder();
        let (main, socket) = pool(dir.path(), &text, &global);
        let mut expected = predicted("php-fpm", &main, &["php-fpm.www.pm.max_children"]);
        if most > 0 {
            let all = predicted("php-fpm", &main, &["php-fpm.process.max"]);
            expected = (expected.0.min(all.0), expected.1.min(all.1));
        }
        let server = fpm(&main, &socket);
        for level in levels(expected) {
            let _ = std::fs::remove_file(dir.path().join("go"));
            let script = dir.path().join("held.php");
            // On demand a child is started when somebody comes, not one for each of a burst.
            let come = |n: usize| {
                let stream = fast_cgi(&socket, &script);
                after_a_while(manager == "ondemand", || held(dir.path()) > n);
                stream
            };
            let open: Vec<_> = (0..level).map(come).collect();
            let seen = at_rest(expected.1.min(level), || held(dir.path()));
            tally.add(format!("{global}{text}"), expected, level, seen);
            std::fs::write(dir.path().join("go"), "").unwrap();
            at_rest(usize::MAX, || usize::from(held(dir.path()) > 0));
            drop(open);
        }
        drop(server);
    }
    tally.done("php-fpm");
}

/// Waits some time for what may come, where that is asked for.
fn after_a_while(is_asked: bool, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while is_asked && !is() && begun.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A connection on which Redis answers.
fn pings(address: SocketAddr) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"PING\r\n").ok()?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).ok()?;
    (&answer == b"+PONG").then_some(stream)
}

#[test]
fn redis_takes_as_many_clients_as_predicted() {
    if !is_installed("redis-server") {
        return;
    }
    let mut tally = Tally::default();
    for number in 0..how_many(2) {
        let mut random = Random::of(seed() + 6, number);
        let clients = 1 + random.below(300);
        let (dir, address) = (folder(), free());
        let main = dir.path().join("redis.conf");
        std::fs::write(
            &main,
            format!(
                "port {}\nbind 127.0.0.1\nmaxclients {clients}\nsave \"\"\ndir {}\n",
                address.port(),
                dir.path().display()
            ),
        )
        .unwrap();
        let server = Server::start("redis-server", &[main.to_str().unwrap()]);
        until("Redis does not answer", || pings(address).is_some());
        // It sees that the one who asked is gone when it looks at it.
        std::thread::sleep(Duration::from_millis(100));
        let expected = predicted("redis", &main, &["redis.maxclients"]);
        for level in levels(expected) {
            let open: Vec<TcpStream> = (0..level).filter_map(|_| pings(address)).collect();
            tally.add(format!("maxclients {clients}"), expected, level, open.len());
            drop(open);
            std::thread::sleep(Duration::from_millis(100));
        }
        drop(server);
    }
    tally.done("Redis");
}
