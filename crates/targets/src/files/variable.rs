//! Variables that a configuration sets for an application, a module or the server itself: which of them are surely no secret.
//! Whatever is not known to be harmless counts as a secret.

use std::sync::LazyLock;

use regex::Regex;

/// Parts of names of what may be a secret, whatever its value.
const SECRET: [&str; 19] = [
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "auth",
    "salt",
    "hash",
    "private",
    "cert",
    "cookie",
    "session_id",
    "jwt",
    "bearer",
    "nonce",
    "licen",
    "webhook",
    "database_url",
];

/// Whole words of such names.
const SECRET_WORDS: [&str; 13] =
    ["pw", "dsn", "api", "aws", "pin", "otp", "iv", "seed", "sid", "sign", "signature", "login", "access"];

/// Variables by which a server's own modules are told what to do with a request.
const CONTROLS: [&str; 40] = [
    "ap_find_path_info",
    "dont-vary",
    "downgrade-1.0",
    "filter-errordocs",
    "force-gzip",
    "force-no-vary",
    "force-proxy-request-1.0",
    "force-response-1.0",
    "gzip-only-text/html",
    "no-brotli",
    "no-cache",
    "no-etag",
    "no-gzip",
    "no-proxy",
    "nokeepalive",
    "prefer-language",
    "proxy-100-continue",
    "proxy-chain-auth",
    "proxy-error-override",
    "proxy-fcgi-pathinfo",
    "proxy-flushall",
    "proxy-initial-not-pooled",
    "proxy-interim-response",
    "proxy-nocanon",
    "proxy-noencode",
    "proxy-nohalfclose",
    "proxy-nokeepalive",
    "proxy-noquery",
    "proxy-prefetch-nonblocking",
    "proxy-scgi-pathinfo",
    "proxy-sendchunked",
    "proxy-sendchunks",
    "proxy-sendcl",
    "proxy-sendextracrlf",
    "rate-initial-burst",
    "rate-limit",
    "redirect-carefully",
    "ssl-accurate-shutdown",
    "ssl-unclean-shutdown",
    "suppress-error-charset",
];

/// Last words of names of what tells where something is, or how it is run.
const HARMLESS: [&str; 42] = [
    "addr",
    "address",
    "basedir",
    "bin",
    "charset",
    "classes",
    "cpus",
    "debug",
    "dir",
    "directory",
    "domain",
    "enabled",
    "encoding",
    "env",
    "environment",
    "functions",
    "handler",
    "home",
    "host",
    "hostname",
    "lang",
    "language",
    "level",
    "limit",
    "locale",
    "log",
    "max",
    "min",
    "mode",
    "path",
    "port",
    "region",
    "root",
    "size",
    "temp",
    "timeout",
    "timezone",
    "tmp",
    "tmpdir",
    "tz",
    "version",
    "workers",
];

/// A number with its unit, or a switch. A longer number may be one that opens something.
static SMALL: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\A(?:-?[0-9]{1,6}(?:\.[0-9]{1,3})?(?:[kmg]b?|ms|s|h|d|%)?|on|off|true|false|yes|no|none|null|all)\z")
});

/// A word, a list of words, a host with its port, or absolute paths; nothing with a place for a user or a query.
static PLAIN: LazyLock<Regex> = LazyLock::new(|| {
    let (word, path) = (r"[\w.-]+", r"/[\w.-]*(?:/[\w.-]+)*/?");
    regex(&format!(
        r"\A(?:{word}(?::[0-9]{{1,5}})?|{word}(?:,{word})+|{path}(?::{path})*|[A-Z][a-z_]+(?:/[A-Z][A-Za-z_-]+)+)\z"
    ))
});

/// A variable of another environment, as it is named there.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"\A\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})\z"));

/// From how many digits on a number may be one that opens something, where its name does not say what it is.
const CODE: usize = 4;

/// The longest word that a person makes of letters and digits in turn.
const LONGEST: usize = 15;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("pattern is a constant")
}

/// Whether the value of this variable may be shown: neither its name nor the value may be that of a secret.
pub(super) fn is_harmless(name: &str, value: &str) -> bool {
    let (name, value) = (bare(name).to_ascii_lowercase(), bare(value));
    if value.is_empty() {
        return true;
    }
    if CONTROLS.contains(&name.as_str()) {
        return SMALL.is_match(value) || (PLAIN.is_match(value) && !is_random(value));
    }
    let words = || name.split(|one: char| !one.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    if SECRET.iter().any(|part| name.contains(part)) || words().any(|word| SECRET_WORDS.contains(&word)) {
        return false;
    }
    let is_told = words().next_back().is_some_and(|word| HARMLESS.contains(&word));
    let is_code = value.len() >= CODE && value.bytes().all(|one| one.is_ascii_digit());
    let is_small = SMALL.is_match(value) && (is_told || !is_code);
    is_small || REFERENCE.is_match(value) || (is_told && PLAIN.is_match(value) && !is_random(value))
}

/// Without the quotes around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let within = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// Whether a part of it is longer than people's own words, or has letters and digits in turn for longer than they do.
fn is_random(value: &str) -> bool {
    value.split(|one: char| !one.is_ascii_alphanumeric()).any(|part| {
        let has = |what: fn(&char) -> bool| part.chars().any(|one| what(&one));
        let is_mixed = has(|one| one.is_ascii_digit()) && has(|one| one.is_ascii_alphabetic());
        part.len() > 2 * LONGEST || (part.len() > LONGEST && is_mixed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_not_harmless() {
        for (name, value) in [
            ("DB_PASS", "1"),
            ("DB_PASSWORD", "hunter2"),
            ("APP_KEY", "base64:aHVudGVyMg=="),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("API_LEVEL", "5"),
            ("SMTP_AUTH", "plain"),
            ("SENTRY_DSN", "1"),
            ("DATABASE_URL", "1"),
            ("PIN", "1234"),
            ("UNLOCK_CODE", "482913"),
            ("MYSQL_PSW", "271828"),
            ("DB_ROOTPW", "4711"),
            ("APP_PW", "1"),
            ("DB_PASS", "$DB_PASS"),
            ("session.save_path", "tcp://h:6379?auth=hunter2"),
            // Of a name that says nothing.
            ("DB", "hunter2"),
            ("WORD", "production"),
            ("CODE", "12345678"),
            ("URL", "http://h/"),
            // A value that looks like one.
            ("APP_ENV", "9f86d081884c7d659a2feaa0c55ad015"),
            ("APP_MODE", "aHVudGVyMmh1bnRlcjI="),
            ("DB_HOST", "me:hunter2@h"),
            ("DB_HOST", "me:hunter2"),
            ("APP_PATH", "/x?t=hunter2"),
            ("APP_LANG", "correct horse"),
            ("APP_DIR", "/run/9f86d081884c7d659a2feaa0c55ad015/x"),
            ("rate-limit", "hunter2 hunter3"),
            ("rate-limit", "9f86d081884c7d659a2feaa0c55ad015"),
            ("PORT", "80 # hunter2"),
            ("", "hunter2"),
            ("PORT", "\\"),
        ] {
            assert!(!is_harmless(name, value), "{name} {value}");
        }
    }

    #[test]
    fn what_a_server_or_an_application_is_told_of_how_it_runs_is_harmless() {
        for (name, value) in [
            ("rate-limit", "4"),
            ("\"rate-limit\"", "\"400\""),
            ("rate-initial-burst", "512"),
            ("proxy-nokeepalive", "1"),
            ("proxy-chain-auth", "1"),
            ("proxy-interim-response", "RFC"),
            ("force-proxy-request-1.0", "1"),
            ("downgrade-1.0", "true"),
            ("gzip-only-text/html", "1"),
            ("prefer-language", "en-GB"),
            ("no-gzip", ""),
            ("WORKERS", "4"),
            ("DB_PORT", "5432"),
            ("memory_limit", "128M"),
            ("RATIO", "0.75"),
            ("PLAIN", "off"),
            ("HOSTNAME", "$HOSTNAME"),
            ("HOSTNAME", "${HOSTNAME}"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("TMPDIR", "/tmp"),
            ("error_log", "/var/log/fpm-php.www.log"),
            ("APP_ENV", "production"),
            ("BACKEND_HOST", "db-1.example.org:5432"),
            ("date.timezone", "Europe/Berlin"),
            ("disable_functions", "exec,shell_exec,passthru"),
            ("LOG_LEVEL", "'debug'"),
        ] {
            assert!(is_harmless(name, value), "{name} {value}");
        }
    }
}
