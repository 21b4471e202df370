//! Regular expressions of sections and of passes.

use crate::apache::config::Section;
use crate::files::pattern::Reads;

/// The regular expression of a section that has one: `<LocationMatch RE>`, `<Location ~ RE>`.
pub(in crate::apache) fn expression(section: &Section) -> Option<&str> {
    match section.args.first().map(String::as_str) {
        Some("~") => section.args.get(1).map(String::as_str),
        first => first.filter(|_| section.name.ends_with("match")),
    }
}

/// Whether a regular expression of httpd's is in a text (server/util_pcre.c: AP_REG_DEFAULT); none: that cannot be told.
pub(in crate::apache) fn is_in(pattern: &str, text: &str) -> Option<bool> {
    Reads { blind: false, whole: true }.matches(pattern, text)
}

/// What a URL with `$0` to `$9` becomes for a text that a pattern is in (`ap_pregsub`); none: it is not, or that cannot be told.
pub(super) fn replaced(pattern: &str, text: &str, url: &str) -> Option<String> {
    Some(with_groups(url, &groups(pattern, text, false)?))
}

/// What a pattern finds in a text: the whole, and its groups. None: nothing, or that cannot be told.
pub(super) fn groups(pattern: &str, text: &str, blind: bool) -> Option<Vec<String>> {
    Reads { blind, whole: true }.captures(pattern, text)?
}

/// A text in which `$0` to `$9` stand for what was matched, whatever follows them (`ap_pregsub`).
pub(super) fn with_groups(text: &str, groups: &[String]) -> String {
    let mut parts = text.split('$');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.chars().next().and_then(|first| first.to_digit(10)) {
            Some(group) => {
                whole += groups.get(group as usize).map_or("", String::as_str);
                whole += &part[1..];
            }
            None => {
                whole.push('$');
                whole += part;
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::apache::config::{Config, Reading};
    use crate::apache::route::Route;
    use crate::files::Requests;

    #[test]
    fn a_pattern_with_a_look_around_holds_where_it_does_for_httpd() {
        let passed = |lines: &str, path: &str| {
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let text = format!("Listen 80\n{lines}\nProxyPass / http://127.0.0.1:9/\n");
            let config = Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap();
            let route = Route::find(&config, &Requests::to("x", path)).unwrap();
            let timeout = route.of_path(&config, &["timeout"], path).map(|found| found.args[0].clone());
            (route.pass(&config, path).map(|pass| pass.url), timeout)
        };
        let root = Some("http://127.0.0.1:9/".to_owned());
        let matched = Some("http://127.0.0.1:8/".to_owned());
        let pass = "ProxyPassMatch ^/(?!static) http://127.0.0.1:8/";
        assert_eq!([passed(pass, "/a").0, passed(pass, "/static/a").0], [matched.clone(), root.clone()]);
        for section in ["<Location ~ \"^/(?!static)\">", "<LocationMatch ^/(?!static)>"] {
            let close = if section.contains("Match") { "</LocationMatch>" } else { "</Location>" };
            let lines = format!("{section}\nTimeout 7\nProxyPass http://127.0.0.1:8/\n{close}");
            assert_eq!(passed(&lines, "/a"), (matched.clone(), Some("7".to_owned())), "{section}");
            assert_eq!(passed(&lines, "/static/a"), (root.clone(), None), "{section}");
        }
    }
}
