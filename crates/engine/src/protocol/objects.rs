//! Asking for one object after the other, and comparing what comes with what must come.
//!
//! A checksum and a length an object are worked out before the load; on the way the bytes of a body are run through the checksum as they
//! arrive. Requests are rendered before the load too: asking allocates nothing. Loads of one request know nothing of it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crc32fast::Hasher;
use genkai_model::content::{Content, Pages, WrongBody};
use genkai_model::error::ErrorKind;
use genkai_model::load::{Load, Protocol, Request};
use genkai_wire::http1::{Ending, Error, Memo, Progress, Received, ResponseReader};

use super::connection::Connection;
use super::core::Core;
use super::http1::{Intake, Message};
use super::request::{Channel, Done, RequestClient, ScheduledRequest};
use crate::content::{fill, order, path};
use crate::error::EngineError;
use crate::measure::attempt::Attempt;
use crate::schedule::turns::Turns;

/// Most objects, and most requests before the order begins again: some hundred bytes are kept for each object.
const MOST: u32 = 1_000_000;

/// What is asked for, ready for use.
#[derive(Debug)]
pub(crate) struct Plan {
    /// By number; those that nobody asks for are left empty.
    objects: Vec<Option<Object>>,
    order: Vec<u32>,
}

#[derive(Debug)]
struct Object {
    message: Message,
    sum: Sum,
}

/// What a body is told by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    bytes: u64,
    crc: u32,
}

impl Plan {
    /// What `load` asks for.
    ///
    /// # Errors
    /// When it cannot be asked for.
    pub(crate) fn read(load: &Load, pages: &Pages) -> Result<Plan, EngineError> {
        let within = |n: u32| (1..=MOST).contains(&n);
        let fault = match () {
            () if load.protocol != Protocol::Http1 => "objects are asked for in HTTP/1.1",
            () if load.threads != 1 => "objects are asked for by one thread of a process",
            () if load.request.method != "GET" => "objects are asked for by GET",
            () if load.scenario.is_some() => "a scenario says itself what it asks for",
            () if !within(pages.content.objects) || !within(pages.requests) => {
                "there must be from 1 to 1,000,000 objects and requests"
            }
            () => "",
        };
        if !fault.is_empty() {
            return Err(EngineError::Load(fault.to_owned()));
        }
        let order = order(pages);
        let mut objects: Vec<Option<Object>> = (0..pages.content.objects).map(|_| None).collect();
        let mut body = Vec::new();
        for &n in &order {
            let place = objects.get_mut(n as usize);
            let place = place.ok_or_else(|| EngineError::Load(format!("there is no object {n}")))?;
            if place.is_none() {
                let request = Request { path: path(n), ..load.request.clone() };
                let message = Message::render(&request, load.reuse)?;
                *place = Some(Object { message, sum: Sum::of(&pages.content, n, &mut body) });
            }
        }
        if order.is_empty() {
            return Err(EngineError::Load("there is no object to ask for".to_owned()));
        }
        Ok(Plan { objects, order })
    }

    /// The object whose body has this sum.
    #[cold]
    fn whose(&self, sum: Sum) -> Option<u32> {
        let found = self.objects.iter().position(|object| object.as_ref().is_some_and(|object| object.sum == sum));
        found.and_then(|n| u32::try_from(n).ok())
    }
}

impl Sum {
    fn of(content: &Content, n: u32, buffer: &mut Vec<u8>) -> Sum {
        fill(content, n, buffer);
        Sum { bytes: buffer.len() as u64, crc: crc32fast::hash(buffer) }
    }
}

/// Where a thread is in the order, which begins again when it is through.
#[derive(Debug)]
pub(crate) struct Sequence {
    plan: Arc<Plan>,
    turns: Turns,
    next: Cell<u64>,
}

impl Sequence {
    pub(crate) fn new(plan: Arc<Plan>, turns: Turns) -> Sequence {
        Sequence { plan, turns, next: Cell::new(0) }
    }

    /// The number of the next object.
    fn next(&self) -> u32 {
        let n = self.next.replace(self.next.get() + 1);
        let order = &self.plan.order;
        order[(self.turns.number(n) % order.len() as u64) as usize]
    }
}

/// Who asks: a connection, and the sequence of objects that all share.
pub(crate) struct Client {
    connection: Connection,
    sequence: Rc<Sequence>,
}

impl Client {
    /// One whose connection is not open yet.
    pub(crate) fn new(core: &Rc<Core>, sequence: &Rc<Sequence>) -> Client {
        Client { connection: Connection::new(Rc::clone(core)), sequence: Rc::clone(sequence) }
    }
}

impl RequestClient for Client {
    fn channel(&mut self) -> &mut impl Channel {
        &mut self.connection
    }

    async fn make(&mut self, request: ScheduledRequest) -> Option<Done> {
        let (core, sequence) = (Rc::clone(self.connection.core()), Rc::clone(&self.sequence));
        let asked = sequence.next();
        let object = sequence.plan.objects[asked as usize].as_ref()?;
        let mut reader = Checking { reader: object.message.reader(), crc: Hasher::new(), bytes: 0 };
        let attempt = self.connection.attempt(request, &object.message, &mut reader, core.timeout).await;
        let came = Sum { bytes: reader.bytes, crc: reader.crc.finalize() };
        let counted = match attempt.outcome {
            Ok(Received { status: 200, .. }) if came != object.sum => {
                let came = (sequence.plan.whose(came), came.bytes);
                let wrong = WrongBody { asked, came: came.0, due: object.sum.bytes, bytes: came.1 };
                core.ledger.borrow_mut().wrong(attempt.at, wrong);
                Attempt { outcome: Err(ErrorKind::WrongBody), ..attempt }
            }
            _ => attempt,
        };
        let failed = core.ledger.borrow_mut().ended(request.planned, &counted);
        let at = self.connection.after(&attempt).await;
        Some(Done { at, failed })
    }
}

/// Takes a response in and sums up its body.
struct Checking {
    reader: ResponseReader,
    crc: Hasher,
    bytes: u64,
}

impl Intake for Checking {
    fn receive_with(&mut self, bytes: &[u8], memo: &mut Memo) -> Result<Progress, Error> {
        let Checking { reader, crc, bytes: count } = self;
        reader.receive_into(bytes, memo, |run| {
            crc.update(run);
            *count += run.len() as u64;
        })
    }

    fn close(&self) -> Ending {
        self.reader.close()
    }

    fn started(&self) -> bool {
        self.reader.started()
    }

    fn surplus(&self) -> bool {
        self.reader.surplus()
    }
}
