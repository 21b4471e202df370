//! Servers that proxies pass requests to and that somebody else started, known by their command line and their files: data each, of which
//! [`known::Known`] makes what can be seen of it from outside. Nothing is asked of them and nothing of theirs is changed; some are run a second
//! time from the same files.

mod database;
mod forwarder;
mod gunicorn;
mod heap;
mod known;
mod mariadb;
mod node;
mod pgbouncer;
mod postgresql;
mod python;
mod started;
mod tomcat;
mod uvicorn;
mod uwsgi;

pub(crate) use database::{Counted, Database, Refusals};
pub(crate) use known::{ANSWERED, Caps, Known, Part, placed};
pub(crate) use started::{Started, newer};

use crate::product::{ServesFn, TwinFn};

/// Each of them.
pub(crate) const ALL: &[ServesFn] = &[
    gunicorn::serves,
    uvicorn::serves,
    uwsgi::serves,
    node::serves,
    tomcat::serves,
    mariadb::serves,
    postgresql::serves,
    pgbouncer::serves,
    forwarder::serves,
];

/// Those of which genkai can run one a second time.
pub(crate) const TWINS: &[TwinFn] = &[tomcat::twin];
