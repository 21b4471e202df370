//! A product with a private copy of what stands behind it, so that settings of either can be tried.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Law, Limit, Origin};
use genkai_model::load::Request;
use genkai_model::setting::Setting;
use genkai_model::transport::Transport;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::observation::Observation;

use super::second::{Asked, Runs, Second};
use super::shared::Shared;
use crate::error::TargetError;
use crate::files::{Backup, Finished, Move};
use crate::product::{AsksAtOnce, Cost, OwnAnswer, Prepared, Rejection, Running, Secured, is_led, moves, names};

/// A product whose copy leads to a copy of the server behind it.
struct Stack {
    front: Box<dyn Prepared>,
    twin: Second,
    /// Where the product leads besides.
    others: Vec<Endpoint>,
    rewrites: Vec<Rewrite>,
    /// What the copy shares with the server that runs.
    shared: Vec<Shared>,
}

/// `front` with a private copy, in `dir`, of the one server of the user's behind it that genkai can run a second time, and a sentence about it; as
/// it is where there is none, or where a copy would not be the same (the sentence says why).
pub fn with_twin(
    front: Box<dyn Prepared>,
    asked: Asked<'_>,
    machine: &Machine,
    memory: u64,
    dir: &Path,
) -> (Box<dyn Prepared>, Option<String>) {
    let named = front.behind();
    let path = front.forwarded(asked.path).unwrap_or_else(|| asked.path.to_owned());
    let asked = Asked { path: &path, ..asked };
    let twin = |at: &Endpoint| Second::find(at, asked, &dir.join("twin"));
    let mut twins: Vec<_> = named.iter().filter_map(twin).collect();
    let found = match (twins.pop(), twins.len()) {
        (None, _) => return (front, None),
        (Some(found), 0) => found,
        (Some(_), more) => Err(format!("there are {} of which one could be made", more + 1)),
    };
    // Whom its processes ask is looked at before there is a copy that asks them, too.
    let apart = |twin: Second| {
        let shared = Shared::find(&twin, machine, memory, dir);
        let less = shared.iter().find_map(|one| one.refuses(&twin));
        less.map_or(Ok((twin, shared)), Err)
    };
    let stacked = |(twin, shared)| Ok(Stack { shared, ..stacked(&*front, twin, &named, dir)? });
    match found.and_then(apart).and_then(stacked) {
        Ok(stack) => {
            let told = stack.told(machine, memory);
            (Box::new(stack), Some(told))
        }
        Err(why) => {
            let told =
                format!("no setting of what stands there is put to the test, as no private copy of it is made: {why}");
            (front, Some(told))
        }
    }
}

/// `stack`, a product with a private copy of what stands behind it, with a private copy, in `dir`, of the one server of those at `places` that can be
/// run a second time and be found by that copy, and a sentence about it. None: there is no such server. An error says why there is no copy of it.
pub fn with_store(
    stack: &dyn Prepared,
    places: &BTreeSet<Endpoint>,
    machine: &Machine,
    memory: u64,
    dir: &Path,
) -> Option<Result<Store, String>> {
    if !stack.is_stacked() {
        return None;
    }
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for one in places.iter().filter_map(|at| Second::part(at, &dir.join("store"))) {
        match one {
            Ok(twin) => found.push(twin),
            Err(why) => lost.push(why),
        }
    }
    let twin = match (found.pop(), found.len(), lost.pop()) {
        (None, _, None) => return None,
        (Some(twin), 0, None) => twin,
        (None, _, Some(why)) => return Some(Err(why)),
        _ => return Some(Err("there are several of which one could be made".to_owned())),
    };
    let (from, to) = twin.places();
    let over_tcp = |at: &&Endpoint| matches!(at, Endpoint::Tcp(_)) && *at != from;
    if let (Endpoint::Tcp(_), Some(other)) = (from, places.iter().find(over_tcp)) {
        return Some(Err(format!("whoever asks it asks {other}, too, which is not reached in a network of its own")));
    }
    let (from, to) = (from.clone(), to.clone());
    let stack = stacked(stack, twin, &stack.behind(), dir);
    Some(stack.map(|stack| Store { told: stack.told(machine, memory), stack: Box::new(stack), from, to }))
}

/// A product with private copies of what stands behind it and of whom that asks.
pub struct Store {
    /// All of them.
    pub stack: Box<dyn Prepared>,
    /// A sentence about the last one.
    pub told: String,
    /// Where the user's is.
    from: Endpoint,
    /// Where the copy is.
    to: Endpoint,
}

impl Store {
    /// Whether the copy alone was asked, by the places to which there were connections: one at a TCP address has it in another network, where
    /// nobody else is.
    pub fn is_asked(&self, reached: &BTreeSet<Endpoint>) -> bool {
        match self.from {
            Endpoint::Tcp(_) => reached.contains(&self.from),
            Endpoint::Unix(_) => {
                let is_asked = |at: &Endpoint| reached.iter().any(|place| place.is_same(at));
                is_asked(&self.to) && !is_asked(&self.from)
            }
        }
    }

    /// Whether a place is the user's or the copy's.
    pub fn is_at(&self, place: &Endpoint) -> bool {
        [&self.from, &self.to].iter().any(|at| at.is_same(place))
    }
}

/// Both, where every way to the server can be led to its copy.
fn stacked(front: &dyn Prepared, twin: Second, named: &[Endpoint], dir: &Path) -> Result<Stack, String> {
    if twin.product() == front.product() {
        return Err(format!(
            "it is {}, as is what stands before it: their settings have the same names",
            front.product()
        ));
    }
    let (from, to) = twin.places();
    let others = named.iter().filter(|at| *at != from).cloned().collect();
    let led = [Move { from: from.clone(), to: to.clone() }];
    let moved = front.moved(&led, &dir.join("front")).map_err(|e| e.to_string())?;
    if !moved.rewrites().iter().any(|rewrite| names(&rewrite.to, to)) {
        return Err(format!("a private copy of {} cannot be led to it", front.product()));
    }
    Ok(Stack::new(moved, twin, others))
}

/// A limit on clients at once of whom no more come than what stands `before` it serves at once.
fn asked_by(limit: Limit, before: Option<&AsksAtOnce>) -> Limit {
    let Some(before) = before.filter(|_| matches!(limit.law, Law::Slots { .. })) else { return limit };
    let formula = format!("{}; {} at most ask at once ({})", limit.formula, before.most, before.why);
    Limit { comes: Some(before.most), formula, ..limit }
}

impl Stack {
    fn new(front: Box<dyn Prepared>, twin: Second, others: Vec<Endpoint>) -> Stack {
        let rewrites = front.rewrites().iter().cloned().chain(twin.rewrites()).collect();
        Stack { front, twin, others, rewrites, shared: Vec::new() }
    }

    fn told(&self, machine: &Machine, memory: u64) -> String {
        let (from, told) = (self.twin.places().0, self.twin.told(machine, memory));
        format!("{from} is {told}: what is asked there goes to a private copy of it")
    }

    /// A limit of what stands before it, in words of the user's place.
    fn led_back(&self, limit: Limit) -> Limit {
        let named = Named::of(&self.twin);
        let [value, caps, formula] = [&limit.value, &limit.caps, &limit.formula].map(|text| named.users(text));
        Limit { value, caps, formula, ..limit }
    }

    /// Changes of the copy, and those of what stands before it.
    fn parted(&self, changes: &[Change]) -> (Vec<Change>, Vec<Change>) {
        changes.iter().cloned().partition(|change| self.twin.is_setting(&change.setting))
    }
}

impl Prepared for Stack {
    fn product(&self) -> &'static str {
        self.front.product()
    }

    fn version(&self) -> &str {
        self.front.version()
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        let (twin, front) = self.parted(changes);
        let twin = self.twin.with(&twin, &dir.join("twin"))?;
        let changed = self.front.with(&front, dir)?;
        // A copy on another port: what stands before it is led there.
        let (from, to) = twin.places();
        let moves = [Move { from: from.clone(), to: to.clone() }];
        let front = if to == self.twin.places().1 { changed } else { changed.moved(&moves, &dir.join("front"))? };
        Ok(Box::new(Stack { shared: self.shared.clone(), ..Stack::new(front, twin, self.others.clone()) }))
    }

    /// Also what its copy would be refused because the user's server runs beside it.
    fn apart(&self, at: SocketAddr) -> Option<String> {
        let shared = self.shared.iter().find_map(|one| one.told(&self.twin));
        let all: Vec<String> = self.front.apart(at).into_iter().chain(shared).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    fn is_stacked(&self) -> bool {
        true
    }

    /// What stands before the copy stays as it is: the copy itself finds others where it looks for some.
    fn moved(&self, moves: &[Move], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        let twin = self.twin.led(moves, &dir.join("twin"))?;
        let front = self.front.with(&[], &dir.join("front"))?;
        Ok(Box::new(Stack { shared: self.shared.clone(), ..Stack::new(front, twin, self.others.clone()) }))
    }

    /// What stands before the copy asks it through another place; whom the copy itself asks, it asks directly.
    fn through(
        &self,
        place: &mut dyn FnMut(&Endpoint, &Endpoint) -> io::Result<Endpoint>,
        dir: &Path,
    ) -> Result<Box<dyn Prepared>, TargetError> {
        let twin = self.twin.with(&[], &dir.join("twin"))?;
        let (from, to) = twin.places();
        let failed = |why| TargetError::machine(self.product(), why);
        let to = place(from, to).map_err(failed)?;
        let mut all = moves(self.others.clone(), place).map_err(failed)?;
        all.push(Move { from: from.clone(), to });
        let front = is_led(self.front.moved(&all, &dir.join("front"))?, &all)?;
        Ok(Box::new(Stack { shared: self.shared.clone(), ..Stack::new(front, twin, self.others.clone()) }))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        if self.twin.is_setting(setting) { self.twin.value_of(setting) } else { self.front.value_of(setting) }
    }

    fn limits(&self, environment: &Environment) -> Vec<Limit> {
        // What stands before it was led to the copy: the user's files say another place.
        let mut all: Vec<Limit> = self.front.limits(environment).into_iter().map(|one| self.led_back(one)).collect();
        let own = self
            .twin
            .limits(environment, self.front.anew())
            .into_iter()
            .filter(|one| !all.iter().any(|other| other.id == one.id));
        let before = self.front.asks_at_once(environment);
        let own: Vec<Limit> = own.map(|one| asked_by(one, before.as_ref())).collect();
        all.extend(own);
        all
    }

    fn asks_at_once(&self, environment: &Environment) -> Option<AsksAtOnce> {
        let all = self.twin.limits(environment, self.front.anew()).into_iter();
        let each = all.filter_map(|limit| match limit.law {
            Law::Workers { workers: most, .. } | Law::Growing { most, .. } => {
                Some(AsksAtOnce { most, why: format!("{} {} of {}", limit.setting, limit.value, limit.subject) })
            }
            _ => None,
        });
        each.min_by(|a, b| a.most.total_cmp(&b.most))
    }

    fn answers(&self, request: &Request) -> Vec<OwnAnswer> {
        self.front.answers(request)
    }

    fn behind(&self) -> Vec<Endpoint> {
        self.others.iter().cloned().chain(self.twin.behind()).collect()
    }

    fn has_workers(&self) -> bool {
        self.twin.has_workers() || self.front.has_workers()
    }

    fn costs(&mut self, cost: Cost) {
        self.twin.costs(cost);
        self.front.costs(cost);
    }

    fn secured(&self) -> Option<Secured> {
        self.front.secured()
    }

    fn told(&self) -> Vec<String> {
        self.front.told()
    }

    fn transport(&self) -> Transport {
        self.front.transport()
    }

    fn warnings(&self) -> &[String] {
        self.front.warnings()
    }

    fn rejects(&self, line: &str) -> Result<Option<Rejection>, TargetError> {
        self.front.rejects(line)
    }

    fn written(&self) -> &[Setting] {
        self.front.written()
    }

    fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    fn own_rewrites(&self) -> &[Rewrite] {
        self.front.own_rewrites()
    }

    fn diff(&self, changes: &[Change]) -> String {
        let (twin, front) = self.parted(changes);
        self.front.diff(&front) + &self.twin.diff(&twin)
    }

    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        let (twin, front) = self.parted(changes);
        let mut all = self.front.finished(&front);
        all.extend(self.twin.finished(&twin));
        all
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        let (twin, front) = self.parted(changes);
        let mut written = self.front.write_back(&front)?;
        match self.twin.write_back(&twin) {
            Ok(more) => written.extend(more),
            Err(error) => {
                // All or none.
                for Backup { file, backup } in &written {
                    std::fs::rename(backup, file).map_err(TargetError::files(file))?;
                }
                return Err(error);
            }
        }
        Ok(written)
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        let (copy, named) = (self.twin.start(cpus)?, Named::of(&self.twin));
        Ok(Box::new(Both { front: self.front.start(cpus)?, copy, named }))
    }
}

/// The place of a copy and the one of the user's that it stands in for, as texts have them.
struct Named {
    copy: String,
    users: String,
}

impl Named {
    fn of(twin: &Second) -> Named {
        let (from, to) = twin.places();
        let text = |at: &Endpoint| match at {
            Endpoint::Tcp(address) => address.to_string(),
            Endpoint::Unix(path) => path.display().to_string(),
        };
        Named { copy: text(to), users: text(from) }
    }

    /// A text with the user's place for the copy's; a longer number or name is another one.
    fn users(&self, text: &str) -> String {
        let mut told = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(&self.copy) {
            let (before, after) = (&rest[..at], &rest[at + self.copy.len()..]);
            let longer = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let other = before.ends_with(longer) || after.starts_with(longer);
            told += before;
            told += if other { &self.copy } else { &self.users };
            rest = after;
        }
        told + rest
    }
}

/// Both, as they run.
struct Both {
    // In the order in which they must go.
    front: Box<dyn Running>,
    copy: Runs,
    named: Named,
}

impl Running for Both {
    fn address(&self) -> SocketAddr {
        self.front.address()
    }

    fn observe(&mut self) -> Observation {
        let mut seen = self.front.observe();
        for line in &mut seen.logs {
            line.text = self.named.users(&line.text);
        }
        seen.merge(self.copy.observe());
        seen
    }

    fn processor(&self) -> Duration {
        self.copy.processor() + self.front.processor()
    }

    fn beside(&self) -> Vec<u32> {
        self.copy.first().into_iter().chain(self.front.beside()).collect()
    }

    fn stop(self: Box<Self>) -> ExitStatus {
        // The copy ends when it is dropped, after what has connections to it.
        self.front.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_copy_is_told_as_the_users() {
        let named = |copy: &str, users: &str| Named { copy: copy.to_owned(), users: users.to_owned() };
        let socket = named("/tmp/w/pool.sock", "/run/php.sock");
        assert_eq!(
            socket.users("connect() to unix:/tmp/w/pool.sock failed, upstream: \"fastcgi://unix:/tmp/w/pool.sock:\""),
            "connect() to unix:/run/php.sock failed, upstream: \"fastcgi://unix:/run/php.sock:\""
        );
        let port = named("127.0.0.1:4000", "127.0.0.1:9000");
        assert_eq!(port.users("http://127.0.0.1:4000/, 127.0.0.1:40001"), "http://127.0.0.1:9000/, 127.0.0.1:40001");
    }

    #[test]
    fn no_more_ask_a_store_than_the_pool_before_it_works_for() {
        let slots = Law::Slots { value: 48.0, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
        let store = || Limit { law: slots.clone(), formula: "48 clients".to_owned(), ..Limit::named("a.b", "a", "b") };
        let before = AsksAtOnce { most: 40.0, why: "pm.max_children 40 of php-fpm".to_owned() };
        let asked = asked_by(store(), Some(&before));
        assert_eq!(asked.comes, Some(40.0));
        assert!(asked.formula.ends_with("40 at most ask at once (pm.max_children 40 of php-fpm)"), "{}", asked.formula);
        assert_eq!(asked_by(store(), None), store());
    }
}
