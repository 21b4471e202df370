//! The API server's side: paths, bodies, attaching.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, UPGRADE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::objects::decoded;
use super::pods::{Output, Pipes};
use super::{Shared, TOKEN, asked, objects};

pub(super) type Answer = Response<Full<Bytes>>;

pub(super) async fn serve(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = down(&shared) => return,
        };
        let Ok((stream, _)) = accepted else { return };
        let (tls, shared) = (tls.clone(), shared.clone());
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let asked = shared.clone();
            let service = service_fn(move |request| {
                let shared = asked.clone();
                async move { Ok::<_, Infallible>(answer(request, &shared).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection.with_upgrades() => {}
                () = down(&shared) => {}
            }
        });
    }
}

pub(super) fn answered(code: StatusCode, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string()));
    Response::builder().status(code).header(CONTENT_TYPE, "application/json").body(body).unwrap()
}

/// An answer of plain text.
pub(super) fn plain(text: String) -> Answer {
    Response::builder().header(CONTENT_TYPE, "text/plain").body(Full::new(Bytes::from(text))).unwrap()
}

pub(super) fn refused(code: StatusCode, reason: &str, message: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code.as_u16()});
    answered(code, &status)
}

/// A body that is of a type, to the last field.
pub(super) async fn strict<T: DeserializeOwned + Serialize>(request: Request<Incoming>) -> Result<T, Answer> {
    let bytes = request.into_body().collect().await.unwrap().to_bytes();
    let sent: Value = serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("a body that is no JSON: {e}"));
    let wrong = |why: String| refused(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", &why);
    let read: T = serde_json::from_value(sent.clone()).map_err(|e| wrong(e.to_string()))?;
    let again = serde_json::to_value(&read).unwrap();
    if again == sent { Ok(read) } else { Err(wrong(format!("unknown fields: {sent} is read as {again}"))) }
}

async fn answer(request: Request<Incoming>, shared: &Arc<Shared>) -> Answer {
    tokio::time::sleep(Duration::from_millis(shared.slow.load(Ordering::Relaxed))).await;
    let allowed = request.headers().get(AUTHORIZATION).is_some_and(|value| value == &format!("Bearer {TOKEN}"));
    if !allowed {
        return refused(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized");
    }
    let path = request.uri().path().to_owned();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    asked::is_known(&request, &parts);
    let made = match (request.method().clone(), parts.as_slice()) {
        (Method::POST, ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]) => {
            review(request, shared).await
        }
        (
            _,
            [_, .., "namespaces", namespace, _]
            | [_, .., "namespaces", namespace, _, _]
            | [_, .., "namespaces", namespace, _, _, _],
        ) if !shared.objects().has(namespace) => {
            Err(refused(StatusCode::NOT_FOUND, "NotFound", &format!("namespaces \"{namespace}\" not found")))
        }
        (Method::POST, ["apis", "batch", "v1", "namespaces", _, "jobs"]) => create(request, shared).await,
        (Method::DELETE, ["apis", "batch", "v1", "namespaces", _, "jobs", name]) => delete(request, shared, name).await,
        (Method::GET, ["api", "v1", "namespaces", _, "pods"]) => {
            let of = decoded(&selector(&request, "labelSelector="));
            let wanted: Vec<(&str, &str)> = of.split(',').map(|pair| pair.split_once('=').unwrap()).collect();
            let mut pods = match &wanted[..] {
                [("app.kubernetes.io/instance", job)] => shared.state().pods_of(job),
                _ => Vec::new(),
            };
            pods.extend(shared.objects().pods(&wanted));
            let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods});
            Ok(answered(StatusCode::OK, &list))
        }
        (Method::GET, ["api", "v1", "namespaces", _, "events"]) => {
            let of = selector(&request, "fieldSelector=involvedObject.kind%3DJob%2CinvolvedObject.name%3D");
            Ok(answered(StatusCode::OK, &shared.state().events(&of)))
        }
        (Method::GET, ["api", "v1", "namespaces", _, "pods", name, "attach"]) => Ok(attach(request, shared, name)),
        (_, parts) => objects::answer(request, shared, parts).await,
    };
    made.unwrap_or_else(|refusal| refusal)
}

/// What stands behind this in the query.
fn selector(request: &Request<Incoming>, before: &str) -> String {
    let query = request.uri().query().unwrap_or_default();
    let found = query.split('&').find_map(|part| part.strip_prefix(before));
    found.unwrap_or_else(|| panic!("no {before} in {query}")).to_owned()
}

async fn review(request: Request<Incoming>, shared: &Shared) -> Result<Answer, Answer> {
    let mut review: SelfSubjectAccessReview = strict(request).await?;
    let of = review.spec.resource_attributes.clone().unwrap();
    let resource = [of.resource, of.subresource].into_iter().flatten().collect::<Vec<_>>().join("/");
    let asked = format!("{} {resource}", of.verb.unwrap());
    let allowed = !shared.behaviour.denied.contains(&asked.as_str());
    review.status = Some(serde_json::from_value(json!({"allowed": allowed})).unwrap());
    Ok(answered(StatusCode::CREATED, &serde_json::to_value(&review).unwrap()))
}

async fn create(request: Request<Incoming>, shared: &Arc<Shared>) -> Result<Answer, Answer> {
    let job: Job = strict(request).await?;
    if shared.behaviour.slow_store {
        let (job, shared) = (job.clone(), shared.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            shared.state().create(&job, &shared.behaviour);
        });
        // Kubernetes, apimachinery/pkg/api/errors: NewTimeoutError.
        let why = "Timeout: request did not complete within requested timeout - context deadline exceeded";
        return Err(refused(StatusCode::GATEWAY_TIMEOUT, "Timeout", why));
    }
    shared.state().create(&job, &shared.behaviour);
    Ok(answered(StatusCode::CREATED, &serde_json::to_value(&job).unwrap()))
}

async fn delete(request: Request<Incoming>, shared: &Shared, name: &str) -> Result<Answer, Answer> {
    let how: DeleteOptions = strict(request).await?;
    assert_eq!(how.propagation_policy.as_deref(), Some("Background"), "a Job that is deleted without leaves its pods");
    if shared.behaviour.busy && !shared.asked_to_delete.swap(true, Ordering::Relaxed) {
        return Err(refused(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "the server is too busy"));
    }
    if shared.state().delete(name) {
        Ok(answered(
            StatusCode::OK,
            &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}),
        ))
    } else {
        Err(refused(StatusCode::NOT_FOUND, "NotFound", &format!("jobs.batch \"{name}\" not found")))
    }
}

fn attach(request: Request<Incoming>, shared: &Arc<Shared>, name: &str) -> Answer {
    let query = request.uri().query().unwrap_or_default().to_owned();
    for wanted in ["stdin=true", "stdout=true", "stderr=true", "container=worker"] {
        assert!(query.split('&').any(|part| part == wanted), "{query}");
    }
    if shared.state().has_ended(name) {
        // The kubelet's words, as a real one (1.36) had them.
        let message = format!("container worker not found in pod {name}_load");
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", &message);
    }
    let Some(pipes) = shared.state().attach(name) else {
        return refused(StatusCode::NOT_FOUND, "NotFound", &format!("pods \"{name}\" not found"));
    };
    upgraded(request, pipes, shared)
}

/// Switches to WebSocket, and speaks to a process on its channels.
pub(super) fn upgraded(mut request: Request<Incoming>, pipes: Pipes, shared: &Arc<Shared>) -> Answer {
    let headers = request.headers();
    let key = derive_accept_key(headers["sec-websocket-key"].as_bytes());
    let offered = headers["sec-websocket-protocol"].to_str().unwrap();
    let speaks = if shared.behaviour.old { "v4.channel.k8s.io" } else { "v5.channel.k8s.io" };
    assert!(offered.split(", ").any(|one| one == speaks), "{offered}");
    let answer = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header("sec-websocket-accept", key)
        .header("sec-websocket-protocol", speaks)
        .body(Full::default())
        .unwrap();
    let upgrade = hyper::upgrade::on(&mut request);
    let shared = shared.clone();
    tokio::spawn(async move {
        let Ok(stream) = upgrade.await else { return };
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, None).await;
        converse(socket, pipes, &shared).await;
    });
    answer
}

/// Until connections to pods are cut.
async fn cut(shared: &Shared) {
    while !shared.cut.load(Ordering::Relaxed) && !shared.down.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Until the API server is down.
async fn down(shared: &Shared) {
    while !shared.down.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Channels: 0 input, 1 output, 2 errors, 3 the end, 255 an end of a channel. The end of this is the end of standard input.
async fn converse<S>(socket: WebSocketStream<S>, pipes: Pipes, shared: &Shared)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let Pipes { stdin, mut output, lost } = pipes;
    let mute = || shared.mute.load(Ordering::Relaxed) || lost.load(Ordering::Relaxed);
    let mut is_over = false;
    let success = json!({"metadata": {}, "status": "Success"});
    let mut stdin = Some(stdin);
    let (mut to, mut from) = socket.split();
    loop {
        tokio::select! {
            message = from.next() => match message {
                Some(Ok(Message::Binary(bytes))) => match bytes.split_first() {
                    _ if mute() => {}
                    Some((0, bytes)) => if let Some(stdin) = &stdin { let _ = stdin.send(bytes.to_vec()); },
                    Some((255, [0])) => drop(stdin.take()),
                    other => panic!("{other:?} came from the client"),
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            () = cut(shared) => return,
            said = output.recv(), if !is_over => {
                is_over = said.is_none();
                if mute() {
                    continue;
                }
                let (channel, bytes) = match said {
                    Some(Output::Out(bytes)) => (1, bytes),
                    Some(Output::Err(bytes)) => (2, bytes),
                    Some(Output::Over(status)) => (3, status.to_string().into_bytes()),
                    // A connection that is cut has no last word.
                    None if shared.cut.load(Ordering::Relaxed) => return,
                    None => (3, success.to_string().into_bytes()),
                };
                let over = channel == 3;
                if to.send(Message::binary([vec![channel], bytes].concat())).await.is_err() || over {
                    let _ = to.close().await;
                    return;
                }
            }
        }
    }
}
