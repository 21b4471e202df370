//! What PHP says when it ends a script, whatever way it comes: FastCGI's stderr in the log of the product before it, or a log of PHP's own.

use std::sync::LazyLock;

use regex::Regex;

/// main/main.c and Zend/zend_alloc.c (`Allowed memory size of %zu bytes exhausted`), Zend/zend_execute_API.c (`Maximum execution time of
/// %d second%s exceeded`). What a request sent comes later in the line, if at all.
static FATAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:PHP message: )?PHP Fatal error:  (?:Allowed memory size of (\d+) bytes exhausted|Maximum execution time of (\d+) seconds? exceeded)",
    )
    .expect("pattern is a constant")
});

/// The signature of a message by which PHP tells that it has ended a script. It has the number that was in force for that script, which may have
/// set one of its own: only where it is that of the configuration, the configuration is the limit.
pub(crate) fn ended(message: &str) -> Option<String> {
    let found = FATAL.captures(message)?;
    match (found.get(1), found.get(2)) {
        (Some(bytes), _) => Some(memory(bytes.as_str().parse().ok()?)),
        (_, Some(seconds)) => Some(time(seconds.as_str().parse().ok()?)),
        _ => None,
    }
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
