//! Where genkai is run: as the drill itself, or in a place of the drill's own whose kernel settings it may change. Nothing of the
//! machine's is changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::cases::{Group, Inside};

/// How long those who were in a control group have to end: the reaper of a run's children ends after the run.
const LEAVE: Duration = Duration::from_secs(5);
/// Control groups made so far: each has a name of its own.
static GROUPS: AtomicU32 = AtomicU32::new(0);

/// A place, and what is to be said before a command that is to run in it. It ends with the value.
pub(crate) struct Entered {
    /// Words before the command.
    pub(crate) before: Vec<String>,
    /// The program that takes the product's place; none: it is as it is.
    pub(crate) program: Option<PathBuf>,
    group: Option<PathBuf>,
}

impl Entered {
    /// Makes the place; `dir` takes its files.
    ///
    /// # Errors
    /// Why there can be none here.
    pub(crate) fn make(inside: &Inside, dir: &Path) -> Result<Entered, String> {
        match inside {
            Inside::Here => Ok(Entered { before: Vec::new(), program: None, group: None }),
            Inside::Descriptors(most, hard) => Ok(descriptors(*most, *hard)),
            Inside::Group(group) => alone(group, dir),
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
        Ok(output) if output.status.success() => Ok(Entered { before, program: None, group: None }),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("no network namespace with settings of its own: {}", said.lines().next().unwrap_or_default()))
        }
        Err(e) => Err(format!("no network namespace of its own: unshare: {e}")),
    }
}

/// So many descriptors a process: the soft limit alone, which a program may raise, or the hard one too.
fn descriptors(most: u32, hard: bool) -> Entered {
    let which = if hard { "-n" } else { "-Sn" };
    let before = ["sh", "-c", &format!("ulimit {which} {most} && exec \"$@\""), "sh"].map(str::to_owned).into();
    Entered { before, program: None, group: None }
}

/// A control group for the product alone: a program in its place enters the group and becomes it.
fn alone(of: &Group, dir: &Path) -> Result<Entered, String> {
    let real =
        ["/usr/sbin", "/usr/bin"].map(|folder| Path::new(folder).join(of.program)).into_iter().find(|p| p.is_file());
    let real = real.ok_or_else(|| format!("{} is not installed", of.program))?;
    let (folder, mut entered) = group(of.controller)?;
    let script = format!("#!/bin/sh\necho $$ > {}/cgroup.procs\nexec {} \"$@\"\n", folder.display(), real.display());
    let program = dir.join(of.program);
    let made = || {
        of.settings.iter().try_for_each(|(file, value)| fs::write(folder.join(file), value))?;
        fs::write(&program, script)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755))
    };
    made().map_err(|e| format!("no control group of its own: {}: {e}", folder.display()))?;
    entered.program = Some(program);
    Ok(entered)
}

/// Makes a control group (the first version's) of this controller.
fn group(controller: &str) -> Result<(PathBuf, Entered), String> {
    let root = Path::new("/sys/fs/cgroup").join(controller);
    if !root.join("tasks").exists() {
        return Err(format!("no control group of its own: {} is no controller of the first version", root.display()));
    }
    let number = GROUPS.fetch_add(1, Ordering::Relaxed);
    let folder = root.join(format!("genkai-drill-{}-{number}", std::process::id()));
    fs::create_dir(&folder).map_err(|e| format!("no control group of its own: {}: {e}", folder.display()))?;
    Ok((folder.clone(), Entered { before: Vec::new(), program: None, group: Some(folder) }))
}

/// A control group (the first version's) that gets so many hundredths of one core.
fn quota(percent: u32) -> Result<Entered, String> {
    const PERIOD_US: u32 = 100_000;
    let (group, mut entered) = group("cpu")?;
    let settings = || {
        fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
        fs::write(group.join("cpu.cfs_quota_us"), (PERIOD_US / 100 * percent).to_string())
    };
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.display());
    let before = ["sh", "-c", &script, "sh"].map(str::to_owned).into();
    settings().map_err(|e| format!("no control group of its own: {}: {e}", group.display()))?;
    entered.before = before;
    Ok(entered)
}
