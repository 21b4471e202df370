//! A worker process: makes its part of a load and tells what it sees.

use std::cell::RefCell;
use std::io::{self, BufRead, Write};
use std::thread;

use genkai_engine::{End, EngineError, Part, Start, StopFlag, run_part};

use super::protocol::{Go, Order, Said, read, write};
use crate::error::LabError;

/// Reads an order from `input`, makes that part of the load, and tells `output` what it sees. Ends early when `input` ends
/// or nobody reads `output` any more.
///
/// # Errors
/// When there is no order, or nobody to tell. That the load cannot be made is said to `output`.
pub fn serve(mut input: impl BufRead + Send + 'static, output: impl Write) -> Result<(), LabError> {
    let lost = |e: io::Error| LabError::Environment(format!("a worker cannot talk to genkai: {e}"));
    let order: Order = read(&mut input).map_err(lost)?.ok_or_else(|| {
        LabError::Plan(
            "a worker got no order\n  hint: `genkai worker` is for genkai itself; see `genkai load`".to_owned(),
        )
    })?;
    let output = RefCell::new(output);
    let said = match make(&order, input, &output) {
        Ok(end) => Said::Ended(end.into()),
        Err(e) => Said::Failed { usage: e.is_usage(), message: e.to_string() },
    };
    write(&mut *output.borrow_mut(), &said).map_err(lost)
}

fn make(
    order: &Order,
    mut input: impl BufRead + Send + 'static,
    output: &RefCell<impl Write>,
) -> Result<End, EngineError> {
    let stop = StopFlag::new();
    let say = |what: &Said| {
        if write(&mut *output.borrow_mut(), what).is_err() {
            stop.stop();
        }
    };
    let begin = || {
        say(&Said::Ready);
        let go: Go = read(&mut input).ok().flatten()?;
        let stop = stop.clone();
        thread::spawn(move || {
            // Nothing more is said: the end of the input is the word to stop, and so is the end of genkai.
            let _ = io::copy(&mut input, &mut io::sink());
            stop.stop();
        });
        Some(Start(go.start))
    };
    let part = Part { process: order.process, of: order.of };
    let tick = |tick| say(&Said::Tick(Box::new(tick)));
    run_part(&order.load, part, order.cpus.as_deref(), &stop, begin, tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_order_or_a_start_it_makes_no_load() {
        let mut out = Vec::new();
        assert!(serve(io::empty(), &mut out).is_err());
        assert!(serve(&b"{\"hello\":1}\n"[..], &mut out).is_err());
        assert!(out.is_empty());
        let mut load = crate::experiment::users(2, 10.0);
        load.addresses = vec!["127.0.0.1:1".parse().unwrap()];
        let mut order = Vec::new();
        write(&mut order, &Order { load, process: 1, of: 2, cpus: None }).unwrap();
        serve(io::Cursor::new(order), &mut out).unwrap();
        let mut from = out.as_slice();
        assert!(matches!(read(&mut from).unwrap(), Some(Said::Ready)));
        assert!(matches!(read(&mut from).unwrap(), Some(Said::Ended(_))));
        assert!(read::<Said>(&mut from).unwrap().is_none());
    }
}
