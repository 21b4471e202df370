//! A copy that runs in a pod: its files read back, looked into by a shell of its own image.

use std::collections::BTreeMap;
use std::io::{ErrorKind as Io, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use genkai_kubernetes::Attached;
use genkai_kubernetes::server::{Copy, Home, NoCopy};
use genkai_model::event::{ServerState, State};
use genkai_place::inside::{self, Look};
use genkai_place::observation::Observation;
use genkai_targets::error::{ErrorKind, TargetError};
use genkai_targets::product::{Contained, Running, WatchInside};

use super::{Shared, asked, met, no, told};

/// How long one look may be waited for; what comes later is taken by the next.
const LOOK: Duration = Duration::from_millis(150);
/// How long the first one may take.
const FIRST: Duration = Duration::from_secs(4);
/// From then on a shell that says nothing is as good as none.
const SILENT: Duration = Duration::from_secs(5);
/// How long after its end a container's cluster may take to know of it.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);
/// How long the pod may take to accept a connection of this machine's.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// A copy that runs. Dropping it deletes it.
pub(super) struct InPod {
    product: &'static str,
    address: SocketAddr,
    shell: Shell,
    watch: Box<dyn WatchInside>,
    /// Its death was told.
    dead: bool,
    /// Since when nothing is seen of it, and why.
    cut: Option<(Instant, String)>,
    copy: Copy,
}

/// The shell in the pod by which it is looked into.
struct Shell {
    stream: UnixStream,
    mark: String,
    printed: Vec<u8>,
    /// Since when a look is awaited.
    asked: Option<Instant>,
    _attached: Attached,
}

/// Starts a copy with its files, and reads them back.
pub(super) fn start(shared: &Shared, contained: &dyn Contained) -> Result<InPod, TargetError> {
    let files = contained.files().into_iter();
    let files: BTreeMap<PathBuf, String> =
        files.map(|one| (one.path, String::from_utf8_lossy(&one.bytes).into_owned())).collect();
    let port = contained.port();
    let none = |e| match e {
        NoCopy::Asked => no("interrupted".to_owned(), "start it again"),
        NoCopy::Failed(e) => told(e),
        NoCopy::Ended(words) => {
            TargetError { product: shared.inside.product, kind: ErrorKind::Rejected(words), hint: None }
        }
    };
    let copy = shared.home.copy(&files, Some(port), &|| shared.stop.is_stopped()).map_err(none)?;
    let (facts, title) = met(&copy, shared.inside).map_err(none)?;
    if let Some(why) = contained.unlike(&asked(&copy, &(shared.inside.asks)(&title))?) {
        let text = format!("kubernetes: the copy in the pod {} does not have its configuration: {why}", copy.pod().0);
        return Err(no(text, "something changes ConfigMaps or pods in that namespace: an admission controller?"));
    }
    let Some(address) = copy.address().map(|ip| SocketAddr::from((ip, port))) else {
        return Err(no(
            format!("kubernetes: the pod {} has no address", copy.pod().0),
            "look at the cluster's network",
        ));
    };
    if !shared.spread {
        reached(address, &copy)?;
    }
    let mut shell = Shell::open(&copy, contained)?;
    let mut watch = contained.watch(facts.page);
    let first = shell.look(FIRST).map_err(|why| no(why, "look whether `kubectl exec` answers"))?;
    let Some(first) = first else {
        let text = format!(
            "kubernetes: the pod {} does not let itself be looked into within {} s",
            copy.pod().0,
            FIRST.as_secs()
        );
        return Err(no(text, "its processor time may be too little for a look: look at its resources"));
    };
    watch.look(&first);
    let product = shared.inside.product;
    Ok(InPod { product, address, shell, watch, dead: false, cut: None, copy })
}

/// Whether this machine, which makes the load, reaches a pod.
fn reached(address: SocketAddr, copy: &Copy) -> Result<(), TargetError> {
    match TcpStream::connect_timeout(&address, REACHED_WITHIN) {
        Ok(_) => Ok(()),
        Err(e) => {
            let text = format!("kubernetes: this machine does not reach the pod {} at {address}: {e}", copy.pod().0);
            Err(no(text, "have pods make the load: --on kubernetes:2 (docs/kubernetes.md); or run genkai on a node"))
        }
    }
}

impl Shell {
    fn open(copy: &Copy, contained: &dyn Contained) -> Result<Shell, TargetError> {
        // What a client sent stands in the log: nobody knows this line.
        let mark = Home::word();
        let command = ["sh".to_owned(), "-c".to_owned(), inside::looks(copy.root(), &contained.log(), &mark)];
        let attached = copy.speak(&command).map_err(told)?;
        let stream =
            attached.stream().map_err(|e| no(format!("cannot speak to the pod: {e}"), "free some descriptors"))?;
        Ok(Shell { stream, mark, printed: Vec::new(), asked: None, _attached: attached })
    }

    /// Asks for a look, unless one is awaited already, and waits so long for it.
    ///
    /// # Errors
    /// When the shell is gone, or the connection to it is cut.
    fn look(&mut self, within: Duration) -> Result<Option<Look>, String> {
        let cut = |e: &dyn std::fmt::Display| format!("the connection to the shell in the pod was cut: {e}");
        let asked = match self.asked {
            Some(asked) => asked,
            None => {
                self.stream.write_all(b"\n").map_err(|e| cut(&e))?;
                *self.asked.insert(Instant::now())
            }
        };
        let latest = Instant::now() + within;
        let mut bytes = [0; 1 << 16];
        loop {
            if let Some(look) = inside::look(&mut self.printed, &self.mark) {
                self.asked = None;
                return Ok(Some(look));
            }
            let left = latest.saturating_duration_since(Instant::now());
            if left.is_zero() && asked.elapsed() >= SILENT {
                return Err(format!("the shell in the pod said nothing for {} s", SILENT.as_secs()));
            }
            if left.is_zero() {
                return Ok(None);
            }
            self.stream.set_read_timeout(Some(left)).map_err(|e| cut(&e))?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(cut(&"it ended")),
                Ok(read) => self.printed.extend(&bytes[..read]),
                Err(e) if matches!(e.kind(), Io::WouldBlock | Io::TimedOut | Io::Interrupted) => {}
                Err(e) => return Err(cut(&e)),
            }
        }
    }
}

impl Running for InPod {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn observe(&mut self) -> Observation {
        if self.dead {
            return Observation::default();
        }
        if self.cut.is_none() {
            match self.shell.look(LOOK) {
                Ok(Some(look)) => return self.watch.look(&look),
                Ok(None) => return Observation::default(),
                Err(cut) => self.cut = Some((Instant::now(), cut)),
            }
        }
        // A cluster that does not answer may do so the next time.
        let Ok(Some(why)) = self.copy.fate(false) else { return Observation::default() };
        self.dead = true;
        let detail = Some(format!("the container ended: {why}"));
        let state = State { subject: self.product.to_owned(), state: ServerState::Died, detail };
        Observation { states: vec![state], ..Observation::default() }
    }

    fn blind(&mut self, last: bool) -> Option<String> {
        let (since, cut) = self.cut.clone().filter(|_| !self.dead)?;
        while last && since.elapsed() < KNOWN_WITHIN {
            if let Ok(Some(why)) = self.copy.fate(false) {
                return Some(format!("the container ended: {why}"));
            }
            thread::sleep(LOOK);
        }
        let told = || format!("{cut}, and the cluster does not say that its container ended");
        (since.elapsed() >= KNOWN_WITHIN).then(told)
    }

    fn stop(self: Box<Self>) -> ExitStatus {
        ExitStatus::default()
    }
}
