//! A site as certbot and Debian's packages leave it: nginx with TLS, php-fpm and MariaDB, each the limit in turn; with a page of a few lines,
//! and with WordPress.

use super::Behind::Alone;
use super::stacks::REFUSED;
use super::{Between, Case, NO_NUMBER, PATIENCE};

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    plain().into_iter().chain(wordpress()).collect()
}

/// A page of a few lines, which asks the database.
fn plain() -> Vec<Case> {
    let site = |name: &str, fault: &str, connections: &str, children: &str, database: &'static str| {
        let config = SITE.replace("{connections}", connections);
        Case::of("nginx", name, fault)
            .flags(REFUSED)
            .objective("errors < 5%, p99 < 500ms")
            .config(config)
            .beside("www/index.php", PAGE)
            .beside("my.cnf", database)
            .behind(Alone(match children {
                "3" => FEW,
                _ => MANY,
            }))
    };
    vec![
        site("site-nginx", "nginx with worker_connections 24 before php-fpm and MariaDB, with TLS", "24", "64", LARGE)
            .cause("nginx.worker_connections")
            .off("nginx first ends kept connections that wait, and refuses when there are none of these"),
        site("site-php-fpm", "php-fpm with 3 children behind nginx with TLS, before MariaDB", "512", "3", LARGE)
            .cause("php-fpm.www.pm.max_children")
            .off(PATIENCE),
        site("site-mariadb", "MariaDB with max_connections 10 behind php-fpm and nginx with TLS", "512", "64", SMALL)
            .cause("beyond.MariaDB.max_connections")
            .off(NO_NUMBER),
    ]
}

const SITE: &str = "events { worker_connections {connections}; }\nhttp {\n  server { listen 80 default_server; return 301 \
                    https://$host$request_uri; }\n  server {\n    listen 443 ssl default_server;\n    ssl_certificate \
                    {dir}/cert.pem;\n    ssl_certificate_key {dir}/key.pem;\n    location / { fastcgi_param REQUEST_METHOD GET; \
                    fastcgi_param SCRIPT_NAME /index.php; fastcgi_param SCRIPT_FILENAME {dir}/www/index.php; fastcgi_pass \
                    unix:{dir}/fpm.sock; }\n  }\n}\n";

/// A page that asks the database for a tenth of a second.
const PAGE: &str = "<?php mysqli_report(MYSQLI_REPORT_OFF); $db = @new mysqli('localhost', 'root', '', '', 0, __DIR__ . '/../db/db.sock');\nif \
                    ($db->connect_errno) { http_response_code(500); exit('no database'); }\n$db->query('select sleep(0.1)'); echo 'here';\n";

const SMALL: &str = "[mysqld]\nmax-connections = 10\n";
const LARGE: &str = "[mysqld]\nmax-connections = 200\n";

/// A certificate, a database, and the pool, which is ready last.
const TIERS: &str = "cd {dir} && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem && mkdir -p \
                     db/data && { setpriv --pdeathsig=KILL mariadbd --defaults-file={dir}/my.cnf --datadir={dir}/db/data \
                     --socket={dir}/db/db.sock --pid-file={dir}/db/pid --log-error={dir}/db.log --user=root \
                     --skip-grant-tables --skip-networking & } && until [ -S \
                     db/db.sock ]; do sleep 0.05; done && chmod 777 db db/db.sock && { setpriv --pdeathsig=TERM php-fpm8.2 -F -R -y {dir}/behind.conf & } && wait";

const FEW: Between = Between {
    command: &["sh", "-c", TIERS],
    file: "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = \
           www-data\npm = static\npm.max_children = 3\n",
};

const MANY: Between = Between {
    command: &["sh", "-c", TIERS],
    file: "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = \
           www-data\npm = static\npm.max_children = 64\n",
};

/// Debian's WordPress, whose pages ask the database for something that takes a fifth of a second.
fn wordpress() -> Vec<Case> {
    let site = |name: &str, fault: &str, connections: &str, children: &'static Between, database: &'static str| {
        let server = Between { command: children.command, file: children.file };
        Case::of("nginx", name, fault)
            .flags("--users 60 --spawn-rate 4 --think 1s")
            .objective("errors < 5%, p99 < 3s")
            .config(WORDPRESS.replace("{connections}", connections))
            .beside("wp-config.php", CONFIG)
            .beside("install.php", INSTALL)
            .beside("slow.php", SLOWLY)
            .beside("my.cnf", database)
            .behind(Alone(server))
    };
    vec![
        site(
            "wordpress-nginx",
            "nginx with worker_connections 24 before WordPress, with TLS",
            "24",
            &MANY_POSTS,
            LARGE,
        )
        .cause("nginx.worker_connections")
        .off("nginx first ends kept connections that wait, and refuses when there are none of these"),
        site(
            "wordpress-php-fpm",
            "php-fpm with 2 children under WordPress, behind nginx with TLS",
            "512",
            &FEW_POSTS,
            LARGE,
        )
        .cause("php-fpm.www.pm.max_children")
        .off(PATIENCE),
        site(
            "wordpress-mariadb",
            "MariaDB with max_connections 5 behind WordPress, php-fpm and nginx with TLS",
            "512",
            &MANY_POSTS,
            TINY,
        )
        .cause("beyond.MariaDB.max_connections")
        .off(NO_NUMBER),
    ]
}

/// As certbot and the instructions of WordPress have it.
const WORDPRESS: &str = "events { worker_connections {connections}; }\nhttp {\n  include /etc/nginx/mime.types;\n  server {\n    listen 80 \
                         default_server;\n    server_name localhost;\n    return 301 https://$host$request_uri; # managed by Certbot\n  \
                         }\n  server {\n    server_name localhost;\n    root {dir}/www;\n    index index.php;\n    location / { \
                         try_files $uri $uri/ /index.php?$args; }\n    location ~ \\.php$ {\n      include \
                         /etc/nginx/fastcgi_params;\n      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n      \
                         fastcgi_pass unix:{dir}/fpm.sock;\n    }\n    listen 443 ssl; # managed by Certbot\n    ssl_certificate \
                         {dir}/cert.pem;\n    ssl_certificate_key {dir}/key.pem;\n  }\n}\n";

const CONFIG: &str = "<?php\ndefine('DB_NAME', 'wp'); define('DB_USER', 'root'); define('DB_PASSWORD', '');\ndefine('DB_HOST', 'localhost:' . \
                      dirname(__DIR__) . '/db/db.sock'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');\n$table_prefix = \
                      'wp_';\ndefine('WP_HOME', 'https://' . ($_SERVER['HTTP_HOST'] ?? 'localhost')); define('WP_SITEURL', \
                      WP_HOME);\ndefine('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true);\nif (!defined('ABSPATH')) \
                      define('ABSPATH', __DIR__ . '/');\nrequire_once ABSPATH . 'wp-settings.php';\n";

const INSTALL: &str = "<?php\ndefine('WP_INSTALLING', true); $_SERVER['HTTP_HOST'] = 'localhost'; $_SERVER['SERVER_PROTOCOL'] = \
                       'HTTP/1.1';\nrequire __DIR__ . '/www/wp-load.php'; require ABSPATH . \
                       'wp-admin/includes/upgrade.php';\nwp_install('A site', 'admin', 'admin@localhost.localdomain', true, '', \
                       'secret');\n";

const SLOWLY: &str = "<?php\nadd_action('init', function () { if (PHP_SAPI !== 'cli') $GLOBALS['wpdb']->query('select sleep(0.2)'); });\n";

const TINY: &str = "[mysqld]\nmax-connections = 5\n";

/// A certificate, a database, WordPress installed in it, and the pool, which is ready last.
const INSTALLED: &str = "cd {dir} && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem && \
                         cp -r /usr/share/wordpress www && rm -f www/wp-config.php && mv wp-config.php www/ && mkdir -p \
                         www/wp-content/mu-plugins && mv slow.php www/wp-content/mu-plugins/ && mkdir -p db/data && { setpriv \
                         --pdeathsig=KILL mariadbd --defaults-file={dir}/my.cnf --datadir={dir}/db/data --socket={dir}/db/db.sock \
                         --pid-file={dir}/db/pid --log-error={dir}/db.log --user=root --skip-grant-tables --skip-networking & } && until [ \
                         -S db/db.sock ]; do sleep 0.05; done && chmod 777 db db/db.sock && mariadb --socket=db/db.sock -e 'create \
                         database wp' && php install.php && { setpriv --pdeathsig=TERM php-fpm8.2 -F -R -y {dir}/behind.conf & } && wait";

const FEW_POSTS: Between = Between {
    command: &["sh", "-c", INSTALLED],
    file: "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = \
           www-data\npm = dynamic\npm.max_children = 2\npm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 2\n",
};

const MANY_POSTS: Between = Between {
    command: &["sh", "-c", INSTALLED],
    file: "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = \
           www-data\npm = static\npm.max_children = 24\n",
};
