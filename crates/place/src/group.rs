//! Control groups of processes (cgroups(7)), of version 2 and 1: what they leave them of the machine.

use std::fs;
use std::path::{Path, PathBuf};

/// No limit of version 1 is as low: that is the most pages there could be.
const UNLIMITED: u64 = 1 << 60;

/// A control group of a process, or one above it (cgroups(7)).
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
}

/// All groups this process is in, of version 2 (one hierarchy) and 1 (cpu and memory each).
pub(crate) fn groups() -> Vec<Group> {
    of("self")
}

/// The groups of a process, as `/proc` names it.
fn of(process: &str) -> Vec<Group> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(kinds), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let root = match kinds {
            "" if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() => PathBuf::from("/sys/fs/cgroup"),
            "" => PathBuf::from("/sys/fs/cgroup/unified"),
            kinds => PathBuf::from("/sys/fs/cgroup").join(kinds),
        };
        let relative = Path::new(path).strip_prefix("/").unwrap_or(Path::new(""));
        all.extend(relative.ancestors().map(|part| Group { folder: root.join(part) }));
    }
    all
}

impl Group {
    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }

    /// Cores' worth of time: `cpu.max` (version 2: quota and period, microseconds), or the two files of version 1.
    fn cpu_quota(&self) -> Option<f64> {
        let (quota, period) = match self.read("cpu.max") {
            Some(text) => {
                let (quota, period) = text.trim().split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
            None => (self.read("cpu.cfs_quota_us")?, self.read("cpu.cfs_period_us")?),
        };
        let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    }

    /// Bytes: `memory.max`, or `memory.limit_in_bytes` of version 1.
    pub(crate) fn memory_limit(&self) -> Option<u64> {
        self.read("memory.max").or_else(|| self.read("memory.limit_in_bytes"))?.trim().parse().ok()
    }

    /// Periods so far, and those in which the quota was used up (`cpu.stat`, the same words in both versions).
    fn periods(&self) -> Option<(u64, u64)> {
        stalled(&self.read("cpu.stat")?)
    }
}

/// The group that leaves a process so much memory and no more: of those it is in, the nearest with a limit; none without one.
pub(crate) fn memory(pid: u32) -> Option<Group> {
    limiting(pid).into_iter().next()
}

/// The groups of a process that limit its memory, the nearest first.
pub(crate) fn limiting(pid: u32) -> Vec<Group> {
    let limited = |group: &Group| group.memory_limit().is_some_and(|bytes| bytes < UNLIMITED);
    of(&pid.to_string()).into_iter().filter(limited).collect()
}

impl Group {
    /// Processes of the group that the kernel ended because its memory was used up: `memory.events`, or `memory.oom_control` of
    /// version 1.
    pub(crate) fn kills(&self) -> Option<u64> {
        killed(&self.read("memory.events").or_else(|| self.read("memory.oom_control"))?)
    }
}

impl Group {
    /// The most processes and threads that it may have (`pids.max`, the same in both versions).
    fn tasks_limit(&self) -> Option<u64> {
        self.read("pids.max")?.trim().parse().ok()
    }

    /// How often one more was refused it (`max` of pids.events).
    fn tasks_refused(&self) -> Option<u64> {
        self.read("pids.events")?.lines().find_map(|line| line.strip_prefix("max ")?.trim().parse().ok())
    }
}

/// What the control groups of a process allow and have counted, those left out that this one is in too.
#[derive(Debug)]
pub struct Own {
    memory: Vec<Group>,
    tasks: Vec<Group>,
}

impl Own {
    /// Of process `pid`.
    pub fn of_process(pid: u32) -> Own {
        let memory = own(pid).filter(|group| group.memory_limit().is_some_and(|bytes| bytes < UNLIMITED)).collect();
        Own { memory, tasks: own(pid).filter(|group| group.tasks_limit().is_some()).collect() }
    }

    /// Memory of the group that leaves it least: what can still be had, and the limit, bytes; none where none has one.
    pub fn memory(&self) -> Option<(u64, u64)> {
        self.memory.iter().filter_map(|group| Some((group.memory_left()?, group.memory_limit()?))).min()
    }

    /// Processes of a group that the kernel ended because its memory was used up, cumulative; none without a limit.
    pub fn kills(&self) -> Option<u64> {
        self.memory.iter().filter_map(Group::kills).max()
    }

    /// The most processes and threads that they may have; none without a limit.
    pub fn tasks(&self) -> Option<u64> {
        self.tasks.iter().filter_map(Group::tasks_limit).min()
    }

    /// How often a process or thread was refused because there were so many, cumulative; none without a limit.
    pub fn tasks_refused(&self) -> Option<u64> {
        self.tasks.iter().filter_map(Group::tasks_refused).max()
    }
}

impl Group {
    /// Bytes that can still be had: the limit, less what is in use. What was read from files and has not been used lately is given up
    /// first, and counts as left (`inactive_file` of memory.stat; `total_inactive_file` of version 1).
    pub(crate) fn memory_left(&self) -> Option<u64> {
        let used = self.read("memory.current").or_else(|| self.read("memory.usage_in_bytes"))?.trim().parse().ok()?;
        let cached = inactive(&self.read("memory.stat")?);
        Some(self.memory_limit()?.saturating_sub(cached.map_or(used, |cached| u64::saturating_sub(used, cached))))
    }
}

fn inactive(text: &str) -> Option<u64> {
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
    of("total_inactive_file").or_else(|| of("inactive_file"))
}

fn killed(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

fn stalled(text: &str) -> Option<(u64, u64)> {
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
    Some((of("nr_periods")?, of("nr_throttled")?))
}

/// Cores' worth of processor time that the groups of this process leave it: the least of their quotas; none where none has one.
pub fn cpu_quota() -> Option<f64> {
    groups().iter().filter_map(Group::cpu_quota).reduce(f64::min)
}

/// Groups of a process that this one is not in.
fn own(pid: u32) -> impl Iterator<Item = Group> {
    let shared: Vec<PathBuf> = groups().into_iter().map(|group| group.folder).collect();
    of(&pid.to_string()).into_iter().filter(move |group| !shared.contains(&group.folder))
}

/// Groups that limit processor time of a process, and of this one not.
fn own_limits(pid: u32) -> Vec<Group> {
    own(pid).filter(|group| group.cpu_quota().is_some()).collect()
}

/// Bytes that its groups leave process `pid`, those left out that this process is in too: the least of their limits; none where none has one.
pub fn memory_of(pid: u32) -> Option<u64> {
    own(pid).filter_map(|group| group.memory_limit()).filter(|bytes| *bytes < UNLIMITED).min()
}

/// Cores' worth of processor time that its groups leave process `pid`, those left out that this process is in too: the least of their
/// quotas; none where none has one.
pub fn quota_of(pid: u32) -> Option<f64> {
    own_limits(pid).iter().filter_map(Group::cpu_quota).reduce(f64::min)
}

/// The systemd unit of a process: the nearest group that is called a service (systemd.resource-control(5)); none: it is in no unit's.
pub fn unit(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?.lines().find_map(unit_in)
}

/// The unit in one line of `/proc/PID/cgroup`. A user's manager (`user@1000.service`) is none that serves.
fn unit_in(line: &str) -> Option<String> {
    let path = line.splitn(3, ':').nth(2)?;
    let unit = path.rsplit('/').find(|part| part.ends_with(".service"))?;
    (!unit.starts_with("user@")).then(|| unit.to_owned())
}

/// Looks at whether processor time of groups is used up.
#[derive(Debug)]
pub struct Throttle {
    /// Groups with a quota, and what they had counted at the look before.
    groups: Vec<(Group, (u64, u64))>,
}

impl Throttle {
    /// Of this process's groups; counts from now.
    pub(crate) fn new() -> Throttle {
        Throttle::of(groups().into_iter().filter(|group| group.cpu_quota().is_some()))
    }

    /// Of the groups of process `pid` that this one is not in; counts from now.
    pub fn of_process(pid: u32) -> Throttle {
        Throttle::of(own_limits(pid).into_iter())
    }

    fn of(limited: impl Iterator<Item = Group>) -> Throttle {
        Throttle { groups: limited.filter_map(|group| group.periods().map(|seen| (group, seen))).collect() }
    }

    /// Of the periods since the look before, the fraction in which the quota was used up, of the group that was worst off; none without
    /// a quota.
    pub fn fraction(&mut self) -> Option<f64> {
        let since = |(group, before): &mut (Group, (u64, u64))| {
            let now = group.periods()?;
            let (all, stopped) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
            *before = now;
            Some(if all == 0 { 0.0 } else { (stopped as f64 / all as f64).min(1.0) })
        };
        self.groups.iter_mut().filter_map(since).reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_of_periods_in_the_same_words() {
        let first = "nr_periods 16\nnr_throttled 15\nthrottled_time 1131000000\n";
        let second = "usage_usec 5\nnr_periods 16\nnr_throttled 15\nthrottled_usec 1131000\nnr_bursts 0\n";
        assert_eq!((stalled(first), stalled(second)), (Some((16, 15)), Some((16, 15))));
        assert_eq!(stalled("usage_usec 5\n"), None);
    }

    #[test]
    fn what_a_group_has_left_is_told_in_both_versions() {
        let dir = tempfile::tempdir().unwrap();
        let group = |files: &[(&str, &str)]| {
            let folder = dir.path().join(files.len().to_string());
            fs::create_dir(&folder).unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
            Group { folder }.memory_left()
        };
        let second = [("memory.max", "1000\n"), ("memory.current", "700\n"), ("memory.stat", "inactive_file 100\n")];
        assert_eq!(group(&second), Some(400));
        let stat = "inactive_file 1\ntotal_inactive_file 200\n";
        let first = [
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "700\n"),
            ("memory.stat", stat),
            ("memory.kmem", ""),
        ];
        assert_eq!(group(&first), Some(500));
        assert_eq!(group(&[("memory.max", "max\n")]), None, "no limit");
    }

    #[test]
    fn a_unit_is_the_nearest_service() {
        let unit = |line: &str| unit_in(line);
        assert_eq!(unit("0::/system.slice/php8.2-fpm.service").as_deref(), Some("php8.2-fpm.service"));
        assert_eq!(unit("1:name=systemd:/system.slice/a.service/worker").as_deref(), Some("a.service"));
        let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/b.service";
        assert_eq!(unit(user).as_deref(), Some("b.service"));
        for line in ["0::/", "0::/user.slice/user@1000.service/session.slice", "4:memory:/docker/abc", ""] {
            assert_eq!(unit(line), None, "{line}");
        }
    }

    #[test]
    fn what_limits_this_process_too_is_no_limit_of_another_alone() {
        assert_eq!(quota_of(std::process::id()), None);
        assert_eq!(Throttle::of_process(std::process::id()).fraction(), None);
        let own = Own::of_process(std::process::id());
        assert_eq!((own.memory(), own.kills(), own.tasks(), own.tasks_refused()), (None, None, None, None));
    }

    #[test]
    fn what_a_group_allows_and_counts_is_read_in_both_versions() {
        let dir = tempfile::tempdir().unwrap();
        let group = |name: &str, files: &[(&str, &str)]| {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
            Group { folder }
        };
        let first = [
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "700\n"),
            ("memory.stat", "cache 0\ntotal_inactive_file 100\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ];
        let second = [
            ("memory.max", "500\n"),
            ("memory.current", "100\n"),
            ("memory.stat", "inactive_file 0\n"),
            ("memory.events", "oom 4\noom_kill 3\n"),
        ];
        let pids = |name: &str, max: &str| group(name, &[("pids.max", max), ("pids.events", "max 7\n")]);
        let own = Own {
            memory: vec![group("v1", &first), group("v2", &second)],
            tasks: vec![pids("a", "40\n"), pids("b", "30\n")],
        };
        assert_eq!((own.memory(), own.kills()), (Some((400, 500)), Some(3)));
        assert_eq!((own.tasks(), own.tasks_refused()), (Some(30), Some(7)));
        assert_eq!(pids("c", "max\n").tasks_limit(), None);
    }

    #[test]
    fn both_versions_tell_whom_the_kernel_ended() {
        let first = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        let second = "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 1\n";
        assert_eq!((killed(first), killed(second), killed("")), (Some(3), Some(3), None));
    }

    #[test]
    fn the_group_worst_off_counts_since_the_look_before() {
        let dir = tempfile::tempdir().unwrap();
        let write = |text: &str| fs::write(dir.path().join("cpu.stat"), text).unwrap();
        write("nr_periods 10\nnr_throttled 4\n");
        let group = Group { folder: dir.path().to_owned() };
        let seen = group.periods().unwrap();
        let mut throttle = Throttle { groups: vec![(group, seen)] };
        assert_eq!(throttle.fraction(), Some(0.0));
        write("nr_periods 14\nnr_throttled 7\n");
        assert_eq!((throttle.fraction(), throttle.fraction()), (Some(0.75), Some(0.0)));
        assert_eq!(Throttle { groups: Vec::new() }.fraction(), None);
    }
}
