use genkai_model::limit::{Ceiling, Remedy, RemedyUnit};
use genkai_model::load::{Arrivals, Body, Request, Reuse, Spacing, Stop};
use genkai_model::units::{Span, Spread};
use proptest::prelude::*;

use super::*;

pub(crate) fn load(arrivals: Arrivals, reuse: Reuse, body: Body) -> Load {
    let usual = Load::users(1, 1.0);
    Load {
        request: Request { body, ..usual.request },
        arrivals,
        reuse,
        stop: Stop { after: Span::from_secs(10), requests: None },
        ..usual
    }
}

fn users(count: u32, think_ms: u64) -> Load {
    let think = Spread::Constant(Span::from_millis(think_ms));
    load(Arrivals::Users { count, spawn_rate: 10.0, think }, Reuse::KeepAlive, Body::Empty)
}

fn open(per_second: f64) -> Load {
    let arrivals =
        Arrivals::Rate { per_second, ramp: Span::from_secs(5), spacing: Spacing::Uniform, connections: 10_000 };
    load(arrivals, Reuse::KeepAlive, Body::Empty)
}

fn limit(id: &str, law: Law) -> Limit {
    Limit {
        value: format!("{}", law::setting(&law)),
        law,
        remedy: Some(Remedy {
            setting: id.into(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: None,
            note: None,
            parts: 1.0,
            processes: 0.0,
            onward: false,
            queues: false,
            word: None,
        }),
        ..Limit::named(id, "product", id)
    }
}

/// The slots of a proxy worker with one listener: limits.md section 2.
fn slots(value: f64, pools: f64) -> Law {
    Law::Slots { value, reserved: 2.0, idle_cost: 1.0, busy_cost: 2.0, pools, soft: 15.0 / 16.0 }
}

fn took(seconds: f64) -> Option<Quantiles> {
    Some(Quantiles { count: 100, mean: seconds, p50: seconds, ..Quantiles::default() })
}

fn one(limit: &Limit, load: &Load, seen: Option<Quantiles>) -> Predicted {
    predict(std::slice::from_ref(limit), load, seen).remove(0)
}

#[test]
fn measured_anchors() {
    let at = |value: f64| one(&limit("slots", slots(value, 1.0)), &users(300, 0), None);
    assert_eq!(at(512.0).clients, Some(Range { low: 239.0, high: 255.0 }));
    assert_eq!(at(64.0).clients.unwrap().high, 31.0);
    assert_eq!(at(65.0).clients.unwrap().high, 31.0);
    let p = at(512.0);
    assert_eq!(p.users, p.clients);
    assert_eq!(p.rate, None, "without a response time there is no rate");
    assert!(p.within_load);
    assert!(!one(&limit("slots", slots(512.0, 1.0)), &users(239, 0), None).within_load, "239 clients still fit");
    assert!(!at(4096.0).within_load);
}

#[test]
fn users_become_requests_a_second_by_little() {
    let p = one(&limit("slots", slots(512.0, 1.0)), &users(300, 0), took(6.265));
    assert!((p.rate.unwrap().high - 40.7).abs() < 0.01, "255 clients over 6.265 s are 40.7 requests/s: {p:?}");
}

#[test]
fn thinking_users_cost_less() {
    let law = limit("slots", slots(512.0, 1.0));
    let p = one(&law, &users(300, 900), took(0.1));
    // 10 % busy: 1.1 slots a user, and of the 434 that 15/16 of the slots are enough for on average more are busy now and then
    assert_eq!(p.clients, Some(Range { low: 417.0, high: 463.0 }));
    let unknown = one(&law, &users(300, 900), None).clients.unwrap();
    assert_eq!(unknown, Range { low: 239.0, high: 510.0 }, "between all busy and all idle");
    let leaving = Load { reuse: Reuse::PerRequest, ..users(300, 900) };
    let p = one(&law, &leaving, took(0.1));
    assert_eq!(p.clients, Some(Range { low: 197.0, high: 255.0 }), "only those with a request are there");
    assert_eq!(p.users, Some(Range { low: 1970.0, high: 2550.0 }));
    assert_eq!(one(&law, &leaving, None).users, None);
}

#[test]
fn a_rate_becomes_clients_by_little() {
    let p = one(&limit("slots", slots(512.0, 1.0)), &open(1000.0), took(0.25));
    assert_eq!(p.users, None);
    assert_eq!(p.rate, Some(Range { low: 956.0, high: 1020.0 }));
    assert!(p.within_load);
}

#[test]
fn workers_make_wait_and_then_refuse() {
    let law = |queue| limit("workers", Law::Workers { workers: 5.0, queue, service: Some(0.05), wait: None });
    let objective: Objective = "p99 < 500ms".parse().unwrap();
    let p = &predict_under(&[law(None)], &users(300, 0), &objective, None)[0];
    assert_eq!(p.users, Some(Range { low: 5.0, high: 50.0 }), "50 users x 50 ms / 5 workers = 500 ms");
    assert_eq!(p.rate, Some(Range { low: 100.0, high: 100.0 }));
    assert!(p.within_load);
    let errors: Objective = "errors < 0.1%".parse().unwrap();
    let p = &predict_under(&[law(None)], &users(300, 0), &errors, None)[0];
    assert_eq!(p.users.unwrap().high, 6000.0, "the deadline of 60 s");
    assert!(!p.within_load);
    let p = &predict_under(&[law(Some(20.0))], &users(300, 0), &errors, None)[0];
    assert_eq!(p.users, Some(Range { low: 5.0, high: 25.0 }));
    let p = &predict_under(&[law(None)], &open(101.0), &errors, None)[0];
    assert!(p.within_load, "more than 100/s never gets done");
}

#[test]
fn workers_grow_with_the_load_where_it_reaches_that() {
    let law = |full| limit("growing", Law::Growing { least: 5.0, most: 60.0, full, wait: None });
    let objective: Objective = "p99 < 1s".parse().unwrap();
    let p = |full| predict_under(&[law(full)], &users(300, 0), &objective, took(0.1)).remove(0);
    let range = |low, high| Some(Range { low, high });
    // Waiting ends at 10 service times: 5 workers keep 50 within it; with a share of 60 in 500 or less, all 60 keep 600.
    assert_eq!((p(Some(1000.0)).clients, p(Some(1000.0)).users), (range(5.0, 5.0), range(5.0, 50.0)));
    assert_eq!((p(Some(500.0)).clients, p(Some(500.0)).users), (range(5.0, 5.0), range(5.0, 600.0)));
    assert_eq!((p(Some(40.0)).clients, p(None).clients), (range(5.0, 60.0), range(5.0, 60.0)));
}

#[test]
fn new_connections_wait_where_they_come_too_fast() {
    let rate = limit("rate", Law::NewConnections { value: 5.0 });
    // Ten users are added a second: after t seconds the last of them waits t.
    let p = one(&rate, &users(300, 0), None);
    assert_eq!((p.users, p.rate), (Some(Range { low: 5.0, high: 600.0 }), None));
    let fresh = |load: Load| Load { reuse: Reuse::PerRequest, ..load };
    // Who waits asks for no other connection: 5 a second keep 5 users within a second, the longest that is allowed.
    let within: Objective = "p95 < 1s".parse().unwrap();
    let p = predict_under(std::slice::from_ref(&rate), &fresh(users(300, 0)), &within, took(0.1)).remove(0);
    assert_eq!((p.users, p.within_load), (Some(Range { low: 0.5, high: 5.0 }), true));
    assert_eq!(one(&rate, &fresh(open(6.0)), None).rate, Some(Range { low: 5.0, high: 5.0 }));
    assert_eq!(one(&rate, &open(6.0), None).rate, None, "kept connections");
    let slow = limit("rate", Law::NewConnections { value: 11.0 });
    assert_eq!(one(&slow, &users(300, 0), None).users, None);
    let demand = Demand::of(&users(300, 0), &Objective::default(), took(0.1), &[]);
    assert_eq!(remedy::lift(&rate, &demand, 1.2, 1.0).unwrap().value, "10");
}

#[test]
fn bodies_rates_backlogs_and_cores() {
    let body = limit("body", Law::BodySize { value: 1e6 });
    let post = |n| Load { request: Request { body: Body::Size(n), ..users(1, 0).request }, ..users(1, 0) };
    assert!(one(&body, &post(2_000_000), None).within_load);
    assert!(!one(&body, &post(1_000_000), None).within_load);
    assert!(!one(&limit("body", Law::BodySize { value: 0.0 }), &post(2_000_000), None).within_load, "0: no cap");
    let rate = limit("rate", Law::Rate { value: 50.0, burst: 0.0, at_once: None });
    assert_eq!(one(&rate, &users(300, 0), took(0.1)).users, Some(Range { low: 5.0, high: 5.0 }));
    assert!(!one(&rate, &open(50.0), None).within_load);
    assert!(one(&rate, &open(51.0), None).within_load);
    let backlog = limit("backlog", Law::Backlog { value: 9.0 });
    assert!(!one(&backlog, &users(300, 0), None).within_load, "10 new users a second are accepted as they come");
    let at_once = Arrivals::Users { count: 300, spawn_rate: 1e6, think: Spread::default() };
    assert!(one(&backlog, &load(at_once, Reuse::KeepAlive, Body::Empty), None).within_load);
    let cpu = one(&limit("cpu", Law::Cpu { cores: 1.0 }), &users(300, 0), took(0.1));
    assert_eq!((cpu.users, cpu.rate, cpu.within_load), (None, None, false));
}

/// Squid with 192 descriptors, of which it keeps a quarter back, before a server that takes 0.3 s: with `p99 < 450ms` asked for, 90 users broke it.
#[test]
fn who_waits_for_a_turn_is_late_only_when_all_wait_too_long() {
    let law = Law::Slots { value: 192.0, reserved: 48.0, idle_cost: 1.0, busy_cost: 2.0, pools: 1.0, soft: 1.0 };
    let demand =
        |load: &Load| Demand { alone: Some(0.3), patience: 0.45, ..Demand::of(load, &Objective::default(), None, &[]) };
    let (closed, at_rate) = (demand(&users(300, 0)), demand(&open(500.0)));
    let found = |turns, demand: &Demand| {
        let limit = Limit { turns, ..limit("descriptors", law.clone()) };
        let all = of(&limit, demand).predicted;
        (all.clients, all.users)
    };
    let ends = |high| Some(Range { low: 72.0, high });
    assert_eq!(found(false, &closed), (ends(72.0), ends(72.0)));
    assert_eq!(found(true, &closed), (ends(108.0), ends(108.0)));
    assert_eq!(found(true, &at_rate).0, ends(72.0), "who comes at a rate waits longer and longer");
}

#[test]
fn full_handshakes_go_as_far_as_processor_time_does() {
    // 200 to 250 a second on one core.
    let law = Law::Handshakes { cores: 1.0, least: 0.004, most: 0.005 };
    let key = limit("tls_key", law);
    let anew = |arrivals| load(arrivals, Reuse::PerRequest, Body::Empty);
    let (patient, told) = ("p99 < 800ms".parse().unwrap(), |load: &Load, objective: &Objective| {
        predict_under(std::slice::from_ref(&key), load, objective, None).remove(0)
    });
    let rate = |per_second, ramp| {
        let (ramp, spacing) = (Span::from_secs(ramp), Spacing::Uniform);
        anew(Arrivals::Rate { per_second, ramp, spacing, connections: 1000 })
    };
    let range = |low, high| Some(Range { low, high });
    // At once: no further than what goes.
    let steep = told(&rate(400.0, 0), &patient);
    assert_eq!((steep.rate, steep.users, steep.within_load), (range(200.0, 250.0), None, true));
    // By 25 a second each second: 200 in excess have come after 4 s, at 350.
    assert_eq!(told(&rate(500.0, 20), &patient).rate, range(200.0, 350.0));
    assert_eq!(told(&rate(300.0, 12), &patient).rate, range(200.0, 300.0), "no more than is asked for");
    assert!(!told(&rate(150.0, 6), &patient).within_load);
    // Users who wait for 0.8 s at most: 800 ms / 4 ms.
    let users = anew(Arrivals::Users { count: 300, spawn_rate: 10.0, think: Spread::default() });
    let users = told(&users, &patient);
    assert_eq!((users.users, users.rate), (range(1.0, 200.0), range(200.0, 250.0)));
    // Connections that are kept make no further handshakes.
    assert_eq!(told(&open(400.0), &patient).rate, None);
}

#[test]
fn what_bites_first_comes_first() {
    let all = [
        limit("cpu", Law::Cpu { cores: 1.0 }),
        limit("high", slots(4096.0, 1.0)),
        limit("low", slots(64.0, 1.0)),
        limit("middle", slots(512.0, 1.0)),
    ];
    let order: Vec<String> = predict(&all, &users(300, 0), None).into_iter().map(|p| p.limit).collect();
    assert_eq!(order, ["low", "middle", "high", "cpu"]);
}

#[test]
fn a_value_with_headroom_and_a_ceiling() {
    let mut l = limit("slots", slots(512.0, 1.0));
    let demand = Demand::of(&users(300, 0), &Objective::default(), None, &[]);
    let lift = |l: &Limit| remedy::lift(l, &demand, 1.2, 1.0);
    let free = lift(&l).unwrap();
    assert_eq!((free.value.as_str(), free.minimum.as_str()), ("771", "643"));
    assert_eq!(free.holds_for, Some(Range { low: 360.0, high: 384.0 }));
    let remedy = l.remedy.as_mut().unwrap();
    remedy.step = 128.0;
    assert_eq!(lift(&l).unwrap().value, "896");
    let ceiling = |value: f64| Some(Ceiling { value, by: "descriptors".into() });
    l.remedy.as_mut().unwrap().ceiling = ceiling(800.0);
    let cut = lift(&l).unwrap();
    assert_eq!((cut.value.as_str(), cut.capped), ("771", None), "enough, only not a multiple of the step");
    l.remedy.as_mut().unwrap().ceiling = ceiling(700.0);
    let cut = lift(&l).unwrap();
    assert_eq!((cut.value.as_str(), cut.capped.is_some()), ("700", true));
    l.remedy.as_mut().unwrap().ceiling = ceiling(512.0);
    assert_eq!(lift(&l), None);
    l.remedy = None;
    assert_eq!(lift(&l), None);
}

#[test]
fn a_setting_of_each_of_several_servers_gets_its_part() {
    let mut l = limit("server.maxconn", Law::Workers { workers: 25.0, queue: None, service: None, wait: None });
    let demand = Demand::of(&users(100, 0), &Objective::default(), took(0.1), &[]);
    let whole = remedy::lift(&l, &demand, 1.2, 1.0).unwrap();
    l.remedy.as_mut().unwrap().parts = 2.0;
    let each = remedy::lift(&l, &demand, 1.2, 1.0).unwrap();
    let number = |text: &str| text.parse::<f64>().unwrap();
    assert_eq!(number(&each.value), (number(&whole.value) / 2.0).ceil());
    assert_eq!(number(&each.minimum), (number(&whole.minimum) / 2.0).ceil());
    assert_eq!(law::setting(each.law.as_ref().unwrap()), 2.0 * number(&each.value), "the law is of both");
    l.remedy.as_mut().unwrap().ceiling = Some(Ceiling { value: 12.0, by: "a server".into() });
    assert_eq!(remedy::lift(&l, &demand, 1.2, 1.0), None, "25 of two servers is above 12 each");
}

#[test]
fn a_remedy_without_a_formula_is_written_as_its_number() {
    // Apache's StartServers: all children that there may be, 12 ("from 5 to 0" was tried).
    let mut l = limit("StartServers", Law::Unknown);
    l.value = "5".to_owned();
    let remedy = l.remedy.as_mut().unwrap();
    (remedy.step, remedy.ceiling) = (12.0, Some(Ceiling { value: 12.0, by: "12 children at most".into() }));
    let demand = Demand::of(&users(100, 0), &Objective::default(), took(0.1), &[]);
    let lift = remedy::lift(&l, &demand, 1.2, 1.0).unwrap();
    assert_eq!((lift.value.as_str(), lift.minimum.as_str()), ("12", "12"));
    // Apache's MaxRequestWorkers of which no law is known is doubled, and never made smaller.
    l.value = "400".to_owned();
    let remedy = l.remedy.as_mut().unwrap();
    (remedy.step, remedy.ceiling) = (25.0, None);
    assert_eq!(remedy::lift(&l, &demand, 1.2, 1.0).unwrap().value, "800");
    l.value = "8, 16".to_owned();
    assert_eq!(remedy::lift(&l, &demand, 1.2, 1.0), None, "no number");
}

#[test]
fn values_of_other_laws() {
    let demand = Demand::of(&users(100, 0), &Objective::default(), took(0.1), &[]);
    let value = |law: Law| remedy::lift(&limit("x", law), &demand, 1.2, 1.0).unwrap().value;
    assert_eq!(value(Law::Rate { value: 10.0, burst: 0.0, at_once: None }), "1334", "1200 are nine tenths of it");
    assert_eq!(value(Law::Backlog { value: 9.0 }), "119", "a queue of 120");
    assert_eq!(value(Law::Cpu { cores: 1.0 }), "2");
    assert_eq!(value(Law::Workers { workers: 5.0, queue: Some(5.0), service: Some(0.1), wait: None }), "115");
    assert_eq!(value(slots(4096.0, 1.0)), "8192", "the formula says that it should do, yet it bites");
    let mut body = limit("body", Law::BodySize { value: 1024.0 });
    body.remedy.as_mut().unwrap().unit = RemedyUnit::Bytes;
    let post = Demand { body: 10_000.0, ..demand };
    assert_eq!(remedy::lift(&body, &post, 1.2, 1.0).unwrap().value, "12000");
    body.remedy.as_mut().unwrap().step = 1024.0;
    assert_eq!(remedy::lift(&body, &post, 1.2, 1.0).unwrap().value, "12k");
    body.remedy.as_mut().unwrap().unit = RemedyUnit::Zero;
    assert_eq!(remedy::lift(&body, &post, 1.2, 1.0).unwrap().value, "0");
}

proptest! {
    #[test]
    fn the_needed_value_holds_and_one_less_does_not(
        wanted in 1u32..20_000, reserved in 0u32..50, busy in 1u32..4, pools in 1u32..17, soft in 50u32..=100, think in 0u64..2,
    ) {
        let law = Law::Slots {
            value: 1.0, reserved: f64::from(reserved), idle_cost: 1.0, busy_cost: f64::from(busy),
            pools: f64::from(pools), soft: f64::from(soft) / 100.0,
        };
        let demand = Demand::of(&users(wanted, think * 300), &Objective::default(), took(0.1), &[]);
        let value = law::needed(&law, &demand, f64::from(wanted), 1.0).unwrap();
        let fits = |v: f64| law::clients(&law::with_setting(&law, v), &demand).unwrap().low >= f64::from(wanted);
        prop_assert!(fits(value));
        prop_assert!(!fits(value - 1.0));
    }

    #[test]
    fn workers_needed_hold_the_latency(wanted in 1u32..5000, service_ms in 1u32..2000, bound_ms in 1u32..5000) {
        let law = Law::Workers { workers: 1.0, queue: None, service: Some(f64::from(service_ms) / 1000.0), wait: None };
        let objective = format!("p99 < {bound_ms}ms").parse().unwrap();
        let load = users(wanted, 0);
        let demand = Demand::of(&load, &objective, None, &[]);
        let needed = law::needed(&law, &demand, f64::from(wanted), 1.0).unwrap();
        let wait = f64::from(wanted) * f64::from(service_ms) / 1000.0 / needed;
        prop_assert!(wait <= demand.patience.max(f64::from(service_ms) / 1000.0) + 1e-6);
        let with = limit("w", law::with_setting(&law, needed));
        let p = &predict_under(&[with], &load, &objective, None)[0];
        prop_assert!(bound_ms < service_ms || !p.within_load, "{:?}", p);
    }

    #[test]
    fn predictions_are_finite(value in 0f64..1e9, level in 0u32..100_000, think in 0u64..10_000, s in 0f64..100.0) {
        for law in [
            slots(value, 2.0), Law::Workers { workers: value, queue: Some(value), service: Some(s), wait: None },
            Law::Growing { least: value / 3.0, most: value, full: Some(value + 1.0), wait: Some(s) },
            Law::NewConnections { value }, Law::Backlog { value }, Law::BodySize { value }, Law::Rate { value, burst: 1.0, at_once: None }, Law::Cpu { cores: value },
            Law::Rate { value, burst: s, at_once: Some(s / 2.0) }, Law::Handshakes { cores: value.max(1.0), least: 1e-4, most: 1e-4 + s },
        ] {
            for load in [users(level, think), open(f64::from(level))] {
                for seen in [None, took(s)] {
                    let p = one(&limit("x", law.clone()), &load, seen);
                    for r in [p.clients, p.users, p.rate].into_iter().flatten() {
                        prop_assert!(r.low.is_finite() && r.high.is_finite() && r.low <= r.high + 1e-9, "{:?}", p);
                    }
                }
            }
        }
    }
}

/// Measured with nginx's `limit_conn 15` and responses of 100 ms: users who think for 300 ms met it at 44, where 60 have 15 requests in flight on
/// average; a rate at random met 20 at 129 requests/s, where 200 have.
#[test]
fn who_thinks_is_sometimes_there_with_more_than_the_mean() {
    let of = |value: f64| Law::Slots { value, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
    let users = one(&limit("slots", of(15.0)), &users(300, 300), took(0.1)).users.unwrap();
    assert_eq!(users, Range { low: 30.0, high: 60.0 });
    let random = open(300.0);
    let Arrivals::Rate { per_second, ramp, connections, .. } = random.arrivals else { panic!() };
    let spaced =
        |spacing| Load { arrivals: Arrivals::Rate { per_second, ramp, spacing, connections }, ..random.clone() };
    let at = |spacing| one(&limit("slots", of(20.0)), &spaced(spacing), took(0.1)).rate.unwrap();
    assert_eq!(at(Spacing::Poisson), Range { low: 100.0, high: 200.0 });
    assert_eq!(at(Spacing::Uniform), Range { low: 200.0, high: 200.0 });
}

#[test]
fn a_rate_is_chosen_with_room_for_its_bursts() {
    let demand = Demand::of(&users(150, 0), &Objective::default(), took(0.3), &[]);
    let rate = |burst| {
        let mut limit = limit("rate", Law::Rate { value: 50.0, burst, at_once: None });
        limit.remedy.as_mut().unwrap().unit = RemedyUnit::Rate;
        remedy::lift(&limit, &demand, 1.2, 1.0).unwrap().value
    };
    // 600 of 667 requests/s; who waits for an answer comes back at once with all others, which are 180.
    assert_eq!(rate(0.0), "667r/s burst=180");
    assert_eq!(rate(10.0), "667r/s burst=180");
    assert_eq!(rate(100.0), "667r/s burst=1334", "a burst covers the time that it did");
    let Law::Rate { burst, .. } = law::with_setting(&Law::Rate { value: 50.0, burst: 10.0, at_once: None }, 20.0)
    else {
        panic!()
    };
    assert_eq!(burst, 10.0, "a burst does not shrink");
}

#[test]
fn a_rate_above_the_load_is_left_alone_and_its_burst_is_raised() {
    let lift = |asked, burst| {
        let mut limit = limit("rate", Law::Rate { value: 100.0, burst, at_once: None });
        limit.remedy.as_mut().unwrap().unit = RemedyUnit::Rate;
        let demand = Demand::of(&open(asked), &Objective::default(), took(0.02), &[]);
        // That it broke early says that the burst is too small: no other rate follows from where it did.
        assert_eq!(remedy::lift(&limit, &demand, 1.2, 1.0), remedy::lift(&limit, &demand, 1.2, 3.0));
        let lift = remedy::lift(&limit, &demand, 1.2, 1.0).unwrap();
        (lift.value, lift.minimum)
    };
    let two = |value: &str, minimum: &str| (value.to_owned(), minimum.to_owned());
    // M/D/1 at 0.6 of the rate: t >= 0.5, and 9.21 / 0.5 is 18.4.
    assert_eq!(lift(50.0, 2.0), two("100r/s burst=19", "100r/s burst=14"));
    assert_eq!(lift(50.0, 20.0), two("100r/s burst=40", "100r/s burst=40"), "it overflowed with 20");
    assert_eq!(lift(90.0, 2.0), two("120r/s burst=88", "100r/s burst=88"), "the headroom is above the rate");
}

/// A pool before a store holds one connection of it for each of its children: beyond these nobody comes, however many ask the pool.
#[test]
fn a_limit_on_clients_of_whom_fewer_come_is_never_full() {
    let law = |value| Law::Slots { value, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
    let store = |value| Limit { comes: Some(40.0), ..limit("store", law(value)) };
    let (demand, asked) = (users(100, 0), took(0.3));
    let early = one(&store(12.0), &demand, asked);
    assert_eq!((early.clients, early.users), (Some(point(12.0)), Some(point(12.0))));
    let full = one(&store(40.0), &demand, asked);
    assert_eq!((full.clients, full.users, full.rate, full.within_load), (None, None, None, false));
    let all = [store(12.0)];
    let met = Demand::of(&demand, &Objective(Vec::new()), asked, &all);
    let lift = remedy::lift(&all[0], &met, 1.2, 1.0).unwrap();
    assert_eq!(
        (lift.value.as_str(), lift.minimum.as_str(), lift.holds_for),
        ("80", "80", None),
        "with those who leave"
    );
    let free = remedy::lift(&Limit { comes: None, ..store(12.0) }, &met, 1.2, 1.0).unwrap();
    assert_eq!((free.value.as_str(), free.holds_for), ("120", Some(point(120.0))));
}
