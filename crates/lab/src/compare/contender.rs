//! A contender, ready to be loaded.

use std::net::SocketAddr;

use genkai_model::comparison::{Contender, Runs};
use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::latencies::ContenderRecord;
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::{Load, Request};
use genkai_model::plan::System;
use genkai_model::setting::Setting;
use genkai_model::transport::Transport;
use genkai_model::units::Span;
use genkai_targets::external::{self, ExternalServer};
use genkai_targets::product::{OwnAnswer, Prepared, Running};

use crate::backend;
use crate::error::LabError;
use crate::folder::Folder;
use crate::reach;
use crate::redact;
use crate::scenario::aimed;
use crate::system;
use crate::unstored;

/// A contender that can have its turns.
pub(super) enum Ready {
    /// A server of ours, started anew for each.
    Server(Box<dyn Prepared>),
    /// Somebody's, which runs already.
    External(SocketAddr),
}

impl Ready {
    /// Checks a contender and has its configuration tested by the product itself; nothing is started.
    pub(super) fn prepare(
        contender: &Contender,
        load: &Load,
        behind: Option<SocketAddr>,
        folder: &dyn Fn(&str) -> Result<std::path::PathBuf, LabError>,
    ) -> Result<Ready, LabError> {
        match &contender.runs {
            Runs::Url(url) => Ok(Ready::External(backend::reachable(url)?)),
            Runs::Server { system, changes } => {
                let base = system::prepare(system, load, behind, folder("base")?)?;
                let prepared = if changes.is_empty() { base } else { base.with(changes, &folder("changed")?)? };
                Ok(Ready::Server(prepared))
            }
        }
    }

    /// Refuses a load of HTTP/2 where it is not offered.
    pub(super) fn offers(&self, load: &Load, cpus: Option<&[usize]>) -> Result<(), LabError> {
        match self {
            Ready::Server(prepared) => system::offers(&**prepared, load, cpus),
            Ready::External(address) => reach::offered(&aimed(load, *address, Transport::Tcp), reach::SWITCH_ON),
        }
    }

    /// The server, answering; it is on the cores given where it is ours.
    pub(super) fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, LabError> {
        match self {
            Ready::Server(prepared) => Ok(prepared.start(cpus)?),
            Ready::External(address) => Ok(Box::new(ExternalServer::new(*address))),
        }
    }

    /// What its own check warns of.
    pub(super) fn warnings(&self) -> &[String] {
        match self {
            Ready::Server(prepared) => prepared.warnings(),
            Ready::External(_) => &[],
        }
    }

    /// What it may answer itself.
    pub(super) fn answers(&self, request: &Request) -> Vec<OwnAnswer> {
        match self {
            Ready::Server(prepared) => prepared.answers(request),
            Ready::External(_) => Vec::new(),
        }
    }

    /// What its copy that is loaded there does otherwise than the server of its files.
    pub(super) fn apart(&self, at: SocketAddr) -> Vec<String> {
        match self {
            Ready::Server(prepared) => {
                prepared.apart(at).into_iter().chain(unstored::told(prepared.rewrites())).collect()
            }
            Ready::External(_) => Vec::new(),
        }
    }

    /// What carries connections to it.
    pub(super) fn transport(&self) -> Transport {
        match self {
            Ready::Server(prepared) => prepared.transport(),
            Ready::External(_) => Transport::Tcp,
        }
    }

    /// The product's name.
    pub(super) fn product(&self) -> &'static str {
        match self {
            Ready::Server(prepared) => prepared.product(),
            Ready::External(_) => external::SUBJECT,
        }
    }

    /// Where its private copy differs from the user's files, without their secrets.
    fn rewrites(&self) -> Vec<Rewrite> {
        match self {
            Ready::Server(prepared) => redact::rewrites(prepared.rewrites()),
            Ready::External(_) => Vec::new(),
        }
    }

    /// What is to be said of it: its version, every setting that says something about load or was given, and what its copy differs in.
    pub(super) fn entry(&self, contender: &Contender, environment: &Environment) -> ContenderRecord {
        let (version, settings) = match (self, &contender.runs) {
            (Ready::Server(prepared), Runs::Server { system, changes }) => {
                let version = format!("{} {}", prepared.product(), prepared.version());
                (version, settings(&**prepared, system, changes, environment))
            }
            (_, Runs::Url(url)) => (redact::url(url), Vec::new()),
            (Ready::External(address), _) => (address.to_string(), Vec::new()),
        };
        let compression = super::changes(contender).iter().any(is_of_compression);
        let contender = contender.name.clone();
        let rewrites = self.rewrites();
        ContenderRecord { contender, version, settings, rewrites, largest: None, compression, started: Span::default() }
    }
}

/// Whether a change decides which responses are compressed, and how much.
fn is_of_compression(change: &Change) -> bool {
    let name = change.setting.to_ascii_lowercase();
    let algorithm = ["gzip", "deflate", "brotli", "zstd", "compress"].iter().any(|algorithm| name.contains(algorithm));
    algorithm && !["_buffers", "_window", "_hash", "_vary"].iter().any(|end| name.ends_with(end))
}

fn settings(prepared: &dyn Prepared, system: &System, changes: &[Change], environment: &Environment) -> Vec<Setting> {
    let given = system.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
    let changed = changes.iter().map(|change| (change.setting.clone(), change.to.clone()));
    let mut all: Vec<Setting> = prepared.written().to_vec();
    for (name, value) in given.chain(changed) {
        all.retain(|setting| setting.name != name);
        all.push(Setting { name, value, default: false });
    }
    let limits = prepared.limits(environment).into_iter();
    // What is told in words is no setting with a value.
    let is_setting = |limit: &Limit| !limit.value.is_empty() && !limit.setting.contains(' ');
    for limit in limits.filter(|limit| limit.subject == prepared.product() && is_setting(limit)) {
        let default = match &limit.origin {
            Origin::Default(_) => true,
            Origin::File { .. } | Origin::Given => false,
            Origin::Machine(_) => continue,
        };
        if !all.iter().any(|setting| setting.name.eq_ignore_ascii_case(&limit.setting)) {
            all.push(Setting { name: limit.setting, value: limit.value, default });
        }
    }
    all
}

/// A folder for each use of a contender, numbered.
pub(super) fn folders(folder: &Folder, number: usize) -> impl Fn(&str) -> Result<std::path::PathBuf, LabError> + '_ {
    move |use_| folder.private(&format!("contender-{number}-{use_}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use genkai_model::limit::Limit;
    use genkai_targets::error::TargetError;
    use genkai_targets::files::Backup;
    use genkai_targets::product::Rejection;

    use super::*;

    /// A product with a private copy, which is never started.
    struct Copied(Vec<Rewrite>);

    impl Prepared for Copied {
        fn product(&self) -> &'static str {
            "squid"
        }

        fn version(&self) -> &str {
            "5.7"
        }

        fn with(&self, _: &[Change], _: &Path) -> Result<Box<dyn Prepared>, TargetError> {
            unreachable!()
        }

        fn value_of(&self, _: &str) -> Result<(String, Origin), TargetError> {
            unreachable!()
        }

        fn limits(&self, _: &Environment) -> Vec<Limit> {
            Vec::new()
        }

        fn transport(&self) -> Transport {
            Transport::Tcp
        }

        fn warnings(&self) -> &[String] {
            &[]
        }

        fn rejects(&self, _: &str) -> Result<Option<Rejection>, TargetError> {
            unreachable!()
        }

        fn rewrites(&self) -> &[Rewrite] {
            &self.0
        }

        fn diff(&self, _: &[Change]) -> String {
            String::new()
        }

        fn write_back(&self, _: &[Change]) -> Result<Vec<Backup>, TargetError> {
            unreachable!()
        }

        fn start(&self, _: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
            unreachable!()
        }
    }

    #[test]
    fn changes_of_compression_are_known_by_name() {
        let is = |setting: &str| {
            let text = String::new;
            is_of_compression(&Change { product: text(), setting: setting.to_owned(), from: text(), to: text() })
        };
        assert!(["gzip", "gzip_types", "DeflateCompressionLevel", "compression algo"].into_iter().all(is));
        assert!(!["worker_connections", "gzip_buffers", "keepalive_timeout"].into_iter().any(is));
    }

    #[test]
    fn what_a_copy_differs_in_is_told_without_secrets() {
        let (place, to) = ("/u/squid.conf:3".to_owned(), String::new());
        let from = "cachemgr_passwd hunter2 all".to_owned();
        let ready = Ready::Server(Box::new(Copied(vec![Rewrite { place: place.clone(), from, to: to.clone() }])));
        let runs = Runs::Server { system: Box::new(System::generated("squid")), changes: Vec::new() };
        let entry = ready.entry(&Contender { name: "mine".to_owned(), runs }, &Environment::default());
        assert_eq!(entry.rewrites, [Rewrite { place, from: "cachemgr_passwd ***".to_owned(), to }]);
    }
}
