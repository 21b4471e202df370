//! The table of settings. Defaults are those compiled into httpd 2.4.68, read in the source file named with each; a
//! distribution's own files may set others.

use super::value::Kind::{self, Count, Enum, Factor, Flag, Interval, Milliseconds, Seconds, Size, Words};
use super::{PRODUCT, Place, SettingError};

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Name as `--set` has it.
    pub name: &'static str,
    /// The directive, or the key of a `ProxyPass` parameter.
    pub directive: &'static str,
    /// Older names of the same directive.
    pub aliases: &'static [&'static str],
    /// Where it belongs.
    pub place: Place,
    /// What it accepts.
    pub kind: Kind,
    /// Compiled-in default (of event and worker); empty: there is none, or it is another setting's value.
    pub default: &'static str,
    /// The same of prefork.
    pub prefork: &'static str,
    /// Where the default is written down.
    pub source: &'static str,
}

const MPM: &str = "httpd server/mpm/event/event.c: event_pre_config, worker.c, prefork.c";
const COMMON: &str = "httpd include/mpm_common.h";
const CORE: &str = "httpd server/core.c: core_commands, include/http_core.h";
const HTTP: &str = "httpd modules/http/http_core.c, include/httpd.h";
const PROXY: &str = "httpd modules/proxy/mod_proxy.c: create_proxy_config";
const WORKER: &str = "httpd modules/proxy/mod_proxy.c: set_worker_param, proxy_util.c: ap_proxy_initialize_worker";
const REQTIMEOUT: &str = "httpd modules/filters/mod_reqtimeout.c";

const MANY: u64 = i32::MAX as u64;

const fn of(name: &'static str, place: Place, kind: Kind, default: &'static str, source: &'static str) -> Setting {
    Setting { name, directive: name, aliases: &[], place, kind, default, prefork: default, source }
}

const fn mpm(name: &'static str, kind: Kind, default: &'static str, prefork: &'static str) -> Setting {
    Setting { name, directive: name, aliases: &[], place: Place::Server, kind, default, prefork, source: MPM }
}

const fn pass(name: &'static str, key: &'static str, kind: Kind, default: &'static str) -> Setting {
    Setting { name, directive: key, aliases: &[], place: Place::Pass, kind, default, prefork: default, source: WORKER }
}

static SETTINGS: &[Setting] = &[
    Setting { aliases: &["MaxClients"], ..mpm("MaxRequestWorkers", Count(1, MANY), "400", "256") },
    mpm("ServerLimit", Count(1, 200_000), "16", "256"),
    mpm("ThreadsPerChild", Count(1, 100_000), "25", "1"),
    mpm("ThreadLimit", Count(1, 100_000), "64", "1"),
    mpm("StartServers", Count(0, MANY), "3", "5"),
    mpm("MinSpareThreads", Count(1, MANY), "75", ""),
    mpm("MaxSpareThreads", Count(1, MANY), "250", ""),
    mpm("MinSpareServers", Count(1, MANY), "", "5"),
    mpm("MaxSpareServers", Count(1, MANY), "", "10"),
    Setting { aliases: &["MaxRequestsPerChild"], ..mpm("MaxConnectionsPerChild", Count(0, MANY), "0", "0") },
    mpm("AsyncRequestWorkerFactor", Factor, "2", ""),
    of("ListenBacklog", Place::Server, Count(1, MANY), "511", "httpd include/mpm_common.h:63"),
    of("GracefulShutdownTimeout", Place::Server, Count(0, MANY), "0", COMMON),
    of("SendBufferSize", Place::Server, Size(1 << 31), "0", COMMON),
    of("ReceiveBufferSize", Place::Server, Size(1 << 31), "0", COMMON),
    of("Timeout", Place::Host, Seconds, "60", "httpd include/httpd.h: DEFAULT_TIMEOUT"),
    of("KeepAlive", Place::Host, Flag, "On", HTTP),
    of("KeepAliveTimeout", Place::Host, Interval, "5", HTTP),
    of("MaxKeepAliveRequests", Place::Host, Count(0, MANY), "100", HTTP),
    of("ProxyTimeout", Place::Host, Interval, "", PROXY),
    of("ProxyIOBufferSize", Place::Host, Size(1 << 31), "8192", PROXY),
    of("ProxyReceiveBufferSize", Place::Host, Size(1 << 31), "0", PROXY),
    of("ProxyWebsocketFallbackToProxyHttp", Place::Host, Flag, "On", "httpd modules/proxy/mod_proxy_wstunnel.c"),
    of("LimitRequestLine", Place::Host, Size(1 << 20), "8190", CORE),
    of("LimitRequestFields", Place::Host, Count(0, 32767), "100", CORE),
    of("LimitRequestFieldSize", Place::Host, Size(1 << 20), "8190", CORE),
    of("RequestReadTimeout", Place::Host, Words, "header=20-40,MinRate=500 body=20,MinRate=500", REQTIMEOUT),
    of(
        "LimitRequestBody",
        Place::Path,
        Size(1 << 62),
        "1073741824",
        "httpd server/core.c: AP_DEFAULT_LIMIT_REQ_BODY (since 2.4.54)",
    ),
    of("ReadBufferSize", Place::Path, Size(1 << 31), "8192", CORE),
    of("EnableSendfile", Place::Path, Flag, "Off", CORE),
    pass("ProxyPass.max", "max", Count(1, MANY), ""),
    pass("ProxyPass.smax", "smax", Count(0, MANY), ""),
    pass("ProxyPass.ttl", "ttl", Seconds, ""),
    pass("ProxyPass.acquire", "acquire", Milliseconds, ""),
    pass("ProxyPass.timeout", "timeout", Interval, ""),
    pass("ProxyPass.connectiontimeout", "connectiontimeout", Interval, ""),
    pass("ProxyPass.retry", "retry", Seconds, "60"),
    pass("ProxyPass.disablereuse", "disablereuse", Flag, "Off"),
    pass("ProxyPass.upgrade", "upgrade", Words, ""),
    Setting {
        directive: "LoadModule",
        ..of("mpm", Place::Mpm, Enum(&["event", "worker", "prefork"]), "event", "httpd configure.in: --with-mpm")
    },
];

/// Every setting genkai knows.
pub fn all() -> &'static [Setting] {
    SETTINGS
}

/// Finds a setting by its name, whatever its case; an old name will do.
///
/// # Errors
/// [`SettingError::Unknown`] with the nearest names.
pub fn lookup(name: &str) -> Result<&'static Setting, SettingError> {
    let is = |s: &&Setting| {
        s.name.eq_ignore_ascii_case(name) || s.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    };
    let names = || all().iter().map(|s| (s.name, s.name));
    all().iter().find(is).ok_or_else(|| SettingError::unknown(PRODUCT, name, names()))
}

impl Setting {
    /// Its directive and older names, in lower case.
    pub fn directives(&self) -> Vec<String> {
        std::iter::once(&self.directive).chain(self.aliases).map(|n| n.to_ascii_lowercase()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_case_and_old_ones_will_do() {
        assert_eq!(lookup("maxrequestworkers").unwrap().name, "MaxRequestWorkers");
        assert_eq!(lookup("MaxClients").unwrap().name, "MaxRequestWorkers");
        let message = lookup("MaxRequestWorker").unwrap_err().to_string();
        assert!(message.contains("did you mean MaxRequestWorkers"), "{message}");
        assert!(lookup("xyzzy").unwrap_err().to_string().contains("none of those"));
    }

    #[test]
    fn every_default_is_acceptable() {
        for setting in all() {
            for default in [setting.default, setting.prefork].iter().filter(|d| !d.is_empty()) {
                assert!(setting.kind.written(default).is_some(), "{} {default}", setting.name);
            }
        }
    }
}
