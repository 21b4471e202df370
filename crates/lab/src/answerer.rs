//! Who answered a request: the product under test itself, by which directive, or what stands behind it. A directive is named where the
//! server's own words and the configuration agree, or where no other can answer so.

use genkai_engine::Asked;
use genkai_targets::product::OwnAnswer;

/// What is known of one request that was made before any load.
#[derive(Clone, Debug)]
pub(crate) struct Followed<'f> {
    /// What may have answered, as the configuration says.
    pub(crate) answers: &'f [OwnAnswer],
    /// What came back.
    pub(crate) asked: &'f Asked,
    /// Messages of the server's log that are known.
    pub(crate) logged: &'f [String],
    /// Whether a request came to what stands behind; none: that is not known.
    pub(crate) passed: Option<bool>,
}

/// Who answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answerer<'f> {
    /// This directive.
    Directive(&'f OwnAnswer),
    /// One of these, or (true) what stands behind.
    OneOf(Vec<&'f OwnAnswer>, bool),
    /// The product itself, and no directive that is known says so.
    Itself,
    /// What stands behind it.
    Behind,
    /// That is not known.
    Unknown,
}

impl<'f> Followed<'f> {
    /// Who answered.
    pub(crate) fn by(&self) -> Answerer<'f> {
        let fitting: Vec<&OwnAnswer> = self.answers.iter().filter(|one| self.fits(one)).collect();
        let is_logged = |one: &&&OwnAnswer| one.signature.as_ref().is_some_and(|name| self.logged.contains(name));
        let logged: Vec<&OwnAnswer> = fitting.iter().filter(is_logged).copied().collect();
        match (&logged[..], self.passed) {
            ([one], _) => return Answerer::Directive(one),
            ([_, ..], _) => return Answerer::OneOf(logged, false),
            ([], Some(true)) if fitting.is_empty() => return Answerer::Behind,
            ([], Some(true)) => return Answerer::OneOf(fitting, true),
            ([], _) => {}
        }
        let certain: Vec<&OwnAnswer> = fitting.iter().filter(|one| one.certain).copied().collect();
        // What would have said so in the log has not.
        let silent: Vec<&OwnAnswer> = fitting.into_iter().filter(|one| one.signature.is_none()).collect();
        match (&certain[..], &silent[..], self.passed) {
            ([one], ..) => Answerer::Directive(one),
            ([_, ..], ..) => Answerer::OneOf(certain, false),
            ([], [one], Some(false)) if !one.guess => Answerer::Directive(one),
            ([], [], Some(_)) => Answerer::Itself,
            ([], [], None) => Answerer::Unknown,
            ([], _, passed) => Answerer::OneOf(silent, passed.is_none()),
        }
    }

    fn fits(&self, one: &OwnAnswer) -> bool {
        match self.asked {
            Asked::Answered { status, .. } => one.statuses.contains(status),
            Asked::Closed | Asked::Refused { .. } | Asked::Nothing => one.statuses.is_empty(),
            Asked::Garbled | Asked::NotOffered { .. } => false,
        }
    }
}

impl Answerer<'_> {
    /// The end of a sentence that says what was answered: by whom.
    pub(crate) fn told(&self, product: &str) -> String {
        let list = |all: &[&OwnAnswer]| all.iter().map(|one| one.named()).collect::<Vec<_>>().join(", ");
        match self {
            Answerer::Directive(one) => format!(" by {product} itself: {} ({})", one.named(), one.when),
            Answerer::OneOf(all, behind) => {
                let behind = if *behind { ", or what stands behind it" } else { "" };
                format!("; cannot tell which of these does it: {} of {product}{behind}", list(all))
            }
            Answerer::Itself => format!(" by {product} itself; cannot tell by which directive"),
            // Which of the two makes the status is not known.
            Answerer::Behind => format!(" after it came to what stands behind {product}"),
            Answerer::Unknown => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::Origin;

    use super::*;

    fn one(setting: &str, status: u16, signature: Option<&str>, certain: bool) -> OwnAnswer {
        OwnAnswer {
            setting: setting.to_owned(),
            value: String::new(),
            origin: Origin::Given,
            statuses: vec![status],
            signature: signature.map(str::to_owned),
            counter: None,
            law: None,
            silent: false,
            certain,
            of_path: false,
            guess: false,
            late: false,
            when: String::new(),
            kind: "",
        }
    }

    fn by(answers: &[OwnAnswer], status: u16, logged: &[&str], passed: Option<bool>) -> String {
        let asked = Asked::Answered { status, location: None };
        let logged: Vec<String> = logged.iter().map(|name| (*name).to_owned()).collect();
        let name = |one: &&OwnAnswer| one.setting.clone();
        match (Followed { answers, asked: &asked, logged: &logged, passed }).by() {
            Answerer::Directive(one) => one.setting.clone(),
            Answerer::OneOf(all, behind) => {
                all.iter().map(name).collect::<Vec<_>>().join("|") + if behind { "|behind" } else { "" }
            }
            Answerer::Itself => "itself".to_owned(),
            Answerer::Behind => "behind".to_owned(),
            Answerer::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn the_servers_own_word_counts_most() {
        let both = [one("deny", 403, Some("forbidden"), false), one("return", 403, None, true)];
        assert_eq!(by(&both, 403, &["forbidden"], Some(false)), "deny");
        assert_eq!(by(&both, 403, &[], Some(false)), "return", "the other would have said so");
        assert_eq!(by(&both, 403, &[], Some(true)), "deny|return|behind", "the backend was asked, too");
        let two = [one("a", 403, Some("x"), false), one("b", 403, Some("x"), true)];
        assert_eq!(by(&two, 403, &["x"], None), "a|b");
    }

    #[test]
    fn what_may_answer_is_named_only_where_nothing_else_can() {
        let may = [one("try_files", 404, None, false)];
        assert_eq!(by(&may, 404, &[], Some(false)), "try_files");
        assert_eq!(by(&may, 404, &[], None), "try_files|behind");
        assert_eq!(by(&may, 404, &[], Some(true)), "try_files|behind");
        assert_eq!(by(&may, 403, &[], Some(false)), "itself");
        assert_eq!(by(&may, 403, &[], Some(true)), "behind");
        assert_eq!(by(&may, 403, &[], None), "unknown");
        let two = [one("auth_request", 401, None, false), one("auth_basic", 401, None, false)];
        assert_eq!(by(&two, 401, &[], Some(false)), "auth_request|auth_basic");
        let guess = [OwnAnswer { guess: true, ..one("access_by_lua_file", 403, None, false) }];
        assert_eq!(by(&guess, 403, &[], Some(false)), "access_by_lua_file", "it may");
        assert_eq!(by(&guess, 403, &[], None), "access_by_lua_file|behind");
        let logs = [one("deny", 403, Some("forbidden"), false)];
        assert_eq!(by(&logs, 403, &[], Some(false)), "itself", "its message is missing");
    }
}
