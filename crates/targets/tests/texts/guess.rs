//! Whose configuration a file is: told where one product knows it, and left open where none or several do.

use std::path::Path;

use genkai_targets::catalog::guess;

fn of(text: &str) -> Result<&'static str, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    guess(file.path()).map_err(|e| format!("{e:?}"))
}

/// A pool in one file, as people have them.
const POOL: &str = "[global]\npid = /run/php/php8.2-fpm.pid\nerror_log = /var/log/php8.2-fpm.log\n[www]\nuser = www-data\n\
    listen = /run/php/php8.2-fpm.sock\npm = dynamic\npm.max_children = 5\npm.start_servers = 2\n\
    pm.min_spare_servers = 1\npm.max_spare_servers = 3\n";

#[test]
fn each_product_is_told_by_the_names_it_knows() {
    for (text, product) in [
        ("# c\nuser www-data; # who\nevents {\n worker_connections 1;\n}\nlog_format a\n 'b';\n", "nginx"),
        (
            "events {\n}\nhttp {\n types {\n  text/html html;\n  a/b c;\n  a/c d;\n }\n server { listen 80; }\n}\n",
            "nginx",
        ),
        ("Listen 80\n<VirtualHost *:80>\n RewriteRule ^/{a} /b;\n</VirtualHost>\n", "apache"),
        ("LISTEN 80\nServerName \\\n x\n<Location />\nRequire all denied\n</Location>\n", "apache"),
        ("# c\nglobal\n  daemon\nfrontend f\n  bind :80\n", "haproxy"),
        ("global\n\nlisten a # b\n  bind :80\n  no option httpclose\n", "haproxy"),
        ("example.com {\n reverse_proxy :9\n}\n", "caddy"),
        ("; c\n[www]\npm = static\n", "php-fpm"),
        (POOL, "php-fpm"),
        ("# c\nport 6379\nmaxclients 10\n", "redis"),
        ("# c\nhttp_port 80 accel\nhttp_access allow all\n", "squid"),
        ("# c\nvcl 4.1;\nbackend a none;\n", "varnish"),
        ("/* c */ // d\nvcl 4.1;\nbackend a none;\n", "varnish"),
    ] {
        assert_eq!(of(text), Ok(product), "{text}");
    }
    assert_eq!(guess(Path::new("/x/a.vcl")).unwrap(), "varnish");
    assert_eq!(guess(Path::new("/x/Caddyfile")).unwrap(), "caddy");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("records.config"), "").unwrap();
    assert_eq!(guess(dir.path()).unwrap(), "trafficserver");
}

#[test]
fn a_misspelt_or_broken_line_does_not_hide_whose_a_file_is() {
    assert_eq!(of("Listen 80\nKeepAliv On\nTimeout 5\n<VirtualHost *:80>\n"), Ok("apache"));
    assert_eq!(of("events {\n}\nhttp {\n keepalive_timout 5;\n server {\n  listen 80;\n"), Ok("nginx"));
    assert_eq!(of(&POOL.replace("pm.max_children", "pm.max_childs")), Ok("php-fpm"));
    assert_eq!(of("global\ndefaults\n  timeout cleint 5s\nfrontend f\n  bnid :80\n"), Ok("haproxy"));
}

#[test]
fn nobody_is_guessed_where_none_or_two_know_a_file() {
    for text in [
        "",
        "# only a comment\n",
        "127.0.0.1 localhost\n::1 ip6-localhost\n",
        "root:x:0:0:root:/root:/bin/sh\n",
        "a\nb\nc\n",
    ] {
        let said = of(text).unwrap_err();
        assert!(said.contains("no product"), "{said}");
    }
    let said = of("include /etc/other.conf\n").unwrap_err();
    assert!(said.contains("one of") && said.contains("redis"), "{said}");
    for path in ["/etc/hosts", "/etc/passwd", "/etc/services", "/etc/fstab", "/etc/resolv.conf", "/proc/self/status"] {
        assert!(!Path::new(path).exists() || guess(Path::new(path)).is_err(), "{path}");
    }
    let said = guess(Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(said.contains("cannot read"), "{said}");
}

/// What distributions install, where it is.
#[test]
fn the_stock_files_of_this_machine_are_told() {
    for (path, product) in [
        ("/etc/nginx/nginx.conf", "nginx"),
        ("/etc/nginx/sites-available/default", "nginx"),
        ("/etc/nginx/mime.types", "nginx"),
        ("/etc/nginx/fastcgi_params", "nginx"),
        ("/etc/apache2/apache2.conf", "apache"),
        ("/etc/apache2/ports.conf", "apache"),
        ("/etc/apache2/sites-available/000-default.conf", "apache"),
        ("/etc/apache2/sites-available/default-ssl.conf", "apache"),
        ("/etc/apache2/mods-available/mpm_event.conf", "apache"),
        ("/etc/haproxy/haproxy.cfg", "haproxy"),
        ("/etc/php/8.2/fpm/php-fpm.conf", "php-fpm"),
        ("/etc/php/8.2/fpm/pool.d/www.conf", "php-fpm"),
        ("/etc/redis/redis.conf", "redis"),
        ("/etc/squid/squid.conf", "squid"),
        ("/etc/varnish/default.vcl", "varnish"),
        ("/etc/caddy/Caddyfile", "caddy"),
    ] {
        let told = |path| guess(path).map_err(|e| format!("{e:?}"));
        assert!(
            !Path::new(path).exists() || told(Path::new(path)) == Ok(product),
            "{path}: {:?}",
            told(Path::new(path))
        );
    }
}
