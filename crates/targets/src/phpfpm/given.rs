//! What a master of php-fpm was started with besides its configuration. Its title stands where its words and variables did
//! (sapi/fpm/fpm/fpm_env.c), but the kernel still knows how many bytes the words were (proc(5), `arg_start` and `arg_end`), and a unit of systemd's has
//! them in its file.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use genkai_place::group;
use procfs::process::Process;

use crate::upstreams::Started;

mod words;

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
/// Folders that programs are called by, some of them links to others (hier(7)).
const CALLED: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// The entry of the auxiliary vector that has the address of the path that was executed (getauxval(3), AT_EXECFN), and the longest one (PATH_MAX).
const EXECUTED: (u64, usize) = (31, 4096);

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
    let folders = FOLDERS.map(PathBuf::from);
    told(pid, main, length, group::unit(pid).and_then(|unit| of_unit(&folders, &unit)))
}

/// The same where its words have so many bytes and it is in this unit.
fn told(pid: u32, main: &str, length: usize, unit: Option<Unit>) -> Result<Given, String> {
    let names = names(pid);
    // A unit may start something else that starts it.
    let own =
        |unit: &Unit| unit.words.first().is_some_and(|word| names.contains(word) || leads_to(word, &program(pid)));
    match unit.filter(own) {
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

/// The program of process `pid`; empty where that is not told.
fn program(pid: u32) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default()
}

/// Whether a path is that program, by links or not.
fn leads_to(path: &str, program: &Path) -> bool {
    path.starts_with('/') && fs::canonicalize(path).is_ok_and(|path| path == program)
}

/// By what process `pid` may have been called: the path that was executed, or its name alone, by which a shell finds it. Where that path cannot be
/// read, the paths that it is likely to have been.
fn names(pid: u32) -> BTreeSet<String> {
    let program = program(pid);
    let called = match executed(pid) {
        // fexecve(3): it was found by a descriptor.
        Some(path) if path.starts_with("/dev/fd/") => {
            program.file_name().unwrap_or_default().to_string_lossy().into_owned()
        }
        Some(path) => {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            return [path, name].into();
        }
        None => fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default(),
    };
    spellings(&program, called.trim_end_matches('\n'))
}

/// The path that was executed to start process `pid`: the kernel keeps it above the words and variables, where no title is written. None where
/// this process may not read it (ptrace(2), PTRACE_MODE_ATTACH).
fn executed(pid: u32) -> Option<String> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    let (entry, longest) = EXECUTED;
    let at = *process.auxv().ok()?.get(&entry)?;
    let (memory, mut path) = (process.mem().ok()?, vec![0; longest]);
    let read = memory.read_at(&mut path, at).ok()?;
    let path = path[..read].split(|byte| *byte == 0).next()?;
    String::from_utf8(path.to_vec()).ok().filter(|path| !path.is_empty())
}

/// Names of a program that the kernel knows as `called` (the name of what was executed, fifteen bytes of it: proc(5), `comm`), with folders from which it
/// is reached or without.
fn spellings(program: &Path, called: &str) -> BTreeSet<String> {
    let own = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = if called.len() == 15 && own.starts_with(called) { own } else { called.to_owned() };
    let folders = program.parent().into_iter().chain(CALLED.iter().map(Path::new));
    let paths = folders.map(|folder| folder.join(&name).to_string_lossy().into_owned());
    let mut all: BTreeSet<String> = paths.filter(|path| leads_to(path, program)).collect();
    all.extend((!name.is_empty()).then_some(name));
    all
}

/// How long words can be that say nothing of PHP's settings.
fn plain(names: &BTreeSet<String>, main: &str) -> BTreeSet<usize> {
    let more = |flag: &&[&str]| flag.iter().map(|word| word.replace("{}", main).len() + 1).sum::<usize>();
    let of = |groups: [&[&[&str]]; 3]| {
        let mut all: BTreeSet<usize> = names.iter().map(|name| bytes([name.as_str()])).collect();
        for flags in groups {
            let with: Vec<usize> =
                flags.iter().map(more).flat_map(|more| all.iter().map(move |had| had + more)).collect();
            // What is read where none is named is always called so (sapi/fpm/fpm/fpm_conf.c: fpm_conf_init_main).
            if flags.iter().flat_map(|flag| flag.iter()).any(|word| *word == "{}") && !main.ends_with("/php-fpm.conf") {
                all.clear();
            }
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
        let words = words::settings(&self.words, || {
            fs::read_link(format!("/proc/{pid}/cwd"))
                .map_err(|why| format!("its working directory cannot be read ({why})"))
        })
        .map_err(|why| format!("of the words that it was started with ({}), {why}", self.place))?;
        let place = if words.is_empty() { String::new() } else { self.place.clone() };
        Ok(Given { words, place })
    }
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
    Some(Unit { words: split(&value)?, place, files })
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
fn split(value: &str) -> Option<Vec<String>> {
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

    use super::super::ini::Ini;
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
    fn a_program_is_called_by_links_that_lead_to_it_and_by_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let (program, other) = (dir.path().join("php-fpm8.2"), dir.path().join("php-fpm"));
        fs::write(&program, "").unwrap();
        let all = |called: &str| spellings(&program, called);
        let path = |path: &Path| path.display().to_string();
        assert_eq!(all("php-fpm8.2"), [path(&program), "php-fpm8.2".to_owned()].into());
        fs::write(&other, "").unwrap();
        assert_eq!(all("php-fpm"), ["php-fpm".to_owned()].into());
        fs::remove_file(&other).unwrap();
        std::os::unix::fs::symlink(&program, &other).unwrap();
        assert_eq!(all("php-fpm"), [path(&other), "php-fpm".to_owned()].into());
        // Where /sbin is a link, either path.
        let shell = fs::canonicalize("/bin/sh").unwrap();
        let name = shell.file_name().unwrap().to_string_lossy().into_owned();
        assert!(spellings(&shell, &name).contains(&format!("/bin/{name}")));
        let long = dir.path().join("php-fpm-of-our-own");
        fs::write(&long, "").unwrap();
        assert!(spellings(&long, "php-fpm-of-our-").contains("php-fpm-of-our-own"));
    }

    /// A php-fpm with a pool in a folder of its own.
    struct Own {
        dir: tempfile::TempDir,
    }

    impl Own {
        fn new() -> Own {
            let own = Own { dir: tempfile::tempdir().unwrap() };
            let root = own.dir.path().display();
            let text = format!(
                "[global]\npid = {root}/pid\nerror_log = {root}/log\n[www]\nlisten = {root}/s\nuser = nobody\ngroup = nogroup\npm = static\npm.max_children = 1\n"
            );
            fs::write(own.dir.path().join("fpm.conf"), text).unwrap();
            own
        }

        fn path(&self, name: &str) -> String {
            self.dir.path().join(name).display().to_string()
        }

        /// Its master while it serves, started in its folder, with what its title says; none where it has none.
        fn serves<T>(&self, program: &str, words: &[&str], seen: impl FnOnce(u32, &str) -> T) -> Option<T> {
            let mut child = Command::new(program)
                .args(words)
                .current_dir(self.dir.path())
                .stderr(Stdio::null())
                .spawn()
                .expect("php-fpm8.2 is installed");
            let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
            let number = || fs::read_to_string(self.path("pid")).ok()?.trim().parse().ok();
            // It is another process where it went into the background; it removes the file when it ends.
            let pid: u32 = loop {
                assert!(std::time::Instant::now() < until, "php-fpm does not serve");
                match number() {
                    Some(pid) => break pid,
                    None => std::thread::sleep(std::time::Duration::from_millis(5)),
                }
            };
            let said = super::super::serving::titled_path(pid).map(|main| seen(pid, &main));
            // Killed at once, its children would go on.
            let master = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
            nix::sys::signal::kill(master, nix::sys::signal::Signal::SIGTERM).unwrap();
            child.wait().unwrap();
            while nix::sys::signal::kill(master, None).is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            said
        }

        /// What is told of one that has these words in a unit.
        fn of_unit(&self, program: &str, words: &[&str]) -> Result<Given, String> {
            let unit = of(&format!("[Service]\nExecStart={program} {}\n", words.join(" ")), &[]).unwrap();
            // Its file was there for a test only.
            let unit = Unit { files: Vec::new(), ..unit };
            self.serves(program, words, |pid, main| told(pid, main, length(pid).unwrap(), Some(unit))).unwrap()
        }
    }

    const PROGRAM: &str = "/usr/sbin/php-fpm8.2";

    #[test]
    fn words_that_are_hidden_by_a_title_are_told_by_their_length() {
        let own = Own::new();
        let path = own.path("fpm.conf");
        let started = |program: &str, words: &[&str]| own.serves(program, words, given);
        assert_eq!(started("php-fpm8.2", &["-F", "-R", "-y", &path]), Some(Ok(Given::default())));
        let long = ["--nodaemonize", "-R", "--fpm-config", &path];
        assert_eq!(started("php-fpm8.2", &long), Some(Ok(Given::default())));
        // By a path with a link in it, and by a link.
        std::os::unix::fs::symlink(PROGRAM, own.path("php-fpm")).unwrap();
        for program in [PROGRAM, "/sbin/php-fpm8.2", &own.path("php-fpm")] {
            assert_eq!(started(program, &["-F", "-R", "-y", &path]), Some(Ok(Given::default())), "{program}");
        }
        for words in [&["-F", "-R", "-y", &path, "-d", "memory_limit=24M"][..], &["-FRn", "-y", &path]] {
            let hidden = started("php-fpm8.2", words).unwrap().unwrap_err();
            assert!(hidden.contains("bytes of words") && hidden.contains("-d"), "{hidden}");
        }
    }

    #[test]
    fn a_unit_tells_the_words_of_a_program_that_it_names_by_links() {
        let own = Own::new();
        let path = own.path("fpm.conf");
        std::os::unix::fs::symlink(PROGRAM, own.path("first")).unwrap();
        std::os::unix::fs::symlink(own.path("first"), own.path("php-fpm")).unwrap();
        let words = ["-FR", "-y", &path, "-d", "memory_limit=2400M"];
        for program in [PROGRAM, "/sbin/php-fpm8.2", &own.path("php-fpm")] {
            let given = own.of_unit(program, &words).unwrap();
            assert_eq!(given.words, ["-d", "memory_limit=2400M"], "{program}");
            assert!(given.place.ends_with("php.service:2"), "{}", given.place);
        }
        // Another program is not it, though it has as many bytes.
        let other = of(&format!("[Service]\nExecStart=/usr/sbin/php-fpm8.9 {}\n", words.join(" ")), &[]);
        let said = own.serves(PROGRAM, &words, |pid, main| told(pid, main, length(pid).unwrap(), other)).unwrap();
        assert!(said.as_ref().is_err_and(|why| why.contains("bytes of words")), "{said:?}");
    }

    #[test]
    fn a_relative_path_of_php_ini_is_of_its_working_directory() {
        let own = Own::new();
        fs::write(own.path("php.ini"), "memory_limit = 23M\n").unwrap();
        for words in [["-FRc", "php.ini", "-y", "fpm.conf"], ["-DRc", ".", "-y", "fpm.conf"]] {
            let given = own.of_unit(PROGRAM, &words).unwrap();
            let ini = Ini::asked(Path::new(PROGRAM), &[], &given);
            assert_eq!(ini.value("memory_limit", |text| Some(text.to_owned())).unwrap().value, "23M", "{given:?}");
        }
        let none = own.of_unit(PROGRAM, &["-FRc", "gone.ini", "-y", "fpm.conf"]).unwrap_err();
        assert!(none.contains("`-c gone.ini`") && none.contains("is not there"), "{none}");
    }

    #[test]
    fn short_flags_that_stand_together_are_read_as_php_reads_them() {
        let own = Own::new();
        let path = own.path("fpm.conf");
        for cluster in ["-FRn", "-nFR", "-RnF"] {
            let given = own.of_unit(PROGRAM, &[cluster, "-y", &path]).unwrap();
            assert_eq!(given.words, ["-n"], "{cluster}");
            let ini = Ini::asked(Path::new(PROGRAM), &[], &given);
            assert!(ini.value("memory_limit", |text| Some(text.to_owned())).is_some() && ini.files().next().is_none());
        }
    }
}
