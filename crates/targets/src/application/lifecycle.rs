//! Start, ready, observe, stop: whatever server it is.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use genkai_model::event::State;
use genkai_model::evidence::LogLine;
use genkai_model::latencies::{Consumption, Contender, ContenderRecord};
use genkai_model::setting::Setting;
use serde_json::Value;

use super::gc::{self, Paused};
use super::product::unwritten;
use super::settings::{GC, Settings, in_force};
use super::{Place, Product};
use crate::error::TargetError;
use genkai_place::handshake::Announced;
use genkai_place::log_lines::plain;
use genkai_place::observation::died;
use genkai_place::process::Spawn;
use genkai_place::tail::Tail;
use genkai_place::{machine, usage};

/// A JVM on a busy machine takes seconds.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Its log, in the folder of its private files.
const LOG: &str = "server.log";
/// Longest name of a version, characters.
const WORDS: usize = 100;

/// A running server of the comparison. Dropping it ends it.
#[derive(Debug)]
pub struct Application {
    name: String,
    product: &'static Product,
    server: Announced,
    gc: Option<Tail>,
    log: Tail,
    entry: ContenderRecord,
}

/// What one look brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Processor time since it began, and what it has now. Heap and others' time are not known here.
    pub used: Consumption,
    /// Pauses of its collector since the look before.
    pub pauses: Vec<Paused>,
    /// New lines of its log.
    pub logs: Vec<LogLine>,
    /// That it has ended; told once.
    pub states: Vec<State>,
}

impl Product {
    /// Starts it on a free port, its private files in `dir`, and waits until it listens.
    pub(crate) fn launch(
        &self,
        name: &str,
        place: &Place,
        settings: &Settings,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Announced, TargetError> {
        fs::create_dir_all(dir).map_err(unwritten(self.name, dir))?;
        let command = (self.command)(place, settings, dir)?;
        let spawn = Spawn {
            name: name.to_owned(),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(dir.join(LOG)),
            nofile: Some(machine::hard_descriptors()),
            user: None,
        };
        let server = Announced::launch(command, spawn, READY_WITHIN)?;
        if server.address().ip() != settings.address() {
            let (wanted, is) = (settings.address(), server.address());
            let text = format!(
                "{name} listens at {is} and not at {wanted}: its application is older than genkai: run `make apps` anew"
            );
            return Err(TargetError::machine(self.name, text));
        }
        Ok(server)
    }
}

impl Application {
    /// Starts `product` as `contender` on a free port of `listen` (none: of loopback), its private files in `dir`, and waits until it listens.
    ///
    /// # Errors
    /// When something is missing, a setting is wrong, or it does not start.
    pub fn start(
        product: &'static Product,
        contender: &Contender,
        (place, listen): (&Place, Option<Ipv4Addr>),
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Application, TargetError> {
        let words = &contender.settings;
        let mut settings = Settings::read(words, product.knobs)
            .map_err(|why| TargetError::usage(product.name, format!("{}: {why}", product.name)))?;
        settings.listen = listen;
        let began = Instant::now();
        let server = product.launch(&contender.name, place, &settings, cpus, dir)?;
        let mut in_force = in_force(words, product.knobs);
        if let Some(log) = product.gc_log {
            chosen(&mut in_force, &fs::read_to_string(dir.join(log)).unwrap_or_default());
        }
        let entry = ContenderRecord {
            contender: contender.name.clone(),
            version: version(server.first_line()),
            rewrites: Vec::new(),
            largest: product.largest(&in_force),
            settings: in_force,
            compression: false,
            started: began.elapsed().into(),
        };
        let gc = product.gc_log.map(|name| Tail::open(dir.join(name)));
        let name = contender.name.clone();
        Ok(Application { name, product, server, gc, log: Tail::open(dir.join(LOG)), entry })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What it is.
    pub fn product(&self) -> &'static Product {
        self.product
    }

    /// How it is, for the record.
    pub fn entry(&self) -> &ContenderRecord {
        &self.entry
    }

    /// Looks at it.
    pub fn observe(&mut self) -> Observed {
        let child = &mut self.server.child;
        let (death, runs) = (child.death(), child.try_exited().is_none());
        Observed {
            used: if runs { self.used() } else { Consumption::default() },
            pauses: self.gc.iter_mut().flat_map(Tail::lines).filter_map(|line| gc::pause(&line)).collect(),
            logs: plain(&self.name, &mut self.log),
            states: death.map(|status| died(&self.name, "", status)).into_iter().collect(),
        }
    }

    /// What it has consumed since it began, and what it has. Each server is one process.
    pub fn used(&self) -> Consumption {
        let Some(usage) = usage::alone(self.server.child.pid()) else { return Consumption::default() };
        Consumption {
            cpu_us: (usage.cpu * 1e6) as u64,
            rss: usage.rss,
            threads: usage.threads,
            descriptors: usage.fds,
            ..Consumption::default()
        }
    }
}

/// The collector that a JVM chose by itself.
fn chosen(settings: &mut [Setting], log: &str) {
    let gc = settings.iter_mut().find(|setting| setting.default && setting.name == GC);
    if let (Some(setting), Some(collector)) = (gc, gc::collector(log)) {
        setting.value = format!("{collector}, the JVM's choice");
    }
}

/// What it says of itself when it listens; genkai's own servers say nothing.
fn version(line: &str) -> String {
    let said: Value = serde_json::from_str(line).unwrap_or_default();
    let version = said
        .get("version")
        .and_then(Value::as_str)
        .map(|text| text.chars().filter(|c| !c.is_control()).take(WORDS).collect());
    version.unwrap_or_else(|| format!("genkai {}", env!("CARGO_PKG_VERSION")))
}
