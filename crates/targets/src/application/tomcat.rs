//! Tomcat, as the distribution has it, in a private CATALINA_BASE.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::product::{needs, unwritten};
use super::settings::{Knob, Name, Settings};
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
        jvm::HEAP,
        jvm::GC,
        jvm::threads("maxThreads, AbstractEndpoint.java"),
        Knob {
            name: Name::Buffer,
            default: "8k",
            source: "org.apache.tomcat.websocket.DEFAULT_BUFFER_SIZE, Constants.java",
        },
        jvm::send_buffer("socket.txBufSize, SocketProperties.java"),
        Knob {
            name: Name::MaxMessage,
            default: "8k",
            source: "WsServerContainer: the default text and binary buffer sizes, Constants.java DEFAULT_BUFFER_SIZE",
        },
        Knob { name: Name::IdleTimeout, default: "0s", source: "Session.getMaxIdleTimeout, none" },
        Knob {
            name: Name::Aggregation,
            default: "off",
            source: "RemoteEndpoint.setBatchingAllowed, Jakarta WebSocket",
        },
        jvm::COMPRESSION,
    ],
    check,
    command,
    gc_log: Some(jvm::GC_LOG),
};

fn check(place: &Place) -> Result<(), TargetError> {
    jvm::check(NAME)?;
    if !Path::new(HOME).join("bin/bootstrap.jar").exists() {
        return Err(needs(NAME, "Tomcat 10", "tomcat10-common"));
    }
    place.built(NAME, "tomcat/base/.done").map(drop)
}

fn command(place: &Place, settings: &Settings, dir: &Path) -> Result<Command, TargetError> {
    let base = place.built(NAME, BASE)?;
    for folder in ["conf", "lib", "webapps"] {
        let path = dir.join(folder);
        symlink(base.join(folder), &path).map_err(unwritten(NAME, &path))?;
    }
    let temp = dir.join("temp");
    fs::create_dir_all(&temp).map_err(unwritten(NAME, &temp))?;
    let mut command = jvm::command(settings, dir);
    jvm::property(
        &mut command,
        "org.apache.tomcat.websocket.DEFAULT_BUFFER_SIZE",
        settings.buffer.map(|bytes| bytes.0),
    );
    // Messages are as large as before, whatever the buffer is.
    if settings.buffer.is_some() && settings.max_message.is_none() {
        jvm::property(&mut command, "genkai.maxMessage", Some(8192));
    }
    command.arg(format!("-Dgenkai.aggregation={}", settings.aggregation));
    command.arg(format!("-Dcatalina.home={HOME}")).arg(format!("-Dcatalina.base={}", dir.display()));
    command.arg(format!("-Djava.io.tmpdir={}", temp.display()));
    command.arg(format!("-Djava.util.logging.config.file={}", dir.join("conf/logging.properties").display()));
    command.arg("-Djava.util.logging.manager=org.apache.juli.ClassLoaderLogManager");
    command.args(["-cp", &format!("{HOME}/bin/bootstrap.jar:{HOME}/bin/tomcat-juli.jar")]);
    command.args(["org.apache.catalina.startup.Bootstrap", "start"]);
    Ok(command)
}
