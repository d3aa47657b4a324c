//! Tests of the order in which streams send.

use super::*;

const FRAME: usize = 16 * 1024;

fn priority(urgency: u8, incremental: bool) -> Priority {
    Priority {
        urgency,
        incremental,
    }
}

fn streams(of: &[(u32, Priority, u64)]) -> Streams<()> {
    let mut streams = Streams::new();
    for &(id, priority, left) in of {
        let state = StreamState::Sending { content: (), left };
        streams.open(id, state, true, 1 << 30, priority);
        streams.enqueue_id(id);
    }
    streams
}

/// Who sends, frame by frame, until all is sent.
fn order(streams: &mut Streams<()>) -> Vec<u32> {
    let mut order = Vec::new();
    while let Some(turn) = streams.next(FRAME, 1 << 20) {
        let id = streams.by_key(turn.key).unwrap().id;
        order.push(id);
        if streams.sent(turn, turn.most) {
            streams.close(id);
        }
    }
    order
}

#[test]
fn the_urgent_first_and_equals_in_their_order() {
    let length = 2 * FRAME as u64;
    let of = [
        (1, priority(5, false), length),
        (3, priority(3, false), length),
        (5, priority(0, false), length),
        (7, priority(3, false), length),
    ];
    assert_eq!(order(&mut streams(&of)), [5, 5, 3, 3, 7, 7, 1, 1]);
}

#[test]
fn incremental_ones_alternate_and_large_ones_let_others_pass() {
    let length = 3 * FRAME as u64;
    let of = [
        (1, priority(3, true), length),
        (3, priority(3, true), length),
    ];
    assert_eq!(order(&mut streams(&of)), [1, 3, 1, 3, 1, 3]);
    let large = PORTION + 1;
    let of = [(1, priority(3, false), large), (3, priority(3, false), 1)];
    assert_eq!(order(&mut streams(&of)), [1, 1, 1, 1, 3, 1]);
}

#[test]
fn a_changed_priority_moves() {
    let of = [
        (1, priority(3, false), 1),
        (3, priority(3, false), 1),
        (5, priority(4, false), 1),
    ];
    let mut streams = streams(&of);
    streams.prioritise(1, priority(7, false));
    streams.prioritise(5, priority(2, false));
    streams.prioritise(5, priority(4, false));
    streams.prioritise(5, priority(2, true));
    streams.prioritise(99, priority(0, false));
    assert_eq!(order(&mut streams), [5, 3, 1]);
    assert_eq!(streams.len(), 0);
}

#[test]
fn windows_and_stalls() {
    let mut streams = streams(&[(1, priority(3, false), 10), (3, priority(3, false), 10)]);
    streams.get(1).unwrap().window = 4;
    let turn = streams.next(FRAME, 1 << 20).unwrap();
    assert_eq!((turn.key, turn.most), (0, 4));
    assert!(!streams.sent(turn, 4));
    // The first has no window left.
    let turn = streams.next(3, 1 << 20).unwrap();
    assert_eq!((turn.key, turn.most), (1, 3));
    streams.stall(turn);
    assert_eq!(streams.next(FRAME, 1 << 20), None);
    streams.unstall();
    assert_eq!(streams.next(FRAME, 1 << 20).map(|turn| turn.key), Some(1));
    assert!(streams.widen(2, 1 << 31));
    let turn = streams.next(FRAME, 1 << 20).unwrap();
    assert!(streams.sent(turn, 10));
    assert!(streams.close(3).is_some() && streams.close(3).is_none());
    assert_eq!(
        streams
            .next(FRAME, 1 << 20)
            .map(|turn| (turn.key, turn.most)),
        Some((0, 2))
    );
    assert!(!streams.widen(i64::from(u32::MAX), 1 << 31));
    assert_eq!(streams.next(0, 1 << 20), None);
    assert_eq!(streams.sending().count(), 1);
    assert_eq!(streams.drain().count(), 1);
    assert!(streams.next(FRAME, 1 << 20).is_none());
    assert_eq!(streams.sending().count(), 0);
}
