//! Ways out of this machine are found wherever a configuration has them, and nowhere else.

use std::path::Path;

use genkai_place::remote::Remote;
use genkai_targets::nginx::config::Config;
use genkai_targets::nginx::remote::first;

fn look(text: &str, allowed: &[&str]) -> Option<Remote> {
    let config = Config::of_text(Path::new("/etc/nginx/nginx.conf"), text.as_bytes().to_vec(), Path::new("")).unwrap();
    let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
    first(&config, &allowed)
}

/// A server whose location is `inside`, with `before` in `http`.
fn http(before: &str, inside: &str) -> String {
    format!("events {{}}\nhttp {{\n{before}\nserver {{ listen 80; location / {{ {inside} }} }}\n}}\n")
}

#[test]
fn what_stays_here_is_left_alone() {
    for (before, inside) in [
        ("", "proxy_pass http://127.0.0.1:8080;"),
        ("", "proxy_pass http://127.8.9.1/app/;"),
        ("", "proxy_pass http://[::1]:8080;"),
        ("", "proxy_pass http://localhost:8080;"),
        ("", "proxy_pass http://0.0.0.0:8080;"),
        ("", "fastcgi_pass unix:/run/php.sock;"),
        ("", "return 200;"),
        ("upstream app { server 127.0.0.1:1; server unix:/run/app; server 192.0.2.1 down; }", "proxy_pass http://app;"),
        ("upstream app { server 127.0.0.1:1; }", "set $b app; proxy_pass http://$b;"),
        ("upstream app { server 127.0.0.1:1; } resolver 127.0.0.53;", "set $b app; proxy_pass http://$b;"),
        ("map $host $b { default 127.0.0.1:1; a.example http://127.0.0.1:2; }", "proxy_pass $b;"),
        ("", "proxy_pass http://$host;"),
    ] {
        assert_eq!(look(&http(before, inside), &[]), None, "{before} {inside}");
    }
    let stream = "events {} stream { server { listen 81; proxy_pass 192.0.2.1:80; } }";
    assert_eq!(look(stream, &[]), None, "no load goes into stream");
}

#[test]
fn what_leaves_is_named_with_its_place() {
    for (before, inside, host) in [
        ("", "proxy_pass http://192.0.2.10:80;", "192.0.2.10"),
        ("", "proxy_pass https://[2001:db8::1]/;", "2001:db8::1"),
        ("", "proxy_pass http://[::ffff:192.0.2.1]/;", "::ffff:192.0.2.1"),
        ("", "fastcgi_pass 192.0.2.10:9000;", "192.0.2.10"),
        ("", "memcached_pass 192.0.2.10:11211;", "192.0.2.10"),
        ("upstream app { server 127.0.0.1:1;\nserver 192.0.2.9:80 backup; }", "proxy_pass http://app;", "192.0.2.9"),
        ("", "set $b 192.0.2.7:80; proxy_pass http://$b;", "192.0.2.7"),
        ("map $host $b { default 127.0.0.1:1; a.example http://192.0.2.8/; }", "proxy_pass $b;", "192.0.2.8"),
    ] {
        let text = http(before, inside);
        let remote = look(&text, &[]).unwrap_or_else(|| panic!("{before} {inside}"));
        assert_eq!(remote.host, host, "{inside}");
        let line: usize =
            remote.place.strip_prefix("/etc/nginx/nginx.conf:").unwrap().split(':').next().unwrap().parse().unwrap();
        assert!(text.lines().nth(line - 1).unwrap().contains(host), "{remote:?}");
        assert!(remote.why.starts_with("is not this machine ("), "{remote:?}");
        assert_eq!(look(&text, &[host]), None, "allowed: {host}");
        assert!(look(&text, &["192.0.2.200"]).is_some(), "another host is allowed: {host}");
    }
}

#[test]
fn names_without_an_address_count_as_elsewhere() {
    // RFC 6761, 6.4: `invalid` never resolves.
    let remote = look(&http("", "proxy_pass http://app.invalid;"), &[]).unwrap();
    assert_eq!(remote.host, "app.invalid");
    assert_eq!(remote.why, "does not resolve, so it cannot be known to be this machine");
}

#[test]
fn variables_that_a_resolver_could_send_anywhere_are_refused() {
    for inside in
        ["proxy_pass http://$host;", "set $b $arg_x; proxy_pass http://$b;", "proxy_pass http://app-$arg_x:80;"]
    {
        let text = http("resolver 127.0.0.53;", inside);
        let remote = look(&text, &[]).unwrap_or_else(|| panic!("{inside}"));
        assert_eq!(remote.why, "is decided by variables for each request, so it cannot be known", "{inside}");
        assert_eq!(look(&text, &[&remote.host]), None, "allowed as written");
    }
}

#[test]
fn stream_counts_where_http_leads_into_it() {
    let text = "events {} http { server { listen 80; location / { proxy_pass http://127.0.0.1:81; } } }
        stream { server { listen 127.0.0.1:81; proxy_pass 192.0.2.1:80; } }";
    assert_eq!(look(text, &[]).unwrap().host, "192.0.2.1");
}
