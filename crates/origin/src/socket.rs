//! What the WebSocket servers do with a client's socket.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Bytes read at once, into a buffer that all connections share.
const READ: usize = 64 * 1024;
/// Longest wait for the other side to close after we have; what it sends meanwhile is thrown away, so that our last words
/// are not lost to a reset (RFC 6455 section 7.1.1, RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(1);

/// What all connections read into. Borrowed only between two waits.
pub(crate) type Buffer = RefCell<Box<[u8]>>;

/// An empty one.
pub(crate) fn buffer() -> Buffer {
    RefCell::new(vec![0; READ].into())
}

/// Waits for bytes and gives them to `take`.
pub(crate) async fn read(stream: &TcpStream, buffer: &Buffer, take: impl FnOnce(&mut [u8])) -> io::Result<()> {
    loop {
        stream.readable().await?;
        let mut buffer = buffer.borrow_mut();
        match stream.try_read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                take(&mut buffer[..n]);
                return Ok(());
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
}

/// Writes all of `bytes`.
pub(crate) async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Closes: says so, and lets the client close too.
pub(crate) async fn leave(mut stream: TcpStream, buffer: &Buffer) -> io::Result<()> {
    stream.shutdown().await?;
    let drained = async { while read(&stream, buffer, |_| ()).await.is_ok() {} };
    let _ = tokio::time::timeout(LINGER, drained).await;
    Ok(())
}
