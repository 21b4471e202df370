//! A link that is worse than loopback: every connection is passed on to another address, later, slower, or not to its end.
//!
//! It stands for a network between a proxy and its backend, so that what a bad network looks like can be told from what a
//! setting looks like. Losing segments is the kernel's affair and out of reach of a process; what a reader sees of a lost
//! segment is not: what comes after it waits for a retransmission, on Linux 200 ms at least (`TCP_RTO_MIN`,
//! include/net/tcp.h). That is what [`Spec::loss`] does to a share of all pieces.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::distr::{Bernoulli, Distribution};
use rand_pcg::Pcg64Mcg;
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::{sleep, sleep_until};

use crate::{accept, socket};

/// Wait of what comes after a lost segment.
const RETRANSMISSION: Duration = Duration::from_millis(200);
/// Bytes that are passed on at once: two full segments of Ethernet.
const PIECE: usize = 2 * 1460;

/// How bad a link is. Zeros are a perfect one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spec {
    /// Time that each piece takes, each way.
    pub delay: Duration,
    /// Share of pieces (0 to 1) that come a retransmission later.
    pub loss: f64,
    /// Share of connections (0 to 1) that are reset when the client's first bytes have come.
    pub reset: f64,
    /// Bytes a second, all connections of one direction together; 0: any number.
    pub rate: u64,
}

struct Link {
    to: SocketAddr,
    spec: Spec,
    random: RefCell<Pcg64Mcg>,
    /// Until when each direction is taken.
    taken: [Cell<Option<Instant>>; 2],
}

impl Link {
    fn chance(&self, share: f64) -> bool {
        Bernoulli::new(share.clamp(0.0, 1.0)).is_ok_and(|law| law.sample(&mut *self.random.borrow_mut()))
    }

    /// Takes the direction for so many bytes: when they are through.
    fn through(&self, direction: usize, bytes: usize) -> Instant {
        let now = Instant::now();
        if self.spec.rate == 0 {
            return now;
        }
        let begins = self.taken[direction].get().map_or(now, |taken| taken.max(now));
        let ends = begins + Duration::from_secs_f64(bytes as f64 / self.spec.rate as f64);
        self.taken[direction].set(Some(ends));
        ends
    }

    async fn connection(self: Rc<Self>, client: TcpStream) {
        let Ok(server) = TcpStream::connect(self.to).await else { return };
        let _ = server.set_nodelay(true);
        if self.chance(self.spec.reset) {
            let _ = client.readable().await;
            // Closing with a linger time of zero resets (socket(7), SO_LINGER).
            let _ = client.set_zero_linger();
            return;
        }
        let up = self.pass(&client, &server, 0);
        let down = self.pass(&server, &client, 1);
        // Either side's end ends both: HTTP does not need half of a connection.
        tokio::select! { _ = up => (), _ = down => () }
    }

    /// Passes on until the end of either side.
    async fn pass(&self, from: &TcpStream, to: &TcpStream, direction: usize) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            from.readable().await?;
            let read = match from.try_read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => continue,
                Err(e) => return Err(e),
            };
            let lost = if self.chance(self.spec.loss) { RETRANSMISSION } else { Duration::ZERO };
            let late = self.spec.delay + lost;
            if !late.is_zero() {
                sleep(late).await;
            }
            sleep_until(self.through(direction, read).into()).await;
            socket::write(to, &piece[..read]).await?;
        }
    }
}

/// Passes connections on to `to` until `stop` is set: blocks the calling thread.
///
/// # Errors
/// When the event loop cannot be made, or the listener fails for good.
pub fn serve(listener: TcpListener, to: SocketAddr, spec: Spec, seed: u64, stop: &Arc<AtomicBool>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let random = RefCell::new(Pcg64Mcg::seed_from_u64(seed));
    let link = Rc::new(Link { to, spec, random, taken: Default::default() });
    LocalSet::new().block_on(&runtime, async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            ended = accept::forever(&listener, |stream| Rc::clone(&link).connection(stream)) => ended,
            () = accept::stopped(stop) => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;

    /// What a client gets back of `sent` from a server that sends everything back, through a link; and how long it took.
    fn through(spec: Spec, sent: &[u8]) -> (io::Result<Vec<u8>>, Duration) {
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = echo.local_addr().unwrap();
        let length = sent.len();
        thread::spawn(move || {
            let (mut stream, _) = echo.accept().unwrap();
            let mut bytes = vec![0; length];
            // A connection that the link resets ends here.
            let _ = stream.read_exact(&mut bytes).and_then(|()| stream.write_all(&bytes));
        });
        let listener = crate::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let link = thread::spawn({
            let stop = Arc::clone(&stop);
            move || serve(listener, to, spec, 1, &stop)
        });
        let began = Instant::now();
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut got = Vec::new();
        let answer =
            client.write_all(sent).and_then(|()| client.take(length as u64).read_to_end(&mut got)).map(|_| got);
        let took = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        link.join().unwrap().unwrap();
        (answer, took)
    }

    #[test]
    fn bytes_come_as_they_were_and_never_before_their_time() {
        let sent: Vec<u8> = (0..50_000_u32).map(|n| n as u8).collect();
        assert_eq!(through(Spec::default(), &sent).0.unwrap(), sent);
        let late = Spec { delay: Duration::from_millis(30), ..Spec::default() };
        let (got, took) = through(late, b"one piece");
        assert!(got.unwrap() == b"one piece" && took >= Duration::from_millis(60), "{took:?}");
        let (got, took) = through(Spec { loss: 1.0, ..Spec::default() }, b"one piece");
        assert!(got.unwrap() == b"one piece" && took >= 2 * RETRANSMISSION, "{took:?}");
        let (got, took) = through(Spec { rate: 100_000, ..Spec::default() }, &sent);
        assert!(got.unwrap() == sent && took >= Duration::from_millis(500), "{took:?}");
    }

    #[test]
    fn a_connection_is_reset() {
        let (got, _) = through(Spec { reset: 1.0, ..Spec::default() }, b"hello");
        assert_eq!(got.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}
