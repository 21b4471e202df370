//! php-fpm: generated configurations, and what `php-fpm -tt` says is in force in each pool.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_place::caps::Machine;
use genkai_targets::phpfpm::config;
use genkai_targets::phpfpm::limits::Pool;

use super::random::Random;
use super::{agree, explained, is_installed, limit, refused, sample, seed, slots};

const PROGRAM: &str = "php-fpm8.2";

const POOL: &[(&str, &[&str], &[&str])] = &[
    ("pm", &["static", "dynamic", "ondemand", "\"static\"", "Dynamic"], &["bogus", ""]),
    (
        "pm.max_children",
        &["5", "20", "100", "7 ; at most", "\"12\"", "010", "'9'", "8;9"],
        &["0", "-1", "5x", "1k", "", "+7", "0x10", "no"],
    ),
    ("pm.start_servers", &["2", "3", "1"], &["0", "50", "x", "-1"]),
    ("pm.min_spare_servers", &["1", "2"], &["0", "9", "x"]),
    ("pm.max_spare_servers", &["3", "4"], &["0", "1", "900", ""]),
    ("pm.max_requests", &["0", "500", "-1"], &["5x"]),
    ("pm.max_spawn_rate", &["32", "1"], &["0", "x"]),
    ("pm.process_idle_timeout", &["10s", "5", "1m"], &["0", "x", "5S"]),
    ("listen.backlog", &["511", "-1", "0", "5", "65535", "-5"], &["5x", "x"]),
    ("request_terminate_timeout", &["30", "30s", "5m", "1h", "1d", "0", "5ms"], &["x", "5S"]),
    ("request_slowlog_timeout", &["0", "5s"], &["x"]),
    ("slowlog", &["/dev/null"], &["/dev/null"]),
    ("rlimit_files", &["100", "0", "5000"], &["x"]),
    ("php_admin_value[memory_limit]", &["64M", "1G", "-1", "256m"], &["128M"]),
    ("catch_workers_output", &["yes", "no", "1", "off"], &["maybe"]),
    ("env[A]", &["b", "\"c ; d\""], &["b"]),
    ("bogus.key", &[], &["1"]),
];

fn line(random: &mut Random, from: &[(&str, &[&str], &[&str])]) -> String {
    loop {
        let (name, good, bad) = from[random.below(from.len())];
        let wrong = random.one_in(60);
        if good.is_empty() && !wrong {
            continue;
        }
        let value = if wrong { random.pick(bad) } else { random.pick(good) };
        let name = if random.one_in(15) && !name.contains('[') { name.to_uppercase() } else { name.to_owned() };
        let equals = random.pick(&["=", " = ", "   =  "]);
        return format!("{name}{equals}{value}\n");
    }
}

/// A pool that starts, but for what is put into it.
fn pool(random: &mut Random, name: &str, dir: &Path) -> String {
    let mut text = format!("[{name}]\n");
    let base = [
        "user = www-data",
        "group = www-data",
        "pm = dynamic",
        "pm.max_children = 30",
        "pm.min_spare_servers = 1",
        "pm.max_spare_servers = 4",
    ];
    for line in base.iter().filter(|_| !random.one_in(120)) {
        text += &format!("{line}\n");
    }
    let socket = if random.one_in(60) { "same" } else { name };
    text += &match random.below(3) {
        0 => format!("listen = {}/{socket}.sock\n", dir.display()),
        1 => format!("listen = {}/$pool.sock\n", dir.display()),
        _ => format!("listen = 127.0.0.1:{}\n", 9100 + name.len()),
    };
    for _ in 0..random.below(7) {
        text += &line(random, POOL);
        text += random.pick(&["", "", "; a comment\n", "\n", "  ; pm = none\n"]);
    }
    text
}

const GLOBAL: &[(&str, &[&str], &[&str])] = &[
    ("process.max", &["0", "12", "200"], &["-1", "x"]),
    ("rlimit_files", &["300", "0", "1024"], &["x"]),
    ("process_control_timeout", &["5", "1m"], &["x"]),
    ("daemonize", &["yes", "no"], &["maybe"]),
    ("pm.max_children", &[], &["5"]),
];

fn make(number: u64, dir: &Path) -> (PathBuf, Vec<String>) {
    let mut random = Random::of(seed() + 1, number);
    let main = dir.join("php-fpm.conf");
    let mut text = format!("[global]\nerror_log = {}/log\n", dir.display());
    for _ in 0..random.below(3) {
        text += &line(&mut random, GLOBAL);
    }
    let names = ["www", "second", "a third"];
    let names = &names[..1 + random.below(3)];
    let apart = random.one_in(3);
    for (i, name) in names.iter().enumerate() {
        let pool = pool(&mut random, name, dir);
        if apart {
            std::fs::create_dir_all(dir.join("pool.d")).unwrap();
            std::fs::write(dir.join(format!("pool.d/{i}.conf")), pool).unwrap();
        } else {
            text += &pool;
        }
    }
    if apart {
        text += &format!("include={}/pool.d/*.conf\n", dir.display());
    }
    if random.one_in(20) {
        text += &format!("include={}/gone.conf\n", dir.display());
    }
    if random.one_in(8) {
        // A pool may be gone on with.
        text += &format!("[{}]\n{}", names[0], line(&mut random, POOL));
    }
    if random.one_in(100) {
        text += "# no comment of php-fpm's\n";
    }
    std::fs::write(&main, text).unwrap();
    (main, names.iter().map(|name| (*name).to_owned()).collect())
}

/// What `-tt` prints: sections with their values; why it refuses.
fn said(main: &Path) -> Result<BTreeMap<String, BTreeMap<String, String>>, String> {
    let asked = Command::new(PROGRAM).args(["-tt", "-y"]).arg(main).output().unwrap();
    let text = String::from_utf8_lossy(&asked.stderr).into_owned();
    if !asked.status.success() {
        return Err(text);
    }
    let (mut all, mut section) = (BTreeMap::<String, BTreeMap<String, String>>::new(), String::new());
    for line in text.lines().filter_map(|line| line.split_once("NOTICE: ")).map(|(_, line)| line.trim()) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((key, value)) = line.split_once(" = ") {
            all.entry(section.clone()).or_default().insert(key.to_owned(), value.to_owned());
        }
    }
    Ok(all)
}

fn compared(main: &Path, pools: &[String]) -> Result<Vec<String>, ()> {
    let genkai = explained("php-fpm", main, "");
    let (refuses, said) = (refused(&genkai), said(main));
    match (&refuses, &said) {
        (Some(why), Ok(_)) => return Ok(vec![format!("genkai says that it does not start: {why}")]),
        (None, Err(why)) => return Ok(vec![format!("php-fpm does not start: {why}")]),
        _ => {}
    }
    let (Ok(genkai), Ok(said)) = (genkai, said) else { return Err(()) };
    let (read, machine) =
        (config::read(main).unwrap(), Machine::of(&genkai_place::machine::environment(Default::default())));
    let mut differences = Vec::new();
    let global = |key: &str| said["global"].get(key).map_or(0, |v| v.parse::<i64>().unwrap());
    let asked: i64 = pools.iter().map(|name| said[name]["pm.max_children"].parse::<i64>().unwrap()).sum();
    for name in pools {
        let (pool, said) = (Pool::of(&read, name, &machine), &said[name]);
        let number = |key: &str| said[key].parse::<i64>().unwrap();
        let mut same = |what: &str, genkai: i64, server: i64| {
            if genkai != server {
                differences.push(format!("[{name}] {what}: genkai {genkai}, php-fpm {server}"));
            }
        };
        same("pm.max_children", pool.children.as_ref().map_or(0, |h| h.value as i64), number("pm.max_children"));
        let told = limit(&genkai, &format!("php-fpm.{name}.pm.max_children")).and_then(|l| slots(&l.law));
        // Of fewer children than all pools ask for, one pool alone gets all; of several nobody says who gets how many.
        let expected = match global("process.max") {
            most if most == 0 || most >= asked => number("pm.max_children"),
            most if pools.len() == 1 => most,
            _ => 0,
        };
        same("the limit", told.unwrap_or(0.0) as i64, expected);
        let most = i64::from(machine.somaxconn);
        let queue = |n: i64| if n < 0 { most } else { n.min(most) };
        let told = limit(&genkai, &format!("php-fpm.{name}.listen.backlog")).and_then(|l| slots(&l.law));
        same("listen.backlog", told.unwrap_or(0.0) as i64, queue(number("listen.backlog")));
        let inherited = |n: i64| if n > 0 { n } else { machine.descriptors as i64 };
        let own = number("rlimit_files");
        same(
            "rlimit_files",
            pool.descriptors.value as i64,
            if own > 0 { own } else { inherited(global("rlimit_files")) },
        );
        if pool.manager != said["pm"] {
            differences.push(format!("[{name}] pm: genkai {}, php-fpm {}", pool.manager, said["pm"]));
        }
        for key in ["request_terminate_timeout", "request_slowlog_timeout"] {
            let timer = genkai.timers.iter().find(|t| t.setting == format!("{key} of [{name}]"));
            let seconds = timer.and_then(|t| t.span).map_or(0, |span| span.0 / 1_000_000_000);
            if format!("{seconds}s") != said[key] {
                differences.push(format!("[{name}] {key}: genkai {seconds}, php-fpm {}", said[key]));
            }
        }
    }
    let most = limit(&genkai, "php-fpm.process.max").and_then(|l| slots(&l.law)).unwrap_or(0.0) as i64;
    if most != global("process.max") {
        differences.push(format!("process.max: genkai {most}, php-fpm {}", global("process.max")));
    }
    Ok(differences)
}

#[test]
fn php_fpm_reads_generated_configurations_as_genkai_does() {
    if !is_installed(PROGRAM) {
        return;
    }
    let (made, mut accepted, mut differences) = (sample(60), 0, Vec::new());
    for number in 0..made {
        let dir = tempfile::tempdir().unwrap();
        let (main, pools) = make(number, dir.path());
        let Ok(all) = compared(&main, &pools) else { continue };
        accepted += u64::from(all.is_empty());
        if !all.is_empty() {
            let parts = std::fs::read_dir(dir.path().join("pool.d")).into_iter().flatten().flatten();
            let parts: String = parts.map(|f| std::fs::read_to_string(f.path()).unwrap()).collect();
            differences.push(format!(
                "number {number}\n{}\n{}{parts}",
                all.join("\n"),
                std::fs::read_to_string(&main).unwrap()
            ));
        }
    }
    agree("php-fpm", made, accepted, &differences);
}
