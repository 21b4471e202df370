//! What HAProxy answers itself: rules that refuse, answer or redirect a request, its own pages, and heads that fit no buffer.

use genkai_model::load::Request;

use super::config::{Config, Found};
use super::evidence::{metrics, signature};
use super::private::Private;
use super::proxy::{self, Mode, Server};
use super::rates;
use super::route::{Address, Bind, Route, binds, final_action};
use super::settings::{TUNE_BUFSIZE, in_force, value};
use super::sni;
use crate::files::Requests;
use crate::product::{OwnAnswer, head, on_line};
use genkai_place::authority;

/// What of a buffer is kept free for headers that rules add (`tune.maxrewrite`, configuration manual 3.2).
const MAXREWRITE: u64 = 1024;

/// What may answer these requests. Places are of the user's files, messages those that the copy writes.
pub(super) fn own(config: &Config, copy: &Private, requests: &Requests, request: &Request) -> Vec<OwnAnswer> {
    let Some(route) = Route::find(config, requests) else { return Vec::new() };
    let refusing: Vec<&Found> = route.doubts.iter().copied().filter(|found| final_action(found).is_some()).collect();
    let sure = route.answered.filter(|_| refusing.is_empty());
    let rules = refusing.into_iter().chain(route.answered);
    let rules: Vec<&Found> = rules.collect();
    let one = |found: &&Found| {
        let answer = of_rule((config, copy), found, sure == Some(*found))?;
        if !is_early(found) {
            return Some(answer);
        }
        // What such a rule ends is not logged; where several may have, the counter does not say which.
        let counter = counter(found)
            .filter(|counter| rules.iter().filter(|other| self::counter(other) == Some(*counter)).count() == 1);
        Some(OwnAnswer { signature: None, counter: counter.map(str::to_owned), ..answer })
    };
    let mut all: Vec<OwnAnswer> = rules.iter().filter_map(one).collect();
    all.extend(too_large(config, requests, request));
    if sure.is_none() {
        let unnamed = unnamed(config, &route, requests);
        all.extend(certificate(config, &route).filter(|_| unnamed.is_none()));
        all.extend(unnamed);
        all.extend(through(config, &route));
    }
    all
}

/// Whether a rule ends connections before anything is read of them.
fn is_early(rule: &Found) -> bool {
    rule.is("tcp-request") && matches!(rule.arg(0), Some("connection" | "session"))
}

/// What counts those that a rule ends (src/tcp_rules.c: tcp_exec_l4_rules, tcp_exec_l5_rules; src/http_ana.c). A connection that is dropped in silence
/// is counted as a request (src/tcp_act.c: tcp_exec_action_silent_drop).
fn counter(rule: &Found) -> Option<&'static str> {
    match (final_action(rule)?.0, rule.arg(0)) {
        ("reject", Some("connection")) => Some(metrics::DENIED_CONNECTIONS),
        ("reject", Some("session")) => Some(metrics::DENIED_SESSIONS),
        ("reject" | "silent-drop" | "deny" | "tarpit", _) => Some(metrics::DENIED_REQUESTS),
        _ => None,
    }
}

/// A line with its place in the user's files.
fn of(config: &Config, found: &Found, words: usize) -> OwnAnswer {
    let words_of = |from: usize, to: usize| {
        let words: Vec<&str> = found.words[from.min(to)..to].iter().map(|word| word.value.as_str()).collect();
        words.join(" ")
    };
    let (words, all) = (words.min(found.words.len()), found.words.len());
    OwnAnswer::of(&words_of(0, words), words_of(words, all), on_line(&config.file(found.file).path, found.line))
}

fn of_rule((config, copy): (&Config, &Private), found: &Found, certain: bool) -> Option<OwnAnswer> {
    let condition = found.words.iter().any(|word| matches!(word.value.as_str(), "if" | "unless"));
    let when = match rates::told(config, found) {
        _ if certain => "every such request".to_owned(),
        Some(rate) => format!("its condition holds ({rate})"),
        None if condition => "its condition holds".to_owned(),
        None => "no rule before it lets it pass".to_owned(),
    };
    let place = on_line(&config.file(found.file).path, found.line);
    let twin = copy.running.found().iter().find(|one| one.name() == found.name() && copy.place(one) == place);
    let logged = twin.map(|one| {
        let file = copy.running.file(one.file).path.file_name().unwrap_or_default();
        signature::of_rule(&file.to_string_lossy(), one.line)
    });
    if found.is("monitor-uri") {
        return Some(OwnAnswer { statuses: vec![200, 503], certain, when, ..of(config, found, 1) });
    }
    let (action, words) = final_action(found)?;
    Some(OwnAnswer {
        statuses: statuses(found, action),
        signature: logged,
        silent: action == "silent-drop",
        law: rates::at_once(config, found),
        certain,
        when,
        ..of(config, found, words)
    })
}

/// The statuses that an action gives (configuration manual 4.2, `http-request`).
fn statuses(found: &Found, action: &str) -> Vec<u16> {
    let written = |words: &[&str]| {
        let of = |word: &&str| found.option(0, word).and_then(|word| word.value.parse().ok());
        words.iter().find_map(of)
    };
    match action {
        "deny" => vec![written(&["deny_status", "status"]).unwrap_or(403)],
        "tarpit" => vec![written(&["deny_status", "status"]).unwrap_or(500)],
        "return" => vec![written(&["status"]).unwrap_or(200)],
        "redirect" => vec![written(&["code"]).unwrap_or(302)],
        "auth" => vec![401],
        "use-service" => (200..600).collect(),
        _ => Vec::new(),
    }
}

/// A head that does not fit a buffer: 400 (src/mux_h1.c).
fn too_large(config: &Config, requests: &Requests, request: &Request) -> Option<OwnAnswer> {
    let held = in_force(config, &TUNE_BUFSIZE, requests);
    let held = held.parsed(|text| value::buffer(text, config.reading().version))?;
    let (line, fields) = head(request);
    let all = line + 2 + fields.iter().map(|field| field + 2).sum::<u64>() + 2;
    (all > held.value.saturating_sub(MAXREWRITE)).then(|| OwnAnswer {
        statuses: vec![400],
        certain: all > held.value,
        when: format!("the head has {all} bytes, a buffer {}", held.value),
        ..OwnAnswer::of(TUNE_BUFSIZE.directive, held.written.clone(), held.origin.clone())
    })
}

/// A listener that wants a certificate of the client's.
fn certificate(config: &Config, route: &Route<'_>) -> Option<OwnAnswer> {
    let found = route.bind.found;
    let wants = found.option(0, "verify").is_some_and(|word| word.value == "required") && route.bind.tls;
    let when = "the client shows no certificate".to_owned();
    wants.then(|| OwnAnswer { certain: true, when, ..of(config, found, 1) })
}

/// A listener that takes handshakes only under names of its certificates, where the one that is asked for is none of them.
fn unnamed(config: &Config, route: &Route<'_>, requests: &Requests) -> Option<OwnAnswer> {
    let lines = sni::strict(config, route.bind.found).filter(|_| route.bind.tls)?.ok()?;
    let name = authority::bare(&requests.host);
    let when = format!(
        "with strict-sni a handshake under a name for which it has no certificate is refused, and it has none for {name}; --header \"Host: NAME\" chooses \
         another"
    );
    let found = route.bind.found;
    let origin = on_line(&config.file(found.file).path, found.line);
    (sni::takes(&lines, &name) == Some(false)).then(|| OwnAnswer {
        certain: true,
        when,
        ..OwnAnswer::of("strict-sni", String::new(), origin)
    })
}

/// Servers that lead back into this HAProxy, to a listener that wants a certificate of theirs, and show none: no handshake with it succeeds, and clients
/// are answered 503, or 502 where what says so comes behind the request (TLS 1.3).
fn through(config: &Config, route: &Route<'_>) -> Option<OwnAnswer> {
    let back = route.back.filter(|_| proxy::mode(config, route.front) == Mode::Http)?;
    let all = proxy::servers(config, back);
    let used: Vec<&Server<'_>> = match route.chosen {
        Some(name) => all.iter().filter(|server| server.found.arg(0) == Some(name)).collect(),
        None => all.iter().filter(|server| server.is_used() || server.backup && !server.disabled).collect(),
    };
    let listeners: Vec<Bind<'_>> = config
        .sections()
        .iter()
        .filter(|s| s.is_front() && !proxy::is_off(config, s))
        .flat_map(|s| binds(config, s))
        .collect();
    let refused = |server: &&Server<'_>| {
        let shows = proxy::giving(config, back, server, "crt").is_some();
        let at = Address::parse(server.found.arg(1).filter(|_| server.encrypted && !shows)?);
        listeners.iter().find(|bind| wants(bind) && bind.addresses.iter().any(|own| own.takes(&at)))
    };
    let first = used.iter().find(|server| refused(server).is_some())?;
    let bind = refused(first)?;
    let certain =
        used.iter().all(|server| refused(server).is_some()) && route.doubts.is_empty() && route.others.is_empty();
    let listener = of(config, bind.found, 1).named();
    let when = format!(
        "it leads to {listener} of the same file, which wants a certificate of whoever comes, and this line shows none (`crt`)"
    );
    let words = first.found.words.len();
    let words = words.min(2);
    // Where no other server has the requests, what is logged of one that does not take them is of these alone.
    let signature = certain.then(|| signature::SERVER_REFUSED.to_owned());
    Some(OwnAnswer { statuses: vec![502, 503], certain, signature, when, ..of(config, first.found, words) })
}

/// Whether no request gets further than to such a listener: then no server that stands behind refuses any.
pub(super) fn ends_within(config: &Config, requests: &Requests) -> bool {
    let route = Route::find(config, requests).filter(|route| route.answered.is_none());
    route.and_then(|route| through(config, &route)).is_some_and(|one| one.certain)
}

/// Whether no handshake without a certificate of the client's succeeds.
fn wants(bind: &Bind<'_>) -> bool {
    let passes = ["ca-ignore-err", "crt-ignore-err"].iter().any(|word| bind.found.option(1, word).is_some());
    bind.tls && !passes && bind.found.option(1, "verify").is_some_and(|word| word.value == "required")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    #[test]
    fn a_step_without_the_certificate_that_its_own_listener_wants_is_answered_by_nobody_else() {
        let of = |servers: &str, verify: &str| {
            let text = format!(
                "defaults\n mode http\nfrontend f\n bind :80\n default_backend b\nbackend b\n {servers}\nfrontend g\n bind 127.0.0.1:8443 ssl crt \
                 /c.pem ca-file /a.pem {verify}\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let route = Route::find(&config, &Requests::to("localhost", "/")).unwrap();
            through(&config, &route).map(|one| (one.named(), one.when, one.certain))
        };
        let step = "server s 127.0.0.1:8443 ssl verify none";
        let (named, when, certain) = of(step, "verify required").unwrap();
        assert_eq!((named.as_str(), certain), ("`server s 127.0.0.1:8443 ssl verify none` (/x:7)", true));
        assert!(when.contains("`bind 127.0.0.1:8443 ssl crt /c.pem ca-file /a.pem verify required` (/x:9)"), "{when}");
        let other = format!("{step}\n server t 127.0.0.1:9");
        assert_eq!(of(&other, "verify required").map(|(.., certain)| certain), Some(false));
        for (servers, verify) in [
            (step, "verify optional"),
            (step, "verify required crt-ignore-err all"),
            ("server s 127.0.0.1:8443 ssl verify none crt /own.pem", "verify required"),
            ("default-server crt /own.pem\n server s 127.0.0.1:8443 ssl verify none", "verify required"),
            ("server s 127.0.0.1:9443 ssl verify none", "verify required"),
        ] {
            assert_eq!(of(servers, verify), None, "{servers} {verify}");
        }
    }

    #[test]
    fn what_is_dropped_in_silence_is_counted_as_a_request() {
        let text = "frontend f\n mode http\n bind :80\n tcp-request connection reject if { src 1.1.1.1 }\n \
                    tcp-request connection silent-drop if { src 1.1.1.2 }\n tcp-request session reject if { src 1.1.1.3 }\n \
                    http-request deny if { path /x }\n http-request return status 200 if { path /y }\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let rules = config.found().iter().filter(|found| found.name().ends_with("-request"));
        let counters: Vec<_> = rules.map(|rule| (is_early(rule), counter(rule))).collect();
        let known = [
            (true, Some(metrics::DENIED_CONNECTIONS)),
            (true, Some(metrics::DENIED_REQUESTS)),
            (true, Some(metrics::DENIED_SESSIONS)),
            (false, Some(metrics::DENIED_REQUESTS)),
            (false, None),
        ];
        assert_eq!(counters, known);
    }
}
