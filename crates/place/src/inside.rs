//! Looking into a container in which nothing of genkai's is: what its own shell prints of `/proc` and of its control groups. The scripts here
//! need `sh`, `head` and `dd`, as busybox and coreutils have them; what they print is read here. Nothing is started here.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use genkai_model::limit::Ceiling;

use crate::caps::{CAP_SYS_RESOURCE, Machine};

/// Lines of a file that are looked at: `status` of proc(5) is the longest of them.
const LINES: u32 = 80;
/// Bytes of a log that are read a look, so that what a look takes is bounded; the rest comes with the next.
const LOG: u32 = 1 << 20;
/// A limit of version 1 of control groups that is none is a number near 2^63.
const NONE: u64 = 1 << 60;
/// Ticks a second of times in `/proc/PID/stat`: USER_HZ, the same on every architecture of Linux that has containers (proc(5): `sysconf(_SC_CLK_TCK)`).
const TICKS: f64 = 100.0;

/// Files of a container as another one that shares its processes has them ([`facts`] and [`looks`]): its first process is the first there.
const ANOTHER: &str = "/proc/1/root";

/// Prints once what a container has: its processes with their limits, the kernel's settings, its control groups. `root` is where its files
/// are: nothing, where the shell is its own, and `/proc/1/root` in another that shares its processes.
pub fn facts(root: &str) -> String {
    let each = ["stat", "cmdline", "limits", "status"].map(|file| format!("/proc/[0-9]*/{file}")).join(" ");
    let kernel = "/proc/sys/net/core/somaxconn /proc/sys/net/ipv4/ip_local_port_range /proc/sys/fs/nr_open \
                  /sys/devices/system/cpu/online /proc/uptime";
    let groups =
        ["cpu.max", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us", "memory.max", "memory/memory.limit_in_bytes"];
    let groups = groups.map(|file| format!("{root}/sys/fs/cgroup/{file}")).join(" ");
    format!(
        "head -n {LINES} {each} {kernel} {groups} 2>/dev/null; printf '\\n==> page <==\\n'; getconf PAGESIZE 2>/dev/null; :"
    )
}

/// Looks at a container and at what was added to `log` for every line that it reads, until its input ends. Each look ends with a line `mark`, which
/// must be such that no log holds it.
pub fn looks(root: &str, log: &Path, mark: &str) -> String {
    let each = ["stat", "schedstat", "cmdline"].map(|file| format!("/proc/[0-9]*/{file}")).join(" ");
    let groups = ["cpu.stat", "cpu/cpu.stat", "memory.events", "memory/memory.oom_control"];
    let groups = groups.map(|file| format!("{root}/sys/fs/cgroup/{file}")).join(" ");
    let count =
        "for p in /proc/[0-9]*; do set -- $p/fd/*; [ -h \"$1\" ] && printf '==> %s/fds <==\\n%s\\n' \"$p\" $#; done";
    format!(
        "exec 3<'{root}{log}'; while read -r _; do printf '\\n==> time <==\\n'; head -n 1 /proc/uptime; \
         head -n {LINES} {each} {groups} 2>/dev/null; printf '\\n'; {count}; \
         printf '==> log <==\\n'; dd bs={LOG} count=1 <&3 2>/dev/null; printf '\\n{mark}\\n'; done",
        log = log.display()
    )
}

/// One process, as it was at a look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Its number in the container.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// What it calls itself.
    pub title: String,
    /// When it began, in ticks: numbers come back.
    pub began: u64,
    /// Processor time that it has had, seconds.
    pub processor: f64,
    /// Resident memory, pages.
    pub pages: u64,
    /// Open descriptors; none where they may not be counted (another user's process).
    pub descriptors: Option<u64>,
}

/// One look at a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// When, by the node's clock: seconds since it was started.
    pub at: f64,
    /// All processes in it.
    pub processes: Vec<Process>,
    /// Periods of its quota of processor time, and of these those in which it was used up; none without one.
    pub periods: Option<(u64, u64)>,
    /// Processes that the kernel ended as its memory was used up.
    pub kills: Option<u64>,
    /// What was added to the log.
    pub log: Vec<u8>,
}

/// What a container has.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its processes.
    pub processes: Vec<Process>,
    /// What its first process of the server is let have.
    pub machine: Machine,
    /// Cores' worth of processor time that its control group has; none: no quota.
    pub quota: Option<f64>,
    /// Bytes of memory that its control group has; none: no limit.
    pub memory: Option<u64>,
    /// Bytes of a page; none where it does not tell.
    pub page: Option<u64>,
}

type Sections = BTreeMap<String, Vec<u8>>;

/// What stands under each head of `head`, by the file.
fn sections(text: &[u8]) -> Sections {
    let mut all = Sections::new();
    let mut name = String::new();
    for line in text.split(|byte| *byte == b'\n') {
        let head = line.strip_prefix(b"==> ").and_then(|rest| rest.strip_suffix(b" <=="));
        match head {
            Some(head) => {
                let head = String::from_utf8_lossy(head);
                name = head.strip_prefix(ANOTHER).unwrap_or(&head).to_owned();
            }
            None => {
                let body = all.entry(name.clone()).or_default();
                body.extend(line);
                body.push(b'\n');
            }
        }
    }
    all
}

/// The text of a section.
fn text<'a>(all: &'a Sections, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    all.get(name).map(|bytes| String::from_utf8_lossy(bytes))
}

/// The number that a section begins with.
fn number(all: &Sections, name: &str) -> Option<u64> {
    text(all, name)?.split_whitespace().next()?.parse().ok()
}

/// The number after a word at the beginning of a line.
fn after(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

/// All processes of a look.
fn processes(all: &Sections) -> Vec<Process> {
    let one = |(name, stat): (&String, &Vec<u8>)| {
        let folder = name.strip_suffix("/stat")?;
        let pid = folder.strip_prefix("/proc/")?.parse().ok()?;
        let stat = String::from_utf8_lossy(stat);
        // proc(5): the name, in brackets, may hold anything; the state is the third field, and stands first here.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        if matches!(fields.first(), Some(&("Z" | "X" | "x"))) {
            return None;
        }
        let run: Vec<f64> = text(all, &format!("{folder}/schedstat"))
            .map(|text| text.split_whitespace().filter_map(|n| n.parse().ok()).collect())
            .unwrap_or_default();
        // The kernel's account in nanoseconds is of the first thread alone.
        let exact = run.first().filter(|_| field(20) == Some(1)).map(|ns| ns / 1e9);
        let title = text(all, &format!("{folder}/cmdline")).unwrap_or_default();
        let title = title.trim_end_matches(['\n', '\0']).replace('\0', " ");
        Some(Process {
            pid,
            parent: u32::try_from(field(4)?).ok()?,
            title: title.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect(),
            began: field(22)?,
            processor: exact.unwrap_or((field(14)? + field(15)?) as f64 / TICKS),
            pages: field(24)?,
            descriptors: number(all, &format!("{folder}/fds")),
        })
    };
    all.iter().filter_map(one).collect()
}

/// The first whole look (what stands before a line `mark`) in what was printed, which is taken from there; none: it is not whole yet.
pub fn look(printed: &mut Vec<u8>, mark: &str) -> Option<Look> {
    let end = format!("\n{mark}\n");
    let at = memchr::memmem::find(printed, end.as_bytes())?;
    let whole: Vec<u8> = printed.drain(..at + end.len()).take(at).collect();
    let begins = b"==> log <==\n";
    let log = memchr::memmem::find(&whole, begins)?;
    let all = sections(&whole[..log]);
    let cpu = ["/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"].iter().find_map(|name| text(&all, name));
    let periods = cpu.and_then(|text| Some((after(&text, "nr_periods ")?, after(&text, "nr_throttled ")?)));
    let memory = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];
    Some(Look {
        at: text(&all, "time")?.split_whitespace().next()?.parse().ok()?,
        processes: processes(&all),
        periods,
        kills: memory.iter().find_map(|name| after(&text(&all, name)?, "oom_kill ")),
        log: whole[log + begins.len()..].to_vec(),
    })
}

/// What a container has, whose server's first process is the one that `first` says.
///
/// # Errors
/// What is missing, in words: no such process, or it does not let itself be looked at.
pub fn read(printed: &[u8], first: impl Fn(&Process) -> bool) -> Result<Facts, String> {
    let all = sections(printed);
    let processes = processes(&all);
    let server =
        processes.iter().find(|one| first(one)).ok_or("its first process is not among those of the container")?;
    let of = |file: &str| text(&all, &format!("/proc/{}/{file}", server.pid)).unwrap_or_default().into_owned();
    let (limits, status) = (of("limits"), of("status"));
    let open = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let mut open = open.unwrap_or_default().split_whitespace().map(|n| n.parse::<u64>().unwrap_or(NONE));
    let (soft, hard) = open.next().zip(open.next()).ok_or("the limits of its first process cannot be read")?;
    let online = text(&all, "/sys/devices/system/cpu/online").and_then(|text| listed(text.trim()));
    let online = online.ok_or("how many cores are online cannot be read")?;
    let allowed = status.lines().find_map(|line| listed(line.strip_prefix("Cpus_allowed_list:")?.trim()));
    let range: Vec<u16> = text(&all, "/proc/sys/net/ipv4/ip_local_port_range")
        .map(|text| text.split_whitespace().filter_map(|n| n.parse().ok()).collect())
        .unwrap_or_default();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    let may_raise = effective.is_some_and(|mask| mask >> CAP_SYS_RESOURCE & 1 == 1);
    let most = number(&all, "/proc/sys/fs/nr_open").filter(|most| may_raise && *most > hard);
    let ceiling = most.map_or_else(
        || Ceiling { value: hard as f64, by: format!("hard RLIMIT_NOFILE {hard}") },
        |most| Ceiling { value: most as f64, by: format!("fs.nr_open {most}") },
    );
    let quota = quota(&all);
    let machine = Machine {
        descriptors: soft,
        descriptors_hard: hard,
        descriptors_ceiling: ceiling,
        online,
        // More threads than a quota feeds get nothing more done.
        cores: quota.map_or(u32::MAX, |cores| cores.ceil() as u32).min(allowed.unwrap_or(online)).max(1),
        somaxconn: number(&all, "/proc/sys/net/core/somaxconn").and_then(|n| u32::try_from(n).ok()).unwrap_or(4096),
        // Linux Documentation/networking/ip-sysctl: the default.
        ports: range.first().copied().zip(range.get(1).copied()).unwrap_or((32_768, 60_999)),
    };
    let memory = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let memory = memory.iter().find_map(|name| number(&all, name)).filter(|bytes| *bytes < NONE);
    Ok(Facts { quota, memory, page: number(&all, "page"), machine, processes })
}

/// Cores' worth of processor time that the control group has.
fn quota(all: &Sections) -> Option<f64> {
    let second = text(all, "/sys/fs/cgroup/cpu.max").and_then(|text| {
        let mut words = text.split_whitespace();
        Some(words.next()?.parse::<f64>().ok()? / words.next()?.parse::<f64>().ok()?)
    });
    let of = |file: &str| text(all, &format!("/sys/fs/cgroup/cpu/cpu.cfs_{file}_us"))?.trim().parse::<f64>().ok();
    second.or_else(|| Some(of("quota")? / of("period")?)).filter(|cores| *cores > 0.0)
}

/// How many a list like `0-3,8` names.
fn listed(text: &str) -> Option<u32> {
    let one = |part: &str| match part.split_once('-') {
        Some((from, to)) => Some(to.parse::<u32>().ok()?.checked_sub(from.parse().ok()?)? + 1),
        None => part.parse::<u32>().ok().map(|_| 1),
    };
    text.split(',').map(one).sum()
}

/// What processes used between two looks.
#[derive(Debug, Default)]
pub struct Since {
    before: HashMap<(u32, u64), f64>,
    at: f64,
}

impl Since {
    /// Takes a look: for each of its processes the cores that it used since the look before. One that is new counts from its beginning; at the
    /// first look nothing is known.
    pub fn take<'l>(&mut self, look: &'l Look) -> Vec<(&'l Process, f64)> {
        let first = self.at == 0.0;
        let wall = (look.at - self.at).max(0.01);
        let used = |one: &'l Process| {
            let before = self.before.get(&(one.pid, one.began)).copied().unwrap_or_default();
            (one, if first { 0.0 } else { (one.processor - before).max(0.0) / wall })
        };
        let all = look.processes.iter().map(used).collect();
        self.at = look.at;
        self.before = look.processes.iter().map(|one| ((one.pid, one.began), one.processor)).collect();
        all
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_shell_of_this_machine_tells_of_this_process_and_of_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("error.log");
        std::fs::write(&log, "one\n==> log <==\ntwo\n").unwrap();
        let mark = "END-0123456789";
        let mut shell = Command::new("sh")
            .args(["-c", &looks("", &log, mark)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, mut output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let mut printed = Vec::new();
        let mut next = |add: &str| {
            std::fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(add.as_bytes()).unwrap();
            input.write_all(b"\n").unwrap();
            loop {
                if let Some(look) = look(&mut printed, mark) {
                    return look;
                }
                let mut bytes = [0; 4096];
                let read = output.read(&mut bytes).unwrap();
                assert_ne!(read, 0);
                printed.extend(&bytes[..read]);
            }
        };
        let first = next("");
        assert_eq!(String::from_utf8_lossy(&first.log), "one\n==> log <==\ntwo\n");
        let own = |look: &Look| look.processes.iter().find(|one| one.pid == std::process::id()).cloned().unwrap();
        let before = own(&first);
        assert!(
            before.pages > 0 && before.descriptors > Some(3) && before.title.contains("genkai_place"),
            "{before:?}"
        );
        let mut since = Since::default();
        assert!(since.take(&first).iter().all(|(_, cpu)| *cpu == 0.0));
        let second = next("three\n");
        assert_eq!(String::from_utf8_lossy(&second.log), "three\n", "each line once");
        assert!(second.at >= first.at && own(&second).processor >= before.processor);
        drop(input);
        assert!(shell.wait().unwrap().success(), "the end of its input ends it");
    }

    #[test]
    fn what_this_machine_has_is_what_it_has() {
        let said = Command::new("sh").args(["-c", &facts("")]).output().unwrap();
        let facts = read(&said.stdout, |one| one.pid == std::process::id()).unwrap();
        assert_eq!((facts.machine.online, facts.page), (crate::caps::online(), Some(procfs::page_size())));
        assert_eq!(facts.machine.descriptors, crate::caps::descriptors());
        assert!(read(&said.stdout, |_| false).unwrap_err().contains("first process"));
    }

    #[test]
    fn groups_of_both_versions_are_read() {
        let quota = |text: &str| quota(&sections(text.as_bytes()));
        assert_eq!(quota("==> /sys/fs/cgroup/cpu.max <==\n50000 100000\n"), Some(0.5));
        assert_eq!(quota("==> /sys/fs/cgroup/cpu.max <==\nmax 100000\n"), None);
        let first = "==> /sys/fs/cgroup/cpu/cpu.cfs_quota_us <==\n150000\n\n==> /sys/fs/cgroup/cpu/cpu.cfs_period_us <==\n100000\n";
        assert_eq!(quota(first), Some(1.5));
        assert_eq!((quota(&first.replace("150000", "-1")), listed("0-3,8"), listed("")), (None, Some(5), None));
    }
}
