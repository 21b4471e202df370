//! Node.js: one event loop in each process. What is behind it in a script is not known.

use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::Started;
use super::heap::{Managed, of_node};
use super::known::{Caps, Known, Part};
use crate::product::Served;
use crate::settings::SourcedValue;

/// What a worker of a cluster has in its environment (lib/internal/cluster/primary.js).
const OF_CLUSTER: &str = "NODE_UNIQUE_ID";

/// Why nothing is said of one whose environment is another user's.
const HIDDEN: &str =
    "its environment cannot be read, nor that of each process it started: whether it is a cluster is not known";

/// Its event loops: the workers of a cluster, whose first process takes connections and computes nothing; else its own.
fn loops(started: &Started) -> Result<SourcedValue<u64>, String> {
    if !started.shows_variables() {
        return Err(HIDDEN.to_owned());
    }
    let primary = started.variable(OF_CLUSTER).and_then(|_| started.parent());
    let primary = primary.as_ref().unwrap_or(started);
    if primary.has_hidden_children() {
        return Err(HIDDEN.to_owned());
    }
    let workers = primary.children_with(OF_CLUSTER);
    // A manager of several applications has workers of each.
    if workers.iter().any(|worker| worker.words != workers[0].words) {
        return Err("its cluster runs different scripts: how many event loops serve here is not known".to_owned());
    }
    Ok(match workers.len() as u64 {
        0 => SourcedValue::plain(1, started.given()),
        n => SourcedValue::plain(n, primary.counted()),
    })
}

/// Process `pid` as Node.js, which may have others of a cluster.
pub(super) fn serves(pid: u32, at: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    if !["node", "nodejs"].contains(&started.program.as_str()) {
        return None;
    }
    let loops = match loops(&started) {
        Ok(loops) => loops,
        Err(why) => return Some(Err(why)),
    };
    let source = "nodejs.org/learn: the event loop; nodejs.org/api/cluster.html";
    let part =
        Part { setting: "event loop", held: loops, caps: Caps::Loops(Some(OF_CLUSTER)), made: String::new(), source };
    let script = started.words.iter().skip(1).find(|word| !word.starts_with('-'));
    let script = script.filter(|word| word.len() < 80 && !word.contains(char::is_whitespace));
    let told = format!("Node.js{}", script.map(|s| format!(" ({s})")).unwrap_or_default());
    let known = Known {
        product: "node",
        told,
        parts: vec![part],
        keeps: true,
        threads: None,
        socket: at.socket(),
        cost: None,
        says: &[],
        says_of: None,
    };
    Some(Ok(Managed::of(known, of_node(&started))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_show_its_environment_is_not_counted() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(loops(&Started::of(pid)).unwrap_err(), HIDDEN, "there is no such process any more");
        assert!(loops(&Started::of(std::process::id())).is_ok());
    }
}
