//! Documents name files, modules, flags, `make` targets and exit codes that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use genkai_tidy::{Known, crates, read, root, sources};
use regex::Regex;

/// Flags of other programs (Node's), and one that stands for any.
const OTHERS: [&str; 2] = ["max-old-space-size", "name"];

/// Paths in the code of others: h2.
const OTHERS_ITEMS: [&str; 1] = ["hpack::Decoder::decode"];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The documents for readers of today: the changelog tells of what was.
fn documents() -> Vec<(String, String)> {
    let mut names: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "apps/README.md", "fuzz/README.md"]
            .into_iter()
            .filter(|name| root().join(name).exists())
            .map(str::to_owned)
            .collect();
    let docs = fs::read_dir(root().join("docs")).expect("docs/").flatten();
    let docs = docs.map(|entry| format!("docs/{}", entry.file_name().to_string_lossy()));
    names.extend(docs.filter(|name| name.ends_with(".md")));
    names.sort();
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

/// What stands between backticks in a line.
fn inline(text: &str) -> Vec<String> {
    pattern(r"`([^`\n]+)`").captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// Lines of blocks of code.
fn blocks(text: &str) -> Vec<String> {
    text.split("```").skip(1).step_by(2).flat_map(str::lines).map(|line| line.trim().to_owned()).collect()
}

/// Every file and folder of the repository, from its root, folders with a slash at the end.
fn tree() -> Vec<String> {
    let mut all = Vec::new();
    below(&root(), "", &mut all);
    all
}

fn below(dir: &Path, prefix: &str, all: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if matches!(name.as_str(), "target" | "node_modules" | ".git" | "genkai-runs") {
            continue;
        }
        let path = format!("{prefix}{name}");
        match entry.path().is_dir() {
            true => {
                all.push(format!("{path}/"));
                below(&entry.path(), &format!("{path}/"), all);
            }
            false => all.push(path),
        }
    }
}

/// Whether a path, perhaps without its first folders, is one of the repository's.
fn exists(path: &str, tree: &[String]) -> bool {
    let glob = regex::escape(path.trim_end_matches('/')).replace(r"\*", "[^/]*").replace("NAME", "[^/]+");
    let whole = pattern(&format!("(^|/){glob}(/|\\.rs)?$"));
    tree.iter().any(|one| whole.is_match(one))
}

#[test]
fn documents_name_files_that_exist() {
    let tree = tree();
    let path = pattern(r"^[a-z.][\w.*-]*(/[\w.*-]+)*/?$");
    let tops: Vec<String> = tree.iter().filter_map(|one| one.split_once('/').map(|(top, _)| top.to_owned())).collect();
    let rooms = crates();
    let told = |text: &str| {
        let first = text.split('/').next().unwrap_or_default().to_owned();
        let ours = text.contains('/') && (rooms.contains(&first) || tops.contains(&first));
        path.is_match(text) && (ours || text.ends_with(".rs"))
    };
    let link = pattern(r"\]\(([^)#:]+)(?:#[^)]*)?\)");
    let mut missing = BTreeSet::new();
    for (name, text) in documents() {
        let words =
            inline(&text).into_iter().flat_map(|code| code.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        missing.extend(words.filter(|word| told(word) && !exists(word, &tree)).map(|word| format!("{name}: {word}")));
        let folder = root().join(&name).parent().expect("a folder").to_owned();
        let links = link.captures_iter(&text).map(|found| found[1].to_owned());
        missing.extend(links.filter(|to| !folder.join(to).exists()).map(|to| format!("{name}: {to}")));
    }
    Known::read("docs").check_part("file", &missing);
}

#[test]
fn documents_name_modules_and_items_that_exist() {
    let rooms = crates();
    let code: String = rooms.iter().flat_map(|room| sources(&root(), room)).map(|source| source.code).collect();
    let words: BTreeSet<&str> = pattern(r"\w+").find_iter(&code).map(|found| found.as_str()).collect();
    let modules: BTreeSet<String> = rooms
        .iter()
        .flat_map(|room| sources(&root(), room))
        .flat_map(|source| source.module)
        .chain(rooms.iter().cloned())
        .collect();
    let path = pattern(r"^(\w+(?:::\w+)+)");
    let mut missing = BTreeSet::new();
    for (name, text) in documents() {
        for code in inline(&text) {
            let Some(found) = path.captures(&code) else { continue };
            let mut parts = found[1].split("::");
            let first = parts.next().unwrap_or_default();
            let known = modules.contains(first) || words.contains(first);
            let ours = !OTHERS_ITEMS.contains(&&found[1]) && !first.starts_with("genkai_");
            if ours && (!known || parts.any(|part| !words.contains(part) && !modules.contains(part))) {
                missing.insert(format!("{name}: {}", &found[1]));
            }
        }
    }
    Known::read("docs").check_part("item", &missing);
}

/// Flags that the command line has, from its definition.
fn flags() -> BTreeSet<String> {
    let long = pattern(r#"(?:long|alias|visible_alias)\s*=\s*"([\w-]+)""#);
    let aliases = pattern(r#"aliases\s*=\s*\[([^\]]*)\]"#);
    let field = pattern(r"(?s)#\[arg\((.*?)\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(\w+)\s*:");
    let bare = pattern(r"\blong\s*(,|$)");
    let mut flags: BTreeSet<String> = ["help", "version"].into_iter().map(str::to_owned).collect();
    for source in sources(&root(), "genkai") {
        flags.extend(long.captures_iter(&source.kept).map(|found| found[1].to_owned()));
        for found in aliases.captures_iter(&source.kept) {
            flags.extend(pattern(r"[\w-]+").find_iter(&found[1]).map(|name| name.as_str().to_owned()));
        }
        let fields = field.captures_iter(&source.kept).filter(|found| bare.is_match(&found[1]));
        flags.extend(fields.map(|found| found[2].replace('_', "-")));
    }
    flags
}

#[test]
fn documents_name_flags_that_exist() {
    let flags = flags();
    assert!(flags.len() > 50, "the definition is read: {flags:?}");
    let flag = pattern(r"(?:^|\s)--([a-z][a-z0-9-]+)");
    let ours = |code: &String| {
        code.starts_with("--") || code.starts_with("genkai ") || code.starts_with("target/release/genkai ")
    };
    let mut missing = BTreeSet::new();
    for (name, text) in documents() {
        for code in inline(&text).into_iter().chain(blocks(&text)).filter(ours) {
            let named = flag.captures_iter(&code).map(|found| found[1].to_owned());
            let gone = named.filter(|flag| !flags.contains(flag) && !OTHERS.contains(&flag.as_str()));
            missing.extend(gone.map(|flag| format!("{name}: --{flag}")));
        }
    }
    Known::read("docs").check_part("flag", &missing);
}

#[test]
fn comments_name_flags_that_exist() {
    let flags = flags();
    let flag = pattern(r"`(?:genkai [^`]*?)?--([a-z][a-z0-9-]+)[^`]*`");
    let mut missing = BTreeSet::new();
    for source in ["genkai", "lab", "model", "scenario", "analysis", "report"]
        .map(|room| sources(&root(), room))
        .into_iter()
        .flatten()
    {
        let comments = source.text.lines().filter(|line| line.trim_start().starts_with("//"));
        for line in comments {
            let gone = flag
                .captures_iter(line)
                .map(|found| found[1].to_owned())
                .filter(|flag| !flags.contains(flag) && !OTHERS.contains(&flag.as_str()));
            missing.extend(gone.map(|flag| format!("{}: --{flag}", source.path)));
        }
    }
    Known::read("docs").check_part("comment", &missing);
}

#[test]
fn documents_name_make_targets_that_exist() {
    let makefile = read("Makefile");
    let target = pattern(r"(?m)^([a-z0-9-]+):");
    let targets: BTreeSet<&str> = target.captures_iter(&makefile).map(|found| found.extract::<1>().1[0]).collect();
    let made = pattern(r"^make ((?:[a-z0-9-]+ ?)+)");
    let mut missing = BTreeSet::new();
    for (name, text) in documents() {
        for code in inline(&text).into_iter().chain(blocks(&text)) {
            let Some(found) = made.captures(&code) else { continue };
            let gone = found[1].split_whitespace().filter(|target| !targets.contains(target));
            missing.extend(gone.map(|target| format!("{name}: make {target}")));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn documents_name_exit_codes_that_exist() {
    let exit = read("crates/model/src/exit.rs");
    let codes: BTreeSet<String> = pattern(r"= (\d+),").captures_iter(&exit).map(|found| found[1].to_owned()).collect();
    assert!(codes.len() > 3, "the codes are read: {codes:?}");
    let named = pattern(r"(?i)\bexit (?:code |status )?`?(\d+)");
    let mut missing = BTreeSet::new();
    for (name, text) in documents() {
        let all = named.captures_iter(&text).map(|found| found[1].to_owned());
        missing.extend(all.filter(|code| !codes.contains(code)).map(|code| format!("{name}: exit code {code}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// `a_test`, `another` (`crates/place/file.rs`: what they show): each is in that file.
#[test]
fn documents_name_tests_that_exist() {
    let named = pattern(r"((?:`[a-z][a-z0-9_]+`(?: \([^`)]*\))?(?:, )?)+) \(`(crates/[^`]+\.rs)`");
    let name = pattern("`([a-z][a-z0-9_]+)`");
    let mut seen = 0;
    let mut missing = Vec::new();
    for (file, text) in documents() {
        for found in named.captures_iter(&text) {
            let source = fs::read_to_string(root().join(&found[2])).unwrap_or_default();
            let all = name.captures_iter(&found[1]).map(|one| one[1].to_owned());
            let lost = all.inspect(|_| seen += 1).filter(|one| !source.contains(&format!("fn {one}(")));
            missing.extend(lost.map(|one| format!("{file}: {one} in {}", &found[2])));
        }
    }
    assert!(seen > 90 && missing.is_empty(), "{seen} tests named; not there: {missing:#?}");
}
