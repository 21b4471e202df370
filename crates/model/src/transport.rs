//! What carries a load's connections, whatever is spoken over them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What carries the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Transport {
    /// TCP to the load's addresses.
    #[default]
    Tcp,
    /// A Unix socket (unix(7)); the load has no addresses then.
    Unix {
        /// Its path.
        path: PathBuf,
    },
    /// TLS 1.2 or 1.3 over TCP to the load's addresses.
    Tls(Tls),
}

impl Transport {
    /// Whether it is TCP and nothing more: what records without a word about transports mean.
    pub fn is_tcp(&self) -> bool {
        *self == Transport::Tcp
    }
}

/// How TLS is made, and what is expected of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// The name the certificate must carry: a DNS name, which is also sent (SNI, RFC 6066 section 3), or an IP address,
    /// which is not.
    pub server_name: String,
    /// File of certificates (PEM) that are trusted instead of the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The client's own certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Take any certificate.
    #[serde(default)]
    pub insecure: bool,
    /// Whether sessions are resumed (RFC 8446 section 2.2, RFC 5077) when the server offers it.
    #[serde(default)]
    pub resume: bool,
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// File of the certificate and those between it and the authority (PEM).
    pub certificate: PathBuf,
    /// File of its private key (PEM).
    pub key: PathBuf,
}
