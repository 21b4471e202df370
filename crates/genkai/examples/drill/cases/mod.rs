//! The drill's cases: faults that are put into a system on purpose, and what a diagnosis must say of each. This is the one list;
//! the test suite runs some of it.

mod answers;
mod apache;
mod backend;
mod behind;
mod bisect;
mod caches;
mod caddy;
mod command;
mod haproxy;
mod innocent;
mod kernel;
mod ladder;
mod nginx;
mod rooms;
mod site;
mod stacks;
mod tls;
mod websocket;

use std::sync::LazyLock;

/// One fault, or an innocent look-alike.
#[derive(Debug)]
pub(crate) struct Case {
    /// Short name.
    pub(crate) name: String,
    /// What is done to the system.
    pub(crate) fault: String,
    /// Product under test, or [`ROOMS`].
    pub(crate) product: &'static str,
    /// Flags of `genkai tune`, or of `genkai experiment run rooms`, a word each.
    pub(crate) flags: Vec<String>,
    /// The command of a server that genkai does not know, a word each; empty: it is a product.
    pub(crate) command: Vec<String>,
    /// `--objective`, where it is not the default.
    pub(crate) objective: Option<&'static str>,
    /// Configuration; `{backend}` is the address of what stands behind.
    pub(crate) config: Option<String>,
    /// What its file is called.
    pub(crate) file: &'static str,
    /// Other files beside it: name and text.
    pub(crate) others: Vec<(&'static str, &'static str)>,
    /// What stands behind.
    pub(crate) behind: Behind,
    /// Where genkai is run.
    pub(crate) inside: Inside,
    /// Whether another program takes all processor time there is.
    pub(crate) hog: bool,
    /// What must be said.
    pub(crate) expect: Expect,
    /// Why the break need not come where the formula puts it; empty: it must.
    pub(crate) off: &'static str,
}

/// What stands behind the product.
#[derive(Debug)]
pub(crate) enum Behind {
    /// What the flags say (`--backend-...`).
    Flags,
    /// An origin of the user's with these flags.
    Origin(&'static str),
    /// The same behind a link with these flags.
    Link(&'static str, &'static str),
    /// A backend that behaves as told: words of `scripts/examine/backend.py`.
    Scripted(&'static str),
    /// Two of them, of which the second is `{second}` in the configuration.
    Pair(&'static str, &'static str),
    /// A real server between the product and an origin with these flags.
    Server(Between, &'static str),
    /// A real server that answers by itself, on a Unix socket `{dir}/*.sock` or at `{backend}`.
    Alone(Between),
    /// Two origins of the user's with these flags, of which the second is `{second}` in the configuration; none: nobody listens there.
    Two(&'static str, Option<&'static str>),
    /// Nobody: a port that refuses, named in the configuration.
    Nobody,
}

/// A real server behind the product, started from its package.
#[derive(Debug)]
pub(crate) struct Between {
    /// Its command line; `{port}`, `{origin}` (its address) and `{dir}` are put in, there and in `file`.
    pub(crate) command: &'static [&'static str],
    /// Its configuration, written to `{dir}/behind.conf`; empty: none.
    pub(crate) file: &'static str,
}

/// The limit of a control group, which is a reason for which a client is the limit, too.
pub(crate) const QUOTA: &str = "machine.cpu_quota";

/// What is named where a server or its backend ended: no limit.
pub(crate) const DIED: &str = "died";

/// What is named where a backend refused connections and took them again: no limit.
pub(crate) const REFUSED: &str = "refused for a while";

/// The product of cases with chat rooms.
pub(crate) const ROOMS: &str = "rooms";

/// Where genkai is run.
#[derive(Debug)]
pub(crate) enum Inside {
    /// As the drill.
    Here,
    /// In a network namespace of its own, with these settings under `/proc/sys/net`: path and value.
    Network(&'static [(&'static str, &'static str)]),
    /// In a control group that gets so many hundredths of one core.
    Quota(u32),
    /// With so many descriptors for each process: the soft limit, and the hard one where that is lowered too.
    Descriptors(u32, bool),
    /// As the drill, but the product alone is in a control group.
    Group(Group),
    /// The fault cannot be made without changing the machine: why.
    Nowhere(&'static str),
}

/// A control group (the first version's) for the product alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// Its controller.
    pub(crate) controller: &'static str,
    /// Its settings, each a file and a value.
    pub(crate) settings: &'static [(&'static str, &'static str)],
    /// The product's program.
    pub(crate) program: &'static str,
}

/// What must be said.
#[derive(Debug)]
pub(crate) enum Expect {
    /// One of these limits is the cause, and no other; none: that no cause is named.
    Cause {
        /// Any of these is right.
        ids: Vec<&'static str>,
        /// Why more than one is right; empty for one.
        why: &'static str,
        /// What may be named besides, further on: it is true too.
        further: Vec<&'static str>,
    },
    /// These limits, each met where the one before it is lifted, in this order and no other.
    Ladder {
        /// The first to bite first.
        ids: Vec<&'static str>,
    },
    /// The objective holds.
    Holds,
    /// The client was the limit: nothing is said of the servers.
    Client,
    /// Other programs used the processor time: nothing is said of the servers. (Or that the client was the limit, which had none either.)
    Crowded,
}

impl Case {
    /// A case that holds, unless it is said otherwise.
    fn of(product: &'static str, name: impl Into<String>, fault: impl Into<String>) -> Case {
        Case {
            name: name.into(),
            fault: fault.into(),
            product,
            flags: Vec::new(),
            command: Vec::new(),
            objective: None,
            config: None,
            file: "server.conf",
            others: Vec::new(),
            behind: Behind::Flags,
            inside: Inside::Here,
            hog: false,
            expect: Expect::Holds,
            off: "",
        }
    }

    /// With these flags, split at spaces.
    fn flags(mut self, text: impl AsRef<str>) -> Case {
        self.flags.extend(text.as_ref().split_whitespace().map(str::to_owned));
        self
    }

    /// With these words, which may hold spaces.
    fn words(mut self, words: [&str; 2]) -> Case {
        self.flags.extend(words.map(str::to_owned));
        self
    }

    /// Under a load whose level rises slowly enough for the break to show where it is.
    fn rising(self, text: &str) -> Case {
        self.flags("--users 160 --spawn-rate 20 --backend-time 200ms").flags(text)
    }

    fn objective(self, text: &'static str) -> Case {
        Case { objective: Some(text), ..self }
    }

    fn config(self, text: impl Into<String>) -> Case {
        Case { config: Some(text.into()), ..self }
    }

    /// With another name of its file.
    fn called(self, file: &'static str) -> Case {
        Case { file, ..self }
    }

    /// With another file beside its own.
    fn beside(mut self, name: &'static str, text: &'static str) -> Case {
        self.others.push((name, text));
        self
    }

    fn behind(self, behind: Behind) -> Case {
        Case { behind, ..self }
    }

    fn inside(self, inside: Inside) -> Case {
        Case { inside, ..self }
    }

    /// This limit is the cause.
    fn cause(self, id: &'static str) -> Case {
        self.either(&[id], "")
    }

    /// Any of these is right, because of `why`.
    fn either(self, ids: &[&'static str], why: &'static str) -> Case {
        Case { expect: Expect::Cause { ids: ids.to_vec(), why, further: Vec::new() }, ..self }
    }

    /// What else is true, further on.
    fn then(mut self, ids: &[&'static str]) -> Case {
        if let Expect::Cause { further, .. } = &mut self.expect {
            further.extend(ids);
        }
        self
    }

    /// It fails, and nothing can be named.
    fn nameless(self) -> Case {
        self.either(&[], "")
    }

    /// Whether it is judged by processor time, or takes all there is: no other case may run beside it.
    pub(crate) fn alone(&self) -> bool {
        let costs = |id: &&str| ["cpu", "processor", "tls"].iter().any(|part| id.contains(part));
        let ids = match &self.expect {
            Expect::Cause { ids, .. } | Expect::Ladder { ids } => ids.iter().any(costs),
            Expect::Holds => false,
            Expect::Client | Expect::Crowded => true,
        };
        let unknown = self.product == ROOMS || !self.command.is_empty();
        ids || unknown
            || self.hog
            || self.name.starts_with("tls-")
            || matches!(self.inside, Inside::Quota(_) | Inside::Group(_))
    }

    /// The break need not come where the formula puts it.
    fn off(self, why: &'static str) -> Case {
        Case { off: why, ..self }
    }
}

const AT_ONCE: &str = "all clients come at once: there is no level at which it begins";
const NO_NUMBER: &str = "no number predicts it: the law is unknown";
const SIZE: &str = "it counts bytes, not clients";
const SLOW: &str = "a time, not a number of clients";
const HANGS: &str = "who is not accepted hangs in the accept queue: that is seen only when it has lasted";
const PAGE: &str = "a page that takes too long is seen when it is there, and meanwhile more users have come";
const PATIENCE: &str = "requests wait first: it fails where the wait exceeds what is allowed, not where waiting begins";
const COST: &str = "what a request costs is not in the configuration";
const SPREAD: &str = "connections spread unevenly, so one part is full before all are";

/// Users who come back just when a connection that is kept for so long is closed, and who ask once only.
const KEPT: &str = "--users 60 --spawn-rate 60 --hold 4s --backend embedded --backend-time 5ms --no-retry";

/// The time that a proxy waits and the time that the backend takes are two ends of one fact.
const TWO_ENDS: &str = "the backend takes longer than the proxy waits: either of the two can be called the limit";

/// Every case, in the order in which they are told.
pub(crate) fn all() -> &'static [Case] {
    static ALL: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let proxies = [nginx::cases(), apache::cases(), haproxy::cases(), caddy::cases(), websocket::cases()];
        let others =
            [caches::cases(), backend::cases(), behind::cases(), stacks::cases(), rooms::cases(), kernel::cases()];
        let proxies = proxies.into_iter().chain([answers::cases(), tls::cases()]).chain(others);
        proxies.chain([innocent::cases(), command::cases(), bisect::cases(), ladder::cases()]).flatten().collect()
    });
    &ALL
}

/// The products that every family of cases is made for, and how many clients at once each is set to bear where the fault is elsewhere.
const PROXIES: [(&str, &str); 4] = [
    ("nginx", "--set worker_connections=4096"),
    ("apache", "--set mpm=worker --set MaxRequestWorkers=400 --set StartServers=16"),
    ("haproxy", "--set maxconn=4000"),
    ("caddy", ""),
];
