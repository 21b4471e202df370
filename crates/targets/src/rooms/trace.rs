//! Asking a node what became of messages. The form of its answer is that of the embedded server (`origin::rooms`).

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use genkai_model::rooms::{Dropped, Gone, Loss, NodeReport, Traced};

/// Longest wait for bytes of an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer: a trace of a million messages has 40 MB.
const LONGEST: u64 = 512 << 20;

/// Asks for `path`; none when there is no answer, or another than 200.
pub(super) fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then(|| body.to_owned())
}

/// Reads a trace into `report`: who was here, and what happened to the messages of `losses`. Lines that are not understood
/// are left out.
pub(super) fn read(text: &str, losses: &[Loss], report: &mut NodeReport) {
    let wanted: HashSet<(u32, u32)> =
        losses.iter().flat_map(|loss| (loss.first..=loss.last).map(|n| (loss.sender, n))).collect();
    for line in text.lines() {
        let mut words = line.split(' ');
        let kind = words.next();
        let fields: Vec<&str> = words.collect();
        let number = |at: usize| fields.get(at).and_then(|word| word.parse::<u32>().ok());
        let micros = |at: usize| fields.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        match (kind, number(0), number(1), number(2), number(3), number(4)) {
            (Some("m"), Some(sender), Some(sequence), Some(hops), Some(queued), Some(written))
                if wanted.contains(&(sender, sequence)) =>
            {
                report.messages.push(Traced { sender, sequence, hops: hops as u8, queued, written, at_us: micros(5) });
            }
            (Some("d"), Some(member), Some(sender), Some(sequence), ..) if wanted.contains(&(sender, sequence)) => {
                let slow = fields.get(3) == Some(&"slow");
                report.drops.push(Dropped { member, sender, sequence, slow });
            }
            (Some("j"), Some(member), ..) => report.members.push(member),
            (Some("l"), Some(member), ..) => report.gone.push(Gone { member, at_us: micros(1) }),
            // All that there were are in it.
            (Some("end"), Some(all), Some(kept), Some(dropped), Some(named), _) => {
                report.traced = all == kept && dropped == named;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_lost_is_kept() {
        let text = "m 1 0 1 2 2 99\nm 1 1 3 2 1 99\nm x\nm 4294967296 1 1 1 1 1\nd 7 1 1 slow 99\nd - 1 1 gone 99\n\
                    d 8 1 0 gone 99\nj 7\nj 8\nl 7 77\nend 2 2 3 3\n";
        let loss = Loss { receiver: 7, sender: 1, first: 1, last: 2, from_us: 0, to_us: 0 };
        let mut report = NodeReport::default();
        read(text, &[loss], &mut report);
        assert_eq!(report.messages, [Traced { sender: 1, sequence: 1, hops: 3, queued: 2, written: 1, at_us: 99 }]);
        assert_eq!(report.drops, [Dropped { member: 7, sender: 1, sequence: 1, slow: true }]);
        assert_eq!((report.members, report.traced), (vec![7, 8], true));
        assert_eq!(report.gone, [Gone { member: 7, at_us: 77 }]);
        let mut report = NodeReport::default();
        read("end 5 2 0 0\n", &[loss], &mut report);
        assert!(!report.traced, "the oldest were forgotten");
    }
}
