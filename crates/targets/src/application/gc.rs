//! The log of a JVM's garbage collector: unified logging (JEP 158, JDK 9 and later), what `-Xlog:gc` or `-Xlog:gc*` write,
//! whatever the collector.
//!
//! A pause is a line such as
//! `[25165827076859ns][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->1M(64M) 4.100ms`; ZGC's have no heap. What
//! runs beside the program (`Concurrent ...`) is no pause.

/// The program stood still.
#[derive(Clone, Debug, PartialEq)]
pub struct Paused {
    /// When it ended, ns, by the log's own clock: System.nanoTime with the decoration `timenanos`, the JVM's uptime with
    /// `uptime`. None where the line has no such decoration.
    pub at_ns: Option<u64>,
    /// `Pause Young (Normal)`, `Pause Full`, `Pause Mark Start`.
    pub kind: String,
    /// `G1 Evacuation Pause`, `Allocation Failure`; empty where none is told.
    pub cause: String,
    /// How long, ns.
    pub lasted_ns: u64,
    /// Heap in use before and after, bytes.
    pub heap: Option<(u64, u64)>,
}

/// The pause that a line tells; none for any other line.
pub fn pause(line: &str) -> Option<Paused> {
    let (decorations, text) = decorated(line)?;
    // The generational ZGC (JDK 21) says which generation: `GC(3) y: Pause Mark Start 0.007ms`.
    let text = text.strip_prefix("GC(")?.split_once(") ")?.1;
    let text = text.strip_prefix("y: ").or_else(|| text.strip_prefix("Y: ")).unwrap_or(text);
    let text = text.strip_prefix("o: ").or_else(|| text.strip_prefix("O: ")).unwrap_or(text);
    if !text.starts_with("Pause ") {
        return None;
    }
    let (rest, lasted) = text.rsplit_once(' ')?;
    let ms: f64 = lasted.strip_suffix("ms")?.replace(',', ".").parse().ok()?;
    let (name, heap) = match rest.rsplit_once(' ') {
        Some((name, last)) => heap(last).map_or((rest, None), |heap| (name, Some(heap))),
        None => (rest, None),
    };
    let (kind, cause) = named(name);
    let at_ns = decorations.iter().find_map(|decoration| instant(decoration));
    Some(Paused { at_ns, kind, cause, lasted_ns: (ms * 1e6) as u64, heap })
}

/// The collector that a log says is used: `G1`, `Serial`, `Parallel`, `The Z Garbage Collector`.
pub fn collector(log: &str) -> Option<&str> {
    log.lines().find_map(|line| decorated(line)?.1.strip_prefix("Using ")).map(str::trim)
}

/// What is in brackets before a message, and the message.
fn decorated(line: &str) -> Option<(Vec<&str>, &str)> {
    let (mut all, mut rest) = (Vec::new(), line);
    while let Some(inside) = rest.strip_prefix('[') {
        let (one, after) = inside.split_once(']')?;
        all.push(one.trim());
        rest = after;
    }
    Some((all, rest.trim()))
}

/// A decoration that is a time: `25165827076859ns`, `99ms`, `0.099s`.
fn instant(decoration: &str) -> Option<u64> {
    let number = |unit: &str| decoration.strip_suffix(unit)?.replace(',', ".").parse::<f64>().ok();
    if let Some(ns) = decoration.strip_suffix("ns") {
        return ns.parse().ok();
    }
    let ns = number("ms").map(|ms| ms * 1e6).or_else(|| number("s").map(|s| s * 1e9))?;
    Some(ns as u64)
}

/// `6M->1M(64M)`: before and after.
fn heap(text: &str) -> Option<(u64, u64)> {
    let (before, after) = text.split_once("->")?;
    Some((bytes(before)?, bytes(after.split('(').next()?)?))
}

/// `6M`.
fn bytes(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'B' => 0,
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => return None,
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_shl(unit)
}

/// Kind and cause: the last pair of brackets is the cause.
fn named(name: &str) -> (String, String) {
    match name.rsplit_once(" (") {
        Some((kind, cause)) if cause.ends_with(')') => (kind.to_owned(), cause[..cause.len() - 1].to_owned()),
        _ => (name.to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str) -> String {
        let path = format!("{}/tests/gc_logs/{name}.log", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    fn pauses(name: &str) -> Vec<Paused> {
        recorded(name).lines().filter_map(pause).collect()
    }

    /// Numbers of collections as the JVM's own GarbageCollectorMXBeans told them at the end of the recorded programs (JDK 17);
    /// remarks and cleanups of G1 are not among those.
    #[test]
    fn pauses_are_as_many_as_the_jvm_counted() {
        for (name, collector_, beans, others) in [
            ("serial", "Serial", 13 + 1, 0),
            ("parallel", "Parallel", 21 + 1, 0),
            ("g1", "G1", 8 + 1, 4),
            ("g1-uptime", "G1", 8 + 1, 0),
            ("z", "The Z Garbage Collector", 24, 0),
        ] {
            let all = pauses(name);
            assert_eq!(all.len(), beans + others, "{name}");
            assert_eq!(all.iter().filter(|p| matches!(&*p.kind, "Pause Remark" | "Pause Cleanup")).count(), others);
            assert_eq!(collector(&recorded(name)), Some(collector_));
            assert!(all.windows(2).all(|two| two[0].at_ns < two[1].at_ns), "{name}: in order");
            assert!(all.iter().all(|p| p.lasted_ns > 0 && (p.heap.is_some() || name == "z")), "{name}");
        }
    }

    #[test]
    fn sums_of_time_are_the_logs_own() {
        for (name, total_us, longest_us) in
            [("serial", 59_154, 19_854), ("parallel", 118_286, 16_629), ("g1", 75_254, 33_154), ("z", 151, 12)]
        {
            let all = pauses(name);
            let us = |ns: u64| (ns as f64 / 1e3).round() as u64;
            assert_eq!(us(all.iter().map(|p| p.lasted_ns).sum()), total_us, "{name}");
            assert_eq!(us(all.iter().map(|p| p.lasted_ns).max().unwrap()), longest_us, "{name}");
        }
    }

    #[test]
    fn kinds_causes_and_heap() {
        let last = pauses("serial").pop().unwrap();
        assert_eq!((last.kind.as_str(), last.cause.as_str()), ("Pause Full", "System.gc()"));
        assert_eq!((last.heap, last.at_ns), (Some((33 << 20, 17 << 20)), Some(25_189_941_661_687)));
        let g1 = pauses("g1-uptime").remove(0);
        assert_eq!((g1.kind.as_str(), g1.cause.as_str()), ("Pause Young (Normal)", "G1 Evacuation Pause"));
        let z = pauses("z").remove(0);
        assert_eq!((z.kind.as_str(), z.cause.as_str(), z.heap), ("Pause Mark Start", "", None));
        let generational = pause("[1.5s][info][gc,phases] GC(3) y: Pause Mark Start 0.007ms").unwrap();
        assert_eq!((generational.kind.as_str(), generational.at_ns), ("Pause Mark Start", Some(1_500_000_000)));
    }

    #[test]
    fn other_lines_are_no_pauses() {
        for line in [
            "",
            "[",
            "[0.1s][info][gc] Using G1",
            "[0.1s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
            "[0.1s][info][gc] GC(1) Concurrent Mark Cycle 12.3ms",
            "[0.1s][info][gc,phases] GC(0)   Evacuate Collection Set: 3.1ms",
            "GC(0) Pause",
            "[0.1s] GC(0) Pause Young xms",
        ] {
            assert_eq!(pause(line), None, "{line}");
        }
    }
}
