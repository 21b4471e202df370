//! The settings of the three servers, where each value comes from, and the configuration files made of them.

use std::fmt::Write as _;
use std::net::SocketAddr;

use genkai_model::plan::Site;
use genkai_model::units::Span;

use super::places::{Identity, Places};

/// How to install everything. `php` beside `php-fpm` and a web server already there keep apt from choosing Apache for
/// the alternatives `apache2 | httpd` and `libapache2-mod-php | php` of the package `wordpress`.
pub const INSTALL: &str = "apt-get install --no-install-recommends nginx mariadb-server-core mariadb-client php php-fpm \
                           php-mysql wordpress wordpress-theme-twentytwentythree";

/// Largest pool that can be asked for: at about 30 MB a child (measured, Debian 12) far beyond any small host.
pub const MAX_CHILDREN: u32 = 1000;

/// `listen.backlog` of the pool: php-fpm's default (`FPM_BACKLOG_DEFAULT 511`, sapi/fpm/fpm/fpm_sockets.h) and Debian's
/// (`/etc/php/8.2/fpm/pool.d/www.conf`).
pub(crate) const LISTEN_BACKLOG: u32 = 511;

/// MariaDB's default of `max_connections` (mariadb.com/kb/en/server-system-variables/#max_connections).
pub(crate) const MARIADB_MAX_CONNECTIONS: u32 = 151;

/// Connections beside those of the pool's children: the observer's, and some for whoever looks in by hand.
const SPARE_CONNECTIONS: u32 = 8;

/// Connections of one worker of the web server before php-fpm: so many that it is never the limit.
const WEB_CONNECTIONS: u64 = 8192;

/// Descriptors of a web worker: two a proxied client.
const WEB_DESCRIPTORS: u64 = 2 * WEB_CONNECTIONS;

/// Descriptors of a web worker that are no client's (listener, log, channels, epoll): generously.
const WEB_OWN_DESCRIPTORS: u64 = 64;

/// `backlog` of the web server's listener (the kernel caps it at net.core.somaxconn, 4096 since Linux 5.4).
const WEB_BACKLOG: u32 = 4096;

/// The settings of one instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// php-fpm's `pm.max_children`.
    pub(crate) children: u32,
    /// How long each page waits for something else.
    pub(crate) waits: Span,
    /// Cores the whole backend may use.
    pub(crate) cores: usize,
    /// Cores' worth of processor time that control groups leave it; none: all of its cores.
    pub(crate) quota: Option<f64>,
    /// MariaDB's `max_connections`.
    pub(crate) max_connections: u32,
    /// Descriptors a web worker gets.
    pub(crate) web_descriptors: u64,
}

impl Settings {
    /// Settings for `site` on `cores` cores with at most `descriptors` (the hard limit) a process.
    pub(crate) fn new(site: &Site, cores: usize, descriptors: u64) -> Settings {
        Settings {
            children: site.children,
            waits: site.waits,
            cores,
            quota: None,
            max_connections: site
                .connections
                .unwrap_or_else(|| MARIADB_MAX_CONNECTIONS.max(site.children + SPARE_CONNECTIONS)),
            web_descriptors: WEB_DESCRIPTORS.min(descriptors),
        }
    }

    /// Cores' worth of processor time that it may have.
    pub(crate) fn processors(&self) -> f64 {
        (self.cores as f64).min(self.quota.unwrap_or(f64::INFINITY))
    }

    /// Whether `max_connections` is MariaDB's own default.
    pub(crate) fn default_connections(&self) -> bool {
        self.max_connections == MARIADB_MAX_CONNECTIONS
    }

    /// Pages that can be made at once: one connection is the observer's.
    pub(crate) fn at_once(&self) -> u32 {
        self.children.min(self.max_connections.saturating_sub(1)).max(1)
    }

    /// Children that stay when the pool is idle: all but one, so that a pool that gets busy again forks, which is what
    /// makes php-fpm log `server reached pm.max_children` again (it warns once, and forgets that it did only when it
    /// forks: `warn_max_children` in sapi/fpm/fpm/fpm_process_ctl.c).
    pub(crate) fn spare_children(&self) -> u32 {
        self.children.saturating_sub(1).max(1)
    }
}

/// MariaDB's configuration. Small buffers, no network, and durability given up (`innodb_flush_log_at_trx_commit=2`, no
/// doublewrite buffer): the database is thrown away after the run, and a small site's pages are not limited by it.
pub(crate) fn mariadb(settings: &Settings, places: &Places) -> String {
    let mut text = String::from("[mariadbd]\n");
    let user = matches!(places.identity(), Identity::Root).then_some("user=root\n").unwrap_or_default();
    let _ = write!(
        text,
        "{user}datadir=\"{}\"\nsocket=\"{}\"\npid-file=\"{}\"\ntmpdir=\"{}\"\ninit-file=\"{}\"\n\
         skip-networking\nskip-name-resolve\ncharacter-set-server=utf8mb4\n\
         max_connections={}\ninnodb_buffer_pool_size=64M\n\
         innodb_flush_log_at_trx_commit=2\ninnodb_doublewrite=0\n\
         aria_pagecache_buffer_size=8M\nkey_buffer_size=1M\ntable_open_cache=200\n",
        places.data().display(),
        places.socket().display(),
        places.file("mariadb.pid").display(),
        places.temporary().display(),
        places.file("accounts.sql").display(),
        settings.max_connections,
    );
    for option in MARIADB_FILES {
        let _ = writeln!(text, "{}", option.trim_start_matches('-'));
    }
    text
}

/// Options that the server and the tool that makes its files share: a small redo log, and no native asynchronous I/O,
/// as io_uring is often forbidden in containers.
pub(crate) const MARIADB_FILES: &[&str] = &["--innodb-log-file-size=16M", "--innodb-use-native-aio=0"];

/// Statements MariaDB runs before it accepts connections: the site's database, an account that may use it and one that
/// may only ask for statistics. No passwords: the socket lies in a folder that only this run's user can enter.
pub(crate) const ACCOUNTS: &str = "CREATE DATABASE IF NOT EXISTS wordpress CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS wordpress@localhost;
GRANT ALL ON wordpress.* TO wordpress@localhost;
CREATE USER IF NOT EXISTS observer@localhost;
";

/// PHP's configuration, for php-fpm and for the installer. Nothing of /etc/php is read (`PHP_INI_SCAN_DIR` is emptied),
/// so that a debugger or profiler installed there does not slow the site; `opcache` is on as in Debian's packages, and
/// `memory_limit` is PHP's default, 128M (main/main.c).
pub(crate) fn php(places: &Places) -> String {
    let mut text = String::from("zend_extension=opcache\n");
    for extension in ["mysqlnd", "mysqli", "ctype", "exif", "fileinfo", "iconv", "posix", "tokenizer"] {
        let _ = writeln!(text, "extension={extension}");
    }
    let _ = write!(
        text,
        "memory_limit=128M\nopcache.enable=1\nopcache.memory_consumption=128\ndisplay_errors=Off\nlog_errors=On\n\
         auto_prepend_file=\"{}\"\n",
        places.file("prepend.php").display()
    );
    text
}

/// php-fpm's configuration: Debian's pool (dynamic, status page) with the given number of children, the status page on a
/// socket of its own so that it answers when the pool is saturated (`pm.status_listen`, PHP 8.0).
///
/// The pool listens on TCP, not on a unix socket as Debian's does, because only there the length of its accept queue can
/// be seen (/proc/net/tcp; php-fpm's own `listen queue` too is of TCP only: `listen_address_domain == FPM_AF_INET` in
/// `fpm_pctl_perform_idle_server_maintenance`).
pub(crate) fn php_fpm(settings: &Settings, places: &Places, listen: SocketAddr, status: SocketAddr) -> String {
    let user = match places.identity() {
        Identity::Root => "user = root\ngroup = root\n",
        _ => "",
    };
    let spare = settings.spare_children();
    format!(
        "[global]\ndaemonize = no\nerror_log = \"{}\"\nlog_level = notice\n\n\
         [wordpress]\n{user}listen = {listen}\nlisten.backlog = {LISTEN_BACKLOG}\n\
         pm = dynamic\npm.max_children = {}\npm.start_servers = {spare}\npm.min_spare_servers = 1\n\
         pm.max_spare_servers = {spare}\npm.max_requests = 0\nrequest_terminate_timeout = 0\n\
         pm.status_path = {STATUS_PATH}\npm.status_listen = {status}\nclear_env = yes\n",
        places.php_fpm_log().display(),
        settings.children,
    )
}

/// Path of php-fpm's status page.
pub(crate) const STATUS_PATH: &str = "/php-fpm-status";

/// The web server's configuration: an nginx so generously sized that it is never the limit, with responses buffered
/// whole in memory (`fastcgi_buffers`: 512 KB; the front page has about 60 KB). It waits long for php-fpm: what times
/// out is to be the product under test, not the backend host.
pub(crate) fn web(settings: &Settings, places: &Places, listen: SocketAddr, pool: SocketAddr) -> String {
    let user = match places.identity() {
        Identity::Root => "user root;\n",
        _ => "",
    };
    let connections = WEB_CONNECTIONS.min(settings.web_descriptors.saturating_sub(WEB_OWN_DESCRIPTORS));
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("    {kind}_temp_path \"{}/{kind}\";\n", places.temporary().display()))
        .collect();
    let head = format!(
        "daemon off;\n{user}worker_processes {};\npid \"{}\";\nerror_log stderr warn;\n\
         events {{\n    worker_connections {connections};\n}}\nhttp {{\n{temporary}",
        settings.cores.max(1),
        places.file("web.pid").display(),
    );
    head + &server(&listen.to_string(), &format!("\"{}\"", places.site().display()), &pool.to_string()) + "}\n"
}

/// What the web server has in its block `http`: the site in the folder `root` at `listen`, whose scripts php-fpm runs at `pool`.
pub(crate) fn server(listen: &str, root: &str, pool: &str) -> String {
    let parameters: String = PARAMETERS.iter().map(|(k, v)| format!("            fastcgi_param {k} {v};\n")).collect();
    format!(
        "{TYPES}    access_log off;\n    \
         keepalive_requests 1000000;\n    client_max_body_size 64m;\n    server_tokens off;\n    server {{\n        \
         listen {listen} backlog={WEB_BACKLOG};\n        root {root};\n        index index.php;\n        \
         location / {{ try_files $uri $uri/ /index.php$is_args$args; }}\n        location ~ \\.php$ {{\n            \
         try_files $uri =404;\n{parameters}            fastcgi_pass {pool};\n            \
         fastcgi_buffers 64 8k;\n            fastcgi_connect_timeout 300s;\n            \
         fastcgi_read_timeout 300s;\n        }}\n    }}\n"
    )
}

/// What a script learns of its request (RFC 3875 and nginx's own `fastcgi.conf`); `HTTP_PROXY` is emptied (httpoxy).
const PARAMETERS: &[(&str, &str)] = &[
    ("SCRIPT_FILENAME", "$document_root$fastcgi_script_name"),
    ("QUERY_STRING", "$query_string"),
    ("REQUEST_METHOD", "$request_method"),
    ("CONTENT_TYPE", "$content_type"),
    ("CONTENT_LENGTH", "$content_length"),
    ("SCRIPT_NAME", "$fastcgi_script_name"),
    ("REQUEST_URI", "$request_uri"),
    ("DOCUMENT_URI", "$document_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("REQUEST_SCHEME", "$scheme"),
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx"),
    ("REMOTE_ADDR", "$remote_addr"),
    ("REMOTE_PORT", "$remote_port"),
    ("SERVER_ADDR", "$server_addr"),
    ("SERVER_PORT", "$server_port"),
    ("SERVER_NAME", "$host"),
    ("REDIRECT_STATUS", "200"),
    ("HTTP_PROXY", "\"\""),
];

/// Media types of what a theme serves.
const TYPES: &str = "    types {\n        text/html html;\n        text/css css;\n        \
                     application/javascript js;\n        application/json json;\n        image/png png;\n        \
                     image/jpeg jpg jpeg;\n        image/gif gif;\n        image/svg+xml svg;\n        \
                     image/webp webp;\n        font/woff2 woff2;\n        font/woff woff;\n    }\n    \
                     default_type application/octet-stream;\n";
