//! What came of a search's tests, in order: trials, and values with which the server does not start.

use std::collections::VecDeque;

use genkai_model::event::{NotStarted, Purpose};
use genkai_model::limit::{Ceiling, Law, Limit, Remedy};
use genkai_model::record::{Record, Trial};

use crate::capacity::each::Each;
use crate::capacity::law;

/// So many values of a setting above the present one that cannot be used, and no further one is tried.
const MOST: usize = 4;

/// What came of one test.
#[derive(Clone, Copy, Debug)]
enum Came<'r> {
    Trial(&'r Trial),
    NotStarted(&'r NotStarted),
}

/// The tests that were not told yet, and the values that cannot be used as far as it was told.
#[derive(Clone, Debug)]
pub(crate) struct Tests<'r> {
    rest: VecDeque<Came<'r>>,
    unusable: Vec<&'r NotStarted>,
    /// All trials of the search, told or not.
    search: Vec<&'r Trial>,
}

/// What is next.
pub(crate) enum Next<'r> {
    /// A trial.
    Trial(&'r Trial),
    /// No trial: the value cannot be used, and another is to be chosen.
    Unusable,
    /// Nothing was tried since.
    Nothing,
}

impl<'r> Tests<'r> {
    /// The tests of a record.
    pub(crate) fn of(record: &'r Record) -> Tests<'r> {
        let mut rest = VecDeque::new();
        let mut values = record.not_started.iter().filter(|(_, one)| one.purpose == Purpose::Counterfactual).peekable();
        for (begun, trial) in record.trials.iter().enumerate() {
            while let Some((_, value)) = values.next_if(|(before, _)| *before <= begun) {
                rest.push_back(Came::NotStarted(value));
            }
            if matches!(trial.started.purpose, Purpose::Counterfactual | Purpose::Repeat) {
                rest.push_back(Came::Trial(trial));
            }
        }
        rest.extend(values.map(|(_, value)| Came::NotStarted(value)));
        let of_search = |trial: &&Trial| {
            matches!(trial.started.purpose, Purpose::Break | Purpose::Measure | Purpose::Counterfactual)
        };
        Tests { rest, unusable: Vec::new(), search: record.trials.iter().filter(of_search).collect() }
    }

    /// The same with no tests left.
    pub(crate) fn over(&self) -> Tests<'r> {
        Tests { rest: VecDeque::new(), ..self.clone() }
    }

    /// What came of the next one.
    pub(crate) fn take(&mut self) -> Next<'r> {
        match self.rest.pop_front() {
            None => Next::Nothing,
            Some(Came::Trial(trial)) => Next::Trial(trial),
            Some(Came::NotStarted(value)) => {
                self.unusable.push(value);
                Next::Unusable
            }
        }
    }

    /// The next one, if it is one of those that are made again.
    pub(crate) fn again(&mut self) -> Option<&'r Trial> {
        match self.rest.front() {
            Some(Came::Trial(trial)) if trial.started.purpose == Purpose::Repeat => {
                let trial = *trial;
                self.rest.pop_front();
                Some(trial)
            }
            _ => None,
        }
    }

    /// Whether none is left.
    pub(crate) fn is_told(&self) -> bool {
        self.rest.is_empty()
    }

    /// What one more of the setting of `limit`, which was met in `at`, takes by the last trial before that had a smaller value; none where a
    /// formula tells that.
    pub(crate) fn each(&self, limit: &Limit, at: &Trial) -> Option<Each> {
        let value =
            |trial: &Trial| trial.limits.limits.iter().find(|one| one.id == limit.id).map(|one| law::setting(&one.law));
        let smaller = |trial: &&&Trial| value(trial).is_some_and(|value| value < law::setting(&limit.law));
        let before = self.search.iter().filter(|trial| trial.number < at.number).rfind(smaller)?;
        Each::of(limit, before, at)
    }

    /// `limit` with a ceiling half way to the least value that cannot be used; none where no value is left to be tried.
    pub(crate) fn usable(&self, limit: &Limit) -> Option<Limit> {
        let (Law::Tried { word, .. }, Some(remedy)) = (&limit.law, &limit.remedy) else { return Some(limit.clone()) };
        let mine = self.unusable.iter().filter(|one| one.setting == remedy.setting);
        if let Some(word) = word {
            return mine.clone().all(|one| one.value != *word).then(|| limit.clone());
        }
        let present = law::setting(&limit.law);
        let numbers = mine.filter_map(|one| Some((one.value.parse::<f64>().ok()?, *one)));
        let above: Vec<_> = numbers.filter(|(value, _)| *value > present).collect();
        let Some((least, one)) = above.iter().min_by(|one, other| one.0.total_cmp(&other.0)) else {
            return Some(limit.clone());
        };
        let value = ((present + least) / 2.0).floor();
        if above.len() >= MOST || value <= present {
            return None;
        }
        let not = if one.listens { "does not answer" } else { "does not start" };
        let ceiling = Ceiling { value, by: format!("it {not} with {} = {least}", remedy.setting) };
        let tighter = remedy.ceiling.as_ref().is_none_or(|known| value < known.value);
        let ceiling = if tighter { Some(ceiling) } else { remedy.ceiling.clone() };
        Some(Limit { remedy: Some(Remedy { ceiling, ..remedy.clone() }), ..limit.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::limit::RemedyUnit;

    fn limit(value: f64, word: Option<&str>) -> Limit {
        let law = Law::Tried { value, word: word.map(str::to_owned) };
        let remedy = serde_json::json!({"setting": "n", "unit": RemedyUnit::Count, "step": 1.0, "parts": 1.0});
        Limit { law, remedy: serde_json::from_value(remedy).ok(), ..Limit::named("command.n", "command", "n") }
    }

    fn ceiling(present: f64, refused: &[&str]) -> Option<Option<f64>> {
        let all: Vec<NotStarted> = refused.iter().map(|value| refusal(value)).collect();
        let tests = Tests { rest: VecDeque::new(), unusable: all.iter().collect(), search: Vec::new() };
        let usable = tests.usable(&limit(present, None))?;
        Some(usable.remedy.unwrap().ceiling.map(|ceiling| ceiling.value))
    }

    fn refusal(value: &str) -> NotStarted {
        NotStarted {
            setting: "n".to_owned(),
            value: value.to_owned(),
            said: String::new(),
            purpose: Purpose::Counterfactual,
            listens: false,
        }
    }

    #[test]
    fn a_value_between_the_present_one_and_what_cannot_be_used_is_next_until_there_is_none() {
        assert_eq!(ceiling(4.0, &[]), Some(None));
        assert_eq!(ceiling(4.0, &["3"]), Some(None), "below the present one");
        assert_eq!(ceiling(4.0, &["8"]), Some(Some(6.0)));
        assert_eq!(ceiling(4.0, &["8", "6"]), Some(Some(5.0)));
        assert_eq!(ceiling(4.0, &["8", "6", "5"]), None);
        assert_eq!(ceiling(100.0, &["200", "150", "125", "112"]), None, "so many are enough");
    }

    #[test]
    fn what_starts_and_does_not_answer_is_told_so() {
        let silent = NotStarted { listens: true, ..refusal("8") };
        let by = |all: &[&NotStarted]| {
            let tests = Tests { rest: VecDeque::new(), unusable: all.to_vec(), search: Vec::new() };
            tests.usable(&limit(4.0, None)).unwrap().remedy.unwrap().ceiling.unwrap().by
        };
        assert_eq!(by(&[&refusal("9"), &silent]), "it does not answer with n = 8");
        assert_eq!(by(&[&silent, &refusal("6")]), "it does not start with n = 6");
    }

    #[test]
    fn a_word_that_cannot_be_used_is_not_tried_again() {
        let word = refusal("free");
        let tests = Tests { rest: VecDeque::new(), unusable: vec![&word], search: Vec::new() };
        assert!(tests.usable(&limit(0.0, Some("free"))).is_none());
        assert!(tests.usable(&limit(0.0, Some("loose"))).is_some());
    }
}
