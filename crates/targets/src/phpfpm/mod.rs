//! php-fpm: what its configuration means and what is wrong with it, told from its text alone. (As a server it runs behind
//! [`crate::wordpress`].)

mod asked;
pub mod config;
mod ended;
mod forked;
mod given;
mod ini;
pub mod limits;
mod looks;
mod private;
mod refused;
mod remarks;
mod serving;
mod settings;
mod share;
mod slow;
pub(crate) mod status;
mod watched;

use genkai_model::explain::{Explanation, Timer};
use genkai_model::units::Span;

use crate::error::TargetError;
use crate::explain::{Explain, explanation};
use crate::files::entry::Entries;
use crate::product::{Entry, Role};
use limits::Pool;

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "php-fpm",
    called: "php-fpm",
    program: ("php-fpm", &[]),
    role: Role::Behind(Some((serving::serves, Some(private::twin)))),
    prepare: None,
    explain: Some(explain),
    ask: Some((asked::asked, "`php-fpm -t` of a private copy")),
    looks: looks::LOOKS,
    clamps: &[],
    unknown: "",
    leaves_out: false,
};

/// Timers of a pool and what they end.
const TIMERS: &[(&str, &str)] = &[
    ("request_terminate_timeout", "a request: its child is killed, and the proxy answers an error (502 or 503)"),
    (
        "request_slowlog_timeout",
        "nothing: a request of that length is written to the slowlog, its child held up for it",
    ),
    ("pm.process_idle_timeout", "a child without work, with pm = ondemand"),
];

/// Explains a configuration. `php-fpm.conf`, or a pool's file alone.
///
/// # Errors
/// A file that is missing, unreadable, or not php-fpm's syntax.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, machine, memory, .. } = *what;
    let config = config::read(main)?;
    let pools: Vec<Pool> = config::pools(&config).into_iter().map(|name| Pool::of(&config, name, machine)).collect();
    let limits = limits::of(&config, &pools, machine, memory);
    let files = config.files().iter().map(|f| f.path.clone());
    Ok(explanation(
        "php-fpm",
        files,
        limits,
        pools.iter().flat_map(|pool| timers(&config, pool)).collect(),
        remarks::of(&config, &pools, machine, memory),
    ))
}

fn timers(config: &Entries, pool: &Pool) -> Vec<Timer> {
    let timer = |(key, ends): &(&str, &str)| {
        let entry = config.value_in(&pool.name, key)?;
        let seconds = limits::seconds(&entry.value())?;
        (seconds > 0).then(|| Timer {
            setting: format!("{key} of [{}]", pool.name),
            value: entry.value(),
            origin: config.origin(entry),
            span: Some(Span::from_secs(seconds)),
            ends: (*ends).to_owned(),
        })
    };
    TIMERS.iter().filter_map(timer).collect()
}
