//! What must be so for any text: nothing panics, tokens tile it, what is printed reads back the same, and an edit of one
//! thing leaves everything else.

use std::path::Path;

use genkai_targets::nginx::config::lexer::{Kind, quote, tokens, value};
use genkai_targets::nginx::config::{Config, Directive, End, parse};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::nginx_configs::{CASES, lay_out};

/// What a directive means, without where it is written.
#[derive(Clone, Debug, PartialEq)]
struct Meaning {
    words: Vec<Vec<u8>>,
    block: Option<Vec<Meaning>>,
}

fn meaning(directives: &[Directive]) -> Vec<Meaning> {
    let one = |d: &Directive| Meaning {
        words: d.words.iter().map(|w| w.value.clone()).collect(),
        block: d.is_block().then(|| meaning(d.directives())),
    };
    directives.iter().map(one).collect()
}

/// A word of any bytes. A name must not announce Lua.
fn word() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-z_]{1,8}".prop_map(String::into_bytes),
        2 => "[ ;{}#\"'$\\\\a\n\t]{0,6}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..6),
    ]
}

fn forest() -> impl Strategy<Value = Vec<Meaning>> {
    let leaf = vec(word(), 1..4).prop_map(|words| Meaning { words, block: None });
    let tree = leaf.prop_recursive(4, 40, 5, |inner| {
        (vec(word(), 1..4), vec(inner, 0..5)).prop_map(|(words, block)| Meaning { words, block: Some(block) })
    });
    vec(tree, 0..6)
}

/// Space that may stand between two words; some of it must be there.
const GAPS: [&[u8]; 7] = [b" ", b"\t", b"\n", b"\r\n", b"  \n\t ", b" # a comment; { \" } \n", b"\n#\n\n"];

/// Prints trees with arbitrary but legal spacing and quoting.
fn print(trees: &[Meaning], choices: &mut impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    let mut choose = |n: usize| choices.next().unwrap_or(0) as usize % n;
    for tree in trees {
        out.extend_from_slice(GAPS[choose(GAPS.len())]);
        for (i, word) in tree.words.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(GAPS[choose(GAPS.len())]);
            }
            match choose(3) {
                0 => out.extend(quote(word)),
                n => out.extend(quoted(word, [b'"', b'\''][n - 1])),
            }
        }
        if choose(2) == 1 {
            out.extend_from_slice(GAPS[choose(GAPS.len())]);
        }
        match &tree.block {
            None => out.push(b';'),
            Some(block) => {
                out.push(b'{');
                let mut rest: Vec<u8> = (0..64).map(|_| choose(256) as u8).collect();
                rest.reverse();
                print(block, &mut rest.into_iter(), out);
                out.extend_from_slice(b" }");
            }
        }
    }
}

fn quoted(word: &[u8], mark: u8) -> Vec<u8> {
    let mut out = vec![mark];
    for &byte in word {
        if byte == mark || byte == b'\\' {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(mark);
    out
}

fn tiles(text: &[u8]) {
    let mut at = 0;
    for token in tokens(text).unwrap() {
        assert_eq!(token.span.start, at);
        assert!(token.span.end > at || token.kind == Kind::Lua);
        at = token.span.end;
    }
    assert_eq!(at, text.len());
}

/// Spans lie in the text, in order, and within their block.
fn nested(directives: &[Directive], outer: std::ops::Range<usize>) {
    let mut at = outer.start;
    for directive in directives {
        assert!(directive.span.start >= at && directive.span.end <= outer.end);
        at = directive.span.end;
        for pair in directive.words.windows(2) {
            assert!(pair[0].span.end <= pair[1].span.start);
        }
        if let End::Block { inner, directives: inside } = &directive.end {
            nested(inside, inner.clone());
        }
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for case in &CASES {
        let dir = tempfile::tempdir().unwrap();
        let config = Config::read(&lay_out(case.name, dir.path()), dir.path()).unwrap();
        texts.extend(config.files().map(|(_, f)| f.text.clone()));
    }
    texts
}

fn config(text: &[u8]) -> Config {
    Config::of_text(Path::new("/c"), text.to_vec(), Path::new("/")).unwrap()
}

/// Every question that any text must survive. Says whether it is nginx's syntax.
fn ask_all(text: &[u8]) -> bool {
    let Ok(tree) = parse(text) else { return false };
    tiles(text);
    nested(&tree, 0..text.len());
    let config = config(text);
    let _ = (config.listens(), config.passes(), config.upstreams(), config.route(Some("a.b"), "/x.php"));
    true
}

/// The same for edits. (Not for Lua with a quote that is not closed on its line: there a quote that comes later on the
/// same line changes where the block ends, for nginx too.)
fn use_all(text: &[u8]) {
    if !ask_all(text) {
        return;
    }
    let config = config(text);
    for found in config.walk().into_iter().take(40) {
        let removed = config.apply(&[found.remove()]).unwrap();
        assert_eq!(removed.walk().len() + 1 + inside(found.directive), config.walk().len());
        let set = config.apply(&found.set_args(&[b"x;y", b"{"])).unwrap();
        assert_eq!(set.walk().len(), config.walk().len());
        if matches!(found.directive.end, End::Block { .. }) {
            let inserted = config.apply(&[config.insert(&found, "new on;").unwrap()]).unwrap();
            assert_eq!(inserted.walk().len(), config.walk().len() + 1);
            let edits =
                [config.insert_at_start(&found, "one;").unwrap(), config.insert_at_end(&found, "two;").unwrap()];
            let names: Vec<_> =
                config.apply(&edits).unwrap().walk().iter().map(|f| f.directive.name().to_vec()).collect();
            assert_eq!(names.len(), config.walk().len() + 2);
        }
    }
    let top = config.apply(&[config.insert_top("new on;")]).unwrap();
    assert_eq!(top.find(&[], "new").len(), config.find(&[], "new").len() + 1);
}

fn inside(directive: &Directive) -> usize {
    directive.directives().iter().map(|d| 1 + inside(d)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_back_the_same(forest in forest(), choices in vec(any::<u8>(), 0..400)) {
        let mut text = Vec::new();
        print(&forest, &mut choices.into_iter(), &mut text);
        tiles(&text);
        let tree = parse(&text).unwrap();
        nested(&tree, 0..text.len());
        prop_assert_eq!(meaning(&tree), forest);
        use_all(&text);
    }

    #[test]
    fn a_quoted_value_is_read_back(bytes in vec(any::<u8>(), 0..20)) {
        let word = quote(&bytes);
        prop_assert_eq!(value(&word), bytes.clone());
        let text = [b"n ", &*word, b";"].concat();
        let tree = parse(&text).unwrap();
        prop_assert_eq!(&tree[0].args()[0].value, &bytes);
    }

    #[test]
    fn one_argument_changes_and_nothing_else(forest in forest(), choices in vec(any::<u8>(), 0..200), pick in any::<prop::sample::Index>(), new in word()) {
        let mut text = Vec::new();
        print(&forest, &mut choices.into_iter(), &mut text);
        let config = config(&text);
        let with_args: Vec<_> = config.walk().into_iter().filter(|f| !f.directive.args().is_empty()).collect();
        prop_assume!(!with_args.is_empty());
        let found = pick.get(&with_args);
        let edit = found.set_arg(0, &new).unwrap();
        let (before, after) = (text[..edit.from].to_vec(), text[edit.to..].to_vec());
        let edited = config.apply(&[edit]).unwrap();
        let (_, file) = edited.files().next().unwrap();
        prop_assert!(file.text.starts_with(&before) && file.text.ends_with(&after));
        let position = config.walk().iter().position(|f| f.directive.span == found.directive.span).unwrap();
        let values = |c: &Config| c.walk().iter().map(|f| f.directive.words.iter().map(|w| w.value.clone()).collect::<Vec<_>>()).collect::<Vec<_>>();
        let mut expected = values(&config);
        expected[position][1] = new;
        prop_assert_eq!(values(&edited), expected);
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(prop_oneof![3 => prop::sample::select(b"ab {};\n\r\t\"'\\$#-[]=".to_vec()), 1 => any::<u8>()], 0..200)) {
        use_all(&bytes);
        ask_all(&[b"x_by_lua_block {", &*bytes, b"}"].concat());
    }

    #[test]
    fn a_damaged_file_is_survived(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in 0usize..40) {
        thread_local!(static CORPUS: Vec<Vec<u8>> = corpus());
        let mut text = CORPUS.with(|c| which.get(c).clone());
        let at = at.index(text.len());
        let end = (at + cut).min(text.len());
        text.splice(at..end, [byte]);
        if memchr::memmem::find(&text, b"_by_lua_block").is_some() { ask_all(&text); } else { use_all(&text); }
    }
}
