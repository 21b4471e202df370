//! What httpd gives php-fpm for a request beside what its own files say (`SetEnv PHP_VALUE`, which mod_proxy_fcgi passes on), and what the folder of
//! the site does.

use genkai_model::limit::{Limit, Origin};

use super::config::{Config, Found};
use super::route::Route;
use super::within;
use crate::files::Requests;
use crate::limits::php::{self, Passed};

/// Its limits for these requests, where they may go to a server that speaks FastCGI.
pub(super) fn limits(config: &Config, requests: &Requests) -> Vec<Limit> {
    let is_fcgi = |found: &Found| found.args.iter().any(|arg| arg.contains("fcgi://"));
    let Some(route) = Route::find(config, requests).filter(|_| config.found().iter().any(is_fcgi)) else {
        return Vec::new();
    };
    // Where a handler or a balancer has them, it is not followed here which of several.
    let passed = route.pass(config, &requests.path).map(|pass| pass.url.to_ascii_lowercase());
    if passed.is_some_and(|url| !["fcgi:", "unix:", "balancer:"].iter().any(|scheme| url.starts_with(scheme))) {
        return Vec::new();
    }
    let given = |name: &str| {
        let found = within::variable(config, &route, requests, name)?;
        let origin = Origin::File { path: config.file(found.file).path.clone(), line: found.line };
        Some(Passed { by: name.to_owned(), text: found.arg(1)?.to_owned(), origin })
    };
    let root = route.of_host(config, &["documentroot"]).and_then(|found| found.arg(0));
    php::passed(given, &root.map(|path| config.root().join(path)).into_iter().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::config::Reading;
    use super::*;

    #[test]
    fn a_variable_of_the_environment_is_given_to_php_where_fastcgi_is_spoken() {
        let of = |scheme: &str| {
            let text = format!(
                "Listen 80\nSetEnv PHP_VALUE \"memory_limit = 16M\"\nProxyPass / {scheme}://127.0.0.1:9000/srv/www/\n"
            );
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 68) };
            let config = Config::of_text(Path::new("/a.conf"), text.into(), reading).unwrap();
            limits(&config, &Requests::to("localhost", "/"))
        };
        let all = of("fcgi");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].setting, "memory_limit (PHP_VALUE)");
        assert_eq!(all[0].origin, Origin::File { path: "/a.conf".into(), line: 2 });
        assert!(of("http").is_empty());
        // Other requests go to PHP.
        assert!(of("http://127.0.0.1:8/\nProxyPass /php/ fcgi").is_empty());
    }
}
