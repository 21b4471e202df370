//! Keys pressed while a run is watched. The terminal gives them one by one and unseen; its signals (Ctrl-C, Ctrl-Z) stay.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use genkai_engine::StopFlag;
use nix::sys::termios::{self, LocalFlags, SetArg, SpecialCharacterIndices, Termios};
use nix::unistd;

/// How the terminal was, while it is changed.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// A read waits so long for a key, tenths of a second (termios VTIME).
const WAIT: u8 = 1;

/// The keyboard, until it is dropped.
pub(crate) struct Keys {
    pressed: Receiver<char>,
    done: Arc<AtomicBool>,
}

impl Keys {
    /// Listens to standard input, if it is a terminal that belongs to us; `q` stops the run by itself.
    pub(crate) fn listen(stop: &StopFlag) -> Option<Keys> {
        let input = io::stdin();
        if !input.is_terminal() || !foreground() {
            return None;
        }
        let before = termios::tcgetattr(&input).ok()?;
        let mut ours = before.clone();
        ours.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        ours.control_chars[SpecialCharacterIndices::VMIN as usize] = 0;
        ours.control_chars[SpecialCharacterIndices::VTIME as usize] = WAIT;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        if termios::tcsetattr(&input, SetArg::TCSANOW, &ours).is_err() {
            restore();
            return None;
        }
        let (sender, pressed) = mpsc::channel();
        let done = Arc::new(AtomicBool::new(false));
        let (until, stop) = (Arc::clone(&done), stop.clone());
        std::thread::spawn(move || read(&until, &stop, &sender));
        Some(Keys { pressed, done })
    }

    /// Keys pressed since the last call.
    pub(crate) fn pressed(&self) -> impl Iterator<Item = char> + '_ {
        self.pressed.try_iter()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        restore();
    }
}

/// Gives the terminal back as it was, if it is changed. For every way out that drops nothing, too.
pub(crate) fn restore() {
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // A terminal that went away needs no restoring.
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &before);
    }
}

/// Whether the terminal listens to this process: one in the background would be stopped by it (SIGTTOU, SIGTTIN).
fn foreground() -> bool {
    unistd::tcgetpgrp(io::stdin()).is_ok_and(|group| group == unistd::getpgrp())
}

fn read(done: &AtomicBool, stop: &StopFlag, sender: &Sender<char>) {
    let mut byte = [0];
    while !done.load(Ordering::SeqCst) {
        if !foreground() {
            std::thread::sleep(Duration::from_millis(200));
            continue;
        }
        match unistd::read(io::stdin().as_fd(), &mut byte) {
            Ok(0) => {}
            Ok(_) if byte[0] == b'q' => stop.stop(),
            Ok(_) if sender.send(char::from(byte[0])).is_err() => return,
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => {}
            Err(_) => return,
        }
    }
}
