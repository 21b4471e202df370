//! How flags become HTTP/2 load.

use genkai_model::http2::{Http2, STREAMS};
use genkai_model::load::{Load, Protocol};
use genkai_model::transport::Transport;
use genkai_targets::catalog;

use crate::Failure;
use crate::cli::{Http2Flags, LoadFlags, StreamFlags};

/// Most users that connections times streams may come to.
const MOST: u32 = 10_000_000;

impl Http2Flags {
    /// Whether HTTP/2 is to be spoken.
    pub(crate) fn used(&self) -> bool {
        self.http2 || self.http2_prior_knowledge
    }

    /// Refuses flags that need HTTP/2 where it is not spoken.
    ///
    /// # Errors
    /// When such a flag is given.
    pub(crate) fn must_be_unused(&self) -> Result<(), Failure> {
        if self.used() {
            return Err(Failure::usage(
                "--http2, --http2-prior-knowledge: the address must be http://, https:// or unix:",
            ));
        }
        match self.streams {
            Some(_) => Err(Failure::usage("--streams: HTTP/1.1 has none; it needs --http2 or --http2-prior-knowledge")),
            None => Ok(()),
        }
    }

    /// Refuses all of them beside a scenario file.
    ///
    /// # Errors
    /// When one is given.
    pub(crate) fn must_be_in_file(&self) -> Result<(), Failure> {
        if self.used() || self.streams.is_some() {
            return Err(Failure::usage(
                "--http2, --http2-prior-knowledge, --streams: cannot be used with a scenario file\n  hint: write \
                 `http2: true` into the file, for all targets or for one",
            ));
        }
        Ok(())
    }

    /// Refuses HTTP/2 over what cannot agree on it.
    ///
    /// # Errors
    /// When ALPN is asked for and there is no TLS.
    pub(crate) fn must_fit(&self, transport: &Transport) -> Result<(), Failure> {
        if self.http2 && !self.http2_prior_knowledge && !matches!(transport, Transport::Tls(_)) {
            return Err(Failure::usage(
                "--http2: is negotiated by ALPN, which needs https://\n  hint: --http2-prior-knowledge uses it without \
                 negotiation",
            ));
        }
        Ok(())
    }
}

/// Refuses HTTP/2 at a product on whose listener genkai makes no such load.
///
/// # Errors
/// When `load` is of HTTP/2, or its scenario says so.
pub(crate) fn must_fit(load: &Load, product: &str) -> Result<(), Failure> {
    if load.http2().is_none() || catalog::http2(product).is_some() {
        return Ok(());
    }
    let by = if load.scenario.is_some() { "`http2: true`" } else { "--http2" };
    Err(Failure::usage(format!("{by}: genkai makes no load of HTTP/2 on {product}\n  hint: leave it out")))
}

impl StreamFlags {
    /// Streams on a connection; none where HTTP/1.1 is spoken.
    pub(crate) fn each(&self) -> Option<u32> {
        self.http2.then(|| self.streams.unwrap_or(STREAMS))
    }
}

/// The load that flags describe, with so many streams on a connection, made on so many cores. In the closed model `--connections C` makes C times as many users.
///
/// # Errors
/// When values make no sense, or not together.
pub(crate) fn load(flags: &LoadFlags, streams: u32, at_once: f64, cores: usize) -> Result<Load, Failure> {
    let mut flags = flags.clone();
    if let (None, Some(connections)) = (flags.rate, flags.connections.take_if(|_| flags.rate.is_none())) {
        let users = connections.checked_mul(streams).filter(|users| *users <= MOST);
        let too_many = || {
            Failure::usage(format!("--connections {connections} with {streams} streams each: more than {MOST} users"))
        };
        flags.users = Some(users.ok_or_else(too_many)?);
    }
    let mut load = flags.load(at_once, cores)?;
    load.protocol = Protocol::Http2(Http2 { streams });
    Ok(load)
}
