//! Rooms shared with other nodes: what members say is published to Redis, a channel a room, and what comes back is passed on.
//!
//! Nothing waits for Redis but messages. Those that cannot be given to it are lost and counted, never repeated: of a batch
//! that was cut off nobody knows which arrived, and a message twice is no better than one lost. Redis for its part promises
//! at most one delivery (Redis documentation, "Pub/Sub", "Delivery semantics").

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use futures_util::StreamExt as _;
use genkai_model::rooms::PUBLISHED;
use genkai_wire::websocket::Kind;
use redis::aio::{MultiplexedConnection, PubSubSink, PubSubStream};
use redis::{AsyncConnectionConfig, Client, RedisError, RedisResult, pipe};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::backplane::{Backplane, Outward, Wish};
use super::house::House;

/// Messages given to Redis at once.
const BATCH: usize = 256;
/// Longest wait for an answer of Redis.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before connecting again, and what it grows to.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// What channels of this server are called.
const PREFIX: &str = "genkai:rooms:";

/// Joins the backplane that the house is to have, if any. The future does the work; it does not end.
///
/// # Errors
/// When Redis cannot be reached.
pub(super) async fn join(house: &Rc<House>) -> io::Result<impl Future<Output = ()> + use<>> {
    let Some(address) = house.spec.redis.clone() else {
        return Ok(futures_util::future::Either::Left(std::future::pending()));
    };
    let client = Client::open(address).map_err(io::Error::other)?;
    let (publishing, subscribing) = (publishing(&client).await, subscribing(&client).await);
    // The address, not the URL: that may carry a password.
    let away = |e: RedisError| {
        let server = client.get_connection_info().addr();
        io::Error::other(format!("no Redis at {server}: {e}\n  hint: start redis-server, or correct --redis"))
    };
    let (publishing, subscribing) = (publishing.map_err(away)?, subscribing.map_err(away)?);
    let (backplane, outward, wished) = Backplane::new();
    let _ = house.backplane.set(backplane);
    let publisher = publish(Rc::clone(house), client.clone(), publishing, outward);
    let subscriber = Subscriber { house: Rc::clone(house), client, wished, rooms: HashMap::new(), waiting: Vec::new() };
    let work = async move {
        tokio::join!(publisher, subscriber.run(subscribing));
    };
    Ok(futures_util::future::Either::Right(work))
}

async fn publishing(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config =
        AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE)).set_connection_timeout(Some(PATIENCE));
    client.get_multiplexed_async_connection_with_config(&config).await
}

async fn subscribing(client: &Client) -> RedisResult<(PubSubSink, PubSubStream)> {
    Ok(client.get_async_pubsub().await?.split())
}

/// Publishes what comes, in order.
async fn publish(
    house: Rc<House>,
    client: Client,
    mut connection: MultiplexedConnection,
    mut outward: Receiver<Outward>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while outward.recv_many(&mut batch, BATCH).await > 0 {
        let mut commands = pipe();
        for message in &batch {
            commands.publish(format!("{PREFIX}{}", message.room), &message.payload[..]).ignore();
        }
        let published: Result<(), RedisError> = commands.query_async(&mut connection).await;
        let failed = published.is_err();
        for message in batch.drain(..) {
            if failed {
                house.counters.unpublished.add(1);
            } else {
                house.counters.published.add(1);
                house.trace.borrow_mut().hop(message.place, PUBLISHED);
            }
        }
        if failed {
            house.counters.backplane_lost.add(1);
            connection = again(|| publishing(&client)).await;
        }
    }
}

/// Connects until it succeeds.
async fn again<T, F: Future<Output = RedisResult<T>>>(connect: impl Fn() -> F) -> T {
    let mut pause = PAUSE.0;
    loop {
        match connect().await {
            Ok(connection) => return connection,
            Err(_) => sleep(pause).await,
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}

struct Subscriber {
    house: Rc<House>,
    client: Client,
    wished: UnboundedReceiver<Wish>,
    /// Members of each room, those on their way in too.
    rooms: HashMap<String, usize>,
    /// Those to be told once the next subscription stands.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Subscriber {
    async fn run(mut self, mut connection: (PubSubSink, PubSubStream)) {
        loop {
            let (sink, stream) = connection;
            self.listen(sink, stream).await;
            self.house.counters.backplane_lost.add(1);
            connection = again(|| subscribing(&self.client)).await;
        }
    }

    /// Hears rooms until the connection is lost.
    async fn listen(&mut self, mut sink: PubSubSink, mut stream: PubSubStream) {
        let all: Vec<String> = self.rooms.keys().map(|room| channel_of(room)).collect();
        if !all.is_empty() && sink.subscribe(&all).await.is_err() {
            return;
        }
        for done in self.waiting.drain(..) {
            let _ = done.send(());
        }
        loop {
            tokio::select! {
                message = stream.next() => match message {
                    Some(message) => self.pass_on(&message),
                    None => return,
                },
                wish = self.wished.recv() => match wish {
                    Some(wish) => if self.grant(wish, &mut sink).await.is_err() { return },
                    None => return,
                },
            }
        }
    }

    fn pass_on(&self, message: &redis::Msg) {
        let room = message.get_channel_name().strip_prefix(PREFIX);
        let (Some(room), [kind, data @ ..]) = (room, message.get_payload_bytes()) else { return };
        let kind = if *kind == b't' { Kind::Text } else { Kind::Binary };
        self.house.returned(room, kind, data);
    }

    async fn grant(&mut self, wish: Wish, sink: &mut PubSubSink) -> RedisResult<()> {
        match wish {
            Wish::Enter(room, done) => {
                let count = self.rooms.entry(room.clone()).or_default();
                *count += 1;
                let first = *count == 1;
                if first && let Err(e) = sink.subscribe(channel_of(&room)).await {
                    self.waiting.push(done);
                    return Err(e);
                }
                let _ = done.send(());
            }
            Wish::Leave(room) => {
                let Some(count) = self.rooms.get_mut(&room) else { return Ok(()) };
                *count -= 1;
                if *count == 0 {
                    self.rooms.remove(&room);
                    sink.unsubscribe(channel_of(&room)).await?;
                }
            }
        }
        Ok(())
    }
}

fn channel_of(room: &str) -> String {
    format!("{PREFIX}{room}")
}
