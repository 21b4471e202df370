//! What was measured of a turn once it was steady.

use super::OTHERS;
use super::left::Left;
use crate::events::{Line, Trial, merged, sum};

/// The part of a turn that is steady.
pub(super) struct Part<'t, 'e> {
    pub(super) trial: &'t Trial<'e>,
    pub(super) ticks: Vec<&'e Line>,
    /// Whether it was a rate that was asked for.
    pub(super) open: bool,
}

impl<'e> Part<'_, 'e> {
    /// The values of all figures, and what those are more than that requests without an answer decide.
    pub(super) fn values(&self, failed: f64, finished: f64, left: &Left) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
        let latency = merged(&self.ticks, "/latency");
        let seconds: f64 = self.ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
        let errors: f64 = self.ticks.iter().map(|tick| crate::events::failed(tick)).sum();
        let all = errors + crate::events::sum(&self.ticks, "/ok");
        let cpu = self.cores(false).map(|cores| cores * seconds / all).filter(|cpu| *cpu > 0.0 && all > 0.0);
        let [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1.0].map(|q| left.quantile(&latency, q, seconds));
        let all = [
            ((finished > 0.0).then(|| failed / finished), None),
            (self.throughput(), None),
            p50,
            p95,
            p99,
            max,
            (cpu, None),
            (self.memory(), None),
        ];
        all.into_iter().unzip()
    }

    fn throughput(&self) -> Option<f64> {
        let ticks = self.answering();
        let seconds: f64 = ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
        (seconds > 0.0).then(|| sum(&ticks, "/ok") / seconds)
    }

    /// Of a rate, the intervals that end later than the longest answer took, or in the later half. Of users, all.
    pub(super) fn answering(&self) -> Vec<&'e Line> {
        let (from, to) = self.span();
        let took = merged(&self.ticks, "/latency").quantile(1.0).map_or(0.0, |longest| (longest * 1e6).floor());
        let after = from + took.min(((to - from) / 2.0).floor());
        self.ticks.iter().copied().filter(|tick| !self.open || tick.number("/to_us") > after).collect()
    }

    fn span(&self) -> (f64, f64) {
        let first = self.ticks.first().map_or(0.0, |tick| tick.number("/from_us"));
        (first, self.ticks.last().map_or(0.0, |tick| tick.number("/to_us")))
    }

    /// Looks at servers: when, microseconds since the load began (before it: below zero), whose, and the look.
    fn looks(&self) -> impl Iterator<Item = (f64, &str, &Line)> {
        let began = self.trial.start.number("/at_us");
        let looks =
            self.trial.of("sample").map(move |line| (line.number("/at_us") - began, line.text("/subject"), line));
        looks.filter(|(_, subject, _)| !OTHERS.contains(subject))
    }

    /// Looks at anything, in the part.
    pub(super) fn inside(&self) -> Vec<&'e Line> {
        let (from, to) = self.span();
        let began = self.trial.start.number("/at_us");
        let at = |line: &&Line| line.number("/at_us") - began;
        self.trial.of("sample").filter(|line| at(line) >= from && at(line) <= to).collect()
    }

    fn metric(subject: &str, name: &str, line: &Line) -> Option<f64> {
        line.json.get("metrics")?.get(format!("{subject}.{name}"))?.as_f64()
    }

    /// Cores used in the part: each look tells of the time since the one before. With what stands behind the contender, or without.
    fn cores(&self, behind: bool) -> Option<f64> {
        let (from, to) = self.span();
        let mut subjects: Vec<&str> = self.looks().map(|(_, subject, _)| subject).collect();
        subjects.sort_unstable();
        subjects.dedup();
        let mut sum = None;
        for subject in subjects.into_iter().filter(|subject| behind || *subject != "backend") {
            let all = self.looks().filter(|(_, whose, _)| *whose == subject);
            let all: Vec<(f64, f64)> =
                all.filter_map(|(at, _, line)| Some((at, Self::metric(subject, "cpu", line)?))).collect();
            let each = all.windows(2).map(|two| ((two[1].0.min(to) - two[0].0.max(from)).max(0.0), two[1].1));
            let (used, seen) = each.fold((0.0, 0.0), |(used, seen), (long, cpu)| (used + cpu * long, seen + long));
            if seen > 0.0 {
                sum = Some(sum.unwrap_or(0.0) + used / seen);
            }
        }
        sum
    }

    fn memory(&self) -> Option<f64> {
        let own = self.looks().filter(|(_, subject, _)| *subject != "backend");
        own.filter_map(|(_, subject, line)| Self::metric(subject, "rss", line))
            .reduce(f64::max)
            .filter(|most| *most > 0.0)
    }

    /// The part of the servers' cores in use, or of one core by the busiest worker, whichever is more.
    pub(super) fn busy(&self, cores: f64) -> Option<f64> {
        let all = self.cores(true)? / cores;
        let (from, to) = self.span();
        let inside = self.looks().filter(|(at, ..)| *at >= from && *at <= to);
        let workers: Vec<f64> =
            inside.filter_map(|(_, subject, line)| Self::metric(subject, "worker_cpu_max", line)).collect();
        let mean = if workers.is_empty() { 0.0 } else { workers.iter().sum::<f64>() / workers.len() as f64 };
        Some(all.max(mean))
    }
}
