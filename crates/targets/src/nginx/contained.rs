//! nginx in a container: read from what `nginx -T` prints there, with its log where it can be looked at.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use genkai_model::event::{Change, Rewrite};
use genkai_model::limit::{Limit, Origin};

use super::config::{Address, Config, FileId, Found, Host};
use super::evidence::{MASTER, Within, is_master, is_worker};
use super::lifecycle::{arguments, version};
use super::limits::{self, Facts, Reading};
use super::private::logging_into;
use super::settings::render;
use super::{CALLED, ENTRY, no_server, remote};
use crate::error::TargetError;
use crate::files::{Applied, Configuration, Finished, Requests};
use crate::limits::memory_group;
use crate::product::{Contained, Inside, Printed, WatchInside};
use genkai_place::caps::Machine;
use genkai_place::program;
use genkai_place::remote::Remote;

/// How nginx is met in a container.
pub(crate) const INSIDE: Inside = Inside {
    product: ENTRY.name,
    is_first: is_master,
    serves: is_worker,
    asks,
    controller: CONTROLLER,
    main: "/etc/nginx/nginx.conf",
    plain,
    read,
};

/// Labels of the pods of ingress-nginx (its deploy/static manifests and its chart).
const CONTROLLER: &str = "app.kubernetes.io/name=ingress-nginx,app.kubernetes.io/component=controller";

/// What `nginx -T` writes before each file (src/core/nginx.c).
const FILE: &[u8] = b"# configuration file ";
/// The file of the log in the folder for it.
const LOG: &str = "error.log";

/// A plain reverse proxy.
fn plain(backend: SocketAddr, settings: &BTreeMap<String, String>) -> Result<String, TargetError> {
    let plain = render((backend, None), false, None, None);
    let requests = Requests::to("", "/");
    let config = settings.iter().try_fold(plain, |config, (name, value)| config.set(name, value, &requests))?;
    Ok(String::from_utf8_lossy(&config.file(FileId::MAIN).text).into_owned())
}

/// How it was built, and all that it reads with the configuration that it was started with.
fn asks(title: &str) -> Vec<Vec<String>> {
    let words: Vec<&str> = title.strip_prefix(MASTER).unwrap_or_default().split_whitespace().collect();
    let program = words.first().copied().unwrap_or("nginx").to_owned();
    let mut all = vec![program.clone(), "-T".to_owned()];
    for pair in words.windows(2).filter(|pair| matches!(pair[0], "-c" | "-p")) {
        all.extend(pair.iter().map(|word| (*word).to_owned()));
    }
    vec![vec![program, "-V".to_owned()], all]
}

/// The files that `nginx -T` printed, the main one first.
fn files(printed: &[u8]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for line in printed.split_inclusive(|byte| *byte == b'\n') {
        let name =
            line.strip_prefix(FILE).and_then(|rest| rest.strip_suffix(b":\n")).filter(|name| name.starts_with(b"/"));
        match (name, all.last_mut()) {
            (Some(name), _) => all.push((PathBuf::from(String::from_utf8_lossy(name).into_owned()), Vec::new())),
            (None, Some((_, text))) => text.extend(line),
            (None, None) => {}
        }
    }
    // After each it writes one more end of a line.
    for (_, text) in &mut all {
        text.pop();
    }
    all
}

/// nginx in a container, with settings.
#[derive(Debug)]
struct Nginx {
    version: String,
    machine: Machine,
    folder: PathBuf,
    /// The user's, with settings.
    applied: Applied<Config>,
    /// The same as it runs.
    config: Config,
    rewrites: Vec<Rewrite>,
}

fn read(printed: Printed<'_>) -> Result<Box<dyn Contained>, TargetError> {
    let [(_, built), (shown, complaints)] = printed.answers else {
        return Err(TargetError::machine(CALLED, "it was not asked what it reads"));
    };
    let version = version(built).ok_or_else(|| {
        let said = built.lines().next().unwrap_or_default();
        TargetError::machine(CALLED, format!("`nginx -V` does not tell its version in the container: {said}"))
    })?;
    let files = files(shown);
    let Some((main, _)) = files.first().cloned() else {
        let why = complaints.lines().last().unwrap_or("nothing");
        return Err(TargetError::machine(CALLED, format!("`nginx -T` shows no configuration in the container: {why}")));
    };
    let built = arguments(built);
    let prefix = built.iter().find_map(|one| one.strip_prefix("--prefix=")).unwrap_or("/usr/local/nginx");
    let config = Config::printed(&main, files.into_iter().collect(), Path::new(prefix))?;
    let requests = Requests { websocket: printed.websocket, ..Requests::to(printed.host, printed.path) };
    let applied = Applied::new(printed.source, config, requests, printed.settings)?;
    let nginx = Nginx::of(version.to_owned(), printed.machine, printed.folder.to_owned(), applied)?;
    if let Some(found) = printed.allow_remote.and_then(|allowed| remote::first(&nginx.config, allowed)) {
        return Err(Remote { replaceable: false, ..found }.into());
    }
    Ok(Box::new(nginx))
}

impl Nginx {
    fn of(version: String, machine: Machine, folder: PathBuf, applied: Applied<Config>) -> Result<Nginx, TargetError> {
        let (config, rewrites) = logging_into(&folder, applied.config())?;
        let nginx = Nginx { version, machine, folder, rewrites: applied.rewrites(rewrites), applied, config };
        nginx.listens()?;
        Ok(nginx)
    }

    /// The port at which the load's requests are taken, from anywhere and without TLS.
    fn listens(&self) -> Result<u16, TargetError> {
        let route = self.config.route_of(self.applied.requests()).ok_or_else(no_server)?;
        let Some(listen) = &route.listen else { return Ok(80) };
        let place = listen.found.place();
        let no = |why: &str| {
            let hint = "--header \"Host: NAME\" or --path chooses another server";
            let written = listen.found.written();
            Err(TargetError::usage(CALLED, format!("{place}: `{written}` {why}\n  hint: {hint}")))
        };
        if listen.ssl || listen.proxy_protocol {
            return no("wants TLS or the PROXY protocol: genkai speaks plain HTTP to a server in a cluster");
        }
        match &listen.address {
            Address::Inet { host: Host::V4(ip), .. } if ip.is_loopback() => {
                no("is not reached from outside of its pod")
            }
            Address::Inet { host: Host::V6(ip), .. } if ip.is_loopback() => {
                no("is not reached from outside of its pod")
            }
            Address::Inet { host: Host::Name(name), .. } if name == "localhost" => {
                no("is not reached from outside of its pod")
            }
            Address::Inet { port, .. } => Ok(*port),
            Address::Unix(_) => no("is not reached from outside of its pod"),
        }
    }

    fn facts(&self) -> Facts {
        let origin =
            |found: &Found<'_>| Origin::File { path: found.config.file(found.file).path.clone(), line: found.line() };
        Reading {
            config: &self.config,
            route: self.config.route_of(self.applied.requests()).expect("looked at when it was made"),
            origin: &origin,
            version: program::numbers(self.version.rsplit('/').next().unwrap_or_default()),
            machine: &self.machine,
            status: None,
            visitor: None,
            headers: None,
            body: (0, 0),
            absent: &|_| false,
        }
        .facts()
    }
}

impl Contained for Nginx {
    fn version(&self) -> &str {
        &self.version
    }

    fn with(&self, changes: &[Change]) -> Result<Box<dyn Contained>, TargetError> {
        let applied = self.applied.with(changes)?;
        Ok(Box::new(Nginx::of(self.version.clone(), self.machine.clone(), self.folder.clone(), applied)?))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        let (value, origin) = self.applied.config().value_of(setting, self.applied.requests())?;
        Ok((value, self.applied.origin_of(setting, origin)))
    }

    fn limits(&self) -> Vec<Limit> {
        let facts = self.facts();
        let mut all: Vec<Limit> = limits::of(&facts).into_iter().chain(limits::accidents(&facts)).collect();
        all.push(memory_group("nginx"));
        for limit in &mut all {
            limit.origin = self.applied.origin_of(&limit.setting, limit.origin.clone());
        }
        all
    }

    fn port(&self) -> u16 {
        self.listens().unwrap_or(80)
    }

    fn log(&self) -> PathBuf {
        self.folder.join(LOG)
    }

    fn main(&self) -> PathBuf {
        self.config.file(FileId::MAIN).path.clone()
    }

    fn files(&self) -> Vec<Finished> {
        // Edits keep the files and their order.
        let all = self.applied.original().files().zip(self.config.files());
        let changed = all.filter(|((_, before), (_, after))| before.text != after.text);
        changed.map(|(_, (_, file))| Finished { path: file.path.clone(), bytes: file.text.clone() }).collect()
    }

    fn unlike(&self, answers: &[(Vec<u8>, String)]) -> Option<String> {
        let [_, (shown, complaints)] = answers else { return Some("it was not asked what it reads".to_owned()) };
        let shown: BTreeMap<PathBuf, Vec<u8>> = files(shown).into_iter().collect();
        let other = self.config.files().find(|(_, file)| shown.get(&file.path) != Some(&file.text));
        other.map(|(_, file)| match shown.get(&file.path) {
            Some(_) => format!("{} has another text in the pod than it was given", file.path.display()),
            None => {
                let why = complaints.lines().last().unwrap_or("nginx does not show it");
                format!("{} is not read in the pod: {why}", file.path.display())
            }
        })
    }

    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        self.applied.finished(changes)
    }

    fn diff(&self, changes: &[Change], except: &dyn Fn(&Path) -> bool) -> String {
        self.applied.diff_but(changes, except)
    }

    fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    fn watch(&self, page: Option<u64>) -> Box<dyn WatchInside> {
        Box::new(Within::new(Some(self.facts().nofile.value), page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_out_of_what_nginx_prints_byte_for_byte() {
        let main = "events {}\nhttp { include conf.d/*.conf; include /etc/nginx/mime.types; }";
        let printed = format!(
            "# configuration file /etc/nginx/nginx.conf:\n{main}\n# configuration file /etc/nginx/conf.d/b.conf:\nserver {{ listen 81; }}\n\n\
             # configuration file /etc/nginx/conf.d/.hidden.conf:\nx\n# configuration file /etc/nginx/mime.types:\n\n"
        );
        let files = files(printed.as_bytes());
        let expected = [
            ("/etc/nginx/nginx.conf", main),
            ("/etc/nginx/conf.d/b.conf", "server { listen 81; }\n"),
            ("/etc/nginx/conf.d/.hidden.conf", "x"),
            ("/etc/nginx/mime.types", ""),
        ];
        assert_eq!(files, expected.map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())));
        let config = Config::printed(&files[0].0, files.clone().into_iter().collect(), Path::new("/usr")).unwrap();
        let read: Vec<_> = config.files().map(|(_, file)| file.path.to_str().unwrap()).collect();
        assert_eq!(read, ["/etc/nginx/nginx.conf", "/etc/nginx/conf.d/b.conf", "/etc/nginx/mime.types"]);
        let missing = [(files[0].0.clone(), b"http { include a; }".to_vec())].into();
        let error = Config::printed(&files[0].0, missing, Path::new("/usr")).unwrap_err().to_string();
        assert!(error.contains("/etc/nginx/a"), "it is not looked for on this machine: {error}");
    }

    #[test]
    fn it_is_asked_with_the_configuration_that_it_was_started_with() {
        let words = |title: &str| asks(title).pop().unwrap().join(" ");
        assert_eq!(words("nginx: master process nginx -g daemon off;"), "nginx -T");
        assert_eq!(
            words("nginx: master process /usr/sbin/nginx -c /a.conf -p /b"),
            "/usr/sbin/nginx -T -c /a.conf -p /b"
        );
    }
}
