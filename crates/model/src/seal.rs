//! A checksum on every line of a record, over all lines up to it: shows the first line that is not as it was written.
//!
//! It notices what happens by accident or by hand: a figure edited, a line left out, put in or moved. It proves nothing against somebody
//! who computes the checksums anew.

use crc32fast::Hasher;

/// What stands before the checksum at the end of a line, and after it.
const BEFORE: &str = ",\"sum\":\"";
const AFTER: &str = "\"}";
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 8;

/// The checksum of the lines so far (CRC-32, ISO 3309).
#[derive(Clone, Debug, Default)]
pub struct Seal {
    hasher: Hasher,
    /// Whether the lines have checksums, as the first says.
    sealed: Option<bool>,
}

/// Whether a line is as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Its checksum is that of the lines up to it.
    Fits,
    /// Its checksum is another, or is missing.
    Differs,
    /// Its record has no checksums: an earlier version wrote it.
    Unsealed,
}

impl Seal {
    /// The next line of a record as it is written: the object `json` with the checksum as its last field.
    pub fn write(&mut self, json: &str) -> String {
        let open = json.strip_suffix('}').unwrap_or(json);
        self.hasher.update(open.as_bytes());
        format!("{open}{BEFORE}{:08x}{AFTER}", self.hasher.clone().finalize())
    }

    /// Takes the next line of a record as it was read.
    pub fn read(&mut self, line: &str) -> Fit {
        let parts = parts(line.trim_end());
        let sealed = *self.sealed.get_or_insert(parts.is_some());
        match parts {
            _ if !sealed => Fit::Unsealed,
            None => Fit::Differs,
            Some((open, sum)) => {
                self.hasher.update(open.as_bytes());
                if format!("{:08x}", self.hasher.clone().finalize()) == sum { Fit::Fits } else { Fit::Differs }
            }
        }
    }
}

/// The checksum of a file beside a record: the same CRC-32, in hexadecimal digits.
pub fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

/// A line without its checksum and its end, and the checksum.
fn parts(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_suffix(AFTER)?;
    let (open, sum) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((open.strip_suffix(BEFORE)?, sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sealed(lines: &[String]) -> Vec<String> {
        let mut seal = Seal::default();
        lines.iter().map(|line| seal.write(line)).collect()
    }

    fn first_that_differs(lines: &[String]) -> Option<usize> {
        let mut seal = Seal::default();
        lines.iter().position(|line| seal.read(line) == Fit::Differs)
    }

    fn record(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("{{\"at_us\":{i},\"ok\":{}}}", i * 7)).collect()
    }

    #[test]
    fn a_line_stays_json_with_one_more_field() {
        let line = &sealed(&record(2))[1];
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((value["ok"].as_u64(), value["sum"].as_str().map(str::len)), (Some(7), Some(DIGITS)));
    }

    #[test]
    fn a_record_of_an_earlier_version_has_no_checksums_and_nothing_is_said_of_it() {
        let mut seal = Seal::default();
        assert!(record(3).iter().all(|line| seal.read(line) == Fit::Unsealed));
    }

    #[test]
    fn a_file_has_the_checksum_of_the_standard() {
        // The check value of CRC-32 (ISO 3309), as in the catalogue of parametrised CRC algorithms.
        assert_eq!(checksum(b"123456789"), "cbf43926");
    }

    proptest! {
        #[test]
        fn the_first_line_that_was_touched_is_named(n in 2usize..20, at in 0usize..20, how in 0u8..4) {
            let at = at % n;
            let mut lines = sealed(&record(n));
            prop_assert_eq!(first_that_differs(&lines), None);
            match how {
                0 => lines[at] = lines[at].replacen("ok", "okk", 1),
                1 if at > 0 => drop(lines.remove(at)),
                2 if at > 0 => lines.insert(at, lines[at - 1].clone()),
                3 if at > 0 && at + 1 < n => lines.swap(at, at + 1),
                _ => lines[at] = lines[at].replacen("at_us\":", "at_us\":9", 1),
            }
            // A line left out at the end leaves a record that is cut off: that is told by its missing end.
            let wanted = (at < lines.len()).then_some(at);
            prop_assert_eq!(first_that_differs(&lines), wanted);
        }
    }
}
