use proptest::prelude::*;

use super::*;
use crate::effort::Effort;
use crate::encode::encode;

fn coded(bytes: &[u8], coding: ContentCoding) -> Vec<u8> {
    encode(bytes, coding, Effort::Quick, &|| true).unwrap()
}

fn check(coded: &[u8], coding: ContentCoding, original: &[u8], expected: bool, what: &str) {
    let right = decodes_to(&mut &*coded, coding, original);
    assert_eq!(right, expected, "{coding:?} {what}");
    let decoded = decode(coded, coding, original.len());
    assert_eq!(
        decoded.as_deref() == Some(original),
        expected,
        "{coding:?} {what}"
    );
}

#[test]
fn what_decodes_to_the_original_is_right_and_nothing_else() {
    for coding in ContentCoding::CODED {
        for length in [0, 1, 1000, 300_000] {
            let original: Vec<u8> = (0..length).map(|n: u32| (n / 7).to_le_bytes()[0]).collect();
            let right = coded(&original, coding);
            let check = |what: &str, bytes: &[u8], expected: bool| {
                check(
                    bytes,
                    coding,
                    &original,
                    expected,
                    &format!("{length} {what}"),
                );
            };
            check("whole", &right, true);
            check("nothing", b"", false);
            check("another", &coded(b"another", coding), false);
            check("cut", &right[..right.len() - 1], false);
            check("none", b"no such coding", false);
            check("trailing", &[&right[..], b"trailing"].concat(), false);
            let mut other = original.clone();
            other.push(1);
            check("longer", &coded(&other, coding), false);
            other.truncate(other.len().saturating_sub(2));
            if length > 0 {
                check("shorter", &coded(&other, coding), false);
            }
        }
    }
}

#[test]
fn identity_is_nothing_that_is_decoded() {
    check(
        b"bytes",
        ContentCoding::Identity,
        b"bytes",
        false,
        "identity",
    );
}

#[test]
fn a_bomb_is_decoded_no_further_than_the_bound() {
    let zeros = vec![0; 50_000_000];
    for coding in [ContentCoding::Zstd, ContentCoding::Gzip] {
        let bomb = coded(&zeros, coding);
        assert_eq!(decode(&bomb, coding, 10), None);
        assert!(!decodes_to(&mut &*bomb, coding, &[0; 10]));
    }
}

#[test]
fn windows_beyond_what_browsers_take_are_refused() {
    let original = vec![7; 100_000];
    let brotli = |large_window: bool, lgwin: i32| {
        let mut coded = Vec::new();
        let params = brotli::enc::BrotliEncoderParams {
            large_window,
            lgwin,
            ..Default::default()
        };
        brotli::BrotliCompress(&mut &*original, &mut coded, &params).unwrap();
        coded
    };
    check(
        &brotli(false, 24),
        ContentCoding::Brotli,
        &original,
        true,
        "24",
    );
    check(
        &brotli(true, 28),
        ContentCoding::Brotli,
        &original,
        false,
        "28",
    );
    let zstd = |window_log: u32| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        std::io::Write::write_all(&mut encoder, &original).unwrap();
        encoder.finish().unwrap()
    };
    check(&zstd(23), ContentCoding::Zstd, &original, true, "23");
    check(&zstd(24), ContentCoding::Zstd, &original, false, "24");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_bytes_break_a_decoder(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for coding in ContentCoding::CODED {
            if let Some(decoded) = decode(&bytes, coding, 1000) {
                prop_assert!(decoded.len() <= 1000);
                prop_assert!(decodes_to(&mut &*bytes, coding, &decoded));
            }
        }
    }

    #[test]
    fn one_wrong_byte_is_noticed(place in 0_usize..1000, with in 1_u8..) {
        let original: Vec<u8> = (0..5000_u32).map(|n| (n * n / 13).to_le_bytes()[0]).collect();
        for coding in ContentCoding::CODED {
            let mut coded = coded(&original, coding);
            let place = place % coded.len();
            coded[place] ^= with;
            // A byte of the head may mean nothing: then the content is the same.
            let decoded = decode(&coded, coding, original.len());
            let right = decodes_to(&mut &*coded, coding, &original);
            prop_assert_eq!(right, decoded.as_deref() == Some(&original[..]));
        }
    }
}
