//! Limits that Apache shares with the machine: the accept queue and the processor.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Strength, Symptom};

use super::Facts;
use crate::apache::evidence::{metrics, signature};
use crate::apache::settings::LISTEN_BACKLOG;
use crate::limits::{AcceptQueue, Processor, accident, errors, log, reached};

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    AcceptQueue {
        subject: "apache",
        product: "Apache",
        setting: LISTEN_BACKLOG.name,
        short: LISTEN_BACKLOG.directive,
        backlog: &facts.backlog,
        somaxconn: facts.somaxconn,
        default: LISTEN_BACKLOG.source,
    }
    .limit()
}

/// The processor time that the workers can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    let processor = Processor {
        subject: "apache",
        product: "Apache",
        noun: "worker",
        workers: facts.workers(),
        cores: facts.cores,
        setting: None,
        remark: "",
        source: "clock_getcpuclockid(3) of each process",
    };
    processor.limit(vec![reached(metrics::CPU, 0.9 * processor.usable(), Strength::Supports)])
}

/// What no number of the configuration predicts and the log tells when it happens.
pub(super) fn accidents() -> Vec<Limit> {
    let lost = [ErrorKind::EofReused, ErrorKind::EofNew, ErrorKind::ResetReused, ErrorKind::Reset];
    vec![
        Limit {
            source: "fork(2): EAGAIN, ENOMEM; httpd server/mpm/prefork/prefork.c, worker.c, event.c: make_child"
                .to_owned(),
            symptom: Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout], slow: true },
            ..accident(
                "apache.fork",
                "machine",
                "processes",
                "Apache cannot start another process (pids.max of its control group, RLIMIT_NPROC, kernel.pid_max, memory)",
                &[signature::FORK_FAILED],
            )
        },
        Limit {
            source: "httpd modules/proxy/mod_proxy.c: proxy_handler (AH01144)".to_owned(),
            symptom: errors(&[ErrorKind::Status500, ErrorKind::Status4xx]),
            ..accident(
                "apache.proxy_module",
                "apache",
                "LoadModule",
                "no module that is loaded speaks the scheme of the backend (https:// takes mod_ssl and mod_proxy_http)",
                &[signature::NO_HANDLER],
            )
        },
        Limit {
            source: "httpd server/mpm_unix.c: ap_process_child_status".to_owned(),
            symptom: errors(&lost),
            // A death has a reason, which may have left a sign of its own.
            signatures: vec![log(signature::CHILD_DIED, Strength::Supports)],
            ..accident(
                "apache.child_died",
                "apache",
                "child process",
                "a child dies of a signal, with its clients",
                &[],
            )
        },
    ]
}
