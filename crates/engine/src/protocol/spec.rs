//! What a load sends, and which protocol makes it. The only place that knows all protocols.

use std::rc::Rc;
use std::sync::Arc;

use genkai_model::load::{self, Load};

use super::core::Core;
use super::dispatch::{Protocol, start};
use super::http1::{self, Message};
use super::rooms::{self, Members};
use super::users::Requests;
use super::{flow, http2, objects, websocket};
use crate::error::EngineError;
use crate::live_users::LiveUsers;
use crate::schedule::pacer::Level;
use crate::schedule::share::{Model, Share};
use crate::transport::endpoint::Route;

/// What is sent, and where to: a load read and checked, the same for all threads.
#[derive(Clone)]
pub(crate) struct LoadSpec {
    /// Where to.
    pub(crate) route: Route,
    client: ClientKind,
    /// Who says how many users there are, where that is not planned.
    live: Option<LiveUsers>,
}

/// Who sends it.
#[derive(Clone)]
enum ClientKind {
    /// One request in HTTP/1.1.
    Http1(Message),
    /// One request in HTTP/2.
    Http2(http2::Plan),
    /// Object after object.
    Objects(Arc<objects::Plan>),
    /// Messages that are echoed, or connections that are held.
    WebSocket(Box<websocket::Plan>),
    /// Members of chat rooms.
    Rooms(Box<rooms::Plan>),
    /// Virtual users of a scenario.
    Flows(Arc<flow::Plan>),
}

impl LoadSpec {
    /// What `load` says, its files read and everything checked.
    ///
    /// # Errors
    /// When it cannot be sent as it is.
    pub(crate) fn read(load: &Load) -> Result<LoadSpec, EngineError> {
        // Whatever is spoken, it must be a request that HTTP has.
        let message = Message::render(&load.request, load.reuse)?;
        let route = Route::plan(load)?;
        let client = match (&load.pages, &load.scenario, &load.protocol) {
            (Some(pages), ..) => ClientKind::Objects(Arc::new(objects::Plan::read(load, pages)?)),
            (None, Some(scenario), _) => ClientKind::Flows(Arc::new(flow::Plan::read(scenario)?)),
            (None, None, load::Protocol::Http1) => ClientKind::Http1(message),
            (None, None, load::Protocol::Http2(http2)) => ClientKind::Http2(http2::Plan::read(load, http2)?),
            (None, None, load::Protocol::WebSocket(websocket)) => {
                let plan = websocket::Plan::read(load, websocket)?;
                match rooms::Plan::read(load, &plan) {
                    Some(plan) => ClientKind::Rooms(Box::new(plan)),
                    None => ClientKind::WebSocket(Box::new(plan)),
                }
            }
        };
        Ok(LoadSpec { route, client, live: None })
    }

    /// The same, its users as `live` wants them; only those of a scenario can come and go so.
    ///
    /// # Errors
    /// When there is no scenario.
    pub(crate) fn following(self, live: LiveUsers) -> Result<LoadSpec, EngineError> {
        match self.client {
            ClientKind::Flows(_) => Ok(LoadSpec { live: Some(live), ..self }),
            _ => Err(EngineError::Load("users can be asked for only where there is a scenario".to_owned())),
        }
    }

    /// The level of `load`, which this is.
    pub(crate) fn level(&self, load: &Load) -> Level {
        self.live.clone().map_or_else(|| Level::of(load), Level::Asked)
    }

    /// Starts to make the `share` of a thread.
    pub(crate) fn start(self, core: &Rc<Core>, share: Share) -> Rc<dyn Protocol> {
        let shared = Rc::clone(core);
        match self.client {
            ClientKind::Http1(message) => {
                let message = Rc::new(message);
                let client = move || http1::Client::new(&shared, &message);
                start(core, share.pacer.clone(), Requests::new(core, &share, 1, client))
            }
            ClientKind::Http2(plan) => {
                let is_planned = matches!(share.model, Model::Open { .. });
                let pool = http2::Pool::new(core, &core.endpoint, (plan.streams, share.connections()), is_planned);
                let client = move || http2::Client::new(&pool, &plan.request);
                start(core, share.pacer.clone(), Requests::new(core, &share, plan.streams, client))
            }
            ClientKind::Objects(plan) => {
                let sequence = Rc::new(objects::Sequence::new(plan, share.turns));
                let client = move || objects::Client::new(&shared, &sequence);
                start(core, share.pacer.clone(), Requests::new(core, &share, 1, client))
            }
            ClientKind::WebSocket(plan) => match share.model {
                Model::Closed { think } => {
                    start(core, share.pacer.clone(), websocket::Users::new(core, Rc::new(*plan), &share, think))
                }
                Model::Open { .. } => {
                    start(core, share.pacer.clone(), websocket::Pool::new(core, Rc::new(*plan), &share))
                }
            },
            ClientKind::Rooms(plan) => start(core, share.pacer.clone(), Members::new(core, *plan, &share)),
            ClientKind::Flows(plan) => {
                let users = flow::Users::new(core, plan, &share);
                match self.live {
                    Some(live) => flow::follow(users, live),
                    None => start(core, share.pacer.clone(), users),
                }
            }
        }
    }
}
