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
const EOF: u8 = 0xfe;
const COM_QUERY: u8 = 0x03;
/// A column's value that is no string of at most 250 bytes.
const LONG: u8 = 0xfb;

/// Most rows that are read of an answer.
const ROWS: usize = 64;

/// Needs no rights. Connections now (not the threads of the statistics packet, which counts cached ones), and those
/// refused because there were too many.
const QUESTION: &[u8] =
    b"SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected','Connection_errors_max_connections')";

/// What the server says of its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    /// Open now, without the one that asks.
    pub(crate) open: u64,
    /// Refused since the start, because `max_connections` were open.
    pub(crate) refused: u64,
}

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

    /// Asks.
    ///
    /// # Errors
    /// When the server is gone or does not answer within a second.
    pub(crate) fn look(&mut self) -> io::Result<Connections> {
        self.write(0, &[&[COM_QUERY], QUESTION].concat())?;
        let rows = self.rows()?;
        let number = |name: &str| rows.iter().find(|(n, _)| n == name).and_then(|(_, value)| value.parse::<u64>().ok());
        match (number("Threads_connected"), number("Connection_errors_max_connections")) {
            (Some(open), Some(refused)) => Ok(Connections { open: open.saturating_sub(1), refused }),
            _ => Err(refusal("the database did not tell its connections", &[])),
        }
    }

    /// Reads a result set of two columns of text (mariadb.com/kb/en/result-set-packets): how many columns, their
    /// definitions, an end, the rows, an end.
    fn rows(&mut self) -> io::Result<Vec<(String, String)>> {
        let (_, head) = self.read()?;
        if head != [2] {
            return Err(refusal("the database refuses", &head));
        }
        let mut rows = Vec::new();
        let mut ends = 0;
        for _ in 0..ROWS {
            let (_, packet) = self.read()?;
            match (packet.first(), ends) {
                (Some(&EOF), 0) if packet.len() < 9 => ends = 1,
                (Some(&EOF), _) if packet.len() < 9 => return Ok(rows),
                (_, 0) => {}
                _ => rows.push(row(&packet).ok_or_else(|| refusal("not a row", &packet))?),
            }
        }
        Err(refusal("an answer that does not end", &[]))
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

/// Two strings, each led by its length in one byte.
fn row(packet: &[u8]) -> Option<(String, String)> {
    let (first, rest) = string(packet)?;
    let (second, _) = string(rest)?;
    Some((first, second))
}

fn string(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(length))?;
    (length < LONG).then(|| (String::from_utf8_lossy(text).into_owned(), rest))
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
    fn rows_are_two_short_strings() {
        assert_eq!(row(b"\x01a\x0212"), Some(("a".to_owned(), "12".to_owned())));
        for broken in [&b""[..], b"\x01", b"\x05ab", b"\x01a\xfb", b"\x01a"] {
            assert_eq!(row(broken), None, "{broken:?}");
        }
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

    /// A whole answer: columns that are skipped, rows in any order.
    const ANSWER: &[u8] = b"\x01\0\0\x01\x02\x03\0\0\x02def\x03\0\0\x03def\x05\0\0\x04\xfe\0\0\x02\0\
        \x24\0\0\x05\x21Connection_errors_max_connections\x017\
        \x14\0\0\x06\x11Threads_connected\x015\x05\0\0\x07\xfe\0\0\x02\0";

    #[test]
    fn the_observer_does_not_count_itself() {
        let (_dir, path) = server(&[b"\x01\0\0\0\x0a", b"\x01\0\0\x02\xfe", b"\x01\0\0\x04\x00", ANSWER]);
        let mut connection = Statistics::connect(&path).unwrap();
        assert_eq!(connection.look().unwrap(), Connections { open: 4, refused: 7 });
    }

    #[test]
    fn an_error_instead_of_rows_is_an_error() {
        let (_dir, path) = server(&[b"\x01\0\0\0\x0a", b"\x01\0\0\x02\x00", b"\x09\0\0\x01\xff\x10\x04broken"]);
        let error = Statistics::connect(&path).unwrap().look().unwrap_err().to_string();
        assert!(error.contains("broken"), "{error}");
    }
}
