//! A rule of mod_rewrite that surely passes a request to a server (`RewriteRule PATTERN URL [P]`). It comes before any `ProxyPass` and any handler.
//! Measured on httpd 2.4.71 (`crates/targets/tests/asked/apache_ways.rs`).

use genkai_model::load::host_sent;

use super::rewrite::{Asked, Rule, rules, value};
use super::{Pass, Route, expression};
use crate::apache::config::Config;
use crate::files::Requests;

impl Route<'_> {
    /// The rule that passes these requests to a server, with the URL that it makes of their path; none: none does, or that is not sure.
    pub fn rewritten<'c>(&self, config: &'c Config, requests: &Requests) -> Option<Pass<'c>> {
        // With options the rules of another server may come before or after these.
        if config.named("rewriteoptions").next().is_some() {
            return None;
        }
        let request =
            Asked { host: host_sent(&requests.host, self.is_tls(config)), path: &requests.path, method: None };
        for rule in rules(config, self, request) {
            // What does not hold leaves out those that are chained to it; what holds may leave out others, or begin again.
            if rule.has(&["c", "chain"]) || rule.holds != Some(false) && rule.has(&["s", "skip", "n", "next"]) {
                return None;
            }
            match rule.holds {
                Some(false) => {}
                Some(true) if rule.passes() => {
                    let url = self.made(config, &rule, request)?;
                    return Some(Pass::handled(rule.found, &url, String::new()));
                }
                Some(true) if rule.to.is_none() && rule.status().is_none() && !rule.has(&["l", "last", "end"]) => {}
                _ => return None,
            }
        }
        None
    }

    /// The URL that a rule makes (modules/mappers/mod_rewrite.c: do_expand); none where something else decides it than its path and its host.
    pub(super) fn made(&self, config: &Config, rule: &Rule<'_>, request: Asked<'_>) -> Option<String> {
        let path = request.path.split('?').next()?;
        let pattern = rule.found.arg(0)?;
        let groups = match pattern.starts_with('!') {
            true => Vec::new(),
            false => expression::groups(pattern, path, rule.has(&["nc", "nocase"]))?,
        };
        let to = rule.to.filter(|to| !to.contains(['\\', '?']) && !to.contains("${"))?;
        let (mut whole, mut rest) = (String::new(), expression::with_groups(to, &groups));
        while let Some((before, after)) = rest.split_once('%') {
            let (name, further) = after.strip_prefix('{')?.split_once('}')?;
            whole += before;
            whole += &value(name, config, self, request)?;
            rest = further.to_owned();
        }
        Some(whole + &rest).filter(|url| url.contains("://"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    #[test]
    fn a_rule_that_surely_passes_is_followed_and_no_other() {
        let url = |rules: &str| {
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let text = format!("Listen 80\nRewriteEngine On\n{rules}\nProxyPass / http://h:2/\n");
            let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
            let requests = Requests::to("x", "/api/x?q=1");
            Some(Route::find(&config, &requests).unwrap().rewritten(&config, &requests)?.url)
        };
        let is = |url: &str| Some(url.to_owned());
        let rule = "RewriteRule ^/api/(.*)$ http://h:1/rule/$1 [P]";
        assert_eq!(url(rule), is("http://h:1/rule/x"));
        assert_eq!(url("RewriteRule . http://h:1%{REQUEST_URI} [P,L]"), is("http://h:1/api/x"));
        assert_eq!(url("RewriteRule ^/API/ fcgi://h:9/srv/$0 [NC,P]"), is("fcgi://h:9/srv//api/"));
        assert_eq!(url("RewriteRule !^/static http://h:1/ [P]"), is("http://h:1/"));
        assert_eq!(url(&format!("RewriteCond %{{HTTP_HOST}} ^x$\n{rule}")), is("http://h:1/rule/x"));
        assert_eq!(url(&format!("RewriteRule ^ - [E=a:b]\n{rule}")), is("http://h:1/rule/x"));
        for unsure in [
            format!("RewriteCond %{{HTTP_COOKIE}} a\n{rule}"),
            format!("RewriteRule ^ - [L]\n{rule}"),
            format!("RewriteRule ^/api/ /px/\n{rule}"),
            format!("RewriteRule ^/none - [C]\n{rule}"),
            format!("RewriteRule ^ - [S=1]\n{rule}"),
            format!("RewriteRule ^ - [F]\n{rule}"),
            format!("RewriteOptions InheritBefore\n{rule}"),
            "RewriteRule ^/api http://%{ENV:TO}/ [P]".to_owned(),
            "RewriteRule ^/api http://${map:to}/ [P]".to_owned(),
            "RewriteRule ^/other http://h:1/ [P]".to_owned(),
            "RewriteRule ^/api http://h:1/".to_owned(),
        ] {
            assert_eq!(url(&unsure), None, "{unsure}");
        }
    }
}
