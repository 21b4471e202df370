//! Limits that Caddy shares with the machine: descriptors, the accept queue, the processor. No setting of Caddy's is any of them.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Origin, Strength};

use super::Facts;
use crate::caddy::CALLED;
use crate::caddy::evidence::{SUBJECT, metrics, signature};
use crate::limits::{AcceptQueue, Descriptors, Processor, reached, slots};
use crate::settings::SourcedValue;

/// Descriptors of the process: one a client, and one more towards an upstream, if there is one, while it has a request.
pub(super) fn descriptors(facts: &Facts) -> Limit {
    let descriptors = Descriptors {
        kept: None,
        value: &facts.nofile,
        reserved: facts.own,
        takes: facts.takes,
        pools: 1.0,
        uneven: false,
        logs: &[signature::DESCRIPTORS],
        metrics: (metrics::FDS, metrics::FD_LIMIT),
        answer: ErrorKind::Status502,
    };
    Limit {
        caps: "descriptors of the process: clients, connections to upstreams, listeners".to_owned(),
        formula: format!(
            "{}; Go raises its soft limit to the hard one, which LimitNOFILE= of the service sets",
            slots::descriptors(&facts.nofile, facts.own, facts.takes)
        ),
        source: "getrlimit(2) RLIMIT_NOFILE; Go os/rlimit.go (since 1.19); net/http server.go: Serve (EMFILE: it tries again)"
            .to_owned(),
        ..descriptors.limit("caddy.nofile", "kernel", "RLIMIT_NOFILE")
    }
}

/// The accept queue of the listener under load: Go asks for as much as the kernel gives.
pub(super) fn backlog(facts: &Facts) -> Limit {
    let origin = Origin::Machine("/proc/sys/net/core/somaxconn".to_owned());
    let queue = AcceptQueue {
        subject: SUBJECT,
        product: CALLED,
        setting: "somaxconn",
        short: "Go",
        backlog: &SourcedValue::plain(facts.somaxconn, origin),
        somaxconn: facts.somaxconn,
        default: "",
    };
    Limit {
        subject: "kernel".to_owned(),
        setting: "net.core.somaxconn".to_owned(),
        formula: format!("net.core.somaxconn {} + 1", facts.somaxconn),
        source: "listen(2); Go net/sock_linux.go: maxListenerBacklog; Linux include/net/sock.h: sk_acceptq_is_full"
            .to_owned(),
        remedy: None,
        ..queue.limit()
    }
}

/// The processor time that it can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    let processor = Processor {
        subject: SUBJECT,
        product: CALLED,
        noun: "thread",
        workers: facts.cores.into(),
        cores: facts.cores,
        setting: None,
        remark: "; Go runs one a core (GOMAXPROCS)",
        source: "clock_getcpuclockid(3) of the process; Go runtime: schedinit, procresize",
    };
    let of = |part, strength| reached(metrics::CPU, part * processor.usable(), strength);
    processor.limit(vec![of(0.9, Strength::Supports), of(0.8, Strength::Consistent)])
}
