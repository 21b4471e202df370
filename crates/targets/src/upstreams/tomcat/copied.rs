//! `server.xml` as the copy has it: one connector at a place of its own, and what a Tomcat writes in folders of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use super::xml::{ServerXml, attribute};
use super::{connector, connectors};
use crate::files::{Edit, FileId};

/// Protocols of a connector that are HTTP without TLS, whose threads are called alike.
const PLAIN: [&str; 3] =
    ["HTTP/1.1", "org.apache.coyote.http11.Http11NioProtocol", "org.apache.coyote.http11.Http11Nio2Protocol"];

/// The text of the copy.
#[derive(Debug)]
pub(super) struct Copied {
    /// Its bytes.
    pub(super) text: Vec<u8>,
    /// Folders of applications: the user's, and what the copy has instead.
    pub(super) apps: Vec<(PathBuf, PathBuf)>,
}

/// The text of a copy whose CATALINA_BASE is `base` instead of `user`, and which listens at `at`.
///
/// # Errors
/// What in it only one process can have, or cannot be told.
pub(super) fn of(xml: &ServerXml, user: &Path, base: &Path, at: SocketAddr) -> Result<Copied, String> {
    let document = xml.document()?;
    let own = connector(&document, xml.at()).ok_or("it has no connector there")?;
    alike(xml, &document, own)?;
    let mut edits = vec![attribute(document.root_element(), "port", "-1")];
    edits.extend([attribute(own, "port", &at.port().to_string()), attribute(own, "address", &at.ip().to_string())]);
    let others = connectors(&document).filter(|node| *node != own);
    edits.extend(others.map(|node| Edit::new(FileId::MAIN, &node.range(), "")));
    let mut apps = Vec::new();
    for host in document.descendants().filter(|node| node.has_tag_name("Host")) {
        let folder = folder(host.attribute("appBase").unwrap_or("webapps"), user)?;
        let mine = base.join(format!("apps{}", apps.len()));
        edits.push(attribute(host, "appBase", &mine.display().to_string()));
        edits.push(attribute(host, "autoDeploy", "false"));
        for context in host.children().filter(|node| node.has_tag_name("Context")) {
            let Some(of) = context.attribute("docBase") else { continue };
            edits.push(attribute(context, "docBase", &self::folder(of, &folder)?.display().to_string()));
        }
        apps.push((folder, mine));
    }
    // What is written, but not into the copy's own folders.
    for node in document.descendants() {
        if node.has_tag_name("Valve") && node.attribute("directory").is_some_and(|to| to != "logs") {
            edits.push(attribute(node, "directory", "logs"));
        }
        if node.attribute("workDir").is_some() {
            edits.push(attribute(node, "workDir", &format!("work/own{}", edits.len())));
        }
    }
    Ok(Copied { text: xml.edited(&edits)?, apps })
}

/// That another process can have the same.
fn alike(xml: &ServerXml, document: &Document<'_>, own: Node<'_, '_>) -> Result<(), String> {
    let protocol = own.attribute("protocol").unwrap_or(PLAIN[0]);
    if own.attribute("SSLEnabled") == Some("true") || !PLAIN.contains(&protocol) {
        return Err(format!("its connector there ({}) is not plain HTTP", xml.place(own)));
    }
    let single = |node: &Node<'_, '_>| {
        let remote = node.attribute("className").is_some_and(|class| class.ends_with("JmxRemoteLifecycleListener"));
        node.has_tag_name("Cluster") || remote
    };
    match document.descendants().find(single) {
        None => Ok(()),
        Some(node) => {
            let name = node.tag_name().name();
            Err(format!("{name} at {} opens a port that only one process can have", xml.place(node)))
        }
    }
}

/// A folder of the user's as it is written: below `above` where it is not absolute.
fn folder(written: &str, above: &Path) -> Result<PathBuf, String> {
    if written.contains("${") {
        return Err(format!("`{written}` in its server.xml is a folder that only the running Tomcat knows"));
    }
    Ok(above.join(written))
}

#[cfg(test)]
mod tests {
    use genkai_place::endpoint::Endpoint;

    use super::*;

    fn copied(text: &str) -> Result<(String, Vec<(PathBuf, PathBuf)>), String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.xml");
        std::fs::write(&path, text).unwrap();
        let xml = ServerXml::read(&path, &Endpoint::parse("127.0.0.1:8080").unwrap()).unwrap();
        let copied = of(&xml, Path::new("/var/t"), Path::new("/x"), "127.0.0.1:4000".parse().unwrap())?;
        Ok((String::from_utf8(copied.text).unwrap(), copied.apps))
    }

    #[test]
    fn the_copy_has_one_connector_of_its_own_and_folders_of_its_own() {
        let (text, apps) = copied(
            "<Server port='8005'>\n<Connector port='8080' maxThreads='4'/><Connector port='8443' SSLEnabled='true'/>\n<Engine>\
             <Host name='a'><Context path='' docBase='../www'/><Valve directory='/var/log/t' className='A'/></Host>\n\
             <Host name='b' appBase='/srv/b' autoDeploy='true' workDir='w'/></Engine></Server>",
        )
        .unwrap();
        let expected = "<Server port='-1'>\n<Connector address=\"127.0.0.1\" port='4000' maxThreads='4'/>\n<Engine>\
                        <Host appBase=\"/x/apps0\" autoDeploy=\"false\" name='a'><Context path='' docBase='/var/t/webapps/../www'/>\
                        <Valve directory='logs' className='A'/></Host>\n<Host name='b' appBase='/x/apps1' autoDeploy='false' \
                        workDir='work/own10'/></Engine></Server>";
        assert_eq!(text, expected);
        let pair = |from: &str, to: &str| (PathBuf::from(from), PathBuf::from(to));
        assert_eq!(apps, [pair("/var/t/webapps", "/x/apps0"), pair("/srv/b", "/x/apps1")]);
    }

    #[test]
    fn what_another_process_cannot_have_is_told_with_its_place() {
        let why = |text: &str| copied(text).unwrap_err();
        let tls = why("<Server>\n<Connector port='8080' SSLEnabled='true'/></Server>");
        assert!(tls.contains("server.xml:2) is not plain HTTP"), "{tls}");
        let cluster = why("<Server><Connector port='8080'/>\n\n<Cluster/></Server>");
        assert!(cluster.starts_with("Cluster at ") && cluster.contains(":3 opens a port"), "{cluster}");
        let variable = why("<Server><Connector port='8080'/><Host appBase='${apps}'/></Server>");
        assert!(variable.contains("`${apps}`"), "{variable}");
    }
}
