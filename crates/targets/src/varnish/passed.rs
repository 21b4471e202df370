//! What a VCL asks its backends for.

use super::lexer::{Token, tokens};
use super::vcl::Vcl;

/// What makes another request of one where it is set: of the client's, and of that to the backend.
const REQUEST: [&str; 6] = ["bereq.http.host", "bereq.method", "bereq.url", "req.http.host", "req.method", "req.url"];

/// Whether backends are asked for what clients ask for, wherever that is: nothing sets it anew.
pub(super) fn as_asked(vcl: &Vcl) -> bool {
    let sets = |two: &[Token]| {
        let is_request = |word: &str| REQUEST.iter().any(|one| word.eq_ignore_ascii_case(one));
        two[0].word().is_some_and(|word| word == "set" || word == "unset") && two[1].word().is_some_and(is_request)
    };
    !vcl.files().any(|(_, file)| tokens(&file.text).windows(2).any(sets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_set_anew_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        let asked = |line: &str| {
            std::fs::write(&main, format!("vcl 4.1;\nbackend default none;\nsub vcl_recv {{ {line} }}\n")).unwrap();
            as_asked(&Vcl::read(&main).unwrap())
        };
        assert!(
            asked("if (req.url == \"/\") { return (pass); }") && asked("set req.http.X = req.url; # set req.url = 1;")
        );
        for line in
            ["set req.url = \"/slow\";", "if (req.http.A) { set req.http.Host = \"a\"; }", "unset bereq.http.host;"]
        {
            assert!(!asked(line), "{line}");
        }
    }
}
