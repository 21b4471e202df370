//! The standard streams of a pod as a socket that blocks.

use std::future::Future;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::api::AttachedProcess;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, copy};
use tokio::runtime::Handle;

use crate::api::clean;

/// How much of what a pod says on standard error is kept: the end of it.
const LAST_WORDS: usize = 2048;

/// How long what came before a cut may take to be read.
const DRAINED_WITHIN: Duration = Duration::from_millis(100);

/// A pod that was attached to, for as long as this is kept.
#[derive(Debug)]
pub struct Attached {
    stream: UnixStream,
    words: Arc<Mutex<Vec<u8>>>,
}

impl Attached {
    pub(crate) fn new(process: AttachedProcess, runtime: &Handle) -> io::Result<Attached> {
        let (stream, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        let words = Arc::new(Mutex::new(Vec::new()));
        let kept = words.clone();
        let inside = runtime.enter();
        let theirs = tokio::net::UnixStream::from_std(theirs)?;
        drop(inside);
        runtime.spawn(pump(process, theirs, kept));
        Ok(Attached { stream, words })
    }

    /// What the pod says (reading), and hears (writing): one socket, both ways. Its end is the end of the pod's output.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn stream(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// The end of what it said on standard error.
    pub fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        clean(&String::from_utf8_lossy(&words))
    }
}

impl Attached {
    /// Ends the pod's input and output, whoever else holds the socket.
    pub fn close(&self) {
        // One that has ended is no error.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.close();
    }
}

/// Carries bytes until both sides have ended, or ours is gone; then the connection to the pod ends.
async fn pump(mut process: AttachedProcess, stream: tokio::net::UnixStream, words: Arc<Mutex<Vec<u8>>>) {
    let (mut from_us, mut to_us) = stream.into_split();
    let (stdin, stdout, stderr) = (process.stdin(), process.stdout(), process.stderr());
    let status = process.take_status();
    let hear = async {
        let Some(mut stdin) = stdin else { return };
        let _ = copy(&mut from_us, &mut stdin).await;
        let _ = stdin.shutdown().await;
    };
    let say = async {
        let Some(mut stdout) = stdout else { return };
        let _ = copy(&mut stdout, &mut to_us).await;
        let _ = to_us.shutdown().await;
    };
    tokio::select! {
        _ = async { tokio::join!(say, listen(stderr, &words)) } => {}
        () = hear => {}
        () = cut(status) => {}
    }
    drop(process);
}

/// Ends a moment after a connection that was cut. (kube 5.0 leaves the streams open then, so that nobody who reads them hears of it; but its
/// word on how the pod's process ended is never said.)
async fn cut<S>(status: Option<impl Future<Output = Option<S>>>) {
    if let Some(status) = status
        && status.await.is_none()
    {
        tokio::time::sleep(DRAINED_WITHIN).await;
    } else {
        std::future::pending::<()>().await;
    }
}

/// Keeps the end of what is said.
async fn listen(from: Option<impl AsyncRead + Unpin>, words: &Mutex<Vec<u8>>) {
    if let Some(mut from) = from {
        let mut bytes = [0; 1024];
        while let Ok(read @ 1..) = from.read(&mut bytes).await {
            let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
            words.extend(&bytes[..read]);
            let over = words.len().saturating_sub(LAST_WORDS);
            words.drain(..over);
        }
    }
}
