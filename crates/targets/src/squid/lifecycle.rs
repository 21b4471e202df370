//! Set up: check, make the store, serve in the foreground.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::config::Config;
use super::private::{self, Private};
use super::sockets::Sockets;
use super::{evidence, limits, peers};
use crate::cache::answers::AnswerLog;
use crate::cache::counters::{Counters, Gauges};
use crate::cache::{Messages, Sandbox, Setup, listed};
use crate::error::TargetError;
use genkai_place::machine;

/// Bytes of the megabytes that `cache_dir` and `cache_mem` count in.
const MB: u64 = 1 << 20;
/// Largest object of a rock store, bytes: `max-size`. Squid's default for it is one slot.
const ROCK_LARGEST: u64 = 1 << 20;

/// How objects are kept (`cache_dir`, `cache_mem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// A file an object, read and written by Squid's only thread.
    Ufs,
    /// The same by threads of their own.
    Aufs,
    /// One file with slots of 16 KiB.
    Rock,
    /// In memory, no disk.
    Memory,
}

/// As genkai writes it.
pub(crate) fn setup(at: &Sandbox<'_>, store: Store) -> Result<Setup, TargetError> {
    let text = render(at, store);
    let file = at.write("squid.conf", &text)?;
    let folder = at.folder("store")?;
    let config = Config::of_text(&file, text.clone().into_bytes())?;
    let on_disk = store != Store::Memory;
    Ok(Setup {
        settings: listed(&text, at.dir),
        limits: limits::of_accelerator(&config, machine::hard_descriptors()),
        store: on_disk.then_some(folder),
        ..served(at, &file, on_disk, false)?
    })
}

/// An accelerator with its store in the folder `store`. Where objects are on disk none is kept in memory: with Squid's default of 256 MB a
/// small set would be served from memory whatever the disk store is. What is not written is Squid's own default.
fn render(at: &Sandbox<'_>, store: Store) -> String {
    let (listen, origin, dir) = (at.listen, at.origin(), at.dir.display());
    // Whoever reaches an address other than this machine's own is served.
    let visitors = if listen.ip().is_loopback() { "localhost" } else { "all" };
    let (memory, disk) = (at.budget.memory.0 / MB, at.budget.disk.0 / MB);
    let (memory, store) = match store {
        Store::Ufs => (0, format!("cache_dir ufs {dir}/store {disk} 16 256\n")),
        Store::Aufs => (0, format!("cache_dir aufs {dir}/store {disk} 16 256\n")),
        Store::Rock => (0, format!("cache_dir rock {dir}/store {disk} max-size={ROCK_LARGEST}\n")),
        Store::Memory => (memory, String::new()),
    };
    format!(
        "\
# An accelerator, written by genkai.
http_port {listen} accel defaultsite=localhost no-vhost
cache_peer {} parent {} 0 no-query no-digest originserver name=origin
http_access allow localhost manager
http_access deny manager
http_access allow {visitors}
http_access deny all
visible_hostname localhost
cache_mem {memory} MB
access_log stdio:{dir}/access.log squid
cache_log {dir}/cache.log
pid_filename {dir}/squid.pid
coredump_dir {dir}
pinger_enable off
netdb_filename none
{store}",
        origin.ip(),
        origin.port(),
    )
}

/// A private copy of the user's configuration.
pub(super) fn copied(at: &Sandbox<'_>, config: &Config) -> Result<(Private, Setup), TargetError> {
    let private = private::build(config, at)?;
    let file = at.write(private::NAME, &private.text)?;
    for store in &private.stores {
        at.folder(store)?;
    }
    let workers = config.workers();
    let several = workers.value > 1;
    let kids = workers.value + private.stores.len() as u64;
    let sockets = several.then(|| Sockets::of(at.program.path(), &workers.written)).transpose()?;
    let served = served(at, &file, !private.stores.is_empty(), several)?;
    let service = served.shared.clone().unwrap_or_default();
    let setup = Setup {
        store: private.stores.first().map(|store| at.dir.join(store)),
        messages: vec![
            Messages::of("cache.log", evidence::signature),
            Messages { file: evidence::FAILED_LOG, signature: evidence::refused, only_known: true },
            Messages { file: evidence::TOO_BIG_LOG, signature: evidence::too_big, only_known: true },
        ],
        counters: counters(peers::pages(config)),
        answers: private::is_told(config, at).then(|| {
            AnswerLog::of(evidence::SUBJECT, private::answers_file(at), evidence::answer, peers::names(config))
        }),
        user: sockets.as_ref().and_then(|sockets| sockets.user),
        left: sockets.iter().flat_map(|sockets| sockets.of_service(&service, kids)).collect(),
        ..served
    };
    Ok((private, setup))
}

/// What it counts, and the pages that are read while a load runs.
fn counters(gauges: Vec<(&'static str, Gauges)>) -> Counters {
    Counters::Page { path: evidence::PAGE, read: evidence::counts, lag: Duration::ZERO, gauges }
}

/// How it is checked and served: in one process, or with `workers` by a first one that stays in the foreground.
fn served(at: &Sandbox<'_>, file: &Path, on_disk: bool, workers: bool) -> Result<Setup, TargetError> {
    // Names its shared memory, which other instances on the machine must not have; letters and digits only.
    let service = format!("genkai{}x{}", std::process::id(), at.listen.port());
    let squid = |arguments: &[&str]| {
        let mut command = Command::new(at.program.path());
        command.args(arguments).args(["-n", &service]).arg("-f").arg(file);
        command
    };
    let run = if workers { "--foreground" } else { "-N" };
    // -F: it listens when its store is read, not before.
    let setup = Setup::new(squid(&["-k", "parse"]), squid(&[run, "-F"]), counters(Vec::new()));
    Ok(Setup { make: on_disk.then(|| squid(&[run, "-z"])), shared: Some(service), ..setup })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Budget;
    use crate::product::Program;

    #[test]
    fn stores_are_on_disk_or_in_memory() {
        let (program, dir, allowed, budget) = (&Program::default(), Path::new("/x"), &[][..], Budget::USUAL);
        let (listen, backend) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().ok());
        let text = |store| render(&Sandbox { program, dir, listen, backend, moves: &[], allowed, budget }, store);
        assert!(text(Store::Ufs).contains("cache_dir ufs /x/store 256 16 256\n"));
        assert!(text(Store::Rock).contains("cache_dir rock /x/store 256 max-size=1048576\n"));
        assert!(text(Store::Memory).contains("\nhttp_access allow localhost\n"));
        let elsewhere =
            Sandbox { program, dir, listen: "10.0.0.1:1".parse().unwrap(), backend, moves: &[], allowed, budget };
        assert!(render(&elsewhere, Store::Memory).contains("\nhttp_access allow all\n"), "machines of --on come to it");
        assert!(!text(Store::Memory).contains("cache_dir") && text(Store::Memory).contains("cache_mem 64 MB\n"));
    }
}
