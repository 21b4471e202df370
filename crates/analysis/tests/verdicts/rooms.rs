//! Messages of chat rooms that were lost in Redis, and the limit of Redis's that is named for it.

use genkai_analysis::rooms::findings;
use genkai_analysis::tuning::TrialPlan;
use genkai_model::event::{Event, Purpose, What};
use genkai_model::evidence::{LogLine, Sample};
use genkai_model::limit::{Limit, Strength};
use genkai_model::plan::{Backplane, Cluster, Study};
use genkai_model::record::Record;
use genkai_model::rooms::{Attendance, LOST, Loss, NodeReport, PUBLISHED, RECEIVED, Traced};
use genkai_model::units::{Bytes, Span};

use crate::world::parts::*;
use crate::world::{Seen, World};

const SECOND: u64 = 1_000_000;

fn limits() -> Vec<Limit> {
    let redis =
        |name: &str, sign| Limit { signatures: vec![sign], ..Limit::named(&format!("redis.{name}"), "redis", name) };
    vec![
        redis("clients", grew("redis.rejected", Strength::Decisive)),
        redis("output", said("redis.cut", Strength::Decisive)),
        redis("memory", grew("redis.rejected", Strength::Supports)),
        Limit { subject: "router".into(), ..redis("router", grew("redis.rejected", Strength::Decisive)) },
    ]
}

/// A trial of twelve seconds on two nodes. Redis counts seven refused clients at two seconds, and cuts a subscriber off at nine.
/// Messages of the member 0 to the member 1 get into Redis between these moments and do not come out.
fn lost(backplane: Backplane, hops: u8, from_us: u64, to_us: u64) -> Record {
    let mut plan = plan(users(2, 50.0), "p99 < 1s");
    plan.study = Study::Rooms(Cluster {
        nodes: vec![2],
        server: "embedded".into(),
        router: None,
        backplane,
        redis: vec![],
        member_queue: Bytes(1),
        trace: 9,
        faults: vec![],
    });
    let world = World {
        plan,
        settings: settings(&[]),
        limits: Box::new(|_| limits()),
        behaviour: Box::new(|m| Seen::closed(m.level, 0.3)),
    };
    let (ramp, hold) = (Span::from_secs(1), Span::from_secs(11));
    let what = TrialPlan { purpose: Purpose::Measure, changes: vec![], limit: None, level: 2.0, ramp, hold, draw: 0 };
    let mut run = world.begin();
    world.trial(&mut run, &what);
    let mut record = run.record;
    let began = record.trials[0].at_us;
    let mut push = |at: u64, what| record.push(Event { at_us: began + at, trial: Some(1), what });
    for (at, refused) in [(0, 0.0), (2, 7.0), (9, 7.0)] {
        let metrics = [("redis.rejected".to_owned(), refused)].into();
        push(at * SECOND, What::Sample(Sample { subject: "redis".into(), metrics }));
    }
    let signature = Some("redis.cut".to_owned());
    let line = LogLine { subject: "redis".into(), level: "warning".into(), text: "cut".into(), signature, count: 1 };
    push(9 * SECOND, What::Log(line));
    let message = |sequence| Traced { sender: 0, sequence, hops, queued: 0, written: 0, at_us: from_us };
    let node = |node, member| {
        let messages = if node == 1 { (0..5).map(message).collect() } else { vec![] };
        let mut report = NodeReport {
            node,
            alive: true,
            hops: Default::default(),
            traced: true,
            members: vec![member],
            gone: vec![],
            messages,
            drops: vec![],
        };
        report.hops.published = 5;
        report
    };
    push(12 * SECOND, What::Node(Box::new(node(1, 0))));
    push(12 * SECOND, What::Node(Box::new(node(2, 1))));
    let loss = Loss { receiver: 1, sender: 0, first: 0, last: 4, from_us, to_us };
    push(12 * SECOND, What::Attendance(Box::new(Attendance { losses: vec![loss], ..Attendance::default() })));
    record
}

fn named(record: &Record) -> Vec<(String, u64)> {
    let run = findings(record).unwrap().runs.remove(0);
    assert_eq!(run.losses.iter().map(|placed| placed.count).sum::<u64>(), 5, "{:?}", run.losses);
    run.causes.into_iter().map(|cause| (cause.limit.id, cause.lost)).collect()
}

#[test]
fn what_left_its_own_sign_while_messages_were_lost_in_redis_is_named() {
    let published = RECEIVED | PUBLISHED;
    let early = lost(Backplane::Redis, published, 3 * SECOND / 2, 3 * SECOND);
    assert_eq!(named(&early), [("redis.clients".to_owned(), 5)], "neither a sign that others leave too, nor another's");
    let late = lost(Backplane::Redis, RECEIVED, 8 * SECOND, 9 * SECOND);
    assert_eq!(named(&late), [("redis.output".to_owned(), 5)], "on the way to Redis");
}

#[test]
fn nothing_is_named_for_other_moments_and_other_places() {
    let published = RECEIVED | PUBLISHED;
    let between = lost(Backplane::Redis, published, 9 * SECOND / 2, 5 * SECOND);
    assert!(named(&between).is_empty(), "nothing happened to Redis then");
    let in_node = lost(Backplane::Redis, RECEIVED | LOST, 3 * SECOND / 2, 3 * SECOND);
    assert!(named(&in_node).is_empty(), "they were lost in a node");
    assert!(named(&lost(Backplane::None, published, 3 * SECOND / 2, 3 * SECOND)).is_empty(), "there is no backplane");
}
