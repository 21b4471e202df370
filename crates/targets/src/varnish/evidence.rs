//! What Varnish counts.

use std::collections::BTreeMap;

use genkai_model::cache::OwnCounts;
use genkai_model::evidence::metric;
use serde_json::Value;

use crate::cache::answers::{LogEntry, Outcome};

/// Who it is in a record.
pub(super) const SUBJECT: &str = "varnish";

/// The counters that are asked for (varnish-counters(7)).
pub(super) const ASKED: [&str; 9] = [
    "MAIN.client_req",
    "MAIN.cache_hit",
    "MAIN.threads",
    "MAIN.threads_limited",
    "MAIN.thread_queue_len",
    "MAIN.backend_busy",
    "MAIN.cache_miss",
    "MAIN.cache_hitmiss",
    "MAIN.busy_wakeup",
];

/// What is asked for of every backend: how often it was busy, and how many requests it was sent.
pub(super) const OF_BACKENDS: [&str; 2] = ["VBE.*.busy", "VBE.*.req"];

/// Metrics of a running Varnish.
pub(super) mod metrics {
    /// Worker threads.
    pub(in crate::varnish) const THREADS: &str = "varnish.threads";
    /// Times that one more was needed and there may be no more, cumulative.
    pub(in crate::varnish) const LIMITED: &str = "varnish.threads_limited_total";
    /// Sessions that wait for a thread.
    pub(in crate::varnish) const QUEUED: &str = "varnish.thread_queue_len";
    /// Requests that met a backend with `.max_connections` open, cumulative (bin/varnishd/cache/cache_backend.c: vbe_dir_getfd).
    pub(in crate::varnish) const BUSY: &str = "varnish.backend_busy_total";

    /// Times that a request waited while another one fetched the same object, and had no use of that answer, cumulative.
    pub(in crate::varnish) const IN_VAIN: &str = "varnish.waited_in_vain_total";

    /// The same of one backend (bin/varnishd/VSC_vbe.vsc: busy).
    pub(in crate::varnish) fn busy(backend: &str) -> String {
        format!("varnish.backend.{backend}.busy_total")
    }

    /// Requests that one backend was sent (req).
    pub(in crate::varnish) fn asked(backend: &str) -> String {
        format!("varnish.backend.{backend}.requests_total")
    }
}

/// What `varnishstat -1 -j` prints. A hit is one in the cache, objects past their time that are still given (grace) included.
pub(super) fn counts(text: &str) -> Option<OwnCounts> {
    let [requests, hits, ..] = asked(text);
    Some(OwnCounts { hits: hits?, misses: requests?.checked_sub(hits?)? })
}

/// The same of its threads, and of each backend.
pub(super) fn gauges(text: &str) -> Vec<(String, f64)> {
    let [_, hits, threads, limited, queued, busy, misses, unheld, woken] = asked(text);
    let all = [
        (metrics::THREADS, threads),
        (metrics::LIMITED, limited),
        (metrics::QUEUED, queued),
        (metrics::BUSY, busy),
        (metrics::IN_VAIN, in_vain(hits, [misses, unheld], woken)),
    ];
    let all = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value? as f64)));
    all.chain(backends(text)).collect()
}

/// Fewer fetches that others had to wait for are told as none.
const FEW: u64 = 10;

/// How many of those who were `woken`, when what they waited for was fetched, found no answer that they may have: it is not kept, and they are fetched one
/// after another, each while the others wait again. Where one is kept they are hits; where Varnish keeps that there is none (hit-for-miss) they are
/// fetched at once, without waiting for each other (`misses`, and those of them that wait for nobody).
fn in_vain(hits: Option<u64>, [misses, unheld]: [Option<u64>; 2], woken: Option<u64>) -> Option<u64> {
    let (hits, fetched) = (hits?, misses?.saturating_sub(unheld?));
    // Of several objects, some of which are kept, nothing is told apart.
    let is_so = fetched >= FEW && hits * 2 < fetched;
    Some(if is_so { woken?.saturating_sub(hits) } else { 0 })
}

/// How often each backend was busy, and how many requests it was sent: `VBE.` with the VCL's name, the backend's, and `.busy` or `.req`.
fn backends(text: &str) -> Vec<(String, f64)> {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(counters) = all.get("counters").and_then(Value::as_object) else { return Vec::new() };
    let one = |(name, counter): (&String, &Value)| {
        let (backend, what) = name.strip_prefix("VBE.")?.rsplit_once('.')?;
        let (_, backend) = backend.rsplit_once('.')?;
        let metric = match what {
            "busy" => metrics::busy(backend),
            "req" => metrics::asked(backend),
            _ => return None,
        };
        Some((metric, counter.get("value")?.as_u64()? as f64))
    };
    counters.iter().filter_map(one).collect()
}

/// What `varnishadm` is asked for how backends are (varnish-cli(7)).
pub(super) const BACKENDS: [&str; 2] = ["backend.list", "-j"];

/// What `varnishlog` is asked for what probes found so far (varnishlog(1)).
pub(super) const PROBES: [&str; 5] = ["-d", "-g", "raw", "-i", "Backend_health"];

/// Whether the probe of every backend has come back: it is healthy, or its newest probe failed. One that is sick has begun with a record without words of the
/// probe, and is on its way to be healthy while its probes succeed (`H`; bin/varnishd/cache/cache_backend_probe.c: vbp_update_backend).
pub(super) fn are_probed(text: &str) -> bool {
    let mut pending = BTreeMap::new();
    for line in text.lines() {
        if let [_, "Backend_health", _, name, _, health, flags, .., said] =
            line.split_whitespace().collect::<Vec<_>>()[..]
        {
            pending.insert(name, health != "healthy" && (said == "\"\"" || flags.contains('H')));
        }
    }
    !pending.is_empty() && pending.values().all(|pending| !pending)
}

/// Which backends get no requests because their probe failed; of those that nothing probes, or an administrator decides on, nothing is said.
pub(super) fn down(text: &str) -> Vec<(String, f64)> {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    let lists = all.as_array().into_iter().flatten().filter_map(Value::as_object);
    let told = lists.flatten().filter_map(|(name, of)| {
        let is = |key: &str, value: &str| of.get(key).and_then(Value::as_str) == Some(value);
        let probed = is("type", "backend") && is("admin_health", "probe");
        let state = of.get("probe_message")?.as_array().filter(|_| probed)?.last()?.as_str()?;
        // As `VCL.NAME`, or the name alone.
        let name = name.rsplit('.').next()?;
        Some((metric::of_down(SUBJECT, name), f64::from(u8::from(state == "sick"))))
    });
    told.collect()
}

/// Which requests `varnishncsa` writes down: those that failed, at a backend or before clients (vsl-query(7)).
pub(super) const FAILED: &str = "BerespStatus >= 400 or FetchError or RespStatus >= 500";

/// What it writes of each: of which side it is, the status in the end, the first one of either side, why it is asked, the backend whose connection it had, and why nothing
/// could be fetched (varnishncsa(1)). A status that the VCL sets comes after the first.
pub(super) const ANSWER: &str = "%{Varnish:side}x|%s|%{VSL:BerespStatus}x|%{VSL:RespStatus}x|%{VSL:Begin[3]}x|%{VSL:BackendOpen[2]}x|%{VSL:FetchError}x";

/// What a fetch error begins with where the backend had the request and did not answer it (bin/varnishd/http1/cache_http1_fetch.c: V1F_FetchRespHdr).
const SILENT: [&str; 3] = ["first byte timeout", "HTC eof", "HTC timeout"];
/// The same where it took no connection (cache_backend.c: vbe_dir_getfd): refused, timed out, unreachable, reset. Others are this
/// machine's own: no ports, no descriptors; and 0 (held down after one that failed) does not say whose it was.
const REFUSED: [&str; 5] = ["111 ", "110 ", "101 ", "113 ", "104 "];

/// A line of that log.
pub(super) fn answer(line: &str) -> Option<LogEntry<'_>> {
    let [side, ended, gave, sent, why, opened, error] = line.splitn(7, '|').collect::<Vec<_>>().try_into().ok()?;
    let status = |text: &str| text.parse::<u16>().unwrap_or(0);
    let is_good = (200..400).contains(&status(ended));
    if side != "b" {
        return Some(LogEntry {
            of: None,
            hidden: (500..600).contains(&status(sent)) && is_good,
            unsent: false,
            portless: None,
        });
    }
    let refused = || {
        let (name, reason) = error.strip_prefix("backend ")?.split_once(": fail errno ")?;
        REFUSED.iter().any(|number| reason.starts_with(number)).then_some((name, Outcome::Unanswered))
    };
    let of = match (opened, error) {
        ("-", _) => refused(),
        (name, "-") if status(gave) >= 400 => Some((name, Outcome::Failed)),
        (name, _) if SILENT.iter().any(|words| error.starts_with(words)) => Some((name, Outcome::Unanswered)),
        _ => None,
    };
    // What is fetched while an old copy is given: that was sent before its time would have been over.
    let stale = why == "bgfetch" && (status(gave) >= 500);
    Some(LogEntry { of, hidden: stale || status(gave) >= 400 && is_good, unsent: false, portless: None })
}

fn asked(text: &str) -> [Option<u64>; ASKED.len()] {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    ASKED.map(|name| all.get("counters")?.get(name)?.get("value")?.as_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varnishstat_is_read() {
        let text =
            r#"{"version":1,"counters":{"MAIN.client_req":{"flag":"c","value":7},"MAIN.cache_hit":{"value":4}}}"#;
        assert_eq!(counts(text), Some(OwnCounts { hits: 4, misses: 3 }));
        assert_eq!((counts("{}"), gauges("{}")), (None, Vec::new()));
        let threads = r#"{"counters":{"MAIN.threads":{"value":20},"MAIN.threads_limited":{"value":3},"MAIN.backend_busy":{"value":4}}}"#;
        let all = [(metrics::THREADS, 20.0), (metrics::LIMITED, 3.0), (metrics::BUSY, 4.0)];
        assert_eq!(gauges(threads), all.map(|(name, value)| (name.to_owned(), value)));
        let busy = r#"{"counters":{"VBE.boot.a.busy":{"value":0},"VBE.boot.b.busy":{"value":6},"VBE.boot.b.req":{"value":9}}}"#;
        assert_eq!(gauges(busy), [(metrics::busy("a"), 0.0), (metrics::busy("b"), 6.0), (metrics::asked("b"), 9.0)]);
    }

    #[test]
    fn a_backend_is_probed_once_it_is_healthy_or_its_newest_probe_failed() {
        // Written by 7.1.
        let record = |name: &str, rest: &str| format!("         0 Backend_health - {name} {rest}\n");
        let gone = "Still sick -------- 2 3 8 0.000000 0.000000 \"Open error 111 (Connection refused)\"";
        let begun = record("a", "Went sick -------H 2 3 8 0.000000 0.000000 \"\"") + &record("gone", gone);
        assert!(!are_probed(&begun), "nothing has come back of the first");
        let healthy = record("a", "Went healthy 4---X-RH 3 3 8 0.303447 0.101149 \"HTTP/1.1 200 OK\"");
        assert!(are_probed(&format!("{begun}{healthy}")));
        let rising = record("a", "Still sick 4---X-RH 1 3 8 0.303334 0.303334 \"HTTP/1.1 200 OK\"");
        assert!(!are_probed(&format!("{begun}{rising}")), "more of them make it healthy");
        let late = record("a", "Still sick 4---Xr-- 2 3 8 0.000000 0.000000 \"Poll error 110 (Connection timed out)\"");
        assert!(are_probed(&format!("{begun}{late}")));
        assert!(!are_probed(""), "it does not answer yet");
    }

    #[test]
    fn who_waits_in_vain_is_neither_a_hit_nor_fetched_at_once() {
        // As 7.1 counted with ten users and 20 ms a fetch: `beresp.ttl = 0s` with `beresp.uncacheable`, and a hit-for-miss of a minute.
        let told = |hits, misses, unheld, woken| in_vain(Some(hits), [Some(misses), Some(unheld)], Some(woken));
        assert_eq!(told(0, 189, 0, 1701), Some(1701));
        assert_eq!(told(0, 1727, 1726, 9), Some(0));
        // It is kept; for a second each.
        assert_eq!((told(5000, 1, 0, 59), told(400, 12, 0, 300)), (Some(0), Some(0)));
        assert_eq!(in_vain(Some(0), [Some(189), None], Some(9)), None);
    }

    #[test]
    fn backends_are_told_by_what_they_gave() {
        // Written by 7.1.
        let of = |line| answer(line).unwrap();
        let by =
            |backend, outcome, hidden| LogEntry { of: Some((backend, outcome)), hidden, unsent: false, portless: None };
        assert_eq!(of("b|503|503|-|fetch|b|-"), by("b", Outcome::Failed, false));
        assert_eq!(of("b|200|503|-|pass|b|-"), by("b", Outcome::Failed, true), "the VCL made it 200");
        let line = "b|503|503|-|fetch|-|backend c: fail errno 111 (Connection refused)";
        assert_eq!(of(line), by("c", Outcome::Unanswered, false));
        assert_eq!(
            of("b|200|503|-|fetch|-|backend c: fail errno 0 (Success)").of,
            None,
            "held down, for whatever reason"
        );
        assert_eq!(of("b|503|503|-|fetch|a|first byte timeout"), by("a", Outcome::Unanswered, false));
        assert_eq!(of("b|503|503|-|fetch|-|backend c: fail errno 99 (Cannot assign requested address)").of, None);
        assert_eq!(of("b|503|503|-|fetch|-|backend c: busy").of, None, "it is full, which is another limit");
        assert_eq!(of("b|503|200|-|fetch|a|Could not get storage").of, None, "Varnish's own");
        assert!(of("b|500|500|-|bgfetch|a|-").hidden, "an old copy was given");
        let client = LogEntry { of: None, hidden: true, unsent: false, portless: None };
        assert_eq!(of("c|200|-|503|rxreq|-|-"), client);
        assert!(!of("c|503|-|503|rxreq|-|-").hidden && !of("c|301|-|750|rxreq|-|-").hidden, "a redirect by synth");
    }
}
