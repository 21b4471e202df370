//! Secrets in a configuration's text: replaced before anything is shown or recorded.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::files::variable::is_harmless;

/// What stands for a secret.
const MASK: &str = "***";

/// The name of a secret as a key: at the beginning of a line or of an entry, with quotes or without.
const KEY: &str = r#"(?:^|[{,\s])["']?[\w.-]*(?:passwords?|passwd|passphrase|secrets?|token|credentials?|(?:api|access|private|secret)[_-]?key)["']?"#;

/// A variable's name that says of its value that it is a secret.
const NAMED: &str = r"[\w-]*(?:pass|pwd|secret|token|credential|(?:api|app|access|private|secret)_?key)[\w-]*";

/// `://user:password@`, `password=...` and `secret ...` in any line.
static PATTERNS: LazyLock<[(Regex, &str); 16]> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).expect("patterns are constants");
    [
        (regex(r"://[^/@\s]+@"), "://***@"),
        (regex(r#"(?m)(^|[\s"'=])[^/@\s:"'=]+:[^/@\s]+@"#), "$1***@"),
        (regex(r#"(?i)\b([\w-]*(?:password|passwd|secret|token|api[_-]?key))=("[^"]*"|'[^']*'|[^\s;&]+)"#), "$1=***"),
        (
            regex(r#"(?im)^([-+ \t]*[\w-]*(?:password|passwd|passphrase|secret|token|authorization)[\w-]*[ \t]+).+$"#),
            "$1***",
        ),
        // `fastcgi_param DB_PASS P`, `env DB_PASS=P`: by the name alone, as nearly all of these are no secrets.
        (
            regex(&format!(
                r#"(?im)^([-+ \t]*(?:(?:fastcgi|uwsgi|scgi)_param[ \t]+{NAMED}[ \t]+|env[ \t]+{NAMED}=)).+$"#
            )),
            "$1***",
        ),
        // `user NAME insecure-password P groups g`, `stats auth NAME:P`, `... ca-sign-pass P`.
        (regex(r#"(?i)\b((?:insecure-)?password|ca-sign-pass)([ \t]+)("[^"]*"|'[^']*'|\S+)"#), "$1$2***"),
        (regex(r#"(?i)\b(stats[ \t]+auth[ \t]+)\S+"#), "$1***"),
        // `requirepass P`, `masterauth P`, `user NAME on >P #HASH`, `tls-key-file-pass P`.
        (
            regex(
                r#"(?im)^([-+ \t]*(?:requirepass|masterauth|sentinel[ \t]+auth-pass[ \t]+\S+|(?:tls-[\w-]*|key-file)-pass|user[ \t]+\S+[ \t]+(?:on|off|reset))[ \t]+).+$"#,
            ),
            "$1***",
        ),
        // `cache_peer ... login=NAME:P`, where `*` stands for every name; `login=PASS` is no password.
        (regex(r#"(?i)\b(login=)(?:"[^"]*:[^"]*"|[^\s:"]+:(?:"[^"]*"|\S+))"#), "$1***"),
        // Plug-ins: `--secret_key P`, `--access_key=P`, `@pparam=--secret_key @pparam=P`.
        (
            regex(
                r#"(?i)(--[\w-]*(?:secret|access)[_-]key|--session[_-]token)("?(?:[ \t]+"?@pparam=|[ \t]*=[ \t]*|[ \t]+))("[^"]*"|'[^']*'|\S+)"#,
            ),
            "$1$2***",
        ),
        // `acme_dns PROVIDER P`, `mac_key P`; hashes of passwords.
        (regex(r"(?im)^([-+ \t]*(?:acme_dns[ \t]+\S+|mac_key)[ \t]+).+$"), "$1***"),
        (regex(r"\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}"), MASK),
        // YAML and JSON: `password: P`, `"password": "P"`, and what stands in the lines after the name.
        (
            regex(&format!(r#"(?im)({KEY}[ \t]*:[ \t]*)("(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|[^\s"'|>{{\[][^\r\n]*)"#)),
            "$1***",
        ),
        (
            regex(&format!(r#"(?im)({KEY}[ \t]*:[ \t]*[|>{{\[]?[-+0-9]*[ \t]*\r?\n[-+]?[ \t]+)([^\s#][^\r\n]*)"#)),
            "$1***",
        ),
        // A private key, and the rest of one whose beginning is not there.
        (regex(r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)"), MASK),
        (regex(r"(?m)(?:^[-+ \t]*[A-Za-z0-9+/=]{16,}[ \t]*\r?\n)*^[-+ \t]*-----END [A-Z0-9 ]*PRIVATE KEY-----"), MASK),
    ]
});

/// A header with a secret value in a directive: `proxy_set_header Authorization "Basic ..."`, `RequestHeader set Cookie ..`.
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?im)(\b(?:authorization|proxy-authorization|cookie|set-cookie|x-api-key|x-auth-token)["']?[ \t]+).+$"#,
    )
    .expect("pattern is a constant")
});

/// `setenv NAME P`, `presetenv NAME P`, `env[NAME] = P`, `php_value[NAME] = P`: what an application is told this way is nobody
/// else's affair, but for what is surely no secret.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?im)^([-+ \t]*(?:(?:env|php(?:_admin)?_value)\[([^\]\r\n]*)\][ \t]*=[ \t]*|(?:pre)?setenv[ \t]+(\S+)[ \t]+))(.+)$",
    )
    .expect("pattern is a constant")
});

/// The line of a variable, without its value where that may be a secret.
fn variable(found: &Captures<'_>) -> String {
    let name = found.get(2).or_else(|| found.get(3)).map_or("", |name| name.as_str());
    if is_harmless(name, &found[4]) { found[0].to_owned() } else { format!("{}{MASK}", &found[1]) }
}

/// The text with every secret that can be told by its name, or its place in a URL, replaced.
pub fn masked(text: &str) -> String {
    let plain =
        PATTERNS.iter().fold(text.to_owned(), |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned());
    let plain = VARIABLE.replace_all(&plain, variable);
    HEADER.replace_all(&plain, format!("${{1}}{MASK}").as_str()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        for (text, shown) in [
            ("ProxyPass / http://me:hunter2@h:1/ retry=0", "ProxyPass / http://***@h:1/ retry=0"),
            ("me:hunter2@h:1", "***@h:1"),
            ("BalancerMember ajp://h secret=hunter2 ttl=5", "BalancerMember ajp://h secret=*** ttl=5"),
            ("  AuthLDAPBindPassword hunter2", "  AuthLDAPBindPassword ***"),
            ("+    proxy_set_header Authorization \"Basic aHVudGVyMg==\";", "+    proxy_set_header Authorization ***"),
            ("RequestHeader set X-Api-Key hunter2", "RequestHeader set X-Api-Key ***"),
            ("return 302 /login?token=hunter2;", "return 302 /login?token=***;"),
            ("  user admin insecure-password hunter2 groups g", "  user admin insecure-password *** groups g"),
            ("stats auth admin:hunter2 # x", "stats auth *** # x"),
            ("+requirepass hunter2", "+requirepass ***"),
            ("masterauth \"hunter2\"", "masterauth ***"),
            ("user app on >hunter2 ~* +@all", "user app on ***"),
            ("env[DB] = hunter2", "env[DB] = ***"),
            ("+env[DB]=\"hunter2\"", "+env[DB]=***"),
            ("-env[DB] = hunter2\n+env[DB] = hunter3", "-env[DB] = ***\n+env[DB] = ***"),
            ("    setenv DB \"hunter2 hunter3\"", "    setenv DB ***"),
            ("-    presetenv DB hunter2", "-    presetenv DB ***"),
            ("+\tSetEnv DB hunter2\n PassEnv DB", "+\tSetEnv DB ***\n PassEnv DB"),
            ("SetEnv PLAIN", "SetEnv PLAIN"),
            ("SetEnv rate-limit 4\nSetEnv DB hunter2", "SetEnv rate-limit 4\nSetEnv DB ***"),
            ("+  SetEnv \"proxy-nokeepalive\" 1\r\n", "+  SetEnv \"proxy-nokeepalive\" 1\r\n"),
            ("SetEnv DB_PASS 4", "SetEnv DB_PASS ***"),
            ("  fastcgi_param DB_PASS hunter2;", "  fastcgi_param DB_PASS ***"),
            ("fastcgi_param SCRIPT_NAME $x;\nenv APP_KEY=hunter2;", "fastcgi_param SCRIPT_NAME $x;\nenv APP_KEY=***"),
            (
                "fastcgi_param HTTPS on;\nproxy_pass http://a;\nenv PATH=/bin;",
                "fastcgi_param HTTPS on;\nproxy_pass http://a;\nenv PATH=/bin;",
            ),
            ("setenv WORKERS 4\npresetenv APP_KEY 4", "setenv WORKERS 4\npresetenv APP_KEY ***"),
            ("env[PATH] = /usr/bin:/bin\nenv[DB_DSN] = x", "env[PATH] = /usr/bin:/bin\nenv[DB_DSN] = ***"),
            ("php_admin_value[memory_limit] = 32M", "php_admin_value[memory_limit] = 32M"),
            ("SetEnvIf Host a.example NAME=1", "SetEnvIf Host a.example NAME=1"),
            ("php_admin_value[mysqli.default_pw] = hunter2", "php_admin_value[mysqli.default_pw] = ***"),
            ("cache_peer h parent 80 0 login=me:hunter2 ssl", "cache_peer h parent 80 0 login=*** ssl"),
            ("-cache_peer h parent 80 0 login=*:\"hunter 2\"", "-cache_peer h parent 80 0 login=***"),
            ("cache_peer h parent 80 0 login=PASSTHRU no-query", "cache_peer h parent 80 0 login=PASSTHRU no-query"),
            (
                "map / http://h/ @plugin=s3_auth.so @pparam=--access_key @pparam=hunter2 @pparam=--secret_key @pparam=hu/nt+er=",
                "map / http://h/ @plugin=s3_auth.so @pparam=--access_key @pparam=*** @pparam=--secret_key @pparam=***",
            ),
            ("s3_auth.so --access_key hunter2 --version 4", "s3_auth.so --access_key *** --version 4"),
            ("s3_auth.so --secret-key=hunter2 --version=4", "s3_auth.so --secret-key=*** --version=4"),
            ("@pparam=--session_token @pparam=hunter2", "@pparam=--session_token @pparam=***"),
            ("\tacme_dns cloudflare hunter2", "\tacme_dns cloudflare ***"),
            ("+\t\tmac_key hunter2", "+\t\tmac_key ***"),
            ("\tada $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG", "\tada ***"),
            ("password: hunter2", "password: ***"),
            ("+  db_password: 'hunter2'", "+  db_password: ***"),
            ("- token: hun,ter2 # x", "- token: ***"),
            (r#"{"user": "a", "password": "hun\"ter2", "n": 5}"#, r#"{"user": "a", "password": ***, "n": 5}"#),
            (r#"{"apiKey":"hunter2"}"#, r#"{"apiKey":***}"#),
            ("secret: |\n  hunter2\nport: 80", "secret: |\n  ***\nport: 80"),
            ("\"credentials\": {\n  \"a\": \"hunter2\"\n}", "\"credentials\": {\n  ***\n}"),
            ("+ -----BEGIN RSA PRIVATE KEY-----\n+ hunter2\n+ -----END RSA PRIVATE KEY-----\n b", "+ ***\n b"),
            ("-----BEGIN PRIVATE KEY-----\nhunter2", "***"),
            ("a\n aHVudGVyMmh1bnRlcjI=\n -----END PRIVATE KEY-----\nb", "a\n***\nb"),
            (
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            ),
            ("max_tokens: 5\nkey: a\nport: 80", "max_tokens: 5\nkey: a\nport: 80"),
            ("password:\nport: 80", "password:\nport: 80"),
            ("user www-data www-data;", "user www-data www-data;"),
            ("worker_connections 512;", "worker_connections 512;"),
            ("ssl_certificate_key /etc/ssl/key.pem;", "ssl_certificate_key /etc/ssl/key.pem;"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
