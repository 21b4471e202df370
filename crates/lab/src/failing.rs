//! A backend that fails whatever it is asked, before any load.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Limit, Origin, Sign, Signature, Strength, Symptom};

/// Identity of that limit.
pub(crate) const ID: &str = "backend.answers";

/// That it answers the load's request with these statuses by itself: what fails with the same behind `product`, which has a connection to it then, is
/// what the backend said. None where none of these is a failure of a load.
pub(crate) fn limit(product: &str, address: SocketAddr, asked: usize, statuses: &BTreeSet<u16>) -> Option<Limit> {
    let errors: Vec<ErrorKind> = statuses.iter().filter_map(|status| ErrorKind::of_status(*status)).collect();
    let named: Vec<String> = statuses.iter().map(u16::to_string).collect();
    let onward = Sign::Reached { metric: format!("{product}.{}", metric::ONWARD), value: 1.0 };
    (!errors.is_empty()).then(|| Limit {
        value: address.to_string(),
        origin: Origin::Machine("asked before the load, by itself".to_owned()),
        caps: format!(
            "asked by itself before any load, it answered each of {asked} requests with {}",
            named.join(" or ")
        ),
        formula: "no number says when: these are answers of its own, which are passed on to clients".to_owned(),
        signatures: vec![Signature { sign: onward, strength: Strength::Supports }],
        symptom: Symptom { errors, slow: false },
        ..Limit::named(ID, "backend", "(answers)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_failure_of_a_load_names_nothing() {
        let at: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let told = limit("nginx", at, 9, &[404].into()).unwrap();
        assert_eq!(told.symptom.errors, [ErrorKind::of_status(404).unwrap()]);
        assert!(told.caps.contains("each of 9 requests with 404"), "{}", told.caps);
        assert_eq!(limit("nginx", at, 9, &BTreeSet::new()), None);
        assert_eq!(limit("nginx", at, 9, &[200].into()), None);
    }
}
