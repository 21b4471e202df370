//! What the backend's servers write to their logs, recognised.

use std::borrow::Cow;

use genkai_model::evidence::LogLine;

use genkai_place::log_lines::{self, ParsedLine};

/// php-fpm had a request and no child left: `pm.max_children` was reached (fpm_process_ctl.c).
pub(crate) const MAX_CHILDREN: &str = "backend.php_fpm.max_children.reached";
/// A connection to php-fpm failed or did not come about: its accept queue was full.
pub(crate) const BACKLOG: &str = "backend.php_fpm.backlog.full";
/// A child of php-fpm died.
pub(crate) const CHILD_DIED: &str = "backend.php_fpm.child_died";
/// A script failed or complained.
pub(crate) const SCRIPT: &str = "backend.php.message";
/// php-fpm took longer than the web server before it waits.
pub(crate) const READ_TIMEOUT: &str = "backend.web.read_timeout";
/// The web server before php-fpm ran out of connections: it, not the backend, is too small.
pub(crate) const WEB_CONNECTIONS: &str = "backend.web.worker_connections";

/// Which server wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// php-fpm's master.
    PhpFpm,
    /// The web server before it.
    Web,
    /// The database.
    MariaDb,
}

/// New lines of one log as the record keeps them: alike ones as one, those that only tell of normal work left out.
pub(crate) fn aggregate(writer: Writer, lines: &[String]) -> Vec<LogLine> {
    let lines = lines.iter().map(String::as_str).filter(|line| level(writer, line).is_some());
    log_lines::aggregate("backend", lines, |line| ParsedLine {
        level: level(writer, line).unwrap_or_default(),
        gist: line,
        signature: signature(writer, line).map(Cow::from),
    })
}

/// The severity as the server names it; none for lines of normal work.
fn level(writer: Writer, line: &str) -> Option<&str> {
    let level = match writer {
        // `[21-Nov-2026 11:38:20] WARNING: ...` (zlog.c)
        Writer::PhpFpm => line.split_once("] ")?.1.split_once(": ")?.0,
        // `2026/11/21 11:38:20 [error] 12#12: ...` (ngx_log.c)
        Writer::Web => line.split_once('[')?.1.split_once(']')?.0,
        // `2026-11-21 11:36:54 0 [Warning] ...` (sql/log.cc)
        Writer::MariaDb => line.split_once('[')?.1.split_once(']')?.0,
    };
    let normal = matches!(level, "NOTICE" | "DEBUG" | "notice" | "info" | "Note");
    let word = level.chars().all(|c| c.is_ascii_alphabetic());
    (word && !normal && !level.is_empty()).then_some(level)
}

/// The known message a line is.
fn signature(writer: Writer, line: &str) -> Option<&'static str> {
    let has = |text: &str| line.contains(text);
    match writer {
        // Two wordings, of a dynamic pool and of one on demand. Only the site's pool: the status page's
        // (`wordpress_status`) is another, and on demand.
        Writer::PhpFpm if has("[pool wordpress] server reached") && has("max_children setting") => Some(MAX_CHILDREN),
        Writer::PhpFpm if has("exited on signal") || has("exited with code") => Some(CHILD_DIED),
        // ngx_http_fastcgi_process_record: what a script wrote to its error stream.
        Writer::Web if has("FastCGI sent in stderr") => Some(SCRIPT),
        Writer::Web if has("worker_connections are not enough") => Some(WEB_CONNECTIONS),
        // TCP: SYNs to a full queue are dropped until the connect times out; a unix socket says EAGAIN.
        Writer::Web if has("while connecting to upstream") => Some(BACKLOG),
        Writer::Web if has("upstream timed out") => Some(READ_TIMEOUT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_place::log_lines::TEXT_MAX;

    fn one(writer: Writer, line: &str) -> LogLine {
        let mut lines = aggregate(writer, &[line.to_owned()]);
        assert_eq!(lines.len(), 1, "{line}");
        lines.remove(0)
    }

    #[test]
    fn both_wordings_of_a_full_pool_are_one_signature() {
        for line in [
            "[21-Nov-2026 11:38:48] WARNING: [pool wordpress] server reached pm.max_children setting (5), consider raising it",
            "[21-Nov-2026 11:38:48] WARNING: [pool wordpress] server reached max_children setting (5), consider raising it",
        ] {
            let seen = one(Writer::PhpFpm, line);
            assert_eq!((seen.level.as_str(), seen.signature.as_deref()), ("WARNING", Some(MAX_CHILDREN)));
        }
    }

    #[test]
    fn the_status_pages_own_pool_is_not_the_sites() {
        let line = "[21-Nov-2026 11:38:48] WARNING: [pool wordpress_status] server reached max_children setting (2), \
                    consider raising it";
        assert_eq!(one(Writer::PhpFpm, line).signature, None);
    }

    #[test]
    fn normal_work_is_not_evidence() {
        for (writer, line) in [
            (Writer::PhpFpm, "[21-Nov-2026 11:38:20] NOTICE: fpm is running, pid 16670"),
            (Writer::Web, "2026/11/21 11:38:20 [notice] 12#12: signal 15 (SIGTERM) received"),
            (Writer::MariaDb, "2026-11-21 11:36:54 0 [Note] /usr/sbin/mariadbd: ready for connections."),
            (Writer::MariaDb, "Version: '10.11.19'  socket: '/x/db.sock'  port: 0  Debian 12"),
        ] {
            assert_eq!(aggregate(writer, &[line.to_owned()]), [], "{line}");
        }
    }

    #[test]
    fn the_web_servers_words_tell_whose_fault_it_is() {
        let tail = ", client: 127.0.0.1, server: , request: \"GET / HTTP/1.0\", upstream: \"fastcgi://127.0.0.1:1\"";
        let said = |text: &str| {
            let line = format!("2026/11/21 11:38:20 [error] 12#12: *7 {text}{tail}");
            one(Writer::Web, &line).signature.unwrap()
        };
        assert_eq!(said("upstream timed out (110: Connection timed out) while connecting to upstream"), BACKLOG);
        assert_eq!(
            said("upstream timed out (110: Connection timed out) while reading response header from upstream"),
            READ_TIMEOUT
        );
        let php = "FastCGI sent in stderr: \"PHP message: PHP Warning:  x in y\" while reading response header";
        assert_eq!(said(php), SCRIPT);
    }

    #[test]
    fn alike_lines_count_as_one_and_texts_are_bounded() {
        let line = |n: u32| format!("2026/11/21 11:38:2{n} [crit] {n}#{n}: *{n} something new {}", "x".repeat(900));
        let other = "2026/11/21 11:38:20 [crit] 1#1: *1 something else".to_owned();
        let lines = aggregate(Writer::Web, &[line(1), line(2), other, line(3)]);
        assert_eq!(lines.iter().map(|l| l.count).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(lines[0].text.chars().count(), TEXT_MAX);
        assert_eq!(lines[0].signature, None);
    }
}
