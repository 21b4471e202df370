//! The names under which a listener with `strict-sni` takes handshakes: under any other, or under none, it refuses them (configuration manual
//! 5.1). A private copy shows another certificate, for the very names that the user's are for there.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use genkai_place::authority;

use super::config::{Config, FileId, Found};

/// Files of a folder that belong to certificates and are none (src/ssl_crtlist.c: crtlist_load_cert_dir).
const BESIDE: [&str; 4] = [".issuer", ".ocsp", ".sctl", ".key"];
/// Parameters of `bind` that name certificates.
const CERTIFICATES: [&str; 3] = ["crt", "crt-list", "default-crt"];
/// So many names are written on one line of a list.
const ON_A_LINE: usize = 50;
/// A name that nobody has (RFC 2606): what is shown for it alone is shown for none.
const NOBODY: &str = "nobody.invalid";

/// Of a listener that takes handshakes under names of its certificates only: for each certificate these names, as a crt-list has them. None: it takes
/// them under any name.
pub(super) fn strict(config: &Config, bind: &Found) -> Option<Result<Vec<String>, String>> {
    let is_strict = |found: &Found| found.words.iter().skip(1).any(|word| word.value == "strict-sni");
    let usual = || config.global("ssl-default-bind-options").is_some_and(is_strict);
    (is_strict(bind) || usual()).then(|| lines(config, bind))
}

/// That a copy of such a listener takes handshakes under any name, where those of its certificates are not known.
pub(super) fn untold(config: &Config, bind: &Found) -> Option<String> {
    let why = strict(config, bind)?.err()?;
    Some(format!(
        "`{}` at {} takes handshakes under names of its certificates only, and which these are is not known ({why}): the private copy, whose certificate is for \
         the name that the load asks for, takes them under that one, also where the listener itself would refuse it",
        bind.written(),
        config.place(bind)
    ))
}

/// A list by which `certificate` is shown for these names alone.
pub(super) fn list(certificate: &Path, lines: &[String]) -> String {
    let nobody = vec![NOBODY.to_owned()];
    let lines = if lines.is_empty() { &nobody } else { lines };
    lines.iter().map(|names| format!("{} {names}\n", certificate.display())).collect()
}

/// Whether handshakes under a name are taken by such names (src/ssl_sock.c: ssl_sock_switchctx_cbk); none: not known. Under an address clients name
/// none (RFC 6066, 3).
pub(super) fn takes(lines: &[String], name: &str) -> Option<bool> {
    if name.parse::<IpAddr>().is_ok() {
        return Some(false);
    }
    let name = name.to_ascii_lowercase();
    let (rest, excluded) = (name.find('.').map(|at| &name[at..]), format!("!{name}"));
    let mut known = Some(false);
    for line in lines {
        let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
        let wild = words.iter().any(|word| word.strip_prefix('*').is_some_and(|end| Some(end) == rest));
        if words.contains(&name) || wild && !words.contains(&excluded) {
            return Some(true);
        }
        // What a lone `*` means is another thing in each version.
        if words.iter().any(|word| word == "*") {
            known = None;
        }
    }
    known
}

fn lines(config: &Config, bind: &Found) -> Result<Vec<String>, String> {
    if let Some(found) = config.found().iter().find(|found| found.is("ssl-f-use")) {
        return Err(format!("`{}` at {} is not followed", found.written(), config.place(found)));
    }
    let base = config.global("crt-base").and_then(|found| found.arg(0)).map(PathBuf::from);
    let base = base.or_else(|| config.file(FileId::MAIN).path.parent().map(Path::to_owned)).unwrap_or_default();
    let mut all = Vec::new();
    let mut words = bind.words.iter().skip(2);
    while let Some(word) = words.next() {
        let named = if CERTIFICATES.contains(&&*word.value) { words.next() } else { None };
        all.extend(match named {
            Some(file) if word.value == "crt-list" => listed(&base, &file.value)?,
            Some(file) => shown(&base, &file.value)?,
            None => Vec::new(),
        });
    }
    Ok(all)
}

/// Of the certificates of a file or folder.
fn shown(base: &Path, file: &str) -> Result<Vec<String>, String> {
    if file.starts_with('@') {
        return Err(format!("{file} is one of a crt-store"));
    }
    let path = base.join(file);
    let failed = |why: std::io::Error| format!("{}: {why}", path.display());
    let mut files = vec![path.clone()];
    if path.is_dir() {
        let all = fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
        files = all.into_iter().map(|one| one.path()).filter(|one| is_certificate(one)).collect();
        files.sort();
    }
    let mut lines = Vec::new();
    for file in files {
        let names = authority::dns_names(&file).map_err(|why| format!("{}: {why}", file.display()))?;
        // What has a space or begins with another sign is no name that a client asks for.
        let is_name = |name: &String| {
            name.starts_with(|c: char| c.is_alphanumeric() || c == '*') && !name.contains(char::is_whitespace)
        };
        let names: Vec<String> = names.into_iter().filter(is_name).collect();
        lines.extend(names.chunks(ON_A_LINE).map(|some| some.join(" ")));
    }
    Ok(lines)
}

fn is_certificate(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.is_file() && !name.starts_with('.') && !BESIDE.iter().any(|end| name.ends_with(end))
}

/// Of the lines of a crt-list: a certificate, what is set for it in brackets, and its names, which are those of the certificate where there are none.
fn listed(base: &Path, list: &str) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(list).map_err(|why| format!("{list}: {why}"))?;
    let mut all = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (file, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let names = match rest.split_once('[') {
            Some((_, inside)) => inside.split_once(']').ok_or_else(|| format!("{list}: a bracket stays open"))?.1,
            None => rest,
        };
        match names.trim() {
            "" => all.extend(shown(base, file)?),
            names => all.push(names.to_owned()),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::config::Reading;
    use super::*;

    fn of(dir: &Path, global: &str, bind: &str) -> Option<Result<Vec<String>, String>> {
        let text = format!("global\n {global}\nfrontend f\n mode http\n bind :443 ssl {bind}\n");
        let config = Config::of_texts(vec![(dir.join("x.cfg"), text.into())], Reading::default()).unwrap();
        let found = config.found().iter().find(|found| found.is("bind")).unwrap();
        strict(&config, found)
    }

    #[test]
    fn the_names_are_those_of_all_certificates_or_of_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a.example", "*.b.example"].map(str::to_owned);
        let papers = authority::make_for(dir.path(), &names, authority::Key::default()).unwrap();
        let both = papers.both.display();
        assert_eq!(of(dir.path(), "", &format!("crt {both}")), None);
        let all = of(dir.path(), "", &format!("crt {both} strict-sni")).unwrap().unwrap();
        assert_eq!(all.len(), 1);
        let taken = |name: &str| takes(&all, name);
        assert_eq!([taken("a.example"), taken("x.b.example"), taken("A.Example")], [Some(true); 3], "{all:?}");
        assert_eq!([taken("b.example"), taken("x.y.b.example"), taken("c"), taken("127.0.0.1")], [Some(false); 4]);
        let list_of = dir.path().join("list");
        fs::write(&list_of, format!("# none\n{both} [alpn h2] *.c.example !x.c.example\n")).unwrap();
        let usual = of(dir.path(), "ssl-default-bind-options strict-sni", &format!("crt-list {}", list_of.display()));
        let all = usual.unwrap().unwrap();
        assert_eq!(all, ["*.c.example !x.c.example"]);
        assert_eq!([takes(&all, "y.c.example"), takes(&all, "x.c.example")], [Some(true), Some(false)]);
        assert_eq!(takes(&["*".to_owned()], "y"), None);
        assert_eq!(list(Path::new("/c.pem"), &all), "/c.pem *.c.example !x.c.example\n");
        assert_eq!(list(Path::new("/c.pem"), &[]), "/c.pem nobody.invalid\n");
        let unknown = of(dir.path(), "", "crt /nosuch.pem strict-sni").unwrap().unwrap_err();
        assert!(unknown.contains("/nosuch.pem: No such file"), "{unknown}");
    }
}
