//! Ctrl-C and SIGTERM: the first stops the run in good order, the second at once (children die with us).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use genkai_engine::StopFlag;
use genkai_model::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// A file that may not grow further (`ulimit -f`) is like a full disk: the write fails and is told, where the signal alone would end the
/// program without a word. Programs that are started have the signal as it was: a handler is not handed down.
pub(crate) fn survive_full_files() {
    // It cannot fail for this signal; if it did, all would be as without it.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// A flag that is set by the first signal.
pub(crate) fn flag() -> StopFlag {
    let flag = StopFlag::new();
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return flag };
    let set = flag.clone();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // A terminal that goes away hangs up more than once; only a person who insists ends the run at once.
            if set.is_stopped() && signal != SIGHUP {
                crate::keys::restore();
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            set.stop();
        }
    });
    flag
}

/// The same for a server of ours, which knows only a plain flag.
pub(crate) fn plain_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Cannot fail for these signals; a server that ignored one would still end with its parent.
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    flag
}
