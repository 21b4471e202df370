//! Rules of HTTP that a cache has to keep, tried with a few requests on pages that the origin has for them.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_engine::{Fetched, StopFlag, fetch};
use genkai_model::cache::{Conformance, Kept, Rule};
use genkai_targets::apache::origin::{MADE, PAGE, SEEN};

/// Longest wait for each step of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// A page with `max-age=1` is too old after that, whatever a cache makes of fractions.
const STALE: Duration = Duration::from_millis(2_300);
/// Between two looks whether somebody wants to stop.
const PAUSE: Duration = Duration::from_millis(50);

/// Tries every rule on the cache at `address`, which reports call `contender`; none when it is interrupted.
pub(super) fn tried(contender: &str, address: SocketAddr, interrupt: &StopFlag) -> Vec<Conformance> {
    let one = |rule: Rule| {
        let tried = match rule {
            Rule::Validator => validator(address),
            Rule::Vary => vary(address),
            Rule::NoStore => twice(address, "/no-store/page"),
            Rule::Private => twice(address, "/private/page"),
            Rule::Freshness => freshness(address, interrupt),
            Rule::Range => range(address),
        };
        let (verdict, seen) = tried.unwrap_or_else(|e| (Kept::Unknown, e.to_string()));
        Conformance { contender: contender.to_owned(), rule, verdict, seen }
    };
    let all = Rule::ALL.map(one).into();
    if interrupt.is_stopped() { Vec::new() } else { all }
}

/// A page, or that there is none. An answer that is no page says nothing of any rule.
fn get(address: SocketAddr, path: &str, fields: &[(&str, &str)]) -> io::Result<Fetched> {
    let page = fetch(address, path, fields, PATIENCE)?;
    match page.status {
        200 | 206 | 304 => Ok(page),
        other => Err(io::Error::other(format!("{path} was answered with {other}"))),
    }
}

/// Two responses are one that was kept where the origin made both at the same moment.
fn is_kept(first: &Fetched, second: &Fetched) -> bool {
    first.field(MADE).is_some() && first.field(MADE) == second.field(MADE)
}

fn validator(address: SocketAddr) -> io::Result<(Kept, String)> {
    let first = get(address, "/long/page", &[])?;
    let Some(tag) = first.field("ETag") else {
        return Ok((Kept::Passed, "it gives no entity tag".to_owned()));
    };
    let again = get(address, "/long/page", &[("If-None-Match", &tag)])?;
    let other = get(address, "/long/page", &[("If-None-Match", "\"another\"")])?;
    let seen = format!("{} with its own tag, {} with another", again.status, other.status);
    let whole = |page: &Fetched| page.status == 200 && page.body == PAGE.as_bytes();
    let verdict = match () {
        () if other.status == 304 || !(again.status == 304 || whole(&again)) => Kept::Broken,
        () if again.status == 304 && again.body.is_empty() && whole(&other) => Kept::Kept,
        () => Kept::Passed,
    };
    Ok((verdict, seen))
}

fn vary(address: SocketAddr) -> io::Result<(Kept, String)> {
    let ask = |value: &str| get(address, "/vary/page", &[("X-Probe", value)]);
    let [one, two, again] = [ask("one")?, ask("two")?, ask("one")?];
    let given = [&one, &two, &again].map(|page| page.field(SEEN).unwrap_or_default());
    let seen = format!("asked as one, two, one; got {}", given.join(", "));
    let verdict = match () {
        () if given != ["one", "two", "one"] => Kept::Broken,
        () if is_kept(&one, &again) => Kept::Kept,
        () => Kept::Passed,
    };
    Ok((verdict, seen))
}

/// What must not be given twice.
fn twice(address: SocketAddr, path: &str) -> io::Result<(Kept, String)> {
    let (first, second) = (get(address, path, &[])?, get(address, path, &[])?);
    let seen = |what: &str| format!("{}, then {what}", first.status);
    Ok(match is_kept(&first, &second) {
        true => (Kept::Broken, seen("the same again")),
        false => (Kept::Kept, seen("another that the origin made")),
    })
}

/// Asks twice, and again as soon as it is too old: a cache that gives old ones for some seconds would be past that later.
fn freshness(address: SocketAddr, interrupt: &StopFlag) -> io::Result<(Kept, String)> {
    let ask = || get(address, "/short/page", &[]);
    let (first, second, old) = (ask()?, ask()?, Instant::now() + STALE);
    while Instant::now() < old && !interrupt.is_stopped() {
        std::thread::sleep(PAUSE);
    }
    // A cache may give an old one while it fetches a new one only where it is told so (RFC 5861): here nobody tells it.
    let late = ask()?;
    let age = late.field("Age").map(|age| format!(", Age {age}")).unwrap_or_default();
    Ok(match (is_kept(&second, &late) || is_kept(&first, &late), is_kept(&first, &second)) {
        (true, _) => {
            (Kept::Broken, format!("the one with max-age=1 again after more than {} ms{age}", STALE.as_millis()))
        }
        (false, true) => (Kept::Kept, "kept for its time, then another".to_owned()),
        (false, false) => (Kept::Passed, "never kept".to_owned()),
    })
}

fn range(address: SocketAddr) -> io::Result<(Kept, String)> {
    let _ = get(address, "/long/page", &[])?;
    let part = get(address, "/long/page", &[("Range", "bytes=4-9")])?;
    let field = part.field("Content-Range").unwrap_or_default();
    let verdict = match part.status {
        206 if part.body == PAGE.as_bytes()[4..=9] && field == format!("bytes 4-9/{}", PAGE.len()) => Kept::Kept,
        200 if part.body == PAGE.as_bytes() => Kept::Passed,
        _ => Kept::Broken,
    };
    Ok((verdict, format!("{} with {} bytes", part.status, part.body.len())))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A cache that gives what it has for `kept`, and a new one after that.
    fn keeping(kept: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut made, mut number) = (Instant::now(), 0);
            for mut stream in listener.incoming().flatten() {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
                if number == 0 || made.elapsed() >= kept {
                    (made, number) = (Instant::now(), number + 1);
                }
                let head = format!("HTTP/1.1 200 OK\r\n{MADE}: {number}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(head.as_bytes()).unwrap();
            }
        });
        address
    }

    /// What is given for ten seconds past its time (Varnish's default) is found out, however long anything else takes.
    #[test]
    fn what_is_given_past_its_time_is_seen_while_it_is_given() {
        let tried = |kept: Duration| thread::spawn(move || freshness(keeping(kept), &StopFlag::new()).unwrap());
        let (graceful, strict, none) =
            (tried(Duration::from_secs(11)), tried(Duration::from_secs(1)), tried(Duration::ZERO));
        let (verdict, seen) = graceful.join().unwrap();
        assert!(verdict == Kept::Broken && seen.contains("2300 ms"), "{verdict:?}: {seen}");
        assert_eq!(strict.join().unwrap().0, Kept::Kept);
        assert_eq!(none.join().unwrap().0, Kept::Passed);
    }
}
