//! Where genkai is run: as the drill itself, or in a place of the drill's own whose kernel settings it may change. Nothing of the
//! machine's is changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::cases::Inside;

/// How long those who were in a control group have to end: the reaper of a run's children ends after the run.
const LEAVE: Duration = Duration::from_secs(5);
/// Control groups made so far: each has a name of its own.
static GROUPS: AtomicU32 = AtomicU32::new(0);

/// A place, and what is to be said before a command that is to run in it. It ends with the value.
pub(crate) struct Entered {
    /// Words before the command.
    pub(crate) before: Vec<String>,
    group: Option<PathBuf>,
}

impl Entered {
    /// Makes the place.
    ///
    /// # Errors
    /// Why there can be none here.
    pub(crate) fn make(inside: &Inside) -> Result<Entered, String> {
        match inside {
            Inside::Here => Ok(Entered { before: Vec::new(), group: None }),
            Inside::Network(settings) => network(settings),
            Inside::Quota(percent) => quota(*percent),
            Inside::Nowhere(why) => Err((*why).to_owned()),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let Some(group) = &self.group else { return };
        let deadline = Instant::now() + LEAVE;
        while let Err(e) = fs::remove_dir(group) {
            if Instant::now() > deadline {
                eprintln!("the control group {} stays: {e}", group.display());
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A network namespace with these settings under `/proc/sys/net`, each a path and a value.
fn network(settings: &[(&str, &str)]) -> Result<Entered, String> {
    let set = settings.iter().map(|(path, value)| format!("echo '{value}' > /proc/sys/net/{path} && "));
    let script = format!("ip link set lo up && {}exec \"$@\"", set.collect::<String>());
    let before: Vec<String> = ["unshare", "--net", "sh", "-c", &script, "sh"].map(str::to_owned).into();
    let tried = Command::new(&before[0]).args(&before[1..]).arg("true").output();
    match tried {
        Ok(output) if output.status.success() => Ok(Entered { before, group: None }),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("no network namespace with settings of its own: {}", said.lines().next().unwrap_or_default()))
        }
        Err(e) => Err(format!("no network namespace of its own: unshare: {e}")),
    }
}

/// A control group (the first version's) that gets so many hundredths of one core.
fn quota(percent: u32) -> Result<Entered, String> {
    const PERIOD_US: u32 = 100_000;
    let controller = Path::new("/sys/fs/cgroup/cpu");
    if !controller.join("cpu.cfs_quota_us").exists() && !controller.join("tasks").exists() {
        return Err("no control group of its own: /sys/fs/cgroup/cpu is no controller of the first version".to_owned());
    }
    let number = GROUPS.fetch_add(1, Ordering::Relaxed);
    let group = controller.join(format!("genkai-drill-{}-{number}", std::process::id()));
    let failed = |e: std::io::Error| format!("no control group of its own: {}: {e}", group.display());
    fs::create_dir(&group).map_err(failed)?;
    let settings = || {
        fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
        fs::write(group.join("cpu.cfs_quota_us"), (PERIOD_US / 100 * percent).to_string())
    };
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.display());
    let before = ["sh", "-c", &script, "sh"].map(str::to_owned).into();
    let entered = Entered { before, group: Some(group.clone()) };
    settings().map_err(failed)?;
    Ok(entered)
}
