//! Configurations of HAProxy made from a seed: the directives that decide what it holds, in all places where they may stand and some where
//! they may not, with values of every form.

use std::fmt::Write as _;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn percent(&mut self, p: u64) -> bool {
        self.next() % 100 < p
    }

    pub(crate) fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

const NUMBERS: &[&str] = &["1", "5", "10", "25", "60", "100", "250", "1000", "007", "0"];
const ODD_NUMBERS: &[&str] = &["", "abc", "16k", "5x", "10 20", "\"${GENKAI_UNSET-30}\"", "'40'", "1e3", "0x10"];
const TIMES: &[&str] = &["5s", "30s", "1m", "500ms", "1500us", "1h", "2d", "5000", "0", "\"2s\""];
const ODD_TIMES: &[&str] = &["", "5x", "1min", "5ss", "s", "30d", "5s 3s", "-1", "1.5s", "24d"];
const BALANCES: &[&str] = &["roundrobin", "leastconn", "static-rr", "first", "source", "uri", "random", "random(3)"];

/// How strange a configuration is: percent of values, places and names that are not as they should be.
pub(crate) struct Maker {
    random: Random,
    odd: u64,
    ports: Vec<u16>,
    socket: Option<String>,
    /// It is not started: what else listens may stand there, or nothing.
    checked: bool,
    text: String,
}

impl Maker {
    pub(crate) fn new(seed: u64, ports: Vec<u16>, socket: Option<String>) -> Maker {
        let mut random = Random(seed);
        let odd = [0, 0, 2, 8][random.below(4)];
        Maker { random, odd, ports, checked: socket.is_none(), socket, text: String::new() }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "    {text}");
    }

    fn number(&mut self) -> &'static str {
        if self.random.percent(self.odd) { self.random.of(ODD_NUMBERS) } else { self.random.of(NUMBERS) }
    }

    fn time(&mut self) -> &'static str {
        if self.random.percent(self.odd) { self.random.of(ODD_TIMES) } else { self.random.of(TIMES) }
    }

    pub(crate) fn make(mut self) -> String {
        if self.random.percent(self.odd / 4) {
            self.line("maxconn 5");
        }
        for _ in 0..self.random.of(&[&1, &1, &1, &2]).to_owned() {
            self.global();
        }
        let mode = self.random.of(&["http", "tcp", "http"]);
        let mut defaults: Vec<String> = Vec::new();
        for _ in 0..self.random.below(4) {
            self.defaults(&mut defaults, mode);
        }
        let backs = 1 + self.random.below(3);
        let fronts = 1 + self.random.below(2);
        for n in 0..fronts {
            self.front(n, backs, &defaults, mode);
            if self.random.percent(15) {
                self.defaults(&mut defaults, mode);
            }
        }
        for n in 0..backs {
            self.back(n, &defaults, mode);
        }
        if self.random.percent(25) {
            self.listen(&defaults, mode);
        }
        self.text
    }

    fn global(&mut self) {
        let _ = writeln!(self.text, "global");
        if let Some(socket) = self.socket.take() {
            self.line(&format!("stats socket {socket} level admin"));
            if self.random.percent(15) {
                let n = self.random.of(&["5", "20"]);
                self.line(&format!("stats maxconn {n}"));
            }
        }
        if self.checked && self.random.percent(12) {
            let text = self.random.of(&["stats socket /run/none/s level admin", "master-worker", "stats timeout 2s"]);
            self.line(text);
        }
        for _ in 0..self.random.below(5) {
            let n = self.number();
            let text = match self.random.below(11) {
                0..=3 => format!("maxconn {n}"),
                4 => format!(
                    "nbthread {}",
                    if self.random.percent(self.odd) { n } else { self.random.of(&["1", "2", "3"]) }
                ),
                5 => format!("maxconnrate {n}"),
                6 => format!("{} {n}", self.random.of(&["maxsessrate", "maxsslrate"])),
                7 => format!("ulimit-n {}", self.random.of(&["600", "2000", "4000", "0"])),
                8 => format!("fd-hard-limit {}", self.random.of(&["1000", "3000", "0"])),
                9 => format!("tune.bufsize {}", self.random.of(&["16384", "32768", "20000"])),
                _ => self.random.of(&["strict-limits", "no strict-limits", "daemon", "quiet"]).to_owned(),
            };
            self.wrapped(&text);
        }
        self.strange();
    }

    /// A line, sometimes in a condition.
    fn wrapped(&mut self, text: &str) {
        if !self.random.percent(6) {
            return self.line(text);
        }
        let condition = self.random.of(&[
            "version_atleast(2.4)",
            "version_before(2.4)",
            "streq(a,b)",
            "defined(PATH)",
            "!defined(GENKAI_UNSET) && feature(OPENSSL)",
            "0",
        ]);
        let _ = writeln!(self.text, ".if {condition}");
        self.line(text);
        let _ = writeln!(self.text, ".endif");
    }

    /// A line that has no business in a section.
    fn strange(&mut self) {
        if self.random.percent(self.odd) {
            let text = self.random.of(&[
                "maxcon 5",
                "timeout cleint 5s",
                "servr s 127.0.0.1:1",
                "nbthread 2",
                "tune.maxaccept 10",
                "fullconn 5",
                "maxconn 33",
                "rate-limit connections 5",
                "timeout",
                "mode udp",
                "balance roundrobin",
                "retries 3",
                "server x 127.0.0.1:9",
                "default_backend b0",
            ]);
            self.line(text);
        }
    }

    fn from(&mut self, defaults: &[String]) -> String {
        let named: Vec<&str> = defaults.iter().map(String::as_str).filter(|d| !d.is_empty()).collect();
        if self.random.percent(self.odd / 2) {
            return " from nobody".to_owned();
        }
        match named.is_empty() || self.random.percent(55) {
            true => String::new(),
            false => format!(" from {}", self.random.of(&named)),
        }
    }

    fn defaults(&mut self, all: &mut Vec<String>, mode: &str) {
        let name = if self.random.percent(35) {
            String::new()
        } else if self.random.percent(self.odd) {
            "d0".to_owned()
        } else {
            format!("d{}", all.len())
        };
        let from = self.from(all);
        let _ = writeln!(self.text, "defaults {name}{from}");
        self.mode(mode, if from.is_empty() { 90 } else { 20 });
        for _ in 0..self.random.below(6) {
            match self.random.below(3) {
                0 => self.front_line(),
                1 => self.back_line(),
                _ => self.default_server(),
            }
        }
        self.strange();
        all.push(name);
    }

    fn mode(&mut self, mode: &str, percent: u64) {
        if self.random.percent(percent) {
            let mode = if self.random.percent(self.odd) { self.random.of(&["tcp", "http", "health"]) } else { mode };
            self.line(&format!("mode {mode}"));
        }
    }

    fn front_line(&mut self) {
        let (n, t) = (self.number(), self.time());
        let text = match self.random.below(9) {
            0..=2 => format!("maxconn {n}"),
            3 => format!("backlog {n}"),
            4 => format!("rate-limit sessions {n}"),
            5 | 6 => format!("timeout client {t}"),
            7 => format!("timeout http-request {t}"),
            _ => format!("timeout http-keep-alive {t}"),
        };
        self.wrapped(&text);
    }

    fn back_line(&mut self) {
        let (n, t) = (self.number(), self.time());
        let text = match self.random.below(10) {
            0 | 1 => format!("fullconn {n}"),
            2 => format!("timeout connect {t}"),
            3 => format!("timeout server {t}"),
            4 | 5 => format!("timeout queue {t}"),
            6 => format!("timeout tunnel {t}"),
            7 => format!("retries {n}"),
            8 => format!("balance {}", self.random.of(BALANCES)),
            _ => self.random.of(&["option http-server-close", "option redispatch", "no option httpclose"]).to_owned(),
        };
        self.wrapped(&text);
    }

    fn parameters(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.random.below(5) {
            let n = self.number();
            let one = match self.random.below(12) {
                0..=4 => format!(" maxconn {n}"),
                5 | 6 => format!(" minconn {n}"),
                7 => format!(" maxqueue {n}"),
                8 => format!(" weight {}", self.random.of(&["1", "10", "0", "256"])),
                9 => self.random.of(&[" backup", " no-backup", " disabled", " enabled"]).to_owned(),
                10 => " inter 1s".to_owned(),
                _ if self.random.percent(self.odd) => {
                    self.random.of(&[" maxcon 5", " weight 300", " weigth 4"]).to_owned()
                }
                _ => String::new(),
            };
            text += &one;
        }
        text
    }

    fn default_server(&mut self) {
        let text = format!("default-server{}", self.parameters());
        if text != "default-server" || self.random.percent(self.odd) {
            self.line(&text);
        }
    }

    fn bind(&mut self) {
        let Some(port) = self.ports.pop() else { return };
        let more =
            self.ports.pop().filter(|_| self.random.percent(20)).map(|p| format!(",127.0.0.1:{p}")).unwrap_or_default();
        let rest = match self.random.below(6) {
            0 => format!(" backlog {}", self.random.of(NUMBERS)),
            1 => format!(" maxconn {}", self.random.of(&["1", "20"])),
            _ => String::new(),
        };
        self.line(&format!("bind 127.0.0.1:{port}{more}{rest}"));
    }

    fn front(&mut self, n: usize, backs: usize, defaults: &[String], mode: &str) {
        let from = self.from(defaults);
        let _ = writeln!(self.text, "frontend f{n}{from}");
        self.mode(mode, if defaults.is_empty() { 100 } else { 30 });
        let binds = 1 + self.random.below(2);
        for _ in 0..if self.checked && self.random.percent(12) { 0 } else { binds } {
            self.bind();
        }
        for _ in 0..self.random.below(4) {
            self.front_line();
        }
        if self.random.percent(30) {
            let to = self.random.below(backs);
            self.line(&format!("use_backend b{to} if {{ src 10.0.0.1 }}"));
        }
        if self.random.percent(90) {
            let to = if self.random.percent(self.odd) { backs } else { self.random.below(backs) };
            let rest = if self.random.percent(self.odd) { " if { src 10.0.0.1 }" } else { "" };
            self.line(&format!("default_backend b{to}{rest}"));
        }
        if self.random.percent(4) {
            let text = self.random.of(&["disabled", "enabled"]);
            self.line(text);
        }
        self.strange();
    }

    fn servers(&mut self) {
        for n in 0..self.random.below(5) {
            if self.random.percent(30) {
                self.default_server();
            }
            let name = if self.random.percent(self.odd) { 0 } else { n };
            let parameters = self.parameters();
            match self.random.percent(8) {
                true => self.line(&format!("server-template t{name}- 1-{} 127.0.0.1:{}{parameters}", 1 + n, 1 + n)),
                false => self.line(&format!("server s{name} 127.0.0.1:{}{parameters}", 1 + n)),
            }
        }
    }

    fn back(&mut self, n: usize, defaults: &[String], mode: &str) {
        let n = if self.random.percent(self.odd / 2) { 0 } else { n };
        let from = self.from(defaults);
        let _ = writeln!(self.text, "backend b{n}{from}");
        self.mode(mode, if defaults.is_empty() { 100 } else { 30 });
        for _ in 0..self.random.below(4) {
            self.back_line();
        }
        self.servers();
        self.strange();
    }

    fn listen(&mut self, defaults: &[String], mode: &str) {
        let from = self.from(defaults);
        let _ = writeln!(self.text, "listen l{from}");
        self.mode(mode, if defaults.is_empty() { 100 } else { 30 });
        self.bind();
        for _ in 0..self.random.below(4) {
            if self.random.percent(50) {
                self.front_line();
            } else {
                self.back_line();
            }
        }
        self.servers();
        self.strange();
    }
}
