//! The certificate that Caddy shows from a file of the user's. All others it makes itself, as it does in a copy.

use std::path::{Path, PathBuf};

use genkai_place::authority;

use super::config::{Config, FileId, Line};
use super::route::{Address, Ports, Route};
use crate::files::Requests;
use crate::product::Certificate;

/// What is said of sessions: Go's TLS gives clients tickets, which no directive of a Caddyfile changes (crypto/tls: SessionTicketsDisabled).
pub(super) const TOLD: &str = "sessions are resumed by tickets";

/// The files of certificate and key that a `tls` directive names.
pub(super) fn files(line: &Line) -> Option<(&str, &str)> {
    match line.args() {
        [certificate, key] if line.is("tls") => Some((&certificate.value, &key.value)),
        _ => None,
    }
}

/// The user's certificate that the site for these requests shows.
pub(super) fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
    let route = Route::find(config, requests).filter(|route| route.tls)?;
    let line = route.site.lines.iter().find(|line| files(line).is_some())?;
    let (file, _) = files(line)?;
    let folder = config.file(FileId::MAIN).path.parent().map(Path::to_owned).unwrap_or_default();
    // All sites whose certificates are files show the one that stands in for them.
    let hosts = config.sites().iter().flat_map(|site| &site.addresses);
    let hosts = hosts.filter_map(|word| Some(Address::parse(&word.value, Ports::of(config))?.host));
    let names = hosts.filter(|host| !host.is_empty()).chain([authority::bare(&requests.host)]).collect();
    let file = Some(PathBuf::from(file)).filter(|path| !path.to_string_lossy().contains('{'));
    Some(Certificate { names, file: file.map(|path| folder.join(path)), setting: "tls", place: config.place(line) })
}

#[cfg(test)]
mod tests {
    use super::super::config::Variables;
    use super::*;

    #[test]
    fn a_certificate_is_that_of_the_site_which_takes_the_requests() {
        let of = |text: &str, host: &str| {
            let config = Config::of_texts(vec![("/etc/Caddyfile".into(), text.into())], Variables::new()).unwrap();
            certificate(&config, &Requests::to(host, "/"))
        };
        let two = "https://a.test {\n\ttls a.pem /k.pem\n\treverse_proxy 127.0.0.1:9\n}\nhttps://b.test {\n\ttls internal\n\treverse_proxy 127.0.0.1:9\n}\n";
        let shown = of(two, "a.test").unwrap();
        assert_eq!((shown.file.as_deref(), shown.place.as_str()), (Some(Path::new("/etc/a.pem")), "/etc/Caddyfile:2"));
        assert!(shown.names.contains(&"a.test".to_owned()) && shown.names.contains(&"b.test".to_owned()), "{shown:?}");
        assert_eq!(of(two, "b.test"), None, "Caddy makes that itself");
        assert_eq!(of("http://a.test {\n\treverse_proxy 127.0.0.1:9\n}\n", "a.test"), None);
    }
}
