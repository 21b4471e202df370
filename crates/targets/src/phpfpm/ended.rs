//! What ends a request of a pool, however few there are: the memory and the time that a script may take, by PHP's own settings, and
//! `request_terminate_timeout` of the pool.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Origin, Strength};

use super::limits::Pool;
use crate::limits::closed::closed;
use crate::limits::php::{self, ANSWER};
use crate::limits::{errors, log, valued};
use crate::settings::SourcedValue;
use crate::upstreams::placed;

const MEMORY: &str = "php.net/manual/ini.core#ini.memory-limit; Zend/zend_alloc.c: zend_mm_safe_error";
const TIME: &str = "php.net/manual/info.configuration#ini.max-execution-time (Linux: processor time; what a script waits for does not count)";
const TERMINATE: &str = "php.net/manual/install.fpm.configuration#request-terminate-timeout; sapi/fpm/fpm/fpm_request.c: fpm_request_check_timed_out";

/// What may end a request of the pool.
pub(super) fn limits(pool: &Pool) -> Vec<Limit> {
    let one = |key: &str, held: &SourcedValue<u64>| {
        let id = format!("php-fpm.{}.{}", pool.name, php::pools(key, pool.firm.contains(&key)));
        valued(&id, "php-fpm", &format!("{key} of [{}]", pool.name), held)
    };
    let place = |key: &str, held: &SourcedValue<u64>| {
        let asked = pool.asked.get(key).filter(|_| matches!(held.origin, Origin::File { .. }));
        let asked = asked.map(|how| format!(", as {how} says")).unwrap_or_default();
        format!("{}{}{asked}", held.written, placed(&held.origin))
    };
    let capped = |held: &&SourcedValue<u64>| held.value > 0;
    let memory = Some(&pool.memory_limit).filter(capped).map(|held| Limit {
        caps: format!(
            "scripts that ask for more than memory_limit = {} are ended, with one user as with many: {ANSWER}",
            place("memory_limit", held)
        ),
        formula: format!(
            "each request has {} bytes of its own, so that no load is too much: it is what these scripts ask for",
            held.value
        ),
        source: MEMORY.to_owned(),
        signatures: php::ending(&php::memory(held.value)),
        symptom: errors(&[ErrorKind::Status500]),
        ..one("memory_limit", held)
    });
    let time = Some(&pool.execution_time).filter(capped).map(|held| Limit {
        caps: format!(
            "scripts that compute for longer than max_execution_time = {} are ended: {ANSWER}",
            place("max_execution_time", held)
        ),
        formula: format!("a script may take {} s of the processor; what it waits for does not count", held.value),
        source: TIME.to_owned(),
        signatures: php::ending(&php::time(held.value)),
        symptom: errors(&[ErrorKind::Status500]),
        ..one("max_execution_time", held)
    });
    let terminate = pool.terminate.as_ref().map(|held| Limit {
        caps: format!(
            "requests that last longer than request_terminate_timeout = {} are ended together with their child, and answered with 502 or 503 by the proxy",
            place("request_terminate_timeout", held)
        ),
        formula: format!(
            "a request may last {} s from when a child takes it (what it waits in the accept queue does not count), and somewhat longer: php-fpm looks now and then",
            held.value
        ),
        source: TERMINATE.to_owned(),
        signatures: [log(&signature(pool), Strength::Decisive)].into_iter().chain(closed()).collect(),
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503, ErrorKind::Status500]),
        ..one("request_terminate_timeout", held)
    });
    let other = [
        otherwise(pool, ("memory_limit", &pool.memory_limit), "ask for more memory than", php::memory, MEMORY),
        otherwise(pool, ("max_execution_time", &pool.execution_time), "compute for longer than", php::time, TIME),
    ];
    memory.into_iter().chain(time).chain(terminate).chain(other).collect()
}

/// The same where PHP itself says that another number is in force than the configuration has: its message tells which, and not who set it.
fn otherwise(
    pool: &Pool,
    (key, held): (&str, &SourcedValue<u64>),
    what: &str,
    signature: fn(u64) -> String,
    source: &str,
) -> Limit {
    Limit {
        value: "as PHP says".to_owned(),
        origin: Origin::Given,
        caps: format!(
            "scripts that {what} the {key} in force for them are ended, with one user as with many: {ANSWER}. PHP's own message has that number, and \
             it is another than that of the configuration ({}{}): the script itself set it (ini_set), a .user.ini, what a proxy passes (PHP_VALUE, \
             PHP_ADMIN_VALUE), or what php-fpm was started with (-c, -n, -d)",
            held.written,
            placed(&held.origin)
        ),
        formula: "no load is too much: it is what these scripts ask for".to_owned(),
        source: source.to_owned(),
        signatures: php::ending_otherwise(&signature(held.value)),
        symptom: errors(&[ErrorKind::Status500]),
        ..Limit::named(
            &format!("php-fpm.{}{}", pool.name, php::otherwise(key)),
            "php-fpm",
            &format!("{key} of scripts of [{}]", pool.name),
        )
    }
}

/// What the message is called by which php-fpm tells that it ends a request.
fn signature(pool: &Pool) -> String {
    format!("php-fpm.{}.terminated", pool.name)
}

/// The signature of a line of php-fpm's log that tells that it ends a request of the pool (fpm_request.c), or that passes on what PHP told of one
/// (`catch_workers_output`). What a request sent stands in the middle of it.
pub(super) fn told(pool: &Pool, line: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!("[pool {}] child ", pool.name))?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.starts_with(", script '") {
        return is_ended(rest).then(|| signature(pool));
    }
    // `said into stderr: "NOTICE: PHP message: ..."`
    let said = rest.strip_prefix(" said into stderr: \"")?;
    php::ended(said.strip_prefix("NOTICE: ").unwrap_or(said))
}

/// Whether the script is ended, and not only written to the slow log (`executing too slow (1.2 sec), logging`).
fn is_ended(rest: &str) -> bool {
    rest.rsplit_once(") execution timed out (").is_some_and(|(_, end)| end.ends_with(" sec), terminating"))
}

/// The signature of a line of PHP's own log, `[26-Nov-2026 09:10:11 UTC] PHP Fatal error:  ...`. Unless the log is the pool's own, it may
/// be of a script of another pool, or of none.
pub(super) fn logged(line: &str, own: bool) -> Option<String> {
    let ended = php::ended(line.strip_prefix('[')?.split_once("] ")?.1)?;
    Some(if own { ended } else { php::likely(&ended) })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::config;
    use super::super::ini::Ini;
    use super::super::limits::logs_alone;
    use super::*;
    use genkai_place::caps::Machine;

    fn pool(text: &str) -> Pool {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        std::fs::write(&main, format!("[www]\nlisten = 9000\npm = static\npm.max_children = 4\n{text}")).unwrap();
        Pool::of(&config::read(&main).unwrap(), "www", &Machine::of(&Default::default()))
    }

    #[test]
    fn a_request_that_lasts_too_long_is_told_by_the_pools_own_words_and_by_no_others() {
        let pool = pool("request_terminate_timeout = 1s\n");
        // php-fpm 8.2.
        let line = "[26-Nov-2026 09:10:11] WARNING: [pool www] child 24326, script '/srv/slow.php' (request: \"GET /slow.php\") execution timed out (1.076211 sec), terminating";
        assert_eq!(told(&pool, line), Some(signature(&pool)));
        let limit =
            limits(&pool).into_iter().find(|limit| limit.id == "php-fpm.www.request_terminate_timeout").unwrap();
        assert!(limit.value == "1s" && limit.signatures.contains(&log(&signature(&pool), Strength::Decisive)));
        let asked = "GET /?x=) execution timed out (1 sec), terminating";
        for other in [
            line.replace("[pool www]", "[pool other]"),
            line.replace("execution timed out (1.076211 sec), terminating", "executing too slow (1.076211 sec), logging"),
            line.replace("GET /slow.php", asked).replace("execution timed out (1.076211 sec), terminating", "executing too slow (1.076211 sec), logging"),
            "[26-Nov-2026 09:10:12] WARNING: [pool www] child 24326 exited on signal 15 (SIGTERM) after 2.3 seconds from start".to_owned(),
        ] {
            assert_eq!(told(&pool, &other), None, "{other}");
        }
    }

    #[test]
    fn a_log_is_a_pools_own_only_where_nobody_else_is_known_to_write_it() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        let alone = |other: &str, ini: &str| {
            std::fs::write(&main, format!("[www]\nphp_admin_value[error_log] = /x/www.log\n[b]\n{other}")).unwrap();
            let ini = Ini::of(&format!("error_log => {ini} => {ini}\n"));
            let config = config::read(&main).unwrap();
            ["www", "b"].map(|pool| logs_alone(&config, pool, &ini, Path::new("/x/www.log")))
        };
        assert_eq!(alone("", "no value"), [true, false]);
        assert_eq!(alone("", "/x/www.log"), [false, false], "php.ini names it");
        assert_eq!(alone("php_value[error_log] = /x/www.log\n", "no value"), [false, false]);
    }

    #[test]
    fn a_value_of_php_ini_is_told_as_the_program_tells_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("php.ini");
        std::fs::write(&file, "memory_limit = 64M\n").unwrap();
        let said = format!("Loaded Configuration File => {}\nmemory_limit => 64M => 64M\n", file.display());
        let caps = |text: &str| {
            let pool = pool(text).with(&Ini::of(&said));
            limits(&pool).into_iter().find(|limit| limit.id.ends_with("memory_limit")).unwrap().caps
        };
        assert!(caps("").contains(&format!("64M ({}:1), as ", file.display())), "{}", caps(""));
        assert!(!caps("php_admin_value[memory_limit] = 16M\n").contains(", as  says"));
    }

    #[test]
    fn what_php_tells_of_memory_is_a_sign_of_the_setting_whose_number_it_has() {
        let pool = pool("php_admin_value[memory_limit] = 16M\n");
        let fatal = "PHP Fatal error:  Allowed memory size of 16777216 bytes exhausted (tried to allocate 41947136 bytes) in /srv/mem.php on line 1";
        let ways = [
            logged(&format!("[26-Nov-2026 09:10:11 UTC] {fatal}"), true),
            told(
                &pool,
                &format!(
                    "[26-Nov-2026 09:10:11] WARNING: [pool www] child 7 said into stderr: \"NOTICE: PHP message: {fatal}\""
                ),
            ),
            told(&pool, &format!("[26-Nov-2026 09:10:11] WARNING: [pool www] child 7 said into stderr: \"{fatal}\"")),
        ];
        let all = limits(&pool);
        let memory = all.iter().find(|limit| limit.id == "php-fpm.www.php_admin_value.memory_limit").unwrap();
        for way in ways {
            assert_eq!(memory.signatures[0], log(&way.unwrap(), Strength::Decisive));
        }
        // In a log that others write, too, it may be of another script.
        let shared = logged(&format!("[26-Nov-2026 09:10:11 UTC] {fatal}"), false).unwrap();
        assert_eq!(memory.signatures[1..], [log(&shared, Strength::Supports)]);
        // With display_errors on it is no 500.
        assert!(memory.caps.contains("display_errors"), "{}", memory.caps);
        assert!(memory.caps.contains("memory_limit = 16M (") && memory.caps.contains(":5)"), "{}", memory.caps);
        assert!(
            limits(&self::pool("php_admin_value[memory_limit] = -1\n"))
                .iter()
                .all(|limit| !limit.id.ends_with("memory_limit"))
        );
    }

    #[test]
    fn a_number_that_is_not_the_configurations_is_told_as_somebody_elses() {
        let pool = pool("php_admin_value[memory_limit] = 16M\n");
        let all = limits(&pool);
        let other = all.iter().find(|limit| limit.id == "php-fpm.www.memory_limit.otherwise").unwrap();
        assert_eq!(other.signatures, php::ending_otherwise(&php::memory(16 << 20)));
        for part in ["(16M (", ":5))", "ini_set", ".user.ini", "PHP_VALUE", "-c, -n, -d"] {
            assert!(other.caps.contains(part), "{part}: {}", other.caps);
        }
    }
}
