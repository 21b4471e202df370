//! What a case needs around genkai: servers behind, a configuration, a program that takes processor time. All of it ends with
//! the case.

use std::io::{self, BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
use nix::unistd::Pid;

use crate::cases::{Behind, Between, Case};

/// How long a real server may take to listen.
const LISTENS: Duration = Duration::from_secs(10);
/// How long a process that was asked to end may take.
const ENDS: Duration = Duration::from_secs(3);

/// A process that ends with its case.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Those that have children of their own end them when they are asked to.
        let asked = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
        let deadline = Instant::now() + ENDS;
        while asked.is_ok() && matches!(self.0.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Threads that do nothing but take time, as many as there are cores.
struct Hog {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hog {
    fn start() -> Hog {
        let stop = Arc::new(AtomicBool::new(false));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spin = |stop: Arc<AtomicBool>| {
            move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box((0..10_000_u64).sum::<u64>());
                }
            }
        };
        // Two a core: the scheduler gives each program's thread its share, so that one alone takes a half only.
        let threads = (0..2 * cores).map(|_| thread::spawn(spin(Arc::clone(&stop)))).collect();
        Hog { stop, threads }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Everything around one case.
pub(crate) struct World {
    /// Flags for what is here: `--config`, `--backend`.
    pub(crate) flags: Vec<String>,
    /// Ended in this order: the link first, then what it leads to.
    _servers: Vec<Guard>,
    _hog: Option<Hog>,
    /// Of addresses where nobody listens.
    _held: Vec<OwnedFd>,
}

impl World {
    /// Makes it; its files go to `dir`.
    ///
    /// # Errors
    /// When a server does not listen or a file cannot be written.
    pub(crate) fn make(case: &Case, genkai: &Path, dir: &Path) -> io::Result<World> {
        let mut servers = Vec::new();
        let mut flags = Vec::new();
        let mut second = String::new();
        let mut held = Vec::new();
        let mut nobody = || {
            let (socket, address) = nobodys()?;
            held.push(socket);
            Ok::<String, io::Error>(address)
        };
        beside(case, dir)?;
        let behind = match &case.behind {
            Behind::Flags => None,
            Behind::Two(words, other) => {
                second = match other {
                    Some(words) => origin(genkai, words, &mut servers)?,
                    None => nobody()?,
                };
                Some(origin(genkai, words, &mut servers)?)
            }
            Behind::Origin(words) => Some(origin(genkai, words, &mut servers)?),
            Behind::Link(origin, link) => {
                let (origin, to) = serve(genkai, &format!("origin {origin}"))?;
                let (link, address) = serve(genkai, &format!("link --to {to} {link}"))?;
                servers.extend([link, origin]);
                Some(address)
            }
            Behind::Scripted(words) => {
                let (guard, address) = scripted(words)?;
                servers.push(guard);
                Some(address)
            }
            Behind::Pair(first, other) => {
                let ((one, address), (two, beside)) = (scripted(first)?, scripted(other)?);
                servers.extend([one, two]);
                second = beside;
                Some(address)
            }
            Behind::Server(between, origin) => {
                let (origin, to) = serve(genkai, &format!("origin {origin}"))?;
                let (guard, address) = start(between, &to, dir, &|| false)?;
                servers.extend([guard, origin]);
                Some(address)
            }
            Behind::Alone(server) => {
                let (guard, address) = start(server, "", dir, &|| has_socket(dir))?;
                servers.push(guard);
                Some(address)
            }
            Behind::Nobody => Some(nobody()?),
        };
        let address = behind.clone().unwrap_or_default();
        if let Some(address) = behind.filter(|_| case.config.is_none()) {
            flags.extend(["--backend".to_owned(), format!("http://{address}")]);
        }
        if let Some(text) = &case.config {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))?;
            let file = dir.join(case.file);
            let folder = file.parent().unwrap_or(dir);
            std::fs::create_dir_all(folder)?;
            let ports = [("{backend_port}", port_of(&address)), ("{second_port}", port_of(&second))];
            let text = filled(text, &address, dir).replace("{second}", &second);
            std::fs::write(&file, ports.iter().fold(text, |text, (name, port)| text.replace(name, port)))?;
            flags.extend(["--config".to_owned(), file.display().to_string()]);
        }
        Ok(World { flags, _servers: servers, _hog: case.hog.then(Hog::start), _held: held })
    }
}

/// Writes the files of a case that are beside its own.
fn beside(case: &Case, dir: &Path) -> io::Result<()> {
    let file = dir.join(case.file);
    for (name, text) in &case.others {
        let path = file.parent().unwrap_or(dir).join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(dir))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// Starts an origin with these flags; where it listens.
fn origin(genkai: &Path, words: &str, servers: &mut Vec<Guard>) -> io::Result<String> {
    let (guard, address) = serve(genkai, &format!("origin {words}"))?;
    servers.push(guard);
    Ok(address)
}

/// A configuration with the address of what stands behind, and the folder of the case.
fn filled(text: &str, backend: &str, dir: &Path) -> String {
    text.replace("{backend}", backend).replace("{dir}", &dir.display().to_string())
}

/// The port of an address.
fn port_of(address: &str) -> &str {
    address.rsplit(':').next().unwrap_or_default()
}

/// An address where nobody listens: bound for a moment only.
fn free() -> io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// An address where nobody listens, and nobody else can, as long as the socket is held: it is bound, and does not listen.
fn nobodys() -> io::Result<(OwnedFd, String)> {
    let held = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    bind(held.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0))?;
    let address: SockaddrIn = getsockname(held.as_raw_fd())?;
    Ok((held, address.to_string()))
}

/// Whether somebody has made a Unix socket in a folder.
fn has_socket(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|extension| extension == "sock"))
}

/// Starts a real server before `origin`; where it listens, once it does, or once it is `ready` otherwise.
fn start(between: &Between, origin: &str, dir: &Path, ready: &dyn Fn() -> bool) -> io::Result<(Guard, String)> {
    let address = free()?;
    let part = |address: &str, n: usize| address.split(':').nth(n).unwrap_or_default().to_owned();
    let filled = |text: &str| {
        let places = [
            ("{dir}", dir.display().to_string()),
            ("{port}", part(&address, 1)),
            ("{origin host}", part(origin, 0)),
            ("{origin port}", part(origin, 1)),
            ("{origin}", origin.to_owned()),
        ];
        places.iter().fold(text.to_owned(), |text, (place, value)| text.replace(place, value))
    };
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o777))?;
    std::fs::write(dir.join("behind.conf"), filled(between.file))?;
    let mut command = Command::new(between.command[0]);
    command.args(between.command[1..].iter().map(|word| filled(word)));
    if between.command[0] == "apache2" {
        // One of the prefork MPM that is asked to end asks its whole process group to: the drill would end with it.
        command.process_group(0);
    }
    let mut guard = Guard(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let deadline = Instant::now() + LISTENS;
    while !ready() && TcpStream::connect(&address).is_err() {
        if Instant::now() > deadline || guard.0.try_wait()?.is_some() {
            return Err(io::Error::other(format!("{} does not listen on {address}", between.command[0])));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok((guard, address))
}

/// Starts a backend that behaves as told; where it listens.
fn scripted(words: &str) -> io::Result<(Guard, String)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/examine/backend.py");
    let mut command = Command::new("python3");
    command.arg(script).args(words.split_whitespace());
    listening(command, words)
}

/// Starts `genkai serve` with these words; where it listens.
fn serve(genkai: &Path, words: &str) -> io::Result<(Guard, String)> {
    let mut command = Command::new(genkai);
    command.arg("serve").args(words.split_whitespace());
    listening(command, words)
}

/// Starts a program that tells its address in the first line, as a value of JSON.
fn listening(mut command: Command, words: &str) -> io::Result<(Guard, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let guard = Guard(child);
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let address = line.split('"').nth(3).map(|a| a.trim_start_matches("http://")).filter(|a| a.contains(':'));
    let address = address.ok_or_else(|| io::Error::other(format!("`{words}` said `{line}`")))?.to_owned();
    Ok((guard, address))
}
