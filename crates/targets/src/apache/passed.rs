//! What httpd gives php-fpm for a request beside what its own files say (`SetEnv PHP_VALUE`, which mod_proxy_fcgi passes on), and what the folder of
//! the site does.

use genkai_model::limit::{Limit, Origin};

use super::config::Config;
use super::handler;
use super::route::{Route, members};
use super::within;
use crate::files::Requests;
use crate::limits::php::{self, Passed};

/// Its limits for these requests, where they go to a server that speaks FastCGI, or some of them do.
pub(super) fn limits(config: &Config, requests: &Requests) -> Vec<Limit> {
    let Some(route) = Route::find(config, requests) else { return Vec::new() };
    let Some(pass) = handler::pass(config, &route, requests) else { return Vec::new() };
    let is_fcgi = |url: &str| url.rsplit('|').next().is_some_and(|url| url.to_ascii_lowercase().starts_with("fcgi:"));
    let speaks = match members(config, &pass.url) {
        Some(all) => all.first.iter().chain(all.further.iter().flatten()).any(|member| is_fcgi(&member.url)),
        None => is_fcgi(&pass.url),
    };
    if !speaks {
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
        let of_lines = |lines: &str| {
            let text = format!("Listen 80\nSetEnv PHP_VALUE \"memory_limit = 16M\"\n{lines}");
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 68) };
            let config = Config::of_text(Path::new("/a.conf"), text.into(), reading).unwrap();
            limits(&config, &Requests::to("localhost", "/"))
        };
        let of = |scheme: &str| of_lines(&format!("ProxyPass / {scheme}://127.0.0.1:9000/srv/www/\n"));
        let all = of("fcgi");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].setting, "memory_limit (PHP_VALUE)");
        assert_eq!(all[0].origin, Origin::File { path: "/a.conf".into(), line: 2 });
        assert!(of("http").is_empty());
        // Other requests go to PHP.
        assert!(of("http://127.0.0.1:8/\nProxyPass /php/ fcgi").is_empty());
        // So it is of a balancer and of a handler: the one that has them counts.
        let balancer =
            |name: &str, member: &str| format!("<Proxy balancer://{name}>\nBalancerMember {member}\n</Proxy>\n");
        let both = balancer("a", "http://127.0.0.1:8") + &balancer("b", "fcgi://127.0.0.1:9");
        let to = |name: &str| of_lines(&format!("ProxyPass / balancer://{name}/\n{both}")).len();
        assert_eq!((to("a"), to("b")), (0, 1));
        let handler =
            |to: &str| of_lines(&format!("SetHandler \"proxy:{to}\"\nProxyPass /php fcgi://127.0.0.1:9\n")).len();
        assert_eq!((handler("http://127.0.0.1:8"), handler("unix:/run/php.sock|fcgi://localhost")), (0, 1));
        let rule = |to: &str| {
            of_lines(&format!("RewriteEngine On\nRewriteRule ^/(.*)$ {to}/$1 [P]\nProxyPass / fcgi://127.0.0.1:9/\n"))
                .len()
        };
        assert_eq!((rule("http://127.0.0.1:8"), rule("fcgi://127.0.0.1:9")), (0, 1));
    }
}
