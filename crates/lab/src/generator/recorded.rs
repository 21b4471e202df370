//! A load written down while it is made, where nothing is decided on the way.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use genkai_engine::{Hold, StopFlag};
use genkai_model::event::{TrialStarted, What};
use genkai_model::load::Load;

use super::{Generator, LoadEnd, LoadEvent, into, received};
use crate::error::LabError;
use crate::recorder::Recorder;

/// Longest wait for anything before the interrupt is looked at again.
const POLL: Duration = Duration::from_millis(20);

/// A load that is to be made and written down.
pub(crate) struct Recorded<'a> {
    /// Number of the trial.
    pub(crate) number: u32,
    /// The load.
    pub(crate) load: &'a Load,
    /// What the record says of its beginning.
    pub(crate) started: TrialStarted,
    /// Makes it.
    pub(crate) generator: Generator<'a>,
    /// Set when the user wants to stop.
    pub(crate) interrupt: &'a StopFlag,
}

impl Recorded<'_> {
    /// Makes the load. `meanwhile` is called every few milliseconds, with when the load began once it has.
    ///
    /// # Errors
    /// When the load could not begin, the record cannot be written, or `meanwhile` fails; the load is stopped then.
    pub(crate) fn make(
        self,
        recorder: &mut Recorder<'_>,
        meanwhile: impl FnMut(&mut Recorder<'_>, Option<Instant>) -> Result<(), LabError>,
    ) -> Result<LoadEnd, LabError> {
        let stop = StopFlag::new();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            self.generator.spawn(scope, self.load, (&stop, &Hold::new()), into(sender));
            let ended = self.watch(&receiver, &stop, recorder, meanwhile);
            // Whatever went wrong: the load must not go on.
            stop.stop();
            ended
        })
    }

    /// Writes down what the generator tells, until it has ended.
    fn watch(
        self,
        receiver: &Receiver<LoadEvent>,
        stop: &StopFlag,
        recorder: &mut Recorder<'_>,
        mut meanwhile: impl FnMut(&mut Recorder<'_>, Option<Instant>) -> Result<(), LabError>,
    ) -> Result<LoadEnd, LabError> {
        let (number, mut started, mut began) = (Some(self.number), Some(self.started), None);
        loop {
            if self.interrupt.is_stopped() {
                stop.stop();
            }
            meanwhile(recorder, began)?;
            match received(receiver, POLL)? {
                Some(LoadEvent::Started(at)) => {
                    began = Some(at);
                    if let Some(started) = started.take() {
                        recorder.at(at, number, What::TrialStarted(Box::new(started)))?;
                    }
                }
                Some(LoadEvent::Tick(tick)) => recorder.now(number, What::Tick(tick))?,
                Some(LoadEvent::Ended(made)) => return *made,
                None => {}
            }
        }
    }
}
