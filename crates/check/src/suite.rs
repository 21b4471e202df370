//! The joined verdict of several runs: each part of it against its own record, and what is told of all together against all records.

use genkai_model::statement::{Checked, Statement};
use serde_json::Value as Json;

use crate::events::Events;
use crate::expected::Expected;
use crate::{Opinion, hold, workers};

/// A run of several: its folder, seen from that of the joined verdict, and its record.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its folder.
    pub folder: String,
    /// Its lines.
    pub lines: String,
}

/// What a joined verdict has of single runs: the list, and where in an item of it the run's own verdict stands.
const OWN: [(&str, &str); 2] = [("parts", "verdict"), ("changes", "comparison")];

/// Checks `statements` of the joined verdict of these runs. What a part says of its loads in people's words is taken as it stands.
///
/// # Errors
/// When the lines of one are no record at all.
pub fn joined(parts: &[Part], verdict: &Json, statements: &[Statement]) -> Result<Checked, String> {
    let read = |part: &Part| Events::read(&part.lines).map_err(|e| format!("{}: {e}", part.folder));
    let all = parts.iter().map(read).collect::<Result<Vec<Events>, String>>()?;
    let (mut checked, mut expected) = (Checked::default(), Expected::default());
    workers::joined(&all.iter().collect::<Vec<_>>(), verdict, &mut expected);
    interrupted(&all, verdict, &mut expected);
    let mut rest: Vec<Statement> = statements.to_vec();
    for (list, field) in OWN {
        for (i, item) in verdict.get(list).and_then(Json::as_array).into_iter().flatten().enumerate() {
            let name = item.get("name").and_then(Json::as_str).unwrap_or_default();
            let before = format!("/{list}/{i}/{field}");
            let Some(part) = parts.iter().find(|part| part.folder == name) else {
                expected.there(format!("/{list}/{i}"), false, "there is no record of such a part", None);
                continue;
            };
            let own =
                |one: &Statement| one.address.strip_prefix(&before).filter(|rest| rest.starts_with('/')).is_some();
            let (of_part, others) = rest.into_iter().partition(own);
            rest = others;
            let told = item.get(field).cloned().unwrap_or_default();
            add(&mut checked, Opinion::of(&part.lines, &told)?.on(&told, &stripped(of_part, &before)), &before);
        }
    }
    hold(&expected, verdict, &rest, &mut checked);
    Ok(checked)
}

/// Statements with the addresses that they have in their own verdict.
fn stripped(all: Vec<Statement>, before: &str) -> Vec<Statement> {
    let strip = |one: Statement| Statement { address: one.address.replacen(before, "", 1), ..one };
    all.into_iter().map(strip).collect()
}

/// That a record which has no end, or was interrupted, makes the whole one that was cut off. What was ended between two runs has no record.
fn interrupted(all: &[Events], verdict: &Json, expected: &mut Expected) {
    let whole = |events: &Events| {
        let end = events.of("run_ended").last();
        end.is_some_and(|end| {
            end.json.get("interrupted") != Some(&true.into()) && end.json.get("failure").is_none_or(Json::is_null)
        })
    };
    if !all.iter().all(whole) && verdict.get("interrupted") != Some(&true.into()) {
        expected.word("/interrupted", true, "a record has no end, or was interrupted", None);
    }
}

/// Adds what was found of a part, whose own verdict stands at `before`.
fn add(sum: &mut Checked, part: Checked, before: &str) {
    sum.recomputed += part.recomputed;
    sum.bounded += part.bounded;
    sum.unchecked += part.unchecked;
    sum.decided += part.decided;
    for (source, count) in part.unchecked_of {
        *sum.unchecked_of.entry(source).or_default() += count;
    }
    // What no line of a part's record fits is told where that part is checked.
    for mut one in part.differences {
        one.statement.address.insert_str(0, before);
        sum.differences.push(one);
    }
    for mut one in part.contradicted {
        one.address.insert_str(0, before);
        sum.contradicted.push(one);
    }
}
