//! Modules by their names: the identifier (`ssl_module`) and the source file (`mod_ssl.c`), which `IfModule` takes too.

/// Compiled in by Debian (`apache2 -l`), by identifier.
pub const STATIC: &[&str] = &[
    "core_module",
    "so_module",
    "watchdog_module",
    "http_module",
    "log_config_module",
    "logio_module",
    "version_module",
    "unixd_module",
];

/// Source files whose names do not follow from the identifier.
const ODD: &[(&str, &str)] = &[
    ("core.c", "core_module"),
    ("http_core.c", "http_module"),
    ("event.c", "mpm_event_module"),
    ("worker.c", "mpm_worker_module"),
    ("prefork.c", "mpm_prefork_module"),
    ("mod_cgid.c", "cgid_module"),
    ("util_ldap.c", "ldap_module"),
    ("mod_php.c", "php_module"),
    ("mod_php7.c", "php7_module"),
];

/// The identifier that an `IfModule` argument means.
pub(super) fn identifier(argument: &str) -> String {
    if let Some((_, name)) = ODD.iter().find(|(file, _)| *file == argument) {
        return (*name).to_owned();
    }
    match argument.strip_prefix("mod_").and_then(|rest| rest.strip_suffix(".c")) {
        Some(plain) => format!("{plain}_module"),
        None => argument.to_owned(),
    }
}
