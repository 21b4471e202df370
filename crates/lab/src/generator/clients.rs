//! A worker process whose clients do step by step what they are told, and wait in between.

use std::io::{BufRead, Write};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use genkai_engine::broadcast::{BroadcastClients, BroadcastError, ClientOptions};
use genkai_engine::pin;
use genkai_model::latencies::steps::{Step, StepEnd};

use super::order_reader::{MessageWriter, OrderReader};
use super::protocol::{ClientsOrder, Did, Report, Task};
use crate::headroom;

/// How often it is looked whether this is over.
const LOOK: Duration = Duration::from_millis(50);

/// Has clients until `input` ends, nobody reads what is said, or nothing was heard for as long as the order says. They are left in the middle of
/// what they do then.
pub(super) fn serve<W: Write + Send + 'static>(
    order: ClientsOrder,
    input: impl BufRead + Send + 'static,
    voice: &MessageWriter<W>,
) {
    headroom::raise_descriptors();
    let ((go, _), (tasks, received)) = (mpsc::channel(), mpsc::channel());
    OrderReader::open(order.leash, voice, (go, tasks), input);
    let own = voice.another();
    let work = thread::spawn(move || {
        // Unpinned, they share cores with others.
        let _ = order.cpu.map(pin);
        own.say(&Report::Ready);
        work(&received, &own);
    });
    while !voice.stop.is_stopped() && !work.is_finished() {
        thread::sleep(LOOK);
    }
}

fn work<W: Write>(tasks: &Receiver<Task>, voice: &MessageWriter<W>) {
    let mut all = Vec::new();
    for task in tasks {
        let did = match done(&mut all, task) {
            Ok(end) => Did::Done(Box::new(end)),
            Err(e) if e.is_of_server() => Did::Gone(e.to_string()),
            Err(e) => Did::Failed(e.to_string()),
        };
        voice.say(&Report::Did(did));
    }
}

fn done(all: &mut Vec<BroadcastClients>, task: Task) -> Result<StepEnd, BroadcastError> {
    match task {
        Task::Connect { address, socketio, compression, clients, patience } => {
            let options = ClientOptions { socketio, compression };
            all.push(BroadcastClients::connect(address, options, clients as usize, patience.duration())?);
            Ok(StepEnd::default())
        }
        Task::Step { server, step, clock } => {
            if step == Step::Prepare {
                // So pings of the others are answered, too.
                all.iter_mut().try_for_each(BroadcastClients::poll)?;
            }
            match all.get_mut(server) {
                Some(clients) => clients.step(step, clock),
                None => Err(BroadcastError::Strange(format!("no server {server} is connected to"))),
            }
        }
    }
}
