//! HTTP/3: who gets how much of a connection.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::{Site, pattern, settings, trusting};
use crate::quic::raw::{get, outcome, send};
use crate::quic::{Served, endpoint, narrow, run, within};
use quinn::{RecvStream, TransportConfig};
use salver_assets::Config;
use tokio::task::LocalSet;

const LARGE: usize = 8 * 1024 * 1024;

fn site() -> Site {
    Site::with(&[("a", b"alpha"), ("large", &pattern(LARGE, 1))])
}

/// Reads a stream to its end, and counts.
async fn count(mut stream: RecvStream, counts: Rc<[Cell<usize>]>, at: usize) {
    while let Some(chunk) = within(stream.read_chunk(usize::MAX, true)).await.unwrap() {
        counts[at].set(counts[at].get() + chunk.bytes.len());
    }
}

/// Clients that grant much; little for all streams together; little for each.
fn transports() -> [TransportConfig; 3] {
    let mut connection = TransportConfig::default();
    connection.receive_window(256_000u32.into());
    [TransportConfig::default(), connection, narrow()]
}

#[test]
fn equal_downloads_get_equal_shares() {
    let site = site();
    // From memory, and by pieces from a file.
    for cache_max_file in [LARGE as u64, 1000] {
        let config = Config {
            cache_max_file,
            ..trusting()
        };
        let server = Served::with(&site, settings(), config);
        // With little room on each stream it is the client that chooses.
        for place in 0..2 {
            // A client that is kept from the core may ask for the last one when the first one has nearly come.
            let is_fair = (0..20).any(|_| {
                let transport = transports().into_iter().nth(place).unwrap();
                let got = run(LocalSet::new().run_until(shares(&server, transport)));
                println!("KiB when the first one ends: {got:?}");
                got[0] * 4 >= LARGE / 1024 * 3
            });
            assert!(is_fair, "none of twenty times");
        }
    }
}

/// How much of eight equal downloads has come when the first one ends, in KiB.
async fn shares(server: &Served, transport: TransportConfig) -> Vec<usize> {
    let quic = server.quic(&endpoint(), transport).await.unwrap();
    let counts: Rc<[Cell<usize>]> = (0..8).map(|_| Cell::default()).collect();
    let mut readers = Vec::new();
    let mut requests = Vec::new();
    for at in 0..8 {
        let (request, answer) = send(&quic, &get("/large", &[])).await;
        requests.push(request);
        let reading = count(answer, Rc::clone(&counts), at);
        readers.push(tokio::task::spawn_local(reading));
    }
    within(futures_first(&mut readers)).await;
    let mut got: Vec<usize> = counts.iter().map(|count| count.get() / 1024).collect();
    got.sort_unstable();
    for reader in readers {
        if !reader.is_finished() {
            within(reader).await.unwrap();
        }
    }
    got
}

/// Waits until one of them has ended.
async fn futures_first(readers: &mut [tokio::task::JoinHandle<()>]) {
    std::future::poll_fn(|context| {
        for reader in &mut *readers {
            if let std::task::Poll::Ready(ended) = std::pin::Pin::new(reader).poll(context) {
                ended.unwrap();
                return std::task::Poll::Ready(());
            }
        }
        std::task::Poll::Pending
    })
    .await;
}

#[test]
fn small_answers_do_not_wait_for_large_ones() {
    let site = site();
    let server = Served::with(&site, settings(), trusting());
    for transport in transports() {
        run(LocalSet::new().run_until(async {
            let quic = server.quic(&endpoint(), transport).await.unwrap();
            // From now on it is in memory.
            let (_send, answer) = send(&quic, &get("/a", &[])).await;
            assert_eq!(outcome(answer).await, Ok((200, b"alpha".to_vec())));
            let counts: Rc<[Cell<usize>]> = (0..50).map(|_| Cell::default()).collect();
            let mut requests = Vec::new();
            let total = || counts.iter().map(Cell::get).sum::<usize>();
            for at in 0..50 {
                let (request, answer) = send(&quic, &get("/large", &[])).await;
                requests.push(request);
                tokio::task::spawn_local(count(answer, Rc::clone(&counts), at));
            }
            // When all of them are well under way, and each time so many bytes later.
            let mut before = Vec::new();
            for round in 1..=40 {
                while total() < round * 50 * LARGE / 100 {
                    tokio::task::yield_now().await;
                }
                let begun = total();
                let (_send, answer) = send(&quic, &get("/a", &[])).await;
                assert_eq!(outcome(answer).await, Ok((200, b"alpha".to_vec())));
                before.push((total() - begun) / 1024);
            }
            before.sort_unstable();
            println!("KiB of others before a small one: {before:?}");
            assert!(
                before.last().is_some_and(|most| *most < 8 * 1024),
                "{before:?}"
            );
        }));
    }
}

#[test]
fn answers_that_are_not_read_hold_up_no_others() {
    let site = site();
    let server = Served::with(&site, settings(), trusting());
    run(async {
        let quic = server.quic(&endpoint(), narrow()).await.unwrap();
        let mut unread = Vec::new();
        for urgency in ["u=0", "u=3", "u=6"] {
            for _ in 0..30 {
                unread.push(send(&quic, &get("/large", &[("priority", urgency)])).await);
            }
        }
        let began = std::time::Instant::now();
        for _ in 0..3 {
            let (_send, answer) = send(&quic, &get("/a", &[("priority", "u=7")])).await;
            assert_eq!(outcome(answer).await, Ok((200, b"alpha".to_vec())));
            let (_send, answer) = send(&quic, &get("/large", &[("priority", "u=7")])).await;
            let (status, content) = outcome(answer).await.unwrap();
            assert_eq!((status, content.len()), (200, LARGE));
        }
        println!(
            "three downloads beside 90 that are not read: {:?}",
            began.elapsed()
        );
    });
}

#[test]
fn what_is_cancelled_while_it_waits_is_gone() {
    let site = site();
    let server = Served::with(&site, settings(), trusting());
    run(async {
        // All of the connection is held by the first answer, which is not read.
        let mut transport = TransportConfig::default();
        transport.receive_window(100_000u32.into());
        let quic = server.quic(&endpoint(), transport).await.unwrap();
        let (_send, mut first) = send(&quic, &get("/large", &[])).await;
        let mut begun = [0; 100];
        within(first.read_exact(&mut begun)).await.unwrap();
        // More than may be open at a time: none of them is answered, each makes room for another one.
        for _ in 0..300 {
            let (_send, mut receive) = send(&quic, &get("/large", &[])).await;
            receive.stop(quinn::VarInt::from_u32(0x10c)).unwrap();
        }
        drop(first);
        let (_send, answer) = send(&quic, &get("/a", &[])).await;
        assert_eq!(outcome(answer).await, Ok((200, b"alpha".to_vec())));
    });
}
