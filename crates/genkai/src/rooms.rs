//! `genkai experiment run rooms` and `rooms-http`: flags to plans.

use genkai_lab::experiment::rooms::Site;
use genkai_lab::experiment::{idle_requests, rooms as experiment};
use genkai_model::plan::{Backplane, Plan, Router};
use genkai_model::units::{Bytes, Span};
use genkai_model::websocket::SMALLEST_MESSAGE;

use crate::cli::{BackplaneFlag, HeldFlags, PlaceFlags, RoomsFlags, RouterFlag, RouterFlags};
use crate::placement::placement;
use crate::tune::{self, settings};
use crate::{Failure, websocket};

/// The plan that flags describe.
///
/// # Errors
/// When they contradict each other.
pub(crate) fn plan(flags: &RoomsFlags) -> Result<Plan, Failure> {
    let size = flags.run.size();
    let mut shape = experiment::Shape::of(size);
    shape.rooms = flags.rooms.unwrap_or(shape.rooms);
    shape.members = flags.members.unwrap_or(shape.members);
    shape.messages = flags.messages.unwrap_or(shape.messages);
    shape.message_every = flags.message_every.unwrap_or(shape.message_every);
    shape.enter_every = flags.enter_every.unwrap_or(shape.enter_every);
    if shape.message_every.0 == 0 || shape.enter_every.0 == 0 {
        return Err(Failure::usage("--message-every, --enter-every: must be longer than zero"));
    }
    if u64::from(shape.rooms) * u64::from(shape.members) > u64::from(u32::MAX) {
        return Err(Failure::usage("--rooms times --members: too many clients"));
    }
    shape.message = message(flags.message_size)?.unwrap_or(shape.message);
    shape.member_queue = flags.member_queue.unwrap_or(shape.member_queue);
    let nodes = match (&flags.sweep_nodes[..], flags.nodes) {
        ([], nodes) => vec![nodes.unwrap_or(1)],
        (several, _) => several.to_vec(),
    };
    let backplane = match flags.backplane {
        Some(BackplaneFlag::None) => Backplane::None,
        Some(BackplaneFlag::Redis) => Backplane::Redis,
        None if nodes.iter().any(|n| *n > 1) => Backplane::Redis,
        None => Backplane::None,
    };
    let server = flags.server.clone().unwrap_or_else(|| "embedded".to_owned());
    let site = Site {
        nodes,
        server,
        router: router(&flags.router, QUEUE_TIMEOUT)?,
        backplane,
        redis: settings("--redis-set", "maxclients=20", &flags.redis_set)?
            .into_iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect(),
        faults: flags.fault.clone(),
    };
    spread(experiment::plan(size, &shape, site), &flags.places)
}

/// The plan with its load spread over processes and machines. Which router listens where, its cluster says.
fn spread(plan: Plan, flags: &PlaceFlags) -> Result<Plan, Failure> {
    Ok(placement(flags, None)?.of(plan))
}

/// A size of messages that can carry who sent them.
fn message(size: Option<Bytes>) -> Result<Option<Bytes>, Failure> {
    match size {
        Some(Bytes(size)) if size < SMALLEST_MESSAGE => Err(websocket::too_small(size)),
        size => Ok(size),
    }
}

/// The plan of `rooms-http` that flags describe.
///
/// # Errors
/// When requests would be held for no time.
pub(crate) fn held(flags: &HeldFlags) -> Result<Plan, Failure> {
    let size = flags.run.size();
    let mut shape = idle_requests::Shape::of(size);
    shape.nodes = flags.nodes.unwrap_or(shape.nodes);
    shape.time = flags.hold.unwrap_or(shape.time);
    shape.most = flags.most.unwrap_or(shape.most);
    if shape.time.0 == 0 {
        return Err(Failure::usage("--hold: must be longer than zero"));
    }
    // Who waits as long as requests are held gets the place of one that is done, and is not refused.
    let wait = Span(QUEUE_TIMEOUT.0.min(shape.time.0 / 5));
    spread(idle_requests::plan(size, shape, router(&flags.router, wait)?), &flags.places)
}

/// How long a request waits for a node with room.
const QUEUE_TIMEOUT: Span = Span::from_secs(5);

fn router(flags: &RouterFlags, wait: Span) -> Result<Option<Router>, Failure> {
    let product = match flags.router {
        None | Some(RouterFlag::None) if flags.listen.is_some() => {
            return Err(Failure::usage(
                "--listen is the address of a router\n  hint: add --router haproxy, or leave it out",
            ));
        }
        None | Some(RouterFlag::None) => return Ok(None),
        Some(RouterFlag::Haproxy) => "haproxy",
        Some(RouterFlag::Nginx) => "nginx",
    };
    let listen = tune::listen(flags.listen)?;
    let queue_timeout = flags.queue_timeout.unwrap_or(wait);
    Ok(Some(Router { product: product.to_owned(), node_connections: flags.node_connections, queue_timeout, listen }))
}
