//! Tests of the limits on one client, and that ordinary clients keep within them.

use core::time::Duration;

use salver_semantics::LeastRate;

use super::*;
use crate::connection::goaway::LAST_PING;

#[test]
fn the_end_is_announced_first_and_its_stream_never_goes_up() {
    let mut client = Client::new();
    client.send(&get(1));
    client.connection.announce_goaway(&mut client.out);
    client.connection.announce_goaway(&mut client.out);
    assert_eq!(client.said(), ["GOAWAY 2147483647 0", "PING 100"]);
    // What was on its way is answered.
    assert_eq!(client.send(&get(3)).len(), 1);
    assert!(!client.connection.knows_goaway());
    client.send(&frame(kind::PING, flag::ACK, 0, LAST_PING));
    assert!(client.connection.knows_goaway());
    client.connection.go_away(&mut client.out);
    assert_eq!(client.said(), ["GOAWAY 3 0"]);
    client.send(&[get(5), get(7)].concat());
    // An error of the connection: the client sends 5 and 7 again elsewhere all the same.
    assert_eq!(client.send(&frame(kind::PING, 0, 1, &[0; 8])), ["ended"]);
    assert_eq!(client.said(), ["GOAWAY 3 1"]);
}

#[test]
fn a_window_may_be_given_back_in_small_pieces_for_what_was_sent_alone() {
    let updates = |client: &mut Client, count: usize| {
        let pair = [
            number(kind::WINDOW_UPDATE, 0, 512),
            number(kind::WINDOW_UPDATE, 1, 512),
        ];
        client.send(&pair.concat().repeat(count))
    };
    let mut client = Client::new();
    client.send(&get(1));
    client.respond(1, 64 << 20);
    let mut sent = 0;
    while sent < 64 << 20 {
        while let Some(turn) = client.connection.next_turn() {
            sent += turn.most;
            client
                .connection
                .send(turn, turn.most, &mut Vec::new(), &mut Vec::new());
        }
        assert!(
            updates(&mut client, 65_535 / 512).is_empty(),
            "after {sent}"
        );
    }
    client.out.clear();
    // What nothing was sent for leads to nothing.
    assert_eq!(updates(&mut client, 1000), ["ended"]);
    assert_eq!(client.said(), ["GOAWAY 1 11"]);
}

#[test]
fn whoever_takes_answers_may_withdraw_others() {
    let withdrawn = |answered: u32| {
        let mut client = Client::new();
        (0..20_000u32).step_by(4).all(|n| {
            let reset = number(kind::RST_STREAM, 2 * n + 1, 8);
            client.send(&[get(2 * n + 1), reset].concat());
            for of in 1..=answered {
                client.send(&get(2 * (n + of) + 1));
                client.respond(2 * (n + of) + 1, 0);
            }
            !client
                .said()
                .iter()
                .any(|frame| frame.starts_with("GOAWAY"))
        })
    };
    assert!(withdrawn(1));
    assert!(!withdrawn(0), "5,000 in one second");
}

#[test]
fn streams_whose_windows_stay_shut_are_reset_and_then_the_connection_ends() {
    let second = Duration::from_secs(1);
    let rate = LeastRate {
        patience: second * 10,
        bytes_per_second: 100,
    };
    let mut client = Client::new();
    client.send(&settings(&[(setting::INITIAL_WINDOW_SIZE, 1)]));
    client.send(&[get(1), get(3)].concat());
    client.respond(1, 1000);
    client.respond(3, 1000);
    let stalled = |client: &mut Client, seconds: u32, widened: u32| {
        (0..seconds).any(|_| {
            // A byte a second is no progress for the one; the other is read.
            client.send(&number(kind::WINDOW_UPDATE, 1, 1));
            client.send(&number(kind::WINDOW_UPDATE, 3, widened));
            client.flow();
            let connection = &mut client.connection;
            let ended = connection.reset_stalled(&rate, second, &mut Vec::new());
            ended.is_ok_and(|contents| !contents.is_empty())
        })
    };
    assert!(!stalled(&mut client, 10, 100), "patience is for 10 s");
    assert!(stalled(&mut client, 2, 0), "and a little for the bytes");
    assert_eq!(client.connection.open_streams(), 0, "the other is whole");
    // A disk, or more urgent answers, are not the client's fault.
    let mut client = Client::new();
    client.send(&get(1));
    client.respond(1, 1 << 20);
    let connection = &mut client.connection;
    let mut check = |time| connection.reset_stalled(&rate, time, &mut Vec::new());
    assert!((0..100).all(|_| check(second) == Ok(vec![])));
    // Nothing at all may be sent.
    client.flow();
    let connection = &mut client.connection;
    let mut check = |time| connection.reset_stalled(&rate, time, &mut Vec::new());
    assert_eq!(check(Duration::ZERO), Ok(vec![]));
    assert_eq!(check(second * 9), Ok(vec![]));
    assert_eq!(check(second), Err(Stalled));
}
