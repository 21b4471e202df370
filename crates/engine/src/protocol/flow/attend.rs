//! Starts and ends users as somebody asks for them while the load is made.

use std::rc::Rc;

use super::user::Users;
use crate::clock::Moment;
use crate::live_users::{LiveUsers, Wish};
use crate::protocol::dispatch::Protocol;
use crate::transport::reactor::{spawn, yield_now};

/// How often a thread looks whether other users are wanted.
const LOOK: Moment = 20_000_000;

/// Most users who start in a row: those who are there still get their turn.
const ROW: usize = 64;

/// Starts `users` as `live` wants them; what is given back is for the end of the load.
pub(crate) fn follow(users: Users, live: LiveUsers) -> Rc<dyn Protocol> {
    let users = Rc::new(users);
    spawn(attend(Rc::clone(&users), live));
    users
}

/// Starts users of `users` as `live` wants them, until the load is over.
async fn attend(users: Rc<Users>, live: LiveUsers) {
    let (core, seats) = (users.core(), users.seats());
    let (mut known, mut coming, mut number) = (0, Vec::<Wish>::new(), 0);
    let mut since = 0;
    while !core.is_ending() {
        let more = live.after(known);
        known += more.len();
        coming.extend(more);
        let now = core.clock.now();
        let due = coming.iter().take_while(|wish| wish.at <= now).count();
        for wish in coming.drain(..due) {
            since = wish.at;
            seats.wish(&wish);
        }
        let mut started = 0;
        while let Some(seat) = seats.free() {
            users.seat(number, seat, since);
            number += 1;
            started += 1;
            if started % ROW == 0 {
                yield_now().await;
            }
        }
        let now = core.clock.now();
        // Who comes later takes the place of one who had not left yet.
        since = now.max(since);
        let next = coming.first().map_or(now + LOOK, |wish| wish.at.min(now + LOOK));
        core.alarm.until(next).await;
    }
}
