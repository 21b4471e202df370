//! TLS handshakes that use the processor up: named only where they take most of it, and lifted by a word.

use genkai_model::finding::*;
use genkai_model::limit::{Law, Limit, Remedy, Sign, Signature, Strength};
use genkai_model::load::{Load, Reuse};
use genkai_model::transport::{Tls, Transport};

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};
use crate::*;

/// The user's certificate, whose handshakes take `each` seconds of the one core; connections take 5 ms.
fn key(each: f64) -> Limit {
    let sign = Sign::Handshakes { metric: "proxy.worker_cpu_max".into(), mark: 0.95, each, cores: 1.0 };
    let law = Law::Handshakes { cores: 1.0, least: 0.0048, most: 0.005 };
    let mut limit = limit("tls_key", 1.0, law, vec![Signature { sign, strength: Strength::Decisive }], &[], true);
    limit.remedy = limit.remedy.map(|remedy| Remedy { word: Some("ECDSA P-256".into()), ..remedy });
    limit
}

/// New connections at a rate that rises to 300 a second, of which 200 go; 2,000 with another key.
fn world(each: f64) -> World {
    let tls = Tls { server_name: "x".into(), ca: None, identity: None, insecure: true, resume: false };
    let load = Load { reuse: Reuse::PerRequest, transport: Transport::Tls(tls), ..rate(300.0, 12, 1000) };
    World {
        plan: plan(load, "p99 < 300ms"),
        settings: settings(&[("tls_key", 1.0)]),
        limits: Box::new(move |s| {
            let processor = cpu(1.0, Strength::Supports, None);
            if s["tls_key"] > 0.0 { vec![processor, key(each)] } else { vec![processor] }
        }),
        behaviour: Box::new(|m: &Moment<'_>| {
            let goes = if m.value("tls_key") > 0.0 { 200.0 } else { 2000.0 };
            let served = m.level.min(goes);
            let latency = if m.level > goes { 0.6 } else { 0.02 };
            Seen {
                gauges: vec![("proxy.worker_cpu_max", m.level.min(goes) / goes)],
                secured: Some((m.level, served)),
                ..Seen::closed(served * latency, latency)
            }
        }),
    }
}

#[test]
fn a_key_whose_handshakes_take_most_of_the_processor_is_named_and_changed() {
    let run = world(0.0045).run();
    let v = verdict(&run);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    assert_eq!((v.causes[0].limit.id.as_str(), v.causes[0].confidence), ("proxy.tls_key", Confidence::Proved));
    assert_eq!(v.proposal[0].change.to, "ECDSA P-256");
    let seen = v.causes[0].evidence.iter().find_map(|e| match e {
        Evidence::Handshakes { rate, each, .. } => Some((*rate, *each)),
        _ => None,
    });
    let (rate, each) = seen.unwrap();
    assert!((190.0..=201.0).contains(&rate) && (each - 0.0045).abs() < 1e-9, "{rate}");
    let processor = v.causes[0].others.iter().find(|c| c.limit == "proxy.cores").unwrap();
    assert_eq!(processor.against, [Against::Explained]);
}

#[test]
fn a_processor_that_does_something_else_is_not_laid_to_the_key() {
    // 200 a second at 2 ms: two fifths of the core.
    let v = verdict(&world(0.002).run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::CpuIsLimit));
    assert_eq!(v.causes[0].limit.id, "proxy.cores");
    let key = v.causes[0].others.iter().find(|c| c.limit == "proxy.tls_key").unwrap();
    assert!(key.against.contains(&Against::NoSign), "{key:?}");
}
