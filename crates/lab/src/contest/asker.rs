//! The thread on which clients live, on the generator's core: the lab's own thread writes the record and looks at servers.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use genkai_engine::broadcast::{Answer, BroadcastClients, BroadcastError, ClientOptions};
use genkai_engine::pin;
use genkai_model::contest::Case;

use super::order::Question;
use crate::error::LabError;

/// The clients of one contender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clients {
    pub(super) address: SocketAddr,
    pub(super) options: ClientOptions,
    pub(super) count: usize,
    pub(super) patience: Duration,
}

/// What is to be done.
enum Order {
    Gather(Clients),
    Ask(Question, usize),
}

type Done = Result<Option<Answer>, BroadcastError>;

/// The other end of the thread. Dropping it ends the thread, and all connections.
pub(super) struct Asker {
    orders: Sender<Order>,
    done: Receiver<Done>,
}

impl Asker {
    /// Starts the thread on `cpu`.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        cpu: Option<usize>,
    ) -> (Asker, ScopedJoinHandle<'scope, ()>) {
        let (orders, received) = channel();
        let (answers, done) = channel();
        let handle = scope.spawn(move || {
            // Unpinned, it shares cores with servers; the record says which it should have.
            let _ = cpu.map(pin);
            let mut all_clients = Vec::new();
            for order in received {
                if answers.send(carry_out(&mut all_clients, order)).is_err() {
                    return;
                }
            }
        });
        (Asker { orders, done }, handle)
    }

    /// Connects the clients of the next contender.
    pub(super) fn gather(&self, clients: Clients) -> Result<(), LabError> {
        self.order(Order::Gather(clients)).map(drop)
    }

    /// Asks a contender, in the order in which they were gathered. `bytes`: of small messages.
    pub(super) fn ask(&self, contender: usize, case: Case, bytes: usize) -> Result<Answer, LabError> {
        self.order(Order::Ask((contender, case), bytes))?.ok_or_else(gone)
    }

    fn order(&self, order: Order) -> Result<Option<Answer>, LabError> {
        self.orders.send(order).map_err(|_| gone())?;
        Ok(self.done.recv().map_err(|_| gone())??)
    }
}

fn gone() -> LabError {
    LabError::Environment("the thread of the clients has ended by itself".to_owned())
}

fn carry_out(all_clients: &mut Vec<BroadcastClients>, order: Order) -> Done {
    match order {
        Order::Gather(Clients { address, options, count, patience }) => {
            all_clients.push(BroadcastClients::connect(address, options, count, patience)?);
            Ok(None)
        }
        Order::Ask((contender, case), bytes) => {
            for clients in all_clients.iter_mut() {
                clients.poll()?;
            }
            all_clients[contender].ask(case, bytes).map(Some)
        }
    }
}
