//! `genkai experiment run reverse-proxy-cache`: flags to a plan, the run, its outputs.

use std::fs;
use std::path::Path;

use genkai_lab::cache;
use genkai_lab::experiment::{Size, cache as experiment};
use genkai_model::cache::Caching;
use genkai_model::content::{Content, Mix, Sizes};
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;
use genkai_report::figure;
use genkai_scenario::access;

use crate::Failure;
use crate::cli::CacheFlags;
use crate::placement::placement;
use crate::study::{self, How};
use crate::view;

/// Smallest budgets: Traffic Server's smallest store is 128 MiB, shared memory needs some room.
const LEAST: (u64, u64) = (4 << 20, 128 << 20);
/// Most requests that are taken from an access log.
const RECORDED: usize = 200_000;

/// The plan that flags describe.
///
/// # Errors
/// When they contradict each other, or nothing can be compared here.
fn plan(flags: &CacheFlags) -> Result<Plan, Failure> {
    let size = flags.run.size();
    let mut caching = experiment::shape(size);
    caching.clients = flags.clients.unwrap_or(caching.clients);
    caching.rounds = flags.rounds.unwrap_or(caching.rounds);
    caching.seed = flags.seed.unwrap_or(caching.seed);
    caching.content.objects = flags.objects.unwrap_or(caching.content.objects);
    caching.requests = flags.requests.unwrap_or(caching.requests.min(caching.content.objects));
    caching.memory = flags.memory_budget.unwrap_or(caching.memory);
    caching.disk = flags.disk_budget.unwrap_or(caching.disk);
    caching.rate = flags.rate;
    if flags.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e6)) {
        return Err(Failure::usage("--rate: must be above 0 and at most 1,000,000 requests a second"));
    }
    if caching.memory.0 < LEAST.0 || caching.disk.0 < LEAST.1 {
        return Err(Failure::usage("--memory-budget must be at least 4m, --disk-budget at least 128m"));
    }
    caching.access_times |= flags.access_times;
    if flags.no_search {
        caching.search = None;
    }
    if let Some(mix) = &flags.mix {
        caching.mix = mixed(mix)?;
    }
    if let Some(file) = &flags.access_log {
        recorded(file, flags.requests, &mut caching)?;
    }
    if caching.mix == Mix::Sweep && caching.requests > caching.content.objects {
        return Err(Failure::usage(format!(
            "--requests {}: a sweep requests each of the {} objects once\n  hint: more --objects, or --mix zipf",
            caching.requests, caching.content.objects
        )));
    }
    caching.contenders = experiment::contenders(&contenders(size, &flags.contenders));
    let objective = flags.must_hold.clone().unwrap_or_else(experiment::objective);
    let placement = placement(&flags.places, flags.listen.listen)?;
    Ok(placement.of(experiment::plan(size, caching, objective)))
}

fn mixed(text: &str) -> Result<Mix, Failure> {
    let exponent = match text.split_once(':') {
        None if text == "sweep" => return Ok(Mix::Sweep),
        None if text == "zipf" => Some(0.9),
        Some(("zipf", exponent)) => exponent.parse().ok().filter(|e| (0.0..=5.0).contains(e)),
        _ => None,
    };
    let exponent = exponent.ok_or_else(|| {
        Failure::usage(format!("--mix {text}: must be sweep, zipf, or zipf:EXPONENT with an exponent from 0 to 5"))
    })?;
    Ok(Mix::Zipf { exponent })
}

fn recorded(file: &Path, requests: Option<u32>, caching: &mut Caching) -> Result<(), Failure> {
    let raw =
        fs::read(file).map_err(|e| Failure::usage(format!("--access-log: cannot read {}: {e}", file.display())))?;
    let most = requests.map_or(RECORDED, |n| RECORDED.min(n as usize));
    let log = access::recording(&String::from_utf8_lossy(&raw), most);
    let strange = log.strange;
    if log.order.is_empty() {
        return Err(Failure::usage(format!(
            "--access-log {}: it has no GET answered by 200 or 304 ({} lines are not in the common or combined log format)\n  \
             hint: log in one of the two: servers know them as `combined` and `common`",
            file.display(),
            strange.0
        )));
    }
    if strange.0 > 0 {
        view::say(&format!("access log: {} lines are not in the format, the first is line {}", strange.0, strange.1));
    }
    caching.requests = log.order.len() as u32;
    caching.content =
        Content { objects: log.sizes.len() as u32, sizes: Sizes::Listed(log.sizes), seed: caching.content.seed };
    caching.mix = Mix::Recorded(log.order);
    Ok(())
}

/// The caches asked for; none asked for: those of the size that can run.
fn contenders(size: Size, asked: &[String]) -> Vec<String> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let (can, cannot) = cache::available();
    let wanted = |name: &str| size == Size::Full || experiment::QUICK.contains(&name);
    cannot.iter().filter(|(name, _)| wanted(name)).for_each(|(_, why)| view::say(&format!("left out: {why}")));
    can.into_iter().filter(|name| wanted(name)).map(str::to_owned).collect()
}

/// What is going to happen, and about how long it takes.
fn announced(plan: &Caching) -> String {
    let searched = plan.search.map_or_else(String::new, |search| {
        format!(", the highest rates searched for with loads of {}", figure::seconds(search.hold.as_secs_f64()))
    });
    let minutes = experiment::lasts(plan).as_secs_f64() / 60.0;
    format!(
        "{}, {} each: {} requests cold and warm{searched}; about {} in all",
        figure::plural(plan.contenders.len() as u64, "contender", "contenders"),
        figure::plural(plan.rounds.into(), "round", "rounds"),
        figure::count(plan.requests.into()),
        figure::plural(minutes.ceil() as u64, "minute", "minutes")
    )
}

/// Makes a run and its outputs.
pub(crate) fn run(flags: &CacheFlags) -> Result<Exit, Failure> {
    let plan = plan(flags)?;
    if let Some(caching) = plan.caching().filter(|_| !flags.run.output.quiet) {
        view::say(&announced(caching));
    }
    let how = How { markdown: flags.markdown, ..How::default() };
    study::run(plan, study::place(None)?, how, &flags.run.output)
}
