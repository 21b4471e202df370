//! The words that a Tomcat was started with, as its copy is: what only one process can have is the copy's own, or forbids it.

use std::path::Path;

/// Beginnings of options of a JVM that open a port, or load what does as it likes.
const SINGLE: [&str; 9] = [
    "-agentlib:",
    "-agentpath:",
    "-javaagent:",
    "-Xrun",
    "-Dcom.sun.management.jmxremote.port=",
    "-Dcom.sun.management.config.file=",
    "-XX:Flags=",
    "-XX:VMOptionsFile=",
    "@",
];
/// Beginnings of those that write files or run programs, which the copy leaves out.
const DROPPED: [&str; 12] = [
    "-Xlog",
    "-XX:+HeapDump",
    "-XX:HeapDump",
    "-XX:ArchiveClassesAtExit=",
    "-XX:+AutoCreateSharedArchive",
    "-XX:LogFile=",
    "-XX:+LogVMOutput",
    "-XX:+PerfDataSaveToFile",
    "-XX:OnOutOfMemoryError=",
    "-XX:OnError=",
    "-XX:ErrorFile=",
    "-XX:StartFlightRecording",
];
/// Variables in which a JVM finds options besides (java.c, arguments.cpp).
const VARIABLES: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// That a second process can be started with the same words and variables.
///
/// # Errors
/// What it cannot have, without its value.
pub(super) fn alike(words: &[String], variables: &[(String, String)]) -> Result<(), String> {
    let named = |word: &str, at: &str| {
        let name = word.split(['=', ',']).next().unwrap_or_default();
        format!("it is started with {name}{at}, which a copy cannot have, too")
    };
    let single = |word: &&str| SINGLE.iter().any(|begin| word.starts_with(begin));
    if let Some(word) = words.iter().map(String::as_str).find(single) {
        return Err(named(word, ""));
    }
    for (name, value) in variables.iter().filter(|(name, _)| VARIABLES.contains(&name.as_str())) {
        let other = |word: &&str| single(word) || DROPPED.iter().any(|begin| word.starts_with(begin));
        if let Some(word) = value.split_whitespace().find(other) {
            return Err(named(word, &format!(" in {name}")));
        }
    }
    Ok(())
}

/// The words of the copy whose CATALINA_BASE is `base`, with its own `server.xml`.
pub(super) fn copied(words: &[String], base: &Path) -> Vec<String> {
    let own = |name: &str, folder: &Path| format!("{name}{}", folder.display());
    let (mut all, mut rest) = (Vec::new(), words.iter().skip(1));
    let mut collects = false;
    while let Some(word) = rest.next() {
        if word == "-config" {
            rest.next();
        } else if word.starts_with("-Dcatalina.base=") {
            all.push(own("-Dcatalina.base=", base));
        } else if word.starts_with("-Djava.io.tmpdir=") {
            all.push(own("-Djava.io.tmpdir=", &base.join("temp")));
        } else if DROPPED.iter().any(|begin| word.starts_with(begin)) {
            collects |= word.starts_with("-Xlog:") || word.starts_with("-Xloggc:");
        } else {
            all.push(word.clone());
        }
    }
    // Words of Tomcat's own come after its class; who gives none has it start (Bootstrap.java), but the last of any is what it is to do.
    let class = all.iter().position(|word| word.starts_with(super::CLASS)).map_or(all.len(), |at| at + 1);
    if class == all.len() {
        all.push("start".to_owned());
    }
    all.splice(class..class, ["-config".to_owned(), super::folder::file(base).display().to_string()]);
    let mut first = vec![own("-XX:ErrorFile=", &base.join("error.log"))];
    // Where the user's collector tells what it does, the copy's does.
    if collects {
        first.push(own("-Xlog:gc:file=", &super::folder::collector(base)));
    }
    if !words.iter().any(|word| word.starts_with("-Dcatalina.base=")) {
        first.push(own("-Dcatalina.base=", base));
    }
    first.extend(all);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_copy_has_the_same_words_but_for_what_is_its_own() {
        let line = "java -Xmx64m -XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/var/d -Xlog:gc*:file=/var/gc.log -Dcatalina.home=/usr/share/t -Dcatalina.base=/var/t \
                    -Djava.io.tmpdir=/tmp -cp a:b org.apache.catalina.startup.Bootstrap -config conf/x.xml start";
        let expected = "-XX:ErrorFile=/x/error.log -Xlog:gc:file=/x/gc.log -Xmx64m -Dcatalina.home=/usr/share/t \
                        -Dcatalina.base=/x -Djava.io.tmpdir=/x/temp -cp a:b org.apache.catalina.startup.Bootstrap -config \
                        /x/server.xml start";
        assert_eq!(copied(&words(line), Path::new("/x")), words(expected));
    }

    #[test]
    fn words_of_tomcats_own_come_after_its_class() {
        let ends = |line: &str, end: &str| {
            let all = copied(&words(line), Path::new("/x")).join(" ");
            assert!(all.ends_with(end), "{all}");
        };
        let class = "org.apache.catalina.startup.Bootstrap";
        ends(&format!("java -cp a {class}"), &format!("-cp a {class} -config /x/server.xml start"));
        ends(
            &format!("java -cp a {class} -config c.xml -nonaming run"),
            &format!("{class} -config /x/server.xml -nonaming run"),
        );
    }

    #[test]
    fn what_only_one_process_can_have_is_told_by_its_name() {
        let none = |line: &str| alike(&words(line), &[]);
        assert_eq!(none("java -Xmx64m Main"), Ok(()));
        let said = none("java -agentlib:jdwp=transport=dt_socket,address=5005 Main").unwrap_err();
        assert!(said.contains("-agentlib:jdwp,") && !said.contains("5005"), "{said}");
        let tools = |value: &str| alike(&[], &[("JAVA_TOOL_OPTIONS".to_owned(), value.to_owned())]);
        assert_eq!(tools("-Xmx1g"), Ok(()));
        // It would write a heap into the folder that the user's runs in.
        assert!(tools("-XX:+HeapDumpOnOutOfMemoryError").is_err());
        assert!(none("java -XX:Flags=x Main").is_err());
        assert!(tools("-Xmx1g -javaagent:/x.jar=key").is_err_and(|why| why.contains("in JAVA_TOOL_OPTIONS")));
    }
}
