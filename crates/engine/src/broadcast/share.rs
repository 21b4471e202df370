//! What the clients of one process do, where those of several processes do one thing together.

use std::time::{Duration, Instant};

use genkai_model::histogram::Payload;
use genkai_model::latencies::Case;
use genkai_model::latencies::steps::{ServerClock, Step, StepEnd};

use super::ask::{Broadcast, Figure};
use super::{BroadcastClients, BroadcastError, busy, monotonic};

impl BroadcastClients {
    /// Takes one step.
    ///
    /// # Errors
    /// As [`BroadcastClients::ask`].
    pub fn step(&mut self, step: Step, clock: ServerClock) -> Result<StepEnd, BroadcastError> {
        let (mut began, mut worked) = (Instant::now(), busy());
        self.wrong = 0;
        let mut end = match step {
            Step::Prepare => StepEnd { closes: self.prepare()?, ..StepEnd::default() },
            Step::Broadcast { bytes } => of(self.receive(Broadcast::Asked { bytes: bytes as usize }, clock)?),
            Step::Receive { since } => of(self.receive(Broadcast::Awaited { since }, clock)?),
            Step::Clear => {
                self.clear()?;
                StepEnd::default()
            }
            Step::Send { bytes, at } => {
                std::thread::sleep(Duration::from_nanos(at.saturating_sub(monotonic())));
                (began, worked) = (Instant::now(), busy());
                self.stamp(bytes as usize, clock);
                self.flushed()?;
                StepEnd { due: self.clients.len() as u64, ..StepEnd::default() }
            }
            Step::Count { due } => {
                let (count, sum) = self.counted(due)?;
                StepEnd { due, missing: due.saturating_sub(count), sum, ..StepEnd::default() }
            }
            Step::Large(case) => of(self.large(case, clock)?),
        };
        // What else is asked afterwards is none of it.
        end.busy_ns = busy() - worked;
        end.lasted_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        end.wrong_ns = self.wrong;
        if !matches!(step, Step::Prepare) {
            end.closes = self.take_closes();
        }
        if matches!(step, Step::Broadcast { .. } | Step::Count { .. } | Step::Large(_)) {
            end.heap = self.heap()?;
        }
        Ok(end)
    }

    fn large(&mut self, case: Case, clock: ServerClock) -> Result<Figure, BroadcastError> {
        let came = match case {
            Case::Give { bytes, binary } => self.give(bytes, binary, clock)?,
            Case::Take { bytes, binary } => self.take(bytes as usize, binary)?,
            Case::Receive | Case::Send => None,
        };
        Ok(Figure::one(came))
    }

    /// Writes until everything that is to be sent is with the kernel.
    fn flushed(&mut self) -> Result<(), BroadcastError> {
        let deadline = Instant::now() + self.patience;
        while self.clients.iter().any(super::client::Client::has_unsent) && Instant::now() < deadline {
            self.until(Instant::now() + WRITES, |_, _| false)?;
        }
        Ok(())
    }
}

/// Between two looks whether all is written.
const WRITES: Duration = Duration::from_millis(2);

fn of(figure: Figure) -> StepEnd {
    let Figure { figure, delays, due, missing } = figure;
    StepEnd { figure, delays: Payload::encode(&delays), due, missing, ..StepEnd::default() }
}
