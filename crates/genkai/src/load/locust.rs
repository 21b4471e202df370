//! `genkai load FILE --locust HOST:PORT`: the users of a scenario, as a Locust master asks for them. Each test that the master begins is a
//! load with a record of its own.

use genkai_lab::job::{Job, Outcome};
use genkai_lab::locust::{Test, Worker};
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_model::load::{Arrivals, Scale, Stop};
use genkai_model::plan::Plan;
use genkai_model::units::{Span, Spread};

use super::plan::AT_ONCE;
use super::{plan, show};
use crate::cli::Load;
use crate::view::{self, View};
use crate::{Failure, interrupt, study};

/// The port of a Locust master that was told no other.
const PORT: u16 = 5557;
/// A test that nobody ends ends then.
const LONGEST: Span = Span::from_secs(24 * 3600);
/// Intervals: what the master is told every three seconds is made of them.
const INTERVAL: Span = Span::from_secs(1);

/// Makes the tests of the master at `address` until it lets us go.
///
/// # Errors
/// When flags make no sense, there is no master, or a test could not be made.
pub(super) fn run(flags: &Load, address: &str) -> Result<Exit, Failure> {
    let plan = following(flags, address)?;
    let master = with_port(address)?;
    let Some(scenario) = plan.load.scenario.as_deref() else {
        return Err(Failure::usage(
            "--locust: needs a scenario file, whose flows are named like the master's user classes",
        ));
    };
    let interrupt = interrupt::flag();
    let Some(mut worker) = Worker::join(&master, scenario, &interrupt)? else { return Ok(Exit::Interrupted) };
    let say = |text: &str| {
        if !flags.quiet {
            view::say(text);
        }
    };
    say(&format!("ready: a worker of the Locust master at {master}"));
    let mut exit = None;
    while let Some(test) = worker.wait()? {
        let job = study::job(sized(&plan, &test), study::place(None)?, Pin::Free, flags.out.clone(), &interrupt);
        let made = one(&mut worker, &test, &job, flags)?;
        let shown = show(flags, &made, None)?;
        if let Some(failure) = made.failure {
            return Err(failure.into());
        }
        exit = Some(exit.map_or(shown, |before: Exit| if before == Exit::Holds { shown } else { before }));
    }
    match exit {
        Some(exit) => Ok(exit),
        None if interrupt.is_stopped() => Ok(Exit::Interrupted),
        None => {
            say("the master has begun no test");
            Ok(Exit::Holds)
        }
    }
}

/// One test.
fn one(worker: &mut Worker<'_>, test: &Test, job: &Job<'_>, flags: &Load) -> Result<Outcome, Failure> {
    let mut view = View::of(&job.plan.study, flags.quiet, flags.color, job.interrupt);
    let outcome = worker.make(test, job, &mut |event| view.event(event));
    view.finish();
    Ok(outcome?)
}

/// What is to be done when the master begins a test.
fn following(flags: &Load, address: &str) -> Result<Plan, Failure> {
    if flags.requests.is_some() || flags.tables.csv.is_some() || flags.tables.jtl.is_some() {
        return Err(Failure::usage(
            "--requests, --csv, --jtl: not with --locust; a test ends when its master says so, and the record (--out) has all of it",
        ));
    }
    let mut plan = plan::plan(flags)?;
    if plan.load.scale != Scale::default() {
        return Err(Failure::usage(
            "--processes, --on, --source: not with --locust; start as many workers as you need, each is one",
        ));
    }
    plan.title = format!("{}, as a Locust master asks", plan.title);
    let load = &mut plan.load;
    load.asked_by = Some(format!("Locust master {address}"));
    load.stages.clear();
    load.arrivals = Arrivals::Users { count: 1, spawn_rate: AT_ONCE, think: Spread::default() };
    load.stop = Stop { after: LONGEST, requests: None };
    load.tick = INTERVAL;
    Ok(plan)
}

/// The plan of a test, with the users that it begins with.
fn sized(plan: &Plan, test: &Test) -> Plan {
    let mut plan = plan.clone();
    plan.load.arrivals = Arrivals::Users { count: test.total(), spawn_rate: AT_ONCE, think: Spread::default() };
    plan
}

/// `HOST` or `HOST:PORT`, with a port.
fn with_port(address: &str) -> Result<String, Failure> {
    let wrong =
        || Failure::usage(format!("--locust {address}: is not HOST or HOST:PORT\n  hint: --locust 127.0.0.1:5557"));
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
        _ => (address, PORT),
    };
    let plain = !host.is_empty() && !host.contains(['/', ' ', '@']);
    plain.then(|| format!("{host}:{port}")).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_is_a_host_and_perhaps_a_port() {
        let read = |text: &str| with_port(text).map_err(|failure| failure.exit);
        assert_eq!(read("127.0.0.1"), Ok("127.0.0.1:5557".to_owned()));
        assert_eq!(read("load1:7000"), Ok("load1:7000".to_owned()));
        assert_eq!(read("[::1]:7000"), Ok("[::1]:7000".to_owned()));
        for wrong in ["", ":7", "a:b", "tcp://a:5557", "a:70000"] {
            assert_eq!(read(wrong), Err(Exit::Usage), "{wrong}");
        }
    }
}
