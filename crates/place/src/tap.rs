//! A place between a server and whom it asks: what comes there is passed on, and looked at.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::scratch::Scratch;

/// So many bytes of each direction of a connection are kept.
const KEPT: usize = 1 << 20;
/// Between two looks for somebody who connects.
const LOOK: Duration = Duration::from_millis(3);
/// How long it is tried to connect to whom it stands before.
const WITHIN: Duration = Duration::from_secs(5);

/// What went over one connection, as far as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// To whom it stands before.
    pub asked: Vec<u8>,
    /// What came back.
    pub answered: Vec<u8>,
}

type Connections = Arc<Mutex<Vec<Arc<Mutex<Passed>>>>>;

/// Such a place. Nobody gets through it any more once it is dropped.
pub struct Tap {
    at: Endpoint,
    connections: Connections,
    over: Arc<AtomicBool>,
    _room: Option<Scratch>,
}

impl Tap {
    /// Before whoever listens at `target`: of the same kind, for the same users.
    ///
    /// # Errors
    /// When there is no such place to be had.
    pub fn before(target: &Endpoint) -> io::Result<Tap> {
        let (connections, over) = (Connections::default(), Arc::<AtomicBool>::default());
        let (at, next, room) = listening(target)?;
        let (target, all, ends) = (target.clone(), Arc::clone(&connections), Arc::clone(&over));
        thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                match next() {
                    Ok(stream) => pass(stream, &target, &all),
                    Err(_) => thread::sleep(LOOK),
                }
            }
        });
        Ok(Tap { at, connections, over, _room: room })
    }

    /// Where it is.
    pub fn at(&self) -> &Endpoint {
        &self.at
    }

    /// What went over each connection until now, in the order in which they came.
    pub fn seen(&self) -> Vec<Passed> {
        locked(&self.connections).iter().map(|one| locked(one).clone()).collect()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// What carries a connection.
trait Carrier: Read + Write + Send {
    /// The same once more.
    fn again(&self) -> io::Result<Box<dyn Carrier>>;
    /// Blocks from now on.
    fn wait(&self) -> io::Result<()>;
    /// Ends a direction.
    fn end(&self, how: Shutdown);
}

impl Carrier for TcpStream {
    fn again(&self) -> io::Result<Box<dyn Carrier>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn wait(&self) -> io::Result<()> {
        self.set_nodelay(true)?;
        self.set_nonblocking(false)
    }

    fn end(&self, how: Shutdown) {
        let _ = self.shutdown(how);
    }
}

impl Carrier for UnixStream {
    fn again(&self) -> io::Result<Box<dyn Carrier>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn wait(&self) -> io::Result<()> {
        self.set_nonblocking(false)
    }

    fn end(&self, how: Shutdown) {
        let _ = self.shutdown(how);
    }
}

/// Gives the next one who connects.
type Next = Box<dyn Fn() -> io::Result<Box<dyn Carrier>> + Send>;

/// Where it listens, and the folder of its socket, if it has one.
fn listening(target: &Endpoint) -> io::Result<(Endpoint, Next, Option<Scratch>)> {
    match target {
        Endpoint::Tcp(_) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            let at = Endpoint::Tcp(listener.local_addr()?);
            Ok((at, Box::new(move || Ok(Box::new(listener.accept()?.0))), None))
        }
        Endpoint::Unix(path) => {
            let room = Scratch::short("genkai-tap-")?;
            let own = room.path().join("s");
            let listener = UnixListener::bind(&own)?;
            listener.set_nonblocking(true)?;
            alike(path, &own, room.path())?;
            Ok((Endpoint::Unix(own), Box::new(move || Ok(Box::new(listener.accept()?.0))), Some(room)))
        }
    }
}

/// Passes a connection on; one that cannot be is closed.
fn pass(stream: Box<dyn Carrier>, target: &Endpoint, all: &Connections) {
    // That somebody came is seen, also where nobody is there for him.
    let passed = Arc::<Mutex<Passed>>::default();
    locked(all).push(Arc::clone(&passed));
    let Ok((mut from, mut to, mut back, mut home)) = both(stream, target) else { return };
    let answers = Arc::clone(&passed);
    thread::spawn(move || copy(&mut *from, &mut *to, |bytes| keep(&mut locked(&passed).asked, bytes)));
    thread::spawn(move || copy(&mut *back, &mut *home, |bytes| keep(&mut locked(&answers).answered, bytes)));
}

type Ends = (Box<dyn Carrier>, Box<dyn Carrier>, Box<dyn Carrier>, Box<dyn Carrier>);

/// Both directions: from who came to whom he asks, and back.
fn both(stream: Box<dyn Carrier>, target: &Endpoint) -> io::Result<Ends> {
    let to: Box<dyn Carrier> = match target {
        Endpoint::Tcp(address) => Box::new(TcpStream::connect_timeout(address, WITHIN)?),
        Endpoint::Unix(path) => Box::new(UnixStream::connect(path)?),
    };
    stream.wait()?;
    to.wait()?;
    let (back, home) = (to.again()?, stream.again()?);
    Ok((stream, to, back, home))
}

fn copy(from: &mut dyn Carrier, to: &mut dyn Carrier, note: impl Fn(&[u8])) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        note(&buffer[..n]);
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    to.end(Shutdown::Write);
    from.end(Shutdown::Read);
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    let room = KEPT.saturating_sub(kept.len()).min(bytes.len());
    kept.extend(&bytes[..room]);
}

/// Lets those connect to our socket who may to theirs; where that is not there yet, whoever finds it.
fn alike(theirs: &Path, own: &Path, room: &Path) -> io::Result<()> {
    let other = fs::metadata(theirs).ok();
    // What belongs to another user can be given to him by root alone; else all of this is one user's.
    if nix::unistd::geteuid().is_root() {
        if let Some(other) = &other {
            chown(own, Some(other.uid()), Some(other.gid()))?;
        }
        fs::set_permissions(room, fs::Permissions::from_mode(0o711))?;
    }
    let mode = other.map_or(0o666, |other| other.mode() & 0o777);
    fs::set_permissions(own, fs::Permissions::from_mode(mode))
}

fn locked<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers what it gets, in capitals, until nothing more comes.
    fn shout(mut stream: impl Read + Write) {
        let mut buffer = [0; 64];
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            let _ = stream.write_all(&buffer[..n].to_ascii_uppercase());
        }
    }

    fn asked(mut stream: impl Read + Write, tap: &Tap) {
        stream.write_all(b"hello").unwrap();
        let mut buffer = [0; 5];
        stream.read_exact(&mut buffer).unwrap();
        assert_eq!(&buffer, b"HELLO");
        let passed = Passed { asked: b"hello".to_vec(), answered: b"HELLO".to_vec() };
        assert_eq!(tap.seen(), [passed]);
    }

    #[test]
    fn what_comes_is_passed_on_and_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || listener.incoming().flatten().for_each(shout));
        let tap = Tap::before(&Endpoint::Tcp(at)).unwrap();
        assert!(tap.seen().is_empty());
        let Endpoint::Tcp(own) = tap.at() else { panic!("another kind") };
        asked(TcpStream::connect(own).unwrap(), &tap);
    }

    #[test]
    fn so_is_what_comes_by_a_unix_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || listener.incoming().flatten().for_each(shout));
        let tap = Tap::before(&Endpoint::Unix(path)).unwrap();
        let Endpoint::Unix(own) = tap.at() else { panic!("another kind") };
        asked(UnixStream::connect(own).unwrap(), &tap);
        let own = own.clone();
        drop(tap);
        assert!(!own.exists());
    }

    #[test]
    fn who_cannot_be_passed_on_is_closed() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let tap = Tap::before(&Endpoint::Tcp(gone)).unwrap();
        let Endpoint::Tcp(own) = tap.at() else { panic!("another kind") };
        let mut stream = TcpStream::connect(own).unwrap();
        assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0);
        assert_eq!(tap.seen(), [Passed::default()], "that somebody came is seen");
    }
}
