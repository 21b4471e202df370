//! Taking connections.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::connection::{self, Shared};

/// How long accepting pauses when there is no descriptor or memory for a connection. The connection waits in the accept
/// queue meanwhile; without a pause the loop would spin on the same error.
const PAUSE: Duration = Duration::from_millis(10);

/// Takes connections until the listener fails for good.
pub(super) async fn forever(listener: &TcpListener, shared: &Rc<Shared>) -> io::Result<()> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are written whole: waiting to fill a segment would only delay them. Failing does no harm.
                let _ = stream.set_nodelay(true);
                tokio::task::spawn_local(connection::serve(stream, Rc::clone(shared)));
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
