//! Where clients live: on a thread on the generator's core (the lab's own thread writes the record and looks at servers), or in processes of
//! their own, here or on other machines.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use genkai_engine::broadcast::{Answer, BroadcastClients, BroadcastError, ClientOptions};
use genkai_engine::pin;
use genkai_model::latencies::Case;

use crate::error::LabError;
use crate::generator::{Asked, Crowd};

type Done = Result<Option<Answer>, BroadcastError>;
/// What is to be done with the clients of all contenders.
type Work = Box<dyn FnOnce(&mut Vec<BroadcastClients>) -> Done + Send>;

/// All clients of a start. Dropping it ends all connections.
pub(super) enum Asker<'a> {
    /// On a thread of ours.
    Thread(ClientThread),
    /// In several processes.
    Processes(Box<Crowd<'a>>),
}

impl Asker<'_> {
    /// Connects so many clients of the next contender.
    pub(super) fn gather(
        &mut self,
        address: SocketAddr,
        options: ClientOptions,
        (count, patience): (usize, Duration),
    ) -> Result<(), LabError> {
        match self {
            Asker::Thread(thread) => thread.gather(address, options, count, patience),
            Asker::Processes(crowd) => crowd.gather(address, options),
        }
    }

    /// Asks a contender, in the order in which they were gathered. `bytes`: of small messages. An error within is the contender's, which does not
    /// do its part.
    pub(super) fn ask(
        &mut self,
        contender: usize,
        case: Case,
        bytes: usize,
    ) -> Result<Result<Asked, String>, LabError> {
        match self {
            Asker::Thread(thread) => match thread.ask(contender, case, bytes) {
                Ok(answer) => Ok(Ok(Asked { answer, workers: Vec::new() })),
                Err(LabError::Broadcast(e)) if e.is_of_server() => Ok(Err(e.to_string())),
                Err(other) => Err(other),
            },
            Asker::Processes(crowd) => crowd.ask(contender, case, bytes as u64),
        }
    }
}

/// The other end of the thread. Dropping it ends the thread, and all connections.
pub(super) struct ClientThread {
    work: Sender<Work>,
    done: Receiver<Done>,
}

impl ClientThread {
    /// Starts the thread on `cpu`.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        cpu: Option<usize>,
    ) -> (ClientThread, ScopedJoinHandle<'scope, ()>) {
        let (work, received) = channel::<Work>();
        let (answers, done) = channel();
        let handle = scope.spawn(move || {
            // Unpinned, it shares cores with servers; the record says which it should have.
            let _ = cpu.map(pin);
            let mut clients = Vec::new();
            for work in received {
                if answers.send(work(&mut clients)).is_err() {
                    return;
                }
            }
        });
        (ClientThread { work, done }, handle)
    }

    /// Connects so many clients of the next contender.
    fn gather(
        &self,
        address: SocketAddr,
        options: ClientOptions,
        count: usize,
        patience: Duration,
    ) -> Result<(), LabError> {
        let connect = move |all: &mut Vec<BroadcastClients>| {
            all.push(BroadcastClients::connect(address, options, count, patience)?);
            Ok(None)
        };
        self.order(connect).map(drop)
    }

    /// Asks a contender, in the order in which they were gathered. `bytes`: of small messages.
    fn ask(&self, contender: usize, case: Case, bytes: usize) -> Result<Answer, LabError> {
        let ask = move |all: &mut Vec<BroadcastClients>| {
            all.iter_mut().try_for_each(BroadcastClients::poll)?;
            all[contender].ask(case, bytes).map(Some)
        };
        self.order(ask)?.ok_or_else(gone)
    }

    fn order(
        &self,
        work: impl FnOnce(&mut Vec<BroadcastClients>) -> Done + Send + 'static,
    ) -> Result<Option<Answer>, LabError> {
        self.work.send(Box::new(work)).map_err(|_| gone())?;
        Ok(self.done.recv().map_err(|_| gone())??)
    }
}

fn gone() -> LabError {
    LabError::Environment("the thread of the clients has ended by itself".to_owned())
}
