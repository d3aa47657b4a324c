//! Codings against a dictionary: what decodes keeps within the bound and is what was verified; what is made comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use salver_coding::{
    Dictionary, DictionaryCoding, DictionaryError, decode_with_dictionary,
    decodes_to_with_dictionary, encode_with_dictionary,
};

/// The most bytes that are decoded.
const MOST: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let (&[coding, cut], rest) = data.split_first_chunk().unwrap_or((&[0, 0], data));
    let coding = DictionaryCoding::ALL[usize::from(coding & 1)];
    let (before, given) = rest.split_at(usize::from(cut).min(rest.len()));
    let dictionary = Dictionary::new(before);

    // With the right head, so that the stream is reached.
    let head: &[u8] = match coding {
        DictionaryCoding::Brotli => b"\xffDCB",
        DictionaryCoding::Zstd => b"\x5e\x2a\x4d\x18\x20\0\0\0",
    };
    let coded = [head, dictionary.sha256(), given].concat();
    match decode_with_dictionary(&coded, &dictionary, coding, MOST) {
        Ok(decoded) => {
            assert!(decoded.len() <= MOST);
            assert!(decodes_to_with_dictionary(&coded, &dictionary, coding, &decoded));
            if let Some(less) = decoded.len().checked_sub(1) {
                let short = decode_with_dictionary(&coded, &dictionary, coding, less);
                assert_eq!(short, Err(DictionaryError::TooLong));
            }
        }
        Err(error) => assert!(matches!(error, DictionaryError::Stream | DictionaryError::TooLong)),
    }
    // As it came: no head that fits a digest, unless somebody finds one.
    assert!(decode_with_dictionary(given, &dictionary, coding, MOST).is_err());

    if !before.is_empty() {
        let made = encode_with_dictionary(given, &dictionary, coding, &|| true)
            .expect("a dictionary that is not empty is taken");
        let decoded = decode_with_dictionary(&made, &dictionary, coding, given.len());
        assert_eq!(decoded.as_deref(), Ok(given));
    }
});
