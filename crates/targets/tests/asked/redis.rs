//! Redis: generated configurations, and what `CONFIG GET` of the server that runs on them says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use genkai_model::limit::Law;

use super::random::Random;
use super::{agree, explained, is_installed, limit, refused, sample, seed, slots};

const LINES: &[(&str, &[&str], &[&str])] = &[
    (
        "maxclients",
        &["100", "10000", "1", "50000", "19980", "19968", "\"77\"", "'8'", "123456"],
        &["0", "-1", "x", "5x", "4294967296", "+9", "010", "5 6", ""],
    ),
    ("tcp-backlog", &["511", "20", "0", "5000", "100000"], &["-1", "x"]),
    ("maxmemory", &["0", "100mb", "1gb", "1000k", "5b", "70MB", "\"\"", "2m"], &["1gbx", "1.5gb", "-1", "50%", "+5"]),
    (
        "maxmemory-clients",
        &["0", "100mb", "5", "5%", "0%", "100%", "128k", "\"\""],
        &["101%", "-5%", "x", "5.5%", "1mb%"],
    ),
    ("maxmemory-policy", &["allkeys-lru", "noeviction", "VOLATILE-TTL"], &["bogus"]),
    ("client-query-buffer-limit", &["1gb", "1mb", "5242880"], &["5", "x"]),
    ("proto-max-bulk-len", &["512mb", "1mb", "2000000"], &["5", "x"]),
    ("io-threads", &["1", "2", "4"], &["0", "200", "x"]),
    ("io-threads-do-reads", &["yes", "no", "YES"], &["maybe"]),
    ("timeout", &["0", "5", "300"], &["-1", "x"]),
    ("tcp-keepalive", &["300", "0", "60"], &["x"]),
    ("repl-timeout", &["60", "5"], &["0"]),
    (
        "client-output-buffer-limit",
        &[
            "pubsub 32mb 8mb 60",
            "PubSub 1kb 2 3",
            "normal 0 0 0 pubsub 64mb 16mb 5",
            "slave 1gb 1gb 0",
            "pubsub 1k 1k 1 pubsub 2k 2k 2",
        ],
        &["pubsub 1 2", "bogus 1 2 3", "pubsub 1x 2 3"],
    ),
    ("databases", &["16", "1"], &["0"]),
    ("appendfsync", &["everysec", "no"], &["sometimes"]),
    ("save", &["\"\"", "900 1", "900 1 300 10"], &["900"]),
    ("bogus-directive", &[], &["1"]),
];

fn line(random: &mut Random) -> String {
    loop {
        let (name, good, bad) = LINES[random.below(LINES.len())];
        let wrong = random.one_in(60);
        if good.is_empty() && !wrong {
            continue;
        }
        let value = if wrong { random.pick(bad) } else { random.pick(good) };
        let name = match random.below(12) {
            0 => name.to_uppercase(),
            1 => format!("  {name}"),
            2 => format!("\"{name}\""),
            _ => name.to_owned(),
        };
        return format!("{name} {value}\n");
    }
}

fn lines(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(6) {
        text += &line(random);
        text += random.pick(&["", "", "# maxclients 3\n", "\n"]);
    }
    text
}

fn make(number: u64, dir: &Path) -> PathBuf {
    let mut random = Random::of(seed() + 2, number);
    let main = dir.join("redis.conf");
    let root = dir.display();
    let mut text = format!("port 0\nunixsocket {root}/socket\nlogfile {root}/log\nsave \"\"\ndir {root}\n");
    text += &lines(&mut random);
    if random.one_in(3) {
        std::fs::write(dir.join("more.conf"), lines(&mut random)).unwrap();
        text += &match random.below(3) {
            0 => format!("include {root}/more.conf\n"),
            1 => format!("INCLUDE {root}/mo*.conf\n"),
            _ => format!("include {root}/none*.conf\n"),
        };
    }
    if random.one_in(60) {
        text += &format!("include {root}/gone.conf\n");
    }
    text += &lines(&mut random);
    std::fs::write(&main, text).unwrap();
    main
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All settings of the server that runs on it; why it does not start.
fn said(main: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut command = Command::new("redis-server");
    command.arg(main).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let socket = main.with_file_name("socket");
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        if let Ok(stream) = UnixStream::connect(&socket) {
            return Ok(settings(stream));
        }
        if running.0.try_wait().unwrap().is_some() {
            let mut why = String::new();
            let _ = running.0.stderr.take().unwrap().read_to_string(&mut why);
            return Err(why);
        }
        assert!(Instant::now() < end, "redis-server neither starts nor ends");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn settings(mut stream: UnixStream) -> BTreeMap<String, String> {
    stream.write_all(b"CONFIG GET *\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some(length) = line.trim_end().strip_prefix('$') else { return line };
        let mut text = vec![0; length.parse::<usize>().unwrap() + 2];
        reader.read_exact(&mut text).unwrap();
        text.truncate(text.len() - 2);
        String::from_utf8(text).unwrap()
    };
    let count: usize = next().trim_end().trim_start_matches('*').parse().unwrap();
    (0..count / 2).map(|_| (next(), next())).collect()
}

fn compared(main: &Path) -> Result<Vec<String>, ()> {
    let genkai = explained("redis", main, "");
    let (refuses, said) = (refused(&genkai), said(main));
    match (&refuses, &said) {
        (Some(why), Ok(_)) => return Ok(vec![format!("genkai says that it does not start: {why}")]),
        (None, Err(why)) => return Ok(vec![format!("redis does not start: {why}")]),
        _ => {}
    }
    let (Ok(genkai), Ok(said)) = (genkai, said) else { return Err(()) };
    let mut differences = Vec::new();
    let mut same = |what: &str, genkai: String, server: String| {
        if genkai != server {
            differences.push(format!("{what}: genkai {genkai}, redis {server}"));
        }
    };
    let told = |id: &str| limit(&genkai, &format!("redis.{id}")).unwrap();
    let slots = |id: &str| slots(&told(id).law).map_or_else(String::new, |n| format!("{n}"));
    same("maxclients", slots("maxclients"), said["maxclients"].clone());
    let somaxconn = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let most: u64 = somaxconn.trim().parse().unwrap();
    same("tcp-backlog", slots("tcp-backlog"), said["tcp-backlog"].parse::<u64>().unwrap().min(most).to_string());
    let query = &told("client-query-buffer-limit").formula;
    same(
        "client-query-buffer-limit",
        query.split(' ').nth(3).unwrap().to_owned(),
        said["client-query-buffer-limit"].clone(),
    );
    let threads = &told("io-threads").formula;
    let number = said["io-threads"].clone();
    let expected = match (number.as_str(), said["io-threads-do-reads"].as_str()) {
        ("1", _) => "one thread reads, runs commands, and writes".to_owned(),
        (n, "yes") => format!("({n} read and write)"),
        (n, _) => format!("({n} write; io-threads-do-reads is no)"),
    };
    let least =
        said["proto-max-bulk-len"].parse::<u64>().unwrap().min(said["client-query-buffer-limit"].parse().unwrap());
    let Law::BodySize { value } = told("proto-max-bulk-len").law else { panic!("no length of a value") };
    same("length of a value", format!("{value}"), least.to_string());
    same("io-threads", threads.contains(&expected).to_string(), "true".to_owned());
    let memory: f64 = said["maxmemory"].parse().unwrap();
    let gib = format!("{:.2} GiB, then", memory / f64::from(1 << 30));
    let space = &told("maxmemory").formula;
    same("maxmemory", (space.starts_with("no limit") || space.starts_with(&gib)).to_string(), "true".to_owned());
    same("maxmemory of 0", space.starts_with("no limit").to_string(), (memory == 0.0).to_string());
    // It tells bytes, or a part of maxmemory.
    let evicts = match said["maxmemory-clients"].strip_suffix('%') {
        Some(part) => (memory * part.parse::<f64>().unwrap() / 100.0).floor(),
        None => said["maxmemory-clients"].parse().unwrap(),
    };
    let expected = if evicts > 0.0 { evicts.max(131_072.0).to_string() } else { String::new() };
    let clients =
        limit(&genkai, "redis.maxmemory-clients").map(|limit| limit.formula.split(' ').next().unwrap().to_owned());
    same("maxmemory-clients", clients.unwrap_or_default(), expected);
    let policy = if said["maxmemory-policy"] == "noeviction" {
        "(noeviction)".to_owned()
    } else {
        format!("({})", said["maxmemory-policy"])
    };
    same("maxmemory-policy", (memory == 0.0 || space.ends_with(&policy)).to_string(), "true".to_owned());
    let pubsub: Vec<&str> =
        said["client-output-buffer-limit"].split(' ').skip_while(|w| *w != "pubsub").skip(1).take(3).collect();
    let kilo = |bytes: &str| bytes.parse::<u64>().unwrap() >> 10;
    let output =
        format!("{} messages of 1 KiB waiting at once, or {} for {} s", kilo(pubsub[0]), kilo(pubsub[1]), pubsub[2]);
    same(
        "output",
        told("client-output-buffer-limit pubsub").formula.starts_with(&output).to_string(),
        "true".to_owned(),
    );
    for key in ["timeout", "tcp-keepalive", "repl-timeout"] {
        let timer = genkai.timers.iter().find(|t| t.setting == key);
        if let Some(seconds) = timer.and_then(|t| t.span) {
            same(key, (seconds.0 / 1_000_000_000).to_string(), said[key].clone());
        }
    }
    Ok(differences)
}

#[test]
fn redis_reads_generated_configurations_as_genkai_does() {
    if !is_installed("redis-server") {
        return;
    }
    let (made, mut accepted, mut differences) = (sample(60), 0, Vec::new());
    for number in 0..made {
        let dir = tempfile::tempdir().unwrap();
        let main = make(number, dir.path());
        let Ok(all) = compared(&main) else { continue };
        accepted += u64::from(all.is_empty());
        if !all.is_empty() {
            let more = std::fs::read_to_string(dir.path().join("more.conf")).unwrap_or_default();
            differences.push(format!(
                "number {number}\n{}\n{}== more\n{more}",
                all.join("\n"),
                std::fs::read_to_string(&main).unwrap()
            ));
        }
    }
    agree("redis", made, accepted, &differences);
}
