//! Which `ErrorDocument`s may give an error another status: a path is asked within httpd, and what answers there decides; a URL is answered 302
//! (modules/http/http_request.c: ap_die_r). A text is sent with the error's own status.

use super::members::GLOBAL_LOG;
use crate::apache::config::{Config, Found};

/// Those of statuses that tell of a server that fails or has no room.
pub fn documents(config: &Config) -> impl Iterator<Item = &Found> {
    let fails = |status: &str| status.len() == 3 && status.starts_with('5') || status == "429";
    config.named("errordocument").filter(move |found| {
        let page = found.arg(1).unwrap_or_default();
        found.arg(0).is_some_and(fails) && (page.starts_with('/') || is_url(page) || page.starts_with("%{"))
    })
}

/// Whether a page is somewhere else: clients are led there (`ap_is_url`).
pub fn is_url(page: &str) -> bool {
    let scheme = page.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)))
}

/// Whether errors may be sent as good answers, and this httpd can write that down.
pub fn errors_may_hide(config: &Config) -> bool {
    documents(config).next().is_some()
        && config.has_module("log_config_module")
        && config.has_module("proxy_module")
        && config.version() >= GLOBAL_LOG
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    #[test]
    fn a_text_keeps_the_status_of_the_error() {
        let of = |page: &str| {
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let text = format!("Listen 80\nErrorDocument {page}\n");
            let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
            documents(&config).count()
        };
        for page in ["503 /sorry.php", "500 http://else.example/", "429 /later", "502 \"%{REQUEST_URI}\""] {
            assert_eq!(of(page), 1, "{page}");
        }
        for page in ["503 \"Sorry: come back\"", "503 default", "404 /index.php", "503 sorry"] {
            assert_eq!(of(page), 0, "{page}");
        }
    }
}
