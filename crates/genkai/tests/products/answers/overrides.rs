//! The same of files that httpd serves itself, and of what `.htaccess` files say of them.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Between a `.htaccess` and the lines of the server.
const THEN: &str = "\n----\n";

/// A site's `.htaccess` (empty: there is none) beside further lines of the server; `#1` is in these.
fn site(htaccess: &str, lines: &str, says: &[&'static str]) -> Case {
    case(format!("{htaccess}{THEN}{lines}"), says)
}

#[test]
fn what_apache_answers_for_a_file_is_told_with_whoever_says_so() {
    let lets = "<Directory SITE>\nOptions FollowSymLinks\nAllowOverride All#1\n</Directory>";
    let bare = "<Directory SITE>\nOptions None\nAllowOverride All\n</Directory>";
    let some = "<Directory SITE>\nAllowOverride FileInfo#1\n</Directory>";
    let handler = "<FilesMatch \\.php$>\nSetHandler proxy:http://127.0.0.1:9\n</FilesMatch>\n";
    let php = format!("{handler}{lets}");
    let wordpress = "RewriteEngine On\nRewriteBase /\nRewriteRule ^index\\.php$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond \
                     %{REQUEST_FILENAME} !-d\nRewriteRule . /index.php [L]";
    let forbids = "RewriteEngine On\nRewriteRule ^a/ - [F]";
    let cases = vec![
        site("", lets, &["answered 404 by apache itself: `DocumentRoot ", "(there is no such file)"]),
        site("", lets, &["answered 403 by apache itself: `DocumentRoot ", "on the way to it, may not be read)"])
            .path("/hidden.html"),
        site(
            "",
            lets,
            &[
                "403 by apache itself: `DocumentRoot ",
                "is a folder without a page (`DirectoryIndex index.html`, by default)",
            ],
        )
        .path("/folder/"),
        site(
            "Require all denied",
            lets,
            &["answered 403 by apache itself: `Require all denied` (", "site/.htaccess:1)"],
        ),
        site(forbids, lets, &["answered 403 by apache itself: `RewriteRule ^a/ - [F]` (", "site/.htaccess:2)"]),
        site(
            "Redirect 301 /a https://x.example/",
            lets,
            &["answered 301 to https://x.example//b?c=d by apache itself: `Redirect 301 /a", "site/.htaccess:1)"],
        ),
        site(
            "Nonsense on",
            lets,
            &["answered 500 by apache itself: `AllowOverride All` #1 (it lets ", "does not take a line"],
        ),
        site(
            forbids,
            some,
            &["answered 403; cannot tell which of these does it: `AllowOverride FileInfo` #1 of apache"],
        ),
        site(
            wordpress,
            bare,
            &[
                "answered 403 by apache itself: `RewriteEngine On` (",
                "site/.htaccess:1)",
                "`Options` there has neither",
            ],
        ),
        site(wordpress, &php, &[]),
        site("FallbackResource /index.php", &php, &[]),
        site("", &php, &[]).path("/index.php"),
        site(wordpress, &php, &[]).path("/folder/index.php"),
    ];
    all("apache", cases, |text, dir| {
        let site = dir.join("site");
        std::fs::create_dir_all(site.join("folder")).unwrap();
        for (file, mode) in [("index.php", 0o644), ("hidden.html", 0o000)] {
            std::fs::write(site.join(file), "x").unwrap();
            std::fs::set_permissions(site.join(file), PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
        let (htaccess, lines) = text.split_once(THEN).unwrap();
        let _ = std::fs::remove_file(site.join(".htaccess"));
        if !htaccess.is_empty() {
            std::fs::write(site.join(".htaccess"), htaccess).unwrap();
        }
        let names = ["mpm_event", "authz_core", "dir", "autoindex", "alias", "rewrite", "proxy", "proxy_http"];
        let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
        let modules = names.map(load).concat();
        let user = if nix::unistd::geteuid().is_root() { "User www-data\nGroup www-data\n" } else { "" };
        format!("{modules}{user}ServerName x\nListen 8080\nDocumentRoot SITE\n{lines}\n")
            .replace("SITE", &site.display().to_string())
    });
}
