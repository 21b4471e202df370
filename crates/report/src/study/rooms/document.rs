//! The report of chat rooms: the score, where messages went, the run over time, how many nodes it takes.

use genkai_model::event::What;
use genkai_model::finding::rooms::{Moment, Placed, RoomsFinding, RoomsRun};
use genkai_model::finding::{Outcome, WorkerFinding};
use genkai_model::record::{Record, Trial};

use super::{answer_first, entries, generator, nodes, place, router, score, sentences, way};
use crate::document::{
    Axis, Block, Cell, Chart, Dash, Document, Drawing, Kind, Pane, Part, Plot, Room, Section, StepPoint, Steps, Style,
    Tab, Table, Tile, Time, Tone, Trace, When,
};
use crate::study::environment::{self, Asked};
use crate::study::machines;
use crate::study::over_time;
use crate::{clean, figure};

/// The report.
pub fn rooms(record: &Record, finding: &RoomsFinding) -> Document {
    let turned = match finding.outcome {
        Outcome::Holds => "a full score",
        Outcome::Fails => "messages are missing",
        Outcome::Invalid => "the load generator was the limit",
        Outcome::Unfinished => "unfinished",
    };
    let said = answer_first(finding);
    let mut document = Document::of(finding.outcome, turned, sentences(finding));
    document.tone = Tone::of(finding.outcome);
    document.headline = said.first().cloned().unwrap_or_else(|| "No answer.".to_owned());
    document.answer = said.into_iter().skip(1).map(|text| Block::styled(Style::Lead, text)).collect();
    document.answer.extend([Block::Tiles { tiles: tiles(finding) }, Block::Columns { columns: columns(finding) }]);
    document.sections.extend(sweep(finding));
    document.sections.extend([scores(finding), ways(finding), over(record, finding)]);
    document.sections.extend(sure(finding));
    document.sections.extend(environment::of(record, Asked::Load));
    document.sections.extend(in_short_sweep(finding));
    document.sections.extend(finding.runs.iter().map(in_short));
    document
}

/// Part of full marks.
fn share(run: &RoomsRun) -> f64 {
    if run.planned > 0 { run.score as f64 / run.planned as f64 } else { 0.0 }
}

/// Whether nothing is missing.
fn full(run: &RoomsRun) -> bool {
    run.planned > 0 && run.score == run.planned
}

/// Rooms with a full score.
fn full_rooms(run: &RoomsRun) -> u64 {
    run.rooms.iter().filter(|score| **score == run.full).count() as u64
}

/// The figures that carry the answer: of the run with the best score.
fn tiles(finding: &RoomsFinding) -> Vec<Tile> {
    let several = finding.runs.len() > 1;
    let Some(run) = finding.runs.iter().rev().max_by(|a, b| share(a).total_cmp(&share(b))) else { return Vec::new() };
    let count = figure::count;
    let rooms = count(run.rooms.len() as u64);
    let wrong = if run.foreign > 0 { format!(", {} in a wrong room", count(run.foreign)) } else { String::new() };
    let scored = format!(
        "of {} ({}); {} of {rooms} rooms full",
        count(run.planned),
        figure::percent(share(run)),
        count(full_rooms(run))
    );
    let fates = format!(
        "{} lost, {} duplicated, {} out of order{wrong}",
        count(run.lost),
        count(run.duplicated),
        count(run.reordered)
    );
    let within = format!("99 % of deliveries; half within {}", figure::seconds(run.latency.p50));
    let fewest = finding.smallest_full.map_or_else(|| "more than tried".to_owned(), |n| count(n.into()));
    let never =
        if run.never_entered > 0 { format!("; {} never entered", count(run.never_entered)) } else { String::new() };
    let members = format!("in {rooms} rooms{never}; {} s", figure::number(run.lasted));
    let mut all = vec![Tile::new(if several { "Best score" } else { "Score" }, count(run.score), scored)];
    all.extend(
        several.then(|| Tile::new("Nodes it takes", fewest, "smallest number of those tried with a full score")),
    );
    all.push(Tile::new("Deliveries", count(run.delivered), fates));
    all.push(Tile::new("Delivery within", figure::seconds(run.latency.p99), within));
    all.extend((!several).then(|| Tile::new("Members", count(run.entered), members)));
    all
}

fn columns(finding: &RoomsFinding) -> Vec<(String, Vec<String>)> {
    let columns = [
        ("Who came in", said_of_each(finding, |run| Some(sentence(&entries(run))))),
        ("The router", said_of_each(finding, |run| run.router.as_ref().map(router))),
    ];
    columns.into_iter().filter(|(_, said)| !said.is_empty()).map(|(title, said)| (title.to_owned(), said)).collect()
}

/// What is said of each run, with its number of nodes where there are several.
fn said_of_each(finding: &RoomsFinding, text: impl Fn(&RoomsRun) -> Option<String>) -> Vec<String> {
    let several = finding.runs.len() > 1;
    let said = finding.runs.iter().filter_map(|run| Some((run, text(run)?)));
    said.map(|(run, text)| if several { format!("{}: {text}", nodes(run.nodes)) } else { text }).collect()
}

/// How the load generator did in each run.
fn sure(finding: &RoomsFinding) -> Option<Section> {
    let run = |run: &RoomsRun| Some(sentence(&format!("the load generator {}", generator(run))));
    crate::document::sure(said_of_each(finding, run))
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", figure::capital(text))
}

/// Several numbers of nodes: what each scored.
fn sweep(finding: &RoomsFinding) -> Option<Section> {
    let runs = by_nodes(finding)?;
    let count = figure::count;
    let row = |run: &&RoomsRun| {
        let score = if full(run) {
            Cell::styled(Style::Proved, "✓ full")
        } else {
            Cell::styled(Style::Refuted, figure::percent(share(run)))
        };
        [
            Cell::from(count(run.nodes.into())),
            count(run.score).into(),
            score,
            count(run.never_entered).into(),
            count(run.cuts.len() as u64).into(),
            count(run.lost).into(),
            figure::seconds(run.latency.p99).into(),
        ]
    };
    let head = ["nodes", "score", "of full marks", "never entered", "cut off", "lost deliveries", "p99 delivery"];
    let table = Table::new("Nodes and score", &head, runs.iter().map(row)).kinds(Kind::Figure, [1, 3, 4, 5, 6]);
    let lead = "The same rooms on different numbers of nodes.";
    let section = Section::page(Part::Figure, "sweep", "Nodes and score", lead);
    Some(section.with([Block::Chart(chart(&runs))]).with(table.block()))
}

/// The runs by number of nodes, where there are several.
fn by_nodes(finding: &RoomsFinding) -> Option<Vec<&RoomsRun>> {
    let mut runs: Vec<&RoomsRun> = finding.runs.iter().collect();
    runs.sort_by_key(|run| run.nodes);
    (runs.len() > 1).then_some(runs)
}

fn chart(runs: &[&RoomsRun]) -> Chart {
    let count = figure::count;
    let planned = runs.first().map_or(0, |run| run.planned);
    let said: Vec<String> = runs.iter().map(|run| format!("{}: {}", nodes(run.nodes), count(run.score))).collect();
    let point = |run: &&RoomsRun| StepPoint {
        x: run.nodes.to_string(),
        y: run.score as f64,
        good: full(run),
        label: Some(figure::percent(share(run))),
    };
    let rows = runs.iter().map(|run| [count(run.nodes.into()), count(run.score)]);
    let plot = Steps {
        x: "nodes".into(),
        y: "score".into(),
        most: Some(planned as f64),
        points: runs.iter().map(point).collect(),
    };
    Chart {
        title: "Score by number of nodes".to_owned(),
        description: format!("{}, of {}.", said.join("; "), count(planned)),
        numbers: Table::new("Score by number of nodes", &["nodes", "score"], rows).kinds(Kind::Figure, 0..2),
        plot: Plot::Steps(plot),
    }
}

/// A view a run.
fn each(finding: &RoomsFinding, blocks: impl Fn(&RoomsRun) -> Vec<Block>) -> Block {
    let tab = |run: &RoomsRun| Tab {
        label: nodes(run.nodes),
        remark: (!full(run)).then(|| figure::percent(share(run))),
        blocks: blocks(run),
    };
    Block::Tabs { name: "Runs".to_owned(), tabs: finding.runs.iter().map(tab).collect() }
}

fn scores(finding: &RoomsFinding) -> Section {
    let lead = "A room's score is what its first entrant heard. Every message that it should have heard and did not costs a point.";
    Section::page(Part::Figure, "rooms", "Score of each room", lead).with([each(finding, cells)])
}

/// How much of a room's full marks is missing, in steps: 0 nothing, 4 much.
fn step(score: u64, full: u64) -> u8 {
    let missing = if full > 0 { 1.0 - score as f64 / full as f64 } else { 0.0 };
    if missing <= 0.0 { 0 } else { 1 + [0.001, 0.02, 0.15].iter().filter(|bound| missing > **bound).count() as u8 }
}

/// What the steps stand for.
const STEPS: [&str; 5] =
    ["full", "up to 0.1 % missing", "up to 2 % missing", "up to 15 % missing", "more than 15 % missing"];

/// The rooms of a run as cells: the fuller, the calmer.
fn cells(run: &RoomsRun) -> Vec<Block> {
    let count = figure::count;
    let room = |(room, score): (usize, &u64)| Room {
        step: step(*score, run.full),
        title: format!("room {room}: {} of {}", count(*score), count(run.full)),
    };
    let rooms: Vec<Room> = run.rooms.iter().enumerate().map(room).collect();
    let legend = (0..5).filter(|step| rooms.iter().any(|room| room.step == *step));
    let legend = legend.map(|step| (step, STEPS[usize::from(step)].to_owned())).collect();
    let [least, most] = extremes(run);
    let label = format!(
        "{} of {} rooms have a full score; scores from {} to {}",
        count(full_rooms(run)),
        count(run.rooms.len() as u64),
        count(least),
        count(most)
    );
    let drawing = Block::Drawing(Drawing::Rooms { label, rooms, legend });
    [Block::styled(Style::Facts, score(run)), drawing].into_iter().chain(worst(run)).collect()
}

/// The lowest and the highest score of a room.
fn extremes(run: &RoomsRun) -> [u64; 2] {
    [run.rooms.iter().min(), run.rooms.iter().max()].map(|score| score.copied().unwrap_or(0))
}

/// The rooms that miss most, folded.
fn worst(run: &RoomsRun) -> Option<Block> {
    let mut missing: Vec<(usize, u64)> =
        run.rooms.iter().copied().enumerate().filter(|(_, score)| *score < run.full).collect();
    missing.sort_by_key(|(_, score)| *score);
    let row = |(room, score): &(usize, u64)| {
        let share = *score as f64 / run.full.max(1) as f64;
        [format!("room {room}"), figure::count(*score), figure::count(run.full - score), figure::percent(share)]
    };
    let head = ["room", "score", "missing", "of full"];
    let table =
        Table { long: true, ..Table::new("Rooms that miss most", &head, missing.iter().take(100).map(row)).figures() };
    let rooms = figure::plural(missing.len() as u64, "room is", "rooms are");
    let summary = format!("Rooms that miss most ({rooms} not full)");
    Some(Block::details(summary, [table.block()?]))
}

fn ways(finding: &RoomsFinding) -> Section {
    let lead = "Servers count at every station. Between two stations stands what was lost there.";
    Section::page(Part::Evidence, "way", "Where messages went", lead).with([each(finding, way)])
}

/// The way of a run's messages, and what is missing where.
fn way(run: &RoomsRun) -> Vec<Block> {
    let stations = way::stations(run);
    let points = run.missing.iter().map(|one: &Placed| [figure::count(one.count), place(one)]);
    let points =
        Table::new("Points missing from the score", &["points missing from the score", "where they went"], points)
            .block();
    let lost = stations.iter().flat_map(|one| &one.lost).map(|(count, place)| [figure::count(*count), place.clone()]);
    let lost = Table::new("Deliveries lost", &["deliveries lost", "where"], lost).block();
    let nothing = || Block::aside("Nothing is missing from the score.");
    let blocks = [Some(Block::Drawing(way::drawing(&stations))), Some(points.unwrap_or_else(nothing)), lost];
    blocks.into_iter().flatten().collect()
}

fn over(record: &Record, finding: &RoomsFinding) -> Section {
    let lead = "When members came, what they heard, and when what was said that never arrived.";
    let views = each(finding, |run| over_one(record, run));
    Section::page(Part::Evidence, "time", "Over time", lead).with([views])
}

fn over_one(record: &Record, run: &RoomsRun) -> Vec<Block> {
    let trial = record.trials.iter().find(|trial| trial.number == run.trial).filter(|_| !run.over.is_empty());
    let Some(trial) = trial else { return vec![Block::aside("Nothing was recorded over time.")] };
    let last = run.over.last().map_or(0.0, |one| one.at).max(run.lasted);
    let states = over_time::states(trial, |_| true).join(" ");
    let states = (!states.is_empty()).then(|| Block::styled(Style::Facts, states));
    let charts = [
        Block::Chart(deliveries(record, trial, run, last)),
        over_time::log_list(trial),
        Block::Chart(times(run, last)),
    ];
    let gauges = over_time::gauges(trial, trial_end(trial).unwrap_or(last), None);
    states.into_iter().chain(charts).chain(gauges).collect()
}

/// When the last interval of a trial ended, seconds.
fn trial_end(trial: &Trial) -> Option<f64> {
    trial.ticks.last().map(|tick| tick.to_us as f64 / 1e6)
}

/// The fault made on purpose in a trial, if there was one.
fn fault(record: &Record, trial: &Trial) -> Option<When> {
    let of = |event: &&genkai_model::event::Event| {
        event.trial == Some(trial.number) && matches!(&event.what, What::Note(note) if note.id == "fault")
    };
    let at = record.remarks.iter().find(of)?.at_us as i64 - trial.at_us as i64;
    Some(When { at: over_time::seconds(at), words: "fault on purpose".to_owned() })
}

fn trace(run: &RoomsRun, of: impl Fn(&Moment) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
    run.over.iter().map(|one| (over_time::drawn(one.at), of(one).map(over_time::drawn))).collect()
}

/// Connections, deliveries and losses, with the servers' log lines.
fn deliveries(record: &Record, trial: &Trial, run: &RoomsRun, last: f64) -> Chart {
    let number = figure::number;
    let axis = |name: &str, most, steps| Axis { name: name.to_owned(), most, steps };
    let lossy = run.over.iter().any(|one| one.lost > 0.0);
    let heard =
        Trace { area: 0.07, ..Trace::new("deliveries/s", "ok", Dash::Solid, trace(run, |one| Some(one.heard))) };
    let open = Trace {
        axis: 1,
        ..Trace::new("connections", "level", Dash::Fine, trace(run, |one| Some(one.connections as f64)))
    };
    let lost = Trace {
        area: 0.25,
        stepped: true,
        ..Trace::new("lost/s", "fail", Dash::Solid, trace(run, |one| Some(one.lost)))
    };
    let panes = vec![
        Pane {
            height: (260, 200),
            axes: vec![axis("deliveries/s", None, 4), axis("connections", None, 4)],
            traces: vec![heard, open],
        },
        Pane { height: (90, 90), axes: vec![axis("lost/s", (!lossy).then_some(1.0), 2)], traces: vec![lost] },
    ];
    let row = |one: &Moment| {
        [number(one.at), figure::count(one.connections), number(one.sent), number(one.heard), number(one.lost)]
    };
    let title = "Connections, deliveries, and when lost messages were sent";
    let head = ["seconds", "connections", "messages/s", "deliveries/s", "lost/s"];
    Chart {
        title: title.to_owned(),
        description: described(run),
        numbers: Table { long: true, ..Table::new(title, &head, run.over.iter().map(row)).kinds(Kind::Figure, 0..5) },
        plot: Plot::Time(Time {
            last,
            panes,
            lanes: over_time::lanes(trial),
            mark: fault(record, trial),
            legend: true,
        }),
    }
}

fn described(run: &RoomsRun) -> String {
    let most = run.over.iter().map(|one| one.heard).fold(0.0, f64::max);
    let open = run.over.iter().map(|one| one.connections).max().unwrap_or(0);
    let lossy: Vec<f64> = run.over.iter().filter(|one| one.lost > 0.0).map(|one| one.at).collect();
    let when = match (lossy.first(), lossy.last()) {
        (Some(first), Some(last)) => format!(
            "Messages that never arrived were sent between {} and {} seconds.",
            figure::number(*first),
            figure::number(*last)
        ),
        _ => "No message was lost.".to_owned(),
    };
    format!("Deliveries reach {} a second with {} connections. {when}", figure::number(most), figure::count(open))
}

/// How long deliveries took.
fn times(run: &RoomsRun, last: f64) -> Chart {
    let worst = run.over.iter().filter_map(|one| Some((one.p99?, one.at))).max_by(|a, b| a.0.total_cmp(&b.0));
    let (unit, factor) = figure::axis_unit(worst.map_or(0.0, |(p99, _)| p99));
    let line = Trace {
        unit: unit.to_owned(),
        ..Trace::new("p99", "p99", Dash::Solid, trace(run, |one| one.p99.map(|s| s * factor)))
    };
    let axes = vec![Axis { name: format!("p99 ({unit})"), most: None, steps: 4 }];
    let description = worst.map_or_else(
        || "Nothing was heard.".to_owned(),
        |(p99, at)| {
            format!(
                "The 99th percentile of each interval. The largest is {}, {} seconds into the load.",
                figure::seconds(p99),
                figure::number(at)
            )
        },
    );
    let row =
        |one: &Moment| [figure::number(one.at), one.p99.map_or_else(|| "nothing heard".to_owned(), figure::seconds)];
    let title = "Delivery time, from the planned instant until a member heard it (p99)";
    let panes = vec![Pane { height: (180, 150), axes, traces: vec![line] }];
    Chart {
        title: title.to_owned(),
        description,
        numbers: Table {
            long: true,
            ..Table::new(title, &["seconds", "p99"], run.over.iter().map(row)).kinds(Kind::Figure, 0..2)
        },
        plot: Plot::Time(Time { last, panes, lanes: Vec::new(), mark: None, legend: false }),
    }
}

fn in_short_sweep(finding: &RoomsFinding) -> Option<Section> {
    let row = |run: &RoomsRun| {
        [
            run.nodes.to_string(),
            figure::count(run.score),
            figure::percent(run.score as f64 / run.planned.max(1) as f64),
            figure::count(run.never_entered),
            figure::count(run.cuts.len() as u64),
            figure::seconds(run.latency.p99),
        ]
    };
    let head = ["nodes", "score", "of full", "never entered", "cut off", "p99 delivery"];
    let table = Table::new("Nodes and score", &head, finding.runs.iter().map(row));
    (finding.runs.len() > 1).then(|| Section::terminal("Nodes and score").and_markdown().with(table.block()))
}

/// What the clocks of several machines leave open of the time from a member of one to a member of another.
fn apart(run: &RoomsRun) -> String {
    // Our own clock has no uncertainty; of another it may not be known how far it moved.
    let within = |one: &WorkerFinding| one.clock_uncertainty.map(|own| Some(own + one.clock_drift?.abs()));
    let Some(mut all) = run.workers.iter().filter_map(within).collect::<Option<Vec<f64>>>() else {
        return ", between members on different machines by clocks of which it is not known how far they moved"
            .to_owned();
    };
    all.sort_by(|a, b| b.total_cmp(a));
    match all.iter().take(2).sum::<f64>() {
        0.0 => String::new(),
        both => format!(", between members on different machines to within {}", figure::seconds(both)),
    }
}

/// A run in short.
fn in_short(run: &RoomsRun) -> Section {
    let count = figure::count;
    let [least, most] = extremes(run).map(count);
    let scores = if run.rooms.len() == 1 { format!("score {most}") } else { format!("scores from {least} to {most}") };
    let rooms = format!("{} of {} full; {scores}", count(full_rooms(run)), count(run.rooms.len() as u64));
    let fates = [
        ("lost", run.lost),
        ("duplicated", run.duplicated),
        ("out of order", run.reordered),
        ("in a wrong room", run.foreign),
    ];
    let fates = fates.map(|(what, n)| format!("{} {what}", count(n))).join(", ");
    let [p50, p99, max] = [run.latency.p50, run.latency.p99, run.latency.max].map(figure::seconds);
    let mut facts = vec![
        ("rooms", rooms),
        ("entered", entries(run)),
        ("sent", format!("{} of {}", count(run.sent), count(run.planned))),
        ("heard", format!("{} deliveries, {fates}", count(run.delivered))),
        ("delivery", format!("{p50} (p50), {p99} (p99), {max} (max), from the planned instant{}", apart(run))),
    ];
    let cuts = run.cuts.len() as u64;
    facts.extend((cuts > 0).then(|| ("cut off", format!("{} connections before the end", count(cuts)))));
    facts.extend(run.losses.iter().map(|one| ("lost", format!("{} deliveries {}", count(one.count), place(one)))));
    facts.extend(run.router.as_ref().map(|one| ("router", router(one))));
    facts.push(("generator", generator(run)));
    facts.extend(machines::of_load(&run.workers).into_iter().map(|text| ("on", text)));
    Section::terminal(&format!("With {}", clean::line(&nodes(run.nodes)))).and_markdown().with([Block::facts(facts)])
}
