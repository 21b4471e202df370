//! How a node is built, as every application that can be one is told it.

/// Between two lines of its counts: short against the half second between two looks, so that what is seen is fresh.
const STATS: &str = "100ms";

/// How a node is built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Redis that nodes share, as a URL.
    pub redis: Option<String>,
    /// Bytes that may wait for one member.
    pub member_queue: u64,
    /// Messages it keeps a trace of.
    pub trace: u32,
    /// Loses every so many-th message on purpose.
    pub lose_every: Option<u64>,
}

impl Settings {
    /// What differs from a server of its own: names and values, the names being those of flags (`--NAME VALUE`; apps/README.md).
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        let fixed = [
            ("member-queue", self.member_queue.to_string()),
            ("trace", self.trace.to_string()),
            ("stats", STATS.to_owned()),
        ];
        let redis = self.redis.clone().map(|url| ("redis", url));
        let lose = self.lose_every.map(|every| ("lose-every", every.to_string()));
        fixed.into_iter().chain(redis).chain(lose).collect()
    }

    /// The same as flags.
    pub(crate) fn flags(&self) -> impl Iterator<Item = String> {
        self.words().into_iter().flat_map(|(name, value)| [format!("--{name}"), value])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_the_settings() {
        let flags = |settings: Settings| settings.flags().collect::<Vec<_>>().join(" ");
        let settings = Settings { member_queue: 1000, trace: 5, ..Settings::default() };
        assert_eq!(flags(settings.clone()), "--member-queue 1000 --trace 5 --stats 100ms");
        let redis = Some("redis://127.0.0.1:1/".to_owned());
        let text = flags(Settings { redis, lose_every: Some(7), ..settings });
        assert!(text.contains("--redis redis://127.0.0.1:1/ --lose-every 7"), "{text}");
    }
}
