//! The configuration as texts.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use crate::cache::Sandbox;

/// Smallest file that storage.config takes, bytes: a stripe is a multiple of 128 MiB (iocore/cache/P_CacheDisk.h, STORE_BLOCKS).
const SMALLEST: u64 = 128 << 20;

/// Path of the page with its statistics (plug-in stats_over_http).
pub(super) const STATISTICS: &str = "_genkai_stats";

/// How often threads' statistics are summed up: every 5 s by default, which would keep every pass waiting.
pub(super) const SYNC: Duration = Duration::from_millis(100);

/// Without it nobody is let in. Whoever reaches an address other than this machine's own is.
fn allow(listen: IpAddr) -> String {
    let who = if listen.is_loopback() { "127.0.0.0/8" } else { "0/0" };
    format!("ip_allow:\n  - apply: in\n    ip_addrs: {who}\n    action: allow\n    methods: ALL\n")
}

/// Every file of its configuration folder, name and text: objects on disk, none in memory. What is not written is Traffic Server's own
/// default.
pub(super) fn render(at: &Sandbox<'_>) -> Vec<(&'static str, String)> {
    let (port, ip, sync) = (at.listen.port(), at.listen.ip(), SYNC.as_millis());
    let records = format!(
        "\
# A cache, written by genkai.
CONFIG proxy.config.http.server_ports STRING {port}:ip-in={ip}
CONFIG proxy.config.cache.ram_cache.size INT 0
CONFIG proxy.config.raw_stat_sync_interval_ms INT {sync}
CONFIG proxy.config.admin.user_id STRING #-1
"
    );
    vec![
        ("records.config", records),
        ("remap.config", format!("map / http://{}/\n", at.origin())),
        ("plugin.config", format!("stats_over_http.so {STATISTICS}\n")),
        ("ip_allow.yaml", allow(ip)),
        ("storage.config", format!("{}/store {}\n", at.dir.display(), at.budget.disk.0.max(SMALLEST))),
    ]
}

/// The run root (`runroot.yaml`): every folder is its own, but for programs and modules. `bin` has the programs, `modules` the plug-ins.
pub(super) fn root(dir: &Path, bin: &Path, modules: &Path) -> String {
    let (at, bin, modules) = (dir.display(), bin.display(), modules.display());
    format!(
        "\
prefix: {at}
exec_prefix: {at}
bindir: {bin}
sbindir: {bin}
sysconfdir: {at}/etc
datadir: {at}/data
includedir: {at}/include
libdir: {at}/lib
libexecdir: {modules}
localstatedir: {at}/run
runtimedir: {at}/run
logdir: {at}/log
cachedir: {at}/data
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_this_machine_are_let_in_and_whoever_reaches_another_address() {
        assert!(allow([127, 0, 0, 2].into()).contains("ip_addrs: 127.0.0.0/8\n"), "a load may come from any of them");
        assert!(allow([10, 0, 0, 1].into()).contains("ip_addrs: 0/0\n"));
    }
}
