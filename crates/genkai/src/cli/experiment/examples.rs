//! What stands below the flags of each experiment's help.

use genkai_model::exit::Exit;

use super::help;

pub(super) const NGINX: &str = "\
Examples:
  genkai experiment run nginx-worker-connections
  genkai experiment run nginx-worker-connections --worker-connections 256 --svg";

pub(super) const APACHE: &str = "\
Examples:
  genkai experiment run apache-websocket
  genkai experiment run apache-websocket --part baseline --part answer
  genkai experiment run apache-websocket --full --out runs/apache
  genkai experiment run apache-websocket --listen 10.0.0.1 --on ssh:load1,load2";

pub(super) const ROOMS: &str = "\
Examples:
  genkai experiment run rooms --nodes 2 --router haproxy
  genkai experiment run rooms --full --sweep-nodes 5,10,25,30
  genkai experiment run rooms --server jetty --nodes 2
  genkai experiment run rooms --nodes 2 --fault cut-redis=4s";

pub(super) const SERVERS: &str = "\
Examples:
  genkai experiment run websocket-servers
  genkai experiment run websocket-servers --servers jetty,node-ws --clients 500
  genkai experiment run websocket-servers --server-set tomcat.heap=512m --sweep jetty.buffer=64k,2m
  genkai experiment run websocket-servers --listen 10.0.0.1 --on ssh:load1,load2";

pub(super) const HELD: &str = "\
Examples:
  genkai experiment run rooms-http
  genkai experiment run rooms-http --router nginx --node-connections 500 --hold 5s";

pub(super) const CACHES: &str = "\
Examples:
  genkai experiment run reverse-proxy-cache
  genkai experiment run reverse-proxy-cache --contenders origin,squid-memory --mix zipf
  genkai experiment run reverse-proxy-cache --access-log access.log --rate 500 --markdown
  genkai experiment run reverse-proxy-cache --listen 10.0.0.1 --on ssh:load1,load2";

/// Examples and exit codes; the first two codes mean something else in each experiment.
pub(super) fn below(examples: &str, holds: &str, fails: &str) -> String {
    let own = [(Exit::Holds, holds), (Exit::Fails, fails)];
    let codes: Vec<(Exit, &str)> = own.into_iter().chain(Exit::ALL[2..].iter().copied()).collect();
    help::below(examples, "", &codes)
}
