use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::decode::decodes_to;

/// Words in an order that is hard to guess.
fn text(length: usize) -> Vec<u8> {
    let words = [
        "salver", " serves", " files,", " each", " of", " them", " once.\n", " 42",
    ];
    let mut state = 7_u32;
    let mut text = Vec::with_capacity(length + 8);
    while text.len() < length {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.extend_from_slice(words[(state >> 29) as usize].as_bytes());
    }
    text.truncate(length);
    text
}

#[test]
fn every_coding_at_every_effort_decodes_to_the_original() {
    for length in [0, 1, 63, 5000, 30_000] {
        let original = text(length);
        for coding in ContentCoding::CODED {
            let mut lengths = Vec::new();
            for effort in [Effort::Quick, Effort::Best, Effort::Extreme] {
                let coded = encode(&original, coding, effort, &|| true).unwrap();
                assert!(
                    decodes_to(&mut &*coded, coding, &original),
                    "{coding:?} {effort:?} {length}"
                );
                let again = encode(&original, coding, effort, &|| true).unwrap();
                assert_eq!(coded, again, "{coding:?} {effort:?} {length}");
                lengths.push(coded.len());
            }
            // More effort is never for nothing.
            if length >= 5000 {
                assert!(
                    lengths.is_sorted_by(|one, other| one >= other),
                    "{coding:?} {lengths:?}"
                );
            }
        }
    }
}

#[test]
fn identity_is_the_bytes() {
    let made = encode(b"bytes", ContentCoding::Identity, Effort::Best, &|| true);
    assert_eq!(made.unwrap(), b"bytes");
}

#[test]
fn windows_have_all_and_no_more() {
    fn check(length: usize, expected: u32) {
        assert_eq!(brotli::window(length), expected, "{length}");
    }
    check(0, 16);
    check((1 << 16) - 16, 16);
    check((1 << 16) - 15, 17);
    check((1 << 20) - 16, 20);
    check(1 << 20, 21);
    check(1 << 24, 24);
    check(usize::MAX, 24);
}

/// RFC 9659: no window beyond 8 MiB, however long the content is.
#[test]
fn long_content_keeps_within_the_window_that_browsers_have() {
    let original = vec![b'a'; 20 << 20];
    let coded = encode(&original, ContentCoding::Zstd, Effort::Best, &|| true).unwrap();
    assert!(decodes_to(&mut &*coded, ContentCoding::Zstd, &original));
}

#[test]
fn what_is_no_longer_wanted_ends() {
    let original = text(1_000_000);
    for coding in ContentCoding::CODED {
        let never = encode(&original, coding, Effort::Quick, &|| false);
        assert!(matches!(never, Err(EncodeError::Cancelled)), "{coding:?}");
    }
    // One block is taken, and then no other.
    for coding in [ContentCoding::Brotli, ContentCoding::Zstd] {
        let asked = Cell::new(0);
        let wanted = || {
            asked.set(asked.get() + 1);
            asked.get() <= 2
        };
        let cancelled = encode(&original, coding, Effort::Quick, &wanted);
        assert!(
            matches!(cancelled, Err(EncodeError::Cancelled)),
            "{coding:?}"
        );
        assert_eq!(asked.get(), 4, "{coding:?}");
    }
}

/// Zopfli takes a million bytes at a time.
#[cfg(feature = "zopfli")]
#[test]
fn parts_of_zopfli_are_one_stream() {
    for length in [1_000_000, 1_000_001] {
        let original = vec![7; length];
        let coded = zopfli::encode(&original, &|| true).unwrap().unwrap();
        let coding = ContentCoding::Gzip;
        assert!(decodes_to(&mut &*coded, coding, &original), "{length}");
    }
    let asked = Cell::new(0);
    let wanted = || {
        asked.set(asked.get() + 1);
        asked.get() < 2
    };
    assert!(zopfli::encode(&vec![0; 3_000_000], &wanted).is_err());
    assert_eq!(asked.get(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        for coding in ContentCoding::CODED {
            for effort in [Effort::Quick, Effort::Best] {
                let coded = encode(&bytes, coding, effort, &|| true).unwrap();
                prop_assert!(decodes_to(&mut &*coded, coding, &bytes));
            }
        }
    }
}
