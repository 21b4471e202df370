//! What a Caddyfile means and what is wrong with it, told from its text alone: nothing is started, and Caddy need not be installed.

mod remarks;
mod timers;
mod values;

use genkai_model::explain::Explanation;

use super::config::{Config, variables};
use super::errors;
use super::limits::{self, Facts};
use super::route::{Address, Ports, Route};
use super::secured;
use crate::error::TargetError;
use crate::explain::{Explain, explanation, in_place_of_errors};
use crate::files::Requests;
use crate::product::explained as explained_key;

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or not a Caddyfile.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, requests, machine, .. } = *what;
    let config = Config::read(main, variables())?;
    let requests = &asked(&config, requests);
    let facts = Facts { asked: requests.host.clone(), ..Facts::of(&config, None, requests, machine) };
    let mut limits = limits::of(&facts);
    limits.extend(explained_key("caddy", secured::certificate(&config, requests).as_ref(), secured::TOLD));
    let files = config.files().map(|(_, file)| file.path.clone());
    let remarks = remarks::of(&config, &facts, requests);
    let explained = explanation("caddy", files, limits, timers::of(&config, requests), remarks);
    let answer = Route::find(&config, requests).and_then(|route| errors::answer(route.site));
    Ok(in_place_of_errors(explained, "Caddy", |status| {
        let (line, other) = answer.as_ref().filter(|(_, other)| *other != status)?;
        Some(format!("{other} (respond at {})", config.place(line)))
    }))
}

/// The requests that are looked at: where no site takes those to `localhost`, which is what nobody has chosen, those to the first site.
fn asked(config: &Config, requests: &Requests) -> Requests {
    let mut asked = requests.clone();
    if requests.host == "localhost" && Route::find(config, requests).is_none() {
        let addresses = config.sites().iter().filter(|site| !site.is_route()).flat_map(|site| &site.addresses);
        let mut hosts =
            addresses.filter_map(|word| Address::parse(&word.value, Ports::of(config)).map(|address| address.host));
        asked.host = hosts.find(|host| !host.is_empty()).map_or(asked.host, |host| host.replace('*', "any"));
    }
    asked
}
