//! What a master of php-fpm was started with besides its configuration. Its title stands where its words and variables did
//! (sapi/fpm/fpm/fpm_env.c), but the kernel still knows how many bytes the words were (proc(5), `arg_start` and `arg_end`), and a unit of systemd's has
//! them in its file.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use genkai_place::group;
use procfs::process::Process;

use crate::upstreams::Started;

/// Folders of units, what counts first (systemd.unit(5)).
const FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
/// Flags that say nothing of settings as people write them together: in short or in long; of each group one, or none. (With all that could be written the
/// lengths would be so many that hardly any is told from them.)
const HARMLESS: [[&[&[&str]]; 3]; 2] = [
    [&[&["-F"], &["-D"]], &[&["-R"]], &[&["-y", "{}"]]],
    [&[&["--nodaemonize"], &["--daemonize"]], &[&["-R"], &["--allow-to-run-as-root"]], &[&["--fpm-config", "{}"]]],
];
/// Flags that decide PHP's settings before any pool does, and whether they have a value (sapi/fpm/fpm/fpm_main.c: OPTIONS).
const SETTING: [(&str, &str, bool); 4] = [
    ("-c", "--php-ini", true),
    ("-n", "--no-php-ini", false),
    ("-d", "--define", true),
    ("-z", "--zend-extension", true),
];

/// The words by which PHP's settings are other than its files say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Given {
    /// As they are repeated.
    pub(super) words: Vec<String>,
    /// Where they stand; empty: there are none.
    pub(super) place: String,
}

/// Those of master `pid`, whose title names the configuration `main`.
///
/// # Errors
/// That there are some which nothing tells, in words.
pub(super) fn given(pid: u32, main: &str) -> Result<Given, String> {
    let Some(length) = length(pid) else { return Ok(Given::default()) };
    let (folders, names) = (FOLDERS.map(PathBuf::from), names(pid));
    // A unit may start something else that starts it.
    let own = |unit: &Unit| unit.words.first().is_some_and(|word| names.contains(word));
    match group::unit(pid).and_then(|unit| of_unit(&folders, &unit)).filter(own) {
        Some(unit) if unit.length() == length => unit.given(pid),
        None if plain(&names, main).contains(&length) => Ok(Given::default()),
        _ => Err(format!(
            "it was started with {length} bytes of words, which are others than its title tells: PHP may have other settings by them (-c, -n, -d) than \
             its files say"
        )),
    }
}

/// How many bytes its words were, each with a zero; none where that is not told.
fn length(pid: u32) -> Option<usize> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    let (from, to) = (stat.arg_start?, stat.arg_end?);
    usize::try_from(to.checked_sub(from)?).ok().filter(|length| *length > 0)
}

/// How long these words are.
fn bytes<'w>(words: impl IntoIterator<Item = &'w str>) -> usize {
    words.into_iter().map(|word| word.len() + 1).sum()
}

/// By what process `pid` may have been called: its program, or a link to it of the name that the kernel knows it by, each with its folder or without.
fn names(pid: u32) -> BTreeSet<String> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let called = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    let file = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let whole = [program.clone(), program.with_file_name(&called)].map(|path| path.to_string_lossy().into_owned());
    [called, file].into_iter().chain(whole).filter(|name| !name.is_empty()).collect()
}

/// How long words can be that say nothing of PHP's settings.
fn plain(names: &BTreeSet<String>, main: &str) -> BTreeSet<usize> {
    let more = |flag: &&[&str]| flag.iter().map(|word| word.replace("{}", main).len() + 1).sum::<usize>();
    let of = |groups: [&[&[&str]]; 3]| {
        let mut all: BTreeSet<usize> = names.iter().map(|name| bytes([name.as_str()])).collect();
        for flags in groups {
            let with: Vec<usize> =
                flags.iter().map(more).flat_map(|more| all.iter().map(move |had| had + more)).collect();
            all.extend(with);
        }
        all
    };
    HARMLESS.into_iter().flat_map(of).collect()
}

/// What a unit starts.
#[derive(Debug, PartialEq)]
struct Unit {
    words: Vec<String>,
    /// `path:line` of them.
    place: String,
    /// Files that say what it starts.
    files: Vec<PathBuf>,
}

impl Unit {
    fn length(&self) -> usize {
        bytes(self.words.iter().map(String::as_str))
    }

    /// What of them decides PHP's settings.
    fn given(&self, pid: u32) -> Result<Given, String> {
        Started::of(pid).has_read(self.files.iter().map(PathBuf::as_path))?;
        let words = settings(&self.words);
        let place = if words.is_empty() { String::new() } else { self.place.clone() };
        Ok(Given { words, place })
    }
}

/// Flags that decide settings, with their values, of these words.
fn settings(words: &[String]) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), words.iter().skip(1));
    while let Some(word) = rest.next() {
        let of = |(short, long, _): &&(&str, &str, bool)| {
            word == long
                || word.strip_prefix(long).is_some_and(|rest| rest.starts_with('='))
                || word.starts_with(short) && !word.starts_with("--")
        };
        let Some((short, long, valued)) = SETTING.iter().find(of) else { continue };
        all.push(word.clone());
        if *valued && (word == short || word == long) {
            all.extend(rest.next().cloned());
        }
    }
    all
}

/// The last `ExecStart=` of a unit, its own files before those that are dropped beside it; none where its words are only known to systemd.
fn of_unit(folders: &[PathBuf], unit: &str) -> Option<Unit> {
    let template = unit.split_once('@').map(|(name, _)| format!("{name}@.service"));
    let names = [Some(unit.to_owned()), template].into_iter().flatten();
    let main = names.clone().find_map(|name| folders.iter().map(|dir| dir.join(&name)).find(|path| path.is_file()));
    let dropped = names.flat_map(|name| folders.iter().map(move |dir| dir.join(format!("{name}.d"))));
    let mut more: Vec<PathBuf> = Vec::new();
    for entry in dropped.filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten() {
        let same = |path: &PathBuf| path.file_name() == Some(&entry.file_name());
        if entry.file_name().to_string_lossy().ends_with(".conf") && !more.iter().any(same) {
            more.push(entry.path());
        }
    }
    more.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
    let files: Vec<PathBuf> = main.into_iter().chain(more).collect();
    let mut found = None;
    for path in &files {
        let text = fs::read_to_string(path).ok()?;
        for (at, line) in lines(&text) {
            match line.split_once('=').filter(|(key, _)| key.trim() == "ExecStart").map(|(_, value)| value.trim()) {
                Some("") => found = None,
                Some(value) => found = Some((value.to_owned(), format!("{}:{at}", path.display()))),
                None => {}
            }
        }
    }
    let (value, place) = found?;
    Some(Unit { words: words(&value)?, place, files })
}

/// Lines with their numbers; a backslash at the end of one continues it (systemd.syntax(7)).
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
        match all.last_mut().filter(|_| open) {
            Some((_, before)) => *before += &format!(" {line}"),
            None => all.push((number + 1, line.to_owned())),
        }
        open = goes_on;
    }
    all.retain(|(_, line)| !line.trim_start().starts_with(['#', ';']));
    all
}

/// The words of a command (systemd.service(5)); none where they hold what only systemd puts in: variables and specifiers, escapes, or another name.
fn words(value: &str) -> Option<Vec<String>> {
    let value = value.trim_start_matches(['-', ':', '+', '!', '|']);
    if value.contains(['$', '%', '\\', '@']) {
        return None;
    }
    let (mut all, mut rest) = (Vec::new(), value.trim_start());
    while let Some(first) = rest.chars().next() {
        let (word, left) = match first {
            quote @ ('"' | '\'') => rest[1..].split_once(quote)?,
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        if first != '"' && first != '\'' && word.contains(['"', '\'']) {
            return None;
        }
        all.push(word.to_owned());
        rest = left.trim_start();
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn of(text: &str, dropped: &[(&str, &str)]) -> Option<Unit> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("php.service"), text).unwrap();
        fs::create_dir(dir.path().join("php.service.d")).unwrap();
        for (name, text) in dropped {
            fs::write(dir.path().join("php.service.d").join(name), text).unwrap();
        }
        of_unit(&[dir.path().to_owned()], "php.service")
    }

    #[test]
    fn a_unit_tells_the_words_that_its_files_have_as_they_are() {
        let text = "[Service]\n# ExecStart=/x\nExecStart=/usr/sbin/php-fpm8.2 --nodaemonize \\\n  --fpm-config /etc/php.conf\n";
        let unit = of(text, &[]).unwrap();
        assert_eq!(unit.words, ["/usr/sbin/php-fpm8.2", "--nodaemonize", "--fpm-config", "/etc/php.conf"]);
        assert!(unit.place.ends_with("php.service:3"), "{}", unit.place);
        let own = "[Service]\nExecStart=\nExecStart=-/usr/sbin/php-fpm8.2 -F \"-dmemory_limit=24M\"\n";
        let unit = of(text, &[("a.conf", own), ("a.conf.bak", "ExecStart=/y\n")]).unwrap();
        assert_eq!(unit.words, ["/usr/sbin/php-fpm8.2", "-F", "-dmemory_limit=24M"]);
        assert!(unit.place.ends_with("php.service.d/a.conf:3"), "{}", unit.place);
        for hidden in ["/x $OPTIONS", "/x %i", "@/x y", "/x a\"b\"", "/x \"a"] {
            assert_eq!(of(&format!("[Service]\nExecStart={hidden}\n"), &[]), None, "{hidden}");
        }
        assert_eq!(of("[Service]\nExecStart=/x\nExecStart=\n", &[]), None);
    }

    #[test]
    fn flags_that_decide_settings_are_told_with_their_values() {
        let of = |line: &str| settings(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).join(" ");
        assert_eq!(of("php-fpm -F -d a=1 -y /c -n --php-ini=/x"), "-d a=1 -n --php-ini=/x");
        assert_eq!(of("php-fpm --define b=2 -c/etc --daemonize -R"), "--define b=2 -c/etc");
    }

    #[test]
    fn words_that_are_hidden_by_a_title_are_told_by_their_length() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("fpm.conf");
        let (path, root) = (main.display().to_string(), dir.path().display());
        fs::write(
            &main,
            format!("[global]\nerror_log = {root}/log\n[www]\nlisten = {root}/s\nuser = nobody\ngroup = nogroup\npm = static\npm.max_children = 1\n"),
        )
        .unwrap();
        let started = |words: &[&str]| {
            let _ = fs::remove_file(dir.path().join("s"));
            let mut child =
                Command::new("php-fpm8.2").args(words).stderr(Stdio::null()).spawn().expect("php-fpm8.2 is installed");
            let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
            while !dir.path().join("s").exists() && std::time::Instant::now() < until {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let said = super::super::serving::titled_path(child.id()).map(|main| given(child.id(), &main));
            // Killed at once, its children would go on.
            let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
            child.wait().unwrap();
            said
        };
        assert_eq!(started(&["-F", "-R", "-y", &path]), Some(Ok(Given::default())));
        assert_eq!(started(&["--nodaemonize", "-R", "--fpm-config", &path]), Some(Ok(Given::default())));
        let hidden = started(&["-F", "-R", "-y", &path, "-d", "memory_limit=24M"]).unwrap().unwrap_err();
        assert!(hidden.contains("bytes of words") && hidden.contains("-d"), "{hidden}");
    }
}
