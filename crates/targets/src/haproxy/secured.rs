//! The certificate that HAProxy shows.

use std::path::{Path, PathBuf};

use genkai_place::authority;

use super::config::{Config, FileId};
use super::route::{Bind, Route, binds};
use crate::files::Requests;
use crate::product::Certificate;

/// The user's certificate that the listener for these requests shows.
pub(super) fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
    let all: Vec<Bind<'_>> = config.sections().iter().filter(|s| s.is_front()).flat_map(|s| binds(config, s)).collect();
    let route = Route::find(config, requests).map(|route| route.bind).filter(|bind| bind.tls);
    let bind = route.or_else(|| all.into_iter().find(|bind| bind.tls))?;
    let base = config.global("crt-base").and_then(|found| found.arg(0)).map(PathBuf::from);
    let base = base.or_else(|| config.file(FileId::MAIN).path.parent().map(Path::to_owned)).unwrap_or_default();
    let file = bind.found.option(1, "crt").map(|word| base.join(&word.value)).filter(|path| !path.is_dir());
    let names = vec![authority::bare(&requests.host)];
    Some(Certificate { names, file, setting: "bind.crt", place: config.place(bind.found) })
}
