//! Caddyfiles drawn at random: sites, snippets, files, matchers, `handle` in `handle`, and whatever of a `reverse_proxy` decides how much
//! goes through it. Most values are right, some are not.

use std::fmt::Write as _;

use crate::differential::Draw;

/// What is asked for: hosts and paths that the configurations have, and others.
pub(crate) const HOSTS: [&str; 5] = ["a.example", "b.example", "x.a.example", "c.example", "A.EXAMPLE"];
pub(crate) const PATHS: [&str; 8] = ["/", "/api/v1", "/API/V1", "/p/q.php", "/p", "/static/x/y", "/api/", "/old"];

const ADDRESSES: [&str; 10] = [
    "http://a.example:8080",
    "http://b.example:8080",
    "http://*.a.example:8080",
    ":8080",
    "http://a.example:8080/api/*",
    "http://x.a.example:8080, http://b.example:8080",
    "http://c.example",
    "http://a.example:8081",
    ":8081",
    "http://{$GENKAI_NONE:b.example}:8080",
];
const PATTERNS: [&str; 10] =
    ["/api/*", "/api*", "/p/*", "/p/q.php", "*.php", "/static/*/y", "*i/v*", "/", "/p", "/api/v1"];
const TIMES: [&str; 16] =
    ["1s", "500ms", "1m30s", "2d", "0", "1.5h", "0.5d", "1d12h", "100us", "2h", "30s", ".5s", "5", "x", "1y", "-1s"];
const NUMBERS: [&str; 14] =
    ["0", "1", "7", "10", "100", "3", "25", "64", "010", "+5", "-1", "0x10", "x", "99999999999999999999"];
const SIZES: [&str; 15] =
    ["1MB", "10MiB", "512", "1k", "1.5MB", "\"10 MB\"", "1,000", "2GB", "1tb", "1TiB", "0", "x", "-1", "10XB", "1 MB"];
const UPSTREAMS: [&str; 12] = [
    "127.0.0.1:9001",
    "127.0.0.1:9002",
    "127.0.0.1:9003",
    "app",
    "app:80",
    "http://app:9004",
    "https://app",
    "unix//run/app.sock",
    "h2c://app:9005",
    ":9006",
    "[::1]:9007",
    "{$GENKAI_NONE:127.0.0.1:9001}",
];
const POLICIES: [&str; 12] = [
    "random",
    "first",
    "round_robin",
    "least_conn",
    "ip_hash",
    "uri_hash",
    "header X-A",
    "cookie",
    "random_choose 2",
    "cookie a b",
    "first",
    "no_such",
];
const MATCHERS: [&str; 11] = [
    "path /api/* /p/*",
    "path *.php",
    "method GET",
    "method POST PUT",
    "host a.example",
    "not path /api/*",
    "not {\n\t\t\tpath /p/*\n\t\t\tmethod GET\n\t\t}",
    "{\n\t\tpath /api/*\n\t\tmethod GET\n\t}",
    "{\n\t\tpath /p/*\n\t\tpath /api/*\n\t}",
    "{\n\t\thost b.example\n\t\tpath /\n\t\tnot method POST\n\t}",
    "header X-A b",
];

/// A value: of ten, so many of those at the end of a list, which are wrong, are left out.
fn value<'a>(draw: &mut Draw, all: &[&'a str], wrong: usize) -> &'a str {
    let end = if draw.below(40) == 0 { all.len() } else { all.len() - wrong };
    all[draw.below(end)]
}

fn time(draw: &mut Draw) -> &'static str {
    value(draw, &TIMES, 4)
}

fn number(draw: &mut Draw) -> &'static str {
    value(draw, &NUMBERS, 4)
}

fn size(draw: &mut Draw) -> &'static str {
    value(draw, &SIZES, 4)
}

/// One configuration: its main file, and the one that it imports as `more.caddy`.
pub(crate) fn written(draw: &mut Draw) -> (String, String) {
    let mut text = String::new();
    if draw.below(2) == 0 {
        text += &options(draw);
    }
    text += "(way) {\n\treverse_proxy {args.0} 127.0.0.1:9009 {\n\t\tmax_fails {args.1}\n\t\tlb_policy first\n\t}\n}\n(wait) {\n\t\t\tdial_timeout \
             7s\n\t\t\tmax_conns_per_host 12\n}\n";
    let first = draw.below(ADDRESSES.len());
    let more = 1 + draw.below(3);
    for n in 0..more {
        let address = ADDRESSES[(first + n * (1 + draw.below(2))) % ADDRESSES.len()];
        let _ = writeln!(text, "{address} {{\n{}}}", site(draw, "\t"));
    }
    (text, directives(draw, "", 0, false))
}

fn options(draw: &mut Draw) -> String {
    let mut text = String::from("{\n\tadmin off\n");
    if draw.below(6) == 0 {
        text += *draw.of(&[
            "\torder reverse_proxy first\n",
            "\torder respond after reverse_proxy\n",
            "\torder redir last\n",
        ]);
    }
    for _ in 0..draw.below(3) {
        let on = draw.of(&["", "", " :8080", " :8081"]);
        let _ = writeln!(text, "\tservers{on} {{\n\t\ttimeouts {{");
        for _ in 0..draw.below(4) {
            let name = *draw.of(&["idle", "read_body", "read_header", "write", "idle"]);
            let _ = writeln!(text, "\t\t\t{name} {}", time(draw));
        }
        text += "\t\t}\n\t}\n";
    }
    text + "}\n"
}

fn site(draw: &mut Draw, indent: &str) -> String {
    let mut text = String::new();
    for name in ["@one", "@two"] {
        let _ = writeln!(text, "{indent}{name} {}", draw.of(&MATCHERS));
    }
    if draw.below(12) == 0 {
        text += "\timport more.caddy\n";
    }
    text + &directives(draw, indent, 0, true)
}

fn matcher(draw: &mut Draw, named: bool) -> String {
    match draw.below(6) {
        0 | 1 => format!(" {}", draw.of(&PATTERNS).replacen("*.php", "/p/*.php", 1).replacen("*i/v*", "/*i/v*", 1)),
        2 if named => format!(" {}", draw.of(&["@one", "@two"])),
        3 => " *".to_owned(),
        _ => String::new(),
    }
}

fn directives(draw: &mut Draw, indent: &str, depth: usize, named: bool) -> String {
    let mut text = String::new();
    for _ in 0..1 + draw.below(4) {
        let m = matcher(draw, named);
        let deeper = format!("{indent}\t");
        match draw.below(16) {
            0 | 1 if depth < 2 => {
                let _ =
                    writeln!(text, "{indent}handle{m} {{\n{}{indent}}}", directives(draw, &deeper, depth + 1, named));
            }
            2 if depth < 2 => {
                let pattern = draw.of(&["/api/*", "/p/*", "/api*", "/static/x/*"]);
                let _ = writeln!(
                    text,
                    "{indent}handle_path {pattern} {{\n{}{indent}}}",
                    directives(draw, &deeper, depth + 1, named)
                );
            }
            3 if depth < 2 => {
                let _ =
                    writeln!(text, "{indent}route{m} {{\n{}{indent}}}", directives(draw, &deeper, depth + 1, named));
            }
            4 => {
                let _ = writeln!(text, "{indent}request_body{m} {{\n{indent}\tmax_size {}\n{indent}}}", size(draw));
            }
            5 => {
                let what = draw.of(&[
                    "respond /old gone",
                    "respond @one no",
                    "redir /old /new",
                    "error /old 404",
                    "abort @two",
                ]);
                if named || !what.contains('@') {
                    let _ = writeln!(text, "{indent}{what}");
                }
            }
            6 => {
                let what = draw.of(&[
                    "rewrite /old /p/q.php",
                    "rewrite * /api{uri}",
                    "uri strip_prefix /api",
                    "uri /p/* strip_suffix .php",
                    "uri replace /p/ /api/",
                    "header X-A b",
                    "encode gzip",
                ]);
                let _ = writeln!(text, "{indent}{what}");
            }
            7 if indent.len() == 1 => {
                let _ = writeln!(text, "{indent}import way 127.0.0.1:9010 {}", number(draw));
            }
            _ => text += &proxy(draw, indent, &m),
        }
    }
    text
}

fn proxy(draw: &mut Draw, indent: &str, matcher: &str) -> String {
    let mut own: Vec<&str> = (0..draw.below(4)).map(|_| value(draw, &UPSTREAMS, 6)).collect();
    if own.is_empty() && draw.below(3) > 0 {
        own.push("127.0.0.1:9001");
    }
    let mut text = format!("{indent}reverse_proxy{matcher}");
    own.iter().for_each(|one| text += &format!(" {one}"));
    text += " {\n";
    if own.is_empty() {
        let _ = writeln!(text, "{indent}\tto {} {}", value(draw, &UPSTREAMS, 6), value(draw, &UPSTREAMS, 6));
    }
    for _ in 0..draw.below(4) {
        let _ = writeln!(text, "{indent}\t{}", option(draw));
    }
    if draw.below(2) == 0 {
        let _ = writeln!(text, "{indent}\ttransport http {{");
        for _ in 0..draw.below(4) {
            let _ = writeln!(text, "{indent}\t\t{}", transport(draw));
        }
        let _ = writeln!(text, "{indent}\t}}");
    }
    text + indent + "}\n"
}

fn option(draw: &mut Draw) -> String {
    match draw.below(16) {
        0 => format!("lb_policy {}", value(draw, &POLICIES, 1)),
        1 | 2 => format!("unhealthy_request_count {}", number(draw)),
        3 => format!("max_fails {}", number(draw)),
        4 | 5 => format!("fail_duration {}", time(draw)),
        6 => format!("lb_try_duration {}", time(draw)),
        7 => format!("lb_try_interval {}", time(draw)),
        8 => format!("lb_retries {}", number(draw)),
        9 => format!("unhealthy_latency {}", time(draw)),
        10 => format!("to {}", value(draw, &UPSTREAMS, 6)),
        11 => "header_up X-A b".to_owned(),
        12 => "buffer_requests".to_owned(),
        13 => format!("max_buffer_size {}", size(draw)),
        14 => format!("health_interval {}", time(draw)),
        _ if draw.below(4) == 0 => {
            (*draw.of(&["no_such 1", "max_fails 1 2", "fail_duration", "buffer_requests 1", "dial_timeout 1s"]))
                .to_owned()
        }
        _ => "flush_interval -1".to_owned(),
    }
}

fn transport(draw: &mut Draw) -> String {
    match draw.below(13) {
        0..=2 => format!("max_conns_per_host {}", number(draw)),
        3 => format!("dial_timeout {}", time(draw)),
        4 => format!("response_header_timeout {}", time(draw)),
        5 => format!("read_timeout {}", time(draw)),
        6 => format!("write_timeout {}", time(draw)),
        7 => format!("keepalive {}", if draw.below(4) == 0 { "off" } else { time(draw) }),
        8 => format!("keepalive_idle_conns_per_host {}", number(draw)),
        9 => format!("keepalive_idle_conns {}", number(draw)),
        10 => format!("read_buffer {}", size(draw)),
        11 => "import wait".to_owned(),
        _ if draw.below(4) == 0 => (*draw.of(&["no_such 1", "dial_timeout 1s 2s", "max_conns_per_host"])).to_owned(),
        _ => format!("write_buffer {}", size(draw)),
    }
}
