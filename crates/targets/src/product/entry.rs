//! What the catalogue knows of a product.

use std::path::{Path, PathBuf};

use genkai_model::explain::Explanation;

use super::looks::Looks;
use super::{Prepare, Prepared, ServesFn, TwinFn};
use crate::error::TargetError;
use crate::explain::Explain;
use crate::files::Requests;

/// Prepares a product.
pub type PrepareFn = fn(Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError>;
/// Explains a configuration of a product.
pub type ExplainFn = fn(&Explain<'_>) -> Result<Explanation, TargetError>;

/// The configuration that process `pid`, as the first of this product, was started with. None: it is another program. An error says, in
/// words, why that is not known, or is not all that it was started with.
pub type StartedFn = fn(u32) -> Option<Result<PathBuf, String>>;

/// Has the product that is installed test a private copy of the configuration that is named, for such requests, in a folder of its own.
pub type AskFn = fn(&Path, &Requests, &Path) -> Result<Answer, TargetError>;

/// What a product says of a configuration.
#[derive(Debug)]
pub struct Answer {
    /// Its version.
    pub version: String,
    /// What it warns of. An error of kind `Rejected`: it refuses it. Another: there was no test.
    pub verdict: Result<Vec<String>, TargetError>,
}

/// What is known of a product beforehand.
#[derive(Debug)]
pub struct Entry {
    /// Its name, as plans and the command line have it.
    pub name: &'static str,
    /// What people call it.
    pub called: &'static str,
    /// Its program, and how that is asked for its version; empty: it is not.
    pub program: (&'static str, &'static [&'static str]),
    /// What it can be under test.
    pub role: Role,
    /// Prepares it; none: it is not put under test alone.
    pub prepare: Option<PrepareFn>,
    /// Explains its configuration; none: it does not.
    pub explain: Option<ExplainFn>,
    /// How it is asked whether it takes a configuration, and the command that does so, as people type it, with what it is given; none: it has no such command.
    pub ask: Option<(AskFn, &'static str)>,
    /// What its configurations look like.
    pub looks: Looks,
    /// Words of a warning of its own check that it takes another value than the one written.
    pub clamps: &'static [&'static str],
    /// Words of its own check for a setting that it does not know.
    pub unknown: &'static str,
    /// Whether its private copy is made without what genkai does not know: that such a copy is taken says nothing of it.
    pub leaves_out: bool,
}

/// What is known of a plain reverse proxy: what the command line says of it.
#[derive(Debug)]
pub struct Proxy {
    /// Its whole name.
    pub title: &'static str,
    /// What distributions call its program.
    pub programs: &'static [&'static str],
    /// Whether it listens with TLS where genkai writes its configuration.
    pub tls: bool,
    /// How its listener is made to offer HTTP/2, for people; none: it has no HTTP/2, or genkai makes no such load on it.
    pub http2: Option<&'static str>,
    /// Whether there are several ways in which it passes WebSocket connections on.
    pub upgrades: bool,
    /// How it is recognised behind another product, where somebody else started it; none: it is not.
    pub started: Option<StartedFn>,
    /// Flags of `genkai tune` to begin with.
    pub examples: &'static [&'static str],
}

impl Entry {
    /// What is known of it as a plain reverse proxy; none: it is none.
    pub fn proxy(&self) -> Option<&Proxy> {
        if let Role::Proxy(proxy) = &self.role { Some(proxy) } else { None }
    }
}

/// What a product can be under test.
#[derive(Debug)]
pub enum Role {
    /// A plain reverse proxy, which genkai can write by itself.
    Proxy(Proxy),
    /// A cache with a configuration of the user's.
    Cache,
    /// Something behind a server; how it is recognised there where somebody else started it (none: it is not), and run a second time.
    Behind(Option<(ServesFn, Option<TwinFn>)>),
}
