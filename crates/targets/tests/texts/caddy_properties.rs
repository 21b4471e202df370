//! What must be so for any text of a Caddyfile: nothing panics, nothing is lost, every word is where its span says, and a setting
//! that is changed leaves everything else.

use genkai_targets::caddy::config::{Config, FileId, Line, Variables, quote};
use genkai_targets::caddy::settings::TABLE;
use genkai_targets::files::{Configuration, Requests};
use proptest::collection::vec;
use proptest::prelude::*;

/// Text that has much of what the syntax gives a meaning to.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z.:/]{1,8}".prop_map(String::into_bytes),
        3 => "[ \t\n]{1,3}".prop_map(String::into_bytes),
        2 => "[\"`\\\\#$,<\r-]{1,4}".prop_map(String::into_bytes),
        3 => prop_oneof![
            Just(" {\n"), Just("\n}\n"), Just("\n:80 {\n"), Just("\nreverse_proxy h:1 {\n"), Just("\nimport s a b\n"), Just("\n(s) {\n"),
            Just("{args.0}"), Just("{$A}"), Just("{$B:c d}"), Just("{$}"), Just("<<E\n x\n E\n"), Just("\n@m path /x*\n"),
            Just("\nhandle /x* {\n"), Just("\ntransport http {\n"), Just("\nmax_fails 5\n"), Just("{\n\tservers {\n\t}\n}\n"),
        ].prop_map(|s| s.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn config(text: &[u8]) -> Option<Config> {
    let variables = Variables::from([("A".to_owned(), "one two {\n".to_owned())]);
    Config::of_texts(vec![("/nonexistent/Caddyfile".into(), text.to_vec())], variables).ok()
}

/// A site that passes requests on, with whatever stands around and inside of it.
fn proxy() -> impl Strategy<Value = String> {
    let inside = prop::sample::subsequence(
        vec!["max_fails 2", "lb_policy first # c", "transport http {\n\t\t\tdial_timeout 1s\n\t\t}", "header_up X `{`"],
        0..4,
    );
    let around = prop::sample::select(vec!["", "handle {\n", "route /* {\n", "# c {\n"]);
    (inside, around, prop::bool::ANY, prop::bool::ANY).prop_map(|(inside, around, block, options)| {
        let options = if options { "{\n  servers {\n    max_header_size 4KB\n  }\n}\n" } else { "" };
        let lines: String = inside.iter().map(|line| format!("\t\t{line}\n")).collect();
        let proxy = if block { format!("reverse_proxy h:1 {{\n{lines}\t}}") } else { "reverse_proxy h:1".to_owned() };
        let close = if around.ends_with("{\n") && !around.starts_with('#') { "\t}\n" } else { "" };
        format!("{options}:80 {{\n\trespond /x y\n\t{around}\t{proxy}\n{close}}}\n")
    })
}

fn each_word(lines: &[Line], check: &mut dyn FnMut(&Line)) {
    for line in lines {
        check(line);
        each_word(line.inside(), check);
    }
}

proptest! {
    #[test]
    fn nothing_is_lost(text in text()) {
        let Some(config) = config(&text) else { return Ok(()) };
        let file = config.file(FileId::MAIN);
        prop_assert_eq!(&file.text, &text);
        prop_assert_eq!(&config.apply(&[]).unwrap(), &config);
        for site in config.sites() {
            let mut spans = Vec::new();
            each_word(&site.lines, &mut |line| spans.extend(line.words.iter().map(|word| word.span.clone())));
            prop_assert!(spans.iter().all(|span| span.start <= span.end && span.end <= text.len()));
        }
    }

    #[test]
    fn a_word_reads_back_as_it_was_quoted(word in "[^\r]{0,12}") {
        let written = quote(&word);
        // A variable of the environment is replaced wherever it stands; a backtick and a backslash have no form in common.
        prop_assume!(!(word.contains("{$") || word.contains('`') && word.contains('\\')));
        let read = Config::of_texts(vec![("/x".into(), format!(":80 {{\n\trespond {written}\n}}\n").into())], Variables::new()).unwrap();
        let words: Vec<&str> = read.sites()[0].lines[0].args().iter().map(|w| w.value.as_str()).collect();
        prop_assert_eq!(words, [word.as_str()]);
    }

    #[test]
    fn a_setting_changes_one_thing(text in proxy(), which in any::<prop::sample::Index>()) {
        let config = config(text.as_bytes()).unwrap();
        let requests = Requests::to("localhost", "/");
        let setting = &TABLE.settings[which.index(TABLE.settings.len())];
        let value = setting.kind.written(&["7"]).or_else(|| setting.kind.written(&["7s"])).unwrap().join(" ");
        let after = config.set(setting.name, &value, &requests).unwrap();
        prop_assert_eq!(after.value_of(setting.name, &requests).unwrap().0, value.clone());
        for other in TABLE.settings.iter().filter(|other| other.name != setting.name) {
            prop_assert_eq!(
                after.value_of(other.name, &requests).unwrap().0,
                config.value_of(other.name, &requests).unwrap().0
            );
        }
        // Every line that was there is there, but for the one that had another value.
        let now = String::from_utf8(after.file(FileId::MAIN).text.clone()).unwrap();
        let gone = text.lines().filter(|line| !now.lines().any(|other| other.trim_start().starts_with(line.trim())));
        prop_assert!(gone.count() <= 1, "{text}\n{now}");
        let again = after.set(setting.name, &value, &requests).unwrap();
        prop_assert_eq!(again.file(FileId::MAIN), after.file(FileId::MAIN));
    }
}
