//! What handshakes of TLS with a listener cost, and what makes them cheaper: the kind of its key, and sessions that are resumed.

use std::time::Duration;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};
use genkai_place::authority::Key;

use super::Certificate;
use crate::limits::{SLOW, counted, raised};

/// The kind of key whose handshakes are cheapest, of those that every client of today takes.
pub(crate) const CHEAP: Key = Key::P256;

/// How a listener makes handshakes.
#[derive(Clone, Debug, PartialEq)]
pub struct Secured {
    /// The setting that names the user's certificate, as its product calls it.
    pub setting: &'static str,
    /// Where that is.
    pub origin: Origin,
    /// The kind of key that is shown.
    pub key: Key,
    /// What decides whether sessions are resumed; none: not known.
    pub sessions: Option<Sessions>,
}

/// What decides whether sessions are resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// Where that is.
    pub origin: Origin,
    /// The value with which sessions are resumed.
    pub word: String,
    /// What that takes.
    pub price: &'static str,
}

/// What handshakes were measured to take the product, processor time of all of its processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handshakes {
    /// A full handshake alone.
    pub alone: Duration,
    /// A connection with a full handshake and the load's request: the least and the most, in means of several. None: how many a load makes is not
    /// known beforehand.
    pub asked: Option<(Duration, Duration)>,
    /// Whether most connections of the load make full handshakes though they offer sessions to be resumed.
    pub refused: bool,
    /// What the generator took for such a connection itself, where a quota that both share is all that there is of processor time. None: the product has
    /// its processor time for itself.
    pub shared: Option<Duration>,
}

impl Secured {
    /// Limits that handshakes set a load in which each request is a connection with a full one, where something makes them cheaper. `processor` is
    /// the limit of the processor time that they use up: none as long as a setting brings more of it, which costs nothing.
    pub fn limits(&self, processor: &Limit, measured: &Handshakes) -> Vec<Limit> {
        let Law::Cpu { cores } = processor.law else { return Vec::new() };
        if processor.remedy.is_some() {
            return Vec::new();
        }
        let sessions = self.sessions.iter().filter(|_| measured.refused).map(|sessions| sessions.limit(self));
        let all = sessions.chain(matches!(self.key, Key::Rsa(_)).then(|| self.keys(processor)));
        all.filter_map(|limit| handshakes(limit, processor, cores, measured)).collect()
    }

    /// The user's certificate as a limit.
    fn keys(&self, processor: &Limit) -> Limit {
        let note = format!(
            "measured with a certificate of genkai's own for the same names; get one with a key of this kind (certbot: --key-type ecdsa). Clients that take \
             no ECDSA certificate (older than about 2012) are refused then, unless {} shows both kinds",
            processor.subject
        );
        Limit {
            value: self.key.to_string(),
            origin: self.origin.clone(),
            caps: format!("full TLS handshakes a second: its key is {}", self.key),
            remedy: Some(word(self.setting, CHEAP.to_string(), note)),
            ..Limit::named(&format!("{}.tls_key", processor.subject), &processor.subject, self.setting)
        }
    }
}

impl Sessions {
    fn limit(&self, of: &Secured) -> Limit {
        Limit {
            value: self.value.clone(),
            origin: self.origin.clone(),
            caps: format!(
                "full TLS handshakes a second ({}): most sessions that clients offer are not resumed",
                of.key
            ),
            remedy: Some(word(self.setting, self.word.clone(), self.price.to_owned())),
            ..Limit::named("tls_sessions", "", self.setting)
        }
    }
}

/// What a configuration alone tells of its listener's handshakes: the kind of the certificate's key, and how `sessions` are resumed. None without a
/// certificate in a file of its own.
pub(crate) fn explained(product: &str, users: Option<&Certificate>, sessions: &str) -> Option<Limit> {
    let users = users?;
    let key = Key::of(users.file.as_deref()?);
    let value = key.as_ref().map_or_else(|why| format!("key not known: {why}"), Key::to_string);
    Some(Limit {
        caps: format!("full TLS handshakes a second, which sign with its key ({value})"),
        value,
        origin: users.origin(),
        formula: format!(
            "cores / processor time of a handshake, which is measured before a load of new connections (tune --new-connections); {sessions}"
        ),
        source: SOURCE.to_owned(),
        symptom: SLOW,
        ..Limit::named(&format!("{product}.tls_key"), product, users.setting)
    })
}

/// Where it is written down.
const SOURCE: &str = "utilisation law (Denning and Buzen, Computing Surveys 10, 1978); RFC 8446 section 2: a full handshake signs with the certificate's key";

fn word(setting: &str, word: String, note: String) -> Remedy {
    Remedy { word: Some(word), note: Some(note), ..raised(setting, RemedyUnit::Count, 1.0) }
}

/// The rest of a limit of handshakes: its law, and the sign that it leaves beside that of `processor`. None without a gauge of that.
fn handshakes(limit: Limit, processor: &Limit, cores: f64, measured: &Handshakes) -> Option<Limit> {
    let mut gauges: Vec<(&str, f64, Strength)> = Vec::new();
    for one in &processor.signatures {
        if let Sign::Reached { metric, value } = &one.sign
            && !metric::is_throttling(metric)
            && !gauges.iter().any(|(other, ..)| other == metric)
        {
            gauges.push((metric, *value, one.strength));
        }
    }
    let Handshakes { alone, asked, shared, .. } = *measured;
    let (least, most) = asked.unwrap_or((alone, alone));
    // How much of a shared quota is left to the product is not known: all of it at most. At least, where what looks at the servers takes no more than half
    // of it, what the generator leaves of the other half.
    let most = shared.map_or(most, |own| (most + own) * 2);
    let (each, least, most) = (alone.as_secs_f64(), least.as_secs_f64(), most.as_secs_f64());
    if least <= 0.0 || cores <= 0.0 || gauges.is_empty() {
        return None;
    }
    // What the gauge says that there is no processor time left, the handshakes say whose it is.
    let sign = |(metric, mark, strength): (&str, f64, Strength)| Signature {
        sign: Sign::Handshakes { metric: metric.to_owned(), mark, each, cores },
        strength: if strength >= Strength::Supports { Strength::Decisive } else { Strength::Supports },
    };
    let time = match shared {
        Some(own) => format!(
            "{cores} {} (the quota of the control group, which the generator shares: the most is with {:.2} ms of its own, and half of the quota for what looks at \
             the servers)",
            if cores == 1.0 { "core" } else { "cores" },
            own.as_secs_f64() * 1e3
        ),
        None if cores.fract() == 0.0 => counted(cores as u64, "core"),
        None => format!("{cores} cores"),
    };
    let subject = processor.subject.clone();
    let id = if limit.subject.is_empty() { format!("{subject}.{}", limit.id) } else { limit.id.clone() };
    Some(Limit {
        id,
        subject,
        law: Law::Handshakes { cores, least, most },
        formula: match asked {
            Some(_) => format!(
                "{time} / {:.2} to {:.2} ms of processor time a connection; a full handshake alone took {:.2} ms (measured before the load)",
                least * 1e3,
                most * 1e3,
                each * 1e3
            ),
            None => format!(
                "{time} / {:.2} ms of processor time a full handshake alone (measured before the load); how many are made is up to how long connections are kept",
                each * 1e3
            ),
        },
        source: SOURCE.to_owned(),
        signatures: gauges.into_iter().map(sign).collect(),
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        ..limit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::reached;

    fn secured(key: Key) -> Secured {
        let origin = Origin::File { path: "/etc/nginx/nginx.conf".into(), line: 7 };
        let sessions = Sessions {
            setting: "ssl_session_cache",
            value: "none".to_owned(),
            origin: Origin::Given,
            word: "shared:SSL:10m".to_owned(),
            price: "10 MB",
        };
        Secured { setting: "ssl_certificate", origin, key, sessions: Some(sessions) }
    }

    fn measured(refused: bool) -> Handshakes {
        let ms = Duration::from_millis;
        Handshakes { alone: ms(4), asked: Some((ms(5), ms(10))), refused, shared: None }
    }

    #[test]
    fn only_what_makes_handshakes_cheaper_is_a_limit() {
        let signs = vec![reached("nginx.worker_cpu_max", 0.9, Strength::Supports)];
        let processor = Limit {
            law: Law::Cpu { cores: 2.0 },
            signatures: signs,
            ..Limit::named("nginx.cpu", "nginx", "worker_processes")
        };
        let of = |key, refused| -> Vec<(String, String, Option<String>)> {
            let all = secured(key).limits(&processor, &measured(refused));
            all.into_iter().map(|one| (one.id, one.value, one.remedy.and_then(|remedy| remedy.word))).collect()
        };
        let key = ("nginx.tls_key".to_owned(), "RSA 4096".to_owned(), Some("ECDSA P-256".to_owned()));
        let sessions = ("nginx.tls_sessions".to_owned(), "none".to_owned(), Some("shared:SSL:10m".to_owned()));
        assert_eq!(of(Key::Rsa(4096), false), std::slice::from_ref(&key));
        assert_eq!(of(Key::Rsa(4096), true), [sessions.clone(), key]);
        assert_eq!((of(Key::P256, true), of(Key::P256, false)), (vec![sessions], Vec::new()));
        let one = &secured(Key::Rsa(4096)).limits(&processor, &measured(false))[0];
        assert_eq!(one.law, Law::Handshakes { cores: 2.0, least: 0.005, most: 0.010 });
        assert!(one.formula.contains("2 cores / 5.00 to 10.00 ms"), "{}", one.formula);
        // The generator takes its part of a quota that both have, or nothing of it.
        let quota = Limit { law: Law::Cpu { cores: 0.5 }, ..processor.clone() };
        let shared = Handshakes { shared: Some(Duration::from_millis(3)), ..measured(false) };
        let one = &secured(Key::Rsa(4096)).limits(&quota, &shared)[0];
        assert_eq!(one.law, Law::Handshakes { cores: 0.5, least: 0.005, most: 0.026 });
        assert!(
            one.formula.starts_with("0.5 cores (the quota of the control group, which the generator shares: the most is with 3.00 ms of its own, and half of the quota for what looks at the servers) / 5.00 to 26.00 ms"),
            "{}",
            one.formula
        );
        let unknown = Handshakes { asked: None, ..measured(false) };
        let one = &secured(Key::Rsa(4096)).limits(&processor, &unknown)[0];
        assert!(one.formula.contains("2 cores / 4.00 ms of processor time a full handshake alone"), "{}", one.formula);
        let more = Limit { remedy: Some(raised("worker_processes", RemedyUnit::Count, 1.0)), ..processor.clone() };
        assert!(secured(Key::Rsa(4096)).limits(&more, &measured(true)).is_empty(), "more workers come first");
        let unseen = Limit { signatures: Vec::new(), ..processor };
        assert!(secured(Key::Rsa(4096)).limits(&unseen, &measured(true)).is_empty(), "nothing would show it");
    }
}
