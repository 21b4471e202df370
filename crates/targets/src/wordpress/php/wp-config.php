<?php
// Configuration of a private WordPress that lives as long as one load test.
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', GENKAI_PASSWORD);
define('DB_HOST', GENKAI_DATABASE);
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$table_prefix = 'wp_';

// The site is called whatever it is asked for, so that a proxy in front never gets a redirect to another name.
$genkai_host = ($_SERVER['HTTP_HOST'] ?? '') ?: 'localhost';
define('WP_HOME', 'http://' . $genkai_host);
define('WP_SITEURL', 'http://' . $genkai_host);

// Nothing but requests makes work: no cron, no updates, no calls to other hosts, no changes of files.
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_AUTO_UPDATE_CORE', false);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISALLOW_FILE_MODS', true);
define('WP_DEFAULT_THEME', GENKAI_THEME);

// Nobody logs in; fixed values keep pages alike from run to run.
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $genkai_name) {
    define($genkai_name . '_KEY', 'genkai ' . $genkai_name . ' key');
    define($genkai_name . '_SALT', 'genkai ' . $genkai_name . ' salt');
}

require_once ABSPATH . 'wp-settings.php';
