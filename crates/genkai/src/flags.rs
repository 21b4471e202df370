//! How flags that several commands share become a plan's values.

use genkai_lab::experiment;
use genkai_lab::system::Pin;
use genkai_model::event::Pinning;
use genkai_model::load::{Arrivals, Body, Load, Reuse, Spacing};
use genkai_model::plan::OriginSpec;
use genkai_model::units::Bytes;

use crate::cli::{LoadFlags, OriginFlags, Switch};
use crate::workplace::Programs;
use crate::{Failure, source, workplace};

/// Most users, requests a second and connections that a load may ask for; above it is a typing error.
const MOST: f64 = 10_000_000.0;

impl LoadFlags {
    /// The load these flags describe; the stop rule and the addresses are the caller's.
    ///
    /// # Errors
    /// When a value makes no sense.
    pub(crate) fn load(&self, spawn_rate: f64, client_cores: usize) -> Result<Load, Failure> {
        let mut load = experiment::users(self.users.unwrap_or(100), self.spawn_rate.unwrap_or(spawn_rate));
        load.arrivals = self.arrivals(load.arrivals)?;
        load.request.body = self.body()?;
        load.request.method = self.method(&load.request.body)?;
        load.request.path = path(self.path.as_deref().unwrap_or("/"))?;
        for text in &self.header {
            let (name, value) = header(text)?;
            if name.eq_ignore_ascii_case("host") {
                load.request.host = value
            } else {
                load.request.headers.push((name, value))
            }
        }
        load.reuse = if self.new_connections { Reuse::PerRequest } else { Reuse::KeepAlive };
        load.retry = !self.no_retry;
        load.timeout = self.timeout.unwrap_or(load.timeout);
        if load.timeout.0 == 0 {
            return Err(Failure::usage("--timeout 0s: must be at least 1ms"));
        }
        load.threads = self.threads.unwrap_or(client_cores.clamp(1, 64) as u16);
        load.scale = workplace::scale(
            &self.on,
            Programs { ssh: &self.ssh, podman: &self.podman },
            self.processes,
            source::all(&self.source)?,
        )?;
        load.seed = self.seed;
        load.kernel_timestamps = match self.kernel_timestamps {
            Some(switch) => switch == Switch::On,
            None => matches!(load.arrivals, Arrivals::Rate { .. }),
        };
        Ok(load)
    }

    /// The same without what belongs to the open model.
    pub(crate) fn closed(&self) -> LoadFlags {
        LoadFlags { connections: None, ramp: None, poisson: false, ..self.clone() }
    }

    fn arrivals(&self, users: Arrivals) -> Result<Arrivals, Failure> {
        match (self.rate, users) {
            (Some(rate), _) => Ok(Arrivals::Rate {
                per_second: positive("--rate", rate)?,
                ramp: self.ramp.unwrap_or_default(),
                spacing: if self.poisson { Spacing::Poisson } else { Spacing::Uniform },
                connections: self.connections.unwrap_or(1000),
            }),
            (None, _) if self.ramp.is_some() || self.poisson => {
                Err(Failure::usage("--ramp, --poisson: need --rate (the open model)"))
            }
            (None, _) if self.connections.is_some() => Err(Failure::usage(
                "--connections: needs --rate, --http2, or a ws:// address; otherwise each user has one connection",
            )),
            (None, Arrivals::Users { count, spawn_rate, .. }) => Ok(Arrivals::Users {
                count,
                spawn_rate: positive("--spawn-rate", spawn_rate)?,
                think: self.think.unwrap_or_default(),
            }),
            (None, other) => Ok(other),
        }
    }

    fn body(&self) -> Result<Body, Failure> {
        match (&self.body, self.body_size) {
            (Some(text), _) => match text.strip_prefix('@') {
                Some(file) => {
                    std::fs::read(file).map(Body::from).map_err(|e| Failure::usage(format!("--body @{file}: {e}")))
                }
                None => Ok(Body::Text(text.clone())),
            },
            (None, Some(Bytes(n))) => Ok(Body::Size(n)),
            (None, None) => Ok(Body::Empty),
        }
    }

    fn method(&self, body: &Body) -> Result<String, Failure> {
        let method =
            self.method.clone().unwrap_or_else(|| if *body == Body::Empty { "GET" } else { "POST" }.to_owned());
        let token =
            !method.is_empty() && method.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        if token {
            Ok(method)
        } else {
            Err(Failure::usage(format!("--method `{method}` is not an HTTP method (RFC 9110, 9.1)")))
        }
    }
}

/// A rate that makes sense.
pub(crate) fn positive(flag: &str, value: f64) -> Result<f64, Failure> {
    if value.is_finite() && value > 0.0 && value <= MOST {
        return Ok(value);
    }
    Err(Failure::usage(format!("{flag} {value}: must be above 0 and at most {MOST}")))
}

/// A request target in origin form (RFC 9112, 3.2.1).
pub(crate) fn path(text: &str) -> Result<String, Failure> {
    if text.starts_with('/') && text.bytes().all(|b| (0x21..=0x7e).contains(&b)) {
        return Ok(text.to_owned());
    }
    Err(Failure::usage(format!("--path `{text}`: must begin with `/` and hold no spaces or control characters")))
}

/// `Name: value` (RFC 9110, 5.1 and 5.5).
fn header(text: &str) -> Result<(String, String), Failure> {
    let bad = || Failure::usage(format!("--header `{text}`: write it like \"Accept: text/html\""));
    let (name, value) = text.split_once(':').ok_or_else(bad)?;
    let (name, value) = (name.trim(), value.trim());
    let token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    if !token || value.bytes().any(|b| b.is_ascii_control()) {
        return Err(bad());
    }
    if ["content-length", "transfer-encoding", "connection"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(Failure::usage(format!("--header `{name}`: cannot be set; genkai sets it")));
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl OriginFlags {
    /// The origin these flags describe.
    pub(crate) fn spec(&self) -> OriginSpec {
        OriginSpec {
            body: self.body,
            service_time: self.service_time,
            workers: self.workers,
            queue: self.queue,
            seed: self.seed,
        }
    }
}

/// `apart`, `none`, or `servers=0-2,client=3`.
pub(crate) fn pin(text: &str) -> Result<Pin, Failure> {
    match text {
        "apart" => return Ok(Pin::Apart),
        "none" => return Ok(Pin::Free),
        _ => {}
    }
    let bad = |why: &str| Failure::usage(format!("--pin `{text}`: {why}; write apart, none, or servers=0-2,client=3"));
    let (servers, client) = text
        .strip_prefix("servers=")
        .and_then(|rest| rest.split_once(",client="))
        .ok_or_else(|| bad("not understood"))?;
    let list = |part: &str| cores(part).ok_or_else(|| bad("not a list of cores"));
    let pinning = Pinning { servers: list(servers)?, client: list(client)? };
    if let Some(both) = pinning.servers.iter().find(|c| pinning.client.contains(c)) {
        return Err(bad(&format!("core {both} cannot serve and make load at once (`none` lets both use all cores)")));
    }
    let have = genkai_lab::pinning::cores();
    match pinning.servers.iter().chain(&pinning.client).find(|c| !have.contains(c)) {
        Some(missing) => Err(bad(&format!("core {missing} is not among this process's cores {have:?}"))),
        None => Ok(Pin::Given(pinning)),
    }
}

/// `0-2,5` as numbers.
fn cores(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(['+', ',']) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        if from > to || to > 4096 {
            return None;
        }
        all.extend(from..=to);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_paths_are_checked() {
        assert!(header("Accept: text/html").is_ok());
        for bad in ["Accept", ": x", "A b: c", "X: a\r\nInjected: 1", "Content-Length: 3"] {
            assert!(header(bad).is_err(), "{bad}");
        }
        assert!(path("/a?b=c").is_ok());
        for bad in ["a", "/a b", "/\r\n", ""] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cores_are_lists_and_ranges() {
        assert_eq!(cores("0-2+5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cores("3-1"), None);
        assert_eq!(cores("x"), None);
        assert!(pin("servers=0").is_err());
        assert!(pin("servers=0,client=0").is_err() && pin("servers=0-1,client=1").is_err());
        assert!(matches!(pin("none"), Ok(Pin::Free)));
    }
}
