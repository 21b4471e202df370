//! What the headers of requests say, where all of them are known: the values of `$http_NAME` and `$cookie_NAME`.

/// The headers of requests, but for Host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Headers(Vec<(String, String)>);

/// Headers that whoever sends a body or the connection adds: of these nothing is known.
const ADDED: [&str; 4] = ["host", "content_length", "transfer_encoding", "connection"];

impl Headers {
    pub(super) fn of(all: &[(String, String)]) -> Headers {
        Headers(all.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect())
    }

    /// The value of `$http_NAME`, whose name has `_` for `-`; "" where there is none. None where several have the name, or one that nginx
    /// may leave out (`underscores_in_headers`, `ignore_invalid_headers`), and of what is added to every request.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter().filter(|(one, _)| one.replace('-', "_") == name);
        match (all.next(), all.next()) {
            _ if ADDED.contains(&name) => None,
            (None, _) => Some(""),
            (Some((one, value)), None) => is_plain(one).then_some(value.as_str()),
            _ => None,
        }
    }

    /// The value of `$cookie_NAME`; "" where there is none (ngx_http_parse.c: ngx_http_parse_multi_header_lines: names have no case). None of
    /// headers that can be read in more than one way.
    pub(super) fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.field("cookie")?;
        if cookies.contains([',', '"']) {
            return None;
        }
        let mut all = cookies.split(';').filter_map(|one| one.split_once('='));
        Some(all.find(|(one, _)| one.trim().eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim()))
    }
}

/// Whether nginx takes a header of this name whatever it is told of odd ones.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&str, &str)]) -> Headers {
        let owned: Vec<_> = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Headers::of(&owned)
    }

    #[test]
    fn what_is_not_sent_is_empty() {
        let all =
            headers(&[("X-Api-Key", "k"), ("Cookie", "a=1; SID=x"), ("x_odd", "y"), ("Twice", "1"), ("twice", "2")]);
        assert_eq!((all.field("x_api_key"), all.field("x_other")), (Some("k"), Some("")));
        assert_eq!((all.cookie("sid"), all.cookie("a"), all.cookie("none")), (Some("x"), Some("1"), Some("")));
        assert_eq!((all.field("x_odd"), all.field("twice"), all.field("content_length")), (None, None, None));
        assert_eq!(headers(&[("Cookie", "a=\"1;2\"")]).cookie("a"), None);
        assert_eq!(headers(&[]).cookie("sid"), Some(""));
    }
}
