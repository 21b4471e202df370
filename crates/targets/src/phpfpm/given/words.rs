//! The words that php-fpm was started with, as it reads them.

use std::path::PathBuf;

/// What php-fpm can be started with to serve, and whether it has a value (sapi/fpm/fpm/fpm_main.c: OPTIONS; with the others it says something and ends).
const OPTIONS: [(char, &str, bool); 11] = [
    ('c', "php-ini", true),
    ('n', "no-php-ini", false),
    ('d', "define", true),
    ('e', "profile-info", false),
    ('y', "fpm-config", true),
    ('p', "prefix", true),
    ('g', "pid", true),
    ('R', "allow-to-run-as-root", false),
    ('D', "daemonize", false),
    ('F', "nodaemonize", false),
    ('O', "force-stderr", false),
];
/// Those that decide PHP's settings before any pool does.
const SETTING: [char; 3] = ['c', 'n', 'd'];

/// What of these words decides settings, each with its value after it, as php reads them (main/getopt.c: short flags can stand together, and a value can be in
/// the same word). The folder is the one that a relative path is of.
///
/// # Errors
/// Which of them is not known, in words.
pub(super) fn settings(words: &[String], folder: impl Fn() -> Result<PathBuf, String>) -> Result<Vec<String>, String> {
    let (mut all, mut rest) = (Vec::new(), words.iter().skip(1));
    while let Some(word) = rest.next() {
        let unknown = || format!("`{word}` is none that php-fpm is known to serve with");
        let (found, value) = match word.strip_prefix("--") {
            Some("") => break,
            Some(long) => {
                let (name, value) = long.split_once('=').unwrap_or((long, ""));
                let (letter, ..) = OPTIONS.iter().find(|(_, long, _)| *long == name).ok_or_else(unknown)?;
                (vec![*letter], Some(value).filter(|value| !value.is_empty()))
            }
            None => short(word).ok_or_else(unknown)?,
        };
        for letter in found {
            let valued = OPTIONS.iter().any(|(one, _, valued)| *one == letter && *valued);
            let value = match value {
                _ if !valued => None,
                Some(value) => Some(value.strip_prefix('=').unwrap_or(value)),
                None => Some(rest.next().ok_or_else(unknown)?.as_str()),
            };
            if SETTING.contains(&letter) {
                all.push(format!("-{letter}"));
                all.extend(match value {
                    Some(path) if letter == 'c' => Some(placed(path, &folder)?),
                    value => value.map(str::to_owned),
                });
            }
        }
    }
    Ok(all)
}

/// The flags of a word of short ones, and the value that the last of them has in it; none where one is not known.
fn short(word: &str) -> Option<(Vec<char>, Option<&str>)> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
    let mut found = Vec::new();
    for (at, letter) in letters.char_indices() {
        let (.., valued) = OPTIONS.iter().find(|(one, ..)| *one == letter)?;
        found.push(letter);
        if *valued {
            return Some((found, Some(&letters[at + 1..]).filter(|rest| !rest.is_empty())));
        }
    }
    Some((found, None))
}

/// A value of `-c` as it leads to the same from any folder: a file, a folder, or a list of folders (main/php_ini.c: php_init_config).
///
/// # Errors
/// That this is not known, in words.
fn placed(path: &str, folder: impl Fn() -> Result<PathBuf, String>) -> Result<String, String> {
    if path.split(':').all(|part| part.starts_with('/')) {
        return Ok(path.to_owned());
    }
    let unknown = |why: &str| format!("`-c {path}` is not of an absolute path, and {why}");
    if path.contains(':') {
        return Err(unknown("it is a list"));
    }
    let whole = folder().map_err(|why| unknown(&why))?.join(path);
    if !whole.exists() {
        return Err(unknown(&format!("{} is not there", whole.display())));
    }
    Ok(whole.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn flags_that_decide_settings_are_told_with_their_values() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("php.ini"), "").unwrap();
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |line: &str| settings(&words(line), || Ok(dir.path().to_owned())).map(|all| all.join(" "));
        let own = format!("-c {}/php.ini", dir.path().display());
        for (line, told) in [
            ("php-fpm -F -d a=1 -y /c -n --php-ini=/x", "-d a=1 -n -c /x"),
            ("php-fpm --define b=2 -c/etc --daemonize -R", "-d b=2 -c /etc"),
            ("php-fpm -Fn", "-n"),
            ("php-fpm -nF -FRn -e", "-n -n"),
            ("php-fpm -FRy /n -O", ""),
            ("php-fpm -Fdmemory_limit=1M -nd a=b -yn", "-d memory_limit=1M -n -d a=b"),
            ("php-fpm -d=a=b --define=c=d --no-php-ini -g /n", "-d a=b -d c=d -n"),
            ("php-fpm -y -n", ""),
            ("php-fpm -Fc php.ini --", own.as_str()),
            ("php-fpm -c /a:/b", "-c /a:/b"),
        ] {
            assert_eq!(of(line).as_deref(), Ok(told), "{line}");
        }
        for (line, why) in [
            ("php-fpm -c no.ini", "/no.ini is not there"),
            ("php-fpm -c .:/x", "it is a list"),
            ("php-fpm -Fq", "`-Fq` is none"),
            ("php-fpm -F-n", "`-F-n` is none"),
            ("php-fpm --no-php", "`--no-php` is none"),
            ("php-fpm start", "`start` is none"),
            ("php-fpm -F -c", "`-c` is none"),
        ] {
            assert!(of(line).as_ref().is_err_and(|said| said.contains(why)), "{line}: {:?}", of(line));
        }
        let hidden = settings(&words("php-fpm -c php.ini"), || Err("its folder is hidden".to_owned())).unwrap_err();
        assert!(hidden.contains("`-c php.ini`") && hidden.contains("its folder is hidden"), "{hidden}");
    }
}
