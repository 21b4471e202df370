//! Files for which nginx looks to know what answers: `index`, `try_files` (ngx_http_index_module.c, ngx_http_try_files_module.c). They are looked for
//! where they are this machine's, as nginx does: in order.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::Found;
use super::error_page::error_page;
use super::flow::{Next, Walk};

/// `index` where nobody says anything.
const INDEX: &str = "index.html";

impl<'a> Walk<'a, '_> {
    /// Where `try_files` leads; none: a file is found, and the location goes on with it. Where nobody can look for the files none is taken to be there, but
    /// where there would be a status else, and where the last argument has led here already.
    pub(super) fn tried(&mut self, tried: &Found<'a>) -> Option<Next<'a>> {
        let args = tried.args();
        let (last, files) = args.split_last()?;
        let found = self.first_of(files);
        if let Some(Some(path)) = found {
            self.variables.uri = Some(path);
            return None;
        }
        let sure = found.is_some();
        let Some(code) = last.strip_prefix('=') else {
            let is = |text: &str| self.variables.is_path(text);
            let there = !sure && files.iter().any(|file| is(file)) && is(last.split('?').next().unwrap_or(last));
            return (!there).then(|| self.inner(last, &tried.place()));
        };
        let status = code.parse().ok()?;
        if sure {
            return Some(self.answered(status, true, tried));
        }
        error_page(&self.chain, &self.variables.server, status).filter(|_| !self.paged)?;
        let missing = self.oracle.ask(format!("whether the file is there, which try_files at {} asks", tried.place()));
        missing.then(|| self.answered(status, true, tried))
    }

    /// The path of the first of the files of `try_files` that is there; inside, none: none of them is; none: that cannot be told.
    fn first_of(&self, files: &[String]) -> Option<Option<String>> {
        // A path in the place of an alias is another one then.
        if self.rooted()?.1.is_some() {
            return None;
        }
        for file in files {
            let (text, folder) = file.strip_suffix('/').map_or((file.as_str(), false), |text| (text, true));
            let path = self.variables.value(text).constant()?.to_owned();
            // Of the top folder's `$uri/` nothing is left.
            let path = if path.is_empty() && folder { "/".to_owned() } else { path };
            if self.is_there(&path, folder)? {
                return Some(Some(path));
            }
        }
        Some(None)
    }

    /// Where the index file of a folder leads: the first that is there. Where nobody can look, it is taken to be the first.
    pub(super) fn index(&mut self) -> Option<Next<'a>> {
        let path = self.variables.uri.clone().filter(|path| path.ends_with('/'))?;
        let server = self.variables.server.clone();
        let scopes = self.chain.iter().rev().cloned().chain([server.clone()]).chain(server.parent());
        let mut found = scopes.map(|block| block.inside().into_iter().rfind(|f| f.directive.is("index")));
        let found = found.find_map(|found| found);
        let names = found.as_ref().map_or_else(|| vec![INDEX.to_owned()], Found::args);
        let to = match self.first_index(&path, &names) {
            Some(to) => to?,
            None => {
                found.as_ref()?;
                self.guessed |= names.len() > 1;
                let file = names.first()?;
                if file.starts_with('/') { file.clone() } else { format!("{path}{file}") }
            }
        };
        let args = self.variables.args.clone();
        let next =
            self.inner(&to, &found.map_or_else(|| format!("index {INDEX}, the default,"), |found| found.place()));
        self.variables.args = args;
        Some(next)
    }

    /// The first of the files of `index` that is there; inside, none: none of them is; none: that cannot be told.
    fn first_index(&self, folder: &str, names: &[String]) -> Option<Option<String>> {
        for name in names {
            let name = self.variables.value(name).constant()?.to_owned();
            if name.starts_with('/') {
                return Some(Some(name));
            }
            let path = format!("{folder}{name}");
            if self.is_there(&path, false)? {
                return Some(Some(path));
            }
        }
        Some(None)
    }

    /// Whether the file of a path, or its folder, is there; none: that cannot be told here.
    fn is_there(&self, path: &str, folder: bool) -> Option<bool> {
        let (root, alias) = self.rooted()?;
        let below = match &alias {
            // It stands in the place of the location's name.
            Some(name) => path.strip_prefix(&**name)?.to_owned(),
            None => path.to_owned(),
        };
        let whole =
            if alias.is_some() { format!("{root}{below}") } else { format!("{}{below}", root.trim_end_matches('/')) };
        match fs::metadata(&whole) {
            Ok(meta) => Some(meta.is_dir() == folder),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Some(false),
            Err(_) => None,
        }
    }

    /// The folder in which paths are looked for here, and the name of the location in whose place it stands, where it is an `alias`; none where that is
    /// no folder of this machine's, or is not told.
    fn rooted(&self) -> Option<(String, Option<String>)> {
        let server = self.variables.server.clone();
        let config = server.config;
        let scopes = self.chain.iter().rev().cloned().chain([server.clone()]).chain(server.parent());
        let own = |block: Found<'a>| {
            let found = block.inside().into_iter().rfind(|f| f.directive.is("root") || f.directive.is("alias"))?;
            Some((block, found))
        };
        let (block, found) = scopes.into_iter().find_map(own)?;
        let written = self.variables.value(&found.arg(0)?).constant()?.to_owned();
        let root: PathBuf = config.prefix().join(&written);
        if !config.here || !root.is_absolute() || !root.is_dir() {
            return None;
        }
        // `join` takes a slash at the end for nothing.
        let end = if written.ends_with('/') { "/" } else { "" };
        let root = format!("{}{end}", root.to_str()?.trim_end_matches('/'));
        if found.directive.is("root") {
            return Some((root, None));
        }
        let args = block.args();
        let name = match &args[..] {
            [name] => name,
            [sign, name] if sign == "^~" || sign == "=" => name,
            _ => return None,
        };
        name.starts_with('/').then(|| (root, Some(name.clone())))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Config;

    /// Who answers a request for `path` in a site whose documents are in `root`, whether that is sure, and with what.
    fn answers(root: &Path, site: &str, path: &str) -> (Option<String>, bool, Option<u16>) {
        let text = format!(
            "http {{ server {{ listen 80; root {}; {site} location ~ \\.php$ {{ fastcgi_pass unix:/run/php.sock; }} }} }}",
            root.display()
        );
        let config = Config::of_text(Path::new("/n.conf"), text.into_bytes(), Path::new("")).unwrap();
        let route = config.route(None, path).unwrap();
        let way = &route.ways[0];
        let passed = route.ways.len() == 1 && !way.guessed;
        (way.pass().and(way.variables.uri.clone()), passed, way.status)
    }

    const DEBIAN: &str =
        "index index.html index.htm index.nginx-debian.html index.php; location / { try_files $uri $uri/ =404; }";

    #[test]
    fn the_first_index_that_is_there_answers() {
        let dir = tempfile::tempdir().unwrap();
        let php = |path: &str| (Some(path.to_owned()), true, None);
        std::fs::write(dir.path().join("index.php"), "").unwrap();
        assert_eq!(answers(dir.path(), DEBIAN, "/"), php("/index.php"));
        std::fs::create_dir(dir.path().join("blog")).unwrap();
        std::fs::write(dir.path().join("blog/index.php"), "").unwrap();
        assert_eq!(answers(dir.path(), DEBIAN, "/blog/"), php("/blog/index.php"));
        std::fs::write(dir.path().join("index.html"), "").unwrap();
        assert_eq!(answers(dir.path(), DEBIAN, "/"), (None, true, None));
        assert_eq!(answers(dir.path(), DEBIAN, "/index.php"), php("/index.php"));
        // None of them: 403 of its own.
        std::fs::create_dir(dir.path().join("empty")).unwrap();
        assert_eq!(answers(dir.path(), DEBIAN, "/empty/"), (None, true, None));
    }

    #[test]
    fn what_try_files_finds_and_does_not_find_is_looked_up() {
        let dir = tempfile::tempdir().unwrap();
        let front = "index index.php; location / { try_files $uri $uri/ /index.php?$args; }";
        std::fs::write(dir.path().join("index.php"), "").unwrap();
        std::fs::write(dir.path().join("a.css"), "").unwrap();
        let php = || (Some("/index.php".to_owned()), true, None);
        assert_eq!(answers(dir.path(), front, "/post/1"), php());
        assert_eq!(answers(dir.path(), front, "/"), php());
        assert_eq!(answers(dir.path(), front, "/a.css"), (None, true, None));
        assert_eq!(answers(dir.path(), DEBIAN, "/gone"), (None, true, Some(404)));
        let aliased = "location /x/ { alias /nowhere/; index a.html index.php; } location /y/ { alias DIR/; index a.html a.css; }";
        let aliased = aliased.replace("DIR", &dir.path().display().to_string());
        assert_eq!(answers(dir.path(), &aliased, "/y/"), (None, true, None));
        assert_eq!(answers(dir.path(), &aliased, "/x/"), (None, false, None), "nobody can look");
    }

    #[test]
    fn where_nobody_can_look_the_first_index_is_taken_and_that_is_not_sure() {
        let (found, sure, _) = answers(Path::new("/nowhere/at/all"), DEBIAN, "/");
        assert_eq!((found, sure), (None, false));
        let one = "index index.php; location / { try_files $uri $uri/ =404; }";
        assert_eq!(answers(Path::new("/nowhere/at/all"), one, "/"), (Some("/index.php".to_owned()), true, None));
    }
}
