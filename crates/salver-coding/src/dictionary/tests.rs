use std::cell::Cell;

use proptest::prelude::*;

use super::encode::zstd_window;
use super::*;
use crate::EncodeError;

/// Bytes that nothing can guess.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        bytes.extend_from_slice(&(state ^ (state >> 29)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn coded(bytes: &[u8], dictionary: &[u8], coding: DictionaryCoding) -> Vec<u8> {
    encode_with_dictionary(bytes, &Dictionary::new(dictionary), coding, &|| true).unwrap()
}

#[track_caller]
fn check(
    coded: &[u8],
    dictionary: &Dictionary<'_>,
    coding: DictionaryCoding,
    original: &[u8],
    expected: Result<(), DictionaryError>,
) {
    let decoded = decode_with_dictionary(coded, dictionary, coding, original.len());
    let wanted = expected.as_ref().map(|()| original);
    assert_eq!(decoded.as_deref(), wanted, "{coding:?}");
    let right = decodes_to_with_dictionary(coded, dictionary, coding, original);
    assert_eq!(right, expected.is_ok(), "{coding:?}");
}

#[test]
fn a_coding_decodes_to_the_original_with_its_dictionary() {
    for coding in DictionaryCoding::ALL {
        for before in [1, 7, 1000, 70_000] {
            let before = noise(before, 1);
            for length in [0, 1, 100, 70_000, 300_000] {
                let mut original = noise(length, 2);
                let same = before.len().min(length / 2);
                original[..same].copy_from_slice(&before[..same]);
                let made = coded(&original, &before, coding);
                assert_eq!(made, coded(&original, &before, coding));
                check(&made, &Dictionary::new(&before), coding, &original, Ok(()));
                // The head, the half that nobody knows, and little else.
                assert!(
                    made.len() < 120 + (length - same) * 101 / 100,
                    "{coding:?} {}",
                    made.len()
                );
            }
        }
    }
}

/// RFC 9842 sections 4 and 5, with the SHA-256 of "abc".
#[test]
fn a_coding_begins_with_the_digest_of_its_dictionary() {
    let digest = b"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\
        \xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";
    for (coding, name, magic) in [
        (DictionaryCoding::Brotli, "dcb", &b"\xff\x44\x43\x42"[..]),
        (
            DictionaryCoding::Zstd,
            "dcz",
            &b"\x5e\x2a\x4d\x18\x20\x00\x00\x00"[..],
        ),
    ] {
        assert_eq!(coding.name(), name);
        let made = coded(b"abcabc", b"abc", coding);
        assert!(made.starts_with(&[magic, digest].concat()), "{made:x?}");
    }
}

/// What looks like a trained dictionary, or a serialized one, is raw all the same.
#[test]
fn a_dictionary_is_raw_whatever_it_begins_with() {
    for begin in [b"\x37\xa4\x30\xec", b"\x91\x00\x00\x00"] {
        let before = [&begin[..], &noise(5000, 3)].concat();
        for coding in DictionaryCoding::ALL {
            let made = coded(&before, &before, coding);
            assert!(made.len() < 100, "{coding:?} {}", made.len());
            check(&made, &Dictionary::new(&before), coding, &before, Ok(()));
        }
    }
}

#[test]
fn what_is_wrong_with_a_coding_is_told() {
    let (before, original) = (noise(3000, 4), noise(2000, 4));
    let right = Dictionary::new(&before);
    let other = noise(3000, 5);
    for coding in DictionaryCoding::ALL {
        let made = coded(&original, &before, coding);
        let check = |made: &[u8], dictionary: &Dictionary<'_>, expected| {
            check(made, dictionary, coding, &original, expected);
        };
        check(&made, &right, Ok(()));
        check(b"", &right, Err(DictionaryError::Head));
        check(&original, &right, Err(DictionaryError::Head));
        check(
            &made,
            &Dictionary::new(&other),
            Err(DictionaryError::Dictionary),
        );
        let head = magic(coding).len() + 32;
        for cut in 0..made.len() {
            let expected = match cut < head {
                true => DictionaryError::Head,
                false => DictionaryError::Stream,
            };
            check(&made[..cut], &right, Err(expected));
        }
        let trailing = |more: &[u8]| [&made[..], more].concat();
        check(&trailing(b"\0"), &right, Err(DictionaryError::Stream));
        // A second stream is none of it.
        check(
            &trailing(&made[head..]),
            &right,
            Err(DictionaryError::Stream),
        );
        check(
            &[&made[..head], b"no such stream"].concat(),
            &right,
            Err(DictionaryError::Stream),
        );
        // Of the same digest, so that nothing but the content tells.
        let liar = Dictionary::with_sha256(&other, *right.sha256());
        assert!(!decodes_to_with_dictionary(&made, &liar, coding, &original));
        let short = decode_with_dictionary(&made, &right, coding, original.len() - 1);
        assert_eq!(short, Err(DictionaryError::TooLong), "{coding:?}");
    }
}

#[test]
fn the_coding_of_another_name_is_not_taken() {
    let before = noise(500, 6);
    let dictionary = Dictionary::new(&before);
    let [brotli, zstd] = DictionaryCoding::ALL;
    check(
        &coded(&before, &before, zstd),
        &dictionary,
        brotli,
        &before,
        Err(DictionaryError::Head),
    );
    check(
        &coded(&before, &before, brotli),
        &dictionary,
        zstd,
        &before,
        Err(DictionaryError::Head),
    );
}

#[test]
fn windows_have_dictionary_and_content_within_what_clients_take() {
    fn check(length: usize, dictionary: usize, expected: u32) {
        assert_eq!(
            zstd_window(length, dictionary),
            expected,
            "{length} {dictionary}"
        );
        assert!(expected <= zstd_window_limit(dictionary));
    }
    check(0, 1, 10);
    check(1000, 24, 10);
    check(1000, 25, 11);
    check(4 << 20, 4 << 20, 23);
    check(8 << 20, 8 << 20, 23);
    // 1.25 times the dictionary is 16 MiB.
    check(16 << 20, (64 << 20) / 5, 23);
    check(16 << 20, (64 << 20) / 5 + 1, 24);
    check(usize::MAX, 100 << 20, 26);
    check(usize::MAX, usize::MAX, 27);
}

#[test]
fn windows_beyond_what_clients_take_are_refused() {
    let before = noise(1000, 7);
    let dictionary = Dictionary::new(&before);
    let original = vec![7; 100_000];
    let head = |coding: DictionaryCoding| [magic(coding), dictionary.sha256()].concat();
    for (window, expected) in [(23, Ok(())), (24, Err(DictionaryError::Stream))] {
        let out = head(DictionaryCoding::Zstd);
        let mut encoder = zstd::stream::write::Encoder::with_ref_prefix(out, 1, &before).unwrap();
        encoder.window_log(window).unwrap();
        std::io::Write::write_all(&mut encoder, &original).unwrap();
        let made = encoder.finish().unwrap();
        check(
            &made,
            &dictionary,
            DictionaryCoding::Zstd,
            &original,
            expected,
        );
    }
    for (large_window, expected) in [(false, Ok(())), (true, Err(DictionaryError::Stream))] {
        let params = brotli::enc::BrotliEncoderParams {
            large_window,
            lgwin: 24,
            ..Default::default()
        };
        let mut made = head(DictionaryCoding::Brotli);
        brotli::BrotliCompress(&mut &*original, &mut made, &params).unwrap();
        check(
            &made,
            &dictionary,
            DictionaryCoding::Brotli,
            &original,
            expected,
        );
    }
}

/// Beyond 8 MiB a window of its own would not reach that far back.
#[test]
fn all_of_a_long_dictionary_is_there() {
    let before = noise(9 << 20, 8);
    let original = [&before[..300_000], &before[(9 << 20) - 300_000..]].concat();
    for coding in DictionaryCoding::ALL {
        let made = coded(&original, &before, coding);
        assert!(made.len() < 400, "{coding:?} {}", made.len());
        check(&made, &Dictionary::new(&before), coding, &original, Ok(()));
    }
}

#[test]
fn dictionaries_that_encoders_do_not_take_are_errors() {
    for coding in DictionaryCoding::ALL {
        let made = encode_with_dictionary(b"bytes", &Dictionary::new(b""), coding, &|| true);
        assert!(matches!(made, Err(EncodeError::Failed(_))), "{coding:?}");
    }
    let long = vec![0; 48 << 20];
    let long = Dictionary::with_sha256(&long, [0; 32]);
    let made = encode_with_dictionary(b"bytes", &long, DictionaryCoding::Brotli, &|| true);
    assert!(matches!(made, Err(EncodeError::Failed(_))));
}

#[test]
fn what_is_no_longer_wanted_ends() {
    let (before, original) = (noise(1000, 9), noise(1_000_000, 10));
    let dictionary = Dictionary::new(&before);
    for coding in DictionaryCoding::ALL {
        for most in [0, 2] {
            let asked = Cell::new(0);
            let wanted = || {
                asked.set(asked.get() + 1);
                asked.get() <= most
            };
            let made = encode_with_dictionary(&original, &dictionary, coding, &wanted);
            assert!(matches!(made, Err(EncodeError::Cancelled)), "{coding:?}");
            assert!(asked.get() <= most + 2, "{coding:?} {}", asked.get());
        }
    }
}

#[test]
fn memory_grows_with_content_and_dictionary() {
    for coding in DictionaryCoding::ALL {
        let little = dictionary_peak_memory(coding, 1000, 1000);
        assert!(little < 64 << 20, "{coding:?} {little}");
        assert!(dictionary_peak_memory(coding, 8 << 20, 1000) > little);
        assert!(dictionary_peak_memory(coding, 1000, 8 << 20) > little);
        let most = dictionary_peak_memory(coding, usize::MAX, usize::MAX);
        assert!(most > 1 << 60, "{coding:?} {most}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_bytes_come_back_with_any_dictionary(
        bytes in proptest::collection::vec(0_u8..4, 0..2000),
        before in proptest::collection::vec(0_u8..4, 1..2000),
    ) {
        let dictionary = Dictionary::new(&before);
        for coding in DictionaryCoding::ALL {
            let made = coded(&bytes, &before, coding);
            let decoded = decode_with_dictionary(&made, &dictionary, coding, bytes.len());
            prop_assert_eq!(decoded.as_deref(), Ok(&bytes[..]));
        }
    }

    #[test]
    fn no_bytes_break_a_decoder(
        stream in proptest::collection::vec(any::<u8>(), 0..300),
        before in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let dictionary = Dictionary::new(&before);
        for coding in DictionaryCoding::ALL {
            let made = [magic(coding), dictionary.sha256(), &stream].concat();
            if let Ok(decoded) = decode_with_dictionary(&made, &dictionary, coding, 1000) {
                prop_assert!(decoded.len() <= 1000);
                prop_assert!(decodes_to_with_dictionary(&made, &dictionary, coding, &decoded));
            }
        }
    }

    #[test]
    fn one_wrong_byte_is_noticed(place in any::<prop::sample::Index>(), with in 1_u8..) {
        let before = noise(3000, 11);
        let original = [&before[500..2500], &noise(500, 12)].concat();
        let dictionary = Dictionary::new(&before);
        for coding in DictionaryCoding::ALL {
            let mut made = coded(&original, &before, coding);
            let place = place.index(made.len());
            made[place] ^= with;
            // A byte of the stream's head may mean nothing: then the content is the same.
            let decoded = decode_with_dictionary(&made, &dictionary, coding, original.len());
            let right = decodes_to_with_dictionary(&made, &dictionary, coding, &original);
            prop_assert_eq!(right, decoded.as_deref() == Ok(&original[..]));
            prop_assert!(!right || place >= magic(coding).len() + 32);
        }
    }
}
