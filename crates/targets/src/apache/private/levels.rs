//! Levels of modules of which httpd's log tells at its usual level nothing that is needed.

use super::changes::Changes;
use super::takes_tls;
use crate::apache::config::{Config, Found};
use crate::apache::settings::Mpm;

/// Of the whole server.
pub(super) fn lines(config: &Config) -> String {
    // At its usual level event says nothing of a child that is full and closes connections that clients keep.
    let event = (Mpm::of(config) == Mpm::Event).then_some("mpm_event:debug");
    event.into_iter().chain(of_requests(config)).map(|level| format!("LogLevel {level}\n")).collect()
}

/// Those of which a virtual host with a `LogLevel` of its own would keep to itself what it is told there (measured on 2.4.71: one with a plain level in it
/// takes none of the server's).
pub(super) fn of_hosts(config: &Config, changes: &mut Changes<'_>) {
    let levels = of_requests(config);
    let plain = |found: &&Found| found.host().is_some() && found.args.iter().any(|level| !level.contains(':'));
    for found in config.named("loglevel").filter(plain).filter(|_| !levels.is_empty()) {
        let args: Vec<String> =
            found.args.iter().cloned().chain(levels.iter().map(|level| (*level).to_owned())).collect();
        changes.set(found, &args);
    }
}

fn of_requests(config: &Config) -> Vec<&'static str> {
    // That a request did not come in time.
    let late = config.has_module("reqtimeout_module").then_some("reqtimeout:info");
    // Why a backend ended a connection whose handshake was done (TLS 1.3). Where clients come by TLS, too, it would say several lines of each of
    // their connections, which would then cost more than the user's.
    let refused = config.has_module("ssl_module") && config.found().iter().any(passes_tls) && !takes_tls(config);
    late.into_iter().chain(refused.then_some("ssl:info")).collect()
}

/// Whether this directive has requests passed on by TLS.
fn passes_tls(found: &Found) -> bool {
    found.name == "sslproxyengine" && found.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("on"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    fn config(text: &str) -> Config {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!("LoadModule ssl_module /x.so\nLoadModule reqtimeout_module /y.so\n{text}");
        Config::of_text(Path::new("/x/httpd.conf"), text.into_bytes(), reading).unwrap()
    }

    #[test]
    fn what_is_said_of_each_tls_connection_is_asked_for_where_only_backends_have_it() {
        let asked = |text: &str| lines(&config(text)).contains("LogLevel ssl:info\n");
        assert!(asked("Listen 80\nSSLProxyEngine on\n") && asked("Listen 80\nSSLEngine off\nSSLProxyEngine on\n"));
        assert!(!asked("Listen 80\n"));
        assert!(!asked("Listen 443\nSSLEngine on\nSSLProxyEngine on\n"));
        assert!(!asked("Listen 443 https\nSSLProxyEngine on\n"));
    }

    #[test]
    fn a_virtual_host_with_a_level_of_its_own_tells_the_same() {
        let told = |level: &str| {
            let text = format!("Listen 80\nSSLProxyEngine on\n<VirtualHost *:80>\nLogLevel {level}\n</VirtualHost>\n");
            let config = config(&text);
            let mut changes = Changes::new(&config, Path::new("/d"));
            of_hosts(&config, &mut changes);
            changes.rewrites.into_iter().map(|one| one.to).collect::<Vec<_>>()
        };
        assert_eq!(told("warn"), ["LogLevel warn reqtimeout:info ssl:info"]);
        assert!(told("core:warn").is_empty(), "the server's are in force");
    }
}
