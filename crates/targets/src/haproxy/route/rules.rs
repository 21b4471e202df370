//! What may end a request before a server gets it: the rules of the connection, of its content and of the request, and what HAProxy
//! answers itself (`monitor-uri`, its statistics).

use super::asked::{Asked, Changed};
use super::{Route, acl};
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::proxy::{self, Mode};

/// What the action of a rule does to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// No server gets them.
    Ends,
    /// No later rule of the kind is looked at.
    Passes,
    /// They are other ones from here on.
    Changes(Changed),
    /// Something that is not in the configuration says whether a server gets them.
    Open,
    /// Nothing that decides where they go.
    Nothing,
}

/// Actions after which no server is asked.
const ENDS: [&str; 8] = ["return", "deny", "tarpit", "redirect", "reject", "auth", "silent-drop", "use-service"];
/// Actions that give the request another path.
const MOVES: [&str; 7] =
    ["set-path", "replace-path", "set-uri", "replace-uri", "set-pathq", "replace-pathq", "normalize-uri"];
/// Actions on headers, which may be the host's.
const HEADERS: [&str; 5] = ["add-header", "del-header", "replace-header", "replace-value", "set-header"];
/// Actions that leave the way of a request alone (2.6 to 3.5: src/http_act.c, src/tcp_act.c, src/tcp_rules.c and what registers with them).
/// One that is not listed may end it: `cache-use`, `lua.NAME`, `attach-srv`, `switch-mode`.
const HARMLESS: [&str; 17] = [
    "add-acl",
    "capture",
    "del-acl",
    "del-map",
    "disable-l7-retry",
    "do-log",
    "do-resolve",
    "early-hint",
    "expect-netscaler-cip",
    "expect-proxy",
    "pause",
    "send-spoe-group",
    "set-method",
    "strict-mode",
    "unset-var",
    "wait-for-body",
    "wait-for-handshake",
];
/// What the names of others begin with: `set-var(x)`, `sc-inc-gpc0(0)`, `track-sc1`.
const BEGIN: [&str; 3] = ["set-", "sc-", "track-sc"];

/// The action by which a rule ends requests, and how many of its words name it; none for any other line.
pub(in crate::haproxy) fn final_action(rule: &Found) -> Option<(&str, usize)> {
    let (action, words) = match rule.name() {
        "redirect" => ("redirect", 1),
        "tcp-request" => (rule.arg(1)?, 3),
        "http-request" => (rule.arg(0)?, 2),
        _ => return None,
    };
    let action = action.split(['(', ',']).next()?;
    ENDS.contains(&action).then_some((action, words))
}

/// Whether a rule gives requests another path or query.
pub(in crate::haproxy) fn moves(rule: &Found) -> bool {
    let action = rule.arg(0).and_then(|action| action.split(['(', ',']).next()).unwrap_or_default();
    rule.is("http-request") && (MOVES.contains(&action) || action == "set-query")
}

impl Effect {
    /// Of the action that stands as argument `at` of a rule; `redirect` is its own action.
    fn of(rule: &Found, at: usize) -> Effect {
        let action = if rule.is("redirect") { "redirect" } else { rule.arg(at).unwrap_or_default() };
        match action.split(['(', ',']).next().unwrap_or_default() {
            "allow" | "accept" => Effect::Passes,
            action if ENDS.contains(&action) => Effect::Ends,
            action if MOVES.contains(&action) => Effect::Changes(Changed::Path),
            "set-query" => Effect::Changes(Changed::Query),
            "add-headers-bin" | "del-headers-bin" | "set-headers-bin" => Effect::Changes(Changed::Headers),
            action if HEADERS.contains(&action) => {
                // A name may also be a pattern of names (`del-header ... -m beg`).
                let pattern = rule.words.iter().skip(at + 2).any(|word| word.value == "-m");
                let one = || rule.arg(at + 1).and_then(Changed::header);
                let changed = if pattern { Some(Changed::Headers) } else { one() };
                changed.map_or(Effect::Nothing, Effect::Changes)
            }
            action if HARMLESS.contains(&action) || BEGIN.iter().any(|begin| action.starts_with(begin)) => {
                Effect::Nothing
            }
            _ => Effect::Open,
        }
    }
}

impl<'c> Route<'c> {
    /// `tcp-request connection` and `session` of the frontend: a connection is all that is there.
    pub(super) fn connection(&mut self, config: &'c Config) {
        for key in ["tcp-request connection", "tcp-request session"] {
            self.walk(config, self.front, key, 1, &mut Asked::blind(None));
        }
    }

    /// The rules of a section in the order in which they count (src/tcp_rules.c: `tcp_inspect_request`; src/http_ana.c:
    /// `http_wait_for_request`, `http_process_req_common`).
    pub(super) fn requests(&mut self, config: &'c Config, section: &'c Section, asked: &mut Asked<'_>) {
        self.walk(config, section, "tcp-request content", 1, asked);
        if proxy::mode(config, section) != Mode::Http {
            return;
        }
        if section == self.front {
            self.monitor(config, asked);
        }
        self.walk(config, section, "http-request", 0, asked);
        self.statistics(config, section, asked);
        self.walk(config, section, "redirect", 0, asked);
    }

    /// Rules of one kind, those of `defaults` first, until one ends requests or lets them pass.
    fn walk(&mut self, config: &'c Config, section: &'c Section, key: &str, at: usize, asked: &mut Asked<'_>) {
        let mut lineage: Vec<&'c Section> = config.lineage(section).collect();
        lineage.reverse();
        // Something else may let them pass the rules that follow.
        let mut passed: Vec<&'c Found> = Vec::new();
        for rule in lineage.into_iter().flat_map(|s| config.inside(s)).filter(|f| f.is(key)) {
            let effect = Effect::of(rule, at);
            match (effect, acl::applies(config, section, rule, asked)) {
                (Effect::Nothing, _) | (_, Some(false)) => {}
                (Effect::Changes(changed), _) => asked.forget(changed),
                (Effect::Passes, Some(true)) => return,
                (Effect::Passes, None) => passed.push(rule),
                (Effect::Ends, Some(true)) if passed.is_empty() => {
                    self.answered = self.answered.or(Some(rule));
                    return;
                }
                (Effect::Ends | Effect::Open, applies) => {
                    self.doubts.append(&mut passed);
                    self.doubts.push(rule);
                    match effect {
                        Effect::Ends if applies == Some(true) => return,
                        Effect::Open => asked.forget(Changed::All),
                        _ => {}
                    }
                }
            }
        }
    }

    /// `monitor-uri`, which is compared with all of the target.
    fn monitor(&mut self, config: &'c Config, asked: &Asked<'_>) {
        let line = config.value(self.front, "monitor-uri");
        let same = line.filter(|line| line.arg(0).is_some() && line.arg(0) == asked.target);
        self.answered = self.answered.or(same);
    }

    /// The statistics of HAProxy's own, for some methods: targets that begin with `stats uri`.
    fn statistics(&mut self, config: &'c Config, section: &'c Section, asked: &Asked<'_>) {
        // What a section says of them itself leaves nothing of what `defaults` say (src/cfgparse-listen.c).
        let lines = |s: &'c Section| config.inside(s).iter().filter(|f| f.is("stats"));
        let Some(own) = config.lineage(section).find(|s| lines(s).next().is_some()) else { return };
        let written = lines(own).rfind(|f| f.is("stats uri"));
        let prefix = written.and_then(|f| f.arg(1)).unwrap_or("/haproxy?stats");
        if asked.target.is_none_or(|target| target.starts_with(prefix)) {
            self.doubts.extend(written.or_else(|| lines(own).next()));
        }
    }
}
