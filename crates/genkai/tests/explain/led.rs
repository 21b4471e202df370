//! A listener that leads elsewhere, and what stands behind in a language of its own.

use std::path::{Path, PathBuf};

use genkai_model::explain::Explanation;
use genkai_place::authority;

use crate::harness::genkai;

fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn told(product: &str, path: &Path, host: &str) -> (Explanation, String) {
    let asked = |more: &str| {
        let words = format!("explain --no-ask --product {product} --host {host} {more}");
        String::from_utf8(genkai(&words).arg(path).output().unwrap().stdout).unwrap()
    };
    (serde_json::from_str(&asked("--json")).unwrap(), asked(""))
}

#[test]
fn that_a_listener_only_redirects_is_said_before_what_it_leads_to_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let papers = authority::make(dir.path()).unwrap();
    let (certificate, key, both) = (papers.certificate.display(), papers.key.display(), papers.both.display());
    let nginx = format!(
        "events {{ }}\nhttp {{\n server {{ listen 80; server_name a.example;\n  return 301 https://$host$request_uri; }}\n server {{\n  listen 443 ssl; server_name \
         a.example; ssl_certificate {certificate}; ssl_certificate_key {key}; location / {{ proxy_pass http://127.0.0.1:9; }} }}\n}}\n"
    );
    let haproxy = format!(
        "defaults\n mode http\nfrontend plain\n bind :80\n http-request redirect scheme https code 301\nfrontend tls\n bind :443 ssl crt {both}\n \
         default_backend b\nbackend b\n server s 127.0.0.1:9\n"
    );
    let load = |name| format!("LoadModule {name}_module modules/mod_{name}.so\n");
    let modules: String = ["mpm_event", "ssl", "alias", "proxy", "proxy_http"].map(load).concat();
    let apache = format!(
        "{modules}Listen 80\nListen 443\n<VirtualHost *:80>\nServerName a.example\nRedirect permanent / https://a.example/\n</VirtualHost>\n<VirtualHost *:443>\n\
         ServerName a.example\nSSLEngine on\nSSLCertificateFile {both}\nProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n"
    );
    for (product, text, by, to) in [
        ("nginx", nginx, "return 301 https://$host$request_uri", "listen 443 ssl"),
        ("haproxy", haproxy, "http-request redirect scheme https code 301", "bind :443 ssl"),
        ("apache", apache, "Redirect permanent / https://a.example/", "Listen 443"),
    ] {
        let path = file(dir.path(), product, &text);
        for host in ["a.example:80", "a.example"] {
            let (explanation, said) = told(product, &path, host);
            let led = explanation.led.unwrap_or_else(|| panic!("{product} {host}: {said}"));
            let at = text.lines().position(|line| line.contains(by)).unwrap() + 1;
            assert_eq!((led.by.as_str(), &led.place), (by, &format!("{}:{at}", path.display())), "{said}");
            assert!(led.to.starts_with(to), "{led:?}");
            let sentence = format!("only redirects these requests (`{by}`, {}:{at})", path.display());
            let plain = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(plain.contains(&sentence) && plain.contains("of the one to which that leads"), "{said}");
        }
        let (explanation, said) = told(product, &path, "a.example:443");
        assert!(explanation.led.is_none() && !said.contains("only redirects"), "{said}");
    }
}

#[test]
fn what_php_fastcgi_asks_has_limits_and_times() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.php"), "<?php echo 1;\n").unwrap();
    std::fs::write(dir.path().join("a.css"), "").unwrap();
    let root = dir.path().display();
    let text = format!(
        "http://:80 {{\n\troot * {root}\n\tphp_fastcgi unix//run/php/php-fpm.sock {{\n\t\tread_timeout 7s\n\t\tmax_fails 2\n\t\tfail_duration 9s\n\t}}\n\
         \tfile_server\n}}\n"
    );
    let path = file(dir.path(), "Caddyfile", &text);
    let (explanation, said) = told("caddy", &path, "localhost");
    let ids: Vec<&str> = explanation.limits.iter().map(|limit| limit.id.as_str()).collect();
    for id in ["caddy.read_timeout", "caddy.dial_timeout", "caddy.fail_duration", "caddy.backend"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    let time =
        |name: &str| explanation.timers.iter().find(|timer| timer.setting == name).map(|timer| timer.value.clone());
    assert_eq!(
        (time("read_timeout").as_deref(), time("dial_timeout").as_deref()),
        (Some("7s"), Some("not set")),
        "{said}"
    );
    assert_eq!((time("response_header_timeout"), time("keepalive")), (None, None), "{said}");
    // A file that is there is Caddy's own.
    let words = format!("explain --no-ask --product caddy --json --path /a.css {}", path.display());
    let output = genkai(&words).output().unwrap();
    let own: Explanation = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!own.limits.iter().any(|limit| limit.id == "caddy.read_timeout"), "{:?}", own.limits);
}
