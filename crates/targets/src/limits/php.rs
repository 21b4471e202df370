//! What PHP says when it ends a script, whatever way it comes: FastCGI's stderr in the log of the product before it, or a log of PHP's own.

use std::sync::LazyLock;

use regex::Regex;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
