//! Taking connections.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// How often the stop flag is looked at.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// How long accepting pauses when there is no descriptor or memory for a connection. The connection waits in the accept
/// queue meanwhile; without a pause the loop would spin on the same error.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until `stop` is set.
pub(crate) async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(STOP_CHECK).await;
    }
}

/// Takes connections until the listener fails for good; `serve` makes of each what runs as a task of its own.
pub(crate) async fn forever<F: Future<Output = ()> + 'static>(
    listener: &TcpListener,
    serve: impl Fn(TcpStream) -> F,
) -> io::Result<()> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are written whole: waiting to fill a segment would only delay them. Failing does no harm.
                let _ = stream.set_nodelay(true);
                tokio::task::spawn_local(serve(stream));
            }
            Err(e) if exhausted(&e) => tokio::time::sleep(PAUSE).await,
            Err(e) if gone(&e) => {}
            Err(e) => return Err(e),
        }
    }
}

fn exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// Errors of the connection that would have been next, not of the listener (accept(2), "Error handling").
fn gone(error: &io::Error) -> bool {
    const OF_ONE: [i32; 9] = [
        libc::ECONNABORTED,
        libc::EINTR,
        libc::EPROTO,
        libc::ENETDOWN,
        libc::ENOPROTOOPT,
        libc::EHOSTDOWN,
        libc::EHOSTUNREACH,
        libc::ENETUNREACH,
        libc::EPERM,
    ];
    error.raw_os_error().is_some_and(|code| OF_ONE.contains(&code))
}
