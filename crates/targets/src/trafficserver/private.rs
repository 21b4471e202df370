//! A private copy of a configuration folder: every file once more; listener, stores and, where asked for, origins are replaced.

use std::fs;
use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

use super::plugins;
use super::records::{FILE, Records};
use crate::cache::{Sandbox, unseen};
use crate::error::TargetError;
use crate::files::masked;
use genkai_place::remote;

/// Most files of a folder, and deepest.
const MOST: (usize, usize) = (2_000, 4);
/// Settings that are the copy's own: where it listens, whom it runs as, where it writes and which file names its stores (by default those
/// that the copy has; `storage_filename` is of before 9.0), how requests leave it, and keys, which are not copied.
const OWN: [&str; 27] = [
    "proxy.config.http.server_ports",
    "proxy.config.admin.user_id",
    "proxy.config.log.logfile_dir",
    "proxy.config.log.error_log_filename",
    "proxy.config.diags.logfile.filename",
    "proxy.config.error.logfile.filename",
    "proxy.config.output.logfile",
    "proxy.config.local_state_dir",
    "proxy.config.cache.storage_filename",
    "proxy.config.cache.volume_filename",
    "proxy.config.cache.hosting_filename",
    "proxy.config.hostdb.filename",
    "proxy.config.hostdb.storage_path",
    "proxy.config.quic.client.session_file",
    "proxy.config.quic.qlog_dir",
    "proxy.config.ssl.keylog_file",
    "proxy.config.url_remap.remap_required",
    "proxy.config.reverse_proxy.enabled",
    "proxy.config.url_remap.filename",
    "proxy.config.http.parent_proxies",
    "proxy.config.http.parent_proxy.file",
    "proxy.config.http.number_of_redirections",
    "proxy.config.socks.socks_needed",
    "proxy.config.ssl.server.multicert.filename",
    "proxy.config.ssl.server.ticket_key.filename",
    "proxy.config.ssl.client.cert.filename",
    "proxy.config.ssl.client.private_key.filename",
];
/// What passes requests by rules of remap.config and nowhere else (proxy/http/remap/UrlRewrite.cc, trafficserver 9.2).
const ONLY_RULES: &str =
    "CONFIG proxy.config.url_remap.remap_required INT 1\nCONFIG proxy.config.reverse_proxy.enabled INT 1\n";
/// Rules of remap.config that pass requests on; each may begin with `regex_` (proxy/http/remap/RemapConfig.cc, trafficserver 9.2).
const MAPS: [&str; 3] = ["map", "map_with_recv_port", "map_with_referer"];
/// Rules that answer, or change answers.
const ANSWERS: [&str; 3] = ["reverse_map", "redirect", "redirect_temporary"];
/// Files that the copy has with empty lines: other proxies to pass requests to, and certificates with their keys.
const EMPTIED: [&str; 2] = ["parent.config", "ssl_multicert.config"];
/// How names of files with keys end where their content may not tell.
const KEYS: [&str; 3] = ["key", "p12", "pfx"];
/// Size of a store that is a device in the user's configuration.
const STORE: &str = "256M";

/// What is to be told of a private copy.
#[derive(Clone, Debug)]
pub(crate) struct Private {
    /// What differs from the user's files.
    pub(super) rewrites: Vec<Rewrite>,
    /// Where its files are, and the user's.
    folders: (PathBuf, PathBuf),
}

impl Private {
    /// A message with the user's files in the place of the copies.
    pub(super) fn translate(&self, message: &str) -> String {
        message.replace(&*self.folders.0.to_string_lossy(), &self.folders.1.to_string_lossy())
    }
}

/// Copies the folder of `records` (with settings) into `etc`.
///
/// # Errors
/// When files cannot be read or written, or requests would leave this machine.
pub(super) fn build(records: &Records, at: &Sandbox<'_>) -> Result<Private, TargetError> {
    let (folder, etc) = (records.folder(), at.dir.join("etc"));
    let mut left = MOST.0;
    let mut rewrites = Vec::new();
    copy(folder, &etc, MOST.1, &mut left, &mut rewrites)?;
    let text = own(records, at, &mut rewrites);
    write(&etc.join(FILE), &text)?;
    let mut stores = 0;
    lines(folder, &etc, "storage.config", &mut rewrites, |line, _| Ok(store(line, at.dir, &mut stores)))?;
    lines(folder, &etc, "remap.config", &mut rewrites, |line, place| remap(line, place, folder, at))?;
    lines(folder, &etc, "plugin.config", &mut rewrites, |line, place| {
        plugins::of_line(line, place, folder).map(|()| line.to_owned())
    })?;
    for name in EMPTIED {
        lines(folder, &etc, name, &mut rewrites, |_, _| Ok(String::new()))?;
    }
    Ok(Private { rewrites, folders: (etc, folder.to_owned()) })
}

/// The records with the copy's own in the place of the user's.
fn own(records: &Records, at: &Sandbox<'_>, rewrites: &mut Vec<Rewrite>) -> String {
    let mut text = String::new();
    for entry in records.0.all() {
        let line = format!("CONFIG {} {}", entry.name, entry.value());
        if OWN.contains(&entry.name.as_str()) {
            rewrites.push(Rewrite { place: records.0.place(entry), from: masked(&line), to: String::new() });
        } else {
            text.push_str(&format!("{line}\n"));
        }
    }
    let (ip, port) = (at.listen.ip(), at.listen.port());
    text.push_str(&format!("CONFIG {} STRING {port}:ip-in={ip}\nCONFIG {} STRING #-1\n{ONLY_RULES}", OWN[0], OWN[1]));
    text
}

/// A store goes into the folder.
fn store(line: &str, dir: &Path, stores: &mut usize) -> String {
    let mut words = line.split_ascii_whitespace();
    words.next();
    *stores += 1;
    let size = words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(STORE);
    format!("{} {size}", dir.join(format!("store-{stores}")).display())
}

/// A rule goes to the backend; kept, it must stay on this machine. What is no rule that genkai knows is refused: it may lead anywhere.
fn remap(line: &str, place: &str, folder: &Path, at: &Sandbox<'_>) -> Result<String, TargetError> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let rule = words[0].to_ascii_lowercase();
    let kind = rule.strip_prefix("regex_").unwrap_or(&rule);
    let is_filter = rule.starts_with('.') && rule.ends_with("filter");
    if line.ends_with('\\') || !(MAPS.contains(&kind) || ANSWERS.contains(&kind) || is_filter) {
        return Err(refused(place, line));
    }
    if !MAPS.contains(&kind) {
        return Ok(line.to_owned());
    }
    if words.iter().any(|word| word.to_ascii_lowercase().starts_with("@strategy=")) {
        return Err(refused(place, line));
    }
    plugins::of_rule(line, place, folder)?;
    let Some((to, (scheme, rest))) = words.get(2).and_then(|to| Some((*to, to.split_once("://")?))) else {
        return Err(refused(place, line));
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Some(backend) = at.backend else {
        let named = authority.rsplit('@').next().unwrap_or(authority);
        let host = named.rsplit_once(':').map_or(named, |(host, _)| host).trim_matches(['[', ']']);
        remote::check(host, at.allowed, || place.to_owned())?;
        return Ok(line.to_owned());
    };
    let scheme = if scheme.to_ascii_lowercase().starts_with("ws") { "ws" } else { "http" };
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The same text may stand before it: a rule may map a URL to itself.
    let from = to.as_ptr() as usize - line.as_ptr() as usize;
    Ok(format!("{}{scheme}://{backend}{slash}{path}{}", &line[..from], &line[from + to.len()..]))
}

fn refused(place: &str, line: &str) -> TargetError {
    let hint = "in a copy, leave it out or write it as plain rules of remap.config, one a line: `map FROM TO`";
    unseen("Traffic Server", &format!("{place}: `{}` may pass requests to", masked(line)), hint)
}

/// Whether a file is, or has in it, a private key.
fn is_key(path: &Path) -> Result<bool, TargetError> {
    const MARK: &[u8] = b"PRIVATE KEY";
    let named = path.extension().and_then(|end| end.to_str()).is_some_and(|end| KEYS.contains(&end));
    let text = fs::read(path).map_err(TargetError::files(path))?;
    Ok(named || text.windows(MARK.len()).any(|part| part == MARK))
}

/// Rewrites a file of the copy line by line; comments stay.
fn lines(
    folder: &Path,
    etc: &Path,
    name: &str,
    rewrites: &mut Vec<Rewrite>,
    mut of: impl FnMut(&str, &str) -> Result<String, TargetError>,
) -> Result<(), TargetError> {
    let path = folder.join(name);
    if !path.exists() {
        return Ok(());
    }
    let text = fs::read_to_string(&path).map_err(TargetError::files(&path))?;
    let mut all = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let place = format!("{}:{number}", path.display());
        let said = line.trim();
        let new = if said.is_empty() || said.starts_with('#') { said.to_owned() } else { of(said, &place)? };
        if new != said {
            rewrites.push(Rewrite { place, from: masked(said), to: masked(&new) });
        }
        all.push_str(&format!("{new}\n"));
    }
    write(&etc.join(name), &all)
}

fn write(path: &Path, text: &str) -> Result<(), TargetError> {
    fs::write(path, text).map_err(TargetError::files(path))
}

/// Copies a folder, at most so deep and so many files, without private keys.
fn copy(
    from: &Path,
    to: &Path,
    depth: usize,
    left: &mut usize,
    rewrites: &mut Vec<Rewrite>,
) -> Result<(), TargetError> {
    fs::create_dir_all(to).map_err(TargetError::files(to))?;
    for entry in fs::read_dir(from).map_err(TargetError::files(from))?.flatten() {
        let (path, to): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        if *left == 0 || depth == 0 {
            let what = format!("{}: more files than any configuration of Traffic Server has", from.display());
            return Err(TargetError::usage("Traffic Server", what));
        }
        *left -= 1;
        match path.metadata() {
            Ok(meta) if meta.is_dir() => copy(&path, &to, depth - 1, left, rewrites)?,
            Ok(meta) if meta.is_file() && is_key(&path)? => {
                let (place, from) = (path.display().to_string(), "a private key".to_owned());
                rewrites.push(Rewrite { place, from, to: String::new() });
            }
            Ok(meta) if meta.is_file() => {
                fs::copy(&path, &to).map_err(TargetError::files(&path))?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::LazyLock;

    use super::*;
    use crate::cache::Budget;
    use crate::product::Program;

    static NONE: LazyLock<Program> = LazyLock::new(Program::default);

    fn sandbox(dir: &Path, backend: Option<SocketAddr>) -> Sandbox<'_> {
        let (program, listen, budget) = (&*NONE, ([127, 0, 0, 1], 7).into(), Budget::USUAL);
        Sandbox { program, dir, listen, backend, moves: &[], allowed: &[], budget }
    }

    #[test]
    fn the_copy_has_no_keys_and_one_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("user");
        fs::create_dir(&folder).unwrap();
        let write = |name: &str, text: &[u8]| fs::write(folder.join(name), text).unwrap();
        fs::write(dir.path().join("elsewhere"), "-----BEGIN PRIVATE KEY-----\n").unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), folder.join("linked.pem")).unwrap();
        write("binary.key", b"\x30\x82");
        write("chain.pem", b"-----BEGIN CERTIFICATE-----\n");
        write("parent.config", b"dest_domain=. parent=\"192.0.2.1:80\"\n");
        write("ssl_multicert.config", b"ssl_cert_name=linked.pem\n");
        let ways = "CONFIG proxy.config.reverse_proxy.enabled INT 0\nCONFIG proxy.config.http.parent_proxies STRING 192.0.2.1:80\n";
        write("records.config", ways.as_bytes());
        let records = Records::read(&folder.join("records.config")).unwrap();
        let built = || build(&records, &sandbox(dir.path(), Some("127.0.0.1:9".parse().unwrap())));
        assert_eq!(built().unwrap().rewrites.len(), 6);
        let copied = |name: &str| fs::read_to_string(dir.path().join("etc").join(name)).ok();
        assert_eq!((copied("linked.pem"), copied("binary.key"), copied("chain.pem").is_some()), (None, None, true));
        assert_eq!((copied("parent.config").unwrap().trim(), copied("ssl_multicert.config").unwrap().trim()), ("", ""));
        let text = copied("records.config").unwrap();
        assert!(text.ends_with(ONLY_RULES) && !text.contains("192.0.2.1") && !text.contains("enabled INT 0"), "{text}");
        write("remap.config", b"map / http://192.0.2.1/ # \xff\n");
        assert!(built().is_err(), "rules that cannot be read are not copied as they are");
    }

    #[test]
    fn records_name_no_file_of_the_users_that_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("user");
        fs::create_dir(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        let named = [
            "cache.storage_filename",
            "cache.volume_filename",
            "cache.hosting_filename",
            "hostdb.storage_path",
            "diags.logfile.filename",
        ];
        let named = named.map(|name| format!("CONFIG proxy.config.{name} STRING /u/mine\n")).concat();
        write("records.config", &format!("{named}CONFIG proxy.config.cache.ram_cache.size INT 1\n"));
        write("storage.config", "/u/store 64M volume=1\n");
        let records = Records::read(&folder.join("records.config")).unwrap();
        assert_eq!(build(&records, &sandbox(dir.path(), None)).unwrap().rewrites.len(), 6);
        let copied = |name: &str| fs::read_to_string(dir.path().join("etc").join(name)).unwrap();
        let text = copied("records.config");
        assert!(text.starts_with("CONFIG proxy.config.cache.ram_cache.size INT 1\n") && !text.contains("/u"), "{text}");
        assert_eq!(copied("storage.config"), format!("{} 64M\n", dir.path().join("store-1").display()));
    }

    #[test]
    fn rules_and_stores_lead_into_the_copy() {
        let said = |line: &str, backend: Option<SocketAddr>| {
            remap(line, "/u/remap.config:3", Path::new("/u"), &sandbox(Path::new("/p"), backend))
        };
        let backend = Some("127.0.0.1:9".parse().unwrap());
        let rule = "map http://www.example.com/ https://10.0.0.5:443/app @plugin=gzip.so";
        assert_eq!(said(rule, backend).unwrap(), "map http://www.example.com/ http://127.0.0.1:9/app @plugin=gzip.so");
        assert_eq!(said("map / http://127.0.0.1:80/", None).unwrap(), "map / http://127.0.0.1:80/");
        assert_eq!(said("redirect /a http://x/b", backend).unwrap(), "redirect /a http://x/b");
        let remote = said(rule, None).unwrap_err().to_string();
        assert!(remote.starts_with("/u/remap.config:3: `10.0.0.5`"), "{remote}");
        let same = "map http://a.example/ http://a.example/";
        assert_eq!(said(same, backend).unwrap(), "map http://a.example/ http://127.0.0.1:9/");
        assert_eq!(
            said("REGEX_map http://a/b\thttp://a/", backend).unwrap(),
            "REGEX_map http://a/b\thttp://127.0.0.1:9/"
        );
        let with_user = said("map / http://me:hunter2@192.0.2.1/", None).unwrap_err().to_string();
        assert!(with_user.contains("`192.0.2.1`") && !with_user.contains("hunter2"), "{with_user}");
        for line in [
            ".include other.config",
            "map / \\",
            "map / a",
            "map / http://127.0.0.1/ @strategy=s",
            "map / http://127.0.0.1/ @Strategy=s",
            "map / http://127.0.0.1/ @plugin=regex_remap.so @pparam=a",
            "teleport / http://127.0.0.1/",
        ] {
            let why = said(line, backend).unwrap_err().to_string();
            assert!(why.contains("does not see") && why.contains("hint:"), "{why}");
        }
        assert!(said(".definefilter a @action=deny", backend).is_ok());
        let mut stores = 0;
        assert_eq!(store("/var/cache/trafficserver 512M", Path::new("/p"), &mut stores), "/p/store-1 512M");
        assert_eq!(store("/dev/sdb volume=1", Path::new("/p"), &mut stores), "/p/store-2 256M");
    }
}
