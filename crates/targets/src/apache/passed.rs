//! What httpd gives php-fpm for a request beside what its own files say (`SetEnv PHP_VALUE`, which mod_proxy_fcgi passes on), and what the folder of
//! the site does.

use genkai_model::limit::{Limit, Origin};

use super::config::{Config, Found};
use super::route::Route;
use super::within;
use crate::files::Requests;
use crate::limits::php::{self, Passed};

/// Variables that php-fpm takes settings from; see nginx's.
const TAKEN: [&str; 2] = ["PHP_ADMIN_VALUE", "PHP_VALUE"];

/// Its limits for these requests, where they may go to a server that speaks FastCGI.
pub(super) fn limits(config: &Config, requests: &Requests) -> Vec<Limit> {
    let is_fcgi = |found: &Found| found.args.iter().any(|arg| arg.contains("fcgi://"));
    let Some(route) = Route::find(config, requests).filter(|_| config.found().iter().any(is_fcgi)) else {
        return Vec::new();
    };
    let given = |name: &str| {
        let found = within::variable(config, &route, requests, name)?;
        let origin = Origin::File { path: config.file(found.file).path.clone(), line: found.line };
        Some(Passed { by: name.to_owned(), text: found.arg(1)?.to_owned(), origin })
    };
    let all: Vec<Passed> = TAKEN.into_iter().filter_map(given).collect();
    let root = route.of_host(config, &["documentroot"]).and_then(|found| found.arg(0));
    let site = root.map(|path| Passed::of_site(&config.root().join(path))).unwrap_or_default();
    php::passed(&all.into_iter().chain(site).collect::<Vec<_>>())
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
    }
}
