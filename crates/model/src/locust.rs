//! A load that Locust makes: its workers run a locustfile, genkai is their master.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// The workers of a load that Locust makes, and what they run.
///
/// Everything that is measured of such a load is what they report: a sum every [`WINDOW`](Locust::WINDOW), with times in which failed requests
/// have their part, rounded to two digits. What they do not report (connections, how long requests wait for one, what was cut off at the end)
/// is not known, and its fields in intervals mean nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Locust {
    /// The locustfile.
    pub file: PathBuf,
    /// The program that was asked what is in it, and that runs it where workers are started.
    pub program: PathBuf,
    /// Its version, e.g. `2.47.0`.
    pub version: String,
    /// Worker processes.
    pub workers: u16,
    /// Where workers are waited for that others start (`HOST:PORT`); none: they are started on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bind: Option<String>,
    /// The site that users ask for (`NAME` or `NAME:PORT`, their Host), where the file's classes name one as their host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The user classes of the file, by name.
    pub classes: Vec<UserClass>,
}

/// A user class of a locustfile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserClass {
    /// Its name.
    pub name: String,
    /// How many users are of it, beside those of the other classes (`weight`).
    pub weight: f64,
    /// So many users are of it whatever its weight, before any other (`fixed_count`); 0: its weight decides.
    #[serde(default, skip_serializing_if = "is_none")]
    pub fixed: u32,
    /// The mean pause between two tasks of a user (`wait_time`); none: it depends on what a user does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Span>,
}

/// Left out where no number is fixed.
fn is_none(fixed: &u32) -> bool {
    *fixed == 0
}

impl Locust {
    /// Between two reports of a worker (`WORKER_REPORT_INTERVAL` of Locust's `runners.py`): nothing of a load is known in finer steps but in
    /// which second requests ended.
    pub const WINDOW: Span = Span::from_secs(3);

    /// The mean pause of one of `users` users: as many of a class as are fixed, the others by weight; none where that of one of them is not known.
    pub fn pause(&self, users: u32) -> Option<Span> {
        let fixed: u32 = self.classes.iter().map(|class| class.fixed).sum();
        let others = f64::from(users.saturating_sub(fixed));
        let weights: f64 = self.classes.iter().filter(|class| class.fixed == 0).map(|class| class.weight).sum();
        let of = |class: &UserClass| match class.fixed {
            0 if weights > 0.0 => others * class.weight / weights,
            0 => 0.0,
            // With fewer users than are fixed, each class has its part of them.
            fixed_of_it => f64::from(fixed_of_it) * (f64::from(users.min(fixed)) / f64::from(fixed)),
        };
        let each = self.classes.iter().map(|class| (of(class), class.pause)).filter(|(count, _)| *count > 0.0);
        let (mut count, mut seconds) = (0.0, 0.0);
        for (many, pause) in each {
            count += many;
            seconds += many * pause?.as_secs_f64();
        }
        (count > 0.0).then(|| Span::from_secs_f64(seconds / count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_pause_is_that_of_all_users_or_not_known() {
        let class = |weight, pause| UserClass { name: "A".to_owned(), weight, fixed: 0, pause };
        let of = |classes| {
            let file = PathBuf::from("users.py");
            Locust {
                file: file.clone(),
                program: file,
                version: "2.47.0".to_owned(),
                workers: 1,
                bind: None,
                site: None,
                classes,
            }
            .pause(100)
        };
        let second = Some(Span::from_secs(1));
        assert_eq!(of(vec![class(1.0, second), class(3.0, Some(Span(0)))]), Some(Span::from_millis(250)));
        assert_eq!(of(vec![class(1.0, second), class(3.0, None)]), None);
        assert_eq!(of(Vec::new()), None);
        let fixed = UserClass { fixed: 5, ..class(1.0, Some(Span::from_secs(600))) };
        assert_eq!(of(vec![fixed, class(1.0, second)]), Some(Span::from_millis(30_950)));
    }
}
