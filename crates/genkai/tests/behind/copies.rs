//! `genkai tune` on servers behind a proxy of which it runs a private copy.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::Confidence;
use genkai_model::limit::Origin;

use crate::harness::judged::told;
use crate::harness::servers::{Guard, free};
use crate::harness::{genkai, machine, until};

/// Longest wait for a JVM on a busy machine.
const LONGEST: Duration = Duration::from_secs(120);

/// What Tomcat's own `web.xml` says of pages.
const WEB: &str = "<web-app xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"6.0\"><servlet><servlet-name>jsp</servlet-name>\
                   <servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class></servlet><servlet-mapping><servlet-name>jsp\
                   </servlet-name><url-pattern>/</url-pattern></servlet-mapping><servlet-mapping><servlet-name>jsp</servlet-name>\
                   <url-pattern>*.jsp</url-pattern></servlet-mapping><welcome-file-list><welcome-file>index.jsp</welcome-file>\
                   </welcome-file-list></web-app>";

/// Attributes of its connector: four threads.
const FOUR: &str = "maxThreads=\"4\" minSpareThreads=\"1\"";

/// Tomcat as `nobody`, with an application in its folder, a connector with `attributes` (line 5), and a log of who came; it ends with the test.
fn tomcat(base: &Path, port: u16, attributes: &str) -> Guard {
    tomcat_with(base, port, attributes, "")
}

/// The same, with further options of the JVM.
fn tomcat_with(base: &Path, port: u16, attributes: &str, options: &str) -> Guard {
    let page = base.join("webapps/ROOT");
    for folder in ["conf", "logs", "temp", "work", "webapps/ROOT/WEB-INF"] {
        std::fs::create_dir_all(base.join(folder)).unwrap();
    }
    let server = format!(
        "<?xml version=\"1.0\"?>\n<Server port=\"-1\">\n  <Service name=\"Catalina\">\n    <Connector port=\"{port}\" address=\"127.0.0.1\"\n               \
         {attributes}/>\n    <Engine name=\"Catalina\" defaultHost=\"localhost\">\n      <Host name=\"localhost\">\n        \
         <Valve className=\"org.apache.catalina.valves.AccessLogValve\" directory=\"logs\" prefix=\"came\" fileDateFormat=\"\" \
         suffix=\".txt\" buffered=\"false\"/>\n      </Host>\n    </Engine>\n  </Service>\n</Server>\n"
    );
    std::fs::write(base.join("conf/server.xml"), server).unwrap();
    std::fs::write(page.join("WEB-INF/web.xml"), WEB).unwrap();
    std::fs::write(page.join("index.jsp"), "<% Thread.sleep(100); %><%= System.getenv(\"GREETING\") %>\n").unwrap();
    std::fs::set_permissions(base, std::fs::Permissions::from_mode(0o755)).unwrap();
    for folder in ["logs", "temp", "work", "webapps"] {
        chown(base.join(folder), Some(65534), Some(65534)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
    ]);
    command
        .args(["-Xmx128m", "-Dcatalina.home=/usr/share/tomcat10"])
        .arg(format!("-Dcatalina.base={}", base.display()));
    command.arg(format!("-Djava.io.tmpdir={}/temp", base.display()));
    command.args(["-cp", "/usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar"]);
    command.args(["org.apache.catalina.startup.Bootstrap", "start"]).env("GREETING", "here").current_dir(base);
    command.env("JAVA_TOOL_OPTIONS", options);
    let guard = Guard(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("Tomcat to answer", LONGEST, || asked(port).filter(|answer| answer.ends_with("here\n")));
    guard
}

/// The page.
fn asked(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.trim_end_matches("0\r\n\r\n").replace("\r\n", "\n").trim_end_matches('\n').to_owned() + "\n")
}

#[test]
fn unless_it_is_asked_for_a_tomcats_applications_are_not_started_a_second_time() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let _tomcat = tomcat(dir.path(), port, FOUR);
    let nginx = dir.path().join("nginx.conf");
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:{port}; }} }} }}\n"
    );
    std::fs::write(&nginx, text).unwrap();
    let mut tune = genkai("tune nginx --users 60 --spawn-rate 8 --think 200ms --quick --pairs 0");
    let run = told(tune.args(["--objective", "p99 < 500ms, errors < 1%", "--config"]).arg(&nginx));
    assert!(run.stderr.contains("`genkai tune --start-applications` starts them"), "{}", run.story());
    // What it shows is evidence nevertheless.
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert!(cause.limit.id.ends_with("tomcat.maxThreads"), "{}", run.story());
    assert_eq!((cause.confidence, verdict.proposal.len()), (Confidence::Likely, 0), "{}", run.story());
}

#[test]
fn a_tomcat_of_the_users_is_proved_on_a_copy_of_it_and_left_alone() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let _tomcat = tomcat(dir.path(), port, FOUR);
    let came = || std::fs::read_to_string(dir.path().join("logs/came.txt")).unwrap().lines().count();
    let before = came();
    let nginx = dir.path().join("nginx.conf");
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:{port}; }} }} }}\n"
    );
    std::fs::write(&nginx, text).unwrap();
    let mut tune = genkai("tune nginx --users 60 --spawn-rate 8 --think 200ms --quick --pairs 0 --start-applications");
    let run = told(tune.args(["--objective", "p99 < 500ms, errors < 1%", "--config"]).arg(&nginx));
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert_eq!(
        (cause.limit.id.as_str(), cause.confidence),
        ("tomcat.maxThreads", Confidence::Proved),
        "{}",
        run.story()
    );
    let path = dir.path().join("conf/server.xml");
    assert_eq!(cause.limit.origin, Origin::File { path: path.clone(), line: 5 }, "{}", run.story());
    let change = &verdict.proposal[0].change;
    assert_eq!((change.setting.as_str(), change.from.as_str()), ("maxThreads", "4"), "{}", run.story());
    let diff = format!(
        "-               maxThreads=\"4\" minSpareThreads=\"1\"/>\n+               maxThreads=\"{}\"",
        change.to
    );
    assert!(
        run.stdout.contains(&diff) && run.stdout.contains(&format!("+++ b{}\n", path.display())),
        "{}",
        run.story()
    );
    // Not one request of all this has come to the user's own, and nothing was written beside its files.
    assert_eq!(came(), before);
    assert!(std::fs::read_to_string(&path).unwrap().contains("maxThreads=\"4\""));
}

#[test]
fn a_connectors_own_queue_is_named_by_what_tomcat_says_of_it_in_another_language() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let attributes = "maxThreads=\"10\" minSpareThreads=\"1\" maxQueueSize=\"6\"";
    let _tomcat = tomcat_with(dir.path(), port, attributes, "-Duser.language=fr");
    let nginx = dir.path().join("nginx.conf");
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:{port}; }} }} }}\n"
    );
    std::fs::write(&nginx, text).unwrap();
    let mut tune = genkai("tune nginx --users 40 --spawn-rate 4 --quick --pairs 0 --bisect 0 --start-applications");
    let run = told(tune.args(["--objective", "errors < 1%", "--config"]).arg(&nginx));
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert_eq!(
        (cause.limit.id.as_str(), cause.confidence),
        ("tomcat.maxQueueSize", Confidence::Proved),
        "{}",
        run.story()
    );
    let path = dir.path().join("conf/server.xml");
    assert_eq!(cause.limit.origin, Origin::File { path, line: 5 }, "{}", run.story());
    assert_eq!(cause.predicted.clients.map(|clients| (clients.low, clients.high)), Some((16.0, 16.0)));
    assert!(run.story().contains(" le traitement du socket ["), "{}", run.story());
}

#[test]
fn a_tomcat_whose_accept_queue_is_full_is_named_with_the_number_that_it_and_the_connections_before_it_make() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let attributes = "maxThreads=\"40\" maxConnections=\"6\" acceptCount=\"3\"";
    let _tomcat = tomcat(dir.path(), port, attributes);
    let nginx = dir.path().join("nginx.conf");
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:{port}; }} }} }}\n"
    );
    std::fs::write(&nginx, text).unwrap();
    let mut tune = genkai("tune nginx --users 40 --spawn-rate 4 --quick --pairs 0 --bisect 0 --objective p99<800ms");
    let run = told(tune.arg("--config").arg(&nginx));
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert!(cause.limit.id.ends_with("tomcat.acceptCount"), "{}", run.story());
    let path = dir.path().join("conf/server.xml");
    assert_eq!(cause.limit.origin, Origin::File { path, line: 5 }, "{}", run.story());
    // Six that are open, three that wait, and one more that the kernel lets in.
    assert_eq!(cause.predicted.clients.map(|clients| (clients.low, clients.high)), Some((10.0, 10.0)));
    let dropped = |evidence: &genkai_model::finding::Evidence| format!("{evidence:?}").contains("drop");
    assert!(cause.evidence.iter().any(dropped), "{:?}\n{}", cause.evidence, run.story());
}
