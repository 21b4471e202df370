//! Tomcat, as the distribution has it, in a private CATALINA_BASE.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::product::{Most, Need, unwritten};
use super::settings::{AGGREGATION, BUFFER, IDLE_TIMEOUT, Knob, MAX_MESSAGE, Settings};
use super::{Place, Product, jvm};
use crate::error::TargetError;

const NAME: &str = "tomcat";
/// Where the package tomcat10-common puts it.
const HOME: &str = "/usr/share/tomcat10";
/// The part of CATALINA_BASE that the application's build makes.
const BASE: &str = "tomcat/base";

pub(super) const PRODUCT: Product = Product {
    name: NAME,
    socketio: false,
    knobs: &[
        jvm::HEAP_KNOB,
        jvm::GC_KNOB,
        jvm::threads("maxThreads, AbstractEndpoint.java"),
        Knob { name: BUFFER, default: "8k", source: "org.apache.tomcat.websocket.DEFAULT_BUFFER_SIZE, Constants.java" },
        jvm::send_buffer("socket.txBufSize, SocketProperties.java"),
        Knob {
            name: MAX_MESSAGE,
            default: "8k",
            source: "WsServerContainer: the default text and binary buffer sizes, Constants.java DEFAULT_BUFFER_SIZE",
        },
        Knob { name: IDLE_TIMEOUT, default: "0s", source: "Session.getMaxIdleTimeout, none" },
        Knob { name: AGGREGATION, default: "off", source: "RemoteEndpoint.setBatchingAllowed, Jakarta WebSocket" },
        jvm::COMPRESSION_KNOB,
    ],
    needs: &[
        jvm::JAVA,
        Need { found: "/usr/share/tomcat10/bin/bootstrap.jar", what: "Tomcat 10", package: "tomcat10-common" },
    ],
    built: Some("tomcat/base/.done"),
    command,
    gc_log: Some(jvm::GC_LOG),
    // A connection that has become a WebSocket counts until it is closed.
    most: Some(Most { connections: 8192, by: "Tomcat's default maxConnections, AbstractEndpoint.java" }),
};

fn command(place: &Place, settings: &Settings, dir: &Path) -> Result<Command, TargetError> {
    let base = place.built(NAME, BASE)?;
    for folder in ["conf", "lib", "webapps"] {
        let path = dir.join(folder);
        symlink(base.join(folder), &path).map_err(unwritten(NAME, &path))?;
    }
    let temp = dir.join("temp");
    fs::create_dir_all(&temp).map_err(unwritten(NAME, &temp))?;
    let mut command = jvm::command(settings, dir);
    jvm::property(&mut command, "org.apache.tomcat.websocket.DEFAULT_BUFFER_SIZE", settings.get(BUFFER));
    // Messages are as large as before, whatever the buffer is.
    if settings.get(BUFFER).is_some() && settings.get(MAX_MESSAGE).is_none() {
        jvm::property(&mut command, "genkai.maxMessage", Some("8192"));
    }
    command.arg(format!("-Dgenkai.aggregation={}", settings.is_on(AGGREGATION)));
    command.arg(format!("-Dcatalina.home={HOME}")).arg(format!("-Dcatalina.base={}", dir.display()));
    command.arg(format!("-Djava.io.tmpdir={}", temp.display()));
    command.arg(format!("-Djava.util.logging.config.file={}", dir.join("conf/logging.properties").display()));
    command.arg("-Djava.util.logging.manager=org.apache.juli.ClassLoaderLogManager");
    command.args(["-cp", &format!("{HOME}/bin/bootstrap.jar:{HOME}/bin/tomcat-juli.jar")]);
    command.args(["org.apache.catalina.startup.Bootstrap", "start"]);
    Ok(command)
}
