//! Keeps secrets out of records: values of headers that carry credentials, on the command line and in the load.

use genkai_model::load::Load;
use genkai_model::plan::Plan;

/// What a secret is replaced with.
pub const HIDDEN: &str = "(hidden)";

/// Header names whose values are never recorded. A name that contains one of [`TELLING`] counts too.
const SECRET: &[&str] = &["authorization", "proxy-authorization", "cookie", "set-cookie"];
/// Parts of a name that say it carries a credential.
const TELLING: &[&str] = &["token", "secret", "password", "api-key", "apikey", "auth", "session", "credential"];

/// Whether the header `name` carries a credential.
pub fn is_secret(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    SECRET.contains(&name.as_str()) || TELLING.iter().any(|part| name.contains(part))
}

/// The load without its secrets. Request bodies given as text are kept: they are the user's test data.
pub fn load(load: &Load) -> Load {
    let mut load = load.clone();
    for (name, value) in &mut load.request.headers {
        if is_secret(name) {
            HIDDEN.clone_into(value);
        }
    }
    load
}

/// The plan without its secrets.
pub fn plan(plan: &Plan) -> Plan {
    Plan { load: load(&plan.load), ..plan.clone() }
}

/// A command line without its secrets: the values of secret headers (`--header "Name: value"`, `--header=Name: value`)
/// and passwords in URLs.
pub fn command(words: &[String]) -> Vec<String> {
    words.iter().map(|word| word_without_secret(word)).collect()
}

fn word_without_secret(word: &str) -> String {
    let (flag, rest) = match word.split_once('=') {
        Some((flag, rest)) if flag.starts_with("--") => (format!("{flag}="), rest),
        _ => (String::new(), word),
    };
    if let Some((scheme, tail)) = rest.split_once("://")
        && let Some((_, host)) = tail.split_once('@')
    {
        return format!("{flag}{scheme}://{HIDDEN}@{host}");
    }
    match rest.split_once(':') {
        Some((name, _)) if !name.contains(['/', ' ']) && is_secret(name) => format!("{flag}{name}: {HIDDEN}"),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let words = [
            "genkai",
            "--header",
            "Authorization: Bearer abc",
            "--header=X-Api-Key: 123",
            "Accept: text/html",
            "http://u:pw@127.0.0.1/",
            "--set",
            "worker_connections=512",
        ]
        .map(str::to_owned);
        let hidden = command(&words);
        let text = hidden.join(" ");
        for secret in ["abc", "123", "pw"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(hidden[4], words[4]);
        assert_eq!(hidden[7], words[7]);
        assert_eq!(hidden[5], "http://(hidden)@127.0.0.1/");
    }
}
