use std::io::{Read, Write};
use std::net::TcpListener;

use genkai_place::endpoint::Endpoint;
use genkai_targets::behind::Behind;

use super::*;

fn of(load: &Load, ms: &[u64]) -> Spread {
    spread(load, &ms.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>()).unwrap()
}

fn thinking(ms: u64) -> Load {
    let think = Spread::Constant(Span::from_millis(ms));
    Load { arrivals: Arrivals::Users { count: 30, spawn_rate: 10.0, think }, ..Load::users(30, 10.0) }
}

/// How often the other of two kinds of answers comes.
fn share(of: Spread) -> (Span, Span, f64) {
    let Spread::Bimodal(usual, other, share) = of else { panic!("two kinds of answers") };
    (usual, other, share)
}

#[test]
fn a_response_that_streams_is_timed_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let part = Duration::from_millis(40);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            for text in ["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "ab", "cd"] {
                let _ = stream.write_all(text.as_bytes());
                std::thread::sleep(part);
            }
        }
    });
    let took = took(&Load::users(1, 1.0), address).unwrap();
    assert!(!took.is_empty() && took.iter().all(|took| *took >= 2 * part), "{took:?}");
    assert_eq!(ask_upgrade(&Load::users(1, 1.0), address, WITHIN), None, "it is no load of WebSockets");
}

/// Where what stands behind answers so by itself, nothing of the product is why.
#[test]
fn a_backend_that_answers_only_failures_is_told_as_that() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {
                let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            }
        }
    });
    let backend = Backend::Kept(Behind::default(), vec![Endpoint::Tcp(address)]);
    let Unloaded { limits, told, .. } = unloaded(&Load::users(1, 1.0), &backend);
    let told = told.unwrap();
    assert!(limits.is_empty() && told.starts_with(&format!("{address} was asked ")), "{told}");
    assert!(told.contains("by itself; all of these failed: ") && told.ends_with(" answered 404"), "{told}");
}

#[test]
fn pauses_are_told_by_the_time_they_take() {
    let (ms, busy) = (Span::from_millis, thinking(0));
    assert_eq!(of(&busy, &[12, 10, 30, 25]), Spread::Constant(ms(10)), "it varies, but is never slow");
    assert_eq!(of(&busy, &[10, 10, 10, 900]), Spread::Constant(ms(10)), "once is chance");
    let mut stalls = vec![10; 200];
    stalls.extend([900, 800]);
    let (usual, other, _) = share(of(&busy, &stalls));
    assert_eq!((usual, other), (ms(10), ms(800)));
}

#[test]
fn a_backend_that_warms_up_is_not_slow_by_itself() {
    let ms = |all: &[u64]| all.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>();
    let split = |all: &[u64]| {
        let all = ms(all);
        let (warm, took) = warmed_up(&all);
        (warm.len(), took.len())
    };
    let cold = [vec![1_000; 3], vec![20; 30]].concat();
    assert_eq!(split(&cold), (3, 30));
    assert_eq!(of(&thinking(0), &cold[3..]), Spread::Constant(Span::from_millis(20)));
    assert_eq!(split(&[20, 20, 20, 20, 1_000, 20]), (0, 6), "not the first");
    assert_eq!(split(&[1_000; 6]), (0, 6), "always");
    assert_eq!(split(&[12, 10, 30, 25]), (0, 4));
}

#[test]
fn a_pause_is_met_by_no_more_requests_than_come_between_two() {
    // Two pauses in four seconds: a user who asks every 10 ms has 200 answers between them, one who thinks for 200 ms nine or ten.
    let stalls = |usual: usize| [vec![10; usual], vec![900, 800]].concat();
    let (_, _, seldom) = share(of(&thinking(0), &stalls(200)));
    assert!((0.004..0.006).contains(&seldom), "one request in 200: no p99 is broken by that: {seldom}");
    let (_, _, often) = share(of(&thinking(200), &stalls(20)));
    assert!((0.08..0.1).contains(&often), "{often}");
}

#[test]
fn answers_that_are_slow_at_random_are_no_more_than_were_seen() {
    let mixed = [vec![10; 90], vec![1_000; 10]].concat();
    assert!(share(of(&thinking(0), &mixed)).2 <= 0.1);
    assert!(
        share(of(&thinking(5_000), &mixed)).2 <= 0.1,
        "ninety of a hundred take 10 ms, however seldom they are asked"
    );
}
