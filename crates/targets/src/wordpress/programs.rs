//! The programs and files of the distribution that an instance is made of.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::CALLED;
use super::settings::INSTALL;
use crate::error::TargetError;
use genkai_place::program::{find_in, version, versioned};

/// Where Debian's package puts WordPress.
pub const WORDPRESS: &str = "/usr/share/wordpress";

/// Everything that is needed, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The database server.
    pub mariadbd: PathBuf,
    /// What makes its system tables.
    pub mariadb_install_db: PathBuf,
    /// The FastCGI process manager.
    pub php_fpm: PathBuf,
    /// The command-line interpreter, of the same version if there is one.
    pub php: PathBuf,
    /// The web server.
    pub nginx: PathBuf,
    /// WordPress's folder.
    pub wordpress: PathBuf,
    /// The theme of the site, a folder's name.
    pub theme: String,
    /// The search path they were found in, for children.
    pub path: String,
}

impl Programs {
    /// Finds everything in the folders of `path` (colon-separated) and in `wordpress`.
    ///
    /// # Errors
    /// With everything that is missing at once.
    pub fn find(path: &str, wordpress: &Path) -> Result<Programs, TargetError> {
        let mut missing = Vec::new();
        let mut need = |what: &str, found: Option<PathBuf>| {
            found.unwrap_or_else(|| {
                missing.push(what.to_owned());
                PathBuf::new()
            })
        };
        let mariadbd = need("mariadbd (MariaDB's server)", find_in(path, "mariadbd"));
        let mariadb_install_db = need("mariadb-install-db", find_in(path, "mariadb-install-db"));
        let php_fpm = need("php-fpm", versioned(path, "php-fpm"));
        let php = need("php (the command line's)", sibling(path, &php_fpm).or_else(|| versioned(path, "php")));
        if php.is_file() && !has_mysqli(&php) {
            need("PHP's mysqli extension (php-mysql)", None);
        }
        let nginx = need("nginx", find_in(path, "nginx"));
        let version = wordpress.join("wp-includes/version.php");
        need(&format!("WordPress in {}", wordpress.display()), version.is_file().then_some(version));
        let theme = theme(wordpress);
        if theme.is_none() {
            missing.push(format!("a WordPress theme in {}/wp-content/themes", wordpress.display()));
        }
        match theme {
            Some(theme) if missing.is_empty() => Ok(Programs {
                mariadbd,
                mariadb_install_db,
                php_fpm,
                php,
                nginx,
                wordpress: wordpress.to_owned(),
                theme,
                path: path.to_owned(),
            }),
            _ => {
                let what = format!("the WordPress backend needs what is not installed here: {}", missing.join(", "));
                Err(TargetError::missing(CALLED, format!("{what}\n  hint: {INSTALL}")))
            }
        }
    }

    /// A command with nothing of this process's environment but a search path, in English.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", &self.path).env("LC_ALL", "C").env("PHP_INI_SCAN_DIR", "");
        command
    }

    /// Names and versions, as `nginx` -> `1.22.1`. One that does not say its version is left out.
    pub fn versions(&self) -> Vec<(String, String)> {
        let wordpress = std::fs::read_to_string(self.wordpress.join("wp-includes/version.php")).unwrap_or_default();
        let wordpress = wordpress.lines().find(|line| line.starts_with("$wp_version")).and_then(number);
        [
            ("mariadb", self.ask(&self.mariadbd, "--version")),
            ("php-fpm", self.ask(&self.php_fpm, "-v")),
            ("backend nginx", self.ask(&self.nginx, "-v")),
            ("wordpress", wordpress),
        ]
        .into_iter()
        .filter_map(|(name, version)| Some((name.to_owned(), version?)))
        .collect()
    }

    fn ask(&self, program: &Path, flag: &str) -> Option<String> {
        let said = self.command(program).arg(flag).output().ok()?;
        let text = [said.stdout, said.stderr].concat();
        number(String::from_utf8_lossy(&text).lines().next()?)
    }
}

/// Whether the interpreter has the extension WordPress needs, built in or to load.
fn has_mysqli(php: &Path) -> bool {
    let mut command = Command::new(php);
    command.args(["-n", "-d", "display_errors=0", "-d", "extension=mysqlnd", "-d", "extension=mysqli"]);
    command.args(["-r", "exit(extension_loaded('mysqli') ? 0 : 3);"]);
    command.output().is_ok_and(|said| said.status.success())
}

/// The first thing that looks like a version: digits and dots, at least one dot.
fn number(text: &str) -> Option<String> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.')
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
        .map(|word| word.trim_end_matches('.').to_owned())
}

/// The interpreter of the same version as `php-fpmX.Y`.
fn sibling(path: &str, php_fpm: &Path) -> Option<PathBuf> {
    let suffix = php_fpm.file_name()?.to_str()?.strip_prefix("php-fpm")?;
    version(suffix)?;
    find_in(path, &format!("php{suffix}"))
}

/// WordPress's own themes, the newest first: in the order in which they appeared (WP_Theme::get_core_default_theme).
pub(super) const THEMES: &[&str] = &[
    "twentytwentyfive",
    "twentytwentyfour",
    "twentytwentythree",
    "twentytwentytwo",
    "twentytwentyone",
    "twentytwenty",
];

/// The newest of WordPress's own themes that is installed, else any.
fn theme(wordpress: &Path) -> Option<String> {
    let installed: Vec<String> = std::fs::read_dir(wordpress.join("wp-content/themes"))
        .ok()?
        .flatten()
        .filter(|entry| entry.path().join("style.css").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let own = THEMES.iter().find(|name| installed.iter().any(|i| i == *name));
    own.map(|name| (*name).to_owned()).or_else(|| installed.into_iter().min())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(folder: &Path, name: &str) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(name), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(folder.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn everything_missing_is_named_at_once_with_what_to_type() {
        let dir = tempfile::tempdir().unwrap();
        program(dir.path(), "nginx");
        let error = Programs::find(dir.path().to_str().unwrap(), &dir.path().join("wp")).unwrap_err().to_string();
        for word in ["mariadbd", "mariadb-install-db", "php-fpm", "WordPress in", "theme", "apt-get install"] {
            assert!(error.contains(word), "{word} in {error}");
        }
        assert!(!error.lines().next().unwrap().contains("nginx"), "nginx is there: {error}");
    }

    #[test]
    fn the_interpreter_has_the_version_of_the_process_manager() {
        let dir = tempfile::tempdir().unwrap();
        let (bin, wordpress) = (dir.path().join("bin"), dir.path().join("wp"));
        for name in ["mariadbd", "mariadb-install-db", "nginx", "php-fpm8.2", "php-fpm8.10", "php8.2", "php8.10"] {
            program(&bin, name);
        }
        for name in ["twentytwentyone", "twentytwentythree", "other"] {
            program(&wordpress.join("wp-content/themes").join(name), "style.css");
        }
        program(&wordpress.join("wp-includes"), "version.php");
        let found = Programs::find(bin.to_str().unwrap(), &wordpress).unwrap();
        assert_eq!(found.php_fpm, bin.join("php-fpm8.10"), "10 is more than 2");
        assert_eq!(found.php, bin.join("php8.10"));
        assert_eq!(found.theme, "twentytwentythree");
        std::fs::write(bin.join("php8.10"), "#!/bin/sh\nexit 3\n").unwrap();
        let error = Programs::find(bin.to_str().unwrap(), &wordpress).unwrap_err().to_string();
        assert!(error.contains("mysqli") && error.contains("php-mysql"), "{error}");
    }

    #[test]
    fn versions_are_read_from_what_programs_say() {
        assert_eq!(number("PHP 8.2.36 (fpm-fcgi) (built: ...)").as_deref(), Some("8.2.36"));
        assert_eq!(number("nginx version: nginx/1.22.1").as_deref(), Some("1.22.1"));
        assert_eq!(number("/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1").as_deref(), Some("10.11.19"));
        assert_eq!(number("$wp_version = '6.1.9';").as_deref(), Some("6.1.9"));
        assert_eq!(number("no version"), None);
    }
}
