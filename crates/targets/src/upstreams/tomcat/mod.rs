//! Tomcat, from the `server.xml` of its CATALINA_BASE (tomcat.apache.org: HTTP connector, executor).

mod copied;
mod folder;
mod twin;
mod words;
mod xml;

use std::fs;
use std::path::{Path, PathBuf};

use genkai_model::limit::Origin;
use genkai_place::bound::is_same;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use roxmltree::{Document, Node};

pub(super) use self::twin::twin;
use super::Started;
use super::heap::{Managed, of_java};
use super::known::{Caps, Known, Part};
use crate::files::number::count;
use crate::product::Served;
use crate::settings::SourcedValue;

const PRODUCT: &str = "tomcat";
/// What the class begins with that it is started by.
const CLASS: &str = "org.apache.catalina.startup.";
/// Requests at once; of its executor, where it has one.
const THREADS: (&str, u64) = ("maxThreads", 200);
/// Connections at once.
const CONNECTIONS: (&str, u64) = ("maxConnections", 8192);
/// Connections that wait to be accepted.
const ACCEPTS: (&str, u64) = ("acceptCount", 100);
/// Requests that wait for a thread of its executor.
const QUEUE: (&str, u64) = ("maxQueueSize", i32::MAX as u64);
/// What it says when it takes no further one (org/apache/tomcat/util/net/LocalStrings.properties: endpoint.executor.fail, and those in French, without letters that
/// an encoding may spoil, and Japanese), and what stands in its own format around the same in any language: no other message of that method's tells a
/// connection.
const SAYS: &[(&str, &[&str])] = &[
    (QUEUE.0, &["Executor rejected socket ["]),
    (QUEUE.0, &[" le traitement du socket [", "SocketWrapper@"]),
    (QUEUE.0, &["エグゼキュータは処理するソケット [", "SocketWrapper@"]),
    (QUEUE.0, &[" org.apache.tomcat.util.net.AbstractEndpoint.processSocket ", "SocketWrapper@"]),
];
/// Versions from which a connector's own threads have it too (AbstractEndpoint.java: createExecutor); earlier ones warn of an attribute that they do
/// not know.
const OF_CONNECTORS: &str = "of a connector: from Tomcat 9.0.90, 10.1.25 and 11.0.0-M21 on";
/// Where the law of that is written down.
const EXECUTOR: &str = "tomcat.apache.org/tomcat-10.1-doc/config/executor.html; TaskQueue.java: offer; AbstractEndpoint.java: processSocket";

const SOURCE: &str = "tomcat.apache.org/tomcat-10.1-doc/config/http.html; AbstractEndpoint.java";
/// The executor that is a pool of threads, as by default.
const POOL: &str = "org.apache.catalina.core.StandardThreadExecutor";
/// Longest name of a thread (proc(5), `comm`).
const NAME: usize = 15;
/// Threads of a connector that serve no request: its acceptor and its poller.
const OTHERS: u64 = 2;

/// Process `pid` as a JVM that runs Tomcat.
pub(super) fn serves(pid: u32, at: &Endpoint, machine: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    let base = base(&started)?;
    Some(base.and_then(|base| {
        let path = base.join(file(&started));
        started.has_read([&*path].into_iter())?;
        let text = fs::read_to_string(&path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        Ok(Managed::of(of(&path, &text, at, machine.somaxconn)?, of_java(&started, logs(&base))))
    }))
}

/// Its CATALINA_BASE; none of another program.
fn base(started: &Started) -> Option<Result<PathBuf, String>> {
    let runs = started.words.iter().any(|word| word.starts_with(CLASS));
    let found = ["-Dcatalina.base=", "-Dcatalina.home="].iter().find_map(|name| {
        started.words.iter().rev().find_map(|word| word.strip_prefix(name)).map(|folder| started.path(folder))
    });
    (started.program == "java" && runs)
        .then(|| found.ok_or_else(|| "its command line names no catalina.base".to_owned()))
}

/// Its file. A path that is not absolute is below the base (Catalina.java: configFile).
fn file(started: &Started) -> &str {
    started.value(&["-config"]).unwrap_or("conf/server.xml")
}

/// The newest of the files in which what fails is told, by its own logging (conf/logging.properties: `catalina.DATE.log`, `localhost.DATE.log`).
fn logs(base: &Path) -> Vec<PathBuf> {
    let all: Vec<PathBuf> =
        fs::read_dir(base.join("logs")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let of = |name: &str| {
        let called = |path: &&PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
        all.iter().filter(called).filter(|path| path.extension().is_some_and(|e| e == "log")).max().cloned()
    };
    ["catalina.2", "localhost.2"].into_iter().filter_map(of).collect()
}

/// The connector that listens at `at`.
fn connector<'d>(document: &'d Document<'d>, at: &Endpoint) -> Option<Node<'d, 'd>> {
    let here = |node: &Node<'_, '_>| match at {
        Endpoint::Tcp(address) => node.attribute("port").and_then(|text| text.parse().ok()) == Some(address.port()),
        Endpoint::Unix(socket) => {
            node.attribute("unixDomainSocketPath").is_some_and(|text| is_same(Path::new(text), socket))
        }
    };
    connectors(document).find(here)
}

fn connectors<'d>(document: &'d Document<'d>) -> impl Iterator<Item = Node<'d, 'd>> {
    document.descendants().filter(|node| node.has_tag_name("Connector"))
}

/// The executor whose threads a connector has, where they are not its own.
fn executor<'d>(document: &'d Document<'d>, connector: Node<'d, 'd>) -> Option<Node<'d, 'd>> {
    let name = connector.attribute("executor")?;
    document.descendants().find(|node| node.has_tag_name("Executor") && node.attribute("name") == Some(name))
}

/// Whether requests are worked on by a pool of threads, of which `maxThreads` is the size: not where each has a virtual thread of its own
/// (AbstractEndpoint.java: createExecutor; StandardVirtualThreadExecutor.java), nor is it known of an executor of another class, or of a property.
fn is_pool(connector: Node<'_, '_>, executor: Option<Node<'_, '_>>) -> bool {
    match executor {
        Some(executor) => executor.attribute("className").is_none_or(|class| class == POOL),
        None => connector
            .attribute("useVirtualThreads")
            .is_none_or(|is| !is.eq_ignore_ascii_case("true") && !is.contains("${")),
    }
}

/// What serves at `at`, by the text of the file `path`, under a kernel with this `net.core.somaxconn`.
fn of(path: &Path, text: &str, at: &Endpoint, somaxconn: u32) -> Result<Known, String> {
    let document = Document::parse(text).map_err(|e| format!("{}: {e}", path.display()))?;
    let connector = connector(&document, at).ok_or_else(|| format!("{} has no connector there", path.display()))?;
    let executor = executor(&document, connector);
    let attributes = Attributes { path, document: &document };
    let connections = attributes.number(connector, CONNECTIONS)?;
    let accepts = attributes.number(connector, ACCEPTS)?;
    let part = |setting, held, caps| Part { setting, held, caps, made: String::new(), source: SOURCE };
    let pool = is_pool(connector, executor);
    let mut own = match pool {
        true => threads(&attributes, connector, executor, &connections, &accepts)?.into_iter(),
        false => Vec::new().into_iter(),
    };
    let first = own.next();
    let unknown = if pool {
        ""
    } else {
        ", of which no maxThreads is known to be in force (virtual threads, or an executor of another class)"
    };
    let open = (CONNECTIONS.0, connections.value);
    let any = [
        part(CONNECTIONS.0, connections, Caps::Connections),
        part(ACCEPTS.0, accepts, Caps::QueueAfter { open, somaxconn }),
    ];
    Ok(Known {
        product: PRODUCT,
        told: format!("Tomcat ({}){unknown}", attributes.place(connector)),
        parts: first.into_iter().chain(any).chain(own).collect(),
        keeps: true,
        threads: names(connector, executor, connectors(&document).count()).filter(|_| pool),
        socket: at.socket(),
        cost: None,
        says: SAYS,
        // The log is of all connectors: `connected local=/127.0.0.1:80 remote=/127.0.0.1:9`.
        says_of: match at {
            Endpoint::Tcp(address) => Some(format!(":{} remote=", address.port())),
            Endpoint::Unix(_) => None,
        },
    })
}

/// Its threads, and the requests that may wait for one: of its executor, where it has one.
fn threads(
    attributes: &Attributes<'_>,
    connector: Node<'_, '_>,
    executor: Option<Node<'_, '_>>,
    connections: &SourcedValue<u64>,
    accepts: &SourcedValue<u64>,
) -> Result<Vec<Part>, String> {
    let owner = executor.unwrap_or(connector);
    let threads = attributes.number(owner, THREADS)?;
    let queue = Some(owner).filter(|of| of.has_attribute(QUEUE.0));
    let queue = queue.map(|of| attributes.number(of, QUEUE)).transpose()?;
    // Which version it is, is not known.
    let since = executor.is_none().then_some(OF_CONNECTORS);
    let part = |setting, held, caps, source| Part { setting, held, caps, made: String::new(), source };
    let waits = connections.value.saturating_sub(threads.value).saturating_add(accepts.value);
    let waits = queue.as_ref().filter(|_| since.is_none()).map_or(waits, |queue| waits.min(queue.value));
    let after = (THREADS.0, threads.value);
    let queue = queue.map(|held| part(QUEUE.0, held, Caps::Waiting { after, since }, EXECUTOR));
    Ok([part(THREADS.0, threads, Caps::Requests(Some(waits)), SOURCE)].into_iter().chain(queue).collect())
}

/// How the threads that serve are called, and how many so called do not. None where those of several connectors cannot be told apart.
fn names(connector: Node<'_, '_>, executor: Option<Node<'_, '_>>, connectors: usize) -> Option<(String, u64)> {
    let cut = |name: String| name.chars().take(NAME).collect();
    if let Some(executor) = executor {
        return Some((cut(executor.attribute("namePrefix").unwrap_or("tomcat-exec-").to_owned()), 0));
    }
    let nio = ["HTTP/1.1", "org.apache.coyote.http11.Http11NioProtocol"];
    let is_nio = connector.attribute("protocol").is_none_or(|protocol| nio.contains(&protocol));
    let (port, address) = (connector.attribute("port")?, connector.attribute("address"));
    let own = address.map_or_else(|| format!("http-nio-{port}-"), |address| format!("http-nio-{address}-{port}-"));
    (is_nio && connectors == 1).then(|| (cut(own), OTHERS))
}

/// Attributes of the file's elements.
struct Attributes<'f> {
    path: &'f Path,
    document: &'f Document<'f>,
}

impl Attributes<'_> {
    fn number(&self, node: Node<'_, '_>, (name, default): (&str, u64)) -> Result<SourcedValue<u64>, String> {
        let Some(attribute) = node.attribute_node(name) else {
            return Ok(SourcedValue::plain(default, Origin::Default(SOURCE.to_owned())));
        };
        let (path, line) = (PathBuf::from(self.path), self.line(attribute.range().start));
        // `-1`, or a property (`${threads}`), is no number of its own.
        let no = || format!("{name} is `{}` at {}:{line}", attribute.value(), self.path.display());
        let value = count(attribute.value()).filter(|n| *n > 0).ok_or_else(no)?;
        Ok(SourcedValue::plain(value, Origin::File { path, line }))
    }

    fn line(&self, at: usize) -> usize {
        self.document.text_pos_at(at).row as usize
    }

    fn place(&self, node: Node<'_, '_>) -> String {
        format!("{}:{}", self.path.display(), self.line(node.range().start))
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::{Law, Sign, Signature, Strength};

    use super::*;

    #[test]
    fn the_connector_of_a_port_is_read_with_its_executor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.xml");
        let text = "<?xml version='1.0'?>\n<Server>\n<Service>\n<Executor name='e'\n  maxThreads='7' namePrefix='work-'/>\n\
                    <Connector port='8080' maxThreads='5' acceptCount='9'/>\n<Connector port='8081' executor='e'/>\n\
                    <Connector port='8082' maxThreads='${t}'/>\n</Service>\n</Server>\n";
        let known = |port: u16| of(&path, text, &Endpoint::parse(&format!("127.0.0.1:{port}")).unwrap(), 4096);
        let first = known(8080).unwrap();
        let values: Vec<_> = first.parts.iter().map(|part| (part.setting, part.held.value)).collect();
        assert_eq!(values, [("maxThreads", 5), ("maxConnections", 8192), ("acceptCount", 9)]);
        assert_eq!(first.parts[0].held.origin, Origin::File { path: path.clone(), line: 6 });
        assert_eq!(first.threads, None, "threads of three connectors");
        let second = known(8081).unwrap();
        assert_eq!(second.parts[0].held.origin, Origin::File { path: path.clone(), line: 5 });
        assert_eq!((second.parts[0].held.value, second.threads), (7, Some(("work-".to_owned(), 0))));
        assert_eq!(second.parts.len(), 3, "as many may wait as come");
        assert!(known(8082).unwrap_err().contains("maxThreads is `${t}`"));
        assert!(known(9).unwrap_err().ends_with("has no connector there"));
    }

    #[test]
    fn with_virtual_threads_there_is_no_most_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.xml");
        let text = "<Server><Executor name='v' className='org.apache.catalina.core.StandardVirtualThreadExecutor' maxThreads='7'/>\n\
                    <Executor name='p' className='org.apache.catalina.core.StandardThreadExecutor' maxThreads='8'/>\n\
                    <Connector port='80' useVirtualThreads='true' maxThreads='5' maxQueueSize='9'/>\n<Connector port='81' executor='v'/>\n\
                    <Connector port='82' executor='p' useVirtualThreads='true'/>\n<Connector port='83' useVirtualThreads='false'/>\n\
                    </Server>";
        let known = |port: u16| of(&path, text, &Endpoint::parse(&format!("127.0.0.1:{port}")).unwrap(), 4096).unwrap();
        let settings = |port: u16| known(port).parts.iter().map(|part| part.setting).collect::<Vec<_>>();
        for port in [80, 81] {
            assert_eq!((settings(port), known(port).threads), (vec!["maxConnections", "acceptCount"], None), "{port}");
            assert!(known(port).told().contains("no maxThreads is known"), "{}", known(port).told());
        }
        for port in [82, 83] {
            assert_eq!(settings(port), ["maxThreads", "maxConnections", "acceptCount"], "{port}");
        }
    }

    #[test]
    fn an_executor_takes_what_it_works_on_and_what_may_wait_and_says_when_more_come() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.xml");
        let text = "<Server>\n<Executor name='e' maxThreads='20'\n  maxQueueSize='15'/>\n<Connector port='80' executor='e'/>\n\
                    <Connector port='81' maxQueueSize='15'/></Server>\n";
        let known = |port: u16| of(&path, text, &Endpoint::parse(&format!("127.0.0.1:{port}")).unwrap(), 4096).unwrap();
        let limits = known(80).limits("backend");
        let queue = limits.iter().find(|limit| limit.setting == QUEUE.0).unwrap();
        assert_eq!(queue.origin, Origin::File { path: path.clone(), line: 3 });
        let Law::Slots { value, reserved, .. } = queue.law else { panic!("{:?}", queue.law) };
        assert_eq!((value, reserved), (15.0, -20.0));
        assert!(queue.formula.starts_with("maxThreads 20 + 15 = 35 requests at once"), "{}", queue.formula);
        // Tomcat 10.1.60.
        let line = "26-Nov-2026 09:20:01.123 WARNING [http-nio-127.0.0.1-80-Poller] org.apache.tomcat.util.net.AbstractEndpoint.processSocket \
                    Executor rejected socket [org.apache.tomcat.util.net.NioEndpoint$NioSocketWrapper@3a:java.nio.channels.SocketChannel[connected \
                    local=/127.0.0.1:80 remote=/127.0.0.1:9]] for processing";
        let name = known(80).told_in(line, "backend").unwrap();
        let other = line.replace("local=/127.0.0.1:80 ", "local=/127.0.0.1:8080 ");
        assert_eq!(known(80).told_in(&other, "backend"), None, "another connector's");
        let decisive = |one: &Signature| one.sign == Sign::Log(name.clone()) && one.strength == Strength::Decisive;
        assert!(queue.signatures.iter().any(decisive), "{:?}", queue.signatures);
        assert_eq!(known(80).told_in("SEVERE: Servlet.service() threw exception", "backend"), None);
        // Of any language (10.1.60, French).
        let french = line
            .replace("WARNING", "AVERTISSEMENT")
            .replace("Executor rejected socket [", "L'exécuteur a rejeté le traitement du socket [");
        assert_eq!(known(80).told_in(&french, "backend"), Some(name));
        let broken = "26-Nov-2026 09:20:01.123 GRAVE [x] org.apache.tomcat.util.net.AbstractEndpoint.processSocket Erreur d'allocation";
        assert_eq!(known(80).told_in(broken, "backend"), None);
    }

    #[test]
    fn a_connectors_own_queue_is_known_by_what_it_says_as_earlier_versions_have_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.xml");
        let text = "<Server>\n<Connector port='81'\n  maxThreads='20' maxQueueSize='15'/></Server>\n";
        let known = of(&path, text, &Endpoint::parse("127.0.0.1:81").unwrap(), 4096).unwrap();
        let limits = known.limits("backend");
        let queue = limits.iter().find(|limit| limit.setting == QUEUE.0).unwrap();
        assert_eq!(queue.origin, Origin::File { path: path.clone(), line: 3 });
        assert!(
            queue.formula.contains("35 requests at once") && queue.formula.contains("10.1.25"),
            "{}",
            queue.formula
        );
        let log = |one: &&Signature| matches!(&one.sign, Sign::Log(name) if name.ends_with(QUEUE.0));
        assert_eq!(queue.signatures.iter().find(log).unwrap().strength, Strength::Decisive);
        let gauge = |one: &&Signature| matches!(one.sign, Sign::Reached { .. });
        assert_eq!(queue.signatures.iter().find(gauge).unwrap().strength, Strength::Consistent);
        let threads = limits.iter().find(|limit| limit.setting == THREADS.0).unwrap();
        let Law::Workers { queue: Some(waits), .. } = threads.law else { panic!("{:?}", threads.law) };
        assert!(waits > 8000.0, "{waits}: an earlier version has all of them wait");
    }

    /// Tomcat 10.1, 50 threads, 20 connections: 20 requests of 200 ms slept in its servlet (98 a second), and 42 waited to be accepted.
    #[test]
    fn who_waits_for_a_connection_is_no_sign_of_too_few_threads() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.xml");
        let signs = |attributes: &str, setting: &str| {
            let text = format!("<Server><Connector port='80' acceptCount='100' {attributes}/></Server>");
            let known = of(&path, &text, &Endpoint::parse("127.0.0.1:80").unwrap(), 4096).unwrap();
            let limit = known.limits("copy").into_iter().find(|limit| limit.setting == setting).unwrap();
            let strong = limit.signatures.into_iter().filter(|one| one.strength > Strength::Consistent);
            let one = |one: Signature| match one.sign {
                Sign::Reached { metric, value } => (metric.trim_start_matches("copy.").to_owned(), value),
                other => panic!("{other:?}"),
            };
            strong.map(one).collect::<Vec<_>>()
        };
        let is = |all: &[(&str, f64)]| all.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
        let few = "maxThreads='50' maxConnections='20'";
        assert_eq!(signs(few, THREADS.0), []);
        assert_eq!(signs(few, CONNECTIONS.0), is(&[("connections", 20.0), ("unadmitted", 10.0)]));
        assert_eq!(signs("maxThreads='4'", THREADS.0), is(&[("asked_within", 6.0)]));
        let tight = "maxThreads='10' maxConnections='12'";
        assert_eq!(signs(tight, THREADS.0), is(&[("asked_within", 11.0)]));
        assert_eq!(signs(tight, CONNECTIONS.0), is(&[("connections", 12.0)]), "those may wait for its threads");
    }
}
