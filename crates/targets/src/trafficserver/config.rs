//! The configuration as texts.

use std::net::SocketAddr;
use std::path::Path;

use super::settings::{SMALLEST, Settings};

/// Path of the page with its statistics (plug-in stats_over_http).
pub(super) const STATISTICS: &str = "_genkai_stats";

/// Every file of its configuration folder, name and text.
pub(super) fn render(settings: &Settings, origin: SocketAddr, dir: &Path) -> Vec<(&'static str, String)> {
    let at = dir.display();
    let records = format!(
        "\
# A cache, written by genkai.
CONFIG proxy.config.http.server_ports STRING {}:ip-in={}
CONFIG proxy.config.cache.ram_cache.size INT {}
CONFIG proxy.config.raw_stat_sync_interval_ms INT 100
CONFIG proxy.config.admin.user_id STRING #-1
",
        settings.listen.port(),
        settings.listen.ip(),
        settings.memory.0,
    );
    vec![
        ("records.config", records),
        ("remap.config", format!("map / http://{origin}/\n")),
        ("plugin.config", format!("stats_over_http.so {STATISTICS}\n")),
        ("storage.config", format!("{at}/store {}\n", settings.disk.0.max(SMALLEST))),
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
