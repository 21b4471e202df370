//! Servers that genkai does not know, each with two parameters of which one is the limit.

use std::path::Path;

use super::{Case, Inside};

/// No formula is known.
const TRIED: &str = "no formula: trials tell";

/// Two requests of 50 ms at once keep the objective up to 12 users, four up to 24.
const USERS: &str = "--users 16 --spawn-rate 8";
const FAST: &str = "p99 < 300ms, errors < 1%";

/// Where Debian's package has it (python3-uvicorn).
const UVICORN: &str = "/usr/lib/python3/dist-packages/uvicorn";

pub(super) fn cases() -> Vec<Case> {
    let cluster = ["node", &app("cluster.js"), "{port}", "{workers}", "{keep}"].map(str::to_owned);
    let healthy = cluster.clone();
    let pool = app("Pool.java");
    let java = ["java", "-Dsun.net.httpserver.nodelay=true", &pool, "{port}", "{threads}", "{backlog}"];
    let python =
        ["gunicorn", "--chdir", &app(""), "-w", "{workers}", "--backlog", "{backlog}", "-b", "{listen}", "sync:app"];
    let asgi = ["env", "SLOTS={slots}", "/usr/bin/python3", "-m", "uvicorn", "--app-dir", &app("")].map(str::to_owned);
    let asgi = asgi.into_iter().chain(["--backlog", "{backlog}", "--port", "{port}", "slots:app"].map(str::to_owned));
    let ruby = [
        "puma",
        "-e",
        "production",
        "-t",
        "{threads}:{threads}",
        "-b",
        "tcp://{listen}?backlog={backlog}",
        &app("sync.ru"),
    ];
    let ruby = ruby.map(str::to_owned);
    let webrick = ["ruby", &app("webrick.rb"), "{port}", "{clients}", "{timeout}"];
    let go = ["go", "run", &app("slots.go"), "-listen", "{listen}", "-slots", "{slots}", "-idle", "{idle}"];
    vec![
        case("command-gunicorn", "2 sync workers of gunicorn", python.map(str::to_owned))
            .flags("--set backlog=512 --set workers=2:1..32")
            .cause("command.workers"),
        case("command-uvicorn", "an ASGI application with 2 slots", asgi)
            .flags("--set backlog=512 --set slots=2")
            .cause("command.slots"),
        case("command-node", "a Node.js cluster of one worker with 2 slots", cluster)
            .flags("--set keep=60 --set workers=1:1..16")
            .cause("command.workers"),
        case("command-java", "2 threads of a Java server", java.map(str::to_owned))
            .flags("--set backlog=200 --set threads=2")
            .cause("command.threads"),
        case("command-go", "a Go server with 2 slots", go.map(str::to_owned))
            .flags("--set idle=60 --set slots=2")
            .cause("command.slots"),
        Case {
            flags: ["--users", "16", "--spawn-rate", "4"].map(str::to_owned).to_vec(),
            ..case("command-puma", "2 threads of Puma (Ruby)", ruby.clone())
        }
        .flags("--set backlog=512 --set threads=2:1..64")
        // A thread serves ten requests of a connection before it turns to another.
        .objective("p99 < 1s, errors < 1%")
        .cause("command.threads"),
        case("command-webrick", "8 clients of WEBrick (Ruby)", webrick.map(str::to_owned))
            .flags("--set timeout=30 --set clients=8")
            .cause("command.clients"),
        case("command-puma-healthy", "Puma (Ruby) with 32 threads", ruby).flags("--set backlog=512 --set threads=32"),
        case("command-healthy", "a Node.js cluster of 8 workers", healthy).flags("--set keep=60 --set workers=8"),
    ]
}

fn app(name: &str) -> String {
    format!("{}/../../apps/command/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn case(name: &str, fault: &str, words: impl IntoIterator<Item = String>) -> Case {
    let command: Vec<String> = words.into_iter().collect();
    let module = !command.iter().any(|word| word == "uvicorn") || Path::new(UVICORN).is_dir();
    let here = module && command.first().is_some_and(|program| is_installed(program));
    let inside = if here { Inside::Here } else { Inside::Nowhere("the server's program is not installed") };
    let case = Case::of("command", name, fault).flags(USERS).objective(FAST).off(TRIED).inside(inside);
    Case { command, ..case }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}
