//! From what the user typed to a setting and a checked value.

use super::{Context, Setting, SettingError, TABLE};
use crate::nginx::config::{End, parse};

/// A setting with the zone it was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Named<'n> {
    /// The setting.
    pub setting: &'n Setting,
    /// `perip` in `limit_conn.perip`.
    pub zone: Option<&'n str>,
}

/// Finds a setting by its name. A parameter's plain name (`backlog`, `max_conns`) will do where no directive has it.
///
/// # Errors
/// [`SettingError::Unknown`] with the nearest names.
pub fn lookup(name: &str) -> Result<Named<'_>, SettingError> {
    if let Some(setting) = TABLE.find(name) {
        return Ok(Named { setting, zone: None });
    }
    let zoned = |s: &&'static Setting| matches!(s.context, Context::Zone | Context::HttpZone);
    if let Some((plain, zone)) = name.split_once('.')
        && let Some(setting) = TABLE.find(plain).filter(zoned)
        && !zone.is_empty()
    {
        return Ok(Named { setting, zone: Some(zone) });
    }
    let mut plain = TABLE.settings.iter().filter(|s| s.directive == name);
    if let (Some(setting), None) = (plain.next(), plain.next()) {
        return Ok(Named { setting, zone: None });
    }
    let names = TABLE.settings.iter().map(|s| (s.name, s.directive));
    Err(SettingError::unknown(TABLE.product, name, names))
}

/// The words of a value, if the setting accepts them.
///
/// # Errors
/// [`SettingError::Value`]: wrong kind, out of range, or more than the arguments of one directive.
pub fn check(name: &str, value: &str) -> Result<Vec<String>, SettingError> {
    let setting = lookup(name)?.setting;
    let refused = |allowed: String| SettingError::value(TABLE.product, name, value, allowed);
    let words = words(value).ok_or_else(|| refused("the arguments of one directive, without \";\"".to_owned()))?;
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    setting.kind.written(&texts).ok_or_else(|| refused(setting.kind.allowed()))
}

/// The words of a text by nginx's rules; none when it is not just words.
fn words(value: &str) -> Option<Vec<String>> {
    let text = format!("set {value}\n;");
    match &parse(text.as_bytes()).ok()?[..] {
        [only] if only.end == End::Semicolon => Some(only.args().iter().map(|w| w.text().into_owned()).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_zones() {
        assert_eq!(lookup("worker_connections").unwrap().setting.context, Context::Events);
        assert_eq!(lookup("limit_conn.perip").unwrap().zone, Some("perip"));
        assert_eq!(lookup("max_conns").unwrap().setting.name, "upstream.max_conns");
        assert_eq!(lookup("backlog").unwrap().setting.name, "listen.backlog");
        assert_eq!(lookup("keepalive_timeout").unwrap().setting.context, Context::Http);
        assert!(lookup("gzip.zone").is_err());
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let message = |name| lookup(name).unwrap_err().to_string();
        assert!(
            message("worker_conections").contains("did you mean worker_connections"),
            "{}",
            message("worker_conections")
        );
        assert!(message("Worker-Connections").contains("worker_connections"));
        assert!(message("backlg").contains("listen.backlog"));
        assert_eq!(message("xyzzy"), "unknown nginx setting \"xyzzy\"; it is none of those genkai may change");
    }

    #[test]
    fn values_are_checked_with_what_is_allowed() {
        let message = |name, value| check(name, value).unwrap_err().to_string();
        assert_eq!(
            message("worker_connections", "0"),
            "worker_connections=0: nginx wants a whole number from 1 to 10000000"
        );
        assert!(message("gzip", "yes").ends_with("nginx wants on or off"));
        assert!(message("client_max_body_size", "1t").contains("1m or 2g"));
        assert!(message("access_log", "off; daemon on").contains("without \";\""));
        assert!(message("access_log", "x { }").contains("without \";\""));
        assert!(message("proxy_http_version", "3").contains("1.0, 1.1, 2"));
        assert_eq!(check("access_log", "/a/b.log 'my format'").unwrap(), ["/a/b.log", "my format"]);
    }

    #[test]
    fn every_default_is_acceptable() {
        for setting in TABLE.settings.iter().filter(|s| !s.default.is_empty()) {
            assert!(check(setting.name, setting.default).is_ok(), "{}", setting.name);
        }
    }
}
