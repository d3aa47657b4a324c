//! What enters memory is decided by use: a scan does not push out what is hot, as it does with a
//! plain LRU. `examples/admission.rs` plays the same at full size and prints the rates.

#[path = "../../examples/admission.rs"]
mod experiment;

use experiment::{Setup, Trace, compare};

/// Percentage points, as a share.
const TWO_POINTS: f64 = 0.02;

#[test]
fn a_scan_leaves_the_hot_set_where_it_was_and_does_better_than_lru() {
    for exponent in [0.7, 0.9, 1.1] {
        for mixed in [true, false] {
            let trace = Trace::new(Setup {
                exponent,
                files: 2000,
                scanned: 10_000,
                longest: 128 * 1024,
                budget: 0.1,
                warm: 20_000,
                before: 20_000,
                after: 20_000,
                mixed,
                window: 1000,
                seed: 7,
            })
            .unwrap();
            let (engine, lru) = compare(&trace).unwrap();
            let what = format!("exponent {exponent}, mixed {mixed}: {engine:?}, LRU {lru:?}");
            let hot = engine.before.of_the_hot() - engine.right_after.of_the_hot();
            assert!(hot.abs() <= TWO_POINTS, "{what}");
            let all = engine.before.by_requests() - engine.right_after.by_requests();
            assert!(all <= TWO_POINTS, "{what}");
            assert!(
                engine.right_after.by_requests() > lru.right_after.by_requests()
                    && engine.right_after.by_bytes() > lru.right_after.by_bytes()
                    && engine.right_after.of_the_hot() > lru.right_after.of_the_hot(),
                "{what}"
            );
            // The scan does reach what LRU keeps: else nothing was shown.
            assert!(
                lru.right_after.of_the_hot() < lru.before.of_the_hot(),
                "{what}"
            );
        }
    }
}
