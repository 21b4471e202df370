//! What must stand in a list of a verdict, wherever in it; and of which kinds nothing else may.

use genkai_model::statement::Contradicted;
use serde_json::Value as Json;

/// What a caveat is of.
const KIND: &str = "caveat";
/// Part of a number by which two computations of it may differ.
const SLACK: f64 = 1e-6;

/// What the events say of lists.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    wanted: Vec<Wanted>,
    /// Kinds of which nothing but what is wanted may be in a list.
    whole: Vec<(String, &'static str)>,
}

/// Something that a list must have.
#[derive(Debug)]
struct Wanted {
    list: String,
    /// The fields by which it is known.
    item: Json,
    why: String,
    line: Option<usize>,
}

impl Listed {
    /// The list at `list` has an item with these fields.
    pub(crate) fn tells(&mut self, list: impl Into<String>, item: Json, why: &str, line: Option<usize>) {
        self.wanted.push(Wanted { list: list.into(), item, why: why.to_owned(), line });
    }

    /// Of these kinds the list at `list` has nothing but what is told.
    pub(crate) fn only(&mut self, list: &str, kinds: &[&'static str]) {
        self.whole.extend(kinds.iter().map(|kind| (list.to_owned(), *kind)));
    }

    /// What is missing in the lists of a verdict (told at the place behind the last, RFC 6901, section 4), and what is there without a ground.
    /// Beside it how many were found.
    pub(crate) fn objections(&self, verdict: &Json) -> (Vec<Contradicted>, u64) {
        let items = |list: &str| verdict.pointer(list).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let missing = self.wanted.iter().filter(|one| !items(&one.list).iter().any(|item| has(item, &one.item)));
        let missing = missing.map(|one| Contradicted {
            address: format!("{}/-", one.list),
            stated: crate::NOTHING.to_owned(),
            events: format!("{} ({})", one.item, one.why),
            line: one.line,
        });
        let mut all: Vec<Contradicted> = missing.collect();
        let found = self.wanted.len() - all.len();
        for (list, kind) in &self.whole {
            let own =
                items(list).iter().enumerate().filter(|(_, item)| item.get(KIND).is_some_and(|told| told == kind));
            let wanted = |item: &Json| self.wanted.iter().any(|one| one.list == *list && has(item, &one.item));
            all.extend(own.filter(|(_, item)| !wanted(item)).map(|(i, item)| Contradicted {
                address: format!("{list}/{i}"),
                stated: item.to_string(),
                events: format!("no `{kind}` that is so follows"),
                line: None,
            }));
        }
        (all, found as u64)
    }
}

/// Whether `told` has everything of `wanted`.
fn has(told: &Json, wanted: &Json) -> bool {
    match (told, wanted) {
        (Json::Object(told), Json::Object(wanted)) => {
            wanted.iter().all(|(name, value)| has(told.get(name).unwrap_or(&Json::Null), value))
        }
        (Json::Array(told), Json::Array(wanted)) => {
            told.len() == wanted.len() && told.iter().zip(wanted).all(|(told, wanted)| has(told, wanted))
        }
        (Json::Number(_), Json::Number(_)) => {
            let (a, b) = (told.as_f64().unwrap_or(f64::NAN), wanted.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= SLACK * a.abs().max(b.abs()).max(1e-6)
        }
        _ => told == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_in_a_list_is_told_and_what_has_no_ground() {
        let mut listed = Listed::default();
        listed.tells("/caveats", json!({ "caveat": "died", "name": "a", "turns": 2.0 }), "seen", Some(7));
        listed.only("/caveats", &["died"]);
        let said = |caveats: Json| {
            let (all, found) = listed.objections(&json!({ "caveats": caveats }));
            (all.into_iter().map(|one| one.address).collect::<Vec<_>>(), found)
        };
        let own = json!({ "caveat": "died", "name": "a", "turns": 2 });
        assert_eq!(said(json!([{ "caveat": "other" }, own])), (vec![], 1));
        assert_eq!(said(json!([])), (vec!["/caveats/-".to_owned()], 0));
        let other = json!({ "caveat": "died", "name": "a", "turns": 3 });
        assert_eq!(said(json!([other])), (vec!["/caveats/-".to_owned(), "/caveats/0".to_owned()], 0));
        assert_eq!(said(json!([own, other])), (vec!["/caveats/1".to_owned()], 1));
        let (all, _) = listed.objections(&json!({}));
        assert_eq!((all.len(), all[0].line), (1, Some(7)), "no list at all");
    }
}
