//! Files that nginx serves itself. Its log says of each request for one that is not there, may not be read, or is a folder without a page, which it
//! is (src/http/modules/ngx_http_static_module.c, ngx_http_index_module.c; src/http/ngx_http_core_module.c: ngx_http_core_content_phase).

use super::{of, paged};
use crate::nginx::config::{Found, ITSELF, Route, Way};
use crate::nginx::evidence::signature;
use crate::product::OwnAnswer;

/// The pages of a folder where nobody says anything (ngx_http_index_module.c).
const INDEX: &str = "index index.html";

/// Those answers, of a way on which no `try_files` says what becomes of a file that is not there. `others`: whether something that is not known may
/// answer so, too.
pub(super) fn served(route: &Route<'_>, way: &Way<'_>, others: bool) -> Vec<OwnAnswer> {
    let block = way.handler.last().cloned().unwrap_or_else(|| route.server.clone());
    let inside = block.inside();
    let itself = ITSELF.iter().any(|name| inside.iter().any(|found| found.directive.is(name)));
    let root = ["alias", "root"].into_iter().find_map(|name| route.inherited_at(&way.handler, name).pop());
    let Some(root) = root.filter(|_| way.pass().is_none() && !itself) else { return Vec::new() };
    // With `log_not_found off` nothing is said of what is not there.
    let quiet = route.inherited_at(&way.handler, "log_not_found").pop();
    let is_told = quiet.is_none_or(|found| found.arg(0).as_deref() != Some("off"));
    let one = |kind: &'static str, status: u16, name: &str, when: String| {
        let (statuses, page) = paged(route, &way.handler, status);
        let by = page.map(|page| format!(", and `{}` ({}) says with what", page.written(), page.place()));
        OwnAnswer {
            signature: Some(name.to_owned()),
            of_path: true,
            kind,
            when: when + &by.unwrap_or_default(),
            ..of(&root, &statuses)
        }
    };
    let missing = one("missing", 404, signature::FILE_MISSING, "there is no such file".to_owned());
    let missing = match is_told {
        true => missing,
        false => OwnAnswer { signature: None, certain: !others, ..missing },
    };
    let folder = format!("it is a folder without a page ({}), and `autoindex` is off", index(route, way));
    vec![
        missing,
        one("unreadable", 403, signature::FILE_UNREADABLE, "the file may not be read".to_owned()),
        one("folder", 403, signature::FOLDER, folder),
    ]
}

/// The `index` in force, with its place.
fn index(route: &Route<'_>, way: &Way<'_>) -> String {
    let written = |found: &Found<'_>| format!("`{}`, {}", found.written(), found.place());
    let found = route.inherited_at(&way.handler, "index").pop();
    found.as_ref().map_or_else(|| format!("`{INDEX}`, by default"), written)
}
