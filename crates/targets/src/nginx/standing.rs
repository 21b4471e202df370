//! An nginx that somebody else started and that stands behind a product: what its files say of its connections, and what its error log says of them. Nothing
//! is asked of it, and nothing of it is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::evidence::{LogLine, metric};
use genkai_model::limit::{Limit, Origin, Strength, Symptom};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::tail::{self, Tail};
use genkai_place::usage::Usage;

use super::config::{Config, Found};
use super::evidence::{aggregate, signature};
use super::lifecycle::{LOOKUP, arguments};
use super::settings::{WORKER_CONNECTIONS, WORKER_RLIMIT_NOFILE};
use crate::limits::closed::closed;
use crate::limits::{log, reached_of};
use crate::product::{Cost, ENDED, Served, program_of};
use crate::upstreams::{Started, placed};

/// What it is called beside one that is before it.
const CALLED: &str = "the inner nginx";

/// What `-g` may not say: it would stand beside what the files say.
const OTHERS: [&str; 4] = ["worker_rlimit_nofile", "error_log", "events", "include"];

/// Its own messages that prove something, with how much.
const FULL: [(&str, Strength); 3] = [
    (signature::WORKER_CONNECTIONS, Strength::Decisive),
    (signature::WORKER_CONNECTIONS_UPSTREAM, Strength::Decisive),
    (signature::WORKER_CONNECTIONS_REUSING, Strength::Consistent),
];
const DESCRIPTORS: [(&str, Strength); 3] = [
    (signature::DESCRIPTORS_ACCEPT, Strength::Decisive),
    (signature::DESCRIPTORS_SOCKET, Strength::Decisive),
    (signature::DESCRIPTORS_OTHER, Strength::Decisive),
];

/// It as it runs.
#[derive(Debug)]
struct Standing {
    main: PathBuf,
    connections: (String, Origin),
    /// Where its file says.
    descriptors: Option<(String, Origin)>,
    logs: Vec<Tail>,
    /// Logs that are not read, and why.
    unread: Vec<String>,
}

/// Process `pid` as nginx's.
pub(crate) fn serves(pid: u32, _: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = titled(Started::of(pid));
    LOOKUP.names.contains(&started.program.as_str()).then(|| {
        let built = built(pid)?;
        let standing = Standing::of(&started, &built)?;
        Ok(Box::new(standing) as Box<dyn Served>)
    })
}

/// With its title as words: nginx puts what it was started with into one, behind `nginx: master process`.
fn titled(mut started: Started) -> Started {
    started.words = started.words.iter().flat_map(|word| word.split_whitespace()).map(str::to_owned).collect();
    started
}

/// With what its program was built.
fn built(pid: u32) -> Result<Vec<String>, String> {
    let output = Command::new(program_of(pid)?).arg("-V").output().map_err(|e| format!("its program: {e}"))?;
    Ok(arguments(&String::from_utf8_lossy(&output.stderr)))
}

impl Standing {
    fn of(started: &Started, built: &[String]) -> Result<Standing, String> {
        let words = &started.words;
        if words.iter().any(|word| word == "worker") {
            return Err("its first process is gone, which alone tells what it was started with".to_owned());
        }
        if let Some(other) = OTHERS.iter().find(|other| words.iter().any(|word| word == *other)) {
            return Err(format!("it was started with `{other}` on its command line (-g)"));
        }
        let option = |name: &str| built.iter().find_map(|word| word.strip_prefix(name)).filter(|path| !path.is_empty());
        let prefix = started.value(&["-p"]).map(|path| started.path(path));
        let prefix = prefix.unwrap_or_else(|| option("--prefix=").unwrap_or("/usr/local/nginx").into());
        let main = started.value(&["-c"]).or(option("--conf-path=")).unwrap_or("conf/nginx.conf");
        let main = prefix.join(main);
        let config = Config::read(&main, &prefix).map_err(|e| e.to_string())?;
        let files: Vec<&Path> = config.files().map(|(_, file)| file.path.as_path()).collect();
        has_read(started, &files)?;
        let usual = started.value(&["-e"]).or(option("--error-log-path=")).unwrap_or("logs/error.log");
        let (logs, unread) = logs(&config, &prefix, usual);
        let default =
            || ("512".to_owned(), Origin::Default("nginx src/event/ngx_event.c: DEFAULT_CONNECTIONS".to_owned()));
        Ok(Standing {
            connections: held(&config, &["events"], WORKER_CONNECTIONS.name).unwrap_or_else(default),
            descriptors: held(&config, &[], WORKER_RLIMIT_NOFILE.name),
            main,
            logs,
            unread,
        })
    }

    /// A limit of its own that its messages tell of.
    fn limit(
        &self,
        subject: &str,
        name: &str,
        (value, origin): &(String, Origin),
        known: &[(&str, Strength)],
    ) -> Limit {
        let told = known.iter().map(|(name, strength)| log(&own(subject, name), *strength));
        Limit {
            value: value.clone(),
            origin: origin.clone(),
            formula: "no number of clients is told: how many a request takes depends on the location that serves it"
                .to_owned(),
            signatures: told.chain(closed()).collect(),
            symptom: Symptom { errors: ENDED.to_vec(), slow: true },
            ..Limit::named(&format!("{subject}.{name}"), CALLED, name)
        }
    }

    fn connections(&self, subject: &str) -> Limit {
        let (value, origin) = &self.connections;
        Limit {
            caps: format!(
                "connections that a worker of it may hold, those of its clients and its own to others together; to lift it, raise worker_connections = \
                 {value}{}",
                placed(origin)
            ),
            source: "nginx src/core/ngx_connection.c: ngx_get_connection (none free: alert, the new client is closed or gets 500)".to_owned(),
            ..self.limit(subject, WORKER_CONNECTIONS.name, &self.connections, &FULL)
        }
    }

    fn descriptors(&self, subject: &str) -> Option<Limit> {
        let held = self.descriptors.as_ref()?;
        let (value, origin) = held;
        let limit = self.limit(subject, WORKER_RLIMIT_NOFILE.name, held, &DESCRIPTORS);
        let [most, of] = [metric::WORKER_FDS_MAX, metric::WORKER_FD_LIMIT].map(|name| format!("{subject}.{name}"));
        let seen = reached_of(&most, &of, 0.98, Strength::Decisive);
        Some(Limit {
            caps: format!(
                "descriptors that a worker of it may open; to lift it, raise worker_rlimit_nofile = {value}{}",
                placed(origin)
            ),
            source: "getrlimit(2) RLIMIT_NOFILE; nginx src/event/ngx_event_accept.c: ngx_event_accept".to_owned(),
            signatures: limit.signatures.iter().cloned().chain([seen]).collect(),
            ..limit
        })
    }
}

/// What a message of its own is called.
fn own(subject: &str, name: &str) -> String {
    format!("{subject}.{name}")
}

/// That what the files say is in force: they are as they were when it began, or all of its workers have begun since (a reload; of one alone, it may have
/// been made anew because it died).
fn has_read(started: &Started, files: &[&Path]) -> Result<(), String> {
    let read = |started: &Started| started.has_read(files.iter().copied());
    read(started).or_else(|why| {
        let workers = started.fellows();
        let serves = |one: &&Started| one.words.join(" ").ends_with("worker process");
        let serving: Vec<&Started> = workers.iter().filter(serves).collect();
        let anew = serving.len() > 1 && serving.iter().all(|one| read(one).is_ok());
        if anew { Ok(()) } else { Err(why) }
    })
}

/// What a directive in these blocks says, and where.
fn held(config: &Config, blocks: &[&str], name: &str) -> Option<(String, Origin)> {
    let found = config.walk().into_iter().find(|found| found.directive.is(name) && found.is_in(blocks))?;
    let origin = Origin::File { path: config.file(found.file).path.clone(), line: found.line() };
    Some((found.arg(0)?, origin))
}

/// Its error logs, and those that are not read. Where it says nothing of them outside of blocks, there is one at the `usual` place, too.
fn logs(config: &Config, prefix: &Path, usual: &str) -> (Vec<Tail>, Vec<String>) {
    let all = config.walk();
    let named: Vec<&Found<'_>> = all.iter().filter(|found| found.directive.is("error_log")).collect();
    let usual = (!named.iter().any(|found| found.is_in(&[]))).then(|| (usual.to_owned(), String::new()));
    let given = named.iter().filter_map(|found| Some((found.arg(0)?, found.arg(1).unwrap_or_default())));
    let (mut seen, mut read, mut unread) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (written, level) in given.chain(usual) {
        let path = prefix.join(&written);
        if !seen.insert(path.clone()) || path == Path::new("/dev/null") {
            continue;
        }
        let elsewhere = ["stderr", "syslog:", "memory:"].iter().any(|word| written.starts_with(word));
        match tail::open(&path) {
            _ if elsewhere => unread.push(format!("its error log goes to {written}")),
            Err(why) => unread.push(format!("its error log {} cannot be read ({why})", path.display())),
            Ok(_) if level == "emerg" => unread.push(format!("its error log {} has only `emerg`", path.display())),
            Ok(_) => read.push(Tail::open(path)),
        }
    }
    (read, unread)
}

impl Served for Standing {
    fn product(&self) -> &'static str {
        CALLED
    }

    fn told(&self) -> String {
        let unread: String = self.unread.iter().map(|why| format!("; {why}")).collect();
        let (value, origin) = &self.connections;
        format!("nginx, started with {}, worker_connections {value}{}{unread}", self.main.display(), placed(origin))
    }

    fn is_pool(&self) -> bool {
        false
    }

    fn limits(&self, subject: &str) -> Vec<Limit> {
        [self.connections(subject)].into_iter().chain(self.descriptors(subject)).collect()
    }

    fn costs(&mut self, _: Cost) {}

    fn look(&self, _: &Endpoint, _: &Usage) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    /// Those that a limit of its own is told by; what else it says is of requests.
    fn logs(&mut self, subject: &str) -> Vec<LogLine> {
        let lines: Vec<String> = self.logs.iter_mut().flat_map(Tail::lines).collect();
        let known = |name: &str| FULL.iter().chain(&DESCRIPTORS).any(|(of, _)| *of == name);
        let mine = |line: LogLine| {
            let name = line.signature.as_deref().filter(|name| known(name))?;
            Some(LogLine { subject: CALLED.to_owned(), signature: Some(own(subject, name)), ..line.clone() })
        };
        aggregate(lines.iter().map(String::as_str)).into_iter().filter_map(mine).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &str = "worker_rlimit_nofile 90;\nerror_log logs/a.log;\nevents { worker_connections 64; }\nhttp { error_log stderr; server { error_log \
                        logs/a.log info; listen 80; } }\n";

    /// One started with these words, whose file has this text.
    fn standing(dir: &Path, text: &str, more: &str) -> Result<Standing, String> {
        std::fs::create_dir_all(dir.join("logs")).unwrap();
        std::fs::write(dir.join("logs/a.log"), "old\n").unwrap();
        std::fs::write(dir.join("a.conf"), text).unwrap();
        let line = format!("nginx: master process /usr/sbin/nginx -p {} -c a.conf {more}", dir.display());
        Standing::of(&Started::of_line(&line), &["--error-log-path=logs/a.log".to_owned()])
    }

    #[test]
    fn its_limits_are_those_of_its_file_and_its_log_tells_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut standing = standing(dir.path(), TEXT, "-g daemon on;").unwrap();
        let limits = standing.limits("backend");
        let of = |limit: &Limit| (limit.id.clone(), limit.value.clone(), limit.origin.clone(), limit.remedy.is_some());
        let at = |line| Origin::File { path: dir.path().join("a.conf"), line };
        assert_eq!(
            limits.iter().map(of).collect::<Vec<_>>(),
            [
                ("backend.worker_connections".to_owned(), "64".to_owned(), at(3), false),
                ("backend.worker_rlimit_nofile".to_owned(), "90".to_owned(), at(1), false),
            ]
        );
        assert!(standing.told().ends_with("; its error log goes to stderr"), "{}", standing.told());
        let mut file = std::fs::OpenOptions::new().append(true).open(dir.path().join("logs/a.log")).unwrap();
        for text in ["64 worker_connections are not enough", "*7 open() \"/x\" failed (2: No such file or directory)"] {
            writeln!(file, "2026/11/27 18:00:00 [alert] 1#1: {text}").unwrap();
        }
        let told = standing.logs("backend");
        let names: Vec<_> = told.iter().map(|line| line.signature.as_deref()).collect();
        assert_eq!(names, [Some("backend.nginx.worker_connections.alert")], "{told:?}");
        assert!(limits[0].signatures.contains(&log("backend.nginx.worker_connections.alert", Strength::Decisive)));
    }

    #[test]
    fn without_a_word_of_it_its_connections_are_512_and_what_a_flag_says_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let limits = standing(dir.path(), "events { }\nhttp { }\n", "").unwrap().limits("backend");
        assert_eq!((limits.len(), limits[0].value.as_str()), (1, "512"));
        assert!(matches!(limits[0].origin, Origin::Default(_)));
        let why = standing(dir.path(), TEXT, "-g worker_rlimit_nofile 9;").unwrap_err();
        assert!(why.contains("worker_rlimit_nofile"), "{why}");
    }
}
