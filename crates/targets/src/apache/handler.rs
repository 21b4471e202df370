//! What passes requests to a server: a `ProxyPass`, or a handler (`SetHandler "proxy:URL"`), which mod_proxy asks for the file's whole path.

use super::config::Config;
use super::route::{Pass, Route};
use super::within::handler;
use crate::files::Requests;

/// What passes these requests on; none: httpd answers itself, or which handler they have is not sure. A `ProxyPass` comes before any handler
/// (mod_proxy.c: proxy_handler).
pub(super) fn pass<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests) -> Option<Pass<'c>> {
    route.pass(config, &requests.path).or_else(|| {
        let found = handler(config, route, requests)?;
        let url = found.arg(0)?.strip_prefix("proxy:")?;
        let path = requests.path.split('?').next().unwrap_or_default();
        let root = route.of_host(config, &["documentroot"]).and_then(|found| found.arg(0)).unwrap_or_default();
        Some(Pass::handled(found, url, format!("{}{path}", root.trim_end_matches('/'))))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    /// As httpd 2.4.71 answers.
    #[test]
    fn the_handler_is_that_of_the_section_that_is_merged_last() {
        let url = |text: &str| {
            let reading =
                Reading { root: "/e".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let config = Config::of_text(Path::new("/x"), format!("Listen 80\n{text}").into(), reading).unwrap();
            let requests = Requests::to("x", "/x.php");
            let route = Route::find(&config, &requests)?;
            Some(pass(&config, &route, &requests)?.url)
        };
        let (to, one) = ("SetHandler proxy:http://h:1\n", Some("http://h:1".to_owned()));
        let within = |section: &str, more: &str| {
            url(&format!("<{section}>\n{to}</{}>\n{more}", section.split(' ').next().unwrap()))
        };
        assert_eq!(url(to), one);
        assert_eq!(within("Location /", ""), one);
        assert_eq!(within("Location /y", ""), None);
        assert_eq!(within("Location /", "<Location /x.php>\nSetHandler none\n</Location>\n"), None);
        assert_eq!(within("FilesMatch \\.php$", ""), one);
        assert_eq!(within("FilesMatch \\.html$", ""), None);
        assert_eq!(within("FilesMatch \\.php$", "<Location />\nSetHandler none\n</Location>\n"), None);
        assert_eq!(within("FilesMatch \\.php$", "Alias /x.php /y.html\n"), None, "another file: not sure");
        assert_eq!(within("If \"true\"", ""), None, "not sure");
        assert_eq!(url(&format!("{to}ProxyPass / http://h:2/\n")).as_deref(), Some("http://h:2/"));
        assert_eq!(url(&format!("{to}ProxyPass /x.php !\nProxyPass / http://h:2/\n")), one);
        assert_eq!(url("SetHandler proxy:balancer://b\n").as_deref(), Some("balancer://b"));
    }
}
