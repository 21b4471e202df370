//! A pool's files, and the settings in them that genkai may change.

use genkai_model::limit::Origin;

use super::config::Ini;
use super::forked::{self, START};
use crate::error::TargetError;
use crate::files::entry::{Entries, Entry};
use crate::files::{Configuration, Pair, Requests, pairs};

/// Children at once.
pub(super) const CHILDREN: &str = "pm.max_children";
/// Connections that wait for a child.
pub(super) const BACKLOG: &str = "listen.backlog";

/// Whether `setting` is one of a pool's. `listen.backlog` alone is one of what stands before it.
pub(super) fn is_setting(setting: &str) -> bool {
    key(setting).is_some() && setting != BACKLOG
}

/// The key of a setting, which is told as `pm.max_children of [www]`.
fn key(setting: &str) -> Option<&'static str> {
    let name = setting.split_once(" of [").map_or(setting, |(name, _)| name);
    [CHILDREN, BACKLOG, START].into_iter().find(|known| *known == name)
}

/// A pool in the files of its master.
#[derive(Clone, Debug)]
pub(super) struct PoolFiles {
    /// The files.
    pub(super) config: Entries,
    /// The pool's name.
    pub(super) name: String,
}

impl PoolFiles {
    fn entry(&self, key: &str) -> Option<&Entry> {
        self.config.value_in(&self.name, key)
    }
}

impl Configuration for PoolFiles {
    fn set(&self, setting: &str, value: &str, _: &Requests) -> Result<PoolFiles, TargetError> {
        let key = key(setting).ok_or_else(|| unknown(setting))?;
        let value = value.trim();
        if value.parse::<i32>().is_err() {
            return Err(TargetError::usage("php-fpm", format!("{key}={value}: php-fpm wants a whole number")));
        }
        let line = format!("{key} = {value}");
        // What is not written yet goes below what each pool has.
        let (entry, text) = match (self.entry(key), self.entry(CHILDREN)) {
            (Some(entry), _) => (entry, line),
            (None, Some(entry)) => (entry, format!("{CHILDREN} = {}\n{line}", entry.value())),
            (None, None) => {
                let what = format!("the pool [{}] has no {CHILDREN}", self.name);
                return Err(TargetError::usage("php-fpm", what));
            }
        };
        let config = self.config.with_line(Some(entry), text, &Ini)?;
        let start = value.parse().ok().filter(|_| key == START);
        let config = start.map_or(Ok(config.clone()), |start| forked::with_spare(config, &self.name, start))?;
        Ok(PoolFiles { config, name: self.name.clone() })
    }

    fn value_of(&self, setting: &str, _: &Requests) -> Result<(String, Origin), TargetError> {
        let key = key(setting).ok_or_else(|| unknown(setting))?;
        Ok(match self.entry(key) {
            Some(entry) => (entry.value(), self.config.origin(entry)),
            None if key == START => forked::started(&self.config, &self.name).ok_or_else(|| {
                TargetError::usage("php-fpm", format!("the pool [{}] is not dynamic: it has no {START}", self.name))
            })?,
            None => ("-1".to_owned(), Origin::Default("php-fpm: sapi/fpm/fpm/fpm_sockets.h".to_owned())),
        })
    }

    fn is_same(one: &str, other: &str) -> bool {
        key(one).is_some() && key(one) == key(other)
    }

    fn pairs<'a>(&'a self, edited: &'a PoolFiles) -> impl Iterator<Item = Pair<'a>> {
        pairs(self.config.files(), edited.config.files())
    }
}

fn unknown(setting: &str) -> TargetError {
    TargetError::usage("php-fpm", format!("`{setting}` is no setting of a pool that genkai changes"))
}

#[cfg(test)]
mod tests {
    use super::super::config;
    use super::*;

    #[test]
    fn a_pools_setting_is_changed_where_it_stands_and_added_below_where_it_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        std::fs::create_dir(dir.path().join("pool.d")).unwrap();
        std::fs::write(&main, "[global]\ninclude = pool.d/*.conf\n").unwrap();
        std::fs::write(dir.path().join("pool.d/a.conf"), "[a]\npm.max_children = 9\n").unwrap();
        let file = dir.path().join("pool.d/www.conf");
        std::fs::write(&file, "[www]\n pm.max_children = 4 ; few\npm = static\n").unwrap();
        let before = PoolFiles { config: config::read(&main).unwrap(), name: "www".to_owned() };
        let text = |after: &PoolFiles| {
            let changed: Vec<_> = before.pairs(after).filter(|pair| pair.before != pair.after).collect();
            assert_eq!(changed.len(), 1);
            assert_eq!(changed[0].path, file);
            String::from_utf8(changed[0].after.to_vec()).unwrap()
        };
        let none = Requests::default();
        let more = before.set("pm.max_children of [www]", "16", &none).unwrap();
        assert_eq!(text(&more), "[www]\n pm.max_children = 16 ; few\npm = static\n");
        let more = before.set("listen.backlog of [www]", "600", &none).unwrap();
        assert_eq!(text(&more), "[www]\n pm.max_children = 4\nlisten.backlog = 600 ; few\npm = static\n");
        assert_eq!(more.value_of("listen.backlog", &none).unwrap().0, "600");
        assert_eq!(before.value_of("listen.backlog", &none).unwrap().0, "-1");
        assert!(is_setting("listen.backlog of [www]") && is_setting("pm.max_children"));
        assert!(!is_setting("listen.backlog"), "nginx has one of this name");
        assert!(before.value_of("pm.start_servers", &none).is_err(), "it is static");
        assert!(before.set("pm.max_children", "many", &none).is_err() && before.set("pm", "static", &none).is_err());
    }

    /// php-fpm does not start with more children than may be idle.
    #[test]
    fn as_many_children_may_be_idle_as_there_are_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        let text = "[www]\npm.max_children = 9\npm = dynamic\npm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n";
        std::fs::write(&main, text).unwrap();
        let before = PoolFiles { config: config::read(&main).unwrap(), name: "www".to_owned() };
        let none = Requests::default();
        assert_eq!(before.value_of("pm.start_servers of [www]", &none).unwrap().0, "2");
        for (start, spare) in [("3", "3"), ("9", "9")] {
            let more = before.set("pm.start_servers of [www]", start, &none).unwrap();
            let told = String::from_utf8(more.config.files()[0].text.clone()).unwrap();
            let wanted = text.replace("start_servers = 2", &format!("start_servers = {start}"));
            assert_eq!(told, wanted.replace("max_spare_servers = 3", &format!("max_spare_servers = {spare}")));
        }
    }
}
