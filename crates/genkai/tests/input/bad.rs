//! Bad input: one clear message, the right exit code, nothing started, nothing lost.

use std::time::Duration;

use crate::harness::{finish, genkai, run};

/// Runs and gives exit code and stderr; nothing may be printed as data.
fn refused(arguments: &str) -> (i32, String) {
    let output = finish(&mut genkai(arguments), Duration::from_secs(30));
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn refused_with(arguments: &str, code: i32, words: &[&str]) {
    let (seen, stderr) = refused(arguments);
    assert_eq!(seen, code, "{arguments}\n{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{arguments}: no `{word}` in\n{stderr}");
    }
    assert_eq!(stderr.matches("error:").count(), 1, "one message: {stderr}");
}

#[test]
fn flags_that_make_no_sense() {
    refused_with("tune nginx --sett worker_connections=1", 2, &["--set"]);
    refused_with("tune nginx --users 0", 2, &["--users"]);
    refused_with("tune nginx --users 5 --rate 5", 2, &["--rate"]);
    refused_with("tune nginx --spawn-rate -1", 2, &["spawn-rate"]);
    refused_with("tune nginx --set worker_connections", 2, &["worker_connections=512"]);
    refused_with("tune nginx --objective latency<3", 2, &["errors < 0.1%"]);
    refused_with("tune nginx --path nowhere", 2, &["--path", "`/`"]);
    refused_with("tune nginx --header Nothing", 2, &["--header", "Accept: text/html"]);
    refused_with("tune nginx --backend apache", 2, &["embedded", "wordpress"]);
    refused_with("tune nginx --backend keep", 2, &["--config"]);
    refused_with("tune nginx --write", 2, &["--config"]);
    let applications = "tune nginx --config nginx.conf --start-applications --backend http://127.0.0.1:8080";
    refused_with(
        applications,
        2,
        &["--start-applications", "--backend http://127.0.0.1:8080", "leave one of the two out"],
    );
    refused_with("tune nginx --pin servers=0", 2, &["client="]);
    refused_with("tune nginx --pin servers=0,client=0", 2, &["core 0", "none"]);
    refused_with("tune nginx --hold 0s", 2, &["--hold"]);
    refused_with("tune nginx --max-limits 0", 2, &["--max-limits"]);
    refused_with(
        "experiment run nginx-worker-conections",
        2,
        &["a similar subcommand exists", "nginx-worker-connections"],
    );
    refused_with("load 127.0.0.1:80", 2, &["http://"]);
    refused_with("report /nonexistent", 2, &["/nonexistent"]);
}

#[test]
fn flags_that_would_have_no_effect() {
    refused_with("tune nginx --fpm-children 9", 2, &["--fpm-children", "--backend embedded", "wordpress"]);
    for flag in ["--backend-workers 3", "--backend-time 1s", "--backend-queue 9", "--backend-body 1k"] {
        let name = flag.split(' ').next().unwrap();
        refused_with(&format!("tune nginx --backend http://127.0.0.1:9 {flag}"), 2, &[name]);
        if name != "--backend-time" {
            refused_with(&format!("tune nginx --backend wordpress {flag}"), 2, &[name, "--backend wordpress"]);
        }
    }
    refused_with("tune nginx --backend wordpress --backend-time exp(1s)", 2, &["--backend-time", "a fixed time"]);
    refused_with("tune nginx --backend http://127.0.0.1:9/app?x=1", 2, &["/app?x=1", "--path"]);
}

#[test]
fn settings_with_which_nothing_is_served() {
    refused_with(
        "tune nginx --users 5 --set worker_connections=3 --dry-run",
        2,
        &["worker_connections", "3", "at least 5"],
    );
}

#[test]
fn settings_that_do_not_exist_or_do_not_fit() {
    refused_with("tune nginx --set worker_conections=512", 2, &["worker_conections", "worker_connections"]);
    refused_with("tune nginx --set worker_connections=many", 2, &["worker_connections", "many"]);
    refused_with("tune nginx --set worker_connections=0", 2, &["worker_connections", "0"]);
    refused_with("tune nginx --set client_max_body_size=1parsec", 2, &["client_max_body_size"]);
}

#[test]
fn hosts_that_are_not_this_machine() {
    refused_with("load http://192.0.2.1/", 2, &["192.0.2.1", "--allow-remote"]);
    refused_with("tune nginx --backend http://192.0.2.1:80", 2, &["192.0.2.1", "--allow-remote"]);
}

#[test]
fn a_configuration_that_leads_to_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let text =
        "events {}\nhttp {\n  server {\n    listen 80;\n    location / { proxy_pass http://192.0.2.10:80; }\n  }\n}\n";
    std::fs::write(&file, text).unwrap();
    let arguments = format!("tune nginx --users 5 --config {}", file.display());
    let place = format!("{}:5", file.display());
    refused_with(&arguments, 2, &[&place, "192.0.2.10", "--backend embedded", "--allow-remote"]);
    refused_with(&format!("{arguments} --dry-run"), 2, &[&place, "192.0.2.10"]);
    refused_with(&format!("{arguments} --dry-run --allow-remote 192.0.2.11"), 2, &["192.0.2.10"]);
    for allowed in ["--allow-remote 192.0.2.10", "--backend embedded"] {
        let run = run(&genkai(&format!("{arguments} --dry-run {allowed}")));
        assert_eq!(run.code, Some(0), "{allowed}: {}", run.stderr);
    }
}

#[test]
fn a_configuration_that_nginx_rejects() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    std::fs::write(&file, "events {}\nhttp {\n  server {\n    listen 80;\n    proxy_buffring off;\n  }\n}\n").unwrap();
    refused_with(
        &format!("tune nginx --config {}", file.display()),
        2,
        &["proxy_buffring", &format!("{}:5", file.display())],
    );
    std::fs::write(&file, "events {}\nhttp {\n  server {\n").unwrap();
    refused_with(&format!("tune nginx --config {}", file.display()), 2, &[&file.display().to_string()]);
    refused_with("tune nginx --config /nonexistent/nginx.conf", 2, &["/nonexistent/nginx.conf"]);
}

#[test]
fn a_load_that_does_not_fit_this_machine() {
    refused_with("tune nginx --users 9000000", 3, &["9000000", "fit", "ulimit -n"]);
}

#[test]
fn a_backend_that_is_not_there() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let arguments = format!("tune nginx --backend http://{closed} --out {}", out.display());
    refused_with(&arguments, 3, &[&closed.to_string(), "backend"]);
    assert!(!out.join("run.jsonl").exists(), "nothing was begun");
}

#[test]
fn a_folder_that_cannot_be_written() {
    refused_with("tune nginx --out /proc/nowhere", 3, &["/proc/nowhere", "--out"]);
}

#[test]
fn a_body_that_is_no_text_is_taken_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("image.bin");
    std::fs::write(&file, [0xff, 0xd8, 0, 1, 0xfe]).unwrap();
    let run = run(genkai("tune nginx --users 5 --dry-run --json").arg("--body").arg(format!("@{}", file.display())));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let plan: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(plan["plan"]["load"]["request"]["body"]["bytes"], "/9gAAf4=", "{plan}");
    assert_eq!(plan["plan"]["load"]["request"]["method"], "POST");
}

#[test]
fn a_missing_nginx() {
    refused_with(
        "tune nginx --users 5 --nginx /nonexistent/nginx",
        3,
        &["/nonexistent/nginx", "apt-get install nginx"],
    );
    refused_with("tune nginx --users 5 --nginx /bin/true", 3, &["/bin/true", "does not say that it is nginx"]);
}

#[test]
fn a_taken_port() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    refused_with(&format!("serve origin --listen {address}"), 3, &[&address.to_string(), "port 0"]);
}

#[test]
fn a_dry_run_shows_the_plan_and_starts_nothing() {
    let run = run(&genkai("tune nginx --set worker_connections=512 --users 300 --dry-run"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("worker_connections") && run.stdout.contains("238-254 clients"), "{}", run.stdout);
    assert!(!run.out.exists(), "no folder for a run that is not made");
}

#[test]
fn a_quiet_dry_run_says_nothing() {
    for json in ["", " --json"] {
        let run = run(&genkai(&format!("tune nginx --users 5 --dry-run --quiet{json}")));
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    }
}

#[test]
fn a_dry_run_as_json_is_json() {
    let run = run(&genkai("tune nginx --set worker_connections=512 --users 300 --dry-run --json"));
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(value.to_string().contains("nginx.worker_connections"), "{value}");
}

#[test]
fn what_cannot_be_printed_is_not_passed_over_in_silence() {
    for arguments in ["doctor --json", "experiment list", "tune nginx --users 5 --dry-run"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = genkai(arguments).stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments}: {said}");
        assert!(said.contains("standard output") && said.contains("No space left"), "{said}");
        // A reader that has gone has seen what it wanted.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = genkai(arguments).stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(0) && !said.contains("error"), "{arguments}: {said}");
    }
}
