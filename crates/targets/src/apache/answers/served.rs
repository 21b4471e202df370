//! Files that httpd serves itself. Of one that it may not give out its log says why (server/core.c: default_handler; server/request.c;
//! modules/generators/mod_autoindex.c); of one that is not there it says nothing at its usual level, but that can be seen.

use super::foreign::any;
use super::of;
use crate::apache::evidence::signature;
use crate::apache::handler::{self, Goes};
use crate::apache::located::Kind;
use crate::apache::within::Within;
use crate::files::Requests;
use crate::product::OwnAnswer;

/// Those answers. `open`: whether something that is not known may answer so, too.
pub(super) fn served(within: &Within<'_>, requests: &Requests, open: bool) -> Vec<OwnAnswer> {
    let Some(root) = within.route.of_host(within.config, &["documentroot"]).filter(|_| !within.passed) else {
        return Vec::new();
    };
    let by_name = !within.in_force(&["sethandler", "addhandler", "action"]).is_empty();
    let goes = handler::goes(within.config, within.route, requests);
    let handled = by_name || !matches!(goes, Goes::Nowhere);
    let kind = within.located.as_ref().map(|located| located.kind);
    let one =
        |kind, status: u16, when: &str| OwnAnswer { kind, when: when.to_owned(), ..of(within.config, root, &[status]) };
    let logged = |kind, name: &str, when: &str| OwnAnswer {
        signature: Some(name.to_owned()),
        of_path: true,
        ..one(kind, 403, when)
    };
    let missing = match kind {
        _ if matches!(goes, Goes::Passed(_) | Goes::Handled(_)) => None,
        // It is there.
        Some(Kind::File | Kind::Led) => None,
        Some(Kind::Missing | Kind::Beyond) => Some(!handled && !open),
        Some(Kind::Folder | Kind::Untold) | None => Some(false),
    };
    let missing = missing.map(|certain| OwnAnswer { certain, ..one("missing", 404, "there is no such file") });
    let folder = format!("it is a folder without a page ({}), and `Options` does not let it be listed", index(within));
    let denied = [
        logged(
            "unreadable",
            signature::FILE_DENIED,
            "the file, or a folder or `.htaccess` on the way to it, may not be read",
        ),
        logged("folder", signature::FOLDER, &folder),
    ];
    let by_handler = if let Goes::Handled(found) = goes { Some(any(within.config, found)) } else { None };
    missing.into_iter().chain(by_handler).chain(denied).collect()
}

/// The `DirectoryIndex` in force, with its place.
fn index(within: &Within<'_>) -> String {
    let found = within.in_force(&["directoryindex"]).pop();
    let written = found.map(|held| format!("`{}`, {}", held.found.written(), within.config.place(held.found)));
    written.unwrap_or_else(|| "`DirectoryIndex index.html`, by default".to_owned())
}
