//! Which requests Apache passes to a server by a handler, a page in the place of another, an alias or a rule: what `explain` tells, against a running
//! Apache before a backend that says what it was asked for.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use genkai_model::explain::RemarkKind;
use genkai_targets::catalog;
use genkai_targets::explain::Requests;

use super::loads::{Server, free};
use super::{agree, backend, is_installed, limit};

const MODULES: &str = "/usr/lib/apache2/modules";
const PATHS: [&str; 15] = [
    "/",
    "/x.php",
    "/none.php",
    "/x.php/more",
    "/x.html",
    "/x.html/b.php",
    "/nothing",
    "/a",
    "/a/",
    "/a/b.php",
    "/a/none.php",
    "/b/",
    "/nofolder/b.php",
    "/app/y.php",
    "/api/x",
];

/// Configurations; `BACKEND` stands for the backend's URL, `ROOT` for the folder, `HANDLER` for the handler that leads to it. What is told of the
/// last ones may be that it is not followed.
const LINES: [&str; 26] = [
    "HANDLER",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\nDirectoryIndex index.php",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\nDirectoryIndex index.html\nDirectoryIndex index.php",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\nFallbackResource /index.php",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\nFallbackResource /index.php\nDirectoryIndex index.html index.php",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\n<Directory ROOT/site/a>\nFallbackResource /index.php\n</Directory>",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\nAlias /app ROOT/other\nAlias /x.php ROOT/site/x.html",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\nErrorDocument 404 /index.php",
    "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\n<Location /a>\nSetHandler none\n</Location>",
    "<Files b.php>\nHANDLER\n</Files>",
    "<Directory ROOT/site/a>\nHANDLER\n</Directory>",
    "<Directory ROOT/site/a>\nSetHandler none\n</Directory>\n<Directory ROOT/site>\nHANDLER\n</Directory>",
    "FallbackResource /a/index.php\n<Directory ROOT/site/a>\nHANDLER\n</Directory>",
    "FallbackResource /index.php\n<Location /index.php>\nHANDLER\n</Location>",
    "RewriteEngine On\nRewriteRule ^/api/(.*)$ BACKEND/rule/$1 [P]",
    "RewriteEngine On\nRewriteRule ^/API/ BACKEND%{REQUEST_URI} [NC,P,L]\nProxyPass /a http://127.0.0.1:9/",
    "RewriteEngine On\nRewriteCond %{HTTP_HOST} =main\nRewriteRule ^/a/ BACKEND/ [P]",
    "RewriteEngine On\nRewriteRule ^/x - [L]\nRewriteRule \\.php BACKEND/ [P]",
    "RewriteRule ^/api/(.*)$ BACKEND/rule/$1 [P]",
    "ProxyPass /a BACKEND/pass",
    "<Files *.php>\nHANDLER\n</Files>",
    "<If \"%{REQUEST_URI} =~ m#php#\">\nHANDLER\n</If>",
    "FallbackResource /index.php\n<If \"%{REQUEST_URI} =~ m#php#\">\nHANDLER\n</If>",
    "RewriteEngine On\nRewriteRule ^/api/ /x.php [PT]\nRewriteRule ^/x\\.php$ /x.html\n<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>",
    "RewriteEngine On\n<Location /api>\nRewriteRule (.*) BACKEND/in/ [P]\n</Location>\n<Directory ROOT/site/a>\nRewriteRule (.*) BACKEND/in/ [P]\n\
     </Directory>",
];

/// Where what a `.htaccess` in the folder of the site says counts.
const OVERRIDDEN: &str = "<FilesMatch \\.php$>\nHANDLER\n</FilesMatch>\n<Directory ROOT/site>\nOptions FollowSymLinks\nAllowOverride All\n</Directory>";

/// What it says.
const OVERRIDES: [&str; 12] = [
    "RewriteEngine On\nRewriteBase /\nRewriteRule ^index\\.php$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} \
     !-d\nRewriteRule . /index.php [L]",
    "<IfModule mod_rewrite.c>\nRewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.*)$ index.php/$1 [L]\n</IfModule>",
    "RewriteEngine On\nRewriteRule ^api/(.*)$ BACKEND/ht/$1 [P]",
    "RewriteEngine On\nRewriteRule ^a/ - [F]",
    "RewriteRule . /index.php",
    "FallbackResource /index.php",
    "DirectoryIndex index.php",
    "ErrorDocument 404 /index.php",
    "<FilesMatch \\.html$>\nHANDLER\n</FilesMatch>",
    "<Files x.php>\nSetHandler none\n</Files>",
    "SetHandler none\nRedirect /a /x.php",
    "RewriteEngine On\nRewriteCond %{HTTP_COOKIE} x\nRewriteRule . /index.php [L]",
];

fn configuration(dir: &Path, listen: SocketAddr, backend: SocketAddr, lines: &str) -> String {
    let load = |name: &str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let modules = ["mpm_event", "authz_core", "dir", "alias", "rewrite", "proxy", "proxy_http"].map(load).concat();
    let user = if nix::unistd::geteuid().is_root() { "User www-data\nGroup www-data\n" } else { "" };
    let root = dir.display().to_string();
    let lines = filled(dir, backend, lines);
    format!(
        "ServerRoot {root}\nPidFile {root}/pid\nErrorLog {root}/log\nDefaultRuntimeDir {root}\nServerName main\n{modules}{user}StartServers \
         1\nListen {listen}\nDocumentRoot {root}/site\n<Proxy \"http://{backend}\">\nProxySet max=3\n</Proxy>\n{lines}\n"
    )
}

fn filled(dir: &Path, backend: SocketAddr, lines: &str) -> String {
    lines
        .replace("HANDLER", &format!("SetHandler \"proxy:http://{backend}\""))
        .replace("BACKEND", &format!("http://{backend}"))
        .replace("ROOT", &dir.display().to_string())
}

/// The head of an answer.
fn answer(listen: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(listen).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: main\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text).filter(|text| !text.is_empty())
}

/// What genkai tells that is not as this Apache does, and how many ways were told and not merely said not to be followed.
fn differences(dir: &Path, backend: SocketAddr, lines: &str) -> (Vec<String>, u64) {
    let (main, listen) = (dir.join("httpd.conf"), free());
    std::fs::write(&main, configuration(dir, listen, backend, lines)).unwrap();
    let _server = Server::start("apache2", &["-f", main.to_str().unwrap(), "-D", "FOREGROUND"]);
    let end = Instant::now() + Duration::from_secs(60);
    while answer(listen, "/x.html").is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (mut wrong, mut told) = (Vec::new(), 0);
    for path in PATHS {
        let explained = catalog::explain(Some("apache"), &main, &Requests::to("main", path)).unwrap();
        let passed = limit(&explained, "apache.ProxyPass.max").is_some_and(|limit| limit.value == "3");
        let is_open =
            explained.remarks.iter().any(|r| r.kind == RemarkKind::Unsure && r.text.contains("is not followed"));
        let theirs = answer(listen, path).is_some_and(|text| text.contains("X-Backend: yes"));
        told += u64::from(!is_open);
        if passed != theirs && !is_open || passed && is_open {
            wrong.push(format!("{lines}\n{path}: told {passed} (not followed: {is_open}), Apache {theirs}"));
        }
    }
    (wrong, told)
}

#[test]
fn requests_go_to_a_server_where_it_is_told() {
    if !is_installed("apache2") {
        return;
    }
    let backend = backend();
    let (mut wrong, mut told, mut made) = (Vec::new(), 0, 0);
    for lines in LINES {
        let dir = site();
        let (found, known) = differences(dir.path(), backend, lines);
        wrong.extend(found);
        told += known;
        made += PATHS.len() as u64;
    }
    assert!(told * 10 >= made * 8, "{told} of {made} ways are told");
    agree("ways through apache", made, told, &wrong);
}

/// A site.
fn site() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for folder in ["site/a", "site/b", "other"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    for file in [
        "site/index.php",
        "site/x.php",
        "site/x.html",
        "site/a/b.php",
        "site/a/index.php",
        "site/b/index.html",
        "other/y.php",
    ] {
        std::fs::write(dir.path().join(file), "x").unwrap();
    }
    dir
}

#[test]
fn what_files_of_folders_say_is_followed_too() {
    if !is_installed("apache2") {
        return;
    }
    let backend = backend();
    let (mut wrong, mut told, mut made) = (Vec::new(), 0, 0);
    for overrides in OVERRIDES {
        let dir = site();
        std::fs::write(dir.path().join("site/.htaccess"), filled(dir.path(), backend, overrides)).unwrap();
        let (found, known) = differences(dir.path(), backend, OVERRIDDEN);
        wrong.extend(found.into_iter().map(|one| format!("{overrides}\n{one}")));
        told += known;
        made += PATHS.len() as u64;
    }
    assert!(told * 10 >= made * 7, "{told} of {made} ways are told");
    agree("ways through files of folders", made, told, &wrong);
}
