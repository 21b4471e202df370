//! Keeps secrets out of records: headers and query parameters that carry credentials, and passwords in URLs, wherever they
//! are written: the command line, the load, the plan.

use genkai_model::command::{Parameter, ParameterKind, names};
use genkai_model::comparison::{Comparison, Runs};
use genkai_model::event::{Rewrite, Tick};
use genkai_model::load::Load;
use genkai_model::plan::{Backend, Plan, Study, System};
use genkai_model::scenario::{Scenario, Step};
use genkai_model::template::Template;
use genkai_targets::files::masked;

/// What a secret is replaced with.
pub const HIDDEN: &str = "(hidden)";

/// Names whose values are never recorded, without `-` and `_`. A name that contains one of [`TELLING`] counts too.
const SECRET: &[&str] = &["cookie", "setcookie", "key", "sig", "signature", "sid", "jwt", "pwd", "pass", "passwd"];
/// Parts of a name that say it carries a credential, without `-` and `_`.
const TELLING: &[&str] = &["token", "secret", "password", "apikey", "accesskey", "auth", "session", "credential"];
/// What separates parameters in a target: RFC 3986 (3.3 for `;`, 3.4, 3.5) and the HTML forms' `&`.
const SEPARATORS: &[char] = &['?', '&', ';', '#'];

/// Whether the header or parameter `name` carries a credential.
fn is_secret(name: &str) -> bool {
    let name = decoded(name.trim()).to_ascii_lowercase().replace(['-', '_'], "");
    SECRET.contains(&name.as_str()) || TELLING.iter().any(|part| name.contains(part))
}

/// Whether a command's parameter with this name is taken for a credential: of `db_pass` or `signing-key`, a part says it.
pub fn is_secret_parameter(name: &str) -> bool {
    is_secret(name) || name.split(['_', '-', '.']).any(is_secret)
}

/// The load without its secrets. Request bodies given as text are kept: they are the user's test data.
pub fn load(load: &Load) -> Load {
    let mut load = load.clone();
    for (name, value) in &mut load.request.headers {
        if is_secret(name) {
            HIDDEN.clone_into(value);
        }
    }
    load.request.path = target(&load.request.path);
    if let Some(scenario) = &mut load.scenario {
        redact(scenario);
    }
    load
}

/// A scenario without its secrets: rows of tables are left out whole, for names of columns do not tell all that is secret.
fn redact(scenario: &mut Scenario) {
    for table in &mut scenario.tables {
        table.rows.clear();
    }
    for variable in scenario.variables.iter_mut().filter(|variable| is_secret(&variable.name)) {
        variable.values = vec![HIDDEN.into()];
    }
    for one in &mut scenario.targets {
        one.url = url(&one.url);
        one.base = target(&one.base);
    }
    for flow in &mut scenario.flows {
        steps(&mut flow.steps);
    }
}

fn steps(all: &mut [Step]) {
    for step in all {
        match step {
            Step::Request(request) => {
                fields(&mut request.headers);
                path(&mut request.path);
            }
            Step::Connect(connect) => {
                fields(&mut connect.headers);
                path(&mut connect.path);
            }
            Step::Loop(inner) => steps(&mut inner.steps),
            Step::Send(_) | Step::Expect(_) | Step::Think(_) => {}
        }
    }
}

/// Secrets that stand in it; what is put in when it is sent stays a name.
fn path(template: &mut Template) {
    if let Ok(clean) = target(&template.to_string()).parse() {
        *template = clean;
    }
}

fn fields(headers: &mut [(String, Template)]) {
    for (name, value) in headers {
        if is_secret(name) {
            *value = Template::text(HIDDEN);
        }
    }
}

/// An interval without the secrets of the address that a refused handshake leads to.
pub fn tick(mut tick: Box<Tick>) -> Box<Tick> {
    if let Some(to) = tick.handshakes.as_mut().and_then(|h| h.refusal.as_mut()).and_then(|r| r.location.as_mut()) {
        *to = url(to);
    }
    tick
}

/// Differences of a private copy from the user's files without the secrets of those files.
pub fn rewrites(all: &[Rewrite]) -> Vec<Rewrite> {
    let one = |r: &Rewrite| Rewrite { place: r.place.clone(), from: masked(&r.from), to: masked(&r.to) };
    all.iter().map(one).collect()
}

/// The plan without its secrets.
pub fn plan(plan: &Plan) -> Plan {
    let title: Vec<String> = plan.title.split(' ').map(url).collect();
    let study = match plan.study.clone() {
        Study::Compare(compared) => Study::Compare(comparison(compared)),
        other => other,
    };
    Plan { title: title.join(" "), system: system(&plan.system), load: load(&plan.load), study, ..plan.clone() }
}

fn system(system: &System) -> System {
    let backend = match &system.backend {
        Backend::Url(text) => Backend::Url(url(text)),
        other => other.clone(),
    };
    let mut line = system.command.clone();
    let mut settings = system.settings.clone();
    if let Some(line) = &mut line {
        line.words = command(&line.words);
        for name in line.parameters.iter().filter(|one| one.kind == ParameterKind::Secret).map(|one| &one.name) {
            settings.insert(name.clone(), HIDDEN.to_owned());
        }
        for value in settings.values_mut().filter(|value| value.contains("://")) {
            *value = url(value);
        }
    }
    System { backend, settings, command: line, ..system.clone() }
}

/// Identity of the note that tells what was replaced.
pub(crate) const NOTE: &str = "secrets";

/// What is to be told of a command's parameters that are taken for secrets; none: there are none.
pub(crate) fn told(system: &System) -> Option<String> {
    let parameters = system.command.iter().flat_map(|line| &line.parameters);
    let secret: Vec<&str> =
        parameters.filter(|one| one.kind == ParameterKind::Secret).map(|one| one.name.as_str()).collect();
    let (first, of) = (secret.first()?, secret.join(", "));
    Some(format!(
        "{of}: taken for secret by name; the command got what was given, everything that is written has {HIDDEN} instead, and no other value is \
         tried (a number that is to be tried needs a range, like --set {first}=10:1..100)"
    ))
}

fn comparison(mut comparison: Comparison) -> Comparison {
    for contender in &mut comparison.contenders {
        match &mut contender.runs {
            Runs::Url(text) => *text = url(text),
            Runs::Server { system: own, .. } => **own = system(own),
        }
    }
    comparison
}

/// What is secret of a command's words: whoever prints them must not show it. What parameters put into them is not among it.
pub(crate) fn parts(words: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for (word, shown) in words.iter().zip(command(words)).filter(|(word, shown)| *word != shown) {
        let (before, after) = shown.split_once(HIDDEN).unwrap_or_default();
        let inner = word.strip_prefix(before).and_then(|word| word.strip_suffix(after)).unwrap_or(word);
        // `{` to `}` is the name of a parameter.
        for part in inner.split('{').map(|part| part.split_once('}').map_or(part, |(_, part)| part)) {
            all.push(part.to_owned());
            // Of `Bearer SECRET` and `user:SECRET`, the second is the secret.
            all.extend(part.rsplit_once([' ', ':']).map(|(_, last)| last.to_owned()));
        }
    }
    all
}

/// A command line without its secrets: the values of secret headers (`--header "Name: value"`, `--header=Name: value`,
/// `-HName: value`), of secret parameters in paths and URLs, of secret settings and flags (`--set password=value`, and flags
/// that are named so, with `=` or a word more), and passwords in URLs.
pub fn command(words: &[String]) -> Vec<String> {
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    words.iter().zip(before).map(|(word, before)| word_without_secret(word, before)).collect()
}

fn word_without_secret(word: &str, before: &str) -> String {
    let named = before.strip_prefix("--").is_some_and(|flag| !flag.contains('=') && is_secret_parameter(flag));
    if named && !word.starts_with('-') && !is_name(word) {
        return HIDDEN.to_owned();
    }
    let (flag, rest) = word.split_at(value_at(word));
    // Of a flag with `=` the flag itself is the name.
    let whole = flag.strip_suffix('=').is_some_and(|flag| is_secret_parameter(flag.trim_start_matches('-')));
    if whole && !is_name(rest) {
        return format!("{flag}{HIDDEN}");
    }
    if let Some(shown) = setting(rest) {
        return format!("{flag}{shown}");
    }
    let shown = if rest.starts_with('/') || rest.contains("://") { url(rest) } else { header(rest) };
    format!("{flag}{shown}")
}

/// `NAME=value` of a secret setting, without the value.
fn setting(text: &str) -> Option<String> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let tried =
        || Parameter::read(text).is_ok_and(|(one, _)| matches!(one.kind, ParameterKind::Number { most: Some(_), .. }));
    let secret = plain && is_secret_parameter(name) && !is_name(value) && !tried();
    secret.then(|| format!("{name}={HIDDEN}"))
}

/// Whether it is the name of a parameter, in braces.
fn is_name(text: &str) -> bool {
    names(text).iter().any(|name| format!("{{{name}}}") == text)
}

/// Where in a word the value begins: after `--name=`; after `-H` and an optional `=`, also where flags without a value stand
/// before the `H` (`-qH`); else at its beginning.
fn value_at(word: &str) -> usize {
    if word.starts_with("--") {
        return word.find('=').map_or(0, |at| at + 1);
    }
    let attached = word.strip_prefix('-').and_then(|short| {
        let rest = short.trim_start_matches('q').strip_prefix('H')?;
        Some(rest.strip_prefix('=').unwrap_or(rest))
    });
    attached.map_or(0, |value| word.len() - value.len())
}

/// `Name: value`, without the value where the name says that it is secret.
fn header(text: &str) -> String {
    match text.split_once(':') {
        Some((name, _)) if !name.trim().contains(['/', ' ', '=']) && is_secret(name) => format!("{name}: {HIDDEN}"),
        _ => text.to_owned(),
    }
}

/// A URL without user, password and secret parameters. What is no URL is taken for a target.
pub(crate) fn url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return target(text) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    format!("{scheme}://{authority}{}", target(tail))
}

/// A request target without the values of secret parameters.
fn target(text: &str) -> String {
    text.split_inclusive(SEPARATORS).map(parameter).collect()
}

/// `name=value` with the separator that follows it.
fn parameter(piece: &str) -> String {
    let Some((name, value)) = piece.split_once('=').filter(|(name, _)| is_secret(name)) else {
        return piece.to_owned();
    };
    let separator = value.find(SEPARATORS).map_or("", |at| &value[at..]);
    format!("{name}={HIDDEN}{separator}")
}

/// Percent-decoded (RFC 3986, 2.1): a name can be written in many ways.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| tail.get(at).and_then(|&b| char::from(b).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    fn shown(words: &[&str]) -> Vec<String> {
        command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_secret_of_words_is_known_by_itself() {
        let words = [
            "./serve",
            "--token",
            "hunter2",
            "Authorization: Bearer abc{workers}def",
            "http://u:SECRET@h/",
            "{listen}",
        ];
        let all = parts(&words.map(str::to_owned));
        assert_eq!(all, ["hunter2", "Bearer abc", "abc", "def", "u:SECRET", "SECRET"]);
    }

    #[test]
    fn secrets_go_from_command_lines() {
        for word in [
            "Authorization: Bearer SECRET",
            "Cookie : SECRET",
            "--header=X-Api-Key: SECRET",
            "-HCookie: sid=SECRET",
            "-H=Cookie: sid=SECRET",
            "-qHCookie: sid=SECRET",
            "http://u:SECRET@127.0.0.1/",
            "--backend=http://u:SECRET@127.0.0.1:80",
            "http://127.0.0.1/?token=SECRET",
            "http://127.0.0.1?a=1&access_token=SECRET#end",
            "/?token=SECRET",
            "--path=/?a=b&API_KEY=SECRET&c=d",
            "/?%74oken=SECRET",
            "/shop;jsessionid=SECRET?a=b",
            "password=SECRET",
            "password = SECRET",
            "--set=db_pass=SECRET|SECRET",
            "--api-key=SECRET",
            "--signing_key=a=SECRET",
        ] {
            let text = shown(&[word]).join(" ");
            assert!(!text.contains("SECRET") && text.contains(HIDDEN), "{word}: {text}");
        }
        let words = ["--set", "token=SECRET", "--", "serve", "--secret", "SECRET", "{token}"];
        let told = ["--set", "token=(hidden)", "--", "serve", "--secret", HIDDEN, "{token}"];
        assert_eq!(shown(&words), told);
        assert_eq!(shown(&["-HCookie: a"]), ["-HCookie: (hidden)"]);
        assert_eq!(shown(&["--path=/?a=b&sid=1&c=d"]), ["--path=/?a=b&sid=(hidden)&c=d"]);
        assert_eq!(shown(&["http://u:p@127.0.0.1/a@b"]), ["http://(hidden)@127.0.0.1/a@b"]);
    }

    #[test]
    fn the_rest_stays() {
        let words = [
            "genkai",
            "-H",
            "-q",
            "Accept: text/html",
            "-HAccept: */*",
            "--set",
            "worker_connections=512",
            "--objective=errors < 0.1%, p99 < 500ms",
            "http://[::1]:8080/a?b=c&d=e#f",
            "/100%/?q=a%20b",
            "--pin=servers=0,client=1",
            "--set=sessions=100:1..1000",
            "--token={token}",
            "--secret",
            "{token}",
        ];
        assert_eq!(shown(&words), words);
    }

    #[test]
    fn secrets_go_from_scenarios() {
        let scenario = serde_json::json!({
            "targets": [{"name": "t", "url": "http://u:SECRET@127.0.0.1/", "host": "h"}],
            "variables": [{"name": "api_key", "values": ["SECRET"]}, {"name": "city", "values": ["Paris"]}],
            "tables": [{"source": "a.csv", "columns": ["pin"], "rows": [["SECRET"]], "order": "random"}],
            "flows": [{"name": "f", "weight": 1, "steps": [{"do": "loop", "times": "forever", "variable": "n", "steps": [
                {"do": "request", "name": 0, "target": 0, "method": "GET", "path": "/{{city}}?token=SECRET",
                 "headers": [["Authorization", "Bearer SECRET"], ["Accept", "text/html"]]}]}]}],
            "names": ["GET /{{city}}"], "drain": "1s"
        });
        let mut all = experiment::users(1, 1.0);
        all.scenario = Some(Box::new(serde_json::from_value(scenario).unwrap()));
        let clean = serde_json::to_string(&load(&all)).unwrap();
        assert!(!clean.contains("SECRET"), "{clean}");
        assert!(["Paris", "text/html", "/{{city}}"].iter().all(|kept| clean.contains(kept)), "{clean}");
    }

    #[test]
    fn secrets_go_from_plans() {
        let mut secret = experiment::nginx_worker_connections(experiment::Size::Quick, "512");
        secret.title = "load http://u:SECRET@127.0.0.1/?token=SECRET".to_owned();
        secret.system.backend = Backend::Url("http://u:SECRET@127.0.0.1/?token=SECRET".to_owned());
        secret.load.request.path = "/?token=SECRET".to_owned();
        secret.load.request.headers =
            vec![("Cookie".to_owned(), "SECRET".to_owned()), ("Accept".to_owned(), "*/*".to_owned())];
        let clean = plan(&secret);
        assert!(!format!("{clean:?}").contains("SECRET"), "{clean:?}");
        assert_eq!(clean.title, "load http://(hidden)@127.0.0.1/?token=(hidden)");
        assert_eq!(clean.load.request.path, "/?token=(hidden)");
        assert_eq!(clean.load.request.headers[1].1, "*/*");
        assert_eq!((clean.objective, clean.procedure), (secret.objective, secret.procedure));
    }
}
