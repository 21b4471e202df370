//! What a case needs around genkai: servers behind, a configuration, a program that takes processor time. All of it ends with
//! the case.

use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::cases::{Behind, Case};

/// A process that ends with its case.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
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
}

impl World {
    /// Makes it; its files go to `dir`.
    ///
    /// # Errors
    /// When a server does not listen or a file cannot be written.
    pub(crate) fn make(case: &Case, genkai: &Path, dir: &Path) -> io::Result<World> {
        let mut servers = Vec::new();
        let mut flags = Vec::new();
        let mut serve = |words: &str| {
            let (guard, address) = serve(genkai, words)?;
            servers.insert(0, guard);
            io::Result::Ok(address)
        };
        let behind = match case.behind {
            Behind::Flags => None,
            Behind::Origin(words) => Some(serve(&format!("origin {words}"))?),
            Behind::Link(origin, link) => {
                let to = serve(&format!("origin {origin}"))?;
                Some(serve(&format!("link --to {to} {link}"))?)
            }
            // Bound for a moment only: nobody listens there afterwards.
            Behind::Nobody => Some(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string()),
        };
        let address = behind.clone().unwrap_or_default();
        if let Some(address) = behind.filter(|_| case.config.is_none()) {
            flags.extend(["--backend".to_owned(), format!("http://{address}")]);
        }
        if let Some(text) = case.config {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))?;
            let file = dir.join("server.conf");
            std::fs::write(&file, text.replace("{backend}", &address))?;
            flags.extend(["--config".to_owned(), file.display().to_string()]);
        }
        Ok(World { flags, _servers: servers, _hog: case.hog.then(Hog::start) })
    }
}

/// Starts `genkai serve` with these words; where it listens.
fn serve(genkai: &Path, words: &str) -> io::Result<(Guard, String)> {
    let mut command = Command::new(genkai);
    command.arg("serve").args(words.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let guard = Guard(child);
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let address = line.split('"').nth(3).filter(|a| a.contains(':'));
    let address = address.ok_or_else(|| io::Error::other(format!("genkai serve {words} said `{line}`")))?.to_owned();
    Ok((guard, address))
}
