//! What Varnish decides by its own port or address.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::vcl::Vcl;
use crate::product::ByPort;

/// A condition with one of the variables that tell of the listener (vcl-var(7)), or a comment, which is none.
static OWN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?s)#[^\n]*|//[^\n]*|/\*.*?\*/|\b(?P<found>(?:if|elsif|elseif|elif)\s*\([^{;]*\b(?:server\.(?:ip|port)|local\.(?:ip|endpoint|socket))\b[^{;]*)";
    Regex::new(pattern).expect("pattern is a constant")
});

/// The first condition that is made of it.
pub(super) fn by_port(vcl: &Vcl) -> Option<ByPort> {
    vcl.files().find_map(|(_, file)| {
        let found = OWN.captures_iter(&file.text).find_map(|found| found.name("found"))?;
        let line = file.text[..found.start()].iter().filter(|byte| **byte == b'\n').count() + 1;
        let written = String::from_utf8_lossy(found.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ");
        Some(ByPort { place: format!("{}:{line}", file.path.display()), written, ports: None, unsure: None })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_of_the_listener_is_found_and_no_comment() {
        let dir = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            let path = dir.path().join("x.vcl");
            std::fs::write(
                &path,
                format!("vcl 4.1;\nimport std;\nbackend b {{ .host = \"127.0.0.1\"; }}\nsub vcl_recv {{\n{text}\n}}\n"),
            )
            .unwrap();
            by_port(&Vcl::read(&path).unwrap()).map(|by| (by.place.rsplit(':').next().unwrap().to_owned(), by.written))
        };
        assert_eq!(
            told("if (req.url ~ \"x\" &&\n std.port(server.ip) == 80) { return (pass); }"),
            Some(("5".to_owned(), "if (req.url ~ \"x\" && std.port(server.ip) == 80)".to_owned()))
        );
        assert_eq!(told("# if (std.port(server.ip) == 80) {\nset req.http.X-Port = std.port(server.ip);"), None);
    }
}
