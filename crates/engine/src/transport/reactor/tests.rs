use super::*;
use std::cell::Cell;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

fn pair() -> (Source<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (Source::new(ours).unwrap(), theirs)
}

/// Reads all that comes until the end; how often it was ready.
async fn read_to_end(source: Source<UnixStream>, all: Rc<RefCell<Vec<u8>>>) -> usize {
    let mut times = 0;
    loop {
        let mut guard = poll_fn(|cx| source.poll_read_ready(cx)).await;
        times += 1;
        let mut buffer = [0; 8];
        match source.get_ref().read(&mut buffer) {
            Ok(0) => return times,
            Ok(n) => all.borrow_mut().extend_from_slice(&buffer[..n]),
            Err(e) => {
                assert_eq!(e.kind(), io::ErrorKind::WouldBlock);
                guard.clear_ready();
            }
        }
    }
}

#[test]
fn tasks_wait_for_what_they_read_and_notice_the_end() {
    let reactor = Reactor::new().unwrap();
    let all = Rc::new(RefCell::new(Vec::new()));
    reactor
        .block_on(async {
            let done = Rc::new(Cell::new(0));
            let mut peers = Vec::new();
            for _ in 0..3 {
                let (source, theirs) = pair();
                peers.push(theirs);
                let (all, done) = (Rc::clone(&all), Rc::clone(&done));
                spawn(async move {
                    read_to_end(source, all).await;
                    done.set(done.get() + 1);
                });
            }
            // The first has nothing to do until it is spoken to.
            for word in [b"ab", b"cd", b"ef"] {
                peers.iter_mut().for_each(|peer| peer.write_all(word).unwrap());
                yield_now().await;
            }
            drop(peers);
            while done.get() < 3 {
                yield_now().await;
            }
        })
        .unwrap();
    assert_eq!(all.borrow().len(), 18);
    assert_eq!(reactor.shared.sources.borrow().iter().flatten().count(), 0, "sources are forgotten with their tasks");
    assert_eq!(reactor.shared.free.borrow().len(), 3);
}

#[test]
fn numbers_are_used_again_and_late_wakers_do_no_harm() {
    let reactor = Reactor::new().unwrap();
    let polls = Rc::new(Cell::new(0));
    let kept = Rc::new(RefCell::new(None));
    let waits = |polls: &Rc<Cell<u32>>, until: u32| {
        let (polls, kept) = (Rc::clone(polls), Rc::clone(&kept));
        async move {
            poll_fn(|cx| {
                polls.set(polls.get() + 1);
                *kept.borrow_mut() = Some(cx.waker().clone());
                if polls.get() >= until { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    };
    reactor
        .block_on(async {
            spawn(waits(&polls, 1));
            yield_now().await;
            let late = kept.borrow_mut().take().unwrap();
            assert_eq!(polls.get(), 1);
            late.wake_by_ref();
            yield_now().await;
            assert_eq!(polls.get(), 1, "it has ended");
            spawn(waits(&polls, 4));
            yield_now().await;
            assert_eq!(polls.get(), 2);
            // The next task has its number.
            late.wake();
            yield_now().await;
            assert_eq!(polls.get(), 3);
            let own = kept.borrow_mut().take().unwrap();
            let other_thread = own.clone();
            std::thread::spawn(move || other_thread.wake()).join().unwrap();
            yield_now().await;
            assert_eq!(polls.get(), 3, "another thread has no say here");
            own.wake_by_ref();
            own.wake();
            yield_now().await;
            assert_eq!(polls.get(), 4, "woken twice, polled once");
        })
        .unwrap();
}

#[test]
fn readiness_lasts_until_it_is_cleared_and_the_end_lasts_for_ever() {
    let reactor = Reactor::new().unwrap();
    let ready = |source: &Source<UnixStream>| {
        let context = std::task::Context::from_waker(std::task::Waker::noop());
        source.poll_read_ready(&context).is_ready()
    };
    reactor
        .block_on(async {
            let (source, mut theirs) = pair();
            assert!(!ready(&source));
            theirs.write_all(b"x").unwrap();
            poll_fn(|cx| source.poll_read_ready(cx).map(drop)).await;
            assert!(ready(&source));
            let mut guard = poll_fn(|cx| source.poll_read_ready(cx)).await;
            assert!(!guard.is_read_closed());
            guard.clear_ready();
            assert!(!ready(&source));
            assert!(
                poll_fn(|cx| Poll::Ready(source.poll_write_ready(cx).is_ready())).await,
                "the other direction stays"
            );
            drop(theirs);
            let mut guard = poll_fn(|cx| source.poll_read_ready(cx)).await;
            guard.clear_ready();
            assert!(guard.is_read_closed() && ready(&source));
        })
        .unwrap();
}

#[test]
fn wakers_of_combinators_are_woken_too() {
    /// As futures do that poll others on their own account.
    struct Relay(std::task::Waker, std::sync::atomic::AtomicBool);
    impl std::task::Wake for Relay {
        fn wake(self: std::sync::Arc<Self>) {
            self.1.store(true, std::sync::atomic::Ordering::Relaxed);
            self.0.wake_by_ref();
        }
    }
    let reactor = Reactor::new().unwrap();
    reactor
        .block_on(async {
            let (source, mut theirs) = pair();
            let own = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
            let relay = std::sync::Arc::new(Relay(own, false.into()));
            let waker = std::task::Waker::from(std::sync::Arc::clone(&relay));
            let theirs_context = std::task::Context::from_waker(&waker);
            assert!(source.poll_read_ready(&theirs_context).is_pending());
            theirs.write_all(b"x").unwrap();
            poll_fn(
                |_| if relay.1.load(std::sync::atomic::Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending },
            )
            .await;
            assert!(source.poll_read_ready(&theirs_context).is_ready());
        })
        .unwrap();
}

#[test]
fn tasks_that_are_left_are_dropped_with_the_loop() {
    struct DropFlag(Rc<Cell<bool>>, Source<UnixStream>);
    impl Drop for DropFlag {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let told = Rc::new(Cell::new(false));
    let reactor = Reactor::new().unwrap();
    let inside = Rc::clone(&told);
    let peer = reactor
        .block_on(async {
            let (source, theirs) = pair();
            let holds = DropFlag(inside, source);
            spawn(async move {
                poll_fn(|cx| holds.1.poll_read_ready(cx).map(drop)).await;
            });
            yield_now().await;
            theirs
        })
        .unwrap();
    assert!(!told.get());
    drop(reactor);
    assert!(told.get());
    assert_eq!((&peer).read(&mut [0]).unwrap(), 0, "its descriptor is closed");
}

#[test]
fn a_source_that_is_always_ready_leaves_others_their_turn() {
    let reactor = Reactor::new().unwrap();
    reactor
        .block_on(async {
            let (source, mut theirs) = pair();
            theirs.write_all(b"never read").unwrap();
            spawn(poll_fn(move |cx| {
                loop {
                    // Nothing is read and nothing cleared: it is ready for ever.
                    if source.poll_read_ready(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
            }));
            // Without a budget this never comes back.
            for _ in 0..10 {
                yield_now().await;
            }
        })
        .unwrap();
}

#[test]
fn a_task_that_never_rests_does_not_keep_the_kernels_news_from_others() {
    let reactor = Reactor::new().unwrap();
    let polls = Rc::new(Cell::new(0));
    let counts = Rc::clone(&polls);
    reactor
        .block_on(async {
            let (flood, mut theirs) = pair();
            theirs.write_all(b"never read").unwrap();
            spawn(poll_fn(move |cx| {
                counts.set(counts.get() + 1);
                while flood.poll_read_ready(cx).is_ready() {}
                Poll::Pending
            }));
            // It is under way, and begins anew whenever it had its turn.
            while polls.get() < 3 {
                yield_now().await;
            }
            let (quiet, mut theirs) = pair();
            theirs.write_all(b"news").unwrap();
            let before = polls.get();
            poll_fn(|cx| quiet.poll_read_ready(cx).map(drop)).await;
            let meanwhile = polls.get() - before;
            assert!(meanwhile <= 4, "{meanwhile} turns of another before it was heard of");
        })
        .unwrap();
}
