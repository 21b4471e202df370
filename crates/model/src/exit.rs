//! Exit codes: one enum, documented in `--help` and the README.

/// What the process tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The objective holds.
    Holds = 0,
    /// The objective fails: the verdict is "no", genkai itself worked.
    Fails = 1,
    /// Bad flags, files or settings; nothing was started.
    Usage = 2,
    /// The environment cannot do it: server missing, port taken, too few descriptors, disk full.
    Environment = 3,
    /// The client was the limit, or nothing came by which to judge: the measurement says nothing about the server.
    Invalid = 4,
    /// Interrupted by the user; what was measured is kept.
    Interrupted = 130,
}

impl Exit {
    /// Every code with its meaning, for `--help` and docs.
    pub const ALL: &'static [(Exit, &'static str)] = &[
        (Exit::Holds, "the objective holds"),
        (Exit::Fails, "the objective fails; the verdict says why"),
        (Exit::Usage, "wrong flags, files or settings; nothing was started"),
        (Exit::Environment, "the machine cannot do it: server missing, port taken, limits too small, disk full"),
        (Exit::Invalid, "invalid: the client was the limit, or no request ended; nothing is said about the server"),
        (Exit::Interrupted, "interrupted; what was measured is kept"),
    ];

    /// The number given to the operating system.
    pub fn code(self) -> u8 {
        self as u8
    }
}
