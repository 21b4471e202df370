//! What must be so for any text of HAProxy's, php-fpm's and Redis's configurations: nothing panics, nothing is lost, every word is
//! where its span says, and a setting that is changed leaves everything else.

use genkai_targets::catalog::explain;
use genkai_targets::explain::Requests;
use genkai_targets::files::Configuration;
use genkai_targets::haproxy::config::{Config, FileId, Reading, lexer, quote};
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

/// A number that a file may hold: a usual one, or one that no sum or product with it fits.
fn huge() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "0",
        "7",
        "4294967295",
        "9223372036854775807",
        "9999999999999999999",
        "18446744073709551615",
    ])
}

/// The file of a product, with these numbers where it takes numbers.
fn filled(product: &str, n: &[&str]) -> String {
    let [a, b, c, d] = n else { unreachable!("four numbers") };
    match product {
        "haproxy" => format!(
            "global\n maxconn {a}\n ulimit-n {b}\n nbthread {c}\n stats socket /run/s\n stats maxconn {d}\n tune.bufsize {b}\n\
             frontend f\n bind :80 backlog {c}\n maxconn {d}\n maxconnrate {a}\n timeout client 300000d\n default_backend b\n\
             backend b\n timeout queue {b}d\n timeout server {a}s\n server-template s 1-{c} 127.0.0.1:1 maxconn {d} maxqueue {a}\n\
             server-template t 1-{b} 127.0.0.1:1 maxconn {c} minconn {d}\n"
        ),
        "php-fpm" => format!(
            "[global]\nprocess.max = {a}\n[w]\nlisten = 1\npm = static\npm.max_children = {b}\nlisten.backlog = {c}\n\
             request_terminate_timeout = {d}d\nphp_value[memory_limit] = {a}K\n[v]\nlisten = 2\npm = dynamic\n\
             pm.max_children = {c}\npm.start_servers = {d}\npm.min_spare_servers = {a}\npm.max_spare_servers = {b}\n\
             rlimit_files = {c}\nrequest_slowlog_timeout = {b}\n"
        ),
        _ => format!(
            "maxclients {a}\ntcp-backlog {b}\ntimeout {c}\nmaxmemory {d}kb\nio-threads {a}\n\
             client-output-buffer-limit pubsub {b} {c} {d}\nclient-query-buffer-limit {d}\n"
        ),
    }
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
        let requests = Requests::default();
        let after = config.set("maxconn", &value.to_string(), &requests).unwrap();
        prop_assert_eq!(after.value_of("maxconn", &requests).unwrap().0, value.to_string());
        let differs = after.found().len() - config.found().len();
        prop_assert!(differs <= 2, "a line, and a section where there was none");
        let again = after.set("maxconn", &value.to_string(), &requests).unwrap();
        prop_assert_eq!(again.file(FileId::MAIN), after.file(FileId::MAIN));
    }

    #[test]
    fn php_fpm_and_redis_lose_nothing(text in text()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.conf");
        std::fs::write(&path, &text).unwrap();
        for entries in [phpfpm::config::read(&path), redis::config::read(&path)].into_iter().flatten() {
            let file = &entries.files()[0];
            prop_assert_eq!(&file.text, &text);
            for (entry, span) in entries.all().iter().zip(&file.tree) {
                prop_assert_eq!(&entry.span, span);
                prop_assert!(file.line(span.start) == entry.line && !file.text[span.clone()].contains(&b'\n'));
            }
        }
    }

    #[test]
    fn numbers_of_any_size_are_explained(n in vec(huge(), 4)) {
        let dir = tempfile::tempdir().unwrap();
        let requests = Requests::to("localhost", "/");
        for product in ["haproxy", "php-fpm", "redis"] {
            let path = dir.path().join(product);
            std::fs::write(&path, filled(product, &n)).unwrap();
            let explained = explain(Some(product), &path, &requests);
            prop_assert!(explained.is_ok_and(|e| !e.limits.is_empty()), "{product} {n:?}");
        }
    }
}
