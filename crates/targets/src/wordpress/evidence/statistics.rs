//! MariaDB's statistics, asked over a connection of its own that is open before any load, so that it answers when all
//! other connections are in use.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(1);
/// Longest packet that is read: greetings and statistics have a few hundred bytes.
const LARGEST: usize = 64 << 10;
/// The account made for this (`settings::ACCOUNTS`); it has no rights and no password.
const ACCOUNT: &[u8] = b"observer";

// MariaDB's client/server protocol (mariadb.com/kb/en/clientserver-protocol).
const CLIENT_MYSQL: u32 = 1;
const PROTOCOL_41: u32 = 1 << 9;
const SECURE_CONNECTION: u32 = 1 << 15;
const UTF8MB4_GENERAL_CI: u8 = 45;
const OK: u8 = 0x00;
const AUTH_SWITCH: u8 = 0xfe;
const COM_STATISTICS: u8 = 0x09;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Statistics {
    stream: UnixStream,
}

impl Statistics {
    /// Connects to the server on a unix socket and logs in.
    ///
    /// # Errors
    /// When nobody listens, the server is not ready yet, or refuses.
    pub(crate) fn connect(socket: &Path) -> io::Result<Statistics> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(WITHIN))?;
        stream.set_write_timeout(Some(WITHIN))?;
        let mut connection = Statistics { stream };
        let (_, greeting) = connection.read()?;
        if greeting.first() != Some(&10) {
            return Err(refusal("not a database greeting", &greeting));
        }
        connection.write(1, &login())?;
        let (sequence, mut answer) = connection.read()?;
        if answer.first() == Some(&AUTH_SWITCH) {
            // Whatever the method: an account without a password answers with nothing.
            connection.write(sequence.wrapping_add(1), &[])?;
            (_, answer) = connection.read()?;
        }
        match answer.first() {
            Some(&OK) => Ok(connection),
            _ => Err(refusal("the database refuses", &answer)),
        }
    }

    /// Client connections now, without this one.
    ///
    /// # Errors
    /// When the server is gone or does not answer within a second.
    pub(crate) fn connections(&mut self) -> io::Result<u64> {
        self.write(0, &[COM_STATISTICS])?;
        let (_, answer) = self.read()?;
        let text = String::from_utf8_lossy(&answer);
        threads(&text).map(|all| all.saturating_sub(1)).ok_or_else(|| refusal("no statistics", &answer))
    }

    fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0u8; 4];
        self.stream.read_exact(&mut head)?;
        let [a, b, c, sequence] = head;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if length > LARGEST {
            return Err(refusal("a packet of nonsense length", &head));
        }
        let mut content = vec![0; length];
        self.stream.read_exact(&mut content)?;
        Ok((sequence, content))
    }

    fn write(&mut self, sequence: u8, content: &[u8]) -> io::Result<()> {
        let [a, b, c, _] = (content.len() as u32).to_le_bytes();
        let mut bytes = vec![a, b, c, sequence];
        bytes.extend_from_slice(content);
        self.stream.write_all(&bytes)
    }
}

/// The handshake response of an account without a password.
fn login() -> Vec<u8> {
    let mut bytes = (CLIENT_MYSQL | PROTOCOL_41 | SECURE_CONNECTION).to_le_bytes().to_vec();
    bytes.extend((LARGEST as u32).to_le_bytes());
    bytes.push(UTF8MB4_GENERAL_CI);
    bytes.extend([0; 23]);
    bytes.extend(ACCOUNT);
    // The end of the name, then a password's proof of length zero.
    bytes.extend([0, 0]);
    bytes
}

/// `Uptime: 1  Threads: 7  Questions: 9 ...`: Threads are client connections (`thread_count`, sql/sql_parse.cc).
fn threads(text: &str) -> Option<u64> {
    text.split_once("Threads: ")?.1.split_whitespace().next()?.parse().ok()
}

fn refusal(what: &str, answer: &[u8]) -> io::Error {
    let words: String = String::from_utf8_lossy(answer).chars().filter(|c| !c.is_control()).take(200).collect();
    io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {words}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn threads_are_read_from_the_servers_line() {
        let line = "Uptime: 1  Threads: 17  Questions: 9  Slow queries: 0  Opens: 17  Open tables: 10";
        assert_eq!(threads(line), Some(17));
        assert_eq!(threads("Uptime: 1"), None);
    }

    /// A server that says `packets`, one after another, and reads between them.
    fn server(packets: &'static [&'static [u8]]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for packet in packets {
                stream.write_all(packet).unwrap();
                let _ = stream.read(&mut [0; 1024]);
            }
        });
        (dir, path)
    }

    #[test]
    fn refusals_and_nonsense_are_errors_with_the_servers_words() {
        let (_dir, full) = server(&[b"\x01\0\0\0\x0a", b"\x17\0\0\x02\xff\x10\x04Too many connections"]);
        let error = Statistics::connect(&full).unwrap_err().to_string();
        assert!(error.contains("Too many connections"), "{error}");
        let (_dir, nonsense) = server(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"]);
        assert!(Statistics::connect(&nonsense).is_err());
    }

    #[test]
    fn the_observer_does_not_count_itself() {
        let (_dir, path) = server(&[
            b"\x01\0\0\0\x0a",
            b"\x01\0\0\x02\xfe",
            b"\x01\0\0\x04\x00",
            b"\x15\0\0\x01Uptime: 1  Threads: 5",
        ]);
        let mut connection = Statistics::connect(&path).unwrap();
        assert_eq!(connection.connections().unwrap(), 4);
    }
}
