//! `genkai compare`: flags to a plan, the run, its outputs.

mod contenders;

use genkai_lab::compare;
use genkai_lab::experiment::{self, Size};
use genkai_lab::system::Pin;
use genkai_model::comparison::{Comparison, Runs};
use genkai_model::exit::Exit;
use genkai_model::load::{Arrivals, Load};
use genkai_model::plan::{Plan, Study, System};
use genkai_model::units::Span;

use crate::cli::Compare;
use crate::study::{self, How};
use crate::{Failure, flags, http2, scenario, websocket};

/// Users a second when they all come at once.
const AT_ONCE: f64 = 1e6;

/// `genkai compare`.
pub(crate) fn run(flags: &Compare) -> Result<Exit, Failure> {
    let pin = flags::pin(&flags.blocks.pin)?;
    let plan = plan(flags, &pin)?;
    let how = How { pin, markdown: flags.markdown, ..How::default() };
    study::run(plan, study::place(None)?, how, &flags.output)
}

fn plan(flags: &Compare, pin: &Pin) -> Result<Plan, Failure> {
    let blocks = &flags.blocks;
    let cores = pin.resolve().map_or_else(|| genkai_lab::pinning::cores().len(), |p| p.client.len());
    let size = if blocks.full { Size::Full } else { Size::Quick };
    let usual = if blocks.quick || blocks.full { compare::usual(size) } else { compare::Usual::default() };
    let hold = blocks.hold.unwrap_or(usual.hold);
    if hold.as_secs_f64() < 0.2 {
        return Err(Failure::usage("--hold: a turn must last at least 200ms to be measured"));
    }
    if !(0.1..=100.0).contains(&blocks.margin) {
        return Err(Failure::usage(format!("--margin {}: must be from 0.1 to 100 percent", blocks.margin)));
    }
    let told = scenario::read(&flags.scenario, flags.output.quiet, false)?;
    let mut load = if let Some(told) = &told {
        flags.messages.must_be_unused(scenario::DEFINES)?;
        told.load(&flags.load, AT_ONCE, cores)?
    } else if flags.websocket {
        websocket::load(&flags.load, &flags.messages, AT_ONCE)?
    } else {
        flags.messages.must_be_unused("needs --websocket")?;
        match flags.streams.each() {
            Some(streams) => http2::load(&flags.load, streams, AT_ONCE, cores)?,
            None => flags.load.load(AT_ONCE, cores)?,
        }
    };
    load.tick = compare::tick(hold);
    let who = contenders::read(flags, &load)?;
    who.contenders.iter().try_for_each(|one| match &one.runs {
        Runs::Server { system, .. } => http2::must_fit(&load, &system.product),
        Runs::Url(_) => Ok(()),
    })?;
    let comparison = Comparison {
        base: who.base,
        contenders: who.contenders,
        control: !blocks.no_control,
        ramp: ramp(flags, &load, usual.ramp),
        hold,
        looks: blocks.blocks.map_or(usual.looks, compare::looks),
        margin: blocks.margin / 100.0,
        deciding: blocks.decide.clone(),
        seed: flags.load.seed,
        claim: None,
    };
    let first = comparison.contenders.iter().find_map(|one| match &one.runs {
        Runs::Server { system, .. } => Some((**system).clone()),
        Runs::Url(_) => None,
    });
    let system = first.unwrap_or_else(|| System::generated(System::STANDING));
    let plan = Plan::of(
        scenario::title(who.title, &told),
        system,
        load,
        blocks.objective.clone(),
        experiment::procedure(Size::Quick),
    );
    Ok(Plan { study: Study::Compare(comparison), ..plan })
}

/// How long the load rises in a turn: as asked for, else a short time.
fn ramp(flags: &Compare, load: &Load, usual: Span) -> Span {
    match (load.arrivals, flags.load.spawn_rate, flags.load.ramp) {
        (Arrivals::Users { count, .. }, Some(rate), _) => Span::from_secs_f64(f64::from(count) / rate),
        (Arrivals::Rate { .. }, _, Some(ramp)) => ramp,
        _ => usual,
    }
}
