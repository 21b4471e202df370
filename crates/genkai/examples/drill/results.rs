//! What cases came to, kept from one run to the next: a line of JSON for each case, in the order of cases. A later run of a case takes the
//! place of the earlier one, whatever came of it; what a case of another wording came to counts no more.

use std::io;
use std::path::Path;
use std::time::Duration;

use genkai_model::seal::checksum;
use serde::{Deserialize, Serialize};

use crate::cases::{self, Case};
use crate::judge::Judged;
use crate::run::{Done, Unjudged};

/// A case's last result.
#[derive(Serialize, Deserialize)]
struct Kept {
    name: String,
    /// Of the case as it was then.
    case: String,
    day: String,
    machine: String,
    took_ms: u64,
    judged: Result<Judged, Unjudged>,
    again: Option<Judged>,
}

/// A checksum of all that a case is, wherever the repository lies.
fn fingerprint(case: &Case) -> String {
    checksum(format!("{case:?}").replace(env!("CARGO_MANIFEST_DIR"), "").as_bytes())
}

fn lines(file: &Path) -> io::Result<Vec<Kept>> {
    let text = match std::fs::read_to_string(file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
}

/// Puts a result in the place of the earlier one.
///
/// # Errors
/// When the file cannot be read or written.
pub(crate) fn keep(file: &Path, done: &Done<'_>, machine: &str) -> io::Result<()> {
    let mut all = lines(file)?;
    all.retain(|kept| kept.name != done.case.name);
    all.push(Kept {
        name: done.case.name.clone(),
        case: fingerprint(done.case),
        day: done.day.clone(),
        machine: machine.to_owned(),
        took_ms: done.took.as_millis().try_into().unwrap_or(u64::MAX),
        judged: done.judged.clone(),
        again: done.again.clone(),
    });
    let place = |kept: &Kept| cases::all().iter().position(|case| case.name == kept.name);
    // Those of which there is no case any more go.
    all.retain(|kept| place(kept).is_some());
    all.sort_by_key(place);
    let text: Result<Vec<String>, _> = all.iter().map(serde_json::to_string).collect();
    // Whoever ends the drill meanwhile leaves the earlier file.
    let new = file.with_extension("new");
    std::fs::write(&new, text?.join("\n") + "\n")?;
    std::fs::rename(new, file)
}

/// The last result of each case as it is now, and the machines that they are of.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read(file: &Path) -> io::Result<(Vec<Done<'static>>, String)> {
    let kept = lines(file)?;
    let of = |case: &'static Case| {
        let kept = kept.iter().find(|kept| kept.name == case.name && kept.case == fingerprint(case))?;
        let done = Done {
            case,
            judged: kept.judged.clone(),
            again: kept.again.clone(),
            took: Duration::from_millis(kept.took_ms),
            day: kept.day.clone(),
        };
        Some((done, kept.machine.as_str()))
    };
    let (all, mut machines): (Vec<_>, Vec<_>) = cases::all().iter().filter_map(of).unzip();
    machines.sort_unstable();
    machines.dedup();
    Ok((all, machines.join("; ")))
}
