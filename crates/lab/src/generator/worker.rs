//! A worker process: makes its part of a load and tells what it sees.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver};

use genkai_engine::{End, EngineError, Part, Start, run_part};
use genkai_model::rooms::Attended;

use super::clients;
use super::order_reader::{MessageWriter, OrderReader};
use super::own::Own;
use super::protocol::{ClientsOrder, Ended, Hello, Order, Report, Request, read};
use super::room::Room;
use crate::error::LabError;
use crate::headroom;

/// Reads an order from `input`, makes that part of the load, and tells `output` what it sees. Ends the load early when `input` ends,
/// nobody reads `output` any more, or nothing was heard for as long as the order says; returns when `input` has ended.
///
/// # Errors
/// When there is no order, and nothing else was asked. That the load cannot be made is said to `output`.
pub fn serve(mut input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) -> Result<(), LabError> {
    let lost = |e: io::Error| LabError::Environment(format!("a worker cannot talk to genkai: {e}"));
    let voice = MessageWriter::new(output);
    voice.say(&Report::Hello(Hello::ours()));
    let order = match order(&mut input, &voice).map_err(lost)? {
        Assignment::Order(order) => order,
        Assignment::Clients(order) => {
            clients::serve(order, input, &voice);
            return Ok(());
        }
        Assignment::Looks => return Ok(()),
        Assignment::Nothing => {
            let text = "a worker got no order\n  hint: `genkai worker` is for genkai itself; see `genkai load`";
            return Err(LabError::Plan(text.to_owned()));
        }
    };
    headroom::raise_descriptors();
    let ((go, start), (tasks, _)) = (mpsc::channel(), mpsc::channel());
    let listening = OrderReader::open(order.leash, &voice, (go, tasks), input);
    let mut own = Own::default();
    let said = match make(&order, &start, &voice, &mut own) {
        Ok((end, members)) => {
            members.for_each(|member| voice.say(&Report::Member(Box::new(member))));
            let own = own.end(end.began);
            Report::Ended(Box::new(Ended::new(end, own)))
        }
        Err(e) => Report::Failed { usage: e.is_usage(), message: e.to_string() },
    };
    voice.say(&said);
    // Its clock may still be asked; and who is told to go by the end of its input goes then.
    if !voice.stop.is_stopped() {
        let _ = listening.join();
    }
    Ok(())
}

/// What a worker has heard before any load.
enum Assignment {
    Order(Box<Order>),
    Clients(ClientsOrder),
    /// Only what its machine has was asked for.
    Looks,
    Nothing,
}

/// Says what the machine has for as long as that is asked for.
fn order<W: Write>(input: &mut impl BufRead, voice: &MessageWriter<W>) -> io::Result<Assignment> {
    let mut heard = Assignment::Nothing;
    loop {
        match read(input)? {
            Some(Request::Look(to)) => voice.say(&Report::Room(Box::new(Room::look(&to)))),
            Some(Request::Order(order)) => return Ok(Assignment::Order(order)),
            Some(Request::Clients(order)) => return Ok(Assignment::Clients(order)),
            None => return Ok(heard),
        }
        heard = Assignment::Looks;
    }
}

fn make<W: Write>(
    order: &Order,
    start: &Receiver<Start>,
    voice: &MessageWriter<W>,
    own: &mut Own,
) -> Result<(End, Box<dyn Iterator<Item = Attended>>), EngineError> {
    let begin = || {
        voice.say(&Report::Ready);
        start.recv().ok()
    };
    let part = Part { process: order.process, of: order.of };
    let tick = |tick| {
        own.look(&tick);
        voice.say(&Report::Tick(Box::new(tick)));
    };
    run_part(&order.load, part, order.cpus.as_deref(), &voice.stop, begin, tick)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use genkai_model::units::Span;

    use super::super::protocol::{Stamps, Word, write};
    use super::*;

    /// An output that can be looked at afterwards.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Kept {
        /// What was said after the greeting.
        fn said(&self) -> Vec<Report> {
            let bytes = self.0.lock().unwrap().clone();
            let mut from = bytes.as_slice();
            let mut all = std::iter::from_fn(|| read::<Report>(&mut from).unwrap());
            assert!(matches!(all.next(), Some(Report::Hello(_))));
            all.collect()
        }
    }

    fn order(leash: Option<Span>) -> Vec<u8> {
        let mut load = crate::experiment::users(2, 10.0);
        load.addresses = vec!["127.0.0.1:1".parse().unwrap()];
        let mut order = Vec::new();
        let part = Order { load, process: 1, of: 2, cpus: None, leash };
        write(&mut order, &Request::Order(Box::new(part))).unwrap();
        order
    }

    #[test]
    fn without_an_order_or_a_start_it_makes_no_load() {
        let kept = Kept::default();
        assert!(serve(io::empty(), kept.clone()).is_err());
        assert!(kept.said().is_empty());
        assert!(serve(&b"{\"hello\":1}\n"[..], Kept::default()).is_err());
        let kept = Kept::default();
        serve(io::Cursor::new(order(None)), kept.clone()).unwrap();
        assert!(matches!(kept.said()[..], [Report::Ready, Report::Ended(_)]));
    }

    #[test]
    fn it_says_what_its_machine_has_as_often_as_it_is_asked() {
        let (kept, mut input) = (Kept::default(), Vec::new());
        for _ in 0..2 {
            write(&mut input, &Request::Look(vec!["127.0.0.1:80".parse().unwrap()])).unwrap();
        }
        serve(io::Cursor::new(input), kept.clone()).unwrap();
        assert!(matches!(&kept.said()[..], [Report::Room(one), Report::Room(_)] if one.machine.cores > 0));
    }

    #[test]
    fn its_clock_can_be_asked() {
        let (kept, mut input) = (Kept::default(), order(None));
        write(&mut input, &Word::Clock(5)).unwrap();
        let before = Start::now().0;
        serve(io::Cursor::new(input), kept.clone()).unwrap();
        let said = kept.said();
        let stamps = said.iter().find_map(|said| match said {
            Report::Clock(stamps) => Some(*stamps),
            _ => None,
        });
        let Stamps { asked, received, answered } = stamps.unwrap();
        assert!(asked == 5 && (before..=answered).contains(&received) && answered <= Start::now().0);
    }
}
