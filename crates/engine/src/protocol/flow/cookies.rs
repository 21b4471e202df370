//! Cookies of one user: enough of RFC 6265 for sessions. Each belongs to the target that set it (no Domain attribute is
//! honoured, so none reaches another host), and to the paths below its own.

/// Most cookies of a user (RFC 6265 section 6.1 asks for at least 50 a host), and the longest kept.
const MOST: usize = 64;
const LONGEST: usize = 4096;

/// The cookies of a user.
#[derive(Debug, Default)]
pub(super) struct Jar(Vec<Cookie>);

#[derive(Debug)]
struct Cookie {
    target: u32,
    name: String,
    value: String,
    path: String,
}

impl Jar {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes a Set-Cookie field (RFC 6265 sections 5.2 and 5.3) of a response to a request for `path`.
    pub(super) fn set(&mut self, target: u32, path: &str, field: &[u8]) {
        let Ok(text) = std::str::from_utf8(field) else { return };
        let mut parts = text.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || text.len() > LONGEST {
            return;
        }
        let default = &path[..path.split('?').next().unwrap_or(path).rfind('/').unwrap_or(0)];
        let (mut path, mut over) = (default, false);
        for attribute in parts {
            let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            match key.trim().to_ascii_lowercase().as_str() {
                "path" if value.starts_with('/') => path = value.trim().trim_end_matches('/'),
                "max-age" => over = value.trim().parse::<i64>().is_ok_and(|seconds| seconds <= 0),
                // The usual way to delete: a date of long ago. Real lifetimes are longer than a run.
                "expires" => over |= value.contains("1970"),
                _ => {}
            }
        }
        self.0.retain(|known| (known.target, known.name.as_str(), known.path.as_str()) != (target, name, path));
        if !over && self.0.len() < MOST {
            self.0.push(Cookie { target, name: name.to_owned(), value: value.to_owned(), path: path.to_owned() });
        }
    }

    /// The Cookie field's value for a request (RFC 6265 section 5.4), written to `out`; whether there is one.
    pub(super) fn write(&self, target: u32, path: &str, out: &mut String) -> bool {
        let before = out.len();
        for cookie in self.0.iter().filter(|cookie| cookie.target == target && below(path, &cookie.path)) {
            if out.len() > before {
                out.push_str("; ");
            }
            out.push_str(&cookie.name);
            out.push('=');
            out.push_str(&cookie.value);
        }
        out.len() > before
    }
}

/// RFC 6265 section 5.1.4.
fn below(path: &str, of: &str) -> bool {
    let path = path.split('?').next().unwrap_or(path);
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(jar: &Jar, target: u32, path: &str) -> String {
        let mut out = String::new();
        jar.write(target, path, &mut out);
        out
    }

    #[test]
    fn cookies_go_back_to_where_they_belong() {
        let mut jar = Jar::default();
        jar.set(0, "/login?x=/y", b"sid=abc; Path=/; HttpOnly");
        jar.set(0, "/shop/cart", b"cart=1");
        jar.set(1, "/", b"other=2");
        jar.set(0, "/", b"nonsense");
        assert_eq!(sent(&jar, 0, "/"), "sid=abc");
        assert_eq!(sent(&jar, 0, "/shop/pay?a"), "sid=abc; cart=1");
        assert_eq!(sent(&jar, 0, "/shopping"), "sid=abc");
        assert_eq!(sent(&jar, 1, "/a"), "other=2");
        jar.set(0, "/", b"sid=new; path=/");
        assert_eq!(sent(&jar, 0, "/"), "sid=new");
        jar.set(0, "/", b"sid=; Path=/; Max-Age=0");
        assert_eq!(sent(&jar, 0, "/"), "");
        for n in 0..2 * MOST {
            jar.set(0, "/", format!("c{n}=1").as_bytes());
        }
        assert!(jar.0.len() <= MOST);
    }
}
