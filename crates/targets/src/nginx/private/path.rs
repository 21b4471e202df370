//! Relative paths become absolute, as the private copy runs with another prefix. The files stay where they are.

use std::path::Path;

use super::certificate;
use super::changes::Changes;
use crate::files::CopyError;
use crate::nginx::config::{Config, Found};

/// Where a relative path starts (`ngx_conf_full_name`, its last argument; nginx 1.22.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// nginx's prefix.
    Prefix,
    /// The main file's folder.
    Conf,
}

/// Directives that name a file or folder to read.
const READS: [(&str, Base); 22] = [
    ("load_module", Base::Prefix),        // core/nginx.c ngx_load_module
    ("root", Base::Prefix),               // http/ngx_http_core_module.c ngx_http_core_root
    ("alias", Base::Prefix),              // the same
    ("xslt_stylesheet", Base::Prefix),    // http/modules/ngx_http_xslt_filter_module.c
    ("xml_entities", Base::Prefix),       // the same
    ("perl_modules", Base::Prefix),       // http/modules/perl/ngx_http_perl_module.c
    ("auth_basic_user_file", Base::Conf), // http/modules/ngx_http_auth_basic_module.c (conf_prefix = 1)
    ("auth_jwt_key_file", Base::Conf),    // nginx.org/en/docs/http/ngx_http_auth_jwt_module.html
    ("ssl_certificate", Base::Conf),      // event/ngx_event_openssl.c, as all below
    ("ssl_certificate_key", Base::Conf),
    ("ssl_client_certificate", Base::Conf),
    ("ssl_trusted_certificate", Base::Conf),
    ("ssl_crl", Base::Conf),
    ("ssl_dhparam", Base::Conf),
    ("ssl_password_file", Base::Conf),
    ("ssl_session_ticket_key", Base::Conf),
    ("ssl_stapling_file", Base::Conf), // event/ngx_event_openssl_stapling.c
    ("ssl_ech_file", Base::Conf),
    ("js_import", Base::Conf), // nginx.org/en/docs/http/ngx_http_js_module.html
    ("js_include", Base::Conf),
    ("js_path", Base::Conf),
    ("modsecurity_rules_file", Base::Conf), // ModSecurity-nginx src/ngx_http_modsecurity_module.c
];

/// Modules that put their name before `ssl_certificate` and its kin.
const SSL_USERS: [&str; 6] = ["proxy_", "grpc_", "uwsgi_", "lua_", "js_fetch_", "zone_sync_"];

fn base(name: &str) -> Option<Base> {
    if name.ends_with("_by_lua_file") {
        return Some(Base::Prefix); // lua-nginx-module: ngx_http_lua_rebase_path
    }
    let plain = SSL_USERS.iter().find_map(|user| name.strip_prefix(user)).filter(|rest| rest.starts_with("ssl_"));
    let plain = plain.unwrap_or(name);
    READS.iter().find(|(known, _)| *known == plain).map(|(_, base)| *base)
}

/// Whether nginx would prepend a prefix: not to absolute paths, not to what begins with a variable, and not to keys that
/// are held elsewhere.
fn is_relative(path: &str) -> bool {
    let elsewhere = ["/", "$", "engine:", "data:", "store:"];
    !path.is_empty() && !elsewhere.iter().any(|start| path.starts_with(start))
}

/// With `certified` the certificates of listeners were replaced already.
pub(super) fn make_absolute(config: &Config, changes: &mut Changes<'_>, certified: bool) -> Result<(), CopyError> {
    for found in config.walk().into_iter().filter(|f| !f.is_entry()) {
        let name = String::from_utf8_lossy(found.directive.name()).into_owned();
        if certified && certificate::is_about(&name) {
            continue;
        }
        if let Some(base) = base(&name) {
            one(config, changes, &found, base);
        } else if matches!(&*name, "lua_package_path" | "lua_package_cpath") {
            lua_prefix(config, changes, &found);
        }
    }
    Ok(())
}

fn one(config: &Config, changes: &mut Changes<'_>, found: &Found<'_>, base: Base) {
    let mut args = found.args();
    // The file comes last in `js_import NAME from FILE` and `set_by_lua_file $VAR FILE ..`; else first.
    let index = match &args[..] {
        [_, from, _] if from == "from" => 2,
        [variable, _, ..] if variable.starts_with('$') => 1,
        _ => 0,
    };
    let from = if base == Base::Prefix { config.prefix() } else { config.conf_prefix() };
    let Some(path) = args.get_mut(index).filter(|p| is_relative(p)) else { return };
    *path = joined(from, path);
    changes.set(found, &args);
}

/// The Lua module replaces `$prefix` by nginx's prefix, which is another in the private copy.
fn lua_prefix(config: &Config, changes: &mut Changes<'_>, found: &Found<'_>) {
    let prefix = config.prefix().to_string_lossy().into_owned();
    let prefix = format!("{}/", prefix.trim_end_matches('/'));
    let args: Vec<_> =
        found.args().iter().map(|a| a.replace("${prefix}", &prefix).replace("$prefix", &prefix)).collect();
    changes.set(found, &args);
}

pub(super) fn joined(base: &Path, path: &str) -> String {
    base.join(path).to_string_lossy().into_owned()
}
