//! A private copy on disk that can be started, and what can be read from it: where the load goes, what the limits are.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use genkai_model::limit::Origin;

use super::config::{Address, Config, Found, Host, Route};
use super::error::NginxError;
use super::evidence::StubPage;
use super::lifecycle::{Binary, Site};
use super::limits::{Facts, Machine, Reading};
use super::private::{self, Options, Private, STATUS_PATH};
use super::remote;
use super::settings::Scope;
use genkai_place::port;
use genkai_place::remote::Remote;
use genkai_place::scratch::Scratch;

/// A private copy with what is needed to start it.
#[derive(Clone, Debug)]
pub(super) struct Runnable {
    pub(super) scratch: Scratch,
    pub(super) private: Private,
    /// Where the load goes.
    pub(super) address: SocketAddr,
    /// The copy itself, read back: it says what really runs.
    config: Config,
}

impl Runnable {
    /// Makes one of `config`, on free ports.
    pub(super) fn make(
        config: &Config,
        binary: &Binary,
        scope: &Scope,
        backend: Option<SocketAddr>,
        scratch: Scratch,
    ) -> Result<Runnable, NginxError> {
        let options = Options {
            dir: scratch.path(),
            ports: &mut port::free,
            backend,
            root: nix::unistd::geteuid().is_root(),
            configure: &binary.arguments().join(" "),
            status: binary.has("--with-http_stub_status_module"),
        };
        let private = private::build(config, options)?;
        let route = config.route(scope.host.as_deref(), &scope.path).ok_or(NginxError::NoServer)?;
        if let Some(listen) = route.listen.as_ref().filter(|l| l.ssl) {
            return Err(NginxError::OnlyTls { place: listen.found.place() });
        }
        let place = route.listen.as_ref().map_or_else(|| route.server.place(), |l| l.found.place());
        let address = private.address_of(&place).ok_or(NginxError::NoServer)?;
        let config = Config::read(&private.main, config.prefix())?;
        let copy = Runnable { scratch, private, address, config };
        copy.route(scope).ok_or(NginxError::NoServer)?;
        Ok(copy)
    }

    fn route(&self, scope: &Scope) -> Option<Route<'_>> {
        let IpAddr::V4(ip) = self.address.ip() else { return None };
        let address = Address::Inet { host: Host::V4(ip), port: self.address.port() };
        self.config.route_by(Some(&address), scope.host.as_deref(), &scope.path)
    }

    /// A host that requests would reach though it is neither this machine nor among `allowed`.
    pub(super) fn remote(&self, allowed: &[String]) -> Option<Remote> {
        remote::first(&self.config, allowed)
    }

    /// What the limits are computed from. `origin` says where a line of the copy was written.
    pub(super) fn facts(
        &self,
        scope: &Scope,
        version: (u32, u32, u32),
        machine: &Machine,
        origin: &dyn Fn(&Path, usize) -> Origin,
    ) -> Facts {
        let route = self.route(scope).expect("looked at when the copy was made");
        let origin = |found: &Found<'_>| origin(&found.config.file(found.file).path, found.line());
        Reading { config: &self.config, route, origin: &origin, version, machine }.facts()
    }

    /// What is needed to start it.
    pub(super) fn site(&self, nofile: u64, facts: &Facts) -> Site {
        let page = self.private.status.map(|address| StubPage {
            address,
            path: STATUS_PATH.to_owned(),
            host: "genkai".to_owned(),
        });
        Site {
            prefix: self.scratch.path().to_owned(),
            conf: self.private.main.clone(),
            error_log: self.private.error_log.clone(),
            address: self.address,
            page,
            nofile,
            workers: facts.workers.value,
            crowded: facts.crowded(),
        }
    }
}
