//! What PHP says when it ends a script, whatever way it comes: FastCGI's stderr in the log of the product before it, or a log of PHP's own.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Origin, Sign, Signature, Strength};
use regex::Regex;

use super::{errors, log};

/// main/main.c and Zend/zend_alloc.c (`Allowed memory size of %zu bytes exhausted`), Zend/zend_execute_API.c (`Maximum execution time of
/// %d second%s exceeded`). What a request sent comes later in the line, if at all.
static FATAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^((?:PHP message: .*?; PHP message: )??)(?:PHP message: )?PHP Fatal error:  (?:Allowed memory size of (\d+) bytes exhausted|Maximum execution time of (\d+) seconds? exceeded)",
    )
    .expect("pattern is a constant")
});

/// The signature of a message by which PHP tells that it has ended a script. It has the number that was in force for that script, which may have
/// set one of its own: only where it is that of the configuration, the configuration is the limit.
pub(crate) fn ended(message: &str) -> Option<String> {
    let found = FATAL.captures(message)?;
    let ended = match (found.get(2), found.get(3)) {
        (Some(bytes), _) => memory(bytes.as_str().parse().ok()?),
        (_, Some(seconds)) => time(seconds.as_str().parse().ok()?),
        _ => return None,
    };
    // What stands before it may have words of a visitor's in it.
    Some(if found.get(1).is_some_and(|before| !before.is_empty()) { likely(&ended) } else { ended })
}

/// The same where it may be what another script told, or what a visitor wrote.
pub(crate) fn likely(signature: &str) -> String {
    format!("{signature}.likely")
}

/// That of scripts that ask for more than so many bytes.
pub(crate) fn memory(bytes: u64) -> String {
    format!("php.memory_limit.{bytes}")
}

/// That of scripts that take longer than so many seconds.
pub(crate) fn time(seconds: u64) -> String {
    format!("php.max_execution_time.{seconds}")
}

/// The signature of a message with this number.
type Signed = fn(u64) -> String;

/// What ends a script, each with its signature.
const ENDS: [(&str, Signed); 2] = [("memory_limit", memory), ("max_execution_time", time)];

/// How a script that is ended is answered (main/main.c: php_error_cb).
pub(crate) const ANSWER: &str = "answered with 500, or, with display_errors on or where output had begun, as if nothing had failed, with the message or cut short";

/// Where it is written down what a product may pass on to PHP with a request.
const PASSED: &str = "php.net/manual/configuration.changes.modes; PHP_VALUE and PHP_ADMIN_VALUE: fastcgi_ini_parser of PHP's FastCGI servers; a \
                      pool's php_admin_value counts before both";

/// The signs that PHP ends scripts by a setting with this number: `name` is that of [`memory`] or [`time`].
pub(crate) fn ending(name: &str) -> Vec<Signature> {
    vec![log(name, Strength::Decisive), log(&likely(name), Strength::Supports)]
}

/// The signs that it ends some by another number than the one that `name` has.
pub(crate) fn ending_otherwise(name: &str) -> Vec<Signature> {
    let Some((before, number)) = name.rsplit_once('.') else { return Vec::new() };
    let other = |after: String, strength| {
        let known = number.parse().into_iter().collect();
        Signature { sign: Sign::LogOther { before: format!("{before}."), known, after }, strength }
    };
    vec![other(String::new(), Strength::Decisive), other(likely(""), Strength::Supports)]
}

/// Most that is read of a site's own file.
const MOST: u64 = 1 << 20;

/// What a file has that the site's user may have put there: nothing but a plain file is read, and not more than [`MOST`] of it.
fn written(path: &Path) -> Option<Vec<u8>> {
    // A pipe is not waited for.
    let file = std::fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let mut bytes = Vec::new();
    file.metadata().ok()?.is_file().then_some(())?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What a configuration before PHP, or a file of the site's, gives PHP for the requests that count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passed {
    /// What gives it, e.g. `PHP_VALUE`.
    pub(crate) by: String,
    /// Settings as php.ini has them, a line each.
    pub(crate) text: String,
    /// Where that is.
    pub(crate) origin: Origin,
}

impl Passed {
    /// What the file `.user.ini` of a folder of scripts says, a setting each, what counts of two lines first; nothing where there is none.
    /// (main/main.c: user_ini.filename is left as it is nearly everywhere.)
    pub(crate) fn of_site(folder: &Path) -> Vec<Passed> {
        let path = folder.join(SITES);
        let text = written(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let line = |(number, line): (usize, &str)| Passed {
            by: SITES.to_owned(),
            text: line.to_owned(),
            origin: Origin::File { path: path.clone(), line: number + 1 },
        };
        let mut all: Vec<Passed> = text.lines().enumerate().map(line).collect();
        all.reverse();
        all
    }

    /// The value of a setting of that name, as it is written there; of several lines the last.
    fn value(&self, name: &str) -> Option<String> {
        let of = |line: &str| {
            let (key, value) = line.split_once('=')?;
            let value = value.split(';').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            (key.trim() == name).then(|| value.to_owned())
        };
        self.text.lines().filter_map(of).next_back()
    }

    /// The setting as a limit; none where it is not given, or is none.
    fn limit(&self, name: &str, signature: Signed) -> Option<Limit> {
        let value = self.value(name)?;
        let number = bytes(&value).filter(|number| *number > 0)?;
        let (path, line) = match &self.origin {
            Origin::File { path, line } => (path.clone(), *line),
            _ => (PathBuf::new(), 0),
        };
        let what = if name == ENDS[0].0 { "ask for more than" } else { "compute for longer than" };
        Some(Limit {
            caps: format!(
                "scripts that {what} {name} = {value}, as {} says ({}:{line}), are ended, with one user as with many: {ANSWER}",
                self.by,
                path.display()
            ),
            value,
            origin: self.origin.clone(),
            formula: "each request has that of its own, so that no load is too much: it is what these scripts ask for"
                .to_owned(),
            source: PASSED.to_owned(),
            signatures: ending(&signature(number)),
            symptom: errors(&[ErrorKind::Status500]),
            ..Limit::named(&passed_id(&self.by, name), "PHP", &format!("{name} ({})", self.by))
        })
    }
}

/// What is given to PHP beside its own files, as limits. What a script cannot change counts before the site's `.user.ini`, and that before what
/// else is passed with a request (php-fpm 8.2, tried: `PHP_ADMIN_VALUE`, `.user.ini`, `PHP_VALUE`, the pool's `php_value`); of these files that
/// of the script's own folder comes first.
pub(crate) fn passed(given: impl Fn(&str) -> Option<Passed>, sites: &[PathBuf]) -> Vec<Limit> {
    let of_sites = sites.iter().flat_map(|folder| Passed::of_site(folder));
    let all: Vec<Passed> = given(FIRMLY).into_iter().chain(of_sites).chain(given(LOOSELY)).collect();
    let counts = |name: &str| all.iter().find(|one| one.value(name).is_some());
    ENDS.iter().filter_map(|(name, signature)| counts(name)?.limit(name, *signature)).collect()
}

/// What a product passes on to PHP's FastCGI servers with a request: settings that a script cannot change, and others.
const FIRMLY: &str = "PHP_ADMIN_VALUE";
const LOOSELY: &str = "PHP_VALUE";
/// The file of a folder of scripts that gives PHP settings.
const SITES: &str = ".user.ini";

/// The limit by which `by` gives PHP the setting `name`.
fn passed_id(by: &str, name: &str) -> String {
    format!("php.{}.{name}", by.trim_start_matches('.'))
}

/// Whether a limit is one that is given to PHP beside its own files.
fn is_passed(limit: &Limit, name: &str) -> bool {
    [FIRMLY, SITES, LOOSELY].iter().any(|by| limit.id == passed_id(by, name))
}

/// How a pool's setting is called in its limit; one that the pool gives by `php_admin_value` counts before whatever comes with a request.
pub(crate) fn pools(name: &str, firm: bool) -> String {
    format!("{}{name}", if firm { FIRM } else { "" })
}

/// What stands before the name of a setting that nobody else can change.
const FIRM: &str = "php_admin_value.";

/// Limits of a system, of which a number that has a limit of its own is no other one, and one that is given to PHP from outside is no pool's, unless
/// the pool's counts before it.
pub fn settled(all: &mut [Limit]) {
    for (name, _) in ENDS {
        of_pools(all, name);
        from_outside(all, name);
    }
}

fn named(limit: &Limit) -> Vec<String> {
    let name = |one: &Signature| if let Sign::Log(name) = &one.sign { Some(name.clone()) } else { None };
    limit.signatures.iter().filter_map(name).collect()
}

fn is_firm(limit: &Limit, name: &str) -> bool {
    limit.id.ends_with(&format!(".{FIRM}{name}"))
}

/// What comes with a request is in force nowhere where each pool has a number of its own that counts before it; where only some have, what PHP
/// says may be of either.
fn of_pools(all: &mut [Limit], name: &str) {
    let pools = all.iter().filter(|one| one.id.ends_with(&otherwise(name))).count();
    let firm: Vec<String> = all.iter().filter(|one| is_firm(one, name)).flat_map(named).collect();
    let same = |limit: &Limit| named(limit).iter().any(|sign| firm.contains(sign));
    let nowhere = pools > 0 && all.iter().filter(|one| is_firm(one, name)).count() == pools;
    let either = all.iter().any(|limit| is_passed(limit, name) && same(limit));
    for limit in all.iter_mut().filter(|limit| is_passed(limit, name)) {
        if nowhere {
            limit.signatures.clear();
        } else if same(limit) {
            unsure(limit);
        }
    }
    let told: Vec<String> = all.iter().filter(|one| is_passed(one, name)).flat_map(named).collect();
    let shares = |limit: &&mut Limit| is_firm(limit, name) && named(limit).iter().any(|sign| told.contains(sign));
    all.iter_mut().filter(|_| either && !nowhere).filter(shares).for_each(unsure);
}

fn unsure(limit: &mut Limit) {
    limit.signatures.iter_mut().for_each(|one| one.strength = one.strength.min(Strength::Supports));
}

/// The end of the identifier of a pool's limit by which PHP has another number than the configuration.
pub(crate) fn otherwise(name: &str) -> String {
    format!(".{name}.otherwise")
}

fn from_outside(all: &mut [Limit], name: &str) {
    let given: BTreeSet<String> = all.iter().filter(|limit| is_passed(limit, name)).flat_map(named).collect();
    for limit in all.iter_mut().filter(|limit| !is_passed(limit, name)) {
        if !is_firm(limit, name) {
            limit.signatures.retain(|one| !matches!(&one.sign, Sign::Log(name) if given.contains(name)));
        }
        for one in &mut limit.signatures {
            let Sign::LogOther { before, known, after } = &mut one.sign else { continue };
            let number = |name: &String| name.strip_prefix(&*before)?.strip_suffix(&*after)?.parse::<u64>().ok();
            known.extend(given.iter().filter_map(number));
        }
    }
}

/// Bytes of `128M`, `1G`, `64K` (Zend/zend_ini.c); `-1` is no limit, 0 here.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let unit = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => 1 << 10,
        b'm' => 1 << 20,
        b'g' => 1 << 30,
        _ => return Some(text.parse::<i64>().ok()?.try_into().unwrap_or(0)),
    };
    text[..text.len() - 1].trim().parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_or_a_device_of_the_site_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".user.ini");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(Passed::of_site(dir.path()), []);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert_eq!(Passed::of_site(dir.path()), []);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "memory_limit = 8M\n").unwrap();
        assert_eq!(Passed::of_site(dir.path())[0].value("memory_limit").as_deref(), Some("8M"));
    }

    #[test]
    fn what_php_says_is_told_with_the_number_that_was_in_force() {
        let rest = "(tried to allocate 41947136 bytes) in /srv/mem.php on line 1";
        let said = format!("PHP message: PHP Fatal error:  Allowed memory size of 16777216 bytes exhausted {rest}");
        assert_eq!(ended(&said), Some(memory(16 << 20)));
        // Messages of one request are joined (sapi/fpm/fpm/fpm_main.c: sapi_cgi_log_fastcgi).
        let joined = format!("PHP message: PHP Warning:  x in /a.php on line 3; {said}");
        assert_eq!(ended(&joined), Some(likely(&memory(16 << 20))));
        assert_eq!(ended(&format!("{said}; {said}")), Some(memory(16 << 20)));
        let time_of = |text: &str| {
            ended(&format!("PHP Fatal error:  Maximum execution time of {text} exceeded in /a.php on line 1"))
        };
        assert_eq!((time_of("1 second"), time_of("30 seconds")), (Some(time(1)), Some(time(30))));
        for other in [
            "PHP message: PHP Warning:  a visitor wrote PHP Fatal error:  Allowed memory size of 16777216 bytes exhausted",
            "PHP Fatal error:  Uncaught Exception: Allowed memory size of 1 bytes exhausted",
            "PHP Fatal error:  Allowed memory size of 99999999999999999999999 bytes exhausted",
        ] {
            assert_eq!(ended(other), None, "{other}");
        }
    }

    fn passed_by(text: &str) -> Vec<Limit> {
        let origin = Origin::File { path: "/etc/nginx/nginx.conf".into(), line: 9 };
        let given = |by: &str| Passed { by: by.to_owned(), text: text.to_owned(), origin: origin.clone() };
        passed(|name| (name == LOOSELY).then(|| given(name)), &[])
    }

    #[test]
    fn what_is_passed_with_a_request_is_a_limit_with_its_line_and_no_pools() {
        let given = passed_by("memory_limit = \"16M\" ; few\n max_execution_time=3\ndisplay_errors=1");
        let told: Vec<_> = given.iter().map(|one| (one.setting.as_str(), one.value.as_str())).collect();
        assert_eq!(told, [("memory_limit (PHP_VALUE)", "16M"), ("max_execution_time (PHP_VALUE)", "3")]);
        assert_eq!(given[0].signatures, ending(&memory(16 << 20)));
        assert!(
            given[0].caps.contains("memory_limit = 16M, as PHP_VALUE says (/etc/nginx/nginx.conf:9)"),
            "{}",
            given[0].caps
        );
        assert!(passed_by("memory_limit=-1\nupload_max_filesize=2M").is_empty());
        let pool = |signatures| Limit { signatures, ..Limit::named("pool.memory_limit", "pool", "memory_limit") };
        let mut all = [pool(ending(&memory(16 << 20))), pool(ending_otherwise(&memory(32 << 20)))];
        settled(&mut all);
        assert_eq!(all[1].signatures, ending_otherwise(&memory(32 << 20)), "nobody gives another one");
        let mut all = [all[0].clone(), all[1].clone(), given[0].clone()];
        settled(&mut all);
        assert!(all[0].signatures.is_empty(), "it is told as what gives it: {:?}", all[0]);
        let known =
            |one: &Signature| if let Sign::LogOther { known, .. } = &one.sign { known.clone() } else { Vec::new() };
        assert_eq!(
            all[1].signatures.iter().map(known).collect::<Vec<_>>(),
            [[32 << 20, 16 << 20], [32 << 20, 16 << 20]]
        );
        assert_eq!(all[2], given[0]);
    }

    /// php-fpm 8.2: a pool's php_admin_value counts before PHP_ADMIN_VALUE, too.
    #[test]
    fn a_pools_own_number_that_nobody_can_change_counts_before_the_same_that_is_passed() {
        let pool = |pool: &str, firm: bool, bytes: u64| {
            let limit = |id: &str, signatures| Limit { signatures, ..Limit::named(id, "pools", "memory_limit") };
            let own = limit(&format!("pools.{pool}.{}", pools("memory_limit", firm)), ending(&memory(bytes)));
            let other = format!("pools.{pool}{}", otherwise("memory_limit"));
            [own, limit(&other, ending_otherwise(&memory(bytes)))]
        };
        let settled = |pools: &[[Limit; 2]]| {
            let mut all = [passed_by("memory_limit=16M"), pools.concat()].concat();
            settled(&mut all);
            let signs = all
                .iter()
                .filter(|one| !one.id.ends_with("otherwise"))
                .map(|one| one.signatures.iter().map(|sign| sign.strength).max());
            signs.collect::<Vec<_>>()
        };
        let (sure, unsure) = (Some(Strength::Decisive), Some(Strength::Supports));
        assert_eq!(settled(&[pool("www", true, 16 << 20)]), [None, sure], "the pool's counts");
        assert_eq!(settled(&[pool("www", true, 32 << 20)]), [None, sure], "what is passed is in force nowhere");
        assert_eq!(settled(&[pool("www", false, 16 << 20)]), [sure, None], "what is passed counts");
        let both = [pool("www", true, 16 << 20), pool("b", false, 32 << 20)];
        assert_eq!(settled(&both), [unsure, unsure, sure], "it may be of either");
    }

    #[test]
    fn the_file_of_a_site_is_read_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Passed::of_site(dir.path()).is_empty());
        let path = dir.path().join(".user.ini");
        std::fs::write(&path, "; of the shop\nmemory_limit = 24M\n").unwrap();
        let all = passed(|_| None, &[dir.path().to_owned()]);
        assert_eq!((all.len(), &all[0].origin), (1, &Origin::File { path, line: 2 }));
        assert_eq!((all[0].id.as_str(), &all[0].signatures), ("php.user.ini.memory_limit", &ending(&memory(24 << 20))));
    }
}
