//! The path of a request as locations and expressions see it (src/http/ngx_http_parse.c: ngx_http_parse_complex_uri).

/// The path that a target's becomes: escapes are read, slashes merged, `.` and `..` followed. None: that cannot be told, or nginx refuses it.
pub(super) fn path(written: &str) -> Option<String> {
    let decoded = decoded(written)?;
    let mut parts: Vec<&str> = Vec::new();
    // What ends with a slash, `.` or `..` ends with a slash then.
    let mut open = true;
    for part in decoded.strip_prefix('/')?.split('/') {
        open = matches!(part, "" | "." | "..");
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let end = if open && !parts.is_empty() { "/" } else { "" };
    Some(format!("/{}{end}", parts.join("/")))
}

/// Escapes are read. None: one is broken, or stands for something that means more than itself.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'#' => return None,
            b'%' => {
                let mut digit = || (bytes.next()? as char).to_digit(16);
                let value = digit()? * 16 + digit()?;
                u8::try_from(value).ok().filter(|byte| !matches!(byte, 0 | b'%' | b'#' | b'?'))?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_what_nginx_makes_of_it() {
        let is = [
            ("/.well-known/a", "/.well-known/a"),
            ("/a//b/", "/a/b/"),
            ("/a/./b", "/a/b"),
            ("/a/b/..", "/a/"),
            ("/a/../b", "/b"),
            ("/%61%2Fb%20c", "/a/b c"),
            ("/a/%2e%2e/b", "/b"),
            ("/a.", "/a."),
            ("//", "/"),
            ("/", "/"),
        ];
        for (written, expected) in is {
            assert_eq!(path(written).as_deref(), Some(expected), "{written}");
        }
        for odd in ["/..", "/%", "/%4", "/%zz", "/%00", "/a%3Fb", "/%ff", "a", "/a#b"] {
            assert_eq!(path(odd), None, "{odd}");
        }
    }
}
