//! What a server answers from files that it writes among the user's own: its private copy writes nothing there, and asks what stands behind it each time.

use genkai_model::event::Rewrite;
use genkai_targets::files::masked;

/// What is to be said of a copy that differs so; none where the server stores nothing.
pub(crate) fn told(rewrites: &[Rewrite]) -> Option<String> {
    let is_store = |one: &&Rewrite| {
        let words = |text: &str| text.trim_end_matches(';').split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        matches!(&words(&one.to)[..], [name, off] if name.ends_with("_store") && off == "off")
    };
    let all: Vec<String> = rewrites
        .iter()
        .filter(is_store)
        .map(|one| format!("`{}` ({})", masked(&one.from).trim_end_matches(';'), one.place))
        .collect();
    (!all.is_empty()).then(|| {
        format!(
            "the private copy that was loaded stores nothing among your files, as {} has the server do: what the server answers from these, the copy asks for \
             each time, so that what is told of it may not be so of the server.",
            all.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_copy_does_not_store_is_told() {
        let one = |from: &str, to: &str| Rewrite { place: "nginx.conf:7".into(), from: from.into(), to: to.into() };
        let text = told(&[one("proxy_store on;", "proxy_store off;"), one("pid /a;", "pid /b;")]).unwrap();
        assert!(text.contains("as `proxy_store on` (nginx.conf:7) has the server do"), "{text}");
        assert_eq!(told(&[one("listen 80;", "listen 127.0.0.1:4;"), one("proxy_store on;", "")]), None);
    }
}
