//! Reading and editing of nginx configurations: nothing is lost, and an edit changes what it says and no more.

use genkai_targets::files::{Configuration, Requests};
use genkai_targets::nginx::config::{Config, Found, lexer, parse};

use crate::nginx_configs::{CASES, lay_out, text};

fn printed(config: &Config) -> String {
    let (_, main) = config.files().next().unwrap();
    String::from_utf8(main.text.clone()).unwrap()
}

fn only<'a>(config: &'a Config, path: &[&str], name: &str) -> Found<'a> {
    let mut found = config.find(path, name);
    assert_eq!(found.len(), 1, "{name} in {path:?}");
    found.remove(0)
}

#[test]
fn tokens_tile_every_file_and_printing_gives_it_back() {
    for case in &CASES {
        let dir = tempfile::tempdir().unwrap();
        let config = Config::read(&lay_out(case.name, dir.path()), dir.path()).unwrap();
        for (_, file) in config.files() {
            assert_eq!(std::fs::read(&file.path).unwrap(), file.text, "{}", file.path.display());
            let mut at = 0;
            for token in lexer::tokens(&file.text).unwrap() {
                assert_eq!(token.span.start, at, "{}", file.path.display());
                at = token.span.end;
            }
            assert_eq!(at, file.text.len());
            assert_eq!(parse(&file.text).unwrap(), file.tree);
        }
        assert_eq!(config.apply(&[]).unwrap(), config);
    }
}

#[test]
fn changing_worker_connections_changes_one_line() {
    for case in &CASES {
        let dir = tempfile::tempdir().unwrap();
        let config = Config::read(&lay_out(case.name, dir.path()), dir.path()).unwrap();
        let edited = config.set("worker_connections", "4321", &Requests::default()).unwrap();
        assert_eq!(only(&edited, &["events"], "worker_connections").args(), ["4321"], "{}", case.name);
        let mut changed = Vec::new();
        for ((_, before), (_, after)) in config.files().zip(edited.files()) {
            let lines = |text: &[u8]| text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
            let (before, after) = (lines(&before.text), lines(&after.text));
            assert_eq!(before.len(), after.len(), "{}", case.name);
            changed.extend(before.into_iter().zip(after).filter(|(b, a)| b != a));
        }
        let [(before, after)] = &changed[..] else { panic!("{}: {} lines changed", case.name, changed.len()) };
        // What is not the value is the same, to the last byte of the line.
        let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
        let old = config.find(&["events"], "worker_connections").first().and_then(|f| f.arg(0));
        match old {
            Some(old) => assert_eq!(
                after.replace("\"4321\"", "4321").replacen("4321", &old, 1),
                before.replace(&format!("\"{old}\""), &old)
            ),
            None => assert_eq!(after, before.replace("events{}", "events{ worker_connections 4321; }")),
        }
    }
}

#[test]
fn an_argument_keeps_its_surroundings() {
    let config = text("events {\r\n\tworker_connections\t 512 ;\t# old\r\n}\r\n");
    let edit = only(&config, &["events"], "worker_connections").set_arg(0, b"1024").unwrap();
    assert_eq!(edit.file, genkai_targets::nginx::config::FileId::MAIN);
    let edited = config.apply(&[edit]).unwrap();
    assert_eq!(printed(&edited), "events {\r\n\tworker_connections\t 1024 ;\t# old\r\n}\r\n");
    assert!(only(&config, &["events"], "worker_connections").set_arg(1, b"x").is_err());
}

#[test]
fn arguments_of_another_number_are_replaced_together() {
    let config = text("access_log  'a b' main  buffer=1k;");
    let set = |values: &[&str]| {
        let values: Vec<_> = values.iter().map(|v| v.as_bytes()).collect();
        printed(&config.apply(&only(&config, &[], "access_log").set_args(&values)).unwrap())
    };
    assert_eq!(set(&["off"]), "access_log off;");
    assert_eq!(set(&["a b", "other", "buffer=1k"]), "access_log  'a b' other  buffer=1k;");
    assert_eq!(set(&["c;d", "main", "buffer=1k"]), "access_log  \"c;d\" main  buffer=1k;");
}

#[test]
fn a_new_directive_looks_like_its_neighbours() {
    let cases = [
        ("events {\n    use epoll;\n}\n", "events {\n    use epoll;\n    multi_accept on;\n}\n"),
        ("events {\r\n\tuse epoll; # fast\r\n}\r\n", "events {\r\n\tuse epoll; # fast\r\n\tmulti_accept on;\r\n}\r\n"),
        ("events { use epoll; }", "events { use epoll; multi_accept on; }"),
        ("events {}", "events { multi_accept on; }"),
        ("events {\n}\n", "events {\n    multi_accept on;\n}\n"),
        ("events { # nothing yet\n}\n", "events { # nothing yet\n    multi_accept on;\n}\n"),
        (
            "events {\n  # nothing yet\n}\nhttp {\n  server {}\n}",
            "events {\n  multi_accept on;\n  # nothing yet\n}\nhttp {\n  server {}\n}",
        ),
        ("  events {\n  }\n", "  events {\n      multi_accept on;\n  }\n"),
        ("events { use epoll;\n}\n", "events { use epoll; multi_accept on;\n}\n"),
    ];
    for (before, after) in cases {
        let config = text(before);
        let edit = config.insert(&only(&config, &[], "events"), "multi_accept on;").unwrap();
        assert_eq!(printed(&config.apply(&[edit]).unwrap()), after, "{before:?}");
    }
}

#[test]
fn a_new_directive_goes_before_blocks_and_their_includes() {
    let config = text("http {\n\tsendfile on;\n\n\t##\n\tinclude sites/*;\n\tserver {\n\t}\n}\n");
    let edit = config.insert(&only(&config, &[], "http"), "gzip on;").unwrap();
    let expected = "http {\n\tsendfile on;\n\tgzip on;\n\n\t##\n\tinclude sites/*;\n\tserver {\n\t}\n}\n";
    assert_eq!(printed(&config.apply(&[edit]).unwrap()), expected);
}

#[test]
fn the_main_context_takes_directives_too() {
    let cases = [
        ("user a;\nevents {}\n", "user a;\nx 1;\nevents {}\n"),
        ("# head\nevents {}\n", "# head\nx 1;\nevents {}\n"),
        ("", "x 1;\n"),
        ("# only this", "# only this\nx 1;\n"),
        ("user a; events {}", "user a; x 1; events {}"),
    ];
    for (before, after) in cases {
        let config = text(before);
        assert_eq!(printed(&config.apply(&[config.insert_top("x 1;")]).unwrap()), after, "{before:?}");
    }
}

#[test]
fn a_missing_events_block_is_made() {
    let cases = [
        (
            "user a;\r\nhttp {\r\n  gzip on;\r\n}\r\n",
            "user a;\r\nevents {\r\n  worker_connections 9;\r\n}\r\nhttp {\r\n  gzip on;\r\n}\r\n",
        ),
        ("http {}", "events {\n    worker_connections 9;\n}\nhttp {}"),
    ];
    for (before, after) in cases {
        assert_eq!(printed(&text(before).set("worker_connections", "9", &Requests::default()).unwrap()), after);
    }
}

#[test]
fn removing_takes_the_line_when_it_is_alone() {
    let cases = [
        ("a;\n  user x;  \nb;\n", "a;\nb;\n"),
        ("a;\r\n\tuser x;\r\nb;\r\n", "a;\r\nb;\r\n"),
        ("a; user x; b;\n", "a;  b;\n"),
        ("a;\nuser x; # why\nb;\n", "a;\n # why\nb;\n"),
        ("a;\nuser x;", "a;\n"),
        ("user x { y; }\nb;", "b;"),
    ];
    for (before, after) in cases {
        let config = text(before);
        let edit = only(&config, &[], "user").remove();
        assert_eq!(printed(&config.apply(&[edit]).unwrap()), after, "{before:?}");
    }
}

#[test]
fn overlapping_edits_are_refused_and_equal_ones_made_once() {
    let config = text("user a b;\n");
    let user = only(&config, &[], "user");
    let (one, other) = (user.set_arg(0, b"x").unwrap(), user.set_arg(0, b"y").unwrap());
    assert_eq!(printed(&config.apply(&[one.clone(), one.clone()]).unwrap()), "user x b;\n");
    let error = config.apply(&[one, other]).unwrap_err().to_string();
    assert!(error.starts_with("/etc/nginx/nginx.conf:1: two different changes"), "{error}");
}

#[test]
fn an_edit_that_breaks_the_syntax_is_refused() {
    let config = text("a;\nuser x;\n");
    let edit = only(&config, &[], "user").replace(b"user x".to_vec());
    let error = config.apply(&[edit]).unwrap_err().to_string();
    assert!(error.starts_with("/etc/nginx/nginx.conf:2: the change does not fit"), "{error}");
}

#[test]
fn the_diff_is_unified_and_named_after_the_users_files() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config::read(&lay_out("debian", dir.path()), dir.path()).unwrap();
    assert_eq!(config.diff(&config), "");
    let edited = config.set("worker_connections", "1024", &Requests::default()).unwrap();
    let etc = dir.path().to_str().unwrap().trim_start_matches('/');
    let expected = format!(
        "--- a/{etc}/nginx.conf\n+++ b/{etc}/nginx.conf\n@@ -5,7 +5,7 @@\n include /{etc}/modules-enabled/*.conf;\n \n \
         events {{\n-\tworker_connections 768;\n+\tworker_connections 1024;\n \t# multi_accept on;\n }}\n \n"
    );
    assert_eq!(config.diff(&edited), expected);
}

#[test]
fn a_wrong_text_is_told_by_line_and_reason() {
    let cases = [
        ("a;\nb\n}\n", 3, "unexpected \"}\"; \"b\" (line 2) is not ended with \";\""),
        ("a;\n}\n", 2, "closes nothing"),
        ("a;;\n", 1, "unexpected \";\""),
        ("{}", 1, "a directive's name must come before it"),
        ("http {\n server {\n }\n", 1, "\"http\" that begins here has no closing"),
        ("a;\n\nuser x", 3, "ends within \"user\""),
        ("a;\nlog 'x;\n y;\n", 2, "no closing '"),
        ("a;\nlog \"x\"y;\n", 2, "unexpected \"y\" right after a closing quote"),
        ("a;\ncontent_by_lua_block {\n if { }\n", 2, "Lua block that begins here"),
    ];
    for (text, line, part) in cases {
        let error = parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.to_string().contains(part), "{text:?}: {error}");
    }
    let deep = "a{".repeat(200);
    assert!(parse(deep.as_bytes()).unwrap_err().to_string().contains("nested more than 100"));
}

#[test]
fn words_mean_what_nginx_reads() {
    let text = br#"n a\ b "a\"b" 'it''s' "x;{}#" ${v}y a#b \;{ "\t\n" '' a\"b $a{"#;
    // A closing quote must be followed by a space: nginx refuses this one.
    assert!(parse(&[text.as_slice(), b"}"].concat()).is_err());
    let text = br#"n a\ b "a\"b" "x;{}#" ${v}y a#b \;\{ "\t\n" '' a\"b $a; if ("$a" = b){}"#;
    let tree = parse(text).unwrap();
    let values: Vec<_> = tree[0].args().iter().map(|w| w.text().into_owned()).collect();
    assert_eq!(values, ["a\\ b", "a\"b", "x;{}#", "${v}y", "a#b", "\\;\\{", "\t\n", "", "a\"b", "$a"]);
    let values: Vec<_> = tree[1].args().iter().map(|w| w.text().into_owned()).collect();
    assert_eq!(values, ["(\"$a\"", "=", "b)"]);
}
