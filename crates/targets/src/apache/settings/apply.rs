//! A setting written into a configuration, at the place where it is in force for the requests under test.

use std::path::PathBuf;

use genkai_model::limit::Origin;

use super::value::{self, count};
use super::{
    Context, KEEP_ALIVE_TIMEOUT, MAX_CONNECTIONS_PER_CHILD, MAX_REQUEST_WORKERS, MAX_SPARE_SERVERS, MIN_SPARE_SERVERS,
    MPM, Mpm, SERVER_LIMIT, START_SERVERS, Setting, SettingError, TABLE, THREAD_LIMIT, THREADS_PER_CHILD, TIMEOUT,
    default_of, directives,
};
use crate::apache::config::{Config, Edit, Found};
use crate::apache::route::{Member, Pass, Route, members};
use crate::apache::within::variable;
use crate::apache::{handler, removable};
use crate::error::TargetError;
use crate::files::{Configuration, Pair, Removable, Requests, pairs};
use crate::settings::{Kind, SourcedValue};

impl Configuration for Config {
    fn set(&self, setting: &str, value: &str, requests: &Requests) -> Result<Self, TargetError> {
        let (setting, value) = TABLE.value(setting, value)?;
        Ok(apply(self, setting, &value, requests)?)
    }

    fn value_of(&self, setting: &str, requests: &Requests) -> Result<(String, Origin), TargetError> {
        Ok(in_force(self, TABLE.lookup(setting)?, requests).in_words())
    }

    fn removable(&self, requests: &Requests) -> Vec<Removable> {
        removable::all(self, requests)
    }

    fn path_of(&self, of: &Removable) -> PathBuf {
        self.file(of.file).path.clone()
    }

    fn without(&self, edits: &[Edit]) -> Result<Self, TargetError> {
        Ok(self.apply(edits)?)
    }

    fn is_same(one: &str, other: &str) -> bool {
        TABLE.is_same(one, other)
    }

    fn pairs<'a>(&'a self, edited: &'a Self) -> impl Iterator<Item = Pair<'a>> {
        // A use of a macro is no file of the user's.
        pairs(&self.files, &edited.files).filter(|pair| !self.is_named_use(pair.real))
    }
}

/// The configuration with a setting changed. `MaxRequestWorkers` beyond what `ServerLimit` allows brings `ServerLimit` along,
/// `ThreadsPerChild` `ThreadLimit`: httpd would silently take less. `StartServers` of prefork brings along what keeps those children where nobody asks.
fn apply(config: &Config, setting: &Setting, value: &str, requests: &Requests) -> Result<Config, SettingError> {
    let changed = config.apply(&edits(config, setting, value, requests)?)?;
    match setting.name {
        name if name == MAX_REQUEST_WORKERS.name => room_for(changed, value, requests),
        name if name == THREADS_PER_CHILD.name => raised(changed, &THREAD_LIMIT, count(value).unwrap_or(0), requests),
        name if name == START_SERVERS.name && Mpm::of(&changed) == Mpm::Prefork => kept(changed, value, requests),
        _ => Ok(changed),
    }
}

fn edits(config: &Config, setting: &Setting, value: &str, requests: &Requests) -> Result<Vec<Edit>, SettingError> {
    match setting.context {
        Context::Pass => parameter(config, setting, value, requests),
        Context::Members => parameters(config, setting, value, requests),
        Context::Mpm => mpm(config, value),
        Context::Variable => {
            let missing = || SettingError::no_place(setting.name, "no SetEnv gives these requests such a variable");
            let found = held_by(config, setting, requests).ok_or_else(missing)?;
            Ok(found.set_arg(1, value).into_iter().collect())
        }
        _ => Ok(match held_by(config, setting, requests) {
            Some(found) => found.set_args(&arguments(setting, value)),
            None => vec![added(config, &format!("{} {value}", setting.directive))],
        }),
    }
}

/// The arguments a value makes: most settings have one; `RequestReadTimeout` has several.
fn arguments(setting: &Setting, value: &str) -> Vec<String> {
    match setting.kind {
        Kind::Line => value.split_ascii_whitespace().map(str::to_owned).collect(),
        _ => vec![value.to_owned()],
    }
}

/// A new line for the whole server: after the last setting of its kind, in whichever file, else at the end of the main one.
fn added(config: &Config, line: &str) -> Edit {
    let kin = |f: &&Found| f.is_global() && TABLE.find(&f.name).is_some_and(|s| s.context == Context::Server);
    match config.found().iter().rev().find(kin) {
        Some(found) => config.line_after(found, line),
        None => config.line_at_end(line),
    }
}

/// The directive that holds a setting for the requests under test.
fn held_by<'c>(config: &'c Config, setting: &Setting, requests: &Requests) -> Option<&'c Found> {
    let names = directives(setting);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let route = || Route::find(config, requests);
    match setting.context {
        Context::Server => Route::global(config, &names),
        Context::Host => {
            let own = route().and_then(|r| r.of_host(config, &names)).filter(|found| !is_unset(setting, found));
            own.or_else(|| Route::global(config, &names))
        }
        Context::Path => {
            route().and_then(|r| r.of_path(config, &names, &requests.path)).or_else(|| Route::global(config, &names))
        }
        Context::Variable => variable(config, &route()?, requests, setting.directive),
        Context::Pass | Context::Members | Context::Mpm => None,
    }
}

/// Whether a virtual host has the server's time instead of its own: 0 is how httpd keeps that none is set (server/config.c:
/// ap_fixup_virtual_hosts).
fn is_unset(setting: &Setting, found: &Found) -> bool {
    let is_time = [TIMEOUT.name, KEEP_ALIVE_TIMEOUT.name].contains(&setting.name);
    is_time && found.host().is_some() && found.arg(0).is_none_or(|text| value::atoi(text) == 0)
}

fn parameter(config: &Config, setting: &Setting, value: &str, requests: &Requests) -> Result<Vec<Edit>, SettingError> {
    let missing = || {
        SettingError::no_place(
            setting.name,
            "nothing passes this path on (ProxyPass, SetHandler); choose a path that is passed to a backend",
        )
    };
    let route = Route::find(config, requests).ok_or_else(missing)?;
    let pass = handler::pass(config, &route, requests).ok_or_else(missing)?;
    if pass.url.get(..9).is_some_and(|scheme| scheme.eq_ignore_ascii_case("balancer:")) {
        let why = "a balancer has these requests, whose members have parameters of their own: it is in their lines (BalancerMember)";
        return Err(SettingError::no_place(setting.name, why));
    }
    let default = || {
        let why = "mod_proxy's own worker, which takes no parameters, has these requests: a `<Proxy URL>` with a `ProxySet` makes one";
        SettingError::no_place(setting.name, why)
    };
    let worker = route.worker(config, &pass, &requests.path).ok_or_else(default)?;
    // Where nothing says it yet, who made the worker does.
    let found = worker.parameter(setting.directive).map_or(worker.found, |(found, _)| found);
    Ok(pair(found, first(found), setting, value).into_iter().collect())
}

/// Where the `key=value`s of a directive begin among its arguments.
fn first(found: &Found) -> usize {
    match Pass::read(found) {
        Some(pass) => pass.index + 1,
        None => usize::from(!(found.name == "proxyset" && found.context.iter().any(|s| s.name.starts_with("proxy")))),
    }
}

/// `KEY=value` of a directive, among its arguments from `first` on: changed where it is, else added.
fn pair(found: &Found, first: usize, setting: &Setting, value: &str) -> Option<Edit> {
    let named = |a: &String| a.split_once('=').is_some_and(|(key, _)| key.eq_ignore_ascii_case(setting.directive));
    let at = found.args.iter().skip(first).rposition(named).map(|i| i + first);
    found.set_arg(at.unwrap_or(found.args.len()), &format!("{}={value}", setting.directive))
}

/// The members that requests go to of the balancer that the path is passed to; none: it is passed to none.
fn balanced<'c>(config: &'c Config, requests: &Requests) -> Option<Vec<Member<'c>>> {
    let pass = handler::pass(config, &Route::find(config, requests)?, requests)?;
    members(config, &pass.url).map(|all| all.first).filter(|all| !all.is_empty())
}

/// The parameter of each member that has it, or of all where none has.
fn parameters(config: &Config, setting: &Setting, value: &str, requests: &Requests) -> Result<Vec<Edit>, SettingError> {
    let nobody = || SettingError::no_place(setting.name, "this path is passed to no balancer that has members");
    let all = balanced(config, requests).ok_or_else(nobody)?;
    let is_set = |member: &&Member<'_>| member.parameter(setting.directive).is_some();
    let some = all.iter().any(|member| is_set(&member));
    let meant: Vec<&Member<'_>> = all.iter().filter(|member| !some || is_set(member)).collect();
    if meant.iter().any(|member| is_set(member) && member.own(setting.directive).is_none()) {
        let why = "a ProxySet has it: move it to the BalancerMember in a copy of the file";
        return Err(SettingError::no_place(setting.name, why));
    }
    Ok(meant.iter().filter_map(|member| pair(member.found, 1, setting, value)).collect())
}

/// Loads another multi-processing module in place of the one that is loaded.
fn mpm(config: &Config, value: &str) -> Result<Vec<Edit>, SettingError> {
    let loaded = config.named("loadmodule").find(|f| f.arg(0).is_some_and(|m| m.starts_with("mpm_")));
    let none = || SettingError::no_place(MPM.name, "the configuration loads no MPM; it may be compiled in");
    let found = loaded.ok_or_else(none)?;
    let before = Mpm::of(config).name();
    let file = found.arg(1).unwrap_or_default().replace(&format!("mod_mpm_{before}"), &format!("mod_mpm_{value}"));
    Ok(found.set_args(&[format!("mpm_{value}_module"), file]))
}

/// Raises `ServerLimit` (and for threads nothing else) so that so many workers fit.
fn room_for(config: Config, workers: &str, requests: &Requests) -> Result<Config, SettingError> {
    let threads = number(&config, &THREADS_PER_CHILD, requests).min(number(&config, &THREAD_LIMIT, requests)).max(1);
    let threads = if Mpm::of(&config) == Mpm::Prefork { 1 } else { threads };
    let needed = count(workers).unwrap_or(0) / threads;
    raised(config, &SERVER_LIMIT, needed, requests)
}

/// Has so many children stay: more idle ones than `MaxSpareServers` are ended, one a second; and those that end by their count of connections
/// are made anew only while fewer than `MinSpareServers` are idle (server/mpm/prefork/prefork.c: perform_idle_server_maintenance).
fn kept(config: Config, children: &str, requests: &Requests) -> Result<Config, SettingError> {
    let children = count(children).unwrap_or(0);
    let config = raised(config, &MAX_SPARE_SERVERS, children, requests)?;
    match number(&config, &MAX_CONNECTIONS_PER_CHILD, requests) {
        0 => Ok(config),
        _ => raised(config, &MIN_SPARE_SERVERS, children, requests),
    }
}

/// The configuration with a cap of at least so much.
fn raised(config: Config, cap: &Setting, needed: u64, requests: &Requests) -> Result<Config, SettingError> {
    if needed <= number(&config, cap, requests) {
        return Ok(config);
    }
    Ok(config.apply(&edits(&config, cap, &needed.to_string(), requests)?)?)
}

fn number(config: &Config, setting: &Setting, requests: &Requests) -> u64 {
    count(&in_force(config, setting, requests).written).unwrap_or(1)
}

/// The value of a setting in force for the requests under test, and where it is written.
pub(crate) fn in_force(config: &Config, setting: &Setting, requests: &Requests) -> SourcedValue<()> {
    let file = |found: &Found, written: String| {
        let path = config.file(found.file).path.clone();
        SourcedValue { value: (), written, origin: Origin::File { path, line: found.line } }
    };
    let default = || default_of(setting, Mpm::of(config));
    match setting.context {
        Context::Pass => {
            let route = Route::find(config, requests);
            let worker = route
                .as_ref()
                .and_then(|route| route.worker(config, &handler::pass(config, route, requests)?, &requests.path));
            let given = worker.as_ref().and_then(|worker| worker.parameter(setting.directive));
            given.map_or_else(default, |(found, value)| file(found, value.to_owned()))
        }
        Context::Members => {
            let all = balanced(config, requests).unwrap_or_default();
            let given = all.iter().filter_map(|m| Some((m.found, m.parameter(setting.directive)?.to_owned())));
            let given: Vec<(&Found, String)> = given.collect();
            let mut values: Vec<&str> = given.iter().map(|(_, value)| value.as_str()).collect();
            values.dedup();
            given.first().map_or_else(default, |(found, _)| file(found, values.join(", ")))
        }
        Context::Mpm => {
            let loaded = config.named("loadmodule").find(|f| f.arg(0).is_some_and(|m| m.starts_with("mpm_")));
            loaded.map_or_else(default, |found| file(found, Mpm::of(config).name().to_owned()))
        }
        Context::Variable => held_by(config, setting, requests)
            .and_then(|found| Some(file(found, found.arg(1)?.to_owned())))
            .unwrap_or_else(default),
        _ => held_by(config, setting, requests).map_or_else(default, |found| file(found, found.args.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apache::config::Reading;
    use std::path::Path;

    const TEXT: &str = "LoadModule mpm_event_module modules/mod_mpm_event.so\nListen 80\n# workers\n<IfModule event.c>\n  \
        MaxRequestWorkers   300   \n</IfModule>\n<VirtualHost *:80>\n  Timeout 9\n  ProxyPass / \"http://b:1/\" \\\n    retry=0\n</VirtualHost>\n";

    fn changed(name: &str, value: &str) -> Result<String, TargetError> {
        changed_in(TEXT, name, value)
    }

    fn changed_in(text: &str, name: &str, value: &str) -> Result<String, TargetError> {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
        let after = config.set(name, value, &Requests::to("x", "/"))?;
        Ok(String::from_utf8(after.file(crate::apache::config::FileId::MAIN).text.clone()).unwrap())
    }

    #[test]
    fn members_of_a_balancer_are_changed_together() {
        let text = "Listen 80\n<Proxy balancer://b>\n  BalancerMember http://h:1  max=4 retry=0\n  BalancerMember http://h:2 max=6\n  \
                    BalancerMember http://h:3\n</Proxy>\nProxyPass / balancer://b/\n";
        let of = |text: &str| {
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap()
        };
        let requests = Requests::to("x", "/");
        let set = |text: &str| {
            let after = of(text).set("BalancerMember.max", "25", &requests)?;
            Ok::<_, TargetError>(
                String::from_utf8(after.file(crate::apache::config::FileId::MAIN).text.clone()).unwrap(),
            )
        };
        assert_eq!(set(text).unwrap(), text.replace("max=4", "max=25").replace("max=6", "max=25"));
        let none = text.replace(" max=4", "").replace(" max=6", "");
        assert_eq!(set(&none).unwrap().matches("max=25").count(), 3);
        assert_eq!(of(text).value_of("BalancerMember.max", &requests).unwrap().0, "4, 6");
        let elsewhere = format!("{}<Proxy http://h:3>\nProxySet max=3\n</Proxy>\n", text);
        assert!(set(&elsewhere).unwrap_err().to_string().contains("ProxySet"));
        assert!(set("Listen 80\nProxyPass / http://h:1/\n").is_err());
        let refused = of(text).set("ProxyPass.timeout", "9", &requests).unwrap_err().to_string();
        assert!(refused.contains("a balancer has these requests"), "{refused}");
    }

    #[test]
    fn a_setting_changes_where_it_is_and_nothing_else_does() {
        assert_eq!(changed("MaxRequestWorkers", "350").unwrap(), TEXT.replace("300", "350"));
        assert_eq!(changed("timeout", "30").unwrap(), TEXT.replace("Timeout 9", "Timeout 30"));
        assert_eq!(changed("ProxyPass.retry", "5").unwrap(), TEXT.replace("retry=0", "retry=5"));
        assert_eq!(changed("ProxyPass.max", "5").unwrap(), TEXT.replace("retry=0", "retry=0 max=5"));
        let worker = TEXT.replace("mpm_event_module modules/mod_mpm_event", "mpm_worker_module modules/mod_mpm_worker");
        assert_eq!(changed("mpm", "worker").unwrap(), worker);
    }

    #[test]
    fn more_workers_bring_the_server_limit_along() {
        let text = changed("MaxRequestWorkers", "600").unwrap();
        assert_eq!(
            text,
            TEXT.replace("  MaxRequestWorkers   300   \n", "  MaxRequestWorkers   600   \n  ServerLimit 24\n")
        );
    }

    #[test]
    fn children_at_the_start_bring_along_what_keeps_them() {
        let started = |own: &str, to: &str| {
            let text = format!("LoadModule mpm_prefork_module x\nStartServers 10\nMaxSpareServers 20\n{own}");
            changed_in(&text, "StartServers", to).unwrap().replace("LoadModule mpm_prefork_module x\n", "")
        };
        assert_eq!(started("", "62"), "StartServers 62\nMaxSpareServers 62\n");
        assert_eq!(started("", "15"), "StartServers 15\nMaxSpareServers 20\n", "they may all be idle");
        let anew = started("MinSpareServers 5\nMaxConnectionsPerChild 100\n", "62");
        assert!(anew.contains("MinSpareServers 62\nMaxConnectionsPerChild 100"), "{anew}");
    }

    #[test]
    fn new_settings_get_a_line_of_their_own() {
        let text = changed("ListenBacklog", "64").unwrap();
        assert!(text.contains("300   \n  ListenBacklog 64\n</IfModule>"), "{text}");
        assert!(changed("LimitRequestBody", "8k").unwrap().contains("LimitRequestBody 8192\n"));
        assert!(changed("KeepAlive", "maybe").unwrap_err().to_string().contains("On or Off"));
    }
}
