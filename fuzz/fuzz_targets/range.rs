//! Range: whatever is selected lies within the representation, and is what a slow reading of the
//! field selects.
#![no_main]

use std::ops::Range;

use libfuzzer_sys::fuzz_target;
use salver_semantics::{RangeLimits, RangeOutcome, evaluate_range};

fuzz_target!(|data: &[u8]| {
    let (length, value) = data.split_first_chunk::<8>().unwrap_or((&[0; 8], data));
    let length = u64::from_le_bytes(*length);
    let limits = RangeLimits::default();
    // Any length, and one that short positions lie around.
    for length in [length, length % 1000] {
        let outcome = evaluate_range(value, length, &limits);
        let asked = positions(value);
        match &outcome {
            RangeOutcome::Ignore => {}
            RangeOutcome::Unsatisfiable => {
                let asked = asked.expect("what is not understood is ignored");
                assert!(asked.iter().all(|spec| satisfy(spec, length).is_none()));
            }
            RangeOutcome::Single(range) => {
                let asked = asked.expect("what is not understood is ignored");
                check_covered(&asked, std::slice::from_ref(range), length);
            }
            RangeOutcome::Multiple(ranges) => {
                assert!((2..=limits.max_parts).contains(&ranges.len()));
                let mut sorted = ranges.clone();
                sorted.sort_by_key(|range| range.start);
                assert!(
                    sorted.windows(2).all(|pair| pair[0].end < pair[1].start),
                    "{ranges:?} overlap or touch"
                );
                let asked = asked.expect("what is not understood is ignored");
                assert!(asked.len() <= limits.max_specs);
                check_covered(&asked, ranges, length);
            }
        }
        // The unit is no matter of case, and white space around the value no part of it.
        let padded = [b" \t", value, b" "].concat();
        assert_eq!(evaluate_range(&padded, length, &limits), outcome);
        if let Some((unit, rest)) = value.split_at_checked(5) {
            let louder = [&unit.to_ascii_uppercase(), rest].concat();
            assert_eq!(evaluate_range(&louder, length, &limits), outcome);
        }
    }
});

/// Exactly the bytes that are asked for are selected, in order of first mention.
fn check_covered(asked: &[Spec], selected: &[Range<u64>], length: u64) {
    let asked: Vec<_> = asked
        .iter()
        .filter_map(|spec| satisfy(spec, length))
        .collect();
    for range in selected {
        assert!(
            range.start < range.end && range.end <= length,
            "{range:?} of {length}"
        );
        // Each edge is an edge of something that was asked for.
        assert!(asked.iter().any(|asked| asked.start == range.start));
        assert!(asked.iter().any(|asked| asked.end == range.end));
    }
    let mut place = None;
    for asked in &asked {
        let holder = selected
            .iter()
            .position(|range| range.start <= asked.start && asked.end <= range.end)
            .expect("what is asked for is selected");
        if place.is_none_or(|place| holder > place) {
            assert_eq!(
                holder,
                place.map_or(0, |place| place + 1),
                "{asked:?} is out of order"
            );
            place = Some(holder);
        }
    }
    assert_eq!(
        place,
        Some(selected.len() - 1),
        "more is selected than was asked for"
    );
}

/// First and last position; the first is missing in a suffix, where the last is a length.
type Spec = (Option<u128>, Option<u128>);

fn satisfy(spec: &Spec, length: u64) -> Option<Range<u64>> {
    let length = u128::from(length);
    let (start, end) = match *spec {
        (Some(first), last) => (
            first,
            last.map_or(length, |last| length.min(last.saturating_add(1))),
        ),
        (None, suffix) => (length.saturating_sub(suffix?), length),
    };
    (start < end).then(|| u64::try_from(start).unwrap()..u64::try_from(end).unwrap())
}

/// The range-specs by the grammar of RFC 9110 section 14.1.1, slowly; `None` if it doesn't fit.
fn positions(value: &[u8]) -> Option<Vec<Spec>> {
    let is_ows = |char: char| char == ' ' || char == '\t';
    let value = std::str::from_utf8(value).ok()?.trim_matches(is_ows);
    let (unit, set) = value.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let number = |digits: &str| -> Option<Option<u128>> {
        if digits.is_empty() {
            return Some(None);
        }
        let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        // As many digits as there are; what is too large for this is far beyond every length.
        all_digits.then(|| Some(digits.parse().unwrap_or(u128::MAX)))
    };
    let mut specs = Vec::new();
    for spec in set.split(',').map(|spec| spec.trim_matches(is_ows)) {
        if spec.is_empty() {
            continue;
        }
        let (first, last) = spec.split_once('-')?;
        let spec = (number(first)?, number(last)?);
        match spec {
            (None, None) => return None,
            (Some(first), Some(last)) if first > last => return None,
            _ => specs.push(spec),
        }
    }
    Some(specs)
}
