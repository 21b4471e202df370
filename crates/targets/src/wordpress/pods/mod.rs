//! The same site in the pods of a cluster: MariaDB in one, php-fpm with WordPress and the web server before it in another. Images are those that
//! others make; what runs in them is started by scripts of genkai's, as an ordinary user, on folders that are empty at first. Pure.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use genkai_model::plan::Site;

use super::lifecycle::{POSTS, TITLE};
use super::programs::THEMES;
use super::settings::{LISTEN_BACKLOG, STATUS_PATH, server};

/// Where the site answers.
pub const PORT: u16 = 8080;
/// Where the database listens.
const DATABASE_PORT: u16 = 3306;
/// Where php-fpm listens, in its pod.
const POOL: &str = "127.0.0.1:9000";
/// Image of the database, unless another is named.
pub const DATABASE_IMAGE: &str = "docker.io/library/mariadb:11.4";
/// Image of php-fpm with WordPress, unless another is named.
pub const SITE_IMAGE: &str = "docker.io/library/wordpress:php8.3-fpm";
/// Worker processes of the web server before php-fpm.
const WORKERS: usize = 2;
/// Connections of each of these: so many that it is never the limit.
const CONNECTIONS: u64 = 8192;

/// Whose image a container has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// MariaDB's.
    Database,
    /// php-fpm's with WordPress.
    Site,
    /// nginx's.
    Web,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: &'static str,
    /// Its image.
    pub image: Image,
    /// The file that the shell runs in it.
    pub script: &'static str,
    /// Where it takes connections once it is ready; none: nobody outside of its pod connects to it.
    pub port: Option<u16>,
}

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: &'static str,
    /// Its containers.
    pub containers: Vec<Container>,
    /// Its files, by name.
    pub files: BTreeMap<String, String>,
    /// Variables that nobody else is to read.
    pub secret: BTreeMap<String, String>,
}

fn texts<const N: usize>(all: [(&str, String); N]) -> BTreeMap<String, String> {
    all.map(|(name, text)| (name.to_owned(), text)).into()
}

/// The database. `password`, of letters and digits, is that of the site's account.
pub fn database(password: &str) -> Pod {
    let container =
        Container { name: "mariadb", image: Image::Database, script: "database.sh", port: Some(DATABASE_PORT) };
    Pod {
        name: "database",
        containers: vec![container],
        files: texts([("database.sh", include_str!("database.sh").to_owned())]),
        secret: texts([("PASSWORD", password.to_owned())]),
    }
}

/// php-fpm and the web server before it, for a database at this address.
pub fn application(database: IpAddr, password: &str, site: &Site) -> Pod {
    let at = SocketAddr::from((database, DATABASE_PORT));
    let files = texts([
        ("php.sh", include_str!("php.sh").to_owned()),
        ("web.sh", include_str!("web.sh").to_owned()),
        ("web.conf", web()),
        ("php-fpm.conf", pool(site)),
        ("install.php", include_str!("../php/install.php").to_owned()),
        ("wp-config.php", include_str!("../php/wp-config.php").to_owned()),
        ("genkai.php", include_str!("../php/genkai.php").to_owned()),
        ("themes", THEMES.join("\n") + "\n"),
        ("database", at.to_string()),
        ("defines", defines(site)),
    ]);
    Pod {
        name: "application",
        containers: vec![
            Container { name: "php", image: Image::Site, script: "php.sh", port: None },
            Container { name: "web", image: Image::Web, script: "web.sh", port: Some(PORT) },
        ],
        files,
        secret: texts([("PASSWORD", password.to_owned())]),
    }
}

/// What every script knows beside where it is.
fn defines(site: &Site) -> String {
    let waits = site.waits.duration().as_micros();
    format!("define('GENKAI_TITLE', '{TITLE}');\ndefine('GENKAI_POSTS', {POSTS});\ndefine('GENKAI_WAITS', {waits});")
}

/// php-fpm's pool, with the values of that on one machine.
fn pool(site: &Site) -> String {
    let spare = site.children.saturating_sub(1).max(1);
    format!(
        "[global]\ndaemonize = no\nerror_log = @WORK@/php-fpm.log\nlog_level = notice\n\n[wordpress]\nlisten = {POOL}\n\
         listen.backlog = {LISTEN_BACKLOG}\npm = dynamic\npm.max_children = {}\npm.start_servers = {spare}\n\
         pm.min_spare_servers = 1\npm.max_spare_servers = {spare}\npm.max_requests = 0\nrequest_terminate_timeout = 0\n\
         pm.status_path = {STATUS_PATH}\nclear_env = yes\nphp_admin_value[auto_prepend_file] = @WORK@/prepend.php\n\
         php_admin_value[memory_limit] = 128M\n",
        site.children
    )
}

/// The web server's configuration.
fn web() -> String {
    let work = "/run/genkai/work";
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("    {kind}_temp_path {work}/{kind};\n"))
        .collect();
    let head = format!(
        "daemon off;\nworker_processes {WORKERS};\npid {work}/web.pid;\nerror_log stderr warn;\nevents {{\n    \
         worker_connections {CONNECTIONS};\n}}\nhttp {{\n{temporary}"
    );
    head + &server(&PORT.to_string(), &format!("{work}/site"), POOL) + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_stand_in_secrets_alone() {
        let password = "0123456789abcdef";
        let site = Site::new(5);
        for pod in [database(password), application(IpAddr::from([10, 0, 0, 1]), password, &site)] {
            assert_eq!(pod.secret["PASSWORD"], password);
            assert!(pod.files.values().all(|text| !text.contains(password)), "{}", pod.name);
            assert!(pod.containers.iter().all(|one| pod.files.contains_key(one.script)), "{}", pod.name);
        }
    }

    #[test]
    fn the_pool_and_the_database_are_those_of_the_site() {
        let pod = application(IpAddr::from([10, 0, 0, 1]), "a", &Site::new(7));
        assert!(pod.files["php-fpm.conf"].contains("pm.max_children = 7\n"));
        assert_eq!(pod.files["database"], "10.0.0.1:3306");
        assert!(pod.files["web.conf"].contains("fastcgi_pass 127.0.0.1:9000;"), "{}", pod.files["web.conf"]);
    }
}
