//! What stands behind is asked for something else than the client asked for.

use super::Route;
use crate::apache::config::Config;

impl Route<'_> {
    /// The target by which what stands behind is asked for this one: the URL of the `ProxyPass` in the place of its path (mod_proxy.c:
    /// `proxy_trans`). None where patterns decide, or a handler passes it on.
    pub fn forwarded(&self, config: &Config, target: &str) -> Option<String> {
        let path = target.split('?').next().unwrap_or_default();
        let pass = self.pass(config, path);
        if config.named("rewriterule").next().is_some() || pass.as_ref().is_some_and(|pass| pass.pattern) {
            return None;
        }
        let Some(pass) = pass else {
            let handles =
                |found: &crate::apache::config::Found| found.arg(0).is_some_and(|to| to.starts_with("proxy:"));
            return Some(target.to_owned()).filter(|_| !config.named("sethandler").any(handles));
        };
        let after = pass.url.split_once("://").map_or("", |(_, rest)| rest);
        let begin = after.find('/').map_or("", |at| &after[at..]);
        let asked = format!("{begin}{}", target.strip_prefix(pass.path.as_str())?);
        Some(if asked.starts_with('/') { asked } else { format!("/{asked}") })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;
    use crate::files::Requests;

    fn asked(text: &str, target: &str) -> Option<String> {
        let reading =
            Reading { root: "/etc/apache2".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let config = Config::of_text(Path::new("/x/httpd.conf"), format!("Listen 80\n{text}").into(), reading).unwrap();
        Route::find(&config, &Requests::to("x", target))?.forwarded(&config, target)
    }

    #[test]
    fn the_url_stands_in_the_place_of_the_path() {
        let one = |text: &str, target: &str| asked(text, target).unwrap_or_default();
        assert_eq!(one("ProxyPass /app http://b:1/inner\n", "/app/x?y=1"), "/inner/x?y=1");
        assert_eq!(one("ProxyPass /app/ http://b:1/\n", "/app/x"), "/x");
        assert_eq!(one("ProxyPass / http://b:1/\n", "/app/x"), "/app/x");
        assert_eq!(one("<Location /app>\nProxyPass http://b:1\n</Location>\n", "/app"), "/");
        assert_eq!(asked("ProxyPassMatch ^/a(.*)$ http://b:1/$1\n", "/a/x"), None, "a pattern decides");
        assert_eq!(asked("RewriteEngine On\nRewriteRule ^/a /b\nProxyPass / http://b:1/\n", "/a"), None);
    }
}
