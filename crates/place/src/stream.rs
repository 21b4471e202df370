//! A connection to a place, TCP or Unix, on which nothing is waited for longer than is said.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

use crate::endpoint::Endpoint;

/// The connection.
#[derive(Debug)]
pub enum Stream {
    /// By TCP.
    Tcp(TcpStream),
    /// By a Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Connects. A Unix socket whose queue is full refuses at once, where a call that blocks would wait without an end (connect(2), EAGAIN).
    ///
    /// # Errors
    /// When nobody takes the connection within that time.
    pub fn connect(at: &Endpoint, within: Duration) -> io::Result<Stream> {
        match at {
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, within)?;
                stream.set_read_timeout(Some(within))?;
                stream.set_write_timeout(Some(within))?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Endpoint::Unix(path) => {
                let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
                let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
                connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
                let stream = UnixStream::from(socket);
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(within))?;
                stream.set_write_timeout(Some(within))?;
                Ok(Stream::Unix(stream))
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.flush(),
            Stream::Unix(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(20);

    #[test]
    fn bytes_come_and_go_on_either_kind_and_nobody_there_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let (tcp, unix) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
        let places = [Endpoint::Tcp(tcp.local_addr().unwrap()), Endpoint::Unix(path)];
        let echo = |mut stream: Box<dyn ReadWrite>| {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            stream.write_all(&byte).unwrap();
        };
        let servers = (
            thread::spawn(move || echo(Box::new(tcp.accept().unwrap().0))),
            thread::spawn(move || echo(Box::new(unix.accept().unwrap().0))),
        );
        for at in &places {
            let mut stream = Stream::connect(at, WITHIN).unwrap();
            stream.write_all(b"!").unwrap();
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"!", "{at}");
        }
        servers.0.join().unwrap();
        servers.1.join().unwrap();
        assert!(Stream::connect(&Endpoint::Unix(dir.path().join("gone.sock")), WITHIN).is_err());
    }

    trait ReadWrite: Read + Write {}
    impl<T: Read + Write> ReadWrite for T {}
}
