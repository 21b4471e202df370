//! The settings in `server.xml` that genkai may change: attributes of one connector, or of its executor.

use std::path::Path;

use genkai_model::limit::Origin;
use genkai_place::endpoint::Endpoint;
use roxmltree::{Document, Node};

use super::{ACCEPTS, CONNECTIONS, QUEUE, SOURCE, THREADS, connector, executor};
use crate::error::TargetError;
use crate::files::number::count;
use crate::files::{Configuration, Edit, File, FileId, Pair, Requests, edited, pairs, read};

/// The file, and the place of the connector in it that is meant.
#[derive(Clone, Debug)]
pub(super) struct ServerXml {
    files: [File<()>; 1],
    at: Endpoint,
}

/// The setting of this name, with its default.
fn setting(name: &str) -> Result<(&'static str, u64), TargetError> {
    [THREADS, CONNECTIONS, ACCEPTS, QUEUE].into_iter().find(|(known, _)| *known == name).ok_or_else(|| {
        TargetError::usage("Tomcat", format!("`{name}` is no setting of a connector that genkai changes"))
    })
}

/// Whether a setting is one of a connector's.
pub(super) fn is_setting(name: &str) -> bool {
    setting(name).is_ok()
}

impl ServerXml {
    /// Reads it.
    pub(super) fn read(path: &Path, at: &Endpoint) -> Result<ServerXml, String> {
        let text = read::bytes(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let read = ServerXml { files: [File::new(path.to_owned(), real, text, Vec::new())], at: at.clone() };
        let document = read.document()?;
        connector(&document, at).ok_or_else(|| format!("{} has no connector there", path.display()))?;
        drop(document);
        Ok(read)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.files[0].path
    }

    /// Its text.
    pub(super) fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.files[0].text).map_err(|_| format!("{} is not UTF-8", self.path().display()))
    }

    /// Its elements.
    pub(super) fn document(&self) -> Result<Document<'_>, String> {
        Document::parse(self.text()?).map_err(|e| format!("{}: {e}", self.path().display()))
    }

    /// Where the connector is.
    pub(super) fn at(&self) -> &Endpoint {
        &self.at
    }

    /// `path:line` of an element.
    pub(super) fn place(&self, node: Node<'_, '_>) -> String {
        self.files[0].place(node.range().start)
    }

    /// The same text with other bytes in some places.
    pub(super) fn edited(&self, edits: &[Edit]) -> Result<Vec<u8>, String> {
        let twice = |_| format!("{}: two changes meet in one place", self.path().display());
        let text = edited(&self.files[0], FileId::MAIN, edits).map_err(twice)?;
        Ok(text.unwrap_or_else(|| self.files[0].text.clone()))
    }

    fn missing(&self) -> TargetError {
        TargetError::usage("Tomcat", format!("{} has no connector at {}", self.path().display(), self.at))
    }
}

/// The element that a setting is an attribute of.
fn owner<'d>(document: &'d Document<'d>, at: &Endpoint, name: &str) -> Option<Node<'d, 'd>> {
    let connector = connector(document, at)?;
    match [THREADS.0, QUEUE.0].contains(&name) {
        true => executor(document, connector).or(Some(connector)),
        false => Some(connector),
    }
}

/// The edit that gives an element's attribute this value; a new one stands first.
pub(super) fn attribute(node: Node<'_, '_>, name: &str, value: &str) -> Edit {
    match node.attribute_node(name) {
        Some(attribute) => Edit::new(FileId::MAIN, &attribute.range_value(), value),
        None => {
            let at = node.range().start + 1 + node.tag_name().name().len();
            Edit::new(FileId::MAIN, &(at..at), format!(" {name}=\"{value}\""))
        }
    }
}

impl Configuration for ServerXml {
    fn set(&self, name: &str, value: &str, _: &Requests) -> Result<ServerXml, TargetError> {
        let (name, _) = setting(name)?;
        let value = value.trim();
        if count(value).is_none_or(|n| n == 0 || i32::try_from(n).is_err()) {
            return Err(TargetError::usage("Tomcat", format!("{name}={value}: Tomcat wants a whole number from 1 on")));
        }
        let wrong = |why| TargetError::usage("Tomcat", why);
        let document = self.document().map_err(wrong)?;
        let node = owner(&document, &self.at, name).ok_or_else(|| self.missing())?;
        let text = self.edited(&[attribute(node, name, value)]).map_err(wrong)?;
        let File { path, real, .. } = &self.files[0];
        Ok(ServerXml { files: [File::new(path.clone(), real.clone(), text, Vec::new())], at: self.at.clone() })
    }

    fn value_of(&self, name: &str, _: &Requests) -> Result<(String, Origin), TargetError> {
        let (name, default) = setting(name)?;
        let document = self.document().map_err(|why| TargetError::usage("Tomcat", why))?;
        let node = owner(&document, &self.at, name).ok_or_else(|| self.missing())?;
        Ok(match node.attribute_node(name) {
            Some(attribute) => {
                let line = self.files[0].line(attribute.range().start);
                (attribute.value().to_owned(), Origin::File { path: self.path().to_owned(), line })
            }
            None => (default.to_string(), Origin::Default(SOURCE.to_owned())),
        })
    }

    fn is_same(one: &str, other: &str) -> bool {
        one == other
    }

    fn pairs<'a>(&'a self, edited: &'a ServerXml) -> impl Iterator<Item = Pair<'a>> {
        pairs(&self.files, &edited.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_changed_where_it_stands_and_added_to_its_element_where_it_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.xml");
        std::fs::write(
            &path,
            "<Server>\n<Executor name='e' maxThreads = '7'/>\n<Connector port=\"80\"\n  maxThreads=\"5\"/>\n<Connector port='81' executor='e'/></Server>",
        )
        .unwrap();
        let none = Requests::default();
        let of = |port: u16| ServerXml::read(&path, &Endpoint::parse(&format!("127.0.0.1:{port}")).unwrap()).unwrap();
        let own = of(80).set("maxThreads", "9", &none).unwrap();
        assert!(own.text().unwrap().contains("port=\"80\"\n  maxThreads=\"9\"/>"), "{own:?}");
        assert_eq!(own.value_of("maxThreads", &none).unwrap().1, Origin::File { path: path.clone(), line: 4 });
        let shared = of(81).set("maxThreads", "9", &none).unwrap();
        assert!(shared.text().unwrap().contains("<Executor name='e' maxThreads = '9'/>"), "{shared:?}");
        let queue = of(81).set("maxQueueSize", "30", &none).unwrap();
        assert!(queue.text().unwrap().contains("<Executor maxQueueSize=\"30\" name='e'"), "{queue:?}");
        let added = of(81).set("acceptCount", "9", &none).unwrap();
        assert!(added.text().unwrap().contains("<Connector acceptCount=\"9\" port='81'"), "{added:?}");
        assert_eq!(of(81).value_of("acceptCount", &none).unwrap().0, "100");
        assert!(of(80).set("maxThreads", "-1", &none).is_err() && of(80).set("port", "9", &none).is_err());
        assert!(ServerXml::read(&path, &Endpoint::parse("127.0.0.1:9").unwrap()).is_err());
    }
}
