//! The log of what members of balancers answered with an error, as a private copy writes it.

use std::collections::BTreeMap;

use genkai_place::tail::Tail;

/// Counts them, member by member.
#[derive(Debug)]
pub(in crate::apache) struct Answers {
    log: Tail,
    failed: BTreeMap<String, u64>,
}

impl Answers {
    /// Of these members, by the metrics of their answers.
    pub(in crate::apache) fn of(log: Tail, members: impl IntoIterator<Item = String>) -> Answers {
        Answers { log, failed: members.into_iter().map(|member| (of_member(&member), 0)).collect() }
    }

    /// Adds how many there were until now.
    pub(super) fn count(&mut self, metrics: &mut BTreeMap<String, f64>) {
        for line in self.log.lines() {
            if let Some(member) = member(&line) {
                *self.failed.entry(of_member(member)).or_default() += 1;
            }
        }
        metrics.extend(self.failed.iter().map(|(metric, failed)| (metric.clone(), *failed as f64)));
        metrics.insert(super::metrics::FAILED_ANSWERS.to_owned(), self.failed.values().sum::<u64>() as f64);
    }
}

/// What the failed answers of a member are called, by its URL as it is written or as httpd gives it.
pub(in crate::apache) fn of_member(url: &str) -> String {
    format!("apache.server.{}.failed_answers_total", told(url))
}

/// The name that httpd gives a member in its log, as far as that tells it from others: hosts have no case, a scheme's usual port and the path of a
/// Unix socket are left out (server/util_uri: apr_uri_unparse; modules/proxy/proxy_util.c: ap_proxy_define_worker); and, for nobody's eyes, user
/// and password.
pub(in crate::apache) fn told(url: &str) -> String {
    const USUAL: [(&str, &str); 7] = [
        ("http", ":80"),
        ("https", ":443"),
        ("ws", ":80"),
        ("wss", ":443"),
        ("ajp", ":8009"),
        ("fcgi", ":8000"),
        ("scgi", ":4000"),
    ];
    let url = url.rsplit('|').next().unwrap_or(url).trim_end_matches('/').to_ascii_lowercase();
    let Some((scheme, rest)) = url.split_once("://") else { return url };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let usual = USUAL.iter().find(|(of, _)| *of == scheme).and_then(|(_, port)| host.strip_suffix(port));
    format!("{scheme}://{}{path}", usual.unwrap_or(host))
}

/// The member whose answer the client got (`STATUS|MEMBER|ID`). None where no member was asked, and where httpd's error log has anything of
/// the request (an id): then httpd may have answered itself, of which it tells each time.
fn member(line: &str) -> Option<&str> {
    let mut fields = line.split('|');
    let (status, rest) = (fields.next()?, fields.collect::<Vec<_>>());
    // A URL of a Unix socket has a `|` in it.
    let (id, member) = rest.split_last()?;
    let at = line.len() - id.len() - 1;
    let own = *id != "-" || matches!(member, [] | ["-"] | [""]);
    (status.starts_with(['4', '5']) && !own).then(|| &line[status.len() + 1..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_apaches_own_is_nobodys() {
        assert_eq!(member("500|http://127.0.0.1:9/|-"), Some("http://127.0.0.1:9/"));
        assert_eq!(member("503|unix:/a.sock|http://localhost|-"), Some("unix:/a.sock|http://localhost"));
        assert_eq!(member("503|http://127.0.0.1:9|Zm9v"), None, "the error log has something of it");
        assert_eq!(member("403|-|-"), None, "no member was asked");
        assert_eq!(member("200|http://127.0.0.1:9|-"), None);
        assert_eq!(member("garbage"), None);
        assert_eq!(of_member("http://Host:9/"), of_member("http://host:9"));
        assert_eq!(told("http://me:hunter2@Host:80/a/"), "http://host/a");
        assert_eq!(told("https://host:80"), "https://host:80", "not the usual port of that");
        assert_eq!(told("unix:/a.sock|http://localhost"), told("http://localhost/"), "httpd tells no socket");
    }
}
