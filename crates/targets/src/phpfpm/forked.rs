//! How fast a dynamic pool has children: who comes faster waits for them, however many there may be.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::config;
use super::limits::Pool;
use crate::files::ConfigError;
use crate::files::entry::Entries;
use crate::limits::{log, raised, reached, valued};
use crate::settings::SourcedValue;
use crate::upstreams::placed;

/// Connections that wait while all children are busy and the pool has fewer than it may have, so that more are being made; after its subject.
pub(super) const QUEUED: &str = "queued_while_forking";
/// Children at the start.
pub(super) const START: &str = "pm.start_servers";
/// Children that are kept idle, at most.
pub(super) const MOST_SPARE: &str = "pm.max_spare_servers";
const SPARE: &str = "pm.min_spare_servers";

/// What a pool of `pm = dynamic` has of children before anybody comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Forked {
    /// `pm.start_servers`.
    start: SourcedValue<u64>,
    /// `pm.min_spare_servers`.
    spare: SourcedValue<u64>,
}

impl Forked {
    /// That of the pool of this name; none where all are there from the beginning (`static`), or each is made for who comes (`ondemand`).
    pub(super) fn of(config: &Entries, name: &str) -> Option<Forked> {
        let manager = config.value_in(name, "pm")?.value();
        let number = |key: &str| {
            let entry = config.value_in(name, key)?;
            let value = super::limits::number(&entry.value())?;
            Some(SourcedValue { value, written: entry.value(), origin: config.origin(entry) })
        };
        let spare = number(SPARE).filter(|_| manager.eq_ignore_ascii_case("dynamic"))?;
        let start = match number(START).filter(|held| held.value > 0) {
            Some(written) => written,
            None => unwritten(spare.value, number(MOST_SPARE)?.value),
        };
        Some(Forked { start, spare })
    }

    /// It as a limit; none where all that there may be are there from the beginning. What is somebody else's began long ago, so that what was there at
    /// the start says nothing any more.
    pub(super) fn limit(&self, pool: &Pool, subject: &str, ours: bool, is_fed: bool) -> Option<Limit> {
        let most = pool.children.as_ref()?.value;
        let Forked { start, spare } = self;
        let (key, held) = if ours { (START, start) } else { (SPARE, spare) };
        let seen = if is_fed { Strength::Supports } else { Strength::Consistent };
        let rises = format!(
            "in each second in which fewer than {SPARE} {} are idle as many more as are missing, but no more than 1, 2, 4, ... 32, up to {most}",
            spare.written
        );
        let lift = format!("; to lift it, raise {SPARE}{}, as far as memory reaches", placed(&spare.origin));
        (held.value < most).then(|| Limit {
            caps: match ours {
                true => "children at the start; further ones are forked while clients wait for them".to_owned(),
                false => format!("children that are idle before anybody comes; further ones are forked while clients wait for them{lift}"),
            },
            formula: if ours { format!("{} children at the start; {rises}", start.value) } else { rises },
            source: "php-fpm: sapi/fpm/fpm/fpm_process_ctl.c: fpm_pctl_perform_idle_server_maintenance, FPM_MAX_SPAWN_RATE".to_owned(),
            signatures: vec![
                reached(&format!("{subject}.{QUEUED}"), 1.0, seen),
                log(&signature(pool), seen),
            ],
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
            remedy: ours.then(|| Remedy {
                ceiling: Some(Ceiling { value: most as f64, by: format!("{most} children at most") }),
                note: Some(format!(
                    "{MOST_SPARE} must not be less: it is raised along, as more than that are ended, one a second, where they are idle. For clients who come later \
                     {SPARE} counts: as many are idle before they come"
                )),
                // All of them: how many of fewer would be there in time depends on how fast the load rises.
                ..raised(START, RemedyUnit::Count, most as f64)
            }),
            ..valued(
                &format!("php-fpm.{}.{key}", pool.name),
                "php-fpm",
                &format!("{key} of [{}]", pool.name),
                held,
            )
        })
    }
}

/// Children at the start where nothing says how many (sapi/fpm/fpm/fpm_conf.c: `fpm_conf_process_all_pools`).
fn unwritten(spare: u64, most: u64) -> SourcedValue<u64> {
    let value = spare.saturating_add(most.saturating_sub(spare) / 2);
    SourcedValue::plain(value, Origin::Default("php-fpm: sapi/fpm/fpm/fpm_conf.c".to_owned()))
}

/// The same of the pool of that name, as it is told.
pub(super) fn started(config: &Entries, name: &str) -> Option<(String, Origin)> {
    Forked::of(config, name).map(|held| (held.start.written, held.start.origin))
}

/// The files where at least `start` children may be idle: php-fpm starts with no more.
pub(super) fn with_spare(config: Entries, name: &str, start: u64) -> Result<Entries, ConfigError> {
    let text = format!("{MOST_SPARE} = {start}");
    let entry = config.value_in(name, MOST_SPARE);
    let less = |value: &str| super::limits::number(value).is_some_and(|most| most < start);
    match entry.filter(|entry| less(&entry.value())).cloned() {
        Some(entry) => config.with_line(Some(&entry), text, &config::Ini),
        None => Ok(config),
    }
}

/// What php-fpm's message is called that the pool has too few idle children for some seconds.
pub(super) fn signature(pool: &Pool) -> String {
    format!("php-fpm.{}.seems_busy", pool.name)
}

/// Whether a line is that message.
pub(super) fn is_told(pool: &Pool, line: &str) -> bool {
    line.contains(&format!("[pool {}] seems busy (you may need to increase pm.start_servers", pool.name))
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::{Law, Sign};
    use genkai_place::caps::Machine;

    use super::*;

    fn of(text: &str, ours: bool) -> (Option<Limit>, Pool) {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        std::fs::write(&main, format!("[www]\nlisten = 9000\npm.max_children = 20\n{text}")).unwrap();
        let config = config::read(&main).unwrap();
        let pool = Pool::of(&config, "www", &Machine::of(&Default::default()));
        let limit = Forked::of(&config, "www").and_then(|forked| forked.limit(&pool, "copy", ours, true));
        (limit, pool)
    }

    const SPARES: &str = "pm = dynamic\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n";

    #[test]
    fn children_that_are_made_while_clients_wait_are_a_limit_of_a_dynamic_pool() {
        let (own, pool) = of(&format!("{SPARES}pm.start_servers = 3\n"), true);
        let own = own.unwrap();
        assert_eq!(
            (own.id.as_str(), own.value.as_str(), &own.law),
            ("php-fpm.www.pm.start_servers", "3", &Law::Unknown)
        );
        let remedy = own.remedy.unwrap();
        assert_eq!((remedy.setting.as_str(), remedy.step, remedy.ceiling.unwrap().value), (START, 20.0, 20.0));
        assert!(own.signatures.iter().any(|one| one.sign == Sign::Log("php-fpm.www.seems_busy".to_owned())));
        let line = "[27-Nov-2026 13:00:00] WARNING: [pool www] seems busy (you may need to increase pm.start_servers, or pm.min/max_spare_servers), \
                    spawning 8 children, there are 0 idle, and 9 total children";
        assert!(is_told(&pool, line) && !is_told(&pool, &line.replace("www", "w")));
        let (others, _) = of(SPARES, false);
        let others = others.unwrap();
        assert_eq!((others.id.as_str(), others.value.as_str()), ("php-fpm.www.pm.min_spare_servers", "1"));
        assert!(
            others.remedy.is_none() && others.caps.contains("to lift it, raise pm.min_spare_servers (/"),
            "{}",
            others.caps
        );
        // What is not written is what lies between.
        assert_eq!(of(SPARES, true).0.unwrap().value, "2");
    }

    #[test]
    fn where_all_children_are_there_or_each_is_made_for_who_comes_nobody_waits_for_a_second() {
        let all = SPARES.replace("= 3", "= 20") + "pm.start_servers = 20\n";
        for text in ["pm = static\n", "pm = ondemand\n", all.as_str()] {
            assert_eq!(of(text, true).0, None, "{text}");
        }
    }
}
