//! Bytes to a server and back: the event loop, timers and deadlines, sockets with TLS or without. It knows no protocol and counts nothing.

pub(crate) mod alarm;
pub(crate) mod deadline;
pub(crate) mod dial;
pub(crate) mod endpoint;
pub(crate) mod reactor;
pub(crate) mod read;
pub(crate) mod stamp;
pub(crate) mod stream;
pub(crate) mod tls;
