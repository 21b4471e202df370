//! Chat rooms: deliveries as members tell them, hops as nodes do.

use genkai_model::rooms::RouterReport;
use serde_json::Value as Json;

use crate::broken::{self, Judged};
use crate::events::{Events, Line, Trial, merged, sum};
use crate::expected::Expected;
use crate::generator::{self, Generator};
use crate::trails::Evidence;
use crate::trials::named;
use crate::workers;

/// What the events say of runs with chat rooms.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    for (i, run) in verdict.get("runs").and_then(Json::as_array).into_iter().flatten().enumerate() {
        let address = format!("/runs/{i}");
        let Some(trial) = named(events, run, &address, expected) else { continue };
        workers::expect(&address, &trial, expected);
        let Some(told) = trial.of("attendance").next() else { continue };
        rooms(&address, told, expected);
        generator(&format!("{address}/client"), &trial, events, expected);
        nodes(&address, run, &trial, expected);
        let latency = merged(&trial.ticks(), "/deliveries/latency");
        latency.expect(&format!("{address}/latency"), trial.first(), expected);
        expected.is(format!("{address}/lasted"), trial.end().map_or(0.0, |_| trial.lasted()), trial.first());
        conserved(&address, &trial, told, expected);
        places(&address, run, &trial, told, expected);
        over(&address, &trial, told, expected);
    }
    outcome(events, verdict, expected);
}

/// The generator over the whole run.
fn generator(address: &str, trial: &Trial<'_>, events: &Events, expected: &mut Expected) {
    let (ticks, line) = (trial.ticks(), trial.first());
    broken::few(&format!("{address}/lateness"), &merged(&ticks, "/lateness"), line, expected);
    broken::few(&format!("{address}/receipt"), &merged(&ticks, "/receipt"), line, expected);
    if let Some(judged) = Judged::of(events, trial) {
        expected.is(format!("{address}/cpu_max"), judged.busiest_of_all(), line);
        broken::believed(address, &whole(trial, &judged), line, expected);
    }
}

/// The generator over the whole of a run.
fn whole(trial: &Trial<'_>, judged: &Judged<'_>) -> Generator {
    let timed = generator::is_timed(&judged.asked, &judged.objective);
    generator::of(trial, &judged.asked, &judged.objective, None, timed)
}

/// Whether everything was heard where it should be, with how few nodes, and what that says of the whole.
fn outcome(events: &Events, verdict: &Json, expected: &mut Expected) {
    let mut runs = 0;
    let (mut smallest, mut invalid) = (None::<usize>, false);
    for trial in events.trials() {
        let (Some(told), Some(judged)) = (trial.of("attendance").next(), Judged::of(events, &trial)) else { continue };
        let sum = |field: &str| told.items("/rooms").iter().filter_map(|room| room.get(field)?.as_f64()).sum::<f64>();
        let valid = whole(&trial, &judged).is_valid();
        let full = sum("score") >= sum("planned") && sum("planned") > 0.0 && sum("foreign") == 0.0;
        let nodes = trial.of("node").count();
        if full && valid {
            smallest = Some(smallest.map_or(nodes, |least| least.min(nodes)));
        }
        (runs, invalid) = (runs + 1, invalid || !valid);
    }
    if runs == 0 || verdict.get("runs").is_none() {
        return;
    }
    let stopped = |end: &Line| end.json.get("interrupted") == Some(&Json::Bool(true));
    let outcome = match smallest {
        Some(_) => "holds",
        None if invalid => "invalid",
        None if events.of("run_ended").next().is_none_or(stopped) => "unfinished",
        None => "fails",
    };
    expected.word("/outcome", outcome, "by whether everything was heard in any run", None);
    expected.is("/smallest_full", smallest.map(|nodes| nodes as f64), None);
    expected.there(format!("/runs/{runs}"), false, "there were no more runs", None);
}

/// Where messages went missing, and what the router told.
fn places(address: &str, run: &Json, trial: &Trial<'_>, told: &Line, expected: &mut Expected) {
    let line = Some(told.number);
    let router = trial.of("router").last();
    expected.there(format!("{address}/router"), router.is_some(), "whether the router told anything", line);
    let router: Option<RouterReport> = router.and_then(|router| serde_json::from_value(router.json.clone()).ok());
    if let Some(told) = router.as_ref().and_then(|router| serde_json::to_value(router).ok()) {
        expected.same(&format!("{address}/router"), &told, "as the router told it", line);
    }
    let nodes = trial.of("node").filter_map(|node| serde_json::from_value(node.json.clone()).ok()).collect();
    let Ok(attendance) = serde_json::from_value(told.json.clone()) else { return };
    let told = Evidence { attendance, nodes, router };
    for (name, list) in [("losses", told.losses()), ("missing", told.missing())] {
        expected.same(&format!("{address}/{name}"), &list, "each message followed through the nodes", line);
    }
    if run.get("refused").is_some() {
        let refused = serde_json::to_value(&told.attendance.refused).unwrap_or_default();
        expected.same(&format!("{address}/refused"), &refused, "as members tell it", line);
    }
}

/// Most moments that a long run is told in.
const MOMENTS: usize = 100;

/// A run over time, in stretches of as many intervals; a short rest belongs to the stretch before it.
fn over(address: &str, trial: &Trial<'_>, told: &Line, expected: &mut Expected) {
    let ticks = trial.ticks();
    let size = ticks.len().div_ceil(MOMENTS).max(1);
    let mut stretches: Vec<Vec<&Line>> = ticks.chunks(size).map(<[&Line]>::to_vec).collect();
    let long =
        |stretch: &[&Line]| stretch.iter().map(|tick| tick.number("/to_us") - tick.number("/from_us")).sum::<f64>();
    if let [.., before, last] = stretches.as_slice()
        && long(last) < long(before) / 2.0
    {
        let rest = stretches.pop().unwrap_or_default();
        stretches.last_mut().into_iter().for_each(|stretch| stretch.extend(rest.iter().copied()));
    }
    let mut lost = vec![0.0; stretches.len()];
    for at in told.items("/losses").iter().flat_map(sent) {
        let after = |stretch: &Vec<&Line>| stretch.last().is_some_and(|last| last.number("/to_us") > at);
        let place = stretches.iter().position(after).unwrap_or(stretches.len().saturating_sub(1));
        lost.get_mut(place).into_iter().for_each(|lost| *lost += 1.0);
    }
    for (i, (stretch, lost)) in stretches.iter().zip(lost).enumerate() {
        let seconds = long(stretch) / 1e6;
        let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { continue };
        let line = Some(first.number);
        let p99 = merged(stretch, "/deliveries/latency").quantile(0.99);
        let figures = [
            ("at", Some(f64::midpoint(first.number("/from_us"), last.number("/to_us")) / 1e6)),
            ("connections", Some(last.number("/connections"))),
            ("sent", Some(rate(sum(stretch, "/messages/sent")))),
            ("heard", Some(rate(sum(stretch, "/deliveries/count")))),
            ("lost", Some(rate(lost))),
            ("p99", p99),
        ];
        for (name, value) in figures {
            expected.is(format!("{address}/over/{i}/{name}"), value, line);
        }
    }
    expected.there(format!("{address}/over/{}", stretches.len()), false, "the run was over", Some(told.number));
}

/// When each message of a loss was sent, microseconds: at an even pace.
fn sent(loss: &Json) -> Vec<f64> {
    let of = |name: &str| loss.get(name).and_then(Json::as_u64).unwrap_or(0);
    let more = of("last") - of("first");
    let at = |n: u64| (of("from_us") + n * (of("to_us") - of("from_us")) / more.max(1)) as f64;
    (0..=more).map(at).collect()
}

fn rooms(address: &str, told: &Line, expected: &mut Expected) {
    let line = Some(told.number);
    let all = |field: &str| told.items("/rooms").iter().filter_map(|room| room.get(field)?.as_f64()).sum::<f64>();
    for field in ["score", "planned", "sent", "delivered", "lost", "duplicated", "reordered", "foreign", "away"] {
        expected.is(format!("{address}/{field}"), all(field), line);
    }
    expected.is(format!("{address}/entered"), all("members"), line);
    expected.is(format!("{address}/never_entered"), told.number("/never_entered"), line);
    for (i, room) in told.items("/rooms").iter().enumerate() {
        let score = room.get("score").and_then(Json::as_f64);
        expected.is(format!("{address}/rooms/{i}"), score, line);
    }
    let most = told.items("/rooms").iter().filter_map(|room| room.get("planned")?.as_f64()).fold(0.0, f64::max);
    expected.is(format!("{address}/full"), most, line);
    for (i, count) in told.items("/entered_after").iter().enumerate() {
        expected.is(format!("{address}/entered_after/{i}"), count.as_f64(), line);
    }
}

fn nodes(address: &str, run: &Json, trial: &Trial<'_>, expected: &mut Expected) {
    let nodes: Vec<&Line> = trial.of("node").collect();
    let line = nodes.first().map(|node| node.number).or(Some(trial.start.number));
    expected.is(format!("{address}/nodes"), nodes.len() as f64, line);
    for name in run.get("hops").and_then(Json::as_object).into_iter().flatten().map(|(name, _)| name) {
        expected.is(format!("{address}/hops/{name}"), sum(&nodes, &format!("/hops/{name}")), line);
    }
}

/// What members heard in intervals is what they heard in the end: deliveries have a latency each.
fn conserved(address: &str, trial: &Trial<'_>, told: &Line, expected: &mut Expected) {
    let heard = sum(&trial.ticks(), "/deliveries/count");
    let delivered: f64 = told.items("/rooms").iter().filter_map(|room| room.get("delivered")?.as_f64()).sum();
    let room = |field: &str| told.items("/rooms").iter().filter_map(|room| room.get(field)?.as_f64()).sum::<f64>();
    // A member may hear what is not due to it, and what is settled after the load is in no interval.
    let slack = room("foreign") + room("away") + room("duplicated");
    expected.within(format!("{address}/latency/count"), 0.0, heard.max(delivered) + slack, Some(told.number));
}
