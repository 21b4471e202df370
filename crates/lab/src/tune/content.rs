//! Whether an answer is the same page: of one that is another each time (a clock, a token in a form), by what of it stays.

use std::collections::BTreeMap;

use genkai_model::event::Page;

/// So much of a content that varies must stay for it to be compared: bytes in words, and a part of all of these.
const LEAST: (usize, f64) = (32, 0.5);
/// How much more a page may have beside what stays: so many times as much as was seen, and so many bytes.
const MORE: (usize, usize) = (2, 64);

/// Words of a content, runs of letters and digits, by their digests: how often each, and how long it is. Their order is not kept.
type Words = BTreeMap<u64, (u32, usize)>;

/// The contents that one request is answered with where all is as it should be.
#[derive(Clone, Debug, Default)]
pub(super) struct Normal {
    known: Vec<Known>,
    /// Whether the last of them was asked for here, and not of what stands behind.
    own: bool,
    /// Whether one of them was never the same, so that nothing is compared.
    varies: bool,
}

/// One of them.
#[derive(Clone, Debug)]
struct Known {
    /// That of the first that was seen: what stands for all that are the same page.
    digest: String,
    /// Whether it was the same whenever it was asked for.
    exact: bool,
    /// What stays.
    words: Words,
    /// Bytes in words of the one with most.
    most: usize,
}

impl Normal {
    /// Takes in a content that was asked for twice (none: it did not come whole). Gives what stands for it; none where it cannot be compared.
    pub(super) fn learn(&mut self, first: Option<&[u8]>, second: Option<&[u8]>) -> Option<String> {
        let found = first.zip(second).and_then(|(first, second)| Known::of(first).with(second));
        self.varies = found.is_none();
        let digest = found.as_ref().map(|known| known.digest.clone());
        self.own = found.is_some();
        self.known.extend(found);
        digest
    }

    /// Takes in what another one knows, too.
    pub(super) fn join(&mut self, other: &Normal) {
        self.known.splice(0..0, other.known.iter().cloned());
    }

    /// What stands for a content: that of a normal one, where it is the same page. None where nothing is compared.
    pub(super) fn stands_for(&self, content: Option<&[u8]>) -> Option<String> {
        let content = content.filter(|_| !self.varies)?;
        let same = self.known.iter().rev().find(|known| known.is(content));
        Some(same.map_or_else(|| digest(content), |known| known.digest.clone()))
    }

    /// The same of a content that is a normal one, as nothing was changed: where it is another than those before, it varies.
    pub(super) fn stands_for_normal(&mut self, content: Option<&[u8]>) -> Option<String> {
        let whole = content.filter(|_| !self.varies)?;
        if self.own
            && !self.known.iter().any(|known| known.is(whole))
            && let Some(last) = self.known.pop()
        {
            let found = last.with(whole);
            self.varies = found.is_none();
            self.known.extend(found);
        }
        self.stands_for(content)
    }
}

impl Known {
    fn of(content: &[u8]) -> Known {
        let words = words(content);
        Known { digest: digest(content), exact: true, most: bytes(&words), words }
    }

    /// What of it stays, seen that it is this as well; none where that is too little.
    fn with(mut self, content: &[u8]) -> Option<Known> {
        if self.exact && digest(content) == self.digest {
            return Some(self);
        }
        let other = words(content);
        self.exact = false;
        self.most = self.most.max(bytes(&other));
        self.words =
            self.words.iter().filter_map(|(word, one)| Some((*word, fewer(*one, *other.get(word)?)))).collect();
        let stays = bytes(&self.words);
        (stays >= LEAST.0 && stays as f64 >= self.most as f64 * LEAST.1).then_some(self)
    }

    fn is(&self, content: &[u8]) -> bool {
        if self.exact {
            return digest(content) == self.digest;
        }
        let other = words(content);
        let stays = bytes(&self.words);
        let has = |(word, (often, _)): (&u64, &(u32, usize))| other.get(word).is_some_and(|found| found.0 >= *often);
        self.words.iter().all(has) && bytes(&other) - stays <= MORE.0 * (self.most - stays) + MORE.1
    }
}

fn fewer(one: (u32, usize), other: (u32, usize)) -> (u32, usize) {
    (one.0.min(other.0), one.1)
}

fn words(content: &[u8]) -> Words {
    let mut all = Words::new();
    for word in content.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        all.entry(hash(word)).or_insert((0, word.len())).0 += 1;
    }
    all
}

fn bytes(words: &Words) -> usize {
    words.values().map(|(often, length)| *often as usize * length).sum()
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn digest(content: &[u8]) -> String {
    format!("{:016x}", hash(content))
}

/// The normal answers that others are held against: of what stands behind, one that cannot be compared is none where the product's can.
pub(super) fn comparable(behind: Option<Page>, through: Option<Page>) -> Vec<Page> {
    let compared = through.as_ref().is_some_and(|page| page.digest.is_some());
    behind.into_iter().filter(|page| page.digest.is_some() || !compared).chain(through).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(token: &str, clock: &str) -> Vec<u8> {
        let text = "<html><body>A form of the shop in which a customer tells his name";
        format!("{text}<input value='{token}'><p>It is {clock}</p></body></html>").into_bytes()
    }

    fn learned(first: &[u8], second: &[u8]) -> (Normal, Option<String>) {
        let mut normal = Normal::default();
        let stands = normal.learn(Some(first), Some(second));
        (normal, stands)
    }

    #[test]
    fn a_page_with_a_token_is_known_by_what_stays() {
        let (normal, stands) = learned(&form("a81", "12:01"), &form("9cc", "12:01"));
        assert!(stands.is_some());
        assert_eq!(normal.stands_for(Some(&form("77e", "12:01"))), stands);
        for other in [&b"<html><body>maintenance</body></html>"[..], b"", b"fast"] {
            assert_ne!(normal.stands_for(Some(other)), stands);
        }
        let longer = [form("77e", "12:01"), b" and ever so much more of it".repeat(9)].concat();
        assert_ne!(normal.stands_for(Some(&longer)), stands, "it has all of it, and is another");
    }

    #[test]
    fn what_turns_out_to_vary_with_nothing_changed_is_no_other_page() {
        let (mut normal, stands) = learned(&form("a", "12:01"), &form("a", "12:01"));
        assert_ne!(normal.stands_for(Some(&form("a", "12:02"))), stands);
        assert_eq!(normal.stands_for_normal(Some(&form("a", "12:02"))), stands);
        assert_eq!(normal.stands_for(Some(&form("a", "12:03"))), stands);
        assert_eq!(normal.stands_for_normal(Some(b"another, at random")), None, "nothing of it stays");
        assert_eq!(normal.stands_for(Some(&form("a", "12:03"))), None);
    }

    #[test]
    fn a_page_that_is_always_the_same_is_held_against_all_of_it() {
        let (normal, stands) = learned(&form("a", "12:01"), &form("a", "12:01"));
        assert_eq!(normal.stands_for(Some(&form("a", "12:01"))), stands);
        assert_ne!(normal.stands_for(Some(&form("b", "12:01"))), stands);
    }

    #[test]
    fn what_has_next_to_nothing_in_common_is_not_compared() {
        let (normal, stands) = learned(br#"{"id":"8a61","at":1790000001}"#, br#"{"id":"01ff","at":1790000002}"#);
        assert!(stands.is_none() && normal.stands_for(Some(b"x")).is_none());
        let mut normal = Normal::default();
        assert!(normal.learn(None, None).is_none(), "it did not come whole");
    }

    #[test]
    fn what_stands_behind_is_a_page_too() {
        let (behind, its) = learned(b"as it is", b"as it is");
        let (mut through, own) = learned(b"as filtered", b"as filtered");
        through.join(&behind);
        assert_eq!(through.stands_for(Some(b"as it is")), its);
        assert_eq!(through.stands_for_normal(Some(b"as filtered")), own);
        let page = |digest: Option<String>| Page { status: Some(200), digest, statuses: Vec::new() };
        assert_eq!(comparable(Some(page(None)), Some(page(own.clone()))), [page(own.clone())]);
        assert_eq!(comparable(Some(page(its.clone())), Some(page(None))), [page(its), page(None)]);
        assert_eq!(comparable(None, None), []);
    }
}
