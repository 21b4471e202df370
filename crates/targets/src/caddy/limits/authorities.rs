//! Servers that are asked before each request (`forward_auth`, a `reverse_proxy` of Caddy's own making): a request waits for them first.

use genkai_model::limit::Origin;

use crate::caddy::config::{Config, Line};
use crate::caddy::route::{Route, upstreams};
use crate::settings::SourcedValue;

/// `max_conns_per_host` of each that has one, with how many requests it takes at once: that of one upstream over HTTP/1.1.
pub(super) fn of(config: &Config, route: Option<&Route<'_>>) -> Vec<(SourcedValue<u64>, Option<u64>)> {
    let held = |line: &&Line| {
        let way = line.option("transport http")?;
        let found = way.option("max_conns_per_host")?;
        let written = found.args().first()?.value.clone();
        let value: u64 = written.parse().ok().filter(|most| *most > 0)?;
        let (path, number) = config.place(found).rsplit_once(':').map(|(path, n)| (path.to_owned(), n.to_owned()))?;
        let origin = Origin::File { path: path.into(), line: number.parse().ok()? };
        let all = upstreams(line);
        let is_plain = all.len() == 1 && !all[0].value.starts_with("https://") && way.option("versions").is_none();
        let is_clear = way.inside().iter().all(|inner| !inner.name().starts_with("tls"));
        Some((SourcedValue { value, written, origin }, (is_plain && is_clear).then_some(value)))
    };
    route.map(|route| route.authorities.iter().filter_map(held).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::Variables;
    use crate::files::Requests;

    #[test]
    fn what_is_asked_before_a_request_has_limits_of_its_own() {
        let told = |inside: &str, path: &str| {
            let text = format!("http://:80 {{\n{inside}\n\treverse_proxy 127.0.0.1:9\n}}\n");
            let config = Config::of_texts(vec![("/x".into(), text.into_bytes())], Variables::new()).unwrap();
            let route = Route::find(&config, &Requests::to("localhost", path));
            of(&config, route.as_ref())
                .into_iter()
                .map(|(held, known)| (held.value, held.origin, known))
                .collect::<Vec<_>>()
        };
        let auth = "\tforward_auth /a/* 127.0.0.1:8 {\n\t\turi /auth\n\t\ttransport http {\n\t\t\tmax_conns_per_host 2\n\t\t}\n\t}";
        let at = Origin::File { path: "/x".into(), line: 5 };
        assert_eq!(told(auth, "/a/x"), [(2, at.clone(), Some(2))]);
        assert_eq!(told(auth, "/b"), [], "it is not asked there");
        assert_eq!(told(&auth.replace("127.0.0.1:8", "127.0.0.1:8 127.0.0.1:7"), "/a/x"), [(2, at, None)]);
        assert_eq!(told(&auth.replace("max_conns_per_host 2", "dial_timeout 2s"), "/a/x"), []);
    }
}
