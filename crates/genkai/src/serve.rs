//! `genkai serve`: the embedded servers, each a process of its own.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};

use genkai_model::exit::Exit;

use crate::cli::{Echo, Origin, Rooms};
use crate::{Failure, interrupt};

/// `genkai serve origin`. The first line on stdout tells the address.
pub(crate) fn origin(flags: &Origin) -> Result<Exit, Failure> {
    let listener = listen(flags.listen)?;
    genkai_origin::http::serve(
        listener,
        flags.origin.spec(),
        flags.stats.map(|s| s.duration()),
        interrupt::plain_flag(),
    )
    .map_err(|e| Failure::environment(format!("the origin stopped: {e}")))?;
    Ok(Exit::Holds)
}

/// `genkai serve echo`. The first line on stdout tells the address.
pub(crate) fn echo(flags: &Echo) -> Result<Exit, Failure> {
    let listener = listen(flags.listen)?;
    let spec = genkai_origin::echo::Spec { deflate: !flags.no_deflate, max_message: flags.max_message.0 };
    genkai_origin::echo::serve(listener, spec, &interrupt::plain_flag())
        .map_err(|e| Failure::environment(format!("the echo server stopped: {e}")))?;
    Ok(Exit::Holds)
}

/// `genkai serve rooms`. The first line on stdout tells the address.
pub(crate) fn rooms(flags: &Rooms) -> Result<Exit, Failure> {
    let listener = listen(flags.listen)?;
    let spec = genkai_origin::rooms::Spec {
        max_message: flags.max_message.0,
        member_queue: usize::try_from(flags.member_queue.0).unwrap_or(usize::MAX),
        trace: flags.trace,
        redis: flags.redis.clone(),
        lose_every: flags.lose_every,
    };
    genkai_origin::rooms::serve(listener, spec, flags.stats.map(|s| s.duration()), &interrupt::plain_flag())
        .map_err(|e| Failure::environment(format!("the rooms stopped: {e}")))?;
    Ok(Exit::Holds)
}

fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let taken = |e| Failure::environment(format!("cannot listen on {address}: {e}\n  hint: port 0 takes a free one"));
    let listener = genkai_origin::listen(address).map_err(taken)?;
    announce(&listener)?;
    Ok(listener)
}

fn announce(listener: &TcpListener) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(|e| Failure::environment(e.to_string()))?;
    let line = serde_json::json!({ "listening": address.to_string() });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| Failure::environment(format!("stdout: {e}")))
}
