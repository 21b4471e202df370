//! What is wrong with a configuration, or is not what it seems.

use genkai_model::explain::{Remark, RemarkKind};

use super::values;
use crate::explain::{about, place, remark};
use crate::files::entry::Entry;
use crate::squid::access::{self, Access};
use crate::squid::config::Config;
use crate::squid::limits::{OBJECT, descriptors};
use crate::squid::replies;
use crate::squid::settings::{Known, bytes, known, similar};
use genkai_place::caps::Machine;

/// Kinds of `cache_dir` that Squid 5.7 as Debian builds it has (`squid -v`: --enable-storeio).
const STORES: &[&str] = &["ufs", "aufs", "diskd", "rock"];

pub(super) fn of(config: &Config, machine: &Machine) -> Vec<Remark> {
    let mut all: Vec<Remark> = config.entries.all().iter().filter_map(|entry| name(config, entry)).collect();
    all.extend(config.each("http_port").filter_map(|entry| port(config, entry)));
    all.extend(config.each("cache_dir").filter_map(|entry| store(config, entry)));
    all.extend(config.each("http_upgrade_request_protocols").filter_map(|entry| upgrade(config, entry)));
    all.extend(config.each("acl").filter_map(|entry| incomplete(config, entry)));
    all.extend(values::of(config));
    all.extend(repeated(config));
    all.extend(config.each("if").map(|entry| conditional(config, entry)));
    all.extend(shared(config));
    all.extend(clamped(config, machine));
    all.extend(unreached(config));
    all.extend(unsure(config));
    all.extend(as_root(config));
    all.sort();
    all.dedup();
    all
}

fn name(config: &Config, entry: &Entry) -> Option<Remark> {
    match known(&entry.name) {
        None => {
            let near = similar(&entry.name).map(|near| format!("did you mean {near}?"));
            let text = "there is no such directive in Squid 5.7: it does not start".to_owned();
            Some(about(&config.entries, entry, RemarkKind::Unknown, text, near))
        }
        Some(Known::Obsolete) => {
            let text = "is obsolete: Squid 5 only warns of it".to_owned();
            Some(about(&config.entries, entry, RemarkKind::Ignored, text, Some("leave it out".to_owned())))
        }
        Some(_) => None,
    }
}

/// src/cache_cf.cc: `parse_port_option`: options of a web server need `accel`.
fn port(config: &Config, entry: &Entry) -> Option<Remark> {
    let has = |word: &str| entry.values.iter().any(|value| value == word || value.starts_with(&format!("{word}=")));
    let option = ["defaultsite", "vhost", "vport", "no-vhost"].into_iter().find(|option| has(option))?;
    (!has("accel")).then(|| {
        let text = format!("`{option}` needs `accel` before it: Squid 5 does not start");
        about(&config.entries, entry, RemarkKind::Contradiction, text, Some("http_port PORT accel ...".to_owned()))
    })
}

/// src/acl/Acl.cc: `ACL::ParseAclLine`: without a name or a type nothing is made of it.
fn incomplete(config: &Config, entry: &Entry) -> Option<Remark> {
    let lacks = match entry.values.len() {
        0 => "name",
        1 => "type",
        _ => return None,
    };
    let text = format!("has no {lacks}: Squid does not start");
    Some(about(&config.entries, entry, RemarkKind::Unknown, text, Some("acl NAME TYPE VALUE ...".to_owned())))
}

/// src/cache_cf.cc: `parse_cachedir`: a kind that was not built in is left out with an error, and Squid starts all the same.
fn store(config: &Config, entry: &Entry) -> Option<Remark> {
    let kind = entry.values.first().filter(|kind| !STORES.contains(&kind.as_str()))?;
    let text = format!(
        "this Squid has no store `{kind}`: it starts without this store, and `squid -k parse` says nothing is wrong"
    );
    let hint = (kind == "coss").then(|| "rock is what took its place in Squid 3.5".to_owned());
    Some(about(&config.entries, entry, RemarkKind::Ignored, text, hint))
}

/// Names of protocols are compared as they are written (src/HttpUpgradeProtocolAccess.cc), and browsers write `websocket`.
fn upgrade(config: &Config, entry: &Entry) -> Option<Remark> {
    let name = entry.values.first()?.trim_matches('"');
    (name != "websocket" && name.eq_ignore_ascii_case("websocket")).then(|| {
        let text = format!("`{name}` matches no client: names are compared with case, and clients write `websocket`");
        about(&config.entries, entry, RemarkKind::Ignored, text, Some("websocket".to_owned()))
    })
}

/// Lines between `if` and `endif` are read by the processes for which the condition holds (`${process_number}`: 0 with `-N`, else from 1 on).
fn conditional(config: &Config, entry: &Entry) -> Remark {
    let text = "decides by the process which lines up to its `endif` are read: here each of them is taken for one that is, the last of a name in the place of \
                those before it, so that values and limits may be others";
    about(&config.entries, entry, RemarkKind::Unsure, text.to_owned(), None)
}

/// Of a directive with a single value the last line counts.
fn repeated(config: &Config) -> Vec<Remark> {
    // Lines between `if` and `endif` are for some processes only.
    if config.value("if").is_some() {
        return Vec::new();
    }
    let replaced = config.entries.replaced(|entry| matches!(known(&entry.name), Some(Known::Default(_)))).into_iter();
    let text = |later: String| format!("is set again at {later}: the later one counts");
    replaced.map(|(entry, later)| about(&config.entries, entry, RemarkKind::Ignored, text(later), None)).collect()
}

/// Stores of files are of one process (src/cf.data.pre, `workers`, `cache_dir`); rock is shared.
fn shared(config: &Config) -> Vec<Remark> {
    let count = config.workers().value;
    if count < 2 || config.value("if").is_some() {
        return Vec::new();
    }
    let own = |entry: &&Entry| entry.values.get(1).is_some_and(|path| path.contains("${process_number}"));
    let files =
        |entry: &&Entry| entry.values.first().is_some_and(|kind| ["ufs", "aufs", "diskd"].contains(&kind.as_str()));
    let remark = |entry: &Entry| {
        let text = format!("{count} workers write into the same folder, which is made for one");
        let hint = "write ${process_number} into the path (a folder each), or use rock, which they share".to_owned();
        about(&config.entries, entry, RemarkKind::Contradiction, text, Some(hint))
    };
    config.each("cache_dir").filter(files).filter(|entry| !own(entry)).map(remark).collect()
}

fn clamped(config: &Config, machine: &Machine) -> Option<Remark> {
    let descriptors = descriptors(config, machine.descriptors_hard);
    let asked: u64 = descriptors.written.parse().ok().filter(|asked| *asked > descriptors.value)?;
    let text = format!("{asked} is taken as {}: {}", descriptors.value, machine.descriptors_ceiling.by);
    let place = place(&descriptors.origin);
    Some(remark(RemarkKind::Clamped, place, "max_filedescriptors", text, Some(format!("ulimit -n {asked}"))))
}

/// Settings that another one keeps from having an effect.
fn unreached(config: &Config) -> Vec<Remark> {
    let mut all = Vec::new();
    let [object, in_memory] = OBJECT.map(|name| config.sourced(name, bytes));
    if let Some(entry) = config.value(OBJECT[1]).filter(|_| object.value < in_memory.value) {
        let text = format!("is more than maximum_object_size ({}), which counts first", object.written);
        all.push(about(&config.entries, entry, RemarkKind::Ignored, text, None));
    }
    if let Some(entry) = config
        .value("cache_mem")
        .filter(|_| config.value("cache_dir").is_none() && config.sourced("cache_mem", bytes).value == 0)
    {
        let text = "is 0, and there is no cache_dir: nothing is cached".to_owned();
        all.push(about(&config.entries, entry, RemarkKind::Contradiction, text, None));
    }
    let denied = config.each("cache").any(|entry| entry.values == ["deny", "all"]);
    if let Some(entry) = config.value("cache_dir").filter(|_| denied) {
        let text = "holds nothing: `cache deny all`".to_owned();
        all.push(about(&config.entries, entry, RemarkKind::Ignored, text, None));
    }
    if let Some(entry) = config.value("client_ip_max_connections").filter(|_| !config.counts_clients()) {
        let text = "does nothing: with `client_db off` the connections of a client are not counted".to_owned();
        all.push(about(&config.entries, entry, RemarkKind::Ignored, text, Some("client_db on".to_owned())));
    }
    all
}

/// src/main.cc, src/tools.cc: who is started as root ends where the user to become is root, too; `squid -k parse` takes it.
fn as_root(config: &Config) -> Option<Remark> {
    let entry = config.value("cache_effective_user").filter(|entry| entry.value() == "root")?;
    let text = "Squid does not start as root: FATAL: Don't run Squid as root, set 'cache_effective_user'!".to_owned();
    Some(about(&config.entries, entry, RemarkKind::Contradiction, text, Some("proxy".to_owned())))
}

/// What may keep requests from the origin, by more than the configuration.
fn unsure(config: &Config) -> Vec<Remark> {
    let list = "refuses requests by more than this file: the limits count only those that it lets in";
    let program = "may answer with a redirection: the limits count only requests that are passed on";
    let say = |entry: &Entry, text: &str| about(&config.entries, entry, RemarkKind::Unsure, text.to_owned(), None);
    let pool = "bounds how fast clients are sent their answers, of requests that its access list gives it: that is not among the limits below";
    let pools = replies::of_clients(Access { config, client: None }).into_iter().map(|entry| say(entry, pool));
    let programs = ["url_rewrite_program", "redirect_program"].into_iter().flat_map(|name| config.value(name));
    let lists = access::open(config).map(|entry| say(entry, list));
    lists.chain(programs.map(|entry| say(entry, program))).chain(pools).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use genkai_model::limit::Ceiling;

    fn told(text: &str) -> Vec<(RemarkKind, String)> {
        let config = Config::of_text(Path::new("/x"), text.as_bytes().to_vec()).unwrap();
        let machine = Machine {
            descriptors: 1024,
            descriptors_hard: 20_000,
            descriptors_ceiling: Ceiling { value: 20_000.0, by: "hard RLIMIT_NOFILE 20000".to_owned() },
            online: 2,
            cores: 2,
            somaxconn: 4096,
            ports: (32_768, 60_999),
        };
        of(&config, &machine).into_iter().map(|one| (one.kind, one.setting)).collect()
    }

    #[test]
    fn each_thing_that_is_not_as_it_seems_is_told() {
        let one = |kind, name: &str| vec![(kind, name.to_owned())];
        assert_eq!(told("http_port 80 accel vhost\ncache_mem 8 MB # x\n"), []);
        assert_eq!(told("cache_men 8 MB\n"), one(RemarkKind::Unknown, "cache_men"));
        assert_eq!(told("http_port 80 defaultsite=a\n"), one(RemarkKind::Contradiction, "http_port"));
        assert_eq!(told("acl here # x\n"), one(RemarkKind::Unknown, "acl"));
        assert_eq!(told("acl\n"), one(RemarkKind::Unknown, "acl"));
        assert_eq!(told("acl here src\n"), [], "Squid warns that it is empty, and starts");
        assert_eq!(told("cache_dir coss /x 100\n"), one(RemarkKind::Ignored, "cache_dir"));
        assert_eq!(told("hierarchy_stoplist cgi-bin\n"), one(RemarkKind::Ignored, "hierarchy_stoplist"));
        let decided = "if ${process_number} = 1\nread_timeout 3 seconds\nelse\nread_timeout 8 seconds\nendif\n";
        assert_eq!(told(decided), one(RemarkKind::Unsure, "if"));
        assert_eq!(told("cache_effective_user root\n"), one(RemarkKind::Contradiction, "cache_effective_user"));
        assert_eq!(told("cache_effective_user proxy\nclient_ip_max_connections 5\n"), []);
        let uncounted = "client_db off\nclient_ip_max_connections 5\n";
        assert_eq!(told(uncounted), one(RemarkKind::Ignored, "client_ip_max_connections"));
        let protocols = "http_upgrade_request_protocols WebSocket allow all\n";
        assert_eq!(told(protocols), one(RemarkKind::Ignored, "http_upgrade_request_protocols"));
        assert_eq!(told("cache_mem 8 MB\ncache_mem 9 MB\n"), one(RemarkKind::Ignored, "cache_mem"));
        let pool = "client_delay_pools 1\nclient_delay_parameters 1 9000 9000\nclient_delay_access 1 allow all\n";
        assert_eq!(told(pool), one(RemarkKind::Unsure, "client_delay_parameters"));
        assert_eq!(told("max_filedescriptors 30000\n"), one(RemarkKind::Clamped, "max_filedescriptors"));
        assert_eq!(told("maximum_object_size 8 KB\nmaximum_object_size_in_memory 1 MB\n").len(), 1);
        let store = |path: &str| format!("cache_dir aufs {path} 100 16 256\n");
        assert_eq!(told(&(store("/x") + "workers 2\n")), one(RemarkKind::Contradiction, "cache_dir"));
        assert_eq!(told(&(store("/x${process_number}") + "workers 2\n")), []);
        assert_eq!(told(&store("/x")), []);
        assert_eq!(told("cache_mem 0 MB\n"), one(RemarkKind::Contradiction, "cache_mem"));
    }
}
