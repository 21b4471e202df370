//! Servers are up until their first check says otherwise: who sends requests before it has, sends them to servers that are not there.

use std::thread;
use std::time::{Duration, Instant};

use super::limits::settled_after;
use super::private::Private;
use crate::socket;
use genkai_place::process::Child;

/// Checks that are made later than this are not waited for, nor are their answers any longer.
const LONGEST: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until the checks of a copy that has begun to listen have said which of its servers are up, or could have; not at all where they are made later.
pub(super) fn wait(copy: &Private, child: &mut Child) {
    let Some((made, answered)) = settled_after(&copy.running) else { return };
    if Duration::from_millis(made) > LONGEST {
        return;
    }
    let deadline = Instant::now() + Duration::from_millis(answered).min(LONGEST);
    while Instant::now() < deadline && child.try_exited().is_none() {
        if socket::ask(&copy.socket(), "show stat").is_some_and(|table| is_settled(&table)) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Whether no server waits for its first check, or for more of them before it counts as up or down. Who is in maintenance is not checked.
fn is_settled(table: &str) -> bool {
    let mut lines = table.lines().skip_while(|line| !line.starts_with("# "));
    let names: Vec<&str> = lines.next().unwrap_or_default().trim_start_matches("# ").split(',').collect();
    let at = |name: &str| names.iter().position(|one| *one == name);
    let Some((status, check)) = at("status").zip(at("check_status")) else { return true };
    lines.all(|line| {
        let values: Vec<&str> = line.split(',').collect();
        let of = |place: usize| values.get(place).copied().unwrap_or_default();
        // One that is being made again has a star before its last result.
        let (state, result) = (of(status), of(check).trim_start_matches("* "));
        result.is_empty() || state.starts_with("MAINT") || (result != "INI" && !state.contains('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_settled_once_each_checked_server_is_up_or_down() {
        let of = |status: &str, check: &str| {
            is_settled(&format!(
                "# pxname,svname,scur,status,check_status,last_chk\nf,FRONTEND,0,OPEN,,\nb,a,0,UP,L4OK,\nb,z,0,{status},{check},\n"
            ))
        };
        assert!(!of("UP 1/3", "INI") && !of("UP", "INI"), "nobody has looked");
        assert!(of("UP", "L4OK") && of("DOWN", "L4CON") && of("DOWN", "* L4CON") && of("no check", ""));
        assert!(!of("DOWN 1/2", "L7OK"), "it comes up with the next one");
        assert!(of("MAINT", "INI") && of("MAINT (resolution)", "INI"), "and nobody will");
    }
}
