//! Which members of a balancer get requests: generated members with states, sets and spares, against a running Apache, whose balancer-manager
//! counts how often each was elected.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use genkai_targets::apache::config::{Config, Reading};
use genkai_targets::apache::route::members;

use super::loads::{Server, free};
use super::random::Random;
use super::{agree, backend, is_installed, seed, started};

const MODULES: &str = "/usr/lib/apache2/modules";
const STATES: [&str; 14] = [
    "",
    "",
    "",
    " status=+H",
    " status=D",
    " status=+S",
    " status=+N",
    " status=+R",
    " status=R",
    " status=+I",
    " status=+H status=-H",
    " status=DH",
    " status=+C",
    " status=+E",
];
/// Requests that are sent: enough for each of four members, of which one has twice the weight, to be elected.
const REQUESTS: usize = 15;

fn made(random: &mut Random, dir: &Path, listen: SocketAddr, backends: &[SocketAddr]) -> String {
    let load = |name: &str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let modules =
        ["mpm_event", "authz_core", "proxy", "proxy_http", "slotmem_shm", "proxy_balancer", "lbmethod_byrequests"];
    let user = if nix::unistd::geteuid().is_root() { "User www-data\nGroup www-data\n" } else { "" };
    let root = dir.display();
    let mut text = format!(
        "ServerRoot {root}\nPidFile {root}/pid\nErrorLog {root}/log\nDefaultRuntimeDir {root}\nServerName main\n{}{user}StartServers 1\nListen \
         {listen}\n<Location /manager>\nSetHandler balancer-manager\n</Location>\nProxyPass /manager !\nProxyPass / balancer://b/\n",
        modules.map(load).concat()
    );
    let (mut inside, mut outside) = (String::new(), String::new());
    for address in &backends[..1 + random.below(backends.len())] {
        let state = random.pick(&STATES);
        let set = random.pick(&["", "", "", " lbset=1", " lbset=0"]);
        let more = random.pick(&["", "", " max=3", " loadfactor=2"]);
        match random.below(4) {
            0 => outside += &format!("BalancerMember balancer://b http://{address}{state}{set}{more}\n"),
            _ => inside += &format!("BalancerMember http://{address}{state}{set}{more}\n"),
        }
    }
    text += &format!("<Proxy balancer://b>\n{inside}</Proxy>\n{outside}");
    text
}

fn page(listen: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(listen).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: main\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text).filter(|text| !text.is_empty())
}

/// Members that were elected, by the rows of balancer-manager: `<td><a ...>URL</a></td>`, then the cells, of which the sixth counts.
fn elected(manager: &str) -> BTreeSet<String> {
    let row = |part: &str| {
        let url = part.split_once("'>").or(part.split_once("\">"))?.1.split_once("</a>")?.0.to_owned();
        let mut cells = part.split("<td>").skip(1).map(|cell| cell.split("</td>").next().unwrap_or_default().trim());
        (cells.nth(5)?.parse::<u64>().ok()? > 0).then_some(url)
    };
    manager.split("<td><a href=").skip(1).filter_map(row).collect()
}

fn differences(random: &mut Random, dir: &Path, backends: &[SocketAddr]) -> (Vec<String>, String) {
    let (main, listen) = (dir.join("httpd.conf"), free());
    let text = made(random, dir, listen, backends);
    std::fs::write(&main, &text).unwrap();
    let reading = Reading { root: dir.to_owned(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
    let config = Config::read(&main, reading).unwrap();
    let mine: BTreeSet<String> =
        members(&config, "balancer://b/").unwrap_or_default().first.into_iter().map(|member| member.url).collect();
    let _server = Server::start("apache2", &["-f", main.to_str().unwrap(), "-D", "FOREGROUND"]);
    let end = Instant::now() + Duration::from_secs(60);
    while page(listen, "/manager").is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    (0..REQUESTS).for_each(|_| drop(page(listen, "/app")));
    let manager = page(listen, "/manager").unwrap_or_default();
    let theirs = elected(&manager);
    let differs = (mine != theirs).then(|| format!("genkai {mine:?}, Apache {theirs:?}"));
    (differs.into_iter().collect(), text)
}

#[test]
fn the_members_that_get_requests_are_those_that_were_read() {
    if !is_installed("apache2") {
        return;
    }
    let backends: Vec<SocketAddr> = (0..4).map(|_| backend()).collect();
    let (count, mut wrong) = (started(6), Vec::new());
    for number in 0..count {
        let mut random = Random::of(seed() + 6, number);
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (found, text) = differences(&mut random, dir.path(), &backends);
        if !found.is_empty() {
            wrong.push(format!("number {number}\n{}\n{text}", found.join("\n")));
        }
    }
    agree("balancers of apache", count, count, &wrong);
}
