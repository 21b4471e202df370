//! A Node server that speaks HTTP/2 (`server.mjs`), for as long as a test wants it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server. It ends with its standard input, which ends with this.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Node {
    /// With such HTTP/2 settings (JSON, in Node's words).
    pub(crate) fn start(settings: &str) -> Node {
        Node::with(&format!("{{\"settings\": {settings}}}"))
    }

    /// With TLS.
    pub(crate) fn secure(certificate: &Path, key: &Path) -> Node {
        Node::with(&format!("{{\"cert\": {certificate:?}, \"key\": {key:?}}}"))
    }

    fn with(options: &str) -> Node {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/http2_node/server.mjs");
        let mut child = Command::new("node")
            .args([script, options])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node (20 or later) is needed");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port: u16 = line.trim().parse().expect("the server prints its port");
        Node { address: SocketAddr::from(([127, 0, 0, 1], port)), child }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
