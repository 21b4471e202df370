//! What must be so for any text of HAProxy's, php-fpm's and Redis's configurations: nothing panics, nothing is lost, every word is
//! where its span says, and a setting that is changed leaves everything else.

use std::path::Path;

use genkai_targets::files::Configuration;
use genkai_targets::haproxy::config::{Config, FileId, Reading, lexer, quote};
use genkai_targets::haproxy::route::Scope;
use genkai_targets::haproxy::settings::effective;
use genkai_targets::{phpfpm, redis};
use proptest::collection::vec;
use proptest::prelude::*;

/// Text that has much of what these syntaxes give a meaning to.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z.=]{1,8}".prop_map(String::into_bytes),
        3 => "[ \t\n]{1,3}".prop_map(String::into_bytes),
        2 => "[\"'\\\\#;$\\{\\}\\[\\]x0-9-]{1,4}".prop_map(String::into_bytes),
        2 => prop_oneof![
            Just("\nglobal\n"), Just("\nfrontend f\n bind :80\n default_backend b\n"), Just("\nbackend b\n server s 127.0.0.1:1\n"),
            Just("\n.if defined(A)\n"), Just("\n.endif\n"), Just("\n[www]\n"), Just("\nmaxconn 5\n"), Just("\nsetenv A b\n"),
        ].prop_map(|s| s.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn haproxy(text: &[u8]) -> Option<Config> {
    Config::of_texts(vec![("/x/haproxy.cfg".into(), text.to_vec())], Reading::default()).ok()
}

proptest! {
    #[test]
    fn haproxy_loses_nothing(text in text()) {
        let Some(config) = haproxy(&text) else { return Ok(()) };
        let file = config.file(FileId::MAIN);
        prop_assert_eq!(&file.text, &text);
        prop_assert_eq!(&config.apply(&[]).unwrap(), &config);
        for found in config.found() {
            for word in found.prefix.iter().chain(&found.words) {
                prop_assert!(found.span.start <= word.span.start && word.span.end <= found.span.end);
                prop_assert_eq!(file.line(word.span.start), found.line);
            }
        }
    }

    #[test]
    fn a_word_reads_back_as_it_was_quoted(word in "[^\0\n\r]{0,12}") {
        let written = quote(&word).into_owned();
        let read = lexer::words(written.as_bytes(), 0, &|_| None).unwrap();
        prop_assert_eq!(read.iter().map(|w| w.value.as_str()).collect::<Vec<_>>(), [word.as_str()]);
    }

    #[test]
    fn a_setting_of_haproxy_changes_one_thing(text in text(), value in 1..1000_u32) {
        let Some(config) = haproxy(&text) else { return Ok(()) };
        let scope = Scope::default();
        let after = config.set("maxconn", &value.to_string(), &scope).unwrap();
        prop_assert_eq!(effective(&after, "maxconn", &scope).unwrap().written, value.to_string());
        let differs = after.found().len() - config.found().len();
        prop_assert!(differs <= 2, "a line, and a section where there was none");
        let again = after.set("maxconn", &value.to_string(), &scope).unwrap();
        prop_assert_eq!(again.file(FileId::MAIN), after.file(FileId::MAIN));
    }

    #[test]
    fn php_fpm_and_redis_lose_nothing(text in text()) {
        let path = Path::new("/nonexistent/x.conf");
        let fpm = phpfpm::config::Config::of_text(path, text.clone()).map(|c| c.entries);
        let redis = redis::config::Config::of_text(path, text.clone()).map(|c| c.entries);
        for entries in [fpm, redis].into_iter().flatten() {
            let file = &entries.files()[0];
            prop_assert_eq!(&file.text, &text);
            for (entry, span) in entries.all().iter().zip(&file.tree) {
                prop_assert_eq!(&entry.span, span);
                prop_assert!(file.line(span.start) == entry.line && !file.text[span.clone()].contains(&b'\n'));
            }
        }
    }
}
