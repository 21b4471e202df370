//! What genkai reads in a VCL, against what varnishd makes of it (`varnishd -C`): whether it loads it, and what its backends are; what a running
//! one says (`backend.list`, `vcl.show`, `param.show`); and how many requests a backend of it takes, and which one. `GENKAI_DIFFERENTIAL=2000` tries so many.

#[path = "../differential/mod.rs"]
mod differential;
mod running;
#[path = "../stage/mod.rs"]
mod stage;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use genkai_model::explain::{Explanation, RemarkKind};
use genkai_model::limit::Law;
use genkai_place::process::{Child, Signal, Spawn};
use genkai_targets::catalog;
use genkai_targets::explain::Requests;

use differential::{Draw, count, judged};
use stage::{Backend, admitted, eventually};

fn there() -> bool {
    let found = Path::new("/usr/sbin/varnishd").is_file();
    if !found {
        genkai_tidy::noted::skipped("varnish is not installed");
    }
    found
}

fn explained(file: &Path) -> Result<Explanation, String> {
    catalog::explain(Some("varnish"), file, &Requests::to("localhost", "/")).map_err(|e| e.to_string())
}

const TIMES: [&str; 18] = [
    "1s", "500ms", "3 s", "1.5m", "2h", "1d", "1w", "0.25y", "0s", "60s", "10s", "3.500s", "5", "\"5s\"", ".5s", "1x",
    "-5s", "1s 2s",
];
const NUMBERS: [&str; 14] =
    ["0", "1", "7", "25", "010", "100", "300", "64", "3.5", "\"5\"", "-1", "5 5", "1 + 1", "1k"];

/// A value, of fifteen about one of the wrong ones at the end.
fn value<'a>(draw: &mut Draw, all: &[&'a str]) -> &'a str {
    let end = if draw.below(15) == 0 { all.len() } else { all.len() - 6 };
    all[draw.below(end)]
}

fn attribute(draw: &mut Draw) -> String {
    match draw.below(12) {
        0..=3 => format!(".max_connections = {};", value(draw, &NUMBERS)),
        4 => format!(".connect_timeout = {};", value(draw, &TIMES)),
        5 | 6 => format!(".first_byte_timeout = {};", value(draw, &TIMES)),
        7 => format!(".between_bytes_timeout = {};", value(draw, &TIMES)),
        8 => ".probe = { .url = \"/h\"; .interval = 7s; .timeout = 2s; }".to_owned(),
        9 => ".host_header = \"x\";".to_owned(),
        10 => ".proxy_header = 1;".to_owned(),
        _ if draw.below(8) == 0 => {
            (*draw.of(&[".no_such = 1;", ".max_conections = 5;", ".path = \"/run/x\";"])).to_owned()
        }
        _ => "/* .max_connections = 1; */".to_owned(),
    }
}

fn backend(draw: &mut Draw, name: &str) -> String {
    if draw.below(12) == 0 {
        return format!("backend {name} none;\n");
    }
    let mut text = format!("backend {name} {{\n");
    if draw.below(40) > 0 {
        text += *draw.of(&[
            "    .host = \"127.0.0.1\"; .port = \"8080\";\n",
            "    .host = \"127.0.0.1:81\"; # a\n",
            "    .path = \"/run/a.sock\";\n",
        ]);
    }
    for _ in 0..draw.below(4) {
        let _ = writeln!(text, "    {}", attribute(draw));
    }
    text + "}\n"
}

/// A VCL, and the one that it includes.
fn written(draw: &mut Draw) -> (String, String) {
    let names: &[&str] = draw.of::<&[&str]>(&[
        &["web"],
        &["web", "api"],
        &["web", "api", "default"],
        &["default", "web"],
        &["a", "b", "c"],
    ]);
    let mut text = String::from(if draw.below(40) == 0 { "# none\n" } else { "vcl 4.1;\n" });
    let (mut more, mut directors) = (String::new(), false);
    for (n, name) in names.iter().enumerate() {
        let own = backend(draw, name);
        if n > 0 && draw.below(4) == 0 { more += &own } else { text += &own }
    }
    if draw.below(4) == 0 {
        directors = true;
        text.insert_str(text.find('\n').unwrap() + 1, "import directors;\n");
        text += "sub vcl_init {\n    new all = directors.round_robin();\n";
        names.iter().for_each(|name| text += &format!("    all.add_backend({name});\n"));
        text += "}\n";
    }
    text += "include \"./more.vcl\";\nsub vcl_recv {\n    # set req.backend_hint = nobody;\n";
    for (n, name) in names.iter().enumerate() {
        match draw.below(12) {
            0 if n > 0 => {}
            1 => text += &format!("    set req.backend_hint = {name};\n"),
            _ => text += &format!("    if (req.url ~ \"^/{name}\") {{ set req.backend_hint = {name}; }}\n"),
        }
    }
    text += *draw.of(&[
        "",
        "    if (req.url ~ \"^/x\") { return (pass); }\n",
        "    set req.url = regsub(req.url, \"^/x\", \"/\");\n",
        "    if (req.method == \"PURGE\") { return (synth(405)); } elsif (req.http.X) { return (hash); }\n",
    ]);
    if directors {
        text += "    set req.backend_hint = all.backend();\n";
    }
    (text + "}\n", more)
}

/// What varnishd makes of the backends: of each its fields as the program has them that it becomes; or why it refuses them.
fn compiled(file: &Path, dir: &Path) -> Result<BTreeMap<String, BTreeMap<String, f64>>, String> {
    let output = Command::new("varnishd").arg("-C").arg("-n").arg(dir).arg("-f").arg(file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(said);
    }
    let mut all = BTreeMap::new();
    for part in said.split("static const struct vrt_backend vgc_dir_priv_vgc_backend_").skip(1) {
        let (name, rest) = part.split_once(' ').unwrap();
        let fields = rest.split("};").next().unwrap_or_default().lines();
        let field = |line: &str| {
            let (name, value) = line.trim().strip_prefix('.')?.split_once(" = ")?;
            Some((name.to_owned(), value.trim_end_matches(',').parse().ok()?))
        };
        all.insert(name.to_owned(), fields.filter_map(field).collect());
    }
    Ok(all)
}

fn refused(explained: &Result<Explanation, String>) -> Option<String> {
    match explained {
        Err(e) => Some(e.clone()),
        Ok(explained) => explained
            .remarks
            .iter()
            .find(|r| r.text.contains("does not load"))
            .map(|r| format!("{} {}", r.setting, r.text)),
    }
}

/// How genkai's backends differ from those of varnishd.
fn differs(explained: &Explanation, backends: &BTreeMap<String, BTreeMap<String, f64>>) -> Option<String> {
    for (name, fields) in backends {
        let most = explained.limits.iter().find(|limit| limit.id == format!("varnish.backend.{name}.max_connections"));
        let ours = most.map_or(0.0, |limit| limit.value.parse::<f64>().unwrap());
        let theirs = fields.get("max_connections").copied().unwrap_or(0.0);
        if ours != theirs {
            return Some(format!("{name}: max_connections {theirs}, genkai {ours}"));
        }
        for (timer, default) in
            [("connect_timeout", 3.5), ("first_byte_timeout", 60.0), ("between_bytes_timeout", 60.0)]
        {
            let setting = format!("backend {name}: {timer}");
            let ours = explained.timers.iter().find(|one| one.setting == setting).and_then(|one| one.span);
            let ours = ours.map_or(f64::NAN, |span| span.0 as f64 / 1e9);
            // A time of nothing is the parameter's.
            let theirs = fields.get(timer).copied().filter(|seconds| *seconds > 0.0).unwrap_or(default);
            if (ours - theirs).abs() > 1e-6 * theirs.max(1.0) {
                return Some(format!("{setting} {theirs}, genkai {ours}"));
            }
        }
    }
    let more = explained
        .timers
        .iter()
        .filter_map(|one| one.setting.strip_prefix("backend ")?.split_once(':'))
        .find(|(name, _)| !backends.contains_key(*name));
    more.map(|(name, _)| format!("varnishd has no {name}"))
}

fn compare(number: usize, (main, more): &(String, String), dir: &Path) -> (bool, Option<String>) {
    let dir = dir.join(number.to_string());
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("default.vcl");
    fs::write(&file, main).unwrap();
    fs::write(dir.join("more.vcl"), more).unwrap();
    let explained = explained(&file);
    let (refused, compiled) = (refused(&explained), compiled(&file, &dir.join("n")));
    let how = match (&compiled, &refused) {
        (Ok(backends), None) => differs(explained.as_ref().unwrap(), backends),
        (Err(_), Some(_)) => None,
        (Ok(_), Some(why)) => Some(format!("varnishd loads it, genkai says: {why}")),
        (Err(why), None) => Some(format!("genkai takes it, varnishd says: {why}")),
    };
    (compiled.is_ok(), how.map(|how| format!("--- {number}: {how}\n{main}--- more.vcl\n{more}")))
}

#[test]
fn what_a_vcl_says_of_backends_is_what_varnishd_makes_of_it() {
    if !there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut draw = Draw::seeded(71);
    let total = count(24);
    let texts: Vec<(String, String)> = (0..total).map(|_| written(&mut draw)).collect();
    let (accepted, wrong) = judged(total, 8, |number| compare(number, &texts[number], dir.path()));
    println!("{total} VCLs, {accepted} loaded by varnishd, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.into_iter().take(8).collect::<Vec<_>>().join("\n"));
    assert!(accepted * 4 >= total, "too few are accepted for the comparison to mean something");
}

#[test]
fn a_part_that_others_include_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("part.vcl");
    fs::write(&file, "sub devicedetect { unset req.http.X-UA-Device; }\n").unwrap();
    assert_eq!(explained(&file).unwrap().remarks, []);
    fs::write(&file, "backend a { .host = \"h\"; }\nbackend b { .host = \"h\"; }\n").unwrap();
    assert_eq!(explained(&file).unwrap().remarks, []);
    fs::write(&file, "backend a { .host = \"h\"; }\nbackend b { .host = \"h\"; }\nsub vcl_recv { return (pass); }\n")
        .unwrap();
    let told = explained(&file).unwrap().remarks;
    assert!(
        told.len() == 1 && told[0].kind == RemarkKind::Unknown && told[0].text.contains("except as a part"),
        "{told:?}"
    );
}

/// A Varnish that runs.
struct Varnish {
    dir: tempfile::TempDir,
    child: Child,
    address: SocketAddr,
}

impl Varnish {
    fn start(vcl: &str) -> Varnish {
        Varnish::start_with(vcl, "").expect("it starts")
    }

    /// One whose VCL includes `more.vcl`; none where it ends instead.
    fn start_with(vcl: &str, more: &str) -> Option<Varnish> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("more.vcl"), more).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = dir.path().join("default.vcl");
        fs::write(&file, vcl).unwrap();
        let mut command = Command::new("varnishd");
        command.args(["-F", "-j", "none", "-s", "malloc,10m", "-a", &format!("127.0.0.1:{port}"), "-n"]);
        command.arg(dir.path().join("n")).arg("-f").arg(&file);
        let child = Child::spawn(command, Spawn { name: "varnishd".to_owned(), ..Spawn::default() }).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let (mut varnish, mut ended) = (Varnish { dir, child, address }, false);
        eventually("Varnish listens or ends", || {
            ended = varnish.child.try_exited().is_some();
            ended || TcpStream::connect(address).is_ok()
        });
        (!ended).then_some(varnish)
    }

    /// What it answers to a command.
    fn says(&self, command: &[&str]) -> String {
        let output =
            Command::new("varnishadm").arg("-n").arg(self.dir.path().join("n")).args(command).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Varnish {
    fn drop(&mut self) {
        self.child.stop(Signal::SIGTERM, Duration::from_secs(5));
    }
}

#[test]
fn a_backend_takes_as_many_requests_at_once_as_predicted() {
    if !there() {
        return;
    }
    let (mut wrong, mut seen) = (Vec::new(), Vec::new());
    // The last of each: whether a number is told.
    for (caps, recv, is_told) in [
        (&[7][..], "", true),
        (&[3, 9], "", true),
        (&[12, 2], "if (req.url ~ \"^/healthz\") { set req.backend_hint = b1; }", true),
        (&[4, 6], "set req.backend_hint = b1;", true),
        (&[0], "", false),
        (&[2], "return (hash);", false),
        (&[20], "", true),
        (&[1, 5], "if (req.method == \"GET\") { set req.backend_hint = b1; }", false),
        (&[30, 8], "if (req.url ~ \"^/\") { set req.backend_hint = b1; }", true),
        (&[9, 30], "if (req.url ~ \"^/x\") { set req.backend_hint = b1; } else { set req.backend_hint = b0; }", true),
        (&[2, 11], "if (req.http.host == \"localhost\") { set req.backend_hint = b1; }", true),
        (
            &[5, 9],
            "if (req.url ~ \"^/\") { set req.backend_hint = b1; return (pass); } set req.backend_hint = b0;",
            true,
        ),
        (&[4, 8], "set req.url = \"/x\" + req.url; if (req.url ~ \"^/x\") { set req.backend_hint = b1; }", false),
    ] {
        let backends: Vec<Backend> = caps.iter().map(|_| Backend::start()).collect();
        let mut vcl = String::from("vcl 4.1;\n");
        for (n, (backend, most)) in backends.iter().zip(caps).enumerate() {
            let port = backend.address().port();
            let _ = writeln!(
                vcl,
                "backend b{n} {{ .host = \"127.0.0.1\"; .port = \"{port}\"; .max_connections = {most}; }}"
            );
        }
        let used: String = (0..caps.len())
            .map(|n| format!("if (req.url == \"/only{n}\") {{ set req.backend_hint = b{n}; }}\n"))
            .collect();
        let _ = writeln!(vcl, "sub vcl_recv {{\n{used}{recv}\nreturn (pass);\n}}");
        let varnish = Varnish::start(&vcl);
        let explained = explained(&varnish.dir.path().join("default.vcl")).unwrap();
        let told = explained.limits.iter().filter(|limit| limit.id.ends_with(".max_connections"));
        let numbers: Vec<f64> = told
            .filter_map(|limit| match limit.law {
                Law::Slots { value, .. } => Some(value),
                _ => None,
            })
            .collect();
        let most = numbers.first().map_or(30, |number| *number as usize + 5);
        let count = admitted(&backends, varnish.address, most);
        let holds = match numbers[..] {
            [] => !is_told,
            [number] => is_told && count == number as usize,
            _ => false,
        };
        seen.push((caps, recv, numbers.clone(), count));
        if !holds {
            wrong.push((caps, recv, numbers, count));
        }
    }
    println!("{seen:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const CONDITIONS: [&str; 9] = [
    "req.url ~ \"^/api/\"",
    "req.url == \"/x\"",
    "req.url != \"/x\"",
    "req.url !~ \"^/p\"",
    "req.http.Host == \"nobody\"",
    "req.method == \"GET\"",
    "req.http.X-A",
    "!req.http.X-A",
    "req.url ~ \"x$\" && !req.http.X-A",
];

/// Statements of `vcl_recv`: choices, ways out, rewrites.
fn statements(draw: &mut Draw, depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..1 + draw.below(3) {
        match draw.below(13) {
            0..=4 if depth < 3 => {
                let _ = write!(text, "if ({}) {{ {}}} ", draw.of(&CONDITIONS), statements(draw, depth + 1));
                let word = draw.of(&["elsif", "elseif", "else if"]);
                if draw.below(4) == 0 {
                    let _ = write!(text, "{word} ({}) {{ {}}} ", draw.of(&CONDITIONS), statements(draw, depth + 1));
                }
                if draw.below(3) == 0 {
                    let _ = write!(text, "else {{ {}}} ", statements(draw, depth + 1));
                }
            }
            5 if depth > 0 => text += "return (pass); ",
            6 if depth > 0 => text += *draw.of(&["return (synth(403)); ", "return (hash); "]),
            7 => {
                text += *draw.of(&[
                    "set req.url = \"/api/z\"; ",
                    "set req.url = regsub(req.url, \"^/p\", \"/api\"); ",
                    "set req.http.host = \"nobody\"; ",
                    "unset req.http.Host; ",
                ]);
            }
            8 => text += "call one; ",
            9 => text += "set req.http.X-A = \"1\"; ",
            _ => {
                let _ = write!(text, "set req.backend_hint = {}; ", draw.of(&["b0", "b1", "b2", "default"]));
            }
        }
    }
    text
}

/// The backend that answers a request, as Varnish says; none where none does.
fn answering(address: SocketAddr, host: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().find_map(|line| line.strip_prefix("X-Asked: ")).map(str::to_owned)
}

/// The backend that genkai says requests go to.
fn said(file: &Path, host: &str, path: &str) -> Option<String> {
    let explained = catalog::explain(Some("varnish"), file, &Requests::to(host, path)).unwrap();
    let sure = explained.limits.iter().filter(|limit| matches!(limit.law, Law::Slots { .. }));
    let names = sure.filter_map(|limit| limit.id.strip_prefix("varnish.backend.")?.strip_suffix(".max_connections"));
    names.map(str::to_owned).next()
}

#[test]
fn the_backend_that_is_said_is_the_one_that_answers() {
    if !there() {
        return;
    }
    let mut draw = Draw::seeded(12);
    // More in one VCL take varnishd too long to compile.
    let total = count(24).min(100);
    let backends: Vec<Backend> = (0..3).map(|_| Backend::start()).collect();
    let mut vcl = String::from("vcl 4.1;\n");
    for (n, port) in backends.iter().map(|backend| backend.address().port()).enumerate() {
        let _ = writeln!(vcl, "backend b{n} {{ .host = \"127.0.0.1\"; .port = \"{port}\"; .max_connections = 9; }}");
    }
    vcl += "sub one { if (req.url ~ \"^/p\") { return; } if (req.url == \"/x\") { return (synth(403)); } }\nsub vcl_recv {\n\
            if (req.url == \"/never\") { call one; set req.backend_hint = b1; set req.backend_hint = b2; }\n";
    for n in 0..total {
        let _ = writeln!(vcl, "if (req.http.host == \"t{n}\") {{ {}}}", statements(&mut draw, 0));
    }
    vcl += "return (pass);\n}\nsub vcl_backend_response {\nset beresp.http.X-Asked = beresp.backend;\nset beresp.ttl = 0s;\n\
            set beresp.uncacheable = true;\nreturn (deliver);\n}\n";
    let varnish = Varnish::start(&vcl);
    let file = varnish.dir.path().join("default.vcl");
    let (mut told, mut asked, mut wrong) = (0, 0, Vec::new());
    for host in (0..total).map(|n| format!("t{n}")) {
        for path in ["/", "/api/v1", "/x", "/p/x"] {
            let (ours, theirs) = (said(&file, &host, path), answering(varnish.address, &host, path));
            asked += 1;
            told += usize::from(ours.is_some());
            if ours.is_some() && ours != theirs {
                let line = vcl.lines().find(|line| line.contains(&format!("\"{host}\"")));
                wrong.push(format!("{host}{path}: Varnish {theirs:?}, genkai {ours:?}: {line:?}"));
            }
        }
    }
    println!("{asked} requests, of {told} a backend is said, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(told * 4 >= asked, "too few are told for the comparison to mean something: {told} of {asked}");
}
