//! Modules by their names, and the directives they bring: the identifier (`ssl_module`) and the source file (`mod_ssl.c`), which `IfModule` takes too.

use std::collections::BTreeSet;

use crate::files::names::table;

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
        // The MPMs are files without `mod_`.
        Some(plain) if !plain.starts_with("mpm_") => format!("{plain}_module"),
        _ => argument.to_owned(),
    }
}

/// Every directive of httpd 2.4.71 with the modules that bring it (`apache2 -L` with all of Debian's modules).
static DIRECTIVES: &str = include_str!("../explain/directives.txt");

/// Every directive of httpd's own modules, with the modules that bring it, one name after the other with commas.
pub(in crate::apache) fn directives() -> impl Iterator<Item = (&'static str, &'static str)> {
    table(DIRECTIVES)
}

/// Modules that are part of every httpd, or of every build with the same MPM.
const BUILT_IN: &[&str] = &[
    "core",
    "http_core",
    "mod_so",
    "mod_watchdog",
    "mod_log_config",
    "mod_logio",
    "mod_version",
    "mod_unixd",
    "mod_core",
];

/// Whether one of `modules`, as the table of directives names them, is among those that are loaded.
pub(in crate::apache) fn any_loaded(modules: &str, loaded: &BTreeSet<String>) -> bool {
    modules.split(',').any(|module| is_loaded(module, loaded))
}

fn is_loaded(module: &str, loaded: &BTreeSet<String>) -> bool {
    let has = |name: String| loaded.contains(&name);
    match module {
        // One is compiled in where none is loaded; event is the usual one.
        "event" => has("mpm_event_module".to_owned()) || !loaded.iter().any(|name| name.starts_with("mpm_")),
        "worker" | "prefork" => has(format!("mpm_{module}_module")),
        _ if BUILT_IN.contains(&module) => true,
        // The file of mod_foo.c holds foo_module; a few are named otherwise.
        _ => {
            let plain = module.strip_prefix("mod_").unwrap_or(module);
            let plain = if plain == "util_ldap" { "ldap" } else { plain };
            has(format!("{plain}_module")) || plain.contains("ssl_") && has("ssl_module".to_owned())
        }
    }
}
