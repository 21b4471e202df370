//! Plug-ins of a private copy: those that pass no request on by themselves stay, and all others are refused.

use std::fs;
use std::path::Path;

use crate::cache::unseen;
use crate::error::TargetError;
use crate::files::masked;

/// Plug-ins that reach no host but the one that the rule names, and write nowhere but among the copy's logs (doc/admin-guide/plugins,
/// trafficserver 9.2; gzip.so is compress.so of before 8.0).
const KNOWN: [&str; 22] = [
    "access_control.so",
    "background_fetch.so",
    "block_errors.so",
    "cache_promote.so",
    "cache_range_requests.so",
    "cachekey.so",
    "compress.so",
    "generator.so",
    "geoip_acl.so",
    "gzip.so",
    "header_freq.so",
    "healthchecks.so",
    "maxmind_acl.so",
    "remap_stats.so",
    "s3_auth.so",
    "sslheaders.so",
    "stats_over_http.so",
    "system_stats.so",
    "tcpinfo.so",
    "uri_signing.so",
    "url_sig.so",
    "xdebug.so",
];
/// Plug-ins of which that depends on the rules they are given, in place or in a file.
const RULED: [&str; 2] = ["conf_remap.so", "header_rewrite.so"];
/// What in such rules leads past remap.config (plugins/header_rewrite/factory.cc: `operator_factory`), runs another plug-in, or has
/// redirections of the origin followed.
const LEADS: [&str; 4] = ["set-destination", "skip-remap", "run-plugin", "number_of_redirections"];

/// A plug-in and what it is given.
#[derive(Debug)]
struct PlugIn<'a> {
    name: &'a str,
    given: Vec<&'a str>,
}

/// Whether the plug-in of a line of plugin.config may run: `NAME PARAMETER...`. Files that it names are those of `folder`.
///
/// # Errors
/// When it may pass requests on by itself.
pub(super) fn of_line(line: &str, place: &str, folder: &Path) -> Result<(), TargetError> {
    let mut words = line.split_ascii_whitespace().map(bare);
    words.next().map_or(Ok(()), |name| PlugIn { name, given: words.collect() }.check(place, folder))
}

/// The same of each of a rule of remap.config: `... @plugin=NAME @pparam=PARAMETER...`.
///
/// # Errors
/// As [`of_line`].
pub(super) fn of_rule(line: &str, place: &str, folder: &Path) -> Result<(), TargetError> {
    let mut all: Vec<PlugIn<'_>> = Vec::new();
    for (key, value) in line.split_ascii_whitespace().filter_map(|word| bare(word).split_once('=')) {
        if key.eq_ignore_ascii_case("@plugin") {
            all.push(PlugIn { name: bare(value), given: Vec::new() });
        } else if let Some(last) = all.last_mut().filter(|_| key.eq_ignore_ascii_case("@pparam")) {
            last.given.push(bare(value));
        }
    }
    all.iter().try_for_each(|one| one.check(place, folder))
}

/// A word without its quotes.
fn bare(word: &str) -> &str {
    word.trim_matches('"')
}

impl PlugIn<'_> {
    fn check(&self, place: &str, folder: &Path) -> Result<(), TargetError> {
        let file = self.name.rsplit('/').next().unwrap_or(self.name);
        match file {
            _ if KNOWN.contains(&file) => Ok(()),
            _ if RULED.contains(&file) => self.given.iter().try_for_each(|given| self.rules(given, place, folder)),
            _ => {
                let stay = [&KNOWN[..], &RULED].concat().join(", ");
                let what = format!("{place}: the plug-in `{}` may pass requests to", masked(self.name));
                Err(unseen("Traffic Server", &what, &format!("in a copy, leave it out; these may stay: {stay}")))
            }
        }
    }

    /// Whether what it is given, rules in place or a file of them, leads nowhere else.
    fn rules(&self, given: &str, place: &str, folder: &Path) -> Result<(), TargetError> {
        let is_file = !given.starts_with('-') && !given.contains('=');
        let path = folder.join(given);
        let text =
            if is_file { fs::read(&path).map_err(TargetError::files(&path))? } else { given.as_bytes().to_vec() };
        let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
        let mut rules = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let Some(lead) = rules.find_map(|line| LEADS.iter().find(|lead| line.contains(*lead))) else { return Ok(()) };
        let of = if is_file { format!(" in {}", path.display()) } else { String::new() };
        let what = format!("{place}: `{lead}`{of} has `{}` pass requests to", masked(self.name));
        Err(unseen("Traffic Server", &what, "in a copy, leave that rule out"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plug_ins_that_are_not_known_are_refused_by_name() {
        let folder = Path::new("/u");
        let rule = |line: &str| of_rule(line, "/u/remap.config:3", folder);
        let line = |line: &str| of_line(line, "/u/plugin.config:3", folder);
        assert!(rule("map / http://a/ @plugin=cachekey.so @pparam=--sort-params=true @plugin=\"compress.so\"").is_ok());
        assert!(line("/usr/lib/trafficserver/modules/stats_over_http.so _stats").is_ok());
        for (refused, name) in [
            (rule("map / http://a/ @plugin=cachekey.so @plugin=tslua.so @pparam=cachekey.so"), "tslua.so"),
            (rule("map / http://a/ @PLUGIN=slice.so"), "slice.so"),
            (line("prefetch.so compress.so"), "prefetch.so"),
            (line("mine/Compress.so"), "mine/Compress.so"),
        ] {
            let said = refused.unwrap_err().to_string();
            assert!(said.contains(&format!("the plug-in `{name}`")) && said.contains("leave it out"), "{said}");
        }
    }

    #[test]
    fn rules_that_lead_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let write = |text: &str| fs::write(dir.path().join("rules.conf"), text).unwrap();
        let global = || of_line("header_rewrite.so rules.conf", "/u/plugin.config:1", dir.path());
        write("# set-destination HOST elsewhere\ncond %{SEND_RESPONSE_HDR_HOOK}\n  rm-header Server\n");
        assert!(global().is_ok());
        let followed = "set-config proxy.config.http.number_of_redirections 2";
        for rule in ["set-destination HOST a", followed, "skip-remap true"] {
            write(&format!("cond %{{REMAP_PSEUDO_HOOK}}\n  {rule} [L]\n"));
            let said = global().unwrap_err().to_string();
            assert!(said.contains("rules.conf") && said.contains("hint:"), "{said}");
        }
        let set = |value: &str| {
            let line = format!("map / http://a/ @plugin=conf_remap.so @pparam=proxy.config.http.{value}");
            of_rule(&line, "/u/remap.config:1", dir.path())
        };
        assert!(set("insert_age_in_response=0").is_ok() && set("number_of_redirections=1").is_err());
        assert!(of_line("header_rewrite.so none.conf", "/u/plugin.config:1", dir.path()).is_err());
    }
}
