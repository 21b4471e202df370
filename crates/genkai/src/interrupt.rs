//! Ctrl-C and SIGTERM: the first stops the run in good order, the second at once (children die with us).

use genkai_engine::StopFlag;
use genkai_model::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A flag that is set by the first signal.
pub(crate) fn flag() -> StopFlag {
    let flag = StopFlag::new();
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return flag };
    let set = flag.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if set.is_stopped() {
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            set.stop();
        }
    });
    flag
}
