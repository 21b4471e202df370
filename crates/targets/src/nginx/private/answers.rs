//! A log of what servers behind answered with an error, and of how long they took for a share of all requests: nginx writes nothing of that itself.

use genkai_model::event::Rewrite;

use super::changes::Changes;
use super::path::joined;
use super::{Built, http};
use crate::files::CopyError;
use crate::nginx::config::{Config, Family, Found, lexer};

/// The log, in the folder.
pub(super) const LOG: &str = "answers.log";
/// Its format, and the variable that says what goes into it.
const NAME: &str = "genkai_failed";
/// The variable of a request whose time is told, however it ends: one of a share of all, or of the first ones.
const SHARE: &str = "genkai_timed";
/// The variable of the share, and of which requests it is, by the number of the connection and of the request on it.
const DRAWN: &str = "genkai_drawn";
const NUMBER: &str = "$connection.$connection_requests";
/// Numbers of the first requests, as a regular expression: a load may end before a share of them says anything of a server that is slow.
const FIRST: &str = "^[0-9][0-9]?[0-9]?[.][0-9]$";

/// Whether there is something to be told apart (an `upstream` of several servers; errors that are sent with another status, `error_page 502
/// =200`), and nginx was built with what that takes.
pub(super) fn is_wanted(config: &Config, configure: &str) -> bool {
    let without = [
        "--without-http_split_clients_module",
        "--without-http_map_module",
        "--without-pcre",
        "--without-http_rewrite_module",
    ];
    let several = |group: &crate::nginx::config::Upstream<'_>| group.family == Family::Http && group.servers.len() > 1;
    !configure.split_whitespace().any(|word| without.contains(&word))
        && (config.upstreams().iter().any(several) || hides(config))
}

/// Whether an `error_page` gives errors another status (`=`, `=200`).
fn hides(config: &Config) -> bool {
    let another = |found: &Found<'_>| found.args().iter().any(|arg| arg.starts_with('='));
    config.walk().iter().any(|found| found.directive.is("error_page") && another(found))
}

/// Limits of nginx's own that refuse requests, the variable that says what became of one (since 1.17.6), and the word that leaves them out of a build.
const REFUSE: [(&str, &str, &str); 2] = [
    ("limit_conn", "$limit_conn_status", "--without-http_limit_conn_module"),
    ("limit_req", "$limit_req_status", "--without-http_limit_req_module"),
];
const SINCE: (u32, u32, u32) = (1, 17, 6);
/// What such a variable says of a request that was refused.
pub(in crate::nginx) const REJECTED: &str = "REJECTED";

/// The variables of those that are used, where errors may be sent with another status.
fn refusals(config: &Config, built: Built<'_>) -> Vec<&'static str> {
    let used = |name: &str| config.walk().iter().any(|found| found.directive.is(name) && found.is_under("http"));
    let has = |without: &str| !built.configure.split_whitespace().any(|word| word == without);
    let all = REFUSE.iter().filter(|(name, _, without)| used(name) && has(without)).map(|(_, variable, _)| *variable);
    all.filter(|_| built.version >= SINCE && hides(config)).collect()
}

/// Adds it to `http`, and to every block that has logs of its own or none at all, where that of `http` is not inherited.
pub(super) fn add(config: &Config, changes: &mut Changes<'_>, built: Built<'_>) -> Result<(), CopyError> {
    let Some(http) = http(config) else { return Ok(()) };
    let path = lexer::quote(joined(&changes.dir, LOG).as_bytes());
    let log = format!("access_log {} {NAME} if=${NAME};", String::from_utf8_lossy(&path));
    let refused = refusals(config, built).join(",");
    // Whoever sent something did not refuse, though nginx took it for no answer (ngx_http_upstream.c, since 1.11.4).
    let received = if built.version >= (1, 11, 4) { "$upstream_bytes_received" } else { "0" };
    let mut text = format!(
        "log_format {NAME} \"$status|$upstream_status|$upstream_header_time|$upstream_addr|{refused}|{received}|$upstream_response_time|${SHARE}\";"
    );
    if logs(&http).is_empty() {
        text = format!("{text} {log}");
    }
    put(config, changes, &http, &text, true)?;
    // Last: `map_hash_max_size` and `map_hash_bucket_size` are refused after the first `map` (ngx_http_map_module.c: ngx_http_map_block).
    let share = format!(
        "split_clients \"{NUMBER}\" ${DRAWN} {{ 20% t; * \"\"; }} map \"${DRAWN}{NUMBER}\" ${SHARE} {{ default \"\"; \"~^t\" t; \"~{FIRST}\" t; }}"
    );
    let (first, refused) = match refused.as_str() {
        "" => (String::new(), String::new()),
        // One that is only counted (`limit_conn_dry_run`) is REJECTED_DRY_RUN.
        all => (format!("{all},"), format!(" \"~^([A-Z_]*,)?{REJECTED},\" 1;")),
    };
    let which = format!(
        "map {first}$upstream_status|${SHARE} ${NAME} {{ default \"\"; \"~[45][0-9][0-9](\\|| :)\" 1;{refused} \"~t$\" 1; }}"
    );
    let which = format!("{share} {which}");
    put(config, changes, &http, &which, false)?;
    own(config, changes, &http, &log)
}

/// The logs of a block itself.
fn logs<'c>(block: &Found<'c>) -> Vec<Found<'c>> {
    block.inside().into_iter().filter(|found| found.directive.is("access_log")).collect()
}

fn own(config: &Config, changes: &mut Changes<'_>, block: &Found<'_>, log: &str) -> Result<(), CopyError> {
    let logs = logs(block);
    if !logs.is_empty() {
        // `off` is for all logs of the block.
        logs.iter().filter(|found| found.arg(0).as_deref() == Some("off")).for_each(|off| changes.drop(off));
        put(config, changes, block, log, false)?;
    }
    let inner = block.inside().into_iter().filter(|found| found.directive.is_block() && !found.is_entry());
    inner.into_iter().try_for_each(|inner| own(config, changes, &inner, log))
}

fn put(
    config: &Config,
    changes: &mut Changes<'_>,
    block: &Found<'_>,
    text: &str,
    first: bool,
) -> Result<(), CopyError> {
    let edit = if first { config.insert_at_start(block, text)? } else { config.insert_at_end(block, text)? };
    changes.list(Rewrite { from: String::new(), to: text.to_owned(), place: block.place() });
    changes.keep(edit);
    Ok(())
}
