//! A node, whichever application it is. Those with rooms all tell what they count and trace in the same way (apps/README.md).

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::plan::{Cluster, OriginSpec};
use genkai_model::rooms::{Loss, NodeReport};
use genkai_model::units::{Bytes, Span, Spread};
use genkai_place::observation::Observation;
use genkai_targets::application::{self, Place};
use genkai_targets::embedded::Origin;
use genkai_targets::rooms::{self, Settings};

use crate::error::LabError;

/// A running node. Dropping it ends it.
pub(super) enum Node {
    /// Chat rooms.
    Rooms(rooms::Node),
    /// genkai's own HTTP origin, which holds requests open.
    Http(Origin),
}

impl Node {
    /// Starts node `number` (from 1) of a cluster, its files in `dir`; one that holds each request for `held`, or else one of rooms.
    pub(super) fn start(
        cluster: &Cluster,
        held: Option<Span>,
        number: u32,
        settings: &Settings,
        place: &Place,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Node, LabError> {
        match held {
            None => {
                let product = application::find(&cluster.server)?;
                Ok(Node::Rooms(rooms::Node::start(product, place, number, settings, cpus, dir)?))
            }
            Some(time) => {
                let service_time = Spread::Constant(time);
                let spec =
                    OriginSpec { body: Bytes(1), service_time, workers: None, queue: None, seed: u64::from(number) };
                let dir = dir.join(format!("node-{number}"));
                std::fs::create_dir_all(&dir).map_err(LabError::folder(&dir))?;
                Ok(Node::Http(Origin::start(&place.program, &spec, cpus, &dir)?))
            }
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        match self {
            Node::Rooms(node) => node.address(),
            Node::Http(origin) => origin.address(),
        }
    }

    pub(super) fn observe(&mut self) -> Observation {
        match self {
            Node::Rooms(node) => node.observe(),
            Node::Http(origin) => origin.observe(),
        }
    }

    /// What it tells after a load in which `losses` were found; nothing where there are no rooms.
    pub(super) fn report(&mut self, losses: &[Loss]) -> Option<NodeReport> {
        match self {
            Node::Rooms(node) => Some(node.report(losses)),
            Node::Http(_) => None,
        }
    }

    /// Ends it without a word, on purpose; what was done.
    pub(super) fn kill(&self) -> String {
        match self {
            Node::Rooms(node) => {
                node.kill();
                format!("node {} was killed on purpose", node.number())
            }
            Node::Http(_) => String::new(),
        }
    }
}
