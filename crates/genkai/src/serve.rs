//! `genkai serve`: the embedded servers, each a process of its own.

use std::io::Write;
use std::net::TcpListener;

use genkai_model::exit::Exit;

use crate::cli::Origin;
use crate::{Failure, interrupt};

/// `genkai serve origin`. The first line on stdout tells the address.
pub(crate) fn origin(flags: &Origin) -> Result<Exit, Failure> {
    let taken =
        |e| Failure::environment(format!("cannot listen on {}: {e}\n  hint: port 0 takes a free one", flags.listen));
    let listener = genkai_origin::listen(flags.listen).map_err(taken)?;
    announce(&listener)?;
    genkai_origin::http::serve(
        listener,
        flags.origin.spec(),
        flags.stats.map(|s| s.duration()),
        interrupt::plain_flag(),
    )
    .map_err(|e| Failure::environment(format!("the origin stopped: {e}")))?;
    Ok(Exit::Holds)
}

fn announce(listener: &TcpListener) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(|e| Failure::environment(e.to_string()))?;
    let line = serde_json::json!({ "listening": address.to_string() });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| Failure::environment(format!("stdout: {e}")))
}
