//! The certificate that httpd shows.

use genkai_place::authority;

use super::config::Config;
use super::route::Route;
use crate::files::Requests;
use crate::product::Certificate;

/// The user's certificate that the listener for these requests shows.
pub(super) fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
    let route = Route::find(config, requests)?;
    let shown = route.of_host(config, &["sslcertificatefile"]).or_else(|| config.named("sslcertificatefile").next())?;
    let named = config.found().iter().filter(|f| ["servername", "serveralias"].contains(&f.name.as_str()));
    let names: Vec<String> = named.flat_map(|found| found.args.clone()).chain([requests.host.clone()]).collect();
    let names = names.iter().map(|name| authority::bare(name.rsplit("://").next().unwrap_or_default())).collect();
    let file = shown.arg(0).map(|path| config.root().join(path));
    Some(Certificate { names, file, setting: "SSLCertificateFile", place: config.place(shown) })
}
