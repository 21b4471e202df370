//! What a load on a real server must come to.

use genkai_model::error::ErrorKind;
use genkai_model::load::{Body, Load};
use genkai_model::units::Span;

use super::Product;
use crate::server::{Seen, load, make};

/// A few requests of one user, and what becomes of them.
pub(crate) struct Case {
    load: Load,
    ok: u64,
    errors: Vec<(ErrorKind, u64)>,
    connections: usize,
    logged: bool,
}

/// `GET target`, so often.
pub(crate) fn get(target: &str, requests: u64) -> Case {
    // The address is the server's, later.
    let mut load = load(([0; 4], 0).into(), requests);
    load.request.path = target.to_owned();
    Case { load, ok: requests, errors: Vec::new(), connections: 1, logged: true }
}

/// `HEAD target`.
pub(crate) fn head(target: &str, requests: u64) -> Case {
    get(target, requests).with(|load| load.request.method = "HEAD".into())
}

/// `POST target` with so many bytes.
pub(crate) fn post(target: &str, requests: u64, bytes: u64) -> Case {
    get(target, requests).with(|load| {
        load.request.method = "POST".into();
        load.request.body = Body::Size(bytes);
    })
}

impl Case {
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Load)) -> Case {
        change(&mut self.load);
        self
    }

    pub(crate) fn header(self, name: &str, value: &str) -> Case {
        let field = (name.to_owned(), value.to_owned());
        self.with(|load| load.request.headers.push(field))
    }

    pub(crate) fn timeout_ms(self, ms: u64) -> Case {
        self.with(|load| load.timeout = Span::from_millis(ms))
    }

    /// On so many connections, as the server counts them.
    pub(crate) fn over(self, connections: usize) -> Case {
        Case { connections, ..self }
    }

    /// So many of the requests fail so.
    pub(crate) fn fails(mut self, kind: ErrorKind, count: u64) -> Case {
        self.errors.push((kind, count));
        self.ok -= count;
        self
    }

    /// The server does not log it: connections are counted here alone.
    pub(crate) fn unlogged(self) -> Case {
        Case { logged: false, ..self }
    }

    /// Makes the load; what is not as expected.
    fn run(mut self, server: &Product) -> Result<Seen, String> {
        self.load.addresses = vec![server.address];
        let seen = make(&self.load);
        let errors: Vec<(ErrorKind, u64)> = seen.kinds().into_iter().map(|kind| (kind, seen.error(kind))).collect();
        let total = seen.ok() + seen.errors();
        let target = &self.load.request.path;
        let (opened, came) = (seen.sum(|t| t.opened), if self.logged { total } else { 0 });
        let counted = if self.logged { server.connections(target, came)? } else { self.connections };
        if (seen.ok(), &errors, opened, counted) != (self.ok, &self.errors, self.connections as u64, self.connections) {
            return Err(format!(
                "{} {target}: {} ok, {errors:?}, {opened} connections opened, {counted} at the server; not {} ok, {:?}, {} connections",
                self.load.request.method,
                seen.ok(),
                self.ok,
                self.errors,
                self.connections
            ));
        }
        Ok(seen)
    }

    /// Makes the load and expects what was said.
    pub(crate) fn holds(self, server: &Product) -> Seen {
        self.run(server).unwrap_or_else(|wrong| panic!("{wrong}\n{}", server.output()))
    }
}

/// Runs all `cases`, then fails if any did.
pub(crate) fn hold(server: &Product, cases: impl IntoIterator<Item = Case>) {
    let wrong: Vec<String> = cases.into_iter().filter_map(|case| case.run(server).err()).collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), server.output());
}
