//! Tests of byte ranges.

use super::*;
use RangeOutcome::{Ignore, Multiple, Single, Unsatisfiable};
use proptest::prelude::*;

/// With a gap of 0, so that small numbers stay apart.
const APART: RangeLimits = RangeLimits {
    max_specs: 100,
    max_parts: 32,
    merge_gap: 0,
};

#[track_caller]
fn check(value: &str, length: u64, expected: RangeOutcome) {
    assert_eq!(
        evaluate_range(value.as_bytes(), length, &APART),
        expected,
        "{value:?} of {length}"
    );
}

#[test]
fn one_range() {
    check("bytes=0-0", 10, Single(0..1));
    check("bytes=0-9", 10, Single(0..10));
    check("bytes=0-4", 10, Single(0..5));
    check("bytes=4-4", 10, Single(4..5));
    check("bytes=9-9", 10, Single(9..10));
    check("bytes=0-", 10, Single(0..10));
    check("bytes=3-", 10, Single(3..10));
    check("bytes=9-", 10, Single(9..10));
    check("bytes=-1", 10, Single(9..10));
    check("bytes=-3", 10, Single(7..10));
    check("bytes=-10", 10, Single(0..10));
    // A last position beyond the end is the end; a suffix longer than the whole is the whole.
    check("bytes=0-10", 10, Single(0..10));
    check("bytes=5-999999", 10, Single(5..10));
    check("bytes=-11", 10, Single(0..10));
    check("bytes=-999999", 10, Single(0..10));
    check("bytes=0-0", 1, Single(0..1));
    check("bytes=-1", 1, Single(0..1));
    // Leading zeros are digits.
    check("bytes=000-004", 10, Single(0..5));
    check("bytes=-0003", 10, Single(7..10));
}

#[test]
fn white_space_and_empty_elements() {
    check(" bytes=0-1\t", 10, Single(0..2));
    check("bytes= 0-1", 10, Single(0..2));
    check("bytes=\t0-1\t", 10, Single(0..2));
    check("bytes=0-1,", 10, Single(0..2));
    check("bytes=,0-1", 10, Single(0..2));
    check("bytes=, ,\t,0-1,,", 10, Single(0..2));
    check("bytes=0-0 , 5-5", 10, Multiple(vec![0..1, 5..6]));
}

#[test]
fn the_unit() {
    for unit in ["bytes", "Bytes", "BYTES", "bYtEs"] {
        check(&format!("{unit}=0-1"), 10, Single(0..2));
    }
    for unit in [
        "",
        "byte",
        "bytess",
        "none",
        "items",
        "bytes ",
        "seconds",
        "\u{17f}bytes",
        "x-bytes",
    ] {
        check(&format!("{unit}=0-1"), 10, Ignore);
    }
}

#[test]
fn beyond_the_end() {
    check("bytes=10-", 10, Unsatisfiable);
    check("bytes=10-10", 10, Unsatisfiable);
    check("bytes=10-20", 10, Unsatisfiable);
    check("bytes=11-", 10, Unsatisfiable);
    check("bytes=-0", 10, Unsatisfiable);
    check("bytes=-000", 10, Unsatisfiable);
    check("bytes=10-,11-,-0", 10, Unsatisfiable);
    // Only one of them has to be satisfiable.
    check("bytes=10-,0-1", 10, Single(0..2));
    check("bytes=0-1,10-", 10, Single(0..2));
    check("bytes=-0,-1", 10, Single(9..10));
    check("bytes=20-30,0-0,10-,5-5,-0", 10, Multiple(vec![0..1, 5..6]));
}

#[test]
fn an_empty_representation() {
    check("bytes=0-", 0, Unsatisfiable);
    check("bytes=0-0", 0, Unsatisfiable);
    check("bytes=0-9", 0, Unsatisfiable);
    check("bytes=5-", 0, Unsatisfiable);
    check("bytes=-0", 0, Unsatisfiable);
    check("bytes=-1", 0, Ignore);
    check("bytes=-500", 0, Ignore);
    check("bytes=0-,-1", 0, Ignore);
    check("bytes=-0,0-", 0, Unsatisfiable);
}

#[test]
fn syntax_errors() {
    for malformed in [
        "",
        " ",
        "bytes",
        "bytes=",
        "bytes= ",
        "bytes=,",
        "bytes=, ,",
        "bytes=-",
        "bytes=--",
        "bytes=--1",
        "bytes=1",
        "bytes=0",
        "bytes=a-b",
        "bytes=0-b",
        "bytes=a-9",
        "bytes=-a",
        "bytes=a-",
        "bytes=0-1-2",
        "bytes=0--1",
        "bytes=-1-",
        "bytes=+0-1",
        "bytes=0-+1",
        "bytes=0x0-0x9",
        "bytes=0.0-1",
        "bytes=1e0-5",
        "bytes=0 -1",
        "bytes=0- 1",
        "bytes=0 - 1",
        "bytes=- 1",
        "bytes=0\t-1",
        "bytes=0-1 2-3",
        "bytes=0-1;2-3",
        "bytes=0-1/10",
        "bytes 0-1",
        "bytes:0-1",
        "bytes =0-1",
        "bytes\t=0-1",
        "bytes==0-1",
        "=0-1",
        "0-1",
        "bytes=*",
        "bytes=\"0-1\"",
        "bytes=0-1,\"",
        "bytes=\u{661}-\u{662}",
        // Last before first.
        "bytes=1-0",
        "bytes=9-8",
        "bytes=20-10",
        "bytes=99999999999999999999999-99999999999999999999998",
        "bytes=18446744073709551616-18446744073709551615",
        "bytes=99999999999999999999999-0",
    ] {
        check(malformed, 10, Ignore);
        // One of them spoils the whole field, wherever it stands.
        if let Some(spec) = malformed.strip_prefix("bytes=")
            && !spec.trim_matches([' ', ',']).is_empty()
        {
            check(&format!("bytes=0-1,{spec}"), 10, Ignore);
            check(&format!("bytes={spec},0-1"), 10, Ignore);
        }
    }
}

#[test]
fn numbers_of_any_size() {
    let huge = "9".repeat(400);
    let padded = format!("{}5", "0".repeat(400));
    check(&format!("bytes=0-{huge}"), 10, Single(0..10));
    check(&format!("bytes=-{huge}"), 10, Single(0..10));
    check(&format!("bytes={huge}-"), 10, Unsatisfiable);
    check(&format!("bytes={huge}-{huge}"), 10, Unsatisfiable);
    check(&format!("bytes={padded}-{padded}"), 10, Single(5..6));
    check(&format!("bytes=4-{padded}"), 10, Single(4..6));
    check(&format!("bytes={padded}-4"), 10, Ignore);
    check(
        "bytes=18446744073709551615-18446744073709551616",
        10,
        Unsatisfiable,
    );
    // Beyond 32 bits, and at the end of 64.
    let large = 5_000_000_000_000;
    check(
        "bytes=4294967296-4294967297",
        large,
        Single(4_294_967_296..4_294_967_298),
    );
    check("bytes=2147483648-", large, Single(2_147_483_648..large));
    check("bytes=-1", large, Single(large - 1..large));
    let max = u64::MAX;
    check("bytes=0-", max, Single(0..max));
    check("bytes=0-18446744073709551615", max, Single(0..max));
    check("bytes=18446744073709551614-", max, Single(max - 1..max));
    check("bytes=18446744073709551615-", max, Unsatisfiable);
    check("bytes=-18446744073709551615", max, Single(0..max));
    check(&format!("bytes=-{huge}"), max, Single(0..max));
}

#[test]
fn several_ranges() {
    check("bytes=0-0,2-2", 10, Multiple(vec![0..1, 2..3]));
    check("bytes=0-0,-1", 10, Multiple(vec![0..1, 9..10]));
    // In the client's order.
    check("bytes=8-8,0-0,4-4", 10, Multiple(vec![8..9, 0..1, 4..5]));
    check("bytes=-1,0-0", 10, Multiple(vec![9..10, 0..1]));
    // Overlapping, touching, equal, enclosing: one.
    check("bytes=0-4,3-6", 10, Single(0..7));
    check("bytes=3-6,0-4", 10, Single(0..7));
    check("bytes=0-4,5-6", 10, Single(0..7));
    check("bytes=5-6,0-4", 10, Single(0..7));
    check("bytes=1-2,1-2", 10, Single(1..3));
    check("bytes=0-,0-,0-", 10, Single(0..10));
    check("bytes=0-9,3-4", 10, Single(0..10));
    check("bytes=3-4,0-9,-1", 10, Single(0..10));
    check("bytes=5-,-5", 10, Single(5..10));
    // One bridges two others.
    check("bytes=0-1,4-5,1-4", 10, Single(0..6));
    // The place of a merged range is that of its first member.
    check(
        "bytes=8-8,0-1,4-4,1-2",
        10,
        Multiple(vec![8..9, 0..3, 4..5]),
    );
    check(
        "bytes=4-4,0-0,5-5,9-9",
        10,
        Multiple(vec![4..6, 0..1, 9..10]),
    );
    check(
        "bytes=5-5,0-0,4-4,9-9",
        10,
        Multiple(vec![4..6, 0..1, 9..10]),
    );
}

#[test]
fn near_ranges_are_merged() {
    fn check(gap: u64, value: &str, expected: RangeOutcome) {
        let limits = RangeLimits {
            merge_gap: gap,
            ..RangeLimits::default()
        };
        assert_eq!(
            evaluate_range(value.as_bytes(), 10_000, &limits),
            expected,
            "{gap} {value}"
        );
    }
    // 79 and 80 bytes between.
    check(80, "bytes=0-0,80-80", Single(0..81));
    check(80, "bytes=0-0,81-81", Multiple(vec![0..1, 81..82]));
    check(80, "bytes=81-81,0-0", Multiple(vec![81..82, 0..1]));
    check(80, "bytes=0-0,70-70,140-140", Single(0..141));
    check(0, "bytes=0-0,1-1", Single(0..2));
    check(0, "bytes=0-0,2-2", Multiple(vec![0..1, 2..3]));
    check(1, "bytes=0-0,1-1", Single(0..2));
    check(1, "bytes=0-0,2-2", Multiple(vec![0..1, 2..3]));
    check(2, "bytes=0-0,2-2", Single(0..3));
    check(u64::MAX, "bytes=0-0,-1", Single(0..10_000));
    assert_eq!(
        RangeLimits::default(),
        RangeLimits {
            max_specs: 100,
            max_parts: 32,
            merge_gap: 0
        }
    );
}

#[test]
fn limits() {
    fn specs(number: u64, step: u64) -> String {
        let specs: Vec<String> = (0..number)
            .map(|n| format!("{}-{}", n * step, n * step))
            .collect();
        format!("bytes={}", specs.join(","))
    }
    fn check(value: &str, limits: RangeLimits, expected: Option<usize>) {
        let parts = match evaluate_range(value.as_bytes(), 1 << 40, &limits) {
            Ignore => None,
            Single(_) => Some(1),
            Multiple(parts) => Some(parts.len()),
            Unsatisfiable => Some(0),
        };
        assert_eq!(parts, expected, "{value} {limits:?}");
    }
    let limits = RangeLimits::default();
    check(&specs(32, 1000), limits, Some(32));
    check(&specs(33, 1000), limits, None);
    check(&specs(100, 1), limits, Some(1));
    check(&specs(101, 1), limits, None);
    check(&specs(1000, 2), limits, None);
    check(&specs(1000, 1000), limits, None);
    // Unsatisfiable ones and equal ones count as specs, empty elements don't.
    check(&format!("bytes=0-0{}", ",-0".repeat(99)), limits, Some(1));
    check(&format!("bytes=0-0{}", ",-0".repeat(100)), limits, None);
    check(&format!("bytes={}", ["0-"; 100].join(",")), limits, Some(1));
    check(&format!("bytes={}", ["0-"; 101].join(",")), limits, None);
    check(&format!("bytes={}", ["-0"; 100].join(",")), limits, Some(0));
    check(&format!("bytes=0-0{}", ",".repeat(5000)), limits, Some(1));
    // Narrow limits.
    let narrow = |max_specs, max_parts| RangeLimits {
        max_specs,
        max_parts,
        ..APART
    };
    check("bytes=0-0", narrow(1, 1), Some(1));
    check("bytes=0-0,5-5", narrow(1, 1), None);
    check("bytes=0-0,5-5", narrow(2, 1), None);
    check("bytes=0-0,1-1", narrow(2, 1), Some(1));
    check("bytes=0-0,5-5", narrow(2, 2), Some(2));
    check("bytes=0-0", narrow(0, 0), None);
}

#[test]
fn the_field_of_the_answer() {
    fn check(range: Range<u64>, length: u64, expected: &str) {
        assert_eq!(content_range(&range, length), expected);
    }
    check(0..500, 1234, "bytes 0-499/1234");
    check(0..1, 1, "bytes 0-0/1");
    check(734..1234, 1234, "bytes 734-1233/1234");
    check(
        0..u64::MAX,
        u64::MAX,
        "bytes 0-18446744073709551614/18446744073709551615",
    );
    assert_eq!(content_range_unsatisfied(1234), "bytes */1234");
    assert_eq!(content_range_unsatisfied(0), "bytes */0");
}

/// The bytes of a small representation that a range-set names, told one by one.
fn named_bytes(specs: &[(Option<u64>, Option<u64>)], length: u64) -> Vec<bool> {
    (0..length)
        .map(|at| {
            specs.iter().any(|spec| match *spec {
                (Some(first), last) => first <= at && last.is_none_or(|last| at <= last),
                (None, suffix) => suffix.is_some_and(|suffix| at + suffix >= length),
            })
        })
        .collect()
}

/// A valid range-spec with small numbers.
fn spec() -> impl Strategy<Value = (Option<u64>, Option<u64>)> {
    prop_oneof![
        (0_u64..40, 0_u64..40).prop_map(|(first, more)| (Some(first), Some(first + more))),
        (0_u64..40).prop_map(|first| (Some(first), None)),
        (0_u64..40).prop_map(|suffix| (None, Some(suffix))),
    ]
}

fn written(specs: &[(Option<u64>, Option<u64>)]) -> String {
    let number = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
    let specs: Vec<String> = specs
        .iter()
        .map(|(first, last)| format!("{}-{}", number(*first), number(*last)))
        .collect();
    format!("bytes={}", specs.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Without gaps to fill, exactly the named bytes are sent, each once.
    #[test]
    fn exactly_the_named_bytes(specs in prop::collection::vec(spec(), 1..8), length in 1_u64..50) {
        let named = named_bytes(&specs, length);
        let parts = match evaluate_range(written(&specs).as_bytes(), length, &APART) {
            Ignore => return Err(TestCaseError::fail("valid and within the limits")),
            Unsatisfiable => vec![],
            Single(range) => vec![range],
            Multiple(parts) => {
                prop_assert!(parts.len() > 1);
                parts
            }
        };
        let mut times = vec![0; named.len()];
        for part in &parts {
            prop_assert!(part.start < part.end && part.end <= length);
            for at in part.clone() {
                times[usize::try_from(at).unwrap()] += 1;
            }
        }
        let expected: Vec<i32> = named.iter().map(|named| i32::from(*named)).collect();
        prop_assert_eq!(times, expected);
    }

    /// With gaps to fill, parts are at least that far apart, and nothing named is missing.
    #[test]
    fn parts_keep_their_distance(
        specs in prop::collection::vec(spec(), 1..8),
        length in 1_u64..80,
        merge_gap in 0_u64..20,
    ) {
        let limits = RangeLimits { merge_gap, ..APART };
        if let Multiple(mut parts) = evaluate_range(written(&specs).as_bytes(), length, &limits) {
            let named = named_bytes(&specs, length);
            for (at, named) in (0..length).zip(named) {
                prop_assert!(!named || parts.iter().any(|part| part.contains(&at)));
            }
            parts.sort_by_key(|part| part.start);
            for pair in parts.windows(2) {
                prop_assert!(pair[1].start - pair[0].end >= merge_gap.max(1));
            }
        }
    }

    #[test]
    fn nothing_panics(value in prop::collection::vec(any::<u8>(), 0..64), length in any::<u64>()) {
        let _ = evaluate_range(&value, length, &RangeLimits::default());
    }

    #[test]
    fn whatever_is_sent_lies_within(value in "bytes=[0-9, -]{0,60}", length in any::<u64>()) {
        let parts = match evaluate_range(value.as_bytes(), length, &RangeLimits::default()) {
            Ignore | Unsatisfiable => vec![],
            Single(range) => vec![range],
            Multiple(parts) => parts,
        };
        for part in parts {
            prop_assert!(part.start < part.end && part.end <= length);
        }
    }
}
