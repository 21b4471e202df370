//! Rules of mod_rewrite in a folder (`<Directory>`, `.htaccess`): they are looked at when it is known which file a request is for, and hold for what is
//! left of its path there (modules/mappers/mod_rewrite.c: hook_fixup). Of several folders those of the innermost one count that says anything of them.

use std::path::Path;

use super::rewrite::{Asked, REDIRECTS, Sent, flags, has, holds, joined, matches, redirecting, status};
use super::{Pass, Route, expression, expression_groups, under, with_groups};
use crate::apache::config::{Config, Found, Section};

/// What they are about.
const NAMES: [&str; 5] = ["rewriteengine", "rewritecond", "rewriterule", "rewriteoptions", "rewritebase"];
/// Flags by which another rule follows than the next.
const JUMPS: [&str; 6] = ["c", "chain", "s", "skip", "n", "next"];

/// What becomes of a request.
#[derive(Debug)]
pub(in crate::apache) enum Rewritten<'c> {
    /// It is for the file that it was for.
    Stays,
    /// This rule answers it with this status.
    Answered(&'c Found, u16),
    /// It is looked at again, with this path.
    Again(String),
    /// It is passed to a server.
    Passed(Pass<'c>),
    /// What this rule does with it is not known.
    Untold(&'c Found),
}

/// The file of a request, as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub(in crate::apache) struct At<'l> {
    /// Its name, as far as there are folders.
    pub(in crate::apache) file: &'l str,
    /// The same with what is left over of the path.
    pub(in crate::apache) whole: &'l str,
}

/// What the rules of its folders do with a request.
pub(in crate::apache) fn rewritten<'c>(
    config: &'c Config,
    route: &Route<'_>,
    request: Asked<'_>,
    at: At<'_>,
) -> Rewritten<'c> {
    let (folder, all) = innermost(config, route, at.file, &NAMES);
    let is_on = engine(config, route, at.file).is_some();
    let Some(rest) = at.whole.strip_prefix(folder).filter(|_| is_on) else { return Rewritten::Stays };
    let named = |name: &str| all.iter().copied().filter(|found| found.name == name).collect::<Vec<_>>();
    let rules = named("rewriterule");
    if let Some(unsure) = rules.first().filter(|_| !named("rewriteoptions").is_empty()) {
        return Rewritten::Untold(unsure);
    }
    let base = named("rewritebase").pop().and_then(|found| found.arg(0));
    let within = Folder { config, route, folder, base, rest: rest.trim_start_matches('/') };
    let mut before = Vec::new();
    for found in all.iter().copied() {
        if found.name == "rewritecond" {
            before.push(found);
        }
        if found.name != "rewriterule" {
            continue;
        }
        let conditions = std::mem::take(&mut before);
        let condition = |found: &Found| is_so(found, at.file).or_else(|| holds(found, config, route, request));
        let is_last = rules.last().is_some_and(|last| std::ptr::eq(*last, found));
        match within.holds(found).and_then(|is| if is { joined(&conditions, condition) } else { Some(false) }) {
            // Those that are chained to it are left out.
            Some(false) if has(&flags(found), &["c", "chain"]) => return Rewritten::Untold(found),
            Some(false) => {}
            None => return Rewritten::Untold(found),
            Some(true) => {
                if let Some(done) = within.done(found, is_last, request.path) {
                    return done;
                }
            }
        }
    }
    Rewritten::Stays
}

/// The line that turns on the rules of a file's folders, where none of them says it that of the server; none where they are off.
pub(in crate::apache) fn engine<'c>(config: &'c Config, route: &Route<'_>, file: &str) -> Option<&'c Found> {
    let own = innermost(config, route, file, &["rewriteengine"]).1.pop();
    let last = own.or_else(|| route.of_host(config, &["rewriteengine"]))?;
    last.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("on")).then_some(last)
}

/// A folder whose rules are looked at for a request.
struct Folder<'c, 'w> {
    config: &'c Config,
    route: &'w Route<'w>,
    folder: &'c str,
    base: Option<&'c str>,
    /// What is left of the path in it.
    rest: &'w str,
}

impl<'c> Folder<'c, '_> {
    /// Whether a rule's pattern does.
    fn holds(&self, rule: &Found) -> Option<bool> {
        matches(rule.arg(0).unwrap_or_default(), self.rest, has(&flags(rule), &["nc", "nocase"]))
    }

    /// What a rule that holds does with a request for `path`; none: the next is asked.
    fn done(&self, rule: &'c Found, is_last: bool, path: &str) -> Option<Rewritten<'c>> {
        let flags = flags(rule);
        let to = rule.arg(1).filter(|to| *to != "-");
        if has(&flags, &JUMPS) {
            return Some(Rewritten::Untold(rule));
        }
        if let Some(status) = status(&flags, to) {
            return Some(Rewritten::Answered(rule, status));
        }
        let ends = has(&flags, &["l", "last", "end"]);
        let Some(to) = to else { return ends.then_some(Rewritten::Stays) };
        let pattern = rule.arg(0).unwrap_or_default();
        let groups = match pattern.starts_with('!') {
            true => Some(Vec::new()),
            false => expression_groups(pattern, self.rest, has(&flags, &["nc", "nocase"])),
        };
        let made = groups.map(|groups| with_groups(to, &groups)).filter(|made| !made.contains(['%', '\\', '$']));
        let passes = has(&flags, &["p", "proxy"]);
        Some(match made {
            Some(url) if passes && url.contains("://") => Rewritten::Passed(Pass::handled(rule, &url, String::new())),
            Some(made) if !passes && (ends || is_last) => match self.again(&made) {
                Some(to) if to.split('?').next() == path.split('?').next() => Rewritten::Stays,
                Some(to) => Rewritten::Again(to),
                None => Rewritten::Untold(rule),
            },
            _ => Rewritten::Untold(rule),
        })
    }

    /// The path that is looked at again: a name without a slash is one in the folder (`RewriteBase` says where that is).
    fn again(&self, made: &str) -> Option<String> {
        if made.starts_with('/') {
            return Some(made.to_owned());
        }
        let root = self.route.of_host(self.config, &["documentroot"]).and_then(|found| found.arg(0))?;
        let root = self.config.root().join(root).to_string_lossy().trim_end_matches('/').to_owned();
        let within = self.folder.trim_end_matches('/').strip_prefix(root.as_str());
        let base = self.base.or(within.filter(|rest| rest.is_empty() || rest.starts_with('/')))?;
        Some(format!("{}/{made}", base.trim_end_matches('/')))
    }
}

/// The plain `<Directory>` in which a directive stands, where that is of the requests' virtual host or of the server; none in another section, or in several.
pub(in crate::apache) fn plain<'f>(found: &'f Found, route: &Route<'_>) -> Option<&'f Section> {
    let is_mine = found.host().is_none() || found.host() == route.host;
    let mut inner = found.context.iter().filter(|section| section.name != "virtualhost");
    let folder = inner.next().filter(|folder| is_mine && folder.name == "directory" && expression(folder).is_none());
    folder.filter(|_| inner.next().is_none())
}

/// The directives of these names of the innermost folder of a file that has any, and that folder. Sections that are no plain folder have their say by
/// what is not known.
fn innermost<'c>(config: &'c Config, route: &Route<'_>, file: &str, names: &[&str]) -> (&'c str, Vec<&'c Found>) {
    let mut best: (usize, bool, &str, Vec<&Found>) = (0, false, "", Vec::new());
    let mut section = None;
    for found in config.found().iter().filter(|found| names.contains(&found.name.as_str())) {
        let Some(folder) = plain(found, route) else { continue };
        let Some(name) = folder.args.first().filter(|name| under(file, name)) else { continue };
        let rank = (name.trim_end_matches('/').len(), found.host().is_some());
        if section != Some(folder.index) && rank >= (best.0, best.1) {
            (best, section) = ((rank.0, rank.1, name.as_str(), Vec::new()), Some(folder.index));
        }
        if section == Some(folder.index) {
            best.3.push(found);
        }
    }
    (best.2, best.3)
}

/// Whether a condition about the file of the request itself holds; none: it is about something else.
fn is_so(found: &Found, file: &str) -> Option<bool> {
    if !matches!(found.arg(0)?, "%{REQUEST_FILENAME}" | "%{SCRIPT_FILENAME}") {
        return None;
    }
    let (not, test) = found.arg(1)?.strip_prefix('!').map_or((false, found.arg(1)?), |test| (true, test));
    let path = Path::new(file);
    let is = match test {
        "-f" => path.is_file(),
        "-d" => path.is_dir(),
        "-e" => path.exists(),
        "-l" | "-h" | "-L" => path.is_symlink(),
        "-s" => path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0),
        _ => return None,
    };
    Some(is != not)
}

/// The `Redirect` of a file's folders that holds for a path: those of inner folders come first (modules/mappers/mod_alias.c: merge_alias_dir_config).
pub(in crate::apache) fn redirected<'c>(
    config: &'c Config,
    route: &Route<'_>,
    file: &str,
    path: &str,
) -> Option<Sent<'c>> {
    let mut all: Vec<(usize, &Found)> = Vec::new();
    for found in config.found().iter().filter(|found| REDIRECTS.contains(&found.name.as_str())) {
        let name = plain(found, route).and_then(|folder| folder.args.first()).filter(|name| under(file, name));
        all.extend(name.map(|name| (name.trim_end_matches('/').len(), found)));
    }
    all.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    redirecting(all.into_iter().map(|(_, found)| found), path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apache::config::Reading;
    use crate::files::Requests;

    #[test]
    fn the_rules_of_the_innermost_folder_are_followed_as_far_as_they_are_known() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("there"), "x").unwrap();
        let root = dir.path().display().to_string();
        let of = |lines: &str, path: &str| {
            let lines = lines.replace("ROOT", &root);
            let text = format!("Listen 80\nDocumentRoot {root}\n{lines}\n");
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
            let route = Route::find(&config, &Requests::to("x", path)).unwrap();
            let whole = format!("{root}{path}");
            let request = Asked { host: "x", path, method: Some("GET") };
            match rewritten(&config, &route, request, At { file: &whole, whole: &whole }) {
                Rewritten::Stays => "stays".to_owned(),
                Rewritten::Answered(_, status) => status.to_string(),
                Rewritten::Again(path) => path,
                Rewritten::Passed(pass) => pass.url,
                Rewritten::Untold(found) => format!("untold {}", found.line),
            }
        };
        let within =
            |folder: &str, rules: &str| format!("<Directory {folder}>\nRewriteEngine On\n{rules}\n</Directory>");
        let site = |rules: &str, path: &str| of(&within("ROOT", rules), path);
        let missing = "RewriteCond %{REQUEST_FILENAME} !-f";
        assert_eq!(site(&format!("{missing}\nRewriteRule . /index.php [L]"), "/blog/1"), "/index.php");
        assert_eq!(site(&format!("{missing}\nRewriteRule . /index.php [L]"), "/there"), "stays");
        assert_eq!(site("RewriteRule ^(.*)$ index.php/$1 [L]", "/blog/1"), "/index.php/blog/1");
        assert_eq!(site("RewriteBase /app\nRewriteRule ^(.*)$ index.php?q=$1", "/blog"), "/app/index.php?q=blog");
        assert_eq!(site("RewriteRule ^index\\.php$ - [L]\nRewriteRule . /index.php [L]", "/index.php"), "stays");
        assert_eq!(site("RewriteRule ^/blog - [F]", "/blog"), "stays", "without the first slash");
        assert_eq!(site("RewriteRule ^blog - [F]", "/blog"), "403");
        assert_eq!(site("RewriteRule ^blog https://x.example/ [R=301]", "/blog"), "301");
        assert_eq!(site("RewriteRule ^(blog)$ http://h:1/$1 [P]", "/blog"), "http://h:1/blog");
        assert_eq!(site("RewriteCond %{HTTP_COOKIE} x\nRewriteRule . /index.php [L]", "/blog"), "untold 6");
        assert_eq!(site("RewriteRule . /%{REQUEST_METHOD} [L]", "/blog"), "untold 5");
        assert_eq!(site("RewriteRule . /a\nRewriteRule b /c", "/blog"), "untold 5", "the second is asked, too");
        let both = format!("{}\n{}", within("ROOT/in", "RewriteRule . - [G]"), within("ROOT", "RewriteRule . - [F]"));
        assert_eq!([of(&both, "/in/x"), of(&both, "/out/x")], ["410", "403"]);
        let off =
            format!("{}\n<Directory ROOT/in>\nRewriteEngine Off\n</Directory>", within("ROOT", "RewriteRule . - [F]"));
        assert_eq!(of(&off, "/in/x"), "stays");
        assert_eq!(
            of("RewriteEngine On\n<Directory ROOT>\nRewriteRule . - [F]\n</Directory>", "/x"),
            "403",
            "of the server"
        );
        let host = format!("<VirtualHost *:80>\n{}\n</VirtualHost>", within("ROOT", "RewriteRule . - [F]"));
        assert_eq!(of(&host, "/x"), "403");
    }
}
