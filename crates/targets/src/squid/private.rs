//! A private copy of a configuration: one file with all directives in their order, in which what Squid would open to the outside, write
//! or send away is moved into one folder, onto one loopback port, or left out. The user's files are not touched.

use std::path::PathBuf;

use genkai_model::event::Rewrite;

use super::access::client;
use super::config::Config;
use super::evidence;
use super::too_many::Marks;
use super::{peers, replies};
use crate::cache::{Sandbox, unseen};
use crate::error::TargetError;
use crate::files::entry::Entry;
use crate::files::{Move, masked};
use genkai_place::endpoint::Endpoint;
use genkai_place::remote;

/// What it writes itself, or tells others, what may lead requests past its peers, what starts programs or loads modules of the user's, which
/// may ask other hosts, or what another user than root cannot do.
pub(super) const LEFT_OUT: &[&str] = &[
    "https_port",
    "ftp_port",
    "snmp_port",
    "icp_port",
    "htcp_port",
    "wccp_router",
    "wccp2_router",
    "mcast_groups",
    "announce_period",
    "cache_effective_user",
    "cache_effective_group",
    "chroot",
    "cache_swap_state",
    "pid_filename",
    "netdb_filename",
    "coredump_dir",
    "cache_log",
    "pinger_enable",
    "tcp_outgoing_address",
    "udp_incoming_address",
    "udp_outgoing_address",
    "always_direct",
    "never_direct",
    "icap_enable",
    "icap_log",
    "ecap_enable",
    "loadable_modules",
    "url_rewrite_program",
    "store_id_program",
    "sslcrtd_program",
    "sslcrtvalidator_program",
    "unlinkd_program",
    "diskd_program",
    "logfile_daemon",
    "pinger_program",
    "mail_program",
];
/// Older names of directives, which Squid still takes (src/cf.data.pre).
const OLDER: &[(&str, &str)] = &[
    ("ascii_port", "http_port"),
    ("cache_access_log", "access_log"),
    ("cache_swap_log", "cache_swap_state"),
    ("redirect_program", "url_rewrite_program"),
    ("storeurl_rewrite_program", "store_id_program"),
    ("udp_port", "icp_port"),
];
/// Options of `http_port` that belong to the user's network.
const PORT_OPTIONS: &[&str] = &["tproxy", "intercept", "transparent", "require-proxy-header", "allow-direct"];
/// Options of `cache_peer` that another origin does not have.
const PEER_OPTIONS: &[&str] =
    &["ssl", "tls", "ssl=", "sslcert", "sslkey", "sslcafile", "sslcapath", "sslflags", "ssldomain", "tls-"];

/// The name of the format and of the log of who answered what.
const ANSWERS: &str = "genkai_answers";

/// Whether the copy writes down which peer answered what: not where all peers are one server of another's. Several workers would write one file.
pub(super) fn is_told(config: &Config, at: &Sandbox<'_>) -> bool {
    at.backend.is_none() && config.workers().value <= 1
}

/// Where it writes that.
pub(super) fn answers_file(at: &Sandbox<'_>) -> PathBuf {
    at.dir.join("answers.log")
}

fn answers_log(at: &Sandbox<'_>) -> String {
    format!("access_log stdio:{} {ANSWERS}", answers_file(at).display())
}

/// The name of the copy.
pub(super) const NAME: &str = "squid.conf";

/// A private copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Private {
    /// Its text.
    pub(super) text: String,
    /// Where each of its lines was written, `path:line`; none: genkai added it.
    pub(super) places: Vec<Option<String>>,
    /// What differs from the user's files.
    pub(super) rewrites: Vec<Rewrite>,
    /// Folders of its stores, in that of the copy.
    pub(super) stores: Vec<String>,
    /// Where it is.
    file: PathBuf,
}

/// Makes a private copy of `config`.
///
/// # Errors
/// When nothing in it accepts requests of a web server, nothing stands behind it, or requests would leave this machine.
pub(super) fn build(config: &Config, at: &Sandbox<'_>) -> Result<Private, TargetError> {
    let main = config.entries.main().display().to_string();
    let port = config.each("http_port").find(|entry| is_accelerating(entry)).ok_or_else(|| {
        let hint = "genkai loads it as a web server: add `accel defaultsite=localhost` to an http_port of a copy";
        TargetError::usage("Squid", format!("{main}: there is no `http_port` with `accel`\n  hint: {hint}"))
    })?;
    let origins = config.each("cache_peer").filter(|entry| is_origin(entry)).count();
    if origins == 0 && at.backend.is_none() {
        let hint = "--backend embedded puts a server of genkai's own behind it";
        return Err(TargetError::usage(
            "Squid",
            format!("{main}: there is no `cache_peer` with `originserver`\n  hint: {hint}"),
        ));
    }
    let mut private = Private { file: at.dir.join(NAME), ..Private::default() };
    let marks = Marks::of(config, client(at.listen.ip()));
    // Before the user's: an `access_log none` would end the search (src/log/access_log.cc: accessLogLogTo).
    let lines = marks.before().into_iter().chain(marks.log(&at.dir.display().to_string()));
    let lines = lines.chain(replies::log_lines(config, &at.dir.display().to_string()));
    lines.for_each(|line| private.push(&line, None));
    if !peers::pages(config).is_empty() {
        // genkai asks from this machine; the user's rules for everybody else stay as they are.
        let line = "http_access allow localhost manager";
        private.push(line, None);
        private.rewrites.push(Rewrite { place: main.clone(), from: String::new(), to: line.to_owned() });
    }
    if is_told(config, at) {
        // Before the user's: one with `none` would end the search (src/log/access_log.cc: accessLogLogTo).
        for line in [format!("logformat {ANSWERS} {}", evidence::ANSWER), answers_log(at)] {
            private.push(&line, None);
            private.rewrites.push(Rewrite { place: main.clone(), from: String::new(), to: line });
        }
    }
    for entry in config.entries.all() {
        let written = config.written(entry);
        let line = match marks.marked(entry, &written) {
            Some(marked) => marked,
            None => private.line(entry, &written, std::ptr::eq(entry, port), config, at)?,
        };
        private.push(&line, Some(config.entries.place(entry)));
        if line != written {
            let (place, from) = (config.entries.place(entry), masked(&written));
            private.rewrites.push(Rewrite { place, from, to: masked(&line) });
        }
    }
    private.add(config, at, origins == 0);
    Ok(private)
}

impl Private {
    fn push(&mut self, line: &str, place: Option<String>) {
        self.text.push_str(line);
        self.text.push('\n');
        self.places.push(place);
    }

    /// What stands for a directive.
    fn line(
        &mut self,
        entry: &Entry,
        written: &str,
        is_port: bool,
        config: &Config,
        at: &Sandbox<'_>,
    ) -> Result<String, TargetError> {
        let dir = at.dir.display();
        Ok(match directive(entry) {
            "http_port" if is_port => {
                let kept = entry.values.iter().skip(1).filter(|word| !PORT_OPTIONS.contains(&word.as_str()));
                let words: Vec<&str> = kept.map(String::as_str).collect();
                format!("http_port {} {}", at.listen, words.join(" "))
            }
            "http_port" => String::new(),
            name if LEFT_OUT.contains(&name) => String::new(),
            "external_acl_type" | "auth_param" if is_helper(entry) => {
                // Without the program the rules that ask it would not be read.
                let hint = "in a copy, leave it out, with the `acl` lines that ask it and the rules that use those";
                let place = config.entries.place(entry);
                let what = format!("{place}: `{}` starts a program that may ask", entry.name);
                return Err(unseen("Squid", &what, hint));
            }
            "cache_peer" => peer(entry, written, config, at)?,
            "access_log" | "cache_store_log" if entry.values.first().is_some_and(|word| word == "none") => {
                written.to_owned()
            }
            "access_log" => {
                let more: Vec<&str> = entry.values.iter().skip(1).map(String::as_str).collect();
                format!("access_log stdio:{dir}/access-{}.log {}", self.places.len(), more.join(" "))
                    .trim_end()
                    .to_owned()
            }
            "cache_store_log" => format!("cache_store_log stdio:{dir}/store.log"),
            "cache_dir" if entry.values.len() > 1 => {
                let store = format!("store-{}", self.stores.len() + 1);
                let mut words = entry.values.clone();
                words[1] = format!("{dir}/{store}");
                self.stores.push(store);
                format!("cache_dir {}", words.join(" "))
            }
            _ => written.to_owned(),
        })
    }

    /// What every private Squid needs.
    fn add(&mut self, config: &Config, at: &Sandbox<'_>, behind: bool) {
        let dir = at.dir.display();
        let mut all = vec![
            format!("cache_log {dir}/cache.log"),
            format!("pid_filename {dir}/squid.pid"),
            format!("coredump_dir {dir}"),
            "netdb_filename none".to_owned(),
            "pinger_enable off".to_owned(),
            // Requests go to peers or nowhere (src/peer_select.cc: `always_direct` would come before it).
            "never_direct allow all".to_owned(),
        ];
        if !config.entries.all().iter().any(|entry| directive(entry) == "access_log") {
            all.push(format!("access_log stdio:{dir}/access.log squid"));
        }
        if config.value("visible_hostname").is_none() {
            all.push("visible_hostname localhost".to_owned());
        }
        if let Some(backend) = at.backend.filter(|_| behind) {
            let (ip, port) = (backend.ip(), backend.port());
            let line = format!("cache_peer {ip} parent {port} 0 no-query no-digest originserver name=genkai");
            let place = config.entries.main().display().to_string();
            self.rewrites.push(Rewrite { place, from: String::new(), to: line.clone() });
            all.push(line);
        }
        all.iter().for_each(|line| self.push(line, None));
    }

    /// A message of Squid's (`FILE(LINE): ...`, `FILE line LINE: ...`), with the user's place where it has one.
    pub(super) fn translate(&self, message: &str) -> String {
        let file = regex::escape(&self.file.display().to_string());
        let pattern = format!(r"{file}(?:\((\d+)\)| line (\d+))");
        let Ok(place) = regex::Regex::new(&pattern) else { return message.to_owned() };
        let said = |found: &regex::Captures<'_>| {
            let number = found.get(1).or(found.get(2)).and_then(|n| n.as_str().parse::<usize>().ok()).unwrap_or(0);
            let place = self.places.get(number.wrapping_sub(1)).cloned().flatten();
            place.unwrap_or_else(|| "a line of genkai's".to_owned())
        };
        place.replace_all(message, said).into_owned()
    }
}

/// The name of a directive as it is today.
pub(super) fn directive(entry: &Entry) -> &str {
    OLDER.iter().find(|(older, _)| *older == entry.name).map_or(entry.name.as_str(), |(_, name)| *name)
}

/// Whether it starts a program that rules of the configuration ask; of `auth_param` other lines only say how.
fn is_helper(entry: &Entry) -> bool {
    entry.name == "external_acl_type" || entry.values.get(1).is_some_and(|word| word == "program")
}

/// Whether a listener takes requests as a web server gets them.
fn is_accelerating(entry: &Entry) -> bool {
    entry.values.iter().skip(1).any(|word| word == "accel")
}

/// Whether a peer is a web server.
fn is_origin(entry: &Entry) -> bool {
    entry.values.iter().any(|word| word == "originserver")
}

/// A peer in whose place another is; none: it is as it was, or Squid cannot be led there (a Unix socket). Other directives know it by its name, which is the host
/// where it has none.
fn led(entry: &Entry, moves: &[Move]) -> Option<String> {
    let [host, kind, port, more @ ..] = entry.values.as_slice() else { return None };
    let Endpoint::Tcp(to) = Move::to(moves, &format!("{host}:{port}"))? else { return None };
    let name = if more.iter().any(|word| word.starts_with("name=")) { String::new() } else { format!(" name={host}") };
    Some(format!("cache_peer {} {kind} {} {}{name}", to.ip(), to.port(), more.join(" ")))
}

/// A peer: another origin in its place, or as it is where it is this machine.
fn peer(entry: &Entry, written: &str, config: &Config, at: &Sandbox<'_>) -> Result<String, TargetError> {
    let [host, kind, _, _, more @ ..] = entry.values.as_slice() else { return Ok(written.to_owned()) };
    let Some(backend) = at.backend else {
        remote::check(host, at.allowed, || config.entries.place(entry))?;
        return Ok(led(entry, at.moves).unwrap_or_else(|| written.to_owned()));
    };
    if !is_origin(entry) {
        return Ok(String::new());
    }
    let is_tls = |word: &str| PEER_OPTIONS.iter().any(|option| word == *option || word.starts_with(option));
    let mut words: Vec<&str> = more.iter().map(String::as_str).filter(|word| !is_tls(word)).collect();
    let name = format!("name={host}");
    if !words.iter().any(|word| word.starts_with("name=")) {
        words.push(&name);
    }
    Ok(format!("cache_peer {} {kind} {} 0 {}", backend.ip(), backend.port(), words.join(" ")))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::Path;

    use super::*;
    use crate::cache::Budget;
    use crate::product::Program;

    const TEXT: &str = "\
http_port 3128
http_port 80 accel defaultsite=www.example.com tproxy
cache_peer 10.0.0.5 parent 443 0 no-query originserver ssl sslflags=DONT_VERIFY_PEER
cache_peer_access 10.0.0.5 allow all
cache_dir aufs /var/spool/squid 100 16 256
access_log daemon:/var/log/squid/access.log combined
cache_effective_user proxy
cache_mem 8 MB
";

    fn built(text: &str, backend: Option<SocketAddr>) -> Result<Private, TargetError> {
        let config = Config::of_text(Path::new("/u/squid.conf"), text.as_bytes().to_vec()).unwrap();
        let (program, dir, budget) = (&Program::default(), Path::new("/p"), Budget::USUAL);
        let listen = "127.0.0.1:7".parse().unwrap();
        build(&config, &Sandbox { program, dir, listen, backend, moves: &[], allowed: &[], budget })
    }

    #[test]
    fn what_leads_outside_is_moved() {
        let private = built(TEXT, Some("127.0.0.1:9".parse().unwrap())).unwrap();
        let lines: Vec<&str> = private.text.lines().take(8).collect();
        let expected = [
            "",
            "http_port 127.0.0.1:7 accel defaultsite=www.example.com",
            "cache_peer 127.0.0.1 parent 9 0 no-query originserver name=10.0.0.5",
            "cache_peer_access 10.0.0.5 allow all",
            "cache_dir aufs /p/store-1 100 16 256",
            "access_log stdio:/p/access-5.log combined",
            "",
            "cache_mem 8 MB",
        ];
        assert_eq!(lines, expected);
        assert_eq!(private.rewrites.len(), 6);
        assert_eq!(private.translate("/p/squid.conf(8): bad"), "/u/squid.conf:8: bad");
        assert!(private.text.contains("\npid_filename /p/squid.pid\n"));
    }

    #[test]
    fn a_peer_is_led_to_another_that_stands_in_for_it() {
        let at = |text: &str| Endpoint::parse(text).unwrap();
        let moves = [
            Move { from: at("127.0.0.1:80"), to: at("127.0.0.1:40000") },
            Move { from: at("127.0.0.1:81"), to: at("unix:/x/pool.sock") },
        ];
        let moved = |line: &str| {
            let config = Config::of_text(Path::new("/x"), line.as_bytes().to_vec()).unwrap();
            led(config.each("cache_peer").next().unwrap(), &moves)
        };
        let new = "cache_peer 127.0.0.1 parent 40000 0 no-query max-conn=9 name=127.0.0.1";
        assert_eq!(moved("cache_peer 127.0.0.1 parent 80 0 no-query max-conn=9").as_deref(), Some(new));
        assert_eq!(
            moved("cache_peer 127.0.0.1 parent 80 0 name=o originserver").as_deref(),
            Some("cache_peer 127.0.0.1 parent 40000 0 name=o originserver")
        );
        assert_eq!(moved("cache_peer 127.0.0.1 parent 82 0"), None);
        assert_eq!(moved("cache_peer 127.0.0.1 parent 81 0"), None, "Squid asks no Unix socket");
    }

    #[test]
    fn nothing_goes_past_the_peers() {
        let text =
            "http_port 80 accel allow-direct vhost\nalways_direct allow all\nnever_direct deny all\nicap_enable on\n";
        let private = built(text, Some("127.0.0.1:9".parse().unwrap())).unwrap();
        let direct: Vec<&str> =
            private.text.lines().filter(|line| line.contains("direct") || line.contains("icap")).collect();
        assert_eq!(direct, ["never_direct allow all"]);
        assert_eq!(private.rewrites.len(), 5, "each is told: {:?}", private.rewrites);
    }

    #[test]
    fn nothing_of_the_users_is_written_or_started() {
        let text = "\
http_port 80 accel
ascii_port 3128
udp_port 3130
icap_log /var/log/squid/icap.log
cache_access_log /var/log/squid/access.log squid
cache_swap_log /var/spool/squid/swap
url_rewrite_program /opt/rewrite
redirect_program /opt/rewrite
store_id_program /opt/id
storeurl_rewrite_program /opt/id
sslcrtd_program /opt/certificates
sslcrtvalidator_program /opt/validator
loadable_modules /opt/adapter.so
ecap_enable on
auth_param basic realm mine
";
        let private = built(text, Some("127.0.0.1:9".parse().unwrap())).unwrap();
        let kept: Vec<&str> = private.text.lines().take(15).filter(|line| !line.is_empty()).collect();
        let expected =
            ["http_port 127.0.0.1:7 accel", "access_log stdio:/p/access-4.log squid", "auth_param basic realm mine"];
        assert_eq!(kept, expected);
        assert_eq!(private.text.matches("access_log").count(), 1, "{}", private.text);
        // Each line but the last, and the origin that is put behind it.
        assert_eq!(private.rewrites.len(), 15);
    }

    #[test]
    fn programs_that_rules_ask_are_refused() {
        for line in ["external_acl_type who %SRC /opt/who", "auth_param basic program /opt/who"] {
            let text = format!("http_port 80 accel\n{line}\n");
            let said = built(&text, Some("127.0.0.1:9".parse().unwrap())).unwrap_err().to_string();
            let name = line.split(' ').next().unwrap();
            assert!(said.contains(&format!("/u/squid.conf:2: `{name}` starts a program")), "{said}");
            assert!(said.contains("hint:"), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_loaded_is_refused() {
        let said = |text: &str| built(text, None).unwrap_err().to_string();
        assert!(said("http_port 3128\n").contains("no `http_port` with `accel`"));
        assert!(said("http_port 80 accel\n").contains("no `cache_peer` with `originserver`"));
        assert!(said(TEXT).contains("/u/squid.conf:3") && said(TEXT).contains("is not this machine"));
        let lone = built("http_port 80 accel\n", Some("127.0.0.1:9".parse().unwrap())).unwrap();
        assert!(lone.text.contains("cache_peer 127.0.0.1 parent 9 0 no-query no-digest originserver name=genkai"));
    }
}
