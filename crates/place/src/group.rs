//! Control groups of processes (cgroups(7)), of version 2 and 1: what they leave them of the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// No limit of version 1 is as low: that is the most pages there could be.
const UNLIMITED: u64 = 1 << 60;

/// A control group of a process, or one above it (cgroups(7)).
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    /// Where processor time of the same processes is counted, in another hierarchy of version 1.
    accounts: Option<PathBuf>,
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
        all.extend(relative.ancestors().map(|part| Group { folder: root.join(part), accounts: None }));
    }
    accounted(&mut all);
    all
}

/// Finds where processor time of groups of the controller `cpu` is counted, as far as the process is in a group of the same name there.
fn accounted(all: &mut [Group]) {
    let (limits, counts) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup/cpuacct"));
    let counted: Vec<PathBuf> =
        all.iter().map(|group| group.folder.clone()).filter(|one| one.starts_with(counts)).collect();
    for group in all {
        let same = group.folder.strip_prefix(limits).ok().map(|part| counts.join(part));
        group.accounts = same.filter(|folder| counted.contains(folder)).map(|folder| folder.join("cpuacct.usage"));
    }
}

impl Group {
    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }

    /// Processor time that all processes in it have had, seconds: `usage_usec` of cpu.stat, or cpuacct.usage of version 1 (nanoseconds), which may be in a
    /// hierarchy of its own, where the group of the same name counts if the processes are in it.
    fn processor(&self) -> Option<f64> {
        if let Some(used) = self.read("cpu.stat").and_then(|text| of_line(&text, "usage_usec")) {
            return Some(used as f64 / 1e6);
        }
        let nanoseconds = self.read("cpuacct.usage").or_else(|| fs::read_to_string(self.accounts.as_ref()?).ok())?;
        Some(nanoseconds.trim().parse::<u64>().ok()? as f64 / 1e9)
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

/// The number after a name, which begins a line.
fn of_line(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

fn stalled(text: &str) -> Option<(u64, u64)> {
    Some((of_line(text, "nr_periods")?, of_line(text, "nr_throttled")?))
}

/// Processor time that control groups leave a process.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// Cores' worth of it.
    pub cores: f64,
    /// The group that says so: its folder.
    pub folder: PathBuf,
}

/// The least of the quotas of these groups.
fn least(groups: impl IntoIterator<Item = Group>) -> Option<Quota> {
    let quotas = groups.into_iter().filter_map(|group| Some(Quota { cores: group.cpu_quota()?, folder: group.folder }));
    quotas.min_by(|one, other| one.cores.total_cmp(&other.cores))
}

/// The least of the quotas of this process's groups, and of those above them; none where none has one.
pub fn cpu_quota() -> Option<Quota> {
    least(groups())
}

/// The same of process `pid`, also of groups that this process is in too.
pub fn cpu_quota_of(pid: u32) -> Option<Quota> {
    least(of(&pid.to_string()))
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
    least(own_limits(pid)).map(|quota| quota.cores)
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
    /// Processor time that the one with the least quota had had at the look before, seconds, and when that was.
    used: Option<(f64, Instant)>,
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
        let groups = limited.filter_map(|group| group.periods().map(|seen| (group, seen))).collect();
        let mut throttle = Throttle { groups, used: None };
        throttle.cores();
        throttle
    }

    /// Cores that the processes of the group with the least quota used since the look before; none without a quota, or where nobody counts it.
    pub(crate) fn cores(&mut self) -> Option<f64> {
        let least = |(one, _): &&(Group, _), (other, _): &&(Group, _)| {
            let cores = |group: &Group| group.cpu_quota().unwrap_or(f64::INFINITY);
            cores(one).total_cmp(&cores(other))
        };
        let began = Instant::now();
        let used = self.groups.iter().min_by(least).and_then(|(group, _)| group.processor());
        let before = std::mem::replace(&mut self.used, used.map(|used| (used, began)))?;
        // Who looks can be held up while it looks: what was used until then is never told as used in less.
        Some((used? - before.0).max(0.0) / before.1.elapsed().as_secs_f64().max(1e-6))
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
            Group { folder, accounts: None }.memory_left()
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
            Group { folder, accounts: None }
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
        let group = Group { folder: dir.path().to_owned(), accounts: None };
        let seen = group.periods().unwrap();
        let mut throttle = Throttle { groups: vec![(group, seen)], used: None };
        assert_eq!(throttle.fraction(), Some(0.0));
        write("nr_periods 14\nnr_throttled 7\n");
        assert_eq!((throttle.fraction(), throttle.fraction()), (Some(0.75), Some(0.0)));
        assert_eq!(Throttle { groups: Vec::new(), used: None }.fraction(), None);
    }

    #[test]
    fn the_least_quota_of_a_group_and_those_above_it_counts_in_both_versions() {
        let dir = tempfile::tempdir().unwrap();
        let group = |name: &str, files: &[(&str, &str)]| {
            let folder = dir.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            files.iter().for_each(|(file, text)| fs::write(folder.join(file), text).unwrap());
            Group { folder, accounts: None }
        };
        let first =
            |name: &str, quota: &str| group(name, &[("cpu.cfs_quota_us", quota), ("cpu.cfs_period_us", "100000\n")]);
        let second = |name: &str, text: &str| group(name, &[("cpu.max", text)]);
        let of = |all: Vec<Group>| {
            least(all).map(|quota| (quota.cores, quota.folder.strip_prefix(dir.path()).unwrap().to_owned()))
        };
        let is = |cores: f64, name: &str| Some((cores, PathBuf::from(name)));
        assert_eq!(of(vec![first("a/b", "150000\n"), first("a", "50000\n"), first("", "-1\n")]), is(0.5, "a"));
        assert_eq!(of(vec![second("c/d", "30000 100000\n"), second("c", "max 100000\n")]), is(0.3, "c/d"));
        assert_eq!(of(vec![second("e", "max 100000\n"), group("f", &[])]), None);
    }

    #[test]
    fn what_a_group_used_is_counted_where_its_version_counts_it() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("cpu.max", "50000 100000\n");
        write("cpu.stat", "usage_usec 1000000\nnr_periods 4\nnr_throttled 0\n");
        let group = || Group { folder: dir.path().to_owned(), accounts: Some(dir.path().join("others")) };
        assert_eq!(group().processor(), Some(1.0));
        let mut throttle = Throttle::of([group()].into_iter());
        write("cpu.stat", "usage_usec 9000000\nnr_periods 4\nnr_throttled 0\n");
        assert!(throttle.cores().unwrap() > 1.0, "eight seconds of it in less than one");
        write("cpu.stat", "nr_periods 4\nnr_throttled 0\n");
        assert_eq!((group().processor(), throttle.cores()), (None, None), "the first version does not say it there");
        write("others", "3000000000\n");
        assert_eq!(group().processor(), Some(3.0));
        write("cpuacct.usage", "2000000000\n");
        assert_eq!(group().processor(), Some(2.0));
        let folder = |path: &str| Group { folder: PathBuf::from(path), accounts: None };
        let mut all =
            [folder("/sys/fs/cgroup/cpu/a/b"), folder("/sys/fs/cgroup/cpu/a"), folder("/sys/fs/cgroup/cpuacct/a")];
        accounted(&mut all);
        let found: Vec<Option<&Path>> = all.iter().map(|group| group.accounts.as_deref()).collect();
        assert_eq!(found, [None, Some(Path::new("/sys/fs/cgroup/cpuacct/a/cpuacct.usage")), None]);
    }

    #[test]
    fn a_group_of_the_kernels_own_tells_its_quota_and_what_it_used() {
        let (cpu, accounts) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup/cpuacct"));
        let name = format!("genkai-test-{}", std::process::id());
        let made = [cpu, accounts].map(|root| root.join(&name));
        let made: Vec<&PathBuf> = made.iter().filter(|folder| fs::create_dir(folder).is_ok()).collect();
        if !cpu.join(&name).join("cpu.cfs_quota_us").exists() {
            made.iter().for_each(|folder| fs::remove_dir(folder).unwrap());
            genkai_tidy::noted::skipped("no control group of version 1 can be made here");
            return;
        }
        fs::create_dir(cpu.join(&name).join("within")).unwrap();
        fs::write(cpu.join(&name).join("cpu.cfs_quota_us"), "20000").unwrap();
        let mut enter: String =
            made.iter().map(|folder| format!("echo $$ > {}/cgroup.procs; ", folder.display())).collect();
        enter += &format!("echo $$ > {}/within/cgroup.procs; while :; do :; done", cpu.join(&name).display());
        let mut child = std::process::Command::new("sh").args(["-c", &enter]).spawn().unwrap();
        let until = Instant::now() + std::time::Duration::from_secs(30);
        while cpu_quota_of(child.id()).is_none() && Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let seen = (cpu_quota_of(child.id()), quota_of(child.id()));
        let mut throttle = Throttle::of_process(child.id());
        std::thread::sleep(std::time::Duration::from_secs(2));
        let (fraction, cores) = (throttle.fraction(), throttle.cores());
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir(cpu.join(&name).join("within")).unwrap();
        made.iter().for_each(|folder| fs::remove_dir(folder).unwrap());
        // The quota is that of the group above the one that it is in.
        assert_eq!(seen, (Some(Quota { cores: 0.2, folder: cpu.join(&name) }), Some(0.2)));
        assert!(fraction.unwrap() > 0.5, "{fraction:?}");
        // Nobody else is in the group that counts it.
        if made.len() == 2 {
            assert!((0.15..0.26).contains(&cores.unwrap()), "{cores:?}");
        }
    }
}
